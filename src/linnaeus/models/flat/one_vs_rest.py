"""One binary problem per label, each trained alone: the flat baselines BSVM and BLR.

    min_w  1/2 |w|^2 + C sum_i loss(y_i w'x_i)        y_i = +1 where document i carries the label, else -1

with the hinge (1 - t)_+, its square, or log(1 + e^-t). The taxonomy plays no part in training. Sixteen labels at a time
share one pass over the documents (`solvers.dual_cd`; `solvers.newton_cg` for smooth losses on dense documents), blocks
run on threads, every label's gap is certified.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from linnaeus.data.check import Problem
from linnaeus.engine import get_engine, single_blas_thread
from linnaeus.engine.plan import blocks
from linnaeus.errors import DataError, ParameterError, check_number, nearest
from linnaeus.models.linear import LinearTaxonomyClassifier
from linnaeus.models.solvers.binary import prepare_training, solve_columns
from linnaeus.progress import progress
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import FloatArray, Matrix

__all__ = ["OneVsRestLogistic", "OneVsRestSVM"]


class _OneVsRest(LinearTaxonomyClassifier):
    """What both share: blocks of labels through the solver that fits the documents."""

    loss: str
    C: float
    fit_intercept: bool
    learn: str
    tol: float
    max_iter: int
    n_jobs: int | None
    engine: Any
    random_state: Any
    verbose: int
    _losses: tuple[str, ...]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("C", self.C, above=0)
        check_number("tol", self.tol, above=0)
        check_number("max_iter", self.max_iter, least=1, whole=True)
        check_number("verbose", self.verbose, least=0)
        if self.fit_intercept not in (True, False):
            raise ParameterError(f"fit_intercept={self.fit_intercept!r}; expected True or False.")
        try:
            check_random_state(self.random_state)
        except ValueError as error:
            raise ParameterError(str(error)) from None
        if self.loss not in self._losses:
            raise ParameterError(
                f"loss={self.loss!r}; expected one of {self._losses}{nearest(str(self.loss), self._losses)}"
            )
        if self.learn not in ("given", "closed", "frontier"):
            raise ParameterError(f"learn={self.learn!r}; expected 'given', 'closed' or 'frontier'.")

    def _fit(self, problem: Problem) -> None:
        Y = self._targets(problem, self.learn).tocsc()
        if problem.codec.single_label and len(self.nodes_) < 2:
            only = problem.taxonomy.names[self.nodes_[0]]
            raise DataError(f"y has only one class, {only!r}; a classifier needs two.")
        weights = np.ones(problem.n_docs) if problem.weights is None else problem.weights
        bias = 1.0 if self.fit_intercept else 0.0
        stop: dict[str, Any] = {"loss": self.loss, "tol": self.tol, "max_iter": self.max_iter}
        training = prepare_training(problem.X, self.C * weights, bias=bias, **stop)
        parts = list(blocks(len(self.nodes_), training.block_size))
        # One seed per block, whatever thread solves it: the model does not depend on n_jobs.
        entropy = check_random_state(self.random_state).randint(2**31)
        seeds = np.random.SeedSequence(entropy).spawn(len(parts))
        tasks = ((Y[:, self.nodes_[part]], seed) for part, seed in zip(parts, seeds, strict=True))
        with single_blas_thread():
            solutions = get_engine(self.engine, self.n_jobs).map(solve_columns, tasks, shared=training)
            self._collect(solutions, parts, problem.X)

    def _collect(self, solutions: Any, parts: list[slice], X: Matrix) -> None:
        n = len(self.nodes_)
        self.weights_, self.intercept_ = np.empty((X.shape[1], n), X.dtype), np.empty(n, X.dtype)
        self.objective_ = self.duality_gap_ = 0.0
        self.n_iter_, unfinished = 0, 0
        with progress("training", n, show=self.verbose > 0) as advance:
            for part, found in zip(parts, solutions, strict=True):
                self.weights_[:, part], self.intercept_[part] = found.weights, found.intercept
                self.objective_ += float(found.objective.sum())
                self.duality_gap_ += float(found.gap.sum())
                self.n_iter_ = max(self.n_iter_, found.n_iter)
                unfinished += not found.converged
                advance(part.stop - part.start)
        if unfinished:
            warnings.warn(
                f"{unfinished} of {len(parts)} blocks of labels stopped at max_iter={self.max_iter} before the gap was "
                f"{self.tol:g} of the objective; raise max_iter or tol, or scale the features.",
                ConvergenceWarning,
                stacklevel=4,
            )


class OneVsRestSVM(_OneVsRest):
    """A linear support vector machine for every label (BSVM).

    Parameters
    ----------
    taxonomy : the taxonomy of the labels; None makes a flat one (or, for paths, a tree) from y.
    C : weight of the loss against 1/2 |w|^2.
    loss : "squared_hinge" or "hinge".
    fit_intercept : add a constant feature, regularised like the others.
    learn : labels as "given", "closed" (with all ancestors) or "frontier" (only the most specific).
    tol : relative duality gap at which a label is finished.
    max_iter : passes over the documents, at most.
    n_jobs : threads; None is 1, -1 all cores. The weights do not depend on it.

    Attributes
    ----------
    weights_ : n_features x n_classes; ``intercept_`` n_classes.
    objective_ : sum of the labels' objectives; the optimum is at least ``objective_ - duality_gap_``.
    n_iter_ : passes over the documents that the slowest block needed.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import OneVsRestSVM, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0.1]])
    >>> model = OneVsRestSVM(taxonomy=tax, random_state=0).fit(X, ["AA", "AB", "B", "AA"])
    >>> model.predict(X).tolist()
    ['AA', 'AB', 'B', 'AA']
    >>> round(model.objective_, 3), bool(model.duality_gap_ <= 1e-3 * model.objective_)
    (2.993, True)
    """

    _losses = ("squared_hinge", "hinge")

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        C: float = 1.0,
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        learn: str = "given",
        tol: float = 1e-3,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        engine: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.learn = learn
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose


class OneVsRestLogistic(_OneVsRest):
    """A logistic regression for every label (BLR).

    Parameters and attributes are those of `OneVsRestSVM`, without ``loss``.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import OneVsRestLogistic
    >>> X = np.array([[1.0, 0], [0, 1], [1, 0.2], [0.1, 1]])
    >>> model = OneVsRestLogistic(C=10.0, random_state=0).fit(X, [["a"], ["b"], ["a"], ["a", "b"]])
    >>> model.predict_proba(X[:1]).round(2).tolist()
    [[0.93, 0.1]]
    """

    _losses = ("logistic",)
    loss = "logistic"

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        learn: str = "given",
        tol: float = 1e-3,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        engine: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.fit_intercept = fit_intercept
        self.learn = learn
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of every label, n_docs x len(classes_); rows sum to 1 where every document has one label."""
        from scipy.special import expit

        S = self._all_scores(X)
        if self._binary:  # agree with decision_function, which is the difference of the two scores
            P = expit(0.5 * (S[:, 1] - S[:, 0]))
            return np.column_stack([1 - P, P])
        P = expit(S)
        if self.one_label_:
            P /= np.maximum(P.sum(axis=1, keepdims=True), np.finfo(P.dtype).tiny)
        return P
