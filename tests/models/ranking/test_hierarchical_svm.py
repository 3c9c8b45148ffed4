"""What is special about HierarchicalSVM: attributes, costs, slacks, kernels, bounds on losses, label sets."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import linnaeus
from linnaeus import HierarchicalSVM, MulticlassSVM, Taxonomy
from linnaeus.errors import DataError, ParameterError
from linnaeus.losses.cost import pair_cost
from linnaeus.metrics import maximal_loss, top_loss
from linnaeus.models.kernels import RBF, Linear
from linnaeus.models.ranking.hierarchical_svm import _Training
from tests.contracts.configurations import documents, taxonomy
from tests.models.ranking.oracles import CASES, T4, X4, Y4
from tests.models.structured.oracles import solve_qp

TIGHT = {"tol": 2e-7, "random_state": 0, "set_size": "mean", "max_iter": 20_000}


@pytest.mark.parametrize("algorithm", ["sweep", "8a", "8b"])
@pytest.mark.parametrize("case", CASES)
def test_the_worked_examples_through_the_model(case, algorithm) -> None:
    attributes, cost, C, per_pair, optimum = CASES[case]
    if per_pair and algorithm != "sweep":
        pytest.skip("the thesis has one slack per example")
    slack = "pair" if per_pair else "example"
    model = HierarchicalSVM(T4, attributes=attributes, cost=cost, C=C, slack=slack, algorithm=algorithm, **TIGHT)
    model.fit(X4, Y4)
    assert model.objective_ == pytest.approx(optimum, abs=2e-6)
    assert model.duality_gap_ <= 2e-6
    assert model.active_ratio_ == pytest.approx((6 if case in ("S2", "S4", "S6") else 5) / 13)


def test_slacks_bound_the_losses_of_training_documents() -> None:
    tax = taxonomy("dag")
    X, labels = documents(tax)
    leaves = [[name for name in row if tax.is_leaf[tax.index(name)]] for row in labels]
    rows = [i for i, row in enumerate(leaves) if row]
    leaves = [leaves[i] for i in rows]
    model = HierarchicalSVM(tax, C=0.3, **TIGHT).fit(X[rows], leaves)
    S = model.decision_function(X[rows])
    worst = maximal_loss(leaves, S, tax, labels=list(model.classes_))
    assert 0 < top_loss(leaves, S, tax, labels=list(model.classes_)) <= worst <= model.mean_slack_ + 1e-9


def test_flat_with_one_label_per_document_is_the_svm_of_crammer_and_singer() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), rng.choice(list("abcd"), 60)
    ours = HierarchicalSVM(attributes="flat", cost="zero_one", **TIGHT).fit(X, y)
    rival = MulticlassSVM(fit_intercept=False, tol=1e-7, max_iter=10_000, random_state=0).fit(X, y)
    assert ours.objective_ == pytest.approx(rival.objective_, rel=1e-6)
    np.testing.assert_allclose(ours.decision_function(X), rival.decision_function(X), atol=2e-3)


def test_a_star_is_flat() -> None:
    star = Taxonomy.from_edges([("R", f"c{k}") for k in (1, 2, 3, 4)])
    assert HierarchicalSVM(star, **TIGHT).fit(X4, Y4).objective_ == pytest.approx(3.16, abs=1e-6)


def test_classes_above_classes_compete_with_them() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("A", "AA"), ("R", "B")])
    X = np.eye(3)[[0, 1, 2] * 5]
    model = HierarchicalSVM(tax, C=10.0, random_state=0).fit(X, ["A", "AA", "B"] * 5)
    assert model.predict(X).tolist() == ["A", "AA", "B"] * 5


def test_a_kernel_between_classes_is_as_good_as_its_attributes() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.random((T4.n_nodes, 3))
    by_matrix = HierarchicalSVM(T4, attributes=matrix, **TIGHT).fit(X4, Y4)
    by_kernel = HierarchicalSVM(T4, class_kernel=matrix @ matrix.T, **TIGHT).fit(X4, Y4)
    assert by_kernel.objective_ == pytest.approx(by_matrix.objective_, rel=1e-6)


def test_a_matrix_of_costs_is_as_good_as_their_name() -> None:
    n = T4.n_nodes
    by_name = HierarchicalSVM(T4, cost="zero_one", **TIGHT).fit(X4, Y4)
    by_matrix = HierarchicalSVM(T4, cost=np.ones((n, n)) - np.eye(n), **TIGHT).fit(X4, Y4)
    assert by_matrix.objective_ == pytest.approx(by_name.objective_, rel=1e-7)


def test_misses_can_cost_more_than_alarms() -> None:
    volumes = np.arange(T4.n_nodes) + 1.0
    subscribed = {"cost": "subscription", "volumes": volumes, "C": 0.01, **TIGHT}
    cheap = HierarchicalSVM(T4, **subscribed).fit(X4, Y4)
    dear = HierarchicalSVM(T4, c_minus=5.0, **subscribed).fit(X4, Y4)
    assert dear.objective_ > cheap.objective_


def test_pairs_that_share_the_weight_of_a_document_cost_less() -> None:
    shared, apart = (HierarchicalSVM(T4, slack=slack, **TIGHT).fit(X4, Y4) for slack in ("mean_pair", "pair"))
    assert shared.objective_ < apart.objective_ == pytest.approx(4.97717948, abs=1e-6)


# -- kernels -----------------------------------------------------------------------------------------------------------


def test_the_linear_kernel_gives_the_scores_of_the_linear_model() -> None:
    tax = taxonomy("dag")
    X, labels = documents(tax)
    X = X.toarray().astype(np.float64)
    primal = HierarchicalSVM(tax, fit_intercept=True, **TIGHT).fit(X, labels)
    kernel = HierarchicalSVM(tax, fit_intercept=True, kernel=Linear(), **TIGHT).fit(X, labels)
    assert kernel.objective_ == pytest.approx(primal.objective_, rel=1e-5)
    np.testing.assert_allclose(kernel.decision_function(X), primal.decision_function(X), atol=5e-3)


def test_a_gram_matrix_of_the_caller_is_as_good_as_the_kernel(tmp_path) -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    X = X.toarray().astype(np.float64)
    kernel = RBF(gamma=0.7)
    ours = HierarchicalSVM(tax, kernel=kernel, random_state=0).fit(X[:60], labels[:60])
    given = HierarchicalSVM(tax, kernel="precomputed", random_state=0).fit(kernel(X[:60], X[:60]), labels[:60])
    K = kernel(X[60:], X[:60])
    np.testing.assert_allclose(ours.decision_function(X[60:]), given.decision_function(K), atol=1e-9)
    for model, new in ((ours, X[60:]), (given, K)):
        linnaeus.save(model, tmp_path / "model")
        again = linnaeus.load(tmp_path / "model")
        np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))


def test_only_support_documents_are_kept() -> None:
    X = np.vstack([np.eye(3)] * 20)
    model = HierarchicalSVM(kernel=RBF(gamma=1.0), random_state=0).fit(X, ["a", "b", "c"] * 20)
    assert model.support_documents_.shape[0] == model.n_support_ == model.dual_coef_.shape[0] < 60
    assert model.active_ratio_ <= model.n_support_ * 2 / 120
    assert np.abs(np.asarray(model.dual_coef_.sum(axis=1))).max() < 1e-12


def test_a_kernel_has_no_weights_to_explain_or_prune() -> None:
    model = HierarchicalSVM(kernel="rbf", random_state=0).fit(np.eye(3), ["a", "b", "c"])
    with pytest.raises(DataError, match="no explanations"):
        model.explain(np.eye(3)[0])
    with pytest.raises(DataError, match="no weights"):
        model.prune(0.1)


def test_a_gram_matrix_that_does_not_fit_is_refused_with_its_size(monkeypatch) -> None:
    monkeypatch.setattr("linnaeus.models.ranking.hierarchical_svm.available_memory", lambda: 100)
    with pytest.raises(DataError, match="Gram matrix of 30 documents takes .* kernel='linear'"):
        HierarchicalSVM(kernel="rbf").fit(np.eye(30), ["a", "b"] * 15)


# -- label sets and limits ---------------------------------------------------------------------------------------------


def test_label_sets_have_the_size_that_documents_had() -> None:
    rng = np.random.default_rng(2)
    X = (rng.random((300, 4)) < 0.5).astype(float)
    X[X.sum(axis=1) == 0, 0] = 1
    y = [[name for name, on in zip("abcd", row, strict=True) if on] for row in X]
    model = HierarchicalSVM(C=10.0, random_state=0).fit(X[:200], y[:200])
    assert np.mean([sorted(a) == b for a, b in zip(model.predict(X[200:]), y[200:], strict=True)]) > 0.9


def test_documents_without_pairs_teach_nothing_and_cost_nothing() -> None:
    rows, labels = np.vstack([X4, np.ones((2, 2))]), [*Y4, [], ["c1", "c2", "c3", "c4"]]
    plain, more = HierarchicalSVM(T4, **TIGHT).fit(X4, Y4), HierarchicalSVM(T4, **TIGHT).fit(rows, labels)
    assert more.objective_ == pytest.approx(plain.objective_, rel=1e-7)


def test_an_empty_document_costs_its_largest_cost() -> None:
    labels = [*Y4, ["c1"]]
    plain = HierarchicalSVM(T4, **TIGHT).fit(X4, Y4)
    more = HierarchicalSVM(T4, **TIGHT).fit(np.vstack([X4, np.zeros((1, 2))]), labels)
    assert more.objective_ == pytest.approx(plain.objective_ + 2.0, rel=1e-6)


def test_weights_of_documents_multiply_their_slacks() -> None:
    doubled = HierarchicalSVM(T4, **TIGHT).fit(np.vstack([X4, X4[:1]]), [*Y4, Y4[0]])
    weighted = HierarchicalSVM(T4, **TIGHT).fit(X4, Y4, sample_weight=[2, 1, 1, 1])
    assert weighted.objective_ == pytest.approx(doubled.objective_, rel=1e-6)


def test_time_is_over_with_a_valid_certificate() -> None:
    rng = np.random.default_rng(3)
    X, y = sparse.csr_array(rng.normal(size=(200, 30))), rng.choice(list("abcdefgh"), 200)
    with pytest.warns(match="The fit did not converge: stopped after"):
        model = HierarchicalSVM(C=1e4, tol=1e-12, max_time=0.01, random_state=0).fit(X, y)
    assert model.duality_gap_ > 0
    assert np.isfinite(model.objective_)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"attributes": "perclas"}, "did you mean 'perclass'"),
        ({"cost": "halff"}, "did you mean 'half'"),
        ({"slack": "examples"}, "did you mean 'example'"),
        ({"kernel": "rbff"}, "did you mean 'rbf'"),
        ({"epsilon": -1.0}, "epsilon=-1.0"),
        ({"C": 0.0}, "C=0.0"),
        ({"slack": "pair", "algorithm": "8a"}, "one slack per example"),
        ({"slack": "pair", "epsilon": 0.1}, "takes tol"),
        ({"cost": -np.ones((7, 7))}, "at least 0"),
        ({"class_kernel": -np.eye(7)}, "eigenvalue"),
    ],
)
def test_wrong_parameters_are_named(wrong, message) -> None:
    with pytest.raises(ParameterError, match=message):
        HierarchicalSVM(T4, **wrong).fit(X4, Y4)


@pytest.mark.parametrize("slack", ["example", "pair"])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("dense", [False, True])
def test_a_fit_converges_or_warns_and_its_gap_is_that_of_the_stored_weights(slack, C, dense) -> None:
    rng = np.random.default_rng(int(10 * C) + dense)
    names, X = ["A", "B", "AA", "AB", "BA"], 0.5 * rng.standard_normal((6, 3)).astype(np.float32)
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA")])
    labels = [[names[v] for v in rng.choice(5, size=1 + i % 2, replace=False)] for i in range(5)] + [["AA", "BA"]]
    model = HierarchicalSVM(tax, C=C, slack=slack, learn="given", set_size="mean", max_iter=100, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X if dense else sparse.csr_array(X), labels)
    A, cost = model.class_attributes_.toarray(), pair_cost(tax, model.nodes_, "half").dense()
    place, rows = {name: k for k, name in enumerate(tax.names[model.nodes_])}, X.astype(np.float64)
    F, loss, vectors, linear, owners = rows @ model.weights_.astype(np.float64), 0.0, [], [], []
    for i, names_of in enumerate(labels):
        right, losses = [place[name] for name in names_of], [0.0]
        for y, z in [(y, z) for y in right for z in range(len(A)) if z not in right]:
            losses.append(max(0.0, cost[y, z] * (1 - F[i, y] + F[i, z])))
            vectors.append(cost[y, z] * np.outer(A[y] - A[z], rows[i]).ravel())
            linear.append(cost[y, z])
            owners.append(i)
        loss += max(losses) if slack == "example" else sum(losses)
    of_nodes = model.weights_.astype(np.float64) @ np.linalg.pinv(A.T)  # of all that give these weights, the shortest
    primal = 0.5 * float(np.square(of_nodes).sum()) + C * loss
    assert model.objective_ == pytest.approx(primal, rel=1e-6)

    n, V, per_pair = vectors[0].size, np.array(vectors), slack == "pair"
    S = np.eye(len(V)) if per_pair else np.eye(len(X))[owners]
    m = S.shape[1]
    G = np.vstack([-np.hstack([V, S]), -np.hstack([np.zeros((m, n)), np.eye(m)])])
    q = np.append(np.zeros(n), np.full(m, C))
    optimum = solve_qp(np.diag(np.append(np.ones(n), np.zeros(m))), q, G, np.append(-np.array(linear), np.zeros(m)))[1]
    assert model.objective_ - model.duality_gap_ <= optimum * (1 + 1e-6)
    warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    assert warned == (model.duality_gap_ > 1e-3 * model.objective_ * 1.1)


def test_two_threads_learn_the_same_model_of_label_sets() -> None:
    rng = np.random.default_rng(0)
    tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"], ["B", "BB"]])
    X = rng.normal(size=(120, 6))
    y = [[name for name, value in zip(("AA", "AB", "BA", "BB"), row, strict=False) if value > 0.3] for row in X]
    one, two = (HierarchicalSVM(tax, random_state=0, n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.weights_, two.weights_)
    assert one.set_size_ == two.set_size_
    assert one.predict(X) == two.predict(X)


def test_an_interrupted_fit_in_two_threads_stops_both(monkeypatch) -> None:
    X = np.random.default_rng(0).normal(size=(60, 4))
    y = [["a"] if row[0] > 0 else ["a", "b"] if row[1] > 0 else ["c"] for row in X]
    problem = _Training.problem

    def interrupted(self, labels, bound, rows=None):
        if rows is None:
            raise KeyboardInterrupt
        return problem(self, labels, bound, rows)

    monkeypatch.setattr(_Training, "problem", interrupted)
    began = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):  # without the stop the held-out documents would take a million passes
        HierarchicalSVM(random_state=0, n_jobs=2, epsilon=0.0, max_iter=10**6).fit(X, y)
    assert time.perf_counter() - began < 5
