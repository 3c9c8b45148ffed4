"""Deprecated ids in tables and JSON objects, by columns or keys beside those of nodes:

    parent  child   label       deprecated  replaced_by
    Sports  Tennis  Tennis
            Lawn    Lawn tennis true        Tennis

A row or object whose ``deprecated`` (also ``obsolete``, ``is_obsolete``) is true is not a node but a deprecated id,
with the nodes of ``replaced_by`` and ``consider`` (in a table between ``|``); ``obsolete=True`` keeps it as a node.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from linnaeus.taxonomy.formats.draft import joined_cell, split_cell
from linnaeus.taxonomy.names import Deprecated
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import JSON

__all__ = ["deprecated_object", "deprecated_row", "deprecation_columns", "object_of", "written_rows"]

_WORDS = {
    **dict.fromkeys(("deprecated", "obsolete", "isdeprecated", "isobsolete"), "deprecated"),
    **dict.fromkeys(("replacedby", "isreplacedby"), "replaced_by"),
    "consider": "consider",
}
_TRUE = ("true", "1", "yes", "y", "x")


def _word(name: str) -> str | None:
    return _WORDS.get(re.sub(r"[ _-]", "", name.strip().strip('"').lower()))


def _is_true(value: JSON) -> bool:
    return value is True or (isinstance(value, (str, int)) and str(value).strip().lower() in _TRUE)


def deprecation_columns(header: Sequence[str]) -> dict[str, int]:
    """Columns of ``deprecated``, ``replaced_by`` and ``consider``; empty if no column says which ids are deprecated.

    Examples
    --------
    >>> deprecation_columns(["id", "parent", "is_obsolete", "Replaced by"]), deprecation_columns(["id", "replaced_by"])
    ({'deprecated': 2, 'replaced_by': 3}, {})
    """
    found: dict[str, int] = {}
    for i, cell in enumerate(header):
        word = _word(cell)
        if word is not None:
            found.setdefault(word, i)
    return found if "deprecated" in found else {}


def deprecated_row(cells: Sequence[str], columns: Mapping[str, int], label: str) -> Deprecated | None:
    """What a row says about a deprecated id; None if it is one of a node.

    Examples
    --------
    >>> deprecated_row(["", "Lawn", "true", "Tennis | Croquet"], {"deprecated": 2, "replaced_by": 3}, "Lawn tennis")
    Deprecated(replaced_by=('Tennis', 'Croquet'), consider=(), label='Lawn tennis')
    """

    def cell(word: str) -> str:
        return cells[columns[word]] if word in columns and columns[word] < len(cells) else ""

    if not _is_true(cell("deprecated")):
        return None
    others = {word: tuple(filter(None, split_cell(cell(word), "note"))) for word in ("replaced_by", "consider")}
    return Deprecated(others["replaced_by"], others["consider"], label)


def deprecated_object(content: Mapping[str, JSON], label: str) -> Deprecated | None:
    """What an object says about a deprecated id; None if it describes a node.

    Examples
    --------
    >>> deprecated_object({"id": "Lawn", "deprecated": True, "replacedBy": "Tennis"}, "Lawn tennis")
    Deprecated(replaced_by=('Tennis',), consider=(), label='Lawn tennis')
    """
    found: dict[str, JSON] = {}
    for key, value in content.items():
        word = _word(key)
        if word is not None:
            found.setdefault(word, value)
    if not _is_true(found.get("deprecated")):
        return None
    return Deprecated(_names(found.get("replaced_by")), _names(found.get("consider")), label)


def _names(value: JSON) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(str(one) for one in values if isinstance(one, (str, int)) and not isinstance(one, bool) and one != "")


def object_of(entry: Deprecated) -> dict[str, JSON]:
    """The keys of a deprecated id beside its name.

    Examples
    --------
    >>> object_of(Deprecated(("Tennis",), label="Lawn tennis"))
    {'label': 'Lawn tennis', 'deprecated': True, 'replaced_by': ['Tennis']}
    """
    made: dict[str, JSON] = {"label": entry.label} if entry.label else {}
    made["deprecated"] = True
    made |= {"replaced_by": list(entry.replaced_by)} if entry.replaced_by else {}
    return made | ({"consider": list(entry.consider)} if entry.consider else {})


def written_rows(taxonomy: Taxonomy) -> tuple[list[str], list[tuple[str, str, list[str]]]]:
    """Names of the columns, and (id, former label, cells of these columns) of every deprecated id.

    Examples
    --------
    >>> tax = Taxonomy.flat(["Tennis"]).with_replacements(None, {"Lawn": Deprecated(("Tennis",))})
    >>> written_rows(tax)
    (['deprecated', 'replaced_by'], [('Lawn', '', ['true', 'Tennis'])])
    """
    entries = taxonomy.deprecated.values()
    words = ["deprecated"] if entries else []
    words += ["replaced_by"] if any(entry.replaced_by for entry in entries) else []
    words += ["consider"] if any(entry.consider for entry in entries) else []
    rows = []
    for id, entry in taxonomy.deprecated.items():
        cells = {"deprecated": "true", "replaced_by": joined_cell(entry.replaced_by)}
        cells["consider"] = joined_cell(entry.consider)
        rows.append((id, entry.label, [cells[word] for word in words]))
    return words, rows
