"""Label entries in files: strings, joined strings, paths, [id, name, ...] lists, {"id", "name"} records.

``known`` are the possible labels, a taxonomy or a collection of names: if an entry can be read in several ways, the one
that gives most known labels is chosen.
"""

from __future__ import annotations

import re
import reprlib
from collections import Counter
from collections.abc import Container, Iterable, Sequence

from linnaeus.errors import DataError
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.names import PATH_MARKS
from linnaeus.typing import JSON

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
FEW = 0.2  # a character that is in a smaller share of the cells may be part of names
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
    """The labels of a string in a JSON file: one label, unless only its parts are known.

    In a table several labels of a document have to be joined, while JSON has lists: so a string is one label unless its
    parts are known labels.

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
    """Whether a label is in a collection, or stands for a node of a taxonomy (also by an alias or a whole path)."""
    return known.lookup(label) is not None if isinstance(known, Taxonomy) else label in known


def bare(label: str) -> str:
    """A label without surrounding white space and angle brackets."""
    label = label.strip()
    return label[1:-1] if label[:1] == "<" and label[-1:] == ">" else label


def choose_separator(
    cells: Sequence[str], known: Container[str] | None = None, separators: Sequence[str] = SEPARATORS
) -> str | None:
    """The separator that gives most known labels; otherwise the first one that separates labels, or None."""
    occurring = [s for s in separators if any(s in cell for cell in cells)]
    if known is None or not occurring:
        return next((s for s in occurring if _separates(s, cells)), None)
    sample = [cell for cell in cells if any(s in cell for s in occurring)][:SAMPLE]

    def share_found(separator: str | None) -> float:
        parts = [part for cell in sample for part in split_cell(cell, separator)]
        return sum(_is_known(part, known) for part in parts) / max(len(parts), 1)

    shares = {s: share_found(s) for s in (None, *occurring)}
    best = max(shares, key=lambda s: shares[s])  # the first if equal: a cell that is a known label is not split
    return best if shares[best] > 0 else next((s for s in occurring if _separates(s, cells)), None)


def _separates(separator: str, cells: Sequence[str]) -> bool:
    """Whether a character separates labels and is not part of names, as the comma of ``Print, Copy & Scan`` is.

    It separates labels if many cells contain it. If few do, and for commas in cells that are paths, half of the parts
    must be labels of other cells, or paths with the same first step.
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
    """The mark between the steps of paths, such as `` > ``, that at least half of the cells contain, or None.

    Examples
    --------
    >>> path_mark(["A > B", "A > C", "D"]), path_mark(["A", "B"])
    (' > ', None)
    """
    marks = (mark for mark in PATH_MARKS if 2 * sum(mark in cell for cell in cells) >= max(len(cells), 1))
    return next(marks, None)


def part_of_path(label: str, mark: str | None, part: str) -> str:
    """The last step of a path, or (``part="path"``) the whole path with slashes; labels without the mark are unchanged.

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
    """A note if a character that often separates labels was read as part of them, otherwise None."""
    joined = {s: [cell for cell in cells if s in cell] for s in SEPARATORS}
    kept = next((s for s in SEPARATORS if joined[s]), None)
    if kept is None or (known is not None and all(_is_known(cell.strip(), known) for cell in set(joined[kept]))):
        return None
    return (
        f"{kept!r} is read as part of the labels in {len(joined[kept]):,} of {len(cells):,} cells, as in "
        f"{joined[kept][0][:60]!r}; --label-separator '{kept}' (in Python label_separator={kept!r}) splits them"
    )


# -- entries of a JSON list --------------------------------------------------------------------------------------------


def label_names(
    value: JSON, part: str | None, separator: str | None, where: str, known: Container[str] | None = None
) -> list[str]:
    """The labels of one document as names.

    ``part`` is the part of a list or record that is the label: "id", "name", "last" or "path". A string is split at the
    separator, or by `split_known` if none is given.

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
    names = [entry if isinstance(entry, str) else _entry_name(entry, part, where) for entry in entries]
    return names if len(names) < 2 else list(dict.fromkeys(names))


def _entry_name(entry: JSON, part: str | None, where: str) -> str:
    if isinstance(entry, str):
        return entry
    if isinstance(entry, dict):
        keys = [*ID_KEYS, *NAME_KEYS] if part == "id" else [*NAME_KEYS, *ID_KEYS]
        keys = keys if part is None else [part, *keys]
        found = next((entry[key] for key in keys if entry.get(key) is not None), None)
        if isinstance(found, (str, int, float)):
            return str(found)
    elif isinstance(entry, list) and entry and all(isinstance(e, (str, int, float)) for e in entry):
        if part == "path":
            return "/".join(map(str, entry))
        return str(entry[{"id": 0, "name": min(1, len(entry) - 1)}.get(part or "last", -1)])
    elif isinstance(entry, (int, float)) and not isinstance(entry, bool):
        return str(entry)
    raise DataError(
        f"{where}: expected a label as a string, a list of strings or a record with id or name; "
        f"got {reprlib.repr(entry)}."
    )


def choose_part(values: Iterable[JSON], known: Container[str] | None) -> str | None:
    """The part of lists or records that is the label: the part with most known labels, otherwise the name.

    The part is "last", "name", "id" or "path" of a list, or a key of a record. If no labels are known, a list is read
    as [id, name, ...] if its first element always looks like a code and its second never does, otherwise as a path,
    whose last element is the label. Entries that are not labels are reported by `label_names`, with their place.
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


def _n_known(entries: Sequence[JSON], part: str, known: Container[str]) -> int:
    n = 0
    for entry in entries:
        try:
            n += _is_known(_entry_name(entry, part, ""), known)
        except DataError:
            continue
    return n
