"""Scores from weights that classes share: sets, explanations, pruning, copies."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from linnaeus import HierarchicalPerceptron
from linnaeus.data.corpora import overlapping
from linnaeus.errors import DataError
from tests.models.ranking.test_perceptron import X4, Y4, perceptron


def test_label_sets_have_the_size_that_documents_have() -> None:
    X, labels, tax = overlapping(200, seed=3)
    mean = HierarchicalPerceptron(tax, set_size="mean", random_state=0).fit(X, labels)
    expected = max(1, round(np.mean([len(row) for row in labels])))
    assert {len(row) for row in mean.predict(X)} == {expected}
    learned = HierarchicalPerceptron(tax, random_state=0).fit(X, labels)
    assert len({len(row) for row in learned.predict(X)}) > 1


def test_explanations_add_up_and_kernels_have_none() -> None:
    model = perceptron("averaged").fit(X4, Y4)
    step = model.explain(X4[0], node="c1")[-1]
    assert step.score == pytest.approx(model.decision_function(X4[:1])[0, list(model.classes_).index("c1")])
    with pytest.raises(DataError, match="no explanations"):
        perceptron("averaged", kernel="rbf").fit(X4, Y4).explain(X4[0])


def test_weights_of_classes_are_sums_over_what_they_share() -> None:
    X, labels, tax = overlapping(60, seed=0)
    model = HierarchicalPerceptron(tax, random_state=0, fit_intercept=True).fit(X, labels)
    answer = model.attribute_weights_ - model.attribute_drift_ / model.n_steps_
    W = answer @ model.attributes_.toarray().T
    np.testing.assert_allclose(model.weights_, W[:-1], atol=1e-9)
    np.testing.assert_allclose(model.intercept_, W[-1], atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), X @ W[:-1] + W[-1], atol=1e-9)


def test_copies_do_not_carry_what_can_be_made_again() -> None:
    model = perceptron("averaged").fit(X4, Y4)
    again = pickle.loads(pickle.dumps(model))
    assert again._made is None
    np.testing.assert_array_equal(again.decision_function(X4), model.decision_function(X4))


def test_a_pruned_model_keeps_its_constant_and_kernels_have_nothing_to_prune() -> None:
    model = perceptron("averaged", fit_intercept=True).fit(X4, Y4)
    before, constant = model.decision_function(X4), model.intercept_.copy()
    model.prune(1e-9)
    np.testing.assert_allclose(model.decision_function(X4), before, atol=1e-6)
    np.testing.assert_array_equal(model.intercept_, constant)
    with pytest.raises(DataError, match="no weights of features to prune"):
        perceptron("averaged", kernel="rbf").fit(X4, Y4).prune(0.1)
