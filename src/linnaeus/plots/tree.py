"""A taxonomy with data on its nodes: the area of a dot is a number of documents, its colour a value such as F1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from linnaeus.errors import DataError, ParameterError
from linnaeus.plots.axes import BLUE, GREY, axes_or_new, shortened
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_taxonomy"]

_BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}  # labels over lines stay readable


def plot_taxonomy(
    taxonomy: Taxonomy,
    labels: Iterable[object] | None = None,
    *,
    values: Mapping[str, float] | None = None,
    under: str | None = None,
    max_nodes: int = 60,
    value_name: str = "value",
    ax: Axes | None = None,
) -> Axes:
    """Draw a taxonomy from left to right, with the number of documents of each node.

    A node with several parents stands below the first one; grey lines lead to the others. Where there are more than
    ``max_nodes`` nodes, the deepest levels are left out, and a node says how many nodes below it are not shown.

    Parameters
    ----------
    taxonomy : Taxonomy
        The taxonomy.
    labels : labels, default=None
        Labels of documents, in any kind that models take: a node counts the documents at it or below it.
    values : dict of str to float, default=None
        Values of nodes by name, shown as colours.
    under : str, default=None
        Draw this node and what is below it only.
    max_nodes : int, default=60
        Maximum number of nodes drawn.
    value_name : str, default="value"
        Name of ``values`` beside the colour bar.
    ax : Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    Axes
        Axes without a frame, one level of the taxonomy in each column.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> axes = plot_taxonomy(tax, [["AA"], ["AB"], ["B"]])
    >>> sorted(text.get_text() for text in axes.texts)
    ['A (2)', 'AA (1)', 'AB (1)', 'B (1)', 'Root (3)']
    """
    if max_nodes < 2:
        raise ParameterError(f"max_nodes={max_nodes}; expected at least 2.")
    unknown = sorted(set(values or ()) - set(taxonomy.names))
    if unknown:
        raise DataError(f"values of {unknown[0]!r}: not a node of the taxonomy{taxonomy.hint(unknown[0])}.")
    shown = _shown(taxonomy, under, max_nodes)
    place, depth = _places(taxonomy, shown)
    counts = None
    if labels is not None:
        Y = taxonomy.close(taxonomy.indicator(labels))
        counts = np.asarray(Y.sum(axis=0)).ravel()
        if taxonomy.root is not None:  # label sets leave it out
            counts[taxonomy.root] = Y.shape[0]
    n_rows = len(set(place.values()))
    ax = axes_or_new(ax, 2.4 * (max(depth.values()) + 1) + 1, max(2.0, 0.28 * n_rows + 0.6))
    for node in shown:
        for parent in taxonomy.parents(node).tolist():
            if parent in place:
                first = parent == _first_parent(taxonomy, node, place)
                ends = [depth[parent], depth[node]], [place[parent], place[node]]
                ax.plot(*ends, color=GREY, linewidth=1.0 if first else 0.7, linestyle="-" if first else ":", zorder=1)
    _draw_dots(ax, taxonomy, shown, place, depth, counts, values, value_name)
    hidden = _hidden(taxonomy, shown)
    for node in shown:
        label = shortened(taxonomy.display(node))
        if counts is not None:
            label += f" ({int(counts[node]):,})"
        if hidden[node]:
            label += f" +{hidden[node]:,}"
        ax.annotate(
            label,
            (depth[node], place[node]),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            zorder=3,
            bbox=_BEHIND,
        )
    ax.set_xlim(-0.1, max(depth.values()) + 0.9)
    ax.set_ylim(max(place.values()) + 0.7, -0.7)
    ax.set_axis_off()
    return ax


def _shown(taxonomy: Taxonomy, under: str | None, max_nodes: int) -> list[int]:
    """Nodes by level, whole levels as long as there is room for them, then the first nodes of the next one."""
    if under is not None:
        start = [taxonomy.index(under)]
    else:
        start = taxonomy.tops.tolist() if taxonomy.root is None else [taxonomy.root]
    shown: list[int] = []
    level = start
    seen = set(start)
    while level and len(shown) < max_nodes:
        shown += level[: max_nodes - len(shown)]
        below = [child for node in level for child in taxonomy.children(node).tolist()]
        level = [node for node in dict.fromkeys(below) if node not in seen]
        seen.update(level)
        if len(shown) + len(level) > max_nodes and len(shown) > 1:
            break
    return shown


def _first_parent(taxonomy: Taxonomy, node: int, shown: Mapping[int, float]) -> int | None:
    return next((parent for parent in taxonomy.parents(node).tolist() if parent in shown), None)


def _places(taxonomy: Taxonomy, shown: list[int]) -> tuple[dict[int, float], dict[int, int]]:
    """Row and column (depth) of each node: leaves one below the other, an inner node in the middle of its children."""
    inside = dict.fromkeys(shown, 0.0)
    below: dict[int, list[int]] = {node: [] for node in shown}
    tops: list[int] = []
    for node in shown:
        parent = _first_parent(taxonomy, node, inside)
        (tops if parent is None else below[parent]).append(node)
    place: dict[int, float] = {}
    depth: dict[int, int] = {}
    least = min(int(taxonomy.depth[node]) for node in shown)
    stack = [(node, False) for node in reversed(tops)]
    row = 0
    while stack:
        node, done = stack.pop()
        depth[node] = int(taxonomy.depth[node]) - least
        if done:
            place[node] = float(np.mean([place[child] for child in below[node]]))
        elif below[node]:
            stack.append((node, True))
            stack += [(child, False) for child in reversed(below[node])]
        else:
            place[node] = float(row)
            row += 1
    return place, depth


def _hidden(taxonomy: Taxonomy, shown: list[int]) -> Counter[int]:
    """How many nodes below a node without shown children are not shown."""
    inside = set(shown)
    found: Counter[int] = Counter()
    for node in shown:
        below: IntArray = taxonomy.descendants(node, include_self=False)
        if not inside.intersection(taxonomy.children(node).tolist()):
            found[node] = len(below)
    return found


def _draw_dots(
    ax: Axes,
    taxonomy: Taxonomy,
    shown: list[int],
    place: Mapping[int, float],
    depth: Mapping[int, int],
    counts: IntArray | None,
    values: Mapping[str, float] | None,
    value_name: str,
) -> None:
    at = [depth[node] for node in shown], [place[node] for node in shown]
    area = 36.0 if counts is None else 12 + 120 * counts[shown] / max(counts[shown].max(), 1)
    if values is None:
        ax.scatter(*at, s=area, color=BLUE, zorder=2)
        return
    given = np.array([values.get(str(taxonomy.names[node]), np.nan) for node in shown])
    known = np.isfinite(given)
    areas = np.broadcast_to(area, len(shown))
    x, y = np.array(at[0]), np.array(at[1])
    ax.scatter(x[~known], y[~known], s=areas[~known], facecolors="none", edgecolors=GREY, zorder=2)
    dots = ax.scatter(x[known], y[known], s=areas[known], c=given[known], cmap="viridis", zorder=2)
    ax.figure.colorbar(dots, ax=ax, label=value_name, shrink=0.6)
