"""Taxonomies in files: `read`, `write`, `recognise`, and networkx graphs.

Each format has a module with ``parse`` (text to `Draft`) and ``compose`` (taxonomy to text). `write` reads its own text
before it saves it: what the format cannot express is written to a note on top (see `source`), and a taxonomy that would
not be read back as an equal one is refused.

The format of a file is recognised by its content: by features that only one format has, then by its shape. If the
shape fits both a table and an outline, the header decides, then the number of indented lines together with the ending
of the file name; if these disagree, the file is not recognised and the error names both formats.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Unpack

from linnaeus.errors import LinnaeusError, ParameterError, TaxonomyError, nearest, warn_user
from linnaeus.taxonomy.formats.codes import code_columns, code_separator
from linnaeus.taxonomy.formats.draft import (
    Draft,
    FormatOptions,
    Note,
    OptionValues,
    add_note,
    body_lines,
    checked_note,
    column_mark,
    decode,
    delimiter,
    find_note,
    is_header,
    load,
    path_mark,
    save,
    source_name,
    table,
)
from linnaeus.taxonomy.formats.edges import header_columns
from linnaeus.taxonomy.formats.graphs import from_networkx, to_networkx
from linnaeus.taxonomy.formats.nested import CHILDREN, PARENTS, note_of
from linnaeus.taxonomy.names import changed
from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = [
    "FORMATS",
    "Draft",
    "draft",
    "from_networkx",
    "holds_texts",
    "knows",
    "read",
    "recognise",
    "recognise_text",
    "taxonomy_sign",
    "to_networkx",
    "write",
]

HEAD = 1 << 16  # bytes, or characters, examined to recognise a format
NAME_FORMAT = "name it with format=..."


@dataclass(frozen=True)
class Format:
    """A format: its description, its module, the endings of its file names, and its comment mark."""

    about: str
    module: str
    endings: tuple[str, ...] = ()
    mark: str = "#"


class Functions(NamedTuple):
    """What the module of a format provides."""

    known_options: Sequence[str]
    parse: Callable[[str, str, str, FormatOptions], Draft]  # text, source, format, options
    compose: Callable[[Taxonomy, str, FormatOptions], str]
    holds_texts: bool


FORMATS = {
    "turtle": Format("SKOS as Turtle", "skos", (".ttl",)),
    "rdf-xml": Format("SKOS as RDF/XML", "skos", (".rdf", ".xml"), "<!--"),
    "n-triples": Format("SKOS as N-Triples", "skos", (".nt",)),
    "json-ld": Format("SKOS as JSON-LD", "skos", (".jsonld",), "json"),
    "obo": Format("OBO ontology", "obo", (".obo",), "!"),
    "edges": Format("pairs parent, child as TSV or CSV", "edges", (".tsv", ".csv")),
    "paths": Format("one path per line as CSV", "paths", (".paths.csv", ".paths.tsv", ".paths")),
    "indented": Format("indented outline", "indented", (".txt",)),
    "json": Format("nested JSON", "nested", (".json",), "json"),
    "yaml": Format("YAML, as nested JSON or a list of objects", "nested", (".yml", ".yaml")),
    "lshtc": Format("LSHTC: 'parent child' with a space", "lines", ("cat_hier.txt",)),
    "children": Format("a parent and its children per line, with tabs", "lines", (".taxonomy",)),
    "codes": Format("codes such as 1.1.2 or 112, one per line, with titles", "codes", (".codes",)),
    "mesh": Format("'name;tree number' (MeSH)", "mesh", (".mesh",)),
    "arff": Format("class attribute of a hierarchical ARFF file", "arff", (".arff",), "%"),
}


def recognise(source: str | os.PathLike[str] | bytes, *, encoding: str | None = None) -> str:
    """Name of the format of a file, or of the first bytes of a file.

    Examples
    --------
    >>> recognise(b"parent,child\\nSports,Tennis\\n")
    'edges'
    >>> recognise(b"Sports\\n\\tTennis\\n")
    'indented'
    """
    if isinstance(source, bytes):
        return _recognised(decode(source, "the bytes", encoding), "the bytes", True)
    head, name = load(source, HEAD), source_name(source)
    if len(head) < HEAD:
        return _recognised(decode(head, name, encoding), name, True)
    return _recognised(_beginning(head, name, encoding), name, False)


def _beginning(head: bytes, source: str, encoding: str | None) -> str:
    """Text of the first bytes of a file, which may end inside a character of up to four bytes."""
    for cut in range(3):
        with contextlib.suppress(LinnaeusError):
            return decode(head[: len(head) - cut], source, encoding)
    return decode(head[:-3], source, encoding)


def _recognised(text: str, source: str, whole: bool = True) -> str:
    if not text.strip():
        raise TaxonomyError(f"{source}: the file is empty; expected a taxonomy.")
    found = recognise_text(text, whole=whole, ending=Path(_unpacked_name(source)).suffix)
    if found not in FORMATS:
        raise TaxonomyError(f"{source}: {ambiguity(text)}; {NAME_FORMAT} (one of {', '.join(FORMATS)}).")
    return found


def read(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    encoding: str | None = None,
    root: str | None = "auto",
    kind: str | None = None,
    language: str | None = None,
    names: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    relations: Sequence[str] | None = None,
    namespaces: Sequence[str] | None = None,
    obsolete: bool | None = None,
    positions: bool | None = None,
    duplicates: str | None = None,
) -> Taxonomy:
    """Read a taxonomy; the format is recognised from the content unless given, compression from the first bytes.

    Parameters
    ----------
    path : str or path-like
        The file; ``-`` is standard input.
    format : str, default=None
        One of `FORMATS`; "skos" for any RDF syntax, "tsv", "csv" or "graph" for edges.
    encoding : str, default=None
        The encoding; by default that of a byte-order mark or of an XML declaration, otherwise UTF-8.
    root : str or None, default="auto"
        Name of the root, or None; "auto" takes the only node without a parent in formats that write the top.
    kind : {"tree", "dag", "graph"}, default=None
        The expected kind; by default the kind of the taxonomy in the file.
    language, names, separator : str, default=None
        See `linnaeus.taxonomy.formats.draft.FormatOptions`; an option that the format does not have is an error.
    header : bool, default=None
        See `FormatOptions`.
    relations, namespaces : sequence of str, default=None
        See `FormatOptions`.
    obsolete, positions : bool, default=None
        See `FormatOptions`.
    duplicates : str, default=None
        See `FormatOptions`.

    Returns
    -------
    Taxonomy
        The taxonomy.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "topics.tsv"
    >>> _ = file.write_text("parent\\tchild\\nTop\\tSports\\nTop\\tScience\\nSports\\tTennis\\n")
    >>> read(file)
    Taxonomy(tree, 4 nodes, 2 leaves, depth 2)
    """
    options = FormatOptions(language, names, separator, header, relations, namespaces, obsolete, positions, duplicates)
    found = _read_draft(path, format, encoding, options)
    made, known = found.taxonomy(kind=kind, root=root), _functions(found.format).known_options
    if "names" not in known:
        return made
    return changed(made, _label_option="label" if FORMATS[found.format].module == "skos" else "name")


def draft(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    encoding: str | None = None,
    optional: Sequence[str] = (),
    **options: Unpack[OptionValues],
) -> Draft:
    """The content of a file before it is validated, to examine broken files.

    ``optional`` names options that are ignored if the format does not have them, instead of being an error.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "broken.tsv"
    >>> _ = file.write_text("parent\\tchild\\nA\\tB\\nB\\tA\\n")
    >>> list(draft(file).index)
    ['A', 'B']
    """
    return _read_draft(path, format, encoding, FormatOptions(**options), optional)


def _read_draft(
    path: str | os.PathLike[str],
    format: str | None,
    encoding: str | None,
    options: FormatOptions,
    optional: Sequence[str] = (),
) -> Draft:
    source = source_name(path)
    text = decode(load(path), source, encoding)
    name = _format_name(format, text, source)
    known, holds = _functions(name).known_options, _functions(name).holds_texts
    ignored = [option for option in optional if option not in known]
    options = replace(options, **dict.fromkeys(ignored))
    # SKOS chooses the labels of a language while it reads; in other formats with texts they are chosen afterwards.
    language = options.language if holds and "language" not in known else None
    found = _parse(text, source, name, options if language is None else replace(options, language=None))
    found.format, found.language = name, language
    if format == "graph":
        found.kind = "graph"
    return found


def knows(
    option: str,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    encoding: str | None = None,
    writing: bool = False,
) -> bool:
    """Whether the format of a file to read (in this encoding) or to write has an option.

    Examples
    --------
    >>> knows("language", "topics.ttl", writing=True), knows("language", "topics.tsv", writing=True)
    (True, False)
    """
    if format is None and not writing:
        name = recognise(path, encoding=encoding)
    else:
        name = _written_format(path, format)
    return option in _functions(name).known_options


def holds_texts(path: str | os.PathLike[str], format: str | None = None) -> bool:
    """Whether the format of a file to write holds all texts of a taxonomy, and not only display labels.

    Examples
    --------
    >>> holds_texts("topics.ttl"), holds_texts("topics.txt")
    (True, False)
    """
    return _functions(_written_format(path, format)).holds_texts


def _written_format(path: str | os.PathLike[str], format: str | None) -> str:
    return _by_ending(_unpacked_name(path)) if format is None else _format_name(format, None, str(path))


def write(
    taxonomy: Taxonomy,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    language: str | None = None,
    separator: str | None = None,
) -> None:
    """Write a taxonomy so that reading the file gives an equal one; the format follows from the ending unless given.

    Parameters
    ----------
    taxonomy : Taxonomy
        The taxonomy.
    path : str or path-like
        The file; ``-`` is standard output.
    format : str, default=None
        One of `FORMATS`; "skos" is Turtle, "tsv" and "csv" are edges.
    language : str, default=None
        Language tag of the labels (SKOS).
    separator : str, default=None
        The delimiter of columns (edges, paths).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "topics.txt"
    >>> write(Taxonomy.from_edges([("Top", "Sports"), ("Sports", "Tennis")]), file)
    >>> print(file.read_text().expandtabs(2))
    Top
      Sports
        Tennis
    <BLANKLINE>
    """
    plain = _unpacked_name(path)
    if separator is None and (format == "csv" or (format in (None, "edges") and plain.endswith(".csv"))):
        separator = ","
    name = _written_format(path, format)
    if separator is None and name == "paths" and plain.endswith(".tsv"):
        separator = "\t"
    functions = _functions(name)
    options = FormatOptions(language=language, separator=separator).only(functions.known_options, name)
    save(path, _with_note(functions.compose(taxonomy, name, options), taxonomy, name))


def _with_note(text: str, taxonomy: Taxonomy, name: str) -> str:
    """The text with a note about what the format does not express; an error if it is still read as another taxonomy."""
    note: Note = {}
    if recognise_text(text) != name:
        note["format"] = name
    root = None if taxonomy.root is None else taxonomy.names[taxonomy.root]
    if taxonomy.kind == "graph":
        note["kind"] = "graph"
    draft = _parse(text, "the text written", name, FormatOptions())
    try:
        back = draft.taxonomy(kind=note.get("kind"))
        if back.kind != taxonomy.kind:
            note["kind"] = taxonomy.kind
        if (None if back.root is None else back.names[back.root]) != root:
            note["root"] = root
        if len(back) == len(taxonomy) and (back.names != taxonomy.names).any():
            note["order"] = list(taxonomy.names)
        if note:
            text = _noted(text, note, name)
            back = _parse(text, "the text written", name, FormatOptions()).taxonomy()
    except TaxonomyError as error:
        raise TaxonomyError(f"The format {name!r} cannot hold this taxonomy: {error}") from None
    if back != taxonomy:
        raise TaxonomyError(f"The format {name!r} cannot hold this taxonomy{_difference(taxonomy, back)}; use 'edges'.")
    _warn_deprecated(taxonomy, back, name)
    return text


def _warn_deprecated(taxonomy: Taxonomy, back: Taxonomy, name: str) -> None:
    """Warn if deprecated ids, or what replaces them, do not come back from the text written."""
    lost = [id for id in taxonomy.deprecated if id not in back.deprecated]
    changed = [id for id, entry in taxonomy.deprecated.items() if back.deprecated.get(id, entry) != entry]
    if lost:
        warn_user(
            f"The format {name!r} does not hold {len(lost):,} deprecated ids such as {lost[0]!r}, which are left out; "
            "OBO, 'edges' and 'json' hold them."
        )
    elif changed:
        warn_user(
            f"The format {name!r} does not hold everything about {len(changed):,} deprecated ids such as "
            f"{changed[0]!r}; OBO, 'edges' and 'json' hold their labels and all that may replace them."
        )


def _noted(text: str, note: Note, name: str) -> str:
    if FORMATS[name].mark != "json":
        return add_note(text, note, FORMATS[name].mark)
    content = json.loads(text)
    return json.dumps({"linnaeus": note, **content}, ensure_ascii=False, indent=1) + "\n"


def _difference(wanted: Taxonomy, found: Taxonomy) -> str:
    lost = next((name for name in wanted.names if name not in found), None)
    more = next((name for name in found.names if name not in wanted), None)
    if lost is not None:
        return f": node {lost!r} would be lost"
    return f": node {more!r} would be added" if more is not None else ": some edges would be lost"


def _parse(text: str, source: str, name: str, options: FormatOptions) -> Draft:
    """The draft of a text, with the values of the note on top of it."""
    if not text.strip():
        raise TaxonomyError(f"{source}: the file is empty; expected a taxonomy.")
    functions = _functions(name)
    found = functions.parse(text, source, name, options.only(functions.known_options, name))
    note = find_note(text)
    if not note and FORMATS[name].mark == "json" and '"linnaeus"' in text[:40]:
        note = checked_note(note_of(json.loads(text)))
    found.kind, found.order = note.get("kind"), note.get("order")
    found.root = note.get("root", found.root)
    return found


def _functions(name: str) -> Functions:
    module = importlib.import_module(f"linnaeus.taxonomy.formats.{FORMATS[name].module}")
    return Functions(module.KNOWN_OPTIONS, module.parse, module.compose, getattr(module, "HOLDS_TEXTS", False))


def _format_name(format: str | None, text: str | None, source: str) -> str:
    """The name of a format, given by this or another name, or recognised."""
    if format in ("tsv", "csv", "graph"):
        return "edges"
    if format == "skos":
        found = None if text is None else recognise_text(text)
        return found if found in FORMATS and FORMATS[found].module == "skos" else "turtle"
    if format is None:
        return _recognised(text or "", source)
    if format not in FORMATS:
        hint = nearest(format, FORMATS) or f"; expected one of {', '.join(FORMATS)}."
        raise ParameterError(f"{format!r} is not a taxonomy format{hint}")
    return format


def _unpacked_name(path: str | os.PathLike[str]) -> str:
    name = Path(path).name.lower()
    for ending in (".gz", ".xz", ".bz2", ".zip"):
        name = name.removesuffix(ending)
    return name


def _by_ending(name: str) -> str:
    fitting = [(ending, key) for key, format in FORMATS.items() for ending in format.endings if name.endswith(ending)]
    if not fitting:
        known = ", ".join(ending for format in FORMATS.values() for ending in format.endings)
        raise TaxonomyError(
            f"{name}: the format does not follow from the file name; {NAME_FORMAT}, or use one of the endings {known}."
        )
    return max(fitting, key=lambda pair: len(pair[0]))[1]


# -- recognising a format ----------------------------------------------------------------------------------------------

_MESH = re.compile(r".+;\s*[A-Z]\d{2,}(\.\d+)*\s*")
_TRIPLE = re.compile(r"(<[^<>]*>|_:\S+)\s+<[^<>]*>\s+\S")
_TRIPLE_END = re.compile(r"\.\s*#")
_TURTLE = re.compile(r"^\s*(@prefix|@base|prefix\s+\S*:\s*<|base\s+<)", re.IGNORECASE | re.MULTILINE)
# A statement that begins with an IRI (XML tags have no colon, and only tags follow them): ``<urn:a> a <urn:B> .``
_STATEMENT = re.compile(r"(<[^<>\s:#]*[:#][^<>\s]*>|_:\S+)\s+(a\s|<[^<>\s:#]*[:#][^<>\s]*>\s)")
_YAML = re.compile(r"---(\s|$)|- [\w\"'-]+:(\s|$)")  # the start of a document, or an object in a list
_JSON_LD = re.compile(r'"@(?:context|graph|id)"\s*:')
SKOS = "http://www.w3.org/2004/02/skos/core"
LINES = 2000  # number of lines examined
TABLE_ENDINGS = (".csv", ".tsv", ".tab")
_INTEGERS = re.compile(r"-?\d+ +-?\d+\s*")
TEXT = ("text", "abstract", "body", "content", "document", "full_text", "fulltext")
LABELS = ("labels", "label", "topics", "topic", "subjects", "subject", "categories", "category", "classes", "tags")
_VECTOR = re.compile(r"\S*(\s+\d+:[-+.\deE]+)+\s*")
_FASTA = re.compile(r">\S.*\n[A-Za-z*-]+\s*\Z")


def recognise_text(text: str, *, whole: bool = True, ending: str = "") -> str | None:
    """Name of the format, or None; ``whole`` is False if the text is only the beginning of a file.

    ``ending`` (``.csv``) is the suffix of the file name, which decides between formats that fit equally well.
    """
    noted = find_note(text).get("format")
    if isinstance(noted, str):
        return noted
    if document_sign(text) is not None:
        return None
    by_sign = _by_sign(text)
    if by_sign is not None or text.lstrip().startswith("<"):  # other XML, or HTML, is not a list of names
        return by_sign
    if ending in (".yml", ".yaml"):
        return "yaml"
    if not whole:
        text = text.rpartition("\n")[0] or text
    if path_mark(text) is not None:
        return "paths"
    lines = _first_lines(text)
    return _by_shape(lines, column_mark(text), ending) if lines else None


def _first_lines(text: str) -> list[str]:
    return [line for _, line in itertools.islice(body_lines(text), LINES)]


def ambiguity(text: str) -> str:
    """Why a text was not recognised, as far as that is known."""
    sign = document_sign(text)
    if sign is not None:
        return f"this looks like documents ({sign}), not a taxonomy"
    if text.lstrip().startswith("<"):
        return "the format is not recognised"
    lines, mark = _first_lines(text), column_mark(text)
    if mark is not None and _outlined(lines):
        indented = next(number for number, line in body_lines(text) if line[0] in " \t")
        return (
            f"lines with {mark!r} may be a table ('edges', 'paths', 'codes'), and indented ones (line {indented}) an "
            "outline ('indented')"
        )
    if mark is not None:
        return "rows of two cells may be a parent and its child ('edges') or a code and its title ('codes')"
    if _wordy(lines):
        return "lines of several words may be names ('indented') or a parent and its children ('children')"
    return "the format is not recognised"


def taxonomy_sign(text: str) -> str | None:
    """The feature that shows that a text is a taxonomy and not documents, or None.

    Examples
    --------
    >>> taxonomy_sign("parent,child\\nSports,Tennis\\n"), taxonomy_sign("text,label\\na goal,Sports\\n")
    ("the columns 'parent' and 'child'", None)
    """
    start = text[:HEAD]
    if document_sign(start) is not None:
        return None
    format = _by_sign(start)
    if format in ("obo", "turtle", "rdf-xml", "n-triples", "json-ld"):
        return "an OBO ontology" if format == "obo" else "RDF"
    first = next((line for _, line in body_lines(start)), "")
    mark = delimiter([first])
    cells = [cell.strip().strip('"').lower() for cell in first.split(mark)] if mark else []
    return "the columns 'parent' and 'child'" if len(cells) < 4 and {"parent", "child"} <= set(cells) else None


def _by_sign(text: str) -> str | None:
    """The format with a characteristic word or mark at its beginning, or None."""
    start = text.lstrip()
    if start[:1] in ("{", "["):
        if start.startswith(("[Term]", "[Typedef]")):
            return "obo"
        return "json-ld" if _JSON_LD.search(start) and SKOS in start else "json"
    if re.match(r"<\?xml|<!--|<!DOCTYPE|<rdf:RDF|<RDF\b", start):
        return "rdf-xml" if "http://www.w3.org/1999/02/22-rdf-syntax-ns#" in text else None
    lines = [line.strip() for line in start.split("\n", 400)[:400]]
    content = [line for line in lines if line and not line.startswith(("#", "%", "!"))]
    if not content:
        return None
    if _YAML.match(content[0]):
        return "yaml"
    if content[0].startswith("format-version:") or "[Term]" in content:
        return "obo"
    if content[0].lower().startswith("@relation"):
        return "arff"
    if _TURTLE.match(content[0]):
        return "turtle"
    if _is_triple(content[0]):
        return "n-triples" if all(map(_is_triple, content[:20])) else "turtle"
    return "turtle" if _STATEMENT.match("\n".join(content)) else None


def _is_triple(line: str) -> bool:
    # In two steps, because one expression for both ends takes quadratic time on a long line.
    return bool(_TRIPLE.match(line)) and (line.endswith(".") or bool(_TRIPLE_END.search(line)))


def _by_shape(lines: list[str], mark: str | None, ending: str) -> str | None:
    """The format by the shape of the rows: number of columns, repetitions, indentation."""
    rows = [] if mark is None else _rows(lines, mark)
    if rows and header_columns(rows[0]) is not None:
        return "edges"
    if rows and is_header(rows[0]):
        return "paths"
    if _outlined(lines):
        mostly = 3 * sum(line[0] in " \t" for line in lines) >= len(lines)
        delimited = mark is not None and all(mark in line for line in lines)
        if not delimited or (mostly and ending not in TABLE_ENDINGS):
            return "indented"
        if mostly or ending not in TABLE_ENDINGS:
            return None
    if all(_MESH.fullmatch(line) for line in lines):
        return "mesh"
    if all(_INTEGERS.fullmatch(line) for line in lines):
        return "lshtc"
    if (rows and code_columns(rows)) or code_columns([line.split(None, 1) for line in lines]):
        return "codes"
    return _by_words(lines) if mark is None else _by_columns(rows, mark)


def _rows(lines: list[str], mark: str) -> list[list[str]]:
    try:
        return [cells for _, cells in table("\n".join(lines), mark, "the file")]
    except TaxonomyError:  # a quoted cell may be cut off here; the reader sees the whole file
        return [line.split(mark) for line in lines]


def _outlined(lines: list[str]) -> bool:
    """Whether some lines are indented, the first is not, and no line contains a tab after its indentation."""
    indented = any(line[0] in " \t" for line in lines[1:])
    return indented and lines[0][0] not in " \t" and not any("\t" in line.strip() for line in lines)


def _wordy(lines: list[str]) -> bool:
    """Whether no line is indented and each has several words."""
    return all(line[0] not in " \t" and len(line.split()) > 1 for line in lines)


def _by_words(lines: list[str]) -> str | None:
    """Format of lines without a delimiter: words that are parents in one line and children in others, codes or names.

    Names of several words without indentation could also be a parent and its children, so they are not recognised.
    """
    if _wordy(lines):
        rows = [line.split() for line in lines]
        if {row[0] for row in rows}.intersection(word for row in rows for word in row[1:]):
            return "children"
    if code_separator(lines):
        return "codes"
    return None if _wordy(lines) else "indented"


def _by_columns(rows: list[list[str]], mark: str) -> str | None:
    widths = {len(row) for row in rows}
    first = [row[0] for row in rows]
    later = {cell for row in rows for cell in row[1:]}
    distinct = len(set(first)) == len(first)
    if widths == {2}:
        # Pairs that do not share names with each other could also be a list of codes and titles.
        alone = len(rows) > 2 and distinct and len(later) == len(rows) and not later.intersection(first)
        return None if alone else "edges"
    # A parent with its children: no parent has two lines, and one is the child of another; paths share steps.
    if mark == "\t" and distinct and later.intersection(first):
        return "children"
    if len(rows) == 1 and mark == "\t":
        return "children"
    return "paths"


def document_sign(text: str) -> str | None:
    """The feature that makes a text look like documents, in a few words, or None.

    Examples
    --------
    >>> document_sign('{"text": "a goal", "labels": ["Football"]}')
    "JSON objects with the key 'text'"
    >>> document_sign('{"Sports": {"Football": {}}}') is None
    True
    """
    start = text[:HEAD].lstrip()
    if start[:1] in ("{", "["):
        return _json_sign(start)
    lines = [line for _, line in zip(range(20), (line for _, line in body_lines(start)), strict=False)]
    if not lines:
        return None
    if _FASTA.match("\n".join(lines[:2])):
        return "FASTA sequences"
    if all(_VECTOR.fullmatch(line) for line in lines[: max(1, len(lines) - 1)]):
        return "lines of feature:value"
    return _header_sign(lines[0])


def _json_sign(start: str) -> str | None:
    try:
        first, end = json.JSONDecoder().raw_decode(start[start.index("{") :])
    except (ValueError, RecursionError):  # longer than the sample, invalid or too deep; the reader reports it
        return None
    if not isinstance(first, dict) or any(key in first for key in (*CHILDREN, *PARENTS)):
        return None
    key = next((key for key in TEXT if isinstance(first.get(key), str)), None)
    several = start[0] == "[" or start[end:].strip()  # a flat object may be a taxonomy that has a node 'text'
    labelled = any(isinstance(first.get(key), list) for key in LABELS)
    return f"JSON objects with the key {key!r}" if key and (several or labelled) else None


def _header_sign(line: str) -> str | None:
    mark = delimiter([line])
    cells = [cell.strip().strip('"').lower() for cell in line.split(mark)] if mark else []
    if header_columns(cells) is not None:
        return None
    text = next((cell for cell in cells if cell in TEXT), None)
    label = next((cell for cell in cells if cell in LABELS), None)
    return f"the columns {text!r} and {label!r}" if text and label else None
