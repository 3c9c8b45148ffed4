"""Curves, one per model: the best and the flat one in colour, the others pale until they are looked at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from linnaeus.experiments.report.axes import Axis, Frame, round_ticks
from linnaeus.experiments.report.markup import Markup, tag
from linnaeus.experiments.report.wording import figure

__all__ = ["Curve", "draw_lines", "measure_axis", "readable"]


@dataclass(frozen=True)
class Curve:
    """The values of a model at each place of the x axis (``None``: no value there); ``role`` is best, flat or other."""

    model: str
    role: str
    values: Sequence[float | None]


def measure_axis(name: str, values: Sequence[float | None]) -> Axis:
    """An axis around the values that are there, with round ends."""
    there = [value for value in values if value is not None and math.isfinite(value)]
    ticks = round_ticks(min(there), max(there)) if there else [0.0, 0.5, 1.0]
    step = ticks[1] - ticks[0]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return Axis(name, ticks[0], ticks[-1], [(tick, f"{tick:,.{digits}f}") for tick in ticks])


def readable(places: Sequence[str], room: float) -> Sequence[tuple[float, str]]:
    """Names of places that fit beside each other: all of them, or every second, third and so on.

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
    """Curves over named places, evenly apart. Each curve carries its model, by which the page finds it."""
    values = [value for curve in curves for value in curve.values]
    y = measure_axis(y_name, values)
    x = Axis(x_name, -0.3, max(len(places) - 0.7, 0.3), readable(places, 436.0))
    frame = Frame(520, 300, x, y, left=56, right=28)
    # Drawn last is drawn on top: what matters comes last.
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
