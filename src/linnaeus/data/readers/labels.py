"""Label entries as files have them: strings, joined strings, paths, [id, name, ...] lists, {"id", "name"} records."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from linnaeus.errors import DataError
from linnaeus.taxonomy import Taxonomy

__all__ = ["choose_part", "choose_separator", "label_names", "split_cells"]

SEPARATORS = (";", "|", ",")
URIS = re.compile(r"\s*(<[^<>\s]+>\s*)+")  # Annif writes labels as <uri> <uri>
CODE = re.compile(r"[A-Za-z]{0,6}[:_-]?\d[\w.-]*|https?://.*")
ID_KEYS, NAME_KEYS = ("id", "uri", "code", "notation"), ("name", "label", "prefLabel", "title")


# -- joined in one string ----------------------------------------------------------------------------------------------


def split_cells(
    cells: Sequence[str], separator: str | None = None, taxonomy: Taxonomy | None = None
) -> list[list[str]]:
    """Cells such as ``A;B`` as label lists; the separator is chosen over all cells unless given.

    Examples
    --------
    >>> split_cells(["A;B", "C", ""])
    [['A', 'B'], ['C'], []]
    >>> split_cells(["<http://x/1> <http://x/2>"])
    [['http://x/1', 'http://x/2']]
    """
    chosen = separator or choose_separator(cells, taxonomy)
    rows = []
    for cell in cells:
        if URIS.fullmatch(cell):
            rows.append([word.strip("<>") for word in cell.replace("><", "> <").split()])
        else:
            rows.append(_split(cell, chosen))
    return rows


def _split(cell: str, separator: str | None) -> list[str]:
    parts = cell.split(separator) if separator else [cell]
    return [part for part in map(str.strip, parts) if part]


def choose_separator(cells: Sequence[str], taxonomy: Taxonomy | None = None) -> str | None:
    """The separator that finds most nodes of the taxonomy; without one, the first of ``; | ,`` that occurs."""
    occurring = [s for s in SEPARATORS if any(s in cell for cell in cells)]
    if taxonomy is None or not occurring:
        return occurring[0] if occurring else None
    sample = [cell for cell in cells if any(s in cell for s in occurring)][:1000]

    def share_found(separator: str | None) -> float:
        parts = [part for cell in sample for part in _split(cell, separator)]
        return sum(part in taxonomy for part in parts) / max(len(parts), 1)

    shares = {s: share_found(s) for s in (*occurring, None)}
    best = max(shares, key=lambda s: shares[s])
    return best if shares[best] > 0 else occurring[0]


# -- entries of a JSON list --------------------------------------------------------------------------------------------


def label_names(value: Any, part: str | None, separator: str | None, where: str) -> list[str]:
    """The labels of one document as names.

    ``part`` says what of an entry that is itself a list or a record is the label: "id", "name", "last", "path".

    Examples
    --------
    >>> label_names([["D000818", "Animals", "N"]], "name", None, "docs.jsonl:1")
    ['Animals']
    """
    if value is None or value == "":
        return []
    if isinstance(value, str):
        return _split(value, separator)
    entries = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(_entry_name(entry, part, where) for entry in entries))


def _entry_name(entry: Any, part: str | None, where: str) -> str:
    if isinstance(entry, str):
        return entry
    if isinstance(entry, dict):
        found = _entry_parts(entry)
        if found:
            return found[-1] if part != "id" else found[0]
    elif isinstance(entry, list) and entry and all(isinstance(e, (str, int, float)) for e in entry):
        if part == "path":
            return "/".join(map(str, entry))
        return str(entry[{"id": 0, "name": min(1, len(entry) - 1)}.get(part or "last", -1)])
    elif isinstance(entry, (int, float)) and not isinstance(entry, bool):
        return str(entry)
    raise DataError(f"{where}: a label is a string, a list of strings or a record with id or name; got {entry!r}.")


def _entry_parts(entry: dict[str, Any]) -> list[str]:
    """[id, name] of a record, or the one of the two it has."""
    found = (next((entry[k] for k in keys if k in entry), None) for keys in (ID_KEYS, NAME_KEYS))
    return [str(value) for value in found if value is not None]


def choose_part(values: Iterable[Any], taxonomy: Taxonomy | None) -> str | None:
    """Which part of entries that are lists or records is the label: what the taxonomy knows, otherwise names.

    Without a taxonomy a list is read as [id, name, ...] if its first element always looks like a code and its second
    never does, and as a path (the last element counts) if not.
    """
    entries = [e for value in values if isinstance(value, list) for e in value if isinstance(e, (list, dict)) and e]
    if not entries:
        return None
    parts = ["last", "name", "id", "path"] if isinstance(entries[0], list) else ["name", "id"]
    if taxonomy is not None:
        hits = Counter({p: sum(_entry_name(e, p, "") in taxonomy for e in entries[:2000]) for p in parts})
        return max(parts, key=lambda p: hits[p]) if hits.total() else "name"
    if isinstance(entries[0], dict):
        return "name"
    pairs = all(len(e) > 1 and CODE.fullmatch(str(e[0])) and not CODE.fullmatch(str(e[1])) for e in entries)
    return "name" if pairs else "last"
