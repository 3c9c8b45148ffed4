"""Block solver for independent binary problems: epochs with shrinking, then a certificate in double precision.

For each of up to 16 columns b:  min_w 1/2 |w|^2 + sum_i c_i loss(y_ib w'x_i).  A column is finished when its certified
relative gap (P - D) / P is at most ``tol``; P and D are computed from the dual variables alone, w rebuilt from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus._kernels import dispatch
from linnaeus.models.solvers.rows import Rows, aligned_zeros
from linnaeus.models.solvers.solution import BlockSolution
from linnaeus.typing import CSR, FloatArray

__all__ = ["LOSSES", "PANEL", "column_weights", "kernel_labels", "solve_block"]

LOSSES = {"hinge": 0, "squared_hinge": 1, "logistic": 2}
PANEL = 16


def solve_block(
    rows: Rows,
    positives: CSR,
    bound: FloatArray,
    *,
    loss: str,
    tol: float,
    max_iter: int,
    seed: Any,
    positive_weight: FloatArray | None = None,
) -> BlockSolution:
    """Solve the columns of ``positives`` (n_docs x at most 16, 0/1) with the bounds c_i.

    ``positive_weight`` (one per column) multiplies the bounds of the column's positive documents.
    """
    return _Block(rows, positives, bound, loss, seed, positive_weight).solve(tol, max_iter)


def column_weights(n_columns: int, dtype: Any, positive: Any = 1.0, negative: Any = 1.0) -> FloatArray:
    """Weights of the columns' positive (row 0) and negative (row 1) documents as the kernels take them."""
    weights = np.ones((2, PANEL), dtype)
    weights[0, :n_columns], weights[1, :n_columns] = positive, negative
    return weights


def kernel_labels(positives: CSR) -> tuple[Any, Any]:
    """Positive columns of every row as the kernels take them."""
    positives = positives.tocsr()
    columns = positives.indices.astype(np.uint8) if positives.nnz else np.zeros(1, np.uint8)
    return positives.indptr.astype(np.int64), columns


class _Block:
    """State of one block: W = sum alpha y x (features x 16), alpha (docs x 16), the order of the rows."""

    def __init__(
        self, rows: Rows, positives: CSR, bound: FloatArray, loss: str, seed: Any, positive_weight: FloatArray | None
    ) -> None:
        dtype = rows.data.dtype
        self.kernel = dispatch.best("dual_cd")
        self.rows, self.bound, self.loss = rows, bound, LOSSES[loss]
        self.n_columns = positives.shape[1]
        self.labels = kernel_labels(positives)
        self.weight = column_weights(self.n_columns, dtype, 1 if positive_weight is None else positive_weight)
        self.W = aligned_zeros((rows.n_features + 1, PANEL), dtype)
        self.alpha = aligned_zeros((rows.n_docs, PANEL), dtype)
        self.rng = np.random.default_rng(seed)
        self.order = self.rng.permutation(rows.n_docs).astype(np.int32)
        self.done = np.zeros(PANEL, np.uint8)
        self.done[self.n_columns :] = 1
        self.pg_max, self.pg_min = np.zeros(PANEL, dtype), np.zeros(PANEL, dtype)
        if loss == "logistic":  # the dual lives in an open interval; start near its lower end
            self.alpha[:] = np.minimum(1e-3 * bound * self.weight.min(), 1e-8)[:, None]
            self._rebuild()

    def solve(self, tol: float, max_iter: int) -> BlockSolution:
        # The gap shrinks with the spread of the projected gradients for the hinge, with its square for smooth losses.
        spread = min(0.3, 30 * tol) if self.loss == LOSSES["hinge"] else min(2.0, 15 * tol**0.5)
        epochs = 0
        finished = self.done.astype(bool)
        while True:
            epochs = self._descend(spread, epochs, max_iter, finished)
            objective, gap = self._certify()
            small = gap <= tol * np.maximum(objective, np.finfo(float).tiny)
            finished[: self.n_columns] = small
            if small.all() or epochs >= max_iter:
                break
            worst = float((gap / np.maximum(tol * objective, np.finfo(float).tiny)).max())
            spread *= min(0.5, max(0.05, 1 / worst))
        weights = self.rows.to_features(self.W[:, : self.n_columns])
        intercept = self.W[-1, : self.n_columns] * self.W.dtype.type(self.rows.bias)
        return BlockSolution(weights, intercept, objective, gap, epochs, bool(small.all()))

    def _descend(self, spread: float, epochs: int, max_iter: int, finished: Any) -> int:
        """Epochs until every unfinished column has projected gradients within ``spread`` on a pass over all rows."""
        n, n_docs, dtype = self.rows.n_docs, self.rows.n_docs, self.W.dtype
        above, below = np.full(PANEL, np.inf, dtype), np.full(PANEL, -np.inf, dtype)
        self.done[:] = finished
        while epochs < max_iter:
            epochs += 1
            self.rng.shuffle(self.order[:n])
            kept = self.kernel.sweep(
                *self.rows.matrix, self.rows.squared_norm, self.bound, self.weight, self.loss, self.rows.bias, *self.labels,
                self.order, n, self.W, self.alpha, above, below, self.done, self.pg_max, self.pg_min,
            )  # fmt: skip
            quiet = (self.pg_max - self.pg_min <= spread) | finished
            if quiet.all() or not kept:
                if n == n_docs:
                    break
                n, above[:], below[:] = (
                    n_docs,
                    np.inf,
                    -np.inf,
                )  # the shrunken problem is solved: look at all rows again
                self.done[:] = finished
            else:
                n = kept
                above[:] = np.where(self.pg_max > 0, self.pg_max, np.inf)
                below[:] = np.where(self.pg_min < 0, self.pg_min, -np.inf)
                self.done[:] = quiet
        return epochs

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
