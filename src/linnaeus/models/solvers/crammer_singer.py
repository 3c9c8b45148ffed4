"""Solver for the multi-class SVM of Crammer and Singer: epochs of the sequential dual method, then a certificate.

    min_W  1/2 sum_k |w_k|^2 + sum_i c_i max_k (w_k'x_i + [k != y_i] - w_{y_i}'x_i)

All classes are one problem. It is finished when the certified relative gap (P - D) / P is at most ``tol``; W is rebuilt
from the dual variables in double precision and P is the objective of W as it is stored. Rows and panels of sixteen
classes that take no part are left out of epochs, and looked at again before anything is certified.
"""

from __future__ import annotations

import numpy as np

from linnaeus._kernels import dispatch
from linnaeus.models.solvers.rows import PANEL, BlockSolution, Rows, Seed, aligned_zeros
from linnaeus.typing import FloatArray, IntArray

__all__ = ["solve_crammer_singer"]

_TINY = np.finfo(float).tiny


def solve_crammer_singer(
    rows: Rows, target: IntArray, n_classes: int, bound: FloatArray, *, tol: float, max_iter: int, seed: Seed
) -> BlockSolution:
    """Solve for all classes at once; ``target`` holds the class 0..n_classes-1 of every row, ``bound`` its c_i."""
    return _Problem(rows, target, n_classes, bound, seed).solve(tol, max_iter)


class _Problem:
    """State: W (n_panels x features + 1 x 16), mass p (rows x 16 n_panels), which panels of a row are live."""

    def __init__(self, rows: Rows, target: IntArray, n_classes: int, bound: FloatArray, seed: Seed) -> None:
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
        # Shrinking: rows still visited, whether they are all, and the violation at which to look at all of them again.
        self.n_active, self.whole, self.coarse = rows.n_docs, True, 1.0

    def solve(self, tol: float, max_iter: int) -> BlockSolution:
        epochs, look, violation = 0, 8, min(0.3, 30 * tol)
        while True:
            # The largest violation says little about the gap: look at the gap itself, ever more rarely.
            epochs, solved = self._descend(violation, epochs, min(look, max_iter))
            objective, gap = self._certify()
            if gap <= tol * objective or epochs >= max_iter:
                break
            look = max(look, int(1.3 * epochs) + 1)
            if solved:
                violation *= min(0.5, max(0.05, tol * objective / max(gap, _TINY)))
        W = np.concatenate(list(self.W), axis=1)[:, : self.n_classes]
        weights, intercept = self.rows.to_features(W), W[-1] * W.dtype.type(self.rows.bias)
        converged = bool(gap <= tol * objective)
        return BlockSolution(weights, intercept, np.array([objective]), np.array([gap]), epochs, converged)

    def _descend(self, violation: float, epochs: int, most: int) -> tuple[int, bool]:
        """At most ``most`` epochs, until no row is violated by more than ``violation`` on a pass over everything."""
        while epochs < most:
            epochs += 1
            self.rng.shuffle(self.order[: self.n_active])
            self.n_active, worst = self.kernel.sweep(
                *self.rows.matrix, self.rows.squared_norm, self.bound, self.rows.bias, self.target, self.n_classes,
                self.order, self.n_active, self.W, self.p, self.live, *self.room,
            )  # fmt: skip
            if worst > self.coarse and self.n_active:
                self.whole = False
                continue
            solved = self.whole and worst <= violation
            # The shrunken problem is solved well enough: look at everything again, and closer.
            self.n_active, self.whole, self.coarse = self.rows.n_docs, True, max(0.5 * self.coarse, violation)
            self.live[:] = 1
            if solved:
                return epochs, True
        return epochs, False

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
