"""Label entries as files have them: strings, joined strings, paths, [id, name, ...] lists, {"id", "name"} records.

``known`` is what the labels may be called, a taxonomy or a collection of names: where several readings are possible,
the one counts that finds most of them.
"""

from __future__ import annotations

import re
import reprlib
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from typing import Any

from linnaeus.errors import DataError
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.names import PATH_MARKS

__all__ = [
    "bare",
    "choose_part",
    "choose_separator",
    "label_names",
    "part_of_path",
    "path_mark",
    "separator_note",
    "split_cell",
    "split_cells",
    "split_known",
]

SEPARATORS = (";", "|", ",")
FEW = 0.2  # of the cells hold a character: it may be part of names
SAMPLE = 1000
URIS = re.compile(r"\s*(<[^<>\s]+>\s*)+")  # Annif writes labels as <uri> <uri>
CODE = re.compile(r"[A-Za-z]{0,6}[:_-]?\d[\w.-]*|https?://.*")
ID_KEYS, NAME_KEYS = ("id", "uri", "code", "notation"), ("name", "label", "node", "prefLabel", "title")


# -- joined in one string ----------------------------------------------------------------------------------------------


def split_cells(
    cells: Sequence[str], separator: str | None = None, known: Container[str] | None = None
) -> list[list[str]]:
    """Cells such as ``A;B`` as label lists; the separator is chosen over all cells unless given.

    Examples
    --------
    >>> split_cells(["A;B", "C", ""])
    [['A', 'B'], ['C'], []]
    >>> split_cells(["<http://x/1> <http://x/2>"])
    [['http://x/1', 'http://x/2']]
    """
    chosen = separator or choose_separator(cells, known)
    return [split_cell(cell, chosen) for cell in cells]


def split_cell(cell: str, separator: str | None) -> list[str]:
    """The labels of one cell.

    Examples
    --------
    >>> split_cell("A; <http://x/1>;", ";")
    ['A', 'http://x/1']
    """
    if cell.lstrip()[:1] == "<" and URIS.fullmatch(cell):
        return [word.strip("<>") for word in cell.replace("><", "> <").split()]
    return [part for part in map(bare, cell.split(separator) if separator else [cell]) if part]


def split_known(cell: str, known: Container[str] | None) -> list[str]:
    """A string of a JSON file: one label, unless only its parts are known.

    A table has no other way to give several labels than to join them, JSON has lists: a string is taken as it is
    where nothing tells that it is several.

    Examples
    --------
    >>> split_known("A;B", {"A", "B"}), split_known("A;B", {"A", "A;B"}), split_known("A;B", None)
    (['A', 'B'], ['A;B'], ['A;B'])
    """
    whole = split_cell(cell, None)
    if known is None or len(whole) != 1 or _is_known(whole[0], known):
        return whole
    readings = (split_cell(cell, separator) for separator in SEPARATORS if separator in cell)
    return next((parts for parts in readings if parts and all(_is_known(part, known) for part in parts)), whole)


def _is_known(label: str, known: Container[str]) -> bool:
    """Whether a label is one of a collection, or means a node of a taxonomy (by an alias, by its whole path)."""
    return known.find(label) is not None if isinstance(known, Taxonomy) else label in known


def bare(label: str) -> str:
    """A label without the blanks and the angle brackets that may stand around it."""
    label = label.strip()
    return label[1:-1] if label[:1] == "<" and label[-1:] == ">" else label


def choose_separator(
    cells: Sequence[str], known: Container[str] | None = None, separators: Sequence[str] = SEPARATORS
) -> str | None:
    """The separator that finds most known labels; without such, the first one that separates; None if there is none."""
    occurring = [s for s in separators if any(s in cell for cell in cells)]
    if known is None or not occurring:
        return next((s for s in occurring if _separates(s, cells)), None)
    sample = [cell for cell in cells if any(s in cell for s in occurring)][:SAMPLE]

    def share_found(separator: str | None) -> float:
        parts = [part for cell in sample for part in split_cell(cell, separator)]
        return sum(_is_known(part, known) for part in parts) / max(len(parts), 1)

    shares = {s: share_found(s) for s in (None, *occurring)}
    best = max(shares, key=lambda s: shares[s])  # the first of equals: a cell that is a label is one
    return best if shares[best] > 0 else next((s for s in occurring if _separates(s, cells)), None)


def _separates(separator: str, cells: Sequence[str]) -> bool:
    """Whether a character joins labels rather than being part of names, as the comma of ``Print, Copy & Scan`` is.

    It joins them if many cells hold it. In few cells, and commas in cells that are paths, half of the parts must be
    labels of other cells, or paths that begin as others do.
    """
    filled = [cell.strip() for cell in cells if cell.strip()]
    joined = [cell for cell in filled if separator in cell]
    mark = path_mark(filled) if separator == "," else None
    if mark is None and (len(joined) >= FEW * len(filled) or len(filled) < 10):
        return True
    alone = {cell.split(mark)[0] if mark else cell for cell in filled if separator not in cell}
    parts = [part for cell in set(joined) for part in split_cell(cell, separator)]
    return 2 * sum((part.split(mark)[0] if mark else part) in alone for part in parts) >= len(parts)


def path_mark(cells: Sequence[str]) -> str | None:
    """The mark between the steps of paths, such as `` > ``, that at least half of the cells hold, or None.

    Examples
    --------
    >>> path_mark(["A > B", "A > C", "D"]), path_mark(["A", "B"])
    (' > ', None)
    """
    marks = (mark for mark in PATH_MARKS if 2 * sum(mark in cell for cell in cells) >= max(len(cells), 1))
    return next(marks, None)


def part_of_path(label: str, mark: str | None, part: str) -> str:
    """The last step of a path, or (``part="path"``) the whole path with slashes; labels without the mark as they are.

    Examples
    --------
    >>> part_of_path("A > B", " > ", "last"), part_of_path("A > B", " > ", "path"), part_of_path("C", " > ", "path")
    ('B', 'A/B', 'C')
    """
    if mark is None or mark not in label:
        return label
    steps = [step.strip() for step in label.split(mark)]
    return steps[-1] if part == "last" else "/".join(steps)


def separator_note(cells: Sequence[str], known: Container[str] | None = None) -> str | None:
    """What to say where a character that often separates labels was taken as part of them; None if there is none."""
    joined = {s: [cell for cell in cells if s in cell] for s in SEPARATORS}
    kept = next((s for s in SEPARATORS if joined[s]), None)
    if kept is None or (known is not None and all(_is_known(cell.strip(), known) for cell in set(joined[kept]))):
        return None
    return (
        f"{kept!r} is taken as part of the labels in {len(joined[kept]):,} of {len(cells):,} cells, as in "
        f"{joined[kept][0][:60]!r}; --label-separator '{kept}' (in Python label_separator={kept!r}) cuts there"
    )


# -- entries of a JSON list --------------------------------------------------------------------------------------------


def label_names(
    value: Any, part: str | None, separator: str | None, where: str, known: Container[str] | None = None
) -> list[str]:
    """The labels of one document as names.

    ``part`` says what of an entry that is itself a list or a record is the label: "id", "name", "last", "path". A
    string is cut at the separator, or, where none is given, as `split_known` does.

    Examples
    --------
    >>> label_names([["D000818", "Animals", "N"]], "name", None, "docs.jsonl:1")
    ['Animals']
    """
    if value is None or value == "":
        return []
    if isinstance(value, str):
        return split_cell(value, separator) if separator else split_known(value, known)
    entries = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(_entry_name(entry, part, where) for entry in entries))


def _entry_name(entry: Any, part: str | None, where: str) -> str:
    if isinstance(entry, str):
        return entry
    if isinstance(entry, dict):
        keys = (*ID_KEYS, *NAME_KEYS) if part == "id" else (*NAME_KEYS, *ID_KEYS)
        found = next((entry[key] for key in (part, *keys) if entry.get(key) is not None), None)
        if isinstance(found, (str, int, float)):
            return str(found)
    elif isinstance(entry, list) and entry and all(isinstance(e, (str, int, float)) for e in entry):
        if part == "path":
            return "/".join(map(str, entry))
        return str(entry[{"id": 0, "name": min(1, len(entry) - 1)}.get(part or "last", -1)])
    elif isinstance(entry, (int, float)) and not isinstance(entry, bool):
        return str(entry)
    raise DataError(
        f"{where}: a label is a string, a list of strings or a record with id or name; got {reprlib.repr(entry)}."
    )


def choose_part(values: Iterable[Any], known: Container[str] | None) -> str | None:
    """Which part of entries that are lists or records is the label: what is known, otherwise names.

    The part is "last", "name", "id" or "path" of a list, or a key of a record. If nothing is known, a list is read as
    [id, name, ...] if its first element always looks like a code and its second never does, and as a path (the last
    element counts) if not. Entries that are no labels are left for `label_names` to name with their place.
    """
    entries = [e for value in values if isinstance(value, list) for e in value if isinstance(e, (list, dict)) and e]
    if not entries:
        return None
    lists = isinstance(entries[0], list)
    if known is not None:
        parts = ("last", "name", "id", "path") if lists else (*NAME_KEYS, *ID_KEYS)
        hits = Counter({part: _n_known(entries[:2000], part, known) for part in parts})
        return max(parts, key=lambda part: hits[part]) if hits.total() else "name"
    if not lists:
        return "name"
    lists_only = [e for e in entries if isinstance(e, list)]
    pairs = all(len(e) > 1 and CODE.fullmatch(str(e[0])) and not CODE.fullmatch(str(e[1])) for e in lists_only)
    return "name" if pairs else "last"


def _n_known(entries: list[Any], part: str, known: Container[str]) -> int:
    n = 0
    for entry in entries:
        try:
            n += _is_known(_entry_name(entry, part, ""), known)
        except DataError:
            continue
    return n
