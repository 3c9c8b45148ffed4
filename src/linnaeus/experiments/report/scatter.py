"""Accuracy against time: a point per model, with the name beside it where there is room."""

from __future__ import annotations

from linnaeus.experiments.report.axes import Axis, Frame, decades
from linnaeus.experiments.report.lines import measure_axis
from linnaeus.experiments.report.markup import Markup, tag
from linnaeus.experiments.report.schema import Result, Run
from linnaeus.experiments.report.standing import interval, main_measure, role, shown, total_seconds
from linnaeus.experiments.report.wording import duration, figure

__all__ = ["against_time"]

Box = tuple[float, float, float, float]


def against_time(result: Result) -> Markup | None:
    """The main measure against all time spent on a model, on a logarithmic axis."""
    runs = [run for run in shown(result) if total_seconds(run) > 0]
    if not runs:
        return None
    main = main_measure(result)
    times = [total_seconds(run) for run in runs]
    low, high, ticks = decades(min(times), max(times))
    x = Axis("time for search, training and prediction", low, high, [(t, f"{t:g} s") for t in ticks], log=True)
    bounds = [end for run in runs for end in interval(run, main["key"]) or ()]
    y = measure_axis(main["name"], [*(run["measures"][main["key"]] for run in runs), *bounds])
    frame = Frame(1060, 420, x, y, left=58, right=30)
    taken: list[Box] = []
    points = [(run, frame.across(total_seconds(run)), frame.up(run["measures"][main["key"]] or 0.0)) for run in runs]
    taken.extend((px - 6, py - 6, px + 6, py + 6) for _, px, py in points)
    # The best come first, so that they find room for their names first.
    drawn = [_point(frame, result, run, px, py, taken) for run, px, py in points]
    told = f"One point per model: further right took longer, further up is better. Best: {result['best']}."
    return frame.picture("against-time", f"{main['name']} against time", told, frame.axes(), drawn[::-1])


def _point(frame: Frame, result: Result, run: Run, x: float, y: float, taken: list[Box]) -> Markup:
    main = main_measure(result)
    ends = interval(run, main["key"])
    words = f"{run['model']}: {figure(run['measures'][main['key']])} in {duration(total_seconds(run))}"
    whisker = None
    if ends:
        whisker = tag("line", x1=x, x2=x, y1=frame.up(ends[0]), y2=frame.up(ends[1]), class_="whisker")
    name = _name(frame, run["model"], x, y, taken)
    body = [whisker, tag("circle", tag("title", words), cx=x, cy=y, r=5.5), name]
    return tag("g", body, class_=f"series point {role(result, run['model'])}", data_model=run["model"])


def _name(frame: Frame, model: str, x: float, y: float, taken: list[Box]) -> Markup:
    """The name where it covers nothing; where there is no room, it shows only when the model is looked at."""
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
