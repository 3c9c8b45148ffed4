"""The content of a file of labels, and the alignment of predicted labels with gold labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from linnaeus.errors import DataError, nearest, place

__all__ = ["Document", "Entries", "LabelFile", "Line", "align", "assemble", "number"]

Line: TypeAlias = tuple[int, str]  # number and text
Entries: TypeAlias = tuple[list[str], Sequence[float | None]]  # labels and scores; empty scores if no label has one
Document: TypeAlias = tuple[int, str | None, Entries]  # line, id, entries


@dataclass(frozen=True)
class LabelFile:
    """Labels of every document in the order of the file, with line numbers, and scores and ids if the file has them."""

    source: str
    labels: list[list[str]]
    lines: list[int]
    ids: list[str] | None = None
    scores: list[list[float]] | None = None
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of a table: names of the columns by role

    def __len__(self) -> int:
        return len(self.labels)

    def ranked(self) -> list[list[tuple[str, float]]] | None:
        """(label, score) pairs of every document, or None without scores."""
        if self.scores is None:
            return None
        rows = zip(self.labels, self.scores, strict=True)
        return [list(zip(labels, scores, strict=True)) for labels, scores in rows]


def assemble(documents: Sequence[Document], name: str) -> LabelFile:
    """Documents as a label file; all of them have unique ids, or none has an id."""
    labels = [labels for _, _, (labels, _) in documents]
    scores: list[list[float]] | None = None
    if any(scores for _, _, (_, scores) in documents):
        scores = [[score for score in scores if score is not None] for _, _, (_, scores) in documents]
        if any(len(a) != len(b) for a, b in zip(labels, scores, strict=True)):
            scores = None
    ids = [identity for _, identity, _ in documents if identity is not None]
    if ids and len(ids) < len(documents):
        line = next(line for line, identity, _ in documents if identity is None)
        raise DataError(f"{place(name, line)} has no id, but other documents of the file have one.")
    seen: dict[str, int] = {}
    for line, identity, _ in documents:
        if identity is not None and seen.setdefault(identity, line) != line:
            raise DataError(f"{place(name, line)}: the id {identity!r} was already given in line {seen[identity]}.")
    return LabelFile(name, labels, [line for line, _, _ in documents], ids or None, scores)


def align(gold: LabelFile, predicted: LabelFile) -> tuple[LabelFile, int]:
    """Predictions in the order of the gold documents, and the number of documents without one (read as empty sets).

    Documents are matched by id if both files have ids, otherwise by order.

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
                f"{gold.source} has {len(gold)} documents and {predicted.source} has {len(predicted)}; without ids in "
                f"both files they are matched by order, so the numbers must be equal."
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


def number(text: object) -> float | None:
    """A score, or None if the text is not a number.

    Examples
    --------
    >>> number("0.9"), number("high")
    (0.9, None)
    """
    if not isinstance(text, (str, int, float)):
        return None
    try:
        value = float(text)
    except (ValueError, OverflowError):
        return None
    return value if value == value else None
