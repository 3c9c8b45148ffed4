"""A command that is killed at any moment leaves the old model or the new one, whole, and can be run again.

A kill comes at a step of the work, not at a time: the command runs in a forked process that counts its file operations
below the folder of the test (opening, renaming, deleting) and kills itself at the one that a seed has chosen, or a
moment later, in the middle of what follows. ``LINNAEUS_KILLS=200 pytest tests/kills`` kills more often.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linnaeus
from linnaeus.cli.main import run
from linnaeus.models import checkpoint

KILLS = int(os.environ.get("LINNAEUS_KILLS", 12))
WATCHED = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir")
WORDS = {"cats": "purr whisker claw", "dogs": "bark leash fetch", "oaks": "acorn leaf tall", "elms": "shade leaf round"}

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def documents(path: Path, n_docs: int, seed: int, mistaken: float = 0.0) -> str:
    """Documents of four labels; some are ``mistaken``: their words belong to another label."""
    rng = random.Random(seed)
    rows = []
    for i in range(n_docs):
        label = sorted(WORDS)[i % 4]
        about = label if rng.random() >= mistaken else rng.choice(sorted(WORDS))
        words = rng.sample(WORDS[about].split(), 2) + rng.sample(["the", "a", "of", "and", "to", "in"], 2)
        rows.append(json.dumps({"id": str(i), "text": f"{about} {' '.join(words)}", "labels": [label]}))
    path.write_text("\n".join(rows) + "\n", "utf-8")
    return str(path)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    (folder / "taxonomy.tsv").write_text("animals\tcats\nanimals\tdogs\ntrees\toaks\ntrees\telms\n", "utf-8")
    for name, n_docs in (("train", 60), ("more", 20), ("unseen", 40)):
        documents(folder / f"{name}.jsonl", n_docs, seed=n_docs)
    documents(folder / "hard.jsonl", 60, seed=1, mistaken=0.3)
    return folder


# -- running and killing -----------------------------------------------------------------------------------------------


def forked(arguments: list[str], folder: Path, kill_at: int | None = None, delay: float = 0.0) -> tuple[int, int]:
    """Run a command in a fork; (exit code, or minus the signal that ended it; file operations below ``folder``)."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _in_child(arguments, str(folder), kill_at, delay, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        counted = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status, int(counted or 0)


def _in_child(arguments: list[str], folder: str, kill_at: int | None, delay: float, writing: int) -> None:
    code, count = 1, 0

    def die() -> None:
        time.sleep(delay)
        os.kill(os.getpid(), signal.SIGKILL)

    def watch(event: str, given: tuple[Any, ...]) -> None:
        nonlocal count
        if event in WATCHED and isinstance(given[0], (str, os.PathLike)) and os.fspath(given[0]).startswith(folder):
            count += 1
            if count == kill_at:
                threading.Thread(target=die, daemon=True).start() if delay else die()

    try:
        checkpoint.EVERY = 0.0  # commit whatever is finished
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1) if os.environ.get("LINNAEUS_KILLS_SHOW") else (0, 1, 2):
            os.dup2(null, number)
        sys.stdout, sys.stderr = open(1, "w"), open(2, "w")  # noqa: SIM115 - what pytest has put there stays its own
        sys.addaudithook(watch)
        warnings.simplefilter("ignore")
        run(arguments)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0
    finally:
        os.write(writing, str(count).encode())
        os._exit(code)


def killed_and_finished(
    name: str,
    arguments: list[str],
    folder: Path,
    prepare: Callable[[], None],
    check: Callable[[bool], None],
    kills: int,
) -> None:
    """Kill a command ``kills`` times, each time from the start; ``check(finished)`` looks at what is there."""
    prepare()
    code, steps = forked(arguments, folder)
    assert code == 0, f"{name} fails without being killed"
    assert steps > 3
    check(True)
    for number in range(kills):
        rng = random.Random(f"{name}:{number}")
        prepare()
        kill_at, delay = rng.randint(1, steps), rng.choice([0.0, 0.0, rng.uniform(0.0, 0.01)])
        code, _ = forked(arguments, folder, kill_at, delay)
        assert code in (-signal.SIGKILL, 0), (
            f"{name}, kill {number} at {kill_at}: exit code {code}"
        )  # 0: it was quicker
        check(code == 0)
        code, _ = forked(arguments, folder)
        assert code == 0, f"{name}, kill {number} at {kill_at}: the same command does not finish"
        check(True)


# -- commands ----------------------------------------------------------------------------------------------------------


def texts(path: Path) -> list[str]:
    return [json.loads(line)["text"] for line in path.read_text("utf-8").splitlines()]


class Target:
    """A model folder with an old model; ``states`` are the scores of the whole models that may be in it."""

    def __init__(self, data: Path, folder: Path, old: list[str]) -> None:
        self.folder, self.documents = folder, texts(data / "unseen.jsonl")
        code, _ = forked([*old, "--output", str(folder / "old")], folder)
        assert code == 0
        self.states = {"old": self.scores(folder / "old")}

    def scores(self, model: Path) -> tuple[Any, Any]:
        """What tells models apart: scores, and probabilities where there are any."""
        loaded = linnaeus.load(model, verify=True)
        proba = loaded.predict_proba(self.documents) if hasattr(loaded, "predict_proba") else np.zeros(0)
        return loaded.decision_function(self.documents), proba

    def prepare(self) -> None:
        import shutil

        for path in self.folder.iterdir():
            if path.name != "old":
                shutil.rmtree(path)
        shutil.copytree(self.folder / "old", self.folder / "model")

    def check(self, finished: bool) -> None:
        found = self.scores(self.folder / "model")
        same = [name for name, state in self.states.items() if all(map(np.array_equal, state, found))]
        if finished and "new" not in self.states:
            assert not same, "the command changes the model"
            self.states["new"] = found
            return
        assert same, "neither the old model nor the new one"
        if finished:
            assert same == ["new"]
            names = sorted(path.name for path in (self.folder / "model").iterdir())
            assert len(names) == 2, f"what was killed is cleared away: {names}"
            left = sorted(path.name for path in (self.folder / "checkpoint").glob("*"))
            assert left in ([], ["about.json", "search.json"]), "only what a search has measured is kept"


def command(data: Path, *more: str, documents: str = "train", budget: str = "0") -> list[str]:
    common = ["--data", str(data / f"{documents}.jsonl"), "--taxonomy", str(data / "taxonomy.tsv")]
    return ["train", *common, "--min-df", "1", "--budget", budget, *more]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("checkpoint", [], ["--C", "2", "--model", "RRSVM", "--checkpoint", "{folder}/checkpoint"]),
        ("overwrite", [], ["--C", "2"]),
        ("prune", [], ["--C", "2", "--prune", "0.2"]),
        ("learn", ["--model", "OneVsRestPA"], None),
        ("calibrate", [], None),
    ],
)
def test_a_killed_command_leaves_the_old_model_or_the_new_one(data, tmp_path, name, old, new) -> None:
    target = Target(data, tmp_path, command(data, *old))
    model = str(tmp_path / "model")
    if new is not None:
        arguments = command(data, *(part.format(folder=tmp_path) for part in new), "--output", model)
    elif name == "learn":
        arguments = ["learn", model, str(data / "more.jsonl")]
    else:
        arguments = ["calibrate", model, str(data / "unseen.jsonl"), "--method", "platt"]
    if name == "prune":  # what was trained is saved before it is pruned
        target.prepare()
        assert forked(command(data, "--C", "2", "--output", model), tmp_path)[0] == 0
        target.states["trained"] = target.scores(tmp_path / "model")
    if name == "learn":  # the same command learns the documents once more where the first had saved
        target.prepare()
        for times in ("new", "twice"):
            assert forked(arguments, tmp_path)[0] == 0
            target.states[times] = target.scores(tmp_path / "model")
    kills = max(1, KILLS // 6)

    def check(finished: bool) -> None:
        if name == "learn":
            found = target.scores(tmp_path / "model")
            assert any(all(map(np.array_equal, state, found)) for state in target.states.values())
        else:
            target.check(finished)

    killed_and_finished(name, arguments, tmp_path, target.prepare, check, kills)


@pytest.mark.parametrize(
    "model",
    ["OneVsRestSVM", pytest.param("RRSVM", marks=pytest.mark.slow), pytest.param("auto", marks=pytest.mark.slow)],
)
def test_a_killed_search_continues_to_the_same_model(data, tmp_path, model) -> None:
    target = Target(data, tmp_path, command(data))
    kept = ["--checkpoint", str(tmp_path / "checkpoint"), "--output", str(tmp_path / "model")]
    arguments = command(data, "--model", model, *kept, documents="hard", budget="2h")
    killed_and_finished("search", arguments, tmp_path, target.prepare, target.check, max(1, KILLS // 6))


@pytest.mark.slow
def test_a_killed_shootout_leaves_whole_files_and_goes_on(data, tmp_path) -> None:
    import shutil

    output = tmp_path / "report"
    arguments = ["shootout", "--data", str(data / "train.jsonl"), "--taxonomy", str(data / "taxonomy.tsv")]
    arguments += [
        "--models",
        "MulticlassSVM,SoftmaxRegression",
        "--budget",
        "2h",
        "--jobs",
        "1",
        "--output",
        str(output),
    ]
    arguments += ["--min-df", "1"]

    def prepare() -> None:
        shutil.rmtree(output, ignore_errors=True)

    def check(finished: bool) -> None:
        for path in output.rglob("*.json"):
            json.loads(path.read_text("utf-8"))
        for path in output.rglob("*.npz"):
            with np.load(path) as arrays:
                assert len(arrays["indptr"]) > 1
        for path in output.glob("report.*"):
            ending = path.read_text("utf-8").rstrip()
            assert path.suffix != ".html" or ending.endswith("</html>")
        if finished:
            result = json.loads((output / "shootout.json").read_text("utf-8"))
            assert [row["status"] for row in result["runs"]] == ["done", "done"]

    killed_and_finished("shootout", arguments, tmp_path, prepare, check, max(1, KILLS // 20))
