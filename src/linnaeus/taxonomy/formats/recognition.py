"""Recognise the format of a file by its content: by features that only one format has, then by its shape.

If the shape fits both a table and an outline, the header decides, then the number of indented lines together with the
ending of the file name; if these disagree, the file is not recognised and the error names both formats.
"""

from __future__ import annotations

import itertools
import json
import re

from linnaeus.errors import TaxonomyError
from linnaeus.taxonomy.formats.codes import code_columns, code_separator
from linnaeus.taxonomy.formats.edges import header_columns
from linnaeus.taxonomy.formats.nested import CHILDREN, PARENTS
from linnaeus.taxonomy.formats.source import body_lines, column_mark, delimiter, find_note, is_header, path_mark, table

__all__ = ["ambiguity", "document_sign", "recognise_text", "taxonomy_sign"]

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
    start = text[:SAMPLE]
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


TEXT = ("text", "abstract", "body", "content", "document", "full_text", "fulltext")
LABELS = ("labels", "label", "topics", "topic", "subjects", "subject", "categories", "category", "classes", "tags")
SAMPLE = 1 << 16
_VECTOR = re.compile(r"\S*(\s+\d+:[-+.\deE]+)+\s*")

_FASTA = re.compile(r">\S.*\n[A-Za-z*-]+\s*\Z")


def document_sign(text: str) -> str | None:
    """The feature that makes a text look like documents, in a few words, or None.

    Examples
    --------
    >>> document_sign('{"text": "a goal", "labels": ["Football"]}')
    "JSON objects with the key 'text'"
    >>> document_sign('{"Sports": {"Football": {}}}') is None
    True
    """
    start = text[:SAMPLE].lstrip()
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
