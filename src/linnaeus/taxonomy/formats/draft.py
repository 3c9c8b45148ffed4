"""What formats share: files as text and tables, options, and the draft that a reader fills.

A file becomes text: compression, encodings, line numbers, delimiters, and the note on top of it. Readers fill a
`Draft` with names, pairs and the line of each pair; `Draft.taxonomy` builds the taxonomy, or reports the first problem
with its file and line. `linnaeus.taxonomy.checks` examines the draft itself, so that all problems of a broken file can
be reported.

A note is one comment line ``# linnaeus {"root": null}`` (``!`` in OBO, ``%`` in ARFF, ``<!-- -->`` in XML). It holds
what the format itself cannot express: ``format``, ``kind``, ``root`` (a name or null) and ``order`` (names by number).

Columns of tables and keys of JSON objects such as ``altLabel``, ``synonyms`` and ``definition@de`` hold texts. A cell
may hold several texts between ``|``; in columns of alternative and hidden labels also between ``;``, if the cell has no
``|``. The marks, and a backslash before them, are written with a backslash if they are part of a text.
"""

from __future__ import annotations

import contextlib
import csv
import gc
import io
import itertools
import json
import os
import re
import sys
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import BinaryIO, TypedDict

import numpy as np

from linnaeus import files
from linnaeus.errors import ParameterError, TaxonomyError, closest, place
from linnaeus.taxonomy import build
from linnaeus.taxonomy.build import EdgeList
from linnaeus.taxonomy.names import PATH_MARKS, Deprecated
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.taxonomy.texts import NodeText, TextCollector
from linnaeus.typing import IntArray

__all__ = [
    "KEYS",
    "ConceptRelations",
    "Draft",
    "FormatOptions",
    "Note",
    "OptionValues",
    "TaxonomyOptions",
    "add_note",
    "beside_label",
    "body_lines",
    "checked_note",
    "column_mark",
    "decode",
    "delimiter",
    "find_note",
    "is_header",
    "is_label",
    "joined_cell",
    "load",
    "path_mark",
    "quoted",
    "save",
    "similar_column",
    "source_name",
    "split_cell",
    "table",
    "text_column",
    "text_columns",
    "without_collection",
    "written_columns",
]

_NOTE = re.compile(r"^(?:#|!|%|<!--) ?linnaeus (\{.*\})", re.MULTILINE)
_XML_ENCODING = re.compile(rb"""<\?xml[^>]{0,80}?\sencoding\s*=\s*["']([\w.:-]+)["']""")
_EXCEL_MARK = re.compile(r'"?sep=([^\w\s"]|\t)"?[;,\t]*\r?', re.IGNORECASE)
_LEVEL = re.compile(r"(level|lvl|l|tier|depth|step|category|cat)[ _-]?\d+", re.IGNORECASE)
DELIMITERS = ("\t", ";", ",", "|")
_DELIMITER = {mark: re.compile(re.escape(mark) + (r"(?! )" if mark == "," else "")) for mark in DELIMITERS}
SAMPLE = 200  # lines examined to find the delimiter
PATH_SAMPLE = 2000  # lines examined to find the mark between the steps of paths


class Note(TypedDict, total=False):
    """What a note may hold."""

    format: str
    kind: str
    root: str | None
    order: list[str]


def load(path: str | os.PathLike[str], size: int = -1) -> bytes:
    """The first ``size`` bytes of a file (all by default; ``-`` is standard input), decompressed if necessary."""
    name = source_name(path)
    with files.intact(name, TaxonomyError), _opened(path) as raw, files.unpacked(raw, name, TaxonomyError) as file:
        return file.read(size)


def source_name(path: str | os.PathLike[str]) -> str:
    """The name of a file in messages."""
    return "<stdin>" if str(path) == "-" else str(path)


def _opened(path: str | os.PathLike[str]) -> BinaryIO:
    if str(path) == "-":
        return io.BytesIO(sys.stdin.buffer.read())  # not the stream itself, which must stay open
    return open(path, "rb")


def save(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 atomically, compressed if the file name asks for it; ``-`` is standard output."""
    if str(path) == "-":
        sys.stdout.write(text)
        return
    files.replace_file(path, files.packed(text.encode(), path))


def decode(data: bytes, source: str, encoding: str | None = None) -> str:
    """Text of the bytes by ``encoding``, a byte-order mark, the XML declaration, or UTF-8.

    An invalid byte or a null byte is an error that names its line.
    """
    if encoding is None and (declared := _XML_ENCODING.match(data)):
        named = declared.group(1).decode()
        # The declaration was read byte by byte, so that the file cannot be UTF-16 or UTF-32.
        encoding = None if named.lower().startswith(("utf-16", "utf-32")) else named
    try:
        text = files.decode(data, source, encoding, TaxonomyError)
    except UnicodeError as error:  # from codecs that are not meant for files, such as 'idna'
        raise TaxonomyError(f"{source}: the encoding {encoding!r} cannot decode the file ({error}).") from None
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        raise TaxonomyError(
            f"{place(source, line)}: the file contains a null byte, so it is binary or UTF-16; {files.NAME_ENCODING}, "
            "for example 'utf-16-le'."
        )
    return text


def find_note(text: str) -> Note:
    """The note on top of a text; empty if there is none."""
    found = _NOTE.search(text[:200]) or (_NOTE.search(text) if "linnaeus {" in text[:200] else None)
    if found is None:
        return {}
    try:
        return checked_note(json.loads(found.group(1)))
    except (ValueError, RecursionError):
        return {}


def checked_note(note: object) -> Note:
    """The valid entries of a note; a file may have been edited by hand."""
    found: Note = {}
    if not isinstance(note, dict):
        return found
    order = note.get("order")
    if isinstance(note.get("format"), str):
        found["format"] = note["format"]
    if note.get("kind") in ("tree", "dag", "graph"):
        found["kind"] = note["kind"]
    if "root" in note and (note["root"] is None or isinstance(note["root"], str)):
        found["root"] = note["root"]
    if isinstance(order, list) and all(isinstance(name, str) for name in order):
        found["order"] = order
    return found


def add_note(text: str, note: Note, mark: str) -> str:
    """The text with a note as its first line (in XML: as its second)."""
    line = "linnaeus " + json.dumps(note, ensure_ascii=False)
    if mark != "<!--":
        return f"{mark} {line}\n{text}"
    declaration, rest = text.split("\n", 1)
    safe = line.replace("--", "-\\u002d")  # two hyphens would end the comment
    return f"{declaration}\n<!-- {safe} -->\n{rest}"


def body_lines(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines that are not blank, without the comments (``#``, up to and including the note) and the line
    ``sep=;`` of spreadsheets at the top.
    """
    on_top = True
    for number, line in enumerate(text.split("\n"), 1):
        if on_top and line.startswith("#"):
            on_top = not line.startswith("# linnaeus {")
            continue
        if on_top and _EXCEL_MARK.fullmatch(line):
            continue
        if line and not line.isspace():
            on_top = False
            yield number, line.rstrip("\r")


def delimiter(lines: Sequence[str]) -> str | None:
    """The delimiter that most lines contain, or None."""
    counts = {mark: sum(mark in line for line in lines) for mark in DELIMITERS}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] else None


def column_mark(text: str) -> str | None:
    """The delimiter of columns: the one in a line ``sep=;``, otherwise the one that most of the first lines contain.

    Examples
    --------
    >>> column_mark("sep=;\\nA, B and C;AA\\n"), column_mark("A\\tAA\\n"), column_mark("A\\n")
    (';', '\\t', None)
    """
    for line in text.split("\n", 20)[:20]:
        if line.startswith("#") or not line.strip():
            continue
        if found := _EXCEL_MARK.fullmatch(line):
            return found.group(1)
        break
    return delimiter([line for _, line in itertools.islice(body_lines(text), SAMPLE)])


def is_header(cells: list[str]) -> bool:
    """Whether the cells are column names such as ``level1, level2``."""
    return len(cells) > 1 and all(_LEVEL.fullmatch(cell) for cell in cells)


def path_mark(text: str) -> str | None:
    """The mark between the steps of paths, such as `` > ``, if at least half of the first lines contain it, or None.

    Lines that contain a delimiter of columns as often are a table. A slash counts only if some lines contain commas:
    otherwise the lines are codes (`linnaeus.taxonomy.formats.codes`).

    Examples
    --------
    >>> path_mark("A\\nA > AA\\nA > AB, AC\\n"), path_mark("A,A > B\\n"), path_mark("A/AA, AB\\nA/AC\\n")
    (' > ', None, '/')
    """
    lines = [line for _, line in itertools.islice(body_lines(text), PATH_SAMPLE)]
    if not lines or any("\t" in line or line[0].isspace() for line in lines):
        return None
    # A comma before a space is part of a name.
    delimiters = max(sum(bool(_DELIMITER[mark].search(line)) for line in lines) for mark in _DELIMITER)
    for mark in PATH_MARKS:
        marked = sum(mark in line for line in lines)
        if marked > delimiters and 2 * marked >= len(lines) and (mark != "/" or any("," in line for line in lines)):
            return mark
    return None


def table(text: str, mark: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Numbered rows of cells without surrounding spaces; quotes as in CSV, and a quoted cell may contain line breaks.

    Rows of empty cells, which spreadsheets write at the end, are skipped.
    """
    if '"' not in text:
        for number, line in body_lines(text):
            cells = [cell.strip() for cell in line.split(mark)]
            if any(cells):
                yield number, cells
        return
    first = next(body_lines(text), (1, ""))[0]
    rest = text.split("\n", first - 1)[-1]
    reader = csv.reader(io.StringIO(rest, newline=""), delimiter=mark, strict=True)
    number = first
    try:
        with files.long_cells():
            for row in reader:
                if any(cell.strip() for cell in row):
                    yield number, [cell.strip() for cell in row]
                number = first + reader.line_num
    except csv.Error as error:
        raise TaxonomyError(f"{place(source, number)}: the quotes do not match ({error}).") from None


def quoted(cells: Sequence[str], mark: str) -> str:
    """One line of a delimited file; cells are quoted if necessary."""
    if not any(mark in cell or '"' in cell or "\n" in cell or "\r" in cell for cell in cells):
        return mark.join(cells)
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=mark, lineterminator="\n").writerow(cells)
    return buffer.getvalue().removesuffix("\n")


# -- texts in columns of tables and under keys of JSON objects ---------------------------------------------------------

KEYS = {
    "preferred": "prefLabel",
    "alternative": "altLabel",
    "hidden": "hiddenLabel",
    "definition": "definition",
    "scope_note": "scopeNote",
    "note": "note",
    "example": "example",
    "notation": "notation",
}
_WORDS = {
    **dict.fromkeys(("preflabel", "preferred", "preferredlabel", "preferredterm"), "preferred"),
    **dict.fromkeys(
        ("altlabel", "alternative", "alternativelabel", "alternativename", "alternativeterm"), "alternative"
    ),
    **dict.fromkeys(("synonym", "entryterm"), "alternative"),
    **dict.fromkeys(("hiddenlabel", "hidden"), "hidden"),
    **dict.fromkeys(("definition", "description"), "definition"),
    **dict.fromkeys(("note", "comment", "remark"), "note"),
    "scopenote": "scope_note",
    "example": "example",
    "notation": "notation",
}
_WORDS |= {f"{word}s": kind for word, kind in _WORDS.items()}
_USUAL = (
    "altLabel",
    "hiddenLabel",
    "prefLabel",
    "synonym",
    "definition",
    "description",
    "scopeNote",
    "example",
    "notation",
)
_LABELS = ("label", "name", "title")  # display labels unless they have a language
_TAGGED = re.compile(r"(.+?)(?:@(\S+)|[_:]([a-z]{2})| ?\(([a-z]{2,3})\)| ?\[([a-z]{2,3})\])", re.IGNORECASE)
_MARK = re.compile(r"\\([\\|;])|([|;])")
_ESCAPED = re.compile(r"([\\|;])")


def text_column(name: str) -> tuple[str, str] | None:
    """Kind and language of the texts in a column or under a key, or None if the name is not one of texts.

    Examples
    --------
    >>> text_column("Alternative labels"), text_column("definition@de"), text_column("title_fr"), text_column("title")
    (('alternative', ''), ('definition', 'de'), ('preferred', 'fr'), None)
    """
    name = name.strip().strip('"')
    if (kind := _WORDS.get(_bare(name))) is not None:
        return kind, ""
    found = _TAGGED.fullmatch(name)
    if found is None:
        return None
    word, language = _bare(found[1]), next(filter(None, found.groups()[1:]))
    kind = "preferred" if word in _LABELS else _WORDS.get(word)
    return None if kind is None else (kind, language.lower())


def similar_column(name: str) -> str | None:
    """The usual name of a column of texts that a name resembles, or begins; None if there is none.

    Examples
    --------
    >>> similar_column("alt"), similar_column("definiton"), similar_column("weight")
    ('altLabel', 'definition', None)
    """
    bare = _bare(name)
    begun = [usual for usual in _USUAL if len(bare) > 2 and _bare(usual).startswith(bare)]
    return begun[0] if begun else closest(name, _USUAL)


def is_label(name: str) -> bool:
    """Whether a column or key holds display labels.

    Examples
    --------
    >>> is_label("Title"), is_label("altLabel")
    (True, False)
    """
    return _bare(name) in _LABELS


def _bare(name: str) -> str:
    return re.sub(r"[ _-]", "", name.lower())


def text_columns(header: Sequence[str], used: Collection[int | None]) -> dict[int, tuple[str, str]]:
    """Kind and language of the columns of texts, without those that are ``used`` otherwise."""
    kinds = {i: text_column(cell) for i, cell in enumerate(header) if i not in used}
    return {i: kind for i, kind in kinds.items() if kind is not None}


def split_cell(cell: str, kind: str) -> list[str]:
    """The texts of a cell.

    Examples
    --------
    >>> split_cell("heart attack; MI", "alternative"), split_cell("a; b | c", "alternative"), split_cell("a; b", "note")
    (['heart attack', 'MI'], ['a; b', 'c'], ['a; b'])
    """
    if not _MARK.search(cell):
        return [cell]
    marks = [found[2] for found in _MARK.finditer(cell) if found[2]]
    mark = "|" if "|" in marks else ";" if kind in ("alternative", "hidden") else "|"
    texts, place = [""], 0
    for found in _MARK.finditer(cell):
        texts[-1] += cell[place : found.start()]
        if found[2] == mark:
            texts.append("")
        else:
            texts[-1] += found[1] or found[2]
        place = found.end()
    texts[-1] += cell[place:]
    return [text.strip() for text in texts if text.strip()]


def joined_cell(texts: Iterable[str]) -> str:
    """Texts as a cell; the inverse of `split_cell`."""
    return " | ".join(_ESCAPED.sub(r"\\\1", text) for text in texts)


def beside_label(taxonomy: Taxonomy, v: int) -> list[NodeText]:
    """Texts of a node without the preferred label that follows from its display label."""
    if taxonomy._texts is None:
        return []
    texts = taxonomy.texts.of(v)
    shown = "" if taxonomy.display_labels is None else taxonomy.display_labels[v].strip()
    equal = [entry for entry in texts if entry.kind == "preferred" and entry.text == shown]
    return [entry for entry in texts if entry not in equal] if [entry.language for entry in equal] == [""] else texts


def written_columns(taxonomy: Taxonomy) -> tuple[dict[tuple[str, str], str], list[Mapping[tuple[str, str], str]]]:
    """Names of the columns of texts by kind and language, and the cells of every node."""
    rows: list[Mapping[tuple[str, str], str]] = []
    for v in range(0 if taxonomy._texts is None else taxonomy.n_nodes):
        found: dict[tuple[str, str], list[str]] = {}
        for _, kind, language, text in beside_label(taxonomy, v):
            found.setdefault((kind, language), []).append(text)
        rows.append({key: joined_cell(texts) for key, texts in found.items()})
    keys = sorted({key for row in rows for key in row}, key=lambda key: (list(KEYS).index(key[0]), key[1]))
    return {key: KEYS[key[0]] + (f"@{key[1]}" if key[1] else "") for key in keys}, rows


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

    def add_texts(self, name: str, entries: Iterable[tuple[str, str, str]]) -> None:
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
        Whether to keep obsolete or deprecated nodes (OBO, SKOS, edges, codes, JSON).
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
