"""The experiments with perceptrons: the order of the thesis's tables on real posts."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.perceptron_speed import documents, tree
from benchmarks.ranking import perceptrons


def test_made_up_documents_have_the_shape_that_is_asked_for() -> None:
    tax = tree(100, 4)
    assert [len(level) for level in tax.levels] == [1, 3, 10, 32, 100]
    X, Y = documents(50, 1000, 7, tax, seed=0)
    assert X.shape == (50, 1000)
    assert (np.diff(X.indptr) == 7).all()
    assert set(Y.indices) <= set(tax.leaves)


@pytest.mark.data
@pytest.mark.slow
def test_sharing_weights_ranks_newsgroups_better_and_a_learned_taxonomy_better_than_none(data_dir) -> None:
    systems = ["perceptron, flat", "perceptron", "perceptron, learned taxonomy", "Hieron, augmented"]
    rows = perceptrons.runs([20], n_runs=3, systems=systems, shuffle=False)
    precision = {s: np.mean([row["precision"] for row in rows if row["system"] == s]) for s in systems}
    assert precision["perceptron"] > precision["perceptron, flat"]
    assert precision["perceptron, learned taxonomy"] > precision["perceptron, flat"]
    assert precision["Hieron, augmented"] > precision["perceptron"] + 5
    assert precision["perceptron"] == pytest.approx(63.2, abs=2.0)  # the thesis
