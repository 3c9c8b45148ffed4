"""Two ways to the mode of all weights for given precisions, with Laplace's variances: the stages of `maximise`.

`Together` solves one problem in all leaves and inner vertices (`modes`). `InTurn`, for binary likelihoods, solves
blocks of leaves on an engine (`leaves`), then moves all inner vertices between them. One call is one round of the
paper's parallel scheme: leaves and inner vertices do not wait for each other to settle before precisions move. Only
sums over features are kept of variances and differences, so that memory is that of the weights.

Covariances of the leaves are diagonal, or full, each leaf by itself: Psi_n = (X' Diag(b_n) X + Diag(prec_n))^-1, where
b_n is how much the documents bend the (bound on the) loss of leaf n. Where features are correlated the inverse of the
diagonal is far narrower than the diagonal of the inverse: the data then seem to determine features that they do not,
precisions are learned too high, and rare labels suffer. With d features a leaf takes n_docs d^2 + d^3 operations and
d^2 numbers, so this is for some hundred features (`fits`).

Partial maximum a posteriori takes weights at their mode, Laplace's variances, posteriors of the precisions.

    repeat   1  all weights := the mode for the expected precisions              (`Together`, `InTurn`)
             2  leaves: Psi = (X' Diag(p (1 - p)) X + prec)^-1, or 1 / its diagonal where there are many features;
                inner: Psi_i = 1 / (prec + sum of the children's)
             3  precisions := their posterior, given means and variances         (`precisions`)
    until neither weights nor precisions move

The third step is taken in its quick form. With the posterior of the tree (``joint``), which `precisions` explains, it
is a step of Newton's method, lengthened where it keeps its direction, and the end of a fit with rare labels is where

    precisions   the weighted root mean square of the steps of log prec is at most tol
    weights      the objective for these precisions is certified to be at most tol of its value above its least:
                 1/2 r'A^-1 r + 1/2 sum over leaves prec |distance to the mode|^2 <= tol * objective

with r the slopes of the prior at the inner vertices and A its curvature (documents only add to it). Otherwise rounds
end when no precision and not the weights change by more than tol, relative to their size, and are accelerated by
Anderson's method: the next point mixes the last few, with the same fixed points. For an iteration
x <- F(x) with residuals f_k = F(x_k) - x_k, the mixture is the one whose residual, if F were linear, would be least:

    min over gamma |f_k - D gamma|,      x_{k+1} = F(x_k) - (E + D) gamma,      D, E: differences of f and of x
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from linnaeus._kernels.dispatch import best
from linnaeus.engine import Clock, blocks, local_engine
from linnaeus.models.bayes.leaves import LeafModes, LeafTask, Shared, solve_leaves
from linnaeus.models.bayes.modes import BinaryLikelihood, SoftmaxLikelihood, find_mode
from linnaeus.models.bayes.precisions import Precisions
from linnaeus.models.checkpoint import Checkpoint, Pace
from linnaeus.models.label_tree import LabelTree
from linnaeus.typing import CSR, Array, Engine, FloatArray, IntArray, Matrix

__all__ = [
    "Anderson",
    "InTurn",
    "Posterior",
    "Round",
    "Rounds",
    "Stage",
    "Together",
    "determined_shares",
    "fits",
    "has_rare_labels",
    "inner_stiffness",
    "laplace",
    "leaf_covariances",
    "link_spread",
    "maximise",
    "moved",
]


class Anderson:
    """Feed it x and F(x), it answers where to look next.

    Steps are never longer than ``most`` in any coordinate.

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

    def arrays(self) -> dict[str, FloatArray]:
        """The memory, for a checkpoint."""
        return {"points": np.array(self.points), "residuals": np.array(self.residuals)}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over the memory of a checkpoint."""
        self.points, self.residuals = list(np.array(arrays["points"])), list(np.array(arrays["residuals"]))


class LengthenedSteps:
    """Steps of a fixed point that is slow in some coordinates: one that keeps its direction takes longer steps.

    Its step is multiplied by a factor that grows by a third every time, up to 4, and is 1 again where the step has
    changed its sign.

    Examples
    --------
    >>> longer, x = LengthenedSteps(), np.array([0.0, 0.0])
    >>> for _ in range(25):
    ...     x = longer(x, np.array([0.9 * x[0] + 0.1, 0.2 * x[1] - 0.8]))
    >>> x.round(2).tolist()
    [1.0, -1.0]
    """

    def __init__(self) -> None:
        self.factor = self.last = np.zeros(0)

    def __call__(self, x: FloatArray, image: FloatArray) -> FloatArray:
        step = image - x
        if self.last.shape != step.shape:
            self.factor, self.last = np.ones(step.shape), np.zeros(step.shape)
        self.factor = np.where(step * self.last > 0, np.minimum(_LONGEST, _LENGTHENED * self.factor), 1.0)
        self.last = step
        return x + self.factor * step

    def arrays(self) -> dict[str, Array]:
        """What is remembered, for a checkpoint."""
        return {"step_factor": self.factor, "step_last": self.last}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over the memory of a checkpoint."""
        self.factor, self.last = np.array(arrays["step_factor"]), np.array(arrays["step_last"])


_LENGTHENED, _LONGEST = 4 / 3, 4.0


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


_SHARE = 20  # of the time between two writes of a state at most this fraction (1/20) is spent on them


class Rounds:
    """What is kept of the rounds of an inference in a checkpoint; nothing without one.

    A round depends on the state before it alone, so that a fit that continues from a written state ends where an
    uninterrupted one does. States of rounds that a time limit cut short are not written.
    """

    def __init__(self, checkpoint: Checkpoint | None = None) -> None:
        self.checkpoint = checkpoint
        self._pace = None if checkpoint is None else Pace(checkpoint.every, _SHARE)

    def load(self) -> dict[str, Array] | None:
        """The state after the last round that was written, or None."""
        return None if self.checkpoint is None or "state" not in self.checkpoint else self.checkpoint.get("state")

    def save(self, state: Callable[[], Mapping[str, Array]], *, due: bool = False) -> None:
        """Write the state after a round: at once if ``due``, otherwise where enough time has passed."""
        if self.checkpoint is None or self._pace is None:
            return
        start = time.monotonic()
        if due or self._pace.due:
            self.checkpoint.put("state", state())
            self.checkpoint.commit()
            self._pace.wrote(start)

    def finish(self, posterior: Posterior) -> None:
        """Keep the result of a fit that came to its end in place of the state."""
        if self.checkpoint is None:
            return
        p = posterior
        arrays = {"mean": p.mean, "tau": p.precisions.tau, "nu": p.precisions.nu, "history": p.history}
        arrays |= {"objectives": p.objectives, "objective": np.array(p.objective), "n_iter": np.array(p.n_iter)}
        arrays |= {"converged": np.array(p.converged)}
        for name, optional in (("variance", p.variance), ("covariance", p.covariance)):
            if optional is not None:
                arrays[name] = optional
        self.checkpoint.put("posterior", arrays)
        self.checkpoint.discard("state")
        self.checkpoint.finish()

    def finished(self, precisions: Precisions) -> Posterior | None:
        """The result of a fit that came to its end; ``precisions`` are those that it began with."""
        if self.checkpoint is None or "posterior" not in self.checkpoint:
            return None
        kept = {name: np.array(array) for name, array in self.checkpoint.get("posterior").items()}
        learned = replace(precisions, tau=kept["tau"], nu=kept["nu"])
        how = (
            float(kept["objective"]),
            int(kept["n_iter"]),
            bool(kept["converged"]),
            kept["history"],
            kept["objectives"],
        )
        return Posterior(kept["mean"], kept.get("variance"), learned, *how, kept.get("covariance"))


@dataclass
class Round:
    """What the first two steps found, and what precisions learn from.

    ``links`` are what `Precisions.newton_step` takes; or ``spread``, q and Psi_n of every vertex but the root, by
    feature. ``moved`` is how far the weights are from those of the round before, or from their mode, relative to their
    norm; ``complete`` is False where a time limit cut the round short.
    """

    weights: FloatArray
    objective: float
    moved: float
    exact: bool
    complete: bool = True
    spread: tuple[FloatArray, FloatArray] | None = None
    links: tuple[FloatArray, FloatArray, FloatArray] | None = None


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

    def arrays(self) -> dict[str, Array]:
        """From where the next call starts, for a checkpoint."""
        ...

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Start the next call from the arrays of a checkpoint."""
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
    rounds: Rounds | None = None,
) -> Posterior:
    """Rounds until the largest relative change is ``tol``; ``learn`` False leaves the precisions as they are.

    No round is started that would take, like the last one, more time than is left. ``rounds`` are continued and kept.
    """
    rounds = Rounds() if rounds is None else rounds
    mix, longer, converged = Anderson(), LengthenedSteps(), False
    history: list[list[float]] = []
    objectives: list[float] = []
    state = rounds.load()
    if state is not None:
        stage.restore(state)
        mix.restore(state)
        longer.restore(state)
        precisions = replace(precisions, tau=np.array(state["tau"]), nu=np.array(state["nu"]))
        history, objectives = state["history"].tolist(), state["objectives"].tolist()

    def kept() -> dict[str, Array]:
        arrays = stage.arrays() | mix.arrays() | longer.arrays() | {"tau": precisions.tau, "nu": precisions.nu}
        return arrays | {"history": np.array(history), "objectives": np.array(objectives)}

    for number in range(len(history) + 1, max_iter + 1):
        rho, before = precisions.at_vertices(), clock.remaining
        found = stage(rho, tol, clock)
        change = [0.0, found.moved]
        converged = not learn and (found.exact or found.moved <= tol)
        if learn:
            if found.links is not None:
                new, change[0] = precisions.newton_step(*found.links)
            elif found.spread is not None:
                new = precisions.well_determined(*found.spread)
                change[0] = float(np.abs(new.mean / precisions.mean - 1).max())
            converged = max(change) <= tol
        history.append(change)
        objectives.append(found.objective)
        if after is not None:
            after(max(change))
        last = precisions
        if converged or number == max_iter:
            break
        stops = clock.over or clock.remaining < before - clock.remaining
        if learn:
            accelerate = mix if found.links is None else longer
            precisions = new.moved_to(np.exp(accelerate(np.log(precisions.mean), np.log(new.mean))))
        if found.complete:
            rounds.save(kept, due=stops)
        if stops:
            break
    how = (found.objective, number, converged, np.array(history), np.array(objectives))
    posterior = Posterior(found.weights, stage.variance, last, *how, stage.covariance)
    if converged or number == max_iter:
        rounds.finish(posterior)
    return posterior


def moved(before: FloatArray, now: FloatArray) -> float:
    """How far weights have moved, relative to their norm."""
    return float(np.linalg.norm(now - before)) / max(float(np.linalg.norm(now)), 1e-300)


def link_spread(tree: LabelTree, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(q_n, Psi_n) of all vertices but the root, by feature: what the precisions learn from."""
    above = tree.parent[1:]
    own = variance[1:]
    return own + variance[above] + (mean[1:] - mean[above]) ** 2, own


_BLOCK = 16  # leaves to a task
_STEPS = 3  # of Newton's method in a round, where leaves are not solved to their modes
_RARE = 32  # documents of a label, on average, up to which few documents decide about its weights
_AIM, _LOOSE = 0.3, 0.1  # distance of leaves to their modes: of the tolerance, and as long as precisions still change
_FAR = 100.0  # factor between precisions from which the mode of one says nothing about that of the other
_OF_LEAVES = ("prior", "distance", "losses", "gamma", "norms", "above", "response")
_FEATURES = 1024  # at a time, for the inner vertices
_STIFFER = 0.5  # half of what bounds the curvature is enough for steps that do not overshoot
_LARGE = 5 * 10**6  # vertices x features from which weights are in single precision, and rounds lighter
_FULL_FEATURES, _FULL_NUMBERS = 300, 10**8  # for which full covariances are little work
_LEAVES = 8  # to a task, however many threads there are


@dataclass
class Together:
    """All leaves and inner vertices in one problem: the mode to a gap far below the tolerance."""

    X: Matrix
    likelihood: SoftmaxLikelihood | BinaryLikelihood
    tree: LabelTree
    engine: Engine | None = None  # for full covariances; None keeps to their diagonals
    joint: bool = False  # whether links have the posterior of the tree, for diagonals
    V: FloatArray = field(init=False)
    weights: FloatArray = field(init=False)
    variances: FloatArray = field(init=False)  # of the leaves
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
        exact = mode.gap <= 1e-3 * tol * mode.objective
        found = Round(self.weights, mode.objective, away, exact, exact or not clock.over)
        if self.joint:
            information = np.asarray(self.squares.T @ bend).T
            self.variances = 1 / (information + rho[self.tree.leaves])
            differences = np.square(self.weights)
            differences[1:] = (self.weights[1:] - self.weights[self.tree.parent[1:]]) ** 2
            share = determined_shares(self.tree, rho, information)
            return replace(found, links=(differences, share, share * (1 - share)))
        if self.engine is None:
            variances = laplace(self.squares, bend, self.tree, rho)
        else:
            stiff = np.broadcast_to(inner_stiffness(self.tree, rho), self.weights.shape)
            self.covariance = leaf_covariances(self.X, bend, stiff[self.tree.leaves], self.engine)[0]
            variances = 1 / stiff
            variances[self.tree.leaves] = np.einsum("nii->ni", self.covariance)
        self.variances = variances[self.tree.leaves]
        return replace(found, spread=link_spread(self.tree, self.weights, variances))

    def arrays(self) -> dict[str, Array]:
        return {"V": self.V, "weights": self.weights}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        self.V, self.weights = np.array(arrays["V"]), np.array(arrays["weights"])

    @property
    def variance(self) -> FloatArray:
        return self.variances


def laplace(squares: Matrix, curvature: FloatArray, tree: LabelTree, rho: FloatArray) -> FloatArray:
    """Diagonal Laplace variances of all vertices; ``squares`` are X_i^2, ``curvature`` c p (1 - p) of the leaves."""
    own = np.zeros((tree.n_vertices, squares.shape[1]))
    own[tree.leaves] = np.asarray(squares.T @ curvature).T
    return 1 / (own + inner_stiffness(tree, rho))


def determined_shares(tree: LabelTree, rho: FloatArray, information: FloatArray) -> FloatArray:
    """1 - rho_n Var(w_n - w_parent) of every link and feature (n_vertices x n_features; root: 0).

    ``information`` (n_leaves x n_features) is what documents tell about the leaves. See `_kernels.inner_vertices`.

    Examples
    --------
    >>> tree = LabelTree(np.array([-1, 0]), np.array([1]), np.arange(2))
    >>> determined_shares(tree, np.ones((2, 1)), np.ones((1, 1))).round(6).tolist()
    [[0.0], [0.333333]]
    """
    share, below = np.zeros((tree.n_vertices, information.shape[1])), np.zeros((tree.n_vertices, information.shape[1]))
    below[tree.leaves] = information
    rho = np.broadcast_to(rho, below.shape)
    for level in tree.levels[:0:-1]:
        np.add.at(below, tree.parent[level], rho[level] * below[level] / (rho[level] + below[level]))
    below[0] += 1  # the root's own prior; from here on all that is known of a vertex
    for level in tree.levels[1:]:
        U, r = below[level], rho[level]
        rest = np.maximum(below[tree.parent[level]] - r * U / (r + U), 0)
        share[level] = U * rest / (r * (U + rest) + U * rest + 1e-300)
        below[level] += r * rest / (r + rest)
    return share


def inner_stiffness(tree: LabelTree, rho: FloatArray) -> FloatArray:
    """What the prior alone says about every vertex, as a precision: its link and those of its children."""
    return rho + tree.children_sum(rho)


@dataclass
class InTurn:
    """Y is n_docs x n_leaves, CSC; ``keep`` the variances of the leaves.

    A leaf whose distance to the mode, after what precisions and parents have moved since, is small enough is not solved
    again.
    """

    X: Matrix
    Y: CSR
    c: FloatArray
    tree: LabelTree
    engine: Engine
    keep: bool = True
    joint: bool = False  # whether links have the posterior of the tree; rare leaves are then solved to their modes
    constant: bool = False  # whether the last feature is one: it starts where a label of mean size would have it
    rare: bool = field(init=False)  # whether few documents decide about a leaf, so that it is solved to its mode
    weights: FloatArray = field(init=False)
    information: FloatArray | None = None  # of the leaves, as of their last solution
    covariance: None = None

    def __post_init__(self) -> None:
        self.rare = self.joint and has_rare_labels(self.Y)
        shape = (self.tree.n_vertices, self.X.shape[1])
        dtype = np.float32 if shape[0] * shape[1] > _LARGE else np.float64
        self.weights = np.zeros(shape, dtype)
        if self.constant:
            share = np.clip(self.Y.nnz / max(1, self.Y.shape[0] * self.Y.shape[1]), 1e-6, 0.5)
            self.weights[:, -1] = np.log(share / (1 - share))
        self.information = np.zeros((self.tree.n_leaves, shape[1]), dtype) if self.keep or self.joint else None
        X = self.X.astype(dtype)
        squares = X**2 if isinstance(X, np.ndarray) else X.multiply(X).tocsr()
        self.shared = Shared(X, squares, self.c.astype(dtype), 3.0 if dtype == np.float32 else 0.05)
        # x x' <= nnz(x) Diag(x^2): this multiple of the information is more than what a leaf resists its parent with
        widest = X.shape[1] if isinstance(X, np.ndarray) else int(np.diff(X.indptr).max(initial=1))
        self.stiffer = _STIFFER * widest if self.rare else 0.0
        self.last, self.age = self.weights[self.tree.inner], np.zeros(1)  # optimum before momentum, rounds of it
        n = self.tree.n_leaves
        self.prior, self.distance = np.ones(n), np.full(n, np.inf)  # distance: to the mode, at most
        self.before = np.zeros(n)  # the precisions of the round before, 0 where leaves start afresh
        self.losses, self.gamma, self.norms = np.zeros(n), np.zeros(n), np.zeros(n)
        self.above, self.response = np.zeros(n), np.zeros(n)  # distances to the parents; see `LeafModes`

    def __call__(self, rho: FloatArray, tol: float, clock: Clock) -> Round:
        tree, prior = self.tree, rho[self.tree.leaves, 0]
        share = self.prior / prior
        known = np.isfinite(self.distance) & (np.abs(np.log(share)) < np.log(_FAR))
        self.before = np.where(known, self.prior, 0.0)
        self.distance = self.distance + np.abs(np.log(share)) * self.response
        change = float(np.abs(np.log(share)).max()) if np.isfinite(self.distance).all() else np.inf
        aim = min(max(_AIM * tol, _LOOSE * min(change, 1.0)), _LOOSE)
        self.prior = prior.copy()
        open_ = np.flatnonzero(~(self.distance <= aim * self.above) | (not self.rare))
        away = 0.0
        for part, found in self._solved(open_, aim):
            leaves = tree.leaves[part]
            away += float((found.moved**2).sum())
            self.weights[leaves] = found.weights
            self.losses[part], self.distance[part], self.response[part] = found.losses, found.distance, found.response
            if not self.rare:
                self.norms[part] = np.einsum("ij,ij->i", found.weights, found.weights, dtype=np.float64)
            if not self.joint:
                self.gamma[part] = _determined(found.information, prior[part, None])
            if self.information is not None:
                self.information[part] = found.information
        differences, gap, unsure, against = self._settle_inner(rho)
        self.above = np.sqrt(differences[tree.leaves])
        distance, self.distance = self.distance, self.distance + np.sqrt(unsure[tree.leaves])
        self.age[:] = 0 if against.sum() > 0 else self.age + 1
        objective = float(self.losses.sum()) + 0.5 * float(rho[:, 0] @ differences)
        away = float(np.sqrt(away / max(self.norms.sum(), 1e-300)))
        if self.rare:
            away = (float(gap.sum()) + 0.5 * float(prior @ distance**2)) / max(objective, 1e-300)
        result = Round(self.weights, objective, away, False)
        if self.information is not None and self.joint:
            return replace(result, links=(differences[:, None], *self._links(rho, self.information)[..., None]))
        trace = np.zeros(tree.n_vertices)
        trace[tree.inner] = (self.weights.shape[1] / inner_stiffness(tree, rho)[tree.inner])[:, 0]
        trace[tree.leaves] = (self.weights.shape[1] - self.gamma) / prior
        own = trace[1:, None]
        return replace(result, spread=(own + trace[tree.parent[1:], None] + differences[1:, None], own))

    def start(self, precisions: Precisions) -> Precisions:
        """Where rounds begin; with independent vertices priors are so wide that the first ones would be lost."""
        return precisions if self.joint else precisions.moved_to(np.maximum(precisions.mean, 1.0))

    def _solved(self, leaves: IntArray, tol: float) -> Iterator[tuple[IntArray, LeafModes]]:
        """Numbers of leaves and their modes."""
        parts = [leaves[part] for part in blocks(len(leaves), _BLOCK)]
        tasks = (self._task(part, tol) for part in parts)
        return zip(parts, self.engine.map(solve_leaves, tasks, self.shared), strict=True)

    def _task(self, part: IntArray, tol: float) -> LeafTask:
        leaves = self.tree.leaves[part]
        Y = self.Y[:, part].tocoo()
        centre = self.weights[self.tree.parent[leaves]]
        at = ((Y.row, Y.col), centre, self.prior[part], self.weights[leaves])
        if self.rare:
            return LeafTask(*at, tol, before=self.before[part])
        return LeafTask(*at, 0.0, n_steps=1 if centre.dtype == np.float32 else _STEPS)

    def _settle_inner(self, rho: FloatArray) -> FloatArray:
        """Inner vertices to their optimum, some features at a time.

        Where leaves follow their parents, this is a step of a gradient method (scaled by what bounds the curvature) on
        the inner vertices, accelerated by Nesterov's momentum. The sums of the kernel.
        """
        tree, kernel = self.tree, best("inner_vertices")
        where = (*_numbers(tree), np.ascontiguousarray(rho[:, 0]), len(tree.inner))
        information = np.empty((0, 0), self.weights.dtype) if self.information is None else self.information
        momentum = float(self.age[0] / (self.age[0] + 3)) if self.rare else 0.0

        def settle(W: FloatArray, part: slice) -> FloatArray:
            sums = np.zeros((4, tree.n_vertices))
            kernel.settle(W, self.last, momentum, information, self.stiffer, *where, part.start, part.stop, *sums)
            return sums

        return self._by_features(settle, self.weights)

    def _links(self, rho: FloatArray, information: FloatArray) -> FloatArray:
        """How many features of every link are determined, and the sum of s (1 - s) of their shares s."""
        tree, kernel = self.tree, best("inner_vertices")
        where = (*_numbers(tree), np.ascontiguousarray(rho[:, 0]), len(tree.inner))

        def count(information: FloatArray, part: slice) -> FloatArray:
            sums = np.zeros((2, tree.n_vertices))
            kernel.links(information, *where, part.start, part.stop, *sums)
            return sums

        return self._by_features(count, information)

    def _by_features(self, task: Callable[[FloatArray, slice], FloatArray], array: FloatArray) -> FloatArray:
        """The sum of a task over blocks of features."""
        return sum(self.host.map(task, blocks(array.shape[1], _FEATURES), array), np.zeros(()))

    @property
    def host(self) -> Engine:
        """Where inner vertices are moved."""
        return local_engine(self.engine, None)

    @property
    def variance(self) -> FloatArray | None:
        if self.information is None or not self.keep:
            return None
        return 1 / (self.prior[:, None].astype(self.information.dtype) + self.information)

    def arrays(self) -> dict[str, Array]:
        kept = {name: getattr(self, name) for name in ("weights", "last", "age", "information", *_OF_LEAVES)}
        return {name: array for name, array in kept.items() if array is not None}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        for name in self.arrays():
            getattr(self, name)[:] = arrays[name]


def _determined(information: FloatArray, prior: FloatArray) -> FloatArray:
    """How many features of every leaf the documents determine."""
    return np.asarray((information / (information + prior)).sum(axis=1, dtype=np.float64))


def has_rare_labels(Y: CSR) -> bool:
    """Whether labels (n_docs x n_leaves) have so few documents that these do not determine most of their weights."""
    return bool(Y.nnz <= _RARE * Y.shape[1])


def fits(tree: LabelTree, n_features: int) -> bool:
    """Whether full covariances of all leaves are little work and memory."""
    return n_features <= _FULL_FEATURES and tree.n_leaves * n_features**2 <= _FULL_NUMBERS


def leaf_covariances(
    X: Matrix, bend: FloatArray, prior: FloatArray, engine: Engine, *, scores: bool = False
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """(covariances, their log-determinants, x'Psi_n x if ``scores``); bend n_docs x n_leaves, prior n_leaves x d.

    Examples
    --------
    >>> from linnaeus.engine import SerialEngine
    >>> found = leaf_covariances(np.eye(2), np.array([[1.0], [3.0]]), np.ones((1, 2)), SerialEngine(), scores=True)
    >>> found[0].round(6).tolist(), found[2].round(6).tolist()
    ([[[0.5, 0.0], [0.0, 0.25]]], [[0.5], [0.25]])
    """
    n, d = prior.shape
    covariance, logdet = np.empty((n, d, d)), np.empty(n)
    spread = np.empty(bend.shape) if scores else None
    parts = [slice(i, i + _LEAVES) for i in range(0, n, _LEAVES)]
    tasks = [(bend[:, part], prior[part], scores) for part in parts]
    for part, found in zip(parts, engine.map(_invert, tasks, shared=X), strict=True):
        covariance[part], logdet[part] = found[:2]
        if spread is not None:
            spread[:, part] = found[2]
    return covariance, logdet, spread


def _invert(X: Matrix, task: tuple[FloatArray, FloatArray, bool]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of some leaves."""
    from scipy.linalg import cho_factor, cho_solve, solve_triangular

    bend, prior, scores = task
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    n, d = prior.shape
    covariance, logdet, spread = np.empty((n, d, d)), np.empty(n), np.empty((len(dense) if scores else 0, n))
    for k in range(n):
        A = (dense * bend[:, [k]]).T @ dense
        A[np.diag_indices(d)] += prior[k]
        factor = cho_factor(A, lower=True)
        covariance[k] = cho_solve(factor, np.eye(d))
        logdet[k] = -2 * np.log(np.diag(factor[0])).sum()
        if scores:
            spread[:, k] = (solve_triangular(factor[0], dense.T, lower=True) ** 2).sum(axis=0)
    return covariance, logdet, spread


def _numbers(tree: LabelTree) -> tuple[IntArray, IntArray]:
    """Parents, and numbers of the inner vertices; of the leaves from -1 downwards."""
    row = np.empty(tree.n_vertices, np.int64)
    row[tree.inner], row[tree.leaves] = np.arange(len(tree.inner)), -1 - np.arange(tree.n_leaves)
    return tree.parent.astype(np.int64, copy=False), row
