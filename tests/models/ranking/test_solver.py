"""The solver of the hierarchical SVM reaches the optimum of a generic solver, and says truly how near it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linnaeus import Taxonomy
from linnaeus.models.ranking.solver import solve_ranking
from tests.models.ranking.oracles import CASES, CLASSES, T4, X4, Y4, dual, generic_optimum, problem
from tests.strategies import taxonomies

INDICATOR4 = T4.indicator(Y4).toarray()[:, CLASSES]
each_face = pytest.mark.parametrize("face", ["dense", "sparse", "gram"])


def solved(*args, tol: float = 1e-9, epsilon=None, max_iter: int = 20_000, seed: int = 0):
    return solve_ranking(problem(*args), tol=tol, epsilon=epsilon, max_iter=max_iter, seed=seed)


@each_face
@pytest.mark.parametrize("case", CASES)
def test_the_worked_examples_have_the_optimum_of_a_generic_solver(case, face) -> None:
    attributes, cost, C, per_pair, optimum = CASES[case]
    found = solved(T4, X4, INDICATOR4, CLASSES, attributes, cost, C, face, per_pair)
    assert found.objective == pytest.approx(optimum, abs=1e-6)
    assert found.converged
    assert found.gap <= 1e-9 * found.objective


def test_scores_and_slacks_of_the_first_worked_example() -> None:
    found = solved(T4, X4, INDICATOR4, CLASSES, "perclass", "half", 1.0, "dense")
    scores = [
        [0.878066, -0.137167, -0.69816, -0.121934],
        [-0.191261, 0.734415, 0.990909, -0.91194],
        [0.373831, 0.505231, 0.373831, -0.802712],
        [0.81721, -0.550383, -1.153073, 0.449617],
    ]
    np.testing.assert_allclose(X4 @ found.weights, scores, atol=2e-5)
    np.testing.assert_allclose(found.slack, [0, 1.115259, 1.302899, 0], atol=2e-5)


def random_problem(tax: Taxonomy, seed: int):
    """Nodes drawn as classes, inner ones too; some documents have no class or all of them, one is empty."""
    rng = np.random.default_rng(seed)
    nodes = np.arange(tax.n_nodes)
    classes = np.sort(rng.choice(nodes, size=rng.integers(1, tax.n_nodes + 1), replace=False))
    n_docs = 6
    X = rng.normal(size=(n_docs, 3))
    X[0] = 0
    Y = rng.random((n_docs, len(classes))) < 0.4
    return X, Y.astype(int), classes, rng.uniform(0.3, 3.0, n_docs)


@settings(max_examples=40)
@given(taxonomies(max_nodes=6), st.integers(0, 10**6), st.booleans(), st.sampled_from(["perclass", "one", "flat"]))
def test_random_problems_have_the_optimum_of_a_generic_solver(tax, seed, per_pair, attributes) -> None:
    X, Y, classes, C = random_problem(tax, seed)
    sizes = Y.sum(axis=1)
    args = (tax, X, Y, classes, attributes, "half")
    tol = 1e-4 if per_pair else 1e-8  # steps of single pairs crawl where documents have few features
    found = solved(*args, C, "dense", per_pair, tol=tol)
    if not ((sizes > 0) & (sizes < len(classes))).any():
        assert found.objective == 0
        return
    expected = generic_optimum(*dual(*args, C, per_pair))
    assert found.objective - found.gap <= expected + 1e-6 * max(1.0, expected)
    assert found.objective >= expected - 1e-6 * max(1.0, expected)
    assert found.converged
    assert found.gap <= 1.01 * tol * max(1.0, found.objective)


@settings(max_examples=30)
@given(taxonomies(max_nodes=7), st.integers(0, 10**6), st.integers(1, 6))
def test_the_gap_is_that_of_the_definition_wherever_it_stops(tax, seed, passes) -> None:
    X, Y, classes, C = random_problem(tax, seed)
    found = solved(tax, X, Y, classes, "perclass", "half", C, "dense", tol=1e-12, max_iter=passes)
    setting = problem(tax, X, Y, classes, "perclass", "half", C, "dense")
    docs, ys, zs, alpha = found.pairs
    B = np.zeros(Y.shape)
    np.add.at(B, (docs, ys), alpha)
    np.add.at(B, (docs, zs), -alpha)
    A, D = setting.classes.attributes.toarray(), setting.classes.cost.dense()
    w = A.T @ B.T @ X
    F = X @ (A @ w).T
    H = D * (1 - F[:, :, None] + F[:, None, :])
    pairs = (Y[:, :, None] == 1) & (Y[:, None, :] == 0)
    loss = np.where(pairs, H, 0.0).max(axis=(1, 2), initial=0.0)
    P = 0.5 * (w**2).sum() + C @ loss
    assert found.objective == pytest.approx(P, abs=1e-8)
    assert found.objective - found.gap == pytest.approx(alpha.sum() - 0.5 * (w**2).sum(), abs=1e-8)
    assert (np.bincount(docs, alpha / D[ys, zs], minlength=len(C)) <= C * (1 + 1e-9)).all()
    np.testing.assert_allclose(found.slack, loss, atol=1e-8)
    np.testing.assert_allclose(X @ found.weights, F, atol=1e-8)


@each_face
def test_the_rule_of_the_thesis_bounds_the_gap(face) -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 5)), rng.random((30, 4)) < 0.4
    found = solved(T4, X, Y.astype(int), CLASSES, "perclass", "half", 2.0, face, epsilon=0.01)
    assert found.violation <= 0.01
    assert found.gap <= 0.01 * 2.0 * 30


def test_weights_of_a_scaled_taxonomy_and_cost_are_those_of_another_C() -> None:
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(20, 5)), (rng.random((20, 4)) < 0.4).astype(int)
    matrix = np.zeros((T4.n_nodes, 3))
    matrix[CLASSES] = rng.random((4, 3))
    cost = np.ones((T4.n_nodes, T4.n_nodes)) - np.eye(T4.n_nodes)
    plain = solved(T4, X, Y, CLASSES, matrix, cost, 1.0, "dense")
    scaled = solved(T4, X, Y, CLASSES, 2 * matrix, cost, 0.25, "dense")
    np.testing.assert_allclose(plain.weights, scaled.weights, atol=1e-3)
    costly = solved(T4, X, Y, CLASSES, matrix, 3 * cost, 1.0, "dense")
    np.testing.assert_allclose(costly.weights, solved(T4, X, Y, CLASSES, matrix, cost, 3.0, "dense").weights, atol=1e-3)


@settings(max_examples=20)
@given(taxonomies(max_nodes=7), st.integers(0, 10**6))
def test_sharing_weights_is_a_regulariser_of_the_weights_of_classes(tax, seed) -> None:
    """min |w|^2 over w with A w = W is tr(W' (A A')^-1 W)."""
    X, Y, classes, C = random_problem(tax, seed)
    found = solved(tax, X, Y, classes, "one", "half", C, "dense", tol=1e-8)
    A = problem(tax, X, Y, classes, "one", "half", C, "dense").classes.attributes.toarray()
    W = found.weights.T
    squared = float(np.trace(W.T @ np.linalg.pinv(A @ A.T) @ W))
    assert found.objective == pytest.approx(0.5 * squared + C @ found.slack, rel=1e-6, abs=1e-9)


def test_the_order_of_documents_does_not_move_the_optimum() -> None:
    rng = np.random.default_rng(6)
    X, Y = rng.normal(size=(25, 4)), (rng.random((25, 4)) < 0.4).astype(int)
    turned = rng.permutation(25)
    first = solved(T4, X, Y, CLASSES, "perclass", "half", 1.0, "dense")
    second = solved(T4, X[turned], Y[turned], CLASSES, "perclass", "half", 1.0, "dense", seed=3)
    assert first.objective == pytest.approx(second.objective, rel=1e-8)
    np.testing.assert_allclose(first.weights, second.weights, atol=1e-3)


def test_two_classes_are_the_binary_svm_with_twice_the_C() -> None:
    from sklearn.svm import SVC

    rng = np.random.default_rng(2)
    tax, X = Taxonomy.flat("ab"), rng.normal(size=(40, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=40) > 0).astype(int)
    Y = np.column_stack([1 - y, y])
    found = solved(tax, X, Y, np.array([0, 1]), "flat", "zero_one", 0.7, "dense")
    w = found.weights[:, 1] - found.weights[:, 0]
    np.testing.assert_allclose(found.weights[:, 0], -found.weights[:, 1], atol=1e-6)
    hinge = np.maximum(0, 1 - (2 * y - 1) * (X @ w)).sum()
    assert found.objective == pytest.approx(0.5 * (0.5 * w @ w + 1.4 * hinge), rel=1e-6)
    centred = np.vstack([X, -X])  # no intercept where the documents are symmetric
    rival = SVC(kernel="linear", C=0.7, tol=1e-8).fit(centred, np.concatenate([y, 1 - y]))
    np.testing.assert_allclose(rival.coef_.ravel(), w, atol=1e-3)


def test_a_sparse_document_of_many_pairs_gets_the_room_it_needs() -> None:
    n_classes = 40
    tax = Taxonomy.flat(f"c{k:02}" for k in range(n_classes))
    rng = np.random.default_rng(3)
    X = np.abs(rng.normal(size=(12, 2)))
    Y = np.zeros((12, n_classes), int)
    Y[np.arange(12), np.arange(12) % 3] = 1
    args = (tax, X, Y, np.arange(n_classes), "flat", "zero_one", 5.0)
    found = solved(*args, "sparse", tol=1e-7)
    assert np.bincount(found.pairs[0]).max() > 8
    assert found.objective == pytest.approx(solved(*args, "gram", tol=1e-7).objective, rel=1e-6)


def test_the_curve_ends_at_the_certificate() -> None:
    found = solved(T4, X4, INDICATOR4, CLASSES, "perclass", "half", 1.0, "dense")
    assert found.curve[-1].tolist() == pytest.approx([found.n_iter, found.objective, found.objective - found.gap])
    assert (np.diff(found.curve[:, 2]) >= -1e-9).all()


def test_pair_slacks_bound_the_masses_and_sum_all_losses() -> None:
    rng = np.random.default_rng(4)
    X, Y = rng.normal(size=(15, 3)), (rng.random((15, 4)) < 0.4).astype(int)
    found = solved(T4, X, Y, CLASSES, "perclass", "half", 0.5, "sparse", True)
    _, ys, zs, alpha = found.pairs
    D = problem(T4, X, Y, CLASSES, "perclass", "half", 0.5, "sparse").classes.cost.dense()
    assert (alpha <= 0.5 * D[ys, zs] * (1 + 1e-12)).all()
    F = X @ found.weights
    H = D * (1 - F[:, :, None] + F[:, None, :])
    pairs = (Y[:, :, None] == 1) & (Y[:, None, :] == 0)
    np.testing.assert_allclose(found.slack, np.where(pairs, np.maximum(H, 0), 0).sum(axis=(1, 2)), atol=1e-5)


def test_equal_seeds_give_equal_weights_bit_for_bit() -> None:
    rng = np.random.default_rng(5)
    X = sparse.random_array((40, 30), density=0.2, rng=rng).toarray()
    Y = (rng.random((40, 4)) < 0.4).astype(int)
    first, second = (solved(T4, X, Y, CLASSES, "one", "half", 1.0, "sparse", seed=7, tol=1e-3) for _ in range(2))
    np.testing.assert_array_equal(first.weights, second.weights)
