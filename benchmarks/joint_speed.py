"""Training time of RRSVM on thousands of rare labels, beside LIBLINEAR label by label, one thread each.

The rival learns every label alone (hinge, no constant feature, tol 0.1), is measured on a random sample of labels and
its time scaled to all. Ours learns all labels together with the squared hinge to a certified gap of 1 % of the whole
problem. Seconds are those of the processor, which a busy machine disturbs less.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from benchmarks import machine, problems
from benchmarks.rivals import liblinear
from linnaeus import RRSVM
from linnaeus.engine import single_blas_thread


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks joint_speed", description=__doc__)
    parser.add_argument("--problem", default="wordnet_nouns", choices=["wordnet_nouns", "rcv1v2"])
    parser.add_argument("--loss", default="squared_hinge", choices=["squared_hinge", "hinge"])
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--tol", type=float, default=0.01, help="certified gap of the joint problem, relative")
    parser.add_argument("--sample", type=int, default=200, help="labels for the rival where there are more than 1,000")
    parser.add_argument("--repeats", type=int, default=1, help="best of several")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    with single_blas_thread():
        result = {"machine": machine.describe(), **measure(options)}
    print(json.dumps(result) if options.json else "\n".join(f"{k}: {v}" for k, v in result.items()))
    return result


def measure(options: argparse.Namespace) -> dict[str, Any]:
    problem = problems.load(options.problem)
    nodes = every = problem.label_nodes
    if len(every) > 1000:
        nodes = np.sort(np.random.default_rng(0).choice(every, options.sample, replace=False))
    ours, theirs = [], []
    for _ in range(options.repeats):
        rival = liblinear.one_vs_rest(problem.X, problem.Y, nodes, loss="hinge", C=options.C, tol=0.1)
        theirs.append(rival[0] * len(every) / len(nodes))
        settings = {"C": options.C, "loss": options.loss, "fit_intercept": False, "spawn": "all", "tol": options.tol}
        model = RRSVM(problem.taxonomy, random_state=0, **settings)
        start = time.process_time()
        model.fit(problem.X, problem.Y)
        ours.append(time.process_time() - start)
    gap, speedup = model.duality_gap_ / model.objective_, min(theirs) / min(ours)
    return {
        "problem": problem.name,
        "labels": len(every),
        "loss": options.loss,
        "C": options.C,
        "rival": f"LIBLINEAR per label, hinge, tol 0.1, {len(nodes)} labels, scaled",
        "rival_seconds": min(theirs),
        "seconds": min(ours),
        "speedup": speedup,
        "sweeps": model.n_iter_,
        "objective": model.objective_,
        "relative_gap": gap,
        **accuracy(problem, model),
        "within_budget": bool(gap <= options.tol and speedup >= 5),
    }


def accuracy(problem: Any, model: Any) -> dict[str, float]:
    """P@1 and P@5 on the test documents; `accuracy_wordnet` has the other figures."""
    best, _ = model.top_nodes(problem.X_test, 5)
    found = np.asarray(problem.Y_test[np.arange(len(best))[:, None], best].todense()) > 0
    return {"precision_at_1": float(found[:, 0].mean()), "precision_at_5": float(found.mean())}
