"""What a file says before it is a taxonomy: names, pairs, and the line each pair came from; options of the readers.

Readers fill a `Draft`; `Draft.taxonomy` builds from it, or names the first thing wrong with file and line .
`linnaeus.taxonomy.checks` looks at the draft itself, so that a broken file can be examined whole.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from linnaeus.errors import ParameterError, TaxonomyError, place
from linnaeus.taxonomy import build
from linnaeus.taxonomy.build import EdgeList
from linnaeus.taxonomy.names import Deprecated, changed
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import IntArray

__all__ = ["Draft", "FormatOptions"]

LONGEST_PATH = 20_000  # characters of a name that is a whole path; the names of n nested nodes take n^2 characters


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
    linnaeus.errors.TaxonomyError: topics.tsv:1: the taxonomy has a cycle: Science > Physics > Science.
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
        self.order: Sequence[str] | None = None  # likewise
        self.left_out: Counter[str] = Counter()  # display labels that were not taken, by language
        self.declared: set[str] = set()  # nodes said to be at the top
        self.aliases: dict[str, list[str]] = {}  # other ids, and the ids that have them
        self.other_labels: dict[str, tuple[str, str]] = {}  # labels not taken, with their node and language (SKOS)
        self.deprecated: dict[str, Deprecated] = {}  # ids left out, and the ids that replace them
        self.format = ""  # name of the format of the file
        self.unused_columns: list[str] = []  # columns of a table with a header that were not read
        self.headless = False  # whether the file is a table in which no header was seen
        self.gaps: list[str] = []  # codes without the parent that codes of their length have
        self.unused_relations: Counter[str] = Counter()  # pairs of relations that were not asked for

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

    def pairs(self, order: Sequence[str] | None = None) -> EdgeList:
        """The pairs over the names, these in the order they came in, in that of the note, or in another one."""
        order = self.order if order is None else order
        names, lines = list(self.index), np.array(self.line, np.int32)
        parent: IntArray = np.array(self.parent, np.int32)
        child: IntArray = np.array(self.child, np.int32)
        if order is not None:
            names, parent, child = _reordered(names, parent, child, order)
        return EdgeList(names, parent, child, lines, self.source, self.labels)

    def error(self, message: str, line: int = 0) -> TaxonomyError:
        """An error that starts with the place."""
        return TaxonomyError(f"{place(self.source, line or None)}: {message}")

    def refuse_long(self, name: str, line: int = 0) -> None:
        """An error if a name made of a whole path is so long that a deep file would fill the memory with such names."""
        if len(name) > LONGEST_PATH:
            raise self.error(f"the path {name[:40]!r}... has {len(name):,} characters; at most {LONGEST_PATH:,}.", line)

    def taxonomy(
        self, *, kind: str | None = None, root: str | None = "auto", order: Sequence[str] | None = None
    ) -> Taxonomy:
        """Check and build; ``order`` numbers the nodes of a level (names it lacks come last).

        What is not given is as the note of the file says it.
        """
        kind = kind or self.kind
        pairs = self.pairs(order)
        pairs.refuse_loops()
        if not self.repeats:
            pairs.refuse_repeated()
        if kind != "graph":
            pairs.refuse_unknown(self.declared)
        shown = [self.labels.get(name, "") for name in pairs.names] if self.labels else None
        made = build.from_pairs(pairs, kind, self.root if root == "auto" else root, shown)
        replacements = self.replacements()
        made = made.with_replacements(*replacements) if any(replacements) else made
        return changed(made, other_labels=self.other_labels) if self.other_labels else made

    def replacements(self) -> tuple[dict[str, str], dict[str, Deprecated]]:
        """Aliases and deprecated ids that mean nodes, as `Taxonomy.with_replacements` takes them.

        What replaces an id may itself be an alias or deprecated, and is followed to nodes. An alias of several nodes,
        or of a deprecated id, is a deprecated id.
        """
        aliases: dict[str, str] = {}
        deprecated: dict[str, Deprecated] = {}
        for id, owners in self.aliases.items():
            if id in self.index:
                continue
            if len(owners) == 1 and owners[0] in self.index:
                aliases[id] = owners[0]
            else:
                deprecated[id] = Deprecated(self._followed(owners))
        for id, said in self.deprecated.items():
            if id not in self.index and id not in aliases:
                consider = self._followed(said.consider)
                deprecated[id] = Deprecated(self._followed(said.replaced_by), consider, said.label)
        return aliases, deprecated

    def _followed(self, ids: Sequence[str]) -> tuple[str, ...]:
        found: dict[str, None] = {}
        seen: set[str] = set()
        todo = [*reversed(ids)]
        while todo:
            id = todo.pop()
            if id in self.index:
                found[id] = None
            elif id not in seen:
                seen.add(id)
                further = self.deprecated[id].replaced_by if id in self.deprecated else ()
                todo += reversed(self.aliases.get(id, further))
        return tuple(found)


def _reordered(
    names: list[str], parent: IntArray, child: IntArray, order: Sequence[str]
) -> tuple[list[str], IntArray, IntArray]:
    rank: dict[Any, int] = {name: i for i, name in enumerate(order)}
    old = sorted(range(len(names)), key=lambda v: rank.get(names[v], len(rank)))
    number = np.empty(len(names), dtype=np.int32)
    number[old] = np.arange(len(names), dtype=np.int32)
    return [names[v] for v in old], number[parent], number[child]


@dataclass(frozen=True)
class FormatOptions:
    """FormatOptions that shape what a file means; None is the default of the format.

    Parameters
    ----------
    language : language of the display labels (SKOS).
    names : what nodes are called: "iri", "notation", "label" (SKOS), "name" or "path" (paths, indented, JSON).
    separator : the delimiter of columns, or the mark between the steps of a code ("" for codes that nest by digits).
    header : whether the first line names the columns.
    relations : relations that make an edge besides or instead of ``is_a`` (OBO).
    namespaces : keep only the terms of these namespaces (OBO).
    obsolete : keep obsolete or deprecated nodes (OBO, SKOS).
    positions : one node per tree number instead of one per descriptor (MeSH).
    duplicates : "drop" accepts pairs (edges, LSHTC, children) and rows of a code and its title (codes) given twice.
    """

    language: str | None = None
    names: str | None = None
    separator: str | None = None
    header: bool | None = None
    relations: Sequence[str] | None = None
    namespaces: Sequence[str] | None = None
    obsolete: bool | None = None
    positions: bool | None = None
    duplicates: str | None = None

    def only(self, known: Sequence[str], format: str) -> FormatOptions:
        """Itself, once it is clear that every option given means something in this format."""
        for field in fields(self):
            if getattr(self, field.name) is not None and field.name not in known:
                takes = f"takes {', '.join(known)}" if known else "takes no option"
                raise ParameterError(f"Option {field.name} means nothing in the format {format!r}, which {takes}.")
        return self

    def column_mark(self) -> str | None:
        """The separator as a delimiter of columns, which is one character; ``\\t`` and ``tab`` are the tab."""
        mark = "\t" if self.separator in ("\\t", "tab") else self.separator
        if mark is not None and (len(mark) != 1 or mark in '"\r\n'):
            raise ParameterError(f"separator={self.separator!r} does not separate columns; expected one character.")
        return mark

    def choose(self, name: str, choices: Sequence[str]) -> str:
        """The value of an option that has a fixed set of values; the first is the default."""
        value = getattr(self, name)
        if value is not None and value not in choices:
            raise ParameterError(f"{name}={value!r} is not one of {', '.join(map(repr, choices))}.")
        return choices[0] if value is None else value
