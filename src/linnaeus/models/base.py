"""What all models share: the scikit-learn contract, label kinds, scores by blocks, answers through decoders.

A model implements ``_fit(problem)``, which chooses its targets with `_targets` (this sets ``nodes_``, the numbers of
the nodes it can answer), and ``_scores(X)`` (n_docs x len(nodes_)). Everything else is here, the same for all models.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from linnaeus.data.check import LabelCodec, Problem, check_labels, check_weights
from linnaeus.decoding import BestLabel, Decoder, Threshold
from linnaeus.engine.plan import blocks, rows_that_fit
from linnaeus.errors import DataError, LinnaeusError, ParameterError
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix

__all__ = ["TaxonomyClassifier"]


class TaxonomyClassifier(ClassifierMixin, BaseEstimator):
    """Base of all models; see the module docstring for what a subclass adds."""

    taxonomy: Taxonomy | None
    taxonomy_: Taxonomy
    codec_: LabelCodec
    nodes_: IntArray
    closed_: bool
    one_label_: bool

    @abstractmethod
    def _fit(self, problem: Problem) -> None:
        """Learn from checked data; set ``nodes_`` and what `_scores` needs."""

    @abstractmethod
    def _scores(self, X: Matrix) -> FloatArray:
        """Scores of checked X, n_docs x len(nodes_)."""

    # -- learning ------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TaxonomyClassifier:
        """Learn from documents X (n_docs x n_features; CSR, dense or memory-mapped) and labels y of any kind."""
        self._check_parameters()
        X = self._check_X(X, reset=True)
        Y, taxonomy, codec = check_labels(y, self.taxonomy, X.shape[0])
        weights = check_weights(sample_weight, X.shape[0])
        if weights is not None and not weights.all():  # a document of weight 0 is no document
            X, Y, weights = X[weights > 0], Y[weights > 0], weights[weights > 0]
        problem = Problem(X, Y, taxonomy, weights, codec)
        self.taxonomy_, self.codec_, self.closed_ = taxonomy, codec, problem.is_closed and not codec.single_label
        self._fit(problem)
        return self

    def _check_parameters(self) -> None:
        """Doubt the constructor's values, once per fit."""
        if self.taxonomy is not None and not isinstance(self.taxonomy, Taxonomy):
            given = type(self.taxonomy).__name__
            raise ParameterError(
                f"taxonomy is a {given}; expected a Taxonomy (Taxonomy.read, .from_edges, ...) or None."
            )

    def _check_X(self, X: Any, *, reset: bool) -> Matrix:
        from scipy import sparse

        dtype = np.float32 if sparse.issparse(X) else (np.float64, np.float32)
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=dtype, order="C", accept_large_sparse=False
        )

    def _targets(self, problem: Problem, learn: str) -> CSR:
        """Y as given, closed or frontier; sets ``nodes_`` (those that occur) and ``one_label_`` (each row has one)."""
        Y = {"given": problem.Y, "closed": problem.closed, "frontier": problem.frontier}[learn]
        self.nodes_ = np.unique(Y.indices).astype(np.int32)
        if not len(self.nodes_):
            raise DataError("y has no label at all: every document has an empty set.")
        self.one_label_ = bool((np.diff(Y.indptr) == 1).all())
        return Y

    # -- answering -----------------------------------------------------------------------------------------------------

    @property
    def classes_(self) -> Any:
        """Names of the nodes that can be answered, the columns of the scores, in the type of the labels given."""
        if self.codec_.kind == "indicator" and self.taxonomy is None:
            return self.nodes_.copy()
        return self.codec_.values(self.taxonomy_.names[self.nodes_])

    @property
    def _binary(self) -> bool:
        """Two plain labels and no taxonomy: scikit-learn expects one score per document then, for the second label."""
        return self.taxonomy is None and self.codec_.kind == "labels" and len(self.nodes_) == 2

    def _batches(self, X: Any) -> Any:
        """Blocks of scores, n_docs_of_block x len(nodes_), so that no docs x nodes array is ever whole."""
        check_is_fitted(self, "nodes_")
        X = self._check_X(X, reset=False)
        size = rows_that_fit(8 * max(1, len(self.nodes_)))
        return (self._scores(X[part]) for part in blocks(X.shape[0], size))

    def _all_scores(self, X: Any) -> FloatArray:
        parts = list(self._batches(X))
        return np.concatenate(parts) if len(parts) != 1 else parts[0]

    def decision_function(self, X: Any) -> FloatArray:
        """Scores of all answerable nodes, n_docs x len(classes_); one each for two plain labels, as in scikit-learn."""
        S = self._all_scores(X)
        return S[:, 1] - S[:, 0] if self._binary else S

    def predict(self, X: Any, *, decoder: Decoder | None = None, closed: bool | None = None) -> Any:
        """Answers in the kind of the labels that were learned from.

        Parameters
        ----------
        decoder : how scores become label sets (see `linnaeus.decoding`); default: the best label where every document
            was learned with one label, all labels with a score above 0 (at least the best) otherwise.
        closed : add all ancestors to the answers; default: if all training sets were so.
        """
        Y = self._answers(X, decoder, closed)
        return self.codec_.decode(Y, self.taxonomy_)

    def _answers(self, X: Any, decoder: Decoder | None = None, closed: bool | None = None) -> CSR:
        """Label sets, n_docs x n_nodes CSR."""
        from scipy import sparse

        batches = self._batches(X)  # first, since it tells whether the model is fitted
        decide = decoder or self._default_decoder()
        parts = [decide(S, self.taxonomy_, self.nodes_) for S in batches]
        Y = sparse.csr_array(sparse.vstack(parts, format="csr")) if len(parts) != 1 else parts[0]
        return self.taxonomy_.close(Y) if (self.closed_ if closed is None else closed) else Y

    def _default_decoder(self) -> Decoder:
        one = self.one_label_ or self.codec_.single_label
        return BestLabel(close=False) if one else Threshold(0.0, repair=None)

    def top(self, X: Any, k: int = 5) -> tuple[Any, FloatArray]:
        """The k best nodes of each document: names and scores (n_docs x k each), best first, ties by node number."""
        if k < 1:
            raise ParameterError(f"k={k}; expected at least 1.")
        numbers, values = self._top(X, k)
        return self.taxonomy_.names[numbers], values

    def _top(self, X: Any, k: int) -> tuple[IntArray, FloatArray]:
        numbers, values = [], []
        for S in self._batches(X):
            best = _best_columns(S, min(k, S.shape[1]))
            numbers.append(self.nodes_[best])
            values.append(np.take_along_axis(S, best, axis=1))
        return np.concatenate(numbers), np.concatenate(values)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Hierarchical F1 (micro, closures without the root); plain micro-F1 where the taxonomy has no edges."""
        H = self._answers(X)
        try:
            Y = check_labels(y, self.taxonomy_, H.shape[0])[0]
        except LinnaeusError as error:
            raise DataError(f"y cannot be scored: {error}") from error
        gold = self.taxonomy_.close(Y, keep_root=False).astype(np.int64)
        answer = self.taxonomy_.close(H, keep_root=False).astype(np.int64)
        weights = check_weights(1.0 if sample_weight is None else sample_weight, H.shape[0])
        both = weights @ np.asarray(gold.multiply(answer).sum(axis=1)).ravel()
        either = weights @ (np.asarray(gold.sum(axis=1)).ravel() + np.asarray(answer.sum(axis=1)).ravel())
        return float(2 * both / either) if either else 1.0

    # -- scikit-learn --------------------------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags


def _best_columns(S: FloatArray, k: int) -> IntArray:
    """Columns of the k largest scores per row, by (score descending, column ascending)."""
    if k >= S.shape[1]:
        return np.argsort(-S, axis=1, kind="stable")
    # A partition may drop the lower of two tied columns at the cut: take all that reach the k-th score, in order.
    kth = np.partition(S, S.shape[1] - k, axis=1)[:, S.shape[1] - k]
    best = np.argpartition(-S, k - 1, axis=1)[:, :k]
    tied = np.flatnonzero((S >= kth[:, None]).sum(axis=1) > k)
    best.sort(axis=1)
    order = np.argsort(-np.take_along_axis(S, best, axis=1), axis=1, kind="stable")
    best = np.take_along_axis(best, order, axis=1)
    if len(tied):
        best[tied] = np.argsort(-S[tied], axis=1, kind="stable")[:, :k]
    return best
