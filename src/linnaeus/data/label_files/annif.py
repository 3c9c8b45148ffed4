"""Label files as Annif writes its suggestions: one label per line, the address of the concept in angle brackets.

    Suggestions for d1.txt
    <http://ex.org/football> <tab> Football <tab> 0.91
    <http://ex.org/sports> <tab> Sports <tab> S1 <tab> 0.40      a notation may precede the score

The address is used as the label; the name is for display. A heading starts a document and names it. Without headings,
documents end at empty lines.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from linnaeus.data.label_files.content import LabelFile, Line, assemble, number
from linnaeus.errors import DataError, place

__all__ = ["read", "recognised"]

HEADING = "Suggestions for "
ADDRESS = re.compile(r"<([^<>\s]+)>")


def recognised(lines: list[str], known: Collection[str] | None) -> bool:
    """Whether lines are suggestions, rather than documents that are named by addresses.

    Examples
    --------
    >>> recognised(["<http://ex.org/football>\\tFootball\\t0.91"], None)
    True
    >>> recognised(["<http://ex.org/doc1>\\tFootball"], {"Football"})
    False
    """
    rows = [line.split("\t") for line in lines if not line.startswith(HEADING)]
    found = [ADDRESS.fullmatch(row[0].strip()) for row in rows]
    if not rows or not all(found) or any(len(row) < 2 or row[1].lstrip().startswith("<") for row in rows):
        return False
    if known is not None:
        first = sum(match is not None and match[1] in known for match in found)
        second = sum(row[1].strip() in known for row in rows)
        if first or second:
            return first >= second
    return len(rows) < len(lines) or all(len(row) > 2 and number(row[-1]) is not None for row in rows)


def read(lines: list[Line], name: str) -> LabelFile:
    """Read suggestions, or gold labels in the same form without scores."""
    headings = any(line.startswith(HEADING) for _, line in lines)
    documents: list[tuple[int, str | None, tuple[list[str], list[float | None]]]] = []
    begun = False
    for at, line in lines:
        if line.startswith(HEADING):
            documents.append((at, line.removeprefix(HEADING).strip(), ([], [])))
            begun = True
            continue
        if not begun and (line.strip() or not headings):
            documents.append((at, None, ([], [])))
            begun = True
        if line.strip():
            label, score = _suggestion(line, place(name, at))
            documents[-1][2][0].append(label)
            documents[-1][2][1].append(score)
        elif not headings:
            begun = False
    return assemble(documents, name)


def _suggestion(line: str, where: str) -> tuple[str, float | None]:
    """The label of one line, and its score, which is the last cell and missing in gold labels."""
    address, *others = line.split("\t")
    match = ADDRESS.fullmatch(address.strip())
    if match is None:
        raise DataError(f"{where}: {line[:60]!r} is not a suggestion; expected <address>, label and score.")
    score = number(others[-1]) if len(others) > 1 else None
    return match[1], score
