"""Scores that another tool has made: a source of a `Mixture` that learns nothing but which labels there are.

    f_v(x) = the score of label v for document x, the least score of all where v is not suggested,
             and no score (minus infinity) where nothing is known of the document

Documents are rows of suggestions, ``{"A": 0.9, "B": 0.2}`` or None. The least score is 0, or the least of the training
documents where tools give negative scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from linnaeus.data.check import Problem
from linnaeus.errors import DataError, nearest
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import FloatArray, IntArray, Matrix, ObjectArray

__all__ = ["SuggestionModel"]


class SuggestionModel(TaxonomyClassifier):
    """The suggestions of another tool as a source of a `Mixture`.

    It takes its scores from the documents (`SuggestedDocuments`), under the name that it has in the mixture. The tool
    must not have learned from the training documents of the mixture, or else it seems better than it is.

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        The taxonomy of the labels; that of the mixture.

    Attributes
    ----------
    least_ : float
        The score of labels that are not suggested.

    Examples
    --------
    >>> from linnaeus import SuggestionModel
    >>> model = SuggestionModel().fit([{"A": 0.9}, {"B": 0.4, "A": 0.1}], [["A"], ["B"]])
    >>> model.decision_function([{"B": 0.7}, {}, None]).tolist()
    [[0.0, 0.7], [0.0, 0.0], [-inf, -inf]]
    """

    least_: float

    def __init__(self, taxonomy: Taxonomy | None = None) -> None:
        self.taxonomy = taxonomy

    @property
    def takes_documents(self) -> bool:
        """Suggestions instead of vectors."""
        return True

    def _check_X(self, X: Any, *, reset: bool) -> Matrix:
        found = np.empty(len(X), dtype=object)
        for i, row in enumerate(X):
            if row is not None and row != "" and not isinstance(row, Mapping):
                raise DataError(f"The suggestions of document {i} are {row!r}; expected scores by label, or None.")
            found[i] = row
        if not len(found):
            raise DataError("X has no documents; expected at least one.")
        return cast(Matrix, found)

    def _fit(self, problem: Problem) -> None:
        self._targets(problem, "given")
        rows = cast(ObjectArray, problem.X)
        labels = dict.fromkeys(label for row in rows if row for label in row)
        if not labels:
            raise DataError("The suggestions have no label for any document.")
        scores = np.array([score for row in rows if row for score in row.values()], dtype=np.float64)
        if not np.isfinite(scores).all():
            raise DataError("Scores of suggestions contain NaN or infinity; expected finite numbers.")
        more = np.setdiff1d([self._node(label) for label in labels], self.nodes_)
        answered = np.concatenate([self.nodes_, more]).astype(np.int32)
        if problem.codec.kind == "labels":  # scikit-learn's scorers take classes_ as sorted
            order = np.argsort(problem.codec.values(problem.taxonomy.names[answered]), kind="stable")
        else:
            order = np.argsort(answered, kind="stable")
        self.nodes_, self.least_ = answered[order], min(0.0, float(scores.min()))

    def _node(self, label: str) -> int:
        v = self.taxonomy_.lookup(label, replace=True)
        if v is None:
            raise DataError(
                f"The suggested label {label!r} is not in the taxonomy{nearest(label, self.taxonomy_.names)}"
            )
        return v

    def _scores(self, X: Matrix) -> FloatArray:
        S = np.full((len(cast(ObjectArray, X)), len(self.nodes_)), self.least_)
        column_of = {int(v): i for i, v in enumerate(self.nodes_)}
        for d, row in enumerate(cast(ObjectArray, X)):
            if row is None:
                S[d] = -np.inf
                continue
            for label, score in (row or {}).items():
                column = column_of.get(self._node(label))
                if column is not None:  # of a label that the mixture does not know nothing can be said
                    S[d, column] = max(S[d, column], score)
        return S

    def known_terms(self, X: Any) -> IntArray:
        """Number of suggestions of each document."""
        return np.array([len(row) if row else 0 for row in X], dtype=np.int64)
