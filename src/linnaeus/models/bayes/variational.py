"""Full variational inference: q = prod_n N(w_n | mu_n, Psi_n) prod Gamma(prec | tau, nu), block by block.

Every step is the exact maximiser of the lower bound in its block, so the bound never falls:

    means         of all vertices, with xi and beta (`bouchard`): a concave problem, by truncated Newton (`modes`)
    covariances   leaves  Psi_n = A_n^-1,  A_n = 2 sum_x lam(xi_xn) x x' + Diag(prec);
                  inner   Psi_n = 1 / (prec + sum of the children's)
    xi and beta   once more;      precisions (`precisions`)

Psi of the leaves is full where there are few features. Otherwise it is restricted to the diagonal, which gives
Psi_i = 1 / (A_n)_ii; the means are found in the same way.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from linnaeus.engine.limits import Clock
from linnaeus.models.bayes.bouchard import Bounded, Local, curvature_of
from linnaeus.models.bayes.modes import find_mode
from linnaeus.models.bayes.partial_map import Anderson, Posterior, link_spread, moved
from linnaeus.models.bayes.precisions import Precisions
from linnaeus.models.bayes.stages import leaf_covariances
from linnaeus.models.label_tree import LabelTree
from linnaeus.typing import Engine, FloatArray, Matrix

__all__ = ["Variational", "infer"]


@dataclass
class Variational:
    """The data, and the state of all blocks. ``Y`` is n_docs x n_leaves, 0/1, dense; ``c`` weights of documents."""

    X: Matrix
    Y: FloatArray
    c: FloatArray
    tree: LabelTree
    precisions: Precisions
    softmax: bool
    full: bool
    engine: Engine
    mean: FloatArray = field(init=False)
    variance: FloatArray = field(init=False)  # diagonals of Psi, n_vertices x n_features
    logdet: FloatArray = field(init=False)  # of Psi, n_vertices
    spread: FloatArray = field(init=False)  # x'Psi_n x, n_docs x n_leaves
    covariance: FloatArray | None = None  # of the leaves, where it is full
    local: Local = field(init=False)

    def __post_init__(self) -> None:
        n, d = self.tree.n_vertices, self.X.shape[1]
        self.mean, self.variance, self.logdet = np.zeros((n, d)), np.ones((n, d)), np.zeros(n)
        squares = self.squares.sum(axis=1)
        self.spread = np.repeat(np.asarray(squares, float).reshape(-1, 1), self.tree.n_leaves, axis=1)
        if self.full:
            self.covariance = np.repeat(np.eye(d)[None], self.tree.n_leaves, axis=0)
        self.local = Local.start(len(self.c), self.tree.n_leaves, self.softmax)

    @property
    def squares(self) -> Matrix:
        return self.X**2 if isinstance(self.X, np.ndarray) else self.X.multiply(self.X)

    @property
    def scores(self) -> FloatArray:
        return np.asarray(self.X @ self.mean[self.tree.leaves].T)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def move_means(self, tol: float = 1e-10, clock: Clock | None = None) -> None:
        """All means to where the bound is highest for these variances, up to ``tol`` of it; xi and beta with them."""
        tree, rho = self.tree, self.precisions.at_vertices()
        W = tree.between(self.mean, rho)
        V = (rho * (W - W[tree.parent]))[tree.leaves]  # the pulls under which the leaves are where they are
        seen = Bounded(self.Y, self.c, self.spread, copy.copy(self.local))
        self.mean = find_mode(self.X, seen, tree, rho, V, tol, clock=clock).weights
        self.local = seen.local
        self.move_local()

    def move_covariances(self) -> None:
        """Of the leaves, which given xi know nothing of each other, and of the inner vertices."""
        tree, rho = self.tree, self.precisions.at_vertices()
        stiff = np.broadcast_to(rho + tree.children_sum(rho), self.mean.shape).copy()
        bend = 2 * self.c[:, None] * curvature_of(self.local.xi)
        if not self.full:
            stiff[tree.leaves] += np.asarray(self.squares.T @ bend).T
        self.variance, self.logdet = 1 / stiff, -np.log(stiff).sum(axis=1)
        if not self.full:
            self.spread = np.asarray(self.squares @ self.variance[tree.leaves].T)
            return
        found = leaf_covariances(self.X, bend, stiff[tree.leaves], self.engine, scores=True)
        self.covariance, self.logdet[tree.leaves] = found[:2]
        assert found[2] is not None
        self.variance[tree.leaves], self.spread = np.einsum("nii->ni", self.covariance), found[2]

    def move_local(self) -> None:
        self.local.fit(self.scores, self.spread)

    def move_precisions(self) -> None:
        self.precisions = self.precisions.updated(link_spread(self.tree, self.mean, self.variance)[0])

    def settle(self, tol: float, clock: Clock | None = None) -> None:
        """Everything but the precisions, once."""
        self.local = copy.copy(self.local)
        self.move_means(tol, clock)
        self.move_covariances()
        self.move_local()

    # -- the bound -----------------------------------------------------------------------------------------------------

    def bound(self) -> float:
        """The lower bound on the logarithm of the evidence."""
        from scipy.special import digamma, gammaln

        d, n = self.X.shape[1], self.tree.n_vertices
        value = self.local.expected(self.Y, self.c, self.scores, self.spread)
        value -= 0.5 * (d * np.log(2 * np.pi) + float((self.variance[0] + self.mean[0] ** 2).sum()))
        p = self.precisions
        logs = digamma(p.tau) - np.log(p.nu)
        width = 1 if p.owners.per_feature else d
        q = link_spread(self.tree, self.mean, self.variance)[0]
        value += 0.5 * width * float(logs[p.owners.of].sum()) - 0.5 * d * (n - 1) * np.log(2 * np.pi)
        value -= 0.5 * float((p.at_vertices()[1:] * q).sum())
        value += 0.5 * (n * d * np.log(2 * np.pi * np.e) + float(self.logdet.sum()))
        owners = p.a * np.log(p.b) - gammaln(p.a) + (p.a - 1) * logs - p.b * p.mean
        owners += p.tau - np.log(p.nu) + gammaln(p.tau) + (1 - p.tau) * digamma(p.tau)
        return value + float(owners.sum())


def infer(
    state: Variational,
    *,
    learn: bool,
    tol: float,
    max_iter: int,
    clock: Clock,
    after: Callable[[float], None] | None = None,
) -> tuple[Posterior, list[float]]:
    """Rounds until precisions and means move by at most ``tol``; the bounds after each, which never fall.

    Precisions go the quick way, accelerated. A round after which the bound is lower than before is taken back, and the
    precisions take a plain step, which cannot lower it; so does the last round. No round is started that would take,
    like the last one, more time than is left.
    """
    state.move_local()
    bounds, history, mix, converged, taken, plain = [state.bound()], [], Anderson(), False, 0, False
    kept, took = state, 0.0
    while taken < max_iter and not converged and not clock.over and not clock.remaining < took:
        taken += 1
        left = clock.remaining
        before, start = state.mean, state.precisions.mean
        state.settle(1e-3 * tol, clock)
        value, took = state.bound(), left - clock.remaining
        if value < bounds[-1] and not plain:
            state.__dict__.update(kept.__dict__)
            state.move_precisions()
            mix, plain = Anderson(), True
            continue
        bounds.append(value)
        change = [0.0, moved(before, state.mean)]
        kept = copy.copy(state)
        if learn:
            aim = state.precisions.well_determined(*link_spread(state.tree, state.mean, state.variance))
            change[0] = float(np.abs(aim.mean / start - 1).max())
            state.precisions = aim.moved_to(np.exp(mix(np.log(start), np.log(aim.mean))))
        plain, converged = False, max(change) <= tol
        history.append(change)
        if after is not None:
            after(max(change))
    state.__dict__.update(kept.__dict__)
    if learn:
        state.move_precisions()
        bounds.append(state.bound())
    leaves = state.variance[state.tree.leaves]
    how = (-bounds[-1], taken, converged, np.array(history), -np.array(bounds))
    return Posterior(state.mean, leaves, state.precisions, *how, state.covariance), bounds
