"""Scores F = X W or K D of new documents, so that a document's scores do not depend on those beside it.

Scores of sparse documents are the same bit for bit in every batch, those of dense ones up to rounding in double
precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus._kernels import dispatch
from linnaeus.engine.limits import blocks
from linnaeus.typing import FloatArray, Kernel, Matrix, is_sparse

__all__ = ["kernel_scores", "linear_scores"]

_ROWS = 64  # BLAS sums a row in an order that depends on how many there are: products always have this many rows


def linear_scores(X: Matrix, W: FloatArray) -> FloatArray:
    """X W for CSR (float32) or dense X; W is n_features x width."""
    if not is_sparse(X):
        return _steady_product(X, W)
    F = np.empty((X.shape[0], W.shape[1]), W.dtype)
    rows, indptr = np.arange(X.shape[0]), X.indptr.astype(np.int64, copy=False)
    if not X.nnz:
        F[:] = 0
        return F
    dispatch.best("sparse_rows").times(
        indptr, X.indices.astype(np.int32, copy=False), X.data.astype(np.float32, copy=False), rows, W, F
    )
    return F


def kernel_scores(kernel: Kernel, A: Any, B: Any, D: FloatArray, constant: float = 0.0) -> FloatArray:
    """(K(A, B) + constant) D for prepared documents."""
    return _steady_product(np.asarray(kernel(A, B)) + constant, D)


def _steady_product(A: FloatArray, B: FloatArray) -> FloatArray:
    """A B in double precision: what the order of summation still changes is about 1e-15 of a score."""
    A, B = np.ascontiguousarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    found = np.empty((len(A), B.shape[1]))
    padded = np.zeros((_ROWS, A.shape[1]))
    for part in blocks(len(A), _ROWS):
        size = part.stop - part.start
        padded[:size] = A[part]
        found[part] = (padded @ B)[:size]
    return found
