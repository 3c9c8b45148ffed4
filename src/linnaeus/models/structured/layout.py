"""Where the labels of the structured problem live: nodes in depth-first order, one edge above each.

The edge e_v = (parent, v) is numbered by its child v and has the four labellings u = 2 [parent on] + [v on]. Two ways
to treat the top:

    super   the parent of every top node is a label that is always on (the taxonomy's root, if it has one, is that
            label): every node has an edge of its own, and forests are as good as trees.
    paper   one node is above all others and free: it is scored only through the edges below it.

Nodes without any training document are left out: nothing could be learned but never to answer them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from linnaeus.decoding.base import Hierarchy, hierarchy
from linnaeus.errors import DataError, TaxonomyError
from linnaeus.losses.cost import node_weights
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["Layout", "cost_weights", "edge_losses", "make_layout", "true_edges"]


@dataclass(frozen=True)
class Layout:
    """A tree or forest in depth-first order.

    Attributes
    ----------
    nodes : numbers of the nodes in the taxonomy, in the order of the layout.
    parent : position of the parent, -1 at the top (where the label above is always on).
    size : nodes of the subtree, the node included: it is the positions v .. v + size[v] - 1.
    tied : 0 at a root that is free: its edge has no features and no loss.
    consistent : whether only labellings compete in which no node is on under one that is off.
    """

    nodes: IntArray
    parent: IntArray
    size: IntArray
    tied: IntArray
    consistent: bool

    @property
    def n(self) -> int:
        return len(self.nodes)

    @property
    def columns(self) -> int:
        """Independent columns of scores per node: those of u = 0, 2, 3, or of 2, 3 for consistent labellings."""
        return 2 if self.consistent else 3

    @property
    def width(self) -> int:
        """Columns of F and W, a whole number of cache lines."""
        return -(-self.n * self.columns // 16) * 16


def make_layout(taxonomy: Taxonomy, nodes: IntArray, root: str, *, consistent: bool = False) -> Layout:
    """The layout of a set of nodes that is closed under ancestors.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA")])
    >>> layout = make_layout(tax, np.array([1, 2, 3]), "super")
    >>> tax.names[layout.nodes].tolist(), layout.parent.tolist(), layout.size.tolist()
    (['A', 'AA', 'B'], [-1, 0, -1], [2, 1, 1])
    """
    whole = root == "paper"
    edges = hierarchy(taxonomy, with_root=whole)
    if not edges.is_forest:
        raise TaxonomyError("A node has several parents; this needs a tree.")
    members = np.unique(np.append(nodes, taxonomy.root) if whole and taxonomy.root is not None else nodes)
    tops = members[edges.parent[members] < 0]
    if whole and (len(tops) != 1 or len(members) < 2):
        raise TaxonomyError(
            f"root='paper' needs one node above all others, and found {len(tops)} of {len(members)} nodes at the top; "
            "use root='super'."
        )
    order = _depth_first(edges, members, tops)
    place = np.full(taxonomy.n_nodes, -1, dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    above = edges.parent[order]
    parent = np.where(above < 0, -1, place[np.maximum(above, 0)]).astype(np.int32)
    if len(order) < len(members):
        raise DataError("The nodes of a layout must hold all their ancestors.")
    tied = np.ones(len(order), dtype=np.uint8)
    if whole:
        tied[0] = 0
    return Layout(order, parent, _sizes(parent), tied, consistent)


def _depth_first(edges: Hierarchy, members: IntArray, tops: IntArray) -> IntArray:
    """Members in depth-first order; a stack, for a chain may be deeper than Python's recursion."""
    wanted = np.zeros(len(edges.child_indptr) - 1, dtype=bool)
    wanted[members] = True
    waiting, order = tops[::-1].tolist(), []
    while waiting:
        v = waiting.pop()
        order.append(v)
        below = edges.child_indices[edges.child_indptr[v] : edges.child_indptr[v + 1]]
        waiting += below[wanted[below]][::-1].tolist()
    return np.array(order, dtype=np.int32)


def _sizes(parent: IntArray) -> IntArray:
    size = np.ones(len(parent), dtype=np.int32)
    for v in range(len(parent) - 1, -1, -1):
        if parent[v] >= 0:
            size[parent[v]] += size[v]
    return size


def true_edges(Y: CSR, layout: Layout, root: int | None = None) -> IntArray:
    """Index u of the true labelling of every edge, n_docs x n (uint8); ``root`` is on in every document."""
    Z = np.ascontiguousarray(sparse.csr_array(Y)[:, layout.nodes].toarray()).astype(np.uint8)
    if root is not None and root in layout.nodes:
        Z[:, np.flatnonzero(layout.nodes == root)] = 1
    above = np.where(layout.parent[None, :] < 0, 1, Z[:, np.maximum(layout.parent, 0)])
    return np.ascontiguousarray(2 * above + Z, dtype=np.uint8)


def cost_weights(taxonomy: Taxonomy, scaling: str) -> FloatArray:
    """Weights of the nodes in the loss; a single top node is itself above all and needs no root beside it.

    Examples
    --------
    >>> cost_weights(Taxonomy.from_edges([("A", "AA"), ("A", "AB")], root=None), "subtree")[0].item()
    1.0
    """
    weights = node_weights(taxonomy, scaling)
    alone = taxonomy.root is None and len(taxonomy.tops) == 1 and scaling == "subtree"
    return weights * (taxonomy.n_nodes + 1) / taxonomy.n_nodes if alone else weights


def edge_losses(layout: Layout, weights: FloatArray, cost: str) -> FloatArray:
    """Losses of all edges, n x 4 x 4: ``[v, t, u]`` is what labelling u costs where t is true.

    Summed over the edges of a labelling they are the symmetric difference, or the simplified hierarchical loss, under
    the weights c of the nodes (in the order of the layout). A node's part of the symmetric difference is shared by all
    edges that touch it; the hierarchical loss of a node needs its parent and lives on the edge between them.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("A", "AA")], root=None)
    >>> layout = make_layout(tax, np.array([0, 1]), "super")
    >>> edge_losses(layout, np.ones(2), "symmetric")[1, 3].tolist()      # both are on
    [1.5, 0.5, 1.0, 0.0]
    >>> edge_losses(layout, np.ones(2), "hierarchical")[1, 3].tolist()
    [0.0, 0.0, 1.0, 0.0]
    """
    inner, above = layout.parent >= 0, np.maximum(layout.parent, 0)
    touching = np.bincount(layout.parent[inner], minlength=layout.n) + layout.tied
    share = weights / np.maximum(touching, 1)
    free = inner & (layout.tied[above] == 0)  # edges that carry the loss of a free root
    if cost == "symmetric":
        a, b = np.where(inner, share[above], 0.0), share
    else:
        a, b = np.where(free, share[above], 0.0), weights
    b = np.where(layout.tied == 1, b, 0.0)
    t, u = np.arange(4)[:, None], np.arange(4)
    parent_differs, child_differs = (t >> 1) != (u >> 1), (t & 1) != (u & 1)
    if cost == "hierarchical":
        child_differs = child_differs & ~parent_differs
    return a[:, None, None] * parent_differs + b[:, None, None] * child_differs
