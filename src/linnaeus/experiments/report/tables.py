"""Tables of the page: captions, heads that sort, figures with intervals, marks for what is best and what is sure."""

from __future__ import annotations

from collections.abc import Sequence

from linnaeus.experiments.report.breakdown_values import Breakdown
from linnaeus.experiments.report.markup import Markup, join, tag
from linnaeus.experiments.report.schema import Result, Run
from linnaeus.experiments.report.standing import ranked, total_seconds
from linnaeus.experiments.report.wording import duration, figure

__all__ = [
    "absent_table",
    "breakdown_table",
    "cell",
    "head",
    "search_table",
    "settings",
    "simple_table",
    "wrapped",
]


def head(words: object, *, first: bool = False, numeric: bool = True, note: str | None = None) -> Markup:
    """A head with a button in it: it is reached by keyboard and says how the column is sorted."""
    button = tag("button", words, type="button", title=note)
    return tag("th", button, scope="col", class_="first" if first else None if numeric else "words", aria_sort="none")


def cell(
    words: object, value: float | str | None = None, *, class_: str | None = None, title: str | None = None
) -> Markup:
    """A cell; ``value`` is what it is sorted by."""
    shown = f"{value:.6g}" if isinstance(value, float) else value
    return tag("td", words, data_value=shown, class_=class_, title=title)


def wrapped(caption: object, heads: Sequence[Markup], rows: Sequence[Markup], *, class_: str = "sorts") -> Markup:
    """A table that scrolls sideways by itself where the window is narrow, also by keyboard."""
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
    """Models without figures, or not trained to their end, each with its reason."""
    rows = [(run["model"], run["status"], run["reason"] or "") for run in result["runs"] if run["status"] != "done"]
    if not rows:
        return None
    return simple_table(
        "Models without figures or not trained to their end, and why",
        ["model", "what happened", "reason"],
        rows,
        words=3,
    )


def breakdown_table(caption: str, found: Breakdown) -> Markup:
    """The figures behind a picture."""
    rows = [[model, *map(figure, values)] for model, values in found.values.items()]
    return simple_table(caption, ["model", *found.heads()], rows)


def search_table(result: Result) -> Markup:
    """What each model was run with, and what was tried before."""
    rows = [
        (run["model"], settings(run["parameters"]), join([_tried(run)]), duration(total_seconds(run)))
        for run in ranked(result)
    ]
    return simple_table(
        "Parameters and how they were chosen", ["model", "parameters", "tried", "all time"], rows, words=3
    )


def settings(parameters: dict[str, object]) -> str:
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
    """Each setting with the value it reached; nothing for a model without parameters to choose."""
    parts = []
    for trial in run["tried"]:
        given = {key: value for key, value in trial.items() if key not in ("value", "seconds")}
        if given:
            parts.append(f"{settings(given)}: {figure(trial.get('value'))}")
    return "; ".join(parts)
