"""F1 of every model by level and by training examples, for pictures, tables and Markdown alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from linnaeus.experiments.report.schema import Result, Run
from linnaeus.experiments.report.standing import ranked
from linnaeus.experiments.report.wording import count, examples

__all__ = ["Breakdown", "by_level", "by_size"]


@dataclass(frozen=True)
class Breakdown:
    """Places (levels, ranges of examples), how many nodes each has, and the values of each model there, best first."""

    places: list[str]
    n_nodes: list[int]
    values: dict[str, list[float | None]]

    def heads(self) -> list[str]:
        """Names of the places with their number of nodes."""
        pairs = zip(self.places, self.n_nodes, strict=True)
        return [f"{place} ({count(n)} {'node' if n == 1 else 'nodes'})" for place, n in pairs]


def by_level(result: Result) -> Breakdown:
    """F1 of the nodes of each level."""
    return _broken_down(result, lambda run: run["by_level"], "level", lambda row: f"level {row['level']}")


def by_size(result: Result) -> Breakdown:
    """F1 of nodes with few and with many training examples."""
    return _broken_down(result, lambda run: run["by_size"], "low", lambda row: examples(row["low"], row["high"]))


def _broken_down(result: Result, rows: Callable[[Run], Any], key: str, name: Callable[[Any], str]) -> Breakdown:
    runs = ranked(result)
    known = {row[key]: row for run in runs for row in rows(run)}
    order = sorted(known)
    values = {}
    for run in runs:
        found = {row[key]: row["f1"] for row in rows(run)}
        values[run["model"]] = [found.get(place) for place in order]
    return Breakdown([name(known[place]) for place in order], [known[place]["n_nodes"] for place in order], values)
