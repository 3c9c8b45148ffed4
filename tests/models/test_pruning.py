"""A pruned model keeps what matters: what all nodes share once, the rest sparse, and no more loss than was allowed."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import linnaeus
from linnaeus import OneVsRestSVM, Taxonomy
from linnaeus.errors import ParameterError
from linnaeus.models.pruning import best_precision, half_of_each, rounded, split_weights, thinned


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), shape=st.tuples(st.integers(1, 8), st.integers(1, 60)), threshold=st.floats(0, 2))
def test_no_weight_moves_by_the_threshold(seed, shape, threshold) -> None:
    rng = np.random.default_rng(seed)
    W = rng.normal(size=shape) + rng.choice([0, -3.0], size=shape[0])[:, None]
    U, base = split_weights(W, threshold)
    whole = U.toarray() + (0 if base is None else base[:, None])
    assert (np.abs(whole - W) < max(threshold, 1e-12)).all()
    assert U.nnz <= (np.abs(W) >= threshold).sum()


def test_weights_that_all_nodes_share_are_kept_once() -> None:
    W = np.full((3, 50), -0.7)
    W[0, 7], W[2] = 2.0, 0.0
    U, base = split_weights(W, 0.1)
    assert U.nnz == 1
    assert U[0, 7] == pytest.approx(2.7)
    assert base.tolist() == [-0.7, -0.7, 0.0]


def test_few_nodes_keep_their_weights_as_they_are() -> None:
    W = np.array([[-0.7, -0.7, -0.7, 2.0]])
    U, base = split_weights(W, 0.1)
    assert base is None
    np.testing.assert_array_equal(U.toarray(), W)


def test_thinning_drops_what_is_small_and_touches_nothing_else() -> None:
    U = sparse.csr_array(np.array([[0.5, -0.1, 0.0], [0.0, 0.0, 0.2], [0.05, 0.0, 0.0]]))
    assert thinned(U, 0.2).toarray().tolist() == [[0.5, 0, 0], [0, 0, 0.2], [0, 0, 0]]
    assert U.nnz == 4


def test_rounding_stays_within_half_precision_and_its_range() -> None:
    U = sparse.csr_array(np.array([[0.1, 1e6, 1e-9, -0.3]]))
    values = rounded(U).data
    assert values[1] == 1e6
    assert values[2] == 1e-9
    assert values[0] == np.float16(0.1)
    assert values[0] == pytest.approx(0.1, rel=1e-3)


def many_nodes(seed: int = 0, n_nodes: int = 60, n_docs: int = 900):
    """Each node has two words of its own among words that all share."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_nodes, n_docs)
    X = (rng.random((n_docs, 2 * n_nodes + 20)) < 0.02) * 0.5
    X[:, -20:] += rng.random((n_docs, 20)) < 0.5
    X[np.arange(n_docs), 2 * y] += rng.random(n_docs) < 0.7
    X[np.arange(n_docs), 2 * y + 1] += rng.random(n_docs) < 0.7
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    return sparse.csr_array(X.astype(np.float32)), [f"n{v:02}" for v in y]


@pytest.fixture(scope="module")
def trained():
    X, y = many_nodes()
    tax = Taxonomy.flat(sorted(set(y)))
    model = OneVsRestSVM(tax, fit_intercept=False, random_state=0).fit(X[:600], y[:600])
    return model, X[600:], y[600:]


def test_the_threshold_found_costs_no_more_than_allowed_and_saves_most(trained) -> None:
    model, X, y = trained
    Y = model.taxonomy_.indicator(y)
    before = best_precision(model, X, Y)
    pruned = copy.deepcopy(model).prune(X=X, y=y, loss=0.01)
    assert best_precision(pruned, X, Y) >= before - 0.01
    assert pruned.weights_.nnz < 0.2 * model.weights_.size
    assert pruned.base_weights_ is not None
    stricter = copy.deepcopy(model).prune(X=X, y=y, loss=0.0)
    assert best_precision(stricter, X, Y) >= before
    assert stricter.prune_threshold_ <= pruned.prune_threshold_


def test_training_documents_are_judged_without_half_of_their_words(trained) -> None:
    model, _, _ = trained
    X, y = (part[:600] for part in many_nodes())
    Y, halves = model.taxonomy_.indicator(y), half_of_each(X)
    assert 0.4 * X.nnz < halves.nnz < 0.6 * X.nnz
    for whole in (X, X.toarray()):
        halves = half_of_each(whole)
        pruned = copy.deepcopy(model).prune(X=whole, y=y, loss=0.005, seen=True)
        assert best_precision(pruned, halves, Y) >= best_precision(model, halves, Y) - 0.005


def test_pruning_a_pruned_model_goes_on_from_it(trained) -> None:
    model, X, y = trained
    once = copy.deepcopy(model).prune(0.02)
    n_before, base = once.weights_.nnz, once.base_weights_
    once.prune(0.1)
    assert once.weights_.nnz < n_before
    np.testing.assert_array_equal(once.base_weights_, base)
    searched = copy.deepcopy(model).prune(0.001).prune(X=X, y=y, loss=0.01)
    assert searched.weights_.nnz < n_before


def test_scores_explanations_and_coefficients_count_the_shared_weights(trained) -> None:
    model, X, _ = trained
    pruned = copy.deepcopy(model).prune(0.05)
    assert pruned.base_weights_ is not None
    S = pruned.decision_function(X)
    np.testing.assert_allclose(S, X.toarray() @ pruned.coef_.T, atol=1e-5)
    np.testing.assert_allclose(S, pruned.decision_function(X.toarray()), atol=1e-5)
    np.testing.assert_allclose(S, model.decision_function(X), atol=0.3)
    for i in range(5):
        step = pruned.explain(X[[i]])[-1]
        column = list(pruned.classes_).index(step.node)
        assert step.score == pytest.approx(S[i, column], abs=1e-5)
        assert step.score == pytest.approx(step.intercept + step.contributions.sum(), abs=1e-9)


def test_a_pruned_model_is_stored_small_and_exactly(trained, tmp_path) -> None:
    model, X, y = trained
    pruned = copy.deepcopy(model).prune(X=X, y=y, loss=0.01)
    linnaeus.save(pruned, tmp_path / "pruned")
    again = linnaeus.load(tmp_path / "pruned")
    np.testing.assert_array_equal(pruned.decision_function(X), again.decision_function(X))
    assert again.weights_.dtype == np.float32
    assert again.prune_threshold_ == pruned.prune_threshold_
    pickled = pickle.loads(pickle.dumps(pruned))
    np.testing.assert_array_equal(pruned.decision_function(X), pickled.decision_function(X))


def test_fitting_again_forgets_the_shared_weights(trained) -> None:
    model, X, y = trained
    pruned = copy.deepcopy(model).prune(0.05)
    refitted = pruned.fit(X, y)
    assert refitted.base_weights_ is None
    assert not hasattr(refitted, "prune_threshold_")
    np.testing.assert_array_equal(refitted.decision_function(X), copy.deepcopy(model).fit(X, y).decision_function(X))


def test_models_of_closed_sets_are_measured_on_whole_sets() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB")])
    X = sparse.csr_array(np.eye(4, dtype=np.float32))
    y = [["AA"], ["AB"], ["B"], ["A"]]
    model = OneVsRestSVM(tax, C=100, learn="closed", random_state=0).fit(X, y)
    Y = tax.close(tax.indicator(y))
    assert best_precision(model, X, Y) == 1.0
    model.weights_ = np.zeros_like(model.weights_)
    assert best_precision(model, X, Y) < 1.0


def test_a_threshold_or_documents_are_asked_for(trained) -> None:
    model, X, y = trained
    for wrong in ({}, {"threshold": 0.1, "X": X, "y": y}, {"X": X}):
        with pytest.raises(ParameterError, match="threshold, or documents"):
            copy.deepcopy(model).prune(**wrong)
    with pytest.raises(ParameterError, match="threshold=-1"):
        copy.deepcopy(model).prune(-1)
