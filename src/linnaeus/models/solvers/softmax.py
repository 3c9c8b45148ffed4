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

import numpy as np

from linnaeus.engine.limits import blocks, rows_that_fit
from linnaeus.losses.surrogate import Softmax
from linnaeus.models.solvers.cg import Direction, Which, conjugate_gradients, step_length, whole_dot
from linnaeus.models.solvers.rows import BlockSolution
from linnaeus.typing import FloatArray, IntArray, Matrix, Scalar

__all__ = ["solve_softmax"]


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
    bias: Scalar

    def __post_init__(self) -> None:
        self.light = self.X.astype(np.float32, copy=False)

    def solve(self, tol: float, max_iter: int) -> BlockSolution:
        W = np.zeros((self.X.shape[1] + 1, self.n_classes), self.X.dtype)
        S = np.empty((self.X.shape[0], self.n_classes), self.X.dtype)
        products = 0
        while True:
            P, G, probability = self._evaluate(W, S)
            gap = min(0.5 * float(whole_dot(G, G)), P)
            if gap <= tol * P or products >= max_iter:
                break
            found = self._direction(G.astype(np.float32), probability, max_iter - products)
            products += found.n_products
            step = self._step(W, S, G, found)
            if step == 0:  # rounding leaves no descent: the gap stands as certified
                break
            W += W.dtype.type(step) * found.x
        converged = bool(gap <= tol * P)
        return BlockSolution(W[:-1], W[-1] * self.bias, np.array([P]), np.array([gap]), products, converged)

    def _evaluate(self, W: FloatArray, S: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """P and its gradient in double precision, some rows at a time, and the probabilities; S takes the scores."""
        exact = W.astype(np.float64)
        P, G = 0.5 * float(whole_dot(exact, exact)), exact.copy()
        probability = np.empty(S.shape, np.float32)
        row_bytes = 8 * (3 * self.n_classes + self.X.shape[1] * isinstance(self.X, np.ndarray))
        for part in blocks(len(self.target), rows_that_fit(row_bytes)):
            X, y, c = self.X[part].astype(np.float64), self.target[part], self.c[part].astype(np.float64)
            scores = X @ exact[:-1] + float(self.bias) * exact[-1]
            own = (np.arange(len(y)), y)
            norm, R = Softmax().expand(scores)
            P += float((c[:, 0] * (norm - scores[own])).sum())
            S[part], probability[part] = scores, R
            R[own] -= 1
            R *= c
            G[:-1] += X.T @ R
            G[-1] += float(self.bias) * R.sum(axis=0)
        return P, G, probability

    def _direction(self, G: FloatArray, probability: FloatArray, most: int) -> Direction:
        """V with |H V + G| <= 0.1 |G|."""
        weighted = self.c.astype(np.float32) * probability

        def product(V: FloatArray, _: FloatArray) -> tuple[FloatArray, None]:
            Q = self._product(V)
            Q -= np.einsum("ij,ij->i", probability, Q)[:, None]
            Q *= weighted  # rows c p * (q - p'q)
            return V + np.vstack([self.light.T @ Q, np.float32(self.bias) * Q.sum(axis=0)]), None

        # H is at least the identity: where less curvature is left, rounding has eaten the rest.
        return conjugate_gradients(product, -G, max_products=max(1, min(most, 500)), least=0.5)

    def _product(self, V: FloatArray) -> FloatArray:
        Q = self.light @ V[:-1]
        if self.bias:
            Q += np.float32(self.bias) * V[-1]
        return Q

    def _step(self, W: FloatArray, S: FloatArray, G: FloatArray, found: Direction) -> float:
        """Length of a step; 0 where rounding forbids any."""
        XV, start = self._product(found.x), self._loss(S)

        def losses(t: FloatArray, _: Which) -> FloatArray:
            return np.array([self._loss(S + np.float32(t[0]) * XV)])

        slack = float(np.finfo(S.dtype).eps) * start
        return float(step_length(found, G, W, losses, np.array([start]), slack=slack)[0])

    def _loss(self, S: FloatArray) -> float:
        return float((self.c[:, 0] * Softmax().value(S, self.target)).sum(dtype=np.float64))
