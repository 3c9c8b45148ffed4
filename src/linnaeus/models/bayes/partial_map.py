"""Partial maximum a posteriori: weights at their mode, diagonal Laplace variances, posteriors of the precisions.

    repeat   1  all weights := the mode for the expected precisions                                  (`modes`)
             2  leaves: Psi_i = 1 / (sum_x x_i^2 p (1 - p) + prec),   inner: Psi_i = 1 / (prec + sum of the children's)
             3  precisions := their posterior, given means and variances                             (`precisions`)
    until neither weights nor precisions move

Modes are found in one piece, leaves and inner vertices together, which is where the alternation of the two would end.
The third step is taken in its quick form, and the rounds are accelerated: the fixed points are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linnaeus.engine.clock import Clock
from linnaeus.models.bayes.fixed_point import Anderson
from linnaeus.models.bayes.modes import Mode, find_mode
from linnaeus.models.bayes.precisions import Precisions
from linnaeus.models.label_tree import LabelTree
from linnaeus.typing import FloatArray, Matrix

__all__ = ["Posterior", "changes", "inner_variances", "laplace", "link_spread", "maximise"]


@dataclass
class Posterior:
    """Means and variances of all weights (n_vertices x n_features), and the precisions."""

    mean: FloatArray
    variance: FloatArray
    precisions: Precisions
    objective: float
    gap: float
    n_iter: int
    converged: bool
    history: FloatArray  # rounds x 2: largest relative change of the precisions, change of the weights


def maximise(
    X: Matrix,
    likelihood: Any,
    tree: LabelTree,
    precisions: Precisions,
    *,
    learn: bool,
    tol: float,
    max_iter: int,
    clock: Clock,
    after: Any = None,
) -> Posterior:
    """Rounds until the largest relative change is ``tol``; ``learn`` False leaves the precisions as they are."""
    V = np.zeros((tree.n_leaves, X.shape[1]))
    before, mix = np.zeros((tree.n_vertices, X.shape[1])), Anderson()
    history: list[list[float]] = []
    converged = False
    squares = X**2 if isinstance(X, np.ndarray) else X.multiply(X)
    for number in range(1, max_iter + 1):
        rho = precisions.at_vertices()
        mode = find_mode(X, likelihood, tree, rho, V, 1e-3 * tol)
        V, W = mode.V, mode.weights
        variance = laplace(squares, likelihood.curvature(mode.probabilities), tree, rho)
        if not learn:
            converged, change = mode.gap <= 1e-3 * tol * mode.objective, [0.0, 0.0]
        else:
            q, own = link_spread(tree, W, variance)
            new = precisions.well_determined(q, own)
            change = changes(precisions, new, before, W)
            before, converged = W, max(change) <= tol
        history.append(change)
        if after is not None:
            after(max(change))
        if converged or clock.over or not learn:
            break
        if number < max_iter:
            precisions = new.moved_to(np.exp(mix(np.log(precisions.mean), np.log(new.mean))))
    return _posterior(mode, variance, precisions, number, converged, history)


def _posterior(
    mode: Mode, variance: FloatArray, precisions: Precisions, number: int, converged: bool, history: list[list[float]]
) -> Posterior:
    return Posterior(mode.weights, variance, precisions, mode.objective, mode.gap, number, converged, np.array(history))


def changes(before: Precisions, now: Precisions, mean_before: FloatArray, mean: FloatArray) -> list[float]:
    """Largest relative change of a precision, and how far the weights have moved, relative to their norm."""
    moved = float(np.linalg.norm(mean - mean_before)) / max(float(np.linalg.norm(mean)), 1e-300)
    return [float(np.abs(now.mean / before.mean - 1).max()), moved]


def laplace(squares: Matrix, curvature: FloatArray, tree: LabelTree, rho: FloatArray) -> FloatArray:
    """Diagonal Laplace variances of all vertices; ``squares`` are X_i^2, ``curvature`` c p (1 - p) of the leaves."""
    own = np.zeros((tree.n_vertices, squares.shape[1]))
    own[tree.leaves] = np.asarray(squares.T @ curvature).T
    return 1 / (own + inner_variances(tree, rho))


def inner_variances(tree: LabelTree, rho: FloatArray) -> FloatArray:
    """What the prior alone says about every vertex, as a precision: its link and those of its children."""
    return rho + tree.children_sum(rho)


def link_spread(tree: LabelTree, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(q_n, Psi_n) of all vertices but the root, by feature: what the precisions learn from."""
    above = tree.parent[1:]
    own = variance[1:]
    return own + variance[above] + (mean[1:] - mean[above]) ** 2, own
