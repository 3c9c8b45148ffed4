"""How long does a pass of the global tree model take on MEDLINE with all of MeSH, and how sparse is the model?

    python -m benchmarks global_tree_speed

Ten shards on two threads, 11,066 training citations, all positions of MeSH that they use. The first pass begins with
weights of 0, so that later ones are timed, too. Budget: 30 s for a pass.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.accuracy import page
from benchmarks.problems import leaves_only, load
from linnaeus import GlobalTreeModel

BUDGET = 30.0


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks global_tree_speed", description=__doc__)
    parser.add_argument("--problem", default="medline_mesh")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    problem = leaves_only(load(options.problem))
    rows, slowest = [], 0.0
    for passes in (1, options.passes):
        model = GlobalTreeModel(
            problem.taxonomy,
            max_iter=passes,
            average="none",
            fit_intercept=False,
            n_jobs=options.threads,
            random_state=0,
        )
        began, processor = time.perf_counter(), time.process_time()
        model.fit(problem.X, problem.Y)
        seconds, processor = time.perf_counter() - began, time.process_time() - processor
        slowest = max(slowest, seconds / passes)
        W = model.weights_
        found = W.nnz if hasattr(W, "nnz") else int(np.count_nonzero(W))
        share = found / (W.shape[0] * W.shape[1])
        rows.append(
            {
                "passes": passes,
                "documents": problem.X.shape[0],
                "features": W.shape[0],
                "nodes": W.shape[1],
                "s": f"{seconds:.1f}",
                "s of the processor": f"{processor:.1f}",
                "s per pass": f"{seconds / passes:.1f}",
                "weights, million": f"{found / 1e6:.1f}",
                "share": f"{share:.3f}",
            }
        )
    result = {
        "benchmark": "global_tree_speed",
        "command": page.command("global_tree_speed", arguments),
        "machine": machine.describe(),
        "threads": options.threads,
        "rows": rows,
        "within_budget": slowest <= BUDGET,
    }
    print(json.dumps(result) if options.json else f"{page.heading(result)}\n\n{page.table(rows)}")
    return result
