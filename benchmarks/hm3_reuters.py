"""H-M3 on the CCAT branch of RCV1-v2 beside flat SVM, H-SVM and H-RLS: the setting of Rousu et al. (2006).

34 nodes, 2,500 training and 5,000 test documents drawn from all, so that more than half have no label; C = 1 for all,
no constant feature, hinge loss; answers of the flat SVM are repaired from the top. Level 0 is CCAT itself. Figures of
the paper stand beside ours: its documents are another sample, with another weighting of words.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import Any

import numpy as np

from benchmarks import machine, problems
from linnaeus import HM3, HierarchicalRLS, NodeSVM, OneVsRestSVM
from linnaeus.decoding import Threshold
from linnaeus.engine import single_blas_thread

REPAIRED = Threshold(0.0, repair="suppress", at_least_one=False)
PLAIN: dict[str, Any] = {"loss": "hinge", "fit_intercept": False, "random_state": 0}
MARGIN: dict[str, Any] = {"fit_intercept": False, "tol": 5e-3, "random_state": 0}

# zero-one loss, symmetric difference, precision, recall, F1, recall by level
PUBLISHED: dict[str, tuple[float, ...]] = {
    "SVM": (32.9, 0.61, 94.6, 58.4, 72.2, 89.4, 38.7, 49.3, 46.2),
    "H-SVM": (29.8, 0.57, 92.3, 63.4, 75.1, 89.4, 43.6, 61.5, 46.2),
    "H-RLS": (28.1, 0.55, 91.5, 65.4, 76.3, 89.1, 46.8, 64.8, 48.7),
    "H-M3 symmetric": (27.1, 0.58, 91.0, 64.1, 75.2, 83.0, 48.9, 63.2, 69.2),
    "H-M3 hierarchical, subtree": (27.9, 0.59, 85.4, 68.3, 75.9, 87.8, 53.1, 66.6, 76.9),
}


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks hm3_reuters", description=__doc__)
    parser.add_argument("--root", choices=["super", "paper"], default="paper")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    problem = problems.load("rcv1v2_ccat")
    with single_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [measure(name, model, problem) for name, model in models(problem.taxonomy, options.root)]
    result = {"machine": machine.describe(), "rows": rows, "within_budget": reached(rows)}
    if options.json:
        print(json.dumps(result))
        return result
    print(f"{'':28}   0/1   sym     P     R    F1  recall at levels 0-3         s")
    for row in rows:
        print(line(row["model"], row["figures"]), f"{row['seconds']:5.1f}")
        if row["model"] in PUBLISHED:
            print(line("  paper", PUBLISHED[row["model"]]))
    return result


def models(taxonomy: Any, root: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = [
        ("SVM", OneVsRestSVM(taxonomy, learn="closed", **PLAIN)),
        ("H-SVM", NodeSVM(taxonomy, **PLAIN)),
        ("H-RLS", HierarchicalRLS(taxonomy)),
        ("H-M3 symmetric", HM3(taxonomy, root=root, **MARGIN)),
    ]
    for scaling in ("uniform", "sibling", "subtree"):
        model = HM3(taxonomy, root=root, cost="hierarchical", scaling=scaling, **MARGIN)
        found.append((f"H-M3 hierarchical, {scaling}", model))
    return found


def measure(name: str, model: Any, problem: Any) -> dict[str, Any]:
    start = time.process_time()
    model.fit(problem.X, problem.taxonomy.close(problem.Y))
    seconds = time.process_time() - start
    H = model.answers(problem.X_test, decoder=REPAIRED if name == "SVM" else None, closed=True)
    return {"model": name, "seconds": seconds, "figures": figures(problem, H)}


def figures(problem: Any, H: Any) -> tuple[float, ...]:
    """In the order of `PUBLISHED`, percentages but for the symmetric difference."""
    Y, A = problem.taxonomy.close(problem.Y_test).toarray().astype(bool), H.toarray().astype(bool)
    depth, both = problem.taxonomy.depth, Y & A
    precision, recall = both.sum() / max(A.sum(), 1), both.sum() / Y.sum()
    by_level = [both[:, depth == d].sum() / Y[:, depth == d].sum() for d in range(1, int(depth.max()) + 1)]
    f1 = 2 * precision * recall / (precision + recall)
    wrong = (Y != A).sum(axis=1)
    shares = [100 * float(x) for x in (precision, recall, f1, *by_level)]
    return (100 * float((wrong > 0).mean()), float(wrong.mean()), *shares)


def reached(rows: list[dict[str, Any]]) -> bool:
    """Zero-one loss below both SVMs', recall at levels 2 and 3 above theirs, F1 within 2 points of 75 to 76."""
    by_name = {row["model"]: np.array(row["figures"]) for row in rows}
    ours, flat, local = (by_name[name] for name in ("H-M3 hierarchical, subtree", "SVM", "H-SVM"))
    beaten = all(ours[0] < other[0] and (ours[-2:] > other[-2:]).all() for other in (flat, local))
    return bool(beaten and all(73 <= by_name[name][4] for name in ("H-M3 symmetric", "H-M3 hierarchical, subtree")))


def line(name: str, values: Any) -> str:
    return f"{name:28} {values[0]:5.1f} {values[1]:5.2f} " + " ".join(f"{value:5.1f}" for value in values[2:])
