"""How fast H-M3 trains: seconds to a certified gap, the dynamic program beside a linear program, memory.

Rows: ``mesh`` (MeSH branch D01, symmetric difference and the subtree-scaled hierarchical loss, one thread), ``paper``
(the same with the paper's algorithm), ``program`` (update directions by dynamic program and by HiGHS) and
``rcv1v2`` (14,401 documents, 2 threads). Seconds are those of the processor, but for rcv1v2, where threads share the
work: there they are those of a clock. All with C = 1 and without a constant feature, as in the paper.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
import warnings
from typing import Any

import numpy as np

from benchmarks import machine, problems
from linnaeus import HM3
from linnaeus.engine import single_blas_thread

ROWS = ("mesh", "paper", "program", "rcv1v2")
COSTS = {"symmetric": {"cost": "symmetric"}, "subtree": {"cost": "hierarchical", "scaling": "subtree"}}


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks hm3_speed", description=__doc__)
    parser.add_argument("--row", choices=ROWS, default="mesh")
    parser.add_argument("--root", choices=["super", "paper"], default="paper")
    parser.add_argument("--repeats", type=int, default=3, help="best of several")
    parser.add_argument("--max-time", type=float, default=120.0, help="seconds, where 2%% or 1%% may not be reached")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    measure = {"mesh": mesh, "paper": paper, "program": program, "rcv1v2": rcv1v2}[options.row]
    with single_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # limits are reached on purpose
        rows = measure(options)
    result = {
        "machine": machine.describe(),
        "rows": rows,
        "within_budget": all(row.get("within_budget", True) for row in rows),
    }
    if options.json:
        print(json.dumps(result))
        return result
    for row in rows:
        print(
            "  ".join(
                f"{key}: {value:.4g}" if isinstance(value, float) else f"{key}: {value}" for key, value in row.items()
            )
        )
    return result


def mesh(options: argparse.Namespace) -> list[dict[str, Any]]:
    """2% within 20 s and 0.5% within 120 s are asked for with the symmetric difference."""
    problem = problems.load("mesh_d01")
    found = []
    for name, cost in COSTS.items():
        for tol, budget in ((0.02, 20.0), (0.005, 120.0)):
            seconds, model = best_of(problem, options.repeats, root=options.root, tol=tol, **cost)
            found.append({"problem": problem.name, "cost": name, "root": options.root, **figures(seconds, model)})
            if name == "symmetric":
                found[-1] |= {"budget": budget, "within_budget": seconds <= budget and model.duality_gap_ >= 0}
    return found


def paper(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Working sets, and steps of conditional gradient towards whole labellings."""
    problem = problems.load("mesh_d01")
    found = []
    for name, cost in COSTS.items():
        for tol in (0.02, 0.005):
            settings = {"algorithm": "conditional-gradient", "max_time": options.max_time, "max_iter": 10**6}
            seconds, model = best_of(problem, 1, root=options.root, tol=tol, **settings, **cost)
            found.append({"problem": problem.name, "cost": name, "root": options.root, **figures(seconds, model)})
    return found


def rcv1v2(options: argparse.Namespace) -> list[dict[str, Any]]:
    """1% within 60 s on two threads and 2 GB; the peak is that of the process, documents and their reading included."""
    problem = problems.load("rcv1v2")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found = []
    for name, cost in COSTS.items():
        start = time.perf_counter()
        limits = {"tol": 0.01, "n_jobs": 2, "max_time": options.max_time}
        model = HM3(problem.taxonomy, fit_intercept=False, random_state=0, **limits, **cost)
        model.fit(problem.X, problem.Y)
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        found.append({"problem": problem.name, "cost": name, **figures(seconds, model), "peak_gib": peak})
        found[-1]["peak_before_gib"] = before
        if name == "symmetric":
            found[-1] |= {"budget": 60.0, "within_budget": seconds <= 60 and model.duality_gap_ >= 0 and peak < 2}
    return found


def best_of(problem: Any, repeats: int, **settings: Any) -> tuple[float, HM3]:
    """Least seconds of the processor, and the model."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        model = HM3(problem.taxonomy, fit_intercept=False, random_state=0, **settings).fit(problem.X, problem.Y)
        seconds.append(time.process_time() - start)
    return min(seconds), model


def figures(seconds: float, model: HM3) -> dict[str, Any]:
    gap = model.duality_gap_ / model.objective_
    return {"tol": model.tol, "seconds": seconds, "gap": gap, "passes": model.n_iter_, "objective": model.objective_}


def program(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Best labellings of documents under random slopes on the tree of mesh_d01; both ways must agree."""
    from linnaeus.decoding.sets.closures import max_edge_labelling

    taxonomy = problems.load("mesh_d01").taxonomy
    G = np.random.default_rng(0).normal(size=(200, taxonomy.n_nodes, 4))
    G[:, taxonomy.parent < 0] = 0.0  # the root is free
    dynamic = min(timed(lambda: max_edge_labelling(G, taxonomy, consistent=False)) for _ in range(options.repeats))
    values = max_edge_labelling(G, taxonomy, consistent=False)[1]
    matrix, bounds = polytope(taxonomy)
    linear = timed(lambda: by_linear_program(G[:20], taxonomy, matrix, bounds, values[:20]))
    ratio = (linear / 20) / (dynamic / 200)
    row = {"problem": "mesh_d01", "dynamic_microseconds": dynamic / 200 * 1e6, "linear_microseconds": linear / 20 * 1e6}
    return [row | {"ratio": ratio, "within_budget": ratio >= 10}]


def timed(work: Any) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def polytope(taxonomy: Any) -> tuple[Any, Any]:
    """Equality constraints on the tables of the edges: each sums to 1, and neighbours agree on the node they share."""
    from scipy import sparse

    rows, columns, values, right = [], [], [], []

    def constrain(entries: dict[int, float], to: float) -> None:
        rows.extend([len(right)] * len(entries))
        columns.extend(entries)
        values.extend(entries.values())
        right.append(to)

    for v in range(taxonomy.n_nodes):
        p = int(taxonomy.parent[v])
        constrain({4 * v + u: 1.0 for u in range(4)}, 1.0)
        if p < 0:
            constrain({4 * v: 1.0, 4 * v + 1: 1.0}, 0.0)  # nothing is above the root
        else:  # p is on: in its own table, and in that of its child
            constrain({4 * v + 2: 1.0, 4 * v + 3: 1.0, 4 * p + 1: -1.0, 4 * p + 3: -1.0}, 0.0)
    matrix = sparse.csr_array((values, (rows, columns)), shape=(len(right), 4 * taxonomy.n_nodes))
    return matrix, np.array(right)


def by_linear_program(G: Any, taxonomy: Any, matrix: Any, right: Any, expected: Any) -> None:
    from scipy.optimize import linprog

    for g, value in zip(G, expected, strict=True):
        found = linprog(-g.ravel(), A_eq=matrix, b_eq=right, bounds=(0, None), method="highs")
        np.testing.assert_allclose(-found.fun, value, rtol=1e-6)
