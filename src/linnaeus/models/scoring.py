"""Linear scores of sparse documents, and the best k of them, without a docs x nodes array.

    S = X W + 1 b'      W = w0 1' + U:  base weights w0 (n_features) of all nodes, and what each node has of its own,
                                        perhaps beside what the subtrees above it have (`subtrees`)

A `Scorer` holds W laid out for the kernel: rows of U in which many nodes have a weight are dense, the others sparse,
with 16-bit node numbers where these suffice. Documents are independent, so blocks of them run on threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus._kernels import dispatch
from linnaeus.engine import get_engine
from linnaeus.engine.limits import blocks
from linnaeus.models.subtrees import Subtrees
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["MOST_BEST", "Scorer"]

MOST_BEST = 128  # the kernel keeps the best in order by insertion; beyond this, a partition of all scores is quicker
_DENSE_SHARE = 4  # a row with more than one weight in 4 is quicker to add whole than entry by entry
_BLOCK = 256  # documents of a task
_MOST_COPIED = 2**27  # entries; more are used where they lie, which may be a file


class Scorer:
    """W (n_features x n_nodes, dense or CSR), ``base`` (n_features) or None, ``intercept`` (n_nodes)."""

    def __init__(
        self, weights: Any, base: FloatArray | None, intercept: FloatArray, subtrees: Subtrees | None = None
    ) -> None:
        dtype = weights.dtype
        self.kernel = dispatch.best("sparse_top")
        self.n_nodes = weights.shape[1]
        self.dtype = dtype
        self.intercept = np.ascontiguousarray(intercept, dtype)
        self.base = np.zeros(weights.shape[0], dtype) if base is None else np.ascontiguousarray(base, dtype)
        self.parent = np.zeros(0, np.int32) if subtrees is None else np.ascontiguousarray(subtrees.parent, np.int32)
        self.levels = np.zeros(1, np.int32) if subtrees is None else subtrees.levels()
        self.weights = _laid_out(weights if subtrees is None else subtrees.beside(weights))

    def scores(self, X: CSR) -> FloatArray:
        """Scores of checked CSR documents, n_docs x n_nodes."""
        S = np.empty((X.shape[0], self.n_nodes), self.dtype)
        if S.size:
            self.kernel.scores(*self._documents(X), *self._model(), S)
        return S

    def top(self, X: CSR, k: int, n_jobs: int | None = None) -> tuple[IntArray, FloatArray]:
        """Columns (int32) and scores of the k best nodes of every document, by score, then by column."""
        k = min(k, self.n_nodes)
        columns, values = np.empty((X.shape[0], k), np.int32), np.empty((X.shape[0], k), self.dtype)
        shared = (self, self._documents(X), columns, values)
        # Results are written in place: threads, whatever engine trained the model.
        for _ in get_engine(None, n_jobs).map(_top_of_block, blocks(X.shape[0], _BLOCK), shared):
            pass
        return columns, values

    def _model(self) -> tuple[Any, ...]:
        """What the kernel takes after the documents: weights, intercepts, and a row to sum in."""
        row = np.empty(max(self.n_nodes, len(self.parent)), self.dtype)
        return *self.weights, self.base, self.intercept, self.parent, self.levels, row

    def _documents(self, X: CSR) -> tuple[Any, Any, Any]:
        """X as the kernel takes it; arrays of the right types are passed on as they are, memory-mapped ones too."""
        if not X.nnz:  # the kernel wants a first element to point at
            return X.indptr.astype(np.int64), np.zeros(1, np.int32), np.zeros(1, self.dtype)
        indptr, indices = X.indptr.astype(np.int64, copy=False), X.indices.astype(np.int32, copy=False)
        return indptr, indices, X.data.astype(self.dtype, copy=False)


def _top_of_block(shared: tuple[Any, ...], part: slice) -> None:
    scorer, (indptr, indices, data), columns, values = shared
    part_indptr = indptr[part.start : part.stop + 1]
    scorer.kernel.top(part_indptr, indices, data, *scorer._model(), columns[part], values[part])


def _laid_out(weights: Any) -> tuple[Any, ...]:
    """(place, indptr, indices, data, dense) of the kernel."""
    from scipy import sparse

    n_features, n_nodes = weights.shape
    if not sparse.issparse(weights):
        place, nothing = np.arange(n_features, dtype=np.int32), np.zeros(n_features + 1, np.int64)
        return place, nothing, np.zeros(1, np.int32), np.zeros(1, weights.dtype), np.ascontiguousarray(weights)
    lengths = np.diff(weights.indptr)
    if weights.nnz > _MOST_COPIED:
        everywhere = np.full(n_features, -1, np.int32)
        parts = weights.indptr.astype(np.int64, copy=False), weights.indices.astype(np.int32, copy=False), weights.data
        return everywhere, *parts, np.zeros((1, n_nodes), weights.dtype)
    full = np.flatnonzero(lengths > max(1, n_nodes // _DENSE_SHARE))
    place = np.full(n_features, -1, np.int32)
    place[full] = np.arange(len(full))
    dense = weights[full].toarray() if len(full) else np.zeros((1, n_nodes), weights.dtype)
    kept = np.repeat(place < 0, lengths)
    indptr = np.concatenate([[0], np.cumsum(np.where(place < 0, lengths, 0))])
    indices = weights.indices[kept].astype(np.uint16 if n_nodes <= 2**16 else np.int32)
    data = weights.data[kept]
    if not len(data):
        indices, data = np.zeros(1, indices.dtype), np.zeros(1, data.dtype)
    return place, indptr.astype(np.int64), indices, data, np.ascontiguousarray(dense)
