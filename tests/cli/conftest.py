"""A small corpus in files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from linnaeus.cli.main import run

WORDS = {
    "Cats": "cat purr whisker kitten claw",
    "Dogs": "dog bark leash puppy fetch",
    "Trees": "tree leaf bark root branch",
    "Flowers": "flower petal bloom scent rose",
}


def _write_corpus(folder: Path) -> None:
    """topics.tsv, and docs.jsonl with 40 documents."""
    (folder / "topics.tsv").write_text(
        "parent\tchild\nThings\tAnimals\nThings\tPlants\nAnimals\tCats\nAnimals\tDogs\nPlants\tTrees\nPlants\tFlowers\n"
    )
    lines = []
    for i in range(40):
        label = list(WORDS)[i % 4]
        words = WORDS[label].split()
        text = " ".join([words[i % 5], words[(i + 1) % 5], words[(i + 3) % 5], "thing"])
        lines.append(json.dumps({"id": f"d{i}", "text": text, "labels": [label]}))
    (folder / "docs.jsonl").write_text("\n".join(lines) + "\n")


@pytest.fixture
def files(tmp_path):
    """A folder with the small corpus."""
    _write_corpus(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def _model_of_the_corpus(tmp_path_factory):
    """A model of the small corpus, trained once for all tests, which get copies."""
    folder = tmp_path_factory.mktemp("corpus")
    _write_corpus(folder)
    given = ["-t", folder / "topics.tsv", "-d", folder / "docs.jsonl", "-o", folder / "model", "--min-df", 1]
    with pytest.raises(SystemExit) as stopped:
        run(["train", *map(str, given), "--budget", "0"])
    assert stopped.value.code == 0
    return folder / "model"


@pytest.fixture
def trained(files, _model_of_the_corpus):
    """The small corpus with a model of it, in the folder model."""
    shutil.copytree(_model_of_the_corpus, files / "model")
    return files
