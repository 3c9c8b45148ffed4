"""Can probabilities be believed? How sure a model was against how often it was right."""

from __future__ import annotations

import math

from linnaeus.experiments.report.axes import Axis, Frame
from linnaeus.experiments.report.markup import Markup, tag
from linnaeus.experiments.report.schema import Result, Run
from linnaeus.experiments.report.standing import ranked, role
from linnaeus.experiments.report.wording import count, figure

__all__ = ["reliability"]

PANELS = 8


def reliability(result: Result) -> list[Markup]:
    """How sure a model was against how often it was right, a picture per model that gives probabilities."""
    runs = [run for run in ranked(result) if run["reliability"]]
    return [_reliability(result, run, place) for place, run in enumerate(runs[:PANELS])]


def _reliability(result: Result, run: Run, place: int) -> Markup:
    ticks = [(tick / 4, f"{tick / 4:g}") for tick in range(5)]
    frame = Frame(
        250, 258, Axis("probability given", 0, 1, ticks), Axis("share right", 0, 1, ticks), left=50, bottom=44
    )
    bins = [row for row in run["reliability"] or [] if row["n"] and row["accuracy"] is not None]
    most = max((row["n"] for row in bins), default=1)
    ideal = tag("line", x1=frame.across(0), y1=frame.up(0), x2=frame.across(1), y2=frame.up(1), class_="ideal")
    dots = []
    corners = []
    for row in bins:
        sure = (row["low"] + row["high"]) / 2 if row["confidence"] is None else row["confidence"]
        right = row["accuracy"] or 0.0
        x, y = frame.across(sure), frame.up(right)
        corners.append(f"{x:.1f},{y:.1f}")
        words = f"{figure(sure, 2)} sure, {figure(right, 2)} right, {count(row['n'])} answers"
        dots.append(
            tag("circle", tag("title", words), cx=x, cy=y, r=1.5 + 3.5 * math.log1p(row["n"]) / math.log1p(most))
        )
    line = tag("polyline", points=" ".join(corners))
    series = tag("g", line, dots, class_=f"series {role(result, run['model'])} strong", data_model=run["model"])
    told = f"{len(bins)} groups of answers of {run['model']}; on the diagonal, probabilities are as good as their word."
    drawn = frame.picture(f"reliability-{place}", f"Reliability of {run['model']}", told, frame.axes(), ideal, series)
    return tag("figure", tag("figcaption", run["model"]), drawn)
