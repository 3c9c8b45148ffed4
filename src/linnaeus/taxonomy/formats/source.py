"""From a path to text and back: compression, encodings, line numbers, delimiters, and the note on top of a file.

A note is one comment line ``# linnaeus {"root": null}`` (``!`` in OBO, ``%`` in ARFF, ``<!-- -->`` in XML). It holds
what the format itself cannot express: ``format``, ``kind``, ``root`` (a name or null) and ``order`` (names by number).
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import BinaryIO, TypedDict

from linnaeus import files
from linnaeus.errors import TaxonomyError, place
from linnaeus.taxonomy.names import PATH_MARKS

__all__ = [
    "Note",
    "add_note",
    "body_lines",
    "checked_note",
    "column_mark",
    "decode",
    "delimiter",
    "find_note",
    "is_header",
    "load",
    "path_mark",
    "quoted",
    "save",
    "source_name",
    "table",
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
