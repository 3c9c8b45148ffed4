"""Label files of JSON lines: records with labels and perhaps an id, or bare lists of labels.

{"id": "d1", "labels": ["A", {"label": "B", "score": 0.4}, ["C", 0.3]]}
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain, islice

from linnaeus.data.label_files.content import Document, Entries, LabelFile, Line, assemble, number
from linnaeus.data.readers.columns import (
    ANSWER_IDS,
    ANSWERS,
    SCORES,
    bare,
    choose_part,
    first_of,
    label_names,
    split_known,
)
from linnaeus.data.readers.jsonl import load_json
from linnaeus.errors import DataError, nearest, place
from linnaeus.typing import JSON

__all__ = ["read"]

SAMPLE = 200  # records examined to choose the keys


def read(lines: list[Line], name: str, known: Collection[str] | None, label_key: str | None = None) -> LabelFile:
    """Read JSON lines; a null id is ignored."""
    records = ((number, _record(line, name, number)) for number, line in lines if line.strip())
    first = list(islice(records, SAMPLE))
    keys = list(dict.fromkeys(key for _, record in first for key in record))
    if label_key is not None and label_key not in keys:
        shown = ", ".join(map(repr, keys))
        raise DataError(f"{name} has no key {label_key!r}; it has {shown}{nearest(label_key, keys)}")
    label_key = label_key or first_of(keys, ANSWERS)
    id_key = first_of((key for key in keys if key != label_key), ANSWER_IDS)
    part = choose_part((record.get(label_key or "") for _, record in first), known)
    documents: list[Document] = []
    for line, record in chain(first, records):
        if label_key is None or label_key not in record:
            expected = f"one of {', '.join(ANSWERS)}" if label_key is None else repr(label_key)
            raise DataError(f"{place(name, line)} has the keys {sorted(record)}, expected {expected}.")
        identity = None if id_key is None or record.get(id_key) is None else str(record[id_key])
        documents.append((line, identity, _entries(record[label_key], part, place(name, line), known)))
    return assemble(documents, name)


def _record(line: str, name: str, number: int) -> dict[str, JSON]:
    found = load_json(line, name, number)
    return found if isinstance(found, dict) else {"labels": found}


def _entries(value: JSON, part: str | None, where: str, known: Collection[str] | None) -> Entries:
    if isinstance(value, str):
        return split_known(value, known), ()
    given = value if isinstance(value, list) else [] if value is None else [value]
    plain = [entry for entry in given if isinstance(entry, str)]
    if len(plain) == len(given):  # the usual case, without scores
        return [bare(entry) for entry in plain], ()
    labels: list[str] = []
    scores: list[float | None] = []
    for entry in given:
        label, score = _with_score(entry)
        labels += map(bare, label_names([label], part, None, where))
        if score is not None and number(score) is None:
            raise DataError(f"{where}: the score of {labels[-1]!r} is {score!r}, expected a number.")
        scores.append(number(score))
    return labels, scores


def _with_score(entry: JSON) -> tuple[JSON, JSON]:
    """A label entry and its score: {"label": "A", "score": 0.9} or ["A", 0.9]."""
    if isinstance(entry, dict):
        return entry, next((entry[key] for key in SCORES if entry.get(key) is not None), None)
    if isinstance(entry, list) and len(entry) == 2 and type(entry[0]) is str and type(entry[1]) in (int, float):
        return entry[0], entry[1]
    return entry, None
