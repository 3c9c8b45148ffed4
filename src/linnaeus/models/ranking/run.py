"""What both kinds of slack share: the weights of nodes, when to stop, and certificates.

A certificate recomputes w from the dual variables, panel by panel in double precision, and compares the dual objective
with the primal one of w as it is stored; its losses are summed in double precision. The objective and the gap of the
solution have the losses of the weights of classes, as they are stored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import sparse

from linnaeus._kernels import dispatch
from linnaeus.models.ranking.arrays import class_arrays
from linnaeus.models.ranking.problem import Pairs, RankingProblem, RankingSolution, matrix_of
from linnaeus.models.solvers.rows import aligned_zeros
from linnaeus.typing import CSR, FloatArray

__all__ = ["PANEL", "Run"]

PANEL = 16


class Run(ABC):
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

    @abstractmethod
    def passes(self, tol: float, epsilon: float | None, left: int, clock: Any) -> int:
        """Some passes, until a certificate is worth looking at; how many."""

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
        W = self.class_weights()
        if not self.problem.gram:
            exact = self.stored_objective(W, objective)
            objective, gap = exact, max(gap + exact - objective, 0.0)
        weights, intercept = self.problem.rows.to_features(W), W[-1] * self.dtype.type(self.problem.rows.bias)
        return RankingSolution(
            np.ascontiguousarray(weights), intercept, objective, gap, violation, n_iter, bool(converged), self.active(),
            self.loss.copy(), np.array(self.curve),
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
        """Scratch for the kernels that need no room for pairs."""
        return np.zeros(3 * PANEL * self.n_panels + 2 * self.problem.classes.n_classes)
