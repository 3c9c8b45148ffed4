"""`linnaeus calibrate` makes probabilities and promises of a saved model."""

from __future__ import annotations

import json

from linnaeus.cli.calibrate import _suggested


def test_a_calibrated_model_answers_at_a_risk(linnaeus, trained) -> None:
    result = linnaeus("predict", trained / "model", trained / "docs.jsonl", "--risk", 0.2)
    assert result.code == 2
    assert "not calibrated" in result.err
    result = linnaeus("calibrate", trained / "model", trained / "docs.jsonl", "--method", "platt", "--json")
    found = json.loads(result.out)
    assert found["risk_documents"] == 20
    assert [row["threshold"] is None for row in found["promises"]] == [True, True, False, False, False, False]
    assert found["promises"][0]["threshold_of_answered"] is None
    result = linnaeus("predict", trained / "model", trained / "docs.jsonl", "--risk", 0.2, "--probabilities")
    values = [entry["probability"] for line in result.out.splitlines() for entry in json.loads(line)["labels"]]
    assert values
    assert all(0 <= value <= 1 for value in values)
    for more in ((), ("--closed",), ("--top", 2)):
        result = linnaeus("predict", trained / "model", trained / "docs.jsonl", "--probabilities", *more)
        entries = [entry for line in result.out.splitlines() for entry in json.loads(line)["labels"]]
        assert all(0 <= entry["probability"] <= 1 and "score" not in entry for entry in entries)
    assert linnaeus("predict", trained / "model", trained / "docs.jsonl", "--risk", 0.001).code == 2


def test_calibrating_or_measuring_with_training_documents_is_warned_of(linnaeus, trained) -> None:
    for command in ("calibrate", "evaluate"):
        result = linnaeus(command, trained / "model", trained / "docs.jsonl")
        assert result.code == 0, result.err
        assert "warning: about 100% of the documents of" in result.err
    lines = (trained / "docs.jsonl").read_text().splitlines()
    fresh = [json.loads(line) for line in lines]
    for place, record in enumerate(fresh):
        record["text"] += f" new{place}"
    (trained / "fresh.jsonl").write_text("\n".join(map(json.dumps, fresh)))
    result = linnaeus("calibrate", trained / "model", trained / "fresh.jsonl")
    assert result.code == 0, result.err
    assert "training documents" not in result.err
    (trained / "mixed.jsonl").write_text("\n".join([*map(json.dumps, fresh), *lines]))
    result = linnaeus("calibrate", trained / "model", trained / "mixed.jsonl")
    assert "warning: about 50% of the documents of" in result.err


def test_the_suggested_risk_answers_documents() -> None:
    none, some = (1.0, 0.0), (0.3, 0.8)
    assert _suggested([(0.01, *some, *some), (0.05, *some, *none), (0.1, *some, *some)]) == (
        "--risk 0.1 --risk-of answered"
    )
    assert _suggested([(0.05, *none, *none), (0.1, *some, *none)]) == "--risk 0.1"
    assert _suggested([(0.05, *none, None, None)]) == "--top 5 --probabilities"


def test_a_promise_from_cross_validation_is_called_approximate(linnaeus, files) -> None:
    given = ["-t", files / "topics.tsv", "-d", files / "docs.jsonl", "-o", files / "model", "--min-df", 1]
    assert linnaeus("train", *given, "--calibrate", "platt").code == 0
    result = linnaeus("predict", files / "model", files / "docs.jsonl", "--risk", "30%")
    assert result.code == 0, result.err
    assert "the promise is approximate" in result.err
