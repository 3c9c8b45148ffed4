"""The one order of scores, wherever one is needed: by score descending, then by column ascending."""

from __future__ import annotations

import numpy as np

from linnaeus.typing import FloatArray, IntArray

__all__ = ["best_columns"]


def best_columns(S: FloatArray, k: int) -> IntArray:
    """Columns of the k largest entries of every row, by score descending, then column ascending (n_docs x min(k, n)).

    ``S`` is a dense array of float32 or float64 without NaN.

    Examples
    --------
    >>> best_columns(np.array([[0.1, 0.7, 0.2, 0.7]]), 3).tolist()
    [[1, 3, 2]]
    """
    n = S.shape[1]
    if k >= n or n <= 64:
        return np.argsort(-S, axis=1, kind="stable")[:, :k]
    part = np.argpartition(-S, k - 1, axis=1)[:, :k]
    least = np.take_along_axis(S, part, axis=1).min(axis=1, keepdims=True)
    part = np.sort(part, axis=1)
    order = np.argsort(-np.take_along_axis(S, part, axis=1), axis=1, kind="stable")
    best = np.take_along_axis(part, order, axis=1)
    tied = np.flatnonzero((least <= S).sum(axis=1) > k)  # a partition may keep the wrong one of equal scores
    best[tied] = np.argsort(-S[tied], axis=1, kind="stable")[:, :k]
    return best
