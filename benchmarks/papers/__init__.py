"""What the papers say and what is measured here, table by table, side by side.

    python -m benchmarks papers                      cheap tables measured, the others from their pages of results
    python -m benchmarks papers --stored             nothing measured, what no page has is left out
    python -m benchmarks papers --full               everything measured (hours)
    python -m benchmarks papers --only cai_thesis    one paper, or one table (gopal2015:IV:NEWS20)
    python -m benchmarks papers --write              docs/results/papers.md and papers.json as well; with --only these
                                                     tables are put among those that papers.json has already

Published figures come from the collection beside the data; figures that contradict others in print are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from benchmarks import machine
from benchmarks.papers import cai, gopal, murawaki, rousu
from benchmarks.papers.markdown_tables import PAGES
from benchmarks.papers.page import markdown
from benchmarks.papers.study import Figures, Part, Study, order_kept

__all__ = ["run", "studies"]


def studies() -> list[Study]:
    """All tables, paper by paper."""
    return [study for paper in (gopal, rousu, cai, murawaki) for study in paper.studies()]


def run(arguments: list[str]) -> dict[str, Any]:
    """Measure or read every table, print the page; with --write keep it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks papers", description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="measure everything, also what takes hours")
    parser.add_argument("--stored", action="store_true", help="measure nothing, read pages of results")
    parser.add_argument("--only", default="", help="studies whose key begins so, such as rousu2006 or cai_thesis:7.5")
    parser.add_argument("--write", action="store_true", help="docs/results/papers.md and papers.json")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    chosen = [study for study in studies() if study.key.startswith(options.only)]
    if not chosen:
        sys.exit(f"no table {options.only!r}; there are {', '.join(study.key for study in studies())}")
    result = {
        "benchmark": "papers",
        "command": "python -m benchmarks papers" + (" --full" if options.full else ""),
        "machine": machine.describe(),
        "threads": 1,
        "tables": [_measured(study, parts) for study in chosen if (parts := _parts(study, options))],
    }
    if options.write:
        result["tables"] = _with_kept(result["tables"])
        (PAGES / "papers.md").write_text(markdown(result), encoding="utf-8")
        (PAGES / "papers.json").write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(result) if options.json else markdown(result))
    return result


def _with_kept(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """These tables among those written before, in the order of the papers and with what is said of them now."""
    file = PAGES / "papers.json"
    kept = json.loads(file.read_text(encoding="utf-8"))["tables"] if file.is_file() else []
    by_name = {(table["key"], table["title"]): table for table in [*kept, *tables]}
    return [
        by_name[name] | {"stands_for": study.stands_for, "explained": study.explained}
        for study in studies()
        if (name := (study.key, study.title)) in by_name
    ]


def _parts(study: Study, options: argparse.Namespace) -> list[Part]:
    """What a run measures or reads."""
    if options.stored:
        return list(study.stored) or [part for part in study.quick if part.stored]
    return list(study.full if options.full and study.full else study.quick)


def _measured(study: Study, parts: list[Part]) -> dict[str, Any]:
    """A study as plain values: its rows with both figures, and how much of the paper's order is kept."""
    began, spent = time.perf_counter(), time.process_time()
    ours: Figures = {}
    for part in parts:  # later parts are measured now and replace what earlier ones read
        for row, values in part.measure().items():
            if row[0] in study.variants and row[1] in study.systems:
                ours[row] = {column: values[column] for column in study.columns if column in values}
    theirs = study.published()
    rows = [
        {
            "variant": variant,
            "system": system,
            "paper_calls_it": study.systems[system],
            "published": theirs.get((variant, system), {}),
            "measured": ours[variant, system],
        }
        for variant in study.variants
        for system in study.systems
        if (variant, system) in ours
    ]
    print(f"{study.key}: {len(rows)} rows, {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    return {
        "key": study.key,
        "paper": study.paper,
        "tables": list(study.tables),
        "dataset": study.dataset,
        "title": study.title,
        "stands_for": study.stands_for,
        "variant_name": study.variant_name,
        "columns": list(study.columns),
        "lower_is_better": list(study.lower),
        "digits": study.digits,
        "sources": [part.source + (part.beside if len(parts) > 1 else "") for part in parts],
        "rows": rows,
        "order": {column: list(order_kept(study, theirs, ours, column)) for column in study.columns},
        "explained": study.explained,
        "date": machine.describe()["date"],
        "seconds": time.perf_counter() - began,
        "processor_seconds": time.process_time() - spent,
    }
