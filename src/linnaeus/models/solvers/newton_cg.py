"""Truncated Newton for blocks of smooth binary problems on dense documents, all columns in lock-step.

For every column b:  min_w P(w) = 1/2 |w - m|^2 + sum_i c_ib loss(y_ib w'x_i)  with the squared hinge or the logistic
loss; the centre m is 0 unless another is given.

    gradient  g = w - m + X'r,      r_i = c_i y_i loss'(t_i)
    Hessian   H v = v + X'(D Xv),   D_i = c_i loss''(t_i)

H v = -g is solved by conjugate gradients to a tenth of |g|; one product with X and one with X' serve all columns of
the block, finished columns drop out. Where coordinate descent crawls (many correlated dense features) this takes tens
of products. The dual point alpha_i = -y_i r_i is feasible, with the gap P - D = 1/2 |g|^2: the certificate is free. For
the squared hinge the best multiple of alpha is taken, which is tighter far from the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linnaeus.models.solvers.rows import BlockSolution
from linnaeus.typing import CSR, FloatArray

__all__ = ["LOSSES", "NewtonBlock", "solve_dense_block"]

LOSSES = ("squared_hinge", "logistic")
_CG_TOLERANCE = 0.1
_ARMIJO = 1e-4


def solve_dense_block(
    X: FloatArray,
    positives: CSR,
    bound: FloatArray,
    *,
    loss: str,
    bias: float,
    tol: float,
    max_iter: int,
    positive_weight: FloatArray | None = None,
) -> BlockSolution:
    """Solve the columns of ``positives`` (n_docs x n_columns, 0/1); X is n_docs x n_features, ``bias`` a constant.

    ``positive_weight`` (one per column) multiplies the bounds of the column's positive documents.
    """
    signs = np.where(positives.toarray() > 0, 1.0, -1.0).astype(X.dtype)
    c = bound.astype(X.dtype)[:, None]
    if positive_weight is not None:
        c = c * np.where(signs > 0, positive_weight.astype(X.dtype), X.dtype.type(1))
    return NewtonBlock(X, signs, c, loss, X.dtype.type(bias)).solve(tol, max_iter)


@dataclass
class NewtonBlock:
    """X, signs Y (n_docs x n_columns), bounds c (n_docs x n_columns, or n_docs x 1).

    W (n_features + 1 x n_columns) has the constant's weight last.
    """

    X: FloatArray
    Y: FloatArray
    c: FloatArray
    loss: str
    bias: Any

    def solve(self, tol: float, max_iter: int) -> BlockSolution:
        n_docs, n_columns = self.Y.shape
        W = np.zeros((self.X.shape[1] + 1, n_columns), self.X.dtype)
        S = np.zeros((n_docs, n_columns), self.X.dtype)
        P, gap = np.zeros(n_columns), np.full(n_columns, np.inf)
        active = np.arange(n_columns)
        products = 0
        while True:
            value, R, D = self.losses_at(S[:, active], active)
            P[active] = 0.5 * _squares(W[:, active]) + value
            G = W[:, active] + self.transposed(R)
            gap[active] = self._gap(P[active], value, R, W[:, active], G)
            open_ = gap[active] > tol * P[active]
            if not open_.any() or products >= max_iter:
                break
            active, G, D = active[open_], G[:, open_], D[:, open_]
            V, XV, used = self._conjugate_gradients(G, D, max_iter - products)
            products += used
            step = self._line_search(active, W[:, active], S, P, G, V, XV)
            W[:, active] += step * V
            S[:, active] += step * XV
            active = active[step > 0] if not (step > 0).all() else active
            if not len(active):  # rounding leaves no descent: the gap stands as certified
                break
        return BlockSolution(W[:-1], W[-1] * self.bias, P, gap, products, bool((gap <= tol * P).all()))

    def improve(self, centre: FloatArray, W: FloatArray, steps: int) -> FloatArray:
        """W after some Newton steps for 1/2 |w - centre|^2 + losses, each with an exact-enough line search."""
        W = W.copy()
        S = self.product(W)
        active = np.arange(W.shape[1])
        for _ in range(steps):
            value, R, D = self.losses_at(S[:, active], active)
            away = W[:, active] - centre[:, active]
            P = np.zeros(W.shape[1])
            P[active] = 0.5 * _squares(away) + value
            G = away + self.transposed(R)
            V, XV, _ = self._conjugate_gradients(G, D, 100)
            step = self._line_search(active, away, S, P, G, V, XV)
            W[:, active] += step * V
            S[:, active] += step * XV
            active = active[step > 0]
            if not len(active):
                break
        return W

    def dual(self, W: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(losses, local part of the dual objective, sum alpha y x) of every column at alpha_i = c_i |loss'(t_i)|."""
        T = self.product(W) * self.Y
        c = self.c.astype(np.float64)
        if self.loss == "logistic":
            from scipy.special import entr, expit

            miss = expit(-T.astype(np.float64))
            loss, dual, alpha = c * np.logaddexp(0, -T), c * (entr(miss) + entr(1 - miss)), c * miss
        else:
            Z = np.maximum(0, 1 - T.astype(np.float64))
            loss, dual, alpha = c * Z**2, c * (2 * Z - Z**2), 2 * c * Z
        return loss.sum(axis=0), dual.sum(axis=0), self.transposed((alpha * self.Y).astype(W.dtype))

    def _gap(self, P: FloatArray, value: FloatArray, R: FloatArray, W: FloatArray, G: FloatArray) -> FloatArray:
        """P - D, with D at alpha = |r|, or 0 at alpha = 0, or at the best multiple s of alpha for the squared hinge:
        D(s) = s sum(alpha) - s^2 (sum(alpha^2 / 4c) + 1/2 |v|^2),  where sum(alpha^2 / 4c) is the loss and v = w - g.
        """
        gap = np.minimum(0.5 * _squares(G), P)
        if self.loss == "squared_hinge":
            linear = np.abs(R).sum(axis=0, dtype=np.float64)
            quadratic = value + 0.5 * _squares(W - G)
            gap = np.minimum(gap, P - 0.25 * linear**2 / np.maximum(quadratic, np.finfo(float).tiny))
        return np.maximum(gap, 0)

    def product(self, V: FloatArray) -> FloatArray:
        """X V, the constant feature included."""
        return self.X @ V[:-1] + self.bias * V[-1]

    def transposed(self, R: FloatArray) -> FloatArray:
        """X' R, the constant feature included."""
        return np.vstack([self.X.T @ R, self.bias * R.sum(axis=0, keepdims=True)])

    def losses_at(self, S: FloatArray, columns: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sum of the losses (float64), c y loss' and c loss'' at scores S of the given columns."""
        Y, c = self.Y[:, columns], self.c if self.c.shape[1] == 1 else self.c[:, columns]
        T = Y * S
        if self.loss == "logistic":
            from scipy.special import expit

            miss = expit(-T)
            value = (c * np.logaddexp(0, -T)).sum(axis=0, dtype=np.float64)
            return value, -c * Y * miss, c * miss * (1 - miss)
        Z = np.maximum(0, 1 - T)
        return (c * Z**2).sum(axis=0, dtype=np.float64), -2 * c * Y * Z, 2 * c * (Z > 0)

    def _conjugate_gradients(self, G: FloatArray, D: FloatArray, most: int) -> tuple[FloatArray, FloatArray, int]:
        """V with |H V + G| <= 0.1 |G| per column, X V, and the number of products."""
        V, XV = np.zeros_like(G), np.zeros_like(D)
        residual = -G
        direction = residual.copy()
        rho = _squares(residual)
        target = _CG_TOLERANCE**2 * rho
        used = 0
        while used < max(1, min(most, 500)):
            Q = self.product(direction)
            used += 1
            HP = direction + self.transposed(D * Q)
            step = np.where(rho > target, rho / np.maximum(_dot(direction, HP), np.finfo(float).tiny), 0)
            step = step.astype(G.dtype)
            V += step * direction
            XV += step * Q
            residual -= step * HP
            before, rho = rho, _squares(residual)
            if (rho <= target).all():
                break
            direction = residual + (rho / np.maximum(before, np.finfo(float).tiny)).astype(G.dtype) * direction
        return V, XV, used

    def _line_search(
        self, active: Any, away: FloatArray, S: FloatArray, P: FloatArray, G: FloatArray, V: FloatArray, XV: FloatArray
    ) -> FloatArray:
        """Step per column, halved until the objective falls enough; 0 where rounding forbids any; ``away`` = W - m."""
        slope = _dot(G, V)
        w_v, v_v, w_w = _dot(away, V), _squares(V), _squares(away)
        step = np.ones(len(active))
        waiting = np.arange(len(active))
        for _ in range(40):
            t = step[waiting]
            value = self.losses_at(S[:, active[waiting]] + t.astype(S.dtype) * XV[:, waiting], active[waiting])[0]
            new = 0.5 * (w_w + 2 * step * w_v + step**2 * v_v)[waiting] + value
            waiting = waiting[new > P[active[waiting]] + _ARMIJO * t * slope[waiting]]
            if not len(waiting):
                break
            step[waiting] *= 0.5
        step[waiting] = 0
        return step.astype(S.dtype)


def _squares(A: FloatArray) -> FloatArray:
    """Squared norm of every column, summed in double precision."""
    return np.einsum("ij,ij->j", A, A, dtype=np.float64)


def _dot(A: FloatArray, B: FloatArray) -> FloatArray:
    """Inner product of the columns of A and B, summed in double precision."""
    return np.einsum("ij,ij->j", A, B, dtype=np.float64)
