"""Priors of the precisions from the observed Fisher information: as wide as the data alone would leave the weights.

    leaf       I(n)_i = sum_x p_n(x) (1 - p_n(x)) x_i^2,      (a_n, b_n) = (1, 1 / I(n)_i)
    vertex     (a_n, b_n) = sums over its children

p_n is the share of the label, the same for all documents, or the probability that a one-vs-rest logistic model gives
each document. Models with one precision for all features take one b_n: the inverse of the mean information over the
features that occur (the mean of the inverses would be ruled by the rarest).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus.models.bayes.precisions import Owners
from linnaeus.typing import FloatArray, Matrix

__all__ = ["gamma_priors", "widths_at_probabilities", "widths_at_shares"]

_FLOOR = 1e-6  # of the largest information: a feature that never occurs has none
_LEAST = 1e-30  # information where no feature occurs at all


def widths_at_shares(X: Matrix, Y: Any, c: FloatArray, *, per_feature: bool) -> FloatArray:
    """b_n of every leaf (n_leaves x 1, or x n_features), all documents as probable as the label's share.

    Y is n_docs x n_leaves, sparse. The information is p (1 - p) times what all labels have in common: no matrix of
    labels and features is made where one b_n is enough.
    """
    n = c.sum()
    least = 0.5 / max(n, 1.0)  # half a document; weights may sum to less than one
    share = np.clip(np.asarray(Y.T @ c) / n, least, 1 - least)
    return _widths((_squares(X).T @ c)[None], per_feature) / (share * (1 - share))[:, None]


def widths_at_probabilities(X: Matrix, P: FloatArray, c: FloatArray, *, per_feature: bool) -> FloatArray:
    """The same for probabilities P (n_docs x n_leaves)."""
    return _widths(np.asarray(_squares(X).T @ (c[:, None] * P * (1 - P))).T, per_feature)


def _widths(information: FloatArray, per_feature: bool) -> FloatArray:
    kept = np.maximum(information, _FLOOR * information.max(axis=1, keepdims=True).clip(_LEAST))
    occurs = information.max(axis=0) > 0
    return 1 / kept if per_feature or not occurs.any() else 1 / kept[:, occurs].mean(axis=1, keepdims=True)


def gamma_priors(widths: FloatArray, owners: Owners, *, scale: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """(a, b) of every owner, n_owners x 1 or x features; ``scale`` multiplies the variances b / a."""
    tree = owners.tree
    a = np.zeros((tree.n_vertices, 1))
    b = np.zeros((tree.n_vertices, widths.shape[1]))
    a[tree.leaves], b[tree.leaves] = 1.0, widths
    for v in range(tree.n_vertices - 1, 0, -1):  # spawned leaves come last, children after their parents
        a[tree.parent[v]] += a[v]
        b[tree.parent[v]] += b[v]
    a = np.broadcast_to(a, b.shape)
    return a[owners.vertices].copy(), scale * b[owners.vertices]


def _squares(X: Matrix) -> Matrix:
    return X**2 if isinstance(X, np.ndarray) else X.multiply(X)
