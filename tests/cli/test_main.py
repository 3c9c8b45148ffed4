"""The command line starts quickly, lists what exists, and stops without a trace when interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import typer

import linnaeus as package
from linnaeus import registry
from linnaeus.cli.main import COMMANDS, make_app


def test_help_and_version(linnaeus) -> None:
    assert linnaeus("--version").out.strip() == f"linnaeus {package.__version__}"
    for command in ("train", "predict", "evaluate", "explain", "taxonomy", "data", "models", "demo"):
        assert command in linnaeus("--help").out
        assert linnaeus(command, "--help").code == 0


def test_models_are_listed_with_one_line_each(linnaeus) -> None:
    report = json.loads(linnaeus("models", "--json").out)
    assert [entry["name"] for entry in report] == [*registry.ALL_MODELS, *registry.COMPOSED]
    assert all("\n" not in entry["summary"] for entry in report)
    assert "OneVsRestSVM" in linnaeus("models").out


def test_the_parameters_of_a_model_are_listed(linnaeus) -> None:
    report = json.loads(linnaeus("models", "bsvm", "--json").out)
    assert report["parameters"]["tol"] == 1e-3
    assert "squared_hinge" in linnaeus("models", "OneVsRestSVM").out
    assert linnaeus("models", "nothing").code == 2


def test_summaries_are_the_first_lines_of_the_help_of_commands() -> None:
    commands = typer.main.get_command(make_app()).commands
    assert {name: " ".join(one.help.split("\n\n")[0].split()) for name, one in commands.items()} == COMMANDS


def test_only_the_module_of_the_called_command_is_imported() -> None:
    program = "import sys; from linnaeus.cli.main import run\n"
    program += "try:\n    run(['audit', '--help'])\nfinally:\n"
    program += "    print('loaded:', *(name for name in sys.modules if name.startswith('linnaeus.cli.')))"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    loaded = shown.splitlines()[-1].split()
    assert "linnaeus.cli.audit" in loaded
    assert not {"linnaeus.cli.train", "linnaeus.cli.serve", "linnaeus.cli.taxonomy"} & set(loaded)


def test_an_unknown_command_is_refused_with_the_nearest_one(linnaeus) -> None:
    refused = linnaeus("trian")
    assert refused.code == 2
    assert "train" in refused.err


def test_help_imports_nothing_heavy() -> None:
    code = "import sys, linnaeus.cli.main; print({'numpy', 'scipy', 'sklearn', 'rich.table'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


def test_help_loads_no_numerical_package() -> None:
    program = "import sys; from linnaeus.cli.main import run; sys.argv = ['linnaeus', '--help']\n"
    program += (
        "try:\n    run()\nfinally:\n    print('loaded:', *({'numpy', 'scipy', 'sklearn', 'torch'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1].split() == ["loaded:"]


@pytest.mark.parametrize(
    ("begun", "given"),
    [("training", ["--C", "1", "--decoder", "own"]), pytest.param("choosing", [], marks=pytest.mark.slow)],
)
def test_an_interrupt_leaves_no_model_behind(tmp_path, begun, given) -> None:
    lines = [
        json.dumps({"text": f"w{i} w{i * 7 % 911} w{i * 13 % 577}", "labels": [f"n{i % 90}"]}) for i in range(2000)
    ]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    command = [
        sys.executable,
        "-m",
        "linnaeus",
        "train",
        "-d",
        "docs.jsonl",
        "-o",
        "model",
        "--model",
        "RRLogistic",
        "--set",
        "tol=1e-15",  # never reached: it trains until it is stopped
        "--set",
        "max_iter=1000000",
        "--min-df",
        "1",
        *given,
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )
    assert process.stderr is not None
    while begun not in (line := process.stderr.readline()):
        assert line, "the command ended before training began"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    assert process.wait() == 130, rest
    assert rest.endswith("stopped\n")
    assert "Traceback" not in rest
    assert not (tmp_path / "model").exists()


def test_control_characters_are_escaped_at_the_terminal(capsys) -> None:
    from linnaeus.cli.common import note, print_table

    print_table(["label\x1b"], [("evil\x1b[2J\u202ename",)])
    note("saved to \x1b[31mred")
    out, err = capsys.readouterr()
    assert "\x1b" not in out.replace("label\x1b", "") + err
    assert "evil\\x1b[2J\\u202ename" in out
    assert err == "saved to \\x1b[31mred\n"
