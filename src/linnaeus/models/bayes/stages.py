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

The third step is taken in its quick form, or (`InTurn`) goes to the common fixed point of all precisions. Rounds are
accelerated by Anderson's method: the next point mixes the last few, with the same fixed points. For an iteration
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
from linnaeus.models.bayes.precisions import LEAST_PRECISION, Precisions
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
    "fits",
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


class AdaptedSteps:
    """Steps of a fixed point with a length for every coordinate, for maps that oscillate, or converge slowly, in some.

    A coordinate takes a share of its step: half of the last share where the step has changed its sign, a third more, up
    to 8, where it has not. One whose share fell below 1/32 without becoming small is ``held`` from then on.

    Examples
    --------
    >>> adapt, x = AdaptedSteps(), np.array([1.5, 0.0])
    >>> for _ in range(25):
    ...     x = adapt(x, np.array([-2.0 * x[0] + 3.0, 0.95 * x[1] + 0.1]))
    >>> x.round(2).tolist()
    [1.0, 2.0]
    """

    def __init__(self) -> None:
        self.share = self.last = np.ones(0)
        self.held = np.zeros(0, dtype=bool)

    def __call__(self, x: FloatArray, image: FloatArray) -> FloatArray:
        step = image - x
        if self.last.shape != step.shape:
            self.share, self.last = np.full(step.shape, 1 / _LENGTHENED), np.zeros(step.shape)
            self.held = np.zeros(step.shape, dtype=bool)
        longer = np.minimum(_LONGEST, _LENGTHENED * self.share)
        self.share = np.where(step * self.last < 0, 0.5 * np.minimum(1.0, self.share), longer)
        self.held |= (self.share < _SHORTEST) & (np.abs(step) > _SMALL)
        self.last = step
        return x + np.where(self.held, 0.0, self.share) * step

    def change(self, before: FloatArray, now: FloatArray) -> float:
        """The largest relative change of coordinates that are not held."""
        relative = np.abs(now / before - 1)
        return float(np.where(self.held, 0.0, relative).max() if self.held.shape == relative.shape else relative.max())

    def arrays(self) -> dict[str, Array]:
        """What is remembered, for a checkpoint."""
        return {"step_share": self.share, "step_last": self.last, "step_held": self.held}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over the memory of a checkpoint, if it has one."""
        if "step_share" in arrays:
            self.share, self.last = np.array(arrays["step_share"]), np.array(arrays["step_last"])
            self.held = np.array(arrays["step_held"], dtype=bool)


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


_LENGTHENED, _LONGEST, _SHORTEST, _SMALL = 4 / 3, 8.0, 1 / 32, 0.01  # of adapted steps
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

    ``spread`` are q and Psi_n of every vertex but the root, by feature or summed over them; or ``balance``, what
    `Precisions.balanced` takes. ``moved`` is how far the weights are from those of the round before, or from their
    mode, relative to their norm; ``complete`` is False where a time limit cut the round short.
    """

    weights: FloatArray
    objective: float
    moved: float
    exact: bool
    complete: bool = True
    spread: tuple[FloatArray, FloatArray] | None = None
    balance: tuple[FloatArray, FloatArray] | None = None


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
    mix, adapt, converged = Anderson(), AdaptedSteps(), False
    history: list[list[float]] = []
    objectives: list[float] = []
    state = rounds.load()
    if state is not None:
        stage.restore(state)
        mix.restore(state)
        adapt.restore(state)
        precisions = replace(precisions, tau=np.array(state["tau"]), nu=np.array(state["nu"]))
        history, objectives = state["history"].tolist(), state["objectives"].tolist()

    def kept() -> dict[str, Array]:
        arrays = stage.arrays() | mix.arrays() | adapt.arrays() | {"tau": precisions.tau, "nu": precisions.nu}
        return arrays | {"history": np.array(history), "objectives": np.array(objectives)}

    for number in range(len(history) + 1, max_iter + 1):
        rho, before = precisions.at_vertices(), clock.remaining
        found = stage(rho, tol, clock)
        change = [0.0, found.moved]
        converged = not learn and (found.exact or found.moved <= tol)
        if learn:
            if found.balance is not None:
                new = precisions.balanced(*found.balance)
            elif found.spread is not None:
                new = precisions.well_determined(*found.spread)
            change[0] = adapt.change(precisions.mean, new.mean)
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
            # Balanced precisions are the maximum for given means already; few of them are not where they were before.
            balanced = found.balance is not None
            mixed = np.exp((adapt if balanced else mix)(np.log(precisions.mean), np.log(new.mean)))
            precisions = new.moved_to(np.maximum(mixed, LEAST_PRECISION) if balanced else mixed)
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
_STEPS = 3  # of Newton's method in a round, where precisions are not balanced
_RARE = 32  # documents of a label, on average, up to which few documents decide about its weights
_NEAR = 4  # documents beside its own of which the features of a label are thought to be known at the start
_AIM, _LOOSE = 0.3, 0.1  # distance of leaves to their modes: of the tolerance, and as long as precisions still change
_FAR = 100.0  # factor between precisions from which the mode of one says nothing about that of the other
_OF_LEAVES = ("prior", "distance", "losses", "gamma", "norms", "above", "response")
_FEATURES = 1024  # at a time, for the inner vertices
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
        spread = link_spread(self.tree, self.weights, self.variances)
        exact = mode.gap <= 1e-3 * tol * mode.objective
        return Round(self.weights, mode.objective, away, exact, exact or not clock.over, spread)

    def arrays(self) -> dict[str, Array]:
        return {"V": self.V, "weights": self.weights}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        self.V, self.weights = np.array(arrays["V"]), np.array(arrays["weights"])

    @property
    def variance(self) -> FloatArray:
        return self.variances[self.tree.leaves]


def laplace(squares: Matrix, curvature: FloatArray, tree: LabelTree, rho: FloatArray) -> FloatArray:
    """Diagonal Laplace variances of all vertices; ``squares`` are X_i^2, ``curvature`` c p (1 - p) of the leaves."""
    own = np.zeros((tree.n_vertices, squares.shape[1]))
    own[tree.leaves] = np.asarray(squares.T @ curvature).T
    return 1 / (own + inner_stiffness(tree, rho))


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
    constant: bool = False  # whether the last feature is one: it starts where a label of mean size would have it
    balances: bool = field(init=False)  # whether precisions go to their common fixed point in every round
    weights: FloatArray = field(init=False)
    variances: FloatArray | None = None
    covariance: None = None

    def __post_init__(self) -> None:
        self.balances = self.Y.nnz <= _RARE * self.tree.n_leaves
        shape = (self.tree.n_vertices, self.X.shape[1])
        dtype = np.float32 if shape[0] * shape[1] > _LARGE else np.float64
        self.weights = np.zeros(shape, dtype)
        if self.constant:
            share = np.clip(self.Y.nnz / max(1, self.Y.shape[0] * self.Y.shape[1]), 1e-6, 0.5)
            self.weights[:, -1] = np.log(share / (1 - share))
        self.variances = np.zeros((self.tree.n_leaves, shape[1]), dtype) if self.keep else None
        X = self.X.astype(dtype)
        squares = X**2 if isinstance(X, np.ndarray) else X.multiply(X).tocsr()
        self.shared = Shared(X, squares, self.c.astype(dtype), 3.0 if dtype == np.float32 else 0.05, self.keep)
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
        open_ = np.flatnonzero(~(self.distance <= aim * self.above) | (not self.balances))
        away = 0.0
        for part, found in self._solved(open_, aim):
            leaves = tree.leaves[part]
            away += float((found.moved**2).sum())
            self.weights[leaves] = found.weights
            self.losses[part], self.distance[part], self.response[part] = found.losses, found.distance, found.response
            self.norms[part] = np.einsum("ij,ij->i", found.weights, found.weights, dtype=np.float64)
            self.gamma[part] = found.gamma
            if self.variances is not None and found.unknown is not None:
                self.variances[part] = found.unknown / prior[part, None]
        differences, moved = self._settle_inner(rho)
        self.above = np.sqrt(differences[tree.leaves])
        self.distance += moved[tree.parent[tree.leaves]]
        error = float(np.sqrt((self.distance**2).sum() / max(self.norms.sum(), 1e-300)))
        away = float(np.sqrt(away / max(self.norms.sum(), 1e-300)))
        objective = float(self.losses.sum()) + 0.5 * float(rho[:, 0] @ differences)
        if self.balances:
            balance = (differences, self.gamma)
            return Round(self.weights, objective, max(away, error), False, balance=balance)
        trace = np.zeros(tree.n_vertices)
        trace[tree.inner] = (self.weights.shape[1] / inner_stiffness(tree, rho)[tree.inner])[:, 0]
        trace[tree.leaves] = (self.weights.shape[1] - self.gamma) / prior
        own = trace[1:, None]
        spread = (own + trace[tree.parent[1:], None] + differences[1:, None], own)
        return Round(self.weights, objective, away, False, spread=spread)

    def start(self, precisions: Precisions) -> Precisions:
        """Where rounds begin; priors of rare labels are so wide that the first ones would be lost."""
        if not self.balances:
            return precisions.moved_to(np.maximum(precisions.mean, 1.0))
        words = self.X.shape[1] if isinstance(self.X, np.ndarray) else self.X.nnz / max(1, self.X.shape[0])
        gamma = np.minimum(words * (np.diff(self.Y.indptr) + _NEAR), self.X.shape[1])
        return precisions.balanced(np.zeros(self.tree.n_vertices), gamma)

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
        if self.balances:
            return LeafTask(*at, tol, before=self.before[part])
        return LeafTask(*at, 0.0, n_steps=1 if centre.dtype == np.float32 else _STEPS)

    def _settle_inner(self, rho: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Inner vertices to their optimum, some features at a time.

        |w_n - w_parent|^2 of all vertices (root: |w|^2), and how far each has moved.
        """
        tree, kernel = self.tree, best("inner_vertices")
        row = np.full(tree.n_vertices, -1, np.int64)
        row[tree.inner] = np.arange(len(tree.inner))
        parent, stiff = tree.parent.astype(np.int64, copy=False), np.ascontiguousarray(rho[:, 0])

        def settle(W: FloatArray, part: slice) -> FloatArray:
            sums = np.zeros((2, tree.n_vertices))
            kernel.settle(W, parent, row, stiff, len(tree.inner), part.start, part.stop, *sums)
            return sums

        parts = blocks(self.weights.shape[1], _FEATURES)
        sums = np.zeros((2, tree.n_vertices))
        for part in local_engine(self.engine, None).map(settle, parts, self.weights):
            sums += part
        return sums[0], np.sqrt(sums[1])

    @property
    def variance(self) -> FloatArray | None:
        return self.variances

    def arrays(self) -> dict[str, Array]:
        kept = {name: getattr(self, name) for name in ("weights", "variances", *_OF_LEAVES)}
        return {name: array for name, array in kept.items() if array is not None}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        for name in self.arrays():
            getattr(self, name)[:] = arrays[name]


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
