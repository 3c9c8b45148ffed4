"""Any undirected graph, four features per edge: exact through a junction tree, where its width allows.

A graph has no parents and children: all labellings are consistent, and a mistake costs the weight of its node, shared
by the edges that touch it. A node without edges has one to a label that is always 1.
"""

from __future__ import annotations

import numpy as np

from linnaeus.decoding import RankedSets
from linnaeus.decoding.base import positions
from linnaeus.decoding.rules import BoundRules
from linnaeus.models.published.hm3_active import ActiveBlocks, LabellingOracle
from linnaeus.models.published.hm3_labellings import GraphSpace, PairLabellings
from linnaeus.models.published.hm3_variants import ORACLE_BATCH
from linnaeus.models.structured.block_ascent import BlockAscent
from linnaeus.models.structured.contracts import DualBlocks, TrainingDocuments
from linnaeus.models.structured.documents import training_documents
from linnaeus.models.structured.tree import padded_width
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import pattern, pointers
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray, Kernel, Matrix

__all__ = ["GraphStructure"]

_MOST_SETS = 2000  # labellings of one document that are searched


class GraphStructure:
    """The edges among ``nodes``; a graph that is too wide is refused, with its width. ``free``: see `hm3_active`."""

    solver: type[BlockAscent] = BlockAscent
    batch, columns = ORACLE_BATCH, 0

    def __init__(self, taxonomy: Taxonomy, nodes: IntArray, *, free: bool = False) -> None:
        self.free = free
        self.nodes = np.sort(nodes)
        place = positions(taxonomy, self.nodes, with_root=True)
        first, second = (place[ends] for ends in taxonomy.edges)
        inside = (first >= 0) & (first < second)  # each edge is there either way round
        alone = np.setdiff1d(np.arange(len(self.nodes)), np.concatenate([first[inside], second[inside]]))
        first = np.concatenate([first[inside], np.full(len(alone), -1)])
        second = np.concatenate([second[inside], alone])
        self.labellings = PairLabellings(len(self.nodes), first, second, np.ones(len(first), dtype=bool))
        self.junctions = self.labellings.junctions  # refuses wide graphs
        self.space = GraphSpace(self.labellings)
        self.width = padded_width(self.space.size)

    def blocks(self, Y: CSR, weights: FloatArray, cost: str, C: FloatArray) -> DualBlocks:
        table = None if cost == "zero_one" else self._losses(weights[self.nodes])
        truth = Y[:, self.nodes].toarray().astype(bool)
        return ActiveBlocks(LabellingOracle(self.space, truth, table, self.free), C)

    def documents(self, kernel: Kernel, X: Matrix, bias: float, dtype: type[np.floating]) -> TrainingDocuments:
        return training_documents(kernel, X, self.width, self.columns, dtype, bias)

    def _losses(self, weights: FloatArray) -> FloatArray:
        """Losses of all pairs, n_pairs x 4 x 4: every node's weight shared by the pairs that hold it."""
        first, second, n = self.labellings.first, self.labellings.second, len(self.nodes)
        inner = first >= 0
        touching = np.bincount(first[inner], minlength=n) + np.bincount(second, minlength=n)
        share = weights / touching
        a, b = np.where(inner, share[np.maximum(first, 0)], 0.0), share[second]
        t, u = np.arange(4)[:, None], np.arange(4)
        return a[:, None, None] * ((t >> 1) != (u >> 1)) + b[:, None, None] * ((t & 1) != (u & 1))

    def margins(self, F: FloatArray, *, consistent: bool = True) -> FloatArray:
        return self.labellings.margins(self.space.pairs(self.space.scores(F)))

    def node_weights(self, F: FloatArray) -> FloatArray:
        """What a node alone gains over the empty set: enough where every document has one label."""
        H, first, second = self.space.pairs(self.space.scores(F)), self.labellings.first, self.labellings.second
        inner = first >= 0
        U = np.zeros((len(self.nodes), len(F)))
        np.add.at(U, second, np.where(inner, H[:, :, 1] - H[:, :, 0], H[:, :, 3] - H[:, :, 2]).T)
        np.add.at(U, first[inner], (H[:, inner, 2] - H[:, inner, 0]).T)
        return U.T

    def best(self, F: FloatArray, *, not_empty: bool = False) -> BoolArray:
        if not not_empty:
            return self.margins(F) > 0
        H = self.space.pairs(self.space.scores(F))
        return self.labellings.best_but(H, np.zeros((len(F), len(self.nodes)), dtype=bool))

    def ranked(self, F: FloatArray, k: int, rules: BoundRules) -> RankedSets:
        """The k best labellings that the rules allow, by enumerating labellings, best first.

        Scores are those of labellings minus that of the empty one. A document is not proved where the search ends at
        its limit before it has k sets.
        """
        H, n = self.space.pairs(self.space.scores(F)), rules.taxonomy.n_nodes
        nothing = np.zeros((1, len(self.nodes)), dtype=bool)
        scores, proved = np.full((len(F), k), -np.inf), np.ones(len(F), dtype=bool)
        sets: list[IntArray] = []
        fixed = np.where(rules.forced[self.nodes], 1, np.where(rules.allowed[self.nodes], -1, 0))
        possible = bool(rules.allowed[rules.forced].all() and rules.forced[self.nodes].sum() == rules.forced.sum())
        for d in range(len(F)):
            empty = self.labellings.score(H[d], nothing)[0]
            n_sets = 0
            for seen, (labels, score) in enumerate(self.labellings.ranked(H[d], fixed) if possible else (), 1):
                members = self.nodes[labels].astype(np.int32)
                if rules.obeyed(pattern(np.array([0, len(members)]), members, n))[0]:
                    scores[d, n_sets] = score - empty
                    sets.append(members)
                    n_sets += 1
                if n_sets == k or seen == _MOST_SETS:
                    proved[d] = n_sets == k
                    break
            sets += [np.empty(0, dtype=np.int32)] * (k - n_sets)
        indices = np.concatenate([np.empty(0, dtype=np.int32), *sets])
        return RankedSets(pattern(pointers(np.array([len(s) for s in sets], np.int64)), indices, n), scores, proved)
