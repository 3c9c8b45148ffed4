"""Trees and forests: four features per edge, one for each labelling of its two ends; the model of the paper.

The edge e_v = (parent, v) is numbered by its child v and has the four labellings u = 2 [parent on] + [v on]. Nodes are
in depth-first order. Two ways to treat the top:

    super   the parent of every top node is a label that is always on (the taxonomy's root, if it has one, is that
            label): every node has an edge of its own, and forests are as good as trees.
    paper   one node is above all others and free: it is scored only through the edges below it.

Nodes without any training document are left out: nothing could be learned but never to answer them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from linnaeus._kernels import dispatch
from linnaeus._kernels.margin_scores import losses_held, margins, slacks
from linnaeus.decoding.base import Hierarchy, hierarchy
from linnaeus.errors import DataError, TaxonomyError
from linnaeus.losses.cost import node_weights
from linnaeus.models.structured.block_ascent import BlockAscent, DualBlocks, TrainingDocuments
from linnaeus.models.structured.documents import training_documents
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import places
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray, Kernel, Matrix

if TYPE_CHECKING:
    from linnaeus.decoding.rules import BoundRules

__all__ = [
    "Layout",
    "TreeBlocks",
    "TreeStructure",
    "cost_weights",
    "edge_losses",
    "edge_scores",
    "make_layout",
    "padded_width",
    "true_edges",
]

_LINE = 16  # columns of a row come in whole cache lines


# -- where labels live -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """A tree or forest in depth-first order.

    Attributes
    ----------
    nodes : ndarray of int
        Numbers of the nodes in the taxonomy, in the order of the layout.
    parent : ndarray of int
        Position of the parent, -1 at the top (where the label above is always on).
    size : ndarray of int
        Number of nodes of the subtree, the node included: it is the positions v .. v + size[v] - 1.
    tied : ndarray of int
        0 at a root that is free: its edge has no features and no loss.
    consistent : bool
        Whether only labellings compete in which no node is on under one that is off.
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
        return padded_width(self.n * self.columns)


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
            f"root='paper' needs one node above all others, but {len(tops)} of {len(members)} nodes are at the top; "
            "use root='super'."
        )
    order = _depth_first(edges, members, tops)
    place = places(order, taxonomy.n_nodes)
    above = edges.parent[order]
    parent = np.where(above < 0, -1, place[np.maximum(above, 0)]).astype(np.int32)
    if len(order) < len(members):
        raise DataError("The nodes of a layout must include all their ancestors.")
    tied = np.ones(len(order), dtype=np.uint8)
    if whole:
        tied[0] = 0
    return Layout(order, parent, _sizes(parent), tied, consistent)


def _depth_first(edges: Hierarchy, members: IntArray, tops: IntArray) -> IntArray:
    """Members in depth-first order; with a stack, because a chain may be deeper than Python's recursion."""
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
    Z = np.ascontiguousarray(Y[:, layout.nodes].toarray()).astype(np.uint8)
    if root is not None and root in layout.nodes:
        Z[:, np.flatnonzero(layout.nodes == root)] = 1
    above = np.where(layout.parent[None, :] < 0, 1, Z[:, np.maximum(layout.parent, 0)])
    return np.ascontiguousarray(2 * above + Z, dtype=np.uint8)


def padded_width(size: int) -> int:
    """Columns of a row that holds ``size`` scores.

    Examples
    --------
    >>> padded_width(3), padded_width(32)
    (16, 32)
    """
    return -(-size // _LINE) * _LINE


# -- losses and scores of edges ----------------------------------------------------------------------------------------


def cost_weights(taxonomy: Taxonomy, scaling: str) -> FloatArray:
    """Weights of the nodes in the loss; a single top node is the root of the others and needs no other one.

    Examples
    --------
    >>> cost_weights(Taxonomy.from_edges([("A", "AA"), ("A", "AB")], root=None), "subtree")[0].item()
    1.0
    """
    if scaling == "uniform":
        return np.ones(taxonomy.n_nodes)
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


def edge_scores(F: FloatArray, layout: Layout) -> FloatArray:
    """F with all four columns of every edge, n_docs x n x 4 in float64; u = 1 is 0 where it never competes.

    Examples
    --------
    >>> layout = make_layout(Taxonomy.flat(["a"]), np.array([0]), "super")
    >>> edge_scores(np.array([[0.0, -1.0, 1.0]]), layout).tolist()
    [[[0.0, -0.0, -1.0, 1.0]]]
    """
    n, c = layout.n, layout.columns
    given = np.asarray(F[:, : n * c], dtype=np.float64).reshape(len(F), n, c)
    H = np.zeros((len(F), n, 4))
    H[:, :, [2, 3] if layout.consistent else [0, 2, 3]] = given
    H[:, :, 0 if layout.consistent else 1] = -given.sum(axis=2)
    return H


# -- the dual ----------------------------------------------------------------------------------------------------------


class TreeBlocks:
    """Tables of mass mu (n_docs x n x 4) on the edges of a tree or forest, moved within subtrees by a compiled solver.

    See `linnaeus._kernels.margin_tree`. ``sweeps`` are the largest number for a visit, which ends earlier at this
    ``share`` of the document's gap.
    """

    sweeps, share, conditional_gradient = 10, 0.05, False

    def __init__(self, layout: Layout, loss: FloatArray, truth: IntArray, C: FloatArray) -> None:
        self.layout, self.loss, self.truth = layout, np.ascontiguousarray(loss), truth
        self.C = np.asarray(C, dtype=np.float64)
        self.gaps = np.full(len(C), np.inf)
        self.mu = np.zeros((*truth.shape, 4))
        np.put_along_axis(self.mu, truth[:, :, None].astype(np.intp), self.C[:, None, None], axis=2)
        self.kernel = dispatch.best("margin_tree")

    def turn(self, F: FloatArray, gram: FloatArray, batch: IntArray, times: IntArray | None = None) -> FloatArray:
        at, change = self.layout, np.zeros_like(F)
        limits = np.full(len(batch), self.sweeps, dtype=np.int32)
        if times is not None:
            limits *= times.astype(np.int32)
        self.kernel.solve_blocks(
            *(F, gram, self.mu, batch, self.truth, self.loss, self.C, at.parent, at.size, at.tied, at.columns),
            *(limits, self.share, self.conditional_gradient, change, self.gaps),
        )
        return change

    def slacks(self, F: FloatArray, batch: IntArray, scales: FloatArray) -> FloatArray:
        largest, at = np.empty((len(batch), len(scales))), self.layout
        slacks(F, self.truth[batch], self.loss, at.parent, at.columns, scales, largest)
        return largest

    def linear_term(self) -> float:
        return float(losses_held(self.mu, self.truth, self.loss))

    def coefficients(self, batch: IntArray | slice) -> FloatArray:
        at, mu, truth = self.layout, self.mu[batch], self.truth[batch]
        kept = np.array([2, 3] if at.consistent else [0, 2, 3])
        true = truth[:, :, None] == kept
        values = (true * self.C[batch][:, None, None] - mu[:, :, kept]) * at.tied[:, None]
        D = np.zeros((len(mu), at.width))
        D[:, : at.n * at.columns] = values.reshape(len(mu), -1)
        return D

    def take(self, before: TreeBlocks) -> None:
        self.mu[:] = before.mu * (self.C / before.C)[:, None, None]


class TreeStructure:
    """Labellings of a tree or forest; see the module docstring for ``root`` and `Layout` for ``consistent``."""

    solver: type[BlockAscent] = BlockAscent
    batch = 32
    columns: int
    width: int

    def __init__(self, taxonomy: Taxonomy, nodes: IntArray, root: str, *, consistent: bool) -> None:
        self.layout = make_layout(taxonomy, nodes, root, consistent=consistent)
        self.nodes, self.width, self.columns = self.layout.nodes, self.layout.width, self.layout.columns
        self.root = taxonomy.root

    def blocks(self, Y: CSR, weights: FloatArray, cost: str, C: FloatArray) -> DualBlocks:
        loss = edge_losses(self.layout, weights[self.nodes], cost)
        return TreeBlocks(self.layout, loss, true_edges(Y, self.layout, self.root), C)

    def documents(self, kernel: Kernel, X: Matrix, bias: float, dtype: type[np.floating]) -> TrainingDocuments:
        return training_documents(kernel, X, self.width, self.columns, dtype, bias)

    def margins(self, F: FloatArray, *, consistent: bool = True) -> FloatArray:
        result, at = np.empty((len(F), self.layout.n)), self.layout
        margins(np.ascontiguousarray(F), at.parent, at.columns, consistent or at.consistent, result)
        return result

    def node_weights(self, F: FloatArray) -> FloatArray:
        at, H = self.layout, edge_scores(F, self.layout)
        U = H[:, :, 3] - H[:, :, 2]
        for v in np.flatnonzero(at.parent >= 0).tolist():
            U[:, at.parent[v]] += H[:, v, 2] - H[:, v, 0]
        return U

    def best(self, F: FloatArray, *, not_empty: bool = False) -> BoolArray:
        if not not_empty:
            return self.margins(F) > 0
        is_root = self.nodes == self.root
        above = np.maximum(self.layout.parent, 0)
        parent = np.where((self.layout.parent < 0) | is_root[above], -1, self.layout.parent)
        value = self.node_weights(F)  # then of the best set of the subtree that has the node
        for v in np.flatnonzero(parent >= 0)[::-1].tolist():
            value[:, parent[v]] += np.maximum(value[:, v], 0.0)
        members, tops = value > 0, np.flatnonzero((parent < 0) & ~is_root)
        members[:, is_root] = False
        if len(tops):
            members[np.arange(len(F)), tops[value[:, tops].argmax(axis=1)]] = True
        for v in np.flatnonzero(parent >= 0).tolist():
            members[:, v] &= members[:, parent[v]]
        return members

    def ranked(self, F: FloatArray, k: int, rules: BoundRules) -> None:
        return None
