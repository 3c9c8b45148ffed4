"""Excel workbooks (.xlsx) as tables: the cells of the first sheet as tab-separated text, for all readers of tables.

A workbook is a zip archive of XML files: ``xl/workbook.xml`` lists the sheets, ``xl/sharedStrings.xml`` holds texts
that cells refer to by number. Values are taken as they are stored; formulas have the value of their last calculation.
A number such as 0211 has its leading zero only if the cell is formatted as text.
"""

from __future__ import annotations

import csv
import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import IO
from xml.etree import ElementTree

__all__ = ["WORKBOOK", "sheet_as_text"]

WORKBOOK = "xl/workbook.xml"
_STRINGS = "xl/sharedStrings.xml"
_RELATED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_BREAKS = re.compile(r"[\t\r\n]+")
_MOST_ROWS, _MOST_COLUMNS, _MOST_CELLS = 1_048_576, 16_384, 100_000_000  # the first two as in Excel


def sheet_as_text(archive: zipfile.ZipFile) -> bytes:
    """The first sheet of a workbook as tab-separated lines in UTF-8; empty rows stay empty lines.

    Parameters
    ----------
    archive : zipfile.ZipFile
        The workbook.

    Returns
    -------
    bytes
        One line per row; tabs and line breaks in cells become spaces.

    Raises
    ------
    ValueError
        If the archive is not a workbook with a sheet.
    """
    try:
        rows = list(_rows(archive))
    except (ElementTree.ParseError, LookupError) as error:
        raise ValueError(f"the workbook is damaged: {error}") from error
    width = max((len(row) for row in rows), default=0)
    if width * sum(map(bool, rows)) > _MOST_CELLS:
        raise ValueError(f"it has {len(rows):,} rows and {width:,} columns, more than {_MOST_CELLS:,} cells")
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    for row in rows:
        if any(row):
            writer.writerow([*row, *[""] * (width - len(row))])
        else:
            text.write("\n")
    return text.getvalue().rstrip("\n").encode("utf-8", "replace") + b"\n"


def _rows(archive: zipfile.ZipFile) -> Iterator[list[str]]:
    """The cells of every row."""
    strings = list(_shared_strings(archive))
    n_rows = 0
    with archive.open(_first_sheet(archive)) as file:
        for row in _elements(file, "row"):
            number = int(row.get("r", n_rows + 1))
            if not n_rows < number <= _MOST_ROWS:
                raise ValueError(f"row {number} comes after row {n_rows}")
            for _ in range(number - n_rows - 1):
                yield []
            n_rows = number
            yield _cells(row, strings)


def _cells(row: ElementTree.Element, strings: list[str]) -> list[str]:
    """The cells of a row; empty ones need not be in the file."""
    cells: list[str] = []
    for cell in row:
        column = _column(cell.get("r", ""))
        if column is not None and column < _MOST_COLUMNS:
            cells += [""] * (column - len(cells))
        cells.append(_BREAKS.sub(" ", _value(cell, strings)))
    return cells


def _value(cell: ElementTree.Element, strings: list[str]) -> str:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        return _text(cell)
    value = next((part.text or "" for part in cell if _name(part) == "v"), "")
    if kind == "s" and value:
        return strings[int(value)]
    return {"0": "FALSE", "1": "TRUE"}.get(value, value) if kind == "b" else value


def _column(reference: str) -> int | None:
    """The number of a column from 0: 27 for the cell AB12; None for a cell that has no reference."""
    letters = re.match(r"[A-Z]{1,3}", reference)
    if letters is None:
        return None
    number = 0
    for letter in letters[0]:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def _shared_strings(archive: zipfile.ZipFile) -> Iterator[str]:
    if _STRINGS in archive.namelist():
        with archive.open(_STRINGS) as file:
            for entry in _elements(file, "si"):
                yield _text(entry)


def _first_sheet(archive: zipfile.ZipFile) -> str:
    """The name of the XML file of the first sheet."""
    book = ElementTree.fromstring(archive.read(WORKBOOK))
    related = next((e.get(_RELATED) for e in book.iter() if _name(e) == "sheet"), None)
    for entry in ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels")):
        if related is not None and entry.get("Id") == related:
            return posixpath.join("/xl", entry.get("Target", "")).removeprefix("/")
    raise ValueError("the workbook has no sheet")


def _elements(file: IO[bytes], name: str) -> Iterator[ElementTree.Element]:
    """The elements of a name, one at a time; each is emptied after its use, which keeps memory small."""
    for _, element in ElementTree.iterparse(file):
        if _name(element) == name:
            yield element
            element.clear()


def _text(element: ElementTree.Element) -> str:
    """The text of all runs, without phonetic hints."""
    runs = [e for e in element if _name(e) != "rPh"]
    return "".join(t.text or "" for run in runs for t in run.iter() if _name(t) == "t")


def _name(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]
