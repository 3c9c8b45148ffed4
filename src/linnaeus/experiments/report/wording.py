"""Numbers as people read them, the same on the page and in Markdown."""

from __future__ import annotations

import math
from datetime import datetime

from linnaeus.experiments.report.schema import Tree

__all__ = [
    "count",
    "duration",
    "examples",
    "figure",
    "megabytes",
    "moment",
    "node_label",
    "node_path",
    "p_value",
    "signed",
    "stars",
]

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
    """A difference, with its sign and a true minus.

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
    """A whole number with its thousands apart."""
    return NONE if value is None else f"{value:,.0f}"


def duration(seconds: float | None) -> str:
    """Seconds in the unit that suits them.

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
    """A date and time as people write it.

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
    """A p value as it is quoted.

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


def node_label(tree: Tree, node: int) -> str:
    """What a node is called: its display label, else its name."""
    return tree["labels"][node] or tree["names"][node]


def node_path(tree: Tree, node: int) -> str:
    """The way from the top to a node, along first parents.

    Examples
    --------
    >>> node_path({"names": ["A", "AA"], "labels": ["Animals", None], "parent": [-1, 0], "level": [1, 2]}, 1)
    'Animals › AA'
    """
    way: list[str] = []
    while node >= 0 and len(way) <= len(tree["names"]):
        way.append(node_label(tree, node))
        node = tree["parent"][node]
    return " › ".join(reversed(way))
