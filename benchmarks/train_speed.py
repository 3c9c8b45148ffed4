"""Training time of our one-vs-rest models beside LIBLINEAR, one thread each, at no worse an objective."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from benchmarks import machine, problems
from benchmarks.rivals import liblinear
from linnaeus import registry


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks train_speed", description=__doc__)
    parser.add_argument("--problem", default="rcv1v2", choices=["rcv1v2", "imclef07a"])
    parser.add_argument("--model", default="OneVsRestSVM", choices=["OneVsRestSVM", "OneVsRestLogistic"])
    parser.add_argument("--loss", default=None, help="of OneVsRestSVM: hinge (default) or squared_hinge")
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--rival-tol", type=float, default=0.1, help="LIBLINEAR's tolerance")
    parser.add_argument(
        "--tol", type=float, default=None, help="our relative gap (default: found so that we are no worse)"
    )
    parser.add_argument("--repeats", type=int, default=3, help="best of several, rival and ours in turn")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    result = {"machine": machine.describe(), **measure(options)}
    print(json.dumps(result) if options.json else "\n".join(f"{k}: {v}" for k, v in result.items()))
    return result


def measure(options: argparse.Namespace) -> dict[str, Any]:
    problem = problems.load(options.problem)
    loss = options.loss or ("logistic" if options.model == "OneVsRestLogistic" else "hinge")
    nodes = problem.label_nodes
    rival = {"loss": loss, "C": options.C, "tol": options.rival_tol}
    first_seconds, rival_objective = liblinear.one_vs_rest(problem.X, problem.Y, nodes, **rival)
    tol = options.tol or loosest_tolerance(problem, options, loss, rival_objective)
    ours, theirs = [], [first_seconds]
    for repeat in range(options.repeats):
        seconds, model = fit(problem, options, loss, tol)
        ours.append(seconds)
        if repeat:
            theirs.append(liblinear.one_vs_rest(problem.X, problem.Y, nodes, **rival)[0])
    return {
        "problem": problem.name,
        "model": options.model,
        "loss": loss,
        "C": options.C,
        "labels": len(nodes),
        "rival": f"LIBLINEAR per label, tol {options.rival_tol:g}",
        "rival_seconds": min(theirs),
        "rival_objective": rival_objective,
        "tol": tol,
        "seconds": min(ours),
        "objective": model.objective_,
        "duality_gap": model.duality_gap_,
        "objective_no_worse": bool(model.objective_ <= rival_objective),
        "speedup": min(theirs) / min(ours),
        "within_budget": min(theirs) >= 3 * min(ours) and bool(model.objective_ <= rival_objective),
    }


def fit(problem: Any, options: argparse.Namespace, loss: str, tol: float) -> tuple[float, Any]:
    settings = {"loss": loss} if options.model == "OneVsRestSVM" else {}
    kind = registry.resolve(options.model)
    model = kind(problem.taxonomy, C=options.C, fit_intercept=False, tol=tol, random_state=0, **settings)
    start = time.perf_counter()
    model.fit(problem.X, problem.Y)
    return time.perf_counter() - start, model


def loosest_tolerance(problem: Any, options: argparse.Namespace, loss: str, rival_objective: float) -> float:
    """The largest of a few tolerances at which our objective is no worse than the rival's."""
    for tol in (0.03, 0.01, 0.005, 0.003, 0.002, 0.001, 5e-4, 1e-4, 1e-5):
        if fit(problem, options, loss, tol)[1].objective_ <= rival_objective:
            return tol
    return 1e-6
