"""One-vs-rest models reach the optimum of their problem, with a certificate, as LIBLINEAR does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from linnaeus import OneVsRestLogistic, OneVsRestSVM
from linnaeus.errors import ParameterError
from tests.contracts.configurations import documents, taxonomy


def objective(w, X, y, loss, C):
    t = y * (X @ w)
    z = np.maximum(0, 1 - t)
    values = {"squared_hinge": z**2, "logistic": np.logaddexp(0, -t), "hinge": z}[loss]
    return 0.5 * w @ w + (C * values).sum()


def model_of(loss: str, **settings):
    return OneVsRestLogistic(**settings) if loss == "logistic" else OneVsRestSVM(loss=loss, **settings)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_optimum_is_that_of_a_generic_solver(loss, intercept) -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    dense = X.toarray().astype(float)
    Y = tax.indicator(labels).toarray()
    model = model_of(loss, taxonomy=tax, C=2.0, tol=1e-9, fit_intercept=intercept, random_state=0).fit(dense, labels)
    augmented = np.column_stack([dense, np.ones(len(dense))]) if intercept else dense
    best = 0.0
    for node in model.nodes_:
        y = 2.0 * Y[:, node] - 1
        best += minimize(objective, np.zeros(augmented.shape[1]), (augmented, y, loss, 2.0), tol=1e-10).fun
    assert model.objective_ == pytest.approx(best, rel=1e-5)


def test_the_hinge_optimum_is_that_of_a_quadratic_programme() -> None:
    tax = taxonomy()
    X, labels = documents(tax, n_docs=40)
    dense = X.toarray().astype(float)
    Y = tax.indicator(labels).toarray()
    model = OneVsRestSVM(tax, loss="hinge", C=1.5, tol=1e-9, fit_intercept=False, max_iter=20000, random_state=0)
    model.fit(dense, labels)
    best = 0.0
    for node in model.nodes_:  # the dual, by a bounded quasi-Newton method
        signed = dense * (2.0 * Y[:, [node]] - 1)
        K = signed @ signed.T
        found = minimize(
            lambda a, K=K: (0.5 * a @ K @ a - a.sum(), K @ a - 1),
            np.zeros(len(K)), jac=True, bounds=[(0, 1.5)] * len(K), method="L-BFGS-B",
            options={"maxiter": 50000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-10},
        )  # fmt: skip
        best -= found.fun
    assert model.objective_ == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_the_certificate_is_true(loss) -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    Y = tax.indicator(labels).toarray()
    loose = model_of(loss, taxonomy=tax, tol=0.05, fit_intercept=False, random_state=0).fit(X, labels)
    tight = model_of(loss, taxonomy=tax, tol=1e-6, fit_intercept=False, random_state=0).fit(X, labels)
    assert 0 < loose.duality_gap_ <= 0.05 * loose.objective_
    assert loose.objective_ - loose.duality_gap_ <= tight.objective_ <= loose.objective_ * (1 + 1e-6)
    dense = X.toarray().astype(float)
    recomputed = sum(
        objective(loose.weights_[:, i].astype(float), dense, 2.0 * Y[:, node] - 1, loss, 1.0)
        for i, node in enumerate(loose.nodes_)
    )
    assert loose.objective_ == pytest.approx(recomputed, rel=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_a_weight_of_two_is_a_document_twice(loss) -> None:
    tax = taxonomy()
    X, labels = documents(tax, n_docs=30)
    weights = np.array([0, 1, 2] * 10)
    rows = np.repeat(np.arange(30), weights)
    settings = {"taxonomy": tax, "tol": 1e-6, "max_iter": 20000, "random_state": 0}
    weighted = model_of(loss, **settings).fit(X, labels, sample_weight=weights)
    repeated = model_of(loss, **settings).fit(X[rows], [labels[i] for i in rows])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=3e-6)


def test_learning_closed_or_frontier_labels_scores_the_nodes_that_follow() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    Y = tax.indicator(labels)
    for learn, sets in (("given", Y), ("closed", tax.close(Y)), ("frontier", tax.frontier(Y))):
        expected = tax.names[np.flatnonzero(np.asarray(sets.sum(axis=0)).ravel())]
        assert list(OneVsRestSVM(tax, learn=learn).fit(X, labels).classes_) == list(expected)


def test_explanations_add_up_to_the_score() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    model = OneVsRestSVM(tax, learn="closed", random_state=0).fit(X, labels)
    S = model.decision_function(X)
    steps = model.explain(X[[3]], "AAA")
    assert [step.node for step in steps] == ["A", "AA", "AAA"]
    for step in steps:
        column = list(model.classes_).index(step.node)
        assert step.score == pytest.approx(S[3, column], abs=1e-5)
        assert step.intercept + step.contributions.sum() == pytest.approx(step.score)
        assert (np.diff(np.abs(step.contributions)) <= 0).all()
    best = model.explain(X[[3]], k=2)[-1]
    assert best.node in model.predict(X[[3]], closed=False)[0]
    assert len(best.features) == 2
    with pytest.raises(ParameterError, match="one document"):
        model.explain(X)


def test_pruning_keeps_what_is_large() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    model = OneVsRestSVM(tax, random_state=0).fit(X, labels)
    before = model.weights_.copy()
    model.prune(0.1)
    assert sparse.issparse(model.weights_)
    np.testing.assert_array_equal(model.weights_.toarray(), np.where(np.abs(before) < 0.1, 0, before))
    assert model.prune(0.1).weights_.nnz == np.count_nonzero(np.abs(before) >= 0.1)
    assert model.explain(X[[0]])


def test_wrong_parameters_are_named() -> None:
    X, y = np.eye(3), ["a", "b", "c"]
    for settings, message in (
        ({"C": -1}, "C=-1"),
        ({"loss": "hinges"}, "did you mean 'hinge'"),
        ({"learn": "all"}, "learn='all'"),
        ({"tol": 0}, "tol=0"),
        ({"engine": "gpus"}, "engine='gpus'"),
    ):
        with pytest.raises(ParameterError, match=message):
            OneVsRestSVM(**settings).fit(X, y)


def test_stopping_early_warns() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = OneVsRestSVM(tax, loss="hinge", tol=1e-8, max_iter=1).fit(X, labels)
    assert model.duality_gap_ > 0


@pytest.mark.data
@pytest.mark.parametrize(("problem", "loss"), [
    ("rcv1v2", "squared_hinge"),
    *(pytest.param("rcv1v2", loss, marks=pytest.mark.slow) for loss in ("hinge", "logistic")),
    *(pytest.param("imclef07a", loss, marks=pytest.mark.slow) for loss in ("hinge", "squared_hinge", "logistic")),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*blocks of labels stopped")
def test_the_objective_is_liblinears_within_a_thousandth(data_dir, problem, loss) -> None:
    from benchmarks import problems
    from benchmarks.rivals import liblinear

    task = problems.load(problem)
    part = 1 if problem == "rcv1v2" else 3  # dense images take long; the benchmark runs all of them, and all labels
    nodes = task.label_nodes[:: 6 * part]
    X, Y = task.X[::part], task.Y[::part]
    rival = liblinear.one_vs_rest(X, Y, nodes, loss=loss, C=0.1, tol=1e-3)[1]
    model = model_of(loss, C=0.1, fit_intercept=False, tol=3e-4, random_state=0).fit(X, Y[:, nodes])
    assert model.objective_ == pytest.approx(rival, rel=1e-3)
    assert model.duality_gap_ <= 3e-4 * model.objective_


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_label_weights_count_as_in_liblinear(loss, dense) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)).astype(np.float32 if not dense else float), rng.choice(["a", "b", "c"], 60)
    weights = {"a": 5.0, "c": 0.5}
    model = OneVsRestLogistic if loss == "logistic" else OneVsRestSVM
    kind = {} if loss == "logistic" else {"loss": loss}
    ours = model(fit_intercept=False, class_weight=weights, tol=1e-5, max_iter=5000, random_state=0, **kind)
    ours.fit(X if dense else sparse.csr_array(X), y)
    for i, label in enumerate(["a", "b", "c"]):
        positive = {True: weights.get(label, 1.0), False: 1.0}
        rival = (
            LogisticRegression(class_weight=positive, fit_intercept=False, tol=1e-10, max_iter=10_000)
            if loss == "logistic"
            else LinearSVC(
                loss=loss,
                class_weight=positive,
                fit_intercept=False,
                tol=1e-10,
                max_iter=10**6,
                dual=True,
                random_state=0,
            )
        )
        rival.fit(X, y == label)
        np.testing.assert_allclose(np.asarray(ours.coef_)[i], rival.coef_[0], atol=5e-3)
