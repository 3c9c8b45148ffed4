"""Axes of a picture: values to places, round numbers for ticks, and the frame that curves and points are drawn into.

Pictures are SVG in the page itself. Colours and type come from the style sheet by class, so that one picture serves
light, dark and paper; each has a title and a description for those who listen to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from linnaeus.experiments.report.markup import Markup, tag

__all__ = ["Axis", "Frame", "decades", "round_ticks"]


@dataclass(frozen=True)
class Axis:
    """Values from ``low`` to ``high``, their ticks with words, and what the axis is called."""

    name: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    log: bool = False

    def share(self, value: float) -> float:
        """Where a value lies: 0 at the low end, 1 at the high end."""
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
    """A picture of ``width`` x ``height`` with its two axes; ``right`` leaves room for names beside the curves."""

    width: float
    height: float
    x: Axis
    y: Axis
    left: float = 46.0
    right: float = 16.0
    top: float = 14.0
    bottom: float = 46.0

    def across(self, value: float) -> float:
        """The place of a value of the x axis."""
        return self.left + self.x.share(value) * (self.width - self.left - self.right)

    def up(self, value: float) -> float:
        """The place of a value of the y axis."""
        return self.height - self.bottom - self.y.share(value) * (self.height - self.top - self.bottom)

    def axes(self) -> list[Markup]:
        """Thin lines across, words below and at the left, and the names of both axes."""
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
        """The whole picture, with the words a screen reader says."""
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
