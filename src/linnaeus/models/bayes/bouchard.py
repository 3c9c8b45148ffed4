"""Quadratic bounds on the logarithms in the likelihoods, for any beta and xi >= 0 (Bouchard; Jaakkola and Jordan).

    log sum_k e^{g_k} <= beta + sum_k { (h_k - xi_k)/2 + lam(xi_k) (h_k^2 - xi_k^2) + log(1 + e^{xi_k}) },  h = g - beta
    lam(xi) = (sigma(xi) - 1/2) / (2 xi)

For Gaussian g_k with means m_k and variances v_k the expected bound is least at

    xi_k^2 = v_k + (m_k - beta)^2,      beta such that  sum_k f'(m_k - beta) = 1
    f(h) = (h - xi)/2 + log(1 + e^xi),      f' = 1/2 + 2 lam(xi) h,      f'' = (2 lam(xi) v + sigma'(xi) h^2) / xi^2

With xi and beta always at their best, what is left is a convex function of the means (`Bounded`). It bends by f'', as
little as the likelihood itself where a label is improbable; with xi and beta held still it would bend by 2 lam, a
hundred times as much, and every step would be a hundred times too short.
A single logistic function is the same with one term and beta = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linnaeus.typing import FloatArray

__all__ = ["Bounded", "Local", "bend_of", "curvature_of"]

_ROUNDS = 60  # of Newton's method for beta, which takes three to six


def curvature_of(xi: FloatArray) -> FloatArray:
    """lam(xi), by its series near 0.

    Examples
    --------
    >>> curvature_of(np.array([0.0, 2.0])).round(4).tolist()
    [0.125, 0.0952]
    """
    near = xi < 1e-2
    safe = np.where(near, 1.0, xi)
    far = np.tanh(0.5 * safe) / (4 * safe)  # sigma(x) - 1/2 = tanh(x/2) / 2
    close = np.where(near, xi, 0.0)  # powers of a huge xi would overflow
    return np.where(near, 0.125 - close**2 / 96 + close**4 / 960, far)


def bend_of(xi: FloatArray, away: FloatArray, variances: FloatArray, lam: FloatArray) -> FloatArray:
    """f'' at h = ``away``, between 0 and 1/4.

    Examples
    --------
    >>> h, v = np.array([0.0, 7.0]), np.array([0.0, 0.0])
    >>> bend_of(np.abs(h), h, v, curvature_of(np.abs(h))).round(4).tolist()
    [0.25, 0.0009]
    """
    small = np.exp(-xi)
    slope = small / (1 + small) ** 2  # sigma'
    near = xi < 1e-4
    return np.where(near, 0.25, (2 * lam * variances + slope * away**2) / np.where(near, 1.0, xi) ** 2)


@dataclass
class Local:
    """xi (n_docs x n_leaves) and beta (n_docs; 0 for binary likelihoods)."""

    xi: FloatArray
    beta: FloatArray
    softmax: bool

    @classmethod
    def start(cls, n_docs: int, n_leaves: int, softmax: bool) -> Local:
        return cls(np.ones((n_docs, n_leaves)), np.zeros(n_docs), softmax)

    def fit(self, scores: FloatArray, variances: FloatArray) -> None:
        """Both at their best: the least bound on the logarithm."""
        if self.softmax and scores.shape[1] > 1:  # the logarithm of one exponential is exact
            self.beta = _centre(scores, variances, self.beta)
        self.xi = np.sqrt(variances + (scores - self.beta[:, None]) ** 2)

    def expected(self, Y: FloatArray, c: FloatArray, scores: FloatArray, variances: FloatArray) -> float:
        """The bound on the expected log-likelihood."""
        away = scores - self.beta[:, None]
        terms = 0.5 * (away - self.xi) + np.logaddexp(0, self.xi)
        terms += curvature_of(self.xi) * (away**2 + variances - self.xi**2)
        own = np.einsum("ij,ij->i", Y, scores)
        return float(c @ (own - (self.beta if self.softmax else 0) - terms.sum(axis=1)))


def _centre(scores: FloatArray, variances: FloatArray, beta: FloatArray) -> FloatArray:
    """beta of every document: Newton's method on the logarithm of sum_k f', kept within what is known to hold it."""
    spread = np.log(scores.shape[1]) + 0.5 * np.sqrt(variances.sum(axis=1))
    most = scores.max(axis=1) + spread  # above that the sum may be rounded to nothing
    least = scores.min(axis=1) - spread  # a trial that overflowed leaves beta far below, or nan
    beta = np.fmin(np.fmax(beta, least), most)
    todo, low, high = np.arange(len(beta)), least, most  # f' is at least 1/2 at one end and below 1/K at the other
    for _ in range(_ROUNDS):
        S, v, at = scores[todo], variances[todo], beta[todo]
        away = S - at[:, None]
        xi = np.sqrt(v + away**2)
        lam = curvature_of(xi)
        total = (0.5 + 2 * lam * away).sum(axis=1)
        low[todo], high[todo] = np.where(total > 1, at, low[todo]), np.where(total > 1, high[todo], at)
        slope = np.maximum(bend_of(xi, away, v, lam).sum(axis=1), np.finfo(float).tiny)
        limit = np.maximum(10, 0.5 * (high - low)[todo])
        new = at + np.clip(np.log(np.maximum(total, np.finfo(float).tiny)) * total / slope, -limit, limit)
        outside = (new <= low[todo]) | (new >= high[todo])
        beta[todo] = np.where(outside & (np.abs(total - 1) > 1e-12), 0.5 * (low[todo] + high[todo]), new)
        todo = todo[np.abs(total - 1) > 1e-9]  # quadratic: the step just taken leaves far less
        if not len(todo):
            break
    return beta


@dataclass
class Bounded:
    """The likelihood as `modes` wants it: its expected bound, xi and beta at their best, for fixed ``variances``."""

    Y: FloatArray
    c: FloatArray
    variances: FloatArray
    local: Local

    def at(self, S: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """(value, R, what the bound bends by)."""
        local = self.local
        local.fit(S, self.variances)
        away, lam = S - local.beta[:, None], curvature_of(local.xi)
        R = self.c[:, None] * (0.5 + 2 * lam * away - self.Y)
        return -local.expected(self.Y, self.c, S, self.variances), R, bend_of(local.xi, away, self.variances, lam)

    def curve(self, D: FloatArray, Q: FloatArray) -> FloatArray:
        """The second derivative times Q; beta follows the means."""
        if not self.local.softmax or D.shape[1] == 1:
            return self.c[:, None] * D * Q
        shift = np.einsum("ij,ij->i", D, Q) / np.maximum(D.sum(axis=1), np.finfo(float).tiny)
        return self.c[:, None] * D * (Q - shift[:, None])
