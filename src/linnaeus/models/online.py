"""What models that learn document by document share: their parameters, and `partial_fit` with labels that come later.

A subclass has ``C``, ``max_iter``, ``fit_intercept``, ``average``, ``n_jobs``, ``engine``, ``random_state`` and
``verbose``; its weights are columns of ``weights_`` beside ``intercept_``, which grow when labels come that were not
met before (``_place``).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy import sparse

from linnaeus.data.check import Problem, check_labels, check_weights
from linnaeus.errors import DataError, ParameterError, check_number
from linnaeus.models.linear import LinearTaxonomyClassifier
from linnaeus.models.parameters import check_choice
from linnaeus.taxonomy.closure import is_closed
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["OnlineLinear"]


class OnlineLinear(LinearTaxonomyClassifier):
    """Base of the passive-aggressive models; see the module docstring."""

    C: float
    max_iter: int
    fit_intercept: bool
    average: str
    n_jobs: int | None
    engine: Any
    random_state: Any
    verbose: int
    learn: str

    def _check_parameters(self) -> None:
        from sklearn.utils import check_random_state

        super()._check_parameters()
        check_number("C", self.C, above=0)
        check_number("max_iter", self.max_iter, least=1, whole=True)
        check_choice("average", self.average, ("trajectory", "none"))
        if self.fit_intercept not in (True, False):
            raise ParameterError(f"fit_intercept={self.fit_intercept!r}; expected True or False.")
        try:
            check_random_state(self.random_state)
        except ValueError as error:
            raise ParameterError(str(error)) from None

    def _start(self) -> CSR:
        """The weights now, the intercept as a last feature if there is one, float64."""
        return self._joined(self.weights_, self.intercept_)

    def _joined(self, weights: Any, intercept: FloatArray) -> CSR:
        W = sparse.csr_array(weights, dtype=np.float64)
        if self.fit_intercept:
            W = sparse.csr_array(sparse.vstack([W, intercept[None, :].astype(np.float64)], format="csr"))
        return W

    def _give(self, W: CSR, dtype: Any) -> None:
        """Keep weights whose last feature is the intercept if there is one."""
        from linnaeus.models.solvers.passive_aggressive import compact

        width = W.shape[1]
        self.intercept_ = W[[-1]].toarray()[0].astype(dtype) if self.fit_intercept else np.zeros(width, dtype)
        self.weights_ = compact(sparse.csr_array(W[:-1]) if self.fit_intercept else W, dtype)

    # -- streams -------------------------------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> OnlineLinear:
        """Go on learning from the weights of the model: one pass over more documents, in their order.

        ``classes`` declares labels before they are met, at the first call; others join when they are met, with weights
        of 0, as long as they are in the taxonomy. A mean of the weights is over the visits of this call.
        """
        first = not hasattr(self, "nodes_")
        if first:
            self._check_parameters()
        elif self.base_weights_ is not None or self.subtrees_ is not None:
            raise DataError("The model was pruned and cannot go on learning; keep a whole one for it.")
        X = self._check_X(X, reset=first)
        taxonomy = self.taxonomy if first else self.taxonomy_
        if first and taxonomy is None and classes is not None:
            taxonomy = check_labels(classes, None)[1]
        Y, taxonomy, codec = check_labels(y, taxonomy, X.shape[0])
        weights = check_weights(sample_weight, X.shape[0])
        declared = check_labels(classes, taxonomy)[0] if classes is not None else Y[:0]
        problem = Problem(X, Y, taxonomy, weights, codec)
        if first:
            self.taxonomy_, self.codec_ = taxonomy, codec
            self.closed_, self.one_label_, self.some_empty_ = (
                taxonomy.n_edges > 0 and not codec.single_label,
                True,
                False,
            )
            self.nested_ = self.learn == "closed" and taxonomy.n_edges > 0
        elif self.codec_.single_label and not codec.single_label:
            self.codec_ = codec
        sizes = np.diff(problem.frontier.indptr)
        self.one_label_ = self.one_label_ and bool((sizes == 1).all())
        self.some_empty_ = self.some_empty_ or bool((sizes == 0).any())
        self.closed_ = self.closed_ and is_closed(taxonomy, Y)
        self.drop_calibration()
        self.one_path_ = self.one_path_ and self.one_label_
        targets = {"given": problem.Y, "closed": problem.closed, "frontier": problem.frontier}[self.learn]
        declared = taxonomy.close(declared) if self.learn == "closed" else declared
        self._place(np.union1d(targets.indices, declared.indices).astype(np.int32), X)
        self._pass(problem, np.union1d(problem.frontier.indices, taxonomy.frontier(declared).indices))
        return self

    def _place(self, nodes: IntArray, X: Any) -> None:
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
