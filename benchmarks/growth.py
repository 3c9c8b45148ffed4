"""How do training time and peak memory grow with documents, nodes and non-zeros? Doubling series, log-log slopes.

    python -m benchmarks growth --model OneVsRestSVM
    python -m benchmarks growth --model RRSVM --series nodes --doublings 5

Made-up documents: words drawn from a Zipf distribution, mixed with words of the document's node and of the nodes above
it, in a tree with eight children per node; labels are leaves, a few frequent and most rare. One size doubles, the
others stay. Every point is a process of its own with one thread. Seconds are those of the processor in `fit` (with one
thread the time on a clock, but not lengthened by what else runs); memory is the peak of the process beyond what it had
after its imports: data, training and model. Slopes are those of the three largest sizes: at small ones, what does not
grow at all is much of the cost, and a slope over all would flatter.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from benchmarks import machine

SERIES = ("docs", "nodes", "nonzeros")
BUDGET = 1.1


@dataclass(frozen=True)
class Size:
    """A made-up problem."""

    docs: int = 16_000
    nodes: int = 512  # that documents have as labels
    nonzeros: int = 40  # words drawn per document
    features: int = 20_000

    def doubled(self, series: str, times: int) -> Size:
        return replace(self, **{series: getattr(self, series) * 2**times})


def run(arguments: list[str]) -> dict[str, Any]:
    options = _parser().parse_args(arguments)
    if options.point:
        result = measure(options.model, options.set, Size(**json.loads(options.point)))
        print(json.dumps(result))
        return result
    start = Size(docs=options.docs, nodes=options.nodes, nonzeros=options.nonzeros, features=options.features)
    series = {name: _series(name, start, options) for name in options.series}
    slopes = {name: _slopes(name, points) for name, points in series.items()}
    result = {"machine": machine.describe(), "model": options.model, "set": options.set, "series": series}
    result |= {"slopes": slopes, "budget": BUDGET}
    result["within_budget"] = all(slope <= BUDGET for found in slopes.values() for slope in found.values())
    print(json.dumps(result)) if options.json else _show(result)
    return result


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks growth", description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="OneVsRestSVM")
    parser.add_argument("--set", nargs="*", default=["C=1", "tol=0.01", "fit_intercept=false"], help="its parameters")
    parser.add_argument("--series", nargs="+", default=list(SERIES), choices=SERIES)
    parser.add_argument("--doublings", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=1, help="processes per point; the best counts")
    for name, value in asdict(Size()).items():
        parser.add_argument(f"--{name}", type=int, default=value, help="at the beginning of the series")
    parser.add_argument("--point", help=argparse.SUPPRESS)  # a size as JSON: measure just this, in this process
    parser.add_argument("--json", action="store_true")
    return parser


def _series(name: str, start: Size, options: argparse.Namespace) -> list[dict[str, Any]]:
    return [_point(start.doubled(name, times), options) for times in range(options.doublings + 1)]


def _point(size: Size, options: argparse.Namespace) -> dict[str, Any]:
    """The best of several processes."""
    asked = ["--model", options.model, "--set", *options.set, "--point", json.dumps(asdict(size))]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    found = []
    for _ in range(options.repeats):
        command = [sys.executable, "-m", "benchmarks", "growth", *asked]
        done = subprocess.run(command, capture_output=True, text=True, env=one_thread)
        if done.returncode:
            raise RuntimeError(f"{size} failed:\n{done.stderr[-2000:]}")
        found.append(json.loads(done.stdout.strip().splitlines()[-1]))
    return {key: min(point[key] for point in found) for key in found[0]}


def measure(model: str, settings: list[str], size: Size, seed: int = 0) -> dict[str, Any]:
    """Make the problem, fit, and say what it took."""
    from linnaeus import registry

    kind = registry.resolve(model)
    before = _peak_megabytes()
    X, Y, taxonomy = made_up(size, np.random.default_rng(seed))
    parameters = {key: json.loads(value) for key, value in (entry.split("=") for entry in settings)}
    fitted = kind(taxonomy, random_state=0, n_jobs=1, **parameters)
    start = time.process_time()
    fitted.fit(X, Y)
    seconds = time.process_time() - start
    about = {"n_labels": len(fitted.nodes_), "n_entries": int(X.nnz), "n_iter": int(getattr(fitted, "n_iter_", 0))}
    return {**asdict(size), **about, "seconds": seconds, "megabytes": _peak_megabytes() - before}


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def made_up(size: Size, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """X (unit rows), Y (one leaf each) and the tree."""
    from scipy import sparse

    from linnaeus import Taxonomy

    parent = _tree(size.nodes)
    taxonomy = Taxonomy.from_edges([(f"n{p}", f"n{v}") for v, p in enumerate(parent) if p >= 0], root="n0")
    first_leaf = len(parent) - size.nodes
    # Every node once, as far as there are documents; the rest by a skewed distribution.
    leaves = np.concatenate([rng.permutation(size.nodes), _zipf(size.nodes, 0.8, max(0, size.docs - size.nodes), rng)])
    leaf = first_leaf + leaves[: size.docs]
    topics = rng.integers(0, size.features, (len(parent), 12))
    words = _zipf(size.features, 1.0, size.docs * size.nonzeros, rng).reshape(size.docs, -1)
    above, n_own = leaf.copy(), max(1, size.nonzeros // 6)
    for level in range(3):  # words of the leaf and of two nodes above it
        columns = slice(level * n_own, (level + 1) * n_own)
        words[:, columns] = topics[above[:, None], rng.integers(0, 12, (size.docs, n_own))]
        above = np.maximum(parent[above], 0)
    rows = np.repeat(np.arange(size.docs), words.shape[1])
    X = sparse.csr_array((np.ones(words.size, np.float32), (rows, words.ravel())), shape=(size.docs, size.features))
    X.data = np.log1p(X.data)
    X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1)), np.diff(X.indptr)).astype(np.float32)
    nodes = np.array([taxonomy.index(f"n{v}") for v in range(len(parent))])
    shape = (size.docs, taxonomy.n_nodes)
    Y = sparse.csr_array((np.ones(size.docs, np.int8), (np.arange(size.docs), nodes[leaf])), shape=shape)
    return X, Y, taxonomy


def _tree(n_leaves: int, children: int = 8) -> Any:
    """Parents of the nodes, -1 for the root; the last ``n_leaves`` are the leaves, all on the lowest level."""
    sizes = [n_leaves]
    while sizes[0] > 1:
        sizes.insert(0, -(-sizes[0] // children))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    levels = [np.array([-1])]
    levels += [starts[i] + np.arange(n) // children for i, n in enumerate(sizes[1:])]
    return np.concatenate(levels)


def _zipf(n: int, exponent: float, size: int, rng: np.random.Generator) -> Any:
    """Numbers below n, number i in proportion to 1 / (i + 10)^exponent."""
    weights = np.cumsum((np.arange(n) + 10.0) ** -exponent)
    return np.searchsorted(weights, rng.random(size) * weights[-1])


def _slopes(series: str, points: list[dict[str, Any]]) -> dict[str, float]:
    """Least squares on log-log: doubling the size multiplies by 2^slope; non-zeros are counted, not those asked for."""
    last = points[-3:]
    size = np.log2([point[{"nonzeros": "n_entries"}.get(series, series)] for point in last])
    return {what: float(np.polyfit(size, np.log2([p[what] for p in last]), 1)[0]) for what in ("seconds", "megabytes")}


def _show(result: dict[str, Any]) -> None:
    for name, points in result["series"].items():
        print(f"{name}:")
        for p in points:
            size = f"{p['docs']:>9,} docs {p['nodes']:>7,} nodes {p['n_entries']:>11,} non-zeros"
            print(f"  {size} {p['seconds']:9.2f} s {p['megabytes']:9,.0f} MB {p['n_iter']:5} iterations")
        slopes = result["slopes"][name]
        print(f"  slopes: seconds {slopes['seconds']:.2f}, megabytes {slopes['megabytes']:.2f}")
    print(f"within {result['budget']:g}: {'yes' if result['within_budget'] else 'no'}; {result['machine']}")
