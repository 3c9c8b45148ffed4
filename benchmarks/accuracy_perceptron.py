"""How well do perceptrons and Hieron rank fifteen newsgroups, beside tables 7.20, 7.21 and 7.24 of Cai's thesis?

    python -m benchmarks accuracy_perceptron averaged | online | learned | minover

Flat systems have one attribute per label and cost 0/1; augmented ones learn from small margins, too. In brackets what
the thesis has. Differences are tested by exchanging two systems within runs (paired permutation test).
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.accuracy import page
from benchmarks.ranking import perceptrons
from benchmarks.ranking.measures import LARGER_IS_BETTER, permutation_p
from linnaeus.engine import single_blas_thread

Rows = list[dict[str, Any]]
SHOWN = {
    "averaged": [
        "Hieron, flat",
        "Hieron",
        "perceptron, flat",
        "perceptron",
        "Hieron, augmented, flat",
        "Hieron, augmented",
    ],
    "online": ["Hieron, flat", "Hieron", "perceptron, flat", "perceptron"],
    "minover": ["perceptron, online", "perceptron, MinOver"],
    "learned": ["perceptron, flat", "perceptron, learned taxonomy", "perceptron"],
}
# Which system is held against which: the hierarchical perceptron against Hieron, a learned taxonomy against none.
AGAINST = {"averaged": ("perceptron", "Hieron"), "learned": ("perceptron, learned taxonomy", "perceptron, flat")}
AGAINST |= {"online": AGAINST["averaged"], "minover": ("perceptron, MinOver", "perceptron, online")}


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks accuracy_perceptron", description=__doc__)
    parser.add_argument("question", choices=list(SHOWN))
    parser.add_argument("--runs", type=int, default=10, help="repetitions, or folds of all data")
    parser.add_argument("--sizes", default="10,20,all", help="training posts per group")
    parser.add_argument("--problem", default="newsgroups15", choices=["newsgroups15", "mesh_d01"], help="mesh_d01: all")
    parser.add_argument("--order", default="groups", choices=["groups", "random"], help="in which posts are visited")
    parser.add_argument("--passes", type=int, default=perceptrons.PASSES, help="over the training posts, at most")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    words = options.sizes.split(",") if options.problem == "newsgroups15" else ["all"]
    sizes = [None if word == "all" else int(word) for word in words]
    variant = "online" if options.question == "online" else "averaged"
    began = time.process_time()
    with single_blas_thread():
        rows = perceptrons.runs(
            sizes,
            n_runs=options.runs,
            variant=variant,
            systems=SHOWN[options.question],
            shuffle=options.order == "random",
            passes=options.passes,
            problem=options.problem,
        )
    tests = [test for size in sizes for test in _tests(rows, size, *AGAINST[options.question])]
    result = {
        "benchmark": "accuracy_perceptron",
        "command": page.command("accuracy_perceptron", arguments),
        "machine": machine.describe(),
        "threads": 1,
        "seconds": time.process_time() - began,
        "rows": rows,
        "table": _table(rows, sizes, options),
        "tests": tests,
    }
    shown = f"{page.heading(result)}\n\n{page.table(result['table'])}\n\n{page.table(tests)}"
    print(json.dumps(result) if options.json else shown)
    return result


def _table(rows: Rows, sizes: list[int | None], options: argparse.Namespace) -> Rows:
    question = options.question
    published = perceptrons.PUBLISHED_ONLINE if question == "online" else perceptrons.PUBLISHED
    published = published if options.problem == "newsgroups15" else {}
    found = []
    for size in sizes:
        for system in SHOWN[question]:
            mine = _of(rows, size, system)
            theirs = published.get(size, {}).get(system)
            line: dict[str, Any] = {"posts per group": size or "all", "system": system}
            for k, column in enumerate(perceptrons.COLUMNS):
                digits = 3 if column == "top loss" else 1
                line[column] = f"{np.mean([row[column] for row in mine]):.{digits}f}"
                line[column] += "" if theirs is None else f" ({theirs[k]:.{digits}f})"
            line["passes"] = f"{np.mean([row['passes'] for row in mine]):.1f}"
            line["active pairs, %"] = f"{np.mean([row['active'] for row in mine]):.2f}"
            if question == "learned":
                line["nodes of level 1"] = f"{np.mean([row['nodes'] for row in mine]):.1f}"
            found.append(line)
    return found


def _tests(rows: Rows, size: int | None, system: str, against: str) -> Rows:
    """Gains of a system over another, measure by measure; above 0 is better throughout."""
    mine, other = _of(rows, size, system), _of(rows, size, against)
    found = []
    for column in perceptrons.COLUMNS:
        first, second = ([row[column] for row in side] for side in (mine, other))
        gain = float(np.mean(first) - np.mean(second)) * (1 if column in LARGER_IS_BETTER else -1)
        line = {"posts per group": size or "all", "system": system, "against": against, "measure": column}
        line |= {"gain": f"{gain:+.{3 if column == 'top loss' else 1}f}"}
        found.append(line | {"p": page.p_value(permutation_p(first, second)) if len(first) > 1 else ""})
    return found


def _of(rows: Rows, size: int | None, system: str) -> Rows:
    return [row for row in rows if row["size"] == size and row["system"] == system]
