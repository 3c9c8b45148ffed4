"""Label files with the labels of one document on each line: plain, or as fastText writes and reads them.

    A;B                              labels, with any separator
    __label__A __label__B            answers, or gold labels
    __label__A 0.9 __label__B 0.4    answers with probabilities
    __label__A A late goal           a training file: what follows the labels is the document

If any line has text after its labels, numbers that follow labels are words of the documents, not scores.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain

from linnaeus.data.label_files.content import Entries, LabelFile, Line, assemble, number
from linnaeus.data.readers.columns import ANSWERS, SEPARATORS, choose_separator, split_cell
from linnaeus.errors import DataError

__all__ = ["MARK", "Splitter", "read", "read_fasttext"]

BLANK = " "
MARK = "__label__"


def read(lines: list[Line], name: str, known: Collection[str] | None, heading: str | None = None) -> LabelFile:
    """Read one document per line; the first line may be the word labels, or the ``heading`` given."""
    first = lines[0][1].strip() if lines else ""
    if heading is not None and heading not in (first, "0"):
        raise DataError(f"{name} has no column {heading!r}; its first line is {first[:60]!r}.")
    headings = ("labels", "label") if known is None else ANSWERS  # without a taxonomy 'code' may be a label
    if first == heading or (first.lower() in headings and (known is None or first not in known)):
        lines = lines[1:]
    return cut(lines, name, known)


def cut(lines: list[Line], name: str, known: Collection[str] | None) -> LabelFile:
    """Split every line into labels."""
    tabs = any("\t" in line for _, line in lines)
    cells = [line.split("\t") if tabs else [line] for _, line in lines]
    split = Splitter(list(chain.from_iterable(cells)), known)
    return assemble([(line, None, split(row)) for (line, _), row in zip(lines, cells, strict=True)], name)


class Splitter:
    """Splits cells into labels; at blanks only without a taxonomy, or if this yields labels of the taxonomy."""

    def __init__(self, cells: Sequence[str], known: Collection[str] | None) -> None:
        self.known = known
        self.scored = None if known is None else _Scored(known)
        words = (word for cell in cells[:1000] for word in cell.split())
        blank = self.scored is None or any(word in self.scored for word in words)
        self.separator = choose_separator(cells, self.scored, (*SEPARATORS, BLANK) if blank else SEPARATORS)

    def __call__(self, cells: list[str]) -> Entries:
        pieces = cells if self.separator is None else [p for cell in cells for p in cell.split(self.separator)]
        if self.known is not None and all(map(self.known.__contains__, pieces)):  # the common and fast case
            return pieces, ()
        labels = [label for cell in cells for label in split_cell(cell, self.separator)]
        if self.scored is None or not any(":" in label and label not in self.scored.known for label in labels):
            return labels, ()
        found = [self.scored.split(label) for label in labels]
        return [label for label, _ in found], [score for _, score in found]

    def finds_several(self, cells: Sequence[str]) -> bool:
        """Whether some cells certainly contain several labels; a comma or a blank may be part of a name."""
        if self.separator is None or self.scored is None:
            return self.separator in (";", "|")
        joined = [cell for cell in cells if self.separator in cell][:1000]
        return any(label in self.scored for cell in joined for label in split_cell(cell, self.separator))


class _Scored:
    """The known labels, also where ``:score`` follows them."""

    def __init__(self, known: Collection[str]) -> None:
        self.known = known

    def __contains__(self, label: object) -> bool:
        return self.split(str(label))[0] in self.known

    def split(self, label: str) -> tuple[str, float | None]:
        """``label:score`` as label and score, if the label is known without the score."""
        if label not in self.known:
            name, _, score = label.rpartition(":")
            if name in self.known and number(score) is not None:
                return name, number(score)
        return label, None


def read_fasttext(lines: list[Line], name: str) -> LabelFile:
    """Read one document per line; an empty line is a document without labels."""
    rows = [_marked(line.split()) for _, line in lines]
    has_texts = any(rest for _, rest in rows)
    documents = []
    for (line, _), (pairs, _) in zip(lines, rows, strict=True):
        scores = [] if has_texts else [score for _, score in pairs]
        documents.append((line, None, ([label for label, _ in pairs], scores)))
    return assemble(documents, name)


def _marked(words: list[str]) -> tuple[list[tuple[str, float | None]], list[str]]:
    """Labels at the beginning, each with the number that follows it, and the remaining words."""
    pairs: list[tuple[str, float | None]] = []
    at = 0
    while at < len(words) and words[at].startswith(MARK):
        score = number(words[at + 1]) if at + 1 < len(words) else None
        pairs.append((words[at].removeprefix(MARK), score))
        at += 1 if score is None else 2
    return pairs, words[at:]
