"""Text of HTML pages: formatted numbers, and elements whose content cannot break the page.

Names of nodes come from users' files and may contain anything, such as ``<script>``. `tag` and `join` write all HTML
and SVG of the pages and escape everything that is not already :class:`Markup`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import datetime
from html import escape

from linnaeus.errors import visible

__all__ = [
    "Markup",
    "count",
    "duration",
    "embed_json",
    "examples",
    "figure",
    "join",
    "megabytes",
    "moment",
    "p_value",
    "signed",
    "stars",
    "tag",
]

VOID = {"meta", "input", "br", "col"}
NONE = "–"


def figure(value: float | None, digits: int = 3) -> str:
    """A measure; a dash where there is none.

    Examples
    --------
    >>> figure(0.81249), figure(None), figure(1234.5)
    ('0.812', '–', '1,234.500')
    """
    return NONE if value is None or not math.isfinite(value) else f"{value:,.{digits}f}"


def signed(value: float | None, digits: int = 3) -> str:
    """A difference with its sign, as a typographic minus.

    Examples
    --------
    >>> signed(0.0213), signed(-0.0213), signed(0.0)
    ('+0.021', '−0.021', '0.000')
    """
    if value is None or not math.isfinite(value):
        return NONE
    written = figure(abs(value), digits)
    if float(written.replace(",", "")) == 0:
        return written
    return ("+" if value > 0 else "−") + written


def count(value: float | None) -> str:
    """A whole number with thousands separators."""
    return NONE if value is None else f"{value:,.0f}"


def duration(seconds: float | None) -> str:
    """Seconds in a suitable unit.

    Examples
    --------
    >>> [duration(s) for s in (None, 0.0042, 0.5, 12.34, 83, 5000)]
    ['–', '4 ms', '0.50 s', '12.3 s', '1 min 23 s', '1 h 23 min']
    """
    if seconds is None or not math.isfinite(seconds):
        return NONE
    if seconds < 0.1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def megabytes(value: float | None) -> str:
    """A size in MB or GB.

    Examples
    --------
    >>> megabytes(3.21), megabytes(153.0), megabytes(2048.0)
    ('3.2 MB', '153 MB', '2.0 GB')
    """
    if value is None:
        return NONE
    if value >= 1024:
        return f"{value / 1024:.1f} GB"
    return f"{value:.1f} MB" if value < 100 else f"{value:.0f} MB"


def moment(iso: str) -> str:
    """A date and time in readable form.

    Examples
    --------
    >>> moment("2026-11-15T18:00:21+00:00"), moment("yesterday")
    ('2026-11-15 18:00 UTC', 'yesterday')
    """
    try:
        when = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    return f"{when:%Y-%m-%d %H:%M} {when.tzname() or ''}".strip()


def p_value(p: float | None) -> str:
    """A p-value as it is reported.

    Examples
    --------
    >>> p_value(0.0002), p_value(0.034), p_value(None)
    ('p < 0.001', 'p = 0.034', '–')
    """
    if p is None:
        return NONE
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def stars(p: float | None) -> str:
    """Marks of significance: ``***`` below 0.001, ``**`` below 0.01, ``*`` below 0.05."""
    if p is None:
        return ""
    return "*" * sum(p < bound for bound in (0.05, 0.01, 0.001))


def examples(low: int, high: int | None) -> str:
    """A range of training examples.

    Examples
    --------
    >>> examples(0, 0), examples(1, 10), examples(1001, None)
    ('0', '1–10', '1,001+')
    """
    if high is None:
        return f"{low:,}+"
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


# -- elements ----------------------------------------------------------------------------------------------------------


class Markup(str):
    """Text that is already markup and is not escaped."""

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
    """Concatenate pieces: markup as it is, text escaped, lists joined, ``None`` left out.

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


def embed_json(value: object, identifier: str) -> Markup:
    """Data for scripts; ``<`` is escaped, so that no text can close the element that contains it.

    Examples
    --------
    >>> embed_json(["</script>"], "data")
    '<script type="application/json" id="data">["\\\\u003c/script>"]</script>'
    """
    text = json.dumps(_shown(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return tag("script", Markup(text), type="application/json", id=identifier)


def _shown(value: object) -> object:
    """A value with control characters made visible in all its texts."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: _shown(item) for key, item in value.items()}
    return [_shown(item) for item in value] if isinstance(value, (list, tuple)) else value
