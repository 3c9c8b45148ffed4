"""The made-up documents of the thesis: 200 of them, ten folds, C = 10,000, flat and hierarchical (table 7.5)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.ranking.measures import measured
from linnaeus import HierarchicalSVM
from linnaeus.data.corpora import overlapping
from linnaeus.data.splits import kfold

COLUMNS = ("accuracy", "precision", "maximal loss", "ranking loss", "parent accuracy")
PUBLISHED = {
    (3, 3): {"flat": (88.5, 86.4, 1.63, 3.30, 91.7), "hierarchical": (91.4, 89.2, 1.39, 2.24, 94.3)},
    (6, 2): {"flat": (93.7, 87.0, 1.32, 3.09, 95.3), "hierarchical": (93.4, 88.8, 1.22, 2.31, 96.6)},
}


def runs(fan_out: int, depth: int, *, n_seeds: int, n_folds: int = 10, epsilon: float = 0.1) -> list[dict[str, Any]]:
    """One row per seed, fold and system."""
    rows = []
    for seed in range(n_seeds):
        X, labels, taxonomy = overlapping(200, fan_out=fan_out, depth=depth, seed=seed)
        Y = taxonomy.indicator(labels)
        settings: dict[str, Any] = {
            "C": 1e4,
            "epsilon": epsilon,
            "set_size": "mean",
            "random_state": 0,
            "max_iter": 20_000,
        }
        for fold, (train, test) in enumerate(list(kfold(Y, 10, random_state=seed))[:n_folds]):
            for system, how in {"flat": ("flat", "zero_one"), "hierarchical": ("depth", "half")}.items():
                model = HierarchicalSVM(taxonomy, attributes=how[0], cost=how[1], max_time=20, **settings)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model.fit(X[train], Y[train])
                row = {"seed": seed, "fold": fold, "system": system, "violation": model.violation_}
                rows.append(row | measured(model, X[test], Y[test], taxonomy, COLUMNS))
    return rows


def seed_means(rows: list[dict[str, Any]], system: str, column: str) -> list[float]:
    """The mean of the folds of every seed."""
    seeds = sorted({row["seed"] for row in rows})
    chosen = [row for row in rows if row["system"] == system]
    return [float(np.mean([row[column] for row in chosen if row["seed"] == seed])) for seed in seeds]
