"""Do news topics (rcv1v2) gain from the hierarchy? RR models beside their flat counterparts, each at its own best C.

    python -m benchmarks accuracy_rcv1v2 --json

Label sets come from three cuts: zero (every topic with a score above 0, at least the best), s-cut (a threshold for each
topic) and the instance-based cut-off (a threshold for each document), the last two learned on scores of five folds of
the training documents. The sets of this collection hold all ancestors. They are learned as given, and once more with
the most specific topics only (frontier; no s-cut then, whose thresholds for inner topics would mean something else);
all answers are closed under ancestors before they are compared. C is chosen for every system and every cut from 0.01,
0.03, ... 100 on the same folds, once by micro-F1 and once by macro-F1, which peak at different C (looked at from 1
outwards while there is hope). Macro-F1 is over the 102 topics with training documents. RR models give every topic a
leaf of its own (``spawn="all"``), which is better on the folds than leaves for inner topics only.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks import machine, problems
from benchmarks.accuracy import page
from benchmarks.accuracy.breakdown import by_level, by_size
from benchmarks.accuracy.figures import figures, label_f1, paired
from benchmarks.accuracy.published import published
from benchmarks.accuracy.selection import HALF_DECADES, Choice, Folds, choose, quiet
from linnaeus import registry
from linnaeus.decoding import Decoder, Threshold
from linnaeus.metrics import micro_f1
from linnaeus.tuning import HeldOutScores
from linnaeus.typing import CSR

PAIRS = {  # loss: flat, recursive, their names in the paper
    "hinge": ("OneVsRestSVM", "RRSVM", "BSVM", "RR-SVM"),
    "squared hinge": ("OneVsRestSVM", "RRSVM", "BSVM", "RR-SVM"),
    "logistic": ("OneVsRestLogistic", "RRLogistic", "BLR", "RR-LR"),
}
CUTS = {"given": ("zero", "scut", "instance_cut"), "frontier": ("zero", "instance_cut")}  # by what is learned
CRITERIA = ("micro_f1", "macro_f1")
SHOWN = "instance_cut"  # the cut of the paper, whose gains are broken down on the page; all are in the JSON


@dataclass
class System:
    """A model with its held-out scores and its trained models by C."""

    name: str
    loss: str
    labels: str
    problem: problems.Problem
    options: argparse.Namespace
    folds: Folds  # of what is learned from
    held: dict[float, HeldOutScores] = field(default_factory=dict)
    trained: dict[float, tuple[Any, float]] = field(default_factory=dict)

    def make(self, C: float, tol: float) -> Any:
        settings = {} if self.loss == "logistic" else {"loss": self.loss.replace(" ", "_")}
        if self.name.startswith("RR"):
            settings["spawn"] = self.options.spawn
        how = {"C": C, "tol": tol, "n_jobs": self.options.jobs, "random_state": 0}
        kind = registry.resolve(self.name)
        return kind(self.problem.taxonomy, fit_intercept=self.options.intercept, **how, **settings)

    def quality(self, C: float) -> dict[str, float]:
        """Micro-F1 and macro-F1 of every cut on the folds."""
        problem, documents = self.problem, self.folds.documents
        nodes = problem.label_nodes.astype(np.int32)
        S = self.folds.scores(lambda: self.make(C, self.options.search_tol), (self.name, self.loss), C, nodes)
        with_ancestors = self.labels == "given"
        held = HeldOutScores(S, self.folds.gold, problem.taxonomy, nodes, documents, closed=with_ancestors)
        self.held[C] = held
        found = {}
        for cut in CUTS[self.labels]:
            H = problem.taxonomy.close(self.decoder(cut, C)(held.S, held.taxonomy, held.nodes))
            found[f"{cut} micro_f1"] = float(micro_f1(problem.Y[documents], H))
            found[f"{cut} macro_f1"] = float(label_f1(problem.Y[documents], H, nodes).mean())
        return found

    def decoder(self, cut: str, C: float) -> Decoder:
        return Threshold(0.0, repair=None) if cut == "zero" else self.held[C].fit(cut)

    def fitted(self, C: float) -> tuple[Any, float]:
        """The model trained on all training documents, and the seconds that took."""
        if C not in self.trained:
            model = self.make(C, self.options.tol)
            start = time.perf_counter()
            with quiet():
                model.fit(self.folds.X, self.folds.Y)
            self.trained[C] = model, time.perf_counter() - start
        return self.trained[C]

    def answers(self, cut: str, criterion: str, choice: Choice) -> tuple[dict[str, Any], CSR]:
        """A row of the table, and the answers to the test documents."""
        C = choice.best(f"{cut} {criterion}")
        model, seconds = self.fitted(C)
        H = model.answers(self.problem.X_test, decoder=self.decoder(cut, C), closed=True)
        return {
            "system": self.name,
            "loss": self.loss,
            "labels": self.labels,
            "cut": cut,
            "C_by": criterion,
            "C": C,
            "held_out": {
                f"{c:g}": [100 * values[f"{cut} {name}"] for name in CRITERIA] for c, values in choice.quality.items()
            },
            **figures(self.problem.Y_test, H, self.problem.label_nodes),
            "size": H.nnz / H.shape[0],
            "seconds": seconds,
            "relative_gap": model.duality_gap_ / model.objective_,
        }, H


def run(arguments: list[str]) -> dict[str, Any]:
    """Choose C, train, test and compare all pairs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks accuracy_rcv1v2", description=__doc__.splitlines()[0])
    parser.add_argument("--losses", nargs="*", default=list(PAIRS), choices=list(PAIRS))
    parser.add_argument("--labels", nargs="*", default=list(CUTS), choices=list(CUTS), help="what is learned")
    parser.add_argument("--spawn", default="all", choices=["inner", "all"], help="which labels get a leaf of their own")
    parser.add_argument("--intercept", action="store_true", help="with a constant feature; the paper has none")
    parser.add_argument("--tol", type=float, default=1e-3, help="relative gap of the model that is tested")
    parser.add_argument("--search-tol", type=float, default=1e-2, help="relative gap while C is chosen")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    problem = problems.load("rcv1v2")
    results: list[dict[str, Any]] = []
    comparisons: list[dict[str, Any]] = []
    for labels, loss in itertools.product(options.labels, options.losses):
        learned = problem.Y if labels == "given" else problem.taxonomy.frontier(problem.Y)
        folds = Folds.of(problem.X, learned, 5)
        answers = {}
        for name in PAIRS[loss][:2]:
            system = System(name, loss, labels, problem, options, folds)
            choice = choose(system.quality, HALF_DECADES, name=f"{name}, {loss}, {labels}")
            folds.forget((name, loss))
            for way in itertools.product(CUTS[labels], CRITERIA):
                row, answers[name, *way] = system.answers(*way, choice)
                results.append(row)
        for cut, criterion in itertools.product(CUTS[labels], CRITERIA):
            both = [answers[name, cut, criterion] for name in PAIRS[loss][:2]]
            told = {"labels": labels, "cut": cut, "C_by": criterion}
            comparisons.append({**told, **_compared(loss, problem, *both)})
    result = {
        "benchmark": "accuracy_rcv1v2",
        "command": page.command("accuracy_rcv1v2", arguments),
        "machine": machine.describe(),
        "n_train": problem.X.shape[0],
        "n_test": problem.X_test.shape[0],
        "n_labels": len(problem.label_nodes),
        "threads": options.jobs,
        "fit_intercept": options.intercept,
        "spawn": options.spawn,
        "results": results,
        "comparisons": comparisons,
    }
    print(json.dumps(result) if options.json else markdown(result))
    return result


def _compared(loss: str, problem: problems.Problem, flat: CSR, other: CSR) -> dict[str, Any]:
    return {
        "system": f"{PAIRS[loss][1]}, {loss}",
        "against": PAIRS[loss][0],
        **paired(problem.Y_test, other, flat, problem.label_nodes, by="decision"),
        "by_level": by_level(problem.taxonomy, problem.Y, problem.Y_test, flat, other),
        "by_size": by_size(problem.Y, problem.Y_test, flat, other),
    }


def markdown(result: dict[str, Any]) -> str:
    """The page's tables."""
    main = [
        {
            "model": _title(row),
            "cut": row["cut"],
            "C by": row["C_by"].replace("_f1", "-F1"),
            "C": f"{row['C']:g}",
            "micro-F1": page.interval(row["micro_f1"], row["micro_interval"]),
            "macro-F1": page.number(row["macro_f1"]),
            "per document": page.number(row["size"], 2),
            "fit s": page.number(row["seconds"]),
            "certified gap": f"{row['relative_gap']:.1g}",
        }
        for row in result["results"]
    ]
    curves = [
        {"model": _title(row), "cut": row["cut"], **_curve(row["held_out"])}
        for row in result["results"]
        if row["C_by"] == CRITERIA[0]
    ]
    shown = [
        {**row, "system": f"{row['system']}, {row['labels']}, C by {row['C_by'].replace('_f1', '-F1')}"}
        for row in result["comparisons"]
        if row["cut"] == SHOWN
    ]
    parts = [
        page.heading(result),
        page.table(main),
        "The paper, on another split of RCV1 (micro / macro): " + _theirs() + ".",
        "Micro-F1 / macro-F1 of the five folds, by C:\n\n" + page.table(curves),
        page.tests(result["comparisons"], "decisions"),
        f"Macro-F1 by level ({SHOWN}):\n\n" + page.breakdown(shown, "by_level", "level"),
        f"Macro-F1 by training documents ({SHOWN}):\n\n" + page.breakdown(shown, "by_size", "size"),
    ]
    return "\n\n".join(parts)


def _title(row: dict[str, Any]) -> str:
    return f"{row['system']}, {row['loss']}, {row['labels']}"


def _curve(held_out: dict[str, list[float]]) -> dict[str, str]:
    names = [f"{C:g}" for C in HALF_DECADES]
    return {C: " / ".join(map(page.number, held_out.get(C, []))) for C in names}


def _theirs() -> str:
    known = published("RCV1")
    names = np.unique([name for pair in PAIRS.values() for name in pair[2:]])
    return ", ".join(f"{name} {known[name][0]:.1f} / {known[name][1]:.1f}" for name in names if name in known)
