"""Why a document went where it did, and what a node learned apart from its parent, in pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from linnaeus.errors import DataError, ParameterError
from linnaeus.models.explaining import NodeExplanation
from linnaeus.plots.axes import BLUE, GREY, ORANGE, axes_or_new, shortened
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_explanation", "plot_weights"]


class _WithNodeWeights(Protocol):
    """A joint model: it has weights of every node."""

    taxonomy_: Taxonomy

    def node_weights(self, node: str | int) -> tuple[FloatArray, float]: ...


def plot_explanation(steps: Sequence[NodeExplanation], *, k: int = 6, ax: Axes | None = None) -> Axes:
    """Draw the features that count for and against each node of a path.

    Parameters
    ----------
    steps : sequence of NodeExplanation
        What ``explain`` of a model or a pipeline returned.
    k : int, default=6
        Number of features of each node; the others are drawn as one bar.
    ax : Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    Axes
        Axes with a block of bars for each node, in the order of the path.

    Examples
    --------
    >>> from linnaeus import OneVsRestSVM, Pipeline
    >>> from linnaeus.features import TextFeatures
    >>> pipe = Pipeline(OneVsRestSVM(random_state=0), TextFeatures()).fit(["cats purr", "dogs bark"], ["cat", "dog"])
    >>> axes = plot_explanation(pipe.explain("cats purr"))
    >>> axes.get_xlabel()
    'contribution to the score'
    """
    if not steps:
        raise DataError("There is nothing to draw: the explanation has no nodes.")
    bars: list[tuple[str, float] | None] = []
    heads: list[tuple[int, str]] = []
    for step in steps:
        if bars:
            bars.append(None)
        heads.append((len(bars), f"{step.node}: {step.score:+.3f}"))
        bars.append(None)
        bars += [(str(f), float(c)) for f, c in zip(step.features[:k], step.contributions[:k], strict=True)]
        rest = float(np.sum(step.contributions[k:]))
        if len(step.features) > k:
            bars.append((f"{len(step.features) - k} others", rest))
        bars.append(("constant", float(step.intercept)))
    ax = axes_or_new(ax, 6.0, 0.6 + 0.26 * len(bars))
    rows = [i for i, bar in enumerate(bars) if bar is not None]
    values = [bar[1] for bar in bars if bar is not None]
    ax.barh(rows, values, color=[BLUE if value >= 0 else ORANGE for value in values], height=0.75)
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.set_yticks(rows, [shortened(bar[0], 28) for bar in bars if bar is not None])
    for row, head in heads:
        ax.annotate(head, (0, row), xycoords=("axes fraction", "data"), fontweight="bold", va="center", fontsize=10)
    ax.set_ylim(len(bars) - 0.3, -0.8)
    ax.set_xlabel("contribution to the score")
    return ax


def plot_weights(
    model: _WithNodeWeights,
    node: str,
    feature_names: Sequence[Any] | None = None,
    *,
    k: int = 12,
    ax: Axes | None = None,
) -> Axes:
    """Draw the weights of a node of a joint model against those of its parents.

    Features on the diagonal weigh as much as they do above the node; those that the node learned apart from its parents
    are far from it, and the ``k`` farthest are named.

    Parameters
    ----------
    model : RRSVM or RRLogistic
        A fitted joint model; of a pipeline, its ``estimator``.
    node : str
        A node with a parent below the root.
    feature_names : sequence of str, default=None
        Names of the features, for example ``features.get_feature_names_out()``; None numbers them.
    k : int, default=12
        Number of features that are named.
    ax : Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    Axes
        Axes with a dot for each feature, and the names of the farthest.

    Examples
    --------
    >>> from linnaeus import RRSVM
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> model = RRSVM(taxonomy=tax, random_state=0).fit(np.eye(3), ["AA", "AB", "B"])
    >>> plot_weights(model, "AA", ["x", "y", "z"]).get_xlabel()
    'weight at A'
    """
    if not hasattr(model, "node_weights"):
        name = type(model).__name__
        raise ParameterError(f"{name} has no weights of inner nodes; expected a fitted RRSVM or RRLogistic.")
    tax = model.taxonomy_
    parents = [int(parent) for parent in tax.parents(node) if parent != tax.root]
    if not parents:
        raise DataError(f"Node {node!r} is at the top of the taxonomy; expected a node with a parent below the root.")
    own, _ = model.node_weights(node)
    above = np.mean([model.node_weights(parent)[0] for parent in parents], axis=0)
    if feature_names is not None and len(feature_names) != len(own):
        raise DataError(f"Got {len(feature_names):,} feature names, expected {len(own):,}.")
    names = np.arange(len(own)) if feature_names is None else np.asarray(feature_names, dtype=object)
    ax = axes_or_new(ax, 5.5, 5.0)
    ends = [float(min(own.min(), above.min())), float(max(own.max(), above.max()))]
    ax.plot(ends, ends, color=GREY, linewidth=0.8, linestyle="--")
    ax.scatter(above, own, s=8, color=BLUE, alpha=0.5, linewidths=0)
    for j in np.argsort(-abs(own - above), kind="stable")[:k]:
        ax.annotate(
            shortened(str(names[j]), 20), (above[j], own[j]), xytext=(4, 2), textcoords="offset points", fontsize=8
        )
    ax.set_xlabel(f"weight at {' and '.join(shortened(tax.display(p)) for p in parents)}")
    ax.set_ylabel(f"weight at {shortened(tax.display(tax.index(node)))}")
    return ax
