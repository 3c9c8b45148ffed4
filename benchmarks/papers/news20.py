"""Twenty newsgroups by date, the first word of a name above the whole name: NEWS20 of Gopal and Yang (2015).

7 + 20 nodes, as in the paper. Posts keep their headers, for its collection kept subjects and senders; TF-IDF of
unit length over words of at least two training posts. C by micro-F1 on a fifth of the training posts that is held out,
then all of them.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Any

from benchmarks.accuracy.figures import label_f1
from benchmarks.accuracy.selection import DECADES, Folds, choose, quiet
from benchmarks.papers.study import Figures
from benchmarks.problems import DATA, Problem
from benchmarks.problems.newsgroups import by_date
from linnaeus import Taxonomy, registry
from linnaeus.data.readers import read_dataset
from linnaeus.engine import single_blas_thread
from linnaeus.features.text import TextFeatures
from linnaeus.metrics import micro_f1

__all__ = ["SYSTEMS", "measured"]

SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "OneVsRestSVM": ("OneVsRestSVM", {"loss": "hinge"}),
    "OneVsRestLogistic": ("OneVsRestLogistic", {}),
    "MulticlassSVM": ("MulticlassSVM", {}),
    "SoftmaxRegression": ("SoftmaxRegression", {}),
    "TopDownSVM": ("TopDownSVM", {}),
    "HierarchicalSVM": ("HierarchicalSVM", {}),
    "RRSVM": ("RRSVM", {"loss": "hinge"}),
    "RRLogistic": ("RRLogistic", {}),
}


def problem() -> Problem:
    """The by-date split: 11,314 training and 7,532 test posts."""
    data = read_dataset(DATA / "20newsgroups" / "20news-bydate.tar.xz", headers="keep")
    groups = sorted({group for labels in data.labels or [] for group in labels})
    taxonomy = Taxonomy.from_edges([(f"{group.split('.')[0]}.*", group) for group in groups])
    return by_date("newsgroups20", taxonomy, data, TextFeatures(sublinear_tf=True, min_df=2))


@cache
def measured() -> Figures:
    """micro-F1, macro-F1, seconds of training (of the processor) and C of every system."""
    posts = problem()
    folds = Folds.of(posts.X, posts.Y, 0.2)
    with single_blas_thread():
        return {("", name): _row(name, posts, folds) for name in SYSTEMS}


def _row(name: str, posts: Problem, folds: Folds) -> dict[str, float]:
    kind, settings = SYSTEMS[name]

    def make(tol: float = 1e-2) -> Any:
        return registry.resolve(kind)(posts.taxonomy, tol=tol, max_iter=1000, random_state=0, **settings)

    def quality(C: float) -> dict[str, float]:
        return {"micro_f1": float(micro_f1(folds.gold, folds.answers(make, name, C)))}

    C = choose(quality, DECADES, start=10.0, name=name).best("micro_f1")
    folds.forget(name)
    model = make(1e-3).set_params(C=C)
    start = time.process_time()
    with quiet():
        model.fit(posts.X, posts.Y)
    seconds = time.process_time() - start
    H = model.answers(posts.X_test, closed=False)
    return {
        "micro-F1": 100 * float(micro_f1(posts.Y_test, H)),
        "macro-F1": 100 * float(label_f1(posts.Y_test, H, posts.label_nodes).mean()),
        "training, s": seconds,
        "C": C,
    }
