"""Readable twins of `perceptron`: one document at a time, dense vectors, the formulas of the kernel's docstring."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["learn_rows", "shift_scores"]

PERCEPTRON, HIERON, AUGMENTED = 0, 1, 2


def _row(i: int, indptr: Any, indices: Any, data: Any, dense: bool, width: int) -> Any:
    x = np.zeros(width)
    values = data[indptr[i] : indptr[i + 1]].astype(float)
    x[np.arange(len(values)) if dense else indices[indptr[i] : indptr[i + 1]]] = values
    return x


def _pair(y: int, z: int, places: list[set[int]], miss: Any, extra: Any, scale: Any, matrix: Any) -> float:
    if len(matrix):
        return float(matrix[y, z])
    missed = sum(miss[p] for p in places[y] - places[z])
    wrong = sum(extra[p] for p in places[z] - places[y])
    return float(scale[y] * missed + scale[z] * wrong)


def _rows(indptr: Any, indices: Any) -> list[list[int]]:
    return [indices[a:b].tolist() for a, b in pairwise(indptr.tolist())]


def learn_rows(
    score_indptr: Any, score_indices: Any, score_data: Any, dense: bool, step_indptr: Any, step_indices: Any,
    step_data: Any, step_dense: bool, squared_norm: Any, weight: Any, label_indptr: Any, labels: Any, order: Any,
    attr_indptr: Any, attr_indices: Any, attr_data: Any, place_indptr: Any, place_indices: Any, miss: Any, extra: Any,
    scale: Any, matrix: Any, rule: int, steps: int, W: Any, U: Any, right: Any, wrong: Any, size: Any,
    a: Any, F: Any, difference: Any, touched: Any, marked: Any,
) -> int:  # fmt: skip
    """Visit the documents ``order``; see the kernel."""
    n_classes = len(F)
    L = np.array([_row(c, attr_indptr, attr_indices, attr_data, False, W.shape[1]) for c in range(n_classes)])
    places = [set(row) for row in _rows(place_indptr, place_indices)]
    label_sets = _rows(label_indptr, labels)
    for k, i in enumerate(order.tolist()):
        right[k] = wrong[k] = -1
        others = [c for c in range(n_classes) if c not in label_sets[i]]
        if not label_sets[i] or not others or squared_norm[i] <= 0:
            continue
        steps += 1
        scores = L @ (W.T @ _row(i, score_indptr, score_indices, score_data, dense, len(W)))

        def cost(y: int, z: int) -> float:
            return _pair(y, z, places, miss, extra, scale, matrix)

        y, z = min(label_sets[i], key=lambda c: (scores[c], c)), max(others, key=lambda c: (scores[c], -c))
        if rule == AUGMENTED:
            gains = {(u, v): scores[v] - scores[u] + cost(u, v) ** 0.5 for u in label_sets[i] for v in others}
            y, z = max(gains, key=gains.__getitem__)
            if gains[y, z] <= 0:
                continue
        elif (rule == HIERON and (scores[z], -z) < (scores[y], -y)) or scores[y] > scores[z]:
            continue
        delta = L[y] - L[z]
        tau = cost(y, z)
        if rule != PERCEPTRON:
            length = delta @ delta * squared_norm[i]
            tau = max(0.0, tau**0.5 - (scores[y] - scores[z])) / length if length > 0 else 0.0
        tau *= weight[i]
        if tau > 0:
            right[k], wrong[k], size[k] = y, z, tau
            step = tau * np.outer(_row(i, step_indptr, step_indices, step_data, step_dense, len(W)), delta)
            W += step.astype(W.dtype)
            if len(U):
                U += (steps - 1) * step
    return steps


def shift_scores(F: Any, K: Any, d: Any, label_indptr: Any, labels: Any, margin: Any, right: Any, wrong: Any) -> int:
    """F += K d'; see the kernel."""
    F += np.outer(K, d) * (right >= 0)[:, None]
    label_sets = _rows(label_indptr, labels)
    for i in np.flatnonzero((K != 0) & (right >= 0)):
        others = [c for c in range(F.shape[1]) if c not in label_sets[i]]
        right[i] = min(label_sets[i], key=lambda c: (F[i, c], c))
        wrong[i] = max(others, key=lambda c: (F[i, c], -c))
        margin[i] = F[i, right[i]] - F[i, wrong[i]]
    rows = np.flatnonzero(right >= 0)
    return int(rows[np.argmin(margin[rows])]) if len(rows) else -1
