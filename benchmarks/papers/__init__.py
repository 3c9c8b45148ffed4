"""What the papers say and what is measured here, table by table, side by side.

    python -m benchmarks papers                      cheap tables measured, the others from their pages of results
    python -m benchmarks papers --full               everything measured (hours)
    python -m benchmarks papers --only cai_thesis    one paper, or one table (gopal2015:IV:NEWS20)
    python -m benchmarks papers --write              docs/results/papers.md and papers.json as well

Published figures come from the collection beside the data; figures that contradict others in print are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from benchmarks import machine
from benchmarks.accuracy import page as pages
from benchmarks.papers import cai, gopal, murawaki, rousu
from benchmarks.papers.markdown_tables import PAGES
from benchmarks.papers.page import markdown
from benchmarks.papers.study import Figures, Study, order_kept

__all__ = ["run", "studies"]


def studies() -> list[Study]:
    """All tables, paper by paper."""
    return [study for paper in (gopal, rousu, cai, murawaki) for study in paper.studies()]


def run(arguments: list[str]) -> dict[str, Any]:
    """Measure or read every table, print the page; with --write keep it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks papers", description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="measure everything, also what takes hours")
    parser.add_argument("--only", default="", help="studies whose key begins so, such as rousu2006 or cai_thesis:7.5")
    parser.add_argument("--write", action="store_true", help="docs/results/papers.md and papers.json")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    began, spent = time.perf_counter(), time.process_time()
    chosen = [study for study in studies() if study.key.startswith(options.only)]
    if not chosen:
        sys.exit(f"no table {options.only!r}; there are {', '.join(study.key for study in studies())}")
    found = [_measured(study, options.full) for study in chosen]
    result = {
        "benchmark": "papers",
        "command": pages.command("papers", arguments),
        "machine": machine.describe(),
        "threads": 1,
        "seconds": time.perf_counter() - began,
        "processor_seconds": time.process_time() - spent,
        "tables": found,
    }
    text = markdown(result)
    if options.write:
        (PAGES / "papers.md").write_text(text, encoding="utf-8")
        (PAGES / "papers.json").write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(result) if options.json else text)
    return result


def _measured(study: Study, full: bool) -> dict[str, Any]:
    """A study as plain values: its rows with both figures, and how much of the paper's order is kept."""
    began = time.perf_counter()
    parts = study.full if full and study.full else study.quick
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
        "sources": [part.source for part in parts],
        "rows": rows,
        "order": {column: list(order_kept(study, theirs, ours, column)) for column in study.columns},
        "explained": study.explained,
    }
