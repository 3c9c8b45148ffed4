"""A small corpus in files."""

from __future__ import annotations

import json

import pytest

WORDS = {
    "Cats": "cat purr whisker kitten claw",
    "Dogs": "dog bark leash puppy fetch",
    "Trees": "tree leaf bark root branch",
    "Flowers": "flower petal bloom scent rose",
}


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
