"""`linnaeus train --embedding`: what it does, what it refuses, and that the saved model answers."""

from __future__ import annotations

import json

import pytest


def train(linnaeus, files, *more: object):
    usual = ["-t", files / "topics.tsv", "-d", files / "docs.jsonl", "-o", files / "model", "-m", "OneVsRestSVM"]
    return linnaeus("train", *usual, "--test-size", 0, *more)


def test_an_own_embedding_is_trained_saved_and_used(linnaeus, files) -> None:
    result = train(linnaeus, files, "--embedding", "own,weight=0.5,dimension=3", "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["embedding_weight"] == 0.5
    answer = linnaeus("predict", files / "model", files / "docs.jsonl", "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out.splitlines()[0])["labels"][0]["label"] == "Cats"


def test_the_weight_and_the_model_are_chosen_with_an_embedding(linnaeus, files) -> None:
    result = train(linnaeus, files, "--embedding", "own", "--budget", "", "--json")
    assert result.code == 0, result.err
    assert 0 <= json.loads(result.out)["embedding_weight"] <= 1


def test_documents_without_labels_teach_vectors(linnaeus, files) -> None:
    more = files / "more.jsonl"
    more.write_text('{"text": "tiger purr"}\n{"text": "tiger cat"}\n')
    given = ["--embedding", "own,weight=1", "--embedding-texts", more]
    assert train(linnaeus, files, *given).code == 0
    answer = linnaeus("predict", files / "model", "-", "--json", stdin="tiger\n")
    (found,) = [json.loads(line) for line in answer.out.splitlines()]
    assert (found["known_terms"], found["labels"][0]["label"]) == (1, "Cats"), answer.out


def test_explanations_name_words_and_neighbours(linnaeus, files) -> None:
    assert train(linnaeus, files, "--embedding", "own,weight=1,dimension=4").code == 0
    shown = linnaeus("explain", files / "model", "--document", "the kitten", "--node", "Cats")
    assert "source" in shown.out
    assert "kitten ~ " in shown.out
    (step,) = json.loads(linnaeus("explain", files / "model", "--document", "kitten", "--node", "Cats", "--json").out)
    assert sorted(step["sources"]) == ["embedding", "word"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--embedding-texts", "x.txt"], "--embedding-texts has no effect without --embedding own"),
        (["--embedding", "no/such"], "no/such is not a folder"),
        (["--embedding", "own,wieght=1"], "did you mean 'weight'"),
        (["--embedding", "own", "--features", "hashed"], "Give --embedding or --features hashed, not both"),
        (["--embedding", "own", "--model", "LexicalModel"], "--embedding has no effect"),
    ],
)
def test_what_cannot_be_embedded_is_refused(linnaeus, files, options, message) -> None:
    result = train(linnaeus, files, *options)
    assert result.code in (1, 2)
    assert message in result.err.replace("\n", " ")


def test_vectors_cannot_be_embedded(linnaeus, tmp_path) -> None:
    (tmp_path / "x.svm").write_text("1 1:0.5 2:1\n2 1:1\n1 2:1\n2 1:0.2\n")
    result = linnaeus("train", "-d", tmp_path / "x.svm", "-o", tmp_path / "model", "--embedding", "own")
    assert "--embedding own takes texts" in result.err.replace("\n", " ")
