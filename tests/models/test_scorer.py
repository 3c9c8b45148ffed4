"""The best nodes are exactly the best of all scores, however the weights are laid out and however many threads run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linnaeus import OneVsRestSVM, Taxonomy
from linnaeus.errors import DataError, ParameterError
from linnaeus.models import linear as scoring
from linnaeus.models.linear import Scorer
from linnaeus.order import best_columns
from tests.contracts.configurations import documents, taxonomy


def matrices(seed: int, n_docs: int, n_features: int, n_nodes: int) -> tuple:
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n_docs, n_features), density=0.3, format="csr", rng=rng, dtype=np.float32)
    density = rng.random(n_features)[:, None] ** 3  # some rows nearly full, most nearly empty
    W = (rng.normal(size=(n_features, n_nodes)) * (rng.random((n_features, n_nodes)) < density)).astype(np.float32)
    return X, W, rng.normal(size=n_features).astype(np.float32), rng.normal(size=n_nodes).astype(np.float32)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000), n_docs=st.integers(1, 7), n_features=st.integers(1, 20), n_nodes=st.integers(1, 150)
)
def test_scores_are_those_of_the_whole_matrix(seed, n_docs, n_features, n_nodes) -> None:
    X, W, base, intercept = matrices(seed, n_docs, n_features, n_nodes)
    expected = X.toarray().astype(float) @ (W + base[:, None]) + intercept
    for weights in (W, sparse.csr_array(W)):
        S = Scorer(weights, base, intercept).scores(X)
        np.testing.assert_allclose(S, expected, atol=1e-4)
        columns, values = Scorer(weights, base, intercept).top(X, 3)
        np.testing.assert_array_equal(columns, best_columns(S, 3))
        np.testing.assert_array_equal(values, np.take_along_axis(S, columns.astype(int), axis=1))


def test_threads_and_layouts_give_the_same_bits(monkeypatch) -> None:
    X, W, base, intercept = matrices(0, 700, 40, 90)
    U = sparse.csr_array(W)
    one, many = Scorer(U, base, intercept).top(X, 5), Scorer(U, base, intercept).top(X, 5, n_jobs=3)
    np.testing.assert_array_equal(one[0], many[0])
    np.testing.assert_array_equal(one[1], many[1])
    monkeypatch.setattr(scoring, "_MOST_COPIED", 10)  # as a matrix on disk is used: where it lies
    in_place = Scorer(U, base, intercept)
    assert np.shares_memory(in_place.weights[3], U.data)
    np.testing.assert_array_equal(in_place.top(X, 5)[0], one[0])


def test_ties_go_to_the_first_node() -> None:
    X = sparse.csr_array(np.ones((2, 1), np.float32))
    W = np.array([[1, 2, 2, 0, 2, 1]], np.float32)
    columns, values = Scorer(W, None, np.zeros(6, np.float32)).top(X, 4)
    assert columns.tolist() == [[1, 2, 4, 0]] * 2
    assert values.tolist() == [[2, 2, 2, 1]] * 2


def test_documents_without_features_have_the_intercepts_as_scores() -> None:
    scorer = Scorer(np.ones((3, 4), np.float32), None, np.arange(4, dtype=np.float32))
    X = sparse.csr_array((2, 3), dtype=np.float32)
    assert scorer.scores(X).tolist() == [[0, 1, 2, 3]] * 2
    assert scorer.top(X, 2)[0].tolist() == [[3, 2]] * 2
    assert scorer.top(X[:0], 2)[0].shape == (0, 2)


@pytest.fixture
def fitted():
    tax = taxonomy()
    X, labels = documents(tax)
    return OneVsRestSVM(tax, random_state=0).fit(X, labels), X


@pytest.mark.parametrize("pruned", [False, True])
@pytest.mark.parametrize("k", [1, 5, 1000])
def test_top_agrees_with_the_decision_function_bit_for_bit(fitted, pruned, k) -> None:
    model, X = fitted
    if pruned:
        model.prune(0.2)
    S = model.decision_function(X)
    columns = best_columns(S, k)
    names, scores = model.top(X, k)
    assert (names == model.classes_[columns]).all()
    np.testing.assert_array_equal(scores, np.take_along_axis(S, columns, axis=1))
    nodes, again = model.top_nodes(X, k)
    assert (nodes == model.nodes_[columns]).all()
    np.testing.assert_array_equal(again, scores)
    one_by_one = [model.top(X[[i]], k) for i in range(5)]
    assert (np.concatenate([names for names, _ in one_by_one]) == names[:5]).all()


def test_labels_of_the_best_keep_their_type() -> None:
    X = np.eye(3, dtype=np.float32)
    model = OneVsRestSVM(random_state=0).fit(sparse.csr_array(X), [10, 20, 30])
    for rows in (slice(0, 1), slice(0, 3)):  # fewer answers than nodes, and more
        names, _ = model.top(sparse.csr_array(X[rows]), 2)
        assert names[0, 0] == 10
        assert isinstance(names[0, 0], int)
    indicator = OneVsRestSVM(random_state=0).fit(sparse.csr_array(X), np.eye(3, dtype=int))
    assert indicator.top(sparse.csr_array(X[:1]), 1)[0].tolist() == [[0]]


def test_weights_that_were_exchanged_are_noticed(fitted) -> None:
    model, X = fitted
    before = model.decision_function(X)
    model.weights_ = model.weights_ * 2
    model.intercept_ = model.intercept_ * 2
    np.testing.assert_allclose(model.decision_function(X), 2 * before, rtol=1e-5)


def test_broken_matrices_and_counts_are_refused(fitted) -> None:
    model, X = fitted
    broken = X.copy()
    broken.indices[3] = 10_000
    for use in (model.top, model.decision_function):
        with pytest.raises(DataError, match="outside its 30 columns"):
            use(broken)
    odd = X.copy()
    odd.data[0] = np.nan
    with pytest.raises(DataError, match="NaN"):
        model.top(odd)
    for k in (0, 1.5):
        with pytest.raises(ParameterError, match="k="):
            model.top(X, k)


def test_a_model_with_its_own_scores_ranks_by_them() -> None:
    class Turned(OneVsRestSVM):
        def _scores(self, X):
            return -super()._scores(X)

    turned = Turned(Taxonomy.flat(["a", "b"]), random_state=0)
    turned.fit(sparse.csr_array(np.eye(2, dtype=np.float32)), ["a", "b"])
    assert turned.top(sparse.csr_array(np.eye(2, dtype=np.float32)), 1)[0].tolist() == [["b"], ["a"]]
