from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from linnaeus.errors import DataError, ParameterError
from linnaeus.models.kernels import (
    RBF,
    Linear,
    Polynomial,
    Precomputed,
    fitted,
    kept_documents,
    kernel_of,
    normalise_gram,
)

A = np.random.default_rng(0).normal(size=(5, 3))
B = np.random.default_rng(1).normal(size=(4, 3))
VECTORS = [Linear(), RBF(gamma=0.3), Polynomial(degree=2, gamma=0.5, coef0=2.0)]


def test_values_are_those_of_scikit_learn() -> None:
    np.testing.assert_allclose(Linear()(A, B), A @ B.T)
    np.testing.assert_allclose(RBF(gamma=0.3)(A, B), rbf_kernel(A, B, gamma=0.3))
    poly = Polynomial(degree=2, gamma=0.5, coef0=2.0)
    np.testing.assert_allclose(poly(A, B), polynomial_kernel(A, B, degree=2, gamma=0.5, coef0=2.0))


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("kernel", VECTORS)
def test_the_diagonal_is_that_of_the_matrix_and_sparse_is_dense(kernel, normalise) -> None:
    kernel = type(kernel)(**{**kernel.to_dict(), "normalise": normalise})
    K = kernel(A, A)
    np.testing.assert_allclose(kernel.diagonal(A), np.diag(K))
    S, T = sparse.csr_array(A), sparse.csr_array(B)
    np.testing.assert_allclose(kernel(S, T), kernel(A, B), atol=1e-12)
    np.testing.assert_allclose(kernel(S, B), kernel(A, B), atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(S), kernel.diagonal(A))


def test_normalising_leaves_documents_of_norm_zero_at_zero() -> None:
    K = Linear(normalise=True)(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[0.0, 2.0]]))
    np.testing.assert_allclose(K, [[0.8], [0.0]])
    np.testing.assert_allclose(normalise_gram(np.array([[4.0]]), np.array([4.0]), np.array([0.0])), [[0.0]])


@pytest.mark.parametrize("kernel", [RBF(), Polynomial()])
def test_a_scale_is_taken_from_the_training_documents(kernel) -> None:
    assert fitted(kernel, A).gamma == pytest.approx(1 / (3 * A.var()))
    assert fitted(kernel, sparse.csr_array(A)).gamma == pytest.approx(1 / (3 * A.var()))
    with pytest.raises(ParameterError, match="training documents"):
        kernel(A, B)


def test_a_kernel_without_a_spread_still_has_a_gamma() -> None:
    assert fitted(RBF(), np.ones((3, 2))).gamma == 1.0


def test_gram_rows_know_their_columns() -> None:
    K = A @ A.T
    kernel = fitted(Precomputed(), Precomputed().prepare(K))
    documents = kernel.prepare(K)
    np.testing.assert_array_equal(kernel(documents[1:3], documents[np.array([4, 0])]), K[1:3][:, [4, 0]])
    np.testing.assert_allclose(kernel.diagonal(documents[2:]), np.diag(K)[2:])
    kept = kept_documents(documents, np.array([4, 0]))
    np.testing.assert_array_equal(kernel(kernel.prepare(B @ A.T), kept), (B @ A.T)[:, [4, 0]])
    assert kept.block.size == 0


def test_wrong_kernels_and_blocks_are_named() -> None:
    with pytest.raises(ParameterError, match="did you mean 'poly'"):
        kernel_of("polly")
    with pytest.raises(ParameterError, match="expected a name or an object"):
        kernel_of(3)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="gamma"):
        RBF(gamma=-1.0)
    with pytest.raises(ParameterError, match="degree"):
        Polynomial(degree=0)
    with pytest.raises(ParameterError, match="psd"):
        Precomputed(psd="mend")
    with pytest.raises(DataError, match="4 columns, expected 5"):
        Precomputed(n_docs=5).prepare(np.zeros((2, 4)))
    with pytest.raises(DataError, match="Row 1.*NaN"):
        Precomputed().prepare([[1.0, 0.0], [np.nan, 1.0]])
    with pytest.raises(DataError, match="dimension"):
        Linear().prepare(np.zeros(3))
