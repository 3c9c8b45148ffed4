"""Truncated Newton for soft-max regression on sparse or dense documents.

    min_W  P(W) = 1/2 sum_k |w_k|^2 + sum_i c_i (log sum_k e^{s_ik} - s_{i,y_i}),      S = X W (n_docs x n_classes)

With p_i = softmax(s_i), R = c (p - onehot(y)), and for a direction V with Q = X V:

    gradient  G = W + X'R,      Hessian  H V = V + X'(rows c p * (q - p'q))

H V = -G is solved by conjugate gradients to a tenth of |G|. The certificate: the dual is

    D(A) = sum_i c_i entropy(q_i) - 1/2 |X'A|^2     over A_i = c_i (onehot(y_i) - q_i), every q_i a distribution,

and at q = p, A = -R, every term of P - D but one cancels: P - D = 1/2 |W - X'A|^2 = 1/2 |G|^2. P and G are computed in
double precision, for W as it is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linnaeus.engine.plan import blocks, rows_that_fit
from linnaeus.models.solvers.solution import BlockSolution
from linnaeus.typing import FloatArray, IntArray, Matrix

__all__ = ["solve_softmax"]

_CG_TOLERANCE = 0.1
_ARMIJO = 1e-4
_TINY = np.finfo(float).tiny


def solve_softmax(
    X: Matrix, target: IntArray, n_classes: int, bound: FloatArray, *, bias: float, tol: float, max_iter: int
) -> BlockSolution:
    """Solve for all classes; ``target`` holds the class of every row, ``bound`` its c_i, ``bias`` the constant."""
    return _Problem(X, target, n_classes, bound.astype(X.dtype)[:, None], X.dtype.type(bias)).solve(tol, max_iter)


@dataclass
class _Problem:
    """X (CSR or dense), class and bound of every row; W is (n_features + 1 x n_classes), the constant last."""

    X: Matrix
    target: IntArray
    n_classes: int
    c: FloatArray
    bias: Any

    def solve(self, tol: float, max_iter: int) -> BlockSolution:
        n_docs, n_features = self.X.shape
        W = np.zeros((n_features + 1, self.n_classes), self.X.dtype)
        S = np.zeros((n_docs, self.n_classes), self.X.dtype)
        products = 0
        while True:
            P, G, probability = self._evaluate(W)
            gap = min(0.5 * _squares(G), P)
            if gap <= tol * P or products >= max_iter:
                break
            V, XV, used = self._conjugate_gradients(G.astype(W.dtype), probability, max_iter - products)
            products += used
            step = self._line_search(W, S, G, V, XV)
            if step == 0:  # rounding leaves no descent: the gap stands as certified
                break
            W += W.dtype.type(step) * V
            S += S.dtype.type(step) * XV
        converged = bool(gap <= tol * P)
        return BlockSolution(W[:-1], W[-1] * self.bias, np.array([P]), np.array([gap]), products, converged)

    def _evaluate(self, W: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """P and its gradient in double precision, some rows at a time, and the probabilities."""
        exact = W.astype(np.float64)
        P, G = 0.5 * _squares(exact), exact.copy()
        probability = np.empty((len(self.target), self.n_classes), W.dtype)
        row_bytes = 8 * (3 * self.n_classes + self.X.shape[1] * isinstance(self.X, np.ndarray))
        for part in blocks(len(self.target), rows_that_fit(row_bytes)):
            X, y, c = self.X[part].astype(np.float64), self.target[part], self.c[part].astype(np.float64)
            S = X @ exact[:-1] + float(self.bias) * exact[-1]
            norm, own = _log_sum(S), (np.arange(len(y)), y)
            P += float((c[:, 0] * (norm - S[own])).sum())
            R = np.exp(S - norm[:, None])
            probability[part] = R
            R[own] -= 1
            R *= c
            G[:-1] += X.T @ R
            G[-1] += float(self.bias) * R.sum(axis=0)
        return P, G, probability

    def _conjugate_gradients(
        self, G: FloatArray, probability: FloatArray, most: int
    ) -> tuple[FloatArray, FloatArray, int]:
        """V with |H V + G| <= 0.1 |G|, X V, and the number of products."""
        V, XV = np.zeros_like(G), np.zeros_like(probability)
        residual = -G
        direction = residual.copy()
        rho = _squares(residual)
        target = _CG_TOLERANCE**2 * rho
        used = 0
        while used < max(1, min(most, 500)) and rho > target:
            Q = self.X @ direction[:-1] + self.bias * direction[-1]
            used += 1
            curved = self._curved(probability, Q)
            HP = direction.copy()
            HP[:-1] += self.X.T @ curved
            HP[-1] += self.bias * curved.sum(axis=0)
            step = G.dtype.type(rho / max(_dot(direction, HP), _TINY))
            V += step * direction
            XV += step * Q
            residual -= step * HP
            before, rho = rho, _squares(residual)
            direction = residual + G.dtype.type(rho / max(before, _TINY)) * direction
        return V, XV, used

    def _curved(self, probability: FloatArray, Q: FloatArray) -> FloatArray:
        """Rows c p * (q - p'q)."""
        mean = np.einsum("ij,ij->i", probability, Q)
        curved = Q - mean[:, None]
        curved *= probability
        curved *= self.c
        return curved

    def _line_search(self, W: FloatArray, S: FloatArray, G: FloatArray, V: FloatArray, XV: FloatArray) -> float:
        """A step by halving until the objective falls enough; 0 where rounding forbids any."""
        slope, w_v, v_v = _dot(G, V), _dot(W, V), _squares(V)
        start, step = self._loss(S), 1.0
        for _ in range(40):
            rise = step * w_v + 0.5 * step**2 * v_v + self._loss(S + S.dtype.type(step) * XV) - start
            if rise <= _ARMIJO * step * slope + np.finfo(S.dtype).eps * start:
                return step
            step *= 0.5
        return 0.0

    def _loss(self, S: FloatArray) -> float:
        own = S[np.arange(len(self.target)), self.target]
        return float((self.c[:, 0] * (_log_sum(S) - own)).sum(dtype=np.float64))


def _log_sum(S: FloatArray) -> FloatArray:
    """log sum_k e^{s_k} of every row, the largest score taken out first."""
    high = S.max(axis=1)
    return high + np.log(np.exp(S - high[:, None]).sum(axis=1))


def _squares(A: FloatArray) -> float:
    return float(np.einsum("ij,ij->", A, A, dtype=np.float64))


def _dot(A: FloatArray, B: FloatArray) -> float:
    return float(np.einsum("ij,ij->", A, B, dtype=np.float64))
