"""What documents say about the weights W of the leaves: soft-max over all, or a logistic function for each.

    softmax   -sum_i c_i log p(y_i | x_i),                    p(n | x) = e^{s_n} / sum_m e^{s_m},       S = X W'
    binary    -sum_i c_i sum_n log sigma(y_in s_in),          y_in = +1 for the labels of i, else -1

Both give the value, R = its derivative by S, what a second derivative makes of a direction, and p(1 - p), the
curvature by which the posterior is as narrow as it is. All arrays are n_docs x n_leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linnaeus.typing import FloatArray

__all__ = ["Binary", "Softmax", "make_likelihood"]


@dataclass(frozen=True)
class Softmax:
    """``Y`` is 0/1 with one label per row; ``c`` are the documents' weights."""

    Y: FloatArray
    c: FloatArray

    def at(self, S: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """(value, R, probabilities)."""
        high = S.max(axis=1, keepdims=True)
        P = np.exp(S - high)
        total = P.sum(axis=1, keepdims=True)
        P /= total
        value = self.c @ (np.log(total) + high)[:, 0] - np.einsum("ij,ij,i->", self.Y, S, self.c)
        return float(value), self.c[:, None] * (P - self.Y), P

    def curve(self, P: FloatArray, Q: FloatArray) -> FloatArray:
        """The second derivative times Q."""
        return self.c[:, None] * P * (Q - np.einsum("ij,ij->i", P, Q)[:, None])

    def curvature(self, P: FloatArray) -> FloatArray:
        """c p (1 - p)."""
        return self.c[:, None] * P * (1 - P)


@dataclass(frozen=True)
class Binary:
    """As `Softmax`, with any number of labels per row."""

    Y: FloatArray
    c: FloatArray

    def at(self, S: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        from scipy.special import expit

        value = self.c @ np.logaddexp(0, S).sum(axis=1) - np.einsum("ij,ij,i->", self.Y, S, self.c)
        P = expit(S)
        return float(value), self.c[:, None] * (P - self.Y), P

    def curve(self, P: FloatArray, Q: FloatArray) -> FloatArray:
        return self.curvature(P) * Q

    def curvature(self, P: FloatArray) -> FloatArray:
        return self.c[:, None] * P * (1 - P)


def make_likelihood(kind: str, Y: Any, c: FloatArray) -> Softmax | Binary:
    """By name, from sparse labels (n_docs x n_leaves)."""
    dense = np.asarray(Y.toarray(), np.float64)
    return Softmax(dense, c) if kind == "softmax" else Binary(dense, c)
