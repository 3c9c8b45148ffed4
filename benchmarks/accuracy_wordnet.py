"""Do thousands of rare labels (wordnet_nouns) gain from the hierarchy? RRSVM beside a flat SVM on the same features.

    python -m benchmarks accuracy_wordnet --json
    python -m benchmarks accuracy_wordnet --quick      # C = 1 only

Sublinear TF-IDF of unit length, terms of at least two training documents, no constant feature, squared hinge. RRSVM
pulls along every edge of the DAG, the root towards 0, and gives every label a leaf of its own (``spawn="all"``); scores
are those of the leaves. P@1 and P@5 are over all test documents, macro-F1 is of the best label over all labels with
training documents. Once with C = 1 for both, as asked for, and once with the C of each that has the best P@1 on a tenth
of the training documents, held out, from 0.1, 0.3, 1, 3, 10. Figures of other systems are from the description of the
data: the same features, default settings.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import machine, problems
from benchmarks.accuracy import page
from benchmarks.accuracy.breakdown import by_level, by_size
from benchmarks.accuracy.figures import label_f1, paired
from benchmarks.accuracy.selection import Folds, choose, quiet
from linnaeus import registry
from linnaeus.metrics import bootstrap
from linnaeus.typing import CSR, IntArray

GRID = (0.1, 0.3, 1.0, 3.0, 10.0)
SYSTEMS: dict[str, dict[str, Any]] = {"OneVsRestSVM": {}, "RRSVM": {"spawn": "all"}}
FLOOR = {"p_at_1": 41.0, "p_at_5": 13.0, "macro_f1": 12.0}  # of RRSVM with C = 1
OTHERS = (  # system, P@1, P@5, macro-F1
    ("LIBLINEAR, one-vs-rest hinge, C = 1", 35.0, 11.5, 7.9),
    ("napkinXC", 38.7, 11.5, 9.8),
    ("PECOS", 40.0, 11.9, 11.1),
    ("Omikuji", 41.2, 12.2, 11.2),
)


def run(arguments: list[str]) -> dict[str, Any]:
    """Train both systems with C = 1 and with their own best C, and compare them."""
    options = _parser().parse_args(arguments)
    problem = problems.load("wordnet_nouns")
    chosen, held_out = _chosen(problem, options)
    results, best = [], {}
    for name in options.systems:
        for C in dict.fromkeys([1.0, chosen[name]]):
            row, best[name, C] = _measured(name, C, problem, options)
            results.append(row)
    comparisons = []
    if set(SYSTEMS) <= set(options.systems):
        for pair in dict.fromkeys([(1.0, 1.0), tuple(chosen[name] for name in SYSTEMS)]):
            flat, other = (best[name, C] for name, C in zip(SYSTEMS, pair, strict=True))
            comparisons.append({"C": f"{pair[1]:g} against {pair[0]:g}", **_compared(problem, flat, other)})
    result = {
        "benchmark": "accuracy_wordnet",
        "command": page.command("accuracy_wordnet", arguments),
        "machine": machine.describe(),
        "n_train": problem.X.shape[0],
        "n_test": problem.X_test.shape[0],
        "n_labels": len(problem.label_nodes),
        "threads": options.jobs,
        "loss": options.loss,
        "held_out": held_out,
        "results": results,
        "comparisons": comparisons,
        "within_budget": all(
            row[name] >= floor
            for row in results
            if row["system"] == "RRSVM" and row["C"] == 1
            for name, floor in FLOOR.items()
        ),
    }
    print(json.dumps(result) if options.json else markdown(result))
    return result


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks accuracy_wordnet", description=__doc__.splitlines()[0])
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--loss", default="squared_hinge", choices=["squared_hinge", "hinge"])
    parser.add_argument("--quick", action="store_true", help="C = 1 only")
    parser.add_argument("--tol", type=float, default=1e-2, help="certified relative gap of the joint problem")
    parser.add_argument("--flat-tol", type=float, default=1e-3, help="the same of every label of the flat model")
    parser.add_argument("--search-tol", type=float, default=2e-2, help="relative gap while C is chosen")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    return parser


def _make(name: str, problem: problems.Problem, tol: float, options: argparse.Namespace) -> Any:
    how = {"loss": options.loss, "tol": tol, "n_jobs": options.jobs, "random_state": 0}
    return registry.resolve(name)(problem.taxonomy, fit_intercept=False, **how, **SYSTEMS[name])


def _chosen(problem: problems.Problem, options: argparse.Namespace) -> tuple[dict[str, float], dict[str, Any]]:
    """The C of every system, and what was found on the held-out documents (in per cent)."""
    if options.quick:
        return dict.fromkeys(options.systems, 1.0), {}
    folds = Folds.of(problem.X, problem.Y, 0.1)
    chosen, held_out = {}, {}
    for name in options.systems:

        def quality(C: float, name: str = name) -> dict[str, float]:
            ((model, X),) = folds.models(lambda: _make(name, problem, options.search_tol, options), name, C)
            return {"p_at_1": _precision(model.top_nodes(X, 1)[0], folds.gold)}

        choice = choose(quality, GRID, name=name)
        folds.forget(name)
        chosen[name] = choice.best("p_at_1")
        held_out[name] = {f"{C:g}": 100 * found["p_at_1"] for C, found in choice.quality.items()}
    return chosen, held_out


def _measured(name: str, C: float, problem: problems.Problem, options: argparse.Namespace) -> tuple[Any, CSR]:
    """A row of the table, and the best label of every test document."""
    tol = options.tol if name == "RRSVM" else options.flat_tol
    model = _make(name, problem, tol, options).set_params(C=C)
    start = time.perf_counter()
    with quiet():
        model.fit(problem.X, problem.Y)
    seconds = time.perf_counter() - start
    nodes, _ = model.top_nodes(problem.X_test, 5)
    H = _only(nodes[:, 0], problem.taxonomy.n_nodes)
    right = _hits(nodes[:, :1], problem.Y_test)
    drawn = bootstrap(right.astype(float), n_resamples=2_000)
    assert drawn.interval is not None
    return {
        "system": name,
        "C": C,
        "p_at_1": 100 * float(right.mean()),
        "p_at_1_interval": [100 * end for end in drawn.interval],
        "p_at_5": 100 * _precision(nodes, problem.Y_test),
        "macro_f1": 100 * float(label_f1(problem.Y_test, H, problem.label_nodes).mean()),
        "seconds": seconds,
        "relative_gap": model.duality_gap_ / model.objective_,
    }, H


def _compared(problem: problems.Problem, flat: CSR, other: CSR) -> dict[str, Any]:
    return {
        "system": "RRSVM",
        "against": "OneVsRestSVM",
        **paired(problem.Y_test, other, flat, problem.label_nodes, by="document"),
        "by_level": by_level(problem.taxonomy, problem.Y, problem.Y_test, flat, other),
        "by_size": by_size(problem.Y, problem.Y_test, flat, other),
    }


def _hits(nodes: IntArray, Y: CSR) -> Any:
    """How many of the nodes of each document are gold."""
    rows = np.repeat(np.arange(len(nodes)), nodes.shape[1])
    return np.asarray(Y[rows, nodes.ravel()]).reshape(nodes.shape).sum(axis=1)


def _precision(nodes: IntArray, Y: CSR) -> float:
    return float(_hits(nodes, Y).mean() / nodes.shape[1])


def _only(nodes: IntArray, n_nodes: int) -> CSR:
    """One label per document as 0/1 rows."""
    indptr = np.arange(len(nodes) + 1)
    return sparse.csr_array((np.ones(len(nodes), np.int8), nodes, indptr), shape=(len(nodes), n_nodes))


def markdown(result: dict[str, Any]) -> str:
    """The page's tables."""
    main = [
        {
            "system": f"{row['system']}, {result['loss'].replace('_', ' ')}, C = {row['C']:g}",
            "P@1": page.interval(row["p_at_1"], row["p_at_1_interval"]),
            "P@5": page.number(row["p_at_5"]),
            "macro-F1": page.number(row["macro_f1"]),
            "fit s": page.number(row["seconds"]),
            "certified gap": f"{row['relative_gap']:.1g}",
        }
        for row in result["results"]
    ]
    main += [
        {"system": name, "P@1": page.number(p1), "P@5": page.number(p5), "macro-F1": page.number(macro)}
        for name, p1, p5, macro in OTHERS
    ]
    parts = [page.heading(result), page.table(main)]
    if result["held_out"]:
        curves = [{"system": name, **_curve(quality)} for name, quality in result["held_out"].items()]
        parts.append("P@1 on the held-out tenth of the training documents, by C:\n\n" + page.table(curves))
    if result["comparisons"]:
        titled = [{**row, "system": f"C = {row['C']}"} for row in result["comparisons"]]
        parts.append(page.tests(result["comparisons"], "documents"))
        parts.append("Macro-F1 by level:\n\n" + page.breakdown(titled, "by_level", "level"))
        parts.append("Macro-F1 by training documents:\n\n" + page.breakdown(titled, "by_size", "size"))
    return "\n\n".join(parts)


def _curve(quality: dict[str, float]) -> dict[str, str]:
    return {f"{C:g}": page.number(quality.get(f"{C:g}"), 2) for C in GRID}
