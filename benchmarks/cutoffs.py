"""Which cut-off turns the scores of a flat SVM into the best label sets?

Every cut-off is fitted on held-out scores of the training documents (five folds, the same for all) and measured on the
test documents. The zero cut (every label with a score above 0, at least the best) is what a model does by itself.
Seconds are those of fitting the cut-off; the folds come on top, once for all.

    python -m benchmarks cutoffs --json
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from benchmarks import machine, problems
from linnaeus import OneVsRestSVM, metrics
from linnaeus.decoding import CutOff, Decoder, InstanceCut, PCut, RCut, SCut, SetSize, Threshold
from linnaeus.tuning import held_out_scores

CUTS: dict[str, CutOff] = {
    "r-cut": RCut(),
    "r-cut per parent": RCut(per="parent"),
    "s-cut": SCut(),
    "s-cut, then suppressed": SCut(repair="suppress"),
    "s-cut, micro": SCut(average="micro"),
    "s-cut, fbr tuned": SCut(fbr="tune"),
    "p-cut": PCut(),
    "p-cut, x tuned": PCut(None),
    "instance": InstanceCut(),
    "instance, target f1": InstanceCut(target="f1"),
    "set size, Poisson": SetSize(),
    "set size, ordinal": SetSize("ordinal"),
    "set size, target f1": SetSize(target="f1"),
}


def run(arguments: list[str]) -> dict[str, Any]:
    """Fit and measure every cut-off on one problem."""
    parser = argparse.ArgumentParser(prog="benchmarks cutoffs", description=__doc__.splitlines()[0])
    parser.add_argument("--problem", default="rcv1v2")
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print JSON instead of lines")
    options = parser.parse_args(arguments)
    problem = problems.load(options.problem)
    model = OneVsRestSVM(problem.taxonomy, C=options.C, random_state=0).fit(problem.X, problem.Y)
    start = time.perf_counter()
    held = held_out_scores(model, problem.X, problem.Y, cv=options.folds)
    folds = time.perf_counter() - start
    results = [{"cut": "zero", "seconds": 0.0} | _figures(model, problem, Threshold(0.0, repair=None))]
    for name, cut in CUTS.items():
        start = time.perf_counter()
        fitted = held.fit(cut)
        seconds = time.perf_counter() - start
        results.append({"cut": name, "seconds": seconds} | _figures(model, problem, fitted))
    result = {
        "benchmark": "cutoffs",
        "problem": problem.name,
        "n_test": problem.X_test.shape[0],
        "labels_per_document": problem.Y_test.nnz / problem.Y_test.shape[0],
        "seconds_of_folds": folds,
        "machine": machine.describe(),
        "results": results,
    }
    if options.json:
        print(json.dumps(result))
    else:
        columns = ("micro_f1", "macro_f1", "example_f1", "size", "seconds")
        print(f"{'cut':24}" + "".join(f"{column:>12}" for column in columns))
        for row in results:
            print(f"{row['cut']:24}" + "".join(f"{row[column]:12.4f}" for column in columns))
        print(f"labels per test document: {result['labels_per_document']:.2f}; folds took {folds:.1f} s")
    return result


def _figures(model: Any, problem: problems.Problem, decoder: Decoder) -> dict[str, float]:
    H = model.answers(problem.X_test, decoder=decoder)
    sides = (problem.Y_test, H, problem.taxonomy)
    return {
        "micro_f1": float(metrics.micro_f1(*sides)),
        "macro_f1": float(metrics.macro_f1(*sides)),
        "example_f1": float(metrics.example_f1(*sides)),
        "size": H.nnz / H.shape[0],
    }
