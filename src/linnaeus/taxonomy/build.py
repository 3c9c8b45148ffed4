"""Build a taxonomy in level order from pairs, paths or lists of names, and report what is wrong with them."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from functools import cached_property

import numpy as np

from linnaeus.errors import TaxonomyError, nearest, place
from linnaeus.taxonomy.closure import pointers
from linnaeus.taxonomy.names import with_texts_of
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import BoolArray, IntArray

__all__ = ["EdgeList", "assemble", "edge_names", "from_edges", "from_pairs", "from_paths", "with_misc_leaves"]


def from_edges(
    edges: Iterable[tuple[Hashable, Hashable]],
    *,
    nodes: Iterable[Hashable] = (),
    kind: str | None = None,
    root: str | None = "auto",
    display_labels: Mapping[str, str] | None = None,
) -> Taxonomy:
    """A taxonomy from (parent, child) pairs; see `Taxonomy.from_edges`."""
    index: dict[str, int] = {}
    parent: list[int] = []
    child: list[int] = []
    for node in nodes:
        if node is None:
            raise TaxonomyError("A node is None; expected a name.")
        index.setdefault(str(node), len(index))
    for pair in edges:
        above, below = edge_names(pair)
        parent.append(index.setdefault(above, len(index)))
        child.append(index.setdefault(below, len(index)))
    shown = None if not display_labels else [display_labels.get(name, "") for name in index]
    return assemble(list(index), np.array(parent, np.int32), np.array(child, np.int32), kind, root, shown)


def edge_names(pair: tuple[Hashable, Hashable]) -> tuple[str, str]:
    """The names of a (parent, child) pair as strings; a missing name is an error.

    Examples
    --------
    >>> edge_names(("Sports", 7))
    ('Sports', '7')
    >>> edge_names((None, "Sports"))
    Traceback (most recent call last):
    linnaeus.errors.TaxonomyError: The pair (None, 'Sports') has no parent; list nodes at the top in nodes= instead.
    """
    above, below = pair
    if _no_name(above) or _no_name(below):
        hint = "parent; list nodes at the top in nodes= instead" if _no_name(above) else "child"
        raise TaxonomyError(f"The pair ({above!r}, {below!r}) has no {hint}.")
    return str(above), str(below)


def _no_name(value: object) -> bool:
    """Whether a value stands for a missing name: None, an empty string, or the NaN of an empty cell in a table."""
    return value is None or value == "" or (isinstance(value, float) and value != value)


def from_paths(paths: Iterable[Sequence[Hashable]], *, separator: str | None = None) -> Taxonomy:
    """A taxonomy from paths of names, top first; see `Taxonomy.from_paths`."""
    nodes: dict[str, str] = {}
    edges: dict[tuple[str, str], None] = {}
    for path in paths:
        steps = _steps(path)
        names = steps if separator is None else [separator.join(steps[: i + 1]) for i in range(len(steps))]
        nodes.update(zip(names, steps, strict=True))
        edges.update(dict.fromkeys(itertools.pairwise(names)))
    return from_edges(edges, nodes=nodes, root=None, display_labels=None if separator is None else nodes)


def _steps(path: Sequence[Hashable]) -> list[str]:
    """The names of a path without the empty padding at its end."""
    steps = list(path)
    while steps and _no_name(steps[-1]):
        steps.pop()
    gap = next((i for i, step in enumerate(steps) if _no_name(step)), None)
    if gap is not None:
        raise TaxonomyError(
            f"Step {gap + 1} of the path {steps!r} is empty; only steps at the end of a path may be empty."
        )
    return [str(step) for step in steps]


def assemble(
    names: Sequence[str],
    parent: IntArray,
    child: IntArray,
    kind: str | None = None,
    root: str | None = "auto",
    display_labels: Sequence[str] | None = None,
) -> Taxonomy:
    """A taxonomy from numbered edges ``parent[e] -> child[e]`` over ``names`` in any order."""
    return from_pairs(EdgeList(names, parent, child), kind, root, display_labels)


def from_pairs(
    pairs: EdgeList, kind: str | None = None, root: str | None = "auto", display_labels: Sequence[str] | None = None
) -> Taxonomy:
    """A taxonomy from pairs; the first problem found is raised as an error."""
    from linnaeus._kernels.graph import topological_depth

    names, above, below = pairs.names, pairs.parent, pairs.child
    _check_names(pairs, display_labels)
    if kind not in (None, "tree", "dag", "graph"):
        raise TaxonomyError(
            f"kind={kind!r} is not one of 'tree', 'dag', 'graph'{nearest(str(kind), ['tree', 'dag', 'graph'])}"
        )
    n = len(names)
    if kind == "graph":
        both = np.unique(np.concatenate([above.astype(np.int64) * n + below, below.astype(np.int64) * n + above]))
        return Taxonomy(names, *_csr(both // n, both % n, n), kind="graph", display_labels=display_labels)

    pairs.refuse_loops()
    depth = topological_depth(*_csr(above, below, n), pairs.n_parents.astype(np.int32))
    if (depth < 0).any():
        pairs.refuse_cycles()
    if kind == "tree":
        pairs.refuse_second_parents()
    root_number = _find_root(pairs, root)
    order = np.lexsort((np.arange(n), depth))
    number = np.empty(n, dtype=np.int32)
    number[order] = np.arange(n, dtype=np.int32)
    return Taxonomy(
        [names[i] for i in order],
        *_csr(number[below], number[above], n),
        root=None if root_number is None else int(number[root_number]),
        kind=kind or ("dag" if (pairs.n_parents > 1).any() else "tree"),
        display_labels=None if display_labels is None else [display_labels[i] for i in order],
    )


def _check_names(pairs: EdgeList, display_labels: Sequence[str] | None) -> None:
    if not pairs.names:
        raise pairs.error("the taxonomy is empty; expected at least one node.")
    odd = next((name for name in pairs.names if "\0" in name), None)
    if odd is not None:
        raise pairs.error(f"the name {odd[:60]!r} contains a null character; expected text.")
    for text in (pairs.names, display_labels or ()):
        try:
            "".join(text).encode()
        except UnicodeEncodeError as wrong:
            half = wrong.object[wrong.start]
            odd = next(name for name in text if half in name)
            raise pairs.error(
                f"{odd[:60]!r} contains half of a surrogate pair ({half!r}), which is not valid text."
            ) from None


def _csr(row: IntArray, column: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """CSR arrays (indptr, indices) of pairs, sorted by row and column."""
    order = np.lexsort((column, row))
    return pointers(np.bincount(row, minlength=n)), np.ascontiguousarray(column[order], dtype=np.int32)


def _find_root(pairs: EdgeList, root: str | None) -> int | None:
    names, parentless = pairs.names, np.flatnonzero(pairs.n_parents == 0).tolist()
    if root is None:
        return None
    if root != "auto":
        wanted = [i for i in parentless if names[i] == root]
        if not wanted:
            hint = nearest(root, [names[i] for i in parentless])
            raise pairs.error(f"root {root!r} is not a node without parents{hint}")
        orphans = [names[i] for i in parentless if names[i] != root]
        if orphans:
            some = ", ".join(map(repr, orphans[:5])) + (", ..." if len(orphans) > 5 else "")
            raise pairs.error(f"{len(orphans)} orphans are not below the root {root!r}: {some}.")
        return int(wanted[0])
    only = parentless[0] if len(parentless) == 1 else None
    return int(only) if only is not None and pairs.n_children[only] else None


def with_misc_leaves(taxonomy: Taxonomy, nodes: Iterable[str | int] | None = None) -> Taxonomy:
    """Add a leaf ``<name>/self`` under each internal node of ``nodes``; see `Taxonomy.with_misc_leaves`."""
    chosen = taxonomy.names if nodes is None else nodes
    internal = [v for v in dict.fromkeys(map(taxonomy.index, chosen)) if not taxonomy.is_leaf[v]]
    if nodes is None:
        internal = [v for v in internal if v != taxonomy.root]
    n = taxonomy.n_nodes
    names = [*taxonomy.names, *(f"{taxonomy.names[v]}/self" for v in internal)]
    taken = [name for name in names[n:] if name in taxonomy]
    if taken:
        raise TaxonomyError(f"Cannot add the leaf {taken[0]!r}: a node with that name already exists.")
    parent, child = taxonomy.edges
    shown = taxonomy.display_labels
    made = assemble(
        names,
        np.concatenate([parent, np.array(internal, dtype=np.int32)]),
        np.concatenate([child, np.arange(n, n + len(internal), dtype=np.int32)]),
        taxonomy.kind,
        None if taxonomy.root is None else taxonomy.names[taxonomy.root],
        None if shown is None else [*shown, *(shown[v] for v in internal)],
    )
    return with_texts_of(made.with_replacements(taxonomy.aliases, taxonomy.deprecated), taxonomy)


class EdgeList:
    """Numbered (parent, child) pairs and their problems: loops, repetitions, unknown parents, cycles.

    Pair e is ``names[given_parent[e]] > names[given_child[e]]`` and was read from line ``lines[e]`` of a file (0 if it
    has no line). The *distinct* pairs are those without loops and repetitions, sorted by child, then parent.

    ``given_parent``, ``given_child`` and ``lines`` are as given; ``parent`` and ``child`` are the distinct pairs, and
    ``first`` their numbers; ``loops`` and ``repeated`` are the numbers of the other pairs.

    Examples
    --------
    >>> pairs = EdgeList(["A", "B", "C"], np.array([0, 1, 0, 1, 2]), np.array([1, 2, 1, 1, 1]))
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

    # -- messages ------------------------------------------------------------------------------------------------------

    def shown(self, v: int) -> str:
        """The name of a node, followed by its display label if that differs."""
        name = self.names[v]
        label = self.labels.get(name, "")
        return name if label in ("", name) else f"{name} ({label})"

    def pair(self, e: int) -> str:
        """A pair as text."""
        return f"{self.shown(self.given_parent[e])} > {self.shown(self.given_child[e])}"

    def placed(self, text: str, e: int) -> str:
        """A text about a pair, followed by its place if it has a line."""
        return f"{text} ({place(self.source, int(self.lines[e]))})" if self.lines[e] else text

    def error(self, message: str, e: int | None = None) -> TaxonomyError:
        """An error about one pair or about all of them; it starts with the file and line if they are known."""
        line = 0 if e is None else int(self.lines[e])
        if self.source is None and not line:
            return TaxonomyError(message[:1].upper() + message[1:])
        return TaxonomyError(f"{place(self.source, line or None)}: {message}")

    # -- errors -------------------------------------------------------------------------------------------------------

    def refuse_loops(self) -> None:
        """Raise an error if a node is its own parent."""
        if len(self.loops):
            e = int(self.loops[0])
            raise self.error(f"node {self.names[self.given_child[e]]!r} is its own parent.", e)

    def refuse_repeated(self) -> None:
        """Raise an error if a pair is repeated."""
        if len(self.repeated):
            e = int(self.repeated[0])
            above, below = self.given_parent[e], self.given_child[e]
            before = int(np.flatnonzero((self.given_parent == above) & (self.given_child == below))[0])
            pair = f"the pair {self.names[above]!r} > {self.names[below]!r} was already given"
            raise self.error(f"{pair} in line {self.lines[before]}; duplicates='drop' accepts it.", e)

    def refuse_unknown(self, declared: Set[str]) -> None:
        """Raise an error if a parent is neither a child of another node nor declared."""
        for e, hint in self.unknown_parents(declared, 1)[1]:
            above, below = self.names[self.given_parent[e]], self.names[self.given_child[e]]
            raise self.error(f"parent {above!r} of {below!r} is unknown{hint or '.'}", e)

    def refuse_cycles(self) -> None:
        """Raise an error if there is a cycle."""
        for text, e in self.cycles(1):
            raise self.error(f"the taxonomy has a cycle: {text}.", e)

    def refuse_second_parents(self) -> None:
        """Raise an error if a node has two parents."""
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

    # -- search --------------------------------------------------------------------------------------------------------

    def unknown_parents(self, declared: Set[str], most: int) -> tuple[int, list[tuple[int, str]]]:
        """Number of parents that are neither a child nor declared; the first ``most`` by their first pair, with a hint.

        If top nodes are declared (by a line with an empty parent), a parent without a line of its own is probably
        misspelt; if nothing is declared, every parent is accepted.
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
        """Number of groups of nodes that are on a common cycle."""
        return len(np.unique(self.component[self.circular]))

    def cycles(self, most: int) -> list[tuple[str, int]]:
        """One cycle of each of the first groups: its names, starting at the smallest number, and its first pair."""
        inside = np.flatnonzero(self.component[self.parent] == self.component[self.child])
        pair_above = {int(self.child[i]): int(self.first[i]) for i in inside}
        nodes = np.flatnonzero(self.circular)
        starts = nodes[np.sort(np.unique(self.component[nodes], return_index=True)[1])]
        return [self._cycle(pair_above, start) for start in starts[:most].tolist()]

    def _cycle(self, pair_above: dict[int, int], node: int) -> tuple[str, int]:
        # Every node of a group has a parent in the group, so that going upwards returns to a node.
        seen: dict[int, int] = {}
        while node not in seen:
            seen[node] = len(seen)
            node = int(self.given_parent[pair_above[node]])
        cycle = [v for v, position in seen.items() if position >= seen[node]][::-1]
        start = cycle.index(min(cycle))
        cycle = cycle[start:] + cycle[:start]
        names = [self.shown(v) for v in cycle[:10]] + (["..."] if len(cycle) > 10 else []) + [self.shown(cycle[0])]
        return " > ".join(names), min(pair_above[v] for v in cycle)
