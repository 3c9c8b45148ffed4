"""The report of a shoot-out: JSON for programs, one HTML page and Markdown for people.

The report as Markdown, for a wiki, a pull request or a terminal.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from linnaeus.errors import visible
from linnaeus.experiments.records import MeasureInfo, Result, Run
from linnaeus.experiments.report.page import facts, html
from linnaeus.experiments.report.tables import by_level, by_size, settings
from linnaeus.files import replace_file
from linnaeus.pages.text import count, duration, figure, megabytes, moment, signed, stars

__all__ = ["html", "markdown", "write_report"]

CONFUSIONS = 10


def markdown(result: Result) -> str:
    """The report as Markdown.

    Parameters
    ----------
    result : Result
        A shoot-out, finished or not.

    Returns
    -------
    str
        The text, which ends with a line end.

    Examples
    --------
    >>> markdown(Result()).splitlines()[:3]
    ['# Shoot-out', '', '**No model has run yet.**']
    """
    return "\n".join(_lines(result)).rstrip() + "\n"


def plain(text: object) -> str:
    """Text escaped for Markdown: no character of a name starts a table, a tag or emphasis.

    Examples
    --------
    >>> plain("a|b <c>")
    'a\\\\|b &lt;c>'
    """
    escaped = re.sub(r"([\\`*_\[\]|#~])", r"\\\1", visible(" ".join(str(text).split())))
    return escaped.replace("<", "&lt;")


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|" + "|".join("---" if place < words else "---:" for place in range(len(heads))) + "|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _lines(result: Result) -> Iterator[str]:
    yield f"# {plain(result.title)}\n"
    yield f"**{plain(result.sentence)}**\n"
    if result.next_step:
        yield "To train the recommended model:\n"
        yield f"    {' '.join(result.next_step.split())}\n"
    yield "; ".join(f"{name}: {plain(value)}" for name, value in facts(result)) + ".\n"
    yield from _models(result)
    yield from _absent(result)
    if result.ranked():
        yield from _breakdowns(result)
        yield from _confusions(result)
    yield from _method(result)


def _models(result: Result) -> Iterator[str]:
    runs, main = result.ranked(), result.main
    if not runs:
        return
    heads = ["model", plain(main.name), "95% interval", "to the best", "to flat", "time", "model size"]
    rows = []
    for run in runs:
        ends = run.interval(main.key)
        spread = f"{figure(ends[0])} to {figure(ends[1])}" if ends else figure(None)
        differences = [_difference(result, run.model, kind) for kind in ("best", "flat")]
        cost = [duration(run.total_seconds), megabytes(run.model_mb)]
        rows.append([plain(run.model), *_values(result, run, [main]), spread, *differences, *cost])
    yield "## Which model is best?\n"
    yield from _table(heads, rows)
    yield "Bold: best of its column. ↓: lower is better. \\* p < 0.05, \\*\\* p < 0.01, \\*\\*\\* p < 0.001.\n"
    for group in dict.fromkeys(measure.group for measure in result.measures):
        measures = [measure for measure in result.measures if measure.group == group]
        yield f"### All {plain(group)} measures\n"
        names = [plain(m.name) + ("" if m.higher_is_better else " ↓") for m in measures]
        yield from _table(["model", *names], [[plain(run.model), *_values(result, run, measures)] for run in runs])


def _values(result: Result, run: Run, measures: Sequence[MeasureInfo]) -> list[str]:
    """Values of a run, the best of their column in bold."""
    best, values = result.best_values(), [(measure.key, run.measures.get(measure.key)) for measure in measures]
    return [
        f"**{figure(value)}**" if value is not None and value == best.get(key) else figure(value)
        for key, value in values
    ]


def _difference(result: Result, model: str, kind: str) -> str:
    row = result.comparison(model, kind)
    if row is None or row.against == model:
        return ""
    return signed(row.difference) + "\\*" * len(stars(row.p))


def _absent(result: Result) -> Iterator[str]:
    rows = [
        [plain(run.model), plain(run.status), plain(run.reason or "")] for run in result.runs if run.status != "done"
    ]
    if rows:
        yield "## Models without figures or stopped early\n"
        yield from _table(["model", "what happened", "reason"], rows, words=3)


def _breakdowns(result: Result) -> Iterator[str]:
    for title, breakdown in (("level", by_level(result)), ("training documents of a node", by_size(result))):
        if breakdown.places:
            yield f"## F1 by {title}\n"
            rows = [[plain(model), *map(figure, values)] for model, values in breakdown.values.items()]
            yield from _table(["model", *breakdown.heads()], rows)


def _confusions(result: Result) -> Iterator[str]:
    first = result.ranked()[0]
    if not first.confusion:
        return
    tree = result.taxonomy
    rows = [
        [plain(tree.path(row.gold)), plain(tree.path(row.answered)), count(row.n)]
        for row in first.confusion[:CONFUSIONS]
    ]
    yield f"## Siblings that {plain(first.model)} confuses\n"
    yield from _table(["belongs to", "was answered with", "documents"], rows, words=2)


def _method(result: Result) -> Iterator[str]:
    yield "## How it was measured\n"
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    yield f"{plain(moment(result.made))}; {plain(result.machine)}; {plain(versions)}.\n"
    yield f"    {' '.join(result.command.split())}\n"
    rows = [[plain(run.model), plain(settings(run.parameters)), duration(run.total_seconds)] for run in result.ranked()]
    if rows:
        yield from _table(["model", "parameters", "time"], rows, words=2)


def write_report(result: Result, folder: str | os.PathLike[str]) -> list[Path]:
    """Write ``shootout.json``, ``report.html`` and ``report.md``.

    The page holds everything it needs: it opens from disk and loads nothing from the network.

    Parameters
    ----------
    result : Result
        A finished shoot-out.
    folder : str or path-like
        Created if it does not exist.

    Returns
    -------
    list of Path
        The files written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_report(Result(), folder)]
    ['shootout.json', 'report.html', 'report.md']
    """
    plain = result.to_json()
    result = Result.from_json(plain)  # validated, and without figures that are not finite
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    texts = {
        "shootout.json": json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        "report.html": html(result),
        "report.md": markdown(result),
    }
    for name, text in texts.items():
        replace_file(home / name, text.encode())
    return [home / name for name in texts]
