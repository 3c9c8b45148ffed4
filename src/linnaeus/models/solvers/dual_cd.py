"""Block solver for independent binary problems: epochs with shrinking, then a certificate in double precision.

For each of up to 16 columns b:  min_w 1/2 |w|^2 + sum_i c_i loss(y_ib w'x_i).  A column is finished when its certified
relative gap (P - D) / P is at most ``tol``; P and D are computed from the dual variables alone, w rebuilt from them.

The gap is a sum over the rows, and every epoch adds up the shares of the rows it visits: it shows, at no cost, when a
certificate is worth its price. Most columns of a large taxonomy have few positive documents and differ little from the
problem in which every document is negative; `negative_start` solves that once, and all blocks may start from it.

Many binary problems over the same documents are solved some columns at a time, by the solver and memory that fit.

A `BinaryTraining` is everything the blocks share; `solve_columns` is the task that an engine runs. Both are plain data
and a plain function, so that a block can be solved in this thread, in another, or on another machine.
`binary_footprint` says how much memory they take, from the shape of the documents alone:

    rows       the documents laid out: once; making them takes about as much again for a moment
    panels     what one worker holds while it solves a block
    result     the weights of one finished block (n_features x columns)

The figures follow the arrays that `rows`, `dual_cd` and `cg` make; a test measures whether they still do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from linnaeus._kernels import dispatch
from linnaeus.data.matrices import Rows, aligned_zeros, is_sparse, prepare_rows, rows_bytes
from linnaeus.engine import Clock, rows_that_fit
from linnaeus.models.solvers import PANEL, BlockSolution, BlockTask, Seed, cg
from linnaeus.models.solvers.cg import solve_dense_block
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray, Matrix

if TYPE_CHECKING:
    from linnaeus.models.gpu.flat import DeviceTraining

__all__ = [
    "LOSSES",
    "PANEL",
    "BinaryTraining",
    "Footprint",
    "binary_footprint",
    "column_weights",
    "kernel_labels",
    "negative_start",
    "prepare_training",
    "solve_block",
    "solve_columns",
]

LOSSES = {"hinge": 0, "squared_hinge": 1, "logistic": 2}

_AIM = 0.65  # of the tolerance: rows that an epoch left out have shares of the gap, too
_SHRINK = 0.1  # of the largest projected gradient: a row with more slack than that is left out
_SHRINK_NEAR = 1.0  # the same for the first epoch, near the solution
_WHOLE = 3  # epochs over all rows before the slacks of a start from nothing say anything
_CHUNK = 16  # rows that stay together in an epoch's order: they lie together in memory
_LONG = 32  # non-zeros of a row on average: reading rows one by one costs little beside them
_TINY = np.finfo(float).tiny


def solve_block(
    rows: Rows,
    positives: CSR,
    bound: FloatArray,
    *,
    loss: str,
    tol: float,
    max_iter: int,
    seed: Seed,
    positive_weight: FloatArray | None = None,
    start: FloatArray | None = None,
    clock: Clock | None = None,
) -> BlockSolution:
    """Solve the columns of ``positives`` (n_docs x at most 16, 0/1) with the bounds c_i.

    ``positive_weight`` (one per column) multiplies the bounds of the column's positive documents. ``start`` (n_docs)
    holds dual variables of negative documents to start from, as `negative_start` finds them. ``clock`` ends the epochs
    after the first one in which the time is over.
    """
    return _Block(rows, positives, bound, loss, seed, positive_weight, start, clock).solve(tol, max_iter)


def negative_start(rows: Rows, bound: FloatArray, *, loss: str, tol: float, max_iter: int, seed: Seed) -> FloatArray:
    """Dual variables of the problem in which every document is negative."""
    from scipy import sparse

    block = _Block(rows, sparse.csr_array((rows.n_docs, 1), dtype=np.int8), bound, loss, seed)
    block.solve(tol, max_iter)
    return block.alpha[:, 0].copy()


def column_weights(
    n_columns: int, dtype: npt.DTypeLike, positive: npt.ArrayLike = 1.0, negative: npt.ArrayLike = 1.0
) -> FloatArray:
    """Weights of the columns' positive (row 0) and negative (row 1) documents as the kernels take them."""
    weights = np.ones((2, PANEL), dtype)
    weights[0, :n_columns], weights[1, :n_columns] = positive, negative
    return weights


def kernel_labels(positives: CSR) -> tuple[IntArray, IntArray]:
    """Positive columns of every row as the kernels take them."""
    positives = positives.tocsr()
    columns = positives.indices.astype(np.uint8) if positives.nnz else np.zeros(1, np.uint8)
    return positives.indptr.astype(np.int64), columns


class _Block:
    """State of one block: W = sum alpha y x (features x 16), alpha (docs x 16), the order of the rows."""

    def __init__(
        self,
        rows: Rows,
        positives: CSR,
        bound: FloatArray,
        loss: str,
        seed: Seed,
        positive_weight: FloatArray | None = None,
        start: FloatArray | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.clock = clock or Clock()
        dtype = rows.data.dtype
        self.kernel = dispatch.best("dual_cd")
        self.rows, self.bound, self.loss = rows, bound, LOSSES[loss]
        self.n_columns = positives.shape[1]
        self.labels = kernel_labels(positives)
        self.weight = column_weights(self.n_columns, dtype, 1 if positive_weight is None else positive_weight)
        self.W = aligned_zeros((rows.n_features + 1, PANEL), dtype)
        self.alpha = aligned_zeros((rows.n_docs, PANEL), dtype)
        self.rng = np.random.default_rng(seed)
        self.order = np.arange(rows.n_docs, dtype=np.int32)
        self.done = np.zeros(PANEL, np.uint8)
        self.done[self.n_columns :] = 1
        # Of the last epoch: extreme projected gradients; shares of the gap and of the primal objective, summed.
        self.pg_max, self.pg_min = np.zeros(PANEL, dtype), np.zeros(PANEL, dtype)
        self.shares = np.zeros((2, PANEL), dtype)
        self.objective = np.zeros(PANEL)  # as the last epoch over all rows estimates it
        # The constant couples all rows: neighbours, which often have the same label, undo one another's steps.
        self.scattered = bool(rows.bias) and not rows.dense and rows.indptr[-1] >= _LONG * rows.n_docs
        near = np.inf if start is None else _SHRINK_NEAR
        self.above, self.below = np.full(PANEL, near, dtype), np.full(PANEL, -near, dtype)
        self.n_whole = _WHOLE if start is None else 1
        if start is not None or loss == "logistic":
            self._start(positives, start, loss)

    def _start(self, positives: CSR, start: FloatArray | None, loss: str) -> None:
        """Negative rows as given; the others, or all, at 0, or near it where the dual lives in an open interval."""
        least = np.zeros_like(self.bound)
        if loss == "logistic":
            least = np.minimum(1e-3 * self.bound * self.weight.min(), 1e-8).astype(self.bound.dtype)
        self.alpha[:] = (least if start is None else start)[:, None]
        if start is not None:
            row = np.repeat(np.arange(positives.shape[0]), np.diff(self.labels[0]))
            self.alpha[row, self.labels[1][: len(row)]] = least[row]
        self._rebuild()

    def solve(self, tol: float, max_iter: int) -> BlockSolution:
        epochs = 0
        finished = self.done.astype(bool)
        aim = np.full(PANEL, _AIM * tol)
        while True:
            # The aim may lie beyond the precision of the sums: look at the certificate from time to time in any case.
            epochs, reached = self._descend(aim, epochs, min(max_iter, int(1.5 * epochs) + 30), finished)
            objective, gap = self._certify()
            worst = gap / np.maximum(tol * objective, _TINY)
            finished[: self.n_columns] = worst <= 1
            if finished.all() or epochs >= max_iter or self.clock.over:
                break
            missed = reached[: self.n_columns] & (worst > 1)
            aim[: self.n_columns][missed] *= np.clip(1 / worst[missed], 0.1, 0.7)
        weights = self.rows.to_features(self.W[:, : self.n_columns])
        intercept = self.W[-1, : self.n_columns] * self.W.dtype.type(self.rows.bias)
        return BlockSolution(weights, intercept, objective, gap, epochs, bool(finished.all()))

    def _descend(self, aim: FloatArray, epochs: int, most: int, finished: BoolArray) -> tuple[int, BoolArray]:
        """Epochs until the rows still visited have small enough a share of every unfinished column's gap.

        The first epoch visits all rows; rows that it, or a later one, leaves out are looked at by the certificate. Also
        says which columns reached their goal.
        """
        n, quiet = self.rows.n_docs, finished
        self.done[:] = finished
        while epochs < most and n:
            epochs += 1
            self._shuffle(n)
            kept = self.kernel.sweep(
                *self.rows.matrix, self.rows.squared_norm, self.bound, self.weight, self.loss, self.rows.bias,
                *self.labels, self.order, n, self.W, self.alpha,
                self.above, self.below, self.done, self.pg_max, self.pg_min, self.shares,
            )  # fmt: skip
            if n == self.rows.n_docs:
                self.objective[:] = self.shares[1]
            quiet = (self.shares[0] <= aim * np.maximum(self.objective, _TINY)) | finished
            if quiet.all() or self.clock.over:
                break
            n = kept
            self.done[:] = quiet
            if epochs >= self.n_whole:
                self.above[:] = np.where(self.pg_max > 0, _SHRINK * self.pg_max, np.inf)
                self.below[:] = np.where(self.pg_min < 0, _SHRINK * self.pg_min, -np.inf)
        return epochs, quiet

    def _shuffle(self, n: int) -> None:
        """A new order of the rows ``order[:n]``; unless scattered, neighbours stay together, as they are in memory."""
        active = self.order[:n]
        n_chunks = n // _CHUNK
        if self.scattered or n_chunks < 64:
            self.rng.shuffle(active)
            return
        among = np.zeros(self.rows.n_docs, bool)
        among[active] = True
        active[:] = np.flatnonzero(among)  # sorted, at less than the price of sorting
        rest = n - n_chunks * _CHUNK
        chunks = active[rest:].reshape(n_chunks, _CHUNK)
        chunks[:] = chunks[self.rng.permutation(n_chunks)]

    def _rebuild(self) -> tuple[FloatArray, FloatArray]:
        """W from alpha; the squared norms of its columns before and after rounding."""
        V = np.zeros(self.W.shape)
        self.kernel.rebuild(*self.rows.matrix, self.rows.bias, *self.labels, self.alpha, V)
        exact, stored = np.empty(PANEL), np.empty(PANEL)
        self.kernel.settle(V, self.W, exact, stored)
        return exact, stored

    def _certify(self) -> tuple[FloatArray, FloatArray]:
        """Objective P and gap P - D of every column, w rebuilt from alpha."""
        exact, stored = self._rebuild()
        primal, dual = np.empty(PANEL), np.empty(PANEL)
        self.kernel.certify(
            *self.rows.matrix, self.bound, self.weight, self.loss, self.rows.bias, *self.labels,
            self.W, self.alpha, primal, dual,
        )  # fmt: skip
        P = 0.5 * stored + primal
        D = dual - 0.5 * exact
        return P[: self.n_columns], np.maximum(P - D, 0)[: self.n_columns]


_MANY = 8 * PANEL  # columns that pay for a common start
_SEVERAL = 2 * PANEL  # columns that pay for the principal axes of dense documents


@dataclass(frozen=True)
class BinaryTraining:
    """Documents laid out for their solver, the bound c_i of every document, the loss and when to stop."""

    documents: Rows | FloatArray
    bound: FloatArray
    loss: str
    bias: float
    tol: float
    max_iter: int
    start: FloatArray | None = None  # dual variables at which blocks start, where there are many of them
    along: cg.PrincipalAxes | None = None  # of dense documents, where there are many blocks
    clock: Clock | None = None  # of a block that is solved alone; those of many are planned by their caller

    @property
    def block_size(self) -> int:
        """How many columns are solved at a time; it depends on the documents, never on the number of workers."""
        X = self.documents
        if isinstance(X, Rows):
            return PANEL
        return min(32, rows_that_fit(8 * X.itemsize * max(X.shape), least=16))


def prepare_training(
    X: Matrix, bound: FloatArray, *, loss: str, bias: float, tol: float, max_iter: int, n_columns: int = 0
) -> BinaryTraining:
    """Lay out checked X (CSR or dense) for about ``n_columns`` columns.

    Dense documents have correlated features, on which coordinate descent crawls: smooth losses go to Newton-CG. Where
    there are many columns the problem in which every document is negative is solved first, as a start for all of them.
    """
    bound = bound.astype(X.dtype)
    documents = X if not is_sparse(X) and loss in cg.LOSSES else prepare_rows(X, bias)
    start = along = None
    if not isinstance(documents, Rows) and n_columns >= _SEVERAL:
        along = cg.principal_axes(documents, bound, bias)
    if isinstance(documents, Rows) and is_sparse(X) and n_columns >= _MANY:
        start = negative_start(documents, bound, loss=loss, tol=0.3 * tol, max_iter=min(max_iter, 100), seed=0)
    return BinaryTraining(documents, bound, loss, bias, tol, max_iter, start, along)


def solve_columns(training: BinaryTraining | DeviceTraining, task: BlockTask) -> BlockSolution:
    """Solve one block.

    ``task`` is (positives, n_docs x at most `block_size` columns of 0/1; seed of the row order; and, where labels have
    weights, those of the columns' positive documents).
    """
    if not isinstance(training, BinaryTraining):  # on a device, which has a way of its own
        return training.solve(task)
    positives, seed = task[:2]
    weight = task[2] if len(task) > 2 else None
    X, bound, loss, tol, most = training.documents, training.bound, training.loss, training.tol, training.max_iter
    if isinstance(X, Rows):
        return solve_block(
            X, positives, bound, loss=loss, tol=tol, max_iter=most, seed=seed, positive_weight=weight,
            start=training.start, clock=training.clock,
        )  # fmt: skip
    return solve_dense_block(
        X, positives, bound, loss=loss, bias=training.bias, tol=tol, max_iter=most, positive_weight=weight,
        along=training.along, clock=training.clock,
    )  # fmt: skip


@dataclass(frozen=True)
class Footprint:
    """Bytes of the parts of a training by blocks of ``columns``."""

    columns: int
    rows: int
    preparing: int
    panels: int
    result: int


def binary_footprint(X: Matrix, loss: str) -> Footprint:
    """The footprint of `BinaryTraining` on checked X.

    Examples
    --------
    >>> import numpy as np
    >>> found = binary_footprint(np.zeros((1000, 50), np.float32), "hinge")
    >>> found.columns, found.result
    (16, 3200)
    """
    n_docs, n_features = X.shape
    size = X.dtype.itemsize
    rows, preparing = rows_bytes(X)
    if not is_sparse(X) and loss in cg.LOSSES:
        columns = min(32, rows_that_fit(8 * size * max(X.shape), least=16))
        panels = columns * size * (16 * n_docs + 14 * n_features)
        if n_features <= min(cg.MOST_SQUARED, n_docs):  # documents along their axes, beside those as they are
            squared = (n_features + 1) ** 2
            along = size * n_docs * (n_features + 1)
            rows, preparing = rows + along + size * squared, preparing + 32 * squared + 2 * along
        return Footprint(columns, rows, preparing, panels, columns * size * n_features)
    # W and the result; V and its squares in double precision while the gap is certified; alpha; the order of the rows.
    panels = PANEL * n_features * (2 * size + 16) + n_docs * (PANEL * size + 12)
    return Footprint(PANEL, rows, preparing, panels, PANEL * size * n_features)
