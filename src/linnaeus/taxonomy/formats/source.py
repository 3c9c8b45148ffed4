"""From a path to text and back: compression, encodings, line numbers, delimiters, and the note on top of a file.

A note is one comment line ``# linnaeus {"root": null}`` (``!`` in OBO, ``%`` in ARFF, ``<!-- -->`` in XML). It holds
what the format itself cannot express: ``format``, ``kind``, ``root`` (a name or null) and ``order`` (names by number).

Columns of tables and keys of JSON objects such as ``altLabel``, ``synonyms`` and ``definition@de`` hold texts. A cell
may hold several texts between ``|``; in columns of alternative and hidden labels also between ``;``, if the cell has no
``|``. The marks, and a backslash before them, are written with a backslash if they are part of a text.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO, TypedDict

from linnaeus import files
from linnaeus.errors import TaxonomyError, place
from linnaeus.taxonomy.names import PATH_MARKS
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.taxonomy.texts import NodeText

__all__ = [
    "KEYS",
    "Note",
    "add_note",
    "beside_label",
    "body_lines",
    "checked_note",
    "column_mark",
    "decode",
    "delimiter",
    "find_note",
    "is_header",
    "joined_cell",
    "load",
    "path_mark",
    "quoted",
    "save",
    "source_name",
    "split_cell",
    "table",
    "text_column",
    "text_columns",
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
