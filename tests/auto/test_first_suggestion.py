"""Searches for the best first suggestion (`precision_at_1`), the measure of documents with nearly one label each."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.auto import AutoClassifier
from linnaeus.auto.candidates import PLAIN, TEXTS, Candidate, first_candidate
from linnaeus.auto.evaluate import Evaluator, check_measure, of_answers, splits_of
from linnaeus.features import TextFeatures
from linnaeus.pipeline import Pipeline

TAX = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"], ["B", "BB"]])
LABELS = ["A", "B", "AA", "AB", "BA", "BB"]


def documents(n: int, seed: int = 0) -> tuple[np.ndarray, list[list[str]]]:
    """One label for nearly every document, at any level; a second one for every tenth."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    order = np.argsort(-(X + 0.5 * rng.normal(size=X.shape)), axis=1)
    return X, [[LABELS[j] for j in row[: 2 if i % 10 == 0 else 1]] for i, row in enumerate(order)]


@pytest.mark.parametrize("name", ["P@1", "precision at 1", "accuracy", "precision_at_1"])
def test_the_first_suggestion_is_known_by_its_usual_names(name: str) -> None:
    assert check_measure(name) == "precision_at_1"


def test_a_first_suggestion_counts_where_it_is_one_of_the_labels() -> None:
    gold, first = TAX.indicator([["AA", "BA"], ["AB"], ["B"]]), TAX.indicator([["BA"], ["A"], ["B"]])
    value = of_answers("precision_at_1", gold, first, TAX)
    assert value(np.array([[1.0, 1.0, 1.0], [0.0, 3.0, 1.0]])).round(3).tolist() == [0.667, 0.25]


@pytest.mark.parametrize("learn", ["given", "closed", "frontier"])
@pytest.mark.parametrize("model", ["OneVsRestSVM", "RRSVM", "TopDownSVM"])
def test_the_held_out_value_is_that_of_the_first_node_of_top(model: str, learn: str) -> None:
    X, y = documents(600)
    Y = TAX.indicator(y)
    evaluator = Evaluator(X, Y, TAX, {"as they are": None}, splits_of(Y, 0), "precision_at_1", 0)
    outcome = evaluator.run(first_candidate(model, learn=learn), evaluator.n_learn)
    auto = AutoClassifier(TAX, measure="precision_at_1", budget=1e3)
    auto.fit(X, y, models=[model], tuned=(), parameters={"learn": learn} if outcome.candidate.learn else {})
    X_test, y_test = documents(3000, seed=1)
    best = auto.pipeline_.top(X_test, 1)[0][:, 0]
    reached = np.mean([label in row for label, row in zip(best, y_test, strict=True)])
    assert outcome.value == pytest.approx(reached, abs=0.09)


def test_closed_sets_are_not_tried_where_the_first_suggestion_counts() -> None:
    X, y = documents(500)
    auto = AutoClassifier(TAX, measure="precision_at_1", budget=1e3).fit(X, y, models=["OneVsRestSVM"])
    assert {one.candidate.learn for one in auto.report_.tried} == {"given", "frontier"}
    assert "held-out precision at 1" in str(auto.report_)
    assert auto.report_.value > 0.6


@pytest.mark.parametrize("n_labels", [1, 2])
def test_closed_sets_of_single_labels_come_with_the_advice_to_ask_for_the_first_suggestion(
    monkeypatch, n_labels: int
) -> None:
    X, y = documents(120)
    y = [row if n_labels == 1 else [*row, "BB" if row[0] != "BB" else "AA"] for row in y]
    closed = Candidate("OneVsRestSVM", C=1.0, learn="closed")
    monkeypatch.setattr("linnaeus.auto.search.first_candidate", lambda *given: closed)
    auto = AutoClassifier(TAX, budget=1e3).fit(X, y, models=["OneVsRestSVM"], tuned=())
    assert ("precision_at_1" in str(auto.report_)) == (n_labels == 1)


def test_mixtures_learn_what_comes_first_where_documents_have_several_labels() -> None:
    rng = np.random.default_rng(0)
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B")] + [("AB"[i % 2], f"w{i:02}") for i in range(150)])
    tax = tax.with_display_labels({f"w{i:02}": f"word{i}" for i in range(150)})
    target = np.minimum(rng.geometric(0.015, 600), 150) - 1
    texts = [f"noise{rng.integers(99)} {f'word{t}' if rng.random() < 0.5 else f'sign{t}'}" for t in target]
    y = [[f"w{t:02}", *(["w00"] if i % 20 == 0 and t else [])] for i, t in enumerate(target)]
    Y = tax.indicator(y)
    variants = {PLAIN: TextFeatures(), TEXTS: None}
    evaluator = Evaluator(texts, Y, tax, variants, splits_of(Y, 0), "precision_at_1", 0)
    sources = [
        evaluator.run(Candidate("OneVsRestSVM", C=1.0, learn="given"), evaluator.n_learn),
        evaluator.run(Candidate("LexicalModel", TEXTS), evaluator.n_learn),
    ]
    mixed = evaluator.mix(sources)
    assert mixed.candidate.learn == "first"
    assert mixed.value > max(one.value for one in sources)
    model = evaluator.model(mixed.candidate)
    fitted = Pipeline(model).fit(texts, y, held_out=[one.held for one in sources])
    assert [len(row) for row in fitted.predict(texts[:20])] == [1] * 20
    assert np.allclose(fitted.predict_proba(texts[:5]).sum(axis=1), 1.0)
