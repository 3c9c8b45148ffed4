"""Trees and forests with four features per edge, one for each labelling of its two ends: the model of the paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus._kernels.margin_scores import margins
from linnaeus.models.structured.blocks import Blocks, TreeBlocks
from linnaeus.models.structured.layout import Layout, edge_losses, make_layout, true_edges
from linnaeus.models.structured.structure import Structure
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["TreeStructure"]


class TreeStructure(Structure):
    """See `layout` for ``root`` and ``consistent``."""

    def __init__(self, taxonomy: Taxonomy, nodes: IntArray, root: str, *, consistent: bool) -> None:
        self.layout: Layout = make_layout(taxonomy, nodes, root, consistent=consistent)
        self.nodes, self.width, self.columns = self.layout.nodes, self.layout.width, self.layout.columns
        self.root = taxonomy.root

    def blocks(self, Y: CSR, weights: FloatArray, cost: str, C: FloatArray, **options: Any) -> Blocks:
        loss = edge_losses(self.layout, weights[self.nodes], cost)
        return TreeBlocks(self.layout, loss, true_edges(Y, self.layout, self.root), C, **options)

    def margins(self, F: FloatArray, *, consistent: bool = True) -> FloatArray:
        found = np.empty((len(F), self.layout.n))
        at = self.layout
        margins(np.ascontiguousarray(F), at.parent, at.columns, consistent or at.consistent, found)
        return found

    def node_weights(self, F: FloatArray) -> FloatArray:
        at, H = self.layout, edge_scores(F, self.layout)
        U = H[:, :, 3] - H[:, :, 2]
        for v in np.flatnonzero(at.parent >= 0).tolist():
            U[:, at.parent[v]] += H[:, v, 2] - H[:, v, 0]
        return U


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
