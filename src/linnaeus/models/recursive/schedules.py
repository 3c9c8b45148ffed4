"""Who moves when: the vertices of a sweep in turns, all vertices of one turn at once.

    levels    odd and even levels of a tree alternately; every leaf belongs to its own level
    colours   all leaves, then one colour of inner vertices after the other; for DAGs and graphs too
    all       everybody at once, as the paper ran it on a cluster

In the first two no vertex has a neighbour in its own turn, so that a turn minimises the objective over its vertices and
the objective never rises. The last converges because something is pulled to zero: every move is a mean of the
neighbours, or nearer to the optimum than one, and means that include the zero shrink all errors.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linnaeus.errors import ParameterError
from linnaeus.models.recursive.links import Links
from linnaeus.models.recursive.network import leaf_order
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["SCHEDULES", "Schedule", "check_kind", "colour", "make_schedule", "scheduled_order"]

SCHEDULES = ("exact", "levels", "colours", "all")  # the first is the accelerated solver's own


@dataclass(frozen=True)
class Schedule:
    """Turns of inner vertices and leaves, and the links along which inner vertices take their means.

    ``between`` (n_inner x n_inner) holds the weights of the links r_uv; ``through`` what leaves l beside both u and v
    add up to, sum_l r_lu r_lv / S_l; ``total`` is the weight of all links of an inner vertex with its pull to zero.
    """

    inner_turn: IntArray
    leaf_turn: IntArray
    between: CSR
    through: CSR
    total: FloatArray

    @property
    def n_turns(self) -> int:
        return 1 + int(max(self.inner_turn.max(initial=0), self.leaf_turn.max(initial=0)))


def check_kind(schedule: str, kind: str) -> None:
    """Refuse odd and even levels where a node may have two parents.

    Examples
    --------
    >>> check_kind("colours", "dag")
    >>> check_kind("levels", "dag")
    Traceback (most recent call last):
    linnaeus.errors.ParameterError: schedule='levels' needs a tree, got a dag; schedule='colours' takes any taxonomy.
    """
    if schedule == "levels" and kind != "tree":
        raise ParameterError(f"schedule='levels' needs a tree, got a {kind}; schedule='colours' takes any taxonomy.")


def scheduled_order(links: Links, schedule: str) -> IntArray:
    """Leaves by turn, relatives together within a turn, so that no block has to move in two turns."""
    order = leaf_order(links)
    return order[np.argsort(_turns(links, schedule)[1][order], kind="stable")]


def make_schedule(links: Links, schedule: str, dtype: Any) -> Schedule:
    """The turns of "levels", "colours" or "all"; links as the taxonomy has them, leaves in the order of their turns."""
    from scipy import sparse

    n_inner, n_leaves = max(1, len(links.inner)), len(links.leaves)  # as in a Network, one vertex at least
    between = _matrix(links.inner, (n_inner, n_inner))
    beside = _matrix(links.leaves, (n_leaves, n_inner))
    leaf_total = np.maximum(beside.sum(axis=1), np.finfo(float).tiny)
    anchor = np.array(links.anchor or [1.0])
    inner_turn, leaf_turn = _turns(links, schedule)
    return Schedule(
        inner_turn=inner_turn if len(links.inner) else np.zeros(1, np.int64),
        leaf_turn=leaf_turn,
        between=between.astype(dtype),
        through=(beside.T @ sparse.diags_array(1 / leaf_total) @ beside).tocsr().astype(dtype),
        total=(between.sum(axis=1) + beside.sum(axis=0) + anchor).astype(dtype),
    )


def _matrix(rows: Sequence[Mapping[int, float]], shape: tuple[int, int]) -> CSR:
    from scipy import sparse

    indptr = np.zeros(shape[0] + 1, np.int64)
    indptr[1 : len(rows) + 1] = np.cumsum([len(row) for row in rows])
    indptr[len(rows) + 1 :] = indptr[len(rows)]
    indices = np.array([u for row in rows for u in row], np.int64)
    weights = np.array([r for row in rows for r in row.values()], float)
    return sparse.csr_array((weights, indices, indptr), shape=shape)


def _turns(links: Links, schedule: str) -> tuple[IntArray, IntArray]:
    """(turn of every inner vertex, turn of every leaf)."""
    if schedule == "levels":
        first = max(links.leaf_level, default=0)  # the deepest leaves begin
        return (np.array(links.level, np.int64) - first) % 2, (np.array(links.leaf_level, np.int64) - first) % 2
    if schedule == "colours":
        degree = [len(near) for near in links.inner]
        for near in links.leaves:
            for u in near:
                degree[u] += 1
        return 1 + colour(links.inner, degree), np.zeros(len(links.leaves), np.int64)
    return np.zeros(len(links.inner), np.int64), np.zeros(len(links.leaves), np.int64)


def colour(near: Sequence[Mapping[int, float]], degree: Sequence[int]) -> IntArray:
    """A proper colouring, greedy: next comes the vertex whose neighbours have most colours, then that of high degree.

    Trees and other graphs without odd cycles get two colours, any graph at most one more than its highest degree.

    Examples
    --------
    >>> colour([{1: 1.0}, {0: 1.0, 2: 1.0}, {1: 1.0}], [1, 2, 1]).tolist()
    [1, 0, 1]
    """
    found = np.full(len(near), -1, np.int64)
    taken: list[set[int]] = [set() for _ in near]
    heap = [(0, -degree[v], v) for v in range(len(near))]
    heapq.heapify(heap)
    while heap:
        saturation, _, v = heapq.heappop(heap)
        if found[v] >= 0 or -saturation != len(taken[v]):
            continue  # an old entry: the vertex was pushed again when its neighbours took another colour
        found[v] = mine = next(c for c in itertools.count() if c not in taken[v])
        for u in near[v]:
            if found[u] < 0 and mine not in taken[u]:
                taken[u].add(mine)
                heapq.heappush(heap, (-len(taken[u]), -degree[u], u))
    return found
