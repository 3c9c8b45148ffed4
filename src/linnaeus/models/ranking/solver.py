"""The dual of the hierarchical multi-label SVM: passes of block coordinate ascent, then a certificate.

    min_w  1/2 |w|^2 + sum_i c_i xi_i      w_y - w_z separates every pair by 1 - xi_i / D(y, z), y in Y_i, z not

A whole pass visits all classes of a document, adds its worst pair to the active pairs and solves these exactly; passes
in between visit only the active pairs. The fit ends when the certified relative gap (P - D) / P is at most ``tol``, or,
with ``epsilon``, when no document violates its optimality by more than that (Prop. 3 of Cai's thesis: then
P - D <= epsilon sum_i c_i). With one slack per pair, every pair is moved alone.

A certificate recomputes w from the dual variables, panel by panel in double precision, and compares the dual objective
with the primal one of w as it is stored; its losses are summed in double precision. The objective and the gap of the
solution have the losses of the weights of classes, as they are stored.

The problem of a ranking SVM and its solution, laid out for the kernels.

Documents are rows of features, or rows of the Gram matrix of all documents (``gram``): then weights are stored as
coefficients of attribute nodes per document.

Kernels take attribute nodes sixteen at a time, so nodes of one path should be neighbours: columns of the attributes are
renamed in the order in which classes, sorted by their paths, first name them. Costs that are sums over places,

    D(y, z) = of_true[y] + of_other[z] - (share_true[y] + share_other[z]) sum_{v above both} volume[v],

are computed row by row from the places of y; others are a matrix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from linnaeus._kernels import dispatch
from linnaeus.data.matrices import Rows, aligned_zeros
from linnaeus.engine import Clock
from linnaeus.losses.cost import PairCost
from linnaeus.models.solvers.dual_cd import PANEL
from linnaeus.typing import CSR, Array, BoolArray, FloatArray, IntArray, Matrix

__all__ = [
    "ClassArrays",
    "ExampleSlacks",
    "PairSlacks",
    "Pairs",
    "RankingProblem",
    "RankingSolution",
    "class_arrays",
    "gram_rows",
    "matrix_of",
    "solve_ranking",
]

Pairs = tuple[IntArray, IntArray, IntArray, FloatArray]  # documents, right classes, other classes, alpha


@dataclass(frozen=True)
class ClassArrays:
    """Classes as the kernels take them; ``attributes`` (n_classes x n_nodes, CSR) has renamed columns."""

    attributes: CSR
    cost: PairCost
    arrays: tuple[Array, ...]

    @property
    def n_classes(self) -> int:
        return int(self.attributes.shape[0])

    @property
    def n_nodes(self) -> int:
        return int(self.attributes.shape[1])


@dataclass(frozen=True)
class RankingProblem:
    """Rows, their relevant classes (n_docs x n_classes, CSR), bounds c_i, and the classes.

    ``per_pair``: every pair of classes has a slack of its own.
    """

    rows: Rows
    labels: CSR
    bound: FloatArray
    classes: ClassArrays
    gram: bool = False
    per_pair: bool = False

    @property
    def trained(self) -> IntArray:
        """Documents that have pairs: neither none nor all of the classes are theirs."""
        sizes = np.diff(self.labels.indptr)
        return np.flatnonzero((sizes > 0) & (sizes < self.classes.n_classes)).astype(np.int32)

    @property
    def n_pairs(self) -> int:
        sizes = np.diff(self.labels.indptr).astype(np.int64)
        return int((sizes * (self.classes.n_classes - sizes)).sum())


@dataclass(frozen=True)
class RankingSolution:
    """Weights of classes, or coefficients of documents where these are rows of a Gram matrix.

    ``pairs`` are the active dual variables: documents, right class, other class and alpha. ``curve`` has a row for
    every certificate: passes, objective, lower bound.
    """

    weights: FloatArray  # n_features x n_classes; with gram, n_docs x n_classes
    intercept: FloatArray
    objective: float
    gap: float
    violation: float
    n_iter: int
    converged: bool
    pairs: Pairs
    slack: FloatArray
    curve: FloatArray


def gram_rows(K: FloatArray) -> Rows:
    """A Gram matrix (n_docs x n_docs) as rows of a problem with ``gram``."""
    n_docs = len(K)
    indptr = np.arange(n_docs + 1, dtype=np.int64) * n_docs
    squared = np.ascontiguousarray(np.diag(K))
    return Rows(indptr, np.zeros(1, np.int32), np.ascontiguousarray(K).reshape(-1), True, squared, 0.0, n_docs, None)


def matrix_of(rows: Rows) -> Matrix:
    """Rows of the kernels as a matrix (n_docs x n_features)."""
    if rows.dense:
        return rows.data.reshape(rows.n_docs, rows.n_features)
    data, indices = rows.data[: rows.indptr[-1]], rows.indices[: rows.indptr[-1]]
    return sparse.csr_array((data, indices, rows.indptr), shape=(rows.n_docs, rows.n_features))


# -- classes for the kernels -------------------------------------------------------------------------------------------


def class_arrays(attributes: CSR, cost: PairCost) -> ClassArrays:
    """Lay out attributes (n_classes x n_attributes) and costs of pairs of these classes.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> from linnaeus.losses.cost import pair_cost
    >>> from linnaeus.models.ranking.attributes import class_attributes
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("B", "BA"), ("A", "AB")])
    >>> leaves = np.array([tax.index(name) for name in ("AA", "BA", "AB")])
    >>> laid = class_arrays(class_attributes(tax, leaves, "one"), pair_cost(tax, leaves))
    >>> laid.attributes.toarray().astype(int).tolist()
    [[1, 1, 0, 0, 0], [0, 0, 0, 1, 1], [1, 0, 1, 0, 0]]
    """
    renamed = _by_paths(attributes)
    return ClassArrays(renamed, cost, (*_csr(renamed), *_cost_arrays(cost)))


def _by_paths(attributes: CSR) -> CSR:
    rows = np.split(attributes.indices, attributes.indptr[1:-1])
    order = sorted(range(len(rows)), key=lambda y: rows[y].tolist())
    named = np.concatenate([rows[y] for y in order]) if rows else attributes.indices
    _, first = np.unique(named, return_index=True)
    nodes = named[np.sort(first)]  # attributes without a class are left out
    place = np.zeros(attributes.shape[1], np.int64)
    place[nodes] = np.arange(len(nodes))
    parts = (attributes.data, place[attributes.indices], attributes.indptr)
    renamed = sparse.csr_array(parts, shape=(attributes.shape[0], max(len(nodes), 1)))
    renamed.sort_indices()
    return renamed


def _csr(matrix: CSR) -> tuple[IntArray, IntArray, FloatArray]:
    """Index arrays for the kernels, which need a first element to point at."""
    indices, data = matrix.indices.astype(np.int32), matrix.data.astype(np.float64)
    if not len(data):
        indices, data = np.zeros(1, np.int32), np.zeros(1)
    return matrix.indptr.astype(np.int64), indices, data


def _cost_arrays(cost: PairCost) -> tuple[Array, ...]:
    """Matrix, places of classes, classes at places, volumes and the four parts of the sides."""
    volume, of_miss, of_extra = _volumes(cost)
    nothing = np.zeros((0, 0))
    if cost.matrix.size or volume is None:
        pattern = sparse.csr_array(np.zeros((cost.n_classes, 1)))
        matrix = np.ascontiguousarray(cost.matrix if cost.matrix.size else cost.dense(), np.float64)
        volume, sides = np.zeros(1), np.zeros((4, cost.n_classes))
    else:
        pattern, matrix = cost.pattern, nothing
        sides = np.stack(
            [
                cost.scale * (pattern @ cost.miss),
                cost.scale * (pattern @ cost.extra),
                cost.scale * of_miss,
                cost.scale * of_extra,
            ]
        )
    indptr, members, _ = _csr(sparse.csr_array(pattern))
    below_indptr, below, _ = _csr(sparse.csr_array(sparse.csr_array(pattern).T))
    matrix = matrix if matrix.size else np.zeros((1, 1)) if cost.n_classes != 1 else np.zeros((2, 2))
    return matrix, indptr, members, below_indptr, below, volume, np.ascontiguousarray(sides)


def _volumes(cost: PairCost) -> tuple[FloatArray | None, float, float]:
    """One volume per place of which misses and extras are multiples; None where they are not."""
    miss, extra = cost.miss, cost.extra
    base = miss if miss.any() else extra
    top = int(np.argmax(base)) if len(base) else 0
    if not len(base) or base[top] == 0:
        return np.zeros(max(len(base), 1)), 0.0, 0.0
    of_miss, of_extra = float(miss[top] / base[top]), float(extra[top] / base[top])
    if not (np.allclose(miss, of_miss * base, rtol=1e-12) and np.allclose(extra, of_extra * base, rtol=1e-12)):
        return None, 0.0, 0.0
    return base.astype(np.float64), of_miss, of_extra


_FIRST_ROOM = 8  # pairs of a document; grows if a document needs more
_CACHED = 8  # passes over the active pairs, after a whole pass


def solve_ranking(
    problem: RankingProblem,
    *,
    tol: float,
    epsilon: float | None,
    max_iter: int,
    seed: int | list[int],
    clock: Clock | None = None,
    measured: Callable[[float], None] = lambda gap: None,
) -> RankingSolution:
    """Solve to a relative gap ``tol``, or to ``epsilon`` if it is given; ``measured`` is called with every gap."""
    solver = PairSlacks(problem, seed) if problem.per_pair else ExampleSlacks(problem, seed)
    return solver.solve(tol, epsilon, max_iter, clock, measured)


class _Solver(ABC):
    """What both kinds of slack share: W (n_panels x n_features + 1 x 16), scratch, certificates, when to stop."""

    def __init__(self, problem: RankingProblem, seed: int | list[int]) -> None:
        self.problem, rows = problem, problem.rows
        self.dtype = rows.data.dtype
        self.n_panels = -(-problem.classes.n_nodes // PANEL)
        self.W = aligned_zeros((self.n_panels, rows.n_features + 1, PANEL), self.dtype)
        self.pairs_kernel = dispatch.best("ranking_pairs")
        self.labels = problem.labels.indptr.astype(np.int64), problem.labels.indices.astype(np.int32)
        if not len(self.labels[1]):
            self.labels = self.labels[0], np.zeros(1, np.int32)
        self.bound = problem.bound.astype(np.float64)
        self.rng = np.random.default_rng(seed)
        self.order = problem.trained
        self.relevant = np.zeros(problem.classes.n_classes, np.uint8)
        self.wanted = np.zeros(self.n_panels, np.uint8)
        self.loss = np.zeros(rows.n_docs)
        self.norm = np.zeros(rows.n_docs)
        self.squared = 0.0  # |w|^2, updated by the passes
        self.curve: list[tuple[float, float, float]] = []

    # -- what depends on the slacks -----------------------------------------------------------------------------------

    @abstractmethod
    def passes(self, tol: float, epsilon: float | None, left: int, clock: Clock | None) -> int:
        """Run passes until a certificate may be good enough; return their number."""

    @abstractmethod
    def active(self) -> Pairs:
        """Documents, right classes, other classes and alpha of all pairs with mass."""

    @abstractmethod
    def linear(self) -> float:
        """The linear part of the dual objective."""

    @abstractmethod
    def worst(self) -> float:
        """The largest violation of a document."""

    # -- shared --------------------------------------------------------------------------------------------------------

    def solve(
        self,
        tol: float,
        epsilon: float | None,
        max_iter: int,
        clock: Clock | None,
        measured: Callable[[float], None],
    ) -> RankingSolution:
        n_iter, converged, violation = 0, len(self.order) == 0, 0.0
        objective, gap = self.certify(n_iter)
        while not converged and n_iter < max_iter:
            # Certificates become rarer; each recomputes W, so rounding cannot accumulate for long.
            n_iter += self.passes(tol, epsilon, min(max_iter - n_iter, 20 + n_iter // 2), clock)
            objective, gap = self.certify(n_iter)
            measured(gap / max(objective, 1e-300))
            violation = self.worst() if epsilon is not None else np.nan
            converged = violation <= epsilon if epsilon is not None else gap <= tol * objective
            if (clock is not None and clock.over) or self._stagnates():
                break
        if epsilon is None and self.order.size:
            violation = self.worst()
        W = self.class_weights()
        if not self.problem.gram:
            exact = self.stored_objective(W, objective)
            objective, gap = exact, max(gap + exact - objective, 0.0)
        weights, intercept = self.problem.rows.to_features(W), W[-1] * self.dtype.type(self.problem.rows.bias)
        return RankingSolution(
            np.ascontiguousarray(weights), intercept, objective, gap, violation, n_iter, bool(converged), self.active(),
            self.loss.copy(), np.array(self.curve),
        )  # fmt: skip

    def _stagnates(self) -> bool:
        """Whether single precision is exhausted: the gap has not decreased for many certificates."""
        gaps = [P - D for _, P, D in self.curve]
        return self.dtype == np.float32 and len(gaps) > 30 and min(gaps[-15:]) > 0.95 * min(gaps[:-15])

    def coefficients(self) -> CSR:
        """Of documents and attribute nodes (n_docs x n_nodes): w = X' coefficients."""
        docs, ys, zs, alpha = self.active()
        shape = (self.problem.rows.n_docs, self.problem.classes.n_classes)
        at = np.concatenate([docs, docs]), np.concatenate([ys, zs])
        B = sparse.csr_array((np.concatenate([alpha, -alpha]), at), shape=shape)
        return sparse.csr_array(B @ self.problem.classes.attributes)

    def certify(self, n_iter: int) -> tuple[float, float]:
        """Objective P and gap P - D; W is recomputed from the dual variables."""
        dual_norm, stored_norm = self.rebuild()
        rows, problem = self.problem.rows, self.problem
        self.pairs_kernel.losses(
            *rows.matrix, rows.bias, problem.classes.arrays, *self.labels, problem.per_pair, problem.gram, self.W,
            self.loss, self.norm, self.room(), self.relevant,
        )  # fmt: skip
        if problem.gram:
            dual_norm = stored_norm = float(self.norm.sum())
        self.squared = dual_norm
        P = 0.5 * stored_norm + float(self.bound @ self.loss)
        D = self.linear() - 0.5 * dual_norm
        self.curve.append((n_iter, P, D))
        return P, max(P - D, 0.0)

    def rebuild(self) -> tuple[float, float]:
        """W from the dual variables, panel by panel in double precision: |w|^2 before and after rounding."""
        C = self.coefficients().tocsc()
        X = None if self.problem.gram else matrix_of(self.problem.rows)
        before = after = 0.0
        for q in range(self.n_panels):
            D = C[:, q * PANEL : (q + 1) * PANEL].tocsr()
            used = np.flatnonzero(np.diff(D.indptr))
            self.W[q] = 0
            if not len(used):
                continue
            values = D[used].toarray()
            if X is None:
                self.W[q, used, : values.shape[1]] = values
                continue
            V = np.asarray(X[used].T.astype(np.float64) @ values)
            last = self.problem.rows.bias * values.sum(axis=0)
            before += float(np.square(V).sum() + np.square(last).sum())
            self.W[q, :-1, : values.shape[1]] = V
            self.W[q, -1, : values.shape[1]] = last
            after += float(np.square(self.W[q], dtype=np.float64).sum())
        return before, after

    def class_weights(self) -> FloatArray:
        """Weights of classes from those of nodes, n_features + 1 x n_classes, features in the order of the kernels."""
        A = self.problem.classes.attributes
        nodes = np.concatenate(list(self.W), axis=1)[:, : A.shape[1]]
        return np.ascontiguousarray((A.astype(self.dtype) @ nodes.T).T)

    def stored_objective(self, W: FloatArray, objective: float) -> float:
        """The objective with the losses of the weights of classes W, which are rounded once more than those of nodes.

        The losses are kept. Where they are small and C is large, the difference can be 1e-4 of the objective.
        """
        rows, problem = self.problem.rows, self.problem
        n_classes = problem.classes.n_classes
        own = class_arrays(sparse.eye_array(n_classes, format="csr"), problem.classes.cost)
        panels = aligned_zeros((-(-n_classes // PANEL), len(W), PANEL), self.dtype)
        for q, panel in enumerate(panels):
            part = W[:, q * PANEL : (q + 1) * PANEL]
            panel[:, : part.shape[1]] = part
        before = float(self.bound @ self.loss)
        room = np.zeros(3 * PANEL * len(panels) + 2 * n_classes)
        self.pairs_kernel.losses(
            *rows.matrix, rows.bias, own.arrays, *self.labels, problem.per_pair, False, panels, self.loss, self.norm,
            room, self.relevant,
        )  # fmt: skip
        return objective - before + float(self.bound @ self.loss)

    def room(self) -> FloatArray:
        """Scratch for the kernels that need none for pairs."""
        return np.zeros(3 * PANEL * self.n_panels + 2 * self.problem.classes.n_classes)


class ExampleSlacks(_Solver):
    """One slack per document: the few active pairs of a document share its bound and are solved together, exactly.

    Documents without pairs and without loss are skipped until the end.
    """

    def __init__(self, problem: RankingProblem, seed: int | list[int]) -> None:
        super().__init__(problem, seed)
        self.kernel = dispatch.best("ranking")
        n_docs = problem.rows.n_docs
        self.sizes = np.zeros(n_docs, np.int32)
        self.ys, self.zs = (np.zeros((n_docs, _FIRST_ROOM), np.int32) for _ in range(2))
        self.cost, self.mass = (np.zeros((n_docs, _FIRST_ROOM)) for _ in range(2))
        self.idle = np.zeros((n_docs, _FIRST_ROOM), np.uint8)
        self.violation = np.full(n_docs, np.inf)
        self.idle_passes = np.zeros(n_docs, np.uint8)
        self.aim = 1.5

    def passes(self, tol: float, epsilon: float | None, left: int, clock: Clock | None) -> int:
        done, visited_all = 0, True
        self.aim *= 0.8  # the last certificate was not good enough
        while done < left and not (done and clock is not None and clock.over):  # one pass in any case
            active = self.order[self.idle_passes[self.order] < 2]
            visited_all = len(active) == len(self.order)
            gaps, worst = self.sweep(active, whole=True)
            done += 1
            calm = (self.sizes[active] == 0) & (self.violation[active] <= 0)
            self.idle_passes[active] = np.where(calm, np.minimum(self.idle_passes[active] + 1, 2), 0)
            if epsilon is not None:
                done_enough = worst <= epsilon
            else:
                done_enough = gaps <= self.aim * tol * (gaps + self.lower_bound())
            if done_enough:
                if visited_all:
                    break
                self.idle_passes[:] = 0
                continue
            for _ in range(_CACHED):
                cached_gaps, cached_worst = self.sweep(active, whole=False, skip=0.1 * worst if epsilon else 0.0)
                if cached_gaps <= 0.1 * gaps if epsilon is None else cached_worst <= 0.3 * max(worst, epsilon):
                    break
        self.idle_passes[:] = 0
        return done

    def lower_bound(self) -> float:
        """An estimate of the dual objective, to decide when to certify."""
        return self.linear() - 0.5 * self.squared

    def sweep(self, documents: IntArray, *, whole: bool, skip: float = 0.0) -> tuple[float, float]:
        """A pass over documents in random order; more room for pairs if a document has none left."""
        rows, problem = self.problem.rows, self.problem
        gaps, worst, longer, full = self.kernel.sweep(
            *rows.matrix, problem.gram, rows.squared_norm, rows.bias, problem.classes.arrays, *self.labels, self.bound,
            self.rng.permutation(documents).astype(np.int32), whole, skip, self.W, self.sizes, self.ys, self.zs,
            self.cost, self.mass, self.idle, self.violation, self.pair_room(), self.relevant, self.wanted,
        )  # fmt: skip
        self.squared += longer
        if full:
            self.grow()
        return gaps, worst

    def grow(self) -> None:
        for name in ("ys", "zs", "cost", "mass", "idle"):
            old = getattr(self, name)
            setattr(self, name, np.hstack([old, np.zeros_like(old)]))

    def pair_room(self) -> FloatArray:
        capacity = self.ys.shape[1]
        n = 2 * PANEL * self.n_panels + 5 * self.problem.classes.n_classes
        return np.zeros(n + 2 * (capacity + 1) + capacity**2)

    def _kept(self) -> BoolArray:
        return (np.arange(self.ys.shape[1]) < self.sizes[:, None]) & (self.mass > 0)

    def active(self) -> Pairs:
        kept = self._kept()
        return np.nonzero(kept)[0], self.ys[kept], self.zs[kept], (self.mass * self.cost)[kept]

    def linear(self) -> float:
        return float((self.mass * self.cost)[self._kept()].sum())

    def worst(self) -> float:
        """The largest violation: losses are those of the certificate, H of active pairs from the scores."""
        docs, ys, zs, alpha = self.active()
        cost = self.cost[self._kept()]
        margin = self.margins(docs, ys, zs)
        H = cost * (1 - margin)
        low = np.full(self.problem.rows.n_docs, np.inf)
        np.minimum.at(low, docs, H)
        rest = self.bound - np.bincount(docs, alpha / cost, minlength=len(low))
        low = np.where(rest > 1e-12 * self.bound, np.minimum(low, 0.0), low)
        violation = self.loss - low
        return float(violation[self.order].max(initial=0.0))

    def margins(self, docs: IntArray, ys: IntArray, zs: IntArray) -> FloatArray:
        """F(x_i, y) - F(x_i, z) of pairs, in double precision from W as it is stored."""
        A = self.problem.classes.attributes
        differences = sparse.csr_array(A[ys] - A[zs]).tocsc()
        margin = np.zeros(len(docs))
        X = matrix_of(self.problem.rows)
        for q in range(self.n_panels):
            D = differences[:, q * PANEL : (q + 1) * PANEL].tocsr()
            used = np.flatnonzero(np.diff(D.indptr))
            if len(used):
                owners, place = np.unique(docs[used], return_inverse=True)
                S = X[owners].astype(np.float64) @ self.W[q, :-1].astype(np.float64)
                S = np.asarray(S) + self.problem.rows.bias * self.W[q, -1].astype(np.float64)
                margin[used] += (D[used].toarray() * S[place, : D.shape[1]]).sum(axis=1)
        return margin


class PairSlacks(_Solver):
    """One slack per pair: a mass for every relevant class of a document and every other class."""

    def __init__(self, problem: RankingProblem, seed: int | list[int]) -> None:
        super().__init__(problem, seed)
        self.mass = np.zeros((len(self.labels[1]), problem.classes.n_classes))

    def passes(self, tol: float, epsilon: float | None, left: int, clock: Clock | None) -> int:
        rows, problem = self.problem.rows, self.problem
        n_passes = min(left, 5)
        for _ in range(n_passes):
            self.pairs_kernel.sweep_pairs(
                *rows.matrix, problem.gram, rows.squared_norm, rows.bias, problem.classes.arrays, *self.labels,
                self.bound, self.rng.permutation(self.order).astype(np.int32), self.W, self.mass, self.room(),
                self.relevant,
            )  # fmt: skip
        return n_passes

    def active(self) -> Pairs:
        entry, zs = np.nonzero(self.mass)
        docs = np.repeat(np.arange(self.problem.rows.n_docs), np.diff(self.labels[0]))[entry]
        ys = self.labels[1][entry]
        return docs, ys, zs.astype(np.int32), self.mass[entry, zs] * self._costs(ys, zs)

    def _costs(self, ys: IntArray, zs: IntArray) -> FloatArray:
        costs = np.zeros(len(ys))
        for y in np.unique(ys):
            costs[ys == y] = self.problem.classes.cost.row(int(y))[zs[ys == y]]
        return costs

    def linear(self) -> float:
        return float(self.active()[3].sum())

    def worst(self) -> float:
        return np.nan
