"""`linnaeus data convert`, and every command on what it wrote."""

from __future__ import annotations

import json

import numpy as np
import pytest

from linnaeus import load
from linnaeus.data import read_dataset


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
    report = json.loads(linnaeus("data", "convert", vectors / "docs.txt", "--output", vectors / "folder", "--json").out)
    assert report["documents"] == 60
    assert report["labelled"]
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


@pytest.fixture
def texts(tmp_path):
    """Two topics, with words that only one document has."""
    pairs = (("Cats", "the cats purr"), ("Dogs", "the dogs barked"))
    rows = [
        {"id": f"d{i}", "text": f"{pairs[i % 2][1]} {i % 7} word{i}", "labels": [pairs[i % 2][0]]} for i in range(60)
    ]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


@pytest.mark.parametrize(
    "options", [[], ["--analyser", "stems", "--ngrams", "1-2", "--stop-words", "en", "--min-df", 3]]
)
def test_texts_are_converted_as_training_does_it_in_memory(texts, linnaeus, options) -> None:
    convert = ("data", "convert", texts / "docs.jsonl", "--output", texts / "folder", "--json", *options)
    report = json.loads(linnaeus(*convert).out)
    assert (report["documents"], report["kind"], report["labelled"]) == (60, "sparse", True)
    linnaeus("train", "--data", texts / "docs.jsonl", "--output", texts / "model", "--test-size", 0, *options)
    pipe, data = load(texts / "model"), read_dataset(texts / "folder")
    X = pipe.matrix(read_dataset(texts / "docs.jsonl").documents)
    assert (data.X != X).nnz == 0
    assert data.feature_names == pipe.features_.get_feature_names_out().tolist()
    assert (data.ids[:2], data.labels[:2]) == (["d0", "d1"], [["Cats"], ["Dogs"]])


@pytest.mark.parametrize("features", [[], ["--features", "hashed:10"]])
def test_converted_texts_keep_their_features_for_other_documents(texts, linnaeus, features) -> None:
    linnaeus("data", "convert", texts / "docs.jsonl", "--output", texts / "train", *features)
    linnaeus("train", "--data", texts / "train", "--output", texts / "model", "--test-size", 0)
    (texts / "new.txt").write_text("cats that purr\ndogs\n")
    result = linnaeus("data", "convert", texts / "new.txt", "--features", texts / "train", "--output", texts / "new")
    assert result.code == 0, result.err
    answers = linnaeus("predict", texts / "model", texts / "new", "--top", 1).out.splitlines()
    assert [json.loads(line)["labels"][0]["label"] for line in answers] == ["Cats", "Dogs"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--features", "hashed", "--min-df", "2"], "--min-df has no effect with --features hashed"),
        (["--analyser", "chars", "--ngrams", "2"], "--analyser chars:2"),
        (["--min-df", "100"], "occurs in at least min_df=100"),
    ],
)
def test_options_that_do_not_fit_texts_are_named_and_leave_nothing_behind(texts, linnaeus, options, why) -> None:
    result = linnaeus("data", "convert", texts / "docs.jsonl", "--output", texts / "folder", *options)
    assert result.code != 0
    assert why in result.err
    assert sorted(path.name for path in texts.iterdir()) == ["docs.jsonl"]


def test_options_of_texts_and_foreign_folders_are_refused(vectors, linnaeus) -> None:
    failed = linnaeus("data", "convert", vectors / "docs.txt", "--output", vectors / "folder", "--min-df", 2)
    assert "--min-df has no effect" in failed.err
    failed = linnaeus("data", "convert", vectors / "docs.txt", "--output", vectors)
    assert failed.code == 1
    assert "not empty" in failed.err
