"""The experiments with ranking SVMs: what is drawn, what is measured, how tables are made of it."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import accuracy_ranking
from benchmarks.ranking import branches, synthetic
from benchmarks.ranking.measures import measured, permutation_p, with_own_leaves
from linnaeus import HierarchicalSVM, Taxonomy

TAX = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB")])


def test_labels_at_inner_nodes_become_leaves() -> None:
    grown, Y = with_own_leaves(TAX, TAX.indicator([["A"], ["AA", "B"]]))
    assert grown.labels(Y) == [["A/self"], ["B", "AA"]]
    assert grown.depth[grown.index("A/self")] == 2


def test_every_label_has_its_documents_among_those_drawn() -> None:
    Y = TAX.indicator([["AA"]] * 5 + [["AB"], ["AA", "B"]])
    for seed in range(5):
        drawn = branches._few(Y, 2, seed)
        counts = np.asarray(Y[drawn].sum(axis=0)).ravel()
        assert (counts[[TAX.index(name) for name in ("AA", "AB", "B")]] >= [2, 1, 1]).all()
        assert len(drawn) <= 4


def test_measures_are_in_per_cent_but_for_losses() -> None:
    X, y = np.eye(3), ["AA", "AB", "B"]
    model = HierarchicalSVM(TAX, C=10.0, random_state=0).fit(X, y)
    found = measured(model, X, TAX.indicator(y), TAX)
    assert found["accuracy"] == found["precision"] == found["parent accuracy"] == 100
    assert found["top loss"] == found["maximal loss"] == found["ranking loss"] == 0
    assert measured(model, X[[1, 0, 2]], TAX.indicator(y), TAX)["top loss"] == pytest.approx(2 / 3)


def test_ten_runs_can_give_no_less_than_two_in_a_thousand() -> None:
    assert permutation_p(range(1, 11), np.zeros(10)) == pytest.approx(2 / 1024)


def test_a_cell_says_what_is_better_and_how_sure_that_is() -> None:
    rows = [{"system": "flat", "ranking loss": 5.0 + k} for k in range(10)]
    rows += [{"system": "ours", "ranking loss": 4.0 + k} for k in range(10)]
    cells = accuracy_ranking._cells(rows, ["ranking loss"], "ours", (4.5,))
    assert cells == {"ranking loss": "8.5 (4.5) + p=0.002"}


def test_a_small_synthetic_run() -> None:
    rows = synthetic.runs(2, 2, n_seeds=1, n_folds=1)
    assert {row["system"] for row in rows} == {"flat", "hierarchical"}
    assert all(row["violation"] <= 0.1 for row in rows)
    assert len(synthetic.seed_means(rows, "flat", "precision")) == 1
