"""An epoch of the hierarchical perceptron over made-up documents: 1,000,000 x 50 non-zeros, 1,000 classes, depth 4.

Every node of a tree of depth 4 has words of its own; a document draws its words from the nodes on the path to its class
and from all words, which are as unequally frequent as words are (Zipf). Seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import machine
from linnaeus import HierarchicalPerceptron, Hieron, Taxonomy
from linnaeus.engine import single_blas_thread

BUDGET = 60.0  # seconds for one epoch


def tree(n_classes: int, depth: int) -> Taxonomy:
    """A tree with its leaves at one depth and as equal fan-outs as there are."""
    sizes = [max(1, round(n_classes ** (level / depth))) for level in range(1, depth)] + [n_classes]
    edges, above = [], ["root"]
    for level, size in enumerate(sizes):
        below = [f"{level}.{i}" for i in range(size)]
        edges += [(above[i * len(above) // size], node) for i, node in enumerate(below)]
        above = below
    return Taxonomy.from_edges(edges, root="root")


def documents(n_docs: int, n_features: int, nonzeros: int, tax: Taxonomy, seed: int) -> tuple[Any, Any]:
    """X (CSR of unit rows) and the label of every document as 0/1 rows."""
    rng = np.random.default_rng(seed)
    leaves = tax.leaves
    own = np.random.default_rng(10).integers(0, n_features, size=(tax.n_nodes, 20))  # words of nodes, always the same
    label = rng.integers(0, len(leaves), n_docs)
    paths = np.array([tax.path(int(leaf)) for leaf in leaves])
    common = np.exp(rng.random((n_docs, nonzeros)) * np.log(n_features)).astype(np.int64) - 1  # density as 1 / rank
    from_path = rng.random((n_docs, nonzeros)) < 0.3
    node = np.take_along_axis(paths[label], rng.integers(0, paths.shape[1], (n_docs, nonzeros)), axis=1)
    words = np.where(from_path, own[node, rng.integers(0, own.shape[1], (n_docs, nonzeros))], common)
    values = np.full(words.size, nonzeros**-0.5, np.float32)
    indptr = np.arange(n_docs + 1, dtype=np.int64) * nonzeros
    X = sparse.csr_array((values, words.astype(np.int32).ravel(), indptr), shape=(n_docs, n_features))
    Y = sparse.csr_array(
        (np.ones(n_docs, np.int8), leaves[label].astype(np.int32), np.arange(n_docs + 1)), shape=(n_docs, tax.n_nodes)
    )
    return X, Y


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks perceptron_speed", description=__doc__)
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=100_000)
    parser.add_argument("--nonzeros", type=int, default=50)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--model", default="averaged", choices=["averaged", "online", "hieron"])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    tax = tree(options.classes, options.depth)
    X, Y = documents(options.docs, options.features, options.nonzeros, tax, seed=0)
    kind = Hieron if options.model == "hieron" else HierarchicalPerceptron
    variant = {} if options.model == "hieron" else {"variant": options.model}
    model = kind(tax, max_iter=1, shuffle=False, set_size="mean", **variant)
    with single_blas_thread():
        start, clock = time.process_time(), time.perf_counter()
        model.fit(X, Y)
        seconds, elapsed = time.process_time() - start, time.perf_counter() - clock
    X_test, Y_test = documents(min(options.docs, 5000), options.features, options.nonzeros, tax, seed=1)
    result = {
        "machine": machine.describe(),
        "model": options.model,
        "documents": options.docs,
        "nonzeros": options.nonzeros,
        "features": options.features,
        "classes": options.classes,
        "nodes": tax.n_nodes,
        "depth": options.depth,
        "seconds": round(seconds, 2),
        "elapsed_seconds": round(elapsed, 2),
        "updates": model.n_updates_,
        "accuracy": round(float((model.top_nodes(X_test, 1)[0][:, 0] == Y_test.indices).mean()), 4),
        "peak_gigabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "within_budget": seconds < BUDGET,
    }
    print(json.dumps(result) if options.json else "\n".join(f"{k}: {v}" for k, v in result.items()))
    return result
