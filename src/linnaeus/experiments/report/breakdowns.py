"""Where models differ: F1 by level and by training examples, and learning curves, as lines."""

from __future__ import annotations

from linnaeus.experiments.report import breakdown_values
from linnaeus.experiments.report.breakdown_values import Breakdown
from linnaeus.experiments.report.lines import Curve, draw_lines
from linnaeus.experiments.report.markup import Markup
from linnaeus.experiments.report.schema import Result
from linnaeus.experiments.report.standing import main_measure, role, shown
from linnaeus.experiments.report.wording import count

__all__ = ["by_level", "by_size", "curves"]


def _drawn(
    result: Result, found: Breakdown, identifier: str, title: str, x_name: str, places: list[str]
) -> Markup | None:
    if not found.places:
        return None
    models = [run["model"] for run in shown(result)]
    told = f"One line per model, from {found.places[0]} to {found.places[-1]}; the table below holds the same figures."
    lines = [Curve(model, role(result, model), found.values[model]) for model in models]
    return draw_lines(identifier, title, told, x_name, "F1", places, lines)


def by_level(result: Result) -> Markup | None:
    """F1 of the nodes of each level."""
    found = breakdown_values.by_level(result)
    pairs = zip(found.places, found.n_nodes, strict=True)
    places = [f"{place.removeprefix('level ')} ({count(n)})" for place, n in pairs]
    return _drawn(result, found, "by-level", "F1 by level of the taxonomy", "level (nodes)", places)


def by_size(result: Result) -> Markup | None:
    """F1 of nodes with few and with many training examples."""
    found, name = breakdown_values.by_size(result), "training examples of a node"
    return _drawn(result, found, "by-size", f"F1 by {name}", name, found.places)


def curves(result: Result) -> Markup | None:
    """The main measure against the number of training documents."""
    runs = [run for run in shown(result) if run["curve"]]
    if not runs:
        return None
    values = {run["model"]: {step["n_documents"]: step["value"] for step in run["curve"] or []} for run in runs}
    sizes = sorted({size for found in values.values() for size in found})
    name = main_measure(result)["name"]
    told = f"{name} of each model after learning from {count(sizes[0])} to {count(sizes[-1])} documents."
    lines = [Curve(model, role(result, model), [found.get(size) for size in sizes]) for model, found in values.items()]
    return draw_lines("curves", "Learning curves", told, "training documents", name, [count(s) for s in sizes], lines)
