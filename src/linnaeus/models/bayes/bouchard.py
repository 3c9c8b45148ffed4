"""Quadratic bounds on the logarithms in the likelihoods, for any beta and xi >= 0 (Bouchard; Jaakkola and Jordan).

    log sum_k e^{g_k} <= beta + sum_k { (h_k - xi_k)/2 + lam(xi_k) (h_k^2 - xi_k^2) + log(1 + e^{xi_k}) },  h = g - beta
    lam(xi) = (sigma(xi) - 1/2) / (2 xi)

For Gaussian g_k with means m_k and variances v_k the expected bound is least at

    xi_k^2 = v_k + (m_k - beta)^2,      beta = [ (K/2 - 1)/2 + sum_k lam(xi_k) m_k ] / sum_k lam(xi_k)

A single logistic function is the same with one term and beta = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linnaeus.typing import FloatArray

__all__ = ["Local", "curvature_of"]


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
    return np.where(near, 0.125 - xi**2 / 96 + xi**4 / 960, far)


@dataclass
class Local:
    """xi (n_docs x n_leaves) and beta (n_docs; 0 for binary likelihoods)."""

    xi: FloatArray
    beta: FloatArray
    softmax: bool

    @classmethod
    def start(cls, n_docs: int, n_leaves: int, softmax: bool) -> Local:
        return cls(np.ones((n_docs, n_leaves)), np.zeros(n_docs), softmax)

    def fit(self, scores: FloatArray, variances: FloatArray, rounds: int = 2) -> None:
        """Alternate the two minimisers; each lowers the bound on the logarithm."""
        for _ in range(rounds):
            away = scores - self.beta[:, None]
            self.xi = np.sqrt(variances + away**2)
            if self.softmax:
                lam = curvature_of(self.xi)
                n = scores.shape[1]
                self.beta = (0.5 * (n / 2 - 1) + np.einsum("ij,ij->i", lam, scores)) / lam.sum(axis=1)

    def expected(self, Y: FloatArray, c: FloatArray, scores: FloatArray, variances: FloatArray) -> float:
        """The bound on the expected log-likelihood."""
        away = scores - self.beta[:, None]
        terms = 0.5 * (away - self.xi) + np.logaddexp(0, self.xi)
        terms += curvature_of(self.xi) * (away**2 + variances - self.xi**2)
        own = np.einsum("ij,ij->i", Y, scores)
        return float(c @ (own - (self.beta if self.softmax else 0) - terms.sum(axis=1)))
