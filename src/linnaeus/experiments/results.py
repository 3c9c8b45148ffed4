"""Everything that the report shows, as plain values: the problem, the runs, the comparisons, one sentence."""

from __future__ import annotations

import datetime
import platform
from importlib import metadata
from typing import Any

import numpy as np

from linnaeus.experiments.comparison import SIGNIFICANT, compare_runs, ranked
from linnaeus.experiments.experiment import Experiment
from linnaeus.experiments.kept import Kept
from linnaeus.experiments.measures import measures_of
from linnaeus.experiments.sentence import sentence

__all__ = ["recommended", "results"]

FORMAT = 1


def results(experiment: Experiment, kept: Kept, runs: list[dict[str, Any]], *, command: str = "") -> dict[str, Any]:
    """What goes into shootout.json."""
    comparisons = compare_runs(experiment, kept, runs)
    order = ranked(runs, experiment.measure)
    flat = next((row["against"] for row in comparisons if row["kind"] == "flat"), None)
    measured = {key: None for run in order for key in run["measures"]}  # some have more than others
    return {
        "format": FORMAT,
        "title": f"Shoot-out: {experiment.name}",
        "made": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "command": command,
        "versions": _versions(),
        "machine": _machine(),
        "problem": _problem(experiment),
        "taxonomy": _taxonomy(experiment),
        "measures": measures_of(measured or {experiment.measure: None}, experiment.measure),
        "runs": runs,
        "comparisons": comparisons,
        "best": order[0]["model"] if order else None,
        "flat": flat,
        "sentence": sentence(runs, comparisons, experiment.measure),
    }


def recommended(found: dict[str, Any]) -> dict[str, Any] | None:
    """The run to continue with: of the best model, or of the best flat one where the best is not clearly better.

    Examples
    --------
    >>> row = {"kind": "flat", "model": "RRSVM", "against": "OneVsRestSVM", "p": 0.3}
    >>> runs = [{"model": "RRSVM"}, {"model": "OneVsRestSVM"}]
    >>> recommended({"best": "RRSVM", "flat": "OneVsRestSVM", "comparisons": [row], "runs": runs})
    {'model': 'OneVsRestSVM'}
    """
    rows = [row for row in found["comparisons"] if row["kind"] == "flat" and row["model"] == found["best"]]
    name = found["flat"] if rows and rows[0]["p"] >= SIGNIFICANT else found["best"]
    return next((run for run in found["runs"] if run["model"] == name), None)


def _problem(experiment: Experiment) -> dict[str, Any]:
    tax, part = experiment.taxonomy, experiment.parts[0]
    return {
        "name": experiment.name,
        "n_train": experiment.n_train,
        "n_test": experiment.n_test,
        "n_nodes": tax.n_nodes,
        "n_leaves": len(tax.leaves),
        "depth": int(tax.depth.max(initial=0)),
        "kind": tax.kind,
        "n_features": experiment.n_features,
        "labels_per_document": float(np.diff(part.Y.indptr).mean()),
        "split": experiment.split,
        "features": experiment.features,
    }


def _taxonomy(experiment: Experiment) -> dict[str, Any]:
    tax, shown = experiment.taxonomy, experiment.shown
    place = np.full(tax.n_nodes, -1)
    place[shown] = np.arange(len(shown))
    displayed = [tax.display(int(v)) for v in shown]
    names = tax.names[shown].astype(str).tolist()
    return {
        "names": names,
        "labels": [None if said == name else said for said, name in zip(displayed, names, strict=True)],
        "parent": [int(place[above[0]]) if len(above := tax.parents(int(v))) else -1 for v in shown],
        "level": tax.depth[shown].tolist(),
    }


def _versions() -> dict[str, str]:
    packages = ("linnaeus", "numpy", "scipy", "scikit-learn")
    found = {"python": platform.python_version()}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _machine() -> str:
    import os

    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="ignore") as file:
            model = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{model}, {os.cpu_count()} cores"
