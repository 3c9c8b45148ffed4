"""Exact decoding on trees and forests by dynamic programming, linear in documents x nodes.

Node weights: the closed set U that maximises sum_{v in U} u_v,

    W(v) = u_v + sum_{c child of v} max(0, W(c)),    keep v iff its parent is kept and W(v) > 0 (a tie: fewer nodes).

Edge weights: the labelling y that maximises sum_v g_v(y_parent(v), y_v), closed or unrestricted. Prediction with
a model of edge potentials (Rousu et al. 2006) uses the closed one, its training the unrestricted one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from linnaeus.decoding.base import Hierarchy, hierarchy
from linnaeus.decoding.closure_cut import BestClosure
from linnaeus.errors import DataError, TaxonomyError
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = ["BestSubtree", "max_edge_labelling"]


@dataclass(frozen=True)
class BestSubtree(BestClosure):
    """`BestClosure` for a tree or forest only: where a node has two parents it is an error, not a slower answer.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B"]])
    >>> tax.labels(BestSubtree()([[-0.5, -0.1, 0.8, -0.2]], tax))      # A, B, AA, AB
    [['A', 'AA']]
    """

    name: ClassVar[str] = "best_subtree"

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        edges = hierarchy(taxonomy)
        if not edges.is_forest:
            raise TaxonomyError(f"BestSubtree needs a tree, but {_several(edges, taxonomy)}; use BestClosure.")
        return super()._decode(S, taxonomy, columns)


def _several(edges: Hierarchy, taxonomy: Taxonomy) -> str:
    v = int(np.flatnonzero(np.diff(edges.parent_indptr) > 1)[0])
    return f"node {taxonomy.names[v]!r} has {edges.parent_indptr[v + 1] - edges.parent_indptr[v]} parents"


def max_edge_labelling(G: Any, taxonomy: Taxonomy, consistent: bool = True) -> tuple[BoolArray, FloatArray]:
    """The best labelling of every document under edge scores, and its score.

    Parameters
    ----------
    G : n_docs x n_nodes x 4; ``G[d, v, 2 a + b]`` scores label a of v's parent together with label b of v (0 or 1).
        A node without a parent has no edge above it: its entries 2 and 3 are scores of its own labels 0 and 1 (zeros
        leave it free, scored only through the edges below it), its entries 0 and 1 are not read. A root is an ordinary
        node here; a forest is the sum of its trees.
    consistent : leave out labellings where a node is 1 under a parent that is 0. A tie prefers 0.

    Returns
    -------
    labels : n_docs x n_nodes of bool. Dense: half of an unrestricted labelling may be ones.
    scores : n_docs.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_edges([("A", "AA")])
    >>> G = [[[0, 0, 0, 0], [0, 5, 1, 2]]]              # AA without A: 5, A without AA: 1, both: 2
    >>> max_edge_labelling(G, tax)
    (array([[ True,  True]]), array([2.]))
    >>> max_edge_labelling(G, tax, consistent=False)
    (array([[False,  True]]), array([5.]))
    """
    from linnaeus._kernels.tree_dp import edge_labellings

    G = np.asarray(G)
    if G.ndim != 3 or G.shape[1:] != (taxonomy.n_nodes, 4):
        raise DataError(f"Edge scores have the shape {G.shape}, expected (n_docs, {taxonomy.n_nodes}, 4).")
    if G.dtype not in (np.float32, np.float64):
        G = G.astype(np.float64)
    edges = hierarchy(taxonomy, with_root=True)
    if not edges.is_forest:
        hint = "on a DAG, closure_weights and best_closures find the best closed labelling"
        raise TaxonomyError(f"Edge labelling needs a tree, but {_several(edges, taxonomy)}; {hint}.")
    labels, scores = edge_labellings(np.ascontiguousarray(G), edges.parent, consistent)
    return labels.view(bool), scores
