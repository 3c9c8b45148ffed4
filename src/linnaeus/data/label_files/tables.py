"""Label files that are tables: an id with all labels of a document (wide), or with one of them and its score (long).

A table without scores is long if ids repeat and no cell certainly contains several labels. A repeated id in a wide
table is an error.
"""

from __future__ import annotations

import csv
from collections.abc import Collection
from dataclasses import replace
from itertools import chain

from linnaeus.data.label_files import lines as plain
from linnaeus.data.label_files.content import LabelFile, Line, assemble, number
from linnaeus.data.readers.columns import ANSWER_IDS, ANSWERS, SCORES, bare, first_of, row_is_header
from linnaeus.errors import DataError, nearest, place
from linnaeus.files import long_cells

__all__ = ["cut", "header", "read"]

SAMPLE = 1000
Row = tuple[int, list[str]]
TableColumns = tuple[int | None, int, int | None]  # positions of id, labels and score


def read(
    lines: list[Line],
    delimiter: str,
    name: str,
    known: Collection[str] | None,
    labels: str | None = None,
    has_header: bool | None = None,
) -> LabelFile:
    """Read a wide or a long table."""
    rows = cut([line for line in lines if line[1].strip()], delimiter, name)
    if not rows:
        raise DataError(f"{name} holds no rows; expected ids and their labels.")
    columns = None
    if has_header is not False:
        columns = header(rows[0][1], known) if labels is None else named(rows[0][1], labels, place(name, rows[0][0]))
    names = [str(i) for i in range(len(rows[0][1]))]
    if columns is not None or has_header or (has_header is None and _starts_with_names(rows, known)):
        names = rows[0][1]
        rows = rows[1:]
    if not rows:
        raise DataError(f"{name} has a header but no labels.")
    at = columns or _by_position(rows, labels)
    is_open = columns is None and labels is None  # every cell after the id may be a label
    return replace(_labels(rows, at, name, known, is_open=is_open), columns=_roles(names, at, is_open=is_open))


def _roles(names: list[str], at: TableColumns, *, is_open: bool) -> dict[str, tuple[str, ...]]:
    id_at, label_at, score_at = at
    chosen = {"id": [id_at], "labels": range(label_at, len(names)) if is_open else [label_at], "score": [score_at]}
    if score_at is not None:
        chosen["labels"] = [label_at]
    roles = {
        role: tuple(names[i] for i in places if i is not None and i < len(names)) for role, places in chosen.items()
    }
    used = {name for found in roles.values() for name in found}
    roles["ignored"] = tuple(name for name in names if name not in used)
    return {role: found for role, found in roles.items() if found}


def _labels(rows: list[Row], at: TableColumns, name: str, known: Collection[str] | None, *, is_open: bool) -> LabelFile:
    id_at, label_at, score_at = at
    for line, row in rows:
        if len(row) <= max(id_at or 0, label_at) and not (len(row) == label_at == 1):
            raise DataError(f"{place(name, line)} has {len(row)} columns, expected an id and labels.")
    if id_at is None:
        return plain.cut([(line, row[label_at]) for line, row in rows], name, known)
    if score_at is not None:
        return _long(rows, id_at, label_at, score_at, name)
    ids = [row[id_at] for _, row in rows]
    cells = [row[label_at:] if is_open else row[label_at : label_at + 1] for _, row in rows]
    every = list(chain.from_iterable(cells))
    split = plain.Splitter(every, known)
    if len(set(ids)) < len(ids) and not split.finds_several(every):
        return _long(rows, id_at, label_at, None, name)
    numbers = [line for line, _ in rows]
    return assemble(list(zip(numbers, ids, map(split, cells), strict=True)), name)


def _starts_with_names(rows: list[Row], known: Collection[str] | None) -> bool:
    """Whether the first row differs from the others as names of columns do; one column alone does not show it."""
    return len(rows[0][1]) > 1 and row_is_header([cells for _, cells in rows[:SAMPLE]], known) is True


def cut(lines: list[Line], delimiter: str, name: str) -> list[Row]:
    """Lines as rows of cells without surrounding blanks."""
    with long_cells():
        return [(line, _cells(text, delimiter, name, line)) for line, text in lines]


def _cells(text: str, delimiter: str, name: str, line: int) -> list[str]:
    if '"' not in text:
        return [cell.strip() for cell in text.split(delimiter)]
    try:
        return [cell.strip() for cell in next(csv.reader([text], delimiter=delimiter))]
    except csv.Error as error:
        raise DataError(f"{place(name, line)} is not a row of cells: {error}.") from None


def header(cells: list[str], known: Collection[str] | None) -> TableColumns | None:
    """Columns of id, labels and score if the first row names them."""
    label, identity, score = (first_of(cells, names) for names in (ANSWERS, ANSWER_IDS, SCORES))
    if label is None or (known is not None and label in known) or (identity is None and len(cells) > 1):
        return None
    at = [None if name is None else cells.index(name) for name in (identity, score)]
    return at[0], cells.index(label), at[1]


def named(cells: list[str], labels: str, where: str) -> TableColumns | None:
    """Columns of a table whose first row contains ``labels``; None if ``labels`` is the number of a column."""
    if labels in cells:
        at = [first_of((cell for cell in cells if cell != labels), names) for names in (ANSWER_IDS, SCORES)]
        identity, score = (None if name is None else cells.index(name) for name in at)
        return identity, cells.index(labels), score
    if labels.isdecimal() and len(labels) < 10 and int(labels) < len(cells):
        return None
    shown = ", ".join(map(repr, cells[:20]))
    raise DataError(f"{where} has no column {labels!r}; it has {shown}{nearest(labels, cells)}")


def _by_position(rows: list[Row], labels: str | None) -> TableColumns:
    """Columns of a table without a header: id, labels, and scores if there are any."""
    label_at = 1 if labels is None else int(labels)
    return 0 if label_at else None, label_at, 2 if label_at == 1 and _third_is_score(rows) else None


def _third_is_score(rows: list[Row]) -> bool:
    thirds = [row[2] for _, row in rows[:SAMPLE] if len(row) >= 3]
    return bool(thirds) and len(thirds) * 2 > len(rows[:SAMPLE]) and all(number(x) is not None for x in thirds if x)


def _long(rows: list[Row], id_at: int, label_at: int, score_at: int | None, name: str) -> LabelFile:
    documents: dict[str, tuple[int, list[str], list[float | None]]] = {}
    for line, row in rows:
        _, labels, scores = documents.setdefault(row[id_at], (line, [], []))
        label = bare(row[label_at]) if label_at < len(row) else ""
        given = row[score_at] if score_at is not None and score_at < len(row) else ""
        if given and number(given) is None:
            raise DataError(f"{place(name, line)}: the score of {label!r} is {given!r}, expected a number.")
        if label:
            labels.append(label)
            scores.append(number(given))
    found = [(line, identity, (labels, scores)) for identity, (line, labels, scores) in documents.items()]
    return assemble(found, name)
