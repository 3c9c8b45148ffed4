"""A simulated coder at the desk: what the order of the queue, suggestions and a promised risk are worth.

The coder answers from the gold labels; 5 % of the documents get a wrong label instead of a right one. Three questions:

- verdicts needed: a model learns from the verdicts every ``--step`` documents; documents come in the order of the
  desk (expected cost) or at random. Reported: hierarchical F1 of test documents, and how many verdicts in the order of
  the desk reach what random order has at the end.
- keys: how many keys a document takes with the suggestions of the last model, and without any.
- a promised risk: control documents are drawn at random and coded, the model codes the others at a promised risk;
  the realised risk is measured against the gold labels, coverage beside the best threshold in hindsight.

Probabilities, of which the order and the promise are made, are calibrated with the verdicts by cross-validation, as
those of models that `linnaeus train` or the desk makes.

    python -m benchmarks desk --problem demo --verdicts 2000 --runs 20 --json
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine, problems
from linnaeus import OneVsRestLogistic, calibrate, metrics
from linnaeus.data import Dataset
from linnaeus.decoding.probability.risk import CONFIDENCE, fit_risk
from linnaeus.serve.models import ServedModel
from linnaeus.serve.scoring import usefulness

MISTAKES, CONTROLS = 0.05, 300
PROMISES = ((0.05, MISTAKES), (0.05, 0.0), (0.1, MISTAKES), (0.1, 0.0))  # risk, share of wrong control documents
DIGITS = 9  # suggestions that a digit chooses
SEARCH = 5  # keys of a search: "/", three letters, Enter


def run(arguments: list[str]) -> dict[str, Any]:
    """Simulate, measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks desk", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--problem", default="demo")
    parser.add_argument("--verdicts", type=int, default=2000)
    parser.add_argument("--step", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--runs", type=int, default=20, help="draws of control documents")
    parser.add_argument("--parts", nargs="+", choices=("order", "risk"), default=["order", "risk"])
    parser.add_argument("--test", type=int, help="only the first test documents of a random order")
    parser.add_argument("--best", type=int, default=0, help="measure the best labels instead of the answers")
    parser.add_argument("--risks", type=int, default=len(PROMISES), help="number of promises that are measured")
    parser.add_argument("--json", action="store_true", help="print JSON instead of lines")
    options = parser.parse_args(arguments)
    problem = problems.load(options.problem)
    if options.test:
        kept = np.random.default_rng(3).permutation(problem.X_test.shape[0])[: options.test]
        problem = replace(problem, X_test=problem.X_test[kept], Y_test=problem.Y_test[kept])
    result: dict[str, Any] = {"benchmark": "desk", "problem": problem.name, "mistakes": MISTAKES}
    if "order" in options.parts:
        result |= _order(problem, options)
    if "risk" in options.parts:
        rows, coded = _first(problem, options.verdicts, 0), _coded(problem.Y, problem.taxonomy, 0)
        model = calibrate(_fitted(problem, rows, coded), problem.X[rows], coded[rows])
        result["risk"] = [_promises(model, problem, options.runs, *case) for case in PROMISES[: options.risks]]
    result |= machine.describe()
    print(json.dumps(result) if options.json else "\n".join(f"{name}: {value}" for name, value in result.items()))
    return result


def _order(problem: Any, options: Any) -> dict[str, Any]:
    """Both orders of the queue, and the keys with the last model of the desk."""
    curves: dict[str, list[list[float]]] = {"random": [], "desk": []}
    model = None
    for seed in range(options.seeds):
        for order, found in curves.items():
            curve, model = _curve(problem, order, options, seed)
            found.append(curve)
    mean = {order: np.mean(found, axis=0) for order, found in curves.items()}
    at = np.arange(1, len(mean["random"]) + 1) * options.step
    reached = np.flatnonzero(mean["desk"] >= mean["random"][-1])
    return {
        "verdicts": at.tolist(),
        **{order: np.round(curve, 4).tolist() for order, curve in mean.items()},
        "reached_with": int(at[reached[0]]) if len(reached) else None,
        "keys": _keys(model, problem),
    }


def _first(problem: Any, n: int, seed: int) -> Any:
    """Documents in a random order."""
    return np.random.default_rng([seed, 0]).permutation(problem.X.shape[0])[:n]


def _fitted(problem: Any, rows: Any, coded: Any) -> Any:
    return OneVsRestLogistic(problem.taxonomy, random_state=0).fit(problem.X[rows], coded[rows])


def _coded(Y: Any, taxonomy: Any, seed: int, mistakes: float = MISTAKES) -> Any:
    """Labels as the coder gives them: in a share of the documents a sibling, or another label, replaces a right one."""
    rng = np.random.default_rng([seed, 1])
    labels = np.flatnonzero(np.asarray(Y.sum(axis=0)).ravel())
    coded = Y.tolil(copy=True)
    for i in np.flatnonzero(rng.random(Y.shape[0]) < mistakes):
        own = coded.rows[i]
        right = int(rng.choice(own))
        parent = taxonomy.parents(right)
        near = np.intersect1d(taxonomy.children(int(parent[0])), labels) if len(parent) else labels
        others = np.setdiff1d(near, own)
        others = others if len(others) else np.setdiff1d(labels, own)
        coded[i, right], coded[i, int(rng.choice(others))] = 0, 1
    return coded.tocsr()


def _curve(problem: Any, order: str, options: Any, seed: int) -> tuple[list[float], Any]:
    """Hierarchical F1 after every step, and the last model."""
    most, step = options.verdicts, options.step
    coded = _coded(problem.Y, problem.taxonomy, seed)
    left = _first(problem, problem.X.shape[0], seed)
    chosen, left = left[:step], left[step:]
    values = []
    while True:
        model = _fitted(problem, chosen, coded)
        answers = _best(model, problem, options.best) if options.best else model.answers(problem.X_test)
        values.append(float(metrics.hierarchical_f1(problem.Y_test, answers, problem.taxonomy)))
        if len(chosen) + step > min(most, problem.X.shape[0]):
            return values, model
        if order == "desk":
            calibrate(model, problem.X[chosen], coded[chosen])
            costs = _costs(model, problem, left)
            left = left if costs is None else left[np.argsort(-costs, kind="stable")]
        chosen, left = np.concatenate([chosen, left[:step]]), left[step:]


def _best(model: Any, problem: Any, k: int) -> Any:
    """The k best labels of each test document."""
    nodes, _ = model.top_nodes(problem.X_test, k)
    return problem.taxonomy.indicator([[str(problem.taxonomy.names[v]) for v in row] for row in nodes])


def _costs(model: Any, problem: Any, rows: Any) -> Any:
    """The expected cost of the answers, by which the queue of the desk is ordered; None where its order is random."""
    served = ServedModel("model", Path(), model, "", (0, 0, 0))
    X = problem.X[rows]
    answers = [list(labels) for labels in problem.taxonomy.labels(model.answers(X))]
    return usefulness(served, Dataset(X=X), answers)


def _keys(model: Any, problem: Any) -> dict[str, float]:
    """Mean number of keys of a document with several labels: every change of the suggested set, and Enter."""
    nodes, _ = model.top_nodes(problem.X_test, DIGITS)
    answers = model.answers(problem.X_test)
    with_help, without, one_key = [], [], 0
    for i in range(len(nodes)):
        gold = set(problem.Y_test[[i]].indices.tolist())
        shown, suggested = set(nodes[i].tolist()), set(answers[[i]].indices.tolist())
        changed = gold ^ suggested
        with_help.append(1 + sum(1 if v in shown else SEARCH for v in changed))
        without.append(1 + SEARCH * len(gold))
        one_key += not changed
    found = {"with_suggestions": np.mean(with_help), "without": np.mean(without), "one_key": one_key / len(nodes)}
    return {name: round(float(value), 3) for name, value in found.items()}


def _promises(model: Any, problem: Any, runs: int, risk: float, mistakes: float) -> dict[str, float]:
    """Realised risk and coverage at a promised risk, over draws of control documents."""
    taxonomy, n_docs = problem.taxonomy, problem.X_test.shape[0]
    keep = model.calibrator_.nodes
    P = np.asarray(model.node_probabilities(problem.X_test))[:, keep]
    gold = taxonomy.close(problem.Y_test, keep_root=False)
    realised, coverage, best = [], [], []
    for seed in range(runs):
        order = np.random.default_rng([seed, 2]).permutation(n_docs)
        controls, rest = order[:CONTROLS], order[CONTROLS:]
        said = taxonomy.close(_coded(problem.Y_test[controls], taxonomy, seed, mistakes), keep_root=False)
        control = fit_risk(P[controls], said, keep, ordered_by=model.risk_control_)
        threshold = control.threshold(risk, taxonomy, of="answered", confidence=CONFIDENCE)
        wrong, answered = _wrong(control, P[rest], gold[rest], taxonomy, keep, threshold)
        realised.append(wrong.sum() / max(1, answered.sum()))
        coverage.append(answered.mean())
        best.append(_best_coverage(control, P[rest], gold[rest], taxonomy, keep, risk))
    above = np.mean(np.array(realised) > risk)
    found = {
        "promised": risk,
        "control_mistakes": mistakes,
        "realised": np.mean(realised),
        "largest": np.max(realised),
        "above": above,
    }
    found |= {"coverage": np.mean(coverage), "best_coverage": np.mean(best), "controls": CONTROLS, "runs": runs}
    return {name: round(float(value), 4) for name, value in found.items()}


def _wrong(control: Any, P: Any, gold: Any, taxonomy: Any, nodes: Any, threshold: float) -> tuple[Any, Any]:
    """Which documents are answered wrongly, and which are answered."""
    Y = control.answers(P, threshold, taxonomy, nodes, None)
    inside = np.asarray(Y.multiply(gold).sum(axis=1)).ravel()
    size = np.diff(Y.indptr)
    return inside < size, size > 0


def _best_coverage(control: Any, P: Any, gold: Any, taxonomy: Any, nodes: Any, risk: float) -> float:
    """The largest coverage of a threshold at which the risk is kept, which knows the gold labels."""
    found = 0.0
    highest = control.candidates(P, taxonomy, nodes).max(axis=1)
    for threshold in np.unique(highest):
        wrong, answered = _wrong(control, P, gold, taxonomy, nodes, float(threshold))
        if wrong.sum() <= risk * answered.sum():
            found = max(found, float(answered.mean()))
    return found
