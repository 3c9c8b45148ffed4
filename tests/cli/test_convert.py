"""`linnaeus data convert`, and every command on what it wrote."""

from __future__ import annotations

import json

import numpy as np
import pytest


@pytest.fixture
def vectors(tmp_path):
    """Two kinds of documents as sparse vectors; features count from 1, so that column 0 is empty."""
    rng = np.random.default_rng(0)
    lines = []
    for i in range(60):
        features = sorted({1 + i % 2, *(3 + rng.integers(0, 20, 3)).tolist()})
        lines.append(f"{'ab'[i % 2]} " + " ".join(f"{j}:1" for j in features))
    (tmp_path / "docs.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_converted_vectors_train_predict_and_evaluate_as_the_file_does(vectors, linnaeus) -> None:
    told = json.loads(linnaeus("data", "convert", vectors / "docs.txt", "--output", vectors / "folder", "--json").out)
    assert told["documents"] == 60
    assert told["labelled"]
    models = {}
    for name in ("docs.txt", "folder"):
        linnaeus("train", "--data", vectors / name, "--output", vectors / f"model-{name}")
        models[name] = linnaeus("predict", vectors / f"model-{name}", vectors / "docs.txt", "--top", 2).out
    assert models["docs.txt"] == models["folder"]
    assert linnaeus("predict", vectors / "model-folder", vectors / "folder", "--top", 2).out == models["folder"]
    scores = [
        json.loads(linnaeus("evaluate", vectors / "model-folder", vectors / name, "--json").out)["metrics"]
        for name in ("docs.txt", "folder")
    ]
    assert scores[0] == scores[1]
    counts = [
        json.loads(linnaeus("data", "describe", vectors / name, "--json").out)[0] for name in ("docs.txt", "folder")
    ]
    assert {**counts[0], "source": ""} == {**counts[1], "source": ""}


def test_texts_are_converted_with_the_features_of_a_model(tmp_path, linnaeus) -> None:
    lines = [
        {"text": f"the {'cat purr' if i % 2 else 'dog bark'} {i % 5}", "labels": ["c" if i % 2 else "d"]}
        for i in range(40)
    ]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    linnaeus("train", "--data", tmp_path / "docs.jsonl", "--output", tmp_path / "model")
    arguments = ("data", "convert", tmp_path / "docs.jsonl", "--output", tmp_path / "folder")
    linnaeus(*arguments, "--features", tmp_path / "model")
    linnaeus("train", "--data", tmp_path / "folder", "--output", tmp_path / "second")
    first = linnaeus("predict", tmp_path / "model", tmp_path / "docs.jsonl", "--top", 1).out
    second = linnaeus("predict", tmp_path / "second", tmp_path / "folder", "--top", 1).out
    best = [[json.loads(line)["labels"][0]["label"] for line in out.splitlines()] for out in (first, second)]
    assert best[0] == best[1]


def test_texts_alone_and_foreign_folders_are_refused(tmp_path, linnaeus) -> None:
    (tmp_path / "docs.jsonl").write_text('{"text": "a goal", "labels": ["a"]}\n')
    failed = linnaeus("data", "convert", tmp_path / "docs.jsonl", "--output", tmp_path / "folder")
    assert failed.code == 1
    assert "--features" in failed.err
    failed = linnaeus("data", "convert", tmp_path / "docs.jsonl", "--output", tmp_path)
    assert failed.code == 1
    assert "not empty" in failed.err
