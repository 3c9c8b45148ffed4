"""MinOver: exact traces, margins that are asked for, documents that cannot be separated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from linnaeus import HierarchicalPerceptron
from linnaeus.errors import DataError, ParameterError
from linnaeus.losses.cost import pair_cost
from linnaeus.models.published.minover import minover
from linnaeus.models.ranking.attributes import class_attributes
from linnaeus.models.ranking.updates import RankedClasses
from tests.losses.test_pair_cost import four
from tests.models.ranking.test_perceptron import FLAT, ONE, X4, Y4, perceptron, weights_by_name


def test_the_traces_of_minover_are_exact() -> None:
    model = perceptron("minover", **ONE).fit(X4, Y4)
    assert (model.n_updates_, model.converged_) == (12, True)
    assert weights_by_name(model, model.attribute_weights_) == {
        "A": [10, -7.5], "B": [-11, 12], "c1": [3, -6], "c2": [7, -1.5], "c3": [-18, 13.5], "c4": [8, -6],
    }  # fmt: skip
    assert model.active_ratio_ == 5 / 13  # five pairs of (3 + 3 + 3 + 4)
    flat = perceptron("minover", **FLAT).fit(X4, Y4)
    assert flat.n_updates_ == 13
    assert flat.active_ratio_ == 6 / 13


def test_minover_takes_the_worst_pair_of_all_documents() -> None:
    from linnaeus.losses.cost import pair_cost
    from linnaeus.models.published.minover import minover
    from linnaeus.models.ranking.attributes import class_attributes
    from linnaeus.models.ranking.updates import RankedClasses

    tax, classes = four()
    known = RankedClasses(class_attributes(tax, classes, "one"), pair_cost(tax, classes))
    labels = sparse.csr_array(tax.indicator(Y4)[:, classes])
    labels.sort_indices()
    K = X4 @ X4.T
    steps = minover(lambda i: K[i].copy(), np.diag(K), labels, known, max_steps=100)
    expected = [(1, 1, 2), (3, 2, 1), (2, 3, 2), (3, 2, 3), (2, 3, 2), (3, 2, 3), (4, 4, 2), (2, 3, 2), (3, 2, 3)]
    expected += [(2, 3, 2), (3, 2, 3), (2, 3, 2)]
    found = zip(steps.document + 1, steps.right + 1, steps.wrong + 1, strict=True)
    assert [tuple(map(int, triple)) for triple in found] == expected


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, lambda X: X @ X.T])
def test_documents_that_contradict_an_earlier_one_are_left_out_of_minover(form) -> None:
    X = np.array([[1.0, 0], [1.0, 0], [0, 1.0]])
    kernel = "precomputed" if form(X).shape == (3, 3) else "linear"
    with pytest.warns(UserWarning, match="1 documents equal an earlier one"):
        model = HierarchicalPerceptron(variant="minover", max_iter=5, kernel=kernel).fit(form(X), ["a", "b", "c"])
    assert model.converged_
    assert model.predict(form(X)).tolist() == ["a", "a", "c"]


def test_minover_gives_back_its_best_step_where_documents_cannot_be_separated() -> None:
    X = np.array([[1.0, 0.1], [1.0, 0.2], [1.0, 0.15], [0.0, 1.0]])
    with pytest.warns(ConvergenceWarning, match="cannot be separated"):
        model = HierarchicalPerceptron(variant="minover", max_iter=30).fit(X, ["a", "a", "b", "c"])
    assert not model.converged_
    assert model.margin_ < 0
    assert model.predict([[0.0, 1.0]]).tolist() == ["c"]


def test_minover_reaches_the_desired_margin() -> None:
    model = perceptron("minover", margin=50.0, **ONE).fit(X4, Y4)
    S = model.decision_function(X4)
    columns = {name: i for i, name in enumerate(model.classes_)}
    for scores, labels in zip(S, Y4, strict=True):
        own = [columns[label] for label in labels]
        assert scores[own].min() - np.delete(scores, own).max() > 50.0
    assert model.margin_ > 0
    with pytest.raises(ParameterError, match="margin=1.0 is for variant='minover'"):
        perceptron("online", margin=1.0).fit(X4, Y4)


def test_costs_of_zero_and_scores_beyond_memory_are_refused(monkeypatch) -> None:
    tax, nodes = four()
    free = RankedClasses(class_attributes(tax, nodes, "one"), pair_cost(tax, nodes, np.zeros((7, 7))))
    labels = sparse.csr_array(np.eye(4, dtype=np.int8))
    with pytest.raises(ParameterError, match="costs above 0"):
        minover(lambda i: np.eye(4)[i], np.ones(4), labels, free, max_steps=3)
    monkeypatch.setattr("linnaeus.models.published.minover.available_memory", lambda: 100)
    with pytest.raises(DataError, match="4 documents x 4 classes.*use variant='averaged'"):
        minover(lambda i: np.eye(4)[i], np.ones(4), labels, free, max_steps=3)
