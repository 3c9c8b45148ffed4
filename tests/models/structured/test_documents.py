from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus.models.kernels import Linear
from linnaeus.models.structured import documents
from linnaeus.models.structured.documents import DenseDocuments, GramDocuments, SparseDocuments, training_documents

X = sparse.random_array((30, 12), density=0.4, rng=np.random.default_rng(0), dtype=np.float32, format="csr")
WIDTH, COLUMNS = 16, 3


def every_kind():
    dense = X.toarray().astype(np.float64)
    return [
        SparseDocuments(X, WIDTH, COLUMNS, np.float64),
        DenseDocuments(dense, WIDTH, COLUMNS, np.float64),
        GramDocuments(Linear(), dense, WIDTH, COLUMNS, np.float64),
    ]


@pytest.mark.parametrize("kept", every_kind(), ids=lambda kept: type(kept).__name__)
def test_all_kinds_of_documents_have_the_same_scores(kept) -> None:
    rng = np.random.default_rng(1)
    D, K = np.zeros((30, WIDTH)), (X @ X.T).toarray().astype(np.float64)
    for _ in range(4):
        batch = rng.permutation(30)[:7]
        change = rng.normal(size=(7, WIDTH))
        change[:, 15] = 0  # width is a whole number of cache lines: the last column belongs to no edge
        kept.add(batch, change)
        D[batch] += change
    every = np.arange(30)
    np.testing.assert_allclose(kept.rows(every), K @ D, atol=1e-6)
    np.testing.assert_allclose(kept.gram(every[:5]), K[:5, :5], atol=1e-6)
    whole = np.concatenate([D, -D[:, :15].reshape(30, 5, 3).sum(axis=2)], axis=1)
    assert kept.squared_norm() == pytest.approx((whole * (K @ whole)).sum(), rel=1e-6)
    kept.restart(2 * D)
    np.testing.assert_allclose(kept.rows(every), 2 * K @ D, atol=1e-6)


def test_a_gram_matrix_that_does_not_fit_is_computed_as_it_is_needed(monkeypatch) -> None:
    whole = every_kind()[2]
    monkeypatch.setattr(documents, "_GRAM_BYTES", 0)
    pieces = every_kind()[2]
    assert pieces.K is None
    change = np.random.default_rng(0).normal(size=(30, WIDTH))
    for kept in (whole, pieces):
        kept.add(np.arange(30), change)
    np.testing.assert_allclose(whole.rows(np.arange(4)), pieces.rows(np.arange(4)))
    np.testing.assert_allclose(whole.gram(np.arange(4)), pieces.gram(np.arange(4)))


def test_a_constant_feature_adds_its_square_to_the_kernel() -> None:
    batch = np.arange(5)
    for matrix in (X, X.toarray()):
        kept = training_documents(Linear(), matrix, WIDTH, COLUMNS, np.float64, bias=2.0)
        np.testing.assert_allclose(kept.gram(batch), (X @ X.T).toarray()[:5, :5] + 4, atol=1e-6)
    kept = training_documents(Linear(normalise=True), X.toarray(), WIDTH, COLUMNS, np.float64, bias=2.0)
    assert isinstance(kept, GramDocuments)
    np.testing.assert_allclose(np.diag(kept.gram(batch)), 5.0)
