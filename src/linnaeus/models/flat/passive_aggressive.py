"""One passive-aggressive classifier for every label, each trained alone: the flat baseline FLAT of Murawaki (2013).

    for document i in a random order, max_iter times:   loss = 1 - y_i w'x_i
        where it is above 0:   w += min(C, loss / |x_i|^2) y_i x_i       y_i = +1 where i carries the label, else -1

The answer is every label with a score above 0, or the best one. Sixteen labels share a pass over the documents
(`solvers.passive_aggressive`).
"""

from __future__ import annotations

import numpy as np

from linnaeus.data.check import Problem
from linnaeus.engine import Clock, get_engine
from linnaeus.errors import check_choice
from linnaeus.models.fitting import Seed, document_weights, require_two_classes, waiting_if
from linnaeus.models.online import OnlineLinear
from linnaeus.models.solvers.passive_aggressive import ColumnVisits, learn_columns, prepared
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, Engine, IntArray

__all__ = ["OneVsRestPA", "visit_orders"]


def visit_orders(random_state: Seed, n_docs: int, n_passes: int) -> list[IntArray]:
    """The order of documents in every pass.

    Examples
    --------
    >>> [sorted(order.tolist()) for order in visit_orders(0, 3, 2)]
    [[0, 1, 2], [0, 1, 2]]
    """
    from sklearn.utils import check_random_state

    seed = int(check_random_state(random_state).randint(2**31))
    return [np.random.default_rng([seed, n]).permutation(n_docs) for n in range(n_passes)]


class OneVsRestPA(OnlineLinear):
    """A passive-aggressive linear classifier for every label (FLAT).

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        The taxonomy of the labels; None makes a flat one (or, for paths, a tree) from y.
    C : float, default=1.0
        The largest step.
    max_iter : int, default=10
        Passes over the documents.
    max_time : float or str, default=None
        Time limit in seconds, or as "10m": all labels are then learned from fewer visits.
    average : str, default="trajectory"
        "trajectory", the mean of the weights after all visits, or "none", the last ones.
    fit_intercept : bool, default=True
        Add a constant feature.
    learn : str, default="given"
        Labels as "given", "closed" (with all ancestors) or "frontier" (only the most specific).
    n_jobs : int, default=None
        Threads; None is 1, -1 all cores. The weights do not depend on it.
    engine : str or Engine, default=None
        "serial", "threads", "ray" or an engine; default: by ``n_jobs``.
    random_state : int or RandomState, default=None
        Seed of the order of documents.
    verbose : int, default=0
        Show a spinner if above 0.

    Attributes
    ----------
    weights_ : ndarray or csr_array of shape (n_features, n_classes)
        Weights of the labels; sparse where they are many and most are 0.
    intercept_ : ndarray of shape (n_classes,)
        Weights of the constant feature.
    n_updates_ : int
        How often a label has learned something.
    n_iter_ : int
        Passes, fewer than ``max_iter`` where the time was over.
    time_limit_reached_ : bool
        Whether ``max_time`` ended the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import OneVsRestPA
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]])
    >>> model = OneVsRestPA(random_state=0).fit(X, [["a"], ["b"], ["c"], ["a", "c"]])
    >>> model.predict(X)
    [['a'], ['b'], ['c'], ['a', 'c']]
    >>> model.partial_fit(X[:1], [["b"]]).n_updates_ > 10
    True
    """

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        C: float = 1.0,
        max_iter: int = 10,
        max_time: float | str | None = None,
        average: str = "trajectory",
        fit_intercept: bool = True,
        learn: str = "given",
        n_jobs: int | None = None,
        engine: str | Engine | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.max_iter = max_iter
        self.max_time = max_time
        self.average = average
        self.fit_intercept = fit_intercept
        self.learn = learn
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("learn", self.learn, ("given", "closed", "frontier"))

    def _fit(self, problem: Problem) -> None:
        Y = self._targets(problem, self.learn)
        require_two_classes(problem, self.nodes_)
        self.n_updates_ = 0
        orders = visit_orders(self.random_state, problem.n_docs, int(self.max_iter))
        self._note_visits(self._learn(problem, Y, orders, None, Clock(self.max_time)), orders)

    def _pass(self, problem: Problem, ends: IntArray) -> None:
        Y = {"given": problem.Y, "closed": problem.closed, "frontier": problem.frontier}[self.learn]
        self.n_updates_ = getattr(self, "n_updates_", 0)
        self._learn(problem, Y, [np.arange(problem.n_docs)], self._start())

    def _learn(
        self, problem: Problem, Y: CSR, orders: list[IntArray], start: CSR | None, clock: Clock | None = None
    ) -> int:
        """Learn from documents in these orders; the visits for which there was time."""
        weight = document_weights(problem)
        X = prepared(problem.X, constant=self.fit_intercept)
        visits = ColumnVisits(X, weight, orders, float(self.C), self.average == "trajectory", clock or Clock())
        columns = Y.tocsc()[:, self.nodes_]
        engine = get_engine(self.engine, self.n_jobs)

        def labels(column: int) -> tuple[IntArray, None]:
            return columns.indices[columns.indptr[column] : columns.indptr[column + 1]], None

        with waiting_if(self.verbose, f"training {len(self.nodes_)} labels"):
            found = learn_columns(visits, len(self.nodes_), labels, engine, start)
        self.n_updates_ += found.n_updates
        self._give(found.W, problem.X.dtype)
        return found.n_visits
