"""Charts as SVG for pages: axes, lines, reliability, confusion between siblings.

Reports and the review desk draw with these, without matplotlib, what `linnaeus.plots` draws with it; the data of both
come from the same functions of `linnaeus.metrics`. Colours and fonts come from the style sheet of the page by class, so
that one chart serves light, dark and print; each has a title and a description for screen readers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linnaeus.metrics import SiblingConfusion
from linnaeus.metrics.calibration import ReliabilityRow
from linnaeus.pages.text import Markup, count, figure, tag
from linnaeus.plots.axes import shortened

__all__ = [
    "Axis",
    "Curve",
    "Frame",
    "decades",
    "draw_confusion",
    "draw_lines",
    "draw_reliability",
    "measure_axis",
    "round_ticks",
]


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

    def picture(self, identifier: str, title: str, description: str, *drawn: object, scaled: bool = True) -> Markup:
        """The whole chart, with a title and description for screen readers; as wide as its place if it is scaled."""
        return tag(
            "svg",
            tag("title", title, id=f"{identifier}-title"),
            tag("desc", description, id=f"{identifier}-desc"),
            *drawn,
            viewBox=f"0 0 {self.width:g} {self.height:g}",
            width=None if scaled else f"{self.width:g}",
            class_="plot" if scaled else "matrix",
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


def draw_reliability(
    identifier: str, title: str, rows: Iterable[ReliabilityRow], *, role: str = "best", model: str | None = None
) -> Markup:
    """Probability against the share of right labels, from rows of `linnaeus.metrics.reliability`."""
    ticks = [(tick / 4, f"{tick / 4:g}") for tick in range(5)]
    frame = Frame(
        250, 258, Axis("probability", 0, 1, ticks), Axis("share of right labels", 0, 1, ticks), left=50, bottom=44
    )
    bins = [row for row in rows if row["n"]]
    most = max((row["n"] for row in bins), default=1)
    ideal = tag("line", x1=frame.across(0), y1=frame.up(0), x2=frame.across(1), y2=frame.up(1), class_="ideal")
    dots, corners = [], []
    for row in bins:
        x, y = frame.across(row["probability"]), frame.up(row["frequency"])
        corners.append(f"{x:.1f},{y:.1f}")
        words = f"probability {figure(row['probability'], 2)}, share right {figure(row['frequency'], 2)}, "
        size = 1.5 + 3.5 * math.log1p(row["n"]) / math.log1p(most)
        dots.append(tag("circle", tag("title", f"{words}{count(row['n'])} labels"), cx=x, cy=y, r=size))
    line = tag("polyline", points=" ".join(corners))
    series = tag("g", line, dots, class_=f"series {role} strong", data_model=model)
    description = f"{len(bins)} groups of labels; on the diagonal, probabilities are calibrated."
    return frame.picture(identifier, title, description, frame.axes(), ideal, series)


_CELL, _LETTER = 30.0, 6.4  # of a matrix, and the mean width of a letter


def draw_confusion(identifier: str, title: str, found: SiblingConfusion) -> Markup:
    """A matrix of siblings: rows are gold labels, columns answers, shades shares of the row."""
    names = [shortened(name, 24) for name in found.names]
    columns = [*names, *(["nothing"] if found.unanswered.any() else [])]
    left = 24 + _LETTER * max(map(len, names))
    top = 26 + 0.75 * _LETTER * max(map(len, columns))
    slant = max(0.75 * _LETTER * len(name) - j * _CELL for j, name in enumerate(reversed(columns)))
    frame = Frame(left + _CELL * len(columns) + slant + 8, top + _CELL * len(names) + 8, _NO_AXIS, _NO_AXIS)
    drawn: list[object] = [tag("text", "gold label", x=left - 6, y=top - 8, text_anchor="end", class_="axis")]
    drawn.append(tag("text", "answer", x=left, y=12, class_="axis"))
    for j, name in enumerate(columns):
        place = f"translate({left + (j + 0.6) * _CELL:.1f} {top - 6:.1f}) rotate(-45)"
        drawn.append(tag("text", name, transform=place, class_="tick"))
    for i, name in enumerate(names):
        y = top + i * _CELL
        drawn.append(tag("text", name, x=left - 6, y=y + 19, text_anchor="end", class_="tick"))
        cells = [*found.table[i].tolist(), int(found.unanswered[i])][: len(columns)]
        for j, n in enumerate(cells):
            drawn.append(_cell(left + j * _CELL, y, n, int(found.documents[i]), f"{name} answered as {columns[j]}"))
    description = f"{len(names)} siblings below {found.parent}; each cell counts documents."
    return frame.picture(identifier, title, description, drawn, scaled=False)


def _cell(x: float, y: float, n: int, total: int, words: str) -> Markup:
    share = n / max(total, 1)
    box = tag("rect", x=x, y=y, width=_CELL - 1, height=_CELL - 1, fill_opacity=round(share, 3), class_="cell")
    ground = tag("rect", x=x, y=y, width=_CELL - 1, height=_CELL - 1, class_="ground")
    text = tag(
        "text", count(n), x=x + _CELL / 2, y=y + 19, text_anchor="middle", class_="full" if share > 0.5 else "part"
    )
    return tag("g", tag("title", f"{words}: {count(n)} of {count(total)} documents"), ground, box, text if n else None)


_NO_AXIS = Axis("", 0.0, 1.0, ())
