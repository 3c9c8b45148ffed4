"""Markup that cannot be broken by what it holds: text is escaped unless it is :class:`Markup` already.

Names of nodes come from users' files and may hold anything, ``<script>`` included. Two functions write all HTML and SVG
of the report, so that there is one place to get escaping right.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any

from linnaeus.errors import visible

__all__ = ["Markup", "embed_json", "join", "tag"]

VOID = {"meta", "input", "br", "col"}


class Markup(str):
    """Text that is markup already and goes into the page as it is."""

    __slots__ = ()


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """An element with its content; ``None`` and ``False`` attributes are left out, ``True`` ones have no value.

    Python's reserved words and dashes: ``class_`` is ``class``, ``aria_label`` is ``aria-label``.

    Examples
    --------
    >>> tag("p", "1 < 2", tag("b", "!"), class_="note")
    '<p class="note">1 &lt; 2<b>!</b></p>'
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    if name in VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(content)}</{name}>")


def join(content: Iterable[object]) -> Markup:
    """Pieces one after the other: markup as it is, text escaped, lists joined, ``None`` left out.

    Examples
    --------
    >>> join(["a & b", None, [tag("br"), 3]])
    'a &amp; b<br>3'
    """
    return Markup("".join(map(_piece, content)))


def _piece(item: object) -> str:
    if item is None:
        return ""
    if isinstance(item, Markup):
        return item
    if isinstance(item, (list, tuple)):
        return join(item)
    return escape(visible(str(item)), quote=False)


def _attribute(key: str, value: object) -> str:
    if value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    written = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    return f' {name}="{escape(visible(written))}"'


def embed_json(value: Any, identifier: str) -> Markup:
    """Data for scripts. ``<`` is written as an escape, so that no text can close the element it stands in.

    Examples
    --------
    >>> embed_json(["</script>"], "data")
    '<script type="application/json" id="data">["\\\\u003c/script>"]</script>'
    """
    text = json.dumps(_shown(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return tag("script", Markup(text), type="application/json", id=identifier)


def _shown(value: Any) -> Any:
    """A value with all its texts as they are shown."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: _shown(item) for key, item in value.items()}
    return [_shown(item) for item in value] if isinstance(value, (list, tuple)) else value
