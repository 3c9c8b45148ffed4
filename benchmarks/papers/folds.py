"""Branches of MeSH whole, in three folds, with and without the hierarchy: in place of WIPO-alpha and OHSUMED.

Labels at inner positions are leaves of their own; attributes per class, the half distance as cost, C = 1, epsilon 0.1,
as the thesis has it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.papers.study import Figures
from benchmarks.problems import Problem, mesh
from benchmarks.ranking.branches import COLUMNS
from benchmarks.ranking.measures import measured, with_own_leaves
from linnaeus import HierarchicalSVM
from linnaeus.data.splits import kfold
from linnaeus.engine import single_blas_thread

__all__ = ["branch_folds"]

SYSTEMS = {"flat": ("flat", "zero_one"), "hierarchical": ("perclass", "half")}


def branch_folds(top: str, *, levels: int | None = None) -> Figures:
    """Means over three folds of a branch, by system."""
    problem = mesh.branch(top, levels=levels, split=False)
    with single_blas_thread():
        return {("", system): _means(problem, *how) for system, how in SYSTEMS.items()}


def _means(problem: Problem, attributes: str, cost: str) -> dict[str, float]:
    taxonomy, Y = with_own_leaves(problem.taxonomy, problem.Y)
    found: list[dict[str, float]] = []
    settings: dict[str, Any] = {"epsilon": 0.1, "set_size": "mean", "random_state": 0}
    for train, test in kfold(Y, 3, random_state=0):
        model = HierarchicalSVM(taxonomy, attributes=attributes, cost=cost, **settings).fit(problem.X[train], Y[train])
        found.append(measured(model, problem.X[test], Y[test], taxonomy, COLUMNS))
    return {column: float(np.mean([row[column] for row in found])) for column in COLUMNS}
