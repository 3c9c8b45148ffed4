"""Models whose scores are linear: S = X W + intercept. Scoring, explaining and pruning are written once, here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linnaeus.errors import DataError, ParameterError, nearest
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.typing import FloatArray, IntArray, Matrix

__all__ = ["LinearTaxonomyClassifier", "NodeExplanation"]


@dataclass(frozen=True)
class NodeExplanation:
    """Why a node scored as it did: ``score`` is exactly ``intercept`` plus the sum of all contributions.

    ``features`` and ``contributions`` (the feature's value times its weight) are sorted by size, largest first.
    """

    node: str
    score: float
    intercept: float
    features: IntArray
    contributions: FloatArray

    def __str__(self) -> str:
        terms = [f"{self.intercept:+.3f} (constant)"]
        terms += [f"{c:+.3f} ({j})" for j, c in zip(self.features[:5], self.contributions[:5], strict=False)]
        rest = self.score - self.intercept - float(self.contributions[:5].sum())
        if abs(rest) >= 5e-4:
            terms.append(f"{rest:+.3f} (others)")
        return f"{self.node}: {self.score:+.3f} = {' '.join(terms)}"


class LinearTaxonomyClassifier(TaxonomyClassifier):
    """A model with ``weights_`` (n_features x len(classes_), dense or sparse) and ``intercept_``."""

    weights_: Any
    intercept_: FloatArray

    @property
    def coef_(self) -> Any:
        """Weights as scikit-learn has them, n_classes x n_features (a view)."""
        return self.weights_.T

    def _scores(self, X: Matrix) -> FloatArray:
        S = X @ self.weights_
        S = S.toarray() if hasattr(S, "toarray") else np.asarray(S)
        S += self.intercept_
        return S

    def explain(self, x: Any, node: str | None = None, k: int | None = None) -> list[NodeExplanation]:
        """Exact contributions of the features of one document to every scored node of the path.

        ``x`` is one row; ``node`` the node to explain (default: the best one); ``k`` keeps the k largest contributions.
        Nodes of the path that the model does not score are left out.
        """
        check_is_fitted(self, "nodes_")
        X = self._check_X(_one_row(x), reset=False)
        if X.shape[0] != 1:
            raise ParameterError(f"explain takes one document; got {X.shape[0]}.")
        column_of = {int(v): i for i, v in enumerate(self.nodes_)}
        if node is None:
            _, best = next(self._best(X, 1))
            target = int(self.nodes_[best[0, 0]])
        else:
            target = self.taxonomy_.index(node)
        path = [v for v in self.taxonomy_.path(target).tolist() if v in column_of]
        if not path:
            names = self.taxonomy_.names
            hint = nearest(str(names[target]), names[self.nodes_])
            raise DataError(f"Node {names[target]!r} has no score: neither it nor a node above it was trained{hint}")
        return [self._explain_node(X, v, column_of[v], k) for v in path]

    def _explain_node(self, X: Matrix, node: int, column: int, k: int | None) -> NodeExplanation:
        if hasattr(X, "indices"):
            features, values = X.indices, X.data
        else:
            features = np.flatnonzero(X[0])
            values = X[0, features]
        weights = self.weights_[:, [column]]
        weights = weights.toarray() if hasattr(weights, "toarray") else weights
        contributions = values.astype(np.float64) * weights[features, 0]
        intercept = float(self.intercept_[column])
        order = np.lexsort((features, -np.abs(contributions)))[:k]
        name = str(self.taxonomy_.names[node])
        score = float(contributions.sum() + intercept)
        return NodeExplanation(name, score, intercept, features[order], contributions[order])

    def prune(self, threshold: float) -> LinearTaxonomyClassifier:
        """Drop weights smaller than ``threshold`` in size and keep the rest sparse; returns the model itself."""
        from scipy import sparse

        check_is_fitted(self, "nodes_")
        if not threshold >= 0:
            raise ParameterError(f"threshold={threshold}; expected a number of at least 0.")
        if sparse.issparse(self.weights_):
            kept = sparse.csr_array(self.weights_, copy=True)
            kept.data[np.abs(kept.data) < threshold] = 0
            kept.eliminate_zeros()
        else:
            kept = sparse.csr_array(np.where(np.abs(self.weights_) < threshold, 0, self.weights_))
        self.weights_ = kept
        return self


def _one_row(x: Any) -> Any:
    """One document as a matrix of one row: a vector, sparse or not, a list, or such a matrix already."""
    if hasattr(x, "tocsr") and x.ndim == 1:
        return x.reshape(1, -1).tocsr()
    return x if hasattr(x, "tocsr") or hasattr(x, "columns") else np.atleast_2d(x)
