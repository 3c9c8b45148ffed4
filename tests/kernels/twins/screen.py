"""Readable twin of `screen`: one row, one column at a time, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.kernels.twins.dual_cd import HINGE, SQUARED_HINGE, _row, _signs

__all__ = ["moved", "near", "relevant", "screen"]


def screen(
    indptr: Any, indices: Any, data: Any, dense: bool, bound: Any, column_weight: Any, loss: int, bias: float,
    positive_indptr: Any, positive: Any, W: Any, n_columns: int, exact: bool, primal: Any, worst: Any,
) -> None:  # fmt: skip
    """primal[b] = sum_i c_ib loss(y_ib w_b'x_i); worst[i] = the largest margin violation 1 - y_ib w_b'x_i."""
    primal[:] = 0
    for i in range(len(indptr) - 1):
        x = _row(i, indptr, indices, data, dense, bias, len(W) - 1)
        y = _signs(i, positive_indptr, positive)
        t = y * (x @ W.astype(float))
        worst[i] = (1 - t[:n_columns]).max()
        for b in range(n_columns):
            c = float(bound[i]) * float(column_weight[0 if y[b] > 0 else 1, b])
            z = max(0.0, 1 - t[b])
            primal[b] += c * (z if loss == HINGE else z**2 if loss == SQUARED_HINGE else np.logaddexp(0, -t[b]))


def near(
    indptr: Any, indices: Any, data: Any, dense: bool, bound: Any, column_weight: Any, bias: float,
    positive_indptr: Any, positive: Any, W: Any, reach: float, row: Any, coefficient: Any, margin: Any,
) -> int:  # fmt: skip
    """Pairs whose margin violation 1 - y_ib w_b'x_i is above -reach, in columns with a weight."""
    found = 0
    for i in range(len(indptr) - 1):
        y = _signs(i, positive_indptr, positive)
        t = 1 - y * (_row(i, indptr, indices, data, dense, bias, len(W) - 1) @ W.astype(float))
        for b in range(len(y)):
            c = float(bound[i]) * float(column_weight[0 if y[b] > 0 else 1, b])
            if c and t[b] > -reach:
                row[found], coefficient[found], margin[found] = i, y[b] * c, t[b]
                found += 1
    return found


def moved(row: Any, coefficient: Any, margin: Any, way: Any, slope: Any, curvature: Any) -> float:
    """The squared hinge after a common move, its slope and curvature in every row."""
    t = np.maximum(0, margin.astype(float) - np.sign(coefficient) * way[row])
    np.add.at(slope, row, 2 * coefficient * t)
    np.add.at(curvature, row, 2 * np.abs(coefficient) * (t > 0))
    return float((np.abs(coefficient) * t**2).sum())


def relevant(
    indptr: Any, indices: Any, data: Any, bias: float, positive_indptr: Any, W: Any, n_columns: int, limit: float,
    extremes: Any, rows: Any,
) -> int:  # fmt: skip
    """Rows with a positive column, or for which the sum of the largest products of any column is above the limit."""
    found = 0
    for i in range(len(indptr) - 1):
        x = _row(i, indptr, indices, data, False, bias, len(W) - 1)
        most = 1 + (x[:, None] * W[:, :n_columns].astype(float)).max(axis=1).sum()
        if most > limit or positive_indptr[i] < positive_indptr[i + 1]:
            rows[found] = i
            found += 1
    return found
