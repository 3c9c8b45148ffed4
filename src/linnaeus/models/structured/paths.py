"""Trees with one feature per partial path: a node's scores count where the node, and all above it, are on.

    score(x, y) = sum over nodes v that are on of <w_v, phi(x)>

for consistent labellings y: n weight vectors instead of four for every edge. What is learned of a node no longer
depends on whether it was left out beside a parent that is on, or with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus._kernels.margin_scores import margins
from linnaeus.models.structured.active import ActiveBlocks, LabelingOracle
from linnaeus.models.structured.blocks import Blocks
from linnaeus.models.structured.layout import Layout, edge_losses, make_layout, true_edges
from linnaeus.models.structured.structure import Structure
from linnaeus.models.structured.views import PathView, padded_width
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["PathStructure"]


class PathStructure(Structure):
    """Consistent labellings of a tree or forest; a root is always on and has no weights. ``free``: see `active`."""

    columns = 0

    def __init__(self, taxonomy: Taxonomy, nodes: IntArray, *, free: bool = False) -> None:
        self.free = free
        self.layout: Layout = make_layout(taxonomy, nodes, "super", consistent=True)
        self.nodes, self.width = self.layout.nodes, padded_width(self.layout.n)

    def blocks(self, Y: CSR, weights: FloatArray, cost: str, C: FloatArray, **options: Any) -> Blocks:
        table = None if cost == "zero_one" else edge_losses(self.layout, weights[self.nodes], cost)
        truth = (true_edges(Y, self.layout) & 1).astype(bool)
        return ActiveBlocks(LabelingOracle(PathView(self.layout), truth, table, self.free), C)

    def margins(self, F: FloatArray, *, consistent: bool = True) -> FloatArray:
        U, at = self.node_weights(F), self.layout
        # As scores of edges: a of a node is gained or lost half and half where its parent is on, so that a parent
        # makes good what its children lose when they are off.
        for v in range(at.n - 1, -1, -1):
            if at.parent[v] >= 0:
                U[:, at.parent[v]] += 0.5 * U[:, v]
        halves = np.zeros((len(U), at.width))
        halves[:, : 2 * at.n : 2], halves[:, 1 : 2 * at.n : 2] = -0.5 * U, 0.5 * U
        found = np.empty((len(F), at.n))
        margins(halves, at.parent, at.columns, True, found)
        return found

    def node_weights(self, F: FloatArray) -> FloatArray:
        return np.array(F[:, : self.layout.n], dtype=np.float64)
