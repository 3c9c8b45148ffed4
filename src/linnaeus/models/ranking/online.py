"""What mistake-driven rankers share: classes that may grow, passes over documents, streams, scores.

A subclass defines by which rule a visit learns (`updates`), and whether the answer is the mean of all steps. Classes
share weights: F = X w L', or K(X, kept documents) w L' behind a kernel, with L the attributes of classes (mostly nodes
of the taxonomy). ``attribute_weights_`` w (n_features x n_attributes, or kept documents x n_attributes) and
``attribute_drift_``, which takes them to the mean of all steps, are what a stream continues from. Weights of classes,
n_features x n_classes, are computed from them on first use and never stored in model files. With ``answer="all"`` rows
of L are multiplied by the scales of their classes, and texts of nodes add ``label_weights_`` (`unseen`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from linnaeus.data.check import Problem
from linnaeus.data.matrices import with_constant
from linnaeus.decoding import Decoder, RCut
from linnaeus.engine import Clock, blocks
from linnaeus.errors import DataError, ParameterError, check_choice, check_flag, check_number
from linnaeus.losses.cost import check_pair_cost, pair_cost
from linnaeus.models.all_nodes import AllNodes, HeldOutNodes, hold_out, mean_document
from linnaeus.models.fitting import (
    Seed,
    Stream,
    begin_stream,
    check_seed,
    document_weights,
    passes_within,
    require_two_classes,
)
from linnaeus.models.kernels import LinearOrKernel, kept_documents
from linnaeus.models.ranking.attributes import check_attributes, keyed_attributes
from linnaeus.models.ranking.set_sizes import SET_SIZES, set_size_decoder, stored_decoder
from linnaeus.models.ranking.unseen import (
    AllClasses,
    HeldOutRankings,
    SharedWeights,
    UnseenScales,
    check_answer,
    learn_sizes,
    with_all_classes,
)
from linnaeus.models.ranking.updates import (
    AttributeWeights,
    DocumentSource,
    FeatureSource,
    GramSource,
    RankedClasses,
    kernel_scores,
    stacked,
    visit,
)
from linnaeus.progress import progress
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix

__all__ = ["OnlineRanker", "RankerOutcome"]

_STREAM = (  # what only a stream with answer="all" continues from
    "label_features_", "ranked_nodes_", "start_weights_", "mean_document_", "document_weight_", "text_strength_",
    "group_slope_", "group_shift_", "trial_", "trial_documents_", "met_nodes_", "held_documents_",
    "held_labels_",
)  # fmt: skip
_PIECES = 16  # of a pass, after each of which the clock is read


@dataclass(frozen=True)
class RankerOutcome:
    """What training came to: passes, updates, whether the last pass learned nothing, pairs that were learned from.

    ``passes`` are fewer than were asked for where the time was over (``out_of_time``), or nothing was left to learn.
    """

    passes: float
    n_updates: int
    converged: bool
    n_active: int
    out_of_time: bool = False

    @property
    def n_iter(self) -> int:
        """Passes, with one that was made in part."""
        return math.ceil(self.passes)


@dataclass(frozen=True)
class _Trial:
    """Of ``answer="all"``: texts of the nodes, what is held out, and a model of the other documents."""

    T: CSR
    held: HeldOutNodes | None = None
    part: SharedWeights | None = None


class OnlineRanker(AllNodes, LinearOrKernel):
    """Base of `HierarchicalPerceptron` and `Hieron`; see the module docstring."""

    attributes: str | Matrix
    cost: str | FloatArray
    max_iter: int
    max_time: float | str | None
    shuffle: bool
    fit_intercept: bool
    set_size: str
    random_state: Seed
    verbose: int

    attributes_: CSR
    attribute_keys_: IntArray
    attribute_weights_: FloatArray
    attribute_drift_: FloatArray
    n_steps_: int
    n_docs_: int
    n_labels_: int
    support_documents_: Matrix
    set_size_: dict[str, object] | None = None
    class_shift_: FloatArray | None = None
    # of answer="all", for streams (`unseen_stream`)
    label_features_: CSR | None = None
    ranked_nodes_: IntArray
    start_weights_: CSR | None = None
    mean_document_: FloatArray
    document_weight_: float
    text_strength_: float
    group_slope_: FloatArray
    group_shift_: FloatArray
    trial_: list[OnlineRanker] | None = None
    trial_documents_: IntArray
    met_nodes_: IntArray
    held_documents_: Matrix | None = None
    held_labels_: CSR | None = None
    time_limit_reached_: bool = False
    _made: tuple[FloatArray, FloatArray] | None = None  # weights and intercept of classes

    @property
    @abstractmethod
    def _rule(self) -> int:
        """How a visit learns."""

    @property
    @abstractmethod
    def _averaged(self) -> bool:
        """Whether the mean of all steps answers."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_attributes(self.attributes)
        check_answer(self.answer, self.attributes, self._linear)
        check_pair_cost(self.cost)
        check_choice("set_size", self.set_size, SET_SIZES)
        check_number("max_iter", self.max_iter, least=1, whole=True)
        Clock(self.max_time)
        check_flag("shuffle", self.shuffle)
        check_flag("fit_intercept", self.fit_intercept)
        if self.fit_intercept and not self._linear:
            raise ParameterError("fit_intercept=True adds a constant feature, which needs kernel='linear'.")
        check_seed(self.random_state)

    # -- learning ------------------------------------------------------------------------------------------------------

    def _fit(self, problem: Problem) -> None:
        Y = self._targets(problem, "frontier")
        require_two_classes(problem, self.nodes_)
        clock, several = Clock(self.max_time), not (self.one_label_ or problem.codec.single_label)
        given = Problem(problem.X, Y, problem.taxonomy, problem.weights, problem.codec)
        trial = self._held_out(given, clock) if self.answer == "all" else None
        self._set_classes(self.nodes_)
        self.n_docs_, self.n_labels_ = problem.n_docs, int(Y.nnz)
        weight = document_weights(problem)
        labels = self._labels(Y)
        source = self._source(problem.X, labels, weight)
        # numbers of labels are learned by a second training
        twice = several and self.set_size == "held_out" and self.answer == "seen"
        found, outcome = self._train(source, clock.part(2) if twice else clock)
        self._keep(found, problem.X)
        self.time_limit_reached_ = outcome.out_of_time
        if outcome.out_of_time:
            passes_within(self.max_time, outcome.passes, self.max_iter)
        self.n_iter_, self.n_updates_, self.converged_ = outcome.n_iter, outcome.n_updates, outcome.converged
        sizes = np.diff(labels.indptr).astype(np.int64)
        self.active_ratio_ = outcome.n_active / max(1, int((sizes * (labels.shape[1] - sizes)).sum()))
        scored = None if trial is None else self._add_classes(given, trial)
        if self._linear:
            self._class_weights()  # now rather than in the first prediction
        if several and trial is None:
            self.set_size_ = self._learn_sizes(problem, Y, labels, weight, clock)
        elif several:
            self.set_size_ = learn_sizes(
                self.set_size, scored, Y, problem.taxonomy, self.nodes_, partial(self._training_scores, problem.X)
            )

    def _source(self, X: Matrix, labels: CSR, weight: FloatArray) -> DocumentSource:
        if self._linear:
            return FeatureSource(with_constant(X, float(self.fit_intercept)), labels, weight)
        return GramSource(self.kernel_, X, labels, weight)

    def _train(self, source: DocumentSource, clock: Clock) -> tuple[AttributeWeights, RankerOutcome]:
        """Passes over the documents until one learns nothing, at most ``max_iter``, or until the time is over.

        Some documents of the first pass are visited in any case.
        """
        rng = check_random_state(self.random_state)
        classes = self._classes()
        weights = AttributeWeights.zeros(source.n_rows, classes.n_attributes, source.dtype, averaged=self._averaged)
        n_docs, n_updates, n_visits = source.labels.shape[0], 0, 0
        size = source.size if clock.limit == math.inf else min(source.size, max(1, -(-n_docs // _PIECES)))
        active = np.zeros(0, dtype=np.int64)
        with progress("learning", self.max_iter * n_docs, show=self.verbose > 0) as advance:
            for _ in range(self.max_iter):
                order = rng.permutation(n_docs) if self.shuffle else np.arange(n_docs)
                pairs = []
                for part in blocks(n_docs, size):
                    pairs.append(self._visit(source, order[part], classes, weights))
                    n_visits += part.stop - part.start
                    advance(part.stop - part.start)
                    if clock.over:
                        break
                learned = np.concatenate([active[:0], *pairs])
                n_updates += len(learned)
                active = np.union1d(active, learned)
                if not len(learned) or clock.over:
                    break
        passes = n_visits / max(1, n_docs)
        whole = passes == math.ceil(passes)
        converged = whole and not len(learned)
        stopped = not converged and passes < self.max_iter
        return weights, RankerOutcome(passes, n_updates, converged, len(active), stopped)

    def _visit(
        self, source: DocumentSource, numbers: IntArray, classes: RankedClasses, weights: AttributeWeights
    ) -> IntArray:
        """Visit documents and return the pairs that were learned from, each as one number."""
        documents, order = source.part(numbers)
        found = visit(documents, order, classes, weights, self._rule)
        some = np.flatnonzero(found.right >= 0)
        pairs = found.right[some].astype(np.int64) * classes.n_classes + found.wrong[some]
        return numbers[some].astype(np.int64) * classes.n_classes**2 + pairs

    def _learn_sizes(
        self, problem: Problem, Y: CSR, labels: CSR, weight: FloatArray, clock: Clock
    ) -> dict[str, object]:
        """A decoder that predicts the number of labels of a document from its scores."""
        L, X = self.attributes_, problem.X

        def scores(train: IntArray | None, test: IntArray | None) -> FloatArray:
            if train is None or test is None:
                return self._training_scores(X)
            answer = self._train(self._source(X[train], labels[train], weight[train]), clock)[0].answer
            if not self._linear:
                return kernel_scores(self.kernel_(X[test], X[train]), answer, L)
            rows = with_constant(X[test], float(self.fit_intercept))
            return np.ascontiguousarray((L @ (rows @ answer).T).T)

        return set_size_decoder(self.set_size, Y, problem.taxonomy, self.nodes_, scores).to_dict()

    def _training_scores(self, X: Matrix) -> FloatArray:
        return np.concatenate(list(self._score_blocks(X)))

    # -- classes without documents -------------------------------------------------------------------------------------

    def _held_out(self, problem: Problem, clock: Clock) -> _Trial:
        """Texts of the nodes, what is held out, and a model of the other documents; in half of the time."""
        T, nodes = self._label_texts(problem), self.nodes_
        held = hold_out(problem, int(check_random_state(self.random_state).randint(2**31)))
        if held is None:
            return _Trial(T)
        learn = held.problem
        self._set_classes(np.unique(learn.Y.indices))
        source = self._source(learn.X, self._labels(learn.Y), document_weights(learn))
        found, _ = self._train(source, clock.part(2))
        part = SharedWeights(self.nodes_, self.attributes_, self.attribute_keys_, found.answer)
        self.nodes_ = nodes
        return _Trial(T, held, part)

    def _add_classes(self, problem: Problem, trial: _Trial) -> HeldOutRankings | None:
        """Add the classes without documents to the model of all documents, and bring all to one scale."""
        shared = SharedWeights(self.nodes_, self.attributes_, self.attribute_keys_, self._weights().answer)
        found, scales, scored = with_all_classes(shared, problem, trial.T, trial.held, trial.part)
        self.label_features_, self.mean_document_ = trial.T, mean_document(problem)
        self.document_weight_ = float(document_weights(problem).sum())
        self._keep_scales(scales)
        self._take_classes(found)
        return scored

    def _take_classes(self, found: AllClasses) -> None:
        """Answer all classes; those that have been learned are kept in ``ranked_nodes_``."""
        self.ranked_nodes_ = self.nodes_
        found = found.ordered(self._by_name(found.nodes))
        L = found.attributes
        L.data = L.data * np.repeat(found.slope, np.diff(L.indptr))
        self.nodes_, self.attributes_, self.class_shift_ = found.nodes, L, found.shift
        self.n_documents_, self.label_weights_ = found.n_documents, found.label_weights
        self._made = None

    def _keep_scales(self, scales: UnseenScales) -> None:
        self.text_strength_, self.group_slope_, self.group_shift_ = scales.strength, scales.slope, scales.shift

    def _scales(self) -> UnseenScales:
        return UnseenScales(self.text_strength_, self.group_slope_, self.group_shift_)

    # -- classes -------------------------------------------------------------------------------------------------------

    def _set_classes(self, nodes: IntArray) -> None:
        """Use these nodes as classes, in the order of their names: on ties the first wins, whatever their numbers."""
        names = self.taxonomy_.names
        self.nodes_ = np.asarray(nodes, dtype=np.int32)[self._by_name(nodes)]
        L, keys = keyed_attributes(self.taxonomy_, self.nodes_, self.attributes)
        if isinstance(self.attributes, str):
            places = keys[keys < 2 * len(names)]  # words of labels follow, in alphabetical order
            order = np.lexsort((places % 2, names[places // 2].astype(str)))
            order = np.concatenate([order, np.arange(len(places), len(keys))])
            L, keys = sparse.csr_array(L[:, order]), keys[order]
            L.sort_indices()
        self.attributes_, self.attribute_keys_ = L, keys

    def _by_name(self, nodes: IntArray) -> IntArray:
        """The order of nodes by their names."""
        names = self.taxonomy_.names[nodes]
        return np.argsort(
            self.codec_.values(names) if self.codec_.kind == "labels" else names.astype(str), kind="stable"
        )

    def _classes(self) -> RankedClasses:
        return RankedClasses(self.attributes_, pair_cost(self.taxonomy_, self.nodes_, self.cost))

    def _labels(self, Y: CSR) -> CSR:
        """Labels (n_docs x n_nodes) as rows over the classes."""
        labels = sparse.csr_array(Y[:, self.nodes_])
        labels.sort_indices()
        return labels

    def _keep(self, found: AttributeWeights, documents: Matrix | None) -> None:
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

    def partial_fit(
        self,
        X: object,
        y: object,
        classes: Sequence[object] | None = None,
        sample_weight: FloatArray | None = None,
        *,
        label_features: object = None,
    ) -> OnlineRanker:
        """Continue learning: one pass over more documents, in their order.

        With ``answer="all"`` nodes without documents are answered after every call as after `fit`, and a class whose
        first document comes in a later call starts with the weights of its text. Every call computes the scores of all
        nodes for up to 500 documents, so that calls of many documents each take less time.

        Parameters
        ----------
        X : array-like of shape (n_docs, n_features)
            Documents.
        y : array-like of shape (n_docs,)
            Labels of any kind.
        classes : sequence, default=None
            Labels that are declared before they occur, at the first call; others join when they occur, with weights of
            0, if they are in the taxonomy.
        sample_weight : array-like of shape (n_docs,), default=None
            Weights of the documents.
        label_features : matrix of shape (n_nodes, n_features), default=None
            Texts of all nodes as in `fit`, for ``answer="all"``; later calls take those of the first one.

        Returns
        -------
        OnlineRanker
            The model itself.
        """
        self._check_stream()
        if hasattr(self, "nodes_") and not hasattr(self, "attribute_weights_"):
            raise DataError("The model was pruned and cannot be trained further; keep the unpruned model for that.")
        if self.answer == "all" and hasattr(self, "nodes_") and self.label_features_ is None:
            raise DataError(
                "The model was saved by an earlier version of linnaeus without the texts of its nodes, which "
                "partial_fit needs for answer='all'; fit it again."
            )
        stream = begin_stream(self, X, y, classes, sample_weight)
        if self.answer == "all":
            from linnaeus.models.ranking.unseen_stream import learn_all, stream_texts

            learn_all(self, stream, stream_texts(self, label_features, stream))
        else:
            self._learn(stream)
        return self

    def _learn(self, stream: Stream, prior: CSR | None = None) -> None:
        """One pass over validated documents; ``prior`` (n_nodes x n_features) are weights of classes that join."""
        problem = stream.problem
        if stream.first:
            self.n_docs_ = self.n_labels_ = self.n_updates_ = 0
            self.n_iter_ = 1
        self.n_docs_ += problem.n_docs
        self.n_labels_ += int(problem.frontier.nnz)
        nodes = np.union1d(problem.frontier.indices, stream.declared.indices).astype(np.int32)
        self._grow(nodes, problem.X, stream.first, prior)
        self._continue(problem.X, self._labels(problem.frontier), document_weights(problem))

    def _check_stream(self) -> None:
        """Refuse settings with which a model cannot learn from a stream."""
        if self.kernel == "precomputed":
            raise ParameterError(
                "kernel='precomputed' is limited to its training documents; partial_fit needs another kernel."
            )

    def _grow(self, nodes: IntArray, X: Matrix, first: bool, prior: CSR | None) -> None:
        """Add classes that occur for the first time, with the weights of their texts where there are any."""
        if first:
            if not len(nodes):
                raise DataError("y has no label at all: every document has an empty set.")
            self._set_classes(nodes)
            n_rows, dtype = (X.shape[1] + self.fit_intercept, X.dtype) if self._linear else (0, np.float64)
            empty = AttributeWeights.zeros(n_rows, len(self.attribute_keys_), dtype, averaged=self._averaged)
            self._keep(empty, None if self._linear else X[np.zeros(0, dtype=np.intp)])
        elif len(joined := np.setdiff1d(nodes, self.nodes_)):
            before, alone = self.attribute_keys_, len(self.nodes_) == 1
            self._set_classes(np.union1d(self.nodes_, nodes))
            known = self._weights()
            if alone:  # one class has learned nothing, and its places may be shared by all now
                known, before = known.only(columns=slice(0)), before[:0]
            column = {int(key): i for i, key in enumerate(self.attribute_keys_)}
            columns = np.array([column[int(key)] for key in before], dtype=np.intp)
            n_rows = len(known.W)
            grown = known.placed(np.arange(n_rows), n_rows, columns, len(column))
            if prior is not None:
                from linnaeus.models.ranking.unseen_stream import with_start

                start = with_start(grown, self.nodes_, self.attributes_, self.attribute_keys_, prior, joined)
                self.start_weights_ = start if self.start_weights_ is None else self.start_weights_ + start
            self.attribute_weights_, self.attribute_drift_ = grown.W, grown.U
            self.set_size_ = None  # it was learned from the scores of other classes

    def _continue(self, X: Matrix, labels: CSR, weight: FloatArray) -> None:
        known = self._weights()
        source: DocumentSource
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

    # -- scores and answers --------------------------------------------------------------------------------------------

    def _weights(self) -> AttributeWeights:
        return AttributeWeights(self.attribute_weights_, self.attribute_drift_, self.n_steps_, self._averaged)

    def _class_weights(self) -> tuple[FloatArray, FloatArray]:
        if self._made is None:
            W = self._weights().of_classes(self.attributes_)
            constant = W[-1].astype(np.float64) if self.fit_intercept else np.zeros(W.shape[1])
            W = W[:-1] if self.fit_intercept else W
            if self.label_weights_ is not None and self.class_shift_ is not None:  # of answer="all"
                texts = self.label_weights_.tocoo()
                W[texts.row, texts.col] += texts.data
                constant = constant + self.class_shift_
            self._made = W, constant
        return self._made

    @property
    def weights_(self) -> Matrix | None:
        """Weights of classes, n_features x n_classes; after pruning those that were kept; None behind a kernel."""
        if not self._linear:
            return None
        return vars(self)["pruned_weights_"] if "pruned_weights_" in vars(self) else self._class_weights()[0]

    @weights_.setter
    def weights_(self, value: Matrix) -> None:
        self.pruned_intercept_ = self.intercept_
        self.pruned_weights_ = value
        # complete ones would make the file large again
        for name in ("attribute_weights_", "attribute_drift_", *_STREAM):
            self.__dict__.pop(name, None)

    @property
    def intercept_(self) -> FloatArray:  # type: ignore[override]
        """Constant of every class; zeros without ``fit_intercept``."""
        found = vars(self).get("pruned_intercept_")
        intercept: FloatArray = self._class_weights()[1] if found is None else found
        return intercept

    def __getstate__(self) -> dict[str, object]:
        return {key: value for key, value in super().__getstate__().items() if key != "_made"}

    def _forget(self) -> None:
        super()._forget()
        self._made = self.set_size_ = None
        for name in ("pruned_weights_", "pruned_intercept_", "support_documents_", "class_shift_", *_STREAM):
            self.__dict__.pop(name, None)

    def _scores(self, X: Matrix) -> FloatArray:
        if self._linear:
            return super()._scores(X)
        return kernel_scores(self.kernel_(X, self.support_documents_), self._weights().answer, self.attributes_)

    def _decoder(self, given: Decoder | str | None) -> Decoder:
        """For label sets the expected number of best classes: a ranking has no threshold."""
        if given is not None or self.one_label_ or self.codec_.single_label:
            return super()._decoder(given)
        if self.set_size_ is not None:
            return stored_decoder(self.set_size_)
        return RCut(max(1, round(self.n_labels_ / max(1, self.n_docs_))))
