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

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from linnaeus.engine import Clock
from linnaeus.losses import surrogate
from linnaeus.models.label_tree import LabelTree
from linnaeus.models.solvers.cg import Direction, Which, conjugate_gradients, step_length, whole_dot
from linnaeus.typing import CSR, FloatArray, Matrix

__all__ = ["BinaryLikelihood", "Likelihood", "Mode", "SoftmaxLikelihood", "find_mode", "make_likelihood"]


class Likelihood(Protocol):
    """Minus the logarithm of a likelihood, or a bound on it, as a function of the scores S of the leaves."""

    def at(self, S: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """(value, its derivative by S, what `curve` needs: probabilities)."""

    def curve(self, P: FloatArray, Q: FloatArray) -> FloatArray:
        """The second derivative times Q."""


@dataclass(frozen=True)
class SoftmaxLikelihood:
    """``Y`` is 0/1 with one label per row; ``c`` are the documents' weights."""

    Y: FloatArray
    c: FloatArray

    def at(self, S: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """(value, R, probabilities)."""
        norm, P = surrogate.Softmax().expand(S)
        value = self.c @ norm - np.einsum("ij,ij,i->", self.Y, S, self.c)
        return float(value), self.c[:, None] * (P - self.Y), P

    def curve(self, P: FloatArray, Q: FloatArray) -> FloatArray:
        """The second derivative times Q."""
        return self.c[:, None] * surrogate.Softmax().curve(P, Q)

    def curvature(self, P: FloatArray) -> FloatArray:
        """c p (1 - p)."""
        return self.c[:, None] * P * (1 - P)


@dataclass(frozen=True)
class BinaryLikelihood:
    """As `SoftmaxLikelihood`, with any number of labels per row."""

    Y: FloatArray
    c: FloatArray

    def at(self, S: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        value, slope, _ = surrogate.Logistic().expand(-S)  # of a negative label
        P = -slope
        total = self.c @ value.sum(axis=1) - np.einsum("ij,ij,i->", self.Y, S, self.c)
        return float(total), self.c[:, None] * (P - self.Y), P

    def curve(self, P: FloatArray, Q: FloatArray) -> FloatArray:
        return self.curvature(P) * Q

    def curvature(self, P: FloatArray) -> FloatArray:
        return self.c[:, None] * P * (1 - P)


def make_likelihood(kind: str, Y: CSR, c: FloatArray) -> SoftmaxLikelihood | BinaryLikelihood:
    """By name, from sparse labels (n_docs x n_leaves)."""
    dense = np.asarray(Y.toarray(), np.float64)
    return SoftmaxLikelihood(dense, c) if kind == "softmax" else BinaryLikelihood(dense, c)


_STEPS, _PRODUCTS, _HALVINGS = 100, 250, 34


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
    likelihood: Likelihood,
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
    >>> tree = LabelTree(np.array([-1, 0, 0]), np.array([1, 2]), np.arange(3))
    >>> likelihood = SoftmaxLikelihood(np.eye(2), np.ones(2))
    >>> found = find_mode(np.eye(2), likelihood, tree, np.ones((3, 1)), np.zeros((2, 2)), 1e-9)
    >>> found.weights[1:].round(3).tolist()
    [[0.337, -0.337], [-0.337, 0.337]]
    """

    def kernel(A: FloatArray) -> FloatArray:
        return tree.pull(A, rho)[tree.leaves]

    W = kernel(V)
    S = np.asarray(X @ W.T)
    value, R, P = likelihood.at(S)
    for taken in range(max_steps + 1):
        objective = 0.5 * float(whole_dot(V, W)) + value
        G = V + _transposed(R, X)
        KG = kernel(G)
        gap = 0.5 * float(whole_dot(G, KG))
        if gap <= tol * objective or taken == max_steps or (clock is not None and clock.over):
            break
        found = _direction(X, likelihood, kernel, G, KG, P, gap, clock)
        trial = _Trial(likelihood, S, found.image)
        step = float(step_length(found, G, V, trial, np.array([value]), halvings=_HALVINGS)[0])
        if step == 0:  # rounding leaves no descent: the gap stands
            P = likelihood.at(S)[2]  # a bound remembers the point that it was asked for last
            break
        value, R, P = trial.found
        V, W, S = V + step * found.preimage, W + step * found.x, S + step * found.image
    return Mode(V, tree.pull(V, rho), P, objective, gap, taken)


@dataclass
class _Trial:
    """Losses along a line of scores; ``found`` is the likelihood at the last point."""

    likelihood: Likelihood
    S: FloatArray
    image: FloatArray
    found: tuple[float, FloatArray, FloatArray] = field(init=False)

    def __call__(self, t: FloatArray, _: Which) -> FloatArray:
        self.found = self.likelihood.at(self.S + t[0] * self.image)
        return np.array([self.found[0]])


def _direction(
    X: Matrix,
    likelihood: Likelihood,
    kernel: Callable[[FloatArray], FloatArray],
    G: FloatArray,
    KG: FloatArray,
    P: FloatArray,
    gap: float,
    clock: Clock | None,
) -> Direction:
    """dW, its pulls and X dW', with a residual a tenth of the gradient in the norm of K, or as far as time allows."""

    def product(pW: FloatArray, pV: FloatArray) -> tuple[FloatArray, FloatArray]:
        Q = np.asarray(X @ pW.T)
        return pV + _transposed(likelihood.curve(P, Q), X), Q

    def stop(x: FloatArray, residual: FloatArray, rho: FloatArray) -> bool:
        return bool(rho <= 0.02 * gap) or (clock is not None and clock.over)

    return conjugate_gradients(
        product, -G, precondition=kernel, scaled=-KG, preimages=True, max_products=_PRODUCTS, stop=stop
    )


def _transposed(R: FloatArray, X: Matrix) -> FloatArray:
    """R'X, n_leaves x n_features."""
    return np.asarray(R.T @ X) if isinstance(X, np.ndarray) else np.asarray((X.T @ R).T)
