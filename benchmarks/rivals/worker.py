"""One rival in an interpreter of its own: ``python -m benchmarks.rivals.worker NAME PROBLEM.npz FOLDER``.

The rivals need other versions of numpy and scipy than we do, so they run in an environment of their own, one thread
each. A rival is a module with ``train(X, Y, folder)``, ``load(folder)``, ``prepare(X)`` (documents as it takes them,
outside the clock) and ``top(model, documents, k)``, which gives k columns per document, best first. The last line
printed is JSON. Nothing of linnaeus is imported here.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def measure(
    rival: Any, problem: dict[str, Any], folder: Path, repeats: int = 3, n_single: int = 1000
) -> dict[str, Any]:
    """Seconds to train, documents per second, bytes on disk, and precision of the best."""
    start = time.perf_counter()
    rival.train(problem["X"], problem["Y"], str(folder))
    fit_seconds = time.perf_counter() - start
    start = time.perf_counter()
    model = rival.load(str(folder))
    load_seconds = time.perf_counter() - start
    speed = speeds(rival.top, model, rival.prepare, problem["X_test"], repeats, n_single)
    columns = rival.top(model, rival.prepare(problem["X_test"]), 5)
    return {
        "fit_seconds": fit_seconds,
        "load_seconds": load_seconds,
        **speed,
        "bytes": folder_bytes(folder),
        **precision(columns, problem["Y_test"]),
    }


def speeds(top: Any, model: Any, prepare: Any, X: Any, repeats: int, n_single: int) -> dict[str, float]:
    """Documents per second, all at once and one at a time; the best of several runs."""
    batch, singles = prepare(X), [prepare(X[i : i + 1]) for i in range(min(n_single, X.shape[0]))]
    top(model, batch, 5)  # lazy parts are made
    seconds: dict[str, list[float]] = {"batch": [], "single": []}
    for _ in range(repeats):
        start = time.perf_counter()
        top(model, batch, 5)
        seconds["batch"].append(time.perf_counter() - start)
        start = time.perf_counter()
        for one in singles:
            top(model, one, 5)
        seconds["single"].append(time.perf_counter() - start)
    return {
        "docs_per_second": X.shape[0] / min(seconds["batch"]),
        "docs_per_second_one_by_one": len(singles) / min(seconds["single"]),
    }


def precision(columns: Any, Y: Any) -> dict[str, float]:
    """P@1 and P@5 in percent, over all documents."""
    gold = map(set, np.split(Y.indices, Y.indptr[1:-1]))
    hits = np.array([[c in labels for c in row] for row, labels in zip(columns, gold, strict=True)])
    return {"p_at_1": 100 * float(hits[:, 0].mean()), "p_at_5": 100 * float(hits.mean())}


def folder_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def read_problem(path: str) -> dict[str, Any]:
    """X, Y (columns are the labels of the training documents), X_test, Y_test as CSR matrices."""
    from scipy import sparse

    arrays = np.load(path)
    return {
        key: sparse.csr_matrix(
            tuple(arrays[f"{key}_{part}"] for part in ("data", "indices", "indptr")), shape=arrays[f"{key}_shape"]
        )
        for key in ("X", "Y", "X_test", "Y_test")
    }


def write_problem(path: Path, **matrices: Any) -> None:
    """The file that `read_problem` reads."""
    arrays = {}
    for key, matrix in matrices.items():
        parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
        arrays.update({f"{key}_{part}": np.asarray(value) for part, value in parts.items()})
    np.savez(path, **arrays)


if __name__ == "__main__":
    name, problem_file, target = sys.argv[1:4]
    module = importlib.import_module(f"benchmarks.rivals.{name}")
    print("\n" + json.dumps(measure(module, read_problem(problem_file), Path(target))))
