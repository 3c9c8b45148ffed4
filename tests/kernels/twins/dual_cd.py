"""Readable twin of `dual_cd`: one row, one column, one step at a time, in double precision.

For a column b and a row i with sign y, score t = y w'x and squared norm Q, the dual variable a moves to the minimiser
of the one-dimensional problem and w follows:

    hinge           a <- clip(a - (t - 1) / Q, 0, c)
    squared hinge   a <- max(a - (t - 1 + a / 2c) / (Q + 1 / 2c), 0)
    logistic        a <- root of  Q (a - a_old) + t + log(a / (c - a))  in (0, c), by bisection
    w <- w + (a - a_old) y x
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["certify", "rebuild", "settle", "sweep"]

PANEL = 16
HINGE, SQUARED_HINGE, LOGISTIC = range(3)


def _row(i: int, indptr: Any, indices: Any, data: Any, dense: bool, bias: float, n_features: int) -> Any:
    """Row i as a dense vector with the constant feature at the end."""
    x = np.zeros(n_features + 1)
    values = data[indptr[i] : indptr[i + 1]].astype(float)
    x[np.arange(len(values)) if dense else indices[indptr[i] : indptr[i + 1]]] = values
    x[-1] = bias
    return x


def _signs(i: int, positive_indptr: Any, positive: Any) -> Any:
    y = -np.ones(PANEL)
    y[positive[positive_indptr[i] : positive_indptr[i + 1]]] = 1
    return y


def _logistic_root(t: float, old: float, Q: float, c: float) -> float:
    low, high = 0.0, c
    for _ in range(200):
        a = 0.5 * (low + high)
        slope = Q * (a - old) + t + np.log(a) - np.log(c - a)
        low, high = (low, a) if slope > 0 else (a, high)
    return 0.5 * (low + high)


def sweep(
    indptr: Any, indices: Any, data: Any, dense: bool, squared_norm: Any, bound: Any, column_weight: Any, loss: int,
    bias: float, positive_indptr: Any, positive: Any, order: Any, n_active: int, W: Any, alpha: Any,
    shrink_above: Any, shrink_below: Any, done: Any, pg_max: Any, pg_min: Any, shares: Any = None,
) -> int:  # fmt: skip
    """One epoch over ``order[:n_active]``; see the kernel."""
    pg_max[:], pg_min[:] = -np.inf, np.inf
    shares = np.zeros((2, PANEL)) if shares is None else shares
    shares[:] = 0
    kept, last = 0, n_active - 1
    while kept <= last:
        i = int(order[kept])
        x, y = _row(i, indptr, indices, data, dense, bias, len(W) - 1), _signs(i, positive_indptr, positive)
        Q, keep = float(squared_norm[i]), loss == LOGISTIC
        t, bounds = y * (x @ W), bound[i] * np.where(y > 0, column_weight[0], column_weight[1])
        cost, conjugate = _values(loss, t, bounds.astype(float), alpha[i].astype(float))
        shares += cost + alpha[i] * t - conjugate, cost + alpha[i] * t / 2
        for b in range(PANEL):
            old, c = float(alpha[i, b]), float(bounds[b])
            if loss == LOGISTIC:
                pg, new = t[b] + np.log(old / (c - old)), _logistic_root(t[b], old, Q, c)
            else:
                shift = 0.5 / c if loss == SQUARED_HINGE else 0.0
                upper = np.inf if loss == SQUARED_HINGE else c
                pg = t[b] - 1 + shift * old
                new = min(max(old - pg / (Q + shift), 0.0), upper) if Q + shift > 0 else upper
                if old <= 0:
                    keep |= not (done[b] or pg > shrink_above[b])
                    pg = min(pg, 0.0)
                elif old >= upper:
                    keep |= not (done[b] or pg < shrink_below[b])
                    pg = max(pg, 0.0)
                else:
                    keep |= not done[b]
            pg_max[b], pg_min[b] = max(pg_max[b], pg), min(pg_min[b], pg)
            W[:, b] += (new - old) * y[b] * x
            alpha[i, b] = new
        if keep:
            kept += 1
        else:
            order[kept], order[last] = order[last], i
            last -= 1
    return kept


def rebuild(
    indptr: Any,
    indices: Any,
    data: Any,
    dense: bool,
    bias: float,
    positive_indptr: Any,
    positive: Any,
    alpha: Any,
    V: Any,
) -> None:
    """V += sum_i alpha_i y_i x_i."""
    for i in range(len(alpha)):
        x = _row(i, indptr, indices, data, dense, bias, len(V) - 1)
        V += np.outer(x, alpha[i] * _signs(i, positive_indptr, positive))


def certify(
    indptr: Any, indices: Any, data: Any, dense: bool, bound: Any, column_weight: Any, loss: int, bias: float,
    positive_indptr: Any, positive: Any, W: Any, alpha: Any, primal: Any, dual: Any,
) -> None:  # fmt: skip
    """Losses of all rows, and the local part of the dual objective, per column."""
    primal[:], dual[:] = 0, 0
    for i in range(len(alpha)):
        x = _row(i, indptr, indices, data, dense, bias, len(W) - 1)
        y = _signs(i, positive_indptr, positive)
        t, a = y * (x @ W), alpha[i].astype(float)
        c = bound[i] * np.where(y > 0, column_weight[0], column_weight[1]).astype(float)
        cost, local = _values(loss, t, c, a)
        primal += cost
        dual += local


def _values(loss: int, t: Any, c: Any, a: Any) -> tuple[Any, Any]:
    """What a row costs every column at margins t, and the local part of the dual objective at a."""
    if loss == LOGISTIC:
        return c * np.logaddexp(0, -t), c * np.log(c) - a * np.log(a) - (c - a) * np.log(c - a)
    z = np.maximum(1 - t, 0)
    return c * (z if loss == HINGE else z**2), a if loss == HINGE else a - a**2 / (4 * c)


def settle(V: Any, W: Any, exact: Any, stored: Any) -> None:
    """W = V, rounded; the squared norms of the columns of V and of W as it is stored."""
    W[:] = V
    exact[:], stored[:] = (V**2).sum(axis=0), (W.astype(float) ** 2).sum(axis=0)
