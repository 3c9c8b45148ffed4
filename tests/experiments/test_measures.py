"""What is measured of answers, on a tree small enough to count by hand."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.experiments.experiment import Experiment, Part
from linnaeus.experiments.measures import ModelAnswers, measure, pooled_f1, size_groups
from linnaeus.experiments.records import Figures
from linnaeus.experiments.shootout import node_table

#        R(A(AA, AB), B(BA, BB)): six training documents of AA, one each of AB and BA
TRAIN = ["AA"] * 6 + ["AB", "BA"]
GOLD = ["AA", "AA", "AB", "BA"]
SAID = ["AA", "AB", "AA", "BA"]


@pytest.fixture
def experiment(abc: Taxonomy) -> Experiment:
    X = np.eye(8, dtype=np.float32)
    part = Part.of(X, abc.indicator(TRAIN), X[:4], abc.indicator(GOLD))
    return Experiment("drawn", abc, (part,), "given split")


@pytest.fixture
def found(experiment: Experiment) -> Figures:
    H = experiment.taxonomy.indicator(SAID)
    P = experiment.taxonomy.close(H, keep_root=False).toarray().astype(np.float32)
    return measure(experiment, ModelAnswers(H, P[:, experiment.label_nodes], P))


def test_measures_are_those_of_the_answers(found) -> None:
    assert found.measures["micro_f1"] == 0.5
    assert found.measures["hierarchical_f1"] == 0.75
    assert found.measures["one_accuracy"] == 0.5
    assert found.measures["brier"] == pytest.approx(4 / 24), "four wrong decisions over four documents and six nodes"


def test_nodes_are_grouped_by_their_training_documents(experiment, found) -> None:
    groups = {(low, high): experiment.taxonomy.names[nodes].tolist() for low, high, nodes in size_groups(experiment)}
    assert groups == {(1, 5): ["B", "AB", "BA"], (6, 20): ["A", "AA"]}
    by_size = {row.low: row.f1 for row in found.by_size}
    assert by_size == {1: pytest.approx(2 * 2 / (3 + 3)), 6: pytest.approx(2 * 4 / (5 + 5))}


def test_siblings_that_are_confused_are_counted_both_ways(experiment, found) -> None:
    names = experiment.taxonomy.names[experiment.shown].tolist()
    report = [(names[row.gold], names[row.answered], row.n) for row in found.confusion]
    assert report == [("AA", "AB", 1), ("AB", "AA", 1)]


def test_nodes_are_rows_of_those_that_are_shown(experiment, found) -> None:
    tree = node_table(experiment)
    assert tree.names == ["R", "A", "B", "AA", "AB", "BA"], "BB has no documents"
    assert tree.parent == [-1, 0, 0, 1, 1, 2]
    rows = {tree.names[row.node]: row for row in found.by_node}
    assert set(rows) == {"A", "B", "AA", "AB", "BA"}
    assert (rows["AA"].n_train, rows["AA"].n_test, rows["AA"].f1) == (6, 2, 0.5)


def test_levels_count_gold_documents(found) -> None:
    assert [(row.level, row.n_documents, row.f1) for row in found.by_level] == [(1, 4, 1.0), (2, 4, 0.5)]


def test_reliability_has_bins_with_bounds(found) -> None:
    assert found.reliability[0].low == 0.0
    assert found.reliability[-1].high == 1.0
    assert sum(row.n for row in found.reliability) == 4 * 6


def test_without_probabilities_there_is_no_area(experiment) -> None:
    H = experiment.taxonomy.indicator(SAID)
    best = np.array([[0], [1], [0], [2]])
    report = measure(experiment, ModelAnswers(H, (best, np.ones((4, 1)))))
    assert report.measures["au_prc"] is None
    assert report.reliability is None
    assert report.measures["one_accuracy"] == 0.5


def test_f1_of_nothing_is_0() -> None:
    assert pooled_f1(np.zeros(3)) == 0


def test_the_siblings_that_are_most_confused_are_a_table(found) -> None:
    assert (found.siblings.parent, found.siblings.names) == ("A", ["AA", "AB"])
    assert found.siblings.table == [[1, 1], [1, 0]]
