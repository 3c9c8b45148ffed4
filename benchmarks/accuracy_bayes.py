"""Do learned precisions pay? HBLR (M1-M3, map, variational, flat), CorrMNL and OrthogonalTransfer beside Table VII.

    python -m benchmarks accuracy_bayes --json                                  imclef07a, the 63 leaves
    python -m benchmarks accuracy_bayes --choices                               the open choices, by held-out images
    python -m benchmarks accuracy_bayes --problem newsgroups15                  beside RRLogistic and RRSVM
    python -m benchmarks accuracy_bayes --problem rcv1v2                        the same with label sets
    python -m benchmarks accuracy_bayes --problem wordnet_nouns --jobs 2        the tree of first parents

HBLR has no C: its priors come from the data. What is open (covariances, constant feature, width of the priors, ...) is
tried with --choices on half of the training documents, held out; C of the others is chosen on a fifth. Macro-F1 is over
all labels with training documents; brackets are 95 % intervals over the test documents. --choices also says what
macro-F1 would be on parts of the held-out images with as many images of every label as the test set has.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import machine, problems
from benchmarks.accuracy import page
from benchmarks.accuracy.figures import figures, label_f1, paired
from benchmarks.accuracy.selection import quiet
from linnaeus import registry
from linnaeus.data.splits import train_test_split
from linnaeus.metrics import micro_f1

# micro-F1 / macro-F1 on CLEF in Tables II, III and VII
PAPER = {
    "M1-map": (80.88, 55.53), "M2-map": (80.25, 54.76), "M3-map": (81.41, 59.65),
    "M1-var": (81.21, 56.67), "M2-var": (79.92, 51.23), "M3-var": (81.61, 59.67),
    "M1-flat": (79.82, 52.13), "M2-flat": (77.83, 48.78), "M3-flat": (80.52, 55.23),
    "CorrMNL": (81.10, 55.59), "OrthogonalTransfer": (73.84, 37.12),
    "RRLogistic": (80.12, 55.83), "RRSVM": (80.02, 53.92), "SoftmaxRegression": (80.52, 54.76),
}  # fmt: skip
FLOOR = {"M3-map": (80.0, 52.0)}
HELD_OUT_C = {
    "RRLogistic": [0.1, 1.0, 10.0],
    "RRSVM": [0.01, 0.1, 1.0],
    "SoftmaxRegression": [0.03, 0.1, 0.3],
    "OrthogonalTransfer": [1e-3, 0.01, 0.1, 1.0],
}
HELD_OUT_C_TEXT = {"RRSVM": [0.3, 1.0, 3.0, 10.0], "RRLogistic": [1.0, 10.0, 30.0, 100.0]}
CHOICES: list[dict[str, Any]] = [
    {},
    {"covariance": "diagonal"},
    {"fit_intercept": False},
    {"prior_scale": 0.1},
    {"prior_scale": 10.0},
    {"prior_scale": 100.0},
    {"prior": "logistic"},
    {"likelihood": "binary"},
    {"learn_precisions": False},
    {"max_iter": 2},
    {"max_iter": 5},
    {"flat": True},
    {"model": "M1"},
    {"model": "M2"},
    {"model": "M2", "covariance": "diagonal"},
    {"inference": "variational"},
]
TEXT_CHOICES: list[dict[str, Any]] = [
    {},
    {"prior_scale": 0.1},
    {"prior_scale": 0.01},
    {"prior_scale": 1e-3},
    {"prior_scale": 1e-4},
    {"prior": "logistic"},
    {"model": "M1"},
]


def run(arguments: list[str]) -> dict[str, Any]:
    """Fit and test every system, or look at the open choices."""
    options = _parser().parse_args(arguments)
    problem = _load(options.problem)
    rows = _systems(problem, options) if options.choices is None else _choices(problem, options)
    result = {
        "benchmark": "accuracy_bayes",
        "command": page.command("accuracy_bayes", arguments),
        "machine": machine.describe(),
        "threads": options.jobs,
        "n_train": problem.X.shape[0],
        "n_labels": len(problem.label_nodes),
        **rows,
        "within_budget": all(row.get("within", True) for row in rows["results"]),
    }
    print(json.dumps(result) if options.json else markdown(result))
    return result


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks accuracy_bayes", description=__doc__.splitlines()[0])
    names = ("imclef07a", "newsgroups15", "rcv1v2", "wordnet_nouns")
    parser.add_argument("--problem", default="imclef07a", choices=names)
    parser.add_argument("--systems", nargs="*", default=None, choices=list(PAPER), metavar="NAME")
    parser.add_argument("--choices", nargs="*", type=int, default=None, help="open choices, all or some, held out")
    parser.add_argument("--C", nargs="*", default=[], metavar="NAME=C", help="found before, instead of by a fifth")
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--max-iter", type=int, default=100)
    parser.add_argument("--max-time", default=None, help="of HBLR, such as 15m")
    parser.add_argument("--prior-scale", type=float, default=1.0, help="of HBLR; chosen with --choices")
    parser.add_argument("--held-out", type=float, default=0.5, help="share of the training documents, for --choices")
    parser.add_argument("--iterations", type=int, default=2500, help="of CorrMNL; the first two fifths burn in")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    return parser


def _load(name: str) -> problems.Problem:
    return problems.leaves_only(problems.load(name))


def _make(system: str, problem: problems.Problem, options: argparse.Namespace, **more: Any) -> Any:
    if system[:1] == "M" and system[2:3] == "-":
        how = {"tol": options.tol, "max_iter": options.max_iter, "n_jobs": options.jobs, "parents": "first"}
        how |= {"max_time": options.max_time, "prior_scale": options.prior_scale}
        settings = {"model": system[:2], **how, **more}
        settings["posterior"] = problem.name != "wordnet_nouns"  # as large as the weights
        inference = "variational" if system.endswith("var") else "map"
        return registry.resolve("HBLR")(problem.taxonomy, inference=inference, flat=system.endswith("flat"), **settings)
    kind = registry.resolve(system)
    settings = {"random_state": 0, "n_jobs": options.jobs, **more}
    if system == "CorrMNL":
        settings |= {"n_iter": options.iterations, "burn_in": options.iterations * 2 // 5, "n_leapfrog": 20}
    return kind(problem.taxonomy, **settings)


def _systems(problem: problems.Problem, options: argparse.Namespace) -> dict[str, Any]:
    chosen = options.systems
    if chosen is None:
        small = problem.name == "imclef07a"
        slow = ("OrthogonalTransfer", "CorrMNL", "M1-var", "M2-var", "M3-var")
        chosen = list(PAPER) if small else [name for name in PAPER if name in ("M3-map", "RRLogistic", "RRSVM")]
        chosen = [name for name in chosen if name not in slow] + [name for name in chosen if name in slow]
    results, answers = [], {}
    for system in chosen:
        more = {"C": _held_out_C(system, problem, options)} if system in HELD_OUT_C else {}
        row, answers[system] = _measured(system, problem, options, more)
        results.append(row)
        told = f"{system}: micro-F1 {row['micro_f1']:.2f}, macro-F1 {row['macro_f1']:.2f}, {row['cpu_seconds']:.1f} s"
        print(told, file=sys.stderr, flush=True)
    tests = []
    by = "document" if (np.diff(problem.Y_test.indptr) == 1).all() else "decision"
    for other in ("RRLogistic", "RRSVM"):
        if "M3-map" in answers and other in answers:
            sides = (problem.Y_test, answers["M3-map"], answers[other], problem.label_nodes)
            tests.append({"system": "M3-map", "against": other, **paired(*sides, by=by)})
    return {"results": results, "tests": tests}


def _measured(
    system: str, problem: problems.Problem, options: argparse.Namespace, more: dict[str, Any]
) -> tuple[dict[str, Any], Any]:
    model = _make(system, problem, options, **more)
    start, cpu = time.perf_counter(), time.process_time()
    with quiet():
        model.fit(problem.X, problem.Y)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    H = model.answers(problem.X_test, closed=False)
    one = bool((np.diff(problem.Y_test.indptr) == 1).all())
    found = figures(problem.Y_test, H, problem.label_nodes, macro_interval=one)
    theirs = PAPER.get(system) if problem.name == "imclef07a" else None
    floor = FLOOR.get(system) if problem.name == "imclef07a" else None
    row = {"system": system, **more, **found, "seconds": seconds, "cpu_seconds": cpu, "rounds": model.n_iter_}
    if not one:
        row |= _best_labels(model, problem)
    answered = np.intersect1d(problem.label_nodes, H.indices)  # precision is undefined for the others
    row |= {"n_answered": len(answered), "macro_f1_answered": 100 * float(label_f1(problem.Y_test, H, answered).mean())}
    row["peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    row |= {"paper_micro_f1": theirs[0], "paper_macro_f1": theirs[1]} if theirs else {}
    if floor:
        row["within"] = bool(found["micro_f1"] >= floor[0] and found["macro_f1"] >= floor[1])
    if system == "CorrMNL":
        row |= {
            "r_hat": float(np.nanmax(model.r_hat_)),
            "least_effective_sample_size": float(model.effective_sample_size_.min()),
            "acceptance": float(model.acceptance_.mean()),
        }
    if hasattr(model, "change_"):
        row |= {"change": model.change_[-1].tolist(), "objectives": model.objectives_.tolist()}
    if hasattr(model, "lower_bounds_") and len(model.lower_bounds_):
        row["bound_fell"] = float(min(0.0, np.diff(model.lower_bounds_).min()))
    return row, H


def _best_labels(model: Any, problem: problems.Problem) -> dict[str, float]:
    """P@1, and macro-F1 of answering the best label only."""
    best = model.top_nodes(problem.X_test, 1)[0][:, 0]
    H = sparse.csr_array((np.ones(len(best), np.int8), best, np.arange(len(best) + 1)), shape=problem.Y_test.shape)
    hits = float(problem.Y_test.multiply(H).sum()) / len(best)
    return {"p_at_1": 100 * hits, "macro_f1_best": 100 * float(label_f1(problem.Y_test, H, problem.label_nodes).mean())}


def _held_out(model: Any, problem: problems.Problem, share: float) -> tuple[Any, Any]:
    """(gold, answers) of training documents that the model has not seen."""
    train, held = train_test_split(problem.Y, share, random_state=0)
    with quiet():
        model.fit(problem.X[train], problem.Y[train])
    return problem.Y[held], model.answers(problem.X[held], closed=False)


def _held_out_C(system: str, problem: problems.Problem, options: argparse.Namespace) -> float:
    told = dict(pair.split("=") for pair in options.C)
    if system in told:
        return float(told[system])
    grid, found = (HELD_OUT_C if problem.name == "imclef07a" else HELD_OUT_C_TEXT)[system], []
    for C in grid:
        Y, H = _held_out(_make(system, problem, options, C=C, tol=1e-2), problem, 0.2)
        found.append(float(micro_f1(Y, H)))
        print(f"{system}, C={C:g}: held-out micro-F1 {100 * found[-1]:.2f}", file=sys.stderr, flush=True)
    return grid[int(np.argmax(found))]


def _choices(problem: problems.Problem, options: argparse.Namespace) -> dict[str, Any]:
    rows = []
    known = CHOICES if problem.name == "imclef07a" else TEXT_CHOICES
    for choice in [known[k] for k in options.choices or range(len(known))]:
        start = time.process_time()
        model = _make("M3-map", problem, options).set_params(**choice)
        Y, H = _held_out(model, problem, options.held_out)
        row: dict[str, Any] = {"choice": ", ".join(f"{k}={v}" for k, v in choice.items()) or "as it is"}
        row |= {"micro_f1": 100 * float(micro_f1(Y, H))}
        row |= {"macro_f1": 100 * float(label_f1(Y, H, problem.label_nodes).mean())}
        row |= _like_the_test_set(Y, H, problem) if problem.name == "imclef07a" else {}
        rows.append(row | {"cpu_seconds": time.process_time() - start, "rounds": model.n_iter_})
        print(rows[-1], file=sys.stderr, flush=True)
    return {"results": rows, "tests": []}


def _like_the_test_set(Y: Any, H: Any, problem: problems.Problem, n_draws: int = 1000) -> dict[str, float]:
    """Macro-F1 on draws of the held-out documents with as many of every label as the test set has: mean, 95 %."""
    rng, counts = np.random.default_rng(0), np.asarray(problem.Y_test.sum(axis=0)).ravel()
    groups = [(np.flatnonzero(Y.indices == v), int(counts[v])) for v in np.unique(Y.indices)]  # one label per row
    found = []
    for _ in range(n_draws):
        rows = np.concatenate([rng.choice(group, min(n, len(group)), replace=False) for group, n in groups])
        found.append(100 * float(label_f1(Y[rows], H[rows], problem.label_nodes).mean()))
    low, high = np.quantile(found, [0.025, 0.975])
    return {"macro_as_test": float(np.mean(found)), "macro_as_test_low": float(low), "macro_as_test_high": float(high)}


def markdown(result: dict[str, Any]) -> str:
    """The page's tables."""
    parts = [page.heading(result)]
    if "choice" in result["results"][0]:
        rows = [{k: v if isinstance(v, str) else page.number(v) for k, v in row.items()} for row in result["results"]]
        return "\n\n".join([*parts, page.table(rows)])
    rows = [
        {
            "model": row["system"] + (f", C={row['C']:g}" if "C" in row else ""),
            "micro-F1": page.interval(row["micro_f1"], row["micro_interval"]),
            "macro-F1": page.interval(row["macro_f1"], row.get("macro_interval")),
            "paper": f"{row['paper_micro_f1']:.1f} / {row['paper_macro_f1']:.1f}" if "paper_micro_f1" in row else "",
            **({"P@1, its macro-F1": f"{row['p_at_1']:.1f}, {row['macro_f1_best']:.1f}"} if "p_at_1" in row else {}),
            "rounds": str(row["rounds"]),
            "fit s": page.number(row["seconds"]),
            "processor s": page.number(row["cpu_seconds"]),
        }
        for row in result["results"]
    ]
    parts.append(page.table(rows))
    if result["tests"]:
        parts.append(page.tests(result["tests"], "decisions"))
    return "\n\n".join(parts)
