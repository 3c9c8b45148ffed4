"""The options of the readers and writers, in one place; each format says which of them it knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from linnaeus.errors import ParameterError

__all__ = ["Options"]


@dataclass(frozen=True)
class Options:
    """Options that shape what a file means; None is the default of the format.

    Parameters
    ----------
    language : language of the display labels (SKOS).
    names : what nodes are called: "iri", "notation", "label" (SKOS), "name" or "path" (paths, indented, JSON).
    separator : the delimiter of columns, or the mark between the steps of a code ("" for codes that nest by digits).
    header : whether the first line names the columns.
    relations : relations that make an edge besides or instead of ``is_a`` (OBO).
    namespaces : keep only the terms of these namespaces (OBO).
    obsolete : keep obsolete or deprecated nodes (OBO, SKOS).
    positions : one node per tree number instead of one per descriptor (MeSH).
    duplicates : "drop" accepts pairs that are given twice (edges, LSHTC, children).
    """

    language: str | None = None
    names: str | None = None
    separator: str | None = None
    header: bool | None = None
    relations: Sequence[str] | None = None
    namespaces: Sequence[str] | None = None
    obsolete: bool | None = None
    positions: bool | None = None
    duplicates: str | None = None

    def only(self, known: Sequence[str], format: str) -> Options:
        """Itself, once it is clear that every option given means something in this format."""
        for field in fields(self):
            if getattr(self, field.name) is not None and field.name not in known:
                takes = f"takes {', '.join(known)}" if known else "takes no option"
                raise ParameterError(f"Option {field.name} means nothing in the format {format!r}, which {takes}.")
        return self

    def column_mark(self) -> str | None:
        """The separator as a delimiter of columns, which is one character; ``\\t`` and ``tab`` are the tab."""
        mark = "\t" if self.separator in ("\\t", "tab") else self.separator
        if mark is not None and (len(mark) != 1 or mark in '"\r\n'):
            raise ParameterError(f"separator={self.separator!r} does not separate columns; expected one character.")
        return mark

    def choose(self, name: str, choices: Sequence[str]) -> str:
        """The value of an option that has a fixed set of values; the first is the default."""
        value = getattr(self, name)
        if value is not None and value not in choices:
            raise ParameterError(f"{name}={value!r} is not one of {', '.join(map(repr, choices))}.")
        return choices[0] if value is None else value
