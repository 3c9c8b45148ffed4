"""Features, model and decoder as one object that takes documents as they were read: fit, predict, top, explain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from linnaeus.data.check import check_labels, warn_of_order, with_index_of
from linnaeus.decoding import CutOff, Decoder, RankedSets, Rules
from linnaeus.decoding import decoder as make_decoder
from linnaeus.decoding.probability.curves import Calibrator
from linnaeus.decoding.probability.risk import RiskControl
from linnaeus.errors import DataError, ParameterError, warn_user
from linnaeus.features.documents import n_documents
from linnaeus.metrics import hierarchical_f1
from linnaeus.models.base import TaxonomyClassifier, available_unless
from linnaeus.models.explaining import Explainable, KeptDocuments, Neighbour, PathExplanation, explain_by_occlusion
from linnaeus.models.label_priors import embedding_columns, label_features
from linnaeus.models.promises import Decisions
from linnaeus.taxonomy import Taxonomy
from linnaeus.tuning.held_out import FOLDS, DecoderComparison, held_out_scores, share_time
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix, ObjectArray

if TYPE_CHECKING:
    from linnaeus.models.linear import LinearTaxonomyClassifier

__all__ = ["Pipeline"]


class Transformer(Protocol):
    """Features: documents as they were read to a matrix."""

    def fit_transform(self, documents: object, y: CSR | None = None, /) -> Matrix: ...

    def transform(self, documents: object, /) -> Matrix: ...


class Pipeline(BaseEstimator):
    """Documents to answers.

    Parameters
    ----------
    model : TaxonomyClassifier
        A linnaeus model, unfitted.
    features : transformer, default=None
        From documents to a matrix (`TextFeatures`, `DenseFeatures`); None where documents are matrices.
    decoder : Decoder or str, default=None
        How scores become answers; None takes the model's own decoder. A cut-off that is not fitted yet (``SCut()``,
        "instance_cut", "scut,average=macro") is fitted by five-fold cross-validation when the pipeline is, all within
        the ``max_time`` of the model; see `fit_decoder` for other folds and metrics. A cut-off that is worse than the
        model's own decoder on the held-out documents is not used: ``decoder_`` is None then, with a warning.

    Attributes
    ----------
    decoder_ : Decoder or None
        The decoder that answers; None is the model's own.
    decoder_comparison_ : DecoderComparison or None
        What a cut-off fitted with the pipeline and the model's own decoder reached on held-out documents.

    Examples
    --------
    >>> from linnaeus import OneVsRestSVM
    >>> from linnaeus.features.text import TextFeatures
    >>> texts = ["cats purr", "dogs bark", "a cat and a dog"]
    >>> pipe = Pipeline(OneVsRestSVM(random_state=0), TextFeatures()).fit(texts, [["cat"], ["dog"], ["cat", "dog"]])
    >>> pipe.predict(["purr"])
    [['cat']]
    >>> pipe.explain("cats purr", k=1)[0].features.tolist()
    ['cats']
    """

    about_: Mapping[str, object] = MappingProxyType({})  # how it was trained, for people; saved with it
    check_matrix: Callable[[object], None] | None = (
        None  # what a caller wants to know of the matrix before it is learned
    )
    decoder_comparison_: DecoderComparison | None = None

    model_: TaxonomyClassifier
    features_: Transformer | None
    decoder_: Decoder | None
    feature_names_: list[str] | None

    def __init__(
        self, model: TaxonomyClassifier, features: Transformer | None = None, *, decoder: Decoder | str | None = None
    ) -> None:
        self.model = model
        self.features = features
        self.decoder = decoder

    def fit(
        self,
        documents: object,
        y: object,
        sample_weight: npt.ArrayLike | None = None,
        *,
        feature_names: Iterable[object] | None = None,
        **fit_parameters: object,
    ) -> Pipeline:
        """Learn the features, then the model; ``feature_names`` name the columns of vectors in explanations.

        Further parameters are those of the model's ``fit``.
        """
        if not hasattr(self.model, "fit") or (self.features is not None and not hasattr(self.features, "transform")):
            given = f"{type(self.model).__name__}, {type(self.features).__name__}"
            raise ParameterError(f"Expected a model and then features, as Pipeline(model, features); got {given}.")
        self.features_ = None if self.features is None else clone(self.features)
        if self.features_ is not None:  # otherwise the model compares them
            warn_of_order(documents, y)
        X = documents if self.features_ is None else self.features_.fit_transform(documents, self._closed(documents, y))
        if self.check_matrix is not None:
            self.check_matrix(X)
        decoder = make_decoder(self.decoder) if isinstance(self.decoder, str) else self.decoder
        to_fit = isinstance(decoder, CutOff) and not decoder.fitted
        model = clone(self.model)
        # A pipeline as a model, such as a source of a mixture, has its own parameters and adds the texts itself.
        fit_parameters = self._with_label_features(getattr(model, "taxonomy", None), fit_parameters)
        if "label_features" in fit_parameters and (n_embedding := embedding_columns(self.features_)):
            fit_parameters = {"n_embedding": n_embedding, **fit_parameters}
        if to_fit:
            share_time(model, FOLDS + 1)
        self.model_ = model.fit(X, y, sample_weight, **fit_parameters)
        self.decoder_, self.decoder_comparison_ = decoder, None
        if to_fit:
            self._fit_cut_off(documents, y, sample_weight)
        self.feature_names_ = None if feature_names is None else [str(name) for name in feature_names]
        return self

    def _with_label_features(self, taxonomy: Taxonomy | None, parameters: dict[str, object]) -> dict[str, object]:
        """Parameters of a fit or an update, with the texts of nodes for a model that answers all of them."""
        if getattr(self.model, "answer", "seen") != "all" or "label_features" in parameters:
            return parameters
        if taxonomy is None:
            raise ParameterError("answer='all' needs a taxonomy with texts; the model has none.")
        return {**parameters, "label_features": label_features(self.features_, taxonomy)}

    def _closed(self, documents: object, y: object) -> CSR | None:
        """Labels with all that is above them, for features that learn from them."""
        if not getattr(self.features, "uses_labels", False):
            return None
        Y, taxonomy, _ = check_labels(y, self.model.taxonomy, n_documents(documents))
        return taxonomy.close(Y, keep_root=False)

    def _fit_cut_off(self, documents: object, y: object, sample_weight: npt.ArrayLike | None) -> None:
        """Fit the cut-off on held-out documents; copies of the pipeline, its features too, learn from the folds."""
        assert isinstance(self.decoder, (CutOff, str))
        unseen, show = Pipeline(self.model_, self.features), int(getattr(self.model_, "verbose", 0))
        held = held_out_scores(unseen, documents, y, sample_weight=sample_weight, verbose=show, with_answers=True)
        self.decoder_, self.decoder_comparison_ = held.fit_if_better(self.decoder)
        if self.decoder_ is None:
            warn_user(str(self.decoder_comparison_))

    @available_if(lambda self: hasattr(self.estimator, "partial_fit"))
    def partial_fit(self, documents: object, y: object, sample_weight: npt.ArrayLike | None = None) -> Pipeline:
        """Learn from more documents, for models that can.

        Features stay as they were fitted; `HashedText` has columns for new words as well, so that a pipeline with it,
        or without features, may also begin with this method.
        """
        first = not hasattr(self, "model_")
        if first:
            self._begin_stream()
        learner: Any = self.model_
        X = self._learning_matrix(documents)
        more = self._with_label_features(learner.taxonomy, {}) if first else {}
        learner.partial_fit(X, y, sample_weight=sample_weight, **more)
        return self

    def _begin_stream(self) -> None:
        """Take the place of `fit` where the first documents come by `partial_fit`."""
        if self.features is not None and not hasattr(self.features, "partial_fit_transform"):
            raise DataError(
                f"{type(self.features).__name__} is learned from all documents: call fit with the first documents of "
                "the stream, or use HashedText, which needs none."
            )
        decoder = make_decoder(self.decoder) if isinstance(self.decoder, str) else self.decoder
        if isinstance(decoder, CutOff) and not decoder.fitted:
            raise DataError(f"{type(decoder).__name__} is fitted on held-out documents: call fit first.")
        self.features_ = None if self.features is None else clone(self.features)
        self.model_, self.decoder_, self.feature_names_ = clone(self.model), decoder, None

    @available_if(lambda self: hasattr(self.estimator, "update"))
    def update(
        self,
        documents: object,
        y: object,
        *,
        taxonomy: Taxonomy | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Pipeline:
        """Learn from more documents, with the features as they were fitted; see the model's ``update``."""
        learner: Any = self.model_
        X = self._learning_matrix(documents)
        more = self._with_label_features(learner.taxonomy_ if taxonomy is None else taxonomy, {})
        if more and (n_embedding := embedding_columns(self.features_)):
            more["n_embedding"] = n_embedding
        learner.update(X, y, taxonomy=taxonomy, sample_weight=sample_weight, **more)
        return self

    @available_if(lambda self: hasattr(self.estimator, "prune"))
    def prune(self, threshold: float | None = None, *, X: object = None, y: object = None, **how: Any) -> Pipeline:
        """Keep only weights that matter; see the model's ``prune``.

        Parameters
        ----------
        threshold : float, default=None
            Weights below this size are dropped.
        X, y : documents and labels, default=None
            Documents, as `predict` takes them, on which to find a threshold instead.
        **how : object
            Further parameters of the model's ``prune``.

        Returns
        -------
        Pipeline
            The pipeline itself.

        Examples
        --------
        >>> from linnaeus import OneVsRestSVM
        >>> from linnaeus.features.text import TextFeatures
        >>> pipe = Pipeline(OneVsRestSVM(), TextFeatures()).fit(["cats purr", "dogs bark"], ["cat", "dog"])
        >>> pipe.prune(0.1).predict(["purr"]).tolist()
        ['cat']
        """
        model = cast("LinearTaxonomyClassifier", self._fitted)
        model.prune(threshold, X=None if X is None else self.matrix(X), y=y, **how)
        return self

    # -- what the model knows (`linnaeus.models.classifier.Classifier`) ------------------------------------------------

    @property
    def estimator(self) -> TaxonomyClassifier:
        """The model, fitted if the pipeline is."""
        model = self.model_ if hasattr(self, "model_") else self.model
        return model.estimator if isinstance(model, Pipeline) else model

    @property
    def _fitted(self) -> TaxonomyClassifier:
        check_is_fitted(self, "model_")
        return self.model_

    @property
    def taxonomy_(self) -> Taxonomy:
        """The taxonomy of the answers."""
        return self._fitted.taxonomy_

    @property
    def classes_(self) -> ObjectArray | IntArray:
        """Names of the nodes that can be answered, the columns of the scores."""
        return self._fitted.classes_

    @property
    def nodes_(self) -> IntArray:
        """Numbers of the nodes that can be answered."""
        return self._fitted.nodes_

    @property
    def closed_(self) -> bool:
        """Whether all training sets held all ancestors of their labels."""
        return self._fitted.closed_

    @property
    def nested_(self) -> bool:
        """Whether ancestors were added to the training sets."""
        return self._fitted.nested_

    @property
    def single_label(self) -> bool:
        """Whether every training document had one label."""
        return self._fitted.single_label

    @property
    def label_nodes(self) -> IntArray:
        """Numbers of the nodes that training documents carried as labels."""
        return self._fitted.label_nodes

    @property
    def conditional_scores(self) -> bool:
        """Whether a score compares a node with its siblings only."""
        return self._fitted.conditional_scores

    @property
    def calibrator_(self) -> Calibrator | None:
        """The curves of `linnaeus.calibrate`, if it is calibrated."""
        return self._fitted.calibrator_

    @property
    def risk_control_(self) -> RiskControl | None:
        """What promised risks are derived from, if it is calibrated."""
        return self._fitted.risk_control_

    @property
    def kept_(self) -> KeptDocuments | None:
        """The documents that are kept with the model."""
        return self._fitted.kept_

    def default_decoder(self) -> Decoder:
        """The decoder that answers where none is given."""
        return self.decoder_ or self._fitted.default_decoder()

    def matrix(self, documents: object) -> Matrix:
        """Documents as the matrix that the model sees."""
        check_is_fitted(self, "model_")
        X: Matrix = documents if self.features_ is None else self.features_.transform(documents)  # type: ignore[assignment]
        return X

    def _learning_matrix(self, documents: object) -> Matrix:
        """The matrix of documents to learn from; features that can do so remember their terms."""
        features: Any = self.features_
        if not hasattr(features, "partial_fit_transform"):
            return self.matrix(documents)
        X: Matrix = features.partial_fit_transform(documents)
        return X

    def _inputs(self, documents: object) -> Matrix:
        """The matrix of the features that people know: the one before a kernel map, where there is a map."""
        features: Any = self.features_
        if not hasattr(features, "vectors"):
            return self.matrix(documents)
        X: Matrix = features.vectors(documents)
        return X

    def known_terms(self, documents: object) -> IntArray:
        """Number of features of each document that are not zero; 0 where the model knows nothing about it.

        The model answers such a document as well, but from its constants only: the answer is the same for all of them.

        Parameters
        ----------
        documents : documents as `predict` takes them
            For a model with a kernel on sequences the characters are counted, for `LexicalModel` the nodes found.

        Returns
        -------
        ndarray of int
            One number per document.

        Examples
        --------
        >>> from linnaeus import OneVsRestSVM
        >>> from linnaeus.features.text import TextFeatures
        >>> pipe = Pipeline(OneVsRestSVM(), TextFeatures()).fit(["cats purr", "dogs bark"], ["cat", "dog"])
        >>> pipe.known_terms(["dogs purr", "", "zebras graze"]).tolist()
        [2, 0, 0]
        """
        model: TaxonomyClassifier = self._fitted
        features: Any = self.features_
        while hasattr(features, "vectors"):  # a kernel map, which fills every column of every document
            features = getattr(features, "features_", None)
        if not getattr(features, "columns_are_terms", True):  # as those of an embedding
            known: IntArray = features.known_terms(documents)
            return known
        return model.known_terms(self._inputs(documents))

    def predict(
        self, documents: object, *, decoder: Decoder | str | None = None, closed: bool | None = None, **request: Any
    ) -> Any:
        """Answers in the kind of the training labels; see the model's ``predict``, also for ``rules`` and ``risk``."""
        X = self.matrix(documents)
        answers = self.model_.predict(X, decoder=decoder or self.decoder_, closed=closed, **request)
        return with_index_of(documents, answers)

    def answers(
        self, documents: object, *, decoder: Decoder | str | None = None, closed: bool | None = None, **request: Any
    ) -> CSR:
        """The answers of `predict` as 0/1 rows, n_docs x n_nodes."""
        X = self.matrix(documents)
        return self.model_.answers(X, decoder=decoder or self.decoder_, closed=closed, **request)

    def ranked_sets(
        self,
        documents: object,
        k: int = 1,
        *,
        rules: Rules | Mapping[str, Any] | None = None,
        decoder: Decoder | str | None = None,
    ) -> RankedSets:
        """The k best closed label sets of every document; see the model's ``ranked_sets``."""
        X = self.matrix(documents)
        return self.model_.ranked_sets(X, k, rules=rules, decoder=decoder or self.decoder_)

    def n_best(
        self,
        documents: object,
        k: int = 5,
        *,
        rules: Rules | Mapping[str, Any] | None = None,
        decoder: Decoder | str | None = None,
        closed: bool | None = None,
    ) -> list[list[tuple[list[str], float]]]:
        """The k best label sets of every document, each with its score, best first."""
        ranked = self.ranked_sets(documents, k, rules=rules, decoder=decoder)
        return ranked.labels(self.taxonomy_, closed=self.closed_ if closed is None else closed)

    def decision_function(self, documents: object) -> FloatArray:
        """Scores of all answerable nodes."""
        X = self.matrix(documents)
        return self.model_.decision_function(X)

    def score_blocks(self, documents: object) -> Iterator[FloatArray]:
        """Scores of some documents at a time."""
        X = self.matrix(documents)
        return self.model_.score_blocks(X)

    @available_unless(lambda self: self.estimator.why_no_probabilities())
    def predict_proba(self, documents: object) -> FloatArray:
        """Probabilities of all answerable nodes, where the model has them."""
        X = self.matrix(documents)
        probabilities: FloatArray = self.model_.predict_proba(X)
        return probabilities

    @available_unless(lambda self: self.estimator.why_no_probabilities())
    def predict_log_proba(self, documents: object) -> FloatArray:
        """Logarithms of `predict_proba`."""
        X = self.matrix(documents)
        logarithms: FloatArray = self.model_.predict_log_proba(X)
        return logarithms

    def node_probabilities(self, documents: object) -> FloatArray:
        """Coherent probabilities of all nodes of the taxonomy, n_docs x n_nodes; see the model's."""
        X = self.matrix(documents)
        return self.model_.node_probabilities(X)

    def decisions(self, documents: object, risk: float, **request: Any) -> Decisions:
        """Answers under a promised risk, and candidates for the documents left for review; see the model's."""
        X = self.matrix(documents)
        return self.model_.decisions(X, risk, **request)

    def top(self, documents: object, k: int = 5, **request: Any) -> tuple[ObjectArray, FloatArray]:
        """The k best nodes of each document: labels and scores, or ``probabilities``; see the model's ``top``."""
        X = self.matrix(documents)
        return self.model_.top(X, k, **request)

    def top_nodes(self, documents: object, k: int = 5, **request: Any) -> tuple[IntArray, FloatArray]:
        """As `top`, with the numbers of the nodes in the taxonomy instead of labels."""
        X = self.matrix(documents)
        return self.model_.top_nodes(X, k, **request)

    def score(self, documents: object, y: object, sample_weight: npt.ArrayLike | None = None) -> float:
        """Hierarchical F1 of the answers of `predict`, decoder included."""
        H = self.answers(documents)
        Y = check_labels(y, self.taxonomy_, H.shape[0])[0]
        return float(hierarchical_f1(Y, H, self.taxonomy_, sample_weight=sample_weight))

    def explain(self, document: object, node: str | None = None, k: int | None = None) -> PathExplanation:
        """Contributions of the words or features of one document to every node of the path, by name.

        Through a kernel map they are approximate: what changes when a feature is left out. Words that count through an
        embedding are shown with the nearest words of the node, as ``kitten ~ cat, purr``; see ``origins``. Where
        features are pieces of words, the contribution of a word is the sum of those of its pieces.
        """
        model = self._fitted
        features: Any = self.features_
        batch = self._batch_of_one(document)
        names: ObjectArray | None = None
        if hasattr(features, "vectors"):
            steps = explain_by_occlusion(model, self._inputs(batch), features.map, node, k)
            names = features.input_names()
        elif hasattr(model, "explain") and hasattr(features, "word_parts"):
            from linnaeus.lexical.embedded_words import explain_by_word

            return PathExplanation(explain_by_word(cast(Explainable, model), features, batch, node, k))
        elif hasattr(model, "explain"):
            words = features.word_shares(batch) if hasattr(features, "word_shares") else None
            steps = model.explain(self.matrix(batch), node, k if words is None else None)
            if words is not None:
                names, shares = words
                steps = [step.grouped(shares, k) for step in steps]
            if hasattr(features, "kinds_") and not features.kinds_:  # texts alone
                steps = [step.of_words() for step in steps]
            if words is None and hasattr(features, "names_for"):
                names = features.names_for(batch)
            elif words is None and hasattr(features, "get_feature_names_out"):
                names = features.get_feature_names_out()
        else:
            raise DataError(f"{type(model).__name__} has no explanations: its scores are not sums over features.")
        if names is None and self.feature_names_ is not None:
            names = np.asarray(self.feature_names_, dtype=object)
        return PathExplanation(steps if names is None else [step.named(names) for step in steps])

    def keep_documents(self, documents: object, y: object, names: Iterable[object] | None = None) -> Pipeline:
        """Keep documents with the model, to show them next to answers; they are saved with it."""
        X = self.matrix(documents)
        self.model_.keep_documents(X, y, names)
        return self

    def nearest(self, document: object, k: int = 5, node: str | None = None) -> list[Neighbour]:
        """The kept documents most similar to one document, at or below a node if given."""
        X = self.matrix(self._batch_of_one(document))
        return self.model_.nearest(X, k, node)

    def _batch_of_one(self, document: object) -> object:
        """One text, one record of fields, or one vector, as a batch; without features as it is given."""
        if isinstance(document, str):
            return [document]
        if self.features_ is None:
            return document
        if isinstance(document, Mapping):
            return {name: [value] for name, value in document.items()}
        return np.atleast_2d(np.asarray(document))

    # -- keeping -------------------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, object]]:
        """What is needed to predict, as plain values and objects that have a state of their own."""
        model = self._fitted
        decide = None if self.decoder_ is None else self.decoder_.to_dict()
        values = {"model": model, "features": self.features_, "decoder": decide, "feature_names": self.feature_names_}
        return ({**values, "about": dict(self.about_)},)

    @classmethod
    def of_fitted(cls, model: TaxonomyClassifier) -> Pipeline:
        """A pipeline without features around a model that is fitted already.

        Parameters
        ----------
        model : TaxonomyClassifier
            A fitted model, which answers with its own decoder.

        Returns
        -------
        Pipeline
            A fitted pipeline.
        """
        return cls.from_state({"model": model, "features": None, "decoder": None, "feature_names": None})

    @classmethod
    def from_state(cls, values: Mapping[str, Any], *_: object) -> Pipeline:
        """The inverse of `state`; folders of earlier versions have an empty second part."""
        decide = None if values["decoder"] is None else make_decoder(**values["decoder"])
        made = cls(values["model"], values["features"], decoder=decide)
        made.model_, made.features_, made.decoder_ = values["model"], values["features"], decide
        made.feature_names_ = values["feature_names"]
        made.about_ = values.get("about", {})
        if not isinstance(made.about_, Mapping):
            raise DataError(f"What a pipeline says about its training is a dictionary; got {made.about_!r}.")
        return made
