"""NodeSVM: every node is trained, and asked, only where its ancestors hold."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from linnaeus import EdgePA, HierarchicalRLS, NodeSVM, Taxonomy, TopDownSVM
from linnaeus.taxonomy.closure import is_closed
from tests.contracts.configurations import documents, taxonomy


@pytest.mark.parametrize("kind", ["tree", "dag"])
def test_every_node_is_trained_on_the_documents_that_carry_all_its_parents(kind) -> None:
    tax = taxonomy(kind)
    X, labels = documents(tax)
    X, Y = X.toarray().astype(float), tax.close(tax.indicator(labels)).toarray() > 0
    model = NodeSVM(tax, tol=1e-8, random_state=0).fit(X, labels)
    for column, node in enumerate(model.nodes_):
        parents = [p for p in tax.parents(int(node)) if p != tax.root]
        rows = Y[:, parents].all(axis=1)
        y = Y[rows, node]
        if y.all():
            assert model.intercept_[column] == 1
            continue
        augmented = np.column_stack([X[rows], np.ones(rows.sum())])
        w = LinearSVC(fit_intercept=False, tol=1e-9, max_iter=10**6).fit(augmented, y).coef_[0]
        np.testing.assert_allclose(model.weights_[:, column], w[:-1], atol=5e-3)
        assert model.intercept_[column] == pytest.approx(w[-1], abs=5e-3)


@pytest.mark.parametrize("kind", ["tree", "dag"])
def test_a_node_is_answered_where_it_and_all_its_ancestors_are_above_zero(kind) -> None:
    tax = taxonomy(kind)
    X, labels = documents(tax)
    model = NodeSVM(tax, C=0.3, random_state=0).fit(X, labels)
    raw = np.zeros((X.shape[0], tax.n_nodes), bool)
    S = model.decision_function(X)
    raw[:, model.nodes_] = S > 0
    tops = np.flatnonzero(np.isin(model.nodes_, tax.tops))
    answers = model.answers(X, closed=True)
    assert is_closed(tax, answers)
    for i in range(X.shape[0]):
        expected = {v for v in range(tax.n_nodes) if raw[i, tax.ancestors(v)].all() and v != tax.root}
        expected = expected or {int(model.nodes_[tops[S[i, tops].argmax()]])}
        assert set(answers[[i]].indices) == expected


def test_a_document_with_one_label_stops_where_labels_did_and_no_child_is_likely() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA"), ("B", "BB")])
    X = np.eye(5)[[0, 1, 2, 3, 4] * 3]
    y = np.array(["A", "AA", "AB", "BA", "BB"] * 3)
    model = NodeSVM(tax, C=10.0, random_state=0).fit(X, y)
    assert model.predict(X).tolist() == y.tolist()
    unclear = np.array([[0, 0, 0, 0.5, 0.5], [1.0, 0.1, 0.1, 0, 0]])  # B was no label, A was
    assert model.predict(unclear).tolist()[0] in ("BA", "BB")
    assert model.predict(unclear).tolist()[1] == "A"


def test_answers_may_be_empty_where_training_sets_were() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA")])
    X = np.eye(3)[[0, 1, 2, 0, 1, 2]]
    labels = [["AA"], ["B"], []] * 2
    assert NodeSVM(tax, C=100.0, random_state=0).fit(X, labels).predict(X) == labels
    blank = np.zeros((1, 3))
    assert NodeSVM(tax, random_state=0).fit(X[[0, 1, 3, 4]], [["AA"], ["B"]] * 2).predict(blank)[0]


@pytest.mark.data
def test_recall_is_above_that_of_nodes_trained_on_everything(data_dir) -> None:
    """On Reuters, as in the paper's comparison of SVM and H-SVM: recall rises, precision falls a little."""
    from benchmarks import problems
    from linnaeus import OneVsRestSVM
    from linnaeus.decoding import Threshold

    task = problems.load("rcv1v2")
    rows = np.arange(0, task.X.shape[0], 4)
    settings = {"loss": "hinge", "tol": 1e-2, "random_state": 0}
    X, Y, gold = task.X[rows], task.Y[rows], task.taxonomy.close(task.Y_test)
    repair = Threshold(0.0, repair="suppress", at_least_one=False)
    flat = OneVsRestSVM(task.taxonomy, learn="closed", **settings).fit(X, Y).answers(task.X_test, decoder=repair)
    local = NodeSVM(task.taxonomy, **settings).fit(X, Y).answers(task.X_test, closed=True)
    recall = {name: H.multiply(gold).sum() / gold.sum() for name, H in (("flat", flat), ("local", local))}
    precision = {name: H.multiply(gold).sum() / H.sum() for name, H in (("flat", flat), ("local", local))}
    assert recall["local"] > recall["flat"] + 0.01
    assert precision["flat"] > precision["local"] > precision["flat"] - 0.05


@pytest.mark.parametrize("make", [NodeSVM, TopDownSVM, HierarchicalRLS, EdgePA])
def test_rankings_follow_whole_paths_and_not_scores_of_single_families(make) -> None:
    rng = np.random.default_rng(0)
    tax = Taxonomy.from_paths([[top, f"{top}{end}"] for top in "ABCD" for end in "xyz"])
    labels = np.array([f"{top}{end}" for top in "ABCD" for end in "xyz"])
    y = rng.choice(labels, 400)
    tops, ends = (np.array([list(alphabet).index(name[i]) for name in y]) for i, alphabet in ((0, "ABCD"), (1, "xyz")))
    # A document tells its top well; the features of the ends are the same below all tops.
    X = np.hstack([np.eye(4)[tops], 3 * np.eye(3)[ends]]) + rng.normal(scale=0.2, size=(400, 7))
    model = make(tax, random_state=0).fit(X[:300], y[:300].tolist())
    names, scores = model.top(X[300:], 3)
    assert np.isin(names, labels).all()  # only labels of training documents
    assert (np.diff(scores, axis=1) <= 0).all()
    assert (names[:, 0] == y[300:]).mean() > 0.9
    S, columns = model.decision_function(X[300:]), {name: i for i, name in enumerate(model.classes_)}
    for row, name, score in zip(S, names[:, 0], scores[:, 0], strict=True):
        assert score == pytest.approx(min(row[columns[name]], row[columns[name[0]]]))


@pytest.mark.parametrize("make", [NodeSVM, TopDownSVM, EdgePA])
def test_an_inner_label_is_ranked_before_those_below_it_only_where_the_walk_stops_there(make) -> None:
    tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"]])
    X = np.eye(4)[[0, 1, 2, 3] * 20]
    model = make(tax, C=10.0, random_state=0).fit(X, [["A"], ["AA"], ["AB"], ["BA"]] * 20)
    assert model.top(np.eye(4), 1)[0].ravel().tolist() == ["A", "AA", "AB", "BA"]
    assert "B" not in model.top(np.eye(4), 10)[0]  # it is above a label, but none itself
    closed = make(tax, C=10.0, random_state=0).fit(X, [["A"], ["A", "AA"], ["A", "AB"], ["B", "BA"]] * 20)
    assert closed.top(np.eye(4), 2)[0][1:].tolist() == [["A", "AA"], ["A", "AB"], ["B", "BA"]]
