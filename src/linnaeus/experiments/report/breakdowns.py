"""Where models differ: F1 by level and by training examples, and learning curves, as lines."""

from __future__ import annotations

from collections.abc import Sequence

from linnaeus.experiments.report.lines import Curve, draw_lines
from linnaeus.experiments.report.markup import Markup
from linnaeus.experiments.report.schema import Result
from linnaeus.experiments.report.standing import main_measure, role, shown
from linnaeus.experiments.report.wording import count, examples

__all__ = ["by_level", "by_size", "curves"]


def _curves(result: Result, values: dict[str, dict[int, float | None]], places: Sequence[int]) -> list[Curve]:
    return [
        Curve(model, role(result, model), [found.get(place) for place in places]) for model, found in values.items()
    ]


def by_level(result: Result) -> Markup | None:
    """F1 of the nodes of each level."""
    values = {run["model"]: {row["level"]: row["f1"] for row in run["by_level"]} for run in shown(result)}
    nodes = {row["level"]: row["n_nodes"] for run in shown(result) for row in run["by_level"]}
    if not nodes:
        return None
    levels = sorted(nodes)
    words = [f"{level} ({count(nodes[level])})" for level in levels]
    title = "F1 by level of the taxonomy"
    told = f"One line per model over levels {levels[0]} to {levels[-1]}; the table below holds the same figures."
    return draw_lines("by-level", title, told, "level (nodes)", "F1", words, _curves(result, values, levels))


def by_size(result: Result) -> Markup | None:
    """F1 of nodes with few and with many training examples."""
    values = {run["model"]: {row["low"]: row["f1"] for row in run["by_size"]} for run in shown(result)}
    bins = {row["low"]: row for run in shown(result) for row in run["by_size"]}
    if not bins:
        return None
    lows = sorted(bins)
    words = [examples(low, bins[low]["high"]) for low in lows]
    title = "F1 by training examples of a node"
    told = (
        "One line per model, from nodes with few examples to nodes with many; the table below holds the same figures."
    )
    return draw_lines("by-size", title, told, "training examples of a node", "F1", words, _curves(result, values, lows))


def curves(result: Result) -> Markup | None:
    """The main measure against the number of training documents."""
    runs = [run for run in shown(result) if run["curve"]]
    if not runs:
        return None
    values = {run["model"]: {step["n_documents"]: step["value"] for step in run["curve"] or []} for run in runs}
    sizes = sorted({size for found in values.values() for size in found})
    name = main_measure(result)["name"]
    told = f"{name} of each model after learning from {count(sizes[0])} to {count(sizes[-1])} documents."
    words = [count(size) for size in sizes]
    return draw_lines(
        "curves", "Learning curves", told, "training documents", name, words, _curves(result, values, sizes)
    )
