"""The ranking SVM on real documents: its certificate, its sparsity, and what the taxonomy is worth."""

from __future__ import annotations

import pytest

from benchmarks import problems
from benchmarks.ranking import newsgroups
from linnaeus import HierarchicalSVM


@pytest.mark.data
@pytest.mark.slow
def test_a_branch_of_mesh_is_certified_and_sparse(data_dir) -> None:
    problem = problems.load("mesh_d01")
    model = HierarchicalSVM(problem.taxonomy, epsilon=0.01, set_size="mean", random_state=0)
    model.fit(problem.X, problem.Y)
    assert model.violation_ <= 0.01
    assert model.duality_gap_ <= 0.01 * problem.X.shape[0]
    assert model.active_ratio_ < 0.1  # the thesis: 0.005 to 0.1


@pytest.mark.data
@pytest.mark.slow
def test_few_posts_are_ranked_better_with_the_subjects_of_their_groups(data_dir) -> None:
    rows = newsgroups.runs([10], n_runs=2)
    flat, hierarchical = ([row for row in rows if row["system"] == name] for name in ("flat", "hierarchical"))
    for ours, theirs in zip(hierarchical, flat, strict=True):
        assert ours["precision"] > theirs["precision"]
        assert ours["parent accuracy"] > theirs["parent accuracy"]
        assert abs(theirs["accuracy"] - newsgroups.PUBLISHED[10]["flat"][0]) < 5
