"""Variants of H-M3 on one problem beside its plain form: answers on the test part, and what training takes.

The problem is the CCAT branch of RCV1-v2 (2,500 train, 5,000 test documents) or the D01 branch of MeSH; C = 1 and no
constant feature, as in the paper, for all. Seconds are those of the processor, on one thread.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import Any

import numpy as np

from benchmarks import machine, problems
from linnaeus import HM3, HierarchicalRLS, NodeSVM, OneVsRestSVM, metrics
from linnaeus.decoding import Threshold
from linnaeus.engine import single_blas_thread

VARIANTS: dict[str, dict[str, Any]] = {
    "one slack per document": {},
    "consistent competitors": {"train_labellings": "consistent"},
    "hierarchical cost": {"cost": "hierarchical"},
    "hierarchical cost, subtree": {"cost": "hierarchical", "scaling": "subtree"},
    "zero-one cost": {"cost": "zero_one"},
    "one slack per edge": {"slack": "edge"},
    "free slack": {"slack": "free"},
    "partial paths": {"features": "paths"},
}
_CLOSED = Threshold(repair="suppress", at_least_one=False)


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks hm3_variants", description=__doc__)
    parser.add_argument("--problem", default="rcv1v2_ccat", choices=["rcv1v2_ccat", "mesh_d01_split"])
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--tol", type=float, default=0.01, help="relative gap of H-M3")
    parser.add_argument("--only", nargs="*", default=[], help="some of the variants, by their beginnings")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    problem, rows = problems.load(options.problem), []
    with single_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model, decoder in _models(problem, options):
            start = time.process_time()
            model.fit(problem.X, problem.Y)
            seconds = time.process_time() - start
            answers = model.answers(problem.X_test, decoder=decoder, closed=True)
            rows.append({"model": name, "seconds": seconds, **_figures(problem, answers), **_certificate(model)})
            if not options.json:
                print(_line(rows[-1]), flush=True)
    result = {"machine": machine.describe(), "problem": problem.name, "C": options.C, "rows": rows}
    if options.json:
        print(json.dumps(result))
    return result


def _models(problem: Any, options: argparse.Namespace) -> Any:
    """Name, model and decoder: the baselines, then the variants."""
    tax, C = problem.taxonomy, options.C
    exact = {"loss": "hinge", "random_state": 0}
    baselines = [
        ("flat SVM, what hangs on nothing dropped", OneVsRestSVM(tax, learn="closed", C=C, **exact), _CLOSED),
        ("NodeSVM", NodeSVM(tax, C=C, **exact), None),
        ("HierarchicalRLS", HierarchicalRLS(tax, C=C), None),
    ]
    variants = [
        (f"HM3, {name}", HM3(tax, C=C, fit_intercept=False, tol=options.tol, random_state=0, **settings), None)
        for name, settings in VARIANTS.items()
    ]
    for name, model, decoder in baselines + variants:
        if not options.only or any(name.removeprefix("HM3, ").startswith(part) for part in options.only):
            yield name, model, decoder


def _figures(problem: Any, answers: Any) -> dict[str, Any]:
    """In per cent but for the symmetric difference; recalls from the top level down."""
    tax, Y = problem.taxonomy, problem.taxonomy.close(problem.Y_test)
    recalls = []
    for depth in range(1, int(tax.depth.max()) + 1):
        level = np.flatnonzero(tax.depth == depth)
        both = Y[:, level].multiply(answers[:, level]).sum()
        recalls.append(round(100 * float(both) / max(1, int(Y[:, level].sum())), 1))
    return {
        "zero_one": 100 * (1 - metrics.subset_accuracy(Y, answers)),
        "difference": float(metrics.symmetric_difference(Y, answers, taxonomy=tax)),
        "precision": 100 * metrics.micro_precision(Y, answers),
        "recall": 100 * metrics.micro_recall(Y, answers),
        "f1": 100 * metrics.micro_f1(Y, answers),
        "recall_by_level": recalls,
    }


def _certificate(model: Any) -> dict[str, Any]:
    gap = model.duality_gap_ / max(abs(model.objective_), 1e-300)
    return {"passes": int(model.n_iter_), "relative_gap": float(gap)}


def _line(row: dict[str, Any]) -> str:
    return (
        f"{row['model']:40} {row['seconds']:6.1f} s  zero-one {row['zero_one']:5.1f}  difference "
        f"{row['difference']:.3f}  P {row['precision']:.1f} R {row['recall']:.1f} F1 {row['f1']:.1f}  "
        f"recall by level {row['recall_by_level']}  gap {row['relative_gap']:.1e}"
    )
