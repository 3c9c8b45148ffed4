"""How many documents a second does each decoder decide, on one thread?

The tree is random, 20,000 documents x 1,000 nodes by default. The DAG is random too, of the size of the Gene Ontology
part that yeast data uses (4,134 nodes, about 5,840 edges, a dozen levels), or read from a file with ``--dag``. Scores
are normal around ``--mean``: at 0 half of the nodes are above zero and the cut has the most to do; scores of trained
models are mostly far below. ``--sets`` measures what decides on whole sets only: branching, n-best lists, rules,
smoothing.

    python -m benchmarks decode_speed --json
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from linnaeus import Taxonomy
from linnaeus.decoding import (
    BestBranching,
    BestClosure,
    BestLeaf,
    BestSubtree,
    Decoder,
    InstanceCut,
    RCut,
    Rules,
    SCut,
    Threshold,
    TopDown,
    best_sets,
    smoothed,
)


def run(arguments: list[str]) -> dict[str, Any]:
    """Time every decoder on the tree and the exact one on the DAG; the best of ``--repeats`` runs counts."""
    options = _parser().parse_args(arguments)
    rng = np.random.default_rng(options.seed)
    tree = random_tree(options.nodes, rng)
    dag = Taxonomy.read(options.dag) if options.dag else random_dag(4134, 1.41, rng)
    on_tree: list[Decoder] = [
        BestSubtree(),
        BestLeaf(),
        BestLeaf(path_sum=True),
        Threshold(),
        Threshold(repair="suppress"),
        TopDown(),
        RCut(3),
        RCut(2, per="parent"),
        SCut(theta=0.5, top=100),
        InstanceCut(weights=[0.01] * 101),
    ]
    results = []
    for mean in options.mean:
        S = _scores(options.docs, tree, mean, rng)
        if not options.sets:
            results += [_measure(decoder, S, tree, mean, options.repeats) for decoder in on_tree]
        results += [_measure(call, S, tree, mean, options.repeats, name) for name, call in _on_sets().items()]
        S = _scores(options.dag_docs, dag, mean, rng)
        results.append(_measure(BestClosure(), S, dag, mean, options.repeats))
        few = S[: max(1, options.dag_docs // 100)]
        results += [_measure(call, few, dag, mean, 1, name) for name, call in _on_dag().items()]
    result = {"benchmark": "decode_speed", "dtype": "float32", "threads": 1, "results": results}
    if options.json:
        print(json.dumps(result))
    else:
        line = "{decoder:60} {taxonomy:52} mean {mean:5.1f} {seconds:8.3f} s {docs_per_second:12,.0f} docs/s"
        print("\n".join(line.format(**row) for row in results))
    return result


def _on_sets() -> dict[str, Any]:
    """What decides on whole sets, exactly, on a tree."""
    branching = (-0.05, -0.3, -0.45, -0.6)
    return {
        "best set": lambda S, tax: best_sets(S, tax).best,
        "best set with branching": BestBranching(shared=branching),
        "10 best sets": lambda S, tax: best_sets(S, tax, k=10).best,
        "10 best sets with branching": lambda S, tax: (
            best_sets(S, tax, k=10, table=BestBranching(shared=branching).table(tax)).best
        ),
        "1 to 3 labels": lambda S, tax: best_sets(S, tax, rules=Rules(at_least=1, at_most=3)).best,
        "one label per top, leaves": lambda S, tax: (
            best_sets(S, tax, rules=Rules(one_per="tops", leaves_only=True, at_least=1)).best
        ),
        "smoothing": lambda S, tax: _above(smoothed(S, tax), tax),
    }


def _on_dag() -> dict[str, Any]:
    return {
        "3 best sets": lambda S, tax: best_sets(S, tax, k=3).best,
        "best set with branching": lambda S, tax: BestBranching(shared=(-0.05, -0.3, -0.45, -0.6), stop="anywhere")(
            S, tax
        ),
        "1 to 3 labels (integer program)": lambda S, tax: best_sets(S, tax, rules=Rules(at_least=1, at_most=3)).best,
        "smoothing": lambda S, tax: _above(smoothed(S, tax), tax),
    }


def _above(Z: np.ndarray, taxonomy: Taxonomy) -> Any:
    from scipy import sparse

    return sparse.csr_array(Z > 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="decode_speed", description=__doc__.splitlines()[0])
    parser.add_argument("--docs", type=int, default=20_000, help="documents on the tree")
    parser.add_argument("--nodes", type=int, default=1_000, help="nodes of the tree")
    parser.add_argument("--dag", help="a taxonomy file to use instead of the random DAG")
    parser.add_argument("--dag-docs", type=int, default=1_000, help="documents on the DAG")
    parser.add_argument("--mean", type=float, nargs="+", default=[0.0, -1.0], help="mean of the scores")
    parser.add_argument("--sets", action="store_true", help="only what decides on whole sets")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print JSON instead of lines")
    return parser


def random_tree(n_nodes: int, rng: np.random.Generator) -> Taxonomy:
    """A tree whose nodes have about five children."""
    edges = [(f"n{rng.integers(max(0, v // 6 - 3), v // 5 + 1)}", f"n{v}") for v in range(1, n_nodes)]
    return Taxonomy.from_edges(edges)


def random_dag(n_nodes: int, mean_parents: float, rng: np.random.Generator) -> Taxonomy:
    """A DAG of about a dozen levels where some nodes have two parents."""
    edges = []
    for v in range(1, n_nodes):
        n_parents = 1 + int(rng.random() < mean_parents - 1)
        parents = {int(p) for p in rng.integers(v // 4, max(v // 4 + 1, v // 2), size=n_parents)}
        edges += [(f"n{p}", f"n{v}") for p in parents]
    return Taxonomy.from_edges(edges, kind="dag")


def _scores(n_docs: int, taxonomy: Taxonomy, mean: float, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((n_docs, taxonomy.n_nodes), dtype=np.float32) + np.float32(mean)


def _measure(
    decoder: Any, S: np.ndarray, taxonomy: Taxonomy, mean: float, repeats: int, name: str | None = None
) -> dict[str, Any]:
    """Process time: one thread works, and on a shared machine others take what they take."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        Y = decoder(S, taxonomy)
        seconds.append(time.process_time() - start)
    return {
        "decoder": name or repr(decoder),
        "taxonomy": repr(taxonomy),
        "n_edges": taxonomy.n_edges,
        "n_docs": len(S),
        "mean": mean,
        "seconds": min(seconds),
        "docs_per_second": len(S) / min(seconds),
        "labels_per_doc": Y.nnz / len(S),
    }
