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

from linnaeus.engine.limits import blocks, rows_that_fit
from linnaeus.models.solvers.rows import BlockSolution
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
    """X (CSR or dense), class and bound of every row; W is (n_features + 1 x n_classes), the constant last.

    Directions are found in single precision: they need to be good to a tenth only.
    """

    X: Matrix
    target: IntArray
    n_classes: int
    c: FloatArray
    bias: Any

    def __post_init__(self) -> None:
        self.light = self.X.astype(np.float32, copy=False)

    def solve(self, tol: float, max_iter: int) -> BlockSolution:
        W = np.zeros((self.X.shape[1] + 1, self.n_classes), self.X.dtype)
        S = np.empty((self.X.shape[0], self.n_classes), self.X.dtype)
        products = 0
        while True:
            P, G, probability = self._evaluate(W, S)
            gap = min(0.5 * _squares(G), P)
            if gap <= tol * P or products >= max_iter:
                break
            V, used = self._conjugate_gradients(G.astype(np.float32), probability, max_iter - products)
            products += used
            step = self._line_search(W, S, G, V)
            if step == 0:  # rounding leaves no descent: the gap stands as certified
                break
            W += W.dtype.type(step) * V
        converged = bool(gap <= tol * P)
        return BlockSolution(W[:-1], W[-1] * self.bias, np.array([P]), np.array([gap]), products, converged)

    def _evaluate(self, W: FloatArray, S: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """P and its gradient in double precision, some rows at a time, and the probabilities; S takes the scores."""
        exact = W.astype(np.float64)
        P, G = 0.5 * _squares(exact), exact.copy()
        probability = np.empty(S.shape, np.float32)
        row_bytes = 8 * (3 * self.n_classes + self.X.shape[1] * isinstance(self.X, np.ndarray))
        for part in blocks(len(self.target), rows_that_fit(row_bytes)):
            X, y, c = self.X[part].astype(np.float64), self.target[part], self.c[part].astype(np.float64)
            scores = X @ exact[:-1] + float(self.bias) * exact[-1]
            norm, own = _log_sum(scores), (np.arange(len(y)), y)
            P += float((c[:, 0] * (norm - scores[own])).sum())
            R = np.exp(scores - norm[:, None])
            S[part], probability[part] = scores, R
            R[own] -= 1
            R *= c
            G[:-1] += X.T @ R
            G[-1] += float(self.bias) * R.sum(axis=0)
        return P, G, probability

    def _conjugate_gradients(self, G: FloatArray, probability: FloatArray, most: int) -> tuple[FloatArray, int]:
        """V with |H V + G| <= 0.1 |G|, and the number of products."""
        weighted = self.c.astype(np.float32) * probability
        V = np.zeros_like(G)
        residual = -G
        direction = residual.copy()
        rho = _squares(residual)
        target = _CG_TOLERANCE**2 * rho
        used = 0
        while used < max(1, min(most, 500)) and rho > target:
            Q = self._product(direction)
            used += 1
            Q -= np.einsum("ij,ij->i", probability, Q)[:, None]
            Q *= weighted  # rows c p * (q - p'q)
            HP = direction + np.vstack([self.light.T @ Q, np.float32(self.bias) * Q.sum(axis=0)])
            curve = _dot(direction, HP)
            if not curve >= 0.5 * _squares(direction):  # H is at least the identity: rounding has eaten the rest
                return (V if used > 1 else -G), used
            step = np.float32(rho / curve)
            V += step * direction
            residual -= step * HP
            before, rho = rho, _squares(residual)
            direction *= np.float32(rho / max(before, _TINY))
            direction += residual
        return V, used

    def _product(self, V: FloatArray) -> FloatArray:
        Q = self.light @ V[:-1]
        if self.bias:
            Q += np.float32(self.bias) * V[-1]
        return Q

    def _line_search(self, W: FloatArray, S: FloatArray, G: FloatArray, V: FloatArray) -> float:
        """A step by halving until the objective falls enough; 0 where rounding forbids any."""
        XV = self._product(V)
        slope, w_v, v_v = _dot(G, V), _dot(W, V), _squares(V)
        start, step = self._loss(S), 1.0
        for _ in range(40):
            rise = step * w_v + 0.5 * step**2 * v_v + self._loss(S + np.float32(step) * XV) - start
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
