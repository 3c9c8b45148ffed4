"""OT: classifiers of all nodes in one problem, each pushed to be orthogonal to those of its ancestors.

    min_W  1/2 sum_jk K_jk |w_j'w_k|  +  sum_i c_i max(0, max over (a, b) of 1 - (w_a - w_b)'x_i)

with W (n_nodes x n_features), a among the nodes on the path of document i and b among the siblings of a that are not.
D. Zhou, L. Xiao and M. Wu, "Hierarchical classification via orthogonal transfer", ICML 2011. Where a parent has used a
direction to separate its children, these are encouraged to use others: the opposite of recursive regularisation.

It is solved as a saddle point: since |t| = max over |r| <= 1 of r t, the first term is the largest 1/2 tr(W'(K o r)W)
over symmetric r with r_jj = 1. With M(r) = K o r and G = sum_i g_i x_i' (g_i = c_i sum of alpha_ab (e_a - e_b),
sum alpha <= 1) the dual is

    D(alpha, r) = sum_i c_i sum alpha_ab - 1/2 tr(G' M(r)^-1 G),      W = M(r)^-1 G

concave in both together. Two kinds of steps alternate: every document moves towards its most violated pair, as far as D
increases (block-coordinate Frank-Wolfe with pairwise steps, if its part of the gap is large); then r is set to its
optimum (L-BFGS-B, from the Gram matrix of G alone). The gap is a sum of parts that are never negative:

    P - D = sum_i [ c_i max(0, worst violation) - (c_i sum alpha - g_i'W x_i) ]  +  1/2 sum K |w_j'w_k| - 1/2 tr(W'M W)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from linnaeus.data.check import Problem
from linnaeus.data.matrices import is_sparse, with_constant
from linnaeus.decoding import Decoder
from linnaeus.engine import Clock, single_blas_thread
from linnaeus.errors import DataError, check_number
from linnaeus.models.fitting import (
    Seed,
    check_one_piece,
    check_training,
    document_weights,
    gap_above,
    gap_progress,
    warn_not_converged,
)
from linnaeus.models.topdown.base import Descent
from linnaeus.models.topdown.local import Family
from linnaeus.models.topdown.top_down import TopDownSVM
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import Engine, FloatArray, IntArray, Matrix

__all__ = ["OrthogonalTransfer", "SaddlePoint", "pair_weights"]

_NONE = (-1, -1)  # the pair that costs nothing
_STEPS = 4  # of a document in one visit
_SIGNS = 0.02  # part of the gap from which the signs are worth a step


class OrthogonalTransfer(TopDownSVM):
    """Classifiers at all nodes, learned together and pushed away from their ancestors' (OT); one label per document.

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        The taxonomy of the labels; None makes a flat one (or, for paths, a tree) from y.
    C : float, default=1.0
        Weight of the loss relative to the regulariser.
    transfer : float, default=1.0
        How strongly a node and all its descendants are pushed apart; 0 leaves them independent.
    fit_intercept : bool, default=True
        Whether to add a constant feature, regularised like the others.
    tol : float, default=1e-2
        Relative duality gap at which the fit ends.
    max_iter : int, default=1000
        Maximum number of passes over the documents that are not finished.
    max_time : float or str, default=None
        Time limit in seconds, or as "10m".
    n_jobs : int, default=None
        Threads for predictions; one thread solves the joint problem of all nodes.
    engine : object, default=None
        Deprecated: it has no effect.
    random_state : int or RandomState, default=None
        Seed of the order of the documents.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_classes)
        With ``intercept_`` of shape (n_classes,). Scores compare a node with its siblings.
    objective_, duality_gap_ : float
        The optimum is at least ``objective_ - duality_gap_``.
    n_iter_ : int
        Number of passes over the documents.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import OrthogonalTransfer, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0.1]])
    >>> model = OrthogonalTransfer(taxonomy=tax, C=10.0, random_state=0).fit(X, ["AA", "AB", "B", "AA"])
    >>> model.predict(X).tolist()
    ['AA', 'AB', 'B', 'AA']
    >>> bool(model.duality_gap_ <= 1e-2 * model.objective_)
    True
    """

    loss = "hinge"

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        C: float = 1.0,
        transfer: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-2,
        max_iter: int = 1000,
        max_time: float | str | None = None,
        n_jobs: int | None = None,
        engine: str | Engine | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.transfer = transfer
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_training(self)
        check_number("transfer", self.transfer, least=0)
        check_one_piece(self, self.max_time, self.n_jobs)

    def _fit(self, problem: Problem) -> None:
        sizes = np.diff(problem.frontier.indptr)
        if sizes.any() and (sizes != 1).any():
            document = int(np.flatnonzero(sizes != 1)[0])
            raise DataError(
                f"OrthogonalTransfer learns exactly one label per document, but document {document} has "
                f"{sizes[document]}; TopDownSVM and RRSVM learn label sets."
            )
        super()._fit(problem)

    def _learn(self, problem: Problem, families: list[Family]) -> None:
        """Solve for all nodes and stops together; set weights, objective and gap."""
        clock = Clock(self.max_time)
        n_columns = len(self.nodes_) + len(self.stop_nodes_)
        member = np.zeros((problem.n_docs, n_columns))
        for family in families:
            for column, where in zip(family.columns, family.positives, strict=True):
                member[family.rows[where], column] = 1
        X = _dense(problem.X, self.fit_intercept)
        c = self.C * document_weights(problem)
        K = pair_weights(self._below(problem.taxonomy), float(self.transfer))
        seed = int(check_random_state(self.random_state).randint(2**31))
        solver = SaddlePoint(X, member, [family.columns for family in families], K, c, seed)
        with single_blas_thread(), gap_progress(self.tol, show=self.verbose > 0) as measured:
            converged = solver.run(self.tol, self.max_iter, clock, measured)
        self._take(solver, problem.X)
        self.time_limit_reached_ = not converged and solver.n_iter < self.max_iter
        if not converged:
            limit = f"max_time={self.max_time}" if self.time_limit_reached_ else f"max_iter={self.max_iter}"
            reached = self.duality_gap_ / self.objective_
            warn_not_converged(gap_above(self.tol, reached, limit), advice="increase the limit or tol")

    def _below(self, taxonomy: Taxonomy) -> list[IntArray]:
        """Columns of the descendants of every column."""
        column_of = {int(v): i for i, v in enumerate(self.nodes_)}
        below: list[list[int]] = [[] for _ in range(len(self.nodes_) + len(self.stop_nodes_))]
        for v, column in column_of.items():
            for a in taxonomy.ancestors(v).tolist():
                if a != v and a in column_of:
                    below[column_of[a]].append(column)
        for number, v in enumerate(self.stop_nodes_.tolist()):
            for a in taxonomy.ancestors(v).tolist():
                if a in column_of:
                    below[column_of[a]].append(len(self.nodes_) + number)
        return [np.array(sorted(columns), np.int64) for columns in below]

    def _take(self, solver: SaddlePoint, X: Matrix) -> None:
        n, d = len(self.nodes_), X.shape[1]
        W = solver.W.T.astype(X.dtype)
        self.weights_, self.stop_weights_ = np.ascontiguousarray(W[:d, :n]), np.ascontiguousarray(W[:d, n:])
        constant = W[d] if self.fit_intercept else np.zeros(W.shape[1], X.dtype)
        self.intercept_, self.stop_intercept_ = constant[:n].copy(), constant[n:].copy()
        self.objective_, self.duality_gap_, self.n_iter_ = solver.objective, solver.gap, max(1, solver.n_iter)

    def _decoder(self, given: Decoder | str | None) -> Decoder:
        if given is not None:
            return super()._decoder(given)
        return Descent(theta=np.inf, leaf_mandatory=True, parents="any")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags


def _dense(X: Matrix, constant: bool) -> FloatArray:
    dense = np.asarray(X.toarray() if is_sparse(X) else X, np.float64)
    return np.asarray(with_constant(dense, 1.0)) if constant else dense


# -- the solver --------------------------------------------------------------------------------------------------------


def pair_weights(below: list[IntArray], transfer: float) -> FloatArray:
    """K for nodes with descendants ``below``: the pairs of a node share ``transfer`` evenly.

    K_jj = 1 + sum_k K_jk makes the regulariser strongly convex, whatever the signs of the pairs.

    Examples
    --------
    >>> pair_weights([np.array([1, 2]), np.array([], int), np.array([], int)], 1.0).tolist()
    [[2.0, 0.5, 0.5], [0.5, 1.5, 0.0], [0.5, 0.0, 1.5]]
    """
    K = np.zeros((len(below), len(below)))
    for j, descendants in enumerate(below):
        if len(descendants):
            K[j, descendants] = K[descendants, j] = transfer / len(descendants)
    K[np.diag_indices(len(K))] = 1 + K.sum(axis=1)
    return K


@dataclass
class SaddlePoint:
    """The solver: documents X (n_docs x n_features, dense), the nodes of each (n_docs x n_nodes, 0/1), families, K, c.

    ``families`` are nodes with the same parent, ``c`` weights of the documents.
    """

    X: FloatArray
    member: FloatArray
    families: list[IntArray]
    K: FloatArray
    c: FloatArray
    seed: int = 0
    g: FloatArray = field(init=False)  # n_docs x n_nodes
    total: FloatArray = field(init=False)  # sum alpha of every document
    r: FloatArray = field(init=False)
    objective: float = np.inf
    gap: float = np.inf
    n_iter: int = 0

    def __post_init__(self) -> None:
        n = len(self.K)
        self.g, self.total, self.r = np.zeros((len(self.X), n)), np.zeros(len(self.X)), np.zeros((n, n))
        self.alpha: list[dict[tuple[int, int], float]] = [{_NONE: 1.0} for _ in self.X]
        self.squares = np.einsum("ij,ij->i", self.X, self.X)
        self.pairs = np.nonzero(np.triu(self.K, 1))

    def run(self, tol: float, max_iter: int, clock: Clock, measured: Callable[[float], None]) -> bool:
        """Run until the gap is ``tol`` of the objective; return whether it was reached."""
        rng = np.random.default_rng(self.seed)
        self._invert()
        while True:
            parts, objective = self._measure()
            sign_gap = self._sign_gap()
            self.objective, self.gap = objective, float(parts.sum()) + sign_gap
            measured(self.gap / max(self.objective, 1e-300))
            if self.gap <= tol * self.objective or self.n_iter >= max_iter or clock.over:
                return self.gap <= tol * self.objective
            self.n_iter += 1
            open_ = np.flatnonzero(parts > 0.2 * tol * self.objective / len(parts))
            self._visit(rng.permutation(open_), clock)
            if sign_gap > _SIGNS * self.gap or self.n_iter == 1:
                self._update_signs()
            else:
                self._invert()  # so that rounding does not accumulate

    # -- documents -----------------------------------------------------------------------------------------------------

    def _worst(self, S: FloatArray, rows: IntArray) -> tuple[FloatArray, IntArray, IntArray]:
        """(largest 1 - (s_a - s_b), its a, its b) of some documents, by their scores S."""
        violation = np.full(len(rows), -np.inf)
        first, second = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        every = np.arange(len(rows))
        for family in self.families:
            inside = self.member[np.ix_(rows, family)] > 0
            own = np.where(inside, S[:, family], np.inf)  # the weakest of the document's nodes
            other = np.where(inside, -np.inf, S[:, family])
            a, b = own.argmin(axis=1), other.argmax(axis=1)
            worst = 1 - own[every, a] + other[every, b]
            better = worst > violation
            violation[better] = worst[better]
            first[better], second[better] = family[a[better]], family[b[better]]
        return violation, first, second

    def _visit(self, rows: IntArray, clock: Clock) -> None:
        """Some steps for each document, while there is time: weight moves from its least violated pair in use to the
        most violated one.
        """
        W, inverse = self.W, self.inverse
        for i in rows.tolist():
            if clock.over:
                return
            x, squares, c, alpha = self.X[i], self.squares[i], self.c[i], self.alpha[i]
            if not squares:
                continue
            s = W @ x
            for _ in range(_STEPS):
                violation, worst = self._worst_of(s, i)
                if violation <= 0:
                    violation, worst = 0.0, _NONE
                least = min(alpha, key=lambda pair: _violation(s, pair))
                gain = c * (violation - _violation(s, least))
                if gain <= 1e-10 * c or worst == least:
                    break
                step = np.zeros(len(s))
                _add(step, worst, c)
                _add(step, least, -c)
                moved = inverse @ step
                t = min(alpha[least], gain / max(squares * float(step @ moved), 1e-300))
                alpha[worst] = alpha.get(worst, 0.0) + t
                alpha[least] -= t
                if alpha[least] <= 0:
                    del alpha[least]
                self.g[i] += t * step
                W += np.outer(t * moved, x)
                s = s + t * squares * moved
            self.total[i] = 1 - alpha.get(_NONE, 0.0)

    def _worst_of(self, s: FloatArray, i: int) -> tuple[float, tuple[int, int]]:
        best, pair = -np.inf, _NONE
        for a, rivals in self.rivals[i]:
            b = int(rivals[s[rivals].argmax()])
            if 1 - s[a] + s[b] > best:
                best, pair = float(1 - s[a] + s[b]), (a, b)
        return best, pair

    @cached_property
    def rivals(self) -> list[list[tuple[int, IntArray]]]:
        """For every document its nodes, each with the siblings that it must beat."""
        family_of = {int(node): family for family in self.families for node in family}
        result = []
        for inside in self.member:
            pairs = [(a, family_of[a][inside[family_of[a]] == 0]) for a in np.flatnonzero(inside).tolist()]
            result.append([(a, rivals) for a, rivals in pairs if len(rivals)])
        return result

    # -- signs of the pairs --------------------------------------------------------------------------------------------

    def _update_signs(self) -> None:
        """Set r to its optimum for G."""
        from scipy.optimize import minimize

        j, k = self.pairs
        G = self.g.T @ self.X
        gram = G @ G.T

        def value(r: FloatArray) -> tuple[float, FloatArray]:
            M = self._metric(r)
            inverse = np.linalg.inv(M)
            turned = inverse @ gram @ inverse
            return 0.5 * float(np.einsum("ij,ji->", inverse, gram)), -self.K[j, k] * turned[j, k]

        if len(j):
            scale = max(value(self.r[j, k])[0], 1e-300)
            optimum = minimize(
                lambda r: tuple(part / scale for part in value(r)), self.r[j, k], jac=True, method="L-BFGS-B",
                bounds=[(-1, 1)] * len(j), options={"maxiter": 20, "ftol": 1e-12, "gtol": 1e-9},
            )  # fmt: skip
            self.r[j, k] = optimum.x
        self._invert(G)

    def _metric(self, r: FloatArray) -> FloatArray:
        M = np.diag(np.diag(self.K)).astype(float)
        j, k = self.pairs
        M[j, k] = M[k, j] = self.K[j, k] * r
        return M

    def _invert(self, G: FloatArray | None = None) -> None:
        self.M = self._metric(self.r[self.pairs])
        self.inverse = np.linalg.inv(self.M)
        self.W = self.inverse @ (self.g.T @ self.X if G is None else G)

    # -- the certificate -----------------------------------------------------------------------------------------------

    def _measure(self) -> tuple[FloatArray, float]:
        """(the documents' parts of the gap, P)."""
        S = self.X @ self.W.T
        violation = self._worst(S, np.arange(len(S)))[0]
        loss = self.c * np.maximum(violation, 0)
        parts = loss - self.c * self.total + np.einsum("ij,ij->i", self.g, S)
        return np.maximum(parts, 0), self._regulariser() + float(loss.sum())

    def _regulariser(self) -> float:
        return 0.5 * float((self.K * np.abs(self.W @ self.W.T)).sum())

    def _sign_gap(self) -> float:
        """The part of the gap due to r, which may differ from the signs of the products."""
        return max(0.0, self._regulariser() - 0.5 * float((self.M * (self.W @ self.W.T)).sum()))


def _violation(s: FloatArray, pair: tuple[int, int]) -> float:
    return 0.0 if pair == _NONE else float(1 - s[pair[0]] + s[pair[1]])


def _add(step: FloatArray, pair: tuple[int, int], weight: float) -> None:
    if pair != _NONE:
        step[pair[0]] += weight
        step[pair[1]] -= weight
