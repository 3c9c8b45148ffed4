"""The inner vertices as a network of conductances that can be solved exactly, and the leaves' links to it.

Series rule: an inner vertex with two neighbours, no pull to zero and at most one leaf beside it has its optimum between
them, so that the two links act as one of weight r s / (r + s). Vertices with one neighbour follow it. On a real
taxonomy, where most nodes hold a single label, this leaves a third of the vertices, and no other optimum.

A leaf n with links r_p to several inner vertices p has the centre m_n = sum_p (r_p / S) m_p, S = sum_p r_p; its links
are one link of weight S to the centre and conductances r_p r_q / S among its neighbours.

Elimination takes the vertex of lowest degree first; on a tree that costs nothing, on DAGs a little.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np

from linnaeus.models.recursive.links import Links
from linnaeus.typing import FloatArray, IntArray

__all__ = ["Network", "in_order", "leaf_order", "make_network", "reduce_links"]


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
    always: Any  # vertices that elimination cannot pass by, however little pulls at them
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
    def elimination(self) -> tuple[Any, ...]:
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
    inner = [dict(near) for near in links.inner]
    leaves = [dict(near) for near in links.leaves]
    beside: list[dict[int, float]] = [{} for _ in range(n)]  # inner -> {leaf: weight}
    for leaf, near in enumerate(leaves):
        for u, weight in near.items():
            beside[u][leaf] = weight
    waiting = list(range(n - 1, -1, -1))
    gone = [False] * n
    while waiting:
        u = waiting.pop()
        degree = len(inner[u]) + len(beside[u])
        if gone[u] or u in keep or links.anchor[u] > 0 or degree > 2 or len(beside[u]) > 1:
            continue
        if degree == 1 and beside[u]:
            continue  # a leaf needs one vertex to hold on to
        gone[u] = True
        ends = list(inner[u].items())
        for v, _ in ends:
            del inner[v][u]
        if degree == 2:
            (v, r), s = ends[0], (ends[1][1] if len(ends) == 2 else next(iter(beside[u].values())))
            weight = r * s / (r + s)
            if len(ends) == 2:
                w = ends[1][0]
                inner[v][w] = inner[w][v] = inner[v].get(w, 0.0) + weight
            else:
                leaf = next(iter(beside[u]))
                del leaves[leaf][u]
                leaves[leaf][v] = beside[v][leaf] = leaves[leaf].get(v, 0.0) + weight
        inner[u], beside[u] = {}, {}
        waiting += [v for v, _ in ends]
    kept = [u for u in range(n) if not gone[u]]
    number = {u: i for i, u in enumerate(kept)}
    return Links(
        inner=[{number[v]: weight for v, weight in inner[u].items()} for u in kept],
        leaves=[{number[v]: weight for v, weight in near.items()} for near in leaves],
        anchor=[links.anchor[u] for u in kept],
        node=[links.node[u] for u in kept],
        level=[links.level[u] for u in kept],
        leaf_level=links.leaf_level,
    )


def leaf_order(links: Links) -> IntArray:
    """Leaves in depth-first order of the vertices they hang on, so that the leaves of a block are relatives."""
    n = len(links.inner)
    rank, found = [-1] * n, 0
    for start in sorted(range(n), key=lambda u: (-links.anchor[u], u)):
        stack = [start]
        while stack:
            u = stack.pop()
            if rank[u] < 0:
                rank[u], found = found, found + 1
                stack += sorted((v for v in links.inner[u] if rank[v] < 0), reverse=True)
    keys = [min((rank[u] for u in near), default=-1) for near in links.leaves]
    return np.argsort(keys, kind="stable")


def in_order(links: Links) -> Links:
    """The same links with inner vertices numbered as they will be eliminated: solving then walks through memory."""
    order = _eliminate(_between(links), np.float64)[0].tolist()
    if not links.inner:
        return links
    number = {u: i for i, u in enumerate(order)}
    return Links(
        inner=[{number[v]: weight for v, weight in links.inner[u].items()} for u in order],
        leaves=[{number[v]: weight for v, weight in near.items()} for near in links.leaves],
        anchor=[links.anchor[u] for u in order],
        node=[links.node[u] for u in order],
        level=[links.level[u] for u in order],
        leaf_level=links.leaf_level,
    )


def _between(links: Links) -> list[dict[int, float]]:
    """Conductances among the inner vertices: their links, and those through leaves with several neighbours."""
    near = [dict(row) for row in links.inner] or [{}]
    for row in links.leaves:
        total = sum(row.values())
        ends = list(row.items())
        for i, (u, r) in enumerate(ends):
            for v, s in ends[i + 1 :]:
                near[u][v] = near[v][u] = near[u].get(v, 0.0) + r * s / total
    return near


def make_network(links: Links, dtype: Any) -> Network:
    """Choose the order of elimination and lay everything out for the kernels."""
    near = _between(links)
    anchor = np.array(links.anchor or [1.0], dtype)
    node = np.array(links.node or [-1], np.int32)
    lengths = np.array([len(row) for row in links.leaves], np.int64)
    weight = np.array([r for row in links.leaves for r in row.values()], dtype)
    totals = np.array([sum(row.values()) or 1.0 for row in links.leaves], dtype)
    order, later_ptr, later, conductance, mesh_ptr, mesh = _eliminate(near, dtype)
    meshed, mesh = np.unique(mesh, return_inverse=True)
    slot = np.full(max(1, len(later)), -1, np.int32)
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
        mesh=mesh.astype(np.int32),
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


def _eliminate(near: list[dict[int, float]], dtype: Any) -> tuple[Any, ...]:
    """(order, later_ptr, later, conductance, mesh_ptr, mesh) by lowest degree first."""
    n = len(near)
    given = [dict(row) for row in near]
    left = [set(row) for row in near]
    heap = [(len(row), u) for u, row in enumerate(left)]
    heapq.heapify(heap)
    order: list[int] = []
    later: list[list[int]] = []
    done = [False] * n
    while heap:
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
    edge: dict[tuple[int, int], int] = {}
    for u, ends in zip(order, later, strict=True):
        for v in ends:
            edge[u, v] = len(edge)
    mesh: list[int] = []
    mesh_ptr = [0]
    for ends in later:
        for i, v in enumerate(ends):
            mesh += [edge[v, w] if (v, w) in edge else edge[w, v] for w in ends[i + 1 :]]
        mesh_ptr.append(len(mesh))
    flat = [v for ends in later for v in ends]
    weights = [given[u].get(v, 0.0) for u, ends in zip(order, later, strict=True) for v in ends]
    later_ptr = np.concatenate([[0], np.cumsum([len(ends) for ends in later])])
    return (
        np.array(order, np.int32),
        later_ptr.astype(np.int64),
        np.array(flat or [0], np.int32)[: len(flat)],
        np.array(weights, dtype),
        np.array(mesh_ptr, np.int64),
        np.array(mesh, np.int32),
    )
