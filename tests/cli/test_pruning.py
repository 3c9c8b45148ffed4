"""`linnaeus train --prune`: by default large linear models lose the weights that change hardly any answer."""

from __future__ import annotations

import json

import numpy as np
import pytest

import linnaeus as package
from linnaeus.auto import pruning
from linnaeus.cli import train
from linnaeus.cli.train import AfterOptions
from linnaeus.errors import ParameterError

LABELS = [f"topic{i}" for i in range(60)]


@pytest.fixture
def docs(tmp_path):
    """Documents with twelve words of their label and four that say nothing."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(600):
        own = [f"{LABELS[i % 60]}{letter}" for letter in "abcdefghijkl"]
        noise = [f"noise{j}" for j in rng.integers(0, 300, 4)]
        rows.append({"text": " ".join(own + noise), "labels": [LABELS[i % 60]]})
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "docs.jsonl"


@pytest.fixture
def all_are_large(monkeypatch) -> None:
    monkeypatch.setattr(train, "_LARGE", 1000)


def trained(linnaeus, docs, *more, model="OneVsRestSVM"):
    given = ["--model", model, "--C", 1, "--decoder", "own"] if model else []
    result = linnaeus("train", "-d", docs, "-o", docs.parent / "model", *given, *more)
    assert result.code == 0, result.err
    return result


def report_of(linnaeus, docs, *more, **how):
    return json.loads(trained(linnaeus, docs, "--json", *more, **how).out)


def test_small_models_stay_as_they_are(linnaeus, docs) -> None:
    assert "pruned" not in report_of(linnaeus, docs)
    model = package.load(docs.parent / "model").model_
    assert isinstance(model.weights_, np.ndarray)
    assert model.weights_.nbytes < train._LARGE


def test_large_models_are_pruned_and_answer_the_same(linnaeus, docs, all_are_large) -> None:
    texts = [json.loads(line)["text"] for line in docs.read_text().splitlines()]
    assert "pruned" not in report_of(linnaeus, docs, "--prune", "none")
    whole = package.load(docs.parent / "model").predict(texts).tolist()
    report = report_of(linnaeus, docs)["pruned"]
    assert report["threshold"] > 0
    assert report["bytes_after"] < report["bytes_before"] / 4
    assert report["unseen"]["documents"] == 60
    assert report["unseen"]["changed"] <= 0.01
    assert report["unseen"]["before"] - report["unseen"]["after"] < 0.001
    assert report["scores"]["micro_f1"] == pytest.approx(report["unseen"]["after"], abs=0.02)
    pruned = package.load(docs.parent / "model")
    assert pruned.model_.weights_.nnz == report["weights_kept"]
    assert np.mean([a == b for a, b in zip(pruned.predict(texts).tolist(), whole, strict=True)]) > 0.99


def test_test_documents_confirm_the_threshold(linnaeus, docs, all_are_large) -> None:
    report = report_of(linnaeus, docs, "--test", docs)["pruned"]
    assert report["unseen"]["documents"] == 600
    shown = trained(linnaeus, docs, "--test", docs)
    assert "after pruning" in shown.out
    assert "of the answered labels changed on 600 documents held out" in shown.err


def test_without_held_out_documents_halves_of_training_documents_decide(linnaeus, docs, all_are_large) -> None:
    report = report_of(linnaeus, docs, "--test-size", 0)["pruned"]
    assert report["unseen"] is None
    assert report["threshold"] > 0
    assert report["training"]["documents"] == 600
    assert report["training"]["changed"] <= 0.005


def test_a_model_whose_answers_would_change_stays_whole(linnaeus, docs, all_are_large, monkeypatch) -> None:
    monkeypatch.setattr(pruning, "_CHANGED_UNSEEN", -1.0)  # held-out documents refuse whatever is tried
    shown = trained(linnaeus, docs)
    assert shown.err.count("the model stays whole") == 1
    assert "pruning would cost" in shown.err
    report = report_of(linnaeus, docs)["pruned"]
    assert report["threshold"] is None
    assert report["weights_kept"] == report["weights_before"]
    model = package.load(docs.parent / "model").model_
    assert isinstance(model.weights_, np.ndarray)
    assert not hasattr(model, "prune_threshold_")


def test_weights_that_all_matter_stay(linnaeus, tmp_path, all_are_large) -> None:
    rng = np.random.default_rng(1)
    words = [f"w{i}" for i in range(40)]
    rows = []
    for i in range(400):  # labels differ by frequencies of the same words: every weight counts a little
        shares = np.random.default_rng(i % 20).dirichlet(np.ones(40))
        rows.append({"text": " ".join(rng.choice(words, 60, p=shares)), "labels": [f"l{i % 20}"]})
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = report_of(linnaeus, tmp_path / "docs.jsonl", "--test-size", 0)["pruned"]
    assert (report["threshold"], report["reason"]) == (None, "more than one weight in 8 matters")


def test_probabilities_of_a_search_survive(linnaeus, docs, all_are_large) -> None:
    texts = [json.loads(line)["text"] for line in docs.read_text().splitlines()[:50]]
    more = ("--model", "OneVsRestSVM", "--budget", "1h")
    report_of(linnaeus, docs, *more, "--prune", "none", model=None)
    whole = package.load(docs.parent / "model")
    report = report_of(linnaeus, docs, *more, model=None)["pruned"]
    pruned = package.load(docs.parent / "model")
    assert report["threshold"] > 0
    assert report["training"]["probability_moved"] <= 0.005
    assert pruned.calibrator_ is not None
    assert np.abs(pruned.predict_proba(texts) - whole.predict_proba(texts)).max() < 0.05
    assert "--calibrate" in trained(linnaeus, docs, *more, "--prune", 0.01, model=None).err


def test_models_that_learn_on_are_not_pruned_by_default(linnaeus, docs, all_are_large) -> None:
    report = report_of(linnaeus, docs, "--test-size", 0, model="OneVsRestPA")["pruned"]
    assert "could not learn from further documents" in report["reason"]
    assert report["threshold"] is None


def test_a_memory_limit_that_pruning_might_exceed_keeps_the_model_whole(linnaeus, docs, all_are_large) -> None:
    from linnaeus.cli.pruning import Pruning

    trained(linnaeus, docs, "--prune", "none")
    report = Pruning(None, "micro_f1", "1KB").prune(package.load(docs.parent / "model"), ([], []), None)
    assert "--max-memory" in report["reason"]


def test_the_ranking_and_the_first_suggestion_can_be_what_must_not_fall(linnaeus, docs, all_are_large) -> None:
    for measure in ("average_precision", "precision_at_1"):
        more = ("--model", "OneVsRestSVM", "--C", 1, "--budget", "1h", "--measure", measure)
        assert report_of(linnaeus, docs, *more, model=None)["pruned"]["training"]["measure"] == measure


def test_anything_else_than_a_number_auto_or_none_is_refused() -> None:
    assert AfterOptions(prune="0.1").prune_threshold() == 0.1
    for none in ("auto", "none", "0"):
        assert AfterOptions(prune=none).prune_threshold() is None
    for wrong in ("-1", "much", "nan"):
        with pytest.raises(ParameterError, match="expected auto, none, or a number of at least 0"):
            AfterOptions(prune=wrong).check()
