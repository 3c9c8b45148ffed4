"""What a file says before it is a taxonomy: names, pairs, and the line each pair came from.

Readers fill a `Draft`; `Draft.taxonomy` checks it (loops, repetitions, unknown parents, cycles) with file and line, and
builds. `linnaeus.taxonomy.checks` looks at the draft itself, so that a broken file can be examined whole.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from linnaeus.errors import TaxonomyError, nearest, place
from linnaeus.taxonomy import build
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import BoolArray, IntArray

__all__ = ["Draft", "on_cycles"]


class Draft:
    """Numbered names and (parent, child) pairs with their lines.

    Parameters
    ----------
    source : name of the file, for messages.
    root : what ``root="auto"`` means in this format: "auto" for formats of pairs, None where the top is not written.
    repeats : whether the format repeats pairs by nature (paths do); otherwise a repeated pair is an error.

    Examples
    --------
    >>> draft = Draft("topics.tsv")
    >>> draft.edge("Science", "Physics", line=1)
    >>> draft.edge("Physics", "Science", line=2)
    >>> draft.taxonomy()
    Traceback (most recent call last):
    linnaeus.errors.TaxonomyError: topics.tsv:1: The taxonomy has a cycle: Science > Physics > Science.
    """

    def __init__(self, source: str | None = None, *, root: str | None = "auto", repeats: bool = False) -> None:
        self.source = source
        self.root = root
        self.repeats = repeats
        self.index: dict[str, int] = {}
        self.parent = array("i")
        self.child = array("i")
        self.line = array("i")  # 0 where the format has no lines
        self.labels: dict[str, str] = {}
        self.kind: str | None = None  # what the note of the file says, if it says something
        self.declared: set[str] = set()  # nodes said to be at the top

    def node(self, name: str, label: str | None = None) -> int:
        """Number of a node, a new one where the name is new."""
        if label:
            self.labels[name] = label
        return self.index.setdefault(name, len(self.index))

    def edge(self, above: str, below: str, line: int = 0) -> None:
        """Add a pair."""
        index = self.index
        self.parent.append(index.setdefault(above, len(index)))
        self.child.append(index.setdefault(below, len(index)))
        self.line.append(line)

    def pairs(self) -> tuple[IntArray, IntArray, IntArray]:
        """Parents, children and lines as arrays."""
        return np.array(self.parent, np.int32), np.array(self.child, np.int32), np.array(self.line, np.int32)

    def error(self, message: str, line: int = 0) -> TaxonomyError:
        """An error that starts with the place."""
        return TaxonomyError(f"{place(self.source, line or None)}: {message}")

    def taxonomy(
        self, *, kind: str | None = None, root: str | None = "auto", order: Sequence[str] | None = None
    ) -> Taxonomy:
        """Check and build; ``order`` numbers the nodes of a level (names it lacks come last)."""
        parent, child, line = self.pairs()
        names = list(self.index)
        if not names:
            raise self.error("the file holds no node; expected at least one.")
        self._check(names, parent, child, line, kind)
        if order is not None:
            names, parent, child = _reordered(names, parent, child, order)
        shown = [self.labels.get(name, "") for name in names] if self.labels else None
        if root == "auto":
            root = self.root
        try:
            return build.assemble(names, parent, child, kind, root, shown)
        except TaxonomyError as error:
            raise self.error(str(error), self._line_of_cycle(parent, child, line)) from None

    def _check(self, names: list[str], parent: IntArray, child: IntArray, line: IntArray, kind: str | None) -> None:
        loops = np.flatnonzero(parent == child)
        if len(loops):
            raise self.error(f"node {names[parent[loops[0]]]!r} is its own parent.", int(line[loops[0]]))
        if not self.repeats:
            self._check_repeated(names, parent, child, line)
        if self.declared and kind != "graph":
            self._check_unknown(names, parent, child, line)
        if kind == "tree":
            first = np.unique(child.astype(np.int64) * len(names) + parent, return_index=True)[1]
            later = np.setdiff1d(first, first[np.unique(child[first], return_index=True)[1]])
            if len(later):
                v = int(child[later.min()])
                above = [repr(names[p]) for p in parent[first[child[first] == v]]][:2]
                two = f"node {names[v]!r} has the parents {above[0]} and {above[1]}"
                raise self.error(f"not a tree: {two}; use kind='dag'.", int(line[later.min()]))

    def _check_repeated(self, names: list[str], parent: IntArray, child: IntArray, line: IntArray) -> None:
        code = parent.astype(np.int64) * len(names) + child
        order = np.argsort(code, kind="stable")
        again = order[1:][code[order[1:]] == code[order[:-1]]]
        if len(again):
            e = int(again.min())
            first = int(line[np.flatnonzero(code == code[e])[0]])
            pair = f"{names[parent[e]]!r} > {names[child[e]]!r}"
            raise self.error(
                f"the pair {pair} was given before, in line {first}; duplicates='drop' accepts it.", int(line[e])
            )

    def _check_unknown(self, names: list[str], parent: IntArray, child: IntArray, line: IntArray) -> None:
        # Where the tops have a line of their own (an empty parent), a parent without any line is a slip of the pen.
        known = np.zeros(len(names), dtype=bool)
        known[child] = True
        known[[self.index[name] for name in self.declared]] = True
        missing = np.flatnonzero(~known[parent])
        if len(missing):
            e = int(missing[0])
            hint = nearest(names[parent[e]], [name for name, there in zip(names, known, strict=True) if there])
            raise self.error(
                f"parent {names[parent[e]]!r} of {names[child[e]]!r} is unknown{hint or '.'}", int(line[e])
            )

    def _line_of_cycle(self, parent: IntArray, child: IntArray, line: IntArray) -> int:
        inside = on_cycles(parent, child, len(self.index))
        lines = line[inside]
        return int(lines[lines > 0].min()) if (lines > 0).any() else 0


def on_cycles(parent: IntArray, child: IntArray, n: int) -> BoolArray:
    """Which pairs lie on a cycle: both ends in one strongly connected component.

    Examples
    --------
    >>> import numpy as np
    >>> on_cycles(np.array([0, 1, 1]), np.array([1, 0, 2]), 3).tolist()
    [True, True, False]
    """
    component = strong_components(parent, child, n)
    return np.asarray(component[parent] == component[child])


def strong_components(parent: IntArray, child: IntArray, n: int) -> IntArray:
    """Number of the strongly connected component of every node."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    graph = sparse.csr_array((np.ones(len(parent), np.int8), (parent, child)), shape=(n, n))
    component: IntArray = connected_components(graph, directed=True, connection="strong")[1]
    return component


def _reordered(
    names: list[str], parent: IntArray, child: IntArray, order: Sequence[str]
) -> tuple[list[str], IntArray, IntArray]:
    rank: dict[Any, int] = {name: i for i, name in enumerate(order)}
    old = sorted(range(len(names)), key=lambda v: rank.get(names[v], len(rank)))
    number = np.empty(len(names), dtype=np.int32)
    number[old] = np.arange(len(names), dtype=np.int32)
    return [names[v] for v in old], number[parent], number[child]
