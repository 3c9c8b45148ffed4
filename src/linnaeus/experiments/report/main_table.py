"""The table that answers the first question: models x measures, with intervals, differences and costs."""

from __future__ import annotations

from collections.abc import Sequence

from linnaeus.experiments.report.markup import Markup, tag
from linnaeus.experiments.report.schema import Measure, Result, Run
from linnaeus.experiments.report.standing import best_values, comparison, main_measure, ranked, role
from linnaeus.experiments.report.tables import cell, head, wrapped
from linnaeus.experiments.report.wording import duration, figure, megabytes, p_value, signed, stars

__all__ = ["main_table"]

GROUPS = ("hierarchical", "flat", "ranking")


def main_table(result: Result) -> Markup:
    """Models x measures: the main one first, with its interval drawn, then what it cost, then the others."""
    main = main_measure(result)
    groups = [(name, [m for m in result["measures"] if m["group"] == name and not m["main"]]) for name in GROUPS]
    groups = [(name, members) for name, members in groups if members]
    top = [tag("th", scope="col", class_="first"), tag("th", "main measure", colspan=4, scope="colgroup")]
    top.append(tag("th", "cost", colspan=5, scope="colgroup"))
    top.extend(tag("th", f"{name} measures", colspan=len(members), scope="colgroup") for name, members in groups)
    names = [
        head("model", first=True, numeric=False),
        head(_measure_name(main), note="the measure by which models are ranked"),
        tag("th", "95% interval", scope="col", class_="words"),
        head("to the best", note="difference to the best model, on the same documents"),
        head("to flat", note="difference to the flat model, on the same documents"),
        head("search", note="time to choose parameters"),
        head("training"),
        head("prediction"),
        head("memory", note="peak memory while training"),
        head("model", note="size of the model on disk"),
    ]
    names.extend(head(_measure_name(measure)) for _, members in groups for measure in members)
    best, span = best_values(result), _span(result)
    others = [measure for _, members in groups for measure in members]
    rows = [_main_row(result, run, others, best, span) for run in ranked(result)]
    caption = f"{len(rows)} models by {main['name']}, best first"
    return wrapped(caption, [tag("tr", *top), tag("tr", *names)], rows, class_="sorts main")


def _measure_name(measure: Measure) -> str:
    return measure["name"] + ("" if measure["higher_is_better"] else " ↓")


def _span(result: Result) -> tuple[float, float]:
    """The range over which intervals of the main measure are drawn."""
    key = main_measure(result)["key"]
    values = [run["measures"][key] or 0.0 for run in ranked(result)]
    values += [bound for run in ranked(result) for bound in run["intervals"].get(key, [])]
    return (min(values), max(values)) if values else (0.0, 1.0)


def _main_row(
    result: Result, run: Run, others: Sequence[Measure], best: dict[str, float], span: tuple[float, float]
) -> Markup:
    key = main_measure(result)["key"]
    value = run["measures"][key]
    kind = role(result, run["model"])
    mark = {"best": tag("span", "best", class_="badge best"), "flat": tag("span", "flat", class_="badge flat")}.get(
        kind
    )
    early = tag("span", "stopped early", class_="badge") if run["status"] == "stopped early" else None
    seconds = run["seconds"]
    cells = [
        tag("th", run["model"], " ", mark, early, scope="row", title=run["note"], data_value=run["model"]),
        cell(figure(value), value, class_="best" if value == best.get(key) else None),
        cell(_whisker(value, run["intervals"].get(key), span, kind), class_="drawn"),
        _difference(result, run["model"], "best"),
        _difference(result, run["model"], "flat"),
        *(cell(duration(seconds.get(part)), seconds.get(part)) for part in ("search", "fit", "predict")),
        cell(megabytes(run["peak_memory_mb"]), run["peak_memory_mb"]),
        cell(megabytes(run["model_mb"]), run["model_mb"]),
    ]
    for measure in others:
        found, interval = run["measures"].get(measure["key"]), run["intervals"].get(measure["key"])
        told = f"95% interval {figure(interval[0])} to {figure(interval[1])}" if interval else None
        first = found is not None and found == best.get(measure["key"])
        cells.append(cell(figure(found), found, class_="best" if first else None, title=told))
    return tag("tr", *cells, class_=kind, data_model=run["model"])


def _difference(result: Result, model: str, kind: str) -> Markup:
    row = comparison(result, model, kind)
    if row is None or row["against"] == model:
        return cell("", None)
    told = f"{row['model']} against {row['against']}: {p_value(row['p'])}"
    if row["interval"]:
        told += f", 95% interval {signed(row['interval'][0])} to {signed(row['interval'][1])}"
    return cell([signed(row["difference"]), tag("sup", stars(row["p"]))], row["difference"], title=told)


def _whisker(value: float | None, interval: list[float] | None, span: tuple[float, float], kind: str) -> Markup:
    low, high = span
    wide = max(high - low, 1e-9)

    def place(number: float) -> float:
        return 6 + 128 * (number - low) / wide

    middle = place(value or 0.0)
    words = figure(value)
    bar = None
    if interval:
        words = f"{figure(interval[0])} to {figure(interval[1])}"
        bar = tag("line", x1=place(interval[0]), x2=place(interval[1]), y1=9, y2=9, class_="whisker")
    dot = tag("circle", cx=middle, cy=9, r=4)
    body = tag("g", bar, dot, class_=f"series point {kind}")
    return tag("svg", tag("title", words), body, viewBox="0 0 140 18", width=140, height=18, role="img")
