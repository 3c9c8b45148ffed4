"""From a path to text and back: compression, encodings, line numbers, and the note a writer may leave on top.

A note is one comment line ``# linnaeus {"root": null}`` (``!`` in OBO, ``%`` in ARFF, ``<!-- -->`` in XML). It holds
what the format itself cannot say: ``format``, ``kind``, ``root`` (a name or null) and ``order`` (names by node number).
"""

from __future__ import annotations

import bz2
import contextlib
import csv
import gzip
import io
import json
import lzma
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from linnaeus.errors import TaxonomyError, place

__all__ = ["add_note", "body_lines", "decode", "delimiter", "find_note", "load", "quoted", "save", "table"]

_MAGIC: tuple[tuple[bytes, Any], ...] = ((b"\x1f\x8b", gzip), (b"\xfd7zXZ\x00", lzma), (b"BZh", bz2))
_NOTE = re.compile(r"^(?:#|!|%|<!--) ?linnaeus (\{.*\})", re.MULTILINE)
DELIMITERS = ("\t", ";", ",", "|")


def load(path: str | os.PathLike[str], size: int = -1) -> bytes:
    """The first ``size`` bytes of a file (all by default), unpacked where its first bytes say gzip, xz or bzip2."""
    with open(path, "rb") as file:
        start = file.read(6)
    opener = next((module for magic, module in _MAGIC if start.startswith(magic)), None)
    try:
        with open(path, "rb") if opener is None else opener.open(path, "rb") as file:
            data: bytes = file.read(size)
            return data
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error) as error:
        raise TaxonomyError(f"{path}: the compressed file is damaged or cut off ({error}).") from None


def save(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8, packed where the ending asks for it; the file appears whole or not at all."""
    target = Path(path)
    packers: dict[str, Any] = {".gz": gzip, ".xz": lzma, ".bz2": bz2}
    data = text.encode()
    if target.suffix in packers:
        data = packers[target.suffix].compress(data)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(data)
        os.replace(unfinished, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            unfinished.unlink()


def decode(data: bytes, source: str, encoding: str | None = None) -> str:
    """Text of the bytes: a byte-order mark decides, then ``encoding``, then UTF-8; a wrong byte is named with line."""
    if encoding is None:
        marks = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
        encoding = next((name for mark, name in marks if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        where = place(source, data.count(b"\n", 0, error.start) + 1)
        byte = f"byte 0x{data[error.start]:02x}"
        raise TaxonomyError(
            f"{where}: {byte} is not {encoding.upper()}; give encoding=, for example 'latin-1'."
        ) from None
    except LookupError:
        raise TaxonomyError(f"{source}: {encoding!r} is not an encoding that Python knows.") from None
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        raise TaxonomyError(
            f"{place(source, line)}: a zero byte is not text; is this UTF-16 (encoding='utf-16-le') or a binary file?"
        )
    return text


def find_note(text: str) -> dict[str, Any]:
    """What the note on top says; empty where there is none."""
    found = _NOTE.search(text[:200]) or (_NOTE.search(text) if "linnaeus {" in text[:200] else None)
    if found is None:
        return {}
    try:
        note = json.loads(found.group(1))
    except json.JSONDecodeError:
        return {}
    return note if isinstance(note, dict) else {}


def add_note(text: str, note: dict[str, Any], mark: str) -> str:
    """The text with a note as its first line (in XML: as its second)."""
    said = "linnaeus " + json.dumps(note, ensure_ascii=False)
    if mark != "<!--":
        return f"{mark} {said}\n{text}"
    declaration, rest = text.split("\n", 1)
    safe = said.replace("--", "-\\u002d")  # two hyphens would end the comment
    return f"{declaration}\n<!-- {safe} -->\n{rest}"


def body_lines(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines that say something, without the comments on top (``#``, up to and including the note)."""
    on_top = True
    for number, line in enumerate(text.split("\n"), 1):
        if on_top and line.startswith("#"):
            on_top = not line.startswith("# linnaeus {")
            continue
        if line and not line.isspace():
            on_top = False
            yield number, line.rstrip("\r")


def delimiter(lines: Sequence[str]) -> str | None:
    """The delimiter that most lines contain, or None."""
    counts = {mark: sum(mark in line for line in lines) for mark in DELIMITERS}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] else None


def table(text: str, mark: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Numbered rows of cells without surrounding spaces; quotes as in CSV, and a quoted cell may hold line breaks."""
    if '"' not in text:
        for number, line in body_lines(text):
            yield number, [cell.strip() for cell in line.split(mark)]
        return
    first = next(body_lines(text), (1, ""))[0]
    rest = text.split("\n", first - 1)[-1]
    reader = csv.reader(io.StringIO(rest, newline=""), delimiter=mark, strict=True)
    number = first
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise TaxonomyError(f"{place(source, number)}: the quotes do not match ({error}).") from None
        if any(cell.strip() for cell in row):
            yield number, [cell.strip() for cell in row]
        number = first + reader.line_num


def quoted(cells: Sequence[str], mark: str) -> str:
    """One line of a delimited file, cells quoted where they must be."""
    if not any(mark in cell or '"' in cell or "\n" in cell or "\r" in cell for cell in cells):
        return mark.join(cells)
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=mark, lineterminator="\n").writerow(cells)
    return buffer.getvalue().removesuffix("\n")
