"""Trees whose slacks, or costs, are not those of the paper's main model.

free      the true labelling does not compete: a document that is better than asked for is rewarded, its slack being
          negative, and every document has a say in the weights
edge      one slack for every edge of a document
zero_one  the cost of any wrong labelling is 1
"""

from __future__ import annotations

from typing import Any

from linnaeus.errors import ParameterError
from linnaeus.models.structured.active import ActiveBlocks, LabelingOracle
from linnaeus.models.structured.blocks import Blocks
from linnaeus.models.structured.edge_slack import EdgeSlackBlocks
from linnaeus.models.structured.layout import edge_losses, true_edges
from linnaeus.models.structured.tree import TreeStructure
from linnaeus.models.structured.views import EdgeView
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["SlackTree"]


class SlackTree(TreeStructure):
    """A tree with the scores of `TreeStructure`; ``slack`` is "example", "free" or "edge"."""

    def __init__(self, taxonomy: Taxonomy, nodes: IntArray, root: str, *, consistent: bool, slack: str) -> None:
        super().__init__(taxonomy, nodes, root, consistent=consistent)
        self.slack = slack

    def blocks(self, Y: CSR, weights: FloatArray, cost: str, C: FloatArray, **options: Any) -> Blocks:
        pairs = true_edges(Y, self.layout, self.root)
        table = None if cost == "zero_one" else edge_losses(self.layout, weights[self.nodes], cost)
        if self.slack == "edge":
            if table is None:
                raise ParameterError("cost='zero_one' is no sum over edges; slack='edge' needs another cost.")
            return EdgeSlackBlocks(self.layout, table, pairs, C)
        truth = (pairs & 1).astype(bool)
        return ActiveBlocks(LabelingOracle(EdgeView(self.layout), truth, table, free=self.slack == "free"), C)
