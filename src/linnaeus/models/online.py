"""What models that learn document by document share: their parameters, and `partial_fit` with labels that come later.

A subclass has ``C``, ``max_iter``, ``max_time``, ``fit_intercept``, ``average``, ``n_jobs``, ``engine``,
``random_state`` and ``verbose``; its weights are columns of ``weights_``, with ``intercept_``, which grow when labels
come that were not met before (``_place``).
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import numpy.typing as npt
from scipy import sparse

from linnaeus.data.check import Problem
from linnaeus.engine import Clock
from linnaeus.errors import DataError, check_choice, check_flag, check_number
from linnaeus.models.fitting import Seed, begin_stream, check_seed, passes_within
from linnaeus.models.linear import LinearTaxonomyClassifier
from linnaeus.typing import CSR, Engine, FloatArray, IntArray, Matrix

__all__ = ["OnlineLinear"]


class OnlineLinear(LinearTaxonomyClassifier):
    """Base of the passive-aggressive models; see the module docstring."""

    C: float
    max_iter: int
    max_time: float | str | None
    fit_intercept: bool
    average: str
    n_jobs: int | None
    engine: str | Engine | None
    random_state: Seed
    verbose: int
    learn: str
    time_limit_reached_: bool = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("C", self.C, above=0)
        check_number("max_iter", self.max_iter, least=1, whole=True)
        Clock(self.max_time)
        check_number("verbose", self.verbose, least=0)
        check_choice("average", self.average, ("trajectory", "none"))
        check_flag("fit_intercept", self.fit_intercept)
        check_seed(self.random_state)

    def _start(self) -> CSR:
        """The weights now, the intercept as a last feature if there is one, float64."""
        return self._joined(self.weights_, self.intercept_)

    def _joined(self, weights: Matrix, intercept: FloatArray) -> CSR:
        W = sparse.csr_array(weights, dtype=np.float64)
        if self.fit_intercept:
            W = sparse.csr_array(sparse.vstack([W, intercept[None, :].astype(np.float64)], format="csr"))
        return W

    def _give(self, W: CSR, dtype: npt.DTypeLike) -> None:
        """Keep weights whose last feature is the intercept if there is one."""
        from linnaeus.models.solvers.passive_aggressive import compact

        width = W.shape[1]
        self.intercept_ = W[[-1]].toarray()[0].astype(dtype) if self.fit_intercept else np.zeros(width, dtype)
        self.weights_ = compact(sparse.csr_array(W[:-1]) if self.fit_intercept else W, dtype)

    def _note_visits(self, n_visits: int, orders: list[IntArray]) -> None:
        """Keep how far the passes came, by the visits of the columns for which there was the least time."""
        n_docs = max(1, len(orders[0]))
        self.time_limit_reached_ = n_visits < n_docs * len(orders)
        self.n_iter_ = passes_within(self.max_time, n_visits / n_docs, len(orders))

    # -- streams -------------------------------------------------------------------------------------------------------

    def partial_fit(self, X: object, y: object, classes: object = None, sample_weight: object = None) -> OnlineLinear:
        """Continue learning from the weights of the model: one pass over more documents, in their order.

        ``classes`` declares labels before they are met, at the first call; others join when they are met, with weights
        of 0, as long as they are in the taxonomy. A mean of the weights is over the visits of this call.
        """
        if hasattr(self, "nodes_") and (self.base_weights_ is not None or self.subtrees_ is not None):
            raise DataError("The model was pruned and cannot be trained further; keep the unpruned model for that.")
        stream = begin_stream(self, X, y, classes, sample_weight, nested=self.learn == "closed")
        problem, taxonomy = stream.problem, self.taxonomy_
        targets = {"given": problem.Y, "closed": problem.closed, "frontier": problem.frontier}[self.learn]
        declared = taxonomy.close(stream.declared) if self.learn == "closed" else stream.declared
        self._place(np.union1d(targets.indices, declared.indices).astype(np.int32), problem.X)
        self._pass(problem, np.union1d(problem.frontier.indices, taxonomy.frontier(declared).indices))
        return self

    def _place(self, nodes: IntArray, X: Matrix) -> None:
        """Make columns of 0 for nodes that are met for the first time."""
        before = getattr(self, "nodes_", nodes[:0])
        known = np.union1d(before, nodes).astype(np.int32)
        if not len(known):
            raise DataError("y has no label at all: every document has an empty set.")
        if len(known) == len(before):
            return
        if self.codec_.kind == "labels":
            known = known[np.argsort(self.codec_.values(self.taxonomy_.names[known]), kind="stable")]
        column = {v: i for i, v in enumerate(known.tolist())}
        to = np.array([column[v] for v in before.tolist()], dtype=np.int64)
        if len(before):
            moves = sparse.csr_array((np.ones(len(to)), (np.arange(len(to)), to)), shape=(len(to), len(known)))
            grown = sparse.csr_array(self._start() @ moves)
        else:
            grown = sparse.csr_array((X.shape[1] + bool(self.fit_intercept), len(known)))
        self.nodes_ = known
        self._give(grown, X.dtype if not len(before) else self.intercept_.dtype)

    @abstractmethod
    def _pass(self, problem: Problem, ends: IntArray) -> None:
        """Learn from checked documents in their order; ``ends`` are the most specific labels now met or declared."""
