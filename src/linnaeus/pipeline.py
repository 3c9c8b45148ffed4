"""Features, model and decoder as one object that takes documents as they were read: fit, predict, top, explain."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from linnaeus.data.check import check_labels
from linnaeus.data.kinds import with_index_of
from linnaeus.decoding import CutOff, Decoder
from linnaeus.decoding import decoder as make_decoder
from linnaeus.errors import DataError, ParameterError
from linnaeus.models.occlusion import explain_by_occlusion
from linnaeus.models.promises import nonzero_features
from linnaeus.taxonomy import Taxonomy
from linnaeus.tuning.held_out import FOLDS, DecoderComparison, held_out_scores, n_documents, share_time
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["Pipeline"]


class Pipeline(BaseEstimator):
    """Documents to answers.

    Parameters
    ----------
    model : a linnaeus model, unfitted.
    features : a transformer from documents to a matrix (`TextFeatures`, `DenseFeatures`), or None for matrices.
    decoder : how scores become answers, or its name; None takes the model's own. A cut-off that is not fitted yet
        (``SCut()``, "instance_cut", "scut,average=macro") is fitted by five-fold cross-validation when the pipeline is,
        all within the ``max_time`` of the model; see `fit_decoder` for other folds and metrics. A cut-off that is worse
        than the model's own decoder on the held-out documents is not used: ``decoder_`` is None then, with a warning.

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

    about_: Mapping[str, Any] = MappingProxyType({})  # how it was trained, for people; saved with it
    check_matrix: Callable[[Any], None] | None = None  # what a caller wants to know of the matrix before it is learned
    decoder_comparison_: DecoderComparison | None = None

    def __init__(self, model: Any, features: Any = None, *, decoder: Decoder | str | None = None) -> None:
        self.model = model
        self.features = features
        self.decoder = decoder

    def fit(self, documents: Any, y: Any, sample_weight: Any = None, *, feature_names: Any = None) -> Pipeline:
        """Learn the features, then the model; ``feature_names`` name the columns of vectors in explanations."""
        if not hasattr(self.model, "fit") or (self.features is not None and not hasattr(self.features, "transform")):
            given = f"{type(self.model).__name__}, {type(self.features).__name__}"
            raise ParameterError(f"Expected a model and then features, as Pipeline(model, features); got {given}.")
        self.features_: Any = None if self.features is None else clone(self.features)
        X = documents if self.features_ is None else self.features_.fit_transform(documents, self._closed(documents, y))
        if self.check_matrix is not None:
            self.check_matrix(X)
        decoder = make_decoder(self.decoder) if isinstance(self.decoder, str) else self.decoder
        to_fit = isinstance(decoder, CutOff) and not decoder.fitted
        model = clone(self.model)
        if to_fit:
            share_time(model, FOLDS + 1)
        self.model_ = model.fit(X, y, sample_weight)
        self.decoder_: Decoder | None = decoder
        self.decoder_comparison_ = None
        if isinstance(decoder, CutOff) and to_fit:
            unseen = Pipeline(self.model_, self.features)  # copies of it learn from the folds, features too
            show = int(getattr(model, "verbose", 0))
            cut: Any = self.decoder
            held = held_out_scores(unseen, documents, y, sample_weight=sample_weight, verbose=show, with_answers=True)
            self.decoder_comparison_ = held.compare(cut)
            self.decoder_ = held.fit(cut) if self.decoder_comparison_.better else None
            if self.decoder_ is None:
                warnings.warn(str(self.decoder_comparison_), stacklevel=2)
        self.feature_names_ = None if feature_names is None else [str(name) for name in feature_names]
        return self

    def _closed(self, documents: Any, y: Any) -> CSR | None:
        """Labels with all that is above them, for features that learn from them."""
        if not getattr(self.features, "uses_labels", False):
            return None
        Y, taxonomy, _ = check_labels(y, self.model.taxonomy, n_documents(documents))
        return taxonomy.close(Y, keep_root=False)

    @available_if(lambda self: hasattr(getattr(self, "model_", self.model), "partial_fit"))
    def partial_fit(self, documents: Any, y: Any, sample_weight: Any = None) -> Pipeline:
        """Go on learning from more documents, with the features as they were fitted; for models that can."""
        X = self.matrix(documents)
        self.model_.partial_fit(X, y, sample_weight=sample_weight)
        return self

    @available_if(lambda self: hasattr(getattr(self, "model_", self.model), "update"))
    def update(
        self, documents: Any, y: Any, *, taxonomy: Taxonomy | None = None, sample_weight: Any = None
    ) -> Pipeline:
        """Learn from more documents, with the features as they were fitted; see the model's ``update``."""
        self.model_.update(self.matrix(documents), y, taxonomy=taxonomy, sample_weight=sample_weight)
        return self

    @available_if(lambda self: hasattr(getattr(self, "model_", self.model), "prune"))
    def prune(self, threshold: float | None = None, *, X: Any = None, y: Any = None, **how: Any) -> Pipeline:
        """Keep only weights that matter; see the model's ``prune``.

        Parameters
        ----------
        threshold : float, default=None
            Weights below this size are dropped.
        X, y : documents and labels, default=None
            Documents, as `predict` takes them, on which to find a threshold instead.
        **how : Any
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
        self.model_.prune(threshold, X=None if X is None else self.matrix(X), y=y, **how)
        return self

    @property
    def taxonomy_(self) -> Taxonomy:
        check_is_fitted(self, "model_")
        taxonomy: Taxonomy = self.model_.taxonomy_
        return taxonomy

    @property
    def classes_(self) -> Any:
        return self.model_.classes_

    def matrix(self, documents: Any) -> Any:
        """Documents as the matrix that the model sees."""
        check_is_fitted(self, "model_")
        return documents if self.features_ is None else self.features_.transform(documents)

    def _inputs(self, documents: Any) -> Any:
        """The matrix of the features that people know: the one before a kernel map, where there is a map."""
        return self.features_.vectors(documents) if hasattr(self.features_, "vectors") else self.matrix(documents)

    def known_terms(self, documents: Any) -> IntArray:
        """Number of features of each document that are not zero; 0 where the model knows nothing about it.

        The model answers such a document as well, but from its constants only: the answer is the same for all of them.

        Parameters
        ----------
        documents : documents as `predict` takes them
            For a model with a kernel on sequences the characters are counted.

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
        return nonzero_features(self._inputs(documents))

    def predict(
        self, documents: Any, *, decoder: Decoder | str | None = None, closed: bool | None = None, **request: Any
    ) -> Any:
        """Answers in the kind of the training labels; see the model's ``predict``, for ``rules`` and ``risk``, too."""
        X = self.matrix(documents)
        answers = self.model_.predict(X, decoder=decoder or self.decoder_, closed=closed, **request)
        return with_index_of(documents, answers)

    def answers(
        self, documents: Any, *, decoder: Decoder | str | None = None, closed: bool | None = None, **request: Any
    ) -> CSR:
        """The answers of `predict` as 0/1 rows, n_docs x n_nodes."""
        X = self.matrix(documents)
        return self.model_.answers(X, decoder=decoder or self.decoder_, closed=closed, **request)

    def ranked_sets(
        self, documents: Any, k: int = 1, *, rules: Any = None, decoder: Decoder | str | None = None
    ) -> Any:
        """The k best closed label sets of every document; see the model's ``ranked_sets``."""
        return self.model_.ranked_sets(self.matrix(documents), k, rules=rules, decoder=decoder or self.decoder_)

    def n_best(
        self,
        documents: Any,
        k: int = 5,
        *,
        rules: Any = None,
        decoder: Decoder | str | None = None,
        closed: bool | None = None,
    ) -> list[list[tuple[list[str], float]]]:
        """The k best label sets of every document, each with its score, best first."""
        found = self.ranked_sets(documents, k, rules=rules, decoder=decoder)
        return found.labels(self.taxonomy_, closed=self.model_.closed_ if closed is None else closed)

    def decision_function(self, documents: Any) -> FloatArray:
        """Scores of all answerable nodes."""
        X = self.matrix(documents)
        scores: FloatArray = self.model_.decision_function(X)
        return scores

    def score_blocks(self, documents: Any) -> Any:
        """Scores of some documents at a time."""
        X = self.matrix(documents)
        return self.model_.score_blocks(X)

    @available_if(lambda self: hasattr(getattr(self, "model_", self.model), "predict_proba"))
    def predict_proba(self, documents: Any) -> FloatArray:
        """Probabilities of all answerable nodes, where the model has them."""
        X = self.matrix(documents)
        probabilities: FloatArray = self.model_.predict_proba(X)
        return probabilities

    @available_if(lambda self: hasattr(getattr(self, "model_", self.model), "predict_proba"))
    def predict_log_proba(self, documents: Any) -> FloatArray:
        """Logarithms of `predict_proba`."""
        logarithms: FloatArray = self.model_.predict_log_proba(self.matrix(documents))
        return logarithms

    def decisions(self, documents: Any, risk: float, **request: Any) -> Any:
        """Answers under a promised risk, and what the others need that are left for review; see the model's."""
        return self.model_.decisions(self.matrix(documents), risk, **request)

    def top(self, documents: Any, k: int = 5, **request: Any) -> tuple[Any, FloatArray]:
        """The k best nodes of each document: labels and scores, or ``probabilities``; see the model's ``top``."""
        X = self.matrix(documents)
        found: tuple[Any, FloatArray] = self.model_.top(X, k, **request)
        return found

    def top_nodes(self, documents: Any, k: int = 5, **request: Any) -> tuple[IntArray, FloatArray]:
        """As `top`, with the numbers of the nodes in the taxonomy instead of labels."""
        X = self.matrix(documents)
        found: tuple[IntArray, FloatArray] = self.model_.top_nodes(X, k, **request)
        return found

    def score(self, documents: Any, y: Any, sample_weight: Any = None) -> float:
        """Hierarchical F1 of the answers of `predict`, decoder included."""
        from linnaeus.metrics import hierarchical_f1

        H = self.answers(documents)
        Y = check_labels(y, self.taxonomy_, H.shape[0])[0]
        return float(hierarchical_f1(Y, H, self.taxonomy_, sample_weight=sample_weight))

    def explain(self, document: Any, node: str | None = None, k: int | None = None) -> list[Any]:
        """Contributions of the words or features of one document to every node of the path, by name.

        Through a kernel map they are approximate: what changes when a feature is left out.
        """
        check_is_fitted(self, "model_")
        through_map = hasattr(self.features_, "vectors")
        if not through_map and not hasattr(self.model_, "explain"):
            raise DataError(f"{type(self.model_).__name__} has no explanations: its scores are not sums over features.")
        batch = document if self.features_ is None and not isinstance(document, str) else _batch_of_one(document)
        names: Any = None
        if through_map:
            steps = explain_by_occlusion(self.model_, self._inputs(batch), self.features_.map, node, k)
            names = self.features_.input_names()
        else:
            steps = self.model_.explain(self.matrix(batch), node, k)
            if hasattr(self.features_, "get_feature_names_out"):
                names = self.features_.get_feature_names_out()
        if names is None and self.feature_names_ is not None:
            names = np.asarray(self.feature_names_, dtype=object)
        return list(steps) if names is None else [_named(step, names) for step in steps]

    def keep_documents(self, documents: Any, y: Any, names: Any = None) -> Pipeline:
        """Keep documents with the model, so that answers can be shown beside similar ones; they are saved with it."""
        self.model_.keep_documents(self.matrix(documents), y, names)
        return self

    def nearest(self, document: Any, k: int = 5, node: str | None = None) -> list[Any]:
        """The kept documents most similar to one document, at or below a node if given."""
        batch = document if self.features_ is None and not isinstance(document, str) else _batch_of_one(document)
        found: list[Any] = self.model_.nearest(self.matrix(batch), k, node)
        return found

    # -- keeping -------------------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is needed to predict, as (values, arrays)."""
        check_is_fitted(self, "model_")
        decide = None if self.decoder_ is None else self.decoder_.to_dict()
        names = self.feature_names_
        values = {"model": self.model_, "features": self.features_, "decoder": decide, "feature_names": names}
        return {**values, "about": dict(self.about_)}, {}

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> Pipeline:
        """The inverse of `state`."""
        decide = None if values["decoder"] is None else make_decoder(**values["decoder"])
        made = cls(values["model"], values["features"], decoder=decide)
        made.model_, made.features_, made.decoder_ = values["model"], values["features"], decide
        made.feature_names_ = values["feature_names"]
        made.about_ = values.get("about", {})
        if not isinstance(made.about_, Mapping):
            raise DataError(f"What a pipeline says about its training is a dictionary; got {made.about_!r}.")
        return made


def _named(step: Any, names: Any) -> Any:
    """An explanation with the names of features instead of their numbers."""
    against = step.against
    against = None if against is None else replace(against, features=names[against.features])
    return replace(step, features=names[step.features], against=against)


def _batch_of_one(document: Any) -> Any:
    """One text, one record of fields, or one vector, as a batch."""
    if isinstance(document, Mapping):
        return {name: [value] for name, value in document.items()}
    return [document] if isinstance(document, str) else np.atleast_2d(document)
