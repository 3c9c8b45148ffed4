"""Two ways to the mode of all weights for given precisions, with Laplace's variances: the stages of `maximise`.

`Together` solves one problem in all leaves and inner vertices (`modes`). `InTurn`, for binary likelihoods, runs blocks
of leaves on an engine, then moves all inner vertices between them. Given the inner vertices every leaf is a problem of
its own,

    min_w  1/2 prec |w - w_parent|^2 + sum_i c_i log(1 + exp(-y_i w'x_i))

of which a block of sixteen takes a few Newton steps in lock-step (conjugate gradients, scaled by the diagonal of the
Hessian, which is also the Laplace precision). One call is one round of the paper's parallel scheme: leaves and inner
vertices do not wait for each other to settle before precisions move. Only sums over features are kept of variances and
differences, so that memory is that of the weights.

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

The third step is taken in its quick form, and the rounds are accelerated by Anderson's method: the next point mixes the
last few, with the same fixed points. For an iteration x <- F(x) with residuals f_k = F(x_k) - x_k, the mixture is the
one whose residual, if F were linear, would be least:

    min over gamma |f_k - D gamma|,      x_{k+1} = F(x_k) - (E + D) gamma,      D, E: differences of f and of x
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from linnaeus.engine import Clock, blocks
from linnaeus.losses.surrogate import Logistic
from linnaeus.models.bayes.modes import BinaryLikelihood, SoftmaxLikelihood, find_mode
from linnaeus.models.bayes.precisions import Precisions
from linnaeus.models.checkpoint import Checkpoint, Pace
from linnaeus.models.label_tree import LabelTree
from linnaeus.models.solvers.cg import Direction, Which, column_dots, conjugate_gradients, step_length
from linnaeus.typing import CSR, Array, Engine, FloatArray, IntArray, Matrix

__all__ = [
    "Anderson",
    "InTurn",
    "LeafTask",
    "Posterior",
    "Round",
    "Rounds",
    "Shared",
    "Stage",
    "Together",
    "fits",
    "inner_stiffness",
    "laplace",
    "leaf_covariances",
    "link_spread",
    "maximise",
    "moved",
    "solve_leaves",
]


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

    def arrays(self) -> dict[str, FloatArray]:
        """The memory, for a checkpoint."""
        return {"points": np.array(self.points), "residuals": np.array(self.residuals)}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over the memory of a checkpoint."""
        self.points, self.residuals = list(np.array(arrays["points"])), list(np.array(arrays["residuals"]))


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
    """What the first two steps found: q and Psi_n of every vertex but the root, by feature or summed over them.

    ``moved`` is how far the weights are from those of the round before, relative to their norm; ``complete`` is False
    where a time limit cut the round short.
    """

    weights: FloatArray
    q: FloatArray
    own: FloatArray
    objective: float
    moved: float
    exact: bool
    complete: bool = True


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
    mix, converged = Anderson(), False
    history: list[list[float]] = []
    objectives: list[float] = []
    state = rounds.load()
    if state is not None:
        stage.restore(state)
        mix.restore(state)
        precisions = replace(precisions, tau=np.array(state["tau"]), nu=np.array(state["nu"]))
        history, objectives = state["history"].tolist(), state["objectives"].tolist()

    def kept() -> dict[str, Array]:
        arrays = stage.arrays() | mix.arrays() | {"tau": precisions.tau, "nu": precisions.nu}
        return arrays | {"history": np.array(history), "objectives": np.array(objectives)}

    for number in range(len(history) + 1, max_iter + 1):
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
        last = precisions
        if converged or number == max_iter:
            break
        stops = clock.over or clock.remaining < before - clock.remaining
        if learn:
            precisions = new.moved_to(np.exp(mix(np.log(precisions.mean), np.log(new.mean))))
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


_BLOCK, _STEPS, _PRODUCTS = 16, 3, 30
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
        q, own = link_spread(self.tree, self.weights, self.variances)
        exact = mode.gap <= 1e-3 * tol * mode.objective
        return Round(self.weights, q, own, mode.objective, away, exact, exact or not clock.over)

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


@dataclass(frozen=True)
class Shared:
    """What all tasks need: documents, their squares, weights, how many Newton steps to take and how carefully.

    Documents whose curvature is below ``background`` times a leaf's mean are minded by their diagonal only.
    """

    X: Matrix
    squares: Matrix
    c: FloatArray
    n_steps: int
    background: float


@dataclass(frozen=True)
class LeafTask:
    """Some leaves: documents and column of their positives, parents' weights, precisions, weights as they are.

    Weights are leaves x features, precisions leaves x 1.
    """

    positives: tuple[IntArray, IntArray]
    centre: FloatArray
    prior: FloatArray
    weights: FloatArray


@dataclass
class InTurn:
    """Y is n_docs x n_leaves, CSC; ``keep`` the variances of the leaves."""

    X: Matrix
    Y: CSR
    c: FloatArray
    tree: LabelTree
    engine: Engine
    keep: bool = True
    constant: bool = False  # whether the last feature is one: it starts where a label of mean size would have it
    weights: FloatArray = field(init=False)
    variances: FloatArray | None = None
    covariance: None = None

    def __post_init__(self) -> None:
        shape = (self.tree.n_vertices, self.X.shape[1])
        dtype = np.float32 if shape[0] * shape[1] > _LARGE else np.float64
        self.weights = np.zeros(shape, dtype)
        if self.constant:
            share = np.clip(self.Y.nnz / max(1, self.Y.shape[0] * self.Y.shape[1]), 1e-6, 0.5)
            self.weights[:, -1] = np.log(share / (1 - share))
        self.variances = np.zeros((self.tree.n_leaves, shape[1]), dtype) if self.keep else None
        X = self.X.astype(dtype)
        how = (1, 3.0) if dtype == np.float32 else (_STEPS, 0.05)
        squares = X**2 if isinstance(X, np.ndarray) else X.multiply(X).tocsr()
        self.shared = Shared(X, squares, self.c.astype(dtype), *how)

    def __call__(self, rho: FloatArray, tol: float, clock: Clock) -> Round:
        tree, n = self.tree, self.tree.n_vertices
        trace, away, norm, loss = np.zeros(n), 0.0, 0.0, 0.0
        for part, (W, variance, value) in self._solved(rho):
            leaves = tree.leaves[part]
            away += float(((W - self.weights[leaves]) ** 2).sum())
            norm += float((W**2).sum())
            loss += value
            self.weights[leaves], trace[leaves] = W, variance.sum(axis=1)
            if self.variances is not None:
                self.variances[part] = variance
        stiff = inner_stiffness(tree, rho)[tree.inner]
        trace[tree.inner] = (self.weights.shape[1] / stiff)[:, 0]
        differences = self._settle_inner(rho)
        own = trace[1:, None]
        q = own + trace[tree.parent[1:], None] + differences[1:, None]
        energy = 0.5 * float(rho[:, 0] @ differences)
        return Round(self.weights, q, own, loss + energy, float(np.sqrt(away / max(norm, 1e-300))), False)

    def _solved(self, rho: FloatArray) -> Iterator[tuple[slice, tuple[FloatArray, FloatArray, float]]]:
        """Leaves and what `solve_leaves` gives for them."""
        parts = list(blocks(self.tree.n_leaves, _BLOCK))
        tasks = (self._task(part, rho) for part in parts)
        return zip(parts, self.engine.map(solve_leaves, tasks, self.shared), strict=True)

    def _task(self, part: slice, rho: FloatArray) -> LeafTask:
        leaves = self.tree.leaves[part]
        Y = self.Y[:, part].tocoo()
        centre = self.weights[self.tree.parent[leaves]]
        return LeafTask((Y.row, Y.col), centre, rho[leaves].astype(centre.dtype), self.weights[leaves])

    def _settle_inner(self, rho: FloatArray) -> FloatArray:
        """Inner vertices to their optimum, some features at a time; |w_n - w_parent|^2 of all (root: |w|^2)."""
        squares = np.zeros(self.tree.n_vertices)
        for part in blocks(self.weights.shape[1], _FEATURES):
            W = self.tree.between(self.weights[:, part].astype(np.float64), rho)
            self.weights[:, part] = W
            W[1:] -= W[self.tree.parent[1:]]
            squares += (W**2).sum(axis=1)
        return squares

    @property
    def variance(self) -> FloatArray | None:
        return self.variances

    def arrays(self) -> dict[str, Array]:
        return {"weights": self.weights}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        self.weights[:] = arrays["weights"]


def solve_leaves(shared: Shared, task: LeafTask) -> tuple[FloatArray, FloatArray, float]:
    """(weights, Laplace variances, sum of the losses) of the leaves of a task, after some Newton steps.

    Variances are those at the last point but one, which at the end is the same.
    """
    X, c, prior = shared.X, shared.c, task.prior.T
    W, centre = np.ascontiguousarray(task.weights.T), np.ascontiguousarray(task.centre.T)  # features x leaves
    signs = np.full((X.shape[0], W.shape[1]), -1, W.dtype)
    signs[task.positives] = 1
    S = np.asarray(X @ W)
    value, R, D = _losses(S, signs, c)
    slack = 1e-6 if W.dtype == np.float32 else 0.0
    for _ in range(shared.n_steps):
        away = prior * (W - centre)
        G = away + np.asarray(X.T @ R)
        diagonal = prior + np.asarray(shared.squares.T @ D)
        found = _direction(shared, D, prior, G, diagonal)
        trial = _Trial(signs, c, S, np.asarray(X @ found.x), value.copy(), R, D)
        allowed = slack * np.abs(value + 0.5 * column_dots(away, W - centre))
        step = step_length(found, G, away, trial, value, weight=prior[0], columns=True, slack=allowed)
        t = step.astype(W.dtype)
        W, S, value = W + t * found.x, S + t * trial.XV, trial.value
    return W.T, 1 / diagonal.T, float(value.sum())


@dataclass
class _Trial:
    """Losses along lines of scores; values and derivatives are those of every column's last trial."""

    signs: FloatArray
    c: FloatArray
    S: FloatArray
    XV: FloatArray
    value: FloatArray
    R: FloatArray
    D: FloatArray

    def __call__(self, t: FloatArray, which: Which) -> FloatArray:
        scores = self.S[:, which] + t.astype(self.S.dtype) * self.XV[:, which]
        self.value[which], self.R[:, which], self.D[:, which] = _losses(scores, self.signs[:, which], self.c)
        return self.value[which]


def _losses(S: FloatArray, signs: FloatArray, c: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(sum of the losses of every leaf, derivatives, second derivatives)."""
    value, slope, curvature = Logistic().expand(signs * S)
    total = np.einsum("i,ij->j", c, value, dtype=np.float64)
    return total, c[:, None] * signs * slope, c[:, None] * curvature


def _direction(shared: Shared, D: FloatArray, prior: FloatArray, G: FloatArray, diagonal: FloatArray) -> Direction:
    """V with the Hessian's residual a tenth of the gradient in every column.

    Where labels are rare most documents are background: they bend a leaf's loss a little, all alike. Left to the
    diagonal they cost nothing; line search and gradient see them, so that only the direction is a little worse.
    """
    X, rest = shared.X, prior
    kept = np.flatnonzero((D > shared.background * D.mean(axis=0)).any(axis=1))
    if len(kept) < 0.5 * len(D):
        X, D = X[kept], D[kept]
        rest = np.maximum(diagonal - np.asarray(shared.squares[kept].T @ D), prior)

    def product(V: FloatArray, _: FloatArray) -> tuple[FloatArray, None]:
        return rest * V + np.asarray(X.T @ (D * np.asarray(X @ V))), None

    def precondition(residual: FloatArray) -> FloatArray:
        return residual / diagonal

    return conjugate_gradients(product, -G, precondition=precondition, max_products=_PRODUCTS, columns=True)


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
