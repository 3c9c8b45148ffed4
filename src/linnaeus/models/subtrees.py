"""Weights that whole subtrees of the taxonomy share.

    w_c = w0 + sum_{v on the path from the top to label c} t_v + u_c

Nodes that learn from those above them have about the weights of their relatives. What a whole subtree shares, t_v, is
kept once, which leaves a label few weights u_c of its own. The tree has a vertex for every node below which labels
branch, along first parents where a node has several; vertex 0 is above all. Any tree would do: it only decides how many
weights there are, and scores are those of the weights kept.

`split_along` makes w0, T (n_features x n_vertices) and U of dense weights W (n_features x n_labels).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linnaeus.engine.limits import blocks, rows_that_fit
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix

__all__ = ["Subtrees", "branching", "split_along"]

_WORTH = 0.5  # subtrees must halve the weights: one base for all is simpler and a little quicker


@dataclass(frozen=True)
class Subtrees:
    """What subtrees share.

    Attributes
    ----------
    weights : csr_array of shape (n_features, n_vertices)
        Weights of each vertex as they differ from those of the vertex above it.
    parent : ndarray of int, shape (n_vertices + n_labels,)
        The vertex above each vertex (``parent[v] < v``; -1 at the top, vertex 0), then above each label.
    """

    weights: CSR
    parent: IntArray

    @property
    def n_vertices(self) -> int:
        return int(self.weights.shape[1])

    def of_label(self, column: int, features: IntArray) -> FloatArray:
        """What a label takes over of some features from all vertices above it.

        Examples
        --------
        >>> from scipy import sparse
        >>> T = sparse.csr_array(np.array([[0.0, 1.0, 0.5], [0.0, 0.0, 2.0]]))
        >>> subtrees = Subtrees(T, np.array([-1, 0, 1, 2, 1]))
        >>> subtrees.of_label(0, [0, 1]).tolist()  # the first label is below vertex 2, which is below vertex 1
        [1.5, 2.0]
        """
        path, v = [], int(self.parent[self.n_vertices + column])
        while v >= 0:
            path.append(v)
            v = int(self.parent[v])
        return np.asarray(self.weights[features][:, path].sum(axis=1))

    def scores(self, X: Matrix) -> FloatArray:
        """What a dense X gets from the vertices above each label, n_docs x n_labels."""
        return self._taken_over(np.asarray(self.weights.T @ X.T)).T

    def whole(self) -> FloatArray:
        """What every label takes over, dense: n_features x n_labels."""
        return self._taken_over(self.weights.T.toarray()).T

    def _taken_over(self, S: FloatArray) -> FloatArray:
        """Rows of labels, the sums of the rows of S (n_vertices x anything) along their paths; S is changed."""
        for v in range(1, self.n_vertices):
            S[v] += S[self.parent[v]]
        return S[self.parent[self.n_vertices :]]

    def with_nodes(self, U: CSR) -> CSR:
        """The columns of the vertices, then those of the labels, as ``parent`` counts them."""
        from scipy import sparse

        return sparse.csr_array(sparse.hstack([self.weights, U], format="csr"))

    def levels(self) -> IntArray:
        """Where ranges of ``parent`` begin, and the last ends, all of whose parents are before the range.

        Examples
        --------
        >>> from scipy import sparse
        >>> Subtrees(sparse.csr_array((1, 4)), np.array([-1, 0, 0, 1, 3, 3])).levels().tolist()
        [1, 3, 4, 6]
        """
        starts = [1]
        for v in range(1, self.n_vertices):
            if self.parent[v] >= starts[-1]:
                starts.append(v)
        return np.unique([*starts, self.n_vertices, len(self.parent)]).astype(np.int32)

    def to_dict(self) -> dict[str, object]:
        return {"weights": self.weights, "parent": self.parent}


def branching(taxonomy: Taxonomy, nodes: IntArray) -> IntArray | None:
    """``parent`` of `Subtrees` for labels ``nodes``; None where they do not branch below the top.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA")])
    >>> leaves = np.array([tax.index(name) for name in ("AA", "AB", "BA")])
    >>> branching(tax, leaves).tolist()  # vertices: the top, R and A; B has a single label
    [-1, 0, 1, 2, 2, 1]
    """
    above = taxonomy.parent.tolist()
    n_below = np.bincount(nodes, minlength=taxonomy.n_nodes).tolist()  # branches with labels; a label itself is one
    for v in range(taxonomy.n_nodes - 1, -1, -1):
        if n_below[v] and above[v] >= 0:
            n_below[above[v]] += 1
    vertex, parent = [0] * taxonomy.n_nodes, [-1]  # the last vertex at or above each node
    for v, p in enumerate(above):
        vertex[v] = vertex[p] if p >= 0 else 0
        if n_below[v] > 1:
            parent.append(vertex[v])
            vertex[v] = len(parent) - 1
    if len(parent) == 1:
        return None
    return np.array(parent + [vertex[v] for v in nodes.tolist()], np.int32)


def split_along(
    W: FloatArray, threshold: float, parent: IntArray, worth: int
) -> tuple[CSR, FloatArray | None, Subtrees] | None:
    """(U, w0, subtrees) of a dense W, no weight off by ``threshold`` or more; None where subtrees save too little.

    w0 is None where no feature has one: it must save ``worth`` weights.

    Examples
    --------
    >>> W = np.array([[1.0, 1.0, 1.1, 0.0, 0.0]])
    >>> U, base, subtrees = split_along(W, 0.2, np.array([-1, 0, 1, 1, 1, 0, 0], np.int32), worth=16)
    >>> U.nnz, base, subtrees.weights.toarray().tolist()
    (0, None, [[0.0, 1.0]])
    """
    from scipy import sparse

    from linnaeus._kernels.subtree import split

    n_features, n_labels = W.shape
    n_vertices = len(parent) - n_labels
    edges = (parent, *_edges(parent, n_vertices))
    buffers, base = np.empty((3, len(parent)), W.dtype), np.zeros(n_features, W.dtype)
    parts, n_straight = [], 0
    for part in blocks(n_features, rows_that_fit((2 * W.itemsize + 4) * n_labels)):
        rows = np.ascontiguousarray(W[part])
        out = np.zeros(len(rows) + 1, np.int64), np.empty(rows.size, np.int32), np.empty(rows.size, W.dtype)
        n_straight += split(rows, *edges, threshold, worth, buffers, base[part], *out)
        indptr, indices, data = out[0], out[1][: out[0][-1]].copy(), out[2][: out[0][-1]].copy()
        parts.append(sparse.csr_array((data, indices, indptr), shape=(len(rows), len(parent))))
    steps = sparse.csr_array(sparse.vstack(parts, format="csr"))
    if steps.nnz >= _WORTH * n_straight:
        return None
    T, U = (sparse.csr_array(part) for part in (steps[:, :n_vertices], steps[:, n_vertices:]))
    return U, base if base.any() else None, Subtrees(T, parent)


def _edges(parent: IntArray, n_vertices: int) -> tuple[IntArray, IntArray]:
    """The children of every vertex: indptr (int64) and numbers as in ``parent``."""
    children = np.argsort(parent, kind="stable")[1:].astype(np.int32)  # but the top, which is nobody's child
    indptr = np.searchsorted(parent[children], np.arange(n_vertices + 1)).astype(np.int64)
    return indptr, children
