"""AttributeWeights of attributes: placed elsewhere, brought together, and visits of nothing."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from linnaeus.losses.cost import pair_cost
from linnaeus.models.ranking.attributes import class_attributes
from linnaeus.models.ranking.updates import PERCEPTRON, AttributeWeights, RankedClasses, RankedDocuments, visit
from tests.losses.test_pair_cost import four


def some_weights(averaged: bool = True) -> AttributeWeights:
    rng = np.random.default_rng(0)
    return AttributeWeights(rng.normal(size=(3, 2)), rng.normal(size=(3 if averaged else 0, 2)), 5, averaged)


def test_weights_keep_their_values_at_other_places_and_the_rest_is_zero() -> None:
    weights = some_weights()
    placed = weights.placed(np.array([0, 2, 3]), 4, np.array([2, 0]), 3)
    np.testing.assert_array_equal(placed.W[[0, 2, 3]][:, [2, 0]], weights.W)
    np.testing.assert_array_equal(placed.U[[0, 2, 3]][:, [2, 0]], weights.U)
    assert not placed.W[1].any()
    assert not placed.W[:, 1].any()
    assert placed.steps == 5


def test_no_rows_at_all_still_want_a_mean() -> None:
    grown = AttributeWeights.zeros(0, 2, float, averaged=True).placed(np.zeros(0, int), 4, np.arange(2), 2)
    assert grown.U.shape == (4, 2)


def test_the_answer_is_the_mean_where_one_is_wanted() -> None:
    weights, L = some_weights(), sparse.csr_array(np.array([[1.0, 0], [1, 1], [0, 2]]))
    np.testing.assert_allclose(weights.answer, weights.W - weights.U / 5)
    np.testing.assert_allclose(weights.of_classes(L), weights.answer @ L.toarray().T)
    online = some_weights(averaged=False)
    assert online.answer is online.W
    np.testing.assert_array_equal(online.only(np.array([1])).W, online.W[[1]])


def test_rows_of_nothing_teach_nothing() -> None:
    tax, nodes = four()
    classes = RankedClasses(class_attributes(tax, nodes, "one"), pair_cost(tax, nodes))
    weights = AttributeWeights.zeros(2, classes.n_attributes, np.float64, averaged=True)
    labels = sparse.csr_array(np.array([[1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]]))
    X = sparse.csr_array(np.array([[0.0, 0], [1, 1], [1, 0]]))
    found = visit(
        RankedDocuments(X, labels, np.array([0.0, 2, 1]), np.ones(3)), np.arange(3), classes, weights, PERCEPTRON
    )
    assert (found.n_updates, weights.steps) == (0, 0)
    assert not weights.W.any()
