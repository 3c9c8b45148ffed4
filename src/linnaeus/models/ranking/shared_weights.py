"""Scores of models whose classes share weights: F = X w L', or K(X, kept documents) w L' behind a kernel.

``attribute_weights_`` w (n_features x n_attributes, or kept documents x n_attributes) and ``attribute_drift_``, which
takes them to the mean of all steps, are what a stream goes on from. Weights of classes, n_features x n_classes, are
made of them on first use and never kept in model files.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from linnaeus.decoding import Decoder, RCut
from linnaeus.errors import DataError
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.explaining import NodeExplanation
from linnaeus.models.kernel_input import KernelInput
from linnaeus.models.linear import MOST_BEST, LinearTaxonomyClassifier
from linnaeus.models.ranking.label_sets import stored_decoder
from linnaeus.models.ranking.passes import Weights
from linnaeus.models.ranking.sources import kernel_scores
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix, is_sparse

__all__ = ["SharedWeights"]


class SharedWeights(KernelInput, LinearTaxonomyClassifier):
    """Base; see the module docstring."""

    fit_intercept: bool
    attributes_: CSR
    attribute_weights_: FloatArray
    attribute_drift_: FloatArray
    n_steps_: int
    n_docs_: int
    n_labels_: int
    support_documents_: Any
    set_size_: dict[str, Any] | None = None
    _made: tuple[Any, ...] | None = None  # weights and intercept of classes

    @property
    @abstractmethod
    def _averaged(self) -> bool:
        """Whether the mean of all steps answers."""

    @property
    def _linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def _weights(self) -> Weights:
        return Weights(self.attribute_weights_, self.attribute_drift_, self.n_steps_, self._averaged)

    def _class_weights(self) -> tuple[Any, ...]:
        if self._made is None:
            W = self._weights().of_classes(self.attributes_)
            constant = W[-1].astype(np.float64) if self.fit_intercept else np.zeros(W.shape[1])
            self._made = (W[:-1] if self.fit_intercept else W), constant
        return self._made

    @property
    def weights_(self) -> Any:
        """Weights of classes, n_features x n_classes; after pruning those that were kept; None behind a kernel."""
        if not self._linear:
            return None
        return vars(self)["pruned_weights_"] if "pruned_weights_" in vars(self) else self._class_weights()[0]

    @weights_.setter
    def weights_(self, value: Any) -> None:
        self.pruned_intercept_ = self.intercept_
        self.pruned_weights_ = value
        for name in ("attribute_weights_", "attribute_drift_"):  # whole ones would make the file large again
            self.__dict__.pop(name, None)

    @property
    def intercept_(self) -> FloatArray:  # type: ignore[override]
        """Constant of every class; zeros without ``fit_intercept``."""
        found = vars(self).get("pruned_intercept_")
        intercept: FloatArray = self._class_weights()[1] if found is None else found
        return intercept

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_made"}

    def _forget(self) -> None:
        super()._forget()
        self._made = self.set_size_ = None
        for name in ("pruned_weights_", "pruned_intercept_", "support_documents_"):
            self.__dict__.pop(name, None)

    # -- answering -----------------------------------------------------------------------------------------------------

    def _scores(self, X: Matrix) -> FloatArray:
        if self._linear:
            return super()._scores(X)
        return kernel_scores(self.kernel_(X, self.support_documents_), self._weights().answer, self.attributes_)

    def _best_of(self, X: Matrix, k: int) -> tuple[IntArray, FloatArray]:
        if self._linear and is_sparse(X) and k <= MOST_BEST:
            return self._linear_scorer().top(X, k, self.n_jobs)
        return TaxonomyClassifier._best_of(self, X, k)

    def _decoder(self, given: Decoder | str | None) -> Decoder:
        """For label sets as many of the best classes as are expected: a ranking has no threshold of its own."""
        if given is not None or self.one_label_ or self.codec_.single_label:
            return super()._decoder(given)
        if self.set_size_ is not None:
            return stored_decoder(self.set_size_)
        return RCut(max(1, round(self.n_labels_ / max(1, self.n_docs_))))

    def explain(self, x: Any, node: str | None = None, k: int | None = None) -> list[NodeExplanation]:
        """Exact contributions of the features of one document to the scored nodes of a path; for kernel="linear"."""
        self._refuse_kernel("explanations: its scores are not sums over features")
        return super().explain(x, node, k)

    def prune(self, *args: Any, **kwargs: Any) -> SharedWeights:
        """As for other linear models, for kernel="linear"; a pruned model does not go on learning."""
        self._refuse_kernel("weights of features to prune")
        super().prune(*args, **kwargs)
        return self

    def _refuse_kernel(self, what: str) -> None:
        if not self._linear:
            raise DataError(f"{type(self).__name__} with kernel={self.kernel!r} has no {what}.")
