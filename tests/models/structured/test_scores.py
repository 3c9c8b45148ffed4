from __future__ import annotations

import numpy as np
from scipy import sparse

from linnaeus.models.kernels import RBF
from linnaeus.models.structured.documents import kernel_scores, linear_scores

rng = np.random.default_rng(0)


def test_scores_are_the_products() -> None:
    X, W = rng.normal(size=(150, 9)).astype(np.float32), rng.normal(size=(9, 7))
    np.testing.assert_allclose(linear_scores(X, W), X @ W, atol=1e-6)
    np.testing.assert_allclose(linear_scores(sparse.csr_array(X), W), X @ W, atol=1e-6)
    assert not linear_scores(sparse.csr_array((3, 9), dtype=np.float32), W).any()


def test_a_document_scores_alike_in_any_company() -> None:
    A, B, D = rng.normal(size=(150, 5)), rng.normal(size=(40, 5)), rng.normal(size=(40, 33))
    whole = kernel_scores(RBF(gamma=0.1), A, B, D)
    for i in (0, 63, 64, 149):  # kernel values of dense documents are the kernel's own affair
        np.testing.assert_allclose(kernel_scores(RBF(gamma=0.1), A[[i]], B, D)[0], whole[i], rtol=1e-12)
    X = sparse.csr_array(A.astype(np.float32))
    W = rng.normal(size=(5, 33))
    np.testing.assert_array_equal(linear_scores(X[[3]], W)[0], linear_scores(X, W)[3])
    np.testing.assert_array_equal(linear_scores(A[[3]], W)[0], linear_scores(A, W)[3])
