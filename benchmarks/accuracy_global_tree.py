"""How do flat, local and global passive-aggressive models of label sets compare? The seven systems of Murawaki (2013).

    python -m benchmarks accuracy_global_tree rcv1v2 | medline_mesh

Most specific labels of every document; C = 1, no constant feature, last weights rather than their mean, as in the
paper, so that nothing is tuned. The second table is the fit on training documents, the third a Wilcoxon test of paired
example-based F of DP-GT-BF against each other system.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.accuracy import page
from benchmarks.problems import leaves_only, load
from linnaeus import EdgePA, GlobalTreeModel, OneVsRestPA, metrics
from linnaeus.metrics.significance import wilcoxon
from linnaeus.decoding.search import ExactSearch, LocalSearch

SYSTEMS = ("FLAT", "LS-ALL", "DP-ALL", "LS-SIB", "DP-SIB", "DP-GT", "DP-GT-BF")
LEARNED = {"LS-ALL": "ALL", "DP-ALL": "ALL", "LS-SIB": "SIB", "DP-SIB": "SIB"}  # of which model a system is a search


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks accuracy_global_tree", description=__doc__)
    parser.add_argument("problem", choices=["rcv1v2", "medline_mesh", "mesh_d01_split"])
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--seen", type=int, default=2000, help="training documents on which the fit is measured")
    parser.add_argument("--values", help="npz file for F of documents, so that systems of several runs are tested")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    problem, wanted = leaves_only(load(options.problem)), options.systems.split(",")
    rows, fits, values, models = [], [], {}, {}
    for system in wanted:
        name = LEARNED.get(system, system)
        if name not in models:
            models = {name: _fitted(name, problem, options)}  # one at a time
        model, seconds = models[name]
        row, values[system] = _measured(system, model, problem.X_test, problem.Y_test, problem.taxonomy)
        size = _size(model)
        rows.append({"system": system, "training, s": f"{seconds:.0f}", "weights, million": f"{size / 1e6:.1f}", **row})
        seen = slice(0, options.seen)
        fit = _measured(system, model, problem.X[seen], problem.Y[seen], problem.taxonomy)[0]
        fits.append({"system": system, **{key: fit[key] for key in ("EBF", "MiF", "hF")}})
        errors = f"{model.search_errors(problem.X_test, problem.Y_test):.3f}" if system == "LS-ALL" else ""
        fits[-1]["search errors, test"] = errors
    values = _joined(values, options.values)
    result = {
        "benchmark": "accuracy_global_tree",
        "command": page.command("accuracy_global_tree", arguments),
        "machine": machine.describe(),
        "threads": options.threads,
        "rows": rows,
        "fit": fits,
        "tests": _tests(values, "DP-GT-BF") if "DP-GT-BF" in values else [],
    }
    parts = [page.heading(result), page.table(rows), page.table(fits), page.table(result["tests"] or [{"": ""}])]
    print(json.dumps(result) if options.json else "\n\n".join(parts))
    return result


def _joined(values: dict[str, np.ndarray], path: str | None) -> dict[str, np.ndarray]:
    """With those of earlier runs, which are kept in a file."""
    if path is None:
        return values
    if Path(path).exists():
        with np.load(path) as before:
            values = {**dict(before), **values}
    np.savez(path, **values)
    return values


def _fitted(name: str, problem: Any, options: argparse.Namespace) -> tuple[Any, float]:
    shared: dict[str, Any] = {"max_iter": options.passes, "average": "none", "fit_intercept": False, "random_state": 0}
    shared |= {"taxonomy": problem.taxonomy, "n_jobs": options.threads}
    model: Any
    if name == "FLAT":
        model = OneVsRestPA(**shared)
    elif name in ("ALL", "SIB"):
        model = EdgePA(training_set="all" if name == "ALL" else "siblings", search="local", **shared)
    else:
        model = GlobalTreeModel(branching=name == "DP-GT-BF", **shared)
    began = time.perf_counter()
    model.fit(problem.X, problem.Y)
    return model, time.perf_counter() - began


def _measured(system: str, model: Any, X: Any, Y: Any, taxonomy: Any) -> tuple[dict[str, str], np.ndarray]:
    search = {"LS": LocalSearch(), "DP": ExactSearch()}.get(system[:2]) if isinstance(model, EdgePA) else None
    H = taxonomy.frontier(model.answers(X, decoder=search, closed=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {
            "EBP": metrics.example_precision(Y, H), "EBR": metrics.example_recall(Y, H),
            "EBF": metrics.example_f1(Y, H), "MaF": metrics.macro_f1(Y, H), "MiP": metrics.micro_precision(Y, H),
            "MiR": metrics.micro_recall(Y, H),
            "MiF": metrics.micro_f1(Y, H), "hP": metrics.hierarchical_precision(Y, H, taxonomy),
            "hR": metrics.hierarchical_recall(Y, H, taxonomy), "hF": metrics.hierarchical_f1(Y, H, taxonomy),
        }  # fmt: skip
    both = np.asarray(Y.multiply(H).sum(axis=1)).ravel()
    sizes = np.diff(Y.indptr) + np.diff(H.indptr)
    return {key: f"{float(value):.4f}" for key, value in found.items()}, 2 * both / np.maximum(sizes, 1)


def _size(model: Any) -> int:
    parts = [model.weights_, *([model.stop_weights_] if hasattr(model, "stop_weights_") else [])]
    return int(sum((np.abs(getattr(W, "data", W) if hasattr(W, "indptr") else W) > 1e-7).sum() for W in parts))


def _tests(values: dict[str, np.ndarray], system: str) -> list[dict[str, str]]:
    found = []
    for other in values:
        if other != system:
            difference = values[system] - values[other]
            p = page.p_value(wilcoxon(difference).p_value)
            found.append({"system": system, "against": other, "EBF gain": f"{difference.mean():+.4f}", "p": p})
    return found
