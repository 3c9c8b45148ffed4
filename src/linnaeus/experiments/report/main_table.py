"""The tables that answer the first question: models by the main measure and what they cost, then by every measure."""

from __future__ import annotations

from linnaeus.experiments.report.markup import Markup, tag
from linnaeus.experiments.report.schema import Measure, Result, Run
from linnaeus.experiments.report.standing import (
    best_values,
    comparison,
    interval,
    main_measure,
    ranked,
    role,
    shown,
    total_seconds,
)
from linnaeus.experiments.report.tables import cell, head, wrapped
from linnaeus.experiments.report.wording import duration, figure, megabytes, p_value, signed, stars

__all__ = ["main_table", "measures_tables"]

GROUPS = ("hierarchical", "flat", "ranking")


def main_table(result: Result) -> Markup:
    """Models by the main measure: its interval drawn, differences to the best and to the flat model, and the price."""
    main = main_measure(result)
    known = any(interval(run, main["key"]) for run in ranked(result))
    heads = [
        head("model", first=True, numeric=False),
        head(_measure_name(main), note="the measure by which models are ranked"),
        tag("th", "95% interval" if known else "on a scale", scope="col", class_="words"),
        head("to the best", note="difference to the best model, on the same documents"),
        head("to flat", note="difference to the flat model, on the same documents"),
        head("time", note="search of parameters, training and prediction together"),
        head("prediction", note="time to answer all test documents"),
        head("memory", note="peak memory while training"),
        head("size", note="size of the model on disk"),
    ]
    span = _span(result)
    rows = [_main_row(result, run, span) for run in ranked(result)]
    return wrapped(f"{len(rows)} models by {main['name']}, best first", [tag("tr", *heads)], rows, class_="sorts main")


def _measure_name(measure: Measure) -> str:
    return measure["name"] + ("" if measure["higher_is_better"] else " ↓")


def _span(result: Result) -> tuple[float, float]:
    """The range over which intervals of the main measure are drawn."""
    key = main_measure(result)["key"]
    values = [run["measures"][key] or 0.0 for run in shown(result)]
    values += [end for run in shown(result) for end in interval(run, key) or ()]
    return (min(values), max(values)) if values else (0.0, 1.0)


def _main_row(result: Result, run: Run, span: tuple[float, float]) -> Markup:
    key = main_measure(result)["key"]
    value, seconds = run["measures"][key], run["seconds"]
    first = value == best_values(result).get(key)
    cells = [
        _name(result, run),
        cell(figure(value), value, class_="best" if first else None),
        cell(_whisker(value, interval(run, key), span, role(result, run["model"])), class_="drawn"),
        _difference(result, run["model"], "best"),
        _difference(result, run["model"], "flat"),
        cell(duration(total_seconds(run)), total_seconds(run), title=_parts(seconds)),
        cell(duration(seconds.get("predict")), seconds.get("predict")),
        cell(megabytes(run["peak_memory_mb"]), run["peak_memory_mb"]),
        cell(megabytes(run["model_mb"]), run["model_mb"]),
    ]
    return tag("tr", *cells, class_=role(result, run["model"]), data_model=run["model"])


def _name(result: Result, run: Run) -> Markup:
    kinds = [kind for kind in ("best", "flat") if result[kind] == run["model"]]
    mark = [[tag("span", kind, class_=f"badge {kind}"), " "] for kind in kinds]
    early = (
        tag("span", "stopped early", class_="badge", title=run["reason"]) if run["status"] == "stopped early" else None
    )
    return tag("th", run["model"], " ", mark, early, scope="row", title=run["note"], data_value=run["model"])


def _parts(seconds: dict[str, float | None]) -> str:
    names = {"search": "search", "fit": "training", "predict": "prediction"}
    return ", ".join(f"{name} {duration(seconds.get(part))}" for part, name in names.items())


def _difference(result: Result, model: str, kind: str) -> Markup:
    row = comparison(result, model, kind)
    if row is None or row["against"] == model:
        return cell("", None)
    told = f"{row['model']} against {row['against']}: {p_value(row['p'])}"
    if row["interval"]:
        told += f", 95% interval {signed(row['interval'][0])} to {signed(row['interval'][1])}"
    return cell([signed(row["difference"]), tag("sup", stars(row["p"]))], row["difference"], title=told)


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
    """Models x measures, a table for each group that opens; intervals where they are known."""
    best = best_values(result)
    found: list[Markup] = []
    for group in sorted(GROUPS, key=lambda group: group != main_measure(result)["group"]):  # that of the main one first
        measures = [measure for measure in result["measures"] if measure["group"] == group]
        if measures:
            table = _measures_table(result, measures, best, f"{group.capitalize()} measures, with 95% intervals")
            summary = tag("summary", f"All {group} measures ({len(measures)})")
            found.append(tag("details", summary, table, open=not found))
    return found


def _measures_table(result: Result, measures: list[Measure], best: dict[str, float], caption: str) -> Markup:
    heads = [head("model", first=True, numeric=False), *(head(_measure_name(measure)) for measure in measures)]
    rows = []
    for run in ranked(result):
        cells = [_name(result, run), *(_value(run, measure, best) for measure in measures)]
        rows.append(tag("tr", *cells, class_=role(result, run["model"]), data_model=run["model"]))
    return wrapped(caption, [tag("tr", *heads)], rows, class_="sorts every")


def _value(run: Run, measure: Measure, best: dict[str, float]) -> Markup:
    value, ends = run["measures"].get(measure["key"]), interval(run, measure["key"])
    spread = tag("small", f"{figure(ends[0])}–{figure(ends[1])}") if ends else None
    first = value is not None and value == best.get(measure["key"])
    return cell([figure(value), spread], value, class_="best" if first else None)
