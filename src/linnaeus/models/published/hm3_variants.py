"""Variants of H-M3: other slacks, costs, features and algorithms, and which of them go together.

taxonomy   features             slack                  cost                              exact by
tree       edges                example, free, edge    symmetric, hierarchical, zero_one tree program
tree       paths                example, free          the same                          tree program
tree       additive, or local   example                symmetric, hierarchical           tree program
DAG        edges                example                symmetric, hierarchical           minimum cut
graph      edges                example, free          symmetric, zero_one               junction tree

J. Rousu, C. Saunders, S. Szedmak and J. Shawe-Taylor, JMLR 7, 2006, and the same authors, NIPS 2005 and ICML 2005. The
default (a tree or DAG, edges, example, symmetric or hierarchical cost) is in `models.structured`.

Any undirected graph, four features per edge: exact through a junction tree, where its width allows.

A graph has no parents and children: all labellings are consistent, and a mistake costs the weight of its node, shared
by the edges that touch it. A node without edges has one to a label that is always 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from linnaeus._kernels.margin_closure import move_to_set
from linnaeus._kernels.margin_scores import margins
from linnaeus.decoding import RankedSets
from linnaeus.decoding.base import hierarchy, positions
from linnaeus.decoding.rules import BoundRules
from linnaeus.errors import ParameterError
from linnaeus.models.published.hm3_active import ActiveBlocks, LabellingOracle
from linnaeus.models.published.hm3_labellings import (
    EdgeSpace,
    GraphSpace,
    LabellingSpace,
    PairLabellings,
    PathSpace,
    compressed,
)
from linnaeus.models.structured.block_ascent import BlockAscent, DualBlocks, Structure, TrainingDocuments
from linnaeus.models.structured.dag import ClosureBlocks, ClosureStructure
from linnaeus.models.structured.documents import training_documents
from linnaeus.models.structured.tree import (
    Layout,
    TreeBlocks,
    TreeStructure,
    edge_losses,
    edge_scores,
    padded_width,
    true_edges,
)
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import pattern, pointers
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray, Kernel, Matrix

if TYPE_CHECKING:
    from linnaeus.models.structured.hm3 import HM3

__all__ = [
    "ORACLE_BATCH",
    "ActiveTree",
    "ConditionalGradient",
    "ConditionalTree",
    "EdgeSlackBlocks",
    "GraphStructure",
    "PathTree",
    "check_variant",
    "variant_structure",
]

ORACLE_BATCH = 128  # an oracle written in Python takes hardly longer for more documents
_MOVES = 8  # of mass at every edge in one visit of a document
_STEPS, _WORKING_SET = 10, 128  # of conditional gradient: steps per draw of a document, documents drawn at a time


# -- what goes together ------------------------------------------------------------------------------------------------


def check_variant(model: HM3) -> None:
    """Refuse parameters that cannot be combined, whatever the taxonomy."""
    if model.cost == "zero_one" and model.slack == "edge":
        raise ParameterError("cost='zero_one' is not a sum over edges; slack='edge' needs another cost.")
    if model.features == "additive" and model.local_features is None:
        raise ParameterError(
            "features='additive' needs local_features: features shared by all edges cannot distinguish them."
        )
    if model.features == "paths" and model.slack == "edge":
        raise ParameterError("slack='edge' needs features='edges'; partial paths have no features of edges.")
    if model.local_features is not None and (model.slack != "example" or model.cost == "zero_one"):
        raise ParameterError("local_features need slack='example' and cost='symmetric' or 'hierarchical'.")
    if model.local_features is not None and model.features == "paths":
        raise ParameterError("local_features need features='edges' or 'additive'.")
    plain = model.slack == "example" and model.features == "edges" and model.cost != "zero_one"
    if model.algorithm == "conditional-gradient" and not (plain and model.local_features is None):
        raise ParameterError("algorithm='conditional-gradient' needs slack='example' and features='edges'.")


def variant_structure(model: HM3, taxonomy: Taxonomy, nodes: IntArray) -> Structure:
    """The structure that the (validated) parameters of a model ask for, over the nodes that it learns."""
    if taxonomy.kind == "graph":
        return _graph(model, taxonomy, nodes)
    if not hierarchy(taxonomy).is_forest:
        return _dag(model, taxonomy, nodes)
    consistent = model.train_labellings == "consistent"
    if model.features == "paths":
        return PathTree(taxonomy, nodes, free=model.slack == "free")
    if model.local_features is not None:
        from linnaeus.models.published.hm3_local import AdditiveTree, LocalTree

        local = AdditiveTree if model.features == "additive" else LocalTree
        return local(taxonomy, nodes, model.root, consistent=consistent, columns=model.local_features)
    if model.algorithm == "conditional-gradient":
        return ConditionalTree(taxonomy, nodes, model.root, consistent=consistent)
    if model.slack == "edge":
        return _EdgeSlackTree(taxonomy, nodes, model.root, consistent=consistent)
    return ActiveTree(taxonomy, nodes, model.root, consistent=consistent, free=model.slack == "free")


def _graph(model: HM3, taxonomy: Taxonomy, nodes: IntArray) -> Structure:

    if model.features != "edges" or model.slack == "edge" or model.local_features is not None:
        raise ParameterError("A graph needs features='edges', slack='example' or 'free', and no local_features.")
    if model.cost == "hierarchical":
        raise ParameterError("cost='hierarchical' needs parents; a graph has none: use 'symmetric' or 'zero_one'.")
    return GraphStructure(taxonomy, nodes, free=model.slack == "free")


def _dag(model: HM3, taxonomy: Taxonomy, nodes: IntArray) -> Structure:
    if model.algorithm != "conditional-gradient":
        several = np.flatnonzero(np.diff(hierarchy(taxonomy).parent_indptr) > 1)[0]
        raise ParameterError(
            f"Node {taxonomy.names[several]!r} has several parents: a DAG needs features='edges', slack='example', no "
            "local_features, and cost='symmetric' or 'hierarchical'."
        )
    return _ConditionalDag(taxonomy, nodes)


# -- other slacks, costs and features on trees -------------------------------------------------------------------------


class ActiveTree(TreeStructure):
    """A tree whose documents keep a few labellings (`hm3_active`): for zero-one cost and free slacks.

    ``free``: the true labelling does not compete. A document that exceeds its margin is rewarded, because its slack is
    negative, and every document contributes to the weights.
    """

    batch = ORACLE_BATCH

    def __init__(self, taxonomy: Taxonomy, nodes: IntArray, root: str, *, consistent: bool, free: bool = False) -> None:
        super().__init__(taxonomy, nodes, root, consistent=consistent)
        self.free, self.always_on = free, taxonomy.root

    @property
    def space(self) -> LabellingSpace:
        """Where labellings are vectors."""
        return EdgeSpace(self.layout)

    def blocks(self, Y: CSR, weights: FloatArray, cost: str, C: FloatArray) -> DualBlocks:
        truth = (true_edges(Y, self.layout, self.always_on) & 1).astype(bool)
        table = None if cost == "zero_one" else edge_losses(self.layout, weights[self.nodes], cost)
        return ActiveBlocks(LabellingOracle(self.space, truth, table, self.free), C)


class PathTree(ActiveTree):
    """Trees with one feature per partial path: the scores of a node count where it, and all nodes above it, are on.

        score(x, y) = sum over nodes v that are on of <w_v, phi(x)>

    for consistent labellings y: n weight vectors instead of four for every edge. A root is on and has no weights.
    """

    columns = 0

    def __init__(self, taxonomy: Taxonomy, nodes: IntArray, *, free: bool = False) -> None:
        super().__init__(taxonomy, nodes, "super", consistent=True, free=free)
        self.width, self.columns, self.always_on = padded_width(self.layout.n), 0, None

    @property
    def space(self) -> LabellingSpace:
        return PathSpace(self.layout)

    def margins(self, F: FloatArray, *, consistent: bool = True) -> FloatArray:
        U, at = self.node_weights(F), self.layout
        # As scores of edges: the weight of a node is gained or lost in halves where its parent is on, so a parent
        # compensates what its children lose when they are off.
        for v in range(at.n - 1, -1, -1):
            if at.parent[v] >= 0:
                U[:, at.parent[v]] += 0.5 * U[:, v]
        halves = np.zeros((len(U), at.width))
        halves[:, : 2 * at.n : 2], halves[:, 1 : 2 * at.n : 2] = -0.5 * U, 0.5 * U
        result = np.empty((len(F), at.n))
        margins(halves, at.parent, at.columns, True, result)
        return result

    def node_weights(self, F: FloatArray) -> FloatArray:
        return np.array(F[:, : self.layout.n], dtype=np.float64)


class _EdgeSlackTree(TreeStructure):
    def blocks(self, Y: CSR, weights: FloatArray, cost: str, C: FloatArray) -> DualBlocks:
        table = edge_losses(self.layout, weights[self.nodes], cost)
        return EdgeSlackBlocks(self.layout, table, true_edges(Y, self.layout, self.root), C)


class EdgeSlackBlocks:
    """One slack for every document and edge: the problem separates into a small one for each edge.

        min_w  1/2 |w|^2 + C sum_{i,e} max_u [ l_e(t_ie, u) - (F_e,t - F_e,u)(x_i) ]     t_ie: true labelling of edge e

    The tables of mass mu (n_docs x n x 4) need not agree on the nodes that edges share: each has its own C_i, and moves
    alone, from the labelling of least slope to that of largest, by the exact step; all edges of a document at once. The
    optimum is at least that of one slack per document, because the sum of the largest is at least the largest sum.
    """

    def __init__(self, layout: Layout, loss: FloatArray, truth: IntArray, C: FloatArray) -> None:
        self.layout, self.loss, self.truth = layout, loss, truth.astype(np.intp)
        self.C, self.gaps = np.asarray(C, dtype=np.float64), np.full(len(C), np.inf)
        self.mu = np.zeros((*truth.shape, 4))
        np.put_along_axis(self.mu, self.truth[:, :, None], self.C[:, None, None], axis=2)
        self.barred = np.zeros((layout.n, 4), dtype=bool)
        self.barred[layout.parent < 0, :2] = True  # above a top the label is always 1
        if layout.consistent:
            self.barred[:, 1] = True
        self.barred[layout.tied == 0] = True

    def turn(self, F: FloatArray, gram: FloatArray, batch: IntArray, times: IntArray | None = None) -> FloatArray:
        scores = edge_scores(F, self.layout)
        changes = np.zeros_like(scores)
        for b, i in enumerate(batch.tolist()):
            here = scores[b] + np.tensordot(gram[b, :b], changes[:b], axes=1)
            slopes = self._slopes(here, i)
            mu, norm = self.mu[i], float(gram[b, b])
            largest = np.where(self.barred, -np.inf, slopes).max(axis=1)
            gaps = self.C[i] * largest - (mu * slopes).sum(axis=1)
            self.gaps[i] = max(float(gaps[self.layout.tied == 1].sum()), 0.0)
            before = mu.copy()
            self._move(mu, slopes, norm)
            changes[b] = before - mu  # D = [u = t] C - mu
        return compressed(changes, self.layout).astype(F.dtype)

    def _slopes(self, F: FloatArray, i: int) -> FloatArray:
        edges = np.arange(self.layout.n)
        slopes: FloatArray = self.loss[edges, self.truth[i]] + F - F[edges, self.truth[i]][:, None]
        return slopes

    def _move(self, mu: FloatArray, slopes: FloatArray, norm: float) -> None:
        edges = np.arange(len(mu))
        for _ in range(_MOVES):
            up = np.where(self.barred, -np.inf, slopes).argmax(axis=1)
            down = np.where(mu > 0, slopes, np.inf).argmin(axis=1)
            gain = np.where(self.layout.tied == 1, slopes[edges, up] - slopes[edges, down], 0.0)
            if gain.max(initial=0.0) <= 1e-12:
                return
            # A move of mass s changes two scores of the edge by norm * s each way.
            step = mu[edges, down] if norm <= 0 else np.minimum(mu[edges, down], gain / (2 * norm))
            step = np.where((up == down) | (gain <= 0), 0.0, step)
            mu[edges, up] += step
            mu[edges, down] = np.where(step >= mu[edges, down], 0.0, mu[edges, down] - step)
            slopes[edges, up] -= norm * step
            slopes[edges, down] += norm * step

    def slacks(self, F: FloatArray, batch: IntArray, scales: FloatArray) -> FloatArray:
        scores, truth = edge_scores(F, self.layout), self.truth[batch]
        margins = scores - np.take_along_axis(scores, truth[:, :, None], axis=2)
        losses = self.loss[np.arange(self.layout.n), truth]
        largest_sums = np.empty((len(batch), len(scales)))
        for k, scale in enumerate(np.asarray(scales, dtype=np.float64).tolist()):
            largest = np.where(self.barred, -np.inf, losses + scale * margins).max(axis=2)
            largest_sums[:, k] = largest[:, self.layout.tied == 1].sum(axis=1)
        return largest_sums

    def linear_term(self) -> float:
        edges = np.arange(self.layout.n)
        return float(sum(np.vdot(self.loss[edges, t], mu) for t, mu in zip(self.truth, self.mu, strict=True)))

    def coefficients(self, batch: IntArray | slice) -> FloatArray:
        true = self.truth[batch][:, :, None] == np.arange(4)
        return compressed(true * self.C[batch][:, None, None] - self.mu[batch], self.layout)

    def take(self, before: EdgeSlackBlocks) -> None:
        times = np.divide(self.C, before.C, out=np.zeros_like(self.C), where=before.C > 0)
        self.mu = before.mu * times[:, None, None]


# -- conditional gradient ----------------------------------------------------------------------------------------------


class ConditionalGradient(BlockAscent):
    """The algorithm of the paper: working sets of documents are drawn in proportion to their gaps, with repetition."""

    def _order(self) -> Iterator[tuple[IntArray, IntArray | None]]:
        n = len(self.blocks.C)
        size = min(n, _WORKING_SET)
        for _ in range(-(-n // size)):
            gaps = self.blocks.gaps
            if not np.isfinite(gaps).all():  # some have not been visited
                unknown = np.flatnonzero(~np.isfinite(gaps))
                yield self.rng.permutation(unknown)[:size].astype(np.int64), None
                continue
            chance = np.maximum(gaps, 0.0)
            chance = chance + 0.01 * chance.mean() + 1e-300
            drawn, times = np.unique(self.rng.choice(n, size=size, p=chance / chance.sum()), return_counts=True)
            yield drawn.astype(np.int64), times  # a document drawn r times may take r times the steps


class _ConditionalTreeBlocks(TreeBlocks):
    sweeps, share, conditional_gradient = _STEPS, 1e-9, True


class ConditionalTree(TreeStructure):
    """A tree that is trained by conditional gradient."""

    solver = ConditionalGradient

    def blocks(self, Y: CSR, weights: FloatArray, cost: str, C: FloatArray) -> DualBlocks:
        loss = edge_losses(self.layout, weights[self.nodes], cost)
        return _ConditionalTreeBlocks(self.layout, loss, true_edges(Y, self.layout, self.root), C)


class _ConditionalClosureBlocks(ClosureBlocks):
    rounds = _STEPS

    def _step(self, U: FloatArray, m: FloatArray, best: FloatArray, kappa: float, C: float) -> None:
        move_to_set(U, m, C * best - m, *self.structure.arrays, kappa, C, 1.0)


class _ConditionalDag(ClosureStructure):
    solver = ConditionalGradient

    def blocks(self, Y: CSR, weights: FloatArray, cost: str, C: FloatArray) -> DualBlocks:
        truth = np.ascontiguousarray(Y[:, self.nodes].toarray()).astype(bool)
        return _ConditionalClosureBlocks(self, self.losses(weights[self.nodes], cost), truth, C)


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
