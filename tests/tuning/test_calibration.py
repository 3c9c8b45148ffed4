"""Probabilities, promises and expected costs of whole models, before and after they were saved."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import linnaeus
from linnaeus import (
    HM3,
    RRSVM,
    EdgePA,
    Hieron,
    OneVsRestLogistic,
    OneVsRestPA,
    OneVsRestSVM,
    Pipeline,
    Taxonomy,
    TopDownSVM,
    metrics,
)
from linnaeus.decoding import DECODERS, CutOff, LeastCost, LeastHLoss
from linnaeus.decoding.probability.curves import fit_calibrator
from linnaeus.decoding.probability.risk import fit_risk
from linnaeus.errors import LinnaeusError
from linnaeus.models import promises
from linnaeus.taxonomy.closure import is_closed
from linnaeus.tuning import calibration
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


TREE = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["A", "AC"], ["B", "BA"], ["B", "BB"], ["C"]])


def one_label_each(n: int, seed: int = 0, names=("AA", "AB", "AC", "BA", "BB", "C")):
    """Documents whose largest feature mostly says which label they have."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(names))) + 2.0 * np.eye(len(names))[rng.integers(len(names), size=n)]
    return X, np.array(names)[(X + 0.7 * rng.normal(size=X.shape)).argmax(axis=1)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: OneVsRestSVM(TREE, random_state=0),
        lambda: OneVsRestSVM(TREE, random_state=0, learn="closed"),
        lambda: OneVsRestLogistic(TREE, random_state=0),
        lambda: RRSVM(TREE, random_state=0),
        lambda: TopDownSVM(TREE, random_state=0),
        lambda: EdgePA(TREE, random_state=0),
    ],
    ids=["flat", "closed", "logistic", "joint", "topdown", "edges"],
)
def test_a_single_label_model_answers_one_code_and_its_probabilities_are_a_distribution(make) -> None:
    X, y = one_label_each(900)
    model = make().fit(X[:300], y[:300])
    linnaeus.calibrate(model, X[300:700], y[300:700], cv=None)
    curve = model.calibrator_
    S = np.concatenate(list(model.score_blocks(X[700:])))
    Q = curve.label_probabilities(S, TREE, model.nodes_)
    assert sorted(TREE.names[curve.labels]) == ["AA", "AB", "AC", "BA", "BB", "C"]
    np.testing.assert_allclose(Q.sum(axis=1), 1.0)
    P = curve(S, TREE, model.nodes_)
    at = {str(TREE.names[v]): i for i, v in enumerate(curve.nodes)}
    np.testing.assert_allclose(P[:, at["B"]], P[:, at["BA"]] + P[:, at["BB"]])
    np.testing.assert_allclose(P[:, [at["A"], at["B"], at["C"]]].sum(axis=1), 1.0)
    whole = model.predict_proba(X[700:])
    if not model.nested_:
        np.testing.assert_allclose(whole.sum(axis=1), 1.0)
    np.testing.assert_allclose(whole[:5], np.vstack([model.predict_proba(X[[i]]) for i in range(700, 705)]), rtol=1e-9)
    np.testing.assert_array_equal(P[:5], np.vstack([curve(S[[i]], TREE, model.nodes_) for i in range(5)]))
    for request in ({}, {"risk_of": "answered"}, {"risk_of": "answered", "rules": {"leaves_only": True}}):
        answers = model.predict(X[700:], risk=0.2, **request)
        assert max(map(len, answers)) == 1
    assert {label for answer in answers for label in answer} <= {"AA", "AB", "AC", "BA", "BB", "C"}


def test_labels_given_as_lists_of_one_are_single_labels_too(tmp_path: Path) -> None:
    X, y = one_label_each(700)
    rows = [[label] for label in y]
    for learn in ("given", "closed"):
        model = OneVsRestSVM(TREE, random_state=0, learn=learn).fit(X[:300], rows[:300])
        linnaeus.calibrate(model, X[300:600], rows[300:600], cv=None)
        assert max(map(len, model.predict(X[600:], risk=0.3, closed=False))) == 1
        linnaeus.save(model, tmp_path / learn)
        again = linnaeus.load(tmp_path / learn)
        assert again.single_label
        request = {"risk_of": "answered", "rules": {"exclude": "C"}}
        assert again.predict(X[600:], risk=0.3, **request) == model.predict(X[600:], risk=0.3, **request)


@pytest.mark.parametrize("rows", [False, True], ids=["one label", "label sets"])
def test_suggestions_rank_as_scores_do_and_are_labels(rows: bool) -> None:
    names = ("A", "AA", "AB", "BA", "BB", "C")  # A is a label itself, and above others
    X, y = one_label_each(800, names=names)
    y = [[label, "C"] if rows and i % 3 == 0 else [label] for i, label in enumerate(y)]
    model = OneVsRestSVM(TREE, random_state=0).fit(X[:400], y[:400])
    linnaeus.calibrate(model, X[400:], y[400:], cv=None)
    labels, _ = model.top(X[:200], 4)
    likely, values = model.top(X[:200], 4, probabilities=True)
    assert likely.tolist() == labels.tolist()
    assert (np.diff(values) <= 0).all()
    assert ((values >= 0) & (values <= 1)).all()
    closed = OneVsRestSVM(TREE, random_state=0, learn="closed").fit(X[:400], y[:400])
    linnaeus.calibrate(closed, X[400:], y[400:], cv=None)
    found = closed.top(X[:200], 3, probabilities=True)[0]
    assert set(found.ravel()) <= set(names)
    assert "B" in closed.top(X[:200], 3, probabilities=True, ancestors=True)[0]
    with pytest.raises(LinnaeusError, match="needs probabilities=True"):
        closed.top(X, ancestors=True)


@pytest.mark.parametrize("ancestors", [False, True])
@pytest.mark.parametrize("name", ["NodeSVM", "TopDownSVM", "EdgePA", "OneVsRestSVM", "closed sets"])
def test_suggestions_are_ranked_alike_with_and_without_probabilities(name: str, ancestors: bool) -> None:
    X, y = one_label_each(600, names=("A", "AA", "AB", "BA", "BB", "C"))
    rows = [[label, "C"] if i % 3 == 0 else [label] for i, label in enumerate(y)]
    if ancestors:
        rows = TREE.labels(TREE.close(TREE.indicator(rows), keep_root=False))
    if name == "closed sets":
        model = OneVsRestSVM(TREE, random_state=0, learn="closed")
    else:
        model = getattr(linnaeus, name)(TREE)
    model.fit(X[:300], rows[:300])
    linnaeus.calibrate(model, X[300:], rows[300:], cv=None)
    labels, scores = model.top(X[:200], 4)
    likely, values = model.top(X[:200], 4, probabilities=True)
    assert likely.tolist() == labels.tolist()
    assert (np.diff(values) <= 0).all()
    assert (np.diff(scores) <= 0).all()
    assert ((values >= 0) & (values <= 1)).all()
    assert set(labels.ravel()) <= {"A", "AA", "AB", "BA", "BB", "C"} | ({"B"} if ancestors else set())
    some, P = model.top(X[:200], 2, probabilities=True, rules={"only_under": ["A"]})
    assert some.tolist() == model.top(X[:200], 2, rules={"only_under": ["A"]})[0].tolist()
    assert (np.diff(P) <= 0).all()


def test_suggested_probabilities_are_frequencies() -> None:
    X, y = one_label_each(6000, names=("A", "AA", "AB", "BA", "BB", "C"))
    for labels in ([[label] for label in y], [[label, "C"] if i % 3 == 0 else [label] for i, label in enumerate(y)]):
        model = OneVsRestSVM(TREE, random_state=0).fit(X[:500], labels[:500])
        linnaeus.calibrate(model, X[500:3000], labels[500:3000], cv=None)
        found, P = model.top(X[3000:], 6, probabilities=True)
        right = np.array([[name in row for name in names] for names, row in zip(found, labels[3000:], strict=True)])
        order = np.argsort(P.ravel(), kind="stable")
        for part in np.array_split(
            order, 10
        ):  # 1,800 pairs each: a standard error of at most 0.012, here and in fitting
            assert abs(P.ravel()[part].mean() - right.ravel()[part].mean()) < 0.06


def test_decisions_say_why_a_document_is_left_for_review() -> None:
    X, y = one_label_each(2000)
    model = OneVsRestSVM(TREE, random_state=0).fit(X[:500], y[:500])
    linnaeus.calibrate(model, X[500:], y[500:], cv=None)
    ask = np.vstack([np.zeros(6), 4 * np.eye(6)[0], 0.1 * np.ones(6), X[:500]])
    found = model.decisions(ask, 0.05, risk_of="answered", rules={"leaves_only": True}, k=3)
    reasons = [None if code < 0 else promises.REASONS[code] for code in found.reason]
    assert reasons[:3] == ["no known word", None, "below the threshold"]
    assert TREE.names[found.candidates[1, 0]] == "AA"
    equal = np.array([reason == "two codes nearly equal" for reason in reasons])
    assert 0 < equal.sum() < 100
    assert (2 * found.probabilities[equal, 1] > found.probabilities[equal, 0]).all()
    assert found.margin[1] > found.margin[equal].max()
    assert found.candidates.shape == found.probabilities.shape == (503, 3)
    assert ((np.diff(found.Y.indptr) > 0) == (found.reason < 0)).all()


def test_the_promise_of_answered_documents_is_kept_by_whole_models() -> None:
    X, y = one_label_each(9000)
    model = OneVsRestSVM(TREE, random_state=0).fit(X[:1000], y[:1000])
    linnaeus.calibrate(model, X[1000:4000], y[1000:4000], cv=None)
    for rules in (None, {"leaves_only": True}, {"only_under": "A"}):
        answers = model.predict(X[4000:], risk=0.1, risk_of="answered", confidence=0.9, rules=rules)
        risk = metrics.selective_risk(y[4000:], answers, TREE)
        assert risk.n > 500
        assert risk <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / risk.n)


def test_a_model_that_has_learned_more_or_was_pruned_is_not_calibrated_any_more() -> None:
    X, y = one_label_each(600)
    online = linnaeus.calibrate(OneVsRestPA(TREE, random_state=0).fit(X[:200], y[:200]), X[200:], y[200:], cv=None)
    online.partial_fit(X[:50], y[:50])
    joint = linnaeus.calibrate(RRSVM(TREE, random_state=0).fit(X[:200], y[:200]), X[200:], y[200:], cv=None)
    joint.update(X[:50], y[:50])
    pruned = linnaeus.calibrate(OneVsRestSVM(TREE, random_state=0).fit(X[:200], y[:200]), X[200:], y[200:], cv=None)
    pruned.prune(0.01)
    ranker = linnaeus.calibrate(Hieron(TREE, random_state=0).fit(X[:200], y[:200]), X[200:], y[200:], cv=None)
    ranker.partial_fit(X[:50], y[:50])
    for model in (online, joint, pruned, ranker):
        assert not hasattr(model, "predict_proba")
        with pytest.raises(LinnaeusError, match="not calibrated"):
            model.predict(X[:2], risk=0.2)


def test_pipelines_are_calibrated_as_a_whole() -> None:
    tax = taxonomy()
    X, labels = documents(tax, 400)
    pipe = Pipeline(OneVsRestSVM(tax, random_state=0)).fit(X[:200], labels[:200])
    linnaeus.calibrate(pipe, X[200:], labels[200:], cv=None)
    assert pipe.predict_proba(X[:3]).shape == (3, len(pipe.classes_))
    assert len(pipe.predict(X[:3], risk=0.3)) == 3


@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba"])
@pytest.mark.parametrize("wrapped", [False, True], ids=["model", "pipeline"])
def test_a_model_without_probabilities_says_how_to_get_them(wrapped, method) -> None:
    X, labels = documents(taxonomy(), 20)
    model = OneVsRestSVM(taxonomy(), random_state=0)
    model = (Pipeline(model) if wrapped else model).fit(X, labels)
    assert not hasattr(model, method)
    with pytest.raises(AttributeError, match=r"OneVsRestSVM has scores but no probabilities; call linnaeus\.calibrate"):
        getattr(model, method)(X)
    linnaeus.calibrate(model, X, labels, cv=None)
    assert getattr(model, method)(X).shape == (20, len(model.classes_))


def test_costs_without_probabilities_are_refused() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    with pytest.raises(LinnaeusError, match=r"no probabilities; call linnaeus\.calibrate"):
        OneVsRestSVM(tax).fit(X, labels).predict(X, decoder="least_cost")
    with pytest.raises(LinnaeusError, match="fit it first"):
        linnaeus.calibrate(OneVsRestSVM(tax), X, labels)


@pytest.mark.slow
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


def test_logarithms_of_probabilities_are_there_where_probabilities_are() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, "a", "b")
    model = OneVsRestSVM(random_state=0).fit(X, y)
    assert not hasattr(model, "predict_log_proba")
    pipe = Pipeline(OneVsRestLogistic(random_state=0)).fit(X, y)
    np.testing.assert_allclose(np.exp(pipe.predict_log_proba(X)), pipe.predict_proba(X))
    linnaeus.calibrate(model, X, y, cv=3)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


def test_promises_from_cross_validation_hold_for_labels_with_few_documents() -> None:
    rng = np.random.default_rng(0)
    tax = Taxonomy.from_paths([[f"{top}", f"{top}{end}"] for top in "ABCDEF" for end in "0123456789"])
    leaves = np.flatnonzero(tax.is_leaf)

    def scored(n: int):
        y = rng.integers(len(leaves), size=n)
        S = rng.normal(-1.5, 0.5, size=(n, len(leaves)))
        S[np.arange(n), np.where(rng.random(n) < 0.5, rng.integers(len(leaves), size=n), y)] += 1.5
        return S, tax.indicator([[str(tax.names[leaves[i]])] for i in y])

    S, Y = scored(1500)  # 25 documents of each label: a half would have too few for an isotonic curve
    curves = partial(fit_calibrator, taxonomy=tax, columns=leaves, coherent="project", labels=leaves, single=True)
    curve = curves(S, Y)
    P = calibration._crossed(S, Y, curves, curve, 0)
    control = fit_risk(P, tax.close(Y, keep_root=False), curve.nodes, exact=False, single=True)
    new, gold = scored(4000)
    gold = tax.close(gold, keep_root=False)
    for rules in (None, {"leaves_only": True}):
        for risk in (0.1, 0.2, 0.3):
            threshold = control.threshold(risk, tax, rules=rules)
            found = control.answers(curve(new, tax, leaves), threshold, tax, curve.nodes, rules)
            wrong = np.asarray((found - found.multiply(gold)).sum(axis=1)).ravel() > 0
            assert wrong.mean() < risk + 0.03, (rules, risk)


def test_large_taxonomies_are_calibrated_on_a_part_of_the_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = one_label_each(900)
    model = OneVsRestSVM(TREE, random_state=0).fit(X, y)
    sizes = []
    fitted = calibration.fit_calibrator
    monkeypatch.setattr(calibration, "fit_calibrator", lambda S, *a, **k: sizes.append(len(S)) or fitted(S, *a, **k))
    monkeypatch.setattr(calibration, "_MOST_VALUES", 400 * TREE.n_nodes)
    linnaeus.calibrate(model, X, y)
    assert max(sizes) == 400
    assert np.allclose(model.predict_proba(X[:50]).max(), 1.0, atol=0.2)


def test_the_docstring_of_fit_decoder_names_every_cut_off() -> None:
    names = [name for name, kind in DECODERS.items() if issubclass(kind, CutOff)]
    assert [name for name in names if f'"{name}"' not in (linnaeus.fit_decoder.__doc__ or "")] == []
