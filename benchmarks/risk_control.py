"""Do calibrated probabilities hold on new documents, and are promised risks kept?

A flat SVM learns from one half of the training documents; a quarter fits the curves of the nodes, a quarter measures
the risk (`linnaeus.calibrate` with ``cv=None``). On the test documents: expected calibration error by level, before
the projection on coherent values and after; and for every risk the share of documents with any wrong node, with how
much was answered. The promise is an expectation over calibration and test documents. Where these come in their order
of time, as in RCV1-v2, the documents of later months are no longer exchangeable with those before; ``--shuffle`` draws
both from all documents.

    python -m benchmarks risk_control --problem rcv1v2 --json
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import machine, problems
from linnaeus import OneVsRestSVM, calibrate, metrics

RISKS = (0.02, 0.05, 0.1, 0.2, 0.3)


def run(arguments: list[str]) -> dict[str, Any]:
    """Calibrate on one part and measure on the test documents."""
    parser = argparse.ArgumentParser(prog="benchmarks risk_control", description=__doc__.splitlines()[0])
    parser.add_argument("--problem", default="rcv1v2")
    parser.add_argument("--method", default="isotonic")
    parser.add_argument("--shuffle", action="store_true", help="draw training and test documents from all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print JSON instead of lines")
    options = parser.parse_args(arguments)
    problem = problems.load(options.problem)
    X, Y, X_test, Y_test = problem.X, problem.Y, problem.X_test, problem.Y_test
    if options.shuffle:
        Y = sparse.csr_array(sparse.vstack([Y, Y_test], format="csr"))
        X = np.vstack([X, X_test]) if isinstance(X, np.ndarray) else sparse.csr_array(sparse.vstack([X, X_test]))
        order = np.random.default_rng(options.seed).permutation(X.shape[0])
        half = len(order) // 2
        X, Y, X_test, Y_test = X[order[:half]], Y[order[:half]], X[order[half:]], Y[order[half:]]
    order = np.random.default_rng(options.seed).permutation(X.shape[0])
    train, rest = np.array_split(order, 2)
    tax = problem.taxonomy
    model = OneVsRestSVM(tax, C=1.0, learn="closed", random_state=0).fit(X[train], Y[train])
    calibrate(model, X[rest], Y[rest], cv=None, method=options.method, random_state=options.seed)
    curve = model.calibrator_
    names = [str(name) for name in tax.names[curve.nodes]]
    S = np.concatenate(list(model.score_blocks(X_test)))
    bare = replace(curve, coherent="min", own=curve.own)._curves(_lifted(S, model, curve))
    P = curve(S, tax, model.nodes_)
    gold = tax.labels(Y_test)
    levels = [
        {"level": after["level"], "ece_before": before["ece"], "ece": after["ece"], "brier_before": before["brier"]}
        | {"brier": after["brier"]}
        for before, after in zip(
            metrics.calibration_by_level(gold, bare, tax, labels=names),
            metrics.calibration_by_level(gold, P, tax, labels=names),
            strict=True,
        )
    ]
    violations = [float(metrics.coherence_violations(part, tax, labels=names)) for part in (bare, P)]
    risks = [_at(risk, model, P, curve, Y_test) for risk in RISKS]
    result = {"benchmark": "risk_control", "problem": problem.name, "shuffle": options.shuffle, "levels": levels}
    result |= {"violations": violations, "risks": risks, "n_risk": model.risk_control_.n, **machine.describe()}
    if options.json:
        print(json.dumps(result))
    else:
        for row in [*levels, *risks]:
            print("  ".join(f"{key} {value:.4g}" for key, value in row.items()))
        print(f"children above their parents: {violations[0]:.2%} before, {violations[1]:.2%} after")
    return result


def _lifted(S: np.ndarray, model: Any, curve: Any) -> np.ndarray:
    from linnaeus.decoding.probability.coherence import lifted

    return lifted(S.astype(np.float64), model.taxonomy_, model.nodes_, own=curve.own)[:, curve.nodes]


def _at(risk: float, model: Any, P: np.ndarray, curve: Any, Y: Any) -> dict[str, float]:
    """What is answered at a risk: how often something is wrong, how many nodes, how many documents with none."""
    tax = model.taxonomy_
    control = model.risk_control_
    H = control.answers(P, control.threshold(risk, tax), tax, curve.nodes)
    gold = tax.close(Y, keep_root=False)
    right = H.multiply(gold)
    wrong = np.asarray(H.sum(axis=1) - right.sum(axis=1)).ravel() > 0
    return {
        "risk": risk,
        "any_wrong": float(wrong.mean()),
        "standard_error": float(np.sqrt(risk * (1 - risk) * (1 / len(wrong) + 1 / model.risk_control_.n))),
        "recall": float(right.nnz / max(gold.nnz, 1)),
        "nodes_per_document": H.nnz / H.shape[0],
        "empty": float((np.diff(H.indptr) == 0).mean()),
    }
