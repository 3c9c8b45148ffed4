"""CSV and TSV: text, sequences or numbers in columns, labels in a column.

    id,text,labels
    d1,"A late goal",Sports;Football

The first row is a header if it contains a common name or a name given by the user, or differs from the rows below as
headers do (see `columns`); if this cannot be decided, it is an error. Without a header two columns are text and labels,
as in Annif's TSV corpora; columns are then named by their number, from 0. A first line ``sep=;`` names the delimiter,
as for Excel. Cells of a TSV file contain no line breaks.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import TypedDict

import numpy as np

from linnaeus.data.dataset import Dataset
from linnaeus.data.matrices import is_number
from linnaeus.data.readers.columns import (
    LONGEST_NAME,
    SAMPLE,
    ColumnRoles,
    ReadOptions,
    choose_columns,
    choose_separator,
    is_missing,
    names_columns,
    part_of_path,
    path_mark,
    residues,
    row_is_header,
    separator_note,
    split_cell,
)
from linnaeus.errors import DataError, place
from linnaeus.files import InputFile, long_cells
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import IntArray

__all__ = ["batches", "read", "separator_line", "sniff_delimiter"]

SEPARATOR_LINE = re.compile(r"sep=(.)\s*", re.IGNORECASE)  # the first line of a CSV file for Excel
_LARGEST_NUMBER = float(np.finfo(np.float32).max)
Row = tuple[int, list[str]]


def read(source: InputFile, options: ReadOptions) -> Dataset:
    """Read a delimited file."""
    return next(batches(source, options))


def batches(source: InputFile, options: ReadOptions, size: int | None = None) -> Iterator[Dataset]:
    """The same documents, at most ``size`` of them at a time; at least one batch. A table of numbers is one batch.

    The first batch decides what separates labels; a later batch that suggests a separator where the first had none is
    an error.
    """
    rows = _rows(source, options)
    sample = list(islice(rows, SAMPLE))
    if not sample:
        raise DataError(f"{source.name} is empty; rows of text and labels were expected.")
    number, first = sample[0]
    header = _is_header(sample, options, source.name) if options.header is None else options.header
    names = [cell.strip() for cell in first] if header else [str(i) for i in range(len(first))]
    if len(set(names)) < len(names):
        twice = next(name for name, n in Counter(names).items() if n > 1)
        raise DataError(f"{place(source.name, number)} names column {twice!r} twice.")
    sample = sample[1:] if header else sample
    if not sample:
        raise DataError(f"{source.name} has a header but no documents.")
    following = sample[0][1]
    if not names_columns(names, options) or not header:
        options = _by_position(names, following, options, header=header)
    values = {name: [cells[i] for _, cells in sample if i < len(cells)] for i, name in enumerate(names)}
    chosen = choose_columns(names, options, source.name, values)
    rows = islice(chain(sample, rows), options.limit)
    noted = {} if header or options.header is not None else {"header": "none recognised"}
    separators: dict[str, str | None] = {}
    while True:
        part = islice(rows, size if chosen.text or chosen.sequence else None)
        data = _read(source, options, names, chosen, following, part, separators, first)
        if not len(data):
            return
        yield replace(data, notes={**data.notes, **noted}) if noted else data
        if not chosen.text and not chosen.sequence:
            return


def _is_header(sample: list[Row], options: ReadOptions, name: str) -> bool:
    """Whether the first row names the columns; a row that may be either is an error."""
    number, first = sample[0]
    if names_columns(first, options):
        return True
    found = row_is_header([cells for _, cells in sample], options.taxonomy)
    if found is None and len(first) > 1:
        shown = ", ".join(map(repr, first[:5]))
        raise DataError(
            f"{place(name, number)} may name the columns or be a document ({shown}); say which with header=True or "
            f"header=False."
        )
    return bool(found)


def _read(
    source: InputFile,
    options: ReadOptions,
    names: list[str],
    chosen: ColumnRoles,
    first: list[str],
    rows: Iterator[Row],
    separators: dict[str, str | None],
    top: list[str],
) -> Dataset:
    if chosen.text or chosen.sequence:
        return _read_text(source, options, names, chosen, rows, separators)
    numeric = [n for n in names if n not in {*chosen.labels, *chosen.unread_labels, chosen.id, chosen.split}]
    values = dict(zip(names, first, strict=False))
    words = [n for n in numeric if not is_number(values.get(n, "")) and not is_missing(values.get(n, ""))]
    # The first line as it is, also where it was not recognised as a header: its cells are what users look for.
    usual = f"{source.name} has no text column with a usual name among {', '.join(map(_shown, top[:20]))}"
    if len(words) == len(numeric):
        raise DataError(f"{usual}; name it with text=..., or sequence=... for sequences.")
    if words:
        raise DataError(
            f"{usual}, and "
            f"{', '.join(map(repr, words[:20]))} {'does' if len(words) == 1 else 'do'} not hold numbers; name the text "
            f"column with text=..., the labels with labels=..., the ids with id=..."
        )
    return _read_numbers(source, options, names, numeric, chosen, rows, separators)


def _shown(cell: str) -> str:
    cell = cell.strip()
    return repr(cell if len(cell) <= LONGEST_NAME else f"{cell[:LONGEST_NAME]}...")


def _by_position(names: list[str], cells: list[str], options: ReadOptions, *, header: bool) -> ReadOptions:
    """Columns without common names: (text), (text, labels), or (id, labels, sequence), unless the user names them.

    Under a header, numbers are features.
    """
    if options.text or options.sequence:
        return options
    positions = [name for name in options.usual_text if name.isdecimal() and len(name) < 10 and int(name) < len(names)]
    if positions and len(positions) == len(options.usual_text):
        return replace(options, text=tuple(positions))
    if options.labels or (header and is_number(cells[0])):
        return options
    if len(names) == 1:
        return replace(options, text=(names[0],))
    if len(names) == 2:
        return replace(options, text=(names[0],), labels=(names[1],))
    if len(names) == 3 == len(cells) and len(cells[2]) > 20 and cells[2].isalpha() and cells[2].isupper():
        return replace(options, id=names[0], labels=(names[1],), sequence=names[2])
    return options


def _read_text(
    source: InputFile,
    options: ReadOptions,
    names: list[str],
    chosen: ColumnRoles,
    rows: Iterator[Row],
    separators: dict[str, str | None],
) -> Dataset:
    wanted = [chosen.sequence] if chosen.sequence else [*chosen.text, *chosen.categorical]
    texts: dict[str, list[str]] = {name: [] for name in wanted}
    others: dict[str, list[str]] = {name: [] for name in (*chosen.labels, chosen.id, chosen.split) if name is not None}
    columns = [(names.index(name), column) for group in (texts, others) for name, column in group.items()]
    asked = [*(options.text or chosen.text), *options.categorical]  # a position stays one, for the next file
    lines = array("q")
    for number, cells in rows:
        _check_width(cells, names, place(source.name, number))
        for i, column in columns:
            column.append(cells[i])
        lines.append(number)
    return Dataset(
        fields=None if chosen.sequence else dict(zip(asked, texts.values(), strict=True)),
        sequences=list(map(residues, texts[chosen.sequence])) if chosen.sequence else None,
        columns=chosen.roles(names),
        **_common(source, options, chosen, others, lines, separators),
    )


def _read_numbers(
    source: InputFile,
    options: ReadOptions,
    names: list[str],
    numeric: list[str],
    chosen: ColumnRoles,
    rows: Iterator[Row],
    separators: dict[str, str | None],
) -> Dataset:
    others: dict[str, list[str]] = {name: [] for name in (*chosen.labels, chosen.id, chosen.split) if name is not None}
    places = [names.index(name) for name in numeric]
    values, lines = array("f"), array("q")
    for number, cells in rows:
        where = place(source.name, number)
        _check_width(cells, names, where)
        values.extend(_number(cells[i], names[i], where) for i in places)
        for name, column in others.items():
            column.append(cells[names.index(name)])
        lines.append(number)
    X = np.frombuffer(values, dtype=np.float32).reshape(len(lines), len(numeric))
    columns = chosen.roles(names, numeric)
    return Dataset(
        X=X, feature_names=numeric, columns=columns, **_common(source, options, chosen, others, lines, separators)
    )


class _Common(TypedDict):
    """Arguments of `Dataset` that do not depend on the kind of documents."""

    notes: dict[str, str]
    labels: list[list[str]] | None
    ids: list[str] | None
    split: list[str] | None
    taxonomy: Taxonomy | None
    source: str
    lines: IntArray


def _common(
    source: InputFile,
    options: ReadOptions,
    chosen: ColumnRoles,
    others: dict[str, list[str]],
    lines: array[int],
    separators: dict[str, str | None],
) -> _Common:
    columns = []
    for name in chosen.labels:
        separator = options.label_separator or choose_separator(others[name], options.taxonomy)
        if separators.setdefault(name, separator) is None and separator is not None:
            raise DataError(
                f"{place(source.name, lines[0])} and rows below it seem to separate labels with {separator!r}, but the "
                "rows above do not; name the separator with label_separator=..."
            )
        columns.append(_cell_labels(others[name], separators[name], options))
    labels = [list(dict.fromkeys(chain.from_iterable(row))) for row in zip(*(rows for rows, _ in columns), strict=True)]
    return {
        "notes": dict([("labels", note) for _, note in columns if note][:1]),
        "labels": labels if chosen.labels else None,
        "ids": others[chosen.id] if chosen.id else None,
        "split": others[chosen.split] if chosen.split else None,
        "taxonomy": options.taxonomy,
        "source": source.name,
        "lines": np.array(lines, dtype=np.int64),
    }


def _cell_labels(cells: list[str], separator: str | None, options: ReadOptions) -> tuple[list[list[str]], str | None]:
    """The labels of the cells of a column, and a note about the separator."""
    rows = [split_cell(cell, separator) for cell in cells]
    if options.label_part in ("last", "path"):
        mark = path_mark(list(chain.from_iterable(rows)))
        rows = [[part_of_path(label, mark, options.label_part) for label in row] for row in rows]
    return rows, None if separator else separator_note(cells, options.taxonomy)


# -- rows and cells ----------------------------------------------------------------------------------------------------


def _rows(source: InputFile, options: ReadOptions) -> Iterator[Row]:
    head = source.text_head(options.encoding)
    named, skipped = separator_line(head)
    delimiter = options.delimiter or named or sniff_delimiter(head)
    lines = source.lines(options.encoding)
    for _ in range(skipped):
        next(lines)
    if delimiter == "\t":
        for number, line in lines:
            if line.strip("\r\n"):
                yield number, [_unquoted(cell) for cell in line.rstrip("\r\n").split("\t")]
        return
    reader = csv.reader((line for _, line in lines), delimiter=delimiter, strict=True)
    start = 1 + skipped
    try:
        with long_cells():
            for cells in reader:
                if cells:
                    yield start, cells
                start = reader.line_num + 1 + skipped
    except csv.Error as error:
        raise DataError(f"{place(source.name, start)} is not a row of delimited cells: {error}.") from error


def separator_line(head: str) -> tuple[str | None, int]:
    """The delimiter that a first line such as ``sep=;`` names, and the number of lines to skip for it.

    Examples
    --------
    >>> separator_line("sep=;\\ntext;labels"), separator_line("text;labels")
    ((';', 1), (None, 0))
    """
    found = SEPARATOR_LINE.fullmatch(head.split("\n", 1)[0])
    return (found.group(1), 1) if found else (None, 0)


def sniff_delimiter(head: str) -> str:
    """The delimiter that the first line has most of, tab first; a comma if it has none.

    Examples
    --------
    >>> sniff_delimiter("text;labels"), sniff_delimiter("sep=|\\ntext|labels")
    (';', '|')
    """
    named, _ = separator_line(head)
    if named is not None:
        return named
    line = next((line for line in head.splitlines() if line.strip()), "")
    if "\t" in line:
        return "\t"
    return max(",;|", key=line.count)


def _unquoted(cell: str) -> str:
    if len(cell) > 1 and cell[0] == cell[-1] == '"':
        return cell[1:-1].replace('""', '"')
    return cell


def _check_width(cells: list[str], names: list[str], where: str) -> None:
    if len(cells) != len(names):
        shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
        raise DataError(f"{where} has {len(cells)} columns; expected {len(names)} ({shown}).")


def _number(cell: str, name: str, where: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        if is_missing(cell):
            return float("nan")
        raise DataError(f"{where}: {cell!r} in column {name!r} is not a number.") from None
    if abs(value) > _LARGEST_NUMBER:
        raise DataError(f"{where}: {cell!r} in column {name!r} is infinite, or too large for float32.")
    return value
