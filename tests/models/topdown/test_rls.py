from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import linnaeus
from linnaeus import HierarchicalRLS, Taxonomy
from linnaeus.errors import LinnaeusError, ParameterError
from linnaeus.models.kernels import RBF
from linnaeus.models.topdown import rls
from tests.contracts.configurations import documents, taxonomy


def worked() -> tuple[np.ndarray, list[list[str]]]:
    """Two documents, one under A."""
    return np.array([[1.0, 1.0], [0.0, 1.0]]), [["A"], ["B"]]


def test_scores_are_those_of_the_worked_example() -> None:
    X, y = worked()
    tax = Taxonomy.flat(["A", "B"])
    x = np.array([[1.0, 0.0]])
    model = HierarchicalRLS(tax).fit(X, y)
    np.testing.assert_allclose(model.weights_[:, 0], [0.6, -0.2])
    np.testing.assert_allclose(model.decision_function(x)[0, 0], 0.6)
    exact = HierarchicalRLS(tax, margin="exact").fit(X, y)
    np.testing.assert_allclose(exact.decision_function(x)[0, 0], 0.375)


def by_definition(model: HierarchicalRLS, X: np.ndarray, Y: np.ndarray, weights: np.ndarray, x: np.ndarray) -> dict:
    """Every node's margin with the document itself in the inverse, straight from the formula."""
    tax, found = model.taxonomy_, {}
    for v in model.nodes_.tolist():
        above = [p for p in tax.parents(v) if p != tax.root]
        rows = Y[:, above].all(axis=1) if above else np.ones(len(X), dtype=bool)
        S, r, s = X[rows], 2.0 * Y[rows, v] - 1, weights[rows]
        if len(set(r)) == 1:
            found[v] = r[0]
            continue
        A = np.eye(X.shape[1]) / model.C + S.T @ (s[:, None] * S) + np.outer(x, x)
        found[v] = float(x @ np.linalg.solve(A, S.T @ (s * r)))
    return found


@pytest.mark.parametrize("kind", ["tree", "dag"])
@pytest.mark.parametrize("by_documents", [False, True])
def test_exact_margins_have_the_document_in_the_inverse(kind, by_documents, monkeypatch) -> None:
    monkeypatch.setattr(rls, "DIRECT", 0 if by_documents else 100)
    tax = taxonomy(kind)
    X, labels = documents(tax, 40)
    Y = tax.close(tax.indicator(labels)).toarray()
    weights = np.random.default_rng(1).integers(1, 4, size=40).astype(float)
    model = HierarchicalRLS(tax, C=0.7, margin="exact").fit(X, labels, sample_weight=weights)
    assert hasattr(model, "weights_") != by_documents
    S = model.decision_function(X[:5])
    for row, x in zip(S, X[:5].toarray(), strict=True):
        expected = by_definition(model, X.toarray().astype(float), Y, weights, x.astype(float))
        np.testing.assert_allclose(row, [expected[v] for v in model.nodes_.tolist()], atol=1e-5)


def test_margins_do_not_change_answers() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    plain, exact = (HierarchicalRLS(tax, margin=margin).fit(X, labels) for margin in ("plain", "exact"))
    assert plain.predict(X) == exact.predict(X)
    assert np.abs(plain.decision_function(X) - exact.decision_function(X)).max() > 0.01


def test_a_gram_matrix_and_a_kernel_give_the_same_model() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    X = X.toarray().astype(np.float64)
    kernel = RBF(gamma=0.5)
    one = HierarchicalRLS(tax, kernel=kernel, margin="exact").fit(X[:60], labels[:60])
    other = HierarchicalRLS(tax, kernel="precomputed").fit(kernel(X[:60], X[:60]), labels[:60])
    block = kernel(X[60:], X[:60])
    assert one.predict(X[60:]) == other.predict(block)
    plain = HierarchicalRLS(tax, kernel=kernel).fit(X[:60], labels[:60])
    np.testing.assert_allclose(plain.decision_function(X[60:]), other.decision_function(block))
    with pytest.raises(LinnaeusError, match="60"):
        other.predict(block[:, :50])
    some = np.arange(60) % 3 > 0  # a weight of 0 leaves a document out, of a Gram matrix too
    other.fit(kernel(X[:60], X[:60]), labels[:60], sample_weight=some)
    plain.fit(X[:60], labels[:60], sample_weight=some)
    np.testing.assert_allclose(plain.decision_function(X[60:]), other.decision_function(block))


def test_the_linear_kernel_by_documents_is_the_one_by_features(monkeypatch) -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    by_features = HierarchicalRLS(tax, margin="exact").fit(X, labels).decision_function(X)
    monkeypatch.setattr(rls, "DIRECT", 0)
    by_documents = HierarchicalRLS(tax, margin="exact").fit(X, labels)
    np.testing.assert_allclose(by_documents.decision_function(X), by_features, atol=1e-5)
    single = np.concatenate([by_documents.decision_function(X[[i]]) for i in range(10)])
    np.testing.assert_array_equal(by_documents.decision_function(X)[:10], single)


def test_kernel_models_are_stored_and_loaded(tmp_path) -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    for k, (documents_, kernel) in enumerate([(X, "rbf"), (X, "poly"), ((X @ X.T).toarray(), "precomputed")]):
        model = HierarchicalRLS(tax, kernel=kernel, margin="plain" if kernel == "precomputed" else "exact")
        model.fit(documents_, labels)
        linnaeus.save(model, tmp_path / str(k))
        again = linnaeus.load(tmp_path / str(k))
        np.testing.assert_array_equal(model.decision_function(documents_), again.decision_function(documents_))


def test_objective_and_gap_are_those_of_the_ridge_problems() -> None:
    X, y = worked()
    model = HierarchicalRLS(Taxonomy.flat(["A", "B"])).fit(X, y)
    w = np.array([0.6, -0.2])  # B is the negative of A
    expected = (w**2).sum() + ((np.array([1, -1]) - X @ w) ** 2).sum()
    assert model.objective_ == pytest.approx(expected)
    assert model.duality_gap_ < 1e-12


def test_weights_count_as_repetitions() -> None:
    tax = taxonomy()
    X, labels = documents(tax, 30)
    weights = np.tile([1, 2, 3], 10)
    rows = np.repeat(np.arange(30), weights)
    for kernel in ("linear", "rbf"):
        once = HierarchicalRLS(tax, kernel=RBF(gamma=0.3) if kernel == "rbf" else kernel)
        weighted = once.fit(X, labels, sample_weight=weights).decision_function(X)
        repeated = once.fit(X[rows], [labels[i] for i in rows]).decision_function(X)
        np.testing.assert_allclose(weighted, repeated, atol=1e-5)


def test_a_document_without_features_is_answered_with_nothing_or_the_best() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    nothing = sparse.csr_array((1, X.shape[1]), dtype=np.float32)
    for kernel in ("linear", "rbf"):
        assert HierarchicalRLS(tax, kernel=kernel).fit(X, [[], *labels[1:]]).predict(nothing) is not None


def test_wrong_parameters_are_named(monkeypatch) -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    with pytest.raises(ParameterError, match="did you mean 'rbf'"):
        HierarchicalRLS(tax, kernel="rfb").fit(X, labels)
    with pytest.raises(ParameterError, match="margin='exakt'.*did you mean 'exact'"):
        HierarchicalRLS(tax, margin="exakt").fit(X, labels)
    with pytest.raises(ParameterError, match="C=0; expected a number above 0"):
        HierarchicalRLS(tax, C=0).fit(X, labels)
    with pytest.raises(LinnaeusError, match="square"):
        HierarchicalRLS(tax, kernel="precomputed").fit(X, labels)
    with pytest.raises(LinnaeusError, match="not symmetric"):
        HierarchicalRLS(tax, kernel="precomputed").fit(np.triu(np.ones((80, 80))), labels)
    with pytest.raises(LinnaeusError, match="not positive semi-definite"):
        HierarchicalRLS(tax, kernel="precomputed").fit(1.2 - 0.2 * np.eye(80), labels)
    with pytest.raises(ParameterError, match="explain needs kernel='linear'"):
        HierarchicalRLS(tax, kernel="rbf").fit(X, labels).explain(X[0])
    monkeypatch.setattr(rls, "MOST_DOCUMENTS", 50)
    with pytest.raises(ParameterError, match="Gram matrix of 80 documents, expected at most 50"):
        HierarchicalRLS(tax, kernel="rbf").fit(X, labels)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("C", [1e-9, 1e9])
def test_extreme_weights_are_solved(kernel, C) -> None:
    tax = taxonomy()
    X, labels = documents(tax, 40)
    model = HierarchicalRLS(tax, C=C, kernel=kernel).fit(X, labels)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.objective_)
    if C > 1:
        assert model.score(X, labels) > 0.9


def test_one_node_may_be_all_there_is() -> None:
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1]])
    model = HierarchicalRLS(Taxonomy.flat(["a"]), C=10.0).fit(X, [["a"], [], ["a"]])
    assert model.predict(X) == [["a"], [], ["a"]]


def test_nodes_without_documents_are_never_answered() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    kept = [i for i, row in enumerate(labels) if not {"AAA", "AAB"} & set(row)]
    model = HierarchicalRLS(tax).fit(X[kept], [labels[i] for i in kept])
    assert "AAA" not in model.classes_
    assert not any("AAA" in row for row in model.predict(X))


def test_documents_of_norm_zero_change_nothing_but_the_objective() -> None:
    tax = taxonomy()
    X, labels = documents(tax, 30)
    more = sparse.csr_array(sparse.vstack([X, sparse.csr_array((1, X.shape[1]), dtype=X.dtype)]))
    once, other = HierarchicalRLS(tax).fit(X, labels), HierarchicalRLS(tax).fit(more, [*labels, ["A"]])
    np.testing.assert_allclose(once.decision_function(X), other.decision_function(X), atol=1e-5)
    assert other.objective_ > once.objective_


def test_sequences_are_learned_through_their_kernel(tmp_path) -> None:
    from linnaeus.features.spectrum import SpectrumKernel

    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB")])
    sequences = np.array(["ACACACAC", "ACACGGGG", "TTTTTTGT", "CACACACA", "ACACGGGA", "TTTTGTTT"], dtype=object)
    labels = [["AA"], ["AB"], ["B"]] * 2
    model = HierarchicalRLS(tax, C=10.0, kernel=SpectrumKernel(2)).fit(sequences, labels)
    assert model.predict(sequences) == labels
    linnaeus.save(model, tmp_path / "model")
    assert linnaeus.load(tmp_path / "model").predict(["ACACACACAC"]) == [["AA"]]


def test_a_kernel_model_says_that_it_has_no_feature_weights() -> None:
    tax = taxonomy("tree")
    X, labels = documents(tax)
    model = HierarchicalRLS(tax, kernel="rbf").fit(X, labels)
    with pytest.raises(ParameterError, match="no feature weights to prune"):
        model.prune(0.1)
    assert not hasattr(model, "coef_")
