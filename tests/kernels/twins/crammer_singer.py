"""Readable twin of `crammer_singer`: one row at a time, in double precision, simplex projections by sorting.

For a row x of class y, mass p (a point of the simplex of size c) and squared norm Q:

    g_k = w_k'x + [k != y]
    p <- the point of {p >= 0, sum p = c} nearest to p + g / Q
    w_k <- w_k + (p_k before - p_k after) x
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["losses", "rebuild", "sweep"]

PANEL = 16


def _row(i: int, indptr: Any, indices: Any, data: Any, dense: bool, bias: float, n_features: int) -> Any:
    """Row i as a dense vector with the constant feature at the end."""
    x = np.zeros(n_features + 1)
    values = data[indptr[i] : indptr[i + 1]].astype(float)
    x[np.arange(len(values)) if dense else indices[indptr[i] : indptr[i + 1]]] = values
    x[-1] = bias
    return x


def _margins(x: Any, y: int, W: Any, n_classes: int) -> Any:
    """g of all classes."""
    g = np.concatenate([x @ panel for panel in W])[:n_classes] + 1.0
    g[y] -= 1
    return g


def _project(v: Any, c: float) -> Any:
    """The point of {p >= 0, sum p = c} nearest to v."""
    ordered = np.sort(v)[::-1]
    levels = (np.cumsum(ordered) - c) / np.arange(1, len(v) + 1)
    return np.maximum(v - levels[np.flatnonzero(ordered > levels)[-1]], 0)


def sweep(
    indptr: Any, indices: Any, data: Any, dense: bool, squared_norm: Any, bound: Any, bias: float, target: Any,
    n_classes: int, order: Any, n_active: int, W: Any, p: Any, live: Any, room: Any, candidates: Any,
) -> tuple[int, float]:  # fmt: skip
    """One epoch over ``order[:n_active]``; see the kernel."""
    kept, last, worst = 0, n_active - 1, 0.0
    panel_of = np.arange(n_classes) // PANEL
    while kept <= last:
        i = int(order[kept])
        x, y = _row(i, indptr, indices, data, dense, bias, W.shape[1] - 1), int(target[i])
        classes = np.flatnonzero(live[i][panel_of])
        g, old = _margins(x, y, W, n_classes)[classes], p[i, classes].copy()
        low, rival = g[old > 0].min(), g[old <= 0].max(initial=-np.inf)
        if (old > 0).sum() == 1 and rival < low:
            order[kept], order[last] = order[last], i
            last -= 1
            continue
        kept += 1
        for q in np.unique(panel_of[classes]):
            inside = panel_of[classes] == q
            if not (old[inside] > 0).any() and g[inside].max() < low:
                live[i, q] = 0
        violation = g.max() - low
        if violation <= 1e-12:
            continue
        worst = max(worst, violation)
        step = 1 / squared_norm[i] if squared_norm[i] > 0 else 1e30
        new = _project(old + (g - g.max()) * step, float(bound[i]))
        p[i, classes] = new
        for k, moved in zip(classes, old - new, strict=True):
            W[k // PANEL, :, k % PANEL] += moved * x
    return kept, float(worst)


def rebuild(
    indptr: Any, indices: Any, data: Any, dense: bool, bound: Any, bias: float, target: Any, p: Any, V: Any
) -> float:
    """V += sum_i (c_i [k = y_i] - p_ik) x_i; gives back sum_i (c_i - p_iy)."""
    total = 0.0
    for i in range(len(p)):
        a, y = -p[i].astype(float), int(target[i])
        a[y] = 0
        a *= min(1.0, float(bound[i]) / max(-a.sum(), 1e-300))
        a[y] = -a.sum()
        total += a[y]
        x = _row(i, indptr, indices, data, dense, bias, V.shape[1] - 1)
        V += (x[:, None] * a).reshape(len(x), -1, PANEL).transpose(1, 0, 2)
    return total


def losses(
    indptr: Any, indices: Any, data: Any, dense: bool, bound: Any, bias: float, target: Any, n_classes: int, W: Any
) -> float:
    """sum_i c_i max_k (g_ik - g_iy)."""
    total = 0.0
    for i, y in enumerate(target):
        g = _margins(_row(i, indptr, indices, data, dense, bias, W.shape[1] - 1), int(y), W.astype(float), n_classes)
        total += float(bound[i]) * (g.max() - g[y])
    return total
