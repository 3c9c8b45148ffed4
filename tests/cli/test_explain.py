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
    ("arguments", "message"),
    [
        ([], "either as --text or as --data"),
        (["--text", "x", "--node", "Cat"], "did you mean 'Cats'"),
    ],
)
def test_errors_say_what_is_wrong(linnaeus, trained, arguments, message) -> None:
    result = linnaeus("explain", trained / "model", *arguments)
    assert result.code == 1
    assert message in result.err


def test_an_unknown_id_names_some_that_exist(linnaeus, trained) -> None:
    result = linnaeus("explain", trained / "model", "--data", trained / "docs.jsonl", "--id", "d999")
    assert (result.code, "d0, d1, d2" in result.err) == (1, True)
