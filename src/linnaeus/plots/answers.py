"""How good answers are: confusion between siblings, reliability of probabilities, coverage against risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from linnaeus.metrics import reliability, sibling_confusion
from linnaeus.plots.axes import BLUE, GREY, ORANGE, axes_or_new, shortened
from linnaeus.taxonomy import Taxonomy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_confusion", "plot_coverage_risk", "plot_reliability"]


def plot_confusion(
    gold: object,
    predicted: object,
    taxonomy: Taxonomy,
    node: str | None = None,
    *,
    max_children: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw which children of a node are taken for which of their siblings.

    A row is a child in the gold labels, a column a child in the answers; what is below a child counts as the child. A
    document with several children counts once for each pair of a child that was missed and one that was added, and on
    the diagonal for each child that is right. The last column counts documents without an answer below the node.

    Parameters
    ----------
    gold, predicted, taxonomy, node : labels, Taxonomy, str
        As for `linnaeus.metrics.sibling_confusion`.
    max_children : int, default=20
        Maximum number of children drawn: those with most documents.
    ax : Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    Axes
        Axes with a table of counts, gold labels as rows.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> axes = plot_confusion([["AA"], ["AB"], ["B"]], [["AA"], ["B"], ["B"]], tax)
    >>> [text.get_text() for text in axes.texts]
    ['1', '1', '1']
    """
    found = sibling_confusion(gold, predicted, taxonomy, node, max_children=max_children)
    table = np.column_stack([found.table, found.unanswered]) if found.unanswered.any() else found.table
    n = len(found.names)
    ax = axes_or_new(ax, 2.2 + 0.42 * table.shape[1], 1.6 + 0.42 * n)
    share = table / np.maximum(found.documents, 1)[:, None]
    ax.imshow(share, cmap="Blues", vmin=0, vmax=1)
    for i, j in np.argwhere(table):
        colour = "white" if share[i, j] > 0.5 else "black"
        ax.text(j, i, f"{table[i, j]:,}", ha="center", va="center", color=colour, fontsize=8)
    names = [shortened(name, 24) for name in found.names]
    ax.set_xticks(range(table.shape[1]), [*names, "nothing"][: table.shape[1]], rotation=45, ha="right")
    ax.set_yticks(range(n), names)
    ax.set_xlabel("answer")
    ax.set_ylabel("gold label")
    return ax


def plot_reliability(
    gold: object,
    probabilities: object,
    taxonomy: Taxonomy | None = None,
    *,
    n_bins: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often labels are right against the probability that they were given.

    Parameters
    ----------
    gold : labels
        Labels of the documents.
    probabilities : array-like of shape (n_documents, n_nodes)
        Probabilities of all nodes of the taxonomy, as `node_probabilities` of models returns them.
    taxonomy : Taxonomy, default=None
        The taxonomy of the nodes.
    n_bins : int, default=10
        Number of bins of equal width.
    ax : Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    Axes
        Axes with a point for each bin that holds labels, its 95 % interval, and the diagonal.

    Examples
    --------
    >>> axes = plot_reliability(["A", "B"], [[0.9, 0.1], [0.2, 0.8]], Taxonomy.flat(["A", "B"]))
    >>> axes.get_xlabel()
    'probability'
    """
    rows = reliability(gold, probabilities, taxonomy, n_bins=n_bins)
    ax = axes_or_new(ax, 4.5, 4.5)
    x, y, n = (np.array([row[key] for row in rows], dtype=float) for key in ("probability", "frequency", "n"))
    half = 1.96 * np.sqrt(y * (1 - y) / np.maximum(n, 1))
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle="--", label="calibrated")
    ax.errorbar(x, y, yerr=half, fmt="o-", color=BLUE, capsize=2, label="measured, 95 % interval")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="probability", ylabel="share of right labels", aspect="equal")
    ax.legend(loc="upper left")
    return ax


def plot_coverage_risk(
    curve: Sequence[Mapping[str, float]],
    *,
    risk: float | None = None,
    reached: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of wrong answers against the share of documents that are answered.

    Parameters
    ----------
    curve : list of dict
        Points with the keys "coverage", "risk", "low" and "high", as `linnaeus.metrics.coverage_risk_curve` makes them.
    risk : float, default=None
        A promised risk, drawn as a line.
    reached : tuple of float, default=None
        Coverage and risk that were reached with the promise, drawn as a point.
    ax : Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    Axes
        Axes with the curve, its interval, and the promise where one is given.

    Examples
    --------
    >>> axes = plot_coverage_risk([{"coverage": 0.5, "risk": 0.1, "low": 0.0, "high": 0.2}], risk=0.05)
    >>> axes.get_ylabel()
    'risk: share of answers wrong'
    """
    ax = axes_or_new(ax, 6.0, 4.0)
    coverage, wrong, low, high = ([row[key] for row in curve] for key in ("coverage", "risk", "low", "high"))
    ax.fill_between(coverage, low, high, color=BLUE, alpha=0.25, label="90 % interval")
    ax.plot(coverage, wrong, color=BLUE, label="best label")
    if risk is not None:
        ax.axhline(risk, linestyle="--", color="black", linewidth=0.8, label=f"promised {risk:.3g}")
    if reached is not None:
        ax.plot(*reached, "o", color=ORANGE, label="with the promise")
    ax.set_xlabel("coverage: share of documents answered")
    ax.set_ylabel("risk: share of answers wrong")
    ax.set_xlim(0, 1)
    ax.set_ylim(bottom=0)
    ax.legend()
    return ax
