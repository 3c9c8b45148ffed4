"""From a taxonomy and its labels to a network of weights, and the inner vertices of it that can be solved exactly.

Every label is a *leaf*: a column with a loss. All other vertices are *inner*: weights without a loss, to be shared.

    tree, DAG   a label without children is its own leaf, linked to all its parents; under a label with children a leaf
                is spawned. Nodes without parents are linked to the root (an artificial one where there are several),
                which is pulled to zero.
    graph       every labelled node is a leaf; between two adjacent leaves stands an artificial inner vertex, for two
                leaves must not pull at each other directly. In each component the inner vertex of highest degree is
                pulled to zero.

A leaf that is linked to nothing is pulled to zero itself.

Series rule: an inner vertex with two neighbours, no pull to zero and at most one leaf has its optimum between them, so
that the two links act as one of weight r s / (r + s). Vertices with one neighbour follow it. On a real taxonomy, where
most nodes hold a single label, this leaves a third of the vertices, and the same optimum.

A leaf n with links r_p to several inner vertices p has the centre m_n = sum_p (r_p / S) m_p, S = sum_p r_p; its links
are one link of weight S to the centre and conductances r_p r_q / S among its neighbours.

Elimination takes the vertex of lowest degree first; on a tree that costs nothing, on DAGs a little. On a large DAG
(MeSH: 6,000 inner vertices, 130,000 edges with the fill) the last few hundred vertices form a clique: from a degree of
`_SPARSE` on, rows of neighbours are integers, a bit for each vertex that is left.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, Array, FloatArray, IntArray

__all__ = [
    "Links",
    "Network",
    "in_order",
    "lay_out",
    "leaf_order",
    "links_of",
    "make_network",
    "node_shares",
    "reduce_links",
    "shares_of_leaves",
    "shares_of_nodes",
    "unlabelled_weights",
    "with_leaf_order",
]

MOST_PULL = 1e6  # times a link: inner vertices are zero to single precision
_SPARSE = 8  # neighbours: up to here sets are faster than bits
_LARGE_FILL = 20  # pairs of later neighbours per edge; MeSH has 60
_PAIRS = 2**20  # of neighbours that are looked up at a time

# -- links -------------------------------------------------------------------------------------------------------------


@dataclass
class Links:
    """Inner vertices 0..n_inner-1 and leaves, linked with weights; ``anchor`` is a vertex's pull to zero.

    ``node`` is the taxonomy's number of an inner vertex, -1 for artificial ones; ``level`` its distance from the root.
    ``later`` is known after `in_order`: the neighbours that every inner vertex has left when it is eliminated.
    """

    inner: list[dict[int, float]] = field(default_factory=list)  # inner -> {inner: weight}, both ways
    leaves: list[dict[int, float]] = field(default_factory=list)  # leaf -> {inner: weight}
    anchor: list[float] = field(default_factory=list)
    node: list[int] = field(default_factory=list)
    level: list[int] = field(default_factory=list)
    leaf_level: list[int] = field(default_factory=list)
    later: list[list[int]] | None = None

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
        """Link two inner vertices; parallel links add up."""
        self.inner[u][v] = self.inner[u].get(v, 0.0) + weight
        self.inner[v][u] = self.inner[v].get(u, 0.0) + weight


def links_of(
    taxonomy: Taxonomy, labels: IntArray, *, spawn: str = "inner", root: float = 1.0, pull: float = 0.0
) -> Links:
    """Links of the leaves for ``labels`` (in that order).

    ``spawn="inner"`` gives labels with children a leaf of their own, ``"all"`` gives one to every label. ``root`` is
    the weight of the root's pull to zero, ``pull`` that of every inner vertex but nodes without documents and children.
    An infinite pull makes the links of a leaf weigh 1 together, so that every label is learned as if it were alone.
    """
    if np.isinf(pull):
        links = links_of(taxonomy, labels, spawn=spawn, root=root, pull=MOST_PULL)
        links.leaves = [dict.fromkeys(leaf, 1.0 / len(leaf)) if leaf else leaf for leaf in links.leaves]
        return links
    if taxonomy.kind == "graph":
        links = _graph_links(taxonomy, labels, root)
        links.anchor = [anchor + pull for anchor in links.anchor]
        return links
    links = _tree_links(taxonomy, labels, spawn, root)
    labelled = np.isin(links.node, labels)
    empty = [v >= 0 and taxonomy.is_leaf[v] for v in links.node] & ~labelled
    links.anchor = [anchor + pull * (not none) for anchor, none in zip(links.anchor, empty, strict=True)]
    return links


def _tree_links(taxonomy: Taxonomy, labels: IntArray, spawn: str, root: float) -> Links:
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
    linked: list[dict[int, float]] = [{} for _ in labels]
    for u in range(taxonomy.n_nodes):
        for v in taxonomy.parents(u).tolist():
            if u < v and u in leaf_of and v in leaf_of:
                dummy = links.add_inner()
                linked[leaf_of[u]][dummy] = linked[leaf_of[v]][dummy] = 1.0
            elif u < v and u in inner_of and v in inner_of:
                links.join(inner_of[u], inner_of[v])
            elif u in leaf_of and v in inner_of:
                linked[leaf_of[u]][inner_of[v]] = 1.0
    for neighbours in linked:
        links.add_leaf(neighbours)
    for component in _components(links):
        degree = {u: len(links.inner[u]) for u in component}
        for neighbours in links.leaves:
            for u in neighbours.keys() & degree.keys():
                degree[u] += 1
        links.anchor[max(component, key=lambda u: (degree[u], -u))] = root
    return links


def _components(links: Links) -> list[list[int]]:
    """Inner vertices of every connected component, leaves joining what they are linked to."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    n = len(links.inner)
    pairs = [(u, v) for u in range(n) for v in links.inner[u]]
    pairs += [(next(iter(neighbours)), v) for neighbours in links.leaves for v in neighbours]
    if not n:
        return []
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    adjacency = sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
    _, component = connected_components(adjacency, directed=False)
    order = np.argsort(component, kind="stable")
    return [part.tolist() for part in np.split(order, np.flatnonzero(np.diff(component[order])) + 1)]


# -- inner vertices ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Network:
    """Elimination order of the inner vertices, and the links of the leaves (CSR: leaf -> inner)."""

    order: IntArray
    later_ptr: IntArray
    later: IntArray
    conductance: FloatArray
    mesh_ptr: IntArray
    mesh: IntArray  # slots
    slot: IntArray  # of an edge whose conductance meshes add to, else -1
    always: Array  # uint8: vertices that elimination must visit, however little pulls at them
    anchor: FloatArray
    leaf_ptr: IntArray
    leaf_inner: IntArray
    leaf_weight: FloatArray
    leaf_share: FloatArray
    leaf_total: FloatArray
    node: IntArray

    @property
    def n_inner(self) -> int:
        return len(self.anchor)

    @property
    def n_slots(self) -> int:
        return int(self.slot.max()) + 1

    @property
    def n_leaves(self) -> int:
        return len(self.leaf_total)

    @property
    def large_fill(self) -> bool:
        """Whether an elimination for every feature is too expensive, and inner vertices are iterated instead."""
        return len(self.mesh) > _LARGE_FILL * len(self.later)

    @property
    def elimination(self) -> tuple[Array, ...]:
        """The first arguments of the kernels that solve."""
        return (
            self.order, self.later_ptr, self.later, self.conductance, self.mesh_ptr, self.mesh, self.slot, self.always,
            self.anchor,
        )  # fmt: skip

    def links(self, columns: IntArray) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """(indptr, inner, share, weight) of some leaves."""
        lengths = self.leaf_ptr[columns + 1] - self.leaf_ptr[columns]
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        take = np.repeat(self.leaf_ptr[columns] - indptr[:-1], lengths) + np.arange(indptr[-1])
        return indptr, self.leaf_inner[take], self.leaf_share[take], self.leaf_weight[take]


def reduce_links(links: Links, keep: set[int] | None = None) -> Links:
    """The same problem with fewer inner vertices: series rule, dangling ends dropped; vertices in ``keep`` stay."""
    keep = keep or set()
    n = len(links.inner)
    inner = [dict(neighbours) for neighbours in links.inner]
    leaves = [dict(neighbours) for neighbours in links.leaves]
    leaves_of: list[dict[int, float]] = [{} for _ in range(n)]  # inner -> {leaf: weight}
    for leaf, neighbours in enumerate(leaves):
        for u, weight in neighbours.items():
            leaves_of[u][leaf] = weight
    waiting = list(range(n - 1, -1, -1))
    gone = [False] * n
    while waiting:
        u = waiting.pop()
        degree = len(inner[u]) + len(leaves_of[u])
        if gone[u] or u in keep or links.anchor[u] > 0 or degree > 2 or len(leaves_of[u]) > 1:
            continue
        if degree == 1 and leaves_of[u]:
            continue  # a leaf needs a vertex that it is linked to
        gone[u] = True
        ends = list(inner[u].items())
        for v, _ in ends:
            del inner[v][u]
        if degree == 2:
            (v, r), s = ends[0], (ends[1][1] if len(ends) == 2 else next(iter(leaves_of[u].values())))
            weight = r * s / (r + s)
            if len(ends) == 2:
                w = ends[1][0]
                inner[v][w] = inner[w][v] = inner[v].get(w, 0.0) + weight
            else:
                leaf = next(iter(leaves_of[u]))
                del leaves[leaf][u]
                leaves[leaf][v] = leaves_of[v][leaf] = leaves[leaf].get(v, 0.0) + weight
        inner[u], leaves_of[u] = {}, {}
        waiting += [v for v, _ in ends]
    reduced = replace(links, inner=inner, leaves=leaves)
    return _with_inner(reduced, [u for u in range(n) if not gone[u]])


def _with_inner(links: Links, order: list[int]) -> Links:
    """The same links with inner vertices in another order, or without those that nothing is linked to."""
    number = {u: i for i, u in enumerate(order)}
    return Links(
        inner=[{number[v]: weight for v, weight in links.inner[u].items()} for u in order],
        leaves=[{number[v]: weight for v, weight in neighbours.items()} for neighbours in links.leaves],
        anchor=[links.anchor[u] for u in order],
        node=[links.node[u] for u in order],
        level=[links.level[u] for u in order],
        leaf_level=links.leaf_level,
    )


def leaf_order(links: Links) -> IntArray:
    """Leaves in depth-first order of the vertices they are linked to, so that the leaves of a block are relatives."""
    n = len(links.inner)
    rank, visited = [-1] * n, 0
    for start in sorted(range(n), key=lambda u: (-links.anchor[u], u)):
        stack = [start]
        while stack:
            u = stack.pop()
            if rank[u] < 0:
                rank[u], visited = visited, visited + 1
                stack += sorted((v for v in links.inner[u] if rank[v] < 0), reverse=True)
    keys = [min((rank[u] for u in neighbours), default=-1) for neighbours in links.leaves]
    return np.argsort(keys, kind="stable")


def with_leaf_order(links: Links, order: IntArray) -> Links:
    """The same links with the leaves in another order."""
    return replace(links, leaves=[links.leaves[i] for i in order], leaf_level=[links.leaf_level[i] for i in order])


def in_order(links: Links) -> Links:
    """The same links with inner vertices numbered as they will be eliminated: solving then walks through memory."""
    if not links.inner:
        return links
    order, later = _minimum_degree(_between(links))
    turn = {u: k for k, u in enumerate(order)}
    return replace(_with_inner(links, order), later=[sorted(turn[v] for v in ends) for ends in later])


def lay_out(links: Links, dtype: npt.DTypeLike) -> tuple[IntArray, Links, Network]:
    """Order of the leaves, relatives together; the reduced links in that order; and their network."""
    links = reduce_links(links)
    order = leaf_order(links)
    links = in_order(with_leaf_order(links, order))
    return order, links, make_network(links, dtype)


def _between(links: Links) -> list[dict[int, float]]:
    """Conductances among the inner vertices: their links, and those through leaves with several neighbours."""
    neighbours = [dict(row) for row in links.inner] or [{}]
    for row in links.leaves:
        total = sum(row.values())
        ends = list(row.items())
        for i, (u, r) in enumerate(ends):
            for v, s in ends[i + 1 :]:
                neighbours[u][v] = neighbours[v][u] = neighbours[u].get(v, 0.0) + r * s / total
    return neighbours


def make_network(links: Links, dtype: npt.DTypeLike) -> Network:
    """The order of elimination and the links as arrays for the kernels."""
    neighbours = _between(links)
    anchor = np.array(links.anchor or [1.0], dtype)
    node = np.array(links.node or [-1], np.int32)
    lengths = np.array([len(row) for row in links.leaves], np.int64)
    weight = np.array([r for row in links.leaves for r in row.values()], dtype)
    totals = np.array([sum(row.values()) or 1.0 for row in links.leaves], dtype)
    order, later_ptr, later, conductance, mesh_ptr, mesh = _eliminate(neighbours, links.later, dtype)
    slot = np.full(max(1, len(later)), -1, np.int32)
    slot[mesh] = 0
    meshed = np.flatnonzero(slot == 0)
    slot[meshed] = np.arange(len(meshed))
    always = np.ones(len(order), np.uint8)
    alone = np.flatnonzero(np.diff(later_ptr) == 1)
    always[order[alone]] = (slot[later_ptr[alone]] >= 0) | (anchor[order[alone]] > 0)
    return Network(
        order=order,
        later_ptr=later_ptr,
        later=later,
        conductance=conductance,
        mesh_ptr=mesh_ptr,
        mesh=slot[mesh],
        slot=slot,
        always=always,
        anchor=anchor,
        leaf_ptr=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        leaf_inner=np.array([u for row in links.leaves for u in row], np.int32),
        leaf_weight=weight,
        leaf_share=weight / np.repeat(totals, lengths),
        leaf_total=totals,
        node=node,
    )


def _eliminate(
    neighbours: list[dict[int, float]], later: list[list[int]] | None, dtype: npt.DTypeLike
) -> tuple[Array, ...]:
    """(order, later_ptr, later, conductance, mesh_ptr, mesh); vertices are in order where ``later`` is known."""
    n = len(neighbours)
    if later is None:
        order, later = _minimum_degree(neighbours)
    else:
        order = list(range(n))
    degree = np.array([len(ends) for ends in later], np.int64)
    later_ptr = np.concatenate([[0], np.cumsum(degree)])
    flat = np.array([v for ends in later for v in ends], np.int32)
    weights = [neighbours[u].get(v, 0.0) for u, ends in zip(order, later, strict=True) for v in ends]
    return (
        np.array(order, np.int32),
        later_ptr,
        flat,
        np.array(weights, dtype),
        np.concatenate([[0], np.cumsum(degree * (degree - 1) // 2)]),
        _mesh(np.array(order), later_ptr, flat),
    )


def _minimum_degree(neighbours: list[dict[int, float]]) -> tuple[list[int], list[list[int]]]:
    """Vertices by lowest degree first, among equals by lowest number, and the neighbours that each has left then."""
    left = [set(row) for row in neighbours]
    heap = [(len(row), u) for u, row in enumerate(left)]
    heapq.heapify(heap)
    order: list[int] = []
    later: list[list[int]] = []
    done = [False] * len(left)
    while heap and heap[0][0] <= _SPARSE:
        degree, u = heapq.heappop(heap)
        if done[u] or degree != len(left[u]):
            continue
        done[u] = True
        ends = sorted(left[u])
        order.append(u)
        later.append(ends)
        for v in ends:
            left[v].discard(u)
            left[v].update(w for w in ends if w != v)
        for v in ends:
            heapq.heappush(heap, (len(left[v]), v))
    core = [u for u in range(len(left)) if not done[u]]
    for i, ends in _minimum_degree_dense(core, left):
        order.append(core[i])
        later.append([core[j] for j in ends])
    return order, later


def _minimum_degree_dense(core: list[int], left: list[set[int]]) -> Iterator[tuple[int, list[int]]]:
    """The same among the vertices ``core``, which are numbered by their places there."""
    place = {u: i for i, u in enumerate(core)}
    rows = [sum(1 << place[v] for v in left[u]) for u in core]
    heap = [(row.bit_count(), i) for i, row in enumerate(rows)]
    heapq.heapify(heap)
    done = [False] * len(core)
    while heap:
        degree, i = heapq.heappop(heap)
        row = rows[i]
        if done[i] or degree != row.bit_count():
            continue
        done[i] = True
        packed = np.frombuffer(row.to_bytes(-(-len(core) // 8), "little"), np.uint8)
        ends = np.flatnonzero(np.unpackbits(packed, bitorder="little")).tolist()
        for j in ends:
            rows[j] = (rows[j] | row) & ~(1 << i | 1 << j)
            heapq.heappush(heap, (rows[j].bit_count(), j))
        yield i, ends


def _mesh(order: IntArray, later_ptr: IntArray, later: IntArray) -> IntArray:
    """The edges between all pairs of later neighbours, vertex after vertex."""
    n, n_edges = len(order), len(later)
    turn = np.empty(n, np.int64)
    turn[order] = np.arange(n)
    start, end = np.repeat(np.arange(n), np.diff(later_ptr)), turn[later]
    keys = start * n + end
    by_key = np.argsort(keys)
    keys = keys[by_key]
    following = (
        np.repeat(later_ptr[1:], np.diff(later_ptr)) - np.arange(n_edges) - 1
    )  # edges of the vertex to pair with
    pair_ptr = np.concatenate([[0], np.cumsum(following)])
    mesh = np.empty(pair_ptr[-1], np.int32)
    first = 0
    while first < n_edges:
        last = max(first + 1, int(np.searchsorted(pair_ptr, pair_ptr[first] + _PAIRS, side="right")) - 1)
        part = slice(pair_ptr[first], pair_ptr[last])
        one = np.repeat(np.arange(first, last), following[first:last])
        other = one + 1 + np.arange(part.start, part.stop) - pair_ptr[one]
        u, v = end[one], end[other]
        mesh[part] = by_key[np.searchsorted(keys, np.minimum(u, v) * n + np.maximum(u, v))]
        first = last
    return mesh


# -- weights of nodes that are not labels ------------------------------------------------------------------------------


def shares_of_leaves(links: Links, groups: list[list[int]]) -> FloatArray:
    """How much of each leaf's weights the mean of each group of inner vertices has at the optimum, n_groups x n_leaves.

    Inner vertices stand at the mean of their neighbours. All of them together solve A x = B w (A the Laplacian of the
    network with its anchors, B the links of the leaves), so that one row of A^-1 B for each group is enough.

    Examples
    --------
    >>> links = Links()
    >>> root, node = links.add_inner(), links.add_inner()
    >>> links.join(root, node)
    >>> links.anchor[root] = 1.0
    >>> links.add_leaf({node: 1.0})
    >>> links.add_leaf({node: 1.0})
    >>> shares_of_leaves(links, [[node]]).round(6).tolist()  # two leaves, and half a link to zero
    [[0.4, 0.4]]
    """
    unit = np.zeros((len(links.inner), len(groups)))
    for column, vertices in enumerate(groups):
        unit[vertices, column] = 1 / len(vertices)
    return np.asarray((_pulls(links).T @ _factors(links).solve(unit)).T)


def _pulls(links: Links) -> CSR:
    """B of `shares_of_leaves` (n_inner x n_leaves)."""
    from scipy import sparse

    ends = [(u, i, weight) for i, neighbours in enumerate(links.leaves) for u, weight in neighbours.items()]
    inner, leaf, weight = (np.array(part) for part in zip(*ends, strict=True))
    return sparse.csr_array((weight, (inner, leaf)), shape=(len(links.inner), len(links.leaves)))


def _factors(links: Links) -> Any:
    """A of `shares_of_leaves`, factorised."""
    from scipy.sparse.linalg import splu

    # Minimum degree on the symmetric pattern: no fill on a tree, where the default order makes solving 80 times slower.
    symmetric = {"SymmetricMode": True}
    return splu(_laplacian(links), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=symmetric)


def _laplacian(links: Links) -> CSR:
    """A of `shares_of_leaves` (CSC)."""
    from scipy import sparse

    n = len(links.inner)
    degree = np.array(links.anchor, np.float64)
    entries = [(u, v, -weight) for u, neighbours in enumerate(links.inner) for v, weight in neighbours.items()]
    for u, neighbours in enumerate(links.inner):
        degree[u] += sum(neighbours.values())
    for neighbours in links.leaves:
        for u, weight in neighbours.items():
            degree[u] += weight
    entries += [(u, u, float(total)) for u, total in enumerate(degree)]
    rows, columns, values = (np.array(part) for part in zip(*entries, strict=True))
    return sparse.csc_array(sparse.coo_array((values, (rows, columns)), shape=(n, n)))


def unlabelled_weights(links: Links, taxonomy: Taxonomy, nodes: IntArray) -> Callable[[FloatArray], FloatArray]:
    """A function from weights of all leaves (k x n_leaves) to those of nodes that are not labels (k x n_nodes).

    As `node_shares`, for many nodes and some features at a time: the network is factorised once.
    """
    from scipy import sparse

    vertex = {v: u for u, v in enumerate(links.node) if v >= 0}
    top = int(np.argmax(links.anchor))
    stands_at = [[vertex[v]] if v in vertex else [vertex[p] for p in taxonomy.parents(v).tolist()] or [top]
                 for v in nodes.tolist()]  # fmt: skip
    rows = np.repeat(np.arange(len(nodes)), [len(found) for found in stands_at])
    columns = np.array([u for found in stands_at for u in found], np.int64)
    shares = np.array([1 / len(found) for found in stands_at for _ in found])
    place = sparse.csr_array((shares, (rows, columns)), shape=(len(nodes), len(links.inner)))
    pulls, factors = _pulls(links), _factors(links)

    def weights(W: FloatArray) -> FloatArray:
        found: FloatArray = (place @ factors.solve(pulls @ W.T.astype(np.float64))).T
        return found

    return weights


def node_shares(links: Links, taxonomy: Taxonomy, node: int) -> FloatArray:
    """How much of each leaf's weights a node that is not a label has at the optimum.

    A node without documents and children has no vertex, and exactly the mean of its parents' weights.
    """
    return shares_of_nodes(links, taxonomy, [node])[0]


def shares_of_nodes(links: Links, taxonomy: Taxonomy, nodes: Iterable[int]) -> FloatArray:
    """`node_shares` of several nodes, n_nodes x n_leaves; of a label without children, those of its parents."""
    vertex = {v: u for u, v in enumerate(links.node)}
    top = [int(np.argmax(links.anchor))]
    groups = [[vertex[v]] if v in vertex else [vertex[p] for p in taxonomy.parents(v).tolist()] or top for v in nodes]
    different = {tuple(group): None for group in groups}
    place = {group: i for i, group in enumerate(different)}
    return shares_of_leaves(links, [list(group) for group in different])[[place[tuple(group)] for group in groups]]
