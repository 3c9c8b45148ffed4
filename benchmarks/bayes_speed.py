"""How long do the Bayesian models take on imclef07a, one thread? Beside the paper's minutes (Table VII).

    python -m benchmarks bayes_speed --json
    python -m benchmarks bayes_speed --systems chains                four chains of CorrMNL on a subsample, for R-hat

M3-map has 60 seconds (paper: 3 minutes), M3-var 10 minutes (80), 2,500 iterations of one chain of CorrMNL 23 minutes
(2,279). Seconds are of the processor, so that other work on the machine counts for little.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from benchmarks import machine, problems
from benchmarks.accuracy import page
from benchmarks.accuracy.selection import quiet
from linnaeus import HBLR, CorrMNL
from linnaeus.data.splits import train_test_split

BUDGET = {"M3-map": 60.0, "M3-var": 600.0, "CorrMNL": 1380.0}
PAPER_MINUTES = {"M3-map": 3, "M3-var": 80, "CorrMNL": 2279}


def run(arguments: list[str]) -> dict[str, Any]:
    """Time every system once."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks bayes_speed", description=__doc__.splitlines()[0])
    parser.add_argument("--systems", nargs="*", default=[*BUDGET, "chains"], choices=[*BUDGET, "chains"])
    parser.add_argument("--iterations", type=int, default=2500)
    parser.add_argument("--subsample", type=int, default=1000, help="documents for the four chains")
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    problem = problems.leaves_only(problems.load("imclef07a"))
    results = [_timed(system, problem, options) for system in options.systems]
    result = {
        "benchmark": "bayes_speed",
        "command": page.command("bayes_speed", arguments),
        "machine": machine.describe(),
        "threads": 1,
        "results": results,
        "within_budget": all(row["seconds"] <= row["budget"] for row in results if row["budget"]),
    }
    print(json.dumps(result) if options.json else markdown(result))
    return result


def _timed(system: str, problem: problems.Problem, options: argparse.Namespace) -> dict[str, Any]:
    X, Y = problem.X, problem.Y
    sampling = {"n_iter": options.iterations, "burn_in": options.iterations * 2 // 5, "n_leapfrog": 20}
    if system == "chains":
        _, rows = train_test_split(Y, options.subsample / len(X), random_state=0)
        X, Y = X[rows], Y[rows]
        model: Any = CorrMNL(problem.taxonomy, n_chains=4, random_state=0, **sampling)
    elif system == "CorrMNL":
        model = CorrMNL(problem.taxonomy, random_state=0, **sampling)
    else:
        inference = "map" if system == "M3-map" else "variational"
        model = HBLR(problem.taxonomy, inference=inference, tol=options.tol)
    start = time.process_time()
    with quiet():
        model.fit(X, Y)
    row = {"system": system, "documents": len(X), "seconds": time.process_time() - start, "rounds": model.n_iter_}
    row |= {"budget": BUDGET.get(system), "paper_minutes": PAPER_MINUTES.get(system)}
    if hasattr(model, "r_hat_"):
        row |= {
            "r_hat_median": float(np.nanmedian(model.r_hat_)),
            "r_hat": float(np.nanmax(model.r_hat_)),
            "effective_sample_size": float(model.effective_sample_size_.min()),
            "acceptance": float(model.acceptance_.mean()),
        }
    return row


def markdown(result: dict[str, Any]) -> str:
    """The page's table."""
    rows = [
        {
            "model": row["system"],
            "documents": f"{row['documents']:,}",
            "rounds": f"{row['rounds']:,}",
            "processor s": page.number(row["seconds"]),
            "budget s": page.number(row["budget"], 0),
            "paper, minutes": str(row["paper_minutes"] or ""),
            "R-hat, median and most": f"{row['r_hat_median']:.3f}, {row['r_hat']:.3f}" if "r_hat" in row else "",
            "least effective draws": page.number(row.get("effective_sample_size"), 0),
        }
        for row in result["results"]
    ]
    return f"{page.heading(result)}\n\n{page.table(rows)}"
