"""What a fitted HBLR knows beside its weights: variances, probabilities that mind them, weights and links of all nodes.

    score variance  x' Psi_n x,      corrected score  w_n'x / sqrt(1 + pi/8 x' Psi_n x)

The second is MacKay's: the logistic function of it is nearly the expected logistic function of the uncertain score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linnaeus.errors import ParameterError
from linnaeus.models.label_tree import LabelTree
from linnaeus.models.linear import LinearTaxonomyClassifier
from linnaeus.typing import FloatArray, Matrix

__all__ = ["LearnedPrecision", "PosteriorViews", "with_constant"]


@dataclass(frozen=True)
class LearnedPrecision:
    """How strongly a node (or the leaf of a label with children) is held to its parent: 1 / variance of the weights."""

    node: str
    parent: str
    precision: float
    n_children: int


class PosteriorViews(LinearTaxonomyClassifier):
    """Base of `HBLR`; ``std_`` and ``intercept_std_`` are as ``weights_`` and ``intercept_``."""

    std_: FloatArray | None
    intercept_std_: FloatArray | None
    covariance_: FloatArray | None  # n_leaves x n_features x n_features, the constant last; where it is full
    tree_: LabelTree
    link_precisions_: FloatArray
    likelihood_: str
    fit_intercept: bool

    def predict_proba(self, X: Any, *, corrected: bool = False) -> FloatArray:
        """Probability of every label, n_docs x len(classes_).

        Rows sum to 1 under the soft-max, and for binary likelihoods where every document has one label.
        ``corrected`` takes the posterior's variance into account: scores are divided by sqrt(1 + pi/8 x'Psi x), so
        that what is little known is nearer to even odds. After `linnaeus.calibrate` the probabilities are those of
        its curves, which were fitted to scores as they are; ``corrected`` still asks the model itself.
        """
        from scipy.special import expit, softmax

        check_is_fitted(self, "nodes_")
        if not corrected and (self.calibrator_ is not None or self.likelihood_ == "binary"):
            return self._logistic_probabilities(X)
        S = self._all_scores(X)
        if corrected:
            S = S / np.sqrt(1 + np.pi / 8 * self.score_variances(X))
        if self.likelihood_ == "softmax":
            return softmax(S, axis=1)
        P = expit(S)
        return P / P.sum(axis=1, keepdims=True) if self.one_label_ else P

    def score_variances(self, X: Any) -> FloatArray:
        """Posterior variance of every score, n_docs x len(classes_)."""
        check_is_fitted(self, "nodes_")
        X = self._check_X(X, reset=False)
        if self.covariance_ is not None:
            X = with_constant(X, self.fit_intercept)
            X = X if isinstance(X, np.ndarray) else X.toarray()
            return np.stack([np.einsum("ij,ij->i", X @ psi, X) for psi in self.covariance_], axis=1)
        if self.std_ is None or self.intercept_std_ is None:
            raise ParameterError("The model was fitted with posterior=False and has kept no standard deviations.")
        squares = X**2 if isinstance(X, np.ndarray) else X.multiply(X).tocsr()
        return np.asarray(squares @ self.std_**2) + self.intercept_std_**2

    def node_weights(self, node: str | int) -> tuple[FloatArray, float]:
        """Posterior mean and intercept of any node at or above a label; other nodes have those of the node above."""
        check_is_fitted(self, "nodes_")
        number = self.taxonomy_.index(node)
        above = [number, *self.taxonomy_.path(number)[::-1].tolist(), -1]
        vertex = next((i for v in above for i in np.flatnonzero(self.tree_.node == v)[:1]), 0)
        W = np.zeros((self.tree_.n_vertices, self.n_features_in_ + self.fit_intercept))
        W[self.tree_.leaves, : self.n_features_in_] = self.weights_.T
        if self.fit_intercept:
            W[self.tree_.leaves, -1] = self.intercept_
        found = self.tree_.between(W, self.link_precisions_)[vertex]
        return found[: self.n_features_in_], float(found[-1]) if self.fit_intercept else 0.0

    def precisions(self) -> list[LearnedPrecision]:
        """How strongly each node is held to its parent (M2: the geometric mean over features), parents first.

        A node with a low precision goes its own way; families whose nodes are all low gain little from the hierarchy.
        """
        check_is_fitted(self, "nodes_")
        tree, names = self.tree_, self.taxonomy_.names
        called = ["" if v < 0 else str(names[v]) for v in tree.node]
        means = np.exp(np.log(self.link_precisions_).mean(axis=1))
        return [
            LearnedPrecision(called[v], called[tree.parent[v]], float(means[v]), int(tree.n_children[v]))
            for v in range(1, tree.n_vertices)
        ]

    def plot_precisions(self, target: Any) -> None:
        """Draw the precisions family by family to a file, or to matplotlib axes; needs ``linnaeus[plots]``."""
        from linnaeus.models.bayes.precision_picture import draw

        draw(self.precisions(), target)


def with_constant(X: Matrix, constant: bool, dtype: Any = np.float64) -> Matrix:
    """X of a dtype, a column of ones added.

    Examples
    --------
    >>> with_constant(np.eye(2), True).tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    """
    from scipy import sparse

    if isinstance(X, np.ndarray):
        X = np.asarray(X, dtype)
        return np.hstack([X, np.ones((len(X), 1), dtype)]) if constant else X
    X = sparse.csr_array(X, dtype=dtype)
    return sparse.csr_array(sparse.hstack([X, np.ones((X.shape[0], 1), dtype)])) if constant else X
