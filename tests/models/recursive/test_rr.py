"""All nodes together are one machine: the optimum is that of a generic solver, and what should not matter does not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from linnaeus import OneVsRestLogistic, OneVsRestSVM, Taxonomy, load, save
from linnaeus.errors import DataError, LinnaeusError, ParameterError
from linnaeus.models.recursive import leaves as leaves_module
from linnaeus.models.recursive import network as network_module
from linnaeus.models.recursive.update import start_at_weights
from tests.contracts.configurations import documents, taxonomy
from tests.models.recursive.oracles import (
    LOSSES,
    cases,
    kernel,
    make_model,
    objective,
    optimum,
    path_features,
    random_case,
)
from tests.models.recursive.test_screened import wide

each_loss = pytest.mark.parametrize("loss", LOSSES)
TIGHT = {"sparse": 1e-5, "dense": 1e-8}


def rows_of(X: np.ndarray, kind: str):
    """As the models take them: sparse documents in single precision, dense ones in double."""
    return sparse.csr_array(X.astype(np.float32)) if kind == "sparse" else X.astype(np.float32).astype(float)


def fitted(loss: str, tax, X, y, *, weight=None, **options):
    tol = options.pop("tol", TIGHT["sparse" if sparse.issparse(X) else "dense"])
    return make_model(loss, taxonomy=tax, tol=tol, **options).fit(X, y, sample_weight=weight)


def columns_of(model, names) -> list[int]:
    """Where a model has the weights of some labels."""
    assert sorted(model.classes_) == sorted(names)
    return [model.classes_.tolist().index(name) for name in names]


# -- the optimum -------------------------------------------------------------------------------------------------------


@given(
    case=cases, loss=st.sampled_from(LOSSES), kind=st.sampled_from(["sparse", "dense"]), C=st.sampled_from([0.1, 1, 5]),
    intercept=st.booleans(), weighted=st.booleans(), balanced=st.booleans(), spawn=st.sampled_from(["inner", "all"]),
    root=st.sampled_from([0.5, 1.0]), pull=st.sampled_from([0.0, 0.0, 0.3, 2.0]),
)  # fmt: skip
@settings(max_examples=80)
def test_the_optimum_is_that_of_one_machine_in_increments(
    case, loss, kind, C, intercept, weighted, balanced, spawn, root, pull
) -> None:
    """Several labels per document, labels with children, an empty document, on trees, forests, DAGs and graphs."""
    X, Y, tol = rows_of(case.X, kind), case.signs, TIGHT[kind]
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.2, 2, len(Y)) if weighted else None
    extra = {str(case.taxonomy.names[v]): float(rng.uniform(0.5, 3)) for v in case.nodes[::2]} if balanced else None
    model = fitted(
        loss, case.taxonomy, X, case.labels, C=C, fit_intercept=intercept, weight=weight, class_weight=extra,
        spawn=spawn, root=root, pull=pull,
    )  # fmt: skip
    dense = np.asarray(X.toarray() if sparse.issparse(X) else X, float)
    dense = np.hstack([dense, np.ones((len(dense), 1))]) if intercept else dense
    positive = np.array([(extra or {}).get(str(case.taxonomy.names[v]), 1.0) for v in case.nodes])
    c = C * np.where(Y > 0, positive, 1.0) * (np.ones(len(Y)) if weight is None else weight)[:, None]
    K = kernel(case.taxonomy, case.nodes, spawn=spawn, root=root, pull=pull)
    best, W = optimum(K, dense, Y, c, loss)
    columns = columns_of(model, case.taxonomy.names[case.nodes])
    assert best * (1 - 1e-6) <= model.objective_ <= best * (1 + 1.1 * tol)
    assert model.objective_ - model.duality_gap_ <= best * (1 + 1e-6)
    found = (np.vstack([model.weights_, model.intercept_[None]]) if intercept else model.weights_)[:, columns]
    assert objective(np.asarray(found, float), K, dense, Y, c, loss) <= model.objective_ * (1 + 1e-6)
    # P is strongly convex in the increments: a gap bounds how far the weights are from the best ones
    away = np.sqrt(2 * (model.duality_gap_ + 1e-6 * best) * np.diag(K))
    assert (np.linalg.norm(found - W, axis=0) <= away + 1e-4).all()


@pytest.mark.parametrize("kind", ["tree", "forest", "dag", "graph"])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_leaves_in_several_blocks_are_still_one_problem(loss, kind, monkeypatch) -> None:
    monkeypatch.setattr(leaves_module, "SAMPLE", 3)
    case = random_case(1, kind, n_nodes=26, n_docs=30, n_features=3)
    assert len(case.nodes) > 16
    best, _ = optimum(kernel(case.taxonomy, case.nodes), case.X.astype(np.float32), case.signs, 1.0, loss)
    for layout in ("sparse", "dense"):
        model = fitted(loss, case.taxonomy, rows_of(case.X, layout), case.labels, fit_intercept=False)
        assert best * (1 - 1e-6) <= model.objective_ <= best * (1 + 1.1 * TIGHT[layout])


@pytest.mark.parametrize("kind", ["dag", "graph"])
def test_where_elimination_fills_the_network_in_the_optimum_is_the_same(kind, monkeypatch) -> None:
    monkeypatch.setattr(network_module, "_LARGE_FILL", -1)
    case, loss, tol = random_case(5, kind, n_nodes=26, n_docs=30, n_features=4), "squared_hinge", 1e-4
    best, _ = optimum(kernel(case.taxonomy, case.nodes), case.X.astype(np.float32), case.signs, 1.0, loss)
    model = fitted(loss, case.taxonomy, rows_of(case.X, "sparse"), case.labels, fit_intercept=False, tol=tol)
    assert best * (1 - 1e-6) <= model.objective_ <= best * (1 + 1.1 * tol)


@each_loss
@pytest.mark.parametrize("seed", range(4))
def test_on_a_tree_increments_are_copies_of_the_rows_on_the_path(loss, seed) -> None:
    case = random_case(seed, "tree")
    leaves = np.flatnonzero(case.taxonomy.is_leaf)
    labels = [str(case.taxonomy.names[v]) for v in np.random.default_rng(seed).choice(leaves, len(case.X))]
    nodes = np.array(sorted({case.taxonomy.index(label) for label in labels}))
    if len(nodes) < 2:
        pytest.skip("one leaf only")
    R = path_features(case.taxonomy, nodes, root=2.0)
    np.testing.assert_allclose(R.T @ R, kernel(case.taxonomy, nodes, root=2.0))
    Y = 2.0 * (np.array([case.taxonomy.index(label) for label in labels])[:, None] == nodes) - 1
    best, W = optimum(R.T @ R, case.X, Y, 1.0, loss, R)
    model = fitted(loss, case.taxonomy, case.X, labels, root=2.0, fit_intercept=False)
    assert model.objective_ == pytest.approx(best, rel=1e-7)
    columns = columns_of(model, case.taxonomy.names[nodes])
    np.testing.assert_allclose(model.weights_[:, columns], W, atol=1e-3)


@each_loss
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_under_a_root_that_cannot_move_nodes_are_one_vs_rest(loss, kind) -> None:
    X, labels = documents(taxonomy())
    X = rows_of(X.toarray(), kind)
    flat = {"taxonomy": None, "tol": 1e-5, "max_iter": 20000, "random_state": 0}
    y = [row[0] for row in labels]
    expected = (OneVsRestLogistic(**flat) if loss == "logistic" else OneVsRestSVM(loss=loss, **flat)).fit(X, y)
    model = fitted(loss, None, X, y, root=1e9, tol=1e-5)
    assert model.objective_ == pytest.approx(expected.objective_, rel=2e-5)
    columns = columns_of(model, expected.classes_)
    np.testing.assert_allclose(model.decision_function(X)[:, columns], expected.decision_function(X), atol=0.05)


@each_loss
@pytest.mark.parametrize("kind", ["sparse", "dense"])
@pytest.mark.parametrize("shape", ["tree", "dag", "graph"])
def test_with_an_infinite_pull_every_label_is_learned_alone(loss, kind, shape) -> None:
    tax = graph() if shape == "graph" else taxonomy(shape)
    X, labels = documents(taxonomy())
    X = rows_of(X.toarray(), kind)
    flat = {"taxonomy": tax, "tol": 1e-5, "max_iter": 20000, "random_state": 0}
    expected = (OneVsRestLogistic(**flat) if loss == "logistic" else OneVsRestSVM(loss=loss, **flat)).fit(X, labels)
    model = make_model(loss, pull=float("inf"), **flat).fit(X, labels)
    assert (model.objective_, model.duality_gap_) == (expected.objective_, expected.duality_gap_)
    np.testing.assert_array_equal(model.weights_, expected.weights_)
    np.testing.assert_array_equal(model.intercept_, expected.intercept_)
    np.testing.assert_array_equal(model.nodes_, expected.nodes_)
    again = model.update(X[:1], labels[:1])  # solved with the inner vertices, from these weights
    both = sparse.vstack([X, X[:1]]) if kind == "sparse" else np.vstack([X, X[:1]])
    whole = make_model(loss, pull=float("inf"), **flat).fit(both, [*labels, labels[0]])
    assert again.objective_ == pytest.approx(whole.objective_, rel=1e-4)


def graph() -> Taxonomy:
    """The tree of `taxonomy` as an undirected graph."""
    tax = taxonomy()
    edges = [(str(tax.names[v]), str(tax.names[u])) for u in range(tax.n_nodes) for v in tax.parents(u)]
    return Taxonomy.from_edges(edges, kind="graph")


@each_loss
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_paths_over_pull_and_C_reach_the_same_optima_from_warm_starts(loss, kind) -> None:
    X, labels = documents(taxonomy())
    X = rows_of(X.toarray(), kind)
    model = make_model(loss, taxonomy=taxonomy(), tol=1e-4, warm_start=True)
    for pull, C in ((float("inf"), 1.0), (3.0, 1.0), (0.3, 1.0), (0.3, 4.0), (0.0, 4.0)):
        warm = model.set_params(pull=pull, C=C).fit(X, labels)
        cold = make_model(loss, taxonomy=taxonomy(), tol=1e-4, pull=pull, C=C).fit(X, labels)
        assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-4)


def test_from_the_flat_end_a_path_begins_at_its_weights(monkeypatch) -> None:
    """Not where labels or features are others, nor where the weights were pruned."""
    begun: list[bool] = []

    def noted(*arguments) -> bool:
        begun.append(start_at_weights(*arguments))
        return begun[-1]

    monkeypatch.setattr("linnaeus.models.recursive.rr.start_at_weights", noted)
    tax, X, y = wide()
    X = X.toarray()
    model = make_model("squared_hinge", taxonomy=tax, pull=float("inf"), tol=1e-3, warm_start=True).fit(X, y)
    model.set_params(pull=10.0).fit(X, y)
    assert begun == [True]
    cold = fitted("squared_hinge", tax, X, y, pull=10.0, tol=1e-3)
    assert model.n_iter_ <= cold.n_iter_
    assert not hasattr(model, "n_touched_"), "nothing was updated"
    few = y[:2] * (len(y) // 2)
    for change, X_new in (
        ("features", X[:, :-1]),
        ("labels", X),
        ("pruned", X),
        ("taxonomy", X),
        ("sparse", wide()[1]),
    ):
        other = clone(model).set_params(pull=float("inf")).fit(X, few if change == "labels" else y)
        if change == "pruned":
            other.weights_ = sparse.csr_array(other.weights_)
        if change == "taxonomy":
            other.set_params(taxonomy=wide()[0])
        other.set_params(pull=10.0).fit(X_new, y)
        cold = fitted("squared_hinge", tax, X_new, y, pull=10.0, tol=1e-3)
        assert other.objective_ == pytest.approx(cold.objective_, rel=2e-3)
    assert begun == [True]


def test_under_a_root_that_cannot_move_nodes_are_liblinears() -> None:
    from sklearn.svm import LinearSVC

    X, labels = documents(taxonomy())
    X, y = X.toarray().astype(float), np.array([row[0] for row in labels])
    model = fitted("squared_hinge", None, X, y, root=1e9, fit_intercept=False, tol=1e-7)
    rival = LinearSVC(loss="squared_hinge", C=1.0, fit_intercept=False, tol=1e-8, max_iter=10**5).fit(X, y)
    np.testing.assert_allclose(model.weights_[:, columns_of(model, rival.classes_)], rival.coef_.T, atol=1e-3)


@pytest.mark.parametrize("kind", ["sparse", "dense"])
@each_loss
def test_the_certificate_is_true(loss, kind) -> None:
    tax = taxonomy("dag")
    X, labels = documents(tax)
    X = rows_of(X.toarray(), kind)
    loose = fitted(loss, tax, X, labels, tol=0.05)
    tight = fitted(loss, tax, X, labels)
    assert loose.duality_gap_ <= 0.05 * loose.objective_
    assert loose.objective_ - loose.duality_gap_ <= tight.objective_ <= loose.objective_ * (1 + 1e-6)
    assert loose.n_iter_ < tight.n_iter_


# -- what should not matter --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sparse", "dense"])
@each_loss
def test_a_document_twice_is_a_weight_of_two_and_half_of_C(loss, kind) -> None:
    tax = taxonomy()
    X, labels = documents(tax, n_docs=40)
    X = rows_of(X.toarray(), kind)
    twice = sparse.csr_array(sparse.vstack([X, X])) if kind == "sparse" else np.vstack([X, X])
    once = fitted(loss, tax, X, labels, C=2.0)
    halved = fitted(loss, tax, twice, labels + labels, C=1.0)
    doubled = fitted(loss, tax, X, labels, C=1.0, weight=np.full(40, 2.0))
    tol = 3 * TIGHT[kind]
    assert halved.objective_ == pytest.approx(once.objective_, rel=tol)
    assert doubled.objective_ == pytest.approx(once.objective_, rel=tol)
    np.testing.assert_allclose(halved.weights_, once.weights_, atol=10 * np.sqrt(tol))


@pytest.mark.parametrize("kind", ["sparse", "dense"])
@each_loss
def test_the_order_of_documents_features_and_nodes_does_not_matter(loss, kind) -> None:
    tax = taxonomy("dag")
    X, labels = documents(tax, n_docs=40)
    rng = np.random.default_rng(0)
    docs, features = rng.permutation(40), rng.permutation(X.shape[1])
    edges = [(str(tax.names[p]), str(tax.names[v])) for v in range(tax.n_nodes) for p in tax.parents(v)]
    shuffled = Taxonomy.from_edges([edges[i] for i in rng.permutation(len(edges))])
    assert shuffled.names.tolist() != tax.names.tolist()
    first = fitted(loss, tax, rows_of(X.toarray(), kind), labels)
    moved = rows_of(X.toarray()[docs][:, features], kind)
    second = fitted(loss, shuffled, moved, [labels[i] for i in docs])
    assert second.objective_ == pytest.approx(first.objective_, rel=3 * TIGHT[kind])
    columns = columns_of(second, first.classes_)
    np.testing.assert_allclose(
        second.weights_[np.ix_(np.argsort(features), columns)], first.weights_, atol=30 * np.sqrt(TIGHT[kind])
    )


@pytest.mark.parametrize("kind", ["sparse", "dense"])
@each_loss
def test_threads_change_no_bit(loss, kind) -> None:
    tax, X, y = wide(n_docs=300)
    X = X if kind == "sparse" else X.toarray()
    one = fitted(loss, tax, X, y, tol=1e-3, n_jobs=1)
    for options in ({"n_jobs": 2}, {"n_jobs": 3, "engine": "threads"}):
        other = fitted(loss, tax, X, y, tol=1e-3, **options)
        np.testing.assert_array_equal(other.weights_, one.weights_)
        np.testing.assert_array_equal(other.intercept_, one.intercept_)
        assert (other.objective_, other.duality_gap_, other.n_iter_) == (
            one.objective_,
            one.duality_gap_,
            one.n_iter_,
        )


@each_loss
def test_documents_without_features_cost_what_they_must(loss) -> None:
    tax, tol = taxonomy(), 1e-5
    X, labels = documents(tax, n_docs=40)
    longer = sparse.csr_array(sparse.vstack([X, sparse.csr_array((3, X.shape[1]), dtype=np.float32)]))
    options = {"fit_intercept": False, "C": 2.0}
    plain = fitted(loss, tax, X, labels, **options)
    more = fitted(loss, tax, longer, [*labels, ["A"], [], ["B"]], **options)
    each = np.log(2) if loss == "logistic" else 1.0
    assert more.objective_ == pytest.approx(plain.objective_ + 2.0 * 3 * each * len(plain.classes_), rel=3 * tol)
    np.testing.assert_allclose(more.weights_, plain.weights_, atol=0.03)


@each_loss
def test_nodes_without_documents_change_nothing(loss) -> None:
    tax = taxonomy()
    X, labels = documents(tax, n_docs=40)
    edges = [(str(tax.names[p]), str(tax.names[v])) for v in range(tax.n_nodes) for p in tax.parents(v)]
    grown = Taxonomy.from_edges([*edges, ("AA", "none"), ("none", "below"), ("R", "new"), ("new", "newer")])
    plain, more = fitted(loss, tax, X, labels), fitted(loss, grown, X, labels)
    assert more.objective_ == pytest.approx(plain.objective_, rel=3e-5)
    assert set(more.classes_) == set(plain.classes_)


# -- fits in a row -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sparse", pytest.param("dense", marks=pytest.mark.slow)])
@each_loss
def test_warm_starts_reach_the_same_optimum_in_fewer_sweeps(loss, kind) -> None:
    tax, X, y = wide()
    X = X if kind == "sparse" else X.toarray()
    model = make_model(loss, taxonomy=tax, warm_start=True, tol=1e-3)
    sweeps = np.zeros((2, 4), int)
    for i, C in enumerate([1.0, 1.5, 2.2, 3.3]):
        model.set_params(C=C).fit(X, y)
        cold = fitted(loss, tax, X, y, C=C, tol=1e-3)
        sweeps[:, i] = model.n_iter_, cold.n_iter_
        assert model.duality_gap_ <= 1e-3 * model.objective_
        assert model.objective_ - model.duality_gap_ <= cold.objective_
        assert cold.objective_ - cold.duality_gap_ <= model.objective_
    assert sweeps[0, 1:].sum() < sweeps[1, 1:].sum()


CHANGES = {
    "weights": {"weight": np.linspace(0, 1, 600)},
    "labels": {"y": "moved on"},
    "class_weight": {"class_weight": {"l1": 0.2}},
    "root": {"root": 3.0},
    "spawn": {"spawn": "all"},
    "intercept": {"fit_intercept": False},
    "C": {"C": 0.05},
    "loss": {"loss": "hinge"},
    "kind of X": {"X": "dense"},
}


@pytest.mark.parametrize("change", CHANGES)
@each_loss
def test_a_warm_start_fits_whatever_has_changed(loss, change, monkeypatch) -> None:
    """What the last fit left may be infeasible now, or of another shape: the certificate must not notice."""
    if (loss, change) == ("logistic", "loss"):
        pytest.skip("one loss only")
    monkeypatch.setattr(leaves_module, "SAMPLE", 20)
    tax, X, y = wide()
    new = dict(CHANGES[change])
    X_new = X.toarray() if new.pop("X", None) else X
    y_new = [*y[1:], y[0]] if new.pop("y", None) else y
    weight = new.pop("weight", None)
    loss_new = new.pop("loss", loss)
    old_weight = {"class_weight": {"l1": 5.0}} if change == "class_weight" else {}
    model = make_model(loss, taxonomy=tax, warm_start=True, C=1.0, tol=1e-3, **old_weight).fit(X, y)
    changed = {"loss": loss_new} if loss_new != loss else {}
    model.set_params(**new, **changed).fit(X_new, y_new, sample_weight=weight)
    cold = fitted(loss_new, tax, X_new, y_new, weight=weight, tol=1e-3, **new)
    assert np.isfinite(model.weights_).all()
    assert 0 <= model.duality_gap_ <= 1e-3 * model.objective_
    assert model.objective_ - model.duality_gap_ <= cold.objective_
    assert cold.objective_ - cold.duality_gap_ <= model.objective_


@each_loss
def test_models_survive_saving_without_the_state_of_their_training(loss, tmp_path) -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    model = fitted(loss, tax, X, labels, tol=1e-3)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.objective_ == model.objective_
    assert "_joint" not in model.__getstate__()


# -- limits and errors -------------------------------------------------------------------------------------------------


def test_stopping_early_warns_and_certifies() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    best = fitted("hinge", tax, X, labels)
    with pytest.warns(ConvergenceWarning, match="max_iter=2 with a gap"):
        model = fitted("hinge", tax, X, labels, max_iter=2)
    assert model.n_iter_ == 2
    assert model.objective_ - model.duality_gap_ <= best.objective_ < model.objective_


def test_stopping_in_time_keeps_the_best_so_far() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = fitted("hinge", tax, X, labels, tol=1e-12, max_time=0.2, max_iter=10**9)
    assert model.time_limit_reached_
    assert np.isfinite(model.weights_).all()
    assert model.duality_gap_ < np.inf


def test_one_class_is_an_error_and_one_document_is_not() -> None:
    X = np.eye(3)
    with pytest.raises(DataError, match="only one class, 'a'"):
        make_model("hinge").fit(X, ["a", "a", "a"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = make_model("squared_hinge", taxonomy=taxonomy()).fit(X[:1], [["AA", "B"]])
    assert set(model.classes_) == {"AA", "B"}
    assert sorted(model.predict(X[:1])[0]) == ["AA", "B"]


@pytest.mark.parametrize(("settings", "message"), [
    ({"C": 0}, "C=0"), ({"root": 0}, "root=0"), ({"root": -1.0}, "root=-1"), ({"pull": -1.0}, "pull=-1"),
    ({"pull": "x"}, "pull='x'"), ({"spawn": "leaves"}, "spawn='leaves'"),
    ({"learn": "all"}, "learn='all'"), ({"tol": 0}, "tol=0"), ({"class_weight": {"a": -1}}, "class_weight of 'a'"),
    ({"class_weight": {"z": 2.0}}, "'z', which is not a label"), ({"class_weight": "equal"}, "class_weight='equal'"),
])  # fmt: skip
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_wrong_parameters_are_named(loss, settings, message) -> None:
    with pytest.raises(ParameterError, match=message):
        make_model(loss, **settings).fit(np.eye(3), ["a", "b", "c"])


def test_documents_that_are_no_numbers_are_refused() -> None:
    X = np.eye(3)
    X[1, 1] = np.nan
    with pytest.raises((LinnaeusError, ValueError), match="NaN"):
        make_model("hinge").fit(X, ["a", "b", "c"])
