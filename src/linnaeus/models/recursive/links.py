"""From a taxonomy and the labels in it to who pulls at whom.

Every label is a *leaf*: a column with a loss. All other vertices are *inner*: weights without a loss, to be shared.

    tree, DAG   a label without children is its own leaf, linked to all its parents; under a label with children a leaf
                is spawned. Nodes without parents hang on the root (an artificial one where there are several), which
                is pulled to zero.
    graph       every labelled node is a leaf; between two adjacent leaves stands an inner dummy, for two leaves must
                not pull at each other directly. In each component the inner vertex of highest degree is pulled to
                zero.

A leaf that is linked to nothing is pulled to zero itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import IntArray

__all__ = ["Links", "links_of"]


@dataclass
class Links:
    """Inner vertices 0..n_inner-1 and leaves, linked with weights; ``anchor`` is a vertex's pull to zero.

    ``node`` is the taxonomy's number of an inner vertex, -1 for artificial ones; ``level`` its distance from the root.
    """

    inner: list[dict[int, float]] = field(default_factory=list)  # inner -> {inner: weight}, both ways
    leaves: list[dict[int, float]] = field(default_factory=list)  # leaf -> {inner: weight}
    anchor: list[float] = field(default_factory=list)
    node: list[int] = field(default_factory=list)
    level: list[int] = field(default_factory=list)
    leaf_level: list[int] = field(default_factory=list)

    def add_inner(self, node: int = -1, level: int = 0) -> int:
        self.inner.append({})
        self.anchor.append(0.0)
        self.node.append(node)
        self.level.append(level)
        return len(self.inner) - 1

    def add_leaf(self, neighbours: dict[int, float], level: int = 0) -> None:
        self.leaves.append(neighbours)
        self.leaf_level.append(level)

    def join(self, u: int, v: int, weight: float = 1.0) -> None:
        """A link between two inner vertices; parallel links add up."""
        self.inner[u][v] = self.inner[u].get(v, 0.0) + weight
        self.inner[v][u] = self.inner[v].get(u, 0.0) + weight


def links_of(taxonomy: Taxonomy, labels: IntArray, *, spawn: str = "inner", root: float = 1.0) -> Links:
    """Links of the leaves for ``labels`` (in that order).

    ``spawn="inner"`` gives labels with children a leaf of their own, ``"all"`` gives one to every label. ``root`` is
    the weight of the pull to zero.
    """
    if taxonomy.kind == "graph":
        return _graph_links(taxonomy, labels, root)
    links = Links()
    labelled = np.zeros(taxonomy.n_nodes, bool)
    labelled[labels] = True
    # A node without documents and children says something only where it joins several parents.
    is_inner = ~taxonomy.is_leaf | (~labelled & (np.diff(taxonomy.parent_indptr) > 1))
    if spawn == "all":
        is_inner |= labelled
    inner_of = {int(v): links.add_inner(int(v), int(taxonomy.depth[v])) for v in np.flatnonzero(is_inner)}
    top = inner_of.get(-1 if taxonomy.root is None else int(taxonomy.root))
    if top is None:
        top = links.add_inner()
    links.anchor[top] = root
    for v, u in inner_of.items():
        if u != top:
            for p in _parents(taxonomy, v, inner_of, top):
                links.join(u, p)
    for v in labels.tolist():
        if v in inner_of:
            links.add_leaf({inner_of[v]: 1.0}, int(taxonomy.depth[v]) + 1)
        else:
            links.add_leaf(dict.fromkeys(_parents(taxonomy, v, inner_of, top), 1.0), int(taxonomy.depth[v]))
    return links


def _parents(taxonomy: Taxonomy, v: int, inner_of: dict[int, int], top: int) -> list[int]:
    return [inner_of[p] for p in taxonomy.parents(v).tolist()] or [top]


def _graph_links(taxonomy: Taxonomy, labels: IntArray, root: float) -> Links:
    links = Links()
    leaf_of = {int(v): i for i, v in enumerate(labels)}
    inner_of = {v: links.add_inner(v) for v in range(taxonomy.n_nodes) if v not in leaf_of}
    neighbours: list[dict[int, float]] = [{} for _ in labels]
    for u in range(taxonomy.n_nodes):
        for v in taxonomy.parents(u).tolist():
            if u < v and u in leaf_of and v in leaf_of:
                dummy = links.add_inner()
                neighbours[leaf_of[u]][dummy] = neighbours[leaf_of[v]][dummy] = 1.0
            elif u < v and u in inner_of and v in inner_of:
                links.join(inner_of[u], inner_of[v])
            elif u in leaf_of and v in inner_of:
                neighbours[leaf_of[u]][inner_of[v]] = 1.0
    for near in neighbours:
        links.add_leaf(near)
    for component in _components(links):
        degree = {u: len(links.inner[u]) for u in component}
        for near in links.leaves:
            for u in near.keys() & degree.keys():
                degree[u] += 1
        links.anchor[max(component, key=lambda u: (degree[u], -u))] = root
    return links


def _components(links: Links) -> list[list[int]]:
    """Inner vertices of every connected component, leaves joining what they are linked to."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    n = len(links.inner)
    pairs = [(u, v) for u in range(n) for v in links.inner[u]]
    pairs += [(next(iter(near)), v) for near in links.leaves for v in near]
    if not n:
        return []
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    adjacency = sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
    _, component = connected_components(adjacency, directed=False)
    order = np.argsort(component, kind="stable")
    return [part.tolist() for part in np.split(order, np.flatnonzero(np.diff(component[order])) + 1)]
