"""A table of a paper, re-made: what it says, what was measured here, where each comes from, and why they differ.

Figures are numbers by row and column. A row is a pair: a variant (posts per group, level, branch; empty where there is
one only) and a system. Columns and systems carry our names; a study says what the paper calls them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from benchmarks.accuracy.published import records

__all__ = ["Figures", "Part", "Row", "Study", "order_kept"]

Row = tuple[str, str]
Figures = dict[Row, dict[str, float]]


@dataclass(frozen=True)
class Part:
    """Some rows: how they are measured, and in words from where (a command, or a page of results)."""

    measure: Callable[[], Figures]
    source: str
    beside: str = ""  # which rows it is read for where the others are measured

    @property
    def stored(self) -> bool:
        """Read from a page of results rather than measured."""
        return self.source.startswith("[")


@dataclass(frozen=True)
class Study:
    """One published table and the rows that stand beside it.

    ``systems``, ``columns`` and ``variants`` map our names to the paper's. ``quick`` are the parts of every run,
    ``full`` those of a long one (the same where none are given), ``stored`` pages to read where nothing is measured
    (those among ``quick`` where none are given). ``lower`` names columns where less is better.
    """

    paper: str
    tables: tuple[str, ...]
    dataset: str
    title: str
    stands_for: str
    systems: dict[str, str]
    columns: dict[str, str]
    quick: tuple[Part, ...]
    explained: str
    variants: dict[str, str | None] = field(default_factory=lambda: {"": None})
    variant_name: str = ""
    full: tuple[Part, ...] = ()
    stored: tuple[Part, ...] = ()
    lower: tuple[str, ...] = ()
    digits: dict[str, int] = field(default_factory=dict)
    scale: dict[str, float] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The name by which a run may ask for it: ``gopal2015:II,III:CLEF``."""
        return f"{self.paper}:{','.join(self.tables)}:{self.dataset}"

    def published(self) -> Figures:
        """The paper's figures, under our names."""
        found: Figures = {}
        of_paper = {(r.get("variant"), r["method"], r["metric"]): r for r in self._records()}
        for variant, their_variant in self.variants.items():
            for system, method in self.systems.items():
                row = {}
                for column, metric in self.columns.items():
                    record = of_paper.get((their_variant, method, metric))
                    if record is not None and record["value"] is not None:
                        row[column] = record["value"] * self.scale.get(column, 1.0)
                if row:
                    found[variant, system] = row
        return found

    def _records(self) -> list[dict[str, Any]]:
        return records(self.paper, self.tables, self.dataset)


def order_kept(study: Study, theirs: Figures, ours: Figures, column: str) -> tuple[int, int]:
    """Of the pairs of systems that differ in the paper, how many stand in the same order here: (kept, all)."""
    kept = pairs = 0
    for variant in study.variants:
        rows = [row for row in theirs if row[0] == variant and column in theirs[row] and column in ours.get(row, {})]
        for first, second in combinations(rows, 2):
            difference = theirs[first][column] - theirs[second][column]
            if difference:
                pairs += 1
                kept += difference * (ours[first][column] - ours[second][column]) > 0
    return kept, pairs
