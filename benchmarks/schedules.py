"""How many sweeps do the schedules of the joint training need? The same RRSVM in each, to the same certified gap.

python -m benchmarks schedules --problem rcv1v2 --loss hinge --json
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from benchmarks import machine, problems
from linnaeus import RRSVM
from linnaeus.models.recursive.rr import SCHEDULES


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks schedules", description=__doc__.splitlines()[0])
    parser.add_argument("--problem", default="rcv1v2", choices=["rcv1v2", "imclef07a", "wordnet_nouns"])
    parser.add_argument("--loss", default="hinge", choices=["hinge", "squared_hinge"])
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    problem = problems.load(options.problem)
    names = [name for name in SCHEDULES if name != "levels" or problem.taxonomy.kind == "tree"]
    result = {
        "machine": machine.describe(),
        "benchmark": "schedules",
        **vars(options),
        "schedules": {name: measure(problem, name, options) for name in names},
    }
    if options.json:
        print(json.dumps(result))
    else:
        for name, found in result["schedules"].items():
            print(f"{name:8}" + "".join(f"  {key} {value:.6g}" for key, value in found.items()))
    return result


def measure(problem: problems.Problem, schedule: str, options: argparse.Namespace) -> dict[str, Any]:
    settings = {"C": options.C, "loss": options.loss, "tol": options.tol, "fit_intercept": False, "random_state": 0}
    model = RRSVM(problem.taxonomy, schedule=schedule, max_iter=10_000, **settings)
    start = time.perf_counter()
    model.fit(problem.X, problem.Y)
    return {
        "sweeps": model.n_iter_,
        "seconds": time.perf_counter() - start,
        "objective": model.objective_,
        "relative_gap": model.duality_gap_ / model.objective_,
    }
