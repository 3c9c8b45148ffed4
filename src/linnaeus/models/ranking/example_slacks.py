"""One slack per document: its few pairs share its bound, and are solved together, exactly.

A whole pass looks at all classes of a document and adds for every right class the pair that violates most; passes in
between look only at the pairs that documents have. Documents without pairs and without loss rest until the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from linnaeus._kernels import dispatch
from linnaeus.models.ranking.problem import Pairs, RankingProblem, matrix_of
from linnaeus.models.ranking.run import PANEL, Run
from linnaeus.typing import BoolArray, FloatArray, IntArray

__all__ = ["ExampleSlacks"]

_FIRST_ROOM = 8  # pairs of a document; grows where a document needs more
_CACHED = 8  # passes over the pairs that documents have, after a whole pass


class ExampleSlacks(Run):
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

    def active(self) -> Pairs:
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
