"""Charts of the page: F1 by level and size, learning curves, accuracy against time, reliability, confused siblings."""

from __future__ import annotations

import numpy as np

from linnaeus.experiments.records import Result, Run
from linnaeus.experiments.report import tables
from linnaeus.metrics import SiblingConfusion
from linnaeus.metrics.calibration import ReliabilityRow
from linnaeus.pages.text import Markup, count, duration, figure, tag
from linnaeus.plots.svg import Axis, Curve, Frame, decades, draw_confusion, draw_lines, draw_reliability, measure_axis

__all__ = ["against_time", "by_level", "by_size", "confusion", "curves", "reliability"]


def _breakdown(
    result: Result, breakdown: tables.Breakdown, identifier: str, title: str, x_name: str, places: list[str]
) -> Markup | None:
    if not breakdown.places:
        return None
    models = [run.model for run in result.shown()]
    span = f"{breakdown.places[0]} to {breakdown.places[-1]}"
    description = f"One line per model, from {span}; the table below has the same figures."
    lines = [Curve(model, result.role(model), breakdown.values[model]) for model in models]
    return draw_lines(identifier, title, description, x_name, "F1", places, lines)


def by_level(result: Result) -> Markup | None:
    """F1 of the nodes of each level."""
    breakdown = tables.by_level(result)
    pairs = zip(breakdown.places, breakdown.n_nodes, strict=True)
    places = [f"{place.removeprefix('level ')} ({count(n)})" for place, n in pairs]
    return _breakdown(result, breakdown, "by-level", "F1 by level of the taxonomy", "level (nodes)", places)


def by_size(result: Result) -> Markup | None:
    """F1 of nodes with few and with many training examples."""
    breakdown, name = tables.by_size(result), "training documents of a node"
    return _breakdown(result, breakdown, "by-size", f"F1 by {name}", name, breakdown.places)


def curves(result: Result) -> Markup | None:
    """The main measure against the number of training documents."""
    runs = [run for run in result.shown() if run.curve]
    if not runs:
        return None
    values = {run.model: {step.n_documents: step.value for step in run.curve or []} for run in runs}
    sizes = sorted({size for found in values.values() for size in found})
    name = result.main.name
    description = f"{name} of each model trained on {count(sizes[0])} to {count(sizes[-1])} documents."
    lines = [Curve(model, result.role(model), [found.get(size) for size in sizes]) for model, found in values.items()]
    places = [count(size) for size in sizes]
    return draw_lines("curves", "Learning curves", description, "training documents", name, places, lines)


Box = tuple[float, float, float, float]


def against_time(result: Result) -> Markup | None:
    """The main measure against the total time of a model, on a logarithmic axis."""
    runs = [run for run in result.shown() if run.total_seconds > 0]
    if not runs:
        return None
    main = result.main
    times = [run.total_seconds for run in runs]
    low, high, ticks = decades(min(times), max(times))
    x = Axis("time for search, training and prediction", low, high, [(t, f"{t:g} s") for t in ticks], log=True)
    bounds = [end for run in runs for end in run.interval(main.key) or ()]
    y = measure_axis(main.name, [*(run.measures[main.key] for run in runs), *bounds])
    frame = Frame(1060, 420, x, y, left=58, right=30)
    taken: list[Box] = []
    points = [(run, frame.across(run.total_seconds), frame.up(run.measures[main.key] or 0.0)) for run in runs]
    taken.extend((px - 6, py - 6, px + 6, py + 6) for _, px, py in points)
    # The best models come first, so that their names are placed first.
    drawn = [_point(frame, result, run, px, py, taken) for run, px, py in points]
    description = f"One point per model; points to the right took longer, points above are better. Best: {result.best}."
    return frame.picture("against-time", f"{main.name} against time", description, frame.axes(), drawn[::-1])


def _point(frame: Frame, result: Result, run: Run, x: float, y: float, taken: list[Box]) -> Markup:
    main = result.main
    ends = run.interval(main.key)
    words = f"{run.model}: {figure(run.measures[main.key])} in {duration(run.total_seconds)}"
    whisker = None
    if ends:
        whisker = tag("line", x1=x, x2=x, y1=frame.up(ends[0]), y2=frame.up(ends[1]), class_="whisker")
    name = _name(frame, run.model, x, y, taken)
    body = [whisker, tag("circle", tag("title", words), cx=x, cy=y, r=5.5), name]
    return tag("g", body, class_=f"series point {result.role(run.model)}", data_model=run.model)


def _name(frame: Frame, model: str, x: float, y: float, taken: list[Box]) -> Markup:
    """The name at a free position; if there is none, it is shown only while the model is in focus."""
    wide = 7.0 * len(model)
    places = [
        (9, 4, "start"),
        (-9, 4, "end"),
        (0, -11, "middle"),
        (0, 20, "middle"),
        (9, -9, "start"),
        (9, 17, "start"),
    ]
    for dx, dy, anchor in places:
        start = x + dx - {"start": 0, "end": wide, "middle": wide / 2}[anchor]
        box = (start, y + dy - 11, start + wide, y + dy + 3)
        inside = box[0] > frame.left and box[2] < frame.width and box[1] > 0
        if inside and not any(_overlap(box, other) for other in taken):
            taken.append(box)
            return tag("text", model, x=x + dx, y=y + dy, text_anchor=anchor, class_="name placed")
    side = "end" if x > frame.width / 2 else "start"
    return tag("text", model, x=x + (-9 if side == "end" else 9), y=y + 4, text_anchor=side, class_="name")


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


PANELS = 8


def reliability(result: Result) -> list[Markup]:
    """Predicted probability against the share of correct answers, one chart per model with probabilities."""
    runs = [run for run in result.ranked() if run.reliability]
    return [_reliability(result, run, place) for place, run in enumerate(runs[:PANELS])]


def _reliability(result: Result, run: Run, place: int) -> Markup:
    rows: list[ReliabilityRow] = [
        {
            "n": row.n,
            "probability": (row.low + row.high) / 2 if row.confidence is None else row.confidence,
            "frequency": row.accuracy,
        }
        for row in run.reliability or []
        if row.accuracy is not None
    ]
    title = f"Reliability of {run.model}"
    drawn = draw_reliability(f"reliability-{place}", title, rows, role=result.role(run.model), model=run.model)
    return tag("figure", tag("figcaption", run.model), drawn)


def confusion(result: Result) -> list[Markup]:
    """The siblings that are most often taken for each other, of the best model and of the best flat one."""
    names = dict.fromkeys(name for name in (result.best, result.flat) if name)
    runs = [run for run in result.ranked() if run.model in names and run.siblings is not None]
    return [_confusion(run, place) for place, run in enumerate(runs)]


def _confusion(run: Run, place: int) -> Markup:
    assert run.siblings is not None
    found = run.siblings
    counts = (np.asarray(values, dtype=np.int64) for values in (found.table, found.unanswered, found.documents))
    drawn = draw_confusion(
        f"confusion-{place}",
        f"Siblings that {run.model} confuses",
        SiblingConfusion(found.names, found.parent, *counts),
    )
    return tag("figure", tag("figcaption", f"{run.model}: children of {found.parent}"), drawn)
