"""Every example runs from start to end, says what it promises, and is listed."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path

import pytest

import linnaeus
from linnaeus.cli.main import run

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@pytest.fixture
def example(tmp_path, monkeypatch, capsys):
    """Runs a script in an empty folder and gives what it printed."""
    monkeypatch.chdir(tmp_path)

    def call(name: str) -> str:
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return call


def numbers(text: str, before: str) -> list[float]:
    """The numbers that follow a phrase."""
    return [float(found) for found in re.findall(re.escape(before) + r"\s*(-?[\d.]+\d)", text)]


def test_the_librarian_gets_uris_and_words_in_two_languages(example) -> None:
    said = example("librarian/librarian.py")
    assert "The fiddle maker: Music (Musik), Woodwork (Tischlerei)" in said
    assert "Farming and crafts > Farming > Beekeeping" in said
    assert "Nature > Animals > Insects > Beekeeping" in said
    rows = [line.split("\t") for line in Path("suggestions.tsv").read_text("utf-8").splitlines()]
    assert ["n3", "https://example.org/subjects/remedies", "Medicinal plants", "Heilpflanzen"] in rows
    assert linnaeus.load("librarian-model").taxonomy_.kind == "dag"


def test_the_librarian_needs_no_python(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    script = (EXAMPLES / "librarian" / "librarian.sh").read_text().replace("$here", str(EXAMPLES / "librarian"))
    commands = [shlex.split(line)[1:] for line in script.splitlines() if line.startswith("linnaeus ")]
    for command in commands:
        with pytest.raises(SystemExit) as stopped:
            run(command)
        assert stopped.value.code == 0, command
    assert len(commands) == 5
    assert "Beekeeping: score" in capsys.readouterr().out
    assert "Arts > Music" in Path("suggestions.tsv").read_text("utf-8")


def test_codes_stop_where_they_become_unsure(example) -> None:
    said = example("codes/codes.py")
    table = [line.split() for line in said.splitlines() if line.startswith(("best leaf", "risk"))]
    wrong = [float(row[2].rstrip("%")) for row in table]
    depth = [float(row[3]) for row in table]
    assert wrong == sorted(wrong, reverse=True)
    assert depth == sorted(depth, reverse=True)
    assert "a device for a vehicle on the road: B.60 Vehicles" in said


def test_proteins_are_told_apart_by_substrings(example) -> None:
    scores = numbers(example("proteins.py"), "hierarchical F1")
    assert len(scores) == 3
    assert min(scores) > 0.75


def test_scikit_learn_takes_models_as_its_own(example) -> None:
    scores = numbers(example("pipeline.py"), "hierarchical F1")
    assert len(scores) == 3
    assert min(scores) > 0.9


def test_a_stream_recovers_from_what_is_new(example) -> None:
    said = example("stream.py")
    days = numbers(said, "hierarchical F1")
    assert len(days) == 12
    assert max(days[6:9]) < min(days[3:6])  # something has changed,
    assert days[-1] > 0.9  # and has been learned
    assert "tablets so far: False" in said
    assert "tablets now: True" in said


@pytest.mark.slow
def test_a_shootout_says_which_model_is_best(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    script = runpy.run_path(str(EXAMPLES / "shootout.py"))
    monkeypatch.setitem(script["main"].__globals__, "MODELS", ["OneVsRestSVM", "RRSVM"])
    script["main"]()
    said = capsys.readouterr().out
    best, second = numbers(said, "hierarchical F1")[-2:]
    assert best > second
    assert "RRSVM is best" in said or "RRSVM leads" in said  # a hundred test documents may not prove it
    assert Path("report/report.html").exists()


def test_every_example_is_listed() -> None:
    page = (EXAMPLES / "README.md").read_text("utf-8")
    scripts = [path.relative_to(EXAMPLES) for path in EXAMPLES.rglob("*") if path.suffix in (".py", ".sh")]
    assert scripts
    for script in scripts:
        assert f"]({script})" in page
