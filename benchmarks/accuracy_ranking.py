"""How well does the hierarchical SVM rank, beside the tables of Cai's thesis? One row of questions at a time.

    python -m benchmarks accuracy_ranking newsgroups | random | branches | synthetic | images | enzymes

Flat is the same SVM without a taxonomy: one attribute per label, cost 0/1. Differences are tested by exchanging the two
systems within runs (paired permutation test).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.accuracy import page
from benchmarks.ranking import branches, enzymes, images, newsgroups, synthetic
from benchmarks.ranking.measures import LARGER_IS_BETTER, permutation_p
from linnaeus.engine import single_blas_thread

Rows = list[dict[str, Any]]


def run(arguments: list[str]) -> dict[str, Any]:
    """Measure one row of questions and print it as a table, or everything as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks accuracy_ranking", description=__doc__)
    parser.add_argument("question", choices=list(QUESTIONS))
    parser.add_argument("--runs", type=int, default=10, help="repetitions, or folds of all data")
    parser.add_argument("--sizes", default="5,10,20,all", help="newsgroups, random: training posts per group")
    parser.add_argument("--random", type=int, default=5, help="random: how many hierarchies")
    parser.add_argument("--branches", default="BFHIJKLMNZ", help="branches: letters")
    parser.add_argument("--shape", default="3,3", help="synthetic: fan-out and depth")
    parser.add_argument("--kernel", default="linear", choices=["linear", "rbf"], help="images")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    began = time.process_time()
    with single_blas_thread():
        rows, table = QUESTIONS[options.question](options)
    result = {
        "benchmark": "accuracy_ranking",
        "command": page.command("accuracy_ranking", arguments),
        "machine": machine.describe(),
        "threads": 1,
        "seconds": time.process_time() - began,
        "rows": rows,
        "table": table,
    }
    print(json.dumps(result) if options.json else f"{page.heading(result)}\n\n{page.table(table)}")
    return result


def _newsgroups(options: argparse.Namespace) -> tuple[Rows, Rows]:
    rows = newsgroups.runs(_sizes(options), n_runs=options.runs)
    return rows, list(_by_size(rows, newsgroups.PUBLISHED))


def _random(options: argparse.Namespace) -> tuple[Rows, Rows]:
    rows = newsgroups.runs(_sizes(options), n_runs=options.runs, n_random=options.random)
    for row in rows:
        row["group"] = row["system"].rstrip("0123456789 ")
    return rows, list(_by_size(rows, {}, key="group"))


def _sizes(options: argparse.Namespace) -> list[int | None]:
    return [None if word == "all" else int(word) for word in options.sizes.split(",")]


def _by_size(rows: Rows, published: dict[Any, Any], key: str = "system") -> Iterable[dict[str, Any]]:
    for size in dict.fromkeys(row["size"] for row in rows):
        of_size = [row for row in rows if row["size"] == size]
        for system in dict.fromkeys(row[key] for row in of_size):
            line = {"posts per group": size or "all", "system": system}
            theirs = published.get(size, {}).get(system)
            yield line | _cells(of_size, newsgroups.COLUMNS, system, theirs, key)


def _branches(options: argparse.Namespace) -> tuple[Rows, Rows]:
    rows = [row for letter in options.branches for row in branches.runs(letter, n_runs=options.runs)]
    table = []
    for letter in options.branches:
        of_branch = [row for row in rows if row["branch"] == letter]
        for system in branches.SYSTEMS:
            theirs = branches.PUBLISHED.get(letter, {}).get(system)
            line = {"branch": letter, "labels": of_branch[0]["labels"], "system": system}
            table.append(line | _cells(of_branch, branches.COLUMNS, system, theirs))
    return rows, table


def _synthetic(options: argparse.Namespace) -> tuple[Rows, Rows]:
    fan_out, depth = map(int, options.shape.split(","))
    rows = synthetic.runs(fan_out, depth, n_seeds=options.runs)
    of_seeds = [
        {"system": system, **dict(zip(synthetic.COLUMNS, values, strict=True))}
        for system in ("flat", "hierarchical")
        for values in zip(*(synthetic.seed_means(rows, system, c) for c in synthetic.COLUMNS), strict=True)
    ]
    table = [
        {"shape": options.shape, "system": system} | _cells(of_seeds, synthetic.COLUMNS, system, theirs)
        for system, theirs in synthetic.PUBLISHED[fan_out, depth].items()
    ]
    return rows, table


def _enzymes(options: argparse.Namespace) -> tuple[Rows, Rows]:
    rows = enzymes.runs()
    table = [
        {"system": system} | _cells(rows, enzymes.COLUMNS, system, enzymes.PUBLISHED[system])
        for system in enzymes.PUBLISHED
    ]
    return rows, table


def _images(options: argparse.Namespace) -> tuple[Rows, Rows]:
    rows = images.runs(options.kernel)
    table = [
        {
            "kernel": row["kernel"],
            "system": row["system"],
            "C": row["C"],
            "gamma": row.get("gamma", ""),
            "micro-F1": page.interval(row["micro_f1"], row["micro_interval"]),
            "macro-F1": page.interval(row["macro_f1"], row["macro_interval"]),
            "gap": f"{row['gap']:.1e}",
            "seconds": page.number(row["seconds"]),
        }
        for row in rows
    ]
    return rows, table


def _cells(rows: Rows, columns: Iterable[str], system: str, theirs: Any, key: str = "system") -> dict[str, str]:
    """Means of a system, the thesis's in brackets, and how sure the difference to flat is."""
    mine, flat = ([row for row in rows if row[key] == name] for name in (system, "flat"))
    cells = {}
    for k, column in enumerate(columns):
        digits = 2 if "loss" in column and column != "ranking loss" else 1
        digits = 3 if column == "top loss" else digits
        cell = f"{np.mean([row[column] for row in mine]):.{digits}f}"
        if theirs is not None and theirs[k] is not None:
            cell += f" ({theirs[k]:.{digits}f})"
        if system != "flat" and len(mine) == len(flat) > 1:
            p = permutation_p([row[column] for row in mine], [row[column] for row in flat])
            gain = np.mean([row[column] for row in mine]) - np.mean([row[column] for row in flat])
            better = gain > 0 if column in LARGER_IS_BETTER else gain < 0
            cell += f" {'+' if better else '-'} p={page.p_value(p)}"
        cells[column] = cell
    return cells


QUESTIONS: dict[str, Callable[[argparse.Namespace], tuple[Rows, Rows]]] = {
    "newsgroups": _newsgroups,
    "random": _random,
    "branches": _branches,
    "synthetic": _synthetic,
    "images": _images,
    "enzymes": _enzymes,
}
