"""All labels in one problem, exactly one per document: the flat baselines MSVM and MLR.

    MSVM   min_W  1/2 sum_k |w_k|^2 + C sum_i max_k (w_k'x_i + [k != y_i] - w_{y_i}'x_i)      Crammer and Singer (2001)
    MLR    min_W  1/2 sum_k |w_k|^2 + C sum_i -log p(y_i | x_i),    p(k | x) = e^{w_k'x} / sum_j e^{w_j'x}

The taxonomy plays no part in training. The label of a document is its most specific one; documents with several, or
with none, are refused. The labels compete within a document, so they are one problem, which one thread solves;
``n_jobs`` is the number of threads that look for the best labels of documents (`top`).

Truncated Newton for soft-max regression on sparse or dense documents.

    min_W  P(W) = 1/2 sum_k |w_k|^2 + sum_i c_i (log sum_k e^{s_ik} - s_{i,y_i}),      S = X W (n_docs x n_classes)

With p_i = softmax(s_i), R = c (p - onehot(y)), and for a direction V with Q = X V:

    gradient  G = W + X'R,      Hessian  H V = V + X'(rows c p * (q - p'q))

H V = -G is solved by conjugate gradients to a tenth of |G|. The certificate: the dual is

    D(A) = sum_i c_i entropy(q_i) - 1/2 |X'A|^2     over A_i = c_i (onehot(y_i) - q_i), every q_i a distribution,

and at q = p, A = -R, every term of P - D but one cancels: P - D = 1/2 |W - X'A|^2 = 1/2 |G|^2. P and G are computed in
double precision, for W as it is stored.

The multi-class SVM of Crammer and Singer is solved by epochs of the sequential dual method, then certified.

    min_W  1/2 sum_k |w_k|^2 + sum_i c_i max_k (w_k'x_i + [k != y_i] - w_{y_i}'x_i)

All classes are one problem. It is finished when the certified relative gap (P - D) / P is at most ``tol``; W is rebuilt
from the dual variables in double precision and P is the objective of W as it is stored. Rows and panels of sixteen
classes that take no part are left out of epochs, and looked at again before anything is certified.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from linnaeus._kernels import dispatch
from linnaeus.data.check import Problem
from linnaeus.data.matrices import Rows, aligned_zeros, prepare_rows
from linnaeus.engine import Clock, blocks, get_engine, rows_that_fit, single_blas_thread
from linnaeus.errors import DataError
from linnaeus.losses.surrogate import Softmax
from linnaeus.models.fitting import (
    Seed,
    check_training,
    document_weights,
    gap_above,
    require_two_classes,
    waiting_if,
    warn_no_effect,
    warn_not_converged,
)
from linnaeus.models.linear import LinearTaxonomyClassifier
from linnaeus.models.solvers import PANEL, BlockSolution
from linnaeus.models.solvers.cg import Direction, Which, conjugate_gradients, step_length, whole_dot
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import Engine, FloatArray, IntArray, Matrix, Scalar

__all__ = ["MulticlassSVM", "SoftmaxRegression", "solve_crammer_singer", "solve_softmax"]

_TINY = np.finfo(float).tiny


def solve_crammer_singer(
    rows: Rows,
    target: IntArray,
    n_classes: int,
    bound: FloatArray,
    *,
    tol: float,
    max_iter: int,
    seed: int,
    clock: Clock | None = None,
) -> BlockSolution:
    """Solve for all classes at once; ``target`` holds the class 0..n_classes-1 of every row, ``bound`` its c_i."""
    return _RankedClasses(rows, target, n_classes, bound, seed, clock or Clock()).solve(tol, max_iter)


class _RankedClasses:
    """State: W (n_panels x features + 1 x 16), mass p (rows x 16 n_panels), which panels of a row are live."""

    def __init__(
        self, rows: Rows, target: IntArray, n_classes: int, bound: FloatArray, seed: int, clock: Clock
    ) -> None:
        dtype, n_panels = rows.data.dtype, -(-n_classes // PANEL)
        self.kernel = dispatch.best("crammer_singer")
        self.rows, self.n_classes, self.clock = rows, n_classes, clock
        self.bound, self.target = bound.astype(dtype), target.astype(np.int32)
        self.W = aligned_zeros((n_panels, rows.n_features + 1, PANEL), dtype)
        self.p = aligned_zeros((rows.n_docs, n_panels * PANEL), dtype)
        self.p[np.arange(rows.n_docs), target] = self.bound
        self.live = np.ones((rows.n_docs, n_panels), np.uint8)
        self.room = aligned_zeros((4, n_panels * PANEL), dtype), np.zeros(n_panels * PANEL, np.int32)
        self.rng = np.random.default_rng(seed)
        self.order = self.rng.permutation(rows.n_docs).astype(np.int32)
        # Shrinking: rows still visited, whether they are all, and the violation at which to look at all of them again.
        self.n_active, self.whole, self.coarse = rows.n_docs, True, 1.0

    def solve(self, tol: float, max_iter: int) -> BlockSolution:
        epochs, look, violation = 0, 8, min(0.3, 30 * tol)
        while True:
            # The largest violation says little about the gap: look at the gap itself, ever more rarely.
            epochs, solved = self._descend(violation, epochs, min(look, max_iter))
            objective, gap = self._certify()
            if gap <= tol * objective or epochs >= max_iter or self.clock.over:
                break
            look = max(look, int(1.3 * epochs) + 1)
            if solved:
                violation *= min(0.5, max(0.05, tol * objective / max(gap, _TINY)))
        W = np.concatenate(list(self.W), axis=1)[:, : self.n_classes]
        weights, intercept = self.rows.to_features(W), W[-1] * W.dtype.type(self.rows.bias)
        converged = bool(gap <= tol * objective)
        return BlockSolution(weights, intercept, np.array([objective]), np.array([gap]), epochs, converged)

    def _descend(self, violation: float, epochs: int, most: int) -> tuple[int, bool]:
        """At most ``most`` epochs, until no row is violated by more than ``violation`` on a pass over everything."""
        while epochs < most:
            epochs += 1
            self.rng.shuffle(self.order[: self.n_active])
            self.n_active, worst = self.kernel.sweep(
                *self.rows.matrix, self.rows.squared_norm, self.bound, self.rows.bias, self.target, self.n_classes,
                self.order, self.n_active, self.W, self.p, self.live, *self.room,
            )  # fmt: skip
            if worst > self.coarse and self.n_active and not self.clock.over:
                self.whole = False
                continue
            solved = self.whole and worst <= violation
            # The shrunken problem is solved well enough: look at everything again, and closer.
            self.n_active, self.whole, self.coarse = self.rows.n_docs, True, max(0.5 * self.coarse, violation)
            self.live[:] = 1
            if solved:
                return epochs, True
            if self.clock.over:
                break
        return epochs, False

    def _certify(self) -> tuple[float, float]:
        """Objective P and gap P - D, W rebuilt from the dual variables."""
        V = np.zeros(self.W.shape)
        common = (self.bound, self.rows.bias, self.target)
        linear = self.kernel.rebuild(*self.rows.matrix, *common, self.p, V)
        self.W[:] = V
        loss = self.kernel.losses(*self.rows.matrix, *common, self.n_classes, self.W)
        P = 0.5 * float(np.square(self.W, dtype=np.float64).sum()) + loss
        D = linear - 0.5 * float(np.square(V).sum())
        return P, max(P - D, 0.0)


def solve_softmax(
    X: Matrix,
    target: IntArray,
    n_classes: int,
    bound: FloatArray,
    *,
    bias: float,
    tol: float,
    max_iter: int,
    clock: Clock | None = None,
) -> BlockSolution:
    """Solve for all classes; ``target`` holds the class of every row, ``bound`` its c_i, ``bias`` the constant."""
    problem = _Softmax(X, target, n_classes, bound.astype(X.dtype)[:, None], X.dtype.type(bias), clock or Clock())
    return problem.solve(tol, max_iter)


@dataclass
class _Softmax:
    """X (CSR or dense), class and bound of every row; W is (n_features + 1 x n_classes), the constant last.

    Directions are found in single precision: they need to be good to a tenth only.
    """

    X: Matrix
    target: IntArray
    n_classes: int
    c: FloatArray
    bias: Scalar
    clock: Clock

    def __post_init__(self) -> None:
        self.light = self.X.astype(np.float32, copy=False)

    def solve(self, tol: float, max_iter: int) -> BlockSolution:
        W = np.zeros((self.X.shape[1] + 1, self.n_classes), self.X.dtype)
        S = np.empty((self.X.shape[0], self.n_classes), self.X.dtype)
        products = 0
        while True:
            P, G, probability = self._evaluate(W, S)
            gap = min(0.5 * float(whole_dot(G, G)), P)
            if gap <= tol * P or products >= max_iter or (products and self.clock.over):
                break
            found = self._direction(G.astype(np.float32), probability, max_iter - products)
            products += found.n_products
            step = self._step(W, S, G, found)
            if step == 0:  # rounding leaves no descent: the gap stands as certified
                break
            W += W.dtype.type(step) * found.x
        converged = bool(gap <= tol * P)
        return BlockSolution(W[:-1], W[-1] * self.bias, np.array([P]), np.array([gap]), products, converged)

    def _evaluate(self, W: FloatArray, S: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """P and its gradient in double precision, some rows at a time, and the probabilities; S takes the scores."""
        exact = W.astype(np.float64)
        P, G = 0.5 * float(whole_dot(exact, exact)), exact.copy()
        probability = np.empty(S.shape, np.float32)
        row_bytes = 8 * (3 * self.n_classes + self.X.shape[1] * isinstance(self.X, np.ndarray))
        for part in blocks(len(self.target), rows_that_fit(row_bytes)):
            X, y, c = self.X[part].astype(np.float64), self.target[part], self.c[part].astype(np.float64)
            scores = X @ exact[:-1] + float(self.bias) * exact[-1]
            own = (np.arange(len(y)), y)
            norm, R = Softmax().expand(scores)
            P += float((c[:, 0] * (norm - scores[own])).sum())
            S[part], probability[part] = scores, R
            R[own] -= 1
            R *= c
            G[:-1] += X.T @ R
            G[-1] += float(self.bias) * R.sum(axis=0)
        return P, G, probability

    def _direction(self, G: FloatArray, probability: FloatArray, most: int) -> Direction:
        """V with |H V + G| <= 0.1 |G|."""
        weighted = self.c.astype(np.float32) * probability

        def product(V: FloatArray, _: FloatArray) -> tuple[FloatArray, None]:
            Q = self._product(V)
            Q -= np.einsum("ij,ij->i", probability, Q)[:, None]
            Q *= weighted  # rows c p * (q - p'q)
            return V + np.vstack([self.light.T @ Q, np.float32(self.bias) * Q.sum(axis=0)]), None

        # H is at least the identity: where less curvature is left, rounding has eaten the rest.
        return conjugate_gradients(product, -G, max_products=max(1, min(most, 500)), least=0.5)

    def _product(self, V: FloatArray) -> FloatArray:
        Q = self.light @ V[:-1]
        if self.bias:
            Q += np.float32(self.bias) * V[-1]
        return Q

    def _step(self, W: FloatArray, S: FloatArray, G: FloatArray, found: Direction) -> float:
        """Length of a step; 0 where rounding forbids any."""
        XV, start = self._product(found.x), self._loss(S)

        def losses(t: FloatArray, _: Which) -> FloatArray:
            return np.array([self._loss(S + np.float32(t[0]) * XV)])

        slack = float(np.finfo(S.dtype).eps) * start
        return float(step_length(found, G, W, losses, np.array([start]), slack=slack)[0])

    def _loss(self, S: FloatArray) -> float:
        return float((self.c[:, 0] * Softmax().value(S, self.target)).sum(dtype=np.float64))


class _OneOfMany(LinearTaxonomyClassifier):
    """What both share: one label per document, all classes solved together."""

    C: float
    fit_intercept: bool
    tol: float
    max_iter: int
    max_time: float | str | None
    n_jobs: int | None
    engine: str | Engine | None
    random_state: Seed
    verbose: int
    _alternatives: str
    time_limit_reached_: bool = False

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_time: float | str | None = None,
        n_jobs: int | None = None,
        engine: str | Engine | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _solve(self, X: Matrix, target: IntArray, bound: FloatArray, bias: float, clock: Clock) -> BlockSolution:
        """Weights of all classes together."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_training(self)
        Clock(self.max_time)
        get_engine(self.engine, self.n_jobs)
        warn_no_effect(self, "engine", "all labels are one problem, which one thread solves")

    def _fit(self, problem: Problem) -> None:
        clock, target = Clock(self.max_time), self._classes_of(problem)
        with single_blas_thread(), waiting_if(self.verbose, f"training {len(self.nodes_)} labels together"):
            bound, bias = self.C * document_weights(problem), 1.0 if self.fit_intercept else 0.0
            found = self._solve(problem.X, target, bound, bias, clock)
        self.weights_, self.intercept_ = np.ascontiguousarray(found.weights), found.intercept
        self.objective_, self.duality_gap_ = float(found.objective.sum()), float(found.gap.sum())
        self.n_iter_ = found.n_iter
        self.time_limit_reached_ = not found.converged and found.n_iter < self.max_iter and clock.over
        if not found.converged:
            gap = self.duality_gap_ / max(self.objective_, 1e-300)
            limit = "max_time" if self.time_limit_reached_ else "max_iter"
            reason = gap_above(self.tol, gap, f"{limit}={getattr(self, limit)}")
            warn_not_converged(reason, advice=f"increase {limit} or tol, or scale the features")

    def _classes_of(self, problem: Problem) -> IntArray:
        """The class (column) of every document: its one most specific label."""
        Y = self._targets(problem, "frontier")
        sizes = np.diff(Y.indptr)
        if (sizes != 1).any():
            document = int(np.flatnonzero(sizes != 1)[0])
            given = ", ".join(map(repr, problem.taxonomy.names[Y[[document]].indices][:3])) or "none"
            raise DataError(
                f"{type(self).__name__} learns exactly one label per document, but document {document} has "
                f"{sizes[document]} ({given}); {self._alternatives} learn label sets."
            )
        require_two_classes(problem, self.nodes_, one_label_each=True)
        column = np.empty(problem.taxonomy.n_nodes, np.int32)
        column[self.nodes_] = np.arange(len(self.nodes_), dtype=np.int32)
        return column[Y.indices]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags


class MulticlassSVM(_OneOfMany):
    """The multi-class support vector machine of Crammer and Singer (MSVM): one label per document.

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        The taxonomy of the labels; None makes a flat one (or, for paths, a tree) from y.
    C : float, default=1.0
        Weight of the loss against 1/2 |W|^2.
    fit_intercept : bool, default=True
        Add a constant feature, regularised like the others.
    tol : float, default=0.001
        Relative duality gap at which training is finished.
    max_iter : int, default=1000
        Maximum number of passes over the documents.
    max_time : float or str, default=None
        Seconds, or "10m": stop then, with the certified gap so far.
    n_jobs : int, default=None
        Threads that look for the best labels of documents (`top`); None is 1, -1 all cores. Training has one thread.
    engine : str or Engine, default=None
        Deprecated; it has no effect, since all labels are one problem.
    random_state : int or RandomState, default=None
        Seed of the order of documents.
    verbose : int, default=0
        Show a spinner if above 0.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_classes)
        Weights of the labels.
    intercept_ : ndarray of shape (n_classes,)
        Weights of the constant feature.
    objective_ : float
        The objective; the optimum is at least ``objective_ - duality_gap_``.
    duality_gap_ : float
        The certified gap.
    n_iter_ : int
        Passes over the documents.
    time_limit_reached_ : bool
        Whether ``max_time`` stopped the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import MulticlassSVM, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0.1]])
    >>> model = MulticlassSVM(taxonomy=tax, random_state=0).fit(X, ["AA", "AB", "B", "AA"])
    >>> model.predict(X).tolist()
    ['AA', 'AB', 'B', 'AA']
    >>> round(model.objective_, 3), bool(model.duality_gap_ <= 1e-3 * model.objective_)
    (1.037, True)
    """

    _alternatives = "OneVsRestSVM and RRSVM"

    def _solve(self, X: Matrix, target: IntArray, bound: FloatArray, bias: float, clock: Clock) -> BlockSolution:
        seed = check_random_state(self.random_state).randint(2**31)
        rows = prepare_rows(X, bias)
        return solve_crammer_singer(
            rows, target, len(self.nodes_), bound, seed=seed, tol=self.tol, max_iter=self.max_iter, clock=clock
        )


class SoftmaxRegression(_OneOfMany):
    """Multinomial logistic regression (MLR): one label per document, with probabilities.

    Attributes are those of `MulticlassSVM`.

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        The taxonomy of the labels; None makes a flat one (or, for paths, a tree) from y.
    C : float, default=1.0
        Weight of the loss against 1/2 |W|^2.
    fit_intercept : bool, default=True
        Add a constant feature, regularised like the others.
    tol : float, default=0.001
        Relative duality gap at which training is finished.
    max_iter : int, default=1000
        Maximum number of products with the documents.
    max_time : float or str, default=None
        Seconds, or "10m": stop then, with the certified gap so far.
    n_jobs : int, default=None
        Threads that look for the best labels of documents (`top`); None is 1, -1 all cores. Training has one thread.
    engine : str or Engine, default=None
        Deprecated; it has no effect, since all labels are one problem.
    random_state : int or RandomState, default=None
        Accepted as in every iterative model; the solver is deterministic.
    verbose : int, default=0
        Show a spinner if above 0.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import SoftmaxRegression
    >>> X = np.array([[1.0, 0], [0, 1], [1, 0.2], [0.1, 1]])
    >>> model = SoftmaxRegression(C=10.0).fit(X, ["a", "b", "a", "b"])
    >>> model.predict_proba(X[:1]).round(2).tolist()
    [[0.94, 0.06]]
    """

    _alternatives = "OneVsRestLogistic and RRLogistic"

    def _solve(self, X: Matrix, target: IntArray, bound: FloatArray, bias: float, clock: Clock) -> BlockSolution:
        return solve_softmax(
            X, target, len(self.nodes_), bound, bias=bias, tol=self.tol, max_iter=self.max_iter, clock=clock
        )

    def predict_proba(self, X: object) -> FloatArray:
        """Probabilities of the labels, n_docs x len(classes_); rows sum to 1."""
        from scipy.special import softmax

        if self.calibrator_ is not None:
            return self._calibrated(X)
        return softmax(self._all_scores(X), axis=1)
