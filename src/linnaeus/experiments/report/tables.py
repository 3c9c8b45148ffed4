"""Tables of the page: models by the main measure and what they cost, by every measure, and the smaller ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linnaeus.experiments.records import MeasureInfo, Result, Run
from linnaeus.pages.text import (
    Markup,
    count,
    duration,
    examples,
    figure,
    join,
    megabytes,
    p_value,
    signed,
    stars,
    tag,
)

__all__ = [
    "Breakdown",
    "absent_table",
    "breakdown_table",
    "by_level",
    "by_size",
    "main_table",
    "measures_tables",
    "search_table",
    "settings",
]

GROUPS = ("hierarchical", "flat", "ranking")


def main_table(result: Result) -> Markup:
    """Models by the main measure: its interval, differences to the best and to the flat model, time and memory."""
    main = result.main
    known = any(run.interval(main.key) for run in result.ranked())
    heads = [
        head("model", first=True, numeric=False),
        head(_measure_name(main), note="the measure by which models are ranked"),
        tag("th", "95% interval" if known else "on a scale", scope="col", class_="words"),
        head("to the best", note="difference to the best model, on the same documents"),
        head("to flat", note="difference to the flat model, on the same documents"),
        head("time", note="parameter search, training and prediction together"),
        head("prediction", note="time to answer all test documents"),
        head("memory", note="peak memory while training"),
        head("size", note="size of the model on disk"),
    ]
    span = _span(result)
    rows = [_main_row(result, run, span) for run in result.ranked()]
    return wrapped(f"{len(rows)} models by {main.name}, best first", [tag("tr", *heads)], rows, class_="sorts main")


def _measure_name(measure: MeasureInfo) -> str:
    return measure.name + ("" if measure.higher_is_better else " ↓")


def _span(result: Result) -> tuple[float, float]:
    """The range over which intervals of the main measure are drawn."""
    key = result.main.key
    values = [run.measures[key] or 0.0 for run in result.shown()]
    values += [end for run in result.shown() for end in run.interval(key) or ()]
    return (min(values), max(values)) if values else (0.0, 1.0)


def _main_row(result: Result, run: Run, span: tuple[float, float]) -> Markup:
    key = result.main.key
    value, seconds = run.measures[key], run.seconds
    first = value == result.best_values().get(key)
    cells = [
        _name(result, run),
        cell(figure(value), value, class_="best" if first else None),
        cell(_whisker(value, run.interval(key), span, result.role(run.model)), class_="drawn"),
        _difference(result, run.model, "best"),
        _difference(result, run.model, "flat"),
        cell(duration(run.total_seconds), run.total_seconds, title=_parts(seconds)),
        cell(duration(seconds.get("predict")), seconds.get("predict")),
        cell(megabytes(run.peak_memory_mb), run.peak_memory_mb),
        cell(megabytes(run.model_mb), run.model_mb),
    ]
    return tag("tr", *cells, class_=result.role(run.model), data_model=run.model)


def _name(result: Result, run: Run) -> Markup:
    kinds = [kind for kind, model in (("best", result.best), ("flat", result.flat)) if model == run.model]
    mark = [[tag("span", kind, class_=f"badge {kind}"), " "] for kind in kinds]
    early = tag("span", "stopped early", class_="badge", title=run.reason) if run.status == "stopped early" else None
    return tag("th", run.model, " ", mark, early, scope="row", title=run.note, data_value=run.model)


def _parts(seconds: dict[str, float | None]) -> str:
    names = {"search": "search", "fit": "training", "predict": "prediction"}
    return ", ".join(f"{name} {duration(seconds.get(part))}" for part, name in names.items())


def _difference(result: Result, model: str, kind: str) -> Markup:
    row = result.comparison(model, kind)
    if row is None or row.against == model:
        return cell("", None)
    details = f"{row.model} against {row.against}: {p_value(row.p)}"
    if row.interval:
        details += f", 95% interval {signed(row.interval[0])} to {signed(row.interval[1])}"
    return cell([signed(row.difference), tag("sup", stars(row.p))], row.difference, title=details)


def _whisker(value: float | None, ends: tuple[float, float] | None, span: tuple[float, float], kind: str) -> Markup:
    low, high = span
    wide = max(high - low, 1e-9)

    def place(number: float) -> float:
        return 6 + 98 * (number - low) / wide

    words = figure(value)
    if value is None or not low <= value <= high:
        side, words = ("◂", f"{words}, far below") if (value or 0.0) < low else ("▸", f"{words}, far above")
        mark = tag("text", side, x=2 if side == "◂" else 98, y=13)
        return tag("svg", tag("title", words), mark, viewBox="0 0 110 18", width=110, height=18, role="img")
    bar = None
    if ends:
        words = f"{figure(ends[0])} to {figure(ends[1])}"
        bar = tag("line", x1=place(ends[0]), x2=place(ends[1]), y1=9, y2=9, class_="whisker")
    dot = tag("circle", cx=place(value), cy=9, r=4)
    body = tag("g", bar, dot, class_=f"series point {kind}")
    return tag("svg", tag("title", words), body, viewBox="0 0 110 18", width=110, height=18, role="img")


def measures_tables(result: Result) -> list[Markup]:
    """Models x measures, one collapsible table for each group; intervals where they are known."""
    best = result.best_values()
    found: list[Markup] = []
    for group in sorted(
        GROUPS, key=lambda group: group != result.main.group
    ):  # the group of the main measure comes first
        measures = [measure for measure in result.measures if measure.group == group]
        if measures:
            table = _measures_table(result, measures, best, f"{group.capitalize()} measures, with 95% intervals")
            summary = tag("summary", f"All {group} measures ({len(measures)})")
            found.append(tag("details", summary, table, open=not found))
    return found


def _measures_table(result: Result, measures: list[MeasureInfo], best: dict[str, float], caption: str) -> Markup:
    heads = [head("model", first=True, numeric=False), *(head(_measure_name(measure)) for measure in measures)]
    rows = []
    for run in result.ranked():
        cells = [_name(result, run), *(_value(run, measure, best) for measure in measures)]
        rows.append(tag("tr", *cells, class_=result.role(run.model), data_model=run.model))
    return wrapped(caption, [tag("tr", *heads)], rows, class_="sorts every")


def _value(run: Run, measure: MeasureInfo, best: dict[str, float]) -> Markup:
    value, ends = run.measures.get(measure.key), run.interval(measure.key)
    spread = tag("small", f"{figure(ends[0])}–{figure(ends[1])}") if ends else None
    first = value is not None and value == best.get(measure.key)
    return cell([figure(value), spread], value, class_="best" if first else None)


# -- breakdowns --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Breakdown:
    """Places (levels, ranges of examples) with their number of nodes, and the values of each model, best first."""

    places: list[str]
    n_nodes: list[int]
    values: dict[str, list[float | None]]

    def heads(self) -> list[str]:
        """Names of the places with their number of nodes."""
        pairs = zip(self.places, self.n_nodes, strict=True)
        return [f"{place} ({count(n)} {'node' if n == 1 else 'nodes'})" for place, n in pairs]


def by_level(result: Result) -> Breakdown:
    """F1 of the nodes of each level."""
    rows = {run.model: {row.level: row for row in run.by_level} for run in result.ranked()}
    levels = {level: row for known in rows.values() for level, row in known.items()}
    order = sorted(levels)
    values = {model: [known[level].f1 if level in known else None for level in order] for model, known in rows.items()}
    return Breakdown([f"level {level}" for level in order], [levels[level].n_nodes for level in order], values)


def by_size(result: Result) -> Breakdown:
    """F1 of nodes with few and with many training documents."""
    rows = {run.model: {row.low: row for row in run.by_size} for run in result.ranked()}
    sizes = {low: row for known in rows.values() for low, row in known.items()}
    order = sorted(sizes)
    values = {model: [known[low].f1 if low in known else None for low in order] for model, known in rows.items()}
    places = [examples(low, sizes[low].high) for low in order]
    return Breakdown(places, [sizes[low].n_nodes for low in order], values)


# -- smaller tables ----------------------------------------------------------------------------------------------------


def head(words: object, *, first: bool = False, numeric: bool = True, note: str | None = None) -> Markup:
    """A header cell with a button, which is reached by keyboard and sorts the column."""
    button = tag("button", words, type="button", title=note)
    return tag("th", button, scope="col", class_="first" if first else None if numeric else "words", aria_sort="none")


def cell(
    words: object, value: float | str | None = None, *, class_: str | None = None, title: str | None = None
) -> Markup:
    """A cell; ``value`` is its sort key."""
    shown = f"{value:.6g}" if isinstance(value, float) else value
    return tag("td", words, data_value=shown, class_=class_, title=title)


def wrapped(caption: object, heads: Sequence[Markup], rows: Sequence[Markup], *, class_: str = "sorts") -> Markup:
    """A table that scrolls sideways in a narrow window, also by keyboard."""
    inner = tag(
        "table",
        tag("caption", caption),
        tag("thead", *heads),
        tag("tbody", *rows),
        class_=class_,
    )
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label="table, scrolls sideways")


def simple_table(caption: object, heads: Sequence[str], rows: Sequence[Sequence[object]], *, words: int = 1) -> Markup:
    """A table that sorts; the first ``words`` columns hold text, the others figures."""
    top = tag("tr", *(head(name, first=not place, numeric=place >= words) for place, name in enumerate(heads)))
    return wrapped(caption, [top], [_simple_row(row, words) for row in rows])


def _simple_row(row: Sequence[object], words: int) -> Markup:
    first = tag("th", row[0], scope="row")
    return tag(
        "tr",
        first,
        *(tag("td", item, class_="words" if place < words else None) for place, item in enumerate(row[1:], 1)),
    )


def absent_table(result: Result) -> Markup | None:
    """Models without figures, or whose training was stopped, each with its reason."""
    rows = [(run.model, run.status, run.reason or "") for run in result.runs if run.status != "done"]
    if not rows:
        return None
    return simple_table(
        "Models without figures or stopped early, and why",
        ["model", "what happened", "reason"],
        rows,
        words=3,
    )


def breakdown_table(caption: str, breakdown: Breakdown) -> Markup:
    """The figures of a chart."""
    rows = [[model, *map(figure, values)] for model, values in breakdown.values.items()]
    return simple_table(caption, ["model", *breakdown.heads()], rows)


def search_table(result: Result) -> Markup:
    """Parameters of each model, and the values that were tried."""
    rows = [
        (run.model, settings(run.parameters), join([_tried(run)]), duration(run.total_seconds))
        for run in result.ranked()
    ]
    return simple_table(
        "Parameters and how they were chosen", ["model", "parameters", "tried", "total time"], rows, words=3
    )


def settings(parameters: Mapping[str, object]) -> str:
    """Parameters in one line.

    Examples
    --------
    >>> settings({"C": 1.0, "loss": "hinge"})
    'C = 1, loss = hinge'
    """
    return ", ".join(
        f"{key} = {value:g}" if isinstance(value, float) else f"{key} = {value}" for key, value in parameters.items()
    )


def _tried(run: Run) -> str:
    """Each value of C with the measure it reached; empty for a model without parameters to choose."""
    return "; ".join(f"{settings({'C': one.C})}: {figure(one.value)}" for one in run.tried if one.C is not None)
