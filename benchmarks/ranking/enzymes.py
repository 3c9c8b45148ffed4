"""Enzymes by EC number to the third level: sequences as their substrings of four letters (table 7.13).

The thesis had 7,700 and 1,755 sequences of another collection, and subsequences of length four as a Gram matrix; here
counts of substrings of length four, of unit length, are features of a linear model, which is the same as their kernel.
C = 1, epsilon = 0.01 as there.
"""

from __future__ import annotations

from typing import Any

from benchmarks import problems
from benchmarks.ranking.measures import measured, with_own_leaves
from linnaeus import HierarchicalSVM
from linnaeus.features.spectrum import SpectrumFeatures

COLUMNS = ("accuracy", "precision", "maximal loss", "ranking loss", "parent accuracy")
PUBLISHED = {"flat": (34.2, 44.3, 1.94, 13.2, 38.3), "hierarchical": (33.6, 43.7, 1.84, 11.6, 40.4)}


def runs(*, epsilon: float = 0.01) -> list[dict[str, Any]]:
    """One row per system."""
    import numpy as np
    from scipy import sparse

    problem = problems.load("enzyme_ec")
    both = sparse.csr_array(sparse.vstack([problem.Y, problem.Y_test]))
    taxonomy, Y = with_own_leaves(problem.taxonomy, both)
    train, test = np.split(np.arange(Y.shape[0]), [problem.Y.shape[0]])
    features = SpectrumFeatures(4).fit(problem.X)
    X, X_test = features.transform(problem.X), features.transform(problem.X_test)
    rows = []
    for system, (attributes, cost) in {"flat": ("flat", "zero_one"), "hierarchical": ("depth", "half")}.items():
        model = HierarchicalSVM(
            taxonomy, attributes=attributes, cost=cost, epsilon=epsilon, set_size="mean", random_state=0
        )
        model.fit(X, Y[train])
        found = measured(model, X_test, Y[test], taxonomy, COLUMNS)
        rows.append({"system": system, "labels": len(model.nodes_), "active": model.active_ratio_, **found})
    return rows
