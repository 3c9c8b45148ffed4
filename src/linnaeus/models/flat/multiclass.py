"""All labels in one problem, exactly one per document: the flat baselines MSVM and MLR.

    MSVM   min_W  1/2 sum_k |w_k|^2 + C sum_i max_k (w_k'x_i + [k != y_i] - w_{y_i}'x_i)      Crammer and Singer (2001)
    MLR    min_W  1/2 sum_k |w_k|^2 + C sum_i -log p(y_i | x_i),    p(k | x) = e^{w_k'x} / sum_j e^{w_j'x}

The taxonomy plays no part in training. The label of a document is its most specific one; documents with several, or
with none, are refused. The labels compete within a document, so they are one problem, which one thread solves;
``n_jobs`` is the number of threads that look for the best labels of documents (`top`).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from linnaeus.data.check import Problem
from linnaeus.engine import get_engine, single_blas_thread
from linnaeus.errors import DataError
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
from linnaeus.models.solvers.crammer_singer import solve_crammer_singer
from linnaeus.models.solvers.rows import BlockSolution, prepare_rows
from linnaeus.models.solvers.softmax import solve_softmax
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import Engine, FloatArray, IntArray, Matrix

__all__ = ["MulticlassSVM", "SoftmaxRegression"]


class _OneOfMany(LinearTaxonomyClassifier):
    """What both share: one label per document, all classes solved together."""

    C: float
    fit_intercept: bool
    tol: float
    max_iter: int
    n_jobs: int | None
    engine: str | Engine | None
    random_state: Seed
    verbose: int
    _alternatives: str

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = 1000,
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
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _solve(self, X: Matrix, target: IntArray, bound: FloatArray, bias: float) -> BlockSolution:
        """Weights of all classes together."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_training(self)
        get_engine(self.engine, self.n_jobs)
        warn_no_effect(self, "engine", "all labels are one problem, which one thread solves")

    def _fit(self, problem: Problem) -> None:
        target = self._classes_of(problem)
        with single_blas_thread(), waiting_if(self.verbose, f"training {len(self.nodes_)} labels together"):
            bound, bias = self.C * document_weights(problem), 1.0 if self.fit_intercept else 0.0
            found = self._solve(problem.X, target, bound, bias)
        self.weights_, self.intercept_ = np.ascontiguousarray(found.weights), found.intercept
        self.objective_, self.duality_gap_ = float(found.objective.sum()), float(found.gap.sum())
        self.n_iter_ = found.n_iter
        if not found.converged:
            gap = self.duality_gap_ / max(self.objective_, 1e-300)
            reason = gap_above(self.tol, gap, f"max_iter={self.max_iter}")
            warn_not_converged(reason, advice="increase max_iter or tol, or scale the features")

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

    def _solve(self, X: Matrix, target: IntArray, bound: FloatArray, bias: float) -> BlockSolution:
        seed = check_random_state(self.random_state).randint(2**31)
        rows = prepare_rows(X, bias)
        return solve_crammer_singer(
            rows, target, len(self.nodes_), bound, seed=seed, tol=self.tol, max_iter=self.max_iter
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

    def _solve(self, X: Matrix, target: IntArray, bound: FloatArray, bias: float) -> BlockSolution:
        return solve_softmax(X, target, len(self.nodes_), bound, bias=bias, tol=self.tol, max_iter=self.max_iter)

    def predict_proba(self, X: object) -> FloatArray:
        """Probabilities of the labels, n_docs x len(classes_); rows sum to 1."""
        from scipy.special import softmax

        if self.calibrator_ is not None:
            return self._calibrated(X)
        return softmax(self._all_scores(X), axis=1)
