"""JSON lines, one object per document, or one JSON array of such objects.

    {"id": "d1", "title": "Goal", "text": "A late goal", "labels": ["Sports"]}

Tasks of Label Studio, with ``data`` and ``annotations``, are read as such objects.
The columns are chosen from the keys of the first records; texts may be lists of tokens, labels may be strings, lists,
paths, [id, name] lists or records. A string such as "A;B" is one label, unless A and B are nodes of a given taxonomy
and A;B is not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice

import numpy as np

from linnaeus.data.dataset import Dataset
from linnaeus.data.readers.columns import ColumnRoles, ReadOptions, choose_columns, choose_part, label_names, residues
from linnaeus.data.readers.label_studio import is_task, plain_record
from linnaeus.errors import DataError, place
from linnaeus.files import InputFile
from linnaeus.typing import JSON

__all__ = ["batches", "load_json", "read"]

SAMPLE = 200  # records examined to choose the columns; a key may be missing in the first ones


def read(source: InputFile, options: ReadOptions) -> Dataset:
    """Read JSON lines or a JSON array of records."""
    return next(batches(source, options))


def batches(source: InputFile, options: ReadOptions, size: int | None = None) -> Iterator[Dataset]:
    """The same documents, at most ``size`` of them at a time; at least one batch."""
    records = _records(source, options)
    first = list(islice(records, SAMPLE))
    if not first:
        raise DataError(f"{source.name} is empty; expected JSON records.")
    keys = list(dict.fromkeys(key for _, record in first for key in record))
    values = {key: [text for _, record in first if isinstance(text := record.get(key), str)] for key in keys}
    chosen = choose_columns(keys, options, source.name, values)
    if not chosen.text and chosen.sequence is None:
        raise DataError(
            f"{source.name} has no text field with a common name among {', '.join(map(repr, keys))}; "
            f"name it with text=..., or sequence=... for sequences."
        )
    part = options.label_part or choose_part(
        (record.get(k) for _, record in first for k in chosen.labels), options.taxonomy
    )
    records = islice(chain(first, records), options.limit)
    while len(data := _collect(source, options, chosen, part, islice(records, size))):
        yield replace(data, columns=chosen.roles(keys))


def _collect(
    source: InputFile,
    options: ReadOptions,
    chosen: ColumnRoles,
    part: str | None,
    records: Iterator[tuple[int, dict[str, JSON]]],
) -> Dataset:
    names = [chosen.sequence] if chosen.sequence else [*chosen.text, *chosen.categorical]
    columns: dict[str, list[str]] = {name: [] for name in names}
    labels: list[list[str]] = []
    ids: list[str] = []
    split: list[str] = []
    lines: list[int] = []
    separator, taxonomy = options.label_separator, options.taxonomy
    for number, record in records:
        where = place(source.name, number)
        for name, column in columns.items():
            column.append(_text(record.get(name), name, where))
        found: list[str] = []
        for key in chosen.labels:
            found += label_names(record.get(key), part, separator, where, taxonomy)
        labels.append(found)
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


def _records(source: InputFile, options: ReadOptions) -> Iterator[tuple[int, dict[str, JSON]]]:
    if source.text_head(options.encoding).lstrip().startswith("["):
        yield from _array(source, options)
        return
    for number, line in source.lines(options.encoding):
        if not line.strip():
            continue
        yield number, _object(load_json(line, source.name, number), place(source.name, number))


def _array(source: InputFile, options: ReadOptions) -> Iterator[tuple[int, dict[str, JSON]]]:
    """The records of a JSON array, which is read completely, with their numbers instead of lines."""
    text = "".join(line for _, line in source.lines(options.encoding))
    records = load_json(text, source.name)
    for number, record in enumerate(records if isinstance(records, list) else [records], 1):
        found = _object(record, f"{source.name}, record {number}")
        yield number, plain_record(found, options.taxonomy) if is_task(found) else found


def _object(record: JSON, where: str) -> dict[str, JSON]:
    if not isinstance(record, dict):
        raise DataError(f"{where} contains {type(record).__name__}; expected an object with text and labels.")
    return record


def _name(value: JSON) -> str:
    return "" if value is None else str(value)


def _text(value: JSON, name: str, where: str) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(token, (str, int, float)) for token in value):
        return " ".join(map(str, value))
    if isinstance(value, (int, float)):
        return str(value)
    raise DataError(f"{where}: field {name!r} contains {type(value).__name__}; expected text or a list of tokens.")


def load_json(text: str, name: str, line: int = 1) -> JSON:
    """The value of a JSON text, which begins at ``line`` of the file ``name``.

    Examples
    --------
    >>> load_json('{"labels": ["A"]}', "docs.jsonl", 7)
    {'labels': ['A']}
    """
    try:
        value: JSON = json.loads(text.rstrip())  # errors at the end then refer to the last line
    except json.JSONDecodeError as error:
        where = place(name, line + error.lineno - 1)
        raise DataError(f"{where} is not JSON: {error.msg} at column {error.colno}.") from error
    except ValueError as error:  # a number of thousands of digits
        raise DataError(f"{place(name, line)} contains a number that cannot be read: {error}.") from error
    except RecursionError:
        raise DataError(f"{place(name, line)} is nested too deeply; expected a record with text and labels.") from None
    return value
