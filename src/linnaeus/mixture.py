"""A mixture of models: calibrated scores of several sources, weighted at every node.

The sources learn from the training documents, as do copies of them that leave out one fold each. On the scores of the
left-out documents it is learned how to mix them (`models.mixed_scores`): calibrated log-odds of every source, and
weights at every node that are pulled towards those of its parents. Nothing is kept of the training documents.

A source may also be another tool (`SuggestionModel`): its scores come with the documents (`SuggestedDocuments`), and
are taken as they are, since the tool has not learned from these documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted

from linnaeus.data.check import Problem, check_labels
from linnaeus.data.dataset import SuggestedDocuments, n_documents
from linnaeus.data.matrices import is_sparse
from linnaeus.data.splits import kfold
from linnaeus.decoding import BestLabel, Decoder, Threshold
from linnaeus.decoding.base import stacked
from linnaeus.decoding.probability.coherence import smoothed
from linnaeus.engine import blocks, rows_that_fit
from linnaeus.errors import DataError, ParameterError, check_number, nearest, warn_user
from linnaeus.features.documents import DocumentTransformer
from linnaeus.lexical.words import as_documents, one_document
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.classifier import Classifier
from linnaeus.models.explaining import MixtureExplanation, best_answer, explain_mixture, one_row
from linnaeus.models.fitting import check_solver, require_two_classes
from linnaeus.models.mixed_scores import (
    COST,
    FIRST,
    MixtureWeights,
    SourceScores,
    learn_first,
    learn_weights,
    learns_closed,
    mixed_nodes,
    mixture_targets,
    targets_of,
)
from linnaeus.models.suggestions import SuggestionModel
from linnaeus.registry import resolve
from linnaeus.taxonomy import Taxonomy
from linnaeus.tuning import FOLDS, HeldOutScores, held_out_scores
from linnaeus.tuning.held_out import fold_rows, joined_scores, kept_scores
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix, ObjectArray

__all__ = ["Mixture", "mixed_held_out"]

_PARTS = 5  # of the held-out documents: each is mixed with weights learned on the others;
_MANY, _PARTS_OF_MANY = 1_000, 3  # of many documents three parts are as good


class Mixture(TaxonomyClassifier, _BaseComposition):
    """Several models as one: calibrated log-odds, weighted at every node.

    Where every document has one label, the mixed scores are those of a soft-max over the labels. For label sets they
    are log-odds that a node, or something below it, is a label. All nodes that a source scores can be answered; those
    without documents share one curve, or for single labels are mixed with the weights of their parents.

    Parameters
    ----------
    sources : list of (str, estimator), default=None
        Names and unfitted models, or pipelines that take the same matrices. None mixes `OneVsRestSVM` and
        `RRLogistic`. Their taxonomy is that of the mixture, and their seeds follow ``random_state`` unless given. A
        `SuggestionModel` stands for another tool, whose scores are part of the documents (`SuggestedDocuments`).
    taxonomy : Taxonomy, default=None
        The taxonomy of the labels; None makes a flat one (or, for paths, a tree) from y.
    C : float, default=0.3
        Weight of the documents against the pull of every node's weights towards those of its parents. The root is
        pulled towards equal weights.
    cv : int, float or iterable, default=5
        Folds on which the weights are learned, as for `fit_decoder`.
    tol : float, default=1e-6
        The certified relative gap at which the weights are final.
    max_iter : int, default=100
        The most Newton steps for the weights.
    learn : {"closed", "given", "first"}, default="closed"
        Whether scores of label sets are of a node or anything below it, or of the node itself. "given" is for
        documents that have a node and one above it as labels, and does not add ancestors. "first" is for many labels
        of which the first suggestion counts: scores are those of a soft-max, nodes with similar numbers of documents
        share their weights, and one label is answered.
    unseen_cost : float, default=0.01
        Where documents have label sets: share of the labels with documents among the ten best of a document that nodes
        without documents may replace. Larger values suggest more of these nodes, at the cost of the others.
    random_state : int, default=0
        Which documents are in which fold, and the seeds of sources that have none.
    verbose : int, default=0
        Show a bar for every source.

    Attributes
    ----------
    sources_ : list of estimators
        The sources, fitted on all documents.
    mixture_ : MixtureWeights
        Curves and weights; ``mixture_.of_node(name, taxonomy_)`` are the weights of one node.
    weights_ : ndarray of shape (n_labels, n_sources)
        The weights of the sources for every label.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import Mixture, OneVsRestLogistic, OneVsRestSVM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> y = [[name for name, value in zip("abc", row) if value > 0.5] for row in X]
    >>> sources = [("svm", OneVsRestSVM()), ("logistic", OneVsRestLogistic())]
    >>> model = Mixture(sources).fit(X, y)
    >>> model.predict([[2.0, -1, 1, 0, 0]])
    [['a', 'c']]
    >>> step = model.explain([[2.0, -1, 1, 0, 0]], "a")[0]
    >>> [source.name for source in step.sources], bool(step.score > 0)
    (['svm', 'logistic'], True)
    """

    mixture_: MixtureWeights
    sources_: list[Any]
    dense_: bool

    def __init__(
        self,
        sources: Any = None,
        taxonomy: Taxonomy | None = None,
        *,
        C: float = 0.3,
        cv: Any = FOLDS,
        tol: float = 1e-6,
        max_iter: int = 100,
        learn: str = "closed",
        unseen_cost: float = COST,
        random_state: int | None = 0,
        verbose: int = 0,
    ) -> None:
        self.sources = sources
        self.taxonomy = taxonomy
        self.C = C
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.learn = learn
        self.unseen_cost = unseen_cost
        self.random_state = random_state
        self.verbose = verbose

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, with those of the sources as ``name__parameter``."""
        return dict(self._get_params("sources", deep=deep))

    def set_params(self, **parameters: Any) -> Mixture:
        """Set parameters, those of the sources as ``name__parameter``."""
        self._set_params("sources", **parameters)
        return self

    # -- learning ------------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        held_out: Sequence[HeldOutScores] | None = None,
        fitted: Sequence[Any] | None = None,
    ) -> Mixture:
        """Learn the sources and how to mix them.

        Parameters
        ----------
        X : array-like of shape (n_docs, n_features)
            Documents.
        y : labels
            Labels of any kind.
        sample_weight : array-like of shape (n_docs,), default=None
            Weights of the documents.
        held_out : sequence of HeldOutScores, default=None
            What `held_out_scores` gave for every source on X and y, so that no fold is trained again.
        fitted : sequence of estimators, default=None
            The sources as fitted on X and y already, so that they are not trained again.

        Returns
        -------
        Mixture
            The model itself.
        """
        rows = _weighted_rows(sample_weight)
        held = None if held_out is None else [_of_rows(one, rows) for one in held_out]
        self._ready = held, None if fitted is None else list(fitted), rows
        try:
            super().fit(X, y, sample_weight)
        finally:
            del self._ready
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_solver(self)
        learns_closed(self.learn)
        check_number("unseen_cost", self.unseen_cost, least=0)
        sources = self._sources()
        if not isinstance(sources, list) or not sources:
            raise ParameterError(f"sources={sources!r}; expected a list of (name, estimator).")
        for entry in sources:
            good = isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str)
            if not good or not hasattr(entry[1], "fit") or not hasattr(entry[1], "score_blocks"):
                raise ParameterError(
                    f"sources has {entry!r}; expected (name, linnaeus model or Pipeline), or (name, SuggestionModel()) "
                    "for a label file, which SuggestedDocuments.read joins with the documents."
                )
        self._validate_names([name for name, _ in sources])

    def _sources(self) -> Any:
        if self.sources is not None:
            return self.sources
        return [("svm", resolve("OneVsRestSVM")()), ("rr", resolve("RRLogistic")())]

    @property
    def takes_documents(self) -> bool:
        """Whether a source takes documents as they were read, or makes features of them; so do all others then."""
        sources = getattr(self, "sources_", None) or [source for _, source in self._sources()]
        return any(
            source.estimator.takes_documents or isinstance(getattr(source, "features", None), DocumentTransformer)
            for source in sources
            if not isinstance(source, SuggestionModel)
        )

    @property
    def suggesting(self) -> list[str]:
        """The names of the sources that are other tools."""
        fitted = getattr(self, "sources_", None)
        sources = self._sources() if fitted is None else zip(self.mixture_.names, fitted, strict=True)
        return [name for name, source in sources if isinstance(source, SuggestionModel)]

    def _check_X(self, X: Any, *, reset: bool) -> Matrix:
        """Documents or a matrix; with suggestions where some are given, or sources take them."""
        suggested, given = self._suggestions(X, reset), X.documents if isinstance(X, SuggestedDocuments) else X
        checked: Any = as_documents(given) if self.takes_documents else super()._check_X(given, reset=reset)
        return cast(Matrix, SuggestedDocuments(checked, suggested)) if suggested else checked

    def _suggestions(self, X: object, reset: bool) -> dict[str, ObjectArray]:
        """Suggestions by source; training documents have all of them, and without them the others answer."""
        given = dict(X.suggestions) if isinstance(X, SuggestedDocuments) else {}
        wanted = self.suggesting
        strange = [name for name in given if name not in wanted]
        if strange:
            raise DataError(
                f"The documents have suggestions of {strange[0]!r}, which is not a source of suggestions of the mixture"
                f"{nearest(strange[0], wanted)}"
            )
        missing = [name for name in wanted if name not in given]
        if missing and reset:
            raise DataError(
                f"The documents have no suggestions of the source {missing[0]!r}; give them as "
                f"SuggestedDocuments.read(documents, {{{missing[0]!r}: file}}, ids)."
            )
        if missing:
            warn_user(
                f"The documents have no suggestions of the source {missing[0]!r}; the other sources answer alone."
            )
        return given

    def _input_of(self, name: str, source: Any, X: Any) -> Any:
        """What a source takes: its suggestions, or the documents without any."""
        if not isinstance(source, SuggestionModel):
            return X.documents if isinstance(X, SuggestedDocuments) else X
        if isinstance(X, SuggestedDocuments) and name in X.suggestions:
            return X.suggestions[name]
        return np.full(n_documents(X), None)

    def _fit(self, problem: Problem) -> None:
        learn = learns_closed(self.learn)
        Y, single = mixture_targets(problem.Y, problem.taxonomy, self.learn)
        closed = learn and not single and problem.taxonomy.n_edges > 0
        given = np.array_equal(np.diff(problem.Y.indptr), np.diff(Y.indptr))
        self._targets(problem, "closed" if closed else "given" if given else "frontier")
        if closed:
            self.nodes_ = self.nodes_[self.nodes_ != problem.taxonomy.root]
            if not len(self.nodes_):
                raise DataError("y has no label but the root, which every document has.")
        require_two_classes(problem, self.nodes_)
        sources = self._prepared(problem.taxonomy)
        held, fitted, rows = self._ready
        if held is None:
            folds = _folds(problem.Y, problem.taxonomy, self.cv, self.random_state, rows)
            how: dict[str, Any] = {"cv": folds, "random_state": self.random_state, "verbose": self.verbose}
            held = [
                _held_out(model, self._input_of(name, model, problem.X), problem.Y, problem.weights, **how)
                for name, model in sources
            ]
        scores, documents = _same_documents(held, [name for name, _ in sources])
        weights = None if problem.weights is None else problem.weights[documents]
        limits = float(self.C), weights, float(self.tol), int(self.max_iter)
        answered = mixed_nodes(list(scores.values()), Y, problem.taxonomy, single, closed=learn)
        self.nodes_ = self._answered(problem, answered)
        given_to = scores, Y[documents], problem.taxonomy, self.nodes_
        if self.learn == FIRST:
            counts = np.bincount(Y.indices, minlength=Y.shape[1])
            held_out = np.bincount(Y[documents].indices, minlength=Y.shape[1])
            left = None if len(documents) == Y.shape[0] else counts - held_out
            mixture = learn_first(*given_to, *limits, learned_from=left, counts=counts)
        else:
            cost = float(self.unseen_cost)
            mixture = learn_weights(*given_to, single, *limits, closed=learn, unseen_cost=cost, known=Y)
        if fitted is None:
            fitted = [
                model.fit(self._input_of(name, model, problem.X), problem.Y, problem.weights) for name, model in sources
            ]
        _check_fitted(fitted, sources, problem.taxonomy)
        documents_alone = problem.X.documents if isinstance(problem.X, SuggestedDocuments) else problem.X
        self.sources_, self.mixture_, self.dense_ = fitted, mixture, not is_sparse(documents_alone)
        self.objective_, self.duality_gap_, self.n_iter_ = mixture.objective, mixture.gap, max(1, mixture.n_iter)

    def _answered(self, problem: Problem, nodes: IntArray) -> IntArray:
        """Nodes that sources score beside those of the documents, in the order of ``classes_``."""
        more = np.setdiff1d(nodes, self.nodes_)
        if not len(more):
            return self.nodes_
        if problem.codec.kind != "labels":
            return np.union1d(self.nodes_, more).astype(np.int32)
        answered = np.concatenate([self.nodes_, more]).astype(np.int32)
        values = problem.codec.values(problem.taxonomy.names[answered])
        return answered[np.argsort(values, kind="stable")]

    def _prepared(self, taxonomy: Taxonomy) -> list[tuple[str, Any]]:
        """Unfitted copies of the sources with the taxonomy, and seeds where they have none."""
        seeds = np.random.SeedSequence(self.random_state)
        prepared = []
        for (name, source), seed in zip(self._sources(), seeds.spawn(len(self._sources())), strict=True):
            copy = clone(source)
            inner = copy.estimator
            inner.set_params(taxonomy=taxonomy)
            if self.random_state is not None and inner.get_params(deep=False).get("random_state", 0) is None:
                inner.set_params(random_state=int(seed.generate_state(1)[0] % 2**31))
            prepared.append((name, copy))
        return prepared

    def held_out_scores(
        self,
        in_place: Callable[[Classifier], Classifier],
        X: object,
        y: object,
        *,
        sample_weight: npt.ArrayLike | None = None,
        **how: Any,
    ) -> HeldOutScores:
        """What `linnaeus.tuning.held_out_scores` gives for the mixture; every source is trained once for each fold.

        Parameters
        ----------
        in_place : callable
            From a source to what takes X: the source, or a pipeline with the features in front of it.
        X, y : documents and labels
            As `tuning.held_out_scores` takes them.
        sample_weight : array-like of shape (n_docs,), default=None
            Weights of the documents.
        **how : Any
            Further parameters of `tuning.held_out_scores`, ``cv`` among them.

        Returns
        -------
        HeldOutScores
            Of documents that neither the sources nor the weights have seen.
        """
        self._check_parameters()
        Y, taxonomy, _ = check_labels(y, getattr(self, "taxonomy_", self.taxonomy))
        how["cv"] = _folds(Y, taxonomy, how["cv"], how["random_state"])
        self._suggestions(X, reset=True)
        held = {}
        for name, source in self._prepared(taxonomy):
            placed = source if isinstance(source, SuggestionModel) else in_place(source)
            held[name] = _held_out(placed, self._input_of(name, source, X), Y, sample_weight, **how)
        names = ("C", "tol", "max_iter", "learn", "unseen_cost")
        limits: dict[str, Any] = {name: getattr(self, name) for name in names}
        return mixed_held_out(held, sample_weight=sample_weight, known=Y, **limits)

    # -- answering -----------------------------------------------------------------------------------------------------

    @property
    def weights_(self) -> FloatArray:
        """The weights of the sources for every label, ``len(classes_)`` x n_sources."""
        return self.mixture_.weights

    def _scores(self, X: Matrix) -> FloatArray:
        return self.mixture_(self._source_scores(X), self.taxonomy_)

    def _decoder(self, given: Decoder | str | None) -> Decoder:
        return BestLabel(close=False) if given is None and self.mixture_.single else super()._decoder(given)

    def _source_scores(self, X: Matrix) -> dict[str, SourceScores]:
        found = {}
        for name, source in zip(self.mixture_.names, self.sources_, strict=True):
            given = self._input_of(name, source, X)
            if self.dense_ and is_sparse(given):  # features of a source may have been learned from dense documents
                given = given.toarray()
            found[name] = _scores_of(source, np.concatenate(list(source.score_blocks(given))))
        return found

    def known_terms(self, X: Any) -> IntArray:
        """Number of features of each document that are not zero, and of suggestions for it.

        Where sources have features of their own it is the largest number of a source; labels that `LexicalModel` finds
        are counted where no other source knows a term.
        """
        given = X.documents if isinstance(X, SuggestedDocuments) else X
        own = any(getattr(source, "features", None) is not None for source in getattr(self, "sources_", ()))
        if self.takes_documents or own:
            found = self._known_to_sources(as_documents(given) if self.takes_documents else given)
        else:
            found = super().known_terms(given)
        for rows in X.suggestions.values() if isinstance(X, SuggestedDocuments) else ():
            found = found + np.array([len(row) if row else 0 for row in rows], dtype=np.int64)
        return found

    def _known_to_sources(self, documents: Any) -> IntArray:
        check_is_fitted(self, "sources_")
        found = np.zeros(n_documents(documents), dtype=np.int64)
        own = [source for source in self.sources_ if not isinstance(source, SuggestionModel)]
        for source in (source for source in own if not source.estimator.takes_documents):
            found = np.maximum(found, source.known_terms(documents))
        for source in (source for source in own if source.estimator.takes_documents):
            left = np.flatnonzero(found == 0)  # looking for labels takes time
            if len(left):
                found[left] = source.known_terms(documents[left])
        return found

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of all answerable nodes, n_docs x len(classes_).

        They are calibrated on the held-out documents that the weights were learned on; for label sets no child is more
        probable than its parent. `linnaeus.calibrate` replaces them by those of curves fitted on other documents.
        """
        from scipy.special import expit, softmax

        if self.calibrator_ is not None:
            return self._calibrated(X)
        S = self._all_scores(X)
        if self.mixture_.single:
            return np.asarray(softmax(S, axis=1))
        P = np.asarray(expit(S - self.mixture_.raised))
        return smoothed(P, self.taxonomy_, self.nodes_) if self.nested_ else P

    # -- explaining ----------------------------------------------------------------------------------------------------

    def explain(self, x: Any, node: str | None = None, k: int | None = None) -> list[MixtureExplanation]:
        """Which source contributed to every node of the path, and which features to that source.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features), text, record or SuggestedDocuments
            One document.
        node : str, default=None
            The node to explain; None: the best of the most specific labels of the answer.
        k : int, default=None
            Keep the k largest contributions of features; None keeps all.

        Returns
        -------
        list of MixtureExplanation
            One for every node of the path that has a score, from the top; only the label where labels exclude each
            other. ``sources`` are the contributions of the sources, which with the constant sum to the score;
            ``contributions`` those of features, through all sources that explain themselves by the features of x.
        """
        check_is_fitted(self, "nodes_")
        given: Any = x
        if not isinstance(x, SuggestedDocuments):
            given = one_document(x) if self.takes_documents else one_row(x)
        X = self._check_X(given, reset=False)
        if X.shape[0] != 1:
            raise ParameterError(f"explain takes one document; got {X.shape[0]}.")
        target = best_answer(self, X, self._scores(X)[0]) if node is None else self.taxonomy_.index(node)
        return explain_mixture(self, X, target, k)

    # -- keeping -------------------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is needed to predict, as (values, arrays)."""
        if not hasattr(self, "mixture_"):
            raise DataError("This Mixture is not fitted; fit it before saving.")
        parameters = {name: getattr(self, name) for name in ("taxonomy", "C", "tol", "max_iter", "learn")}
        learned = {name: value for name, value in vars(self).items() if name.endswith("_")}
        return {"parameters": parameters, "learned": learned}, {}

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> Mixture:
        """The inverse of `state`; the sources are the fitted ones."""
        learned = dict(values["learned"])
        if not all(isinstance(name, str) and name.endswith("_") for name in learned):
            raise DataError("A mixture has learned something whose name does not end in an underscore.")
        mixture, sources = learned.get("mixture_"), learned.get("sources_")
        if not isinstance(mixture, MixtureWeights) or not isinstance(sources, list):
            raise DataError("A mixture has no sources_ or no mixture_.")
        made = cls(list(zip(mixture.names, sources, strict=True)), **values["parameters"])
        for name, value in learned.items():
            setattr(made, name, value)
        return made


def mixed_held_out(
    held_out: Mapping[str, HeldOutScores],
    *,
    C: float = 0.3,
    sample_weight: Any = None,
    tol: float = 1e-6,
    max_iter: int = 100,
    learn: str = "closed",
    learned_from: IntArray | None = None,
    unseen_cost: float = COST,
    known: CSR | None = None,
) -> HeldOutScores:
    """Held-out scores of a mixture from those of its sources; nothing is trained but the weights.

    The documents are split into five parts. Each is mixed with curves and weights learned on the others, so that the
    scores are of documents that neither the sources nor the mixture has seen.

    Parameters
    ----------
    held_out : dict of HeldOutScores by name
        What `held_out_scores` gave for every source, on the same documents.
    C : float, default=0.3
        As for `Mixture`.
    sample_weight : array-like, default=None
        Weights of all documents, of which the held-out ones are some.
    tol : float, default=1e-6
        As for `Mixture`.
    max_iter : int, default=100
        As for `Mixture`.
    learn : {"closed", "given", "first"}, default="closed"
        As for `Mixture`.
    learned_from : ndarray of shape (n_nodes,), default=None
        Number of documents of every node that the sources had learned from, where learn is "first"; None: each
        document was left out in turn.
    unseen_cost : float, default=0.01
        As for `Mixture`.
    known : csr_array, default=None
        Labels of all training documents (n_docs x n_nodes), which say how frequent every node is; None: the held-out
        documents that weights are learned on.

    Returns
    -------
    HeldOutScores
        Mixed scores, with the answers of the mixture's own decoder: compare them, or fit cut-offs on them, as for any
        model.

    Examples
    --------
    >>> from linnaeus import OneVsRestLogistic, OneVsRestSVM
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 10, [["a"], ["b"], ["a", "b"]] * 10
    >>> models = {"svm": OneVsRestSVM(random_state=0), "logistic": OneVsRestLogistic(random_state=0)}
    >>> held = {name: held_out_scores(model, X, y) for name, model in models.items()}
    >>> mixed_held_out(held).S.shape
    (30, 2)
    """
    scores, documents = _same_documents(list(held_out.values()), list(held_out))
    first = next(iter(held_out.values()))
    taxonomy = first.taxonomy
    given = first.Y[np.argsort(first.documents, kind="stable")]
    closed = learns_closed(learn)
    Y, single = mixture_targets(given, taxonomy, learn)
    nodes = mixed_nodes(list(scores.values()), Y, taxonomy, single, closed=closed)
    known = None if known is None else targets_of(known, taxonomy, single, closed=closed)
    n_parts = _PARTS if len(documents) < _MANY else _PARTS_OF_MANY
    part = np.arange(len(documents)) % min(n_parts, len(documents))
    part = np.random.default_rng(0).permutation(part)
    empty = bool((np.diff(given.indptr) == 0).any())
    decide = BestLabel(close=False) if single else Threshold(0.0, repair=None, at_least_one=not empty)
    kept, own, order = [], [], []
    for number in np.unique(part):
        train, test = np.flatnonzero(part != number), np.flatnonzero(part == number)
        train = train if len(train) else test
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)[documents[train]]
        limits = C, weights, tol, max_iter
        given_to = _taken(scores, train), Y[train], taxonomy, nodes
        if learn == FIRST:
            mixture = learn_first(*given_to, *limits, learned_from=learned_from)
        else:
            mixture = learn_weights(*given_to, single, *limits, closed=closed, unseen_cost=unseen_cost, known=known)
        for rows in blocks(len(test), rows_that_fit(8 * len(nodes))):
            S = mixture(_taken(scores, test[rows]), taxonomy)
            own.append(decide(S, taxonomy, nodes))
            kept.append(kept_scores(S, len(documents)))
            order.append(test[rows])
    back = np.argsort(np.concatenate(order))
    nested = closed and not single and taxonomy.n_edges > 0
    gold, answers = Y if nested or single else given, stacked(own, taxonomy)[back]
    return HeldOutScores(
        joined_scores(kept)[back], gold, taxonomy, nodes, documents, nested, False, answers, nested=nested
    )


def _taken(scores: Mapping[str, SourceScores], rows: IntArray) -> dict[str, SourceScores]:
    return {name: replace(source, S=source.S[rows]) for name, source in scores.items()}


# -- sources -----------------------------------------------------------------------------------------------------------


def _scores_of(source: Any, S: FloatArray) -> SourceScores:
    inner = source.estimator
    return SourceScores(S, inner.nodes_, bool(inner.nested_), bool(inner.conditional_scores))


def _weighted_rows(sample_weight: Any) -> IntArray | None:
    """Rows of the documents with a positive weight, which alone are learned from; None where all have one.

    Weights that are not numbers are refused later.
    """
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return None if weights.ndim != 1 or (weights > 0).all() else np.flatnonzero(weights > 0)


def _of_rows(held: HeldOutScores, rows: IntArray | None) -> HeldOutScores:
    """The scores of these documents alone, which are numbered among them."""
    if rows is None:
        return held
    kept = np.flatnonzero(np.isin(held.documents, rows))
    documents = np.searchsorted(rows, held.documents[kept])
    own = None if held.own is None else held.own[kept]
    return replace(held, S=held.S[kept], Y=held.Y[kept], documents=documents, own=own)


def _folds(Y: CSR, taxonomy: Taxonomy, cv: Any, random_state: int | None, rows: IntArray | None = None) -> Any:
    """Pairs of rows; whole numbers of folds do not depend on the order in which nodes are numbered.

    Pairs that are given number all documents, of which ``rows`` are learned from.
    """
    if isinstance(cv, Iterable):  # all sources have the same
        pairs = [(np.asarray(train), np.asarray(test)) for train, test in cv]
        if rows is None:
            return pairs
        return [tuple(np.searchsorted(rows, part[np.isin(part, rows)]) for part in pair) for pair in pairs]
    if isinstance(cv, bool) or not isinstance(cv, (int, np.integer)) or cv < 2 or Y.shape[0] < 2:
        return cv
    by_name = np.argsort(taxonomy.names.astype(str), kind="stable")
    return list(kfold(Y[:, by_name], min(int(cv), Y.shape[0]), random_state=random_state))


def _held_out(model: Classifier, X: Any, Y: CSR, sample_weight: npt.ArrayLike | None, **how: Any) -> HeldOutScores:
    """Scores of held-out documents; those of another tool are of documents that it has not seen anyway."""
    if not isinstance(model, SuggestionModel):
        return held_out_scores(model, X, Y, sample_weight=sample_weight, **how)
    fitted = clone(model).fit(X, Y)
    documents = np.concatenate([test for _, test in fold_rows(Y, how["cv"], how["random_state"])])
    kept = [kept_scores(S, len(documents)) for S in fitted.score_blocks(X[documents])]
    return HeldOutScores(joined_scores(kept), Y[documents], fitted.taxonomy_, fitted.nodes_, documents, False)


def _same_documents(held: Sequence[HeldOutScores], names: list[str]) -> tuple[dict[str, SourceScores], IntArray]:
    """Scores of the sources over the same documents, in the order of these."""
    if len(held) != len(names):
        raise DataError(f"held_out has scores of {len(held)} sources; expected those of {len(names)}.")
    orders = [np.argsort(one.documents, kind="stable") for one in held]
    documents = held[0].documents[orders[0]]
    scores = {}
    for name, one, order in zip(names, held, orders, strict=True):
        if not np.array_equal(one.documents[order], documents):
            raise DataError(f"The held-out documents of {name!r} are not those of {names[0]!r}; use the same folds.")
        scores[name] = SourceScores(one.S[order], one.nodes, one.nested, one.conditional)
    return scores, documents


def _check_fitted(fitted: Sequence[Any], sources: list[tuple[str, Any]], taxonomy: Taxonomy) -> None:
    if len(fitted) != len(sources):
        raise DataError(f"fitted has {len(fitted)} sources; expected {len(sources)}.")
    for (name, _), source in zip(sources, fitted, strict=True):
        if not hasattr(source.estimator, "nodes_") or source.estimator.taxonomy_ != taxonomy:
            raise DataError(f"The source {name!r} is not fitted on the taxonomy of the mixture.")
