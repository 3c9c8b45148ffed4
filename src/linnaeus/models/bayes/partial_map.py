"""Partial maximum a posteriori: weights at their mode, Laplace's variances, posteriors of the precisions.

    repeat   1  all weights := the mode for the expected precisions              (`stages`)
             2  leaves: Psi = (X' Diag(p (1 - p)) X + prec)^-1, or 1 / its diagonal where there are many features;
                inner: Psi_i = 1 / (prec + sum of the children's)
             3  precisions := their posterior, given means and variances         (`precisions`)
    until neither weights nor precisions move

The third step is taken in its quick form, and the rounds are accelerated by Anderson's method: the next point mixes the
last few, with the same fixed points. For an iteration x <- F(x) with residuals f_k = F(x_k) - x_k, the mixture is the
one whose residual, if F were linear, would be least:

    min over gamma |f_k - D gamma|,      x_{k+1} = F(x_k) - (E + D) gamma,      D, E: differences of f and of x
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from linnaeus.engine.limits import Clock
from linnaeus.models.bayes.precisions import Precisions
from linnaeus.models.label_tree import LabelTree
from linnaeus.typing import FloatArray

__all__ = ["Anderson", "Posterior", "Round", "Stage", "link_spread", "maximise", "moved"]


class Anderson:
    """Feed it x and F(x), it answers where to look next; steps are never longer than ``most`` in any coordinate.

    Examples
    --------
    >>> mix, x = Anderson(), np.array([0.0, 0.0])
    >>> for _ in range(5):
    ...     x = mix(x, np.array([0.9 * x[0] + 0.1, 0.5 * x[1] - 1]))
    >>> x.round(6).tolist()
    [1.0, -2.0]
    """

    def __init__(self, memory: int = 6, most: float = 2.0) -> None:
        self.memory, self.most = memory, most
        self.points: list[FloatArray] = []
        self.residuals: list[FloatArray] = []

    def __call__(self, x: FloatArray, image: FloatArray) -> FloatArray:
        residual = (image - x).ravel()
        if self.residuals and np.linalg.norm(residual) > 2 * np.linalg.norm(self.residuals[-1]):
            self.points, self.residuals = [], []  # too bold: begin again
        self.points.append(x.ravel().copy())
        self.residuals.append(residual)
        del self.points[: -self.memory], self.residuals[: -self.memory]
        step = residual
        if len(self.points) > 1:
            E, D = (np.diff(np.array(A), axis=0).T for A in (self.points, self.residuals))
            gamma = np.linalg.lstsq(D, residual, rcond=1e-8)[0]
            step = residual - (E + D) @ gamma
        return x + np.clip(step, -self.most, self.most).reshape(x.shape)


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
    stage: Stage,
    precisions: Precisions,
    *,
    learn: bool,
    tol: float,
    max_iter: int,
    clock: Clock,
    after: Callable[[float], None] | None = None,
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


def moved(before: FloatArray, now: FloatArray) -> float:
    """How far weights have moved, relative to their norm."""
    return float(np.linalg.norm(now - before)) / max(float(np.linalg.norm(now)), 1e-300)


def link_spread(tree: LabelTree, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(q_n, Psi_n) of all vertices but the root, by feature: what the precisions learn from."""
    above = tree.parent[1:]
    own = variance[1:]
    return own + variance[above] + (mean[1:] - mean[above]) ** 2, own
