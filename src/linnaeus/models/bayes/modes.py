"""The most probable weights for given precisions: truncated Newton on all leaves at once, inner vertices eliminated.

    min over all weights   1/2 sum_n |w_n - w_pi(n)|^2_{Diag(rho_n)} - log p(y | X W'),       W the leaves' weights

What documents say about the weights is a soft-max over all leaves, or a logistic function for each:

    softmax   -sum_i c_i log p(y_i | x_i),                    p(n | x) = e^{s_n} / sum_m e^{s_m},       S = X W'
    binary    -sum_i c_i sum_n log sigma(y_in s_in),          y_in = +1 for the labels of i, else -1

Both give the value, R = its derivative by S, what a second derivative makes of a direction, and p(1 - p), the curvature
by which the posterior is as narrow as it is. All arrays are n_docs x n_leaves.

In pulls V (n_leaves x n_features; see `label_tree`) the weights are W = K V and the prior is 1/2 <V, K V>:

    gradient  G = V + R'X,      Hessian  dV + curve(X K dV)'X,      gap to the optimum at most  1/2 <G, K G>

K is applied by one pass up and one down the tree, also where every feature has its own precision, and is the
preconditioner as well. This is `recursive.newton` for likelihoods that couple the leaves and priors without one K.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linnaeus.engine.limits import Clock
from linnaeus.models.label_tree import LabelTree
from linnaeus.typing import FloatArray, Matrix

__all__ = ["Binary", "Mode", "Softmax", "find_mode", "make_likelihood"]


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


_STEPS, _PRODUCTS = 100, 250
_FLAT = 1e-300


@dataclass
class Mode:
    """Pulls V, all weights (n_vertices x n_features), scores, the objective and what it may be away from its least."""

    V: FloatArray
    weights: FloatArray
    probabilities: FloatArray
    objective: float
    gap: float
    n_steps: int


def find_mode(
    X: Matrix,
    likelihood: Any,
    tree: LabelTree,
    rho: FloatArray,
    V: FloatArray,
    tol: float,
    max_steps: int = _STEPS,
    clock: Clock | None = None,
) -> Mode:
    """From pulls V until the gap is ``tol`` of the objective, or time is over; rho is n_vertices x 1 or x n_features.

    Examples
    --------
    >>> from linnaeus.models.bayes.modes import Softmax
    >>> tree = LabelTree(np.array([-1, 0, 0]), np.array([1, 2]), np.arange(3))
    >>> found = find_mode(np.eye(2), Softmax(np.eye(2), np.ones(2)), tree, np.ones((3, 1)), np.zeros((2, 2)), 1e-9)
    >>> found.weights[1:].round(3).tolist()
    [[0.337, -0.337], [-0.337, 0.337]]
    """

    def kernel(A: FloatArray) -> FloatArray:
        return tree.pull(A, rho)[tree.leaves]

    W = kernel(V)
    S = np.asarray(X @ W.T)
    value, R, P = likelihood.at(S)
    for taken in range(max_steps + 1):
        objective = 0.5 * _dot(V, W) + value
        G = V + _transposed(R, X)
        KG = kernel(G)
        gap = 0.5 * _dot(G, KG)
        if gap <= tol * objective or taken == max_steps or (clock is not None and clock.over):
            break
        dV, dW, XdW = _direction(X, likelihood, kernel, G, KG, P, clock)
        slope, step = _dot(G, dW), 1.0
        v_v, v_d, d_d = _dot(V, W), _dot(V, dW), _dot(dV, dW)
        while step > 1e-10:
            new, R, P = likelihood.at(S + step * XdW)
            trial = 0.5 * (v_v + 2 * step * v_d + step**2 * d_d) + new
            if trial <= objective + 1e-4 * step * slope:
                break
            step *= 0.5
        else:  # rounding leaves no descent: the gap stands
            R, P = likelihood.at(S)[1:]
            break
        V, W, S, value = V + step * dV, W + step * dW, S + step * XdW, new
    return Mode(V, tree.pull(V, rho), P, objective, gap, taken)


def _direction(
    X: Matrix, likelihood: Any, kernel: Any, G: FloatArray, KG: FloatArray, P: FloatArray, clock: Clock | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(dV, dW = K dV, X dW') with a residual a tenth of the gradient, in the norm of K, or as far as time allows."""
    residual, image = -G, -KG
    pV, pW = residual.copy(), image.copy()
    dV, dW, XdW = np.zeros_like(G), np.zeros_like(G), np.zeros_like(P)
    rho = _dot(residual, image)
    target = 0.01 * rho
    for _ in range(_PRODUCTS):
        Q = np.asarray(X @ pW.T)
        H = pV + _transposed(likelihood.curve(P, Q), X)
        bend = _dot(pW, H)
        if not bend > rho * _FLAT:  # rounding has left nothing of the curvature: a step would be beyond every number
            break
        t = rho / bend
        dV += t * pV
        dW += t * pW
        XdW += t * Q
        residual -= t * H
        image = kernel(residual)
        before, rho = rho, _dot(residual, image)
        if rho <= target or (clock is not None and clock.over):
            break
        pV, pW = residual + (rho / before) * pV, image + (rho / before) * pW
    return dV, dW, XdW


def _transposed(R: FloatArray, X: Matrix) -> FloatArray:
    """R'X, n_leaves x n_features."""
    return np.asarray(R.T @ X) if isinstance(X, np.ndarray) else np.asarray((X.T @ R).T)


def _dot(A: FloatArray, B: FloatArray) -> float:
    return float(np.einsum("ij,ij->", A, B))
