"""`linnaeus train --answer all`."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def files(tmp_path):
    nodes = [("R", "animals", "Animals"), ("R", "plants", "Plants")]
    nodes += [("animals", "cat", "Cats"), ("animals", "dog", "Dogs"), ("animals", "fox", "Foxes")]
    nodes += [("plants", "oak", "Oaks"), ("plants", "elm", "Elms")]
    rows = "".join(f"{up},{name},{label}\n" for up, name, label in nodes)
    (tmp_path / "tax.csv").write_text("parent,child,label\n" + rows)
    texts = [("cats purr and bite", "cat"), ("dogs bark and bite", "dog"), ("oaks grow leaves", "oak")]
    documents = [{"text": f"{text} {i}", "labels": [label]} for i in range(6) for text, label in texts]
    documents.append({"text": "foxes bark and bite; elms grow", "labels": ["dog", "oak"]})
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents))
    (tmp_path / "new.jsonl").write_text(json.dumps({"text": "foxes bite"}) + "\n")
    return tmp_path


def _train(linnaeus, files, *more: str):
    paths = ("--data", files / "docs.jsonl", "--taxonomy", files / "tax.csv", "-o", files / "model")
    return linnaeus("train", *paths, *more)


def test_all_nodes_can_be_answered(linnaeus, files):
    trained = _train(linnaeus, files, "--answer", "all", "--min-df", "1", "--json")
    assert trained.code == 0, trained.err
    assert json.loads(trained.out)["nodes_answered"] == 7
    answered = linnaeus("predict", files / "model", files / "new.jsonl", "--top", "1")
    assert "fox" in answered.out


def test_a_ranking_model_can_answer_all_nodes(linnaeus, files):
    options = ("--model", "HierarchicalSVM", "--set", "attributes=taxonomy+text", "--min-df", "1", "--json")
    trained = _train(linnaeus, files, "--answer", "all", *options)
    assert trained.code == 0, trained.err
    assert json.loads(trained.out)["nodes_answered"] == 7


def test_converted_texts_are_compared_with_label_texts(linnaeus, files):
    assert linnaeus("data", "convert", files / "docs.jsonl", "-o", files / "vectors", "--min-df", 1).code == 0
    given = ("train", "--data", files / "vectors", "--taxonomy", files / "tax.csv", "--answer", "all")
    trained = linnaeus(*given, "--output", files / "model", "--json")
    assert trained.code == 0, trained.err
    assert json.loads(trained.out)["nodes_answered"] == 7
    (files / "vectors.txt").write_text("cat 0:1 2:1\ndog 1:1 2:1\noak 0:1\n" * 4)
    refused = linnaeus(
        "train", "--data", files / "vectors.txt", *given[3:], "--format", "libsvm", "--output", files / "other"
    )
    assert refused.code == 1
    assert "--answer all compares label texts with words" in refused.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--answer", "some"), "--answer='some'"),
        (
            ("--answer", "all", "--model", "OneVsRestSVM"),
            "--answer all with --model OneVsRestSVM; expected one of RRSVM",
        ),
        (("--answer", "all", "--model", "Hieron"), "got attributes='perclass', expected 'taxonomy+text'"),
        (("--answer", "all", "--budget", "1m"), "nothing is searched for; leave --budget out"),
    ],
)
def test_what_does_not_go_with_all_nodes_is_refused(linnaeus, files, options, message):
    refused = _train(linnaeus, files, *options)
    assert refused.code in (1, 2)
    assert message in " ".join(refused.err.split())


def test_an_explanation_calls_nodes_by_their_display_labels(linnaeus, files) -> None:
    assert _train(linnaeus, files, "--answer", "all", "--min-df", "1").code == 0
    shown = linnaeus("explain", files / "model", "--document", "foxes bite", "--node", "fox").out
    assert "parents of Foxes: " in shown
    assert "Foxes: score" in shown
    assert "of fox:" not in shown
