"""Charts of the page as SVG: F1 by level and size, learning curves, accuracy against time, reliability.

Colours and fonts come from the style sheet by class, so that one chart serves light, dark and print; each has a title
and a description for screen readers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from linnaeus.experiments.records import Result, Run
from linnaeus.experiments.report import tables
from linnaeus.pages.text import Markup, count, duration, figure, tag

__all__ = ["Axis", "Frame", "against_time", "by_level", "by_size", "curves", "decades", "reliability", "round_ticks"]


@dataclass(frozen=True)
class Axis:
    """Values from ``low`` to ``high``, ticks with their labels, and the name of the axis."""

    name: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    log: bool = False

    def share(self, value: float) -> float:
        """Relative position of a value: 0 at the low end, 1 at the high end."""
        low, high, value = map(math.log10, (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        return (value - low) / (high - low) if high > low else 0.5


def round_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers around ``low`` to ``high``, 1, 2 or 5 times a power of ten apart.

    Examples
    --------
    >>> round_ticks(0.43, 0.91)
    [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    """
    if high <= low:
        low, high = low - 0.5, high + 0.5
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(place * step, 10) for place in range(first, last + 1)]


def decades(low: float, high: float) -> tuple[float, float, list[float]]:
    """Ends and ticks of a logarithmic axis: 1, 2 and 5 in short ranges, powers of ten in long ones.

    Examples
    --------
    >>> decades(0.3, 40.0)
    (0.2, 50.0, [0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0])
    """
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    factors = (1, 2, 5) if high / low < 1000 else (1,)
    marks = [round(factor * 10.0**power, 12) for power in powers for factor in factors]
    bottom = max(mark for mark in marks if mark < low * 0.98)
    top = min(mark for mark in marks if mark > high * 1.02)
    return bottom, top, [mark for mark in marks if bottom <= mark <= top]


@dataclass(frozen=True)
class Frame:
    """A chart of ``width`` x ``height`` with its two axes; ``right`` leaves room for names next to the curves."""

    width: float
    height: float
    x: Axis
    y: Axis
    left: float = 46.0
    right: float = 16.0
    top: float = 14.0
    bottom: float = 46.0

    def across(self, value: float) -> float:
        """Horizontal position of a value of the x axis."""
        return self.left + self.x.share(value) * (self.width - self.left - self.right)

    def up(self, value: float) -> float:
        """Vertical position of a value of the y axis."""
        return self.height - self.bottom - self.y.share(value) * (self.height - self.top - self.bottom)

    def axes(self) -> list[Markup]:
        """Grid lines, tick labels and the names of both axes."""
        end, floor = self.width - self.right, self.height - self.bottom
        drawn = []
        for value, word in self.y.ticks:
            y = self.up(value)
            drawn.append(tag("line", x1=self.left, x2=end, y1=y, y2=y, class_="grid"))
            drawn.append(tag("text", word, x=self.left - 8, y=y + 4, text_anchor="end", class_="tick"))
        for value, word in self.x.ticks:
            x = self.across(value)
            drawn.append(tag("line", x1=x, x2=x, y1=floor, y2=floor + 4, class_="grid"))
            drawn.append(tag("text", word, x=x, y=floor + 17, text_anchor="middle", class_="tick"))
        middle = (self.left + end) / 2
        drawn.append(tag("text", self.x.name, x=middle, y=self.height - 8, text_anchor="middle", class_="axis"))
        turn = f"translate(12 {(self.top + floor) / 2:.1f}) rotate(-90)"
        drawn.append(tag("text", self.y.name, transform=turn, text_anchor="middle", class_="axis"))
        return drawn

    def picture(self, identifier: str, title: str, description: str, *drawn: object) -> Markup:
        """The whole chart, with a title and description for screen readers."""
        return tag(
            "svg",
            tag("title", title, id=f"{identifier}-title"),
            tag("desc", description, id=f"{identifier}-desc"),
            *drawn,
            viewBox=f"0 0 {self.width:g} {self.height:g}",
            class_="plot",
            role="img",
            aria_labelledby=f"{identifier}-title {identifier}-desc",
        )


@dataclass(frozen=True)
class Curve:
    """The values of a model at each place of the x axis (``None``: no value); ``role`` is best, flat or other."""

    model: str
    role: str
    values: Sequence[float | None]


def measure_axis(name: str, values: Sequence[float | None]) -> Axis:
    """An axis that covers the known values, with round ends."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    ticks = round_ticks(min(known), max(known)) if known else [0.0, 0.5, 1.0]
    step = ticks[1] - ticks[0]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return Axis(name, ticks[0], ticks[-1], [(tick, f"{tick:,.{digits}f}") for tick in ticks])


def readable(places: Sequence[str], room: float) -> Sequence[tuple[float, str]]:
    """Names of places that fit next to each other: all of them, or every second, third and so on.

    Examples
    --------
    >>> readable(["one", "two", "three"], 436.0)
    [(0, 'one'), (1, 'two'), (2, 'three')]
    >>> len(readable(["a long name"] * 20, 436.0))
    5
    """
    named = list(enumerate(places))
    step = 1
    while sum(6.4 * len(name) + 6 for _, name in named[::step]) > room and step < len(places):
        step += 1
    return named[::step]


def draw_lines(
    identifier: str,
    title: str,
    description: str,
    x_name: str,
    y_name: str,
    places: Sequence[str],
    curves: Sequence[Curve],
) -> Markup:
    """Curves over evenly spaced, named places; each has its model as an attribute for the script of the page."""
    values = [value for curve in curves for value in curve.values]
    y = measure_axis(y_name, values)
    x = Axis(x_name, -0.3, max(len(places) - 0.7, 0.3), readable(places, 436.0))
    frame = Frame(520, 300, x, y, left=56, right=28)
    # Later curves are drawn over earlier ones, so the important ones come last.
    ranked = sorted(curves, key=lambda curve: ("other", "flat", "best").index(curve.role))
    return frame.picture(
        identifier, title, description, frame.axes(), [_line(frame, curve, places) for curve in ranked]
    )


def _line(frame: Frame, curve: Curve, places: Sequence[str]) -> Markup:
    points = [
        (frame.across(place), frame.up(value), value, places[place])
        for place, value in enumerate(curve.values)
        if value is not None
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in points)
    dots = [
        tag("circle", tag("title", f"{curve.model}: {figure(value)} ({place})"), cx=x, cy=y, r=3.0)
        for x, y, value, place in points
    ]
    name = []
    if points:
        x, y, _, _ = points[-1]
        name = [tag("text", curve.model, x=x + 4, y=y - 8, text_anchor="end", class_="name")]
    body = [tag("polyline", tag("title", curve.model), points=path), dots, name]
    return tag("g", body, class_=f"series line {curve.role}", data_model=curve.model)


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
    ticks = [(tick / 4, f"{tick / 4:g}") for tick in range(5)]
    x_axis, y_axis = Axis("predicted probability", 0, 1, ticks), Axis("share correct", 0, 1, ticks)
    frame = Frame(250, 258, x_axis, y_axis, left=50, bottom=44)
    bins = [row for row in run.reliability or [] if row.n and row.accuracy is not None]
    most = max((row.n for row in bins), default=1)
    ideal = tag("line", x1=frame.across(0), y1=frame.up(0), x2=frame.across(1), y2=frame.up(1), class_="ideal")
    dots = []
    corners = []
    for row in bins:
        probability = (row.low + row.high) / 2 if row.confidence is None else row.confidence
        correct = row.accuracy or 0.0
        x, y = frame.across(probability), frame.up(correct)
        corners.append(f"{x:.1f},{y:.1f}")
        words = f"probability {figure(probability, 2)}, share correct {figure(correct, 2)}, {count(row.n)} answers"
        dots.append(tag("circle", tag("title", words), cx=x, cy=y, r=1.5 + 3.5 * math.log1p(row.n) / math.log1p(most)))
    line = tag("polyline", points=" ".join(corners))
    series = tag("g", line, dots, class_=f"series {result.role(run.model)} strong", data_model=run.model)
    description = f"{len(bins)} groups of answers of {run.model}; on the diagonal, probabilities are calibrated."
    title = f"Reliability of {run.model}"
    drawn = frame.picture(f"reliability-{place}", title, description, frame.axes(), ideal, series)
    return tag("figure", tag("figcaption", run.model), drawn)
