"""How often is the label set of a protein right (enzyme_ec to level 3) with H-M3 and with flat SVMs, on one kernel?

    python -m benchmarks accuracy_enzymes

Substrings of length p, normalised. Flat: a hinge SVM for every node, with ancestors as labels; a node counts where its
score and those of all its ancestors are above 0 (the paper's breadth-first correction). H-M3: the hierarchical loss,
and the consistent labelling of largest score. C of both by zero-one loss on training documents that were held out. The
zero-one loss is the share of proteins whose closed label set is not exactly right. Beside it both are made to answer
with one whole path, the best leaf.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import numpy as np

from benchmarks import machine, problems
from benchmarks.accuracy import page
from benchmarks.accuracy.selection import Folds, quiet
from linnaeus import HM3, OneVsRestSVM
from linnaeus.decoding import TopDown
from linnaeus.engine import single_blas_thread
from linnaeus.features import SpectrumFeatures, SpectrumKernel
from linnaeus.metrics import hierarchical_f1, micro_f1
from linnaeus.typing import CSR

ASKED = 5.0  # points of zero-one loss


def run(arguments: list[str]) -> dict[str, Any]:
    """Choose C of both, train, test."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks accuracy_enzymes", description=__doc__.splitlines()[0])
    parser.add_argument("--p", type=int, default=4)
    parser.add_argument("--scaling", default="subtree", choices=["uniform", "sibling", "subtree"])
    parser.add_argument("--C", type=float, nargs="*", default=[0.01, 0.1, 1.0], help="of H-M3")
    parser.add_argument("--flat-C", type=float, nargs="*", default=[1.0, 10.0, 100.0])
    parser.add_argument("--share", type=float, default=0.25, help="of the training documents, held out to choose C")
    parser.add_argument("--sample", type=int, default=None, help="so many training documents only, to choose C")
    parser.add_argument("--tol", type=float, default=0.01)
    parser.add_argument("--max-iter", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    problem = problems.load("enzyme_ec")
    with single_blas_thread(), quiet():
        rows = [_row(problem, name, options) for name in ("flat SVM", "HM3")]
    gain = rows[0]["zero_one"] - rows[1]["zero_one"]
    result = {
        "benchmark": "accuracy_enzymes",
        "command": page.command("accuracy_enzymes", arguments),
        "machine": machine.describe(),
        "threads": options.jobs,
        "rows": rows,
        "gain": gain,
        "within_budget": bool(gain >= ASKED),
    }
    print(json.dumps(result) if options.json else markdown(result))
    return result


def _row(problem: problems.Problem, name: str, options: argparse.Namespace) -> dict[str, Any]:
    """A system with its best C."""
    X, X_test = _documents(name, problem.X, problem.X_test, options)
    Y = problem.Y
    chosen = np.arange(len(problem.X))
    if options.sample is not None:
        chosen = np.sort(np.random.default_rng(0).choice(chosen, options.sample, replace=False))
    [(train, held)] = Folds.of(chosen, Y[chosen], options.share).parts
    train, held = chosen[train], chosen[held]
    tried = {}
    for C in options.C if name == "HM3" else options.flat_C:
        model = _fitted(name, problem, _block(name, X, train, train), Y[train], C, options)
        tried[C] = _figures(problem, model, name, _block(name, X, held, train), Y[held])["zero_one"]
        print(f"{name}, C={C:g}: zero-one loss {tried[C]:.2f} held out", file=sys.stderr, flush=True)
    C = min(tried, key=lambda C: (tried[C], C))
    start = time.process_time()
    model = _fitted(name, problem, X, Y, C, options)
    seconds = time.process_time() - start
    found = _figures(problem, model, name, X_test, problem.Y_test)
    gap = model.duality_gap_ / model.objective_
    return {"system": name, "C": C, **found, "held_out": tried, "seconds": seconds, "relative_gap": gap}


def _documents(name: str, train: Any, test: Any, options: argparse.Namespace) -> tuple[Any, Any]:
    """The Gram matrix and its test rows, or features with the same inner products."""
    if name == "HM3":
        kernel = SpectrumKernel(p=options.p, n_jobs=options.jobs)
        A = kernel.prepare(train)
        return kernel(A, A), kernel(kernel.prepare(test), A)
    features = SpectrumFeatures(p=options.p, n_jobs=options.jobs)
    return features.fit_transform(train), features.transform(test)


def _block(name: str, X: Any, rows: Any, columns: Any) -> Any:
    return np.ascontiguousarray(X[np.ix_(rows, columns)]) if name == "HM3" else X[rows]


def _fitted(name: str, problem: problems.Problem, X: Any, Y: CSR, C: float, options: argparse.Namespace) -> Any:
    how = {"tol": options.tol, "max_iter": options.max_iter, "n_jobs": options.jobs, "random_state": 0}
    if name == "HM3":
        cost = {"cost": "hierarchical", "scaling": options.scaling, "kernel": "precomputed", "fit_intercept": False}
        return HM3(problem.taxonomy, C=C, **cost, **how).fit(X, Y)
    how["max_iter"] = 1000
    return OneVsRestSVM(problem.taxonomy, C=C, loss="hinge", learn="closed", **how).fit(X, Y)


def _figures(problem: problems.Problem, model: Any, name: str, X: Any, Y: CSR) -> dict[str, float]:
    tax = problem.taxonomy
    gold = tax.close(Y)
    H = tax.close(model.answers(X) if name == "HM3" else model.answers(X, decoder=TopDown(leaf_mandatory=False)))
    leaf = tax.close(model.answers(X, decoder="best_leaf"))
    return {
        "zero_one": _zero_one(gold, H),
        "zero_one_leaf": _zero_one(gold, leaf),
        "micro_f1": 100 * float(micro_f1(gold, H)),
        "hierarchical_f1_leaf": 100 * float(hierarchical_f1(Y, leaf, tax)),
        "nodes_answered": float(H.sum() / H.shape[0]),
        "nodes_true": float(gold.sum() / gold.shape[0]),
    }


def _zero_one(gold: CSR, H: CSR) -> float:
    wrong = np.asarray(abs(gold - H).sum(axis=1)).ravel() > 0
    return 100 * float(wrong.mean())


def markdown(result: dict[str, Any]) -> str:
    """The heading and the rows."""
    rows = [
        {
            "system": row["system"],
            "C": f"{row['C']:g}",
            "zero-one loss": f"{row['zero_one']:.1f}",
            "micro-F1": f"{row['micro_f1']:.1f}",
            "nodes answered (true)": f"{row['nodes_answered']:.2f} ({row['nodes_true']:.2f})",
            "zero-one loss, best leaf": f"{row['zero_one_leaf']:.1f}",
            "hierarchical F1, best leaf": f"{row['hierarchical_f1_leaf']:.1f}",
            "zero-one loss held out, by C": ", ".join(f"{C:g}: {value:.1f}" for C, value in row["held_out"].items()),
            "gap": f"{row['relative_gap']:.2g}",
            "fit s": f"{row['seconds']:.0f}",
        }
        for row in result["rows"]
    ]
    return f"{page.heading(result)}\n\n{page.table(rows)}\n\nGain: {result['gain']:.1f} points."
