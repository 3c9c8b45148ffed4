"""Whether the first row of a table names its columns.

A usual name (`columns.TEXT` and others) or one that the user gives decides. Other rows are compared with the rows
below:

    Nr,Inhalt,Schlagwort        words over a column of numbers, or of codes, or of labels of the taxonomy: a header
    7,Ein spätes Tor,Sport

    Ein spätes Tor,Sport        a value that occurs again below, a number, an address, a long text: a document
    Eine Wahl,Politik
    Ein Freistoß,Sport

Where neither is seen, the row may be either, and the answer is None: a reader asks the user.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from linnaeus.data.readers.columns import IDS, LABELS, SEQUENCES, TEXT, is_missing, is_number
from linnaeus.data.readers.source import Options

__all__ = ["names_columns", "row_is_header"]

SAMPLE = 100  # rows looked at
LONGEST_NAME = 60
REPEATED = 0.5  # distinct values per row in a column of labels, at most
CODE = re.compile(r"(?=.*\d)[\w.:/-]+")
ADDRESS = re.compile(r"<?https?:|<[^<>\s]+>")
SENTENCE = re.compile(r"[.!?]$|[,;] ")
PARTS = re.compile(r"[;|,]")


def names_columns(cells: Sequence[str], options: Options) -> bool:
    """Whether a row holds a usual name of a column, or one that the user gives.

    Examples
    --------
    >>> names_columns(["Nr", "Text"], Options()), names_columns(["A late goal", "Sports"], Options())
    (True, False)
    """
    named = {*options.text, *options.labels, *options.categorical, *options.usual_text, options.id, options.sequence}
    words = {
        name for name in named if name is not None and not name.isdecimal()
    }  # a number may be a value, and is a position
    known = {*TEXT, *LABELS, *IDS, *SEQUENCES}
    if any(cell.strip() in words or cell.strip().lower() in known for cell in cells):
        return True
    return len(cells) > 1 and [cell.strip() for cell in cells] == [str(i) for i in range(len(cells))]  # as pandas does


def row_is_header(rows: Sequence[Sequence[str]], known: Container[str] | None = None) -> bool | None:
    """Whether the first of these rows names the columns; None where nothing speaks for it or against it.

    Parameters
    ----------
    rows : sequence of sequences of str
        The first rows of a table, the row in question first.
    known : container of str, default=None
        Labels that may occur, such as a taxonomy.

    Returns
    -------
    is_header : bool or None
        True, False, or None if the rows do not tell.

    Examples
    --------
    >>> row_is_header([["Nr", "Inhalt"], ["1", "Ein Tor"], ["2", "Eine Wahl"]])
    True
    >>> row_is_header([["Ein Tor", "Sport"], ["Eine Wahl", "Politik"], ["Ein Spiel", "Sport"]])
    False
    """
    first = [cell.strip() for cell in rows[0]]
    if not any(first) or len(set(first)) < len(first) or any(map(_is_value, first)):
        return False
    columns = [_column(rows, i) for i in range(len(first))]
    if not any(columns):
        return False  # nothing stands below
    if known is not None:
        found = [_known_labels(name, column, known) for name, column in zip(first, columns, strict=True)]
        if any(answer is not None for answer in found):
            return not any(answer for answer in found)
    pairs = [(name, column) for name, column in zip(first, columns, strict=True) if column]
    if any(name in column for name, column in pairs):
        return False
    if any(all(map(is_number, column)) for _, column in pairs):
        return True
    if any(all(map(_is_code, column)) and not _is_code(name) for name, column in pairs):
        return True
    text, below = max(pairs, key=lambda pair: sum(len(value.split()) for value in pair[1]) / len(pair[1]))
    words = sorted(len(value.split()) for value in below)
    if len(text.split()) > 1 and 2 * len(text.split()) >= words[len(words) // 2]:
        return False  # as long as the texts below
    shorter = len(text.split()) < words[0]
    repeated = any(len(column) > 3 and len(set(column)) <= REPEATED * len(column) for _, column in pairs)
    if shorter and (repeated or len(text.split()) == 1):
        return True
    return None


def _column(rows: Sequence[Sequence[str]], i: int) -> list[str]:
    below = (row[i].strip() for row in rows[1:SAMPLE] if i < len(row))
    return [cell for cell in below if not is_missing(cell)]


def _is_value(cell: str) -> bool:
    """Whether a cell is too long, or of a kind, to be the name of a column."""
    return (
        is_number(cell)
        or len(cell) > LONGEST_NAME
        or ADDRESS.match(cell) is not None
        or SENTENCE.search(cell) is not None
        or (len(cell) > 20 and cell.isalpha() and cell.isupper())  # a sequence
    )


def _known_labels(name: str, column: list[str], known: Container[str]) -> bool | None:
    """Whether the first cell of a column of known labels is a known label; None for any other column."""

    def is_known(cell: str) -> bool:
        return cell in known or any(part.strip(" <>") in known for part in (*PARTS.split(cell), *cell.split()))

    if is_known(name):
        return True
    return False if column and 2 * sum(map(is_known, column)) > len(column) else None


def _is_code(cell: str) -> bool:
    """Whether a cell holds codes or addresses."""
    return ADDRESS.match(cell) is not None or all(CODE.fullmatch(part.strip()) for part in PARTS.split(cell))
