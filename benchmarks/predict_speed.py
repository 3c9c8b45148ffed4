"""How many documents a second get their best 5 nodes, and how large is the model, beside PECOS, napkinXC and Omikuji?

    python -m benchmarks predict_speed --rivals-python /path/to/other/venv/bin/python

wordnet_nouns: 16,606 test documents, 15,739 labels; one thread each; all documents at once and one at a time. Ours is
trained, pruned on the training documents (`prune(X=, y=, seen=True)`), saved and loaded again: what is timed and
weighed is what lies on disk, and its scores are exact. The rivals (``pip install libpecos napkinxc omikuji``, which
want older numpy) run in the interpreter of ``--rivals-python`` or LINNAEUS_RIVALS_PYTHON, by default in this one; a
rival that is not installed there is left out, and said so.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import linnaeus
from benchmarks import machine, problems
from benchmarks.rivals.worker import folder_bytes, precision, speeds, write_problem
from linnaeus import registry
from linnaeus.models.pruning import LinearWeights

RIVALS = ("pecos", "napkinxc", "omikuji")
_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


def run(arguments: list[str]) -> dict[str, Any]:
    options = _parser().parse_args(arguments)
    problem = problems.load(options.problem)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        rows = _ours(problem, options, folder)
        rows += _rivals(problem, options.rivals_python, options.rivals, folder)
    result = {"machine": machine.describe(), "problem": problem.name, "results": rows, **_verdict(rows)}
    if options.json:
        print(json.dumps(result))
    else:
        _show(result)
    return result


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks predict_speed", description=__doc__.splitlines()[0])
    parser.add_argument("--problem", default="wordnet_nouns", choices=["wordnet_nouns", "rcv1v2"])
    parser.add_argument("--model", default="OneVsRestSVM", help="a linear model of ours")
    parser.add_argument("--set", nargs="*", default=["C=1", "tol=0.01", "fit_intercept=false"], help="its parameters")
    parser.add_argument("--fit-jobs", type=int, default=1, help="threads of our training, which is not measured here")
    parser.add_argument("--trained", help="a folder with the unpruned model: used if it is there, else written")
    parser.add_argument(
        "--loss", type=float, default=0.002, help="what pruning may cost on halves of the training documents"
    )
    parser.add_argument("--rivals", nargs="*", default=list(RIVALS), choices=RIVALS)
    parser.add_argument("--rivals-python", default=os.environ.get("LINNAEUS_RIVALS_PYTHON", sys.executable))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    return parser


def _ours(problem: problems.Problem, options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """The model as trained, and pruned; both as they come back from disk."""
    model, seconds = _trained(problem, options, folder)
    whole = Path(options.trained or folder / "trained")
    rows = [{"system": options.model, "fit_seconds": seconds, **_measured(whole, problem, options.repeats)}]
    start = time.perf_counter()
    model.prune(X=problem.X, y=problem.Y, loss=options.loss, seen=True)
    prune_seconds = time.perf_counter() - start
    linnaeus.save(model, folder / "pruned")
    kept = {"prune_threshold": model.prune_threshold_, "n_weights": LinearWeights.of(model).size}
    del model
    pruned = {"system": f"{options.model}, pruned", "prune_seconds": prune_seconds, **kept}
    return [*rows, {**pruned, **_measured(folder / "pruned", problem, options.repeats)}]


def _trained(problem: problems.Problem, options: argparse.Namespace, folder: Path) -> tuple[Any, float | None]:
    target = Path(options.trained or folder / "trained")
    if target.is_dir():
        return linnaeus.load(target), None
    settings = {key: json.loads(value) for key, value in (entry.split("=") for entry in options.set)}
    model = registry.resolve(options.model)(problem.taxonomy, n_jobs=options.fit_jobs, random_state=0, **settings)
    start = time.perf_counter()
    model.fit(problem.X, problem.Y)
    seconds = time.perf_counter() - start
    linnaeus.save(model, target)
    return model, seconds


def _measured(folder: Path, problem: problems.Problem, repeats: int) -> dict[str, Any]:
    start = time.perf_counter()
    model = linnaeus.load(folder)
    load_seconds = time.perf_counter() - start
    speed = speeds(lambda model, X, k: model.top(X, k), model, lambda X: X, problem.X_test, repeats, 1000)
    nodes, _ = model.top_nodes(problem.X_test, 5)
    return {
        "load_seconds": load_seconds,
        **speed,
        "bytes": folder_bytes(folder),
        **precision(nodes, problem.Y_test),
    }


def _rivals(problem: problems.Problem, python: str, names: list[str], folder: Path) -> list[dict[str, Any]]:
    nodes = problem.label_nodes
    column_of = np.full(problem.taxonomy.n_nodes, len(nodes), np.int32)
    column_of[nodes] = np.arange(len(nodes))
    gold = problem.Y_test.copy()
    gold.indices = column_of[gold.indices]  # labels without training documents share a column that nobody answers
    write_problem(folder / "problem.npz", X=problem.X, Y=problem.Y[:, nodes], X_test=problem.X_test, Y_test=gold)
    rows = []
    for name in names:
        if subprocess.run([python, "-c", f"import {name}"], capture_output=True).returncode:
            print(f"{name} is not installed for {python}; left out", file=sys.stderr)
            continue
        worker = ["-m", "benchmarks.rivals.worker", name, str(folder / "problem.npz"), str(folder / name)]
        one_thread = {**os.environ, **dict.fromkeys(_LIMITS, "1")}
        done = subprocess.run([python, *worker], capture_output=True, text=True, env=one_thread)
        if done.returncode:
            raise RuntimeError(f"{name} failed:\n{done.stderr[-2000:]}")
        rows.append({"system": name, **json.loads(done.stdout.strip().splitlines()[-1])})
    return rows


def _verdict(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Whether the pruned model is faster than each rival, at most twice the smallest, and hardly less precise."""
    whole, pruned, *others = rows
    told: dict[str, Any] = {"p_at_1_lost": whole["p_at_1"] - pruned["p_at_1"]}
    if others:
        told["times_faster_than_the_fastest"] = pruned["docs_per_second"] / max(r["docs_per_second"] for r in others)
        told["times_faster_one_by_one"] = pruned["docs_per_second_one_by_one"] / max(
            r["docs_per_second_one_by_one"] for r in others
        )
        told["times_the_smallest"] = pruned["bytes"] / min(r["bytes"] for r in others)
        told["within_budget"] = bool(
            told["times_faster_than_the_fastest"] > 1
            and told["times_faster_one_by_one"] > 1
            and told["times_the_smallest"] <= 2
            and told["p_at_1_lost"] <= 0.2
        )
    return told


def _show(result: dict[str, Any]) -> None:
    print(f"{'system':30} {'docs/s':>10} {'one by one':>10} {'MB':>9} {'load s':>7} {'P@1':>6} {'P@5':>6} {'fit s':>7}")
    for row in result["results"]:
        fit = "" if row.get("fit_seconds") is None else f"{row['fit_seconds']:.1f}"
        speed = f"{row['docs_per_second']:10,.0f} {row['docs_per_second_one_by_one']:10,.0f}"
        size = f"{row['bytes'] / 1e6:9,.1f} {row['load_seconds']:7.2f}"
        print(f"{row['system']:30} {speed} {size} {row['p_at_1']:6.2f} {row['p_at_5']:6.2f} {fit:>7}")
    print("\n".join(f"{key}: {value}" for key, value in result.items() if key not in ("results",)))
