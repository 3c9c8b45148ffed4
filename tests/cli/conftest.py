"""A small corpus in files, and a way to run the command line as a user does."""

from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace

import pytest

from linnaeus.cli.main import run

WORDS = {
    "Cats": "cat purr whisker kitten claw",
    "Dogs": "dog bark leash puppy fetch",
    "Trees": "tree leaf bark root branch",
    "Flowers": "flower petal bloom scent rose",
}


@pytest.fixture
def linnaeus(capsys, monkeypatch):
    """``linnaeus("train", ...)`` -> code, out, err of the real entry point.

    Trainings choose nothing (``--budget 0``), which is quick, unless a test gives a ``--budget``; an empty one is left
    out.
    """

    def call(*arguments: str, stdin: str | None = None) -> SimpleNamespace:
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin.encode()), isatty=lambda: False))
        given = [str(argument) for argument in arguments]
        if given[:1] == ["train"] and "--budget" not in given:
            given += ["--budget", "0"]
        elif "" in given and given[given.index("") - 1] == "--budget":
            del given[given.index("") - 1 : given.index("") + 1]
        code = 0
        try:
            run(given)
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        out, err = capsys.readouterr()
        return SimpleNamespace(code=code, out=out, err=err)

    return call


@pytest.fixture
def files(tmp_path):
    """topics.txt (indented), docs.jsonl with 40 documents, vectors as libsvm."""
    (tmp_path / "topics.tsv").write_text(
        "parent\tchild\nThings\tAnimals\nThings\tPlants\nAnimals\tCats\nAnimals\tDogs\nPlants\tTrees\nPlants\tFlowers\n"
    )
    lines = []
    for i in range(40):
        label = list(WORDS)[i % 4]
        words = WORDS[label].split()
        text = " ".join([words[i % 5], words[(i + 1) % 5], words[(i + 3) % 5], "thing"])
        lines.append(json.dumps({"id": f"d{i}", "text": text, "labels": [label]}))
    (tmp_path / "docs.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.fixture
def trained(linnaeus, files):
    result = linnaeus(
        "train", "-t", files / "topics.tsv", "-d", files / "docs.jsonl", "-o", files / "model", "--min-df", 1
    )
    assert result.code == 0, result.err
    return files
