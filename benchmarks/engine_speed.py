"""What do engines cost? The same fit on threads and on the workers of a local Ray cluster, in turn.

    python -m benchmarks engine_speed --problem rcv1v2 --workers 2 --json

The start of Ray and the first fit on it, in which the workers import the package and receive the documents, are timed
apart; the other fits go on with the same cluster, but send their documents anew.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from benchmarks import machine, problems
from linnaeus import registry
from linnaeus.engine import RayEngine, ThreadEngine


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks engine_speed", description=__doc__.splitlines()[0])
    parser.add_argument("--problem", default="rcv1v2", choices=["rcv1v2", "imclef07a", "wordnet_nouns"])
    parser.add_argument("--model", default="OneVsRestSVM")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--tasks", type=int, default=500, help="empty tasks, to time one")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    result = {"machine": machine.describe(), **measure(options)}
    print(json.dumps(result) if options.json else "\n".join(f"{k}: {v}" for k, v in result.items()))
    return result


def measure(options: argparse.Namespace) -> dict[str, Any]:
    problem = problems.load(options.problem)
    threads = ThreadEngine(options.workers)
    start = time.perf_counter()
    with RayEngine(options.workers) as ray:
        started = time.perf_counter() - start
        first, _ = fit(problem, options, ray)
        on_threads, on_ray = [], []
        for _ in range(options.repeats):
            seconds, one = fit(problem, options, threads)
            on_threads.append(seconds)
            seconds, other = fit(problem, options, ray)
            on_ray.append(seconds)
        empty = time_tasks(ray, options.tasks)
    return {
        "benchmark": "engine_speed",
        "problem": problem.name,
        "model": options.model,
        "workers": options.workers,
        "tol": options.tol,
        "threads_seconds": min(on_threads),
        "ray_seconds": min(on_ray),
        "ray_over_threads": min(on_ray) / min(on_threads),
        "ray_start_seconds": started,
        "ray_first_fit_seconds": first,
        "ray_milliseconds_per_task": 1000 * empty,
        "same_model": bool(np.array_equal(one.weights_, other.weights_)),
    }


def fit(problem: Any, options: argparse.Namespace, engine: Any) -> tuple[float, Any]:
    model = registry.resolve(options.model)(problem.taxonomy, tol=options.tol, engine=engine, random_state=0)
    start = time.perf_counter()
    model.fit(problem.X, problem.Y)
    return time.perf_counter() - start, model


def time_tasks(engine: Any, n_tasks: int) -> float:
    shared = np.zeros(10)
    list(engine.map(_nothing, range(10), shared))
    start = time.perf_counter()
    list(engine.map(_nothing, range(n_tasks), shared))
    return (time.perf_counter() - start) / n_tasks


def _nothing(shared: Any, task: int) -> int:
    return task
