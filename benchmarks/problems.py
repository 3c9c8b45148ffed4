"""The problems that benchmarks and data tests share, read from the folder of real data sets as the files are."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from linnaeus import Taxonomy
from linnaeus.data.readers import read_dataset

DATA = Path(os.environ.get("LINNAEUS_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@dataclass(frozen=True)
class Problem:
    """Train and test matrices with labels as 0/1 rows over the nodes of the taxonomy."""

    name: str
    taxonomy: Taxonomy
    X: Any
    Y: Any
    X_test: Any
    Y_test: Any

    @property
    def label_nodes(self) -> Any:
        """Nodes with at least one training document."""
        return np.flatnonzero(np.asarray(self.Y.sum(axis=0)).ravel())


def leaves_only(problem: Problem) -> Problem:
    """The same with the most specific labels of every document only."""
    frontier = problem.taxonomy.frontier
    return replace(problem, Y=frontier(problem.Y), Y_test=frontier(problem.Y_test))


def load(name: str) -> Problem:
    """A problem by name: rcv1v2, imclef07a or wordnet_nouns."""
    return {"rcv1v2": _rcv1v2, "imclef07a": _imclef07a, "wordnet_nouns": _wordnet_nouns}[name]()


def _rcv1v2() -> Problem:
    """Train: subsets 1-4 half 0 and subset 5 half 1; repeated vectors dropped on both sides and from the test side."""
    folder = DATA / "rcv1v2"
    taxonomy = Taxonomy.read(folder / "rcv1.taxonomy")
    data = read_dataset(folder / "rcv1v2_subsets_30000.npz")
    subset, half, first = (np.asarray(data.extra[key]) for key in ("subset", "half", "dup_of"))
    train = ((subset <= 4) & (half == 0)) | ((subset == 5) & (half == 1))
    train_rows = _first_of_each(np.flatnonzero(train), first)
    test_rows = np.flatnonzero(~train)
    test_rows = _first_of_each(test_rows[~np.isin(first[test_rows], first[train_rows])], first)
    Y = data.indicator(taxonomy)
    return Problem("rcv1v2", taxonomy, data.X[train_rows], Y[train_rows], data.X[test_rows], Y[test_rows])


def _first_of_each(rows: Any, group: Any) -> Any:
    _, position = np.unique(group[rows], return_index=True)
    return rows[np.sort(position)]


def _imclef07a() -> Problem:
    """Dense features brought to mean 0 and deviation 1 on the training images; one leaf per image."""
    from linnaeus.features.dense import DenseFeatures

    train = read_dataset(DATA / "imclef07a" / "ImCLEF07A_Train.arff.gz")
    test = read_dataset(DATA / "imclef07a" / "ImCLEF07A_Test.arff.gz")
    features = DenseFeatures().fit(train.X)
    X, X_test = features.transform(train.X), features.transform(test.X)
    return Problem("imclef07a", train.taxonomy, X, train.indicator(), X_test, test.indicator(train.taxonomy))


def _wordnet_nouns() -> Problem:
    """Glosses as sublinear TF-IDF of unit length over terms of at least two training documents; a DAG."""
    from linnaeus.features.text import TextFeatures

    folder = DATA / "wordnet_nouns"
    taxonomy = Taxonomy.read(folder / "taxonomy.tsv.xz")
    train = read_dataset(folder / "train.jsonl.xz", taxonomy=taxonomy)
    test = read_dataset(folder / "test.jsonl.xz", taxonomy=taxonomy)
    features = TextFeatures(sublinear_tf=True, min_df=2)
    X, X_test = features.fit_transform(train.documents), features.transform(test.documents)
    return Problem("wordnet_nouns", taxonomy, X, train.indicator(taxonomy), X_test, test.indicator(taxonomy))
