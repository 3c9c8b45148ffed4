"""Surrogate losses of linear models: value, slope, curvature and conjugate, for NumPy arrays and torch tensors.

Binary losses are functions of the margin t = y s, with y = +1 or -1 and s the score:

    loss            value              slope             curvature        conjugate, over 0 <= a (<= 1)
    hinge           max(0, 1 - t)      -[t < 1]          0                a                              (a <= 1)
    squared hinge   max(0, 1 - t)^2    -2 max(0, 1 - t)  2 [t < 1]        a - a^2 / 4
    logistic        log(1 + e^-t)      -p, p = 1/(1+e^t) p (1 - p)        -a log a - (1 - a) log(1 - a)  (a <= 1)

The conjugate is the concave function -loss*(-a) that a dual objective sums up: value(t) >= conjugate(a) - a t for all
t and a, with equality at a = -slope(t). `Softmax` is the same for one of several classes, with scores s (n x n_classes)
and the distribution p = softmax(s): value log sum_k e^{s_k} - s_y, slope p - onehot(y), conjugate entropy(p).

The compiled kernels (``step.h``, ``screen.pyx``, ``triton_kernels.py``) write the same formulas out for registers;
tests compare them with these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import ModuleType
from typing import Protocol, TypeVar

import numpy as np

from linnaeus.typing import FloatArray, IntArray

__all__ = ["SURROGATES", "Hinge", "Logistic", "Softmax", "SquaredHinge", "Surrogate"]

_LINEAR_BELOW = -80.0

V = TypeVar("V")  # an array of NumPy or of torch; ``xp`` is its namespace


class Surrogate(Protocol):
    """A binary loss of the margin."""

    def value(self, t: V, xp: ModuleType = np) -> V:
        """The loss at margins t."""

    def slope(self, t: V, xp: ModuleType = np) -> V:
        """Its derivative by t."""

    def curvature(self, t: V, xp: ModuleType = np) -> V:
        """Its second derivative by t."""

    def expand(self, t: V, xp: ModuleType = np) -> tuple[V, V, V]:
        """(value, slope, curvature), with what they have in common computed once."""

    def conjugate(self, a: V, xp: ModuleType = np) -> V:
        """The term of a dual variable in the dual objective."""


class _Smooth(ABC):
    """A loss with a slope, which is computed together with the value."""

    @abstractmethod
    def expand(self, t: V, xp: ModuleType = np) -> tuple[V, V, V]:
        """(value, slope, curvature)."""

    def slope(self, t: V, xp: ModuleType = np) -> V:
        """Its derivative by t."""
        return self.expand(t, xp)[1]

    def curvature(self, t: V, xp: ModuleType = np) -> V:
        """Its second derivative by t."""
        return self.expand(t, xp)[2]


class Hinge:
    """max(0, 1 - t).

    Examples
    --------
    >>> Hinge().value(np.array([-1.0, 0.5, 2.0])).tolist()
    [2.0, 0.5, 0.0]
    """

    def value(self, t: V, xp: ModuleType = np) -> V:
        """The loss at margins t."""
        margin = xp.asarray(t)
        return xp.clip(1 - margin, 0, None)

    def slope(self, t: V, xp: ModuleType = np) -> V:
        """Its derivative by t; 0 at the kink."""
        margin = xp.asarray(t)
        return -xp.sign(xp.clip(1 - margin, 0, None))

    def curvature(self, t: V, xp: ModuleType = np) -> V:
        """0: the loss is linear on both sides of the kink."""
        return xp.zeros_like(t)

    def expand(self, t: V, xp: ModuleType = np) -> tuple[V, V, V]:
        """(value, slope, curvature)."""
        return self.value(t, xp), self.slope(t, xp), self.curvature(t, xp)

    def conjugate(self, a: V, xp: ModuleType = np) -> V:
        """a, for 0 <= a <= 1."""
        return a


class SquaredHinge(_Smooth):
    """max(0, 1 - t)^2; the curvature is 2 where t < 1, and jumps there.

    Examples
    --------
    >>> [part.tolist() for part in SquaredHinge().expand(np.array([-1.0, 0.5, 2.0]))]
    [[4.0, 0.25, 0.0], [-4.0, -1.0, -0.0], [2.0, 2.0, 0.0]]
    """

    def value(self, t: V, xp: ModuleType = np) -> V:
        """The loss at margins t."""
        margin = xp.asarray(t)
        return xp.clip(1 - margin, 0, None) ** 2

    def expand(self, t: V, xp: ModuleType = np) -> tuple[V, V, V]:
        """(value, slope, curvature)."""
        margin = xp.asarray(t)
        z = xp.clip(1 - margin, 0, None)
        return z**2, -2 * z, (z > 0) * xp.asarray(2, dtype=z.dtype)

    def conjugate(self, a: V, xp: ModuleType = np) -> V:
        """a - a^2 / 4, for 0 <= a."""
        dual = xp.asarray(a)
        return dual - 0.25 * dual**2


class Logistic(_Smooth):
    """log(1 + e^-t), linear below t = -80, where e^-t would soon overflow and adds nothing.

    Examples
    --------
    >>> [part.round(4).tolist() for part in Logistic().expand(np.array([-1000.0, 0.0, 2.0]))]
    [[1000.0, 0.6931, 0.1269], [-1.0, -0.5, -0.1192], [0.0, 0.25, 0.105]]
    """

    def value(self, t: V, xp: ModuleType = np) -> V:
        """The loss at margins t."""
        margin = xp.asarray(t)
        near = xp.clip(margin, _LINEAR_BELOW, None)
        e = xp.exp(-near)
        return _log(1 + e, e, xp) + (near - margin)

    def expand(self, t: V, xp: ModuleType = np) -> tuple[V, V, V]:
        """(value, slope, curvature)."""
        margin = xp.asarray(t)
        near = xp.clip(margin, _LINEAR_BELOW, None)
        e = xp.exp(-near)
        u = 1 + e
        slope, right = -e / u, 1 / u  # -p and 1 - p
        return _log(u, e, xp) + (near - margin), slope, -slope * right

    def conjugate(self, a: V, xp: ModuleType = np) -> V:
        """The entropy of (a, 1 - a), for 0 <= a <= 1."""
        dual = xp.asarray(a)
        return _entropy(dual, xp) + _entropy(1 - dual, xp)


class Softmax:
    """log sum_k e^{s_k} - s_y of scores s (n x n_classes) and the class y of every row."""

    def log_norm(self, S: FloatArray) -> FloatArray:
        """log sum_k e^{s_k} of every row; the largest score is taken out first."""
        high = S.max(axis=1)
        return np.asarray(high + np.log(np.exp(S - high[:, None]).sum(axis=1)))

    def value(self, S: FloatArray, target: IntArray) -> FloatArray:
        """The loss of every row.

        Examples
        --------
        >>> Softmax().value(np.array([[0.0, 0.0], [1000.0, 0.0]]), np.array([0, 1])).round(4).tolist()
        [0.6931, 1000.0]
        """
        return np.asarray(self.log_norm(S) - S[np.arange(len(S)), target])

    def expand(self, S: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(log_norm, softmax(S)), with the exponentials computed once."""
        high = S.max(axis=1, keepdims=True)
        P = np.exp(S - high)
        total = P.sum(axis=1, keepdims=True)
        P /= total
        return (np.log(total) + high)[:, 0], P

    def curve(self, P: FloatArray, Q: FloatArray) -> FloatArray:
        """The second derivative at probabilities P times a direction Q: p (q - p'q) of every row."""
        return np.asarray(P * (Q - np.einsum("ij,ij->i", P, Q)[:, None]))

    def conjugate(self, P: FloatArray) -> FloatArray:
        """The entropy of every row of P."""
        return np.asarray(_entropy(P, np).sum(axis=1))


def _log(u: V, e: V, xp: ModuleType) -> V:
    """log(1 + e), with u = 1 + e. `numpy.log1p` takes several times as long as `numpy.log`.

    What rounding took from u is put back in single precision (W. Kahan); in double precision it does not matter.
    """
    found = xp.log(u)
    return found if found.dtype.itemsize == 8 else found * (e / (xp.asarray(u) - 1 + 1e-30))


def _entropy(a: V, xp: ModuleType) -> V:
    """-a log a, 0 at 0."""
    share = xp.asarray(a)
    return -share * xp.log(xp.where(share > 0, share, 1.0))


SURROGATES: dict[str, Surrogate] = {"hinge": Hinge(), "squared_hinge": SquaredHinge(), "logistic": Logistic()}
