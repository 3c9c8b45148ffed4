"""Training time of RRSVM on thousands of rare labels, beside LIBLINEAR label by label, one thread each.

The rival learns every label alone (hinge, no constant feature, tol 0.1), is measured on a random sample of labels and
its time scaled to all. Ours learns all labels together with the squared hinge to a certified gap of 1 % of the whole
problem. Seconds are those of the processor, which a busy machine disturbs less.

``--flat`` compares the joint models with their flat ones instead, in one run with default parameters: RRSVM beside
OneVsRestSVM, RRLogistic beside OneVsRestLogistic, on ``--problem`` (several, with commas); C is divided by the mean
squared length of the documents, which is 1 where they are normalised. With ``--tols`` and
``--held-out`` it shows what a tighter tolerance is worth, without a look at test documents.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import machine, problems
from benchmarks.rivals import liblinear
from linnaeus import RRSVM, OneVsRestLogistic, OneVsRestSVM, RRLogistic
from linnaeus.auto.evaluate import squared_length
from linnaeus.data.splits import train_test_split
from linnaeus.engine import single_blas_thread


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks joint_speed", description=__doc__)
    parser.add_argument(
        "--problem", default="wordnet_nouns", help="wordnet_nouns or rcv1v2; with --flat any, or several"
    )
    parser.add_argument("--flat", action="store_true", help="joint beside flat models, default parameters")
    parser.add_argument("--tols", default="", help="with --flat: tolerances of the joint models instead of the default")
    parser.add_argument(
        "--held-out", action="store_true", help="with --flat: F1 on a quarter of the training documents, not on test"
    )
    parser.add_argument("--loss", default="squared_hinge", choices=["squared_hinge", "hinge"])
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--tol", type=float, default=0.01, help="certified gap of the joint problem, relative")
    parser.add_argument("--sample", type=int, default=200, help="labels for the rival where there are more than 1,000")
    parser.add_argument("--repeats", type=int, default=1, help="best of several")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    with single_blas_thread():
        measured = {"rows": list(beside_flat(options))} if options.flat else measure(options)
        result = {"machine": machine.describe(), **measured}
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


def beside_flat(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each problem, pair of models and tolerance of the joint one."""
    pairs: list[tuple[Any, Any]] = [(OneVsRestSVM, RRSVM), (OneVsRestLogistic, RRLogistic)]
    for name in options.problem.split(","):
        problem = problems.load(name)
        if options.held_out:
            problem = without_test(problem)
        for flat, joint in pairs:
            usual = {"C": 1 / squared_length(problem.X), "random_state": 0}
            seconds = min(fit(flat(problem.taxonomy, **usual), problem)[0] for _ in range(options.repeats))
            for tol in [float(tol) for tol in options.tols.split(",") if tol] or [joint().tol]:
                fits = [fit(joint(problem.taxonomy, tol=tol, **usual), problem) for _ in range(options.repeats)]
                ours, model = min(one[0] for one in fits), fits[0][1]
                row = {
                    "problem": problem.name,
                    "model": joint.__name__,
                    "tol": tol,
                    "flat_seconds": round(seconds, 2),
                    "seconds": round(ours, 2),
                    "ratio": round(ours / seconds, 2),
                    "sweeps": model.n_iter_,
                    "relative_gap": round(model.duality_gap_ / model.objective_, 6),
                    **f1(problem, model),
                }
                print("  ".join(str(value) for value in row.values()), file=sys.stderr, flush=True)
                yield row


def without_test(problem: problems.Problem) -> problems.Problem:
    """The problem with a quarter of the training documents in place of the test documents."""
    X, Y = problem.X, problem.Y
    learned, held_out = train_test_split(Y, 0.25, random_state=0)
    return replace(problem, X=X[learned], Y=Y[learned], X_test=X[held_out], Y_test=Y[held_out])


def fit(model: Any, problem: Any) -> tuple[float, Any]:
    start = time.process_time()
    model.fit(problem.X, problem.Y)
    return time.process_time() - start, model


def f1(problem: Any, model: Any) -> dict[str, float]:
    """Micro- and macro-F1 in per cent on the test documents, over the labels with training documents."""
    found, gold = model.predict(problem.X_test) > 0, problem.Y_test > 0
    both, answered, true = (np.asarray(Y.sum(axis=0)).ravel() for Y in (found.multiply(gold), found, gold))
    micro = 2 * both.sum() / max(1, answered.sum() + true.sum())
    macro = (2 * both / np.maximum(1, answered + true))[problem.label_nodes].mean()
    return {"micro_f1": round(100 * float(micro), 1), "macro_f1": round(100 * float(macro), 1)}


def accuracy(problem: Any, model: Any) -> dict[str, float]:
    """P@1 and P@5 on the test documents; `accuracy_wordnet` has the other figures."""
    best, _ = model.top_nodes(problem.X_test, 5)
    found = np.asarray(problem.Y_test[np.arange(len(best))[:, None], best].todense()) > 0
    return {"precision_at_1": float(found[:, 0].mean()), "precision_at_5": float(found.mean())}
