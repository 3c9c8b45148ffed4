"""What mistake-driven ranking models share: classes that may grow, passes over documents, streams, scores.

A subclass says by which rule a visit learns (`passes`), and whether the answer is the mean of all steps. Weights belong
to attributes (mostly nodes of the taxonomy); those of classes are made from them when scores are wanted. With a kernel,
weights are coefficients of training documents, and the documents that have any are kept.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from linnaeus.data.check import Problem, check_labels, check_weights
from linnaeus.data.kinds import LabelCodec
from linnaeus.engine.limits import blocks
from linnaeus.errors import DataError, ParameterError, check_choice, check_number
from linnaeus.losses.pair_cost import check_pair_cost, pair_cost
from linnaeus.models.kernels import kept_documents
from linnaeus.models.ranking.attributes import check_attributes, keyed_attributes
from linnaeus.models.ranking.label_sets import SET_SIZES, set_size_decoder
from linnaeus.models.ranking.passes import Classes, Weights, visit
from linnaeus.models.ranking.shared_weights import SharedWeights
from linnaeus.models.ranking.sources import FeatureSource, GramSource, Source, kernel_scores, stacked, with_constant
from linnaeus.progress import progress
from linnaeus.taxonomy.closure import is_closed
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["OnlineRanker", "Outcome"]


@dataclass(frozen=True)
class Outcome:
    """What training came to: passes, updates, whether the last pass learned nothing, pairs that were learned from."""

    n_iter: int
    n_updates: int
    converged: bool
    n_active: int


class OnlineRanker(SharedWeights):
    """Base of `HierarchicalPerceptron` and `Hieron`; see the module docstring."""

    attributes: Any
    cost: Any
    max_iter: int
    shuffle: bool
    set_size: str
    random_state: Any
    verbose: int

    attribute_keys_: IntArray

    @property
    @abstractmethod
    def _rule(self) -> int:
        """How a visit learns."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_attributes(self.attributes)
        check_pair_cost(self.cost)
        check_choice("set_size", self.set_size, SET_SIZES)
        check_number("max_iter", self.max_iter, least=1, whole=True)
        for name in ("shuffle", "fit_intercept"):
            if getattr(self, name) not in (True, False):
                raise ParameterError(f"{name}={getattr(self, name)!r}; expected True or False.")
        if self.fit_intercept and not self._linear:
            raise ParameterError("fit_intercept=True adds a constant feature; it goes with kernel='linear' only.")
        try:
            check_random_state(self.random_state)
        except ValueError as error:
            raise ParameterError(str(error)) from None

    # -- learning ------------------------------------------------------------------------------------------------------

    def _fit(self, problem: Problem) -> None:
        Y = self._targets(problem, "frontier")
        if problem.codec.single_label and len(self.nodes_) < 2:
            only = problem.taxonomy.names[self.nodes_[0]]
            raise DataError(f"y has only one class, {only!r}; a classifier needs two.")
        self._set_classes(self.nodes_)
        self.n_docs_, self.n_labels_ = problem.n_docs, int(Y.nnz)
        weight = np.ones(problem.n_docs) if problem.weights is None else problem.weights
        labels = self._labels(Y)
        source = self._source(problem.X, labels, weight)
        found, outcome = self._train(source)
        self._keep(found, problem.X)
        self.n_iter_, self.n_updates_, self.converged_ = outcome.n_iter, outcome.n_updates, outcome.converged
        sizes = np.diff(labels.indptr).astype(np.int64)
        self.active_ratio_ = outcome.n_active / max(1, int((sizes * (labels.shape[1] - sizes)).sum()))
        if self._linear:
            self._class_weights()  # now rather than in the first prediction
        if not (self.one_label_ or problem.codec.single_label):
            self.set_size_ = self._learn_sizes(problem, Y, labels, weight)

    def _source(self, X: Any, labels: CSR, weight: FloatArray) -> Source:
        if self._linear:
            return FeatureSource(with_constant(X) if self.fit_intercept else X, labels, weight)
        return GramSource(self.kernel_, X, labels, weight)

    def _train(self, source: Source) -> tuple[Weights, Outcome]:
        """Passes over the documents until one learns nothing; ``max_iter`` at most."""
        rng = check_random_state(self.random_state)
        classes = self._classes()
        weights = Weights.zeros(source.n_rows, classes.n_attributes, source.dtype, averaged=self._averaged)
        n_docs, n_updates = source.labels.shape[0], 0
        active = np.zeros(0, dtype=np.int64)
        with progress("learning", self.max_iter * n_docs, show=self.verbose > 0) as advance:
            for n_iter in range(self.max_iter):  # noqa: B007
                order = rng.permutation(n_docs) if self.shuffle else np.arange(n_docs)
                pairs = []
                for part in blocks(n_docs, source.size):
                    pairs.append(self._visit(source, order[part], classes, weights))
                    advance(part.stop - part.start)
                learned = np.concatenate([active[:0], *pairs])
                n_updates += len(learned)
                active = np.union1d(active, learned)
                if not len(learned):
                    break
        return weights, Outcome(1 + n_iter, n_updates, not len(learned), len(active))

    def _visit(self, source: Source, numbers: IntArray, classes: Classes, weights: Weights) -> IntArray:
        """Visit documents; gives back the pairs that were learned from, each as one number."""
        documents, order = source.part(numbers)
        found = visit(documents, order, classes, weights, self._rule)
        some = np.flatnonzero(found.right >= 0)
        pairs = found.right[some].astype(np.int64) * classes.n_classes + found.wrong[some]
        return numbers[some].astype(np.int64) * classes.n_classes**2 + pairs

    def _learn_sizes(self, problem: Problem, Y: CSR, labels: CSR, weight: FloatArray) -> dict[str, Any]:
        """How many labels a document has, as a decoder that says it from scores."""
        L, X = self.attributes_, problem.X

        def scores(train: IntArray | None, test: IntArray | None) -> FloatArray:
            if train is None or test is None:
                return np.concatenate(list(self._score_blocks(X)))
            answer = self._train(self._source(X[train], labels[train], weight[train]))[0].answer
            if not self._linear:
                return kernel_scores(self.kernel_(X[test], X[train]), answer, L)
            rows = with_constant(X[test]) if self.fit_intercept else X[test]
            return np.ascontiguousarray((L @ (rows @ answer).T).T)

        return set_size_decoder(self.set_size, Y, problem.taxonomy, self.nodes_, scores).to_dict()

    # -- classes -------------------------------------------------------------------------------------------------------

    def _set_classes(self, nodes: IntArray) -> None:
        """Take these nodes as classes, in the order of their names: on ties the first wins, whatever their numbers."""
        names = self.taxonomy_.names
        values = self.codec_.values(names[nodes]) if self.codec_.kind == "labels" else names[nodes].astype(str)
        self.nodes_ = np.asarray(nodes, dtype=np.int32)[np.argsort(values, kind="stable")]
        L, keys = keyed_attributes(self.taxonomy_, self.nodes_, self.attributes)
        if isinstance(self.attributes, str):
            order = np.lexsort((keys % 2, names[keys // 2].astype(str)))
            L, keys = sparse.csr_array(L[:, order]), keys[order]
            L.sort_indices()
        self.attributes_, self.attribute_keys_ = L, keys

    def _classes(self) -> Classes:
        return Classes(self.attributes_, pair_cost(self.taxonomy_, self.nodes_, self.cost))

    def _labels(self, Y: CSR) -> CSR:
        """Labels (n_docs x n_nodes) as rows over the classes."""
        labels = sparse.csr_array(Y[:, self.nodes_])
        labels.sort_indices()
        return labels

    def _keep(self, found: Weights, documents: Any) -> None:
        """What was learned; of documents behind a kernel, those that have coefficients."""
        with np.errstate(over="ignore", invalid="ignore"):
            total = found.W.sum(dtype=np.float64) + found.U.sum(dtype=np.float64)
        if not np.isfinite(total):
            raise DataError("The weights of the model overflowed; scale the features, or use smaller sample weights.")
        self.n_steps_ = found.steps
        if not self._linear:
            used = found.W.any(axis=1)
            rows = np.flatnonzero(used | found.U.any(axis=1) if found.averaged else used)
            self.support_documents_ = kept_documents(documents, rows)
            self.n_support_ = len(rows)
            found = found.only(rows)
        self.attribute_weights_, self.attribute_drift_ = found.W, found.U
        self._made = None

    # -- streams -------------------------------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> OnlineRanker:
        """Go on learning: one pass over more documents, in their order.

        ``classes`` declares labels before they are met, at the first call; others join when they are met, with weights
        of 0, as long as they are in the taxonomy.
        """
        first = not hasattr(self, "nodes_")
        if first:
            self._check_parameters()
        self._check_stream()
        if not hasattr(self, "attribute_weights_") and not first:
            raise DataError("The model was pruned and cannot go on learning; keep a whole one for it.")
        X = self._check_X(X, reset=first)
        taxonomy = self.taxonomy if first else self.taxonomy_
        if first and taxonomy is None and classes is not None:
            taxonomy = check_labels(classes, None)[1]
        Y, taxonomy, codec = check_labels(y, taxonomy, X.shape[0])
        weight = check_weights(sample_weight, X.shape[0])
        declared: list[int] | IntArray = [] if classes is None else check_labels(classes, taxonomy)[0].indices
        if first:
            self.taxonomy_, self.codec_ = taxonomy, codec
            self.one_label_, self.nested_, self.some_empty_ = True, False, False
            self.closed_, self.n_docs_, self.n_labels_ = taxonomy.n_edges > 0 and not codec.single_label, 0, 0
            self.n_updates_, self.n_iter_ = 0, 1
        self._note_labels(Y, codec)
        self.drop_calibration()
        self.one_path_ = self.one_path_ and self.one_label_
        Y = taxonomy.frontier(Y)
        self._grow(np.union1d(Y.indices, declared).astype(np.int32), X, first)
        self._go_on(X, self._labels(Y), np.ones(X.shape[0]) if weight is None else weight)
        return self

    def _check_stream(self) -> None:
        """Refuse settings with which a model cannot learn from a stream."""
        if self.kernel == "precomputed":
            raise ParameterError("kernel='precomputed' knows its training documents only; partial_fit needs others.")

    def _note_labels(self, Y: CSR, codec: LabelCodec) -> None:
        """Keep what is known of label sets in general up to date."""
        sizes = np.diff(self.taxonomy_.frontier(Y).indptr)
        self.one_label_ = self.one_label_ and bool((sizes == 1).all())
        self.some_empty_ = self.some_empty_ or bool((sizes == 0).any())
        self.closed_ = self.closed_ and is_closed(self.taxonomy_, Y)
        if self.codec_.single_label and not codec.single_label:
            self.codec_ = codec
        self.n_docs_ += len(sizes)
        self.n_labels_ += int(sizes.sum())

    def _grow(self, nodes: IntArray, X: Any, first: bool) -> None:
        """Make room for classes that are met for the first time."""
        if first:
            if not len(nodes):
                raise DataError("y has no label at all: every document has an empty set.")
            self._set_classes(nodes)
            n_rows, dtype = (X.shape[1] + self.fit_intercept, X.dtype) if self._linear else (0, np.float64)
            empty = Weights.zeros(n_rows, len(self.attribute_keys_), dtype, averaged=self._averaged)
            self._keep(empty, None if self._linear else X[np.zeros(0, dtype=np.intp)])
        elif len(np.setdiff1d(nodes, self.nodes_)):
            before, alone = self.attribute_keys_, len(self.nodes_) == 1
            self._set_classes(np.union1d(self.nodes_, nodes))
            known = self._weights()
            if alone:  # one class has learned nothing, and its places may be shared by all now
                known, before = known.only(columns=slice(0)), before[:0]
            column = {int(key): i for i, key in enumerate(self.attribute_keys_)}
            columns = np.array([column[int(key)] for key in before], dtype=np.intp)
            n_rows = len(known.W)
            grown = known.placed(np.arange(n_rows), n_rows, columns, len(column))
            self.attribute_weights_, self.attribute_drift_ = grown.W, grown.U
            self.set_size_ = None  # it was learned from the scores of other classes

    def _go_on(self, X: Any, labels: CSR, weight: FloatArray) -> None:
        known = self._weights()
        source: Source
        if self._linear:
            X = X.astype(known.W.dtype, copy=False)  # a stream may bring documents in another precision
            documents, source = X, self._source(X, labels, weight)
            writable = known.W.flags.writeable and known.U.flags.writeable  # a loaded model is mapped read-only
            known = known if writable else known.only()
        else:
            n_kept, n_attributes = known.W.shape
            documents = stacked(self.support_documents_, X)
            source = GramSource(self.kernel_, documents, labels, weight, first=n_kept)
            known = known.placed(np.arange(n_kept), source.n_rows, np.arange(n_attributes), n_attributes)
        classes, numbers = self._classes(), np.arange(labels.shape[0])
        for part in blocks(len(numbers), source.size):
            self.n_updates_ += len(self._visit(source, numbers[part], classes, known))
        self._keep(known, documents)
