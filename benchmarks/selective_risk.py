"""Automatic coding: at most 5 or 10 % of the answered documents are to be wrong. Is that kept, at what coverage?

For every draw all documents are split at random into training (half), calibration (a quarter) and test (a quarter). A
flat SVM learns, `linnaeus.calibrate` with ``cv=None`` derives thresholds, and the test documents are answered with
leaves only, or with codes above the leaf where the leaf is uncertain. Reported: the share of wrong answers among the
answered ones, the share of draws in which it exceeds the promise by more than the sampling error of the test documents,
and coverage beside that of the best threshold in hindsight, which knows the test labels.

    python -m benchmarks selective_risk --problem newsgroups20 --draws 20 --json
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import machine, problems
from linnaeus import OneVsRestSVM, calibrate, metrics
from linnaeus.features import SpectrumFeatures

RISKS = (0.05, 0.1)
CONFIDENCE = 0.9
RULES: dict[str, dict[str, bool]] = {"leaves only": {"leaves_only": True}, "any depth": {}}


def run(arguments: list[str]) -> dict[str, Any]:
    """Draw, calibrate and measure."""
    parser = argparse.ArgumentParser(prog="benchmarks selective_risk", description=__doc__.splitlines()[0])
    parser.add_argument("--problem", default="newsgroups20")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print JSON instead of lines")
    options = parser.parse_args(arguments)
    X, Y, tax = _documents(options.problem)
    rows: dict[tuple[str, float], list[dict[str, float]]] = {}
    for draw in range(options.draws):
        order = np.random.default_rng(options.seed + draw).permutation(X.shape[0])
        train, held, test = np.split(order, [len(order) // 2, 3 * len(order) // 4])
        model = OneVsRestSVM(tax, C=1.0, random_state=0).fit(X[train], Y[train])
        calibrate(model, X[held], Y[held], cv=None, random_state=draw)
        labels, P = model.top_nodes(X[test], 1, probabilities=True)
        best = _best_coverage(labels[:, 0], P[:, 0], tax, Y[test])
        for name, rules in RULES.items():
            for risk in RISKS:
                found = model.decisions(X[test], risk, risk_of="answered", confidence=CONFIDENCE, rules=rules)
                wrong = metrics.selective_risk(Y[test], found.Y, tax)
                leaves = np.asarray(found.Y @ tax.is_leaf.astype(np.int64)) > 0
                row = {"realised": float(wrong), "coverage": wrong.n / len(test), "leaves": float(leaves.mean())}
                rows.setdefault((name, risk), []).append(row | {"answered": wrong.n, "best": best[risk]})
    result = {"benchmark": "selective_risk", "problem": options.problem, "draws": options.draws}
    result |= {
        "documents": X.shape[0],
        "confidence": CONFIDENCE,
        "rows": [_summary(*key, part) for key, part in rows.items()],
    }
    result |= machine.describe()
    if options.json:
        print(json.dumps(result))
    else:
        for row in result["rows"]:
            print(
                "  ".join(
                    f"{key} {value:.4g}" if isinstance(value, float) else str(value) for key, value in row.items()
                )
            )
    return result


def _documents(name: str) -> tuple[Any, Any, Any]:
    """All documents with one label; the split of the problem is not used."""
    problem = problems.load(name)
    if sparse.issparse(problem.X):
        X = sparse.csr_array(sparse.vstack([problem.X, problem.X_test]))
    else:  # sequences, as counts of their substrings
        X = SpectrumFeatures(4).fit_transform(np.concatenate([problem.X, problem.X_test]).tolist())
    Y = problem.taxonomy.frontier(sparse.csr_array(sparse.vstack([problem.Y, problem.Y_test], format="csr")))
    one = np.diff(Y.indptr) == 1
    return X[one], Y[one], problem.taxonomy


def _best_coverage(labels: np.ndarray, P: np.ndarray, tax: Any, Y: Any) -> dict[float, float]:
    """The largest coverage of best leaves at which the share of wrong ones on the test documents is the risk."""
    rows = metrics.coverage_risk_curve(Y, tax.indicator([[str(tax.names[v])] for v in labels]), P, tax, n_points=10**9)
    return {risk: max((row["coverage"] for row in rows if row["risk"] <= risk), default=0.0) for risk in RISKS}


def _summary(rules: str, risk: float, rows: list[dict[str, float]]) -> dict[str, Any]:
    realised = np.array([row["realised"] if row["answered"] else 0.0 for row in rows])  # no answer, no wrong one
    answered = np.array([row["answered"] for row in rows])
    beyond = realised > risk + 1.645 * np.sqrt(risk * (1 - risk) / np.maximum(answered, 1))
    return {
        "answers": rules,
        "promised": risk,
        "realised": float(np.mean(realised)),
        "largest": float(np.max(realised)),
        "above": float(np.mean(realised > risk)),
        "beyond": float(np.mean(beyond)),
        "coverage": float(np.mean([row["coverage"] for row in rows])),
        "leaves": float(np.mean([row["leaves"] for row in rows])),
        "best": float(np.mean([row["best"] for row in rows])),
    }
