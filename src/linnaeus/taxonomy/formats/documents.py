"""Documents given where a taxonomy was expected: what gives them away.

A list of documents can be read as a strange taxonomy (columns as paths, keys as nodes), so they are told apart first.
"""

from __future__ import annotations

import json
import re
from typing import Any

from linnaeus.taxonomy.formats.edges import header_columns
from linnaeus.taxonomy.formats.records import CHILDREN, PARENTS
from linnaeus.taxonomy.formats.source import body_lines, delimiter

__all__ = ["document_sign"]

TEXT = ("text", "abstract", "body", "content", "document", "full_text", "fulltext")
LABELS = ("labels", "label", "topics", "topic", "subjects", "subject", "categories", "category", "classes", "tags")
SAMPLE = 1 << 16
_VECTOR = re.compile(r"\S*(\s+\d+:[-+.\deE]+)+\s*")

_FASTA = re.compile(r">\S.*\n[A-Za-z*-]+\s*\Z")


def document_sign(text: str) -> str | None:
    """What makes a text look like documents, in a few words, or None.

    Examples
    --------
    >>> document_sign('{"text": "a goal", "labels": ["Football"]}')
    "JSON objects with the key 'text'"
    >>> document_sign('{"Sports": {"Football": {}}}') is None
    True
    """
    start = text[:SAMPLE].lstrip()
    if start[:1] in ("{", "["):
        return _json_sign(start)
    lines = [line for _, line in zip(range(20), (line for _, line in body_lines(start)), strict=False)]
    if not lines:
        return None
    if _FASTA.match("\n".join(lines[:2])):
        return "FASTA sequences"
    if all(_VECTOR.fullmatch(line) for line in lines[: max(1, len(lines) - 1)]):
        return "lines of feature:value"
    return _header_sign(lines[0])


def _json_sign(start: str) -> str | None:
    try:
        first, end = json.JSONDecoder().raw_decode(start[start.index("{") :])
    except (ValueError, RecursionError):  # longer than the sample, broken or too deep: for the reader to say
        return None
    if not isinstance(first, dict) or any(key in first for key in (*CHILDREN, *PARENTS)):
        return None
    key = next((key for key in TEXT if isinstance(first.get(key), str)), None)
    several = start[0] == "[" or start[end:].strip()  # a flat object may be a taxonomy that has a node 'text'
    labelled = any(isinstance(first.get(key), list) for key in LABELS)
    return f"JSON objects with the key {key!r}" if key and (several or labelled) else None


def _header_sign(line: str) -> str | None:
    mark = delimiter([line])
    cells: list[Any] = [cell.strip().strip('"').lower() for cell in line.split(mark)] if mark else []
    if header_columns(cells) is not None:
        return None
    text = next((cell for cell in cells if cell in TEXT), None)
    label = next((cell for cell in cells if cell in LABELS), None)
    return f"the columns {text!r} and {label!r}" if text and label else None
