"""The single-label models reach the optimum of their joint problem, with a certificate, as reference packages do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from linnaeus import MulticlassSVM, SoftmaxRegression, Taxonomy
from linnaeus.errors import DataError, ParameterError
from tests.contracts.configurations import documents, taxonomy

both = pytest.mark.parametrize("kind", [MulticlassSVM, SoftmaxRegression])


def objective(kind: type, X, y, W, C) -> float:
    """The definition, in double precision; X and W with the constant feature where there is one."""
    W = np.asarray(W, dtype=float)
    S = np.asarray(X @ W, dtype=float)
    rows = np.arange(len(y))
    own = S[rows, y]
    if kind is SoftmaxRegression:
        losses = logsumexp(S, axis=1) - own
    else:
        margins = S + 1
        margins[rows, y] -= 1
        losses = margins.max(axis=1) - own
    return float(0.5 * (W**2).sum() + (C * losses).sum())


def single(n_docs: int = 80) -> tuple:
    tax = taxonomy()
    X, labels = documents(tax, n_docs)
    return tax, X, [row[0] for row in labels]


def codes(model, labels) -> np.ndarray:
    return np.array([list(model.classes_).index(label) for label in labels])


@pytest.mark.parametrize("intercept", [False, True])
def test_the_softmax_optimum_is_that_of_a_generic_solver(intercept) -> None:
    tax, X, labels = single()
    dense = X.toarray().astype(float)
    model = SoftmaxRegression(tax, C=2.0, tol=1e-10, fit_intercept=intercept).fit(dense, labels)
    y, K = codes(model, labels), len(model.classes_)
    augmented = np.column_stack([dense, np.ones(len(dense))]) if intercept else dense

    def value(w):
        W = w.reshape(-1, K)
        S = augmented @ W
        R = np.exp(S - logsumexp(S, axis=1, keepdims=True))
        R[np.arange(len(y)), y] -= 1
        return objective(SoftmaxRegression, augmented, y, W, 2.0), (W + 2.0 * augmented.T @ R).ravel()

    best = minimize(value, np.zeros(augmented.shape[1] * K), jac=True, options={"gtol": 1e-8, "maxiter": 5000}).fun
    assert model.objective_ == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("C", [0.3, 5.0])
def test_the_softmax_optimum_is_scikit_learns(C) -> None:
    tax, X, labels = single()
    model = SoftmaxRegression(tax, C=C, tol=1e-7, fit_intercept=False).fit(X, labels)
    y = codes(model, labels)
    rival = LogisticRegression(C=C, fit_intercept=False, solver="newton-cg", tol=1e-8).fit(X, y)
    assert model.objective_ == pytest.approx(objective(SoftmaxRegression, X, y, rival.coef_.T, C), rel=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), rival.predict_proba(X), atol=2e-3)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("C", [0.3, 5.0])
def test_the_svm_optimum_is_liblinears(C, intercept) -> None:
    tax, X, labels = single()
    model = MulticlassSVM(tax, C=C, tol=1e-6, max_iter=20000, fit_intercept=intercept, random_state=0).fit(X, labels)
    y = codes(model, labels)
    X = X.toarray().astype(float)
    X = np.column_stack([X, np.ones(len(X))]) if intercept else X
    rival = LinearSVC(multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-7, max_iter=10**6).fit(X, y)
    assert model.objective_ == pytest.approx(objective(MulticlassSVM, X, y, rival.coef_.T, C), rel=1e-5)


def test_two_classes_are_one_binary_svm_of_half_the_norm() -> None:
    """With w and -w the margin is 2 w'x: the optimum is that of a binary hinge with t = 2 w'x and regulariser |w|^2."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, "p", "n")
    model = MulticlassSVM(C=0.7, tol=1e-9, max_iter=50000, fit_intercept=False, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.weights_[:, 0], -model.weights_[:, 1], atol=1e-6)
    rival = LinearSVC(loss="hinge", C=2 * 0.7, fit_intercept=False, tol=1e-9, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(model.weights_[:, 1], rival.coef_[0] / 2, atol=1e-3)


@both
@given(seed=st.integers(0, 10**6), n=st.integers(4, 30), d=st.integers(1, 6), K=st.integers(2, 20), dense=st.booleans())
@settings(max_examples=40)
def test_the_certificate_is_true(kind, seed, n, d, K, dense) -> None:
    rng = np.random.default_rng(seed)
    X = sparse.csr_array((rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)).astype(np.float32))
    X = X.toarray().astype(float) if dense else X
    y = rng.integers(0, K, n)
    y[:2] = 0, 1
    loose = kind(tol=0.1, max_iter=10000, random_state=0).fit(X, y)
    tight = kind(tol=1e-4, max_iter=10000, random_state=0).fit(X, y)
    assert 0 <= loose.duality_gap_ <= 0.1 * loose.objective_
    assert loose.objective_ - loose.duality_gap_ <= tight.objective_ * (1 + 1e-6)
    assert tight.objective_ - tight.duality_gap_ <= loose.objective_ * (1 + 1e-6)
    W = np.vstack([loose.weights_, loose.intercept_])
    augmented = np.column_stack([X if dense else X.toarray(), np.ones(n)])
    assert loose.objective_ == pytest.approx(objective(kind, augmented, codes(loose, y), W, 1.0), rel=1e-5)


@both
def test_a_weight_of_two_is_a_document_twice(kind) -> None:
    tax, X, labels = single(30)
    weights = np.array([0, 1, 2] * 10)
    rows = np.repeat(np.arange(30), weights)
    settings = {"taxonomy": tax, "tol": 1e-6, "max_iter": 20000, "random_state": 0}
    weighted = kind(**settings).fit(X, labels, sample_weight=weights)
    repeated = kind(**settings).fit(X[rows], [labels[i] for i in rows])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=3e-6)


def test_probabilities_sum_to_one_and_agree_with_answers() -> None:
    tax, X, labels = single()
    model = SoftmaxRegression(tax, C=3.0).fit(X, np.array(labels))
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-5)
    assert (model.classes_[P.argmax(axis=1)] == model.predict(X)).all()


@both
def test_several_labels_are_refused_and_the_alternatives_named(kind) -> None:
    tax, X, _ = single(3)
    with pytest.raises(DataError, match=r"document 1 has 2 \('B', 'AB'\); OneVsRest\w+ and RR\w+ learn label sets"):
        kind(tax).fit(X, [["A"], ["B", "AB"], ["B"]])
    with pytest.raises(DataError, match=r"document 2 has 0 \(none\)"):
        kind(tax).fit(X, [["A"], ["B"], []])
    with pytest.raises(DataError, match="only one class, 'A'"):
        kind(tax).fit(X, [["A"], ["A"], ["A"]])


@both
def test_a_label_with_its_ancestors_is_one_label(kind) -> None:
    tax, X, labels = single()
    paths = [tax.names[tax.ancestors(label)].tolist() for label in labels]
    model = kind(tax, random_state=0)
    plain = model.fit(X, [[label] for label in labels]).predict(X)
    closed = model.fit(X, paths).predict(X)
    assert [tax.names[tax.ancestors(row[0])].tolist() for row in plain] == closed


@both
def test_wrong_parameters_are_named(kind) -> None:
    for parameters, message in (({"C": 0}, "C=0"), ({"tol": "x"}, "tol='x'"), ({"engine": "gpus"}, "engine='gpus'")):
        with pytest.raises(ParameterError, match=message):
            kind(**parameters).fit(np.eye(2), ["a", "b"])


@both
def test_stopping_early_warns_and_tells_the_gap(kind) -> None:
    tax, X, labels = single()
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        model = kind(tax, tol=1e-9, max_iter=1).fit(X, labels)
    assert model.duality_gap_ > 1e-9 * model.objective_


@both
@pytest.mark.filterwarnings("ignore:Training stopped")
def test_large_scores_do_not_overflow(kind) -> None:
    X = np.array([[1e4, 0.0], [0.0, 1e4], [-1e4, 1e4]])
    model = kind(C=100.0, random_state=0).fit(X, ["a", "b", "c"])
    assert np.isfinite(model.objective_)
    assert model.predict(X).tolist() == ["a", "b", "c"]


@pytest.mark.slow
@pytest.mark.data
@both
def test_the_objective_on_dense_images_is_the_rivals(data_dir, kind) -> None:
    from benchmarks import problems

    task = problems.load("imclef07a")
    rows = np.arange(0, task.X.shape[0], 4)
    X, labels = task.X[rows], task.taxonomy.names[task.taxonomy.frontier(task.Y[rows]).indices]
    model = kind(task.taxonomy, C=0.1, fit_intercept=False, tol=1e-4, max_iter=5000, random_state=0).fit(X, labels)
    y = codes(model, labels)
    if kind is MulticlassSVM:
        rival = LinearSVC(multi_class="crammer_singer", C=0.1, fit_intercept=False, tol=1e-3, max_iter=10**5).fit(X, y)
    else:
        rival = LogisticRegression(C=0.1, fit_intercept=False, solver="newton-cg", tol=1e-6).fit(X, y)
    assert model.objective_ == pytest.approx(objective(kind, X, y, rival.coef_.T, 0.1), rel=1e-4)


@pytest.mark.slow
@pytest.mark.data
@both
def test_the_objective_on_newsgroups_is_the_rivals(data_dir, kind) -> None:
    X, labels = newsgroups(data_dir)
    model = kind(fit_intercept=False, tol=5e-5, random_state=0).fit(X, labels)
    y = codes(model, labels)
    X = X.astype(float)
    if kind is MulticlassSVM:
        rival = LinearSVC(multi_class="crammer_singer", fit_intercept=False, tol=1e-3, max_iter=10**5).fit(X, y)
    else:
        rival = LogisticRegression(fit_intercept=False, solver="newton-cg", tol=1e-5).fit(X, y)
    assert model.objective_ == pytest.approx(objective(kind, X, y, rival.coef_.T, 1.0), rel=1e-4)


@pytest.mark.data
@both
def test_images_are_told_apart_as_well_as_published(data_dir, kind) -> None:
    """Gopal and Yang (2015), Table II, CLEF: MSVM 80.02 / 54.33, MLR 80.52 / 54.76; C by cross-validation on train."""
    from sklearn.metrics import f1_score

    from benchmarks import problems

    C, micro, macro = {MulticlassSVM: (0.01, 80.02, 54.33), SoftmaxRegression: (0.1, 80.52, 54.76)}[kind]
    task = problems.load("imclef07a")
    train, test = (task.taxonomy.names[task.taxonomy.frontier(Y).indices].astype(str) for Y in (task.Y, task.Y_test))
    answers = kind(task.taxonomy, C=C, tol=5e-3, random_state=0).fit(task.X, train).predict(task.X_test)
    assert 100 * np.mean(answers == test) == pytest.approx(micro, abs=3)
    assert 100 * f1_score(test, answers, average="macro", zero_division=0) == pytest.approx(macro, abs=3)


def newsgroups(data_dir) -> tuple:
    """Every fifth training post without its header, as TF-IDF."""
    import tarfile

    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, labels = [], []
    with tarfile.open(data_dir / "20newsgroups" / "20news-bydate.tar.xz") as archive:
        for number, member in enumerate(archive):
            if member.isfile() and "train" in member.name and number % 5 == 0:
                content = archive.extractfile(member).read().decode("latin-1")
                texts.append(content.partition("\n\n")[2])
                labels.append(member.name.split("/")[-2])
    return sparse.csr_array(TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(texts)), labels


def test_the_taxonomy_may_be_a_graph_or_missing() -> None:
    tax = Taxonomy.from_edges([("a", "b"), ("b", "c")], kind="graph")
    X = np.eye(3)
    assert MulticlassSVM(tax, C=10.0, random_state=0).fit(X, ["a", "b", "c"]).predict(X).tolist() == ["a", "b", "c"]
