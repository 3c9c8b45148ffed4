"""OT: classifiers of all nodes in one problem, each pushed to be orthogonal to those of its ancestors.

    min_W  1/2 sum_jk K_jk |w_j'w_k|  +  C sum_i max(0, max over a on the path, b sibling of a, of 1 - (w_a - w_b)'x_i)

D. Zhou, L. Xiao and M. Wu, "Hierarchical classification via orthogonal transfer", ICML 2011. Where a parent has used a
direction to tell its families apart, its children are asked to look elsewhere: the opposite of recursive
regularisation. See `orthogonal` for K and the solver.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from linnaeus.data.check import Problem
from linnaeus.decoding import Decoder
from linnaeus.engine import get_engine, single_blas_thread
from linnaeus.engine.limits import Clock
from linnaeus.errors import DataError, check_number
from linnaeus.models.fitting import check_training
from linnaeus.models.structured.orthogonal import Orthogonal, pair_weights
from linnaeus.models.topdown.base import Descent
from linnaeus.models.topdown.local import Family
from linnaeus.models.topdown.top_down import TopDownSVM
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import FloatArray, IntArray, Matrix

__all__ = ["OrthogonalTransfer"]


class OrthogonalTransfer(TopDownSVM):
    """Classifiers at all nodes, learned together and pushed away from their ancestors' (OT); one label per document.

    Parameters
    ----------
    taxonomy : the taxonomy of the labels; None makes a flat one (or, for paths, a tree) from y.
    C : weight of the loss against the regulariser.
    transfer : how strongly a node and all its descendants are pushed apart; 0 leaves them alone.
    fit_intercept : add a constant feature, regularised like the others.
    tol : relative duality gap at which training is finished.
    max_iter, max_time : passes over the documents that are not finished, and seconds (or "10m"), at most.
    n_jobs, engine : taken as everywhere; the nodes are one problem, which one thread solves.

    Attributes
    ----------
    weights_ : n_features x n_classes; ``intercept_`` n_classes. Scores compare a node with its siblings.
    objective_, duality_gap_ : the optimum is at least ``objective_ - duality_gap_``.

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
        max_time: Any = None,
        n_jobs: int | None = None,
        engine: Any = None,
        random_state: Any = None,
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
        Clock(self.max_time)
        get_engine(self.engine, self.n_jobs)

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
        c = self.C * (np.ones(problem.n_docs) if problem.weights is None else problem.weights)
        K = pair_weights(self._below(problem.taxonomy), float(self.transfer))
        seed = int(check_random_state(self.random_state).randint(2**31))
        solver = Orthogonal(X, member, [family.columns for family in families], K, c, seed)
        with single_blas_thread():
            converged = solver.run(self.tol, self.max_iter, clock)
        self._take(solver, problem.X)
        if not converged:
            warnings.warn(
                f"stopped after {self.n_iter_} passes with a gap of {self.duality_gap_ / self.objective_:.2g} of the "
                f"objective, before it was {self.tol:g}; raise max_iter, max_time or tol.",
                ConvergenceWarning,
                stacklevel=5,
            )

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

    def _take(self, solver: Orthogonal, X: Matrix) -> None:
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
    X = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), np.float64)
    return np.hstack([X, np.ones((len(X), 1))]) if constant else X
