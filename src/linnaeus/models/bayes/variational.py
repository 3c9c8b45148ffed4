"""Full variational inference: q = prod_n N(w_n | mu_n, Psi_n) prod Gamma(prec | tau, nu), block by block.

Every step is the exact maximiser of the lower bound in its block, so the bound never falls:

    leaves   A_n = 2 sum_x lam(xi_xn) x x' + Diag(prec),   Psi_n = A_n^-1,
             mu_n = A_n^-1 [ sum_x (y_xn - 1/2 + 2 lam(xi_xn) beta_x) x + prec mu_pi(n) ]
    inner    Psi_n = 1 / (prec + sum of the children's),   all mu together between the leaves (one pass up, one down)
    precisions (`precisions`),   xi and beta (`bouchard`)

Psi of the leaves is full where there are few features. Otherwise it is restricted to the diagonal, which gives
Psi_i = 1 / (A_n)_ii, while mu still solves the whole system (by conjugate gradients: each step raises the bound).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linnaeus.engine.clock import Clock
from linnaeus.models.bayes.bouchard import Local, curvature_of
from linnaeus.models.bayes.partial_map import Posterior, link_spread, moved
from linnaeus.models.bayes.precisions import Precisions
from linnaeus.models.label_tree import LabelTree
from linnaeus.typing import Engine, FloatArray, Matrix

__all__ = ["Variational", "infer"]

_CG_STEPS = 50
_FURTHER = 1.3
_LEAVES = 8  # to a task, however many threads there are


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

    def move_leaves(self) -> None:
        """Means and variances of the leaves, which given xi and beta know nothing of each other."""
        leaves, rho = self.tree.leaves, self.precisions.at_vertices()
        prior = np.broadcast_to(rho, self.mean.shape)[leaves]
        lam = self.c[:, None] * curvature_of(self.local.xi)
        pull = self.c[:, None] * (self.Y - 0.5) + 2 * lam * self.local.beta[:, None]
        right = np.asarray(self.X.T @ pull).T + prior * self.mean[self.tree.parent[leaves]]
        if not self.full:
            self._move_diagonal(lam, prior, right)
            return
        parts = [slice(i, i + _LEAVES) for i in range(0, len(leaves), _LEAVES)]
        tasks = [(lam[:, part], prior[part], right[part]) for part in parts]
        assert self.covariance is not None
        for part, found in zip(parts, self.engine.map(_solve_leaves, tasks, shared=self.X), strict=True):
            self.mean[leaves[part]], self.covariance[part], self.logdet[leaves[part]], self.spread[:, part] = found
        self.variance[leaves] = np.einsum("nii->ni", self.covariance)

    def _move_diagonal(self, lam: FloatArray, prior: FloatArray, right: FloatArray) -> None:
        leaves = self.tree.leaves
        diagonal = 2 * np.asarray(self.squares.T @ lam).T + prior

        def product(A: FloatArray) -> FloatArray:
            return 2 * np.asarray(self.X.T @ (lam * np.asarray(self.X @ A.T))).T + prior * A

        self.mean[leaves] = _conjugate_gradients(product, right, self.mean[leaves], 1 / diagonal)
        self.variance[leaves] = 1 / diagonal
        self.logdet[leaves] = -np.log(diagonal).sum(axis=1)
        self.spread = np.asarray(self.squares @ self.variance[leaves].T)

    def move_inner(self) -> None:
        rho, inner = self.precisions.at_vertices(), self.tree.inner
        stiff = np.broadcast_to(rho + self.tree.children_sum(rho), self.mean.shape)[inner]
        self.variance[inner] = 1 / stiff
        self.logdet[inner] = -np.log(stiff).sum(axis=1)
        self.mean = self.tree.between(self.mean, rho)

    def move_precisions(self, quick: bool = False) -> None:
        q, own = link_spread(self.tree, self.mean, self.variance)
        self.precisions = self.precisions.well_determined(q, own) if quick else self.precisions.updated(q)

    def move_local(self) -> None:
        self.local.fit(self.scores, self.spread)

    def sweep(self, learn: bool = True, quick: bool = False, reach: float = 1.0) -> None:
        """All steps; ``reach`` above 1 carries the leaves' means beyond where their step would put them."""
        leaves = self.tree.leaves
        before = self.mean[leaves]
        self.move_leaves()
        if reach > 1:
            self.mean[leaves] += (reach - 1) * (self.mean[leaves] - before)
        self.move_inner()
        if learn:
            self.move_precisions(quick)
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
    state: Variational, *, learn: bool, tol: float, max_iter: int, clock: Clock, after: Any = None
) -> tuple[Posterior, list[float]]:
    """Sweeps until precisions and means move by at most ``tol``; the bounds after each, which never fall.

    The bounds on the likelihood bend far more than it does where labels are rare, so that plain steps of the means are
    small; they reach further and further while the bound rises (Salakhutdinov and Roweis, ICML 2003). Precisions go
    the quick way. A sweep after which the bound is lower than before is taken back, and the next one is plainer.
    """
    state.move_local()
    bounds, history, converged, quick, taken, reach = [state.bound()], [], False, learn, 0, 1.0
    while taken < max_iter and not converged and not clock.over:
        taken += 1
        kept = copy.copy(state)
        before = (state.mean, state.precisions)
        _keep(state)
        state.sweep(learn, quick, reach)
        value = state.bound()
        if value < bounds[-1] and (quick or reach > 1):
            state.__dict__.update(kept.__dict__)
            quick, reach = quick and reach > 1, 1.0
            continue
        bounds.append(value)
        reach *= _FURTHER
        grown = float(np.abs(state.precisions.mean / before[1].mean - 1).max())
        change = [grown, moved(before[0], state.mean)]
        history.append(change)
        converged = max(change) <= tol
        if converged and quick:  # the end is reached by plain steps
            quick, converged = False, False
        if after is not None:
            after(max(change))
    leaves = state.variance[state.tree.leaves]
    found = Posterior(state.mean, leaves, state.precisions, -bounds[-1], taken, converged, np.array(history))
    return found, bounds


def _keep(state: Variational) -> None:
    """Work on copies, so that a sweep can be taken back."""
    for name in ("mean", "variance", "logdet", "spread", "covariance"):
        value = getattr(state, name)
        setattr(state, name, None if value is None else value.copy())
    state.local = copy.copy(state.local)


def _solve_leaves(X: Matrix, task: tuple[FloatArray, FloatArray, FloatArray]) -> tuple[FloatArray, ...]:
    """(means, covariances, their log-determinants, x'Psi x) of some leaves."""
    from scipy.linalg import cho_factor, cho_solve, solve_triangular

    lam, prior, right = task
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    n, d = right.shape
    mean, covariance, logdet = np.empty((n, d)), np.empty((n, d, d)), np.empty(n)
    spread = np.empty((len(dense), n))
    for k in range(n):
        A = 2 * ((dense * lam[:, [k]]).T @ dense)
        A[np.diag_indices(d)] += prior[k]
        factor = cho_factor(A, lower=True)
        mean[k], covariance[k] = cho_solve(factor, right[k]), cho_solve(factor, np.eye(d))
        logdet[k] = -2 * np.log(np.diag(factor[0])).sum()
        spread[:, k] = (solve_triangular(factor[0], dense.T, lower=True) ** 2).sum(axis=0)
    return mean, covariance, logdet, spread


def _conjugate_gradients(product: Any, right: FloatArray, A: FloatArray, scale: FloatArray) -> FloatArray:
    """Solve for every row from A on, preconditioned by ``scale``; rows finish at a millionth of their start."""
    A = A.copy()
    residual = right - product(A)
    image = scale * residual
    direction = image.copy()
    rho = np.einsum("ij,ij->i", residual, image)
    target = 1e-12 * np.maximum(rho, np.einsum("ij,ij,ij->i", right, right, scale) * 1e-6)
    for _ in range(_CG_STEPS):
        if (rho <= target).all():
            break
        moved = product(direction)
        curve = np.maximum(np.einsum("ij,ij->i", direction, moved), np.finfo(float).tiny)
        step = np.where(rho > target, rho / curve, 0)[:, None]
        A += step * direction
        residual -= step * moved
        image = scale * residual
        before, rho = rho, np.einsum("ij,ij->i", residual, image)
        direction = image + (rho / np.maximum(before, np.finfo(float).tiny))[:, None] * direction
    return A
