"""Probabilities, promises and expected costs of whole models, before and after they were saved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linnaeus
from linnaeus import HM3, RRSVM, OneVsRestLogistic, OneVsRestSVM, Pipeline, TopDownSVM, metrics
from linnaeus.decoding import LeastCost, LeastHLoss
from linnaeus.errors import LinnaeusError
from linnaeus.taxonomy.closure import is_closed
from tests.contracts.configurations import documents, taxonomy


@pytest.fixture(scope="module", params=["tree", "dag"])
def problem(request):
    tax = taxonomy(request.param)
    return tax, *documents(tax, 900)


@pytest.mark.parametrize("kind", [OneVsRestSVM, RRSVM, TopDownSVM, HM3, OneVsRestLogistic])
def test_every_model_can_be_calibrated(kind, problem, tmp_path: Path) -> None:
    tax, X, labels = problem
    n_docs = 60 if kind is HM3 else 300
    model = kind(tax).fit(X[:n_docs], labels[:n_docs])
    linnaeus.calibrate(model, X[300:700], labels[300:700], cv=None)
    P = model.predict_proba(X[700:])
    assert P.shape == (200, len(model.classes_))
    assert ((P >= 0) & (P <= 1)).all()
    names = [str(name) for name in model.classes_]
    assert metrics.coherence_violations(P, tax, labels=names, tolerance=0.0) == 0
    np.testing.assert_array_equal(P[:5], np.vstack([model.predict_proba(X[[i]]) for i in range(700, 705)]))
    Y = model.answers(X[700:], risk=0.2, closed=True)
    gold = tax.close(tax.indicator(labels[700:]))
    wrong = (Y - Y.multiply(gold)).sum(axis=1) > 0
    assert wrong.mean() <= 0.2 + 3 * np.sqrt(0.2 * 0.8 / 200) + 3 * np.sqrt(0.2 * 0.8 / 200)
    assert is_closed(tax, Y)
    for decoder in (LeastCost(miss=2.0), LeastHLoss()):
        assert is_closed(tax, model.answers(X[700:720], decoder=decoder, closed=True))
    linnaeus.save(model, tmp_path / "model")
    again = linnaeus.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X[700:]), P)
    assert again.predict(X[700:], risk=0.2) == model.predict(X[700:], risk=0.2)


def test_folds_calibrate_without_holding_documents_back(problem) -> None:
    tax, X, labels = problem
    model = OneVsRestSVM(tax, random_state=0).fit(X[:400], labels[:400])
    assert not hasattr(model, "predict_proba")
    linnaeus.calibrate(model, X[:400], labels[:400], cv=3, method="platt")
    assert not model.risk_control_.exact
    truth = metrics.brier(labels[400:], model.predict_proba(X[400:]), tax, labels=[str(c) for c in model.classes_])
    assert truth < 0.2
    model.fit(X[:50], labels[:50])
    assert not hasattr(model, "predict_proba")


def test_pipelines_are_calibrated_as_a_whole() -> None:
    tax = taxonomy()
    X, labels = documents(tax, 400)
    pipe = Pipeline(OneVsRestSVM(tax, random_state=0)).fit(X[:200], labels[:200])
    linnaeus.calibrate(pipe, X[200:], labels[200:], cv=None)
    assert pipe.predict_proba(X[:3]).shape == (3, len(pipe.classes_))
    assert len(pipe.predict(X[:3], risk=0.3)) == 3


def test_costs_without_probabilities_are_refused() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    with pytest.raises(LinnaeusError, match="calibrate first"):
        OneVsRestSVM(tax).fit(X, labels).predict(X, decoder="least_cost")
    with pytest.raises(LinnaeusError, match="fit it first"):
        linnaeus.calibrate(OneVsRestSVM(tax), X, labels)


@pytest.mark.data
def test_promised_risks_are_kept_on_news_and_probabilities_hold(data_dir: Path) -> None:
    from benchmarks.risk_control import run

    result = run(["--problem", "rcv1v2", "--shuffle"])
    for row in result["risks"]:
        assert row["any_wrong"] <= row["risk"] + 3 * row["standard_error"]
        assert row["any_wrong"] >= row["risk"] - 4 * row["standard_error"] - 2 / result["n_risk"]
    for row in result["levels"]:
        assert row["ece"] < 0.02
        assert row["brier"] < row["brier_before"]
    assert result["violations"][1] == 0
