"""Answers written as JSON lines, CSV, TSV or an Excel workbook, chosen by the ending of the file name.

Tables have one row per label, and one for every document without labels, with a header and the columns id, label (the
name of the node), name (its display label), score or probability, path and status; for the n best sets, their number.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

from linnaeus.errors import DataError, ParameterError, nearest
from linnaeus.files import replacing

if TYPE_CHECKING:
    from linnaeus.answering.records import LabelEntry, Record, ScoredSet

__all__ = [
    "FORMATS",
    "format_of",
    "set_rows",
    "table_rows",
    "write_table",
    "writing",
]

FORMATS = ("jsonl", "csv", "tsv", "xlsx")
_ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "tsv", ".xlsx": "xlsx"}
_FOREIGN = {".xls", ".ods", ".pdf", ".doc", ".docx", ".parquet", ".html", ".xml", ".zip", ".gz", ".xz", ".bz2"}
_MOST_ROWS = 1_048_576  # of a sheet, as Excel reads it
_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?\Z")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


def format_of(output: str | None, given: str | None) -> str:
    """The format to write: as given, otherwise by the ending of the file, otherwise JSON lines; ``-`` is stdout."""
    if given is not None and given not in FORMATS:
        raise ParameterError(f"--as {given}: expected {', '.join(FORMATS)}{nearest(given, FORMATS)}")
    ending = "" if output is None else Path(output).suffix.lower()
    if given is None and ending in _FOREIGN:
        raise ParameterError(f"--output {output}: {ending} cannot be written; expected {', '.join(_ENDINGS)}, or --as.")
    format = given or _ENDINGS.get(ending, "jsonl")
    if format == "xlsx" and output in (None, "-"):
        raise ParameterError("--as xlsx cannot be written to standard output; name a file with --output.")
    return format


def table_rows(record: Record) -> Iterator[list[object]]:
    """The rows of one document: a row per label."""
    name, status = record["id"], record["status"]
    for entry in record["labels"]:
        path = " > ".join(entry.get("display_path", entry["path"]))
        value = entry["score"] if "score" in entry else entry.get("probability")
        yield [name, entry["label"], entry.get("display", entry["label"]), value, path, status]
    if not record["labels"]:
        yield [name, None, None, None, None, status]


def set_rows(record: Record, entry: Callable[[str], LabelEntry]) -> Iterator[list[object]]:
    """The rows of one document with its n best sets: a row per label of each, with the number and score of the set."""
    no_set: ScoredSet = {"labels": [], "score": None}
    for number, found in enumerate(record["sets"] or [no_set], 1):
        of_set: Record = {**record, "labels": [{**entry(label), "score": found["score"]} for label in found["labels"]]}
        for name, *cells in table_rows(of_set):
            yield [name, number if record["sets"] else None, *cells[:2], found["score"], *cells[3:]]


@contextlib.contextmanager
def writing(
    output: str | None, format: str, columns: list[str], rows: Callable[[Record], Iterable[list[object]]]
) -> Iterator[Callable[[Record], None]]:
    """A function that writes a record to standard output, or to a file that appears only when it is complete."""
    if format == "jsonl":
        with _text(output) as file:
            yield lambda record: _write_line(file, record)
        return
    with _table(output, format) as write:
        write(columns)

        def write_all(record: Record) -> None:
            for row in rows(record):
                write(row)

        yield write_all


def write_table(output: str, columns: list[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a whole table to a file; the ending of its name determines the format."""
    format = format_of(output, None)
    if format == "jsonl":
        with _text(output) as file:
            for row in rows:
                _write_line(file, dict(zip(columns, row, strict=True)))
        return
    with _table(output, format) as write:
        write(columns)
        for row in rows:
            write(row)


def _write_line(file: TextIO, record: Mapping[str, object]) -> None:
    file.write(json.dumps(record, ensure_ascii=False) + "\n")


@contextlib.contextmanager
def _table(output: str | None, format: str) -> Iterator[Callable[[Sequence[object]], None]]:
    """A function that writes a row."""
    if format == "xlsx":
        assert output is not None
        with replacing(output) as raw, _sheet(raw) as write:
            yield write
        return
    with _text(output) as file:
        if format == "tsv":
            yield lambda row: _write_tsv(file, row)
        else:
            table = csv.writer(file, lineterminator="\n")
            yield lambda row: table.writerow([_safe(_shown(value)) for value in row])


def _write_tsv(file: TextIO, row: Sequence[object]) -> None:
    file.write("\t".join(re.sub(r"[\t\r\n]+", " ", _shown(value)) for value in row) + "\n")


def _shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _safe(cell: str) -> str:
    """The cell, quoted where a spreadsheet would read it as a formula."""
    return f"'{cell}" if _FORMULA.match(cell) and not _is_number(cell) else cell


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return bool(_NUMBER.match(cell))
    return True


@contextlib.contextmanager
def _text(output: str | None) -> Iterator[TextIO]:
    if output in (None, "-"):
        yield sys.stdout
        return
    assert output is not None
    with replacing(output) as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8", newline="", write_through=True)
        try:
            yield text
        finally:
            text.detach()  # `replacing` closes the file


# -- Excel workbooks ---------------------------------------------------------------------------------------------------

_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">'
    '<sheets><sheet name="answers" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}


@contextlib.contextmanager
def _sheet(raw: BinaryIO) -> Iterator[Callable[[Sequence[object]], None]]:
    """A workbook with one sheet, written row by row; strings are stored as text, so that none becomes a formula."""
    count = 0
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in _PARTS.items():
            package.writestr(name, _HEAD + content)
        with package.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as sheet:

            def write(row: Sequence[object]) -> None:
                nonlocal count
                count += 1
                if count > _MOST_ROWS:
                    raise DataError(f"An Excel sheet has at most {_MOST_ROWS:,} rows; write .csv or .tsv instead.")
                sheet.write(f"<row>{''.join(map(_cell, row))}</row>".encode())

            sheet.write(f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>'.encode())
            yield write
            sheet.write(b"</sheetData></worksheet>")


def _cell(value: object) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, (int, float)):
        return f"<c><v>{value!r}</v></c>"
    text = escape(_NOT_XML.sub("�", str(value)), quote=False)
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
