"""`--suggestions`: label files of other tools as sources of a mixture, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

TEXTS = [("cats purr", "cat"), ("dogs bark", "dog"), ("kittens and cats", "cat"), ("puppies and dogs", "dog")] * 6


def annif(path: Path, rows: dict[str, list[tuple[str, float]]]) -> Path:
    lines = []
    for name, row in rows.items():
        lines += [f"Suggestions for {name}", *(f"<{label}>\tLabel\t{score}" for label, score in row)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def files(tmp_path: Path) -> Path:
    docs = [{"id": f"d{i}", "text": text, "labels": [label]} for i, (text, label) in enumerate(TEXTS)]
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, docs)) + "\n")
    other = {"cat": "dog", "dog": "cat"}
    annif(tmp_path / "train.tsv", {d["id"]: [(d["labels"][0], 0.8), (other[d["labels"][0]], 0.1)] for d in docs})
    new = [{"id": "n1", "text": "unheard of"}, {"id": "n2", "text": "unheard of"}]
    (tmp_path / "new.jsonl").write_text("\n".join(map(json.dumps, new)) + "\n")
    annif(tmp_path / "new.tsv", {"n1": [("dog", 0.9)], "n2": [("cat", 0.9)]})
    return tmp_path


def _train(linnaeus, files: Path, *more: str):
    given = ("--data", files / "docs.jsonl", "--output", files / "model", "--min-df", 1)
    return linnaeus("train", *given, *more)


def test_a_model_and_a_file_of_annif_are_trained_stored_and_applied(linnaeus, files) -> None:
    trained = _train(linnaeus, files, "--sources", "OneVsRestSVM", "--suggestions", f"annif={files / 'train.tsv'}")
    assert trained.code == 0, trained.err
    assert "suggestions of annif: 24 of 24 documents found" in trained.err
    new = files / "model", files / "new.jsonl"
    done = linnaeus("predict", *new, "--suggestions", f"annif={files / 'new.tsv'}")
    assert done.code == 0, done.err
    records = [json.loads(line) for line in done.out.splitlines()]
    assert [record["labels"][0]["label"] for record in records] == ["dog", "cat"]
    alone = linnaeus("predict", *new)
    assert alone.code == 0
    assert "no suggestions of the source 'annif'; the other sources answer alone" in " ".join(alone.err.split())
    own = f"annif={files / 'train.tsv'}"
    figures = linnaeus("evaluate", files / "model", files / "docs.jsonl", "--suggestions", own, "--json")
    assert figures.code == 0, figures.err
    shown = linnaeus("explain", files / "model", "--data", files / "docs.jsonl", "--id", "d0", "--suggestions", own)
    assert "annif" in shown.out
    assert linnaeus("calibrate", files / "model", files / "docs.jsonl", "--suggestions", own).code == 0


def test_vectors_are_mixed_with_suggestions(linnaeus, files) -> None:
    lines = ["id,x,z,label", *(f"d{i},{i % 2},{i % 3},{label}" for i, (_, label) in enumerate(TEXTS))]
    (files / "docs.csv").write_text("\n".join(lines) + "\n")
    given = ("--sources", "OneVsRestSVM", "--suggestions", f"annif={files / 'train.tsv'}", "--test-size", 0)
    done = linnaeus("train", "--data", files / "docs.csv", "--output", files / "model", *given)
    assert done.code == 0, done.err
    own = ("--suggestions", f"annif={files / 'train.tsv'}")
    figures = json.loads(linnaeus("evaluate", files / "model", files / "docs.csv", *own, "--json").out)
    assert figures["metrics"]["micro_f1"] == 1.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--suggestions", "train.tsv"], "expected NAME=FILE"),
        (["--suggestions", "a=x.tsv", "--suggestions", "a=y.tsv"], "--suggestions has 'a' twice"),
        (["--suggestions", "RRSVM=x.tsv", "--sources", "RRSVM"], "give it another name"),
        (["--suggestions", "a=x.tsv", "--model", "RRSVM"], "expected --model Mixture"),
        (["--suggestions", "a=x.tsv"], "No such file"),
    ],
)
def test_wrong_suggestions_are_refused(linnaeus, files, given, message) -> None:
    done = _train(linnaeus, files, *given)
    assert done.code != 0
    assert message in " ".join(done.err.split())
