"""Documents laid out for the kernels: features sorted by document frequency, plain arrays, the constant feature apart.

Frequent features come first, so that the rows of W that every document touches share pages and stay in cache.
`BlockSolution` is what every solver of a block of columns returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linnaeus.engine import blocks
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix, is_sparse

__all__ = [
    "PANEL",
    "BlockSolution",
    "BlockTask",
    "Rows",
    "Seed",
    "aligned_zeros",
    "prepare_rows",
    "rows_bytes",
    "with_constant",
]


Seed = int | Sequence[int] | np.random.SeedSequence  # of a random generator
BlockTask = tuple[CSR, Seed] | tuple[CSR, Seed, FloatArray | None]  # positives, seed, weights of positives
PANEL = 16  # columns that kernels take at a time, as in panel.h; a number, so that no kernel is loaded for it


@dataclass(frozen=True)
class Rows:
    """X (n_docs x n_features) for the kernels.

    ``rank[j]`` is the position of feature j in the order of the kernels; None for dense rows, which keep theirs.
    """

    indptr: IntArray
    indices: IntArray
    data: FloatArray
    dense: bool
    squared_norm: FloatArray
    bias: float
    n_features: int
    rank: IntArray | None

    @property
    def n_docs(self) -> int:
        return len(self.indptr) - 1

    @property
    def matrix(self) -> tuple[IntArray, IntArray, FloatArray, bool]:
        """The first arguments of every kernel."""
        return self.indptr, self.indices, self.data, self.dense

    def to_features(self, W: FloatArray) -> FloatArray:
        """Rows of W, without the constant feature, in the order of X's features."""
        return W[:-1] if self.rank is None else W[:-1][self.rank]


def prepare_rows(X: Matrix, bias: float, rank: IntArray | None = None) -> Rows:
    """Lay out checked X (CSR or C-ordered dense, float32 or float64); ``rank``: features in an order made before."""
    from scipy import sparse

    n_docs, n_features = X.shape
    if not is_sparse(X):
        data = np.ascontiguousarray(X).reshape(-1)
        indptr = np.arange(n_docs + 1, dtype=np.int64) * n_features
        squared = np.einsum("ij,ij->i", X, X, dtype=X.dtype) + X.dtype.type(bias**2)
        return Rows(indptr, np.zeros(1, np.int32), data, True, squared, bias, n_features, None)
    on_disk = getattr(X, "by_frequency", None)
    indptr = X.indptr.astype(np.int64, copy=False)
    if on_disk is not None and rank is None:  # laid out when the data was converted: used where it lies
        indices, data, rank = on_disk
    else:
        if rank is None:
            frequency = np.bincount(X.indices, minlength=n_features)
            rank = np.empty(n_features, dtype=np.int32)
            rank[np.argsort(-frequency, kind="stable")] = np.arange(n_features, dtype=np.int32)
        renamed = sparse.csr_array((X.data.copy(), rank[X.indices], X.indptr.copy()), shape=X.shape)
        renamed.sum_duplicates()
        indptr = renamed.indptr.astype(np.int64)
        indices, data = renamed.indices.astype(np.int32, copy=False), renamed.data
    if not len(data):  # kernels want a first element to point at
        indices, data = np.zeros(1, np.int32), np.zeros(1, X.dtype)
    return Rows(indptr, indices, data, False, _squared_norms(indptr, data, bias), bias, n_features, rank)


def rows_bytes(X: Matrix) -> tuple[int, int]:
    """Bytes that `prepare_rows` of checked X keeps beyond X itself, with norms and bounds, and while it prepares them.

    Examples
    --------
    >>> rows_bytes(np.zeros((1000, 50), np.float32))
    (20000, 20000)
    """
    n_docs, n_features = X.shape
    size = X.dtype.itemsize
    per_document = n_docs * (8 + 3 * size)  # row pointers, norms, bounds
    if not is_sparse(X):
        return per_document, per_document
    entries = X.nnz * (size + 4)
    return entries + per_document + 4 * n_features, 2 * entries + per_document + 20 * n_features


def _squared_norms(indptr: IntArray, data: FloatArray, bias: float) -> FloatArray:
    """|x_i|^2 + bias^2 of sparse rows; some rows at a time, since these may lie in a file."""
    squared = np.full(len(indptr) - 1, bias**2, data.dtype)
    for part in blocks(len(squared), 2**16):
        ends = indptr[part.start : part.stop + 1]
        some = np.flatnonzero(np.diff(ends)) + part.start  # an empty row has no place to sum from
        if len(some):
            values = data[ends[0] : ends[-1]]
            squared[some] += np.add.reduceat(values * values, indptr[some] - ends[0])
    return squared


def with_constant(X: Matrix, value: float, dtype: npt.DTypeLike | None = None) -> Matrix:
    """X, CSR or dense, of a dtype (None keeps its own), with a last feature that is ``value`` in every document.

    Where ``value`` is 0 no feature is added.

    Examples
    --------
    >>> with_constant(np.eye(2), 1.0).tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    """
    from scipy import sparse

    dtype = X.dtype if dtype is None else dtype
    column: FloatArray = np.full((X.shape[0], 1), value, dtype)
    if isinstance(X, np.ndarray):
        X = np.asarray(X, dtype)
        return np.hstack([X, column]) if value else X
    X = sparse.csr_array(X, dtype=dtype)
    return sparse.csr_array(sparse.hstack([X, column], format="csr")) if value else X


def aligned_zeros(shape: tuple[int, ...], dtype: npt.DTypeLike) -> FloatArray:
    """Zeros that begin on a cache line: a row of 16 floats is then one line, not two halves."""
    dtype = np.dtype(dtype)
    n_bytes = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(n_bytes + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + n_bytes].view(dtype).reshape(shape)


@dataclass(frozen=True)
class BlockSolution:
    """What a block of columns came to: weights, objective and gap per column, passes over the documents used."""

    weights: Matrix  # n_features x n_columns, an array; CSR where the solver has pruned it already
    intercept: FloatArray  # n_columns
    objective: FloatArray
    gap: FloatArray
    n_iter: int
    converged: bool
