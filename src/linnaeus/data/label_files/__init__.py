"""Files of labels that any tool may have written: gold labels or predictions, with or without scores.

Read are::

    JSON lines   {"id": "d1", "labels": ["A", "B"]}, also with {"label": "A", "score": 0.9} as entries, ids optional
    wide table   d1 <tab> A;B       labels joined by ; or | or , or blanks; CSV as well, a header is recognised
    long table   d1 <tab> A <tab> 0.9     one label per line, the score may be missing
    lines        A B                one line of labels per document, an empty line is a document without labels

compressed or not. Where several readings are possible and the ``known`` labels (the names of a taxonomy) are given, the
one counts that makes most labels known.
"""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from linnaeus.data.readers.source import Source
from linnaeus.errors import DataError, ParameterError, nearest, place

__all__ = ["FORMATS", "LabelFile", "align", "read_label_file"]

FORMATS = ("jsonl", "tsv", "csv", "lines")
ID_NAMES = ("id", "_id", "doc", "docid", "doc_id", "document", "document_id", "uid", "pmid")
LABEL_NAMES = ("labels", "label", "subjects", "subject", "predicted", "predictions", "gold", "node", "nodes", "results")
SCORE_NAMES = ("score", "probability", "confidence", "weight")
ENTRY_NAMES = ("node", "label", "name", "uri", "notation", "id")
SEPARATORS = (None, ";", "|", ",", " ")
SAMPLE = 1000

Entries = tuple[list[str], Sequence[float | None]]  # labels and their scores; no scores at all where none has one
Document = tuple[int, str | None, Entries]  # line, id, entries


@dataclass(frozen=True)
class LabelFile:
    """Labels of every document in the order of the file, with scores, ids and line numbers where there are any."""

    source: str
    labels: list[list[str]]
    lines: list[int]
    ids: list[str] | None = None
    scores: list[list[float]] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def ranked(self) -> list[list[tuple[str, float]]] | None:
        """(label, score) pairs of every document, or None without scores."""
        if self.scores is None:
            return None
        rows = zip(self.labels, self.scores, strict=True)
        return [list(zip(labels, scores, strict=True)) for labels, scores in rows]


def read_label_file(
    path: str | PathLike[str], format: str | None = None, *, known: Collection[str] | None = None
) -> LabelFile:
    """Read a file of labels; the format is recognised from the content unless given.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "predicted.tsv"
    >>> _ = path.write_text("d1\\tA;B\\nd2\\tB\\n")
    >>> file = read_label_file(path)
    >>> file.ids, file.labels
    (['d1', 'd2'], [['A', 'B'], ['B']])
    """
    if format not in (None, *FORMATS):
        raise ParameterError(f"Label files are {', '.join(FORMATS)}, got {format!r}{nearest(str(format), FORMATS)}")
    source = Source(path)
    if source.is_folder:
        raise DataError(f"{source.name} is a folder, expected a file of labels.")
    lines = [(number, line.rstrip("\r\n")) for number, line in source.lines()]
    if not any(line.strip() for _, line in lines):
        raise DataError(f"{source.name} is empty, expected labels.")
    format = format or _recognised(lines, source.name, known)
    if format == "jsonl":
        return _read_json_lines(lines, source.name, known)
    if format == "lines":
        return _read_lines(lines, source.name, known)
    return _read_table(lines, "\t" if format == "tsv" else ",", source.name, known)


def _recognised(lines: list[tuple[int, str]], name: str, known: Collection[str] | None) -> str:
    sample = [line for _, line in lines[:SAMPLE] if line.strip()]
    if sample[0].lstrip().startswith("{") or _is_json_list(sample[0]):
        return "jsonl"
    for format, mark in (("tsv", "\t"), ("csv", ",")):
        if mark not in sample[0]:
            continue
        fields = list(csv.reader(sample, delimiter=mark))
        if _header(fields[0], known) is not None:
            return format
        starts_with_label = known is not None and sum(row[0] in known for row in fields if row) * 2 > len(fields)
        if not starts_with_label and (format == "tsv" or _looks_like_csv(fields, name, known)):
            return format
    return "lines"


def _is_json_list(line: str) -> bool:
    try:
        return isinstance(json.loads(line), list)
    except ValueError:
        return False


def _looks_like_csv(fields: list[list[str]], name: str, known: Collection[str] | None) -> bool:
    """Whether commas separate an id from labels, rather than labels from each other."""
    if ".csv" in name.lower():
        return True
    if known is not None:
        return sum(len(row) > 1 and row[1].strip() in known for row in fields) * 2 > len(fields)
    numbers = [_number(row[2]) is not None for row in fields if len(row) == 3 and row[2].strip()]
    return bool(numbers) and all(numbers) and all(len(row) == 3 for row in fields)


# -- JSON lines --------------------------------------------------------------------------------------------------------


def _read_json_lines(lines: list[tuple[int, str]], name: str, known: Collection[str] | None) -> LabelFile:
    documents: list[Document] = []
    for number, line in lines:
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise DataError(f"{place(name, number)} is not JSON: {error}") from None
        found = record if isinstance(record, dict) else {"labels": record}
        key = next((key for key in LABEL_NAMES if key in found), None)
        if key is None:
            raise DataError(
                f"{place(name, number)} has the keys {sorted(found)}, expected one of {', '.join(LABEL_NAMES)}."
            )
        given = found[key] if isinstance(found[key], list) else [] if found[key] is None else [found[key]]
        identity = next((str(found[key]) for key in ID_NAMES if found.get(key) is not None), None)
        documents.append((number, identity, _json_entries(given, known, name, number)))
    return _label_file(documents, name)


def _json_entries(given: list[Any], known: Collection[str] | None, name: str, number: int) -> Entries:
    if not any(isinstance(entry, dict) for entry in given):
        return [_bare(entry if type(entry) is str else str(entry)) for entry in given], ()
    where = place(name, number)
    labels: list[str] = []
    scores: list[float | None] = []
    for entry in given:
        found = entry if isinstance(entry, dict) else {"label": entry}
        names = [str(found[key]) for key in ENTRY_NAMES if found.get(key) is not None]
        if not names:
            raise DataError(
                f"{where}: an entry has the keys {sorted(found)}, expected one of {', '.join(ENTRY_NAMES)}."
            )
        labels.append(_bare(next((label for label in names if known is not None and label in known), names[0])))
        score = next((found[key] for key in SCORE_NAMES if found.get(key) is not None), None)
        if score is not None and _number(score) is None:
            raise DataError(f"{where}: the score of {labels[-1]!r} is {score!r}, expected a number.")
        scores.append(_number(score))
    return labels, scores


# -- tables ------------------------------------------------------------------------------------------------------------


def _read_table(lines: list[tuple[int, str]], delimiter: str, name: str, known: Collection[str] | None) -> LabelFile:
    rows = [(number, _fields(line, delimiter)) for number, line in lines if line.strip()]
    header = _header(rows[0][1], known)
    if header is not None:
        rows = rows[1:]
    id_at, label_at, score_at = header or (0, 1, 2 if _third_is_score(rows) else None)
    if id_at is None:
        return _read_lines([(n, row[label_at]) for n, row in rows], name, known)
    for number, row in rows:
        if len(row) <= max(id_at, label_at) and not (len(row) == label_at == 1):
            raise DataError(f"{place(name, number)} has {len(row)} columns, expected an id and labels.")
    ids = [row[id_at] for _, row in rows]
    if score_at is not None or len(set(ids)) < len(ids):
        return _long_table(rows, id_at, label_at, score_at, name)
    cells = [row[label_at:] if header is None else row[label_at : label_at + 1] for _, row in rows]
    split = _Splitter(itertools.chain.from_iterable(cells), known)
    numbers = [number for number, _ in rows]
    return _label_file(list(zip(numbers, ids, map(split, cells), strict=True)), name)


def _fields(line: str, delimiter: str) -> list[str]:
    fields = next(csv.reader([line], delimiter=delimiter)) if '"' in line else line.split(delimiter)
    return [field.strip() for field in fields]


def _header(fields: list[str], known: Collection[str] | None) -> tuple[int | None, int, int | None] | None:
    """Columns of id, labels and score if the first row names them."""
    names = [field.strip().lower() for field in fields]
    label_at = next((names.index(name) for name in LABEL_NAMES if name in names), None)
    if label_at is None or (known is not None and fields[label_at].strip() in known):
        return None
    id_at = next((names.index(name) for name in ID_NAMES if name in names), None)
    if id_at is None and len(names) > 1:
        return None
    return id_at, label_at, next((names.index(name) for name in SCORE_NAMES if name in names), None)


def _third_is_score(rows: list[tuple[int, list[str]]]) -> bool:
    thirds = [row[2] for _, row in rows[:SAMPLE] if len(row) >= 3]
    return bool(thirds) and len(thirds) * 2 > len(rows[:SAMPLE]) and all(_number(x) is not None for x in thirds if x)


def _long_table(
    rows: list[tuple[int, list[str]]], id_at: int, label_at: int, score_at: int | None, name: str
) -> LabelFile:
    documents: dict[str, tuple[int, list[str], list[float | None]]] = {}
    for number, row in rows:
        _, labels, scores = documents.setdefault(row[id_at], (number, [], []))
        label = _bare(row[label_at]) if label_at < len(row) else ""
        given = row[score_at] if score_at is not None and score_at < len(row) else ""
        if given and _number(given) is None:
            raise DataError(f"{place(name, number)}: the score of {label!r} is {given!r}, expected a number.")
        if label:
            labels.append(label)
            scores.append(_number(given))
    found = [(number, identity, (labels, scores)) for identity, (number, labels, scores) in documents.items()]
    return _label_file(found, name)


# -- lines of labels ---------------------------------------------------------------------------------------------------


def _read_lines(lines: list[tuple[int, str]], name: str, known: Collection[str] | None) -> LabelFile:
    first = lines[0][1].strip()
    if first.lower() in ("labels", "label") and (known is None or first not in known):
        lines = lines[1:]
    tabs = any("\t" in line for _, line in lines)
    cells = [line.split("\t") if tabs else [line] for _, line in lines]
    split = _Splitter(itertools.chain.from_iterable(cells), known)
    return _label_file([(number, None, split(row)) for (number, _), row in zip(lines, cells, strict=True)], name)


class _Splitter:
    """Cuts cells into labels at the separator that makes most of them known, or else that occurs first in the list."""

    def __init__(self, cells: Iterable[str], known: Collection[str] | None) -> None:
        sample = [cell for cell in itertools.islice(cells, SAMPLE) if cell.strip()]
        self.known = known
        if known is None:
            self.separator = next((s for s in SEPARATORS if s and any(s in cell for cell in sample)), None)
        else:
            self.separator = max(SEPARATORS, key=lambda s: self._share_known(sample, s))  # the first of equals

    def _share_known(self, sample: list[str], separator: str | None) -> float:
        assert self.known is not None
        labels = self._cut(sample, separator)[0]
        return sum(label in self.known for label in labels) / max(len(labels), 1)

    def __call__(self, cells: list[str]) -> Entries:
        return self._cut(cells, self.separator)

    def _cut(self, cells: list[str], separator: str | None) -> Entries:
        pieces = [piece for cell in cells for piece in ([cell] if separator is None else cell.split(separator))]
        if self.known is not None and all(map(self.known.__contains__, pieces)):  # the usual case, and the quick one
            return pieces, ()
        labels = [label for label in map(_bare, pieces) if label]
        if self.known is None or not any(":" in label and label not in self.known for label in labels):
            return labels, ()
        scored = [self._label_and_score(label) for label in labels]
        return [label for label, _ in scored], [score for _, score in scored]

    def _label_and_score(self, label: str) -> tuple[str, float | None]:
        """``label:score`` in two, where that makes the label a known one."""
        assert self.known is not None
        name, _, score = label.rpartition(":")
        if label not in self.known and name in self.known and _number(score) is not None:
            return name, _number(score)
        return label, None


# -- shared ------------------------------------------------------------------------------------------------------------


def _bare(label: str) -> str:
    """Without blanks and without the angle brackets that some tools put around addresses."""
    label = label.strip()
    return label[1:-1] if label[:1] == "<" and label[-1:] == ">" else label


def _number(text: Any) -> float | None:
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if value == value else None


def _label_file(documents: Sequence[Document], name: str) -> LabelFile:
    labels = [labels for _, _, (labels, _) in documents]
    scores: list[list[float]] | None = None
    if any(scores for _, _, (_, scores) in documents):
        scores = [[score for score in scores if score is not None] for _, _, (_, scores) in documents]
        if any(len(a) != len(b) for a, b in zip(labels, scores, strict=True)):
            scores = None
    ids = [identity for _, identity, _ in documents if identity is not None]
    if ids and len(ids) < len(documents):
        number = next(number for number, identity, _ in documents if identity is None)
        raise DataError(f"{place(name, number)} has no id, but other documents of the file have one.")
    seen: dict[str, int] = {}
    for number, identity, _ in documents:
        if identity is not None and seen.setdefault(identity, number) != number:
            raise DataError(f"{place(name, number)}: the id {identity!r} was there in line {seen[identity]} already.")
    return LabelFile(name, labels, [number for number, _, _ in documents], ids or None, scores)


def align(gold: LabelFile, predicted: LabelFile) -> tuple[LabelFile, int]:
    """Predictions in the order of the gold documents, and how many of these have none (they count as empty sets).

    Documents are matched by id where both files have ids, otherwise by order.

    Examples
    --------
    >>> gold = LabelFile("gold", [["A"], ["B"]], [1, 2], ids=["d1", "d2"])
    >>> aligned, n_missing = align(gold, LabelFile("predicted", [["B"]], [1], ids=["d2"]))
    >>> aligned.labels, n_missing
    ([[], ['B']], 1)
    """
    if gold.ids is None or predicted.ids is None:
        if len(gold) != len(predicted):
            raise DataError(
                f"{gold.source} has {len(gold)} documents and {predicted.source} has {len(predicted)}; without ids on "
                f"both sides they are matched by order and must be the same."
            )
        return predicted, 0
    place_of = {identity: i for i, identity in enumerate(predicted.ids)}
    wanted = set(gold.ids)
    for identity, i in place_of.items():
        if identity not in wanted:
            where = place(predicted.source, predicted.lines[i])
            raise DataError(f"Document {identity!r} ({where}) is not in {gold.source}{nearest(identity, gold.ids)}")
    at = [place_of.get(identity) for identity in gold.ids]
    labels: list[list[str]] = [[] if i is None else predicted.labels[i] for i in at]
    scores: list[list[float]] | None = None
    if predicted.scores is not None:
        scores = [[] if i is None else predicted.scores[i] for i in at]
    lines = [0 if i is None else predicted.lines[i] for i in at]
    aligned = replace(predicted, labels=labels, lines=lines, ids=gold.ids, scores=scores)
    return aligned, sum(i is None for i in at)
