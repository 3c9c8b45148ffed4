"""Readable twins of the compiled kernels behind the decoders: same names, same arguments, same answers."""

from __future__ import annotations

import math
from collections import deque
from itertools import pairwise

import numpy as np

Array = np.ndarray

__all__ = ["best_closures", "best_subtrees", "descend", "edge_labellings", "supported_members"]


def best_subtrees(S: Array, position: Array, parent: Array) -> tuple[Array, Array]:
    n = len(parent)
    rows = []
    for scores in S:
        W = _weights(scores, position)
        for v in reversed(range(n)):
            if parent[v] >= 0:
                W[parent[v]] += max(0.0, W[v])
        kept: list[int] = []
        for v in range(n):
            if W[v] > 0 and (parent[v] < 0 or parent[v] in kept):
                kept.append(v)
        rows.append(kept)
    return _csr(rows)


def edge_labellings(G: Array, parent: Array, consistent: bool) -> tuple[Array, Array]:
    n_docs, n = len(G), len(parent)
    labels, values = np.zeros((n_docs, n), dtype=np.uint8), np.zeros(n_docs)
    for d in range(n_docs):
        below = np.zeros((n, 2))  # what the children of v bring if v is labelled 0 or 1
        choice = np.zeros((n, 2), dtype=np.uint8)
        for v in reversed(range(n)):
            for a in (0, 1):
                zero, one = (float(G[d, v, 2 * a + b]) + below[v, b] for b in (0, 1))
                choice[v, a] = one > zero and not (consistent and a == 0)
                best = one if choice[v, a] else zero
                if parent[v] >= 0:
                    below[parent[v], a] += best
                elif a == 1:
                    values[d] += best
        for v in range(n):
            labels[d, v] = choice[v, 1 if parent[v] < 0 else labels[d, parent[v]]]
    return labels, values


def supported_members(set_indptr: Array, set_indices: Array, parent_indptr: Array, parent_indices: Array) -> Array:
    supported = np.zeros(len(set_indices), dtype=np.uint8)
    for r in range(len(set_indptr) - 1):
        kept: set[int] = set()
        for e in range(set_indptr[r], set_indptr[r + 1]):
            v = int(set_indices[e])
            if kept.issuperset(_row(parent_indptr, parent_indices, v)):
                kept.add(v)
                supported[e] = 1
    return supported


def descend(
    S: Array,
    position: Array,
    theta: Array,
    parent_indptr: Array,
    parent_indices: Array,
    child_indptr: Array,
    child_indices: Array,
    tops: Array,
    needed: Array,
    leaf_mandatory: bool,
) -> tuple[Array, Array]:
    """As the compiled one, but rows are sorted: the order of the walk is nobody's business."""
    parents = [_row(parent_indptr, parent_indices, v) for v in range(len(position))]
    scored = [v for v in range(len(position)) if position[v] >= 0 and (parents[v] or v in tops)]  # not the root
    rows = []
    for scores in S:
        kept: set[int] = set()
        while True:
            is_open = [v for v in scored if len(kept.intersection(parents[v])) >= needed[v]]
            new = {v for v in is_open if scores[position[v]] > theta[v]} - kept
            if not new and leaf_mandatory:
                families = [_row(child_indptr, child_indices, p) for p in kept] + [[int(t) for t in tops]]
                for children in families:
                    candidates = [c for c in children if c in is_open]
                    if candidates and not kept.intersection(children):
                        new.add(max(candidates, key=lambda c: (scores[position[c]], -c)))
            if not new:
                break
            kept |= new
        rows.append(sorted(kept))
    return _csr(rows)


def best_closures(
    S: Array,
    position: Array,
    parent_indptr: Array,
    parent_indices: Array,
    child_indptr: Array,
    child_indices: Array,
    child_edges: Array,
) -> tuple[Array, Array]:
    """Ford and Fulkerson's algorithm with breadth-first search on the textbook network."""
    n = len(position)
    rows = []
    for scores in S:
        u = _weights(scores, position)
        source, sink = n, n + 1
        residual: list[dict[int, float]] = [{} for _ in range(n + 2)]
        for v in range(n):
            for p in _row(parent_indptr, parent_indices, v):
                residual[v][p], residual[p][v] = math.inf, 0.0
            residual[source][v], residual[v][source] = max(0.0, u[v]), 0.0
            residual[v][sink], residual[sink][v] = max(0.0, -u[v]), 0.0
        while True:
            came_from = _reach(residual, source)
            if sink not in came_from:
                break
            path = [sink]
            while path[-1] != source:
                path.append(came_from[path[-1]])
            arcs = [(a, b) for b, a in pairwise(path)]
            amount = min(residual[a][b] for a, b in arcs)
            for a, b in arcs:
                residual[a][b] -= amount
                residual[b][a] += amount
        rows.append([v for v in range(n) if v in came_from])
    return _csr(rows)


def _reach(residual: list[dict[int, float]], source: int) -> dict[int, int]:
    """Every vertex that the source reaches, with the vertex before it."""
    came_from, todo = {source: source}, deque([source])
    while todo:
        a = todo.popleft()
        for b, capacity in residual[a].items():
            if capacity > 0 and b not in came_from:
                came_from[b] = a
                todo.append(b)
    return came_from


def _weights(scores: Array, position: Array) -> list[float]:
    return [float(scores[k]) if k >= 0 else 0.0 for k in position]


def _row(indptr: Array, indices: Array, v: int) -> list[int]:
    return [int(w) for w in indices[indptr[v] : indptr[v + 1]]]


def _csr(rows: list[list[int]]) -> tuple[Array, Array]:
    indptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return indptr, np.array([v for row in rows for v in row], dtype=np.int32)
