"""Where learners get documents from: rows of features, or rows of a Gram matrix, some at a time.

A source numbers the documents that are learned from. `part` gives some of them to `passes.visit`; `column` is K(., x_i)
of all documents, for learners that keep the scores of all (`minover`); `gather` makes weights of attributes from
coefficients of documents; `scores` ranks other documents by such weights.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse

from linnaeus.engine.limits import blocks, rows_that_fit
from linnaeus.errors import ParameterError
from linnaeus.models.kernel_input import row_products
from linnaeus.models.kernels import Linear
from linnaeus.models.ranking.passes import Documents
from linnaeus.typing import CSR, FloatArray, IntArray, Kernel, Matrix, is_sparse

__all__ = ["FeatureSource", "GramSource", "Source", "kernel_scores", "stacked", "with_constant"]

_CHUNK = 2**14  # documents between two signs of life
_WHOLE_GRAM = 2**28  # bytes up to which a Gram matrix is made once, and not anew in every pass


class Source(Protocol):
    """See the module docstring; ``n_rows`` and ``dtype`` are those of the weights."""

    labels: CSR
    n_rows: int
    dtype: Any
    size: int
    diagonal: FloatArray

    def part(self, numbers: IntArray) -> tuple[Documents, IntArray]:
        """Documents, and the order among them that visits these numbers."""
        ...

    def column(self, i: int) -> FloatArray: ...

    def key(self, i: int) -> bytes:
        """Bytes that are the same for equal documents."""
        ...

    def gather(self, B: CSR) -> FloatArray: ...


class FeatureSource:
    """Rows of features (CSR or dense); weights have one row for each feature."""

    def __init__(self, X: Matrix, labels: CSR, weight: FloatArray) -> None:
        self.X, self.labels = X, labels
        self.n_rows, self.dtype, self.size = X.shape[1], X.dtype, _CHUNK
        parts = [Linear().diagonal(X[part]) for part in blocks(X.shape[0], 2**16)]
        self.diagonal: FloatArray = np.concatenate([np.zeros(0), *parts])
        self._whole = Documents(X, labels, self.diagonal, weight)
        self._columns: dict[int, FloatArray] = {}

    def part(self, numbers: IntArray) -> tuple[Documents, IntArray]:
        return self._whole, numbers

    def column(self, i: int) -> FloatArray:
        X = self.X
        if not is_sparse(X):
            return np.asarray(X @ X[i], dtype=np.float64)
        row = np.zeros(X.shape[1])
        np.add.at(row, X.indices[X.indptr[i] : X.indptr[i + 1]], X.data[X.indptr[i] : X.indptr[i + 1]])
        return np.asarray(X @ row, dtype=np.float64)

    def key(self, i: int) -> bytes:
        if not is_sparse(self.X):
            return bytes(np.ascontiguousarray(self.X[i]).tobytes())
        entries = slice(self.X.indptr[i], self.X.indptr[i + 1])
        return bytes(self.X.indices[entries].tobytes() + b"/" + self.X.data[entries].tobytes())

    def gather(self, B: CSR) -> FloatArray:
        """X'B (n_features x n_attributes) of coefficients B (n_docs x n_attributes)."""
        some = np.flatnonzero(np.diff(B.indptr))
        return np.ascontiguousarray(self.X[some].T @ B[some].toarray(), dtype=self.dtype)


class GramSource:
    """Prepared documents A behind a kernel, of which those from ``first`` on are learned from.

    Weights have one row for each document of A.
    """

    def __init__(self, kernel: Kernel, A: Any, labels: CSR, weight: FloatArray, first: int = 0) -> None:
        self.kernel, self.A, self.labels, self.weight, self.first = kernel, A, labels, weight, first
        self.n_rows, self.dtype = first + labels.shape[0], np.dtype(np.float64)
        self.diagonal: FloatArray = np.asarray(kernel.diagonal(A[np.arange(first, self.n_rows)]), dtype=np.float64)
        whole = 8 * labels.shape[0] * self.n_rows <= _WHOLE_GRAM
        self.size = max(1, labels.shape[0]) if whole else rows_that_fit(8 * self.n_rows)
        self._gram = self._rows(np.arange(labels.shape[0])) if whole else None

    def _rows(self, numbers: IntArray) -> FloatArray:
        K = self.kernel(self.A[self.first + numbers], self.A)
        return np.ascontiguousarray(K, dtype=np.float64)

    def part(self, numbers: IntArray) -> tuple[Documents, IntArray]:
        K = self._rows(numbers) if self._gram is None else self._gram[numbers]
        own = sparse.csr_array(
            (np.ones(len(numbers)), self.first + numbers, np.arange(len(numbers) + 1)),
            shape=(len(numbers), self.n_rows),
        )
        found = Documents(K, self.labels[numbers], self.diagonal[numbers], self.weight[numbers], own)
        return found, np.arange(len(numbers))

    def column(self, i: int) -> FloatArray:
        K = self._rows(np.array([i]))[0] if self._gram is None else self._gram[i]
        return np.ascontiguousarray(K[self.first :])

    def key(self, i: int) -> bytes:
        return self.column(i).tobytes()

    def gather(self, B: CSR) -> FloatArray:
        return np.asarray(B.toarray(), dtype=np.float64)


def kernel_scores(K: FloatArray, weights: FloatArray, attributes: CSR) -> FloatArray:
    """K W L' (n_docs x n_classes); sums of a document do not depend on how many documents there are."""
    return row_products(row_products(K, sparse.csr_array(weights)), attributes.T)


def with_constant(X: Matrix) -> Matrix:
    """X with a last feature that is 1 in every document."""
    ones = np.ones((X.shape[0], 1), X.dtype)
    return sparse.csr_array(sparse.hstack([X, ones], format="csr")) if is_sparse(X) else np.hstack([X, ones])


def stacked(A: Any, B: Any) -> Any:
    """Prepared documents of A, then of B; vectors are sparse or dense as those of A are."""
    if is_sparse(A):
        return sparse.csr_array(sparse.vstack([A, sparse.csr_array(B, dtype=A.dtype)], format="csr"))
    if isinstance(A, np.ndarray):
        return np.concatenate([A, B.toarray() if is_sparse(B) else B])
    if isinstance(A, list):
        return [*A, *B]
    if hasattr(A, "stack"):
        return A.stack(B)
    raise ParameterError(f"More documents cannot be joined to {type(A).__name__}; fit on all of them at once.")
