"""Readable twin of `coupled`: one row, one column, one step at a time, in double precision.

A column moves if it is farther from its optimum than ``reach`` allows, to the minimiser of its one-dimensional problem;
the scores of all columns of the row follow before the next one has its turn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.kernels.twins.dual_cd import HINGE, LOGISTIC, PANEL, SQUARED_HINGE, _logistic_root, _row, _signs

__all__ = ["sweep"]


def sweep(
    indptr: Any, indices: Any, data: Any, squared_norm: Any, bound: Any, column_weight: Any, loss: int, bias: float,
    positive_indptr: Any, positive: Any, order: Any, T: Any, n_columns: int, reach: float, W: Any, alpha: Any,
) -> None:  # fmt: skip
    """One epoch over ``order``; see the kernel."""
    for i in order:
        x, y = _row(i, indptr, indices, data, False, bias, len(W) - 1), _signs(i, positive_indptr, positive)
        S, Q = x @ W, float(squared_norm[i])
        c = bound[i] * np.where(y > 0, column_weight[0], column_weight[1])
        moves = _moves(loss, y * S, c, alpha[i], reach)
        change = np.zeros(PANEL)
        for b in np.flatnonzero(moves[:n_columns]):
            t, old, own = y[b] * S[b], alpha[i, b], Q * T[b, b]
            if loss == LOGISTIC:
                new = _logistic_root(t, old, own, c[b])
            else:
                shift = 0.5 / c[b] if loss == SQUARED_HINGE else 0.0
                new = np.clip(old - (shift * old - 1 + t) / (own + shift), 0, c[b] if loss == HINGE else np.inf)
            S = S + y[b] * (new - old) * Q * T[b]
            change = change + y[b] * (new - old) * T[b]
            alpha[i, b] = new
        W += np.outer(x, change)


def _moves(loss: int, t: Any, c: Any, a: Any, reach: float) -> Any:
    if loss == LOGISTIC:
        p = c / (1 + np.exp(t))
        return np.abs(a - p) > reach * p * (c - p) / c
    g = (a / (2 * c) if loss == SQUARED_HINGE else 0.0) - (1 - t)
    near = np.abs(g) <= reach * np.maximum(0, 1 - t)
    return ~(near | (a <= 0) & (g >= 0) | (a >= (c if loss == HINGE else np.inf)) & (g <= 0))
