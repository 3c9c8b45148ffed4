"""The tree over which a hierarchical prior runs: root first, parents before children, one leaf for every label.

    w_root ~ N(0, I),      w_n ~ N(w_pi(n), Lambda_n^-1) for every other vertex

A label with labels below it gets a leaf of its own under it; nodes with no label at or below them say nothing and are
left out, so that a taxonomy may grow without changing the model. With increments u_n = w_n - w_pi(n) the prior falls
apart, and for leaf pulls V (n_leaves x n_features) the point of least energy under Lambda = Diag(rho) is a sum over
paths:

    s_a = sum of v_n over the leaves n at or below a,      w_n = sum over a on the path of n of s_a / rho_a   (= K V)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from linnaeus.errors import TaxonomyError
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, Array, FloatArray, IntArray

__all__ = ["LabelTree", "label_tree"]


@dataclass(frozen=True)
class LabelTree:
    """``parent`` of every vertex (-1 for the root, vertex 0), ``leaves`` (the vertex of every label, in their order).

    ``node`` is the taxonomy's number of a vertex, -1 for an artificial root; a spawned leaf has its label's number.
    """

    parent: IntArray
    leaves: IntArray
    node: IntArray

    def to_dict(self) -> dict[str, IntArray]:
        """What makes it again, for model files."""
        return {"parent": self.parent, "leaves": self.leaves, "node": self.node}

    @property
    def n_vertices(self) -> int:
        return len(self.parent)

    @property
    def n_leaves(self) -> int:
        return len(self.leaves)

    @cached_property
    def inner(self) -> IntArray:
        """The vertices that are not leaves, in order."""
        is_inner = np.ones(self.n_vertices, bool)
        is_inner[self.leaves] = False
        return np.flatnonzero(is_inner)

    @cached_property
    def n_children(self) -> IntArray:
        return np.bincount(self.parent[1:], minlength=self.n_vertices)

    @cached_property
    def paths(self) -> CSR:
        """n_leaves x n_vertices, 0/1: the vertices on the path from the root to each leaf, both included."""
        from scipy import sparse

        rows, columns = [np.arange(self.n_leaves)], [self.leaves]
        while True:
            above = self.parent[columns[-1]]
            kept = above >= 0
            if not kept.any():
                break
            rows.append(rows[-1][kept])
            columns.append(above[kept])
        at = (np.concatenate(rows), np.concatenate(columns))
        return sparse.csr_array(sparse.coo_array((np.ones(len(at[0])), at), shape=(self.n_leaves, self.n_vertices)))

    @cached_property
    def levels(self) -> list[IntArray]:
        """Vertices by distance from the root, the root first."""
        depth = np.zeros(self.n_vertices, np.int64)
        for v in range(1, self.n_vertices):
            depth[v] = depth[self.parent[v]] + 1
        return [np.flatnonzero(depth == level) for level in range(int(depth.max()) + 1)]

    def ordered_by(self, names: Array) -> LabelTree:
        """The same tree, every level in the order of ``names`` (one per vertex): no longer that of the numbers."""
        order = np.concatenate([level[np.argsort(names[level], kind="stable")] for level in self.levels])
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        parent = np.concatenate([[-1], place[self.parent[order[1:]]]])
        return LabelTree(parent, place[self.leaves], self.node[order])

    def children_sum(self, A: FloatArray) -> FloatArray:
        """Sum of the children's rows of A (n_vertices x ...), for every vertex; leaves get 0."""
        from scipy import sparse

        n = self.n_vertices
        up = sparse.csr_array((np.ones(n - 1), (self.parent[1:], np.arange(1, n))), shape=(n, n))
        return np.asarray(up @ A)

    def pull(self, V: FloatArray, rho: FloatArray) -> FloatArray:
        """All weights (n_vertices x n_features) for leaf pulls V; ``rho`` is n_vertices x 1 or x n_features."""
        U = np.asarray(self.paths.T @ V) / rho
        for level in self.levels[1:]:
            U[level] += U[self.parent[level]]
        return U

    def between(self, W: FloatArray, rho: FloatArray) -> FloatArray:
        """W with the inner vertices at their exact optimum between the leaves, which stay."""
        W, pull, stiff = W.copy(), np.zeros_like(W), np.broadcast_to(rho, (len(rho), rho.shape[1])).copy()
        is_leaf = np.zeros(self.n_vertices, bool)
        is_leaf[self.leaves] = True
        pull[is_leaf] = W[is_leaf] * rho[is_leaf]
        share, held = np.zeros_like(W), np.zeros_like(stiff)  # H and S of every inner vertex
        for level in self.levels[:0:-1]:
            inner = level[~is_leaf[level]]
            stiff[inner] = rho[inner] * held[inner] / (rho[inner] + held[inner])
            pull[inner] = rho[inner] * share[inner] / (rho[inner] + held[inner])
            np.add.at(share, self.parent[level], pull[level])
            np.add.at(held, self.parent[level], stiff[level])
        for level in self.levels:
            inner = level[~is_leaf[level]]
            above = W[self.parent[inner]] if level[0] else np.zeros_like(W[inner])
            W[inner] = (rho[inner] * above + share[inner]) / (rho[inner] + held[inner])
        return W


def label_tree(taxonomy: Taxonomy, labels: IntArray, *, flat: bool = False, parents: str = "only") -> LabelTree:
    """The tree over ``labels`` (node numbers); ``flat`` makes all of them children of the root.

    ``parents="first"`` takes of several parents the one whose name comes first; ``"only"`` refuses them.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB")])
    >>> tree = label_tree(tax, np.array([tax.index(v) for v in ("A", "AA", "B")]))
    >>> [str(tax.names[v]) for v in tree.node], tree.parent.tolist(), tree.leaves.tolist()
    (['R', 'A', 'B', 'AA', 'A'], [-1, 0, 0, 1, 1], [4, 3, 2])
    """
    if flat:
        return LabelTree(
            np.concatenate([[-1], np.zeros(len(labels), np.int64)]),
            np.arange(1, len(labels) + 1),
            np.concatenate([[-1], labels]),
        )
    above = _one_parent(taxonomy, parents)
    labelled, needed = np.zeros(taxonomy.n_nodes, bool), np.zeros(taxonomy.n_nodes, bool)
    labelled[labels] = True
    spawns = np.zeros(taxonomy.n_nodes, bool)
    for v in range(taxonomy.n_nodes - 1, -1, -1):  # children before parents
        needed[v] |= labelled[v]
        if needed[v] and above[v] >= 0:
            needed[above[v]] = True
            spawns[above[v]] = labelled[above[v]]
    root = -1 if taxonomy.root is None else int(taxonomy.root)
    if root >= 0:
        spawns[root] = labelled[root]  # the root is not a leaf
    number = np.zeros(taxonomy.n_nodes, np.int64)
    kept = np.flatnonzero(needed & (np.arange(taxonomy.n_nodes) != root))
    number[kept] = np.arange(1, len(kept) + 1)
    parent = np.concatenate([[-1], np.where(above[kept] >= 0, number[above[kept]], 0)])
    spawned = labels[spawns[labels]]
    leaves = number[labels]
    leaves[spawns[labels]] = np.arange(len(parent), len(parent) + len(spawned))
    node = np.concatenate([[root], kept, spawned])
    return LabelTree(np.concatenate([parent, number[spawned]]), leaves, node)


def _one_parent(taxonomy: Taxonomy, parents: str) -> IntArray:
    """The parent of every node, -1 where it has none."""
    if taxonomy.kind == "graph":
        raise TaxonomyError("The model is defined on trees, but the taxonomy is an undirected graph; RRSVM takes any.")
    above = np.full(taxonomy.n_nodes, -1, np.int64)
    for v in range(taxonomy.n_nodes):
        found = taxonomy.parents(v)
        if len(found) > 1 and parents == "only":
            names = ", ".join(map(repr, taxonomy.names[found][:3]))
            raise TaxonomyError(
                f"The model is defined on trees, but node {str(taxonomy.names[v])!r} has {len(found)} parents "
                f"({names}); parents='first' takes the tree of first parents."
            )
        if len(found):
            above[v] = min(found, key=lambda p: taxonomy.names[p]) if len(found) > 1 else found[0]
    return above
