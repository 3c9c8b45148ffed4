"""Modes of leaves, each a logistic regression held to its parent: few documents decide, the others act as one.

    min_w  1/2 prec |w - m|^2 + sum_i c_i log(1 + exp(-y_i w'x_i)),       m the parent's weights, y_i = +1 or -1

Divided by prec, with the dual variables b_i = c_i p(-y_i | x_i) / prec, the mode is w = m + sum_i b_i y_i x_i, and

    g = w - m - sum_i b_i y_i x_i,      distance to the mode at most |g|,      gap to the optimum at most  prec/2 |g|^2

Precisions that are learned may be tiny (1e-10 and less where labels have few documents and there are many features).
Scores then lie near -log prec, and a Newton step on w brings them nearer by one only. In dual variables the equations

    log b_i - log(c_i / prec - b_i) + y_i w'x_i = 0

are nearly linear, and Newton's method solves them in some ten steps (`solve_dual`). Only documents with a b_i that
counts are variables: the candidates, mostly some hundred. All others, negative and far from the margin, are replaced by
one document, their mean weighted by b_i: exp is convex, and the sum of their losses has the same value and the same
gradient at the current weights. A pass over all documents then finds what this left out. For sparse documents this is
compiled (`_kernels/rare_leaves.pyx`); `_Block` says the same in NumPy, for dense documents and for leaves that the
kernel gives up. Leaves for which too many documents count take a Newton step in w instead (conjugate gradients, scaled
by the diagonal of the Hessian, sixteen leaves in lock-step).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from linnaeus._kernels.dispatch import best
from linnaeus.data.matrices import aligned_zeros, is_sparse
from linnaeus.losses.surrogate import Logistic
from linnaeus.models.solvers import PANEL
from linnaeus.models.solvers.cg import Direction, Which, column_dots, conjugate_gradients, step_length
from linnaeus.typing import BoolArray, FloatArray, IntArray, Matrix

__all__ = ["LeafModes", "LeafTask", "Shared", "solve_dual", "solve_leaves"]

_PASSES = 12  # over all documents, at most
_COMPILED = 20  # the same of the kernel
_FREE = 6  # of them before steps have to lower the objective: candidates are still being found
_COUNTS = 0.03  # a dual variable with which a document is a candidate
_STAYS = 1e-3  # the same for candidates of the pass before
_MOST = 1_500  # candidates of a leaf
_SPARSE = 20_000  # the same where equations need not be factored
_FIRST, _EACH = 300, 20  # candidates that a pass adds at most, and the same for every positive document
_LARGE = 1e3  # a dual variable of a document that contradicts others
_NOTHING = 1e-6  # a dual variable below which a document does not matter to the others
_ROUNDING = 1e-15  # of sums of dual variables
_PRODUCTS = 30


@dataclass(frozen=True)
class Shared:
    """What all tasks need: documents, their squares and their weights.

    Documents whose curvature is below ``background`` times a leaf's mean are minded by their diagonal only.
    """

    X: Matrix
    squares: Matrix
    c: FloatArray
    background: float


@dataclass(frozen=True)
class LeafTask:
    """Some leaves: documents and column of their positives, parents' weights, precisions, weights as they are.

    Weights are leaves x features, precisions (in double precision) leaves. A leaf is finished when its distance to the
    mode, which is certified, or its last step is at most ``tol`` times the distance to its parent; with ``n_steps``
    all leaves take this number of Newton steps on their weights instead. ``before`` are the precisions for which the
    weights were near the mode, 0 where they were not; they only say where to begin.
    """

    positives: tuple[IntArray, IntArray]
    centre: FloatArray
    prior: FloatArray
    weights: FloatArray
    tol: float
    n_steps: int | None = None
    before: FloatArray | None = None


@dataclass(frozen=True)
class LeafModes:
    """Weights (leaves x features); of every leaf the losses, its distance to the mode, and what documents tell.

    ``response`` is how far a mode moves when the logarithm of its precision changes, per unit, to first order;
    ``moved`` is the distance to the weights of the task, ``information`` (leaves x features) how much the documents
    bend the loss.
    """

    weights: FloatArray
    losses: FloatArray
    distance: FloatArray
    response: FloatArray
    moved: FloatArray
    information: FloatArray


def solve_leaves(shared: Shared, task: LeafTask) -> LeafModes:
    """The modes of the leaves of a task, of at most 16 leaves."""
    by_kernel = task.n_steps is None and is_sparse(shared.X)
    return _compiled(shared, task) if by_kernel else _Block(shared, task).solve()


def _compiled(shared: Shared, task: LeafTask) -> LeafModes:
    kernel, X, k = best("rare_leaves"), shared.X, len(task.prior)
    assert is_sparse(X)
    assert is_sparse(shared.squares)
    dtype, shape = task.weights.dtype, (X.shape[1], PANEL)
    W, centre, room = (aligned_zeros(shape, dtype) for _ in range(3))
    W[:, :k], centre[:, :k] = task.weights.T, task.centre.T
    prior, before, losses, distance, response = (np.zeros(PANEL) for _ in range(5))
    prior[:], prior[:k] = 1, task.prior
    if task.before is not None:
        before[:k] = task.before
    order = np.argsort(task.positives[0], kind="stable")
    rows, columns = (np.asarray(at[order], np.int64) for at in task.positives)
    documents = (X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False))
    status = np.zeros(PANEL, np.uint8)
    kernel.solve(
        *documents, X.data, shared.c, rows, columns, centre, prior, before, k, task.tol,
        np.array([_COMPILED, _FIRST, _EACH, _SPARSE]), W, room, distance, response, status,
    )  # fmt: skip
    kernel.describe(
        *documents, X.data, shared.squares.data, shared.c, rows, columns, W, (1 / prior).astype(dtype), losses, room
    )
    information = np.ascontiguousarray((room[:, :k] * task.prior.astype(dtype)).T)
    parts = (losses[:k], distance[:k], response[:k])
    found = LeafModes(np.ascontiguousarray(W[:, :k].T), *parts, np.zeros(k), information)
    hard = np.flatnonzero(status[:k] != 1)
    if len(hard):
        near = found.distance < np.linalg.norm(found.weights - task.centre, axis=1)
        weights = np.where(near[:, None], found.weights, task.weights)
        again = _Block(shared, _part(replace(task, weights=weights), hard)).solve()
        better = _objectives(again, _part(task, hard)) <= _objectives(found, task)[hard]
        _replace(found, hard[better], again, better)
    found.moved[:] = np.sqrt(((found.weights - task.weights) ** 2).sum(axis=1, dtype=np.float64))
    return found


def _part(task: LeafTask, columns: IntArray) -> LeafTask:
    """Some leaves of a task."""
    place = np.full(len(task.prior), -1)
    place[columns] = np.arange(len(columns))
    kept = place[task.positives[1]] >= 0
    positives = (task.positives[0][kept], place[task.positives[1][kept]])
    return replace(
        task, positives=positives, centre=task.centre[columns], prior=task.prior[columns], weights=task.weights[columns]
    )


def _objectives(modes: LeafModes, task: LeafTask) -> FloatArray:
    """What every leaf minimises."""
    away = ((modes.weights - task.centre) ** 2).sum(axis=1, dtype=np.float64)
    return modes.losses + 0.5 * task.prior * away


def _replace(modes: LeafModes, columns: IntArray, by: LeafModes, which: BoolArray) -> None:
    """Leaves ``columns`` by the leaves ``which`` of others."""
    for name in ("weights", "losses", "distance", "response", "moved", "information"):
        array = getattr(modes, name)
        if array is not None:
            array[columns] = getattr(by, name)[which]


class _Block:
    """W, centre are features x leaves; scores S, signs, dual variables B and their derivatives D documents x leaves."""

    def __init__(self, shared: Shared, task: LeafTask) -> None:
        self.shared, self.tol = shared, task.tol
        self.W, self.centre = np.array(task.weights.T, order="C"), np.ascontiguousarray(task.centre.T)
        self.start = task.weights.T
        self.prior = task.prior
        n, k = shared.X.shape[0], self.W.shape[1]
        self.signs = np.full((n, k), -1, self.W.dtype)
        self.signs[task.positives] = 1
        self.positive = [np.sort(task.positives[0][task.positives[1] == j]) for j in range(k)]
        self.candidates = [np.empty(0, np.int64) for _ in range(k)]
        self.S = np.asarray(shared.X @ self.W)
        self.value, self.B, self.D = self._losses(self.S, slice(None))
        self.distance, self.response = np.full(k, np.inf), np.full(k, np.inf)
        self.started = (self.B > _COUNTS).sum(axis=0) < _MOST  # otherwise nearly all documents would be candidates
        self.passes = _PASSES if task.n_steps is None else task.n_steps
        self.by_weights = np.array([task.n_steps is not None or len(rows) > _MOST // 2 for rows in self.positive])

    def _losses(self, S: FloatArray, which: Which) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(sum of the losses of every leaf, B, D), all divided by the precision."""
        prior = self.prior[which]
        value, slope, curvature = Logistic().expand(self.signs[:, which] * S)
        c = self.shared.c[:, None] * (1 / prior).astype(S.dtype)
        total = np.einsum("i,ij->j", self.shared.c, value, dtype=np.float64) / prior
        return total, -slope * c, curvature * c

    def solve(self) -> LeafModes:
        active = np.arange(self.W.shape[1])
        norm = np.full(len(active), np.inf)
        for number in range(self.passes + 1):
            chosen, rest = self._choose(active)
            away = self.W[:, active] - self.centre[:, active]
            pull = np.asarray(self.shared.X.T @ rest)  # of the documents that are not candidates, negative ones
            G = away + pull
            for k, (j, rows) in enumerate(zip(active, chosen, strict=True)):
                b = (self.B[rows, j] * self.signs[rows, j]).astype(np.float64)
                G[:, k] -= self.shared.X[rows].T @ b
            before = norm[active]
            norm[active] = self.distance[active] = np.sqrt(column_dots(G, G))
            length = np.sqrt(column_dots(away, away))
            open_ = self.distance[active] > self.tol * length
            if number == self.passes or not open_.any():
                break
            if number > _FREE:
                self.by_weights[active] |= norm[active] > 0.5 * before
            active, length = active[open_], length[open_]
            chosen = [chosen[k] for k in np.flatnonzero(open_)]
            parts = (away[:, open_], pull[:, open_], G[:, open_], rest[:, open_])
            step = self._move(active, chosen, *parts, guarded=number >= _FREE)
            self.distance[active] = np.minimum(self.distance[active], step)
            active = active[step > self.tol * length]
            if not len(active):
                break
        information = np.asarray(self.shared.squares.T @ self.D)
        response = np.where(np.isfinite(self.response), self.response, np.linalg.norm(self.W - self.centre, axis=0))
        moved = np.sqrt(((self.W - self.start) ** 2).sum(axis=0, dtype=np.float64))
        information = (information * self.prior.astype(information.dtype)).T
        return LeafModes(self.W.T, self.value * self.prior, self.distance, response, moved, information)

    def _choose(self, active: IntArray) -> tuple[list[IntArray], FloatArray]:
        """Candidates of every leaf, and the dual variables of the other documents, with minus their sign."""
        B = self.B[:, active]
        rest: FloatArray = -B * self.signs[:, active]
        chosen: list[IntArray] = []
        for k, j in enumerate(active):
            if self.by_weights[j]:
                chosen.append(np.empty(0, np.int64))
                continue
            b = np.ascontiguousarray(B[:, k])
            rows = np.flatnonzero(b > _COUNTS)
            most = _FIRST + _EACH * len(self.positive[j]) if self.started[j] else 0
            if len(rows) > most:
                rows = rows[np.argpartition(-b[rows], most)[:most]]
            rows = np.union1d(np.union1d(rows, self.positive[j]), self.candidates[j])
            if len(rows) > _MOST:
                self.by_weights[j] = True
                rows = np.empty(0, np.int64)
            rest[rows, k] = 0
            chosen.append(rows)
        return chosen, rest

    def _move(
        self,
        active: IntArray,
        chosen: list[IntArray],
        away: FloatArray,
        pull: FloatArray,
        G: FloatArray,
        rest: FloatArray,
        *,
        guarded: bool,
    ) -> FloatArray:
        """One step of the leaves ``active``; its length, infinite where it was cut short."""
        V = np.empty_like(G)
        newton = self.by_weights[active].copy()
        for k in np.flatnonzero(~newton):
            V[:, k] = self._by_candidates(int(active[k]), chosen[k], away[:, k], pull[:, k], rest[:, k], G[:, k])
        if newton.any():
            D = self.D[:, active[newton]]
            V[:, newton] = _direction(self.shared, D, G[:, newton]).x
        XV = np.asarray(self.shared.X @ V)
        trial = _Trial(self, active, XV)
        start = self.value[active]
        slack = 1e-6 * np.abs(start + 0.5 * column_dots(away, away)) if V.dtype == np.float32 else np.zeros(len(active))
        if not guarded:
            slack = np.where(newton, slack, np.inf)
        found = Direction(V, V, XV, 0)
        t = step_length(found, G, away, trial, start, columns=True, slack=slack).astype(V.dtype)
        self.W[:, active] += t * V
        self.S[:, active] += t * XV
        return np.where(t == 1, np.sqrt(column_dots(V, V)), np.inf)

    def _by_candidates(
        self, j: int, rows: IntArray, away: FloatArray, pull: FloatArray, rest: FloatArray, G: FloatArray
    ) -> FloatArray:
        """The step to the mode of the candidates and of one document for all others."""
        X, y = self.shared.X[rows], self.signs[rows, j].astype(np.float64)
        centre, total = self.centre[:, j].astype(np.float64), float(rest.sum(dtype=np.float64))
        room = self.shared.c[rows].astype(np.float64) / self.prior[j]
        n = len(rows)
        joined = total > 0
        gram, lean, b = np.empty((n + joined, n + joined)), np.empty(n + joined), np.empty(n + joined)
        products = X @ X.T
        gram[:n, :n] = products if isinstance(products, np.ndarray) else products.toarray()
        gram[:n, :n] *= np.outer(y, y)
        lean[:n] = y * (X @ centre) - np.log(room)
        near = float(G @ G) <= 0.1 * float(away @ away)
        b[:n] = np.clip(self.B[rows, j], 1e-12, 0.5 * room if near else np.minimum(0.01, 0.5 * room))
        if joined:
            mean = pull.astype(np.float64) / total
            gram[n, :n] = gram[:n, n] = -y * (X @ mean)
            gram[n, n] = mean @ mean
            lean[n] = float(rest @ self.S[:, j]) / total - mean @ centre - np.log(total)
            room, b[n] = np.append(room, np.inf), total if near else 1.0
        self.started[j] = True
        dual, bend = solve_dual(gram, lean, room, b, tol=1e-4 if near else 1e-2)
        self.response[j] = np.sqrt(max(float(bend @ gram @ bend), 0.0))
        self.candidates[j] = np.asarray(rows[dual[:n] > _STAYS], np.int64)
        w = np.asarray(X.T @ (dual[:n] * y))
        if joined:
            w -= dual[n] * mean
        return np.asarray(w - away)


def solve_dual(
    gram: FloatArray, lean: FloatArray, room: FloatArray, b: FloatArray, *, tol: float = 1e-5, max_iter: int = 50
) -> tuple[FloatArray, FloatArray]:
    """Solve log b - log(1 - b / room) + lean + gram b = 0 from b, strictly between 0 and ``room`` (may be infinite).

    Returns b and minus its derivative where all of ``lean`` rises alike, to first order and as of the last step.

    This is the gradient of a convex function, whose second derivatives are those of ``gram`` and a diagonal. Variables
    that Newton's method lowers are lowered by a factor, those that it raises come nearer to ``room`` by one, so that
    none leaves its interval. Large ones, of documents that contradict each other, cancel: they move along straight
    lines, as far as all of them stay inside.

    Examples
    --------
    >>> b, _ = solve_dual(np.eye(1), np.zeros(1), np.array([np.inf]), np.ones(1))
    >>> b.round(6).tolist(), (np.log(b) + b).round(6).tolist()
    ([0.567143], [0.0])
    """
    from scipy.linalg import cho_solve

    def gradient(b: FloatArray) -> FloatArray:
        return np.asarray(np.log(b) - np.log1p(-b / room) + lean + gram @ b)

    bounded = np.isfinite(room)
    f, response = gradient(b), b
    for _ in range(max_iter):
        if (np.abs(f) * np.minimum(b, 1)).max() <= tol + _ROUNDING * b.max():
            break
        kept = np.flatnonzero((b > _NOTHING) | (f < 0))  # the others fall, and nobody notices
        H = gram[np.ix_(kept, kept)]
        diagonal = np.arange(len(kept))
        H[diagonal, diagonal] += 1 / b[kept] + 1 / (room[kept] - b[kept])
        try:
            factor = np.linalg.cholesky(H)  # unlike that of SciPy it lets other threads run
        except np.linalg.LinAlgError:  # rounding leaves no curvature
            break
        found = cho_solve((factor.T, False), np.stack([-f[kept], np.ones(len(kept))], axis=1), check_finite=False)
        step, response = -f * b, b.copy()
        step[kept], response[kept] = found.T
        large = ((b > _LARGE) | (step > _LARGE)) & bounded
        inside = np.where(step > 0, room - b, -b)[large] / np.where(step == 0, 1e-300, step)[large]
        t = min(1.0, 0.9 * float(inside.min(initial=np.inf)))
        while True:
            new = np.where((step < 0) & ~large, b * np.exp(np.maximum(t * step / b, -30)), b + t * step)
            above = bounded & (step > 0) & ~large
            left = room[above] - b[above]
            new[above] = room[above] - left * np.exp(np.maximum(-t * step[above] / left, -30))
            new = np.clip(new, 1e-250, np.nextafter(room, 0))
            f_new = gradient(new)
            if f_new @ (new - b) <= 0.1 * abs(f @ (new - b)) or t < 1e-3:
                break
            t *= 0.5
        b, f = new, f_new
    return b, response


@dataclass
class _Trial:
    """Losses along lines of scores; values and derivatives become those of every column's last trial."""

    block: _Block
    active: IntArray
    XV: FloatArray

    def __call__(self, t: FloatArray, which: Which) -> FloatArray:
        block, columns = self.block, self.active[which]
        scores = block.S[:, columns] + t.astype(block.S.dtype) * self.XV[:, which]
        value, block.B[:, columns], block.D[:, columns] = block._losses(scores, columns)
        block.value[columns] = value
        return value


def _direction(shared: Shared, D: FloatArray, G: FloatArray) -> Direction:
    """V with the Hessian's residual a tenth of the gradient in every column.

    Where labels are rare most documents are background: they bend a leaf's loss a little, all alike. Left to the
    diagonal they cost nothing; line search and gradient see them, so that only the direction is a little worse.
    """
    X = shared.X
    diagonal = 1 + np.asarray(shared.squares.T @ D)
    rest: FloatArray = np.ones((1, G.shape[1]), G.dtype)
    kept = np.flatnonzero((D > shared.background * D.mean(axis=0)).any(axis=1))
    if len(kept) < 0.5 * len(D):
        X, D = X[kept], D[kept]
        rest = np.maximum(diagonal - np.asarray(shared.squares[kept].T @ D), 1)

    def product(V: FloatArray, _: FloatArray) -> tuple[FloatArray, None]:
        return rest * V + np.asarray(X.T @ (D * np.asarray(X @ V))), None

    def precondition(residual: FloatArray) -> FloatArray:
        return residual / diagonal

    return conjugate_gradients(product, -G, precondition=precondition, max_products=_PRODUCTS, columns=True)
