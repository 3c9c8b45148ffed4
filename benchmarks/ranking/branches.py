"""Branches of MeSH with two training citations for every label, the rest for testing (table 7.12).

Labels at inner positions are leaves of their own; attributes are normalised per class and so are the costs, as the
thesis has it for taxonomies whose labels lie at many depths; beside it, the half distance as cost. C = 1 throughout, as
there. Losses are measured in half distances.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.problems import mesh
from benchmarks.ranking.measures import measured, with_own_leaves
from linnaeus import HierarchicalSVM

COLUMNS = ("accuracy", "precision", "maximal loss", "ranking loss", "parent accuracy")
# Table 7.12, OHSUMED of 1987: accuracy, precision, maximal loss, ranking loss, parent accuracy.
PUBLISHED = {
    "A": {"flat": (30.5, 35.7, 4.80, 15.7, 36.1), "hierarchical": (34.2, 38.1, 4.37, 9.6, 40.7)},
    "B": {"flat": (32.2, 39.6, 4.71, 18.6, 37.6), "hierarchical": (33.8, 41.5, 4.22, 11.7, 39.1)},
    "C": {"flat": (41.2, 41.1, 4.48, 13.8, 46.6), "hierarchical": (45.0, 43.4, 4.26, 7.6, 50.7)},
    "E": {"flat": (25.5, 28.8, 4.75, 19.2, 29.9), "hierarchical": (28.7, 30.8, 4.43, 13.0, 33.6)},
    "F": {"flat": (26.0, 28.7, 4.24, 25.6, 29.8), "hierarchical": (27.6, 29.9, 4.03, 19.5, 31.6)},
    "G": {"flat": (21.0, 25.1, 4.76, 21.1, 26.2), "hierarchical": (24.1, 25.2, 4.40, 12.7, 29.9)},
    "H": {"flat": (17.3, 25.1, 3.65, 27.7, 22.4), "hierarchical": (18.1, 25.9, 3.37, 21.6, 24.0)},
    "I": {"flat": (19.0, 24.4, 4.36, 30.2, 24.1), "hierarchical": (19.8, 25.1, 4.02, 24.0, 25.3)},
    "J": {"flat": (30.3, 38.7, 2.88, 28.7, 39.5), "hierarchical": (30.5, 39.8, 2.60, 21.9, 39.0)},
    "K": {"flat": (23.4, 33.5, 2.47, 45.1, 30.8), "hierarchical": (26.2, 36.0, 2.35, 41.1, 31.2)},
    "L": {"flat": (16.3, 24.5, 3.67, 36.5, 22.5), "hierarchical": (16.4, 25.0, 3.46, 29.2, 23.0)},
    "M": {"flat": (25.0, 35.3, 2.72, 28.9, 36.3), "hierarchical": (25.6, 36.1, 2.36, 23.0, 37.0)},
    "N": {"flat": (16.8, 19.1, 5.21, 29.7, 20.9), "hierarchical": (18.4, 20.1, 5.00, 21.5, 22.8)},
    "Z": {"flat": (16.4, 26.3, 3.19, 41.8, 30.7), "hierarchical": (16.2, 26.9, 2.93, 34.9, 29.5)},
}
SYSTEMS = {
    "flat": ("flat", "zero_one"),
    "hierarchical": ("perclass", "normalised"),
    "hierarchical, half distance": ("perclass", "half"),
}


def runs(letter: str, *, n_runs: int, per_label: int = 2, epsilon: float = 0.01) -> list[dict[str, Any]]:
    """One row per run and system."""
    problem = mesh.branch(letter, split=False)
    taxonomy, Y = with_own_leaves(problem.taxonomy, problem.Y)
    rows = []
    for seed in range(n_runs):
        train = _few(Y, per_label, seed)
        test = np.setdiff1d(np.arange(Y.shape[0]), train)
        for system, (attributes, cost) in SYSTEMS.items():
            model = HierarchicalSVM(
                taxonomy, attributes=attributes, cost=cost, epsilon=epsilon, set_size="mean", random_state=0
            )
            model.fit(problem.X[train], Y[train])
            row = {"branch": letter, "run": seed, "system": system, "labels": len(model.nodes_), "train": len(train)}
            rows.append(row | measured(model, problem.X[test], Y[test], taxonomy, COLUMNS))
    return rows


def _few(Y: Any, per_label: int, seed: int) -> Any:
    """Documents so that every label has ``per_label`` of those drawn for it, or all that it has."""
    rng = np.random.default_rng(seed)
    columns = Y.tocsc()
    drawn: set[int] = set()
    for v in np.unique(Y.indices):
        of_label = columns.indices[columns.indptr[v] : columns.indptr[v + 1]]
        drawn |= set(rng.choice(of_label, min(per_label, len(of_label)), replace=False).tolist())
    return np.array(sorted(drawn))
