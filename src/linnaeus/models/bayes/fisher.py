"""Priors of the precisions from the observed Fisher information: as wide as the data alone would leave the weights.

    leaf       I(n)_i = sum_x p_n(x) (1 - p_n(x)) x_i^2,      (a_n, b_n) = (1, 1 / I(n)_i)
    vertex     (a_n, b_n) = sums over its children

p_n is the share of the label, the same for all documents, or the probability that a one-vs-rest logistic model gives
each document. Models with one precision for all features take one b_n: over the features that occur, the inverse of
the mean information ("harmonic") or the mean of the inverses ("arithmetic", which rare features rule).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus.models.bayes.precisions import Owners
from linnaeus.typing import FloatArray, Matrix

__all__ = ["gamma_priors", "information_of_labels", "information_of_probabilities"]

_FLOOR = 1e-6  # of the largest information: a feature that never occurs has none


def information_of_labels(X: Matrix, Y: Any, c: FloatArray) -> FloatArray:
    """n_leaves x n_features, every document as probable as the label's share; Y is n_docs x n_leaves, sparse."""
    n = c.sum()
    share = np.clip(np.asarray(Y.T @ c) / n, 0.5 / n, 1 - 0.5 / n)
    return np.outer(share * (1 - share), _squares(X).T @ c)


def information_of_probabilities(X: Matrix, P: FloatArray, c: FloatArray) -> FloatArray:
    """The same for probabilities P (n_docs x n_leaves)."""
    squares = _squares(X)
    return np.asarray(squares.T @ (c[:, None] * P * (1 - P))).T


def gamma_priors(
    information: FloatArray, owners: Owners, *, scale: float = 1.0, mean: str = "harmonic"
) -> tuple[FloatArray, FloatArray]:
    """(a, b) of every owner, n_owners x 1 or x features; ``scale`` multiplies the variances b / a."""
    tree = owners.tree
    occurs = information.max(axis=0) > 0
    kept = np.maximum(information, _FLOOR * information.max(axis=1, keepdims=True).clip(np.finfo(float).tiny))
    if owners.per_feature:
        b_leaf = 1 / kept
    elif mean == "harmonic":
        b_leaf = 1 / kept[:, occurs].mean(axis=1, keepdims=True)
    else:
        b_leaf = (1 / kept[:, occurs]).mean(axis=1, keepdims=True)
    a = np.zeros((tree.n_vertices, 1))
    b = np.zeros((tree.n_vertices, b_leaf.shape[1]))
    a[tree.leaves], b[tree.leaves] = 1.0, b_leaf
    for v in range(tree.n_vertices - 1, 0, -1):  # spawned leaves come last, children after their parents
        a[tree.parent[v]] += a[v]
        b[tree.parent[v]] += b[v]
    a = np.broadcast_to(a, b.shape)
    return a[owners.vertices].copy(), scale * b[owners.vertices]


def _squares(X: Matrix) -> Matrix:
    return X**2 if isinstance(X, np.ndarray) else X.multiply(X)
