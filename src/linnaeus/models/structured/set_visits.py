"""Passes of the structured passive-aggressive learner over shards of documents, in the dual.

    U = the best label set of x under the weights now,   m = the right one,   rho = 1 - 2 |m & U| / (|m| + |U|)
    where rho > 0:   w += tau D,   D = Phi(x, m) - Phi(x, U),   tau = min(C, (score(U) - score(m) + sqrt(rho)) / |D|^2)

Alternatively U is the set of largest score(U) + sqrt(rho(U)) ("max_loss"; exact on trees among sets of at most `SPARE`
labels more than the right one has).

D puts +x or -x at the nodes in which the two sets differ, so a pass over a shard adds X' A, with a sparse row of
coefficients A for every document. Within the shard the scores of a document are those of the weights at the beginning
and <x_i, x_j> A_j of the documents before it: no array of features x nodes is needed, and shards send only A and the
few scores of branching (`decoding.sets`). Shards start from the same weights and are then averaged (iterative parameter
mixing; McDonald et al. 2010).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse

from linnaeus._kernels import dispatch
from linnaeus.engine.limits import blocks, rows_that_fit
from linnaeus.models.linear import Scorer
from linnaeus.models.solvers.passive_aggressive import squared_norms
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import parent_sets, pointers
from linnaeus.typing import CSR, Array, BoolArray, FloatArray, IntArray

__all__ = ["SPARE", "Branching", "ShardResult", "Shards", "TreeOfNodes", "visit_shard"]

SPARE = 8


@dataclass(frozen=True)
class TreeOfNodes:
    """The nodes of a model as a tree: parents first, siblings by name, so that ties do not depend on numbers.

    ``order[v]`` is the column of node v in the model. On a DAG the tree has the first parent, by name, of every node;
    ``parents`` has them all. What stands above the tops is node ``n_nodes``.
    """

    order: IntArray
    child_indptr: IntArray
    children: IntArray
    parent_indptr: IntArray
    parents: IntArray

    @property
    def n_nodes(self) -> int:
        return len(self.order)

    @classmethod
    def of(cls, taxonomy: Taxonomy, nodes: IntArray) -> TreeOfNodes:
        """The tree of some nodes, which are closed under ancestors.

        Examples
        --------
        >>> tax = Taxonomy.from_edges([("R", "B"), ("R", "A"), ("A", "C")])
        >>> nodes = np.array([tax.index(name) for name in ("A", "B", "C")])
        >>> tree = TreeOfNodes.of(tax, nodes)
        >>> tree.order.tolist(), tree.children.tolist(), tree.parents.tolist()
        ([0, 1, 2], [2, 0, 1], [3, 3, 0])
        """
        indptr, above = parent_sets(taxonomy, keep_root=False)
        names = taxonomy.names.astype(str)
        rank = np.empty(taxonomy.n_nodes, dtype=np.int64)
        rank[np.argsort(names, kind="stable")] = np.arange(taxonomy.n_nodes)
        first = np.full(taxonomy.n_nodes, -1, dtype=np.int64)
        depth = np.zeros(taxonomy.n_nodes, dtype=np.int64)
        for v in np.argsort(taxonomy.depth, kind="stable").tolist():
            mine = above[indptr[v] : indptr[v + 1]]
            if len(mine):
                first[v] = mine[rank[mine].argmin()]
                depth[v] = depth[first[v]] + 1
        order = np.lexsort((rank[nodes], depth[nodes]))
        m = len(nodes)
        place = np.full(taxonomy.n_nodes + 1, m, dtype=np.int64)  # the last for tops, whose first parent is -1
        place[nodes[order]] = np.arange(m)
        tree_parent = place[first[nodes[order]]]
        children = np.argsort(tree_parent, kind="stable").astype(np.int32)
        child_indptr = pointers(np.bincount(tree_parent, minlength=m + 1))
        lists = [sorted(place[above[indptr[v] : indptr[v + 1]]].tolist()) or [m] for v in nodes[order].tolist()]
        parents = np.array([p for row in lists for p in row], dtype=np.int32)
        parent_indptr = pointers(np.array([len(row) for row in lists]))
        return cls(order, child_indptr.astype(np.int64), children, parent_indptr.astype(np.int64), parents)


@dataclass
class Branching:
    """Scores of branching in the buckets no child, 1 .. R children, more: of single nodes, and shared by all."""

    node: FloatArray  # (n_nodes + 1) x (R + 2)
    shared: FloatArray  # R + 2

    @classmethod
    def zeros(cls, n_nodes: int, R: int) -> Branching:
        return cls(np.zeros((n_nodes + 1, R + 2)), np.zeros(R + 2))

    def plus(self, other: Branching, factor: float = 1.0) -> Branching:
        return Branching(self.node + factor * other.node, self.shared + factor * other.shared)


@dataclass(frozen=True)
class Shards:
    """What all shards of a pass share; columns of ``closed`` are nodes of the tree."""

    X: CSR
    weight: FloatArray
    closed: CSR
    tree: TreeOfNodes
    ends: BoolArray  # where a set may end; last: whether it may be empty
    one: bool  # whether sets are single paths
    branching_scale: float  # squared value of the features of branching; 0: they are not learned
    C: float
    W: CSR  # n_features x nodes of the tree, at the beginning
    branching: Branching = field(default_factory=lambda: Branching.zeros(0, 1))
    max_loss: bool = False

    @cached_property
    def scorer(self) -> Scorer:
        """The weights laid out for scoring; once for all shards of a process."""
        return Scorer(self.W, None, np.zeros(self.tree.n_nodes))

    def __getstate__(self) -> dict[str, object]:  # workers compute their own layout
        return {key: value for key, value in self.__dict__.items() if key != "scorer"}


@dataclass(frozen=True)
class ShardResult:
    """Coefficients of the visited documents, what branching has gained, its (visits before) x gain, and counts."""

    coefficients: CSR
    branching: Branching
    drift: Branching
    n_updates: int
    n_skipped: int


def visit_shard(shared: Shards, rows: IntArray) -> ShardResult:
    """Visit the documents ``rows`` in this order, from the weights at the beginning of the pass."""
    X, gold, tree = shared.X[rows], shared.closed[rows], shared.tree
    n_docs, m = len(rows), tree.n_nodes
    node, common = shared.branching.node.copy(), shared.branching.shared.copy()
    drift = Branching.zeros(m, node.shape[1] - 2)
    indptr, counts = np.zeros(n_docs + 1, dtype=np.int64), np.zeros(2, dtype=np.int64)
    indices, data = np.zeros(0, dtype=np.int32), np.zeros(0)
    documents = (
        X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data, squared_norms(X),
        shared.weight[rows], gold.indptr.astype(np.int64), gold.indices.astype(np.int32, copy=False),
    )  # fmt: skip
    layout = (tree.child_indptr, tree.children, tree.parent_indptr, tree.parents, shared.ends.astype(np.uint8))
    how = (int(shared.one), shared.branching_scale, shared.C, SPARE if shared.max_loss else -1)
    scorer, work = shared.scorer, np.zeros(shared.X.shape[1])
    learn = dispatch.best("passive_aggressive").learn_sets
    used = 0
    for part in blocks(n_docs, rows_that_fit(8 * m)):
        base = scorer.scores(X[part])
        room = used + len(base) * m  # pages that are not written to take no memory
        indices, data = _longer(indices, used, room), _longer(data, used, room)
        places = (node, common, drift.node, drift.shared, indptr, indices, data, work, counts)
        used = learn(documents, base, part.start, layout, *how, places)
    A = sparse.csr_array((data[:used].copy(), indices[:used].copy(), indptr), shape=(n_docs, m))
    gained = Branching(node, common).plus(shared.branching, -1.0)
    return ShardResult(A, gained, drift, int(counts[0]), int(counts[1]))


def _longer(array: Array, used: int, room: int) -> Array:
    grown = np.empty(room, array.dtype)
    grown[:used] = array[:used]
    return grown
