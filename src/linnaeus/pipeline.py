"""Features, model and decoder as one object that takes documents as they were read: fit, predict, top, explain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from linnaeus.decoding import Decoder, decoder
from linnaeus.errors import DataError
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import FloatArray

__all__ = ["Pipeline"]


class Pipeline(BaseEstimator):
    """Documents to answers.

    Parameters
    ----------
    model : a linnaeus model, unfitted.
    features : a transformer from documents to a matrix (`TextFeatures`, `DenseFeatures`), or None for matrices.
    decoder : how scores become answers; None takes the model's own.

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

    def __init__(self, model: Any, features: Any = None, *, decoder: Decoder | None = None) -> None:
        self.model = model
        self.features = features
        self.decoder = decoder

    def fit(self, documents: Any, y: Any, sample_weight: Any = None) -> Pipeline:
        """Learn the features, then the model."""
        self.features_: Any = None if self.features is None else clone(self.features)
        X = documents if self.features_ is None else self.features_.fit_transform(documents)
        self.model_ = clone(self.model).fit(X, y, sample_weight)
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

    def predict(self, documents: Any, *, decoder: Decoder | None = None, closed: bool | None = None) -> Any:
        """Answers in the kind of the training labels; see the model's ``predict``."""
        return self.model_.predict(self.matrix(documents), decoder=decoder or self.decoder, closed=closed)

    def decision_function(self, documents: Any) -> FloatArray:
        """Scores of all answerable nodes."""
        scores: FloatArray = self.model_.decision_function(self.matrix(documents))
        return scores

    def top(self, documents: Any, k: int = 5) -> tuple[Any, FloatArray]:
        """The k best nodes of each document: names and scores."""
        found: tuple[Any, FloatArray] = self.model_.top(self.matrix(documents), k)
        return found

    def score(self, documents: Any, y: Any) -> float:
        """Hierarchical F1 of the model's own answers."""
        return float(self.model_.score(self.matrix(documents), y))

    def explain(self, document: Any, node: str | None = None, k: int | None = None) -> list[Any]:
        """Contributions of the words or features of one document to every node of the path, by name."""
        check_is_fitted(self, "model_")
        if not hasattr(self.model_, "explain"):
            raise DataError(f"{type(self.model_).__name__} has no explanations: its scores are not sums over features.")
        batch = document if self.features_ is None and not isinstance(document, str) else _batch_of_one(document)
        steps = self.model_.explain(self.matrix(batch), node, k)
        if not hasattr(self.features_, "get_feature_names_out"):
            return list(steps)
        names = self.features_.get_feature_names_out()
        return [replace(step, features=names[step.features]) for step in steps]

    # -- keeping -------------------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is needed to predict, as (values, arrays)."""
        check_is_fitted(self, "model_")
        decide = None if self.decoder is None else self.decoder.to_dict()
        return {"model": self.model_, "features": self.features_, "decoder": decide}, {}

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> Pipeline:
        """The inverse of `state`."""
        decide = None if values["decoder"] is None else decoder(**values["decoder"])
        made = cls(values["model"], values["features"], decoder=decide)
        made.model_, made.features_ = values["model"], values["features"]
        return made


def _batch_of_one(document: Any) -> Any:
    """One text, one record of fields, or one vector, as a batch."""
    if isinstance(document, Mapping):
        return {name: [value] for name, value in document.items()}
    return [document] if isinstance(document, str) else np.atleast_2d(document)
