"""Readable twin of `sparse_top`: same names, same arguments, same answers; the tests' oracle."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["scores", "top"]


def scores(
    x_indptr: Any, x_indices: Any, x_data: Any, place: Any, w_indptr: Any, w_indices: Any, w_data: Any, dense: Any,
    base: Any, intercept: Any, parent: Any, levels: Any, buffer: Any, S: Any,
) -> None:  # fmt: skip
    n_vertices = max(0, len(parent) - len(intercept))
    for i in range(len(x_indptr) - 1):
        entries = range(x_indptr[i], x_indptr[i + 1])
        common = sum(float(x_data[e]) * float(base[x_indices[e]]) for e in entries)
        s = np.concatenate([np.zeros(n_vertices, S.dtype), intercept + S.dtype.type(common)])
        for e in entries:
            j = x_indices[e]
            if place[j] >= 0:
                s += x_data[e] * dense[place[j]]
            else:
                row = slice(w_indptr[j], w_indptr[j + 1])
                s[w_indices[row]] += x_data[e] * w_data[row]
        for v in range(1, len(parent) if n_vertices else 0):
            s[v] += s[parent[v]]
        S[i] = s[n_vertices:]


def top(
    x_indptr: Any, x_indices: Any, x_data: Any, place: Any, w_indptr: Any, w_indices: Any, w_data: Any, dense: Any,
    base: Any, intercept: Any, parent: Any, levels: Any, buffer: Any, columns: Any, values: Any,
) -> None:  # fmt: skip
    S = np.empty((len(x_indptr) - 1, len(intercept)), values.dtype)
    scores(
        x_indptr,
        x_indices,
        x_data,
        place,
        w_indptr,
        w_indices,
        w_data,
        dense,
        base,
        intercept,
        parent,
        levels,
        buffer,
        S,
    )
    columns[:] = np.argsort(-S, axis=1, kind="stable")[:, : columns.shape[1]]
    values[:] = np.take_along_axis(S, columns.astype(np.int64), axis=1)
