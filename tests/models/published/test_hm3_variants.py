"""Variants of H-M3 through the estimator: worked optima, answers, what goes together, what is stored."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import linnaeus
from linnaeus import HM3, Taxonomy
from linnaeus.errors import LinnaeusError, ParameterError, TaxonomyError
from tests.contracts.configurations import documents, taxonomy
from tests.models.structured import numbers
from tests.models.structured.oracles import TREE_A, taxonomy_of

VARIANTS: list[dict[str, Any]] = [
    {"slack": "free"},
    {"slack": "edge"},
    {"cost": "zero_one"},
    {"features": "paths"},
    {"slack": "free", "train_labellings": "consistent"},
    {"features": "paths", "cost": "hierarchical", "scaling": "subtree"},
]
each_variant = pytest.mark.parametrize("settings", VARIANTS, ids=str)
# Tests of several fits: a variant of the slack and one of the features in `make test`, all in `make test-all`.
some_variants = pytest.mark.parametrize(
    "settings",
    [pytest.param(settings, marks=() if i in (0, 3) else pytest.mark.slow) for i, settings in enumerate(VARIANTS)],
    ids=str,
)


def fit_a(setting: tuple[Any, ...], **more: Any) -> HM3:
    cost, scaling, C = setting if len(setting) == 3 else (*setting, 1.0)
    exact = {"root": "paper", "fit_intercept": False, "tol": 1e-9, "max_iter": 5000, "random_state": 0}
    model = HM3(taxonomy_of(TREE_A), C=C, cost=cost, scaling=scaling, kernel="precomputed", **{**exact, **more})
    return model.fit(numbers.GRAM_A, [[f"n{v}" for v, on in enumerate(y) if on] for y in numbers.TRUTH_A])


@pytest.mark.parametrize("setting", [("symmetric", "uniform", 1.0), ("hierarchical", "subtree", 0.25)], ids=str)
def test_slacks_have_the_worked_optima(setting) -> None:
    *_, by_edge, free = numbers.OPTIMA_A[setting]
    assert fit_a(setting, slack="edge").objective_ == pytest.approx(by_edge, abs=1e-6)
    assert fit_a(setting, slack="free").objective_ == pytest.approx(free, abs=1e-6)


@pytest.mark.parametrize("setting", numbers.PATHS_A, ids=str)
def test_partial_paths_have_the_worked_optima(setting) -> None:
    assert fit_a(setting, features="paths").objective_ == pytest.approx(numbers.PATHS_A[setting], abs=1e-6)


def local_problem() -> tuple[Taxonomy, np.ndarray, list[list[str]], dict[str, list[int]]]:
    """Every node has two columns: a sign of the node, and noise; one column more is seen by all."""
    tax = taxonomy()
    _, labels = documents(tax)
    rng = np.random.default_rng(0)
    nodes = [v for v in range(tax.n_nodes) if v != tax.root]
    Y = tax.close(tax.indicator(labels)).toarray()
    X = rng.normal(size=(80, 2 * len(nodes) + 1))
    own = {}
    for k, v in enumerate(nodes):
        own[str(tax.names[v])] = [2 * k, 2 * k + 1]
        X[:, 2 * k] += 3.0 * (2 * Y[:, v] - 1)
    X[:, -1] = 1.0
    return tax, X, labels, own


@some_variants
def test_variants_learn_and_answer_consistently(settings) -> None:
    tax = taxonomy()
    X, labels = documents(tax, 30)
    model = HM3(tax, random_state=0, tol=0.05, **settings).fit(X, labels)
    assert model.duality_gap_ <= 0.05 * abs(model.objective_)
    assert model.score(X, labels) > 0.8
    Y = model.answers(X, closed=True)
    assert (tax.close(Y) != Y).nnz == 0
    one = HM3(tax, C=10.0, random_state=0, tol=0.2, **settings).fit(X, [row[0] for row in labels])
    assert one.score(X, [row[0] for row in labels]) > 0.75


@some_variants
def test_a_gram_matrix_gives_the_model_of_the_vectors(settings) -> None:
    tax = taxonomy()
    X, labels = documents(tax, 8)
    exact = {"tol": 1e-4, "fit_intercept": False, "random_state": 0}
    linear = HM3(tax, **exact, **settings).fit(X, labels)
    K = (X @ X.T).toarray().astype(np.float64)
    gram = HM3(tax, kernel="precomputed", **exact, **settings).fit(K, labels)
    assert linear.objective_ == pytest.approx(gram.objective_, rel=3e-4, abs=3e-4)
    np.testing.assert_allclose(linear.decision_function(X), gram.decision_function(K), atol=0.1)


@each_variant
def test_variants_are_stored_and_loaded(settings, tmp_path) -> None:
    tax = taxonomy()
    X, labels = documents(tax, 20)
    model = HM3(tax, random_state=0, tol=0.1, **settings).fit(X, labels)
    linnaeus.save(model, tmp_path / "model")
    again = linnaeus.load(tmp_path / "model")
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
    assert model.predict(X) == again.predict(X)


@some_variants
def test_a_warm_start_ends_at_the_same_optimum(settings) -> None:
    tax = taxonomy()
    X, labels = documents(tax, 8)
    path = HM3(tax, C=0.5, warm_start=True, random_state=0, tol=0.1, **settings).fit(X, labels)
    path.set_params(C=1.0, tol=1e-3).fit(X, labels)
    fresh = HM3(tax, C=1.0, random_state=0, tol=1e-3, **settings).fit(X, labels)
    assert path.objective_ == pytest.approx(fresh.objective_, rel=3e-3, abs=3e-3)


@pytest.mark.parametrize("features", ["edges", "additive"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_features_tied_to_nodes_are_learned(kind, features) -> None:
    tax, X, labels, own = local_problem()
    model = HM3(tax, features=features, local_features=own, random_state=0, max_iter=300, tol=0.1)
    model.fit(kind(X)[:30], labels[:30])
    assert model.duality_gap_ <= 0.1 * model.objective_
    assert model.score(kind(X)[30:], labels[30:]) > 0.8


@pytest.mark.filterwarnings("ignore:The fit did not converge")
def test_additive_weights_are_the_same_for_every_edge() -> None:
    tax, X, labels, own = local_problem()
    model = HM3(tax, features="additive", local_features=own, random_state=0, max_iter=5).fit(X[:20], labels[:20])
    structure = model._labellings
    W = model.weights_[:, : structure.layout.n * structure.columns].reshape(len(model.weights_), -1, structure.columns)
    seen = [W[own[str(tax.names[v])], place] for place, v in enumerate(structure.nodes)]
    for other in seen[1:]:
        np.testing.assert_array_equal(other, seen[0])


def test_a_graph_is_learned_through_its_junction_tree() -> None:
    names = ["a", "b", "c", "d"]
    ring = Taxonomy.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], kind="graph")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    labels = [[name for name, x in zip(names, row, strict=True) if x > 0.2] for row in X]
    for settings in ({}, {"slack": "free"}, {"cost": "zero_one"}):
        model = HM3(ring, random_state=0, tol=0.1, max_iter=200, **settings).fit(X, labels)
        assert model.duality_gap_ <= 0.1 * abs(model.objective_)
        assert model.score(X, labels) > 0.9
    single = [names[int(row.argmax())] for row in X]
    assert HM3(ring, random_state=0, tol=1e-2).fit(X, single).score(X, single) > 0.9


def test_a_wide_graph_is_refused_with_its_width() -> None:
    names = [f"n{v}" for v in range(24)]
    clique = Taxonomy.from_edges([(a, b) for k, a in enumerate(names) for b in names[:k]], kind="graph")
    with pytest.raises(TaxonomyError, match="width 23.*at most width 20"):
        HM3(clique).fit(np.eye(24), names)


def test_what_does_not_go_together_is_refused() -> None:
    tax, dag = taxonomy(), taxonomy("dag")
    X, labels = documents(tax)
    own = {"A": [0]}
    wrong: list[tuple[Taxonomy, dict[str, Any], str]] = [
        (tax, {"slack": "edges"}, "did you mean 'edge'"),
        (tax, {"features": "path"}, "did you mean 'paths'"),
        (tax, {"cost": "zero"}, "did you mean 'zero_one'"),
        (tax, {"cost": "zero_one", "slack": "edge"}, "not a sum over edges"),
        (tax, {"features": "additive"}, "needs local_features"),
        (tax, {"features": "additive", "local_features": own}, "the same number of columns"),
        (tax, {"features": "paths", "slack": "edge"}, "needs features='edges'"),
        (tax, {"features": "paths", "local_features": own}, "need features='edges' or 'additive'"),
        (tax, {"slack": "free", "local_features": own}, "need slack='example'"),
        (tax, {"kernel": "rbf", "local_features": own}, "need kernel='linear'"),
        (tax, {"local_features": {"Q": [0]}}, "not a node"),
        (tax, {"slack": "free", "algorithm": "conditional-gradient"}, "needs slack='example'"),
        (dag, {"slack": "free"}, "has several parents"),
        (dag, {"features": "paths"}, "has several parents"),
        (dag, {"cost": "zero_one"}, "has several parents"),
    ]
    for where, settings, message in wrong:
        with pytest.raises(LinnaeusError, match=message):
            HM3(where, **settings).fit(X, labels)
    graph = Taxonomy.from_edges([("A", "B")], kind="graph")
    with pytest.raises(ParameterError, match="A graph needs features='edges'"):
        HM3(graph, slack="edge").fit(X, ["A", "B"] * 40)
    with pytest.raises(ParameterError, match="a graph has none"):
        HM3(graph, cost="hierarchical").fit(X, ["A", "B"] * 40)


@each_variant
def test_odd_input_is_learned_from(settings) -> None:
    tax = taxonomy()
    X, labels = documents(tax, 8)
    X = sparse.csr_array(sparse.vstack([X, sparse.csr_array((2, X.shape[1]), dtype=X.dtype)]))
    labels = [*labels, [], ["A"]]  # documents without a feature, one of them without a label
    for C in (1e-6, 1e3):
        model = HM3(tax, C=C, random_state=0, tol=0.2, max_iter=30, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # free slack and a large C need more passes than a test may take
            model.fit(X, labels)
        assert np.isfinite(model.decision_function(X)).all()
        assert model.duality_gap_ >= -1e-6 * abs(model.objective_)
    lone = HM3(Taxonomy.flat(["a"]), random_state=0, tol=0.1, **settings)
    assert lone.fit(np.array([[1.0], [-1.0]]), [["a"], []]).predict(np.array([[2.0], [-2.0]])) == [["a"], []]
