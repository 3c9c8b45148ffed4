"""corrMNL: soft-max regression whose coefficients are sums along the paths of the taxonomy, sampled by MCMC.

    beta_n = sum of phi_a over the branches to label n,      phi ~ N(0, sigma^2 tau^2),      p(n | x) ~ e^{beta_n'x}

B. Shahbaba and R. M. Neal, Bayesian Analysis 2(1), 2007. Labels that share branches have correlated coefficients.
Probabilities are averaged over samples of the posterior. The sampler is described below. Chains are compared by

    R-hat   chains cut in halves; sqrt of (pooled variance / variance within), 1 where all agree
    ESS     draws / (1 + 2 sum of autocorrelations), summed in pairs while these are positive (Geyer)

A. Gelman et al., "Bayesian Data Analysis", 3rd edition, section 11.

The posterior of corrMNL, and a sampler for it.

    beta_n = sum of phi_a over the branches a on the path to leaf n (without the root),      y | x ~ softmax(X beta')
    phi_aj ~ N(0, sigma_j^2 tau_pi(a)^2),      1/sigma_j^2 ~ Gamma(1, 1),   1/tau_n^2 ~ Gamma(shape, rate)

One iteration: a Hamiltonian move of all phi in whitened coordinates eps = phi / (sigma tau), where the prior is a
standard normal; then draws of all 1/tau^2 and 1/sigma^2 given phi, which are Gamma again, and an exchange of scale
between the two:

    1/tau_n^2 ~ Gamma(shape + n_children d / 2, rate + 1/2 sum over its branches and features of phi^2 / sigma^2)

Where the data say little about branches, phi and its scale follow each other, and these draws creep. A second
Hamiltonian move, of all log tau and log sigma at fixed eps, takes phi along with its scales:

    U(log tau, log sigma) = loss(scale * eps) + sum of 2 a t + b e^-2t over the scales, t = log tau or log sigma

It is interwoven with the first (Y. Yu and X.-L. Meng, JCGS 20(3), 2011): each is quick where the other is slow. Where
the data determine some directions of phi and leave others open, both are slow. Every few iterations a long move of
scales and eps together, with the sum of the two energies, goes from one end of the posterior to the other.

The mass of the moves is the curvature of the posterior at its mode, coordinate by coordinate, with the tau and sigma
of the moment, or for joint moves those of the middle of the burn-in: these do not change during a move, so it leaves
the posterior alone.

A Hamiltonian move with a diagonal mass goes far through many dimensions at once, exact in the limit:

    H(q, p) = U(q) + 1/2 sum p^2 / mass,      p ~ N(0, mass),   leapfrog steps,   accepted with min(1, e^{H - H'})

The step is adapted by dual averaging (M. Hoffman and A. Gelman, JMLR 2014) towards a wanted acceptance while a chain
burns in, then frozen; each move shakes it by a fifth, because no fixed number of steps may return to where it began.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state

from linnaeus.data.check import Problem
from linnaeus.data.matrices import with_constant
from linnaeus.engine import Clock, get_engine, single_blas_thread
from linnaeus.errors import DataError, ParameterError, check_choice, check_number, warn_user
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.bayes.modes import SoftmaxLikelihood, find_mode
from linnaeus.models.fitting import require_two_classes
from linnaeus.models.label_tree import LabelTree, label_tree
from linnaeus.progress import progress
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import Engine, FloatArray, IntArray, Matrix

__all__ = ["Chain", "CorrMNL", "PathSum", "Sampling", "Step", "move", "sample_chain"]


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
        """For every branch the number, among the inner vertices, of the one that it starts from."""
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

    def scales_energy(self, t: FloatArray, eps: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log posterior of t = (log tau, log sigma) for whitened branches ``eps``, and its gradient."""
        n = len(self.tree.inner)
        value, gradient = self.energy(eps, self.scale(np.exp(t[:n]), np.exp(t[n:])))
        prior, slope = self._scales_prior(t)
        return value - 0.5 * float((eps**2).sum()) + prior, slope + self._by_scale((gradient - eps) * eps)

    def joint_energy(self, q: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log posterior of q, log tau, log sigma and the whitened branches in one row, and its gradient."""
        n, n_scales = len(self.tree.inner), len(self.tree.inner) + self.X.shape[1]
        t, eps = q[:n_scales], q[n_scales:].reshape(-1, self.X.shape[1])
        value, gradient = self.energy(eps, self.scale(np.exp(t[:n]), np.exp(t[n:])))
        prior, slope = self._scales_prior(t)
        slope = slope + self._by_scale((gradient - eps) * eps)
        return value + prior, np.concatenate([slope, gradient.ravel()])

    def _scales_prior(self, t: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log prior of t = (log tau, log sigma), and its gradient."""
        n = len(self.tree.inner)
        shape, rate = (np.repeat(both, [n, len(t) - n]) for both in zip(self.tau_prior, self.sigma_prior, strict=True))
        u = np.exp(-2 * t)
        return float((2 * shape * t + rate * u).sum()), 2 * shape - 2 * rate * u

    def loss_without_prior(self, t: FloatArray, energy: float) -> float:
        """Minus the log-likelihood where `scales_energy` is ``energy``."""
        return energy - self._scales_prior(t)[0]

    def scales_mass(self, phi: FloatArray, bend: FloatArray) -> FloatArray:
        """How sharply prior and data bend the energy of `scales_energy`, for branches ``phi`` that data bend so."""
        n, d = len(self.tree.inner), phi.shape[1]
        return 4 * np.repeat([self.tau_prior[0], self.sigma_prior[0]], [n, d]) + self._by_scale(phi**2 * bend)

    def _by_scale(self, A: FloatArray) -> FloatArray:
        """Sums of A (branches x features) over what each tau, then each sigma, scales."""
        return np.append(np.bincount(self.owner, A.sum(axis=1), len(self.tree.inner)), A.sum(axis=0))

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
    scales_step, mass, joint_mass = Step(0.2), posterior.scales_mass(mode, bend), np.empty(0)
    places = np.unique(np.linspace(0, how.n_iter - how.burn_in - 1, how.n_kept).astype(int))
    with progress("sampling", how.n_iter, show=how.show) as advance:
        for number in range(how.n_iter):
            if number < first and how.begins(number, clock):
                first = number
                step.freeze()
                scales_step.freeze()
            if clock.over and number > first:
                break
            tau, sigma = posterior.draw_scales(phi, sigma, rng)
            scale = posterior.scale(tau, sigma)
            energy = _Energy(posterior, scale)
            start, began = phi / scale, time.perf_counter()
            eps, _, chance = move(energy, start, energy(start), 1 + scale**2 * bend, step.size, how.n_leapfrog, rng)
            scales, loss, taken = _move_scales(
                posterior, np.log(np.append(tau, sigma)), eps, mass, scales_step.size, rng
            )
            # Without a mass where a time limit ended the burn-in early; of little time that is left it takes none.
            size = _LONG_STEP * min(step.size, scales_step.size)
            likely = _long_steps(size) / how.n_leapfrog * (time.perf_counter() - began)
            if len(joint_mass) and number % _LONG_EVERY == 0 and likely <= _LONG_SHARE * clock.remaining:
                scales, eps, loss = _move_jointly(posterior, scales, eps, joint_mass, size, rng)
            tau, sigma = np.exp(scales[: len(tau)]), np.exp(scales[len(tau) :])
            scale = posterior.scale(tau, sigma)
            phi = scale * eps
            advance(1)
            if number >= first:
                drawn.add(tau, sigma, loss, chance, posterior.leaves_of(phi), keep=number - first in places)
                continue
            step.heard(chance)
            scales_step.heard(taken)
            if number == how.burn_in // 2:  # curvature where the chain has got to, with scales of its size
                bend = posterior.curvature(scale)[1]
                step, scales_step, mass = Step(step.size), Step(scales_step.size), posterior.scales_mass(phi, bend)
                joint_mass = np.append(mass, 1 + scale**2 * bend)
    return drawn.chain(step.size, first)


def _move_scales(
    posterior: PathSum, t: FloatArray, eps: FloatArray, mass: FloatArray, size: float, rng: np.random.Generator
) -> tuple[FloatArray, float, float]:
    """(logarithms of tau and sigma, minus the log-likelihood, probability of acceptance) after a move at fixed eps."""

    def energy(t: FloatArray) -> tuple[float, FloatArray]:
        return posterior.scales_energy(t, eps)

    t, at, chance = move(energy, t, energy(t), mass, size, _SCALES_LEAPFROG, rng)
    return t, posterior.loss_without_prior(t, at[0]), chance


def _move_jointly(
    posterior: PathSum, t: FloatArray, eps: FloatArray, mass: FloatArray, size: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, float]:
    """(logarithms of tau and sigma, eps, minus the log-likelihood) after a long move of all of them."""
    q = np.append(t, eps)
    q, at, _ = move(posterior.joint_energy, q, posterior.joint_energy(q), mass, size, _long_steps(size), rng)
    t, eps = q[: len(t)], q[len(t) :].reshape(eps.shape)
    return t, eps, posterior.loss_without_prior(t, at[0]) - 0.5 * float((eps**2).sum())


def _long_steps(size: float) -> int:
    """Leapfrog steps of a joint move."""
    return min(_MOST_STEPS, math.ceil(_LONG / size))


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


_R_HAT = 1.05
_SCALES_LEAPFROG = 5  # steps of a move of the scales
_LONG_EVERY = 5  # iterations from one joint move of scales and branches to the next
_LONG, _MOST_STEPS = 8.0, 400  # length of a joint move, in whitened units, and its steps
_LONG_STEP = 0.6  # of the smaller step of the two other moves
_LONG_SHARE = 0.1  # of the time that is left for a joint move at most
_LIGHT = 10**5  # documents x labels from which products are in single precision


class CorrMNL(TaxonomyClassifier):
    """Multinomial logit with correlated coefficients (corrMNL), sampled; exactly one label per document.

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        A tree; None makes a flat one (or, for paths, a tree) from y.
    n_iter : int, default=300
        Iterations of a chain. The paper ran 2,500.
    burn_in : int, default=100
        How many of them to discard. The paper discarded 1,000.
    n_chains : int, default=1
        Chains from different starts, for R-hat; they run on ``n_jobs`` threads, or a cluster (``engine``).
    n_leapfrog : int, default=10
        Steps of a Hamiltonian move.
    n_samples : int, default=100
        Samples of each chain to keep for predictions.
    tau_prior : tuple of float, default=(1.0, 0.1)
        Shape and rate of the Gamma prior of 1/tau^2 (branches).
    sigma_prior : tuple of float, default=(1.0, 1.0)
        Shape and rate of the Gamma prior of 1/sigma^2 (features).
    fit_intercept : bool, default=True
        Add a constant feature, with a scale of its own.
    parents : str, default="only"
        What to do with nodes with several parents: refuse them ("only"), or take the first by name ("first").
    max_time : float or str, default=None
        Seconds (or "10m") at most, of which the burn-in has its share; the same seed then gives the same draws only as
        far as they go.
    n_jobs : int, default=None
        Number of threads for chains; None is 1, -1 all cores. The draws do not depend on it.
    engine : str or Engine, default=None
        "serial", "threads", "ray" or an engine; default: by ``n_jobs``.
    random_state : int or RandomState, default=None
        Seed of the chains.
    verbose : int, default=0
        Show a progress bar if above 0.

    Attributes
    ----------
    samples_ : ndarray of shape (n_samples, n_classes, n_features)
        The coefficients that were kept; with ``fit_intercept`` the constant is the last feature.
    weights_ : ndarray of shape (n_features, n_classes)
        Posterior means of the coefficients.
    intercept_ : ndarray of shape (n_classes,)
        Posterior means of the constants.
    r_hat_, effective_sample_size_ : ndarray
        Convergence diagnostics of the scales, the log-likelihood and about fifty coefficients.
    acceptance_ : ndarray of shape (n_chains,)
        Share of accepted moves of each chain.
    n_iter_ : int
        Number of iterations of a chain; of the shortest one, if ``max_time`` ended them.
    objective_ : float
        Minus the log-likelihood of the training documents, averaged over the draws.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import CorrMNL, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.repeat(np.eye(3), 5, axis=0)
    >>> model = CorrMNL(taxonomy=tax, random_state=0).fit(X, ["AA"] * 5 + ["AB"] * 5 + ["B"] * 5)
    >>> model.predict(np.eye(3)).tolist()
    ['AA', 'AB', 'B']
    """

    samples_: FloatArray
    weights_: FloatArray
    intercept_: FloatArray

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        n_iter: int = 300,
        burn_in: int = 100,
        n_chains: int = 1,
        n_leapfrog: int = 10,
        n_samples: int = 100,
        tau_prior: tuple[float, float] = (1.0, 0.1),
        sigma_prior: tuple[float, float] = (1.0, 1.0),
        fit_intercept: bool = True,
        parents: str = "only",
        max_time: float | str | None = None,
        n_jobs: int | None = None,
        engine: str | Engine | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.n_iter = n_iter
        self.burn_in = burn_in
        self.n_chains = n_chains
        self.n_leapfrog = n_leapfrog
        self.n_samples = n_samples
        self.tau_prior = tau_prior
        self.sigma_prior = sigma_prior
        self.fit_intercept = fit_intercept
        self.parents = parents
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("n_iter", "n_chains", "n_leapfrog", "n_samples"):
            check_number(name, getattr(self, name), least=1, whole=True)
        check_number("burn_in", self.burn_in, least=0, whole=True)
        if self.burn_in >= self.n_iter:
            raise ParameterError(f"burn_in={self.burn_in}; expected less than n_iter={self.n_iter}.")
        check_choice("parents", self.parents, ("only", "first"))
        Clock(self.max_time)
        for name in ("tau_prior", "sigma_prior"):
            given = getattr(self, name)
            if not (isinstance(given, (tuple, list)) and len(given) == 2):
                raise ParameterError(f"{name}={given!r}; expected two numbers, shape and rate.")
            for value in given:
                check_number(f"{name}", value, above=0)

    # -- learning ------------------------------------------------------------------------------------------------------

    def _fit(self, problem: Problem) -> None:
        Y = self._targets(problem, "frontier")[:, self.nodes_]
        sizes = np.diff(Y.indptr)
        if (sizes != 1).any():
            document = int(np.flatnonzero(sizes != 1)[0])
            raise DataError(
                f"CorrMNL learns exactly one label per document, but document {document} has {sizes[document]}; "
                "HBLR and RRLogistic learn label sets."
            )
        require_two_classes(problem, self.nodes_, one_label_each=True)
        tree = label_tree(problem.taxonomy, self.nodes_, parents=self.parents)
        names = np.array([str(problem.taxonomy.names[v]) if v >= 0 else "" for v in tree.node])
        tree = tree.ordered_by(names)  # the same draws for the same names, however nodes are numbered
        c = np.ones(problem.n_docs) if problem.weights is None else np.asarray(problem.weights, np.float64)
        priors = [(float(a), float(b)) for a, b in (self.tau_prior, self.sigma_prior)]
        dtype = np.float32 if problem.n_docs * len(self.nodes_) > _LIGHT else np.float64
        posterior = PathSum(with_constant(problem.X, float(self.fit_intercept), dtype), Y.indices, c, tree, *priors)
        engine = get_engine(self.engine, self.n_jobs)
        together = min(getattr(engine, "n_workers", None) or self.n_chains, self.n_chains)
        seconds = Clock(self.max_time).limit * together / self.n_chains
        how = Sampling(self.n_iter, self.burn_in, self.n_leapfrog, self.n_samples, seconds, self.verbose > 0)
        seeds = check_random_state(self.random_state).randint(2**31, size=self.n_chains)
        with single_blas_thread():
            chains = list(engine.map(sample_chain, [(how, int(seed)) for seed in seeds], shared=posterior))
        self._take(chains, problem.X)

    def _take(self, chains: list[Chain], X: Matrix) -> None:
        self.samples_ = np.concatenate([chain.beta for chain in chains])
        least = min(len(chain.watched) for chain in chains)  # the same for all unless time was short
        draws = np.stack([chain.watched[:least] for chain in chains])
        self.acceptance_ = np.array([chain.acceptance for chain in chains])
        enough = draws.shape[1] >= 4
        self.r_hat_ = split_r_hat(draws) if enough else np.full(draws.shape[2], np.nan)
        self.effective_sample_size_ = effective_sample_size(draws) if enough else np.ones(draws.shape[2])
        mean, d = self.samples_.mean(axis=0).T, X.shape[1]
        self.weights_ = np.ascontiguousarray(mean[:d])
        self.intercept_ = mean[d].copy() if self.fit_intercept else np.zeros(len(self.nodes_), np.float32)
        self.n_iter_ = min(chain.n_iter for chain in chains)
        self.time_limit_reached_ = self.n_iter_ < self.n_iter
        self.objective_ = float(np.mean([chain.loss for chain in chains]))
        if len(chains) > 1 and float(np.nanmax(self.r_hat_)) > _R_HAT:
            warn_user(
                f"the chains disagree: R-hat is up to {float(np.nanmax(self.r_hat_)):.2f}, more than {_R_HAT}; raise "
                "n_iter or n_leapfrog.",
                ConvergenceWarning,
            )

    # -- answering -----------------------------------------------------------------------------------------------------

    def _scores(self, X: Matrix) -> FloatArray:
        """Logarithms of the probabilities."""
        return np.log(np.maximum(self._probabilities(X), np.finfo(np.float64).tiny))

    def _probabilities(self, X: Matrix) -> FloatArray:
        """Soft-max, averaged over the samples."""
        X, d = X.astype(np.float64), X.shape[1]
        P = np.zeros((X.shape[0], len(self.nodes_)))
        for sample in self.samples_:
            S = np.asarray(X @ sample[:, :d].T.astype(np.float64))
            if self.fit_intercept:
                S = S + sample[:, d]
            S = np.exp(S - S.max(axis=1, keepdims=True))
            P += S / S.sum(axis=1, keepdims=True)
        return P / len(self.samples_)

    def predict_proba(self, X: object) -> FloatArray:
        """Probability of every label, averaged over the posterior, n_docs x len(classes_); rows sum to 1."""
        if self.calibrator_ is not None:
            return self._calibrated(X)
        P = np.exp(self._all_scores(X))
        return P / P.sum(axis=1, keepdims=True)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        tags.non_deterministic = False
        return tags


def split_r_hat(draws: FloatArray) -> FloatArray:
    """R-hat of every quantity; ``draws`` is n_chains x n_draws x n_quantities.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> draws = rng.normal(size=(4, 500, 1))
    >>> bool(split_r_hat(draws)[0] < 1.02), bool(split_r_hat(draws + np.arange(4)[:, None, None])[0] > 1.3)
    (True, True)
    """
    halves = _halves(draws)
    n = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = n * halves.mean(axis=1).var(axis=0, ddof=1)
    pooled = (n - 1) / n * within + between / n
    return np.sqrt(pooled / np.maximum(within, np.finfo(float).tiny))


def effective_sample_size(draws: FloatArray) -> FloatArray:
    """How many independent draws all chains together are worth, for every quantity.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bool(1500 < effective_sample_size(rng.normal(size=(4, 500, 1)))[0] < 2600)
    True
    """
    halves = _halves(draws)
    m, n, _ = halves.shape
    centred = halves - halves.mean(axis=1, keepdims=True)
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, size, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, size, axis=1)[:, :n] / n
    within = covariance[:, 0].mean(axis=0) * n / (n - 1)
    pooled = within * (n - 1) / n + halves.mean(axis=1).var(axis=0, ddof=1)
    rho = 1 - (within - covariance.mean(axis=0)) / np.maximum(pooled, np.finfo(float).tiny)
    pairs = rho[: n // 2 * 2].reshape(n // 2, 2, -1).sum(axis=1)
    pairs = np.minimum.accumulate(np.where(np.minimum.accumulate(pairs > 0, axis=0), pairs, 0), axis=0)
    return m * n / np.maximum(2 * pairs.sum(axis=0) - 1, 1 / np.log10(m * n))


def _halves(draws: FloatArray) -> FloatArray:
    n = draws.shape[1] // 2
    return np.concatenate([draws[:, :n], draws[:, -n:]]).astype(np.float64)
