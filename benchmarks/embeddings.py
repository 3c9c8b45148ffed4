"""Embeddings with few documents: 20 Newsgroups with some posts for each group, flat models with and without them.

    python -m benchmarks embeddings                        2, 5, 10 and 50 posts, five draws of each
    python -m benchmarks embeddings --cost                 seconds of a fit with 100 and 256 filled columns more

Posts are without headers; terms are words without English stop words, 1 + ln tf. Everything that is chosen (the weight
of the embedding) follows from the drawn training posts. The test posts are the same 2,500 for all draws.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from benchmarks import machine
from benchmarks.problems.base import DATA
from linnaeus import RRSVM, OneVsRestSVM
from linnaeus.data.readers import read_dataset
from linnaeus.features import EmbeddedText, TextFeatures
from linnaeus.metrics import wilcoxon
from linnaeus.pipeline import Pipeline

Answers = tuple[Any, float | None]  # labels, weight of the embedding
BASE = "LinearSVC, TF-IDF"


def posts() -> tuple[list[str], np.ndarray, np.ndarray]:
    """Texts, groups, and whether a post is a training post."""
    data = read_dataset(DATA / "20newsgroups" / "20news-bydate.tar.xz", headers="strip")
    labels = np.array([row[0] for row in data.labels or []])
    return list(data.documents), labels, np.array(data.split) == "train"


def terms() -> TextFeatures:
    """The usual terms, of one document too."""
    return TextFeatures(sublinear_tf=True, stop_words="english")


def linear_svc(texts: list[str], y: np.ndarray, test: list[str], _: list[str]) -> Answers:
    """The flat baseline, by scikit-learn alone."""
    made = TfidfVectorizer(sublinear_tf=True, stop_words="english")
    return LinearSVC(C=1.0).fit(made.fit_transform(texts), y).predict(made.transform(test)), None


def pipeline(
    features: Callable[[list[str]], Any], C: float = 1.0
) -> Callable[[list[str], np.ndarray, list[str], list[str]], Answers]:
    """OneVsRestSVM behind features, which may use texts without labels."""

    def run(texts: list[str], y: np.ndarray, test: list[str], others: list[str]) -> Answers:
        pipe = Pipeline(OneVsRestSVM(C=C, random_state=0), features(others)).fit(texts, y)
        return np.asarray(pipe.predict(test)), getattr(pipe.features_, "weight_", None)

    return run


SYSTEMS: dict[str, Callable[[list[str], np.ndarray, list[str], list[str]], Answers]] = {
    BASE: linear_svc,
    "OneVsRestSVM, TF-IDF": pipeline(lambda _: terms()),
    "with wordllama": pipeline(lambda _: EmbeddedText(terms(), "wordllama")),
    "with wordllama and characters": pipeline(lambda _: EmbeddedText(terms(), "wordllama", characters=0.7), C=0.5),
    "with own vectors": pipeline(lambda _: EmbeddedText(terms())),
    "with own vectors, 3,000 posts without labels": pipeline(lambda others: EmbeddedText(terms(), texts=others)),
}


def few_posts(sizes: list[int], n_draws: int, n_test: int, systems: list[str]) -> list[dict[str, Any]]:
    """Accuracy by number of posts for each group; differences to the baseline with a test over test posts."""
    texts, labels, train = posts()
    test = np.sort(np.random.default_rng(0).permutation(np.flatnonzero(~train))[:n_test])
    rows = []
    for size in sizes:
        right: dict[str, list[np.ndarray]] = {name: [] for name in systems}
        weights: dict[str, list[float]] = {name: [] for name in systems}
        for draw in range(n_draws):
            rng = np.random.default_rng(1 + draw)
            order = rng.permutation(np.flatnonzero(train))
            chosen = np.concatenate([order[labels[order] == group][:size] for group in np.unique(labels)])
            others = [texts[i] for i in order[~np.isin(order, chosen)][:3000]]
            for name in systems:
                answers, weight = SYSTEMS[name](
                    [texts[i] for i in chosen], labels[chosen], [texts[i] for i in test], others
                )
                right[name].append(answers == labels[test])
                weights[name] += [] if weight is None else [weight]
        for name in systems:
            accuracies = [100 * float(one.mean()) for one in right[name]]
            gain = np.sum(right[name], axis=0) - np.sum(right[BASE], axis=0)
            rows.append(
                {
                    "posts": size,
                    "system": name,
                    "accuracy": round(float(np.mean(accuracies)), 2),
                    "deviation": round(float(np.std(accuracies)), 2),
                    "gain": round(100 * float(gain.mean()) / n_draws, 2),
                    "lowest_gain": round(
                        min(a - 100 * float(b.mean()) for a, b in zip(accuracies, right[BASE], strict=True)), 2
                    ),
                    "p": float(wilcoxon(gain).p_value) if name != BASE and gain.any() else None,
                    "weights": weights[name],
                }
            )
            print(json.dumps(rows[-1]), flush=True)
    return rows


def cost() -> list[dict[str, Any]]:
    """Processor seconds of a fit on all training posts, with and without filled columns."""
    texts, labels, train = posts()
    some, y = [texts[i] for i in np.flatnonzero(train)], labels[train]
    rows = []
    for name, features in (
        ("TF-IDF", terms()),
        ("with own vectors, 100", EmbeddedText(terms(), weight=0.3)),
        ("with wordllama, 256", EmbeddedText(terms(), "wordllama", weight=0.3)),
    ):
        start = time.process_time()
        X = features.fit_transform(some)
        row: dict[str, Any] = {"features": name, "numbers_per_row": round(X.nnz / X.shape[0], 1)}
        row["features_seconds"] = round(time.process_time() - start, 1)
        for model in (OneVsRestSVM(random_state=0), RRSVM(random_state=0)):
            start = time.process_time()
            model.fit(X, y)
            row[f"{type(model).__name__}_seconds"] = round(time.process_time() - start, 2)
        rows.append(row)
        print(json.dumps(row), flush=True)
    return rows


def run(arguments: list[str]) -> dict[str, Any]:
    """Print and return the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks embeddings", description=__doc__)
    parser.add_argument("--sizes", default="2,5,10,50")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--test", type=int, default=2500)
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS))
    parser.add_argument("--cost", action="store_true")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    print(json.dumps(machine.describe()))
    sizes = [int(size) for size in given.sizes.split(",")]
    rows = cost() if given.cost else few_posts(sizes, given.draws, given.test, given.systems)
    return {"machine": machine.describe(), "rows": rows}
