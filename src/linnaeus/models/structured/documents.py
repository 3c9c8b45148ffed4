"""Training documents as the solver sees them, and scores of new documents: F = K D, or F = X W for a linear kernel.

`SparseDocuments` and `DenseDocuments` keep W = X'D (n_features x width) and never compute the Gram matrix;
`GramDocuments` keeps D. See `block_ascent` for what they implement.

The scores of a new document do not depend on the others of its batch: those of sparse documents are the same bit for
bit, those of dense ones up to rounding in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from linnaeus._kernels import dispatch
from linnaeus.data.matrices import aligned_zeros, is_sparse, prepare_rows, with_constant
from linnaeus.engine import blocks
from linnaeus.models.kernels import Linear
from linnaeus.models.structured.block_ascent import TrainingDocuments
from linnaeus.typing import CSR, FloatArray, IntArray, Kernel, Matrix

__all__ = [
    "DenseDocuments",
    "GramDocuments",
    "SparseDocuments",
    "dependent",
    "kernel_scores",
    "linear_scores",
    "squares",
    "training_documents",
    "with_constant",
]

_GRAM_BYTES = 2 * 2**30  # a Gram matrix up to this size is computed once
_EXACT_GRAM = 4000  # documents up to which a Gram matrix is stored in double precision
_PART = 4096
_COLUMNS = 96  # of scores at a time in double precision: whole edges, of 2 or 3 columns
_ROWS = 64  # BLAS sums a row in an order that depends on how many there are: products always have this many rows


class SparseDocuments:
    """Sparse documents and a linear kernel: W = X'D, features by document frequency so that hot rows stay in cache."""

    def __init__(self, X: CSR, width: int, columns: int, dtype: type[np.floating]) -> None:
        rows = prepare_rows(X, 0.0)
        self.n_docs, self.width, self.columns, self.dtype = X.shape[0], width, columns, np.dtype(dtype)
        self.indptr, self.indices, self.rank = rows.indptr, rows.indices, rows.rank
        self.data = rows.data.astype(np.float32, copy=False)
        nnz = int(self.indptr[-1])
        csr = self.data[:nnz].astype(np.float64), self.indices[:nnz], self.indptr
        self.csr = sparse.csr_array(csr, shape=X.shape)
        self.W = aligned_zeros((X.shape[1], width), dtype)
        self.kernel = dispatch.best("sparse_rows")

    def rows(self, batch: IntArray) -> FloatArray:
        F = aligned_zeros((len(batch), self.width), self.dtype)
        self.kernel.times(self.indptr, self.indices, self.data, batch, self.W, F)
        return F

    def gram(self, batch: IntArray) -> FloatArray:
        some = self.csr[batch]
        K: FloatArray = (some @ some.T).toarray()
        return K

    def add(self, batch: IntArray, change: FloatArray) -> None:
        self.kernel.add_to(self.indptr, self.indices, self.data, batch, change, self.W, 0, self.width)

    def squared_norm(self) -> float:
        return sum(squares(part, self.columns) for part in _double(self.W))

    def restart(self, D: FloatArray) -> float:
        return _restart(self.W, self.csr, D, self.columns)

    def exact_rows(self, batch: IntArray) -> FloatArray:
        F = np.zeros((len(batch), self.width))
        self.kernel.times(self.indptr, self.indices, self.data, batch, self.W, F)
        return F

    def weights(self) -> FloatArray:
        """W in the order of X's features, n_features x width."""
        return self.W[self.rank]


class DenseDocuments:
    """Dense documents and a linear kernel: W = X'D."""

    def __init__(self, X: FloatArray, width: int, columns: int, dtype: type[np.floating]) -> None:
        self.n_docs, self.width, self.columns, self.dtype = X.shape[0], width, columns, np.dtype(dtype)
        self.given, self.X = X, np.ascontiguousarray(X, dtype=dtype)
        self.W = aligned_zeros((X.shape[1], width), dtype)

    def rows(self, batch: IntArray) -> FloatArray:
        F: FloatArray = self.X[batch] @ self.W
        return F

    def gram(self, batch: IntArray) -> FloatArray:
        some = self.X[batch].astype(np.float64)
        K: FloatArray = some @ some.T
        return K

    def add(self, batch: IntArray, change: FloatArray) -> None:
        self.W += self.X[batch].T @ change

    def squared_norm(self) -> float:
        return sum(squares(part, self.columns) for part in _double(self.W))

    def restart(self, D: FloatArray) -> float:
        return _restart(self.W, self.given, D, self.columns)

    def exact_rows(self, batch: IntArray) -> FloatArray:
        some = self.given[batch].astype(np.float64)
        return np.hstack([some @ self.W[:, part].astype(np.float64) for part in blocks(self.width, _COLUMNS)])

    def weights(self) -> FloatArray:
        """W, n_features x width."""
        return self.W


class GramDocuments:
    """Any kernel: D is kept, and kernel values are kept too where they fit, or computed batch by batch."""

    def __init__(
        self,
        kernel: Kernel,
        documents: Matrix,
        width: int,
        columns: int,
        dtype: type[np.floating],
        bias: float = 0.0,
    ) -> None:
        self.n_docs, self.width, self.columns = documents.shape[0], width, columns
        self.dtype = np.dtype(np.float64 if self.n_docs <= _EXACT_GRAM else dtype)
        self.kernel, self.prepared, self.constant = kernel, documents, bias**2
        self.D = np.zeros((self.n_docs, width), self.dtype)
        self.exact = self.D  # as given to `restart`, in double precision; D itself if that is in double precision
        self.K = self._whole() if self.n_docs**2 * self.dtype.itemsize <= _GRAM_BYTES else None

    def _whole(self) -> FloatArray:
        K = np.empty((self.n_docs, self.n_docs), self.dtype)
        for part in blocks(self.n_docs, 512):
            K[part] = self.kernel(self.prepared[part], self.prepared)
        K += self.dtype.type(self.constant)
        return K

    def _some(self, batch: IntArray, columns: IntArray | slice = slice(None)) -> FloatArray:
        if self.K is not None:
            return self.K[batch][:, columns]
        K = self.kernel(self.prepared[batch], self.prepared[columns])
        return (K + self.constant).astype(self.dtype)

    def rows(self, batch: IntArray) -> FloatArray:
        F: FloatArray = self._some(batch) @ self.D
        return F

    def gram(self, batch: IntArray) -> FloatArray:
        return np.ascontiguousarray(self._some(batch, batch), dtype=np.float64)

    def add(self, batch: IntArray, change: FloatArray) -> None:
        self.D[batch] += change

    def squared_norm(self) -> float:
        total = 0.0
        for part in blocks(self.n_docs, 512):
            batch = np.arange(part.start, part.stop)
            F, D = self._some(batch).astype(np.float64) @ self.exact, self.exact[batch]
            total += float(np.vdot(D, F)) + float(np.vdot(dependent(D, self.columns), dependent(F, self.columns)))
        return total

    def restart(self, D: FloatArray) -> float:
        self.D[:] = D
        self.exact = self.D if self.dtype == np.float64 else D
        return self.squared_norm()

    def exact_rows(self, batch: IntArray) -> FloatArray:
        F: FloatArray = self._some(batch).astype(np.float64) @ self.exact
        return F

    def weights(self) -> None:
        return None


def training_documents(
    kernel: Kernel, documents: Matrix, width: int, columns: int, dtype: type[np.floating], bias: float = 0.0
) -> TrainingDocuments:
    """Prepared documents for the solver: by weights if the kernel is linear, by the Gram matrix otherwise.

    ``bias`` adds a constant feature of this value, the last row of W.
    """
    if not isinstance(kernel, Linear) or kernel.normalise:
        return GramDocuments(kernel, documents, width, columns, dtype, bias)
    documents = with_constant(documents, bias)
    if is_sparse(documents):
        return SparseDocuments(documents, width, columns, dtype)
    return DenseDocuments(documents, width, columns, dtype)


def squares(A: FloatArray, columns: int) -> float:
    """Sum of squares of A (.. x width), the dependent columns included."""
    return float(np.vdot(A, A)) + float(np.square(dependent(A, columns)).sum())


def dependent(A: FloatArray, columns: int) -> FloatArray:
    """The dependent column of every edge, minus the sum of the others (.. x n_edges); columns = 0: there is none.

    Examples
    --------
    >>> dependent(np.array([[1.0, 2.0, 3.0, 0.0]]), 2).tolist()
    [[-3.0, -3.0]]
    """
    if not columns:
        return np.zeros((len(A), 0))
    edges = A[:, : A.shape[1] // columns * columns].reshape(len(A), -1, columns)
    return -edges.sum(axis=2)


def _restart(W: FloatArray, X: Matrix, D: FloatArray, columns: int) -> float:
    """W = X'D, summed in double precision and rounded to that of W; the squared norm before rounding."""
    total = 0.0
    for part in blocks(W.shape[1], _COLUMNS):
        V = np.asarray(X.T @ np.ascontiguousarray(D[:, part], dtype=np.float64))
        W[:, part] = V
        total += squares(V, columns)
    return total


def _double(W: FloatArray) -> Iterator[FloatArray]:
    """Some rows at a time in double precision."""
    return (W[part].astype(np.float64) for part in blocks(len(W), _PART))


# -- new documents -----------------------------------------------------------------------------------------------------


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


def kernel_scores(kernel: Kernel, A: Matrix, B: Matrix, D: FloatArray, constant: float = 0.0) -> FloatArray:
    """(K(A, B) + constant) D for prepared documents."""
    return _steady_product(np.asarray(kernel(A, B)) + constant, D)


def _steady_product(A: FloatArray, B: FloatArray) -> FloatArray:
    """A B in double precision: the order of summation changes a score by about 1e-15 of it."""
    A, B = np.ascontiguousarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    product = np.empty((len(A), B.shape[1]))
    padded = np.zeros((_ROWS, A.shape[1]))
    for part in blocks(len(A), _ROWS):
        size = part.stop - part.start
        padded[:size] = A[part]
        product[part] = (padded @ B)[:size]
    return product
