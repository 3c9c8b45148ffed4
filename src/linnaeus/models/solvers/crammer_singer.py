"""Solver for the multi-class SVM of Crammer and Singer: epochs of the sequential dual method, then a certificate.

    min_W  1/2 sum_k |w_k|^2 + sum_i c_i max_k (w_k'x_i + [k != y_i] - w_{y_i}'x_i)

All classes are one problem. It is finished when the certified relative gap (P - D) / P is at most ``tol``; W is rebuilt
from the dual variables in double precision and P is the objective of W as it is stored. Rows and panels of sixteen
classes that take no part are left out of epochs, and looked at again before anything is certified.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus._kernels import dispatch
from linnaeus.models.solvers.rows import Rows, aligned_zeros
from linnaeus.models.solvers.solution import BlockSolution
from linnaeus.typing import FloatArray, IntArray

__all__ = ["solve_crammer_singer"]

PANEL = 16
_TINY = np.finfo(float).tiny


def solve_crammer_singer(
    rows: Rows, target: IntArray, n_classes: int, bound: FloatArray, *, tol: float, max_iter: int, seed: Any
) -> BlockSolution:
    """Solve for all classes at once; ``target`` holds the class 0..n_classes-1 of every row, ``bound`` its c_i."""
    return _Problem(rows, target, n_classes, bound, seed).solve(tol, max_iter)


class _Problem:
    """State: W (n_panels x features + 1 x 16), mass p (rows x 16 n_panels), which panels of a row are live."""

    def __init__(self, rows: Rows, target: IntArray, n_classes: int, bound: FloatArray, seed: Any) -> None:
        dtype, n_panels = rows.data.dtype, -(-n_classes // PANEL)
        self.kernel = dispatch.best("crammer_singer")
        self.rows, self.n_classes = rows, n_classes
        self.bound, self.target = bound.astype(dtype), target.astype(np.int32)
        self.W = aligned_zeros((n_panels, rows.n_features + 1, PANEL), dtype)
        self.p = aligned_zeros((rows.n_docs, n_panels * PANEL), dtype)
        self.p[np.arange(rows.n_docs), target] = self.bound
        self.live = np.ones((rows.n_docs, n_panels), np.uint8)
        self.room = aligned_zeros((4, n_panels * PANEL), dtype), np.zeros(n_panels * PANEL, np.int32)
        self.rng = np.random.default_rng(seed)
        self.order = self.rng.permutation(rows.n_docs).astype(np.int32)

    def solve(self, tol: float, max_iter: int) -> BlockSolution:
        epochs, violation = 0, min(0.3, 30 * tol)
        while True:
            epochs = self._descend(violation, epochs, max_iter)
            objective, gap = self._certify()
            if gap <= tol * objective or epochs >= max_iter:
                break
            violation *= min(0.5, max(0.05, tol * objective / max(gap, _TINY)))
        W = np.concatenate(list(self.W), axis=1)[:, : self.n_classes]
        weights, intercept = self.rows.to_features(W), W[-1] * W.dtype.type(self.rows.bias)
        converged = bool(gap <= tol * objective)
        return BlockSolution(weights, intercept, np.array([objective]), np.array([gap]), epochs, converged)

    def _descend(self, violation: float, epochs: int, max_iter: int) -> int:
        """Epochs until no row is violated by more than ``violation`` on a pass over all rows and classes."""
        n_docs = self.rows.n_docs
        n, coarse = n_docs, max(10 * violation, 1.0)
        self.live[:] = 1
        whole = True
        while epochs < max_iter:
            epochs += 1
            self.rng.shuffle(self.order[:n])
            n, worst = self.kernel.sweep(
                *self.rows.matrix, self.rows.squared_norm, self.bound, self.rows.bias, self.target, self.n_classes,
                self.order, n, self.W, self.p, self.live, *self.room,
            )  # fmt: skip
            if worst > coarse and n:
                whole = False
            elif whole and worst <= violation:
                break
            else:  # the shrunken problem is solved well enough: look at everything again, and closer
                n, whole, coarse = n_docs, True, max(0.5 * coarse, violation)
                self.live[:] = 1
        return epochs

    def _certify(self) -> tuple[float, float]:
        """Objective P and gap P - D, W rebuilt from the dual variables."""
        V = np.zeros(self.W.shape)
        common = (self.bound, self.rows.bias, self.target)
        linear = self.kernel.rebuild(*self.rows.matrix, *common, self.p, V)
        self.W[:] = V
        loss = self.kernel.losses(*self.rows.matrix, *common, self.n_classes, self.W)
        P = 0.5 * float(np.square(self.W, dtype=np.float64).sum()) + loss
        D = linear - 0.5 * float(np.square(V).sum())
        return P, max(P - D, 0.0)
