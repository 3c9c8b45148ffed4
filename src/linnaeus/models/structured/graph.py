"""Any undirected graph, four features per edge: exact through a junction tree, where its width allows.

A graph has no above and below: all labellings are consistent, and a mistake costs what its node weighs, shared by the
edges that touch it. A node without edges has one to a label that is always 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus.decoding.rules import BoundRules
from linnaeus.decoding.sets.best_sets import RankedSets
from linnaeus.errors import ParameterError
from linnaeus.models.structured.active import ActiveBlocks, LabelingOracle
from linnaeus.models.structured.blocks import Blocks
from linnaeus.models.structured.labelings import PairLabelings
from linnaeus.models.structured.structure import Structure
from linnaeus.models.structured.views import GraphView, padded_width
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import pattern
from linnaeus.taxonomy.rows import pointers
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = ["GraphStructure"]

_MOST_SETS = 2000  # labellings of one document that are looked at


class GraphStructure(Structure):
    """The edges among ``nodes``; a graph that is too wide is refused, with its width. ``free``: see `active`."""

    columns = 0

    def __init__(self, taxonomy: Taxonomy, nodes: IntArray, *, free: bool = False) -> None:
        self.free = free
        self.nodes = np.sort(nodes)
        place = np.full(taxonomy.n_nodes, -1)
        place[self.nodes] = np.arange(len(self.nodes))
        first, second = (place[ends] for ends in taxonomy.edges)
        inside = (first >= 0) & (first < second)  # each edge is there either way round
        alone = np.setdiff1d(np.arange(len(self.nodes)), np.concatenate([first[inside], second[inside]]))
        first = np.concatenate([first[inside], np.full(len(alone), -1)])
        second = np.concatenate([second[inside], alone])
        self.labelings = PairLabelings(len(self.nodes), first, second, np.ones(len(first), dtype=bool))
        self.view = GraphView(self.labelings)
        self.width = padded_width(self.view.size)
        self.labelings.junctions  # noqa: B018  wide graphs are refused here

    def blocks(self, Y: CSR, weights: FloatArray, cost: str, C: FloatArray, **options: Any) -> Blocks:
        if cost == "hierarchical":
            raise ParameterError("cost='hierarchical' needs parents; a graph has none: use 'symmetric' or 'zero_one'.")
        table = None if cost == "zero_one" else self._losses(weights[self.nodes])
        truth = Y[:, self.nodes].toarray().astype(bool)
        return ActiveBlocks(LabelingOracle(self.view, truth, table, self.free), C)

    def _losses(self, weights: FloatArray) -> FloatArray:
        """Losses of all pairs, n_pairs x 4 x 4: every node's weight shared by the pairs that hold it."""
        first, second, n = self.labelings.first, self.labelings.second, len(self.nodes)
        inner = first >= 0
        touching = np.bincount(first[inner], minlength=n) + np.bincount(second, minlength=n)
        share = weights / touching
        a, b = np.where(inner, share[np.maximum(first, 0)], 0.0), share[second]
        t, u = np.arange(4)[:, None], np.arange(4)
        return a[:, None, None] * ((t >> 1) != (u >> 1)) + b[:, None, None] * ((t & 1) != (u & 1))

    def margins(self, F: FloatArray, *, consistent: bool = True) -> FloatArray:
        return self.labelings.margins(self.view.pairs(self.view.scores(F)))

    def node_weights(self, F: FloatArray) -> FloatArray:
        """What a node alone gains over nothing: enough where every document has one label."""
        H, first, second = self.view.pairs(self.view.scores(F)), self.labelings.first, self.labelings.second
        inner = first >= 0
        U = np.zeros((len(self.nodes), len(F)))
        np.add.at(U, second, np.where(inner, H[:, :, 1] - H[:, :, 0], H[:, :, 3] - H[:, :, 2]).T)
        np.add.at(U, first[inner], (H[:, inner, 2] - H[:, inner, 0]).T)
        return U.T

    def best_not_empty(self, F: FloatArray) -> BoolArray:
        """The labellings of largest score that have a label, n_docs x len(nodes)."""
        H = self.view.pairs(self.view.scores(F))
        return self.labelings.best_but(H, np.zeros((len(F), len(self.nodes)), dtype=bool))

    def ranked(self, F: FloatArray, k: int, rules: BoundRules) -> RankedSets:
        """The k best labellings that the rules allow, found by going through labellings best first.

        Scores are those of labellings less that of the empty one. A document is not proved where the search ends at
        its limit before it has found k sets.
        """
        H, n = self.view.pairs(self.view.scores(F)), rules.taxonomy.n_nodes
        nothing = np.zeros((1, len(self.nodes)), dtype=bool)
        scores, proved = np.full((len(F), k), -np.inf), np.ones(len(F), dtype=bool)
        sets: list[IntArray] = []
        fixed = np.where(rules.forced[self.nodes], 1, np.where(rules.allowed[self.nodes], -1, 0))
        possible = bool(rules.allowed[rules.forced].all() and rules.forced[self.nodes].sum() == rules.forced.sum())
        for d in range(len(F)):
            empty = self.labelings.score(H[d], nothing)[0]
            found = 0
            for seen, (labels, score) in enumerate(self.labelings.ranked(H[d], fixed) if possible else (), 1):
                members = self.nodes[labels].astype(np.int32)
                if rules.obeyed(pattern(np.array([0, len(members)]), members, n))[0]:
                    scores[d, found] = score - empty
                    sets.append(members)
                    found += 1
                if found == k or seen == _MOST_SETS:
                    proved[d] = found == k
                    break
            sets += [np.empty(0, dtype=np.int32)] * (k - found)
        indices = np.concatenate([np.empty(0, dtype=np.int32), *sets])
        return RankedSets(pattern(pointers(np.array([len(s) for s in sets], np.int64)), indices, n), scores, proved)
