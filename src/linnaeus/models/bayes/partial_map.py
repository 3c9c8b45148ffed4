"""Partial maximum a posteriori: weights at their mode, Laplace's variances, posteriors of the precisions.

    repeat   1  all weights := the mode for the expected precisions              (`Together`, or `in_turn` on threads)
             2  leaves: Psi = (X' Diag(p (1 - p)) X + prec)^-1, or 1 / its diagonal where there are many features;
                inner: Psi_i = 1 / (prec + sum of the children's)
             3  precisions := their posterior, given means and variances         (`precisions`)
    until neither weights nor precisions move

The third step is taken in its quick form, and the rounds are accelerated: the fixed points are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from linnaeus.engine.limits import Clock
from linnaeus.models.bayes.covariances import leaf_covariances
from linnaeus.models.bayes.fixed_point import Anderson
from linnaeus.models.bayes.modes import find_mode
from linnaeus.models.bayes.precisions import Precisions
from linnaeus.models.label_tree import LabelTree
from linnaeus.typing import Engine, FloatArray, Matrix

__all__ = ["Posterior", "Round", "Stage", "Together", "inner_stiffness", "laplace", "link_spread", "maximise", "moved"]


@dataclass
class Posterior:
    """Means of all weights (n_vertices x n_features), variances of the leaves' (n_leaves x ...), the precisions."""

    mean: FloatArray
    variance: FloatArray | None
    precisions: Precisions
    objective: float
    n_iter: int
    converged: bool
    history: FloatArray  # rounds x 2: largest relative change of the precisions, change of the weights
    objectives: FloatArray  # after every round
    covariance: FloatArray | None = None  # of the leaves, where it is full


@dataclass
class Round:
    """What the first two steps found: q and Psi_n of every vertex but the root, by feature or summed over them.

    ``moved`` is how far the weights are from those of the round before, relative to their norm.
    """

    weights: FloatArray
    q: FloatArray
    own: FloatArray
    objective: float
    moved: float
    exact: bool


class Stage(Protocol):
    """Finds the mode for given precisions, from where it was the last time."""

    def __call__(self, rho: FloatArray, tol: float, clock: Clock) -> Round: ...

    @property
    def variance(self) -> FloatArray | None:
        """Of the leaves, at the mode found last."""
        ...

    @property
    def covariance(self) -> FloatArray | None:
        """The same, where it is full."""
        ...


def maximise(
    stage: Stage, precisions: Precisions, *, learn: bool, tol: float, max_iter: int, clock: Clock, after: Any = None
) -> Posterior:
    """Rounds until the largest relative change is ``tol``; ``learn`` False leaves the precisions as they are.

    No round is started that would take, like the last one, more time than is left.
    """
    mix, history, objectives, converged = Anderson(), [], [], False
    for number in range(1, max_iter + 1):
        rho, before = precisions.at_vertices(), clock.remaining
        found = stage(rho, tol, clock)
        change = [0.0, found.moved]
        converged = not learn and (found.exact or found.moved <= tol)
        if learn:
            new = precisions.well_determined(found.q, found.own)
            change[0] = float(np.abs(new.mean / precisions.mean - 1).max())
            converged = max(change) <= tol
        history.append(change)
        objectives.append(found.objective)
        if after is not None:
            after(max(change))
        if converged or number == max_iter or clock.over or clock.remaining < before - clock.remaining:
            break
        if learn:
            precisions = new.moved_to(np.exp(mix(np.log(precisions.mean), np.log(new.mean))))
    how = (found.objective, number, converged, np.array(history), np.array(objectives))
    return Posterior(found.weights, stage.variance, precisions, *how, stage.covariance)


@dataclass
class Together:
    """All leaves and inner vertices in one problem: the mode to a gap far below the tolerance."""

    X: Matrix
    likelihood: Any
    tree: LabelTree
    engine: Engine | None = None  # for full covariances; None keeps to their diagonals
    V: FloatArray = field(init=False)
    weights: FloatArray = field(init=False)
    variances: FloatArray = field(init=False)
    covariance: FloatArray | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.V = np.zeros((self.tree.n_leaves, self.X.shape[1]))
        self.weights = np.zeros((self.tree.n_vertices, self.X.shape[1]))
        self.squares = self.X**2 if isinstance(self.X, np.ndarray) else self.X.multiply(self.X)

    def __call__(self, rho: FloatArray, tol: float, clock: Clock) -> Round:
        mode = find_mode(self.X, self.likelihood, self.tree, rho, self.V, 1e-3 * tol, clock=clock)
        away = moved(self.weights, mode.weights)
        self.V, self.weights = mode.V, mode.weights
        bend = self.likelihood.curvature(mode.probabilities)
        if self.engine is None:
            self.variances = laplace(self.squares, bend, self.tree, rho)
        else:
            stiff = np.broadcast_to(inner_stiffness(self.tree, rho), self.weights.shape)
            self.covariance = leaf_covariances(self.X, bend, stiff[self.tree.leaves], self.engine)[0]
            self.variances = 1 / stiff
            self.variances[self.tree.leaves] = np.einsum("nii->ni", self.covariance)
        q, own = link_spread(self.tree, self.weights, self.variances)
        return Round(self.weights, q, own, mode.objective, away, mode.gap <= 1e-3 * tol * mode.objective)

    @property
    def variance(self) -> FloatArray:
        return self.variances[self.tree.leaves]


def moved(before: FloatArray, now: FloatArray) -> float:
    """How far weights have moved, relative to their norm."""
    return float(np.linalg.norm(now - before)) / max(float(np.linalg.norm(now)), 1e-300)


def laplace(squares: Matrix, curvature: FloatArray, tree: LabelTree, rho: FloatArray) -> FloatArray:
    """Diagonal Laplace variances of all vertices; ``squares`` are X_i^2, ``curvature`` c p (1 - p) of the leaves."""
    own = np.zeros((tree.n_vertices, squares.shape[1]))
    own[tree.leaves] = np.asarray(squares.T @ curvature).T
    return 1 / (own + inner_stiffness(tree, rho))


def inner_stiffness(tree: LabelTree, rho: FloatArray) -> FloatArray:
    """What the prior alone says about every vertex, as a precision: its link and those of its children."""
    return rho + tree.children_sum(rho)


def link_spread(tree: LabelTree, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(q_n, Psi_n) of all vertices but the root, by feature: what the precisions learn from."""
    above = tree.parent[1:]
    own = variance[1:]
    return own + variance[above] + (mean[1:] - mean[above]) ** 2, own
