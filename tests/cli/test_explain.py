"""`linnaeus explain` shows exact contributions, and they add up."""

from __future__ import annotations

import json

import pytest


def test_contributions_add_up_to_the_score(linnaeus, trained) -> None:
    result = linnaeus("explain", trained / "model", "--text", "the kitten likes to purr", "--json")
    (step,) = json.loads(result.out)
    assert step["node"] == "Cats"
    total = step["constant"] + step["others"] + sum(c for _, c in step["contributions"])
    assert total == pytest.approx(step["score"], abs=1e-6)
    assert {f for f, _ in step["contributions"]} == {"kitten", "purr"}


def test_another_node_can_be_asked_for(linnaeus, trained) -> None:
    result = linnaeus("explain", trained / "model", "--text", "kitten", "--node", "Dogs")
    assert result.code == 0
    assert "Dogs: score -" in result.out


def test_a_document_of_a_file_by_its_id(linnaeus, trained) -> None:
    result = linnaeus("explain", trained / "model", "--data", trained / "docs.jsonl", "--id", "d1", "--json")
    assert json.loads(result.out)[0]["node"] == "Dogs"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "either as --text or as --data"),
        (["--text", "x", "--node", "Cat"], 1, "did you mean 'Cats'"),
        (["--text", "x", "--node", "Plants"], 1, "'Plants' has no score"),
        (["--data", "docs.jsonl"], 2, "--id; the ids begin with d0"),
    ],
)
def test_errors_say_what_is_wrong(linnaeus, trained, monkeypatch, arguments, code, message) -> None:
    monkeypatch.chdir(trained)
    result = linnaeus("explain", "model", *arguments)
    assert result.code == code
    assert message in result.err.replace("\n", " ")


def test_a_text_of_unknown_words_is_noticed(linnaeus, trained) -> None:
    assert "knows no word" in linnaeus("explain", trained / "model", "--text", "zzz qqq").err


def test_a_document_by_its_number(linnaeus, trained) -> None:
    result = linnaeus("explain", trained / "model", "--data", trained / "docs.jsonl", "--id", "2", "--json")
    assert json.loads(result.out)[0]["node"] == "Trees"


def test_an_unknown_id_names_some_that_exist(linnaeus, trained) -> None:
    result = linnaeus("explain", trained / "model", "--data", trained / "docs.jsonl", "--id", "d999")
    assert (result.code, "d0, d1, d2" in result.err) == (2, True)


def test_the_runner_up_and_similar_documents_are_shown(linnaeus, files) -> None:
    train = ["train", "-t", files / "topics.tsv", "-d", files / "docs.jsonl", "-o", files / "model", "--min-df", 1]
    assert linnaeus(*train, "--keep-documents", "--calibrate", "platt").code == 0
    result = linnaeus("explain", files / "model", "--text", "kitten purr", "--json")
    (step,) = json.loads(result.out)
    rival = step["against"]
    assert rival["rival"] == "Dogs"
    total = rival["constant"] + rival["others"] + sum(c for _, c in rival["contributions"])
    assert total == pytest.approx(rival["margin"], abs=1e-6)
    assert all(near["labels"] == ["Cats"] for near in step["nearest"])
    shown = linnaeus("explain", files / "model", "--text", "kitten purr").out
    assert "rather than Dogs" in shown
    assert "nearest documents at or below Cats" in shown
