"""Training time of our one-vs-rest models beside LIBLINEAR, one thread each, at no worse an objective.

Where a problem has thousands of labels (wordnet_nouns), LIBLINEAR is measured on a random sample of them and its time
scaled; ours is measured on the same sample and scaled, and with ``--full`` on all labels. The objective is compared on
the labels of the sample, our tolerance is the loosest of a fixed list at which it is no worse. Seconds are those of the
processor, which a busy machine disturbs less; with one thread they are what a clock shows on an idle one.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from benchmarks import machine, problems
from benchmarks.rivals import liblinear
from linnaeus import registry
from linnaeus.engine import single_blas_thread

TIMES = {"rcv1v2": 5.0, "wordnet_nouns": 10.0}  # what is asked for with the hinge; elsewhere 3


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks train_speed", description=__doc__)
    parser.add_argument("--problem", default="rcv1v2", choices=["rcv1v2", "imclef07a", "wordnet_nouns"])
    parser.add_argument("--model", default="OneVsRestSVM", choices=["OneVsRestSVM", "OneVsRestLogistic"])
    parser.add_argument("--loss", default=None, help="of OneVsRestSVM: hinge (default) or squared_hinge")
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--rival-tol", type=float, default=0.1, help="LIBLINEAR's tolerance")
    parser.add_argument(
        "--tol", type=float, default=None, help="our relative gap (default: found so that we are no worse)"
    )
    parser.add_argument("--repeats", type=int, default=3, help="best of several, rival and ours in turn")
    parser.add_argument("--sample", type=int, default=200, help="labels for the rival where there are more than 1,000")
    parser.add_argument("--full", action="store_true", help="train ours on all labels, too, where the rival is sampled")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    with single_blas_thread():
        result = {"machine": machine.describe(), **measure(options)}
    print(json.dumps(result) if options.json else "\n".join(f"{k}: {v}" for k, v in result.items()))
    return result


def measure(options: argparse.Namespace) -> dict[str, Any]:
    problem = problems.load(options.problem)
    loss = options.loss or ("logistic" if options.model == "OneVsRestLogistic" else "hinge")
    every = problem.label_nodes
    nodes = every
    if len(every) > 1000:
        nodes = np.sort(np.random.default_rng(0).choice(every, options.sample, replace=False))
    scale = len(every) / len(nodes)
    rival = {"loss": loss, "C": options.C, "tol": options.rival_tol}
    first_seconds, rival_objective = liblinear.one_vs_rest(problem.X, problem.Y, nodes, **rival)
    tol = options.tol or loosest_tolerance(problem, nodes, options, loss, rival_objective)
    ours, theirs = [], [first_seconds]
    for repeat in range(options.repeats):
        seconds, model = fit(problem, nodes, options, loss, tol)
        ours.append(seconds)
        if repeat:
            theirs.append(liblinear.one_vs_rest(problem.X, problem.Y, nodes, **rival)[0])
    speedup, no_worse = min(theirs) / min(ours), bool(model.objective_ <= rival_objective)
    found = {
        "problem": problem.name,
        "model": options.model,
        "loss": loss,
        "C": options.C,
        "labels": len(every),
        "labels_measured": len(nodes),
        "rival": f"LIBLINEAR per label, tol {options.rival_tol:g}",
        "rival_seconds": min(theirs) * scale,
        "rival_objective": rival_objective,
        "tol": tol,
        "seconds": min(ours) * scale,
        "objective": model.objective_,
        "duality_gap": model.duality_gap_,
        "objective_no_worse": no_worse,
        "speedup": speedup,
        "within_budget": no_worse and speedup >= (TIMES.get(problem.name, 3.0) if loss == "hinge" else 3.0),
    }
    if options.full and len(nodes) < len(every):
        found |= whole(problem, nodes, options, loss, tol, found)
    return found


def whole(
    problem: Any, nodes: Any, options: argparse.Namespace, loss: str, tol: float, found: dict[str, Any]
) -> dict[str, Any]:
    """Ours on all labels, once; the objective of the sampled ones from the weights, as for the rival."""
    seconds, model = fit(problem, problem.label_nodes, options, loss, tol)
    X, Y, objective = problem.X.astype(np.float64), problem.Y.tocsc(), 0.0
    for node, column in zip(nodes, np.searchsorted(model.nodes_, nodes), strict=True):
        y = Y[:, [node]].toarray().ravel()
        w = np.asarray(model.weights_[:, [column]], dtype=np.float64).ravel()
        objective += liblinear.binary_objective(X, y, w, loss, options.C)
    speedup, no_worse = found["rival_seconds"] / seconds, objective <= found["rival_objective"]
    return {
        "full_seconds": seconds,
        "full_objective_of_sample": objective,
        "full_objective": model.objective_,
        "full_duality_gap": model.duality_gap_,
        "full_objective_no_worse": bool(no_worse),
        "full_speedup": speedup,
        "within_budget": bool(found["within_budget"] and no_worse and speedup >= TIMES.get(problem.name, 3.0)),
    }


def fit(problem: Any, nodes: Any, options: argparse.Namespace, loss: str, tol: float) -> tuple[float, Any]:
    settings = {"loss": loss} if options.model == "OneVsRestSVM" else {}
    kind = registry.resolve(options.model)
    model = kind(problem.taxonomy, C=options.C, fit_intercept=False, tol=tol, random_state=0, **settings)
    Y = problem.Y
    if len(nodes) < len(problem.label_nodes):
        keep = np.isin(Y.indices, nodes)
        Y = Y.copy()
        Y.data = Y.data * keep
        Y.eliminate_zeros()
    start = time.process_time()
    model.fit(problem.X, Y)
    return time.process_time() - start, model


def loosest_tolerance(
    problem: Any, nodes: Any, options: argparse.Namespace, loss: str, rival_objective: float
) -> float:
    """The largest of a few tolerances at which our objective is no worse than the rival's."""
    for tol in (0.03, 0.01, 0.005, 0.003, 0.002, 0.001, 5e-4, 1e-4, 1e-5):
        if fit(problem, nodes, options, loss, tol)[1].objective_ <= rival_objective:
            return tol
    return 1e-6
