"""Documents as features or behind a kernel: the same columns, keys and weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus.data.matrices import with_constant
from linnaeus.errors import ParameterError
from linnaeus.models.kernels import Linear
from linnaeus.models.ranking import updates
from linnaeus.models.ranking.updates import FeatureSource, GramSource, kernel_scores, stacked

X = np.array([[1.0, 0, 2], [0, 3, 0], [1, 0, 2], [0, 0, 0]])
LABELS = sparse.csr_array(np.eye(4, 2, dtype=np.int8))


def both(form=np.asarray) -> list:
    return [FeatureSource(form(X), LABELS, np.ones(4)), GramSource(Linear(), form(X), LABELS, np.ones(4))]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_columns_diagonals_and_keys_agree(form) -> None:
    for source in both(form):
        np.testing.assert_array_equal(source.diagonal, [5, 9, 5, 0])
        np.testing.assert_array_equal(source.column(2), X @ X[2])
        assert source.key(0) == source.key(2) != source.key(1)


def test_weights_are_gathered_from_coefficients_of_documents() -> None:
    B = sparse.csr_array(np.array([[1.0, 0], [0, 2], [0, 0], [1, 1]]))
    features, gram = both()
    np.testing.assert_array_equal(features.gather(B), X.T @ B)
    np.testing.assert_array_equal(gram.gather(B), B.toarray())


def test_a_gram_matrix_may_be_made_in_parts(monkeypatch) -> None:
    whole = both()[1].part(np.array([1, 0]))[0]
    monkeypatch.setattr(updates, "_WHOLE_GRAM", 0)
    part = both()[1].part(np.array([1, 0]))[0]
    np.testing.assert_array_equal(part.scored, whole.scored)
    np.testing.assert_array_equal(part.scored, (X @ X.T)[[1, 0]])
    np.testing.assert_array_equal(part.learned.toarray(), np.eye(4)[[1, 0]])


def test_documents_behind_earlier_ones_are_numbered_after_them() -> None:
    source = GramSource(Linear(), X, LABELS[:2], np.ones(2), first=2)
    documents, order = source.part(np.array([1]))
    assert source.n_rows == 4
    np.testing.assert_array_equal(documents.scored, [X @ X[3]])
    np.testing.assert_array_equal(documents.learned.toarray(), [[0, 0, 0, 1]])
    assert order.tolist() == [0]


def test_documents_are_joined_in_their_kind() -> None:
    assert stacked(["a"], ["b"]) == ["a", "b"]
    np.testing.assert_array_equal(stacked(X, X[:1]), np.vstack([X, X[:1]]))
    assert stacked(sparse.csr_array(X), sparse.csr_array(X[:1])).shape == (5, 3)
    with pytest.raises(ParameterError, match="cannot be joined to int"):
        stacked(1, 2)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_constant_is_the_last_feature(form) -> None:
    found = with_constant(form(X), 1.0)
    found = found.toarray() if sparse.issparse(found) else found
    np.testing.assert_array_equal(found, np.hstack([X, np.ones((4, 1))]))


def test_scores_are_products() -> None:
    rng = np.random.default_rng(0)
    K, W, L = rng.normal(size=(3, 4)), rng.normal(size=(4, 2)), rng.normal(size=(5, 2))
    np.testing.assert_allclose(kernel_scores(K, W, sparse.csr_array(L)), K @ W @ L.T)


def test_documents_of_a_stream_are_joined_whether_sparse_or_dense() -> None:
    for first in (X, sparse.csr_array(X)):
        for second in (X, sparse.csr_array(X)):
            joined = stacked(first, second)
            assert sparse.issparse(joined) == sparse.issparse(first)
            found = joined.toarray() if sparse.issparse(joined) else joined
            np.testing.assert_array_equal(found, np.concatenate([X, X]))
