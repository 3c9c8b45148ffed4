"""How long does one document wait: load and first answer in a new process, then predict, top and explain one by one.

    python -m benchmarks latency --problem demo
    python -m benchmarks latency --problem wordnet_nouns --set C=1 fit_intercept=false tol=0.01 --trained /tmp/wordnet

The model is trained, pruned on its training documents (``--whole``: not pruned), saved, and loaded by a process of its
own, which answers single test documents. Milliseconds by the clock, one thread; p50 and p99 of ``--calls`` calls.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import linnaeus
from benchmarks import machine, problems
from linnaeus import registry

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks latency", description=__doc__)
    parser.add_argument("--problem", default="demo")
    parser.add_argument("--model", default="RRSVM", help="a linear model")
    parser.add_argument("--set", nargs="*", default=[], help="its parameters, such as C=1")
    parser.add_argument("--whole", action="store_true", help="do not prune")
    parser.add_argument("--trained", help="folder of the model: used if it exists, otherwise written")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    problem = problems.load(options.problem)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(options.trained or Path(scratch) / "model")
        if not folder.is_dir():
            _train(problem, options, folder)
        documents = Path(scratch) / "documents.npz"
        sparse.save_npz(documents, sparse.csr_matrix(problem.X_test[: options.calls]))
        command = [sys.executable, "-m", "benchmarks.latency", str(folder), str(documents), str(options.calls)]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **dict.fromkeys(_THREADS, "1")}
        )
    result = {"machine": machine.describe(), "problem": problem.name, "model": options.model, **json.loads(done.stdout)}
    print(json.dumps(result) if options.json else "\n".join(f"{key}: {value}" for key, value in result.items()))
    return result


def _train(problem: problems.Problem, options: argparse.Namespace, folder: Path) -> None:
    settings = {key: json.loads(value) for key, value in (entry.split("=") for entry in options.set)}
    model = registry.resolve(options.model)(problem.taxonomy, random_state=0, **settings)
    model.fit(problem.X, problem.Y)
    if not options.whole:
        model.prune(X=problem.X, y=problem.Y, seen=True)
    linnaeus.save(model, folder)


def answer(folder: str, documents: str, n_calls: int) -> dict[str, Any]:
    """Load a model and answer single documents; milliseconds."""
    X = sparse.csr_array(sparse.load_npz(documents))
    start = time.perf_counter()
    model = linnaeus.load(folder)
    loaded = time.perf_counter()
    model.top(X[:1], 5)
    first = time.perf_counter()
    rows = [X[[i % X.shape[0]]] for i in range(n_calls)]
    calls: dict[str, Callable[[Any], object]] = {
        "predict": model.predict,
        "top": lambda row: model.top(row, 5),
        "explain": model.explain,
    }
    found = {"load_ms": 1e3 * (loaded - start), "load_and_first_answer_ms": 1e3 * (first - start)}
    for name, call in calls.items():
        call(rows[0])
        took = np.empty(len(rows))
        for i, row in enumerate(rows):
            start = time.perf_counter()
            call(row)
            took[i] = 1e3 * (time.perf_counter() - start)
        found |= {f"{name}_p50_ms": float(np.percentile(took, 50)), f"{name}_p99_ms": float(np.percentile(took, 99))}
    return {name: round(value, 3) for name, value in found.items()}


if __name__ == "__main__":
    print(json.dumps(answer(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
