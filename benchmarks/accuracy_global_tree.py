"""How do flat, local and global passive-aggressive models of label sets compare? The seven systems of Murawaki (2013).

    python -m benchmarks accuracy_global_tree rcv1v2 | medline_mesh | mesh_d01_split

Most specific labels of every document, no constant feature. First as in the paper: C = 1, ten shards, last weights,
steps against the answer. Then with settings chosen on a held-out quarter of (at most 3,000) training documents, one
after the other by F of documents, never on test documents; every choice is printed. Tables of the test documents, of
the fit on training documents, and of Wilcoxon tests of paired F of DP-GT-BF against each other system.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.accuracy import page
from benchmarks.problems import NAMES, leaves_only, load
from linnaeus import EdgePA, GlobalTreeModel, OneVsRestPA, metrics
from linnaeus.data.splits import train_test_split
from linnaeus.decoding import ExactSearch, LocalSearch
from linnaeus.metrics.significance import wilcoxon

SYSTEMS = ("FLAT", "LS-ALL", "DP-ALL", "LS-SIB", "DP-SIB", "DP-GT", "DP-GT-BF")
LEARNED = {"LS-ALL": "ALL", "DP-ALL": "ALL", "LS-SIB": "SIB", "DP-SIB": "SIB"}  # of which model a system is a search
PAPER: dict[str, dict[str, Any]] = {
    "local": {"average": "none", "C": 1.0},
    "global": {"average": "none", "C": 1.0, "shards": 10, "update": "prediction", "branching_scale": 0.03},
}
LOCAL_STEPS: list[list[dict[str, Any]]] = [[{"average": "trajectory"}], [{"C": 0.1}, {"C": 0.01}]]
GLOBAL_STEPS: list[list[dict[str, Any]]] = [
    [{"update": "max_loss"}],
    [{"shards": s, "average": a} for s, a in ((10, "trajectory"), (2, "trajectory"), (1, "trajectory"), (1, "none"))],
    [{"C": 0.1}, {"C": 0.01}, {"C": 0.001}],
    [{"branching_scale": scale} for scale in (0.01, 0.1, 0.3)],
]
SLICE, PASSES = 3000, 4  # documents and passes of the selection


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks accuracy_global_tree", description=__doc__)
    parser.add_argument("problem", choices=NAMES)
    parser.add_argument("--settings", choices=["paper", "chosen", "both", "select"], default="both")
    parser.add_argument("--chosen", type=json.loads, help="settings of an earlier selection, as it printed them")
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--seen", type=int, default=2000, help="training documents on which the fit is measured")
    parser.add_argument("--values", help="npz file for F of documents, so that systems of several runs are tested")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    problem = leaves_only(load(options.problem))
    result: dict[str, Any] = {
        "benchmark": "accuracy_global_tree",
        "command": page.command("accuracy_global_tree", arguments),
        "machine": machine.describe(),
        "threads": options.threads,
        "passes": options.passes,
    }
    if options.settings != "paper" and options.chosen is None:
        options.chosen, result["selection"] = select(problem, options.threads)
        result["settings"] = options.chosen
        print(f"chosen: {json.dumps(options.chosen)}", file=sys.stderr, flush=True)
    known: dict[str, Any] = {}
    for name, settings in (("paper", PAPER), ("chosen", options.chosen)):
        if options.settings in (name, "both"):
            result[name] = _systems(problem, settings, name, options, known)
    print(json.dumps(result) if options.json else _told(result))
    return result


def _told(result: dict[str, Any]) -> str:
    parts = [page.heading(result)]
    if "selection" in result:
        parts += [page.table(result["selection"]), f"chosen: {json.dumps(result['settings'])}"]
    for name in ("paper", "chosen"):
        if name in result:
            parts.append(f"settings: {name}")
            parts += [page.table(result[name][key]) for key in ("rows", "fit", "tests") if result[name][key]]
    return "\n\n".join(parts)


# -- selection ---------------------------------------------------------------------------------------------------------


def select(problem: Any, threads: int) -> tuple[dict[str, dict[str, Any]], list[dict[str, str]]]:
    """Settings that do best on held-out training documents, one step after the other, and all that was tried."""
    rows = np.sort(np.random.default_rng(0).permutation(problem.X.shape[0])[:SLICE])
    X, Y = problem.X[rows], problem.Y[rows]
    train, held = train_test_split(Y, 0.25, random_state=0)
    chosen, told = {}, []
    for name, system, steps in (("local", "DP-ALL", LOCAL_STEPS), ("global", "DP-GT-BF", GLOBAL_STEPS)):
        best, settings = -1.0, dict(PAPER[name])
        for choices in [[{}], *steps]:
            now = settings
            for change in choices:
                tried = now | change
                model, seconds = _fitted(
                    LEARNED.get(system, system), problem.taxonomy, X[train], Y[train], tried, PASSES, threads
                )
                found, F = _measured(system, model, X[held], Y[held], problem.taxonomy)
                told.append({"system": system, **{key: str(value) for key, value in (PAPER["global"] | tried).items()}})
                if name == "local":
                    told[-1] |= {key: "" for key in PAPER["global"] if key not in tried}
                told[-1] |= {key: found[key] for key in ("EBF", "MiF", "hF")} | {"s": f"{seconds:.0f}"}
                print(told[-1], file=sys.stderr, flush=True)
                if F.mean() > best:
                    best, settings = float(F.mean()), tried
        chosen[name] = settings
    return chosen, told


# -- systems -----------------------------------------------------------------------------------------------------------


def _systems(
    problem: Any, settings: dict[str, Any], name: str, options: argparse.Namespace, known: dict[str, Any]
) -> dict[str, Any]:
    """Tables of all systems; ``known`` are rows of the same settings."""
    rows, fits, values = [], [], {}
    models: dict[str, Any] = {}
    for system in options.systems.split(","):
        own = settings["global" if system.startswith("DP-GT") else "local"]
        key = f"{system} {json.dumps(own, sort_keys=True)}"
        if key not in known:
            known[key] = _row(system, problem, own, options, models)
            print(*known[key][:2], file=sys.stderr, flush=True)
        row, fit, values[system] = known[key]
        rows.append(row)
        fits.append(fit)
    values = _joined(values, options.values and f"{options.values}.{name}.npz")
    return {"rows": rows, "fit": fits, "tests": _tests(values, "DP-GT-BF") if "DP-GT-BF" in values else []}


def _row(
    system: str, problem: Any, own: dict[str, Any], options: argparse.Namespace, models: dict[str, Any]
) -> tuple[dict[str, str], dict[str, str], np.ndarray]:
    learned = LEARNED.get(system, system)
    if learned not in models:
        models.clear()  # one at a time
        models[learned] = _fitted(learned, problem.taxonomy, problem.X, problem.Y, own, options.passes, options.threads)
    model, seconds = models[learned]
    row, values = _measured(system, model, problem.X_test, problem.Y_test, problem.taxonomy)
    size = f"{_size(model) / 1e6:.1f}"
    seen = slice(0, options.seen)
    fit = _measured(system, model, problem.X[seen], problem.Y[seen], problem.taxonomy)[0]
    errors = f"{model.search_errors(problem.X_test, problem.Y_test):.3f}" if system == "LS-ALL" else ""
    return (
        {"system": system, "training, s": f"{seconds:.0f}", "weights, million": size, **row},
        {"system": system, **{key: fit[key] for key in ("EBF", "MiF", "hF")}, "search errors, test": errors},
        values,
    )


def _joined(values: dict[str, np.ndarray], path: str | None) -> dict[str, np.ndarray]:
    """With those of earlier runs, which are kept in a file."""
    if path is None:
        return values
    if Path(path).exists():
        with np.load(path) as before:
            values = {**dict(before), **values}
    np.savez(path, **values)
    return values


def _fitted(
    name: str, taxonomy: Any, X: Any, Y: Any, settings: dict[str, Any], passes: int, threads: int
) -> tuple[Any, float]:
    shared = {"taxonomy": taxonomy, "max_iter": passes, "fit_intercept": False, "random_state": 0, "n_jobs": threads}
    model: Any
    if name == "FLAT":
        model = OneVsRestPA(**shared, **settings)
    elif name in ("ALL", "SIB"):
        model = EdgePA(training_set="all" if name == "ALL" else "siblings", search="local", **shared, **settings)
    else:
        model = GlobalTreeModel(branching=name == "DP-GT-BF", **shared, **settings)
    began = time.perf_counter()
    model.fit(X, Y)
    return model, time.perf_counter() - began


def _measured(system: str, model: Any, X: Any, Y: Any, taxonomy: Any) -> tuple[dict[str, str], np.ndarray]:
    search = {"LS": LocalSearch(), "DP": ExactSearch()}.get(system[:2]) if isinstance(model, EdgePA) else None
    H = taxonomy.frontier(model.answers(X, decoder=search, closed=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {
            "EBP": metrics.example_precision(Y, H), "EBR": metrics.example_recall(Y, H),
            "EBF": metrics.example_f1(Y, H), "MaP": metrics.macro_precision(Y, H), "MaR": metrics.macro_recall(Y, H),
            "MaF": metrics.macro_f1(Y, H), "MiP": metrics.micro_precision(Y, H), "MiR": metrics.micro_recall(Y, H),
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
