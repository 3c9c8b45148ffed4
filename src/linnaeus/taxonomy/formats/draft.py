"""The content of a file before it is a taxonomy: names, pairs and the line of each pair; options of the readers.

Readers fill a `Draft`; `Draft.taxonomy` builds the taxonomy, or reports the first problem with its file and line.
`linnaeus.taxonomy.checks` examines the draft itself, so that all problems of a broken file can be reported.
"""

from __future__ import annotations

import contextlib
import gc
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TypedDict

import numpy as np

from linnaeus.errors import ParameterError, TaxonomyError, place
from linnaeus.taxonomy import build
from linnaeus.taxonomy.build import EdgeList
from linnaeus.taxonomy.names import Deprecated
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.taxonomy.texts import TextCollector
from linnaeus.typing import IntArray

__all__ = ["ConceptRelations", "Draft", "FormatOptions", "OptionValues", "TaxonomyOptions", "without_collection"]

LONGEST_PATH = 20_000  # characters of a whole path as a name; the names of n nested nodes have n^2 characters in all


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Pause the garbage collector, which would visit millions of small objects without cycles again and again."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@dataclass
class ConceptRelations:
    """What an RDF vocabulary says beside texts and hierarchy, by names of nodes, for checks.

    Parameters
    ----------
    related : list of (str, str), default=[]
        Associations as they are given.
    mappings : list of (str, str, str), default=[]
        SKOS matches: relation, concept, other resource.
    tops : dict of str to None, default={}
        Concepts that are declared as top concepts.
    schemes : set of str, default=set()
        IRIs of the concept schemes.
    unknown_terms : Counter of str, default=Counter()
        Terms in the namespace of SKOS that it does not have.
    empty : list of str, default=[]
        Concepts of empty labels.
    stray : list of str, default=[]
        Concepts of texts with control characters or surrounding white space.
    to_deprecated : list of (str, str), default=[]
        Hierarchical relations with a deprecated concept: parent, child.
    """

    related: list[tuple[str, str]] = field(default_factory=list)
    mappings: list[tuple[str, str, str]] = field(default_factory=list)
    tops: dict[str, None] = field(default_factory=dict)
    schemes: set[str] = field(default_factory=set)
    unknown_terms: Counter[str] = field(default_factory=Counter)
    empty: list[str] = field(default_factory=list)
    stray: list[str] = field(default_factory=list)
    to_deprecated: list[tuple[str, str]] = field(default_factory=list)

    def renamed(self, called: Mapping[str, str]) -> ConceptRelations:
        """The same with names of nodes instead of IRIs, where these are nodes."""

        def name(iri: str) -> str:
            return called.get(iri, iri)

        return ConceptRelations(
            [(name(a), name(b)) for a, b in self.related],
            [(relation, name(a), b) for relation, a, b in self.mappings],
            {name(iri): None for iri in self.tops},
            self.schemes,
            self.unknown_terms,
            [name(iri) for iri in self.empty],
            [name(iri) for iri in self.stray],
            self.to_deprecated,
        )


class Draft:
    """Numbered names and (parent, child) pairs with their lines.

    Parameters
    ----------
    source : str, default=None
        Name of the file, for messages.
    root : str or None, default="auto"
        The meaning of ``root="auto"`` in this format: "auto" for pairs, None if the format does not write the top.
    repeats : bool, default=False
        Whether the format repeats pairs by nature, as paths do; otherwise a repeated pair is an error.

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
        self.kind: str | None = None  # as in the note of the file, if it has one
        self.order: Sequence[str] | None = None  # likewise
        self.declared: set[str] = set()  # nodes declared to be at the top
        self.aliases: dict[str, list[str]] = {}  # other ids, with the ids of their nodes
        self.texts = TextCollector()  # owners are numbers of nodes in this draft
        self.labels_from_texts = True  # whether nodes without a label show a preferred label
        self.language: str | None = None  # of the display labels, taken from the texts
        self.text_columns: list[str] = []  # columns of a table that were read as texts
        self.deprecated: dict[str, Deprecated] = {}  # ids left out, and their replacements
        self.format = ""  # name of the format of the file
        self.unused_columns: list[str] = []  # columns of a table with a header that were not read
        self.headless = False  # whether the file is a table without a header
        self.gaps: list[str] = []  # codes without a parent of the length that other codes have
        self.relations: ConceptRelations | None = None  # of RDF
        self.unused_relations: Counter[str] = Counter()  # pairs of relations that were not selected

    def node(self, name: str, label: str | None = None) -> int:
        """Number of a node; the node is added if the name is new."""
        if label:
            self.labels[name] = label
        return self.index.setdefault(name, len(self.index))

    def tell(self, name: str, entries: Iterable[tuple[str, str, str]]) -> None:
        """Add texts of a node: kind, language and text."""
        for kind, language, text in entries:
            self.texts.add(self.index[name], kind, language, text)

    def edge(self, above: str, below: str, line: int = 0) -> None:
        """Add a pair."""
        index = self.index
        self.parent.append(index.setdefault(above, len(index)))
        self.child.append(index.setdefault(below, len(index)))
        self.line.append(line)

    def pairs(self, order: Sequence[str] | None = None) -> EdgeList:
        """The pairs; names are in the order of the file, of the note, or of ``order``."""
        order = self.order if order is None else order
        names, lines = list(self.index), np.array(self.line, np.int32)
        parent: IntArray = np.array(self.parent, np.int32)
        child: IntArray = np.array(self.child, np.int32)
        if order is not None:
            names, parent, child = _reordered(names, parent, child, order)
        return EdgeList(names, parent, child, lines, self.source, self.labels)

    def error(self, message: str, line: int = 0) -> TaxonomyError:
        """An error that starts with the file and line."""
        return TaxonomyError(f"{place(self.source, line or None)}: {message}")

    def refuse_long(self, name: str, line: int = 0) -> None:
        """Raise an error if a whole path is too long for a name; names of a deep file could fill the memory."""
        if len(name) > LONGEST_PATH:
            raise self.error(
                f"the path {name[:40]!r}... has {len(name):,} characters; expected at most {LONGEST_PATH:,}.", line
            )

    def taxonomy(
        self, *, kind: str | None = None, root: str | None = "auto", order: Sequence[str] | None = None
    ) -> Taxonomy:
        """Validate and build; ``order`` gives the order of nodes within a level (names that it lacks are last).

        Values that are not given are taken from the note of the file.
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
        return self.add_texts_to(made)

    def add_texts_to(self, made: Taxonomy) -> Taxonomy:
        """The taxonomy with the texts of the file, and with display labels in the language that was asked for.

        Display labels are preferred labels, and the other way round.
        """
        made = self._with_file_texts(made) if len(self.texts) else made
        if self.language is None:
            return made
        try:
            return made.with_language(self.language)
        except TaxonomyError as error:
            raise self.error(str(error)[:1].lower() + str(error)[1:]) from None

    def _with_file_texts(self, made: Taxonomy) -> Taxonomy:
        number = np.array([made.index_of[name] for name in self.index])
        texts = self.texts.texts(number)
        chosen = texts.select("preferred")
        preferred = [texts.entry(i) for i in chosen.tolist()]
        known = {(entry.node, entry.text) for entry in preferred}
        lacking = [name for name, label in self.labels.items() if (made.index_of[name], label.strip()) not in known]
        for name in lacking:
            self.texts.add(self.index[name], "preferred", "", self.labels[name])
        best: dict[int, tuple[int, str]] = {}
        for entry in preferred:
            rank = 0 if entry.language.split("-")[0] == "en" else 1 if not entry.language else 2
            if not self.labels.get(made.names[entry.node]) and rank < best.get(entry.node, (3, ""))[0]:
                best[entry.node] = rank, entry.text
        made = made.with_texts(self.texts.texts(number) if lacking else texts)
        shown = {str(made.names[v]): text for v, (_, text) in best.items() if text != made.names[v]}
        return made.with_display_labels(shown) if shown and self.labels_from_texts else made

    def replacements(self) -> tuple[dict[str, str], dict[str, Deprecated]]:
        """Aliases and deprecated ids in the form that `Taxonomy.with_replacements` expects.

        A replacement may itself be an alias or deprecated; it is followed until a node is reached. An alias of several
        nodes, or of a deprecated id, becomes a deprecated id.
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
        for id, entry in self.deprecated.items():
            if id not in self.index and id not in aliases:
                consider = self._followed(entry.consider)
                deprecated[id] = Deprecated(self._followed(entry.replaced_by), consider, entry.label)
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
    rank = {name: i for i, name in enumerate(order)}
    old = sorted(range(len(names)), key=lambda v: rank.get(names[v], len(rank)))
    number = np.empty(len(names), dtype=np.int32)
    number[old] = np.arange(len(names), dtype=np.int32)
    return [names[v] for v in old], number[parent], number[child]


class OptionValues(TypedDict, total=False):
    """Keyword arguments with the names and types of `FormatOptions`."""

    language: str | None
    names: str | None
    separator: str | None
    header: bool | None
    relations: Sequence[str] | None
    namespaces: Sequence[str] | None
    obsolete: bool | None
    positions: bool | None
    duplicates: str | None


class TaxonomyOptions(OptionValues, total=False):
    """Keyword arguments of `linnaeus.taxonomy.formats.read`."""

    encoding: str | None
    root: str | None
    kind: str | None


@dataclass(frozen=True)
class FormatOptions:
    """Options that determine how a file is interpreted; None is the default of the format.

    Parameters
    ----------
    language : str, default=None
        Language of the display labels (SKOS, and other formats that hold texts).
    names : str, default=None
        How nodes are named: "iri", "notation", "label" (SKOS), "name" or "path" (paths, indented, JSON).
    separator : str, default=None
        The delimiter of columns, or the mark between the steps of a code ("" for codes that nest by digits).
    header : bool, default=None
        Whether the first line names the columns.
    relations : sequence of str, default=None
        Relations that are edges, instead of ``is_a`` only (OBO).
    namespaces : sequence of str, default=None
        Keep only the terms of these namespaces (OBO).
    obsolete : bool, default=None
        Whether to keep obsolete or deprecated nodes (OBO, SKOS).
    positions : bool, default=None
        Whether to make one node per tree number instead of one per descriptor (MeSH).
    duplicates : {"error", "drop"}, default=None
        "drop" accepts repeated pairs (edges, LSHTC, children) and repeated rows of a code and its title (codes).
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
        """Return the options, or raise an error if one is given that the format does not have."""
        for option in fields(self):
            if getattr(self, option.name) is not None and option.name not in known:
                takes = f"has the options {', '.join(known)}" if known else "has no options"
                raise ParameterError(f"The format {format!r} does not have the option {option.name}; it {takes}.")
        return self

    def column_mark(self) -> str | None:
        """The separator as a delimiter of columns: one character; ``\\t`` and ``tab`` are the tab."""
        mark = "\t" if self.separator in ("\\t", "tab") else self.separator
        if mark is not None and (len(mark) != 1 or mark in '"\r\n'):
            raise ParameterError(f"separator={self.separator!r} is not a delimiter of columns; expected one character.")
        return mark

    def choose(self, name: str, choices: Sequence[str]) -> str:
        """The value of an option that has a fixed set of values; the first is the default."""
        value = getattr(self, name)
        if value is not None and value not in choices:
            raise ParameterError(f"{name}={value!r} is not one of {', '.join(map(repr, choices))}.")
        return choices[0] if value is None else value
