"""Classifiers of edges: what they are trained on, and what searches over their scores find."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

import linnaeus
from linnaeus import EdgePA, OneVsRestPA, Taxonomy
from linnaeus.decoding.sets.search import ExactSearch
from linnaeus.models.topdown import edge_pa
from tests.contracts.configurations import documents, taxonomy

TREE = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"], ["B", "BB"]])
PLAIN = {"average": "none", "fit_intercept": False, "random_state": 0}


@pytest.mark.parametrize("training_set", ["all", "siblings"])
def test_an_edge_learns_from_its_documents_alone(training_set: str) -> None:
    tax = taxonomy()
    X, labels = documents(tax, 60)
    X = X.toarray().astype(np.float64)
    model = EdgePA(tax, training_set=training_set, search="local", max_iter=2, **PLAIN).fit(X, labels)
    closed = tax.close(tax.indicator(labels)).toarray()
    v, p = tax.index("AA"), tax.index("A")
    taken = np.ones(60) if training_set == "all" else closed[:, p].astype(float)
    w = np.zeros(X.shape[1])
    from linnaeus.models.flat.passive_aggressive import visit_orders

    for order in visit_orders(0, 60, 2):
        for i in order[taken[order] > 0]:
            y = 2.0 * closed[i, v] - 1
            w += min(1.0, max(0.0, 1 - y * (X[i] @ w)) / (X[i] @ X[i])) * y * X[i]
    np.testing.assert_allclose(model.weights_[:, list(model.classes_).index("AA")], w, atol=1e-6)


@pytest.mark.parametrize("average", ["none", "trajectory"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("training_set", ["all", "siblings"])
def test_a_stream_in_one_piece_is_a_pass_of_fit(
    training_set: str, fit_intercept: bool, average: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tax = taxonomy()
    X, labels = documents(tax, 60)
    given = {"training_set": training_set, "search": "local", "average": average, "fit_intercept": fit_intercept}
    monkeypatch.setattr(edge_pa, "visit_orders", lambda _, n_docs, n: [np.arange(n_docs)])
    whole = EdgePA(tax, max_iter=1, **given).fit(X, labels)
    stream = EdgePA(tax, **given).partial_fit(X, labels)
    for name in ("nodes_", "stop_nodes_", "weights_", "intercept_", "stop_weights_", "stop_intercept_", "label_nodes_"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(stream, name))
    assert whole.predict(X) == stream.predict(X)
    if average == "none":  # a mean is over the visits of a call
        parts = EdgePA(tax, **given)
        names = [[str(name)] for name in tax.names[np.unique(tax.frontier(tax.indicator(labels)).indices)]]
        parts.partial_fit(X[:25], labels[:25], classes=names).partial_fit(X[25:], labels[25:])
        learned = whole.states_ == parts.states_
        columns = learned[0, whole.nodes_] & (whole.states_[0, whole.nodes_] == edge_pa.LEARNED)
        decided = columns & whole.weights_.any(axis=0)
        assert decided.sum() > 3
        if training_set == "all":  # every part has documents against every node
            np.testing.assert_allclose(whole.weights_, parts.weights_, atol=1e-6)


def test_labels_that_come_later_get_edges_and_leaves_of_their_own() -> None:
    x = np.eye(4)
    model = EdgePA(TREE, random_state=0).partial_fit(x[:2], [["A"], ["B"]])
    assert model.classes_.tolist() == ["A", "B"]
    assert not len(model.stop_nodes_)
    for _ in range(5):
        model.partial_fit(x, [["A"], ["B"], ["AA"], ["AB"]])
    assert model.stop_nodes_.tolist() == [TREE.index("A")]  # A has become an inner node, where documents may stop
    assert model.predict(x) == [["A"], ["B"], ["AA"], ["AB"]]


def test_a_model_that_was_loaded_goes_on_learning(tmp_path) -> None:
    tax = taxonomy()
    X, labels = documents(tax, 60)
    model = EdgePA(tax, random_state=0, max_iter=2).fit(X[:40], labels[:40])
    linnaeus.save(model, tmp_path / "model")
    again = linnaeus.load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.partial_fit(X[40:], labels[40:]).weights_, model.partial_fit(X[40:], labels[40:]).weights_
    )


def test_an_only_child_is_a_constant_until_something_speaks_against_it() -> None:
    chain = Taxonomy.from_paths([["A", "AA"], ["A", "AB"]])
    model = EdgePA(chain, training_set="siblings", search="local", fit_intercept=False)
    model.partial_fit([[1.0, 0.0]], [["AA"]])
    assert model.decision_function([[0.0, 1.0]]).tolist() == [[1.0, 1.0]]
    model.partial_fit(np.eye(2), [["AA"], ["AB"]])
    assert model.predict(np.eye(2)) == [["AA"], ["AB"]]
    assert model.intercept_.tolist() == [1.0, 0.0, 0.0]  # all documents are under A


def test_on_a_flat_taxonomy_all_models_are_the_flat_one() -> None:
    star = Taxonomy.from_edges([("R", name) for name in "ABCD"])
    X, labels = documents(star, 40)
    flat = OneVsRestPA(star, **PLAIN).fit(X, labels)
    for search in ("exact", "local"):
        model = EdgePA(star, search=search, **PLAIN).fit(X, labels)
        np.testing.assert_array_equal(model.weights_, flat.weights_)
        assert model.predict(X) == flat.predict(X)


def test_exact_search_over_sibling_classifiers_is_warned_of() -> None:
    X, labels = documents(taxonomy())
    with pytest.warns(UserWarning, match="take search='local'"):
        EdgePA(taxonomy(), training_set="siblings").fit(X, labels)


def test_search_errors_are_those_of_local_search_only() -> None:
    tax = taxonomy()
    X, labels = documents(tax, 80)
    model = EdgePA(tax, max_iter=1, random_state=0).fit(X, labels)
    assert model.search_errors(X, labels, decoder=ExactSearch()) == 0
    assert 0 < model.search_errors(X, labels) < 1


@pytest.mark.parametrize("search", ["exact", "local"])
def test_rankings_of_sets_end_at_labels_and_count_stop_leaves(search: str) -> None:
    tax = taxonomy()
    X, labels = documents(tax, 80)
    labels[0] = ["A"]  # an inner label
    model = EdgePA(tax, search=search, max_iter=2, random_state=0).fit(X, labels)
    assert len(model.stop_nodes_)
    known = {str(tax.names[v]) for v in model.label_nodes_}
    ((U, E), _, _), *_ = model._set_weights(model._check_X(X[:20], reset=False), model._decoder(None))
    place = {int(v): i for i, v in enumerate(model.nodes_)}
    for d, ranked in enumerate(model.n_best(X[:20], 4, closed=False)):
        assert all(set(names) <= known for names, _ in ranked)
        for names, score in ranked:
            ends = [tax.index(name) for name in names]
            members = set().union(*(set(tax.ancestors(v).tolist()) for v in ends)) - {tax.root}
            own = sum(U[d, place[v]] for v in members) + sum(E[d, place[v]] for v in ends)
            assert score == pytest.approx(own, abs=1e-4)
    best = [ranked[0][0] for ranked in model.n_best(X, 1, closed=False)]
    assert best == [sorted(row, key=tax.index) for row in model.predict(X)]
    only = model.predict(X[:20], rules={"only_under": "A", "at_most": 1, "at_least": 1})
    assert all(len(row) == 1 and row[0].startswith("A") and row[0] in known for row in only)


def test_verbose_shows_the_progress_of_panels(monkeypatch) -> None:
    shown = []

    @contextmanager
    def watched(description, total, *, show):
        shown.append((total, show))
        yield lambda n: shown.append(n)

    monkeypatch.setattr(edge_pa, "progress", watched)
    tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B")])
    EdgePA(tax, verbose=1, random_state=0).fit(np.eye(2), ["A", "B"])
    assert shown == [(1, True), 1]
