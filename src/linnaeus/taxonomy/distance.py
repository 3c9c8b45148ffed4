"""How far apart two nodes are: lowest common ancestors and path lengths, for arrays of pairs.

A path goes up from one node to a common ancestor and down to the other; its length is its number of edges. A forest
has an implicit root above it, so that there is a path between any two nodes. In an undirected graph the path is the
shortest one along edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from linnaeus.engine import blocks
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, IntArray

__all__ = ["Nodes", "lowest_common_ancestors", "path_length"]

Nodes: TypeAlias = str | int | Sequence[str | int] | IntArray  # one node by name or number, or several

BLOCK = 50_000  # pairs processed at once where distances to all ancestors are kept in memory


def lowest_common_ancestors(taxonomy: Taxonomy, a: Nodes, b: Nodes) -> int | IntArray | list[IntArray]:
    """The common ancestors of ``a`` and ``b`` with no other common ancestor below them; a node is its own ancestor.

    Parameters
    ----------
    taxonomy : Taxonomy
        A tree, DAG or graph.
    a, b : str, int or sequence of these
        Nodes by name or number, or sequences of the same length.

    Returns
    -------
    int, array or list of arrays
        On a tree one number per pair, -1 if only the implicit root is above both nodes. On a DAG one array of numbers
        per pair, in a list if sequences were given.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "C"), ("B", "C"), ("A", "D"), ("B", "D")])
    >>> [str(tax.names[v]) for v in lowest_common_ancestors(tax, "C", "D")]
    ['A', 'B']
    """
    first, second, single = _pairs(taxonomy, a, b)
    if taxonomy.kind == "tree":
        found = _tree_lca(taxonomy, first, second)
        return int(found[0]) if single else found
    sets = _common_frontier(taxonomy, first, second)
    return sets[0] if single else sets


def path_length(taxonomy: Taxonomy, a: Nodes, b: Nodes) -> int | IntArray:
    """Number of edges from ``a`` up to a common ancestor and down to ``b``; -1 if they are not connected in a graph.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB")])
    >>> path_length(tax, "AA", "AB"), path_length(tax, "AA", "B")
    (2, 3)
    >>> path_length(tax, ["AA", "A"], ["AA", "R"]).tolist()
    [0, 1]
    """
    first, second, single = _pairs(taxonomy, a, b)
    if taxonomy.kind == "tree":
        depth = np.append(taxonomy.depth, 0)  # index -1: the implicit root
        length = depth[first] + depth[second] - 2 * depth[_tree_lca(taxonomy, first, second)]
    else:
        work = _graph_lengths if taxonomy.kind == "graph" else _dag_lengths
        parts = [work(taxonomy, first[some], second[some]) for some in blocks(len(first), BLOCK)]
        length = np.concatenate([np.empty(0, np.int64), *parts])
    return int(length[0]) if single else length.astype(np.int64)


def _pairs(taxonomy: Taxonomy, a: Nodes, b: Nodes) -> tuple[IntArray, IntArray, bool]:
    single = all(isinstance(node, (str, int, np.integer)) for node in (a, b))
    first, second = (_numbers(taxonomy, node) for node in (a, b))
    first, second = np.broadcast_arrays(first, second)
    return first, second, single


def _numbers(taxonomy: Taxonomy, nodes: Nodes) -> IntArray:
    if isinstance(nodes, (str, int, np.integer)):
        return np.array([taxonomy.index(nodes if isinstance(nodes, str) else int(nodes))])
    if isinstance(nodes, np.ndarray) and nodes.dtype.kind in "iu":
        wrong = nodes[(nodes < 0) | (nodes >= taxonomy.n_nodes)]
        return nodes.astype(np.int64) if not wrong.size else np.array([taxonomy.index(int(wrong[0]))])
    return np.array([taxonomy.index(node) for node in nodes], dtype=np.int64)


def _tree_lca(taxonomy: Taxonomy, a: IntArray, b: IntArray) -> IntArray:
    # Numbers grow with the level, so of two different nodes the one with the larger number cannot be above the other.
    a, b = a.copy(), b.copy()
    apart = np.flatnonzero(a != b)
    while len(apart):
        left, right = a[apart], b[apart]
        lift = left > right
        a[apart[lift]] = taxonomy.parent[left[lift]]
        b[apart[~lift]] = taxonomy.parent[right[~lift]]
        apart = apart[a[apart] != b[apart]]
    return a


def _common_frontier(taxonomy: Taxonomy, a: IntArray, b: IntArray) -> list[IntArray]:
    from linnaeus.taxonomy import closure

    found: list[IntArray] = []
    for some in blocks(len(a), BLOCK):
        above_a, above_b = (
            closure.pattern(*closure.ancestor_sets(taxonomy, nodes[some]), taxonomy.n_nodes) for nodes in (a, b)
        )
        lowest = closure.frontier(taxonomy, above_a.multiply(above_b))
        found += np.split(lowest.indices, lowest.indptr[1:-1])
    alone = np.array([] if taxonomy.root is None else [taxonomy.root], dtype=np.int32)
    return [nodes if len(nodes) else alone for nodes in found]


def _dag_lengths(taxonomy: Taxonomy, a: IntArray, b: IntArray) -> IntArray:
    nodes, place = np.unique(np.concatenate([a, b]), return_inverse=True)
    steps = _steps_up(taxonomy, nodes)  # stored: number of edges + 1, so that a distance of 0 is not an empty cell
    left, right = steps[place[: len(a)]], steps[place[len(a) :]]
    there_left, there_right = left.astype(bool), right.astype(bool)
    both = (left.multiply(there_right) + right.multiply(there_left)).tocsr()
    shortest: IntArray = np.minimum.reduceat(both.data, both.indptr[:-1]) - 2
    return shortest


def _steps_up(taxonomy: Taxonomy, nodes: IntArray) -> CSR:
    """Length + 1 of the shortest path from each node up to each ancestor; the last column is the implicit root."""
    from scipy import sparse

    n = taxonomy.n_nodes
    n_parents = np.diff(taxonomy.parent_indptr)
    row, at = np.arange(len(nodes), dtype=np.int64), nodes.astype(np.int64)
    seen = row * (n + 1) + at
    known, steps, level = [seen], [np.ones(len(seen), np.int32)], 1
    while len(row):
        level += 1
        counts = np.where(at < n, n_parents[np.minimum(at, n - 1)], 0)
        offset = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        up = taxonomy.parent_indices[np.repeat(taxonomy.parent_indptr[np.minimum(at, n - 1)], counts) + offset]
        top = (at < n) & (counts == 0)
        reached = np.concatenate([np.repeat(row, counts) * (n + 1) + up, row[top] * (n + 1) + n])
        reached = np.setdiff1d(reached, seen)
        seen = np.union1d(seen, reached)
        known.append(reached)
        steps.append(np.full(len(reached), level, np.int32))
        row, at = reached // (n + 1), reached % (n + 1)
    cell = np.concatenate(known)
    return sparse.csr_array((np.concatenate(steps), (cell // (n + 1), cell % (n + 1))), shape=(len(nodes), n + 1))


def _graph_lengths(taxonomy: Taxonomy, a: IntArray, b: IntArray) -> IntArray:
    from scipy.sparse.csgraph import dijkstra

    from linnaeus.taxonomy.closure import pattern

    graph = pattern(taxonomy.parent_indptr, taxonomy.parent_indices, taxonomy.n_nodes).astype(np.float64)
    length = np.empty(len(a), dtype=np.int64)
    starts, place = np.unique(a, return_inverse=True)
    for i, start in enumerate(starts):  # one row of distances at a time, never an n_nodes x n_nodes matrix
        away = dijkstra(graph, indices=int(start), unweighted=True)
        here = np.flatnonzero(place == i)
        length[here] = np.where(np.isinf(away[b[here]]), -1, away[b[here]])
    return length
