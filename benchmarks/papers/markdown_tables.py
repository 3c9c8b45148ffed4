"""Figures out of tables in Markdown: pages of results, and what benchmarks print, have the same form."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from benchmarks.papers.study import Figures

__all__ = ["figures", "number", "printed", "section", "tables"]

PAGES = Path(__file__).resolve().parents[2] / "docs" / "results"

Lines = list[dict[str, str]]


def section(page: str, heading: str) -> str:
    """The text under a heading that begins so, up to the next heading of its level or above."""
    text = (PAGES / page).read_text(encoding="utf-8")
    found = re.search(rf"^(#+) {re.escape(heading)}.*$", text, flags=re.MULTILINE)
    if found is None:
        raise ValueError(f"docs/results/{page} has no section {heading!r}.")
    after = text[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", after, flags=re.MULTILINE)
    return after[: end.start()] if end else after


def printed(benchmark: str, arguments: Sequence[str]) -> str:
    """What a benchmark prints; run once, however many tables are read out of it."""
    return _printed(benchmark, tuple(arguments))


@cache
def _printed(benchmark: str, arguments: tuple[str, ...]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        importlib.import_module(f"benchmarks.{benchmark}").run(list(arguments))
    return out.getvalue()


def tables(text: str) -> list[Lines]:
    """All tables of a text, as lines by head."""
    found = []
    for block in re.findall(r"(?:^\|.*\|[ ]*\n?)+", text, flags=re.MULTILINE):
        lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.strip().split("\n")]
        if len(lines) > 2:
            found.append([dict(zip(lines[0], line, strict=False)) for line in lines[2:]])
    return found


def number(cell: str) -> float | None:
    """The first number of a cell: 79.3 of ``**79.3** [76.8, 81.9]``, nothing of an empty one."""
    found = re.match(r"[*+ ]*(-?[\d,]*\.?\d+(?:e-?\d+)?)", cell)
    return float(found[1].replace(",", "")) if found else None


def figures(
    text: str,
    system: str,
    columns: Mapping[str, str],
    *,
    names: Mapping[str, str] | None = None,
    variant: str | None = None,
    variants: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
) -> Figures:
    """Rows of the first table with these columns (ours -> as headed there), under our names.

    ``system`` and ``variant`` are the heads of the columns that name rows; ``names`` and ``variants`` (ours -> as
    written there) say which rows to take, all as they are where they are not given. ``where`` keeps some lines only.
    """
    heads = [system, *columns.values(), *([variant] if variant else []), *(where or {})]
    lines = next((t for t in tables(text) if all(head in t[0] for head in heads)), None)
    if lines is None:
        raise ValueError(f"No table with the columns {heads}.")
    mine = {there: here for here, there in (names or {}).items()}
    my_variants = {there: here for here, there in (variants or {}).items()}
    found: Figures = {}
    for line in lines:
        if any(line[head] != value for head, value in (where or {}).items()):
            continue
        of_variant = line[variant] if variant else ""
        if (names and line[system] not in mine) or (variants and of_variant not in my_variants):
            continue
        row = (my_variants.get(of_variant, of_variant), mine.get(line[system], line[system]))
        values = {column: number(line[head]) for column, head in columns.items()}
        found[row] = {column: value for column, value in values.items() if value is not None}
    return found
