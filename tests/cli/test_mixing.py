"""`linnaeus train --model Mixture`: sources on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def files(tmp_path: Path) -> Path:
    texts = [
        ("a heart attack in winter", "mi"),
        ("myocardial infarction and its care", "mi"),
        ("lungs and breath", "lung"),
        ("healthy lungs in old age", "lung"),
        ("the heart", "heart"),
        ("diseases of the heart", "heart"),
    ]
    lines = [json.dumps({"text": text, "labels": [label]}) for text, label in texts * 4]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "new.jsonl").write_text(json.dumps({"text": "wheezing at night"}) + "\n")
    rows = [
        "heart,,Heart diseases,",
        "mi,heart,Myocardial infarction,Heart attack",
        "lung,,Lungs,",
        "asthma,lung,Asthma,Wheezing",
    ]
    (tmp_path / "tax.csv").write_text("\n".join(["id,parent,label,altLabel", *rows]) + "\n")
    return tmp_path


def _train(linnaeus, files: Path, *more: str):
    given = ("--data", files / "docs.jsonl", "--taxonomy", files / "tax.csv", "--output", files / "model")
    return linnaeus("train", *given, "--test-size", 0, *more)


def test_a_mixture_of_named_sources_answers_nodes_without_documents_and_explains_itself(linnaeus, files) -> None:
    mixed = "--sources", "flat=OneVsRestSVM,LexicalModel", "--set", "flat__C=2", "--set", "cv=2", "--json"
    trained = json.loads(_train(linnaeus, files, *mixed).out)
    assert (trained["model"], trained["nodes_answered"]) == ("Mixture", 4)
    record = json.loads(linnaeus("predict", files / "model", files / "new.jsonl", "--top", 1).out)
    assert record["labels"][0]["label"] == "asthma"
    assert (
        "'wheezing' = alternative label of Asthma"
        in linnaeus("explain", files / "model", "--document", "wheezing at night").out
    )


def test_sources_and_the_constant_sum_to_the_score(linnaeus, files) -> None:
    _train(linnaeus, files, "--model", "mixture", "--set", "cv=2")
    asked = "explain", files / "model", "--document", "wheezing at night"
    steps = json.loads(linnaeus(*asked, "--json").out)
    for step in steps:
        spoke = [source["contribution"] for source in step["mixed"]]
        assert len(spoke) == 2
        assert sum(spoke) + step["mixed_constant"] == pytest.approx(step["score"])
    shown = [line.split() for line in linnaeus(*asked).out.splitlines()]
    after = next(i for i, words in enumerate(shown) if words[:3] == ["source", "weight", "contribution"])
    constant = next(words for words in shown[after:] if words[:1] == ["constant"])
    assert float(constant[1]) == pytest.approx(steps[0]["mixed_constant"], abs=1e-4)


def test_a_mixture_does_not_answer_documents_of_which_it_knows_nothing(linnaeus, files) -> None:
    _train(linnaeus, files, "--sources", "OneVsRestSVM,LexicalModel", "--set", "cv=2")
    lines = [json.dumps({"text": text}) for text in ("zzz qqq", "wheezing zzz", "healthy zzz")]
    (files / "new.jsonl").write_text("\n".join(lines))
    records = [json.loads(line) for line in linnaeus("predict", files / "model", files / "new.jsonl").out.splitlines()]
    assert [record["status"] for record in records] == ["unknown", "answered", "answered"]
    assert records[0]["labels"] == []


def test_the_usual_sources_share_the_features(linnaeus, files) -> None:
    _train(linnaeus, files, "--model", "mixture", "--set", "RRLogistic__C=2", "--set", "cv=2")
    from linnaeus import store

    model = store.load(files / "model")
    assert model.model_.mixture_.names == ["OneVsRestSVM", "RRLogistic"]
    assert model.features_ is not None
    assert model.model_.sources_[1].C == 2
    assert "OneVsRestSVM; RRLogistic" in linnaeus("models", files / "model").out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--sources", "RRSVM"], "a mixture has at least two sources"),
        (["--sources", "RRSVM,Lexicl"], "did you mean 'LexicalModel'?"),
        (["--sources", "RRSVM,RRSVM"], "--sources has 'RRSVM' twice"),
        (["--model", "RRSVM", "--sources", "RRSVM,LexicalModel"], "expected --model Mixture"),
        (["--sources", "RRSVM,LexicalModel", "--set", "SVM__C=1"], "'SVM' is not a source"),
        (["--sources", "RRSVM,LexicalModel", "--set", "RRSVM__D=1"], "RRSVM has the parameters"),
        (["--sources", "RRSVM,LexicalModel", "--budget", "3m"], "without a search; leave --budget out"),
        (["--sources", "RRSVM,LexicalModel", "--max-time", "3m"], "--max-time: Mixture trains without"),
        (["--model", "Mixture", "--answer", "all"], "give it to a source"),
        (["--model", "Mixture", "--set", "RRLogistic__answer=all"], "add the source LexicalModel"),
    ],
)
def test_what_a_mixture_cannot_take_is_refused(linnaeus, files, given, message) -> None:
    done = _train(linnaeus, files, *given)
    assert done.code != 0
    assert message in " ".join(done.err.split())


def test_rules_that_leave_nothing_name_the_document_and_the_labels_of_nodes(linnaeus, files) -> None:
    assert _train(linnaeus, files, "--model", "OneVsRestSVM").code == 0
    done = linnaeus("predict", files / "model", files / "new.jsonl", "--only-under", "asthma")
    assert done.code != 0
    assert "No label set of document '1' obeys --only-under asthma (asthma is Asthma): the rules" in done.err


def test_a_file_without_a_text_column_is_told_what_the_model_was_trained_on(linnaeus, files) -> None:
    assert _train(linnaeus, files, "--model", "OneVsRestSVM").code == 0
    (files / "other.csv").write_text("id,inhalt\n1,wheezing at night\n")
    done = linnaeus("predict", files / "model", files / "other.csv")
    assert done.code != 0
    assert "(the model was trained on the text 'text')" in done.err


def test_the_sources_are_named_before_a_training(linnaeus, files) -> None:
    trained = _train(linnaeus, files, "--sources", "words=LexicalModel,OneVsRestSVM", "--set", "cv=2")
    assert "training Mixture of words and OneVsRestSVM" in " ".join(trained.err.split())
