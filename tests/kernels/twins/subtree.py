"""Readable twin of `subtree`: same name, same arguments, same answers; the tests' oracle."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["split"]


def split(
    W: Any, parent: Any, indptr: Any, children: Any, threshold: float, worth: int, buffers: Any, tops: Any,
    out_indptr: Any, out_indices: Any, out_data: Any,
) -> int:  # fmt: skip
    t, n_straight, end = W.dtype.type(threshold), 0, 0
    out_indptr[0] = 0
    for i, w in enumerate(W):
        top = _middle(w)
        if _far(w, 0, t) - _far(w, top, t) < worth:
            top = W.dtype.type(0)
        straight = np.concatenate([np.zeros(len(parent) - len(w), W.dtype), np.where(_apart(w, top, t), w - top, 0)])
        below = _descend(w, top, parent, indptr, children, t)
        kept = below if np.count_nonzero(below) < np.count_nonzero(straight) else straight
        begin, end = end, end + int(np.count_nonzero(kept))
        tops[i], out_indptr[i + 1], n_straight = top, end, n_straight + int(np.count_nonzero(straight))
        out_indices[begin:end], out_data[begin:end] = np.flatnonzero(kept), kept[kept != 0]
    return n_straight


def _descend(w: Any, top: Any, parent: Any, indptr: Any, children: Any, t: Any) -> Any:
    """Steps of all vertices but the top, and of the labels."""
    n_vertices = len(parent) - len(w)
    value = np.concatenate([np.zeros(n_vertices, w.dtype), w])
    below = [children[indptr[v] : indptr[v + 1]] for v in range(n_vertices)]
    for v in range(n_vertices - 1, 0, -1):
        value[v] = _middle(value[below[v]])
    value[0] = top
    steps = np.zeros_like(value)
    for v in range(1, n_vertices):
        over = value[parent[v]]
        if _far(value[below[v]], over, t) - _far(value[below[v]], value[v], t) > 1:
            steps[v] = value[v] - over
        else:
            value[v] = over
    over = value[parent[n_vertices:]]
    steps[n_vertices:] = np.where(_apart(w, over, t), w - over, 0)
    return steps


def _middle(values: Any) -> Any:
    return np.sort(values)[len(values) // 2]


def _apart(values: Any, value: Any, t: Any) -> Any:
    return (np.abs(values - value) >= t) & (values != value)


def _far(values: Any, value: Any, t: Any) -> int:
    return int(_apart(values, value, t).sum())
