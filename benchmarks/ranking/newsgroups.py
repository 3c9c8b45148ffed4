"""Fifteen newsgroups in five subjects: t training posts per group, and ten folds of all (tables 7.10, 7.15, 7.17-7.19).

Posts of both parts of the by-date split are pooled, as the thesis had no split; features are counts of words without
stop words, seen at least twice in the training posts, of unit length. Random hierarchies keep the number of subjects.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.problems import newsgroups
from benchmarks.ranking.measures import measured
from linnaeus import DivideAndConquerSVM, HierarchicalSVM, Taxonomy
from linnaeus.data.splits import kfold
from linnaeus.taxonomy.random import random_like

COLUMNS = ("accuracy", "precision", "top loss", "parent accuracy")
# Tables 7.10 and 7.15: accuracy, precision, top loss, parent accuracy; DNC has no ranking.
PUBLISHED = {
    5: {"flat": (38.1, 54.7, 0.955, 66.5), "hierarchical": (38.0, 55.3, 0.942, 68.0), "DNC": (32.9, None, None, 67.3)},
    10: {"flat": (49.8, 64.6, 0.750, 75.1), "hierarchical": (49.5, 65.1, 0.743, 76.2), "DNC": (44.9, None, None, 75.4)},
    20: {"flat": (58.7, 71.6, 0.591, 82.1), "hierarchical": (58.1, 71.7, 0.594, 82.6), "DNC": (55.0, None, None, 82.2)},
    None: {
        "flat": (84.8, 90.7, 0.204, 94.8),
        "hierarchical": (84.5, 90.6, 0.206, 94.9),
        "DNC": (84.1, None, None, 95.0),
    },
}


def runs(sizes: list[int | None], *, n_runs: int, n_random: int = 0, headers: str = "strip") -> list[dict[str, Any]]:
    """One row per number of training posts (None: ten folds of all), system and run."""
    rows = []
    for sample in samples(sizes, n_runs=n_runs, headers=headers):
        for system, model in _systems(sample.taxonomy, n_random).items():
            model.fit(sample.X, sample.Y)
            found = measured(model, sample.X_test, sample.Y_test, sample.taxonomy, COLUMNS)
            rows.append({"size": sample.size, "run": sample.number, "system": system, **found})
    return rows


class Sample(NamedTuple):
    """Training and test posts of one run."""

    size: int | None
    number: int
    taxonomy: Taxonomy
    X: Any
    Y: Any
    X_test: Any
    Y_test: Any


def samples(sizes: list[int | None], *, n_runs: int, headers: str = "strip") -> Iterator[Sample]:
    """The posts of every run: ``size`` training posts per group, or ten folds of all where it is None."""
    taxonomy, data = newsgroups.hierarchy(), newsgroups.posts(headers=headers)
    Y, counts = data.indicator(taxonomy), _counts(data.documents)
    for size in sizes:
        for number, (train, test) in enumerate(_splits(Y, size, n_runs)):
            X, X_test = _features(counts, train, test)
            yield Sample(size, number, taxonomy, X, Y[train], X_test, Y[test])


def _systems(taxonomy: Taxonomy, n_random: int) -> dict[str, Any]:
    settings: dict[str, Any] = {"C": 1.0, "tol": 1e-3, "random_state": 0}
    found: dict[str, Any] = {
        "flat": HierarchicalSVM(taxonomy, attributes="flat", cost="zero_one", **settings),
        "hierarchical": HierarchicalSVM(taxonomy, attributes="depth", cost="half", **settings),
        "DNC": DivideAndConquerSVM(taxonomy, **settings),
    }
    for k in range(n_random):
        other = random_like(taxonomy, seed=k)
        found[f"hierarchical, random {k + 1}"] = HierarchicalSVM(other, attributes="depth", cost="half", **settings)
        found[f"DNC, random {k + 1}"] = DivideAndConquerSVM(other, **settings)
    return found


def _splits(Y: Any, size: int | None, n_runs: int) -> list[tuple[Any, Any]]:
    if size is None:
        return list(kfold(Y, 10, random_state=0))[:n_runs]
    groups = [np.flatnonzero(Y.indices == v) for v in np.unique(Y.indices)]  # one label per row: entry i is post i
    found = []
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        train = np.sort(np.concatenate([rng.choice(group, size, replace=False) for group in groups]))
        found.append((train, np.setdiff1d(np.arange(Y.shape[0]), train)))
    return found


def _counts(posts: Any) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(stop_words="english", dtype=np.float32).fit_transform(posts).tocsr()


def _features(counts: Any, train: Any, test: Any) -> tuple[Any, Any]:
    """Words that the training posts hold at least twice, of unit length."""
    from sklearn.preprocessing import normalize

    kept = np.flatnonzero(np.asarray(counts[train].sum(axis=0)).ravel() >= 2)
    return normalize(counts[train][:, kept]), normalize(counts[test][:, kept])
