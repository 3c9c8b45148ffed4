"""The posterior of corrMNL, and a sampler for it.

    beta_n = sum of phi_a over the branches a on the path to leaf n (without the root),      y | x ~ softmax(X beta')
    phi_aj ~ N(0, sigma_j^2 tau_pi(a)^2),      1/sigma_j^2 ~ Gamma(1, 1),   1/tau_n^2 ~ Gamma(shape, rate)

One iteration: a Hamiltonian move of all phi in whitened coordinates eps = phi / (sigma tau), where the prior is a
standard normal; then draws of all 1/tau^2 and 1/sigma^2 given phi, which are Gamma again, and an exchange of scale
between the two:

    1/tau_n^2 ~ Gamma(shape + n_children d / 2, rate + 1/2 sum over its branches and features of phi^2 / sigma^2)

The mass of the moves is the curvature of the posterior at its mode, coordinate by coordinate, with the tau and sigma
of the moment: these do not change during a move, so it leaves the posterior alone.

A Hamiltonian move with a diagonal mass goes far through many dimensions at once, exact in the limit:

    H(q, p) = U(q) + 1/2 sum p^2 / mass,      p ~ N(0, mass),   leapfrog steps,   accepted with min(1, e^{H - H'})

The step is adapted by dual averaging (M. Hoffman and A. Gelman, JMLR 2014) towards a wanted acceptance while a chain
burns in, then frozen; each move shakes it by a fifth, because no fixed number of steps may return to where it began.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from linnaeus.engine.limits import Clock
from linnaeus.models.bayes.modes import SoftmaxLikelihood, find_mode
from linnaeus.models.label_tree import LabelTree
from linnaeus.progress import progress
from linnaeus.typing import FloatArray, IntArray, Matrix

__all__ = ["Chain", "PathSum", "Sampling", "Step", "move", "sample_chain"]


@dataclass
class Step:
    """A step size that learns: ``heard`` after every move while burning in, then ``frozen``."""

    size: float = 0.1
    wanted: float = 0.75

    def __post_init__(self) -> None:
        self.aim, self.mean, self.smooth, self.n = np.log(10 * self.size), 0.0, np.log(self.size), 0

    def heard(self, acceptance: float) -> None:
        self.n += 1
        rate = 1 / (self.n + 10)
        self.mean = (1 - rate) * self.mean + rate * (self.wanted - acceptance)
        now = self.aim - np.sqrt(self.n) / 0.05 * self.mean
        share = self.n**-0.75
        self.smooth = share * now + (1 - share) * self.smooth
        self.size = float(np.exp(now))

    def freeze(self) -> None:
        self.size = float(np.exp(self.smooth))


def move(
    energy: Callable[[FloatArray], tuple[float, FloatArray]],
    q: FloatArray,
    at: tuple[float, FloatArray],
    mass: FloatArray,
    size: float,
    n_steps: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, tuple[float, FloatArray], float]:
    """(next point, its energy and gradient, probability of acceptance) from q with ``at`` = energy(q)."""
    size = size * rng.uniform(0.8, 1.2)
    p = rng.standard_normal(q.shape) * np.sqrt(mass)
    value, gradient = at
    start = value + 0.5 * float((p**2 / mass).sum())
    new = q.copy()
    with np.errstate(over="ignore", invalid="ignore"):  # a step that is too long diverges beyond every number
        for _ in range(n_steps):
            p = p - 0.5 * size * gradient
            new = new + size * p / mass
            value, gradient = energy(new)
            p = p - 0.5 * size * gradient
            if not np.isfinite(value) or value - start > 1000:  # diverged: refused
                return q, at, 0.0
        total = value + 0.5 * float((p**2 / mass).sum())
    chance = float(np.exp(min(0.0, start - total))) if np.isfinite(total) else 0.0
    if rng.random() < chance:
        return new, (value, gradient), chance
    return q, at, chance


@dataclass(frozen=True)
class PathSum:
    """Documents X (n_docs x n_features), the leaf and weight of each, the tree, priors of tau and sigma."""

    X: Matrix
    target: IntArray  # the leaf of every document
    c: FloatArray
    tree: LabelTree
    tau_prior: tuple[float, float] = (1.0, 1.0)
    sigma_prior: tuple[float, float] = (1.0, 1.0)

    @cached_property
    def branches(self) -> Matrix:
        """n_leaves x branches, 0/1: those on the path to each leaf; dense where it is small, as products are then."""
        found = self.tree.paths[:, 1:]
        return found.toarray() if found.shape[0] * found.shape[1] <= 10**5 else found

    @cached_property
    def owner(self) -> IntArray:
        """For every branch the number, among the inner vertices, of the one it hangs on."""
        return np.searchsorted(self.tree.inner, self.tree.parent[1:])

    def leaves_of(self, phi: FloatArray) -> FloatArray:
        """beta (n_leaves x n_features) of branches phi (all vertices but the root x n_features)."""
        return np.asarray(self.branches @ phi)

    def scale(self, tau: FloatArray, sigma: FloatArray) -> FloatArray:
        """Prior standard deviation of every branch; tau by inner vertex, sigma by feature."""
        return tau[self.owner][:, None] * sigma[None]

    def energy(self, eps: FloatArray, scale: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log posterior of the whitened branches, and its gradient; single precision for the products."""
        beta = self.leaves_of(scale * eps)
        R = np.asarray(self.X @ beta.T.astype(self.X.dtype))
        own = (np.arange(len(R)), self.target)
        R -= R.max(axis=1, keepdims=True)
        at_label = R[own]
        np.exp(R, out=R)
        total = R.sum(axis=1)
        value = float(self.c @ (np.log(total) - at_label))
        R *= (self.c / total).astype(R.dtype)[:, None]
        R[own] -= self.c
        pull = np.asarray(R.T @ self.X if isinstance(self.X, np.ndarray) else (self.X.T @ R).T, np.float64)
        gradient = eps + scale * np.asarray(self.branches.T @ pull)
        return value + 0.5 * float((eps**2).sum()), gradient

    def draw_scales(
        self, phi: FloatArray, sigma: FloatArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """tau given sigma, then sigma given tau."""
        inner, parent = self.tree.inner, self.owner
        children, d = np.bincount(parent, minlength=len(inner)), phi.shape[1]
        a, b = self.tau_prior
        spread = np.bincount(parent, weights=(phi**2 / sigma**2).sum(axis=1), minlength=len(inner))
        tau = rng.gamma(a + 0.5 * children * d, 1 / (b + 0.5 * spread)) ** -0.5
        a, b = self.sigma_prior
        spread = (phi**2 / tau[parent][:, None] ** 2).sum(axis=0)
        sigma = rng.gamma(a + 0.5 * len(phi), 1 / (b + 0.5 * spread)) ** -0.5
        return self._exchange(tau, sigma, rng)

    def _exchange(self, tau: FloatArray, sigma: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Move all tau by e^z and all sigma by e^-z: only their products matter to phi, so that Gibbs draws creep here.

        Metropolis steps for z; in logarithms a Gamma(a, b) density of u is a log u - b u, with u = tau^-2 e^-2z.
        """
        u, v = tau**-2.0, sigma**-2.0
        (a, b), (e, f) = self.tau_prior, self.sigma_prior

        def height(z: float) -> float:
            drift = -2 * z * (a * len(u) - e * len(v))
            return float(drift - b * u.sum() * np.exp(-2 * z) - f * v.sum() * np.exp(2 * z))

        z, width = 0.0, 1 / np.sqrt(a * len(u) + e * len(v))
        for _ in range(5):
            other = z + width * rng.standard_normal()
            if np.log(rng.random()) < height(other) - height(z):
                z = other
        return tau * np.exp(z), sigma * np.exp(-z)

    def curvature(self, scale: FloatArray, max_steps: int = 50) -> tuple[FloatArray, FloatArray]:
        """(branches at the mode for given scales, how sharply the data alone bends there) by branch and feature."""
        rho = np.vstack([np.full((1, scale.shape[1]), 1e8), scale**-2.0])  # a root that stays at 0
        X = self.X.astype(np.float64)
        start = np.zeros((self.tree.n_leaves, X.shape[1]))
        likelihood = SoftmaxLikelihood(np.eye(self.tree.n_leaves)[self.target], self.c)
        mode = find_mode(X, likelihood, self.tree, rho, start, 1e-4, max_steps)
        squares = X**2 if isinstance(X, np.ndarray) else X.multiply(X)
        bend = np.asarray(squares.T @ likelihood.curvature(mode.probabilities)).T
        phi = mode.weights[1:] - mode.weights[self.tree.parent[1:]]
        return phi, np.asarray(self.branches.T @ bend)


@dataclass(frozen=True)
class Sampling:
    """How long, how many leapfrog steps, how many samples to keep; ``seconds`` a chain may take at most."""

    n_iter: int
    burn_in: int
    n_leapfrog: int
    n_kept: int
    seconds: float = math.inf
    show: bool = False  # a bar of the iterations

    def begins(self, number: int, clock: Clock) -> bool:
        """Whether draws count from now on: the burn-in is over, or its share of the time is."""
        late = clock.limit < math.inf and clock.remaining <= (1 - self.burn_in / self.n_iter) * clock.limit
        return number >= self.burn_in or late


@dataclass
class Chain:
    """Kept leaf coefficients (n_kept x n_leaves x n_features), draws of what is watched, and how it went."""

    beta: FloatArray
    watched: FloatArray  # draws x (tau, sigma, log-likelihood, some coefficients)
    loss: float  # minus the log-likelihood, averaged over the draws
    acceptance: float
    step: float
    n_iter: int


def sample_chain(posterior: PathSum, task: tuple[Sampling, int]) -> Chain:
    """Task: (sampling, seed)."""
    how, seed = task
    rng, clock = np.random.default_rng(seed), Clock(None if how.seconds == math.inf else how.seconds)
    n, d = posterior.tree.n_vertices - 1, posterior.X.shape[1]
    tau: FloatArray = np.full(len(posterior.tree.inner), 0.3)
    sigma: FloatArray = np.ones(d)
    mode, bend = posterior.curvature(posterior.scale(tau, sigma))
    phi = mode + 0.1 * rng.standard_normal((n, d))  # chains begin apart
    step, drawn, first = Step(0.2), _Draws(), how.n_iter
    places = np.unique(np.linspace(0, how.n_iter - how.burn_in - 1, how.n_kept).astype(int))
    with progress("sampling", how.n_iter, show=how.show) as advance:
        for number in range(how.n_iter):
            if number < first and how.begins(number, clock):
                first = number
                step.freeze()
            if clock.over and number > first:
                break
            tau, sigma = posterior.draw_scales(phi, sigma, rng)
            scale = posterior.scale(tau, sigma)
            energy = _Energy(posterior, scale)
            start = phi / scale
            eps, at, chance = move(energy, start, energy(start), 1 + scale**2 * bend, step.size, how.n_leapfrog, rng)
            phi = scale * eps
            advance(1)
            if number >= first:
                loss = at[0] - 0.5 * float((eps**2).sum())
                drawn.add(tau, sigma, loss, chance, posterior.leaves_of(phi), keep=number - first in places)
                continue
            step.heard(chance)
            if number == how.burn_in // 2:  # curvature where the chain has got to, with scales of its size
                bend = posterior.curvature(scale)[1]
                step = Step(step.size)
    return drawn.chain(step.size, first)


@dataclass
class _Draws:
    """What is kept of a chain after its burn-in."""

    kept: list[FloatArray] = field(default_factory=list)
    watched: list[FloatArray] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    accepted: list[float] = field(default_factory=list)

    def add(
        self, tau: FloatArray, sigma: FloatArray, loss: float, chance: float, beta: FloatArray, *, keep: bool
    ) -> None:
        self.losses.append(loss)
        self.accepted.append(chance)
        self.watched.append(np.concatenate([tau, sigma, [loss], beta.ravel()[:: max(1, beta.size // 50)]]))
        if keep:
            self.kept.append(beta.astype(np.float32))

    def chain(self, step: float, first: int) -> Chain:
        found = (np.array(self.kept), np.array(self.watched), float(np.mean(self.losses)))
        return Chain(*found, float(np.mean(self.accepted)), step, first + len(self.losses))


@dataclass(frozen=True)
class _Energy:
    posterior: PathSum
    scale: FloatArray

    def __call__(self, eps: FloatArray) -> tuple[float, FloatArray]:
        return self.posterior.energy(eps, self.scale)
