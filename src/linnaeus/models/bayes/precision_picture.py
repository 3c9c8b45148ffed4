"""The picture of learned precisions: a row for each family, a dot for each child. Needs matplotlib (`linnaeus[plots]`).

To the right: held close to the parent. To the left: going its own way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linnaeus.errors import LinnaeusError

__all__ = ["draw"]

_NAMED = 40  # nodes up to which every dot has its name


def draw(rows: Sequence[Any], target: Any, *, title: str | None = None) -> None:
    """Draw rows (node, parent, precision) to a file (its ending says the format) or to matplotlib axes.

    Examples
    --------
    >>> import io
    >>> from linnaeus.models.bayes.hblr import LearnedPrecision
    >>> file = io.BytesIO()
    >>> draw([LearnedPrecision("A", "R", 2.0, 0), LearnedPrecision("B", "R", 40.0, 0)], file)
    >>> file.getvalue()[1:4]
    b'PNG'
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise LinnaeusError("A picture needs matplotlib: pip install linnaeus[plots]") from None
    families: dict[str, list[Any]] = {}
    for row in rows:
        families.setdefault(row.parent, []).append(row)
    if hasattr(target, "plot"):
        _on(families, target, title)
        return
    figure = Figure(figsize=(8, max(2.0, 0.8 + 0.28 * len(families))), layout="constrained")
    _on(families, figure.add_subplot(), title)
    figure.savefig(target, dpi=150)


def _on(families: dict[str, list[Any]], axes: Any, title: str | None) -> None:
    named = sum(map(len, families.values())) <= _NAMED
    for y, members in enumerate(families.values()):
        leaves = [row.precision for row in members if not row.n_children]
        inner = [row.precision for row in members if row.n_children]
        axes.plot(leaves, [y] * len(leaves), "o", color="C0", alpha=0.7)
        axes.plot(inner, [y] * len(inner), "s", color="C1", alpha=0.7)
        for row in members if named else ():
            axes.annotate(row.node, (row.precision, y), (0, 5), textcoords="offset points", fontsize="x-small")
    axes.set_xscale("log")
    axes.set_yticks(range(len(families)), [name or "(root)" for name in families], fontsize="small")
    axes.set_ylim(len(families) - 0.5, -0.5)
    axes.set_xlabel("precision: far from the parent ... close to it (squares: inner nodes)")
    if title:
        axes.set_title(title)
