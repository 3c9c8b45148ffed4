"""Perceptrons and Hieron on fifteen newsgroups (tables 7.20, 7.21 and 7.24), sampled as for the SVM (`newsgroups`).

Averaged learners take twenty passes, as in the thesis. It does not say in which order; its posts lie in folders, group
after group, and with them in this order its picture comes out. In random order all systems are better. A learned
taxonomy comes from the training posts of its run; all systems are measured by the true one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import problems
from benchmarks.ranking.measures import measured, with_own_leaves
from benchmarks.ranking.newsgroups import COLUMNS, Sample, samples
from linnaeus import HierarchicalPerceptron, Hieron, Taxonomy, learn_taxonomy
from linnaeus.data.splits import kfold

PASSES = 20
_FLAT: dict[str, Any] = {"attributes": "flat", "cost": "zero_one"}
_SHARED: dict[str, Any] = {"attributes": "perclass", "cost": "half"}

# Tables 7.20 (averaged) and 7.24 (learned taxonomy): accuracy, precision, top loss, parent accuracy.
PUBLISHED = {
    10: {
        "Hieron, flat": (35.2, 50.3, 1.08, 57.0),
        "Hieron": (34.9, 52.7, 0.98, 67.5),
        "perceptron, flat": (36.2, 51.4, 1.05, 59.2),
        "perceptron": (38.2, 54.9, 0.96, 65.4),
        "perceptron, learned taxonomy": (36.9, 53.4, 1.01, 62.2),
    },
    20: {
        "Hieron, flat": (46.8, 60.7, 0.83, 70.0),
        "Hieron": (44.5, 61.5, 0.79, 76.3),
        "perceptron, flat": (46.1, 59.9, 0.85, 69.3),
        "perceptron": (47.7, 63.2, 0.787, 73.6),
        "perceptron, learned taxonomy": (47.7, 62.7, 0.79, 72.9),
    },
    None: {
        "Hieron, flat": (63.4, 74.7, 0.52, 84.9),
        "Hieron": (62.5, 75.9, 0.50, 87.7),
        "perceptron, flat": (64.9, 76.0, 0.49, 85.7),
        "perceptron": (67.2, 78.7, 0.46, 87.0),
        "perceptron, learned taxonomy": (65.3, 77.2, 0.49, 85.3),
    },
}
# Table 7.21 (online, all data).
PUBLISHED_ONLINE = {
    None: {
        "Hieron, flat": (29.5, 54.4, 1.24, 46.7),
        "Hieron": (36.4, 58.7, 1.06, 57.1),
        "perceptron, flat": (34.7, 58.2, 1.13, 52.0),
        "perceptron": (39.9, 62.4, 1.01, 58.9),
    }
}


def runs(
    sizes: list[int | None],
    *,
    n_runs: int,
    systems: list[str],
    variant: str = "averaged",
    shuffle: bool = True,
    passes: int = PASSES,
    problem: str = "newsgroups15",
) -> list[dict[str, Any]]:
    """One row per number of training posts (None: ten folds of all), run and system."""
    rows = []
    settings = {"variant": variant, "max_iter": passes, "shuffle": shuffle, "set_size": "mean"}
    for sample in samples(sizes, n_runs=n_runs) if problem == "newsgroups15" else branch_samples(n_runs):
        learners = _learners(sample.taxonomy, settings)
        by_group = np.argsort(sample.Y.indices[sample.Y.indptr[:-1]], kind="stable")  # by the first label
        for system in systems:
            model = learners[system](sample.X[by_group], sample.Y[by_group], sample.number)
            row = {"size": sample.size, "run": sample.number, "system": system, "passes": model.n_iter_}
            row |= {
                "converged": model.converged_,
                "active": 100 * model.active_ratio_,
                "nodes": len(model.taxonomy_.levels[1]),
            }
            rows.append(row | measured(model, sample.X_test, sample.Y_test, sample.taxonomy, COLUMNS))
    return rows


def branch_samples(n_runs: int) -> Iterator[Sample]:
    """A branch of MeSH of the size of section D of WIPO-alpha (table 7.23): three folds, as often as asked for."""
    problem = problems.load("mesh_d01")
    taxonomy, Y = with_own_leaves(problem.taxonomy, problem.Y)
    for number in range(n_runs):
        train, test = list(kfold(Y, 3, random_state=number // 3))[number % 3]
        yield Sample(None, number, taxonomy, problem.X[train], Y[train], problem.X[test], Y[test])


def _learners(taxonomy: Taxonomy, settings: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """Functions that train a system on X, Y with a seed."""

    def trained(kind: Any, how: dict[str, Any]) -> Callable[..., Any]:
        def train(X: Any, Y: Any, seed: int) -> Any:
            return kind(taxonomy, random_state=seed, **settings | how).fit(X, Y)

        return train

    def with_learned_taxonomy(X: Any, Y: Any, seed: int) -> Any:
        labels = taxonomy.labels(Y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a flat tree is an answer, too
            learned = learn_taxonomy(X, labels)
        model = HierarchicalPerceptron(learned, random_state=seed, **settings, **_SHARED)
        return model.fit(X, labels)

    return {
        "Hieron, flat": trained(Hieron, _FLAT | {"augmented": False}),
        "Hieron": trained(Hieron, _SHARED | {"augmented": False}),
        "Hieron, augmented, flat": trained(Hieron, _FLAT),
        "Hieron, augmented": trained(Hieron, _SHARED),
        "perceptron, flat": trained(HierarchicalPerceptron, _FLAT),
        "perceptron": trained(HierarchicalPerceptron, _SHARED),
        "perceptron, learned taxonomy": with_learned_taxonomy,
        "perceptron, online": trained(HierarchicalPerceptron, _SHARED | {"variant": "online", "max_iter": 100}),
        "perceptron, MinOver": trained(HierarchicalPerceptron, _SHARED | {"variant": "minover", "max_iter": 100}),
    }
