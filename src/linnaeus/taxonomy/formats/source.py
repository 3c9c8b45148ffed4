"""From a path to text and back: compression, encodings, line numbers, and the note a writer may leave on top.

A note is one comment line ``# linnaeus {"root": null}`` (``!`` in OBO, ``%`` in ARFF, ``<!-- -->`` in XML). It holds
what the format itself cannot say: ``format``, ``kind``, ``root`` (a name or null) and ``order`` (names by node number).
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
from typing import Any, BinaryIO

from linnaeus import files
from linnaeus.errors import TaxonomyError, place
from linnaeus.taxonomy.names import PATH_MARKS

__all__ = [
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


def load(path: str | os.PathLike[str], size: int = -1) -> bytes:
    """The first ``size`` bytes of a file (all by default; ``-`` is the standard input), unpacked if it is packed."""
    name = source_name(path)
    with files.intact(name, TaxonomyError), _opened(path) as raw, files.unpacked(raw, name, TaxonomyError) as file:
        return file.read(size)


def source_name(path: str | os.PathLike[str]) -> str:
    """What a file is called in messages."""
    return "<stdin>" if str(path) == "-" else str(path)


def _opened(path: str | os.PathLike[str]) -> BinaryIO:
    if str(path) == "-":
        return io.BytesIO(sys.stdin.buffer.read())  # not the stream itself, which must stay open
    return open(path, "rb")


def save(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8, packed where the ending asks for it, in one step; ``-`` is the standard output."""
    if str(path) == "-":
        sys.stdout.write(text)
        return
    files.replace_file(path, files.packed(text.encode(), path))


def decode(data: bytes, source: str, encoding: str | None = None) -> str:
    """Text of the bytes by ``encoding``, a byte order mark, what XML declares, or UTF-8.

    A wrong byte or a zero byte is named with its line.
    """
    if encoding is None and (declared := _XML_ENCODING.match(data)):
        named = declared.group(1).decode()
        # The declaration itself was read byte by byte: it cannot be true of UTF-16 and UTF-32.
        encoding = None if named.lower().startswith(("utf-16", "utf-32")) else named
    try:
        text = files.decode(data, source, encoding, TaxonomyError)
    except UnicodeError as error:  # of codecs that are not for files, such as 'idna'
        raise TaxonomyError(f"{source}: the encoding {encoding!r} does not read it ({error}).") from None
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        raise TaxonomyError(
            f"{place(source, line)}: a zero byte is not text; a binary file, or UTF-16? {files.NAME_ENCODING}, "
            "for example 'utf-16-le'."
        )
    return text


def find_note(text: str) -> dict[str, Any]:
    """What the note on top says; empty where there is none."""
    found = _NOTE.search(text[:200]) or (_NOTE.search(text) if "linnaeus {" in text[:200] else None)
    if found is None:
        return {}
    try:
        return checked_note(json.loads(found.group(1)))
    except (ValueError, RecursionError):
        return {}


def checked_note(note: object) -> dict[str, Any]:
    """Those entries of a note that are what a writer writes; a file may be edited by hand."""
    if not isinstance(note, dict):
        return {}
    good = {
        "format": lambda value: isinstance(value, str),
        "kind": lambda value: value in ("tree", "dag", "graph"),
        "root": lambda value: value is None or isinstance(value, str),
        "order": lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value),
    }
    return {key: note[key] for key, fits in good.items() if key in note and fits(note[key])}


def add_note(text: str, note: dict[str, Any], mark: str) -> str:
    """The text with a note as its first line (in XML: as its second)."""
    said = "linnaeus " + json.dumps(note, ensure_ascii=False)
    if mark != "<!--":
        return f"{mark} {said}\n{text}"
    declaration, rest = text.split("\n", 1)
    safe = said.replace("--", "-\\u002d")  # two hyphens would end the comment
    return f"{declaration}\n<!-- {safe} -->\n{rest}"


def body_lines(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines that say something, without what stands on top: comments (``#``, up to and including the note)
    and the line ``sep=;`` that spreadsheets write.
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
    """The delimiter of columns: the one that a line ``sep=;`` names, else the one that most of the first lines contain.

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
    """The mark between the steps of paths, such as `` > ``, that at least half of the first lines have, or None.

    Lines that hold a delimiter of columns as often are a table. A slash counts only where commas occur, too:
    otherwise the lines are codes (`linnaeus.taxonomy.formats.codes`).

    Examples
    --------
    >>> path_mark("A\\nA > AA\\nA > AB, AC\\n"), path_mark("A,A > B\\n"), path_mark("A/AA, AB\\nA/AC\\n")
    (' > ', None, '/')
    """
    lines = [line for _, line in itertools.islice(body_lines(text), PATH_SAMPLE)]
    if not lines or any("\t" in line or line[0].isspace() for line in lines):
        return None
    # A comma in front of a blank is one of a name.
    delimiters = max(sum(bool(_DELIMITER[mark].search(line)) for line in lines) for mark in _DELIMITER)
    for mark in PATH_MARKS:
        marked = sum(mark in line for line in lines)
        if marked > delimiters and 2 * marked >= len(lines) and (mark != "/" or any("," in line for line in lines)):
            return mark
    return None


def table(text: str, mark: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Numbered rows of cells without surrounding spaces; quotes as in CSV, and a quoted cell may hold line breaks.

    Rows of empty cells, which spreadsheets leave at the end, are skipped.
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
    """One line of a delimited file, cells quoted where they must be."""
    if not any(mark in cell or '"' in cell or "\n" in cell or "\r" in cell for cell in cells):
        return mark.join(cells)
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=mark, lineterminator="\n").writerow(cells)
    return buffer.getvalue().removesuffix("\n")
