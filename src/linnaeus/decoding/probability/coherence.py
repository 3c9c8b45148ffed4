"""Coherent scores: the nearest ones that never grow from a parent to its child (Punera and Ghosh 2008).

    min_z  sum_v w_v (z_v - x_v)^2     z_child <= z_parent on every edge

On a forest by joining blocks from the bottom up. On a DAG by splitting: a block B of nodes with weighted mean mu is
cut into the closed set U inside B with the largest sum of w_v (x_v - mu), and the rest; where no sum is positive, z =
mu on B. All blocks of a document are cut at once. With 0/1 truth the weighted squared error never grows: the truth is
coherent itself, and a projection on coherent vectors cannot move away from one of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linnaeus.decoding.base import Hierarchy, checked, hierarchy
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import FloatArray, IntArray

__all__ = ["lifted", "lowered", "smoothed"]

_LIGHT = 1e-9  # weight of a node without a value, so that it follows the others


def smoothed(
    X: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None, weights: npt.ArrayLike | None = None
) -> FloatArray:
    """The nearest coherent values (n_docs x n_columns, float64), each document on its own.

    Parameters
    ----------
    X : object
        Values, n_docs x n_columns.
    taxonomy : Taxonomy
        The taxonomy of the nodes.
    columns : object, default=None
        Node numbers of the columns; None: all nodes in order. Nodes in between without a column bind, too.
    weights : object, default=None
        One positive number for each column; 1 if None.

    Returns
    -------
    ndarray
        The values, of the shape of the input.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"], ["B", "BB"]])
    >>> smoothed([[0.55, 0.30, 0.70, 0.20, 0.10, 0.45]], tax).round(4).tolist()
    [[0.625, 0.375, 0.625, 0.2, 0.1, 0.375]]
    """
    from linnaeus._kernels.smoothing import isotonic_forest

    X, _, nodes = checked(X, taxonomy, columns)
    edges = hierarchy(taxonomy)
    w = np.full(taxonomy.n_nodes, _LIGHT)
    order = nodes if columns is None else np.argsort(np.asarray(columns), kind="stable")
    w[nodes] = 1.0 if weights is None else np.asarray(weights, dtype=np.float64)[order]
    values = lifted(X, taxonomy, nodes, edges)
    Z = isotonic_forest(values, w, edges.parent) if edges.is_forest else _on_dag(values, w, edges)
    return Z[:, nodes] if columns is None else Z[:, np.asarray(columns)]


def lifted(
    S: FloatArray, taxonomy: Taxonomy, nodes: IntArray, edges: Hierarchy | None = None, *, own: bool = True
) -> FloatArray:
    """Values of all nodes (n_docs x n_nodes): those given, else the largest below; the least of all where none is.

    With ``own=False`` a node that has a value takes the largest of it and of those below.
    """
    edges = edges or hierarchy(taxonomy)
    V = np.full((taxonomy.n_nodes, len(S)), -np.inf)
    given = np.zeros(taxonomy.n_nodes, dtype=bool)
    given[nodes] = True
    V[nodes] = S.T
    indptr, parents = edges.parent_indptr, edges.parent_indices
    for v in range(taxonomy.n_nodes - 1, -1, -1):
        for p in parents[indptr[v] : indptr[v + 1]].tolist():
            if not (own and given[p]):
                np.maximum(V[p], V[v], out=V[p])
    V = np.where(np.isneginf(V), S.min(axis=1, initial=0.0), V)
    return np.ascontiguousarray(V.T)


def lowered(P: FloatArray, taxonomy: Taxonomy, edges: Hierarchy | None = None) -> FloatArray:
    """Coherent values from above: of every node, the least on the ways down to it (n_docs x n_nodes).

    Examples
    --------
    >>> lowered(np.array([[0.5, 0.7, 0.2]]), Taxonomy.from_paths([["A", "AA"], ["A", "AB"]])).tolist()
    [[0.5, 0.5, 0.2]]
    """
    edges = edges or hierarchy(taxonomy)
    V = np.ascontiguousarray(P.T)
    if V is P or np.shares_memory(V, P):
        V = V.copy()
    indptr, parents = edges.parent_indptr, edges.parent_indices
    for v in range(taxonomy.n_nodes):
        for p in parents[indptr[v] : indptr[v + 1]].tolist():
            np.minimum(V[v], V[p], out=V[v])
    return np.ascontiguousarray(V.T)


def _on_dag(X: FloatArray, w: FloatArray, edges: Hierarchy) -> FloatArray:
    from linnaeus._kernels.max_flow import closures_within

    Z = np.empty_like(X)
    docs: IntArray = np.arange(len(X))
    group: IntArray = np.zeros(X.shape, dtype=np.int32)
    n = X.shape[1]
    while len(docs):
        mean = _block_means(X[docs], w, group)
        gains = np.ascontiguousarray(w * (X[docs] - mean))
        upper = closures_within(gains, group, edges.parent_indptr, edges.parent_indices).astype(bool)
        key = (np.arange(len(docs))[:, None] * np.int64(n) + group).ravel()
        worth = np.bincount(key, weights=np.where(upper, gains, 0.0).ravel(), minlength=len(docs) * n)
        size = np.bincount(key, minlength=len(docs) * n)
        inside = np.bincount(key, weights=upper.ravel(), minlength=len(docs) * n)
        real = (worth > 1e-12) & (inside < size)  # else what is left of the sums is rounding
        split = upper & real[key].reshape(upper.shape)
        done = ~split.any(axis=1)
        Z[docs[done]] = mean[done]
        docs, group = docs[~done], _renumbered(2 * group[~done] + split[~done])
    return _settled(Z, edges)


def _settled(Z: FloatArray, edges: Hierarchy) -> FloatArray:
    """Coherent to the last bit: means of equal blocks may differ in their last digits."""
    V = np.ascontiguousarray(Z.T)
    for v in range(len(V)):
        for p in edges.parent_indices[edges.parent_indptr[v] : edges.parent_indptr[v + 1]].tolist():
            np.minimum(V[v], V[p], out=V[v])
    return np.ascontiguousarray(V.T)


def _block_means(X: FloatArray, w: FloatArray, group: IntArray) -> FloatArray:
    n_docs, n = X.shape
    key = (np.arange(n_docs)[:, None] * np.int64(n) + group).ravel()
    mass = np.bincount(key, weights=np.broadcast_to(w, X.shape).ravel(), minlength=n_docs * n)
    total = np.bincount(key, weights=(w * X).ravel(), minlength=n_docs * n)
    return np.asarray((total[key] / mass[key]).reshape(X.shape))


def _renumbered(group: IntArray) -> IntArray:
    """Group numbers of every document from 0, below the number of nodes."""
    found = np.empty(group.shape, dtype=np.int32)
    for d, row in enumerate(group):
        found[d] = np.unique(row, return_inverse=True)[1]
    return found
