"""Trainings of a fit: all documents or some, features or a Gram matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus import HierarchicalSVM
from linnaeus.engine import Clock
from linnaeus.losses.cost import pair_cost
from linnaeus.models.kernels import Linear
from linnaeus.models.ranking.attributes import class_attributes
from linnaeus.models.ranking.hierarchical_svm import _Training, gram_matrix
from linnaeus.models.ranking.solver import class_arrays
from tests.models.ranking.oracles import CLASSES, T4


def training(documents, gram: bool, slack: str = "example", max_time=None) -> _Training:
    classes = class_arrays(class_attributes(T4, CLASSES), pair_cost(T4, CLASSES))
    return _Training(documents, gram, classes, 0.0, slack, "sweep", 1e-8, None, 5000, 0, Clock(max_time))


def documents():
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 4)), sparse.csr_array((rng.random((30, 4)) < 0.4).astype(int)), np.ones(30)


@pytest.mark.parametrize("gram", [False, True])
def test_documents_that_were_not_seen_are_scored_by_a_model_of_the_others(gram) -> None:
    X, Y, bound = documents()
    train, test = np.arange(20), np.arange(20, 30)
    S = training(X @ X.T if gram else X, gram).unseen(Y, bound, train, test)
    alone = training(X[train], False)
    found = alone.solve(alone.problem(Y[train], bound[train]))
    np.testing.assert_allclose(S, X[test] @ found.weights, atol=1e-3)


def test_the_pairs_of_a_document_share_its_weight() -> None:
    X, Y, bound = documents()
    shared = training(X, False, "mean_pair").problem(Y, bound).bound
    sizes = np.diff(Y.indptr)
    np.testing.assert_allclose(shared * np.maximum(sizes * (4 - sizes), 1), bound)


def test_half_of_the_time_is_left_for_the_model_of_all() -> None:
    X, Y, bound = documents()
    one = training(X, False, max_time=1000)
    before = one.clock.remaining
    one.unseen(Y, bound, np.arange(20), np.arange(20, 30))
    assert one.clock.remaining > 0.4 * before


def test_a_constant_adds_one_to_the_gram_matrix() -> None:
    X, _, _ = documents()
    K = gram_matrix(Linear(), X, constant=True, exact=True)
    np.testing.assert_allclose(K, X @ X.T + 1)


def test_nothing_to_rank_is_legal_with_a_kernel() -> None:
    model = HierarchicalSVM(kernel="rbf").fit(np.eye(2), [["a"], ["a"]])
    assert model.decision_function(np.eye(2)).tolist() == [[0.0], [0.0]]
    assert model.predict(np.eye(2)) == [["a"], ["a"]]
