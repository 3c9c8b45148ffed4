"""Flat ranking SVMs from the top downwards."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus import DivideAndConquerSVM, HierarchicalSVM, Taxonomy
from linnaeus.errors import ParameterError
from tests.contracts.configurations import documents, taxonomy

TIGHT = {"tol": 1e-7, "random_state": 0, "set_size": "mean", "max_iter": 20_000}


def test_on_one_level_it_is_the_flat_svm() -> None:
    rng = np.random.default_rng(0)
    tax = Taxonomy.from_edges([("R", name) for name in "abcd"])
    X, y = rng.normal(size=(50, 4)), rng.choice(list("abcd"), 50)
    ours = DivideAndConquerSVM(tax, **TIGHT).fit(X, y)
    flat = HierarchicalSVM(tax, attributes="flat", cost="zero_one", **TIGHT).fit(X, y)
    assert ours.objective_ == pytest.approx(flat.objective_, rel=1e-6)
    assert ours.predict(X).tolist() == flat.predict(X).tolist()


@pytest.mark.parametrize("kind", ["tree", "dag"])
def test_greedy_answers_are_those_of_a_walk_by_hand(kind) -> None:
    tax = taxonomy(kind)
    X, labels = documents(tax)
    y = [row[0] for row in labels]
    model = DivideAndConquerSVM(tax, random_state=0).fit(X, y)
    W = model.weights_.toarray() if hasattr(model.weights_, "toarray") else model.weights_
    ends = {int(end): str(tax.names[v]) for end, v in zip(model.ends_, model.nodes_, strict=True)}
    for i in range(20):
        place = -1
        while place not in ends:
            edges = np.flatnonzero(model.parents_ == place)
            scores = (X[[i]] @ W + model.intercept_)[0, edges]
            place = int(model.children_[edges[np.argmax(scores)]])
        assert model.predict(X[[i]])[0] == ends[place]


def test_every_inner_node_decides_among_its_children_only() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA"), ("B", "BB")])
    X, names = np.eye(4)[[0, 1, 2, 3] * 5], ["AA", "AB", "BA", "BB"] * 5
    model = DivideAndConquerSVM(tax, C=10.0, **TIGHT).fit(X, names)
    objective = 0.0
    for rows, labels in (
        (range(20), [name[0] for name in names]),
        ([i for i in range(20) if names[i][0] == "A"], names),
        ([i for i in range(20) if names[i][0] == "B"], names),
    ):
        flat = HierarchicalSVM(attributes="flat", cost="zero_one", C=10.0, **TIGHT)
        objective += flat.fit(X[list(rows)], [labels[i] for i in rows]).objective_
    assert model.objective_ == pytest.approx(objective, rel=1e-6)


def test_an_only_child_has_no_model() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("A", "AA"), ("R", "B")])
    model = DivideAndConquerSVM(tax, random_state=0).fit(np.eye(2)[[0, 1] * 4], ["AA", "B"] * 4)
    W = model.weights_.toarray() if hasattr(model.weights_, "toarray") else model.weights_
    only = np.flatnonzero(model.parents_ >= 0)
    assert len(only) == 1
    assert not W[:, only].any()
    assert model.predict(np.eye(2)).tolist() == ["AA", "B"]


def test_documents_may_stop_at_inner_nodes_and_at_the_root() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA")])
    X, y = np.eye(4)[[0, 1, 2, 3] * 5], ["A", "AA", "B", "R"] * 5
    assert DivideAndConquerSVM(tax, C=10.0, random_state=0).fit(X, y).predict(X).tolist() == y


def test_ranked_descent_can_mend_a_mistake_at_the_top() -> None:
    tax = taxonomy()
    X, labels = documents(tax, n_docs=200)
    y = [row[0] for row in labels]
    greedy, ranked = (DivideAndConquerSVM(tax, descent=how, random_state=0).fit(X, y) for how in ("greedy", "ranked"))
    np.testing.assert_array_equal(greedy.weights_.toarray(), ranked.weights_.toarray()) if hasattr(
        greedy.weights_, "toarray"
    ) else np.testing.assert_array_equal(greedy.weights_, ranked.weights_)
    assert (greedy.predict(X) != ranked.predict(X)).any()
    assert greedy.decision_function(X).max(axis=1) == pytest.approx(0.0)


def test_label_sets_reach_several_leaves() -> None:
    tax = taxonomy()
    X, labels = documents(tax, n_docs=200)
    answers = DivideAndConquerSVM(tax, C=10.0, random_state=0).fit(X, labels).predict(X)
    assert max(map(len, answers)) > 1


def test_wrong_parameters_are_named() -> None:
    with pytest.raises(ParameterError, match="did you mean 'greedy'"):
        DivideAndConquerSVM(descent="greedily").fit(np.eye(2), ["a", "b"])
