"""`linnaeus train --model auto` chooses, says what and why, and refuses what contradicts a search."""

from __future__ import annotations

import json

import pytest

import linnaeus as package


def train(files, *more):
    data = ["--taxonomy", files / "topics.tsv", "--data", files / "docs.jsonl", "--min-df", 1]
    return ["train", *data, "--output", files / "model", *more]


def test_auto_chooses_saves_and_reports(linnaeus, files) -> None:
    result = linnaeus(*train(files, "--model", "auto", "--budget", "3"))
    assert result.code == 0, result.err
    for word in ("chosen:", "held-out hierarchical f1", "95% interval", "flat baseline"):
        assert word in result.out
    model = package.load(files / "model")
    assert model.predict(["a kitten with a whisker"]).tolist() == ["Cats"]
    assert model.predict_proba(["a kitten"]).shape == (1, 4)


def test_a_budget_or_measure_tunes_a_model_that_is_named(linnaeus, files) -> None:
    result = linnaeus(*train(files, "--model", "NodeSVM", "--measure", "micro_f1", "--budget", "2", "--json"))
    told = json.loads(result.out)
    assert told["model"] == "NodeSVM"
    assert told["search"]["measure"] == "micro_f1"
    assert {one["model"] for one in told["search"]["tried"]} == {"NodeSVM"}
    low, high = told["search"]["interval"]
    assert low <= told["search"]["value"] <= high


def test_a_search_continues_from_its_folder(linnaeus, files) -> None:
    more = ("--model", "auto", "--budget", "0.01", "--checkpoint", files / "kept", "--json")
    first = json.loads(linnaeus(*train(files, *more)).out)["search"]
    assert (files / "kept" / "search.json").exists()
    second = json.loads(linnaeus(*train(files, *more)).out)["search"]
    assert second["tried"] == first["tried"]
    assert "too small" in first["notes"][0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--model", "auto", "--C", "1"), "--C: the search chooses"),
        (("--model", "auto", "--decoder", "scut"), "--decoder: the search chooses"),
        (("--model", "auto", "--max-time", "5"), "--budget limits a search"),
        (("--model", "auto", "--measure", "speed"), "--measure speed: expected hierarchical_f1"),
        (("--model", "auto", "--budget", "soon"), "--budget"),
    ],
)
def test_what_contradicts_a_search_is_refused_before_anything_is_read(linnaeus, files, more, message) -> None:
    result = linnaeus(*train(files, *more))
    assert result.code == 2
    assert message in result.err
    assert not (files / "model").exists()
