"""Truncated Newton for blocks of smooth binary problems on dense documents, all columns in lock-step.

For every column b:  min_w P(w) = 1/2 |w - m|^2 + sum_i c_ib loss(y_ib w'x_i)  with the squared hinge or the logistic
loss; the centre m is 0 unless another is given.

    gradient  g = w - m + X'r,      r_i = c_i y_i loss'(t_i)
    Hessian   H v = v + X'(D Xv),   D_i = c_i loss''(t_i)

H v = -g is solved by conjugate gradients (`cg`) to a tenth of |g|; one product with X and one with X' serve all columns
of the block, finished columns drop out. Where coordinate descent crawls (many correlated dense features) this takes
tens of products. The dual point alpha_i = -y_i r_i is feasible, with the gap P - D = 1/2 |g|^2: the certificate is
free. For the squared hinge the best multiple of alpha is taken, which is tighter far from the optimum.

All columns share X and nearly share D, so that the inverse of I + X'DX with every document at its largest curvature
(`inverse_curvature`, made once for all blocks) preconditions H: it halves the products on correlated features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linnaeus.losses.surrogate import SURROGATES
from linnaeus.models.solvers.cg import Direction, Which, column_dots, conjugate_gradients, step_length
from linnaeus.models.solvers.rows import BlockSolution
from linnaeus.typing import CSR, FloatArray, IntArray, Scalar

__all__ = ["LOSSES", "MOST_SQUARED", "NewtonBlock", "inverse_curvature", "solve_dense_block"]

LOSSES = ("squared_hinge", "logistic")
MOST_SQUARED = 2_000  # features up to which their products with each other are worth the time
_PRODUCTS = 500  # for one direction, at most
_LARGEST = {"squared_hinge": 2.0, "logistic": 0.25}  # second derivatives


def inverse_curvature(X: FloatArray, bound: FloatArray, loss: str, bias: float) -> FloatArray | None:
    """Inverse of I + X'DX with the constant feature, D = c times the largest second derivative of the loss.

    Parameters
    ----------
    X : ndarray of shape (n_docs, n_features)
        Documents.
    bound : ndarray of shape (n_docs,)
        Bound c of every document.
    loss : {"squared_hinge", "logistic"}
        The loss.
    bias : float
        The constant feature.

    Returns
    -------
    ndarray of shape (n_features + 1, n_features + 1) or None
        None where applying it would cost about as much as a product with X.

    Examples
    --------
    >>> inverse_curvature(np.eye(2, dtype=np.float32), np.full(2, 0.5), "squared_hinge", 0.0).diagonal().tolist()
    [0.5, 0.5, 1.0]
    """
    n_docs, n_features = X.shape
    if n_features > min(MOST_SQUARED, n_docs):
        return None
    root = np.sqrt(_LARGEST[loss] * bound).astype(X.dtype)[:, None]
    Z = np.hstack([X * root, bias * root])
    B = np.asarray(Z.T @ Z, dtype=np.float64)
    B[np.diag_indices_from(B)] += 1.0
    return np.asarray(np.linalg.inv(B), dtype=X.dtype)


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
    precondition: FloatArray | None = None,
) -> BlockSolution:
    """Solve the columns of ``positives`` (n_docs x n_columns, 0/1); X is n_docs x n_features, ``bias`` a constant.

    ``positive_weight`` (one per column) multiplies the bounds of the column's positive documents; ``precondition`` is
    `inverse_curvature` of X.
    """
    signs = np.where(positives.toarray() > 0, 1.0, -1.0).astype(X.dtype)
    c = bound.astype(X.dtype)[:, None]
    if positive_weight is not None:
        c = c * np.where(signs > 0, positive_weight.astype(X.dtype), X.dtype.type(1))
    return NewtonBlock(X, signs, c, loss, X.dtype.type(bias), precondition).solve(tol, max_iter)


@dataclass
class NewtonBlock:
    """X, signs Y (n_docs x n_columns), bounds c (n_docs x n_columns, or n_docs x 1), and `inverse_curvature` or None.

    W (n_features + 1 x n_columns) has the constant's weight last.
    """

    X: FloatArray
    Y: FloatArray
    c: FloatArray
    loss: str
    bias: Scalar
    inverse: FloatArray | None = None

    def solve(self, tol: float, max_iter: int) -> BlockSolution:
        n_docs, n_columns = self.Y.shape
        W = np.zeros((self.X.shape[1] + 1, n_columns), self.X.dtype)
        S = np.zeros((n_docs, n_columns), self.X.dtype)
        P, gap = np.zeros(n_columns), np.full(n_columns, np.inf)
        active = np.arange(n_columns)
        products = 0
        while True:
            value, R, D = self.losses_at(S[:, active], active)
            P[active] = 0.5 * column_dots(W[:, active], W[:, active]) + value
            G = W[:, active] + self.transposed(R)
            gap[active] = self._gap(P[active], value, R, W[:, active], G)
            open_ = gap[active] > tol * P[active]
            if not open_.any() or products >= max_iter:
                break
            active, G, D = active[open_], G[:, open_], D[:, open_]
            found = self._direction(G, D, max_iter - products)
            products += found.n_products
            step = self._step(active, W[:, active], S, value[open_], G, found)
            W[:, active] += step * found.x
            S[:, active] += step * found.image
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
            G = away + self.transposed(R)
            found = self._direction(G, D, 100)
            if not found.n_products:
                break
            step = self._step(active, away, S, value, G, found)
            W[:, active] += step * found.x
            S[:, active] += step * found.image
            active = active[step > 0]
            if not len(active):
                break
        return W

    def dual(self, W: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(losses, local part of the dual objective, sum alpha y x) of every column at alpha_i = c_i |loss'(t_i)|."""
        surrogate, c = SURROGATES[self.loss], self.c.astype(np.float64)
        value, slope, _ = surrogate.expand((self.product(W) * self.Y).astype(np.float64))
        dual = (c * surrogate.conjugate(-slope)).sum(axis=0)
        return (c * value).sum(axis=0), dual, self.transposed((-c * slope * self.Y).astype(W.dtype))

    def _gap(self, P: FloatArray, value: FloatArray, R: FloatArray, W: FloatArray, G: FloatArray) -> FloatArray:
        """P - D, with D at alpha = |r|, or 0 at alpha = 0, or at the best multiple s of alpha for the squared hinge:
        D(s) = s sum(alpha) - s^2 (sum(alpha^2 / 4c) + 1/2 |v|^2),  where sum(alpha^2 / 4c) is the loss and v = w - g.
        """
        gap = np.minimum(0.5 * column_dots(G, G), P)
        if self.loss == "squared_hinge":
            linear = np.abs(R).sum(axis=0, dtype=np.float64)
            quadratic = value + 0.5 * column_dots(W - G, W - G)
            gap = np.minimum(gap, P - 0.25 * linear**2 / np.maximum(quadratic, np.finfo(float).tiny))
        return np.maximum(gap, 0)

    def product(self, V: FloatArray) -> FloatArray:
        """X V, the constant feature included."""
        return self.X @ V[:-1] + self.bias * V[-1]

    def transposed(self, R: FloatArray) -> FloatArray:
        """X' R, the constant feature included."""
        return np.vstack([self.X.T @ R, self.bias * R.sum(axis=0, keepdims=True)])

    def losses(self, S: FloatArray, columns: IntArray) -> FloatArray:
        """Sum of the losses at scores S of the given columns, in double precision."""
        c = self.c if self.c.shape[1] == 1 else self.c[:, columns]
        value = SURROGATES[self.loss].value(self.Y[:, columns] * S)
        return np.asarray((c * value).sum(axis=0, dtype=np.float64))

    def losses_at(self, S: FloatArray, columns: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sum of the losses (float64), c y loss' and c loss'' at scores S of the given columns."""
        Y, c = self.Y[:, columns], self.c if self.c.shape[1] == 1 else self.c[:, columns]
        value, slope, curvature = SURROGATES[self.loss].expand(Y * S)
        return (c * value).sum(axis=0, dtype=np.float64), c * Y * slope, c * curvature

    def _direction(self, G: FloatArray, D: FloatArray, most: int) -> Direction:
        """V with |H V + G| <= 0.1 |G| per column, and X V."""

        def product(V: FloatArray, _: FloatArray) -> tuple[FloatArray, FloatArray]:
            Q = self.product(V)
            return V + self.transposed(D * Q), Q

        inverse = self.inverse
        return conjugate_gradients(
            product,
            -G,
            max_products=max(1, min(most, _PRODUCTS)),
            precondition=None if inverse is None else lambda residual: inverse @ residual,
            columns=True,
        )

    def _step(
        self, active: IntArray, away: FloatArray, S: FloatArray, value: FloatArray, G: FloatArray, found: Direction
    ) -> FloatArray:
        """Length per column; ``away`` = W - m and ``value``, the losses, are those of the columns ``active``."""
        XV = found.image

        def losses(t: FloatArray, which: Which) -> FloatArray:
            columns = active[which]
            return self.losses(S[:, columns] + t.astype(S.dtype) * XV[:, which], columns)

        return step_length(found, G, away, losses, value, columns=True).astype(S.dtype)
