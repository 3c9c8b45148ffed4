"""JSON lines, one object per document, or one JSON array of such objects.

    {"id": "d1", "title": "Goal", "text": "A late goal", "labels": ["Sports"]}

The columns are chosen from the keys of the first records; texts may be lists of tokens, labels may be strings, lists,
paths, [id, name] lists or records. A string such as "A;B" is one label, unless a taxonomy knows A and B but not A;B.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import numpy as np

from linnaeus.data.dataset import Dataset
from linnaeus.data.readers.columns import ColumnRoles, choose_columns, residues
from linnaeus.data.readers.labels import choose_part, label_names
from linnaeus.data.readers.source import InputFile, ReadOptions
from linnaeus.errors import DataError, place

__all__ = ["load_json", "read"]

SAMPLE = 200  # records looked at to choose the columns; a key may be missing in the first ones


def read(source: InputFile, options: ReadOptions) -> Dataset:
    """Read JSON lines or a JSON array of records."""
    records = _records(source, options)
    first = list(islice(records, SAMPLE))
    if not first:
        raise DataError(f"{source.name} is empty; JSON records were expected.")
    keys = list(dict.fromkeys(key for _, record in first for key in record))
    values = {key: [record[key] for _, record in first if isinstance(record.get(key), str)] for key in keys}
    chosen = choose_columns(keys, options, source.name, values)
    if not chosen.text and chosen.sequence is None:
        raise DataError(
            f"{source.name} has no text field with a usual name among {', '.join(map(repr, keys))}; "
            f"name it with text=..., or sequence=... for sequences."
        )
    part = options.label_part or choose_part(
        (record.get(k) for _, record in first for k in chosen.labels), options.taxonomy
    )
    return replace(_collect(source, options, chosen, part, chain(first, records)), columns=chosen.roles(keys))


def _collect(
    source: InputFile,
    options: ReadOptions,
    chosen: ColumnRoles,
    part: str | None,
    records: Iterator[tuple[int, dict[str, Any]]],
) -> Dataset:
    names = [chosen.sequence] if chosen.sequence else [*chosen.text, *chosen.categorical]
    columns: dict[str, list[str]] = {name: [] for name in names}
    labels: list[list[str]] = []
    ids: list[str] = []
    split: list[str] = []
    lines: list[int] = []
    for number, record in records:
        if options.enough(len(lines)):
            break
        where = place(source.name, number)
        for name, column in columns.items():
            column.append(_text(record.get(name), name, where))
        found = (
            label_names(record.get(k), part, options.label_separator, where, options.taxonomy) for k in chosen.labels
        )
        labels.append(list(chain.from_iterable(found)))
        ids.append(_name(record.get(chosen.id)) if chosen.id else "")
        split.append(_name(record.get(chosen.split)) if chosen.split else "")
        lines.append(number)
    return Dataset(
        fields=None if chosen.sequence else columns,
        sequences=list(map(residues, columns[chosen.sequence])) if chosen.sequence else None,
        labels=labels if chosen.labels else None,
        ids=ids if chosen.id else None,
        split=split if chosen.split else None,
        taxonomy=options.taxonomy,
        source=source.name,
        lines=np.array(lines, dtype=np.int64),
    )


def _records(source: InputFile, options: ReadOptions) -> Iterator[tuple[int, dict[str, Any]]]:
    if source.text_head(options.encoding).lstrip().startswith("["):
        yield from _array(source, options)
        return
    for number, line in source.lines(options.encoding):
        if not line.strip():
            continue
        yield number, _object(load_json(line, source.name, number), place(source.name, number))


def _array(source: InputFile, options: ReadOptions) -> Iterator[tuple[int, dict[str, Any]]]:
    """A JSON array is read whole; the number of a record stands for its line."""
    text = "".join(line for _, line in source.lines(options.encoding))
    for number, record in enumerate(load_json(text, source.name), 1):
        yield number, _object(record, f"{source.name}, record {number}")


def _object(record: Any, where: str) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise DataError(f"{where} holds {type(record).__name__}; an object with text and labels is expected.")
    return record


def _name(value: Any) -> str:
    return "" if value is None else str(value)


def _text(value: Any, name: str, where: str) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(token, (str, int, float)) for token in value):
        return " ".join(map(str, value))
    if isinstance(value, (int, float)):
        return str(value)
    raise DataError(f"{where}: field {name!r} holds {type(value).__name__}; text or a list of tokens is expected.")


def load_json(text: str, name: str, line: int = 1) -> Any:
    """The value that ``text`` holds, which begins at ``line`` of the file ``name``.

    Examples
    --------
    >>> load_json('{"labels": ["A"]}', "docs.jsonl", 7)
    {'labels': ['A']}
    """
    try:
        return json.loads(text.rstrip())  # a line end is no line of its own
    except json.JSONDecodeError as error:
        where = place(name, line + error.lineno - 1)
        raise DataError(f"{where} is not JSON: {error.msg} at column {error.colno}.") from error
    except ValueError as error:  # a number of thousands of digits
        raise DataError(f"{place(name, line)} holds a number that cannot be read: {error}.") from error
    except RecursionError:
        raise DataError(
            f"{place(name, line)} is nested too deeply; a record with text and labels is expected."
        ) from None
