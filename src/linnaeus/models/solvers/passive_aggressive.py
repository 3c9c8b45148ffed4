"""Passive-aggressive learning of many binary problems at once, sixteen columns of weights at a time.

    for every visited document of column b with label y (+1 or -1):
        loss = 1 - y w_b'x;   where it is above 0:   w_b += min(C, loss / |x|^2) y x       (PA-I, Crammer et al. 2006)

Documents are visited in one random order per pass, the same for all columns, so that a column does not depend on the
others, nor on the thread that learns it. The answer is the mean of the weights after all visits, or the last ones.

Within a time limit every panel gets an equal part of the time that is left, and the first documents of its first pass
in any case: no label is left out, and all are learned from about as many visits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from linnaeus._kernels import dispatch
from linnaeus.data.matrices import is_sparse, with_constant
from linnaeus.engine import Clock, blocks
from linnaeus.models.solvers import PANEL
from linnaeus.taxonomy.closure import pointers
from linnaeus.typing import CSR, Engine, FloatArray, IntArray, Matrix

__all__ = [
    "BELOW",
    "PANEL",
    "ColumnVisits",
    "Panel",
    "assembled",
    "compact",
    "learn_columns",
    "learn_panels",
    "prepared",
    "squared_norms",
]

Labels = Callable[[int], tuple[IntArray, IntArray | None]]  # positive and negative documents of a column
BELOW = 1e-7  # weights smaller than this are dropped, as where sizes of models are counted in the literature
_PIECES = 16  # of a pass, after each of which the clock is read
_SPARSE_BELOW, _SMALL = 0.25, 2**20  # share of weights below which a large array is kept sparse


@dataclass(frozen=True)
class ColumnVisits:
    """What all columns share: documents (CSR of float64), the weight of each, orders of visits, and how to learn."""

    X: CSR
    weight: FloatArray
    orders: list[IntArray]
    C: float
    averaged: bool
    clock: Clock = field(default_factory=Clock)

    @property
    def n_visits(self) -> int:
        """Visits of documents, if there is time for all."""
        return sum(map(len, self.orders))


class Panel(NamedTuple):
    """What was learned for up to sixteen columns.

    Attributes
    ----------
    W : CSR array of shape (n_features, n_columns)
        Weights.
    n_updates : int
        How often a column has learned something.
    n_visits : int
        Visits of documents for which there was time.
    """

    W: CSR
    n_updates: int
    n_visits: int


def prepared(X: Matrix, *, constant: bool) -> CSR:
    """Documents as sorted CSR of float64, with a last feature that is 1 if asked for."""
    rows = sparse.csr_array(with_constant(sparse.csr_array(X), float(constant), np.float64))
    return rows.sorted_indices()  # a copy: the arrays of indices may still be those of X


def squared_norms(X: CSR) -> FloatArray:
    """|x|^2 of every document."""
    return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).reshape(-1)


def learn_columns(
    visits: ColumnVisits,
    n_columns: int,
    labels: Labels,
    engine: Engine,
    start: Matrix | None = None,
) -> Panel:
    """Weights of all columns together; visits are those of the panel for which there was the least time.

    Parameters
    ----------
    labels : Labels
        Of a column, its positive documents and its negative ones; None for the latter: all others.
    start : array-like or csr_array, default=None
        Weights to begin with, zeros when None.

    Notes
    -----
    For many columns `learn_panels` gives the same in parts that need not be joined before they are made smaller.

    Examples
    --------
    >>> from linnaeus.engine import SerialEngine
    >>> X = prepared(np.array([[3.0, 4.0], [3.0, 4.0]]), constant=False)
    >>> visits = ColumnVisits(X, np.ones(2), [np.array([0, 1, 1])], 1.0, averaged=False)
    >>> W, n_updates, n_visits = learn_columns(visits, 1, lambda column: (np.array([0]), None), SerialEngine())
    >>> W.toarray().ravel().round(2).tolist(), n_updates, n_visits
    ([-0.12, -0.16], 2, 3)
    """
    found = learn_panels(visits, [n_columns], labels, engine, start)
    weights = sparse.csr_array(sparse.hstack([panel.W for panel in found], format="csr"))
    return Panel(weights, sum(panel.n_updates for panel in found), min(panel.n_visits for panel in found))


def learn_panels(
    visits: ColumnVisits,
    groups: list[int],
    labels: Labels,
    engine: Engine,
    start: Matrix | None = None,
    dtype: npt.DTypeLike = np.float64,
    after: Callable[[int], object] = lambda n: None,
) -> list[Panel]:
    """Weights of up to sixteen columns each, in order; ``dtype`` is that of weights.

    No panel has columns of two groups; ``groups`` are their numbers of columns.
    """
    ends = np.cumsum(groups).tolist()
    parts = [
        slice(end - size + part.start, end - size + part.stop)
        for end, size in zip(ends, groups, strict=True)
        for part in blocks(size, PANEL)
        if part.stop > part.start
    ]
    learn = partial(_learn_panel, n_workers=engine.n_workers, dtype=np.dtype(dtype).name)
    found = []
    for panel in engine.map(learn, _tasks(parts, visits, labels, start), shared=visits):
        found.append(panel)
        after(1)
    return found


def assembled(panels: list[CSR], shape: tuple[int, int], dtype: npt.DTypeLike) -> Matrix:
    """Panels side by side as a model keeps weights; panels are released on the way, so that there is memory for both.

    Examples
    --------
    >>> panels = [sparse.csr_array([[1.0, 0.0], [0.0, 2.0]]), sparse.csr_array([[3.0], [0.0]])]
    >>> assembled(panels, (2, 3), np.float32).tolist(), panels
    ([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]], [])
    """
    size, nnz = shape[0] * shape[1], sum(panel.nnz for panel in panels)
    panels.reverse()
    if size <= _SMALL or nnz >= _SPARSE_BELOW * size:
        dense, at = np.zeros(shape, dtype), 0
        while panels:
            panel = panels.pop()
            dense[:, at : at + panel.shape[1]] = panel.toarray()
            at += panel.shape[1]
        return dense
    indptr = pointers(sum((np.diff(panel.indptr) for panel in panels), np.zeros(shape[0], dtype=np.int64)))
    indices, data = np.empty(nnz, dtype=np.int32), np.empty(nnz, dtype=dtype)
    free, first = indptr[:-1].copy(), 0
    while panels:
        panel = panels.pop()
        lengths = np.diff(panel.indptr)
        to = np.arange(panel.nnz) + np.repeat(free - panel.indptr[:-1], lengths)
        indices[to], data[to] = panel.indices + first, panel.data
        free += lengths
        first += panel.shape[1]
    return sparse.csr_array((data, indices, indptr), shape=shape)


def _tasks(
    parts: list[slice], visits: ColumnVisits, labels: Labels, start: Matrix | None
) -> Iterable[tuple[IntArray, Matrix | None, int]]:
    for number, part in enumerate(parts):
        signs = np.zeros((visits.X.shape[0], PANEL), dtype=np.int8)
        for b, column in enumerate(range(part.start, part.stop)):
            positive, negative = labels(column)
            signs[slice(None) if negative is None else negative, b] = -1
            signs[positive, b] = 1
        own = None if start is None else start[:, part.start : part.stop]
        yield signs[:, : part.stop - part.start], own, len(parts) - number


def _learn_panel(visits: ColumnVisits, task: tuple[IntArray, Matrix | None, int], n_workers: int, dtype: str) -> Panel:
    given, start, n_left = task
    clock = visits.clock.part(n_left, n_workers)
    X, width = visits.X, given.shape[1]
    signs = np.zeros((X.shape[0], PANEL), dtype=np.int8)
    signs[:, :width] = given
    W = np.zeros((X.shape[1], PANEL))
    if start is not None:
        W[:, :width] = start.toarray() if is_sparse(start) else start
    U = np.zeros((X.shape[1] if visits.averaged else 0, PANEL))
    steps, n_updates, n_visits = np.zeros(PANEL, dtype=np.int64), 0, 0
    kernel, norms = dispatch.best("passive_aggressive"), squared_norms(X)
    arrays = X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data, norms, visits.weight
    for piece in _pieces(visits):
        n_updates += kernel.learn_panel(*arrays, piece, signs, visits.C, steps, W, U)
        n_visits += len(piece)
        if clock.over:
            break
    if visits.averaged:
        W -= U / np.maximum(steps, 1)
    W[np.abs(W) <= BELOW] = 0
    return Panel(sparse.csr_array(W[:, :width].astype(dtype)), n_updates, n_visits)


def _pieces(visits: ColumnVisits) -> Iterator[IntArray]:
    """The orders one after another; in pieces where there is a time limit."""
    n_pieces = 1 if visits.clock.limit == math.inf else _PIECES
    for order in visits.orders:
        whole = np.ascontiguousarray(order, dtype=np.int32)
        for part in blocks(len(whole), max(1, -(-len(whole) // n_pieces))):
            yield whole[part]


def compact(W: CSR, dtype: npt.DTypeLike) -> Matrix:
    """Weights as a model keeps them: sparse where the array is large and most are 0."""
    W = W.astype(dtype)
    size = W.shape[0] * W.shape[1]
    if size > _SMALL and W.nnz < _SPARSE_BELOW * size:
        W.eliminate_zeros()
        return W
    return W.toarray()
