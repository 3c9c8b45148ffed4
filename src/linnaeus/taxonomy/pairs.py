"""Numbered (parent, child) pairs, and what is wrong with them: loops, repetitions, unknown parents, cycles.

Pair e says ``names[parent[e]] > names[child[e]]`` and came from line ``lines[e]`` of a file (0: from none). Building a
taxonomy raises the first thing that is wrong (`Pairs.error`); `linnaeus.taxonomy.checks` reports all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import cached_property

import numpy as np

from linnaeus.errors import TaxonomyError, nearest, place
from linnaeus.typing import BoolArray, IntArray

__all__ = ["Pairs"]


class Pairs:
    """Pairs as given, and the *distinct* ones among them: without loops and repetitions, sorted by child, then parent.

    ``given_parent``, ``given_child`` and ``lines`` are as given; ``parent`` and ``child`` are the distinct pairs, and
    ``first`` their numbers; ``loops`` and ``repeated`` are the numbers of the others.

    Examples
    --------
    >>> pairs = Pairs(["A", "B", "C"], np.array([0, 1, 0, 1, 2]), np.array([1, 2, 1, 1, 1]))
    >>> pairs.repeated.tolist(), pairs.loops.tolist(), pairs.cycles(1)
    ([2], [3], [('B > C > B', 1)])
    """

    def __init__(
        self,
        names: Sequence[str],
        parent: IntArray,
        child: IntArray,
        lines: IntArray | None = None,
        source: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        n = len(names)
        self.names, self.source, self.labels = names, source, labels or {}
        self.given_parent, self.given_child = parent, child
        self.lines = np.zeros(len(parent), dtype=np.int32) if lines is None else lines
        self.loops = np.flatnonzero(parent == child)
        first = np.unique(child.astype(np.int64) * max(1, n) + parent, return_index=True)[1]
        again = np.ones(len(parent), dtype=bool)
        again[first] = False
        self.repeated = np.flatnonzero(again)
        self.first = first[parent[first] != child[first]]
        self.parent = parent[self.first].astype(np.int32, copy=False)
        self.child = child[self.first].astype(np.int32, copy=False)
        self.n_parents = np.bincount(self.child, minlength=n)
        self.n_children = np.bincount(self.parent, minlength=n)

    # -- words ---------------------------------------------------------------------------------------------------------

    def shown(self, v: int) -> str:
        """A node by its name, with its display label behind it if it has another one."""
        name = self.names[v]
        label = self.labels.get(name, "")
        return name if label in ("", name) else f"{name} ({label})"

    def pair(self, e: int) -> str:
        """A pair by its nodes."""
        return f"{self.shown(self.given_parent[e])} > {self.shown(self.given_child[e])}"

    def placed(self, text: str, e: int) -> str:
        """A text about a pair with its place behind it, if it has a line."""
        return f"{text} ({place(self.source, int(self.lines[e]))})" if self.lines[e] else text

    def error(self, message: str, e: int | None = None) -> TaxonomyError:
        """An error about a pair, or about all of them; it starts with the place if there is one to name."""
        line = 0 if e is None else int(self.lines[e])
        if self.source is None and not line:
            return TaxonomyError(message[:1].upper() + message[1:])
        return TaxonomyError(f"{place(self.source, line or None)}: {message}")

    # -- what stops a taxonomy -----------------------------------------------------------------------------------------

    def refuse_loops(self) -> None:
        """An error if a node is its own parent."""
        if len(self.loops):
            e = int(self.loops[0])
            raise self.error(f"node {self.names[self.given_child[e]]!r} is its own parent.", e)

    def refuse_repeated(self) -> None:
        """An error if a pair was given before."""
        if len(self.repeated):
            e = int(self.repeated[0])
            above, below = self.given_parent[e], self.given_child[e]
            before = int(np.flatnonzero((self.given_parent == above) & (self.given_child == below))[0])
            pair = f"the pair {self.names[above]!r} > {self.names[below]!r} was given before"
            raise self.error(f"{pair}, in line {self.lines[before]}; duplicates='drop' accepts it.", e)

    def refuse_unknown(self, declared: Set[str]) -> None:
        """An error if a parent is neither a child nor declared."""
        for e, hint in self.unknown_parents(declared, 1)[1]:
            above, below = self.names[self.given_parent[e]], self.names[self.given_child[e]]
            raise self.error(f"parent {above!r} of {below!r} is unknown{hint or '.'}", e)

    def refuse_cycles(self) -> None:
        """An error if there is a cycle."""
        for text, e in self.cycles(1):
            raise self.error(f"the taxonomy has a cycle: {text}.", e)

    def refuse_second_parents(self) -> None:
        """An error if a node has two parents."""
        by_number = np.sort(self.first)
        child = self.given_child[by_number]
        earliest = np.unique(child, return_index=True)[1]
        if len(earliest) < len(child):
            e = int(by_number[np.setdiff1d(np.arange(len(child)), earliest)[0]])
            v = self.given_child[e]
            before = int(by_number[np.flatnonzero(child == v)[0]])
            above = [repr(self.names[self.given_parent[i]]) for i in (before, e)]
            two = f"node {self.names[v]!r} has the parents {above[0]} and {above[1]}"
            raise self.error(f"not a tree: {two}; use kind='dag'.", e)

    # -- finding it ----------------------------------------------------------------------------------------------------

    def unknown_parents(self, declared: Set[str], most: int) -> tuple[int, list[tuple[int, str]]]:
        """How many parents are neither a child nor declared; some of them, by their first pair, with a hint.

        Where the tops have a line of their own (an empty parent), a parent without any line is a slip of the pen;
        where nothing is declared, every parent is known.
        """
        if not declared:
            return 0, []
        known = self.n_parents > 0
        known[[v for v, name in enumerate(self.names) if name in declared]] = True
        missing = np.sort(self.first[~known[self.parent]])
        firsts = missing[np.sort(np.unique(self.given_parent[missing], return_index=True)[1])].tolist()
        pool = [name for name, there in zip(self.names, known, strict=True) if there] if firsts else []
        return len(firsts), [(e, nearest(self.names[self.given_parent[e]], pool)) for e in firsts[:most]]

    @cached_property
    def component(self) -> IntArray:
        """Number of the strongly connected component of every node."""
        from scipy import sparse
        from scipy.sparse.csgraph import connected_components

        n, ones = len(self.names), np.ones(len(self.parent), dtype=np.int8)
        graph = sparse.csr_array((ones, (self.parent, self.child)), shape=(n, n))
        component: IntArray = connected_components(graph, directed=True, connection="strong")[1]
        return component

    @cached_property
    def circular(self) -> BoolArray:
        """Which nodes are on a cycle."""
        return np.asarray(np.bincount(self.component)[self.component] > 1)

    @property
    def n_cycles(self) -> int:
        """How many groups of nodes reach each other."""
        return len(np.unique(self.component[self.circular]))

    def cycles(self, most: int) -> list[tuple[str, int]]:
        """One cycle of each of the first groups: its names from the smallest number on, and its first pair."""
        inside = np.flatnonzero(self.component[self.parent] == self.component[self.child])
        pair_above = {int(self.child[i]): int(self.first[i]) for i in inside}
        nodes = np.flatnonzero(self.circular)
        starts = nodes[np.sort(np.unique(self.component[nodes], return_index=True)[1])]
        return [self._cycle(pair_above, start) for start in starts[:most].tolist()]

    def _cycle(self, pair_above: dict[int, int], node: int) -> tuple[str, int]:
        # Every node of a group has a parent in the group, so that walking up comes to a node again.
        seen: dict[int, int] = {}
        while node not in seen:
            seen[node] = len(seen)
            node = int(self.given_parent[pair_above[node]])
        cycle = [v for v, position in seen.items() if position >= seen[node]][::-1]
        start = cycle.index(min(cycle))
        cycle = cycle[start:] + cycle[:start]
        names = [self.shown(v) for v in cycle[:10]] + (["..."] if len(cycle) > 10 else []) + [self.shown(cycle[0])]
        return " > ".join(names), min(pair_above[v] for v in cycle)
