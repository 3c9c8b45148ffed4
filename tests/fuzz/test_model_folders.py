"""Whatever is wrong with a model folder, loading it gives one of our errors or a model that answers with numbers.

``LINNAEUS_FUZZ_CASES=5000 pytest tests/fuzz/test_model_folders.py`` runs more cases; a case is repeated alone by its
number with ``python -m tests.fuzz.model_folders FOLDER NUMBER NUMBER+1`` (see `model_folders`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import linnaeus
from linnaeus import registry
from tests.fuzz import model_folders

ROOT = Path(__file__).resolve().parents[2]
CASES = int(os.environ.get("LINNAEUS_FUZZ_CASES", 150))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    model_folders.save_all(folder)
    return folder


def outcomes(saved: Path, first: int, last: int) -> list[tuple[int, str, str]]:
    """(number, outcome, what was done) of cases, in processes that may die: the next goes on after that case."""
    found: list[tuple[int, str, str]] = []
    while first < last:
        command = [sys.executable, "-m", "tests.fuzz.model_folders", str(saved), str(first), str(last)]
        path = os.pathsep.join([str(Path(linnaeus.__file__).parents[1]), str(ROOT)])
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
        started = first
        for line in done.stdout.splitlines():
            number, outcome, *more = line.split("\t")
            started = int(number)
            if outcome != "started":
                found.append((int(number), outcome, more[0]))
        if done.returncode and (not found or found[-1][0] != started):
            found.append((started, f"died: {done.returncode} {done.stderr[-300:]}", ""))
        first = started + 1
    return found


def test_mutated_folders_give_an_error_or_an_answer(saved) -> None:
    found = outcomes(saved, 0, CASES)
    assert len(found) == CASES
    failures = [case for case in found if case[1] not in ("ok", "error")]
    shown = "\n".join(f"case {number} ({done}): {outcome}" for number, outcome, done in failures[:20])
    assert not failures, f"{len(failures)} of {CASES} cases fail:\n{shown}"
    counts = Counter(outcome for _, outcome, _ in found)
    assert counts["error"] > CASES // 10, "mutations are noticed"
    assert counts["ok"] > CASES // 50, "mutations that do no harm pass"


def test_every_saved_model_loads_unchanged(saved) -> None:
    for folder in sorted(saved.iterdir()):
        assert model_folders.asked(folder, folder.name) == "ok", folder.name


def test_every_model_is_among_those_mutated(saved) -> None:
    names = {folder.name.partition("-")[0] for folder in saved.iterdir()}
    assert set(registry.ALL_MODELS) <= names
