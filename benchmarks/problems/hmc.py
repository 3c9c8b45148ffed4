"""The benchmark of hierarchical multi-label classification: X-ray images, e-mails, functions of yeast genes.

Its protocol: train on train and validation part together, missing values filled with the mean, every feature to mean 0
and deviation 1, both learned from these. AU(PRC) is micro-averaged over `measured_nodes`, labels with all ancestors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.problems.base import DATA, Problem
from linnaeus.data.readers import read_dataset
from linnaeus.features.dense import DenseFeatures

YEAST = [f"{kind}_{labels}" for labels in ("FUN", "GO") for kind in ("cellcycle", "eisen", "seq")]
TOPS_OF_GO = ("GO0003674", "GO0005575", "GO0008150")  # hold for every gene


def imclef07a() -> Problem:
    """Edge histograms of X-ray images; one leaf per image."""
    folder = DATA / "imclef07a"
    return _problem("imclef07a", [folder / "ImCLEF07A_Train.arff.gz"], folder / "ImCLEF07A_Test.arff.gz")


def enron_hmc() -> Problem:
    """E-mails as 1,001 words, present or not; 56 nodes, about five labels each with ancestors."""
    folder = DATA / "enron_hmc"
    return _problem("enron_hmc", [folder / "Enron_corr_trainvalid.arff.gz"], folder / "Enron_corr_test.arff.gz")


def yeast(name: str) -> Problem:
    """One of `YEAST`: FUN is a tree of 499 nodes, GO a DAG of about 4,100."""
    train, valid, test = (DATA / "yeast" / f"{name}.{part}.arff.gz" for part in ("train", "valid", "test"))
    return _problem(name, [train, valid], test)


def measured_nodes(problem: Problem) -> Any:
    """Numbers of the nodes over which AU(PRC) is taken: all but the root and the three tops of GO."""
    names = problem.taxonomy.names
    counted = [v not in TOPS_OF_GO and k != problem.taxonomy.root for k, v in enumerate(names)]
    return np.flatnonzero(counted)


def _problem(name: str, train_files: list[Any], test_file: Any) -> Problem:
    train, test = read_dataset(train_files if len(train_files) > 1 else train_files[0]), read_dataset(test_file)
    features = DenseFeatures().fit(train.X)
    X, X_test = features.transform(train.X), features.transform(test.X)
    Y, Y_test, read = train.indicator(), test.indicator(train.taxonomy), (train.X, test.X)
    return Problem(name, train.taxonomy, X, Y, X_test, Y_test, read)
