"""How long does the whole report on label sets take for a million documents over a hundred thousand nodes?

    python -m benchmarks evaluate_speed --json

Gold and predicted sets have 5 labels each; about half of the predicted labels are right and the others are drawn at
random. The taxonomy is a random tree of depth 6 whose levels grow by a constant factor.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from typing import Any

import numpy as np

from linnaeus import Taxonomy
from linnaeus.metrics import evaluate
from linnaeus.taxonomy.build import assemble
from linnaeus.taxonomy.closure import pattern


def random_tree(n_nodes: int, depth: int, rng: np.random.Generator) -> Taxonomy:
    """A root and ``depth`` levels; every node hangs under a random node of the level above."""
    growth = np.cumprod(np.full(depth, n_nodes ** (1.0 / depth)))
    sizes = np.maximum(1, (growth / growth.sum() * (n_nodes - 1)).astype(int))
    sizes[-1] += n_nodes - 1 - sizes.sum()
    starts = np.concatenate([[0, 1], 1 + np.cumsum(sizes)])
    parents = [rng.integers(starts[level], starts[level + 1], size) for level, size in enumerate(sizes)]
    return assemble([f"n{i}" for i in range(n_nodes)], np.concatenate(parents), np.arange(1, n_nodes))


def random_sets(n_docs: int, n_labels: int, taxonomy: Taxonomy, rng: np.random.Generator) -> tuple[Any, Any]:
    """Gold and predicted sets, about half of the predicted labels right."""
    gold = rng.integers(1, taxonomy.n_nodes, size=(n_docs, n_labels), dtype=np.int32)
    guess = rng.integers(1, taxonomy.n_nodes, size=(n_docs, n_labels), dtype=np.int32)
    predicted = np.where(rng.random((n_docs, n_labels)) < 0.5, gold, guess)
    sides = []
    for labels in (gold, predicted):
        Y = pattern(np.arange(n_docs + 1, dtype=np.int64) * n_labels, labels.ravel().copy(), taxonomy.n_nodes)
        Y.sum_duplicates()
        Y.data[:] = 1
        sides.append(Y)
    return sides[0], sides[1]


def peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def run(arguments: list[str]) -> dict[str, Any]:
    """Evaluate once and say how long it took and how much memory the process needed at most."""
    parser = argparse.ArgumentParser(prog="benchmarks evaluate_speed", description=__doc__.splitlines()[0])
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--labels", type=int, default=5)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--names", action="store_true", help="start from lists of names instead of 0/1 rows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)

    rng = np.random.default_rng(options.seed)
    taxonomy = random_tree(options.nodes, options.depth, rng)
    gold, predicted = random_sets(options.docs, options.labels, taxonomy, rng)
    if options.names:
        gold, predicted = taxonomy.labels(gold), taxonomy.labels(predicted)
    before = peak_gigabytes()
    start = time.perf_counter()
    report = evaluate(gold, predicted, taxonomy=taxonomy)
    seconds = time.perf_counter() - start
    result = {
        "benchmark": "evaluate_speed",
        "n_docs": options.docs,
        "n_nodes": options.nodes,
        "labels_per_side": options.labels,
        "depth": int(taxonomy.depth.max()),
        "from_names": options.names,
        "seconds": round(seconds, 2),
        "peak_gigabytes": round(peak_gigabytes(), 3),
        "peak_gigabytes_before": round(before, 3),
        "hierarchical_f1": round(float(report["hierarchical_f1"]), 6),
        "n_measures": len(report.scores),
    }
    result["within_budget"] = result["seconds"] <= 60 and result["peak_gigabytes"] <= 4
    print(json.dumps(result) if options.json else "\n".join(f"{name:24} {value}" for name, value in result.items()))
    return result


if __name__ == "__main__":
    import sys

    run(sys.argv[1:])
