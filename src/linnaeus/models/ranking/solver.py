"""Solver of the hierarchical multi-label SVM: passes of block coordinate ascent, then a certificate.

    min_w  1/2 |w|^2 + sum_i c_i xi_i      w_y - w_z separates every pair by 1 - xi_i / D(y, z), y in Y_i, z not

A whole pass looks at all classes of a document, adds its worst pair to the pairs that it has and solves these exactly;
passes in between look only at the pairs that documents have. It is finished when the certified relative gap
(P - D) / P is at most ``tol``, or, with ``epsilon``, when no document violates its optimality by more than that
(Prop. 3 of the thesis: then P - D <= epsilon sum_i c_i). With one slack per pair, every pair is moved alone.

Documents are rows of features, or rows of the Gram matrix of all documents (``gram``): then w is kept as coefficients
of nodes per document. Certificates are of w as it is stored, in double precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from linnaeus._kernels import dispatch
from linnaeus.models.ranking.arrays import ClassArrays
from linnaeus.models.solvers.rows import Rows, aligned_zeros
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = ["RankingProblem", "RankingSolution", "gram_rows", "solve_ranking"]

PANEL = 16
_FIRST_ROOM = 8  # pairs of a document; grows where a document needs more
_CACHED = 8  # passes over the pairs that documents have, after a whole pass
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class RankingProblem:
    """Rows, their relevant classes (n_docs x n_classes, CSR), bounds c_i, and what is known of classes."""

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
    pairs: tuple[IntArray, IntArray, IntArray, FloatArray]
    slack: FloatArray
    curve: FloatArray


def gram_rows(K: FloatArray) -> Rows:
    """A Gram matrix (n_docs x n_docs) as rows of a problem with ``gram``."""
    n_docs = len(K)
    indptr = np.arange(n_docs + 1, dtype=np.int64) * n_docs
    squared = np.ascontiguousarray(np.diag(K))
    return Rows(indptr, np.zeros(1, np.int32), np.ascontiguousarray(K).reshape(-1), True, squared, 0.0, n_docs, None)


def solve_ranking(
    problem: RankingProblem, *, tol: float, epsilon: float | None, max_iter: int, seed: Any, clock: Any = None
) -> RankingSolution:
    """Solve to a relative gap ``tol``, or to ``epsilon`` where it is given; at most ``max_iter`` passes."""
    run = _PairSlacks(problem, seed) if problem.per_pair else _ExampleSlacks(problem, seed)
    return run.solve(tol, epsilon, max_iter, clock)


class _Run:
    """State that both kinds of slack share: W (n_panels x n_features + 1 x 16), scratch, certificates."""

    def __init__(self, problem: RankingProblem, seed: Any) -> None:
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
        self.squared = 0.0  # |w|^2, as far as passes know it
        self.curve: list[tuple[float, float, float]] = []

    # -- what the kinds of slack do ------------------------------------------------------------------------------------

    def passes(self, tol: float, epsilon: float | None, left: int, clock: Any) -> int:
        """Some passes, until a certificate is worth looking at; how many."""
        raise NotImplementedError

    def active(self) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
        """Documents, right classes, other classes and alpha of all pairs with mass."""
        raise NotImplementedError

    def linear(self) -> float:
        """The linear part of the dual objective."""
        raise NotImplementedError

    def worst(self) -> float:
        """The largest violation of a document."""
        raise NotImplementedError

    # -- shared --------------------------------------------------------------------------------------------------------

    def solve(self, tol: float, epsilon: float | None, max_iter: int, clock: Any) -> RankingSolution:
        n_iter, converged, violation = 0, len(self.order) == 0, 0.0
        objective, gap = self.certify(n_iter)
        while not converged and n_iter < max_iter:
            # Certificates are looked at ever more rarely; each makes W anew, so that rounding cannot add up for long.
            n_iter += self.passes(tol, epsilon, min(max_iter - n_iter, 20 + n_iter // 2), clock)
            objective, gap = self.certify(n_iter)
            violation = self.worst() if epsilon is not None else np.nan
            converged = violation <= epsilon if epsilon is not None else gap <= tol * objective
            if (clock is not None and clock.over) or self.stands_still():
                break
        if epsilon is None and self.order.size:
            violation = self.worst()
        weights, intercept = self.weights()
        return RankingSolution(
            weights, intercept, objective, gap, violation, n_iter, bool(converged), self.active(), self.loss.copy(),
            np.array(self.curve),
        )  # fmt: skip

    def stands_still(self) -> bool:
        """Whether single precision can do no better: the gap has not fallen for many certificates."""
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
        """Objective P and gap P - D; W is made anew from the dual variables."""
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
        X = None if self.problem.gram else _matrix(self.problem.rows)
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

    def weights(self) -> tuple[FloatArray, FloatArray]:
        """Weights of classes from those of nodes; n_features x n_classes and n_classes."""
        A, rows = self.problem.classes.attributes, self.problem.rows
        nodes = np.concatenate(list(self.W), axis=1)[:, : A.shape[1]]
        W = np.ascontiguousarray((A.astype(self.dtype) @ nodes.T).T)
        return np.ascontiguousarray(rows.to_features(W)), W[-1] * self.dtype.type(rows.bias)

    def room(self) -> FloatArray:
        """Scratch for the kernels that need no room for pairs."""
        return np.zeros(3 * PANEL * self.n_panels + 2 * self.problem.classes.n_classes)


class _ExampleSlacks(_Run):
    """One slack per document: every document has a few pairs that share its bound."""

    def __init__(self, problem: RankingProblem, seed: Any) -> None:
        super().__init__(problem, seed)
        self.kernel = dispatch.best("ranking")
        n_docs = problem.rows.n_docs
        self.sizes = np.zeros(n_docs, np.int32)
        self.ys, self.zs = (np.zeros((n_docs, _FIRST_ROOM), np.int32) for _ in range(2))
        self.cost, self.mass = (np.zeros((n_docs, _FIRST_ROOM)) for _ in range(2))
        self.idle = np.zeros((n_docs, _FIRST_ROOM), np.uint8)
        self.violation = np.full(n_docs, np.inf)
        self.calm = np.zeros(n_docs, np.uint8)
        self.aim = 1.5

    def passes(self, tol: float, epsilon: float | None, left: int, clock: Any) -> int:
        done, looked_at_all = 0, True
        self.aim *= 0.8  # the last certificate was not good enough
        while done < left and (clock is None or not clock.over):
            active = self.order[self.calm[self.order] < 2]
            looked_at_all = len(active) == len(self.order)
            gaps, worst = self.sweep(active, whole=True)
            done += 1
            calm = (self.sizes[active] == 0) & (self.violation[active] <= 0)
            self.calm[active] = np.where(calm, np.minimum(self.calm[active] + 1, 2), 0)
            if epsilon is not None:
                near = worst <= epsilon
            else:
                near = gaps <= self.aim * tol * (gaps + self.lower_bound())
            if near:
                if looked_at_all:
                    break
                self.calm[:] = 0
                continue
            for _ in range(_CACHED):
                cached_gaps, cached_worst = self.sweep(active, whole=False, skip=0.1 * worst if epsilon else 0.0)
                if cached_gaps <= 0.1 * gaps if epsilon is None else cached_worst <= 0.3 * max(worst, epsilon):
                    break
        self.calm[:] = 0
        return done

    def lower_bound(self) -> float:
        """The dual objective about where it is; it only steers."""
        return self.linear() - 0.5 * self.squared

    def sweep(self, documents: IntArray, *, whole: bool, skip: float = 0.0) -> tuple[float, float]:
        """A pass over documents in random order; more room for pairs where a document has none left."""
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

    def active(self) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
        kept = self._kept()
        return np.nonzero(kept)[0], self.ys[kept], self.zs[kept], (self.mass * self.cost)[kept]

    def linear(self) -> float:
        return float((self.mass * self.cost)[self._kept()].sum())

    def worst(self) -> float:
        """From a pass that moves nothing: losses are those of the certificate, H of active pairs from the scores."""
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
        X = _matrix(self.problem.rows)
        for q in range(self.n_panels):
            D = differences[:, q * PANEL : (q + 1) * PANEL].tocsr()
            used = np.flatnonzero(np.diff(D.indptr))
            if len(used):
                owners, place = np.unique(docs[used], return_inverse=True)
                S = X[owners].astype(np.float64) @ self.W[q, :-1].astype(np.float64)
                S = np.asarray(S) + self.problem.rows.bias * self.W[q, -1].astype(np.float64)
                margin[used] += (D[used].toarray() * S[place, : D.shape[1]]).sum(axis=1)
        return margin


class _PairSlacks(_Run):
    """One slack per pair: a mass for every relevant class of a document and every other class."""

    def __init__(self, problem: RankingProblem, seed: Any) -> None:
        super().__init__(problem, seed)
        self.mass = np.zeros((len(self.labels[1]), problem.classes.n_classes))

    def passes(self, tol: float, epsilon: float | None, left: int, clock: Any) -> int:
        rows, problem = self.problem.rows, self.problem
        n_passes = min(left, 5)
        for _ in range(n_passes):
            self.pairs_kernel.sweep_pairs(
                *rows.matrix, problem.gram, rows.squared_norm, rows.bias, problem.classes.arrays, *self.labels,
                self.bound, self.rng.permutation(self.order).astype(np.int32), self.W, self.mass, self.room(),
                self.relevant,
            )  # fmt: skip
        return n_passes

    def active(self) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
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


def _matrix(rows: Rows) -> Any:
    """Rows of the kernels as a matrix (n_docs x n_features)."""
    if rows.dense:
        return rows.data.reshape(rows.n_docs, -1)
    data, indices = rows.data[: rows.indptr[-1]], rows.indices[: rows.indptr[-1]]
    return sparse.csr_array((data, indices, rows.indptr), shape=(rows.n_docs, rows.n_features))
