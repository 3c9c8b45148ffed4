"""Columns of tables and keys of JSON objects that hold texts, such as ``altLabel``, ``synonyms`` and ``definition@de``.

A cell may hold several texts between ``|``; in columns of alternative and hidden labels also between ``;``, if the cell
has no ``|``. The marks, and a backslash before them, are written with a backslash if they are part of a text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.taxonomy.texts import NodeText

__all__ = ["KEYS", "beside_label", "joined_cell", "split_cell", "text_column", "text_columns", "written_columns"]

KEYS = {
    "preferred": "prefLabel",
    "alternative": "altLabel",
    "hidden": "hiddenLabel",
    "definition": "definition",
    "scope_note": "scopeNote",
    "note": "note",
    "example": "example",
    "notation": "notation",
}
_WORDS = {
    **dict.fromkeys(("preflabel", "preferred", "preferredlabel", "preferredterm"), "preferred"),
    **dict.fromkeys(
        ("altlabel", "alternative", "alternativelabel", "alternativename", "alternativeterm"), "alternative"
    ),
    **dict.fromkeys(("synonym", "entryterm"), "alternative"),
    **dict.fromkeys(("hiddenlabel", "hidden"), "hidden"),
    **dict.fromkeys(("definition", "description"), "definition"),
    **dict.fromkeys(("note", "comment", "remark"), "note"),
    "scopenote": "scope_note",
    "example": "example",
    "notation": "notation",
}
_WORDS |= {f"{word}s": kind for word, kind in _WORDS.items()}
_LABELS = ("label", "name", "title")  # display labels unless they have a language
_TAGGED = re.compile(r"(.+?)(?:@(\S+)|[_:]([a-z]{2})| ?\(([a-z]{2,3})\)| ?\[([a-z]{2,3})\])", re.IGNORECASE)
_MARK = re.compile(r"\\([\\|;])|([|;])")
_ESCAPED = re.compile(r"([\\|;])")


def text_column(name: str) -> tuple[str, str] | None:
    """Kind and language of the texts in a column or under a key, or None if the name is not one of texts.

    Examples
    --------
    >>> text_column("Alternative labels"), text_column("definition@de"), text_column("title_fr"), text_column("title")
    (('alternative', ''), ('definition', 'de'), ('preferred', 'fr'), None)
    """
    name = name.strip().strip('"')
    if (kind := _WORDS.get(_bare(name))) is not None:
        return kind, ""
    found = _TAGGED.fullmatch(name)
    if found is None:
        return None
    word, language = _bare(found[1]), next(filter(None, found.groups()[1:]))
    kind = "preferred" if word in _LABELS else _WORDS.get(word)
    return None if kind is None else (kind, language.lower())


def _bare(name: str) -> str:
    return re.sub(r"[ _-]", "", name.lower())


def text_columns(header: Sequence[str], used: Collection[int | None]) -> dict[int, tuple[str, str]]:
    """Kind and language of the columns of texts, without those that are ``used`` otherwise."""
    kinds = {i: text_column(cell) for i, cell in enumerate(header) if i not in used}
    return {i: kind for i, kind in kinds.items() if kind is not None}


def split_cell(cell: str, kind: str) -> list[str]:
    """The texts of a cell.

    Examples
    --------
    >>> split_cell("heart attack; MI", "alternative"), split_cell("a; b | c", "alternative"), split_cell("a; b", "note")
    (['heart attack', 'MI'], ['a; b', 'c'], ['a; b'])
    """
    if not _MARK.search(cell):
        return [cell]
    marks = [found[2] for found in _MARK.finditer(cell) if found[2]]
    mark = "|" if "|" in marks else ";" if kind in ("alternative", "hidden") else "|"
    texts, place = [""], 0
    for found in _MARK.finditer(cell):
        texts[-1] += cell[place : found.start()]
        if found[2] == mark:
            texts.append("")
        else:
            texts[-1] += found[1] or found[2]
        place = found.end()
    texts[-1] += cell[place:]
    return [text.strip() for text in texts if text.strip()]


def joined_cell(texts: Iterable[str]) -> str:
    """Texts as a cell; the inverse of `split_cell`."""
    return " | ".join(_ESCAPED.sub(r"\\\1", text) for text in texts)


def beside_label(taxonomy: Taxonomy, v: int) -> list[NodeText]:
    """Texts of a node without the preferred label that follows from its display label."""
    if taxonomy._texts is None:
        return []
    texts = taxonomy.texts.of(v)
    shown = "" if taxonomy.display_labels is None else taxonomy.display_labels[v].strip()
    equal = [entry for entry in texts if entry.kind == "preferred" and entry.text == shown]
    return [entry for entry in texts if entry not in equal] if [entry.language for entry in equal] == [""] else texts


def written_columns(taxonomy: Taxonomy) -> tuple[dict[tuple[str, str], str], list[Mapping[tuple[str, str], str]]]:
    """Names of the columns of texts by kind and language, and the cells of every node."""
    rows: list[Mapping[tuple[str, str], str]] = []
    for v in range(0 if taxonomy._texts is None else taxonomy.n_nodes):
        found: dict[tuple[str, str], list[str]] = {}
        for _, kind, language, text in beside_label(taxonomy, v):
            found.setdefault((kind, language), []).append(text)
        rows.append({key: joined_cell(texts) for key, texts in found.items()})
    keys = sorted({key for row in rows for key in row}, key=lambda key: (list(KEYS).index(key[0]), key[1]))
    return {key: KEYS[key[0]] + (f"@{key[1]}" if key[1] else "") for key in keys}, rows
