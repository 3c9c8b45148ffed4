"""Label files as fastText writes and reads them: one document per line, every label behind a mark.

    __label__A __label__B            answers, or gold labels
    __label__A 0.9 __label__B 0.4    answers with probabilities
    __label__A A late goal           a training file: what follows the labels is the document

Where any line goes on after its labels, the numbers behind labels are words of the documents, not scores.
"""

from __future__ import annotations

from linnaeus.data.label_files.content import LabelFile, Line, assemble, number

__all__ = ["MARK", "read"]

MARK = "__label__"


def read(lines: list[Line], name: str) -> LabelFile:
    """Read one document per line; an empty line is a document without labels."""
    found = [_pairs(line.split()) for _, line in lines]
    has_texts = any(rest for _, rest in found)
    documents = []
    for (line, _), (pairs, _) in zip(lines, found, strict=True):
        scores = [] if has_texts else [score for _, score in pairs]
        documents.append((line, None, ([label for label, _ in pairs], scores)))
    return assemble(documents, name)


def _pairs(words: list[str]) -> tuple[list[tuple[str, float | None]], list[str]]:
    """Labels at the beginning with the number behind each, and the words after them."""
    pairs: list[tuple[str, float | None]] = []
    at = 0
    while at < len(words) and words[at].startswith(MARK):
        score = number(words[at + 1]) if at + 1 < len(words) else None
        pairs.append((words[at].removeprefix(MARK), score))
        at += 1 if score is None else 2
    return pairs, words[at:]
