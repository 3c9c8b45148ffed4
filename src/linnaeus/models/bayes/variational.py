"""Full variational inference: q = prod_n N(w_n | mu_n, Psi_n) prod Gamma(prec | tau, nu), block by block.

Every step is the exact maximiser of the lower bound in its block, so the bound never falls:

    means         of all vertices, with xi and beta (below): a concave problem, by truncated Newton (`modes`)
    covariances   leaves  Psi_n = A_n^-1,  A_n = 2 sum_x lam(xi_xn) x x' + Diag(prec);
                  inner   Psi_n = 1 / (prec + sum of the children's)
    xi and beta   once more;      precisions (`precisions`)

Psi of the leaves is full where there are few features. Otherwise it is restricted to the diagonal, which gives
Psi_i = 1 / (A_n)_ii; the means are found in the same way.

Quadratic bounds on the logarithms in the likelihoods, for any beta and xi >= 0 (Bouchard; Jaakkola and Jordan).

    log sum_k e^{g_k} <= beta + sum_k { (h_k - xi_k)/2 + lam(xi_k) (h_k^2 - xi_k^2) + log(1 + e^{xi_k}) },  h = g - beta
    lam(xi) = (sigma(xi) - 1/2) / (2 xi)

For Gaussian g_k with means m_k and variances v_k the expected bound is least at

    xi_k^2 = v_k + (m_k - beta)^2,      beta such that  sum_k f'(m_k - beta) = 1
    f(h) = (h - xi)/2 + log(1 + e^xi),      f' = 1/2 + 2 lam(xi) h,      f'' = (2 lam(xi) v + sigma'(xi) h^2) / xi^2

With xi and beta always at their best, what is left is a convex function of the means (`Bounded`). It bends by f'', as
little as the likelihood itself where a label is improbable; with xi and beta held still it would bend by 2 lam, a
hundred times as much, and every step would be a hundred times too short.
A single logistic function is the same with one term and beta = 0.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from linnaeus.engine import Clock
from linnaeus.models.bayes.modes import find_mode
from linnaeus.models.bayes.precisions import Precisions
from linnaeus.models.bayes.stages import Anderson, Posterior, Rounds, leaf_covariances, link_spread, moved
from linnaeus.models.label_tree import LabelTree
from linnaeus.typing import Array, Engine, FloatArray, Matrix

__all__ = ["Bounded", "Local", "Variational", "bend_of", "curvature_of", "infer"]

_ROUNDS = 60  # of Newton's method for beta, which takes three to six


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
    close = np.where(near, xi, 0.0)  # powers of a huge xi would overflow
    return np.where(near, 0.125 - close**2 / 96 + close**4 / 960, far)


def bend_of(xi: FloatArray, away: FloatArray, variances: FloatArray, lam: FloatArray) -> FloatArray:
    """f'' at h = ``away``, between 0 and 1/4.

    Examples
    --------
    >>> h, v = np.array([0.0, 7.0]), np.array([0.0, 0.0])
    >>> bend_of(np.abs(h), h, v, curvature_of(np.abs(h))).round(4).tolist()
    [0.25, 0.0009]
    """
    small = np.exp(-xi)
    slope = small / (1 + small) ** 2  # sigma'
    near = xi < 1e-4
    return np.where(near, 0.25, (2 * lam * variances + slope * away**2) / np.where(near, 1.0, xi) ** 2)


@dataclass
class Local:
    """xi (n_docs x n_leaves) and beta (n_docs; 0 for binary likelihoods)."""

    xi: FloatArray
    beta: FloatArray
    softmax: bool

    @classmethod
    def start(cls, n_docs: int, n_leaves: int, softmax: bool) -> Local:
        return cls(np.ones((n_docs, n_leaves)), np.zeros(n_docs), softmax)

    def fit(self, scores: FloatArray, variances: FloatArray) -> None:
        """Both at their best: the least bound on the logarithm."""
        if self.softmax and scores.shape[1] > 1:  # the logarithm of one exponential is exact
            self.beta = _centre(scores, variances, self.beta)
        self.xi = np.sqrt(variances + (scores - self.beta[:, None]) ** 2)

    def expected(self, Y: FloatArray, c: FloatArray, scores: FloatArray, variances: FloatArray) -> float:
        """The bound on the expected log-likelihood."""
        away = scores - self.beta[:, None]
        terms = 0.5 * (away - self.xi) + np.logaddexp(0, self.xi)
        terms += curvature_of(self.xi) * (away**2 + variances - self.xi**2)
        own = np.einsum("ij,ij->i", Y, scores)
        return float(c @ (own - (self.beta if self.softmax else 0) - terms.sum(axis=1)))


def _centre(scores: FloatArray, variances: FloatArray, beta: FloatArray) -> FloatArray:
    """beta of every document: Newton's method on the logarithm of sum_k f', kept within what is known to hold it."""
    spread = np.log(scores.shape[1]) + 0.5 * np.sqrt(variances.sum(axis=1))
    most = scores.max(axis=1) + spread  # above that the sum may be rounded to nothing
    least = scores.min(axis=1) - spread  # a trial that overflowed leaves beta far below, or nan
    beta = np.fmin(np.fmax(beta, least), most)
    todo, low, high = np.arange(len(beta)), least, most  # f' is at least 1/2 at one end and below 1/K at the other
    for _ in range(_ROUNDS):
        S, v, at = scores[todo], variances[todo], beta[todo]
        away = S - at[:, None]
        xi = np.sqrt(v + away**2)
        lam = curvature_of(xi)
        total = (0.5 + 2 * lam * away).sum(axis=1)
        low[todo], high[todo] = np.where(total > 1, at, low[todo]), np.where(total > 1, high[todo], at)
        slope = np.maximum(bend_of(xi, away, v, lam).sum(axis=1), np.finfo(float).tiny)
        limit = np.maximum(10, 0.5 * (high - low)[todo])
        new = at + np.clip(np.log(np.maximum(total, np.finfo(float).tiny)) * total / slope, -limit, limit)
        outside = (new <= low[todo]) | (new >= high[todo])
        beta[todo] = np.where(outside & (np.abs(total - 1) > 1e-12), 0.5 * (low[todo] + high[todo]), new)
        todo = todo[np.abs(total - 1) > 1e-9]  # quadratic: the step just taken leaves far less
        if not len(todo):
            break
    return beta


@dataclass
class Bounded:
    """The likelihood as `modes` wants it: its expected bound, xi and beta at their best, for fixed ``variances``."""

    Y: FloatArray
    c: FloatArray
    variances: FloatArray
    local: Local

    def at(self, S: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """(value, R, what the bound bends by)."""
        local = self.local
        local.fit(S, self.variances)
        away, lam = S - local.beta[:, None], curvature_of(local.xi)
        R = self.c[:, None] * (0.5 + 2 * lam * away - self.Y)
        return -local.expected(self.Y, self.c, S, self.variances), R, bend_of(local.xi, away, self.variances, lam)

    def curve(self, D: FloatArray, Q: FloatArray) -> FloatArray:
        """The second derivative times Q; beta follows the means."""
        if not self.local.softmax or D.shape[1] == 1:
            return self.c[:, None] * D * Q
        shift = np.einsum("ij,ij->i", D, Q) / np.maximum(D.sum(axis=1), np.finfo(float).tiny)
        return self.c[:, None] * D * (Q - shift[:, None])


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

    def arrays(self) -> dict[str, Array]:
        """Everything but the precisions, for a checkpoint."""
        arrays = {name: getattr(self, name) for name in ("mean", "variance", "logdet", "spread")}
        arrays |= {"xi": self.local.xi, "beta": self.local.beta}
        return arrays if self.covariance is None else arrays | {"covariance": self.covariance}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Continue from the arrays of a checkpoint."""
        for name in ("mean", "variance", "logdet", "spread"):
            setattr(self, name, np.array(arrays[name]))
        self.local = Local(np.array(arrays["xi"]), np.array(arrays["beta"]), self.softmax)
        if self.covariance is not None:
            self.covariance = np.array(arrays["covariance"])

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
    rounds: Rounds | None = None,
) -> tuple[Posterior, list[float]]:
    """Rounds until precisions and means move by at most ``tol``; the bounds after each, which never fall.

    Precisions go the quick way, accelerated. A round after which the bound is lower than before is taken back, and the
    precisions take a plain step, which cannot lower it; so does the last round. No round is started that would take,
    like the last one, more time than is left. ``rounds`` are continued and kept.
    """
    rounds, stored = (Rounds(), None) if rounds is None else (rounds, rounds.load())
    bounds: list[float] = []
    history: list[list[float]] = []
    mix, converged, taken, plain, kept, took = Anderson(), False, 0, False, state, 0.0
    if stored is None:
        state.move_local()
        bounds.append(state.bound())
    else:
        state.restore(stored)
        mix.restore(stored)
        bounds, history, taken = stored["bounds"].tolist(), stored["history"].tolist(), int(stored["taken"])
        kept = copy.copy(state)
        for one, tau, nu in ((kept, "kept tau", "kept nu"), (state, "tau", "nu")):
            one.precisions = replace(state.precisions, tau=np.array(stored[tau]), nu=np.array(stored[nu]))

    def arrays() -> dict[str, Array]:
        found = state.arrays() | mix.arrays() | {"tau": state.precisions.tau, "nu": state.precisions.nu}
        found |= {"kept tau": kept.precisions.tau, "kept nu": kept.precisions.nu, "taken": np.array(taken)}
        return found | {"bounds": np.array(bounds), "history": np.array(history)}

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
        if not clock.over and not converged:
            rounds.save(arrays, due=clock.remaining < took)
    state.__dict__.update(kept.__dict__)
    if learn:
        state.move_precisions()
        bounds.append(state.bound())
    leaves = state.variance[state.tree.leaves]
    how = (-bounds[-1], taken, converged, np.array(history), -np.array(bounds))
    posterior = Posterior(state.mean, leaves, state.precisions, *how, state.covariance)
    if converged or taken >= max_iter:
        rounds.finish(posterior)
    return posterior, bounds
