"""Modes of leaves from few documents, down to precisions of 1e-12."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from linnaeus.models.bayes import leaves
from linnaeus.models.bayes.leaves import LeafTask, Shared, solve_dual, solve_leaves


def problem(*, contradiction: bool = False, n_docs: int = 400, n_words: int = 300, seed: int = 0):
    """Short documents with a constant; two leaves with a few positive documents."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n_docs, n_words + 1))
    for row in X:
        row[rng.choice(n_words, 6, replace=False)] = rng.uniform(0.2, 0.6, 6)
    X[:, -1] = 1
    positives = (np.array([0, 1, 2, 7, 8]), np.array([0, 0, 0, 1, 1]))
    if contradiction:
        X[100] = X[0]
    return sparse.csr_array(X), positives


def solved(X, positives, prior, *, tol=1e-4, centre=None, c=None):
    n, d = X.shape
    squares = X.multiply(X).tocsr() if sparse.issparse(X) else X**2
    shared = Shared(X, squares, np.ones(n) if c is None else c, 0.05)
    centre = np.zeros((2, d)) if centre is None else centre
    return solve_leaves(shared, LeafTask(positives, centre, np.asarray(prior), np.zeros((2, d)), tol)), centre


def away(X, positives, prior, found, centre, c=1.0):
    """Length of the Newton step from what was found, with the whole Hessian, relative to |w - m|, of every leaf."""
    X = X.toarray() if sparse.issparse(X) else X
    y = -np.ones((X.shape[0], 2))
    y[positives] = 1
    W = np.asarray(found.weights, float)
    P = expit(-y * (X @ W.T))
    prior = np.broadcast_to(prior, 2)
    steps = []
    for j in range(2):
        G = W[j] - centre[j] - X.T @ (c * P[:, j] * y[:, j] / prior[j])
        H = np.eye(X.shape[1]) + X.T @ ((c * P[:, j] * (1 - P[:, j]) / prior[j])[:, None] * X)
        steps.append(np.linalg.norm(np.linalg.solve(H, G)) / np.linalg.norm(W[j] - centre[j]))
    return np.array(steps)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("prior", [1.0, 1e-3, 1e-8, 1e-12])
def test_modes_of_any_precision_are_found(prior, dense) -> None:
    X, positives = problem()
    X = X.toarray() if dense else X
    centre = np.random.default_rng(1).normal(scale=0.1, size=(2, X.shape[1]))
    found, _ = solved(X, positives, [prior, 3 * prior], centre=centre)
    assert (away(X, positives, [prior, 3 * prior], found, centre) < 1e-3).all()
    assert (found.distance <= 1e-4 * np.linalg.norm(found.weights - centre, axis=1)).all()


def test_few_candidates_lead_to_the_same_mode(monkeypatch) -> None:
    """With a limit of ten most documents are in the mean of the others in every pass."""
    X, positives = problem()
    whole, _ = solved(X, positives, [1e-6, 1e-9])
    monkeypatch.setattr(leaves, "_FIRST", 10)
    monkeypatch.setattr(leaves, "_EACH", 0)
    few, _ = solved(X, positives, [1e-6, 1e-9])
    np.testing.assert_allclose(few.weights, whole.weights, atol=2e-3 * np.abs(whole.weights).max())


def test_newton_steps_on_weights_lead_to_the_same_mode(monkeypatch) -> None:
    X, positives = problem()
    dual, _ = solved(X, positives, [0.1, 0.01])
    monkeypatch.setattr(leaves, "_MOST", 2)
    monkeypatch.setattr(leaves, "_PASSES", 60)
    primal, _ = solved(X, positives, [0.1, 0.01])
    np.testing.assert_allclose(primal.weights, dual.weights, atol=1e-3)


def test_equal_documents_with_different_labels_have_even_odds() -> None:
    """Their dual variables are half of all room, 1e10, and cancel to what the others have."""
    X, positives = problem(contradiction=True)
    found, centre = solved(X, positives, [1e-10, 1e-10])
    scores = X @ found.weights.T
    assert (away(X, positives, 1e-10, found, centre) < 1e-3).all()
    assert scores[0, 0] == pytest.approx(0, abs=0.01)
    assert (scores[positives[0][1:3], 0] > 5).all()


@pytest.mark.parametrize("dense", [False, True])
def test_one_document_against_several_equal_ones_has_their_odds(dense) -> None:
    """Seven dual variables of some 1e9: six of them cancel the seventh, in every step."""
    X, positives = problem()
    X = sparse.lil_array(X)
    for row in range(100, 106):
        X[row] = X[0]
    X = X.toarray() if dense else sparse.csr_array(X)
    found, centre = solved(X, positives, [1e-9, 1e-9])
    assert (away(X, positives, 1e-9, found, centre) < 1e-3).all()
    assert (X @ found.weights.T)[0, 0] == pytest.approx(-np.log(6), abs=0.01)


def test_weights_of_another_precision_are_where_to_begin() -> None:
    X, positives = problem()
    first, centre = solved(X, positives, [1e-6, 1e-6])
    task = LeafTask(positives, centre, np.array([1e-8, 1e-5]), first.weights, 1e-4, before=np.array([1e-6, 1e-6]))
    found = solve_leaves(Shared(X, X.multiply(X).tocsr(), np.ones(X.shape[0]), 0.05), task)
    fresh, _ = solved(X, positives, [1e-8, 1e-5])
    np.testing.assert_allclose(found.weights, fresh.weights, atol=1e-3 * np.abs(fresh.weights).max())
    np.testing.assert_allclose(found.moved, np.linalg.norm(found.weights - first.weights, axis=1))


def test_the_kernel_finds_what_numpy_finds() -> None:
    X, positives = problem()
    shared = Shared(X, X.multiply(X).tocsr(), np.ones(X.shape[0]), 0.05)
    d = X.shape[1]
    task = LeafTask(positives, np.zeros((2, d)), np.array([1e-7, 1e-2]), np.zeros((2, d)), 1e-6)
    one, two = solve_leaves(shared, task), leaves._Block(shared, task).solve()
    for name in ("weights", "losses", "moved", "information"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-3, atol=1e-4)


def test_documents_have_weights() -> None:
    X, positives = problem()
    c = np.random.default_rng(0).uniform(0.5, 2, X.shape[0])
    found, centre = solved(X, positives, [1e-4, 1e-4], c=c)
    assert (away(X, positives, 1e-4, found, centre, c) < 1e-3).all()


def test_the_response_is_how_far_the_mode_moves_with_its_precision() -> None:
    X, positives = problem()
    one, _ = solved(X, positives, [1e-6, 1e-6], tol=1e-7)
    two, _ = solved(X, positives, [1.01e-6, 1.01e-6], tol=1e-7)
    away = np.linalg.norm(two.weights - one.weights, axis=1) / np.log(1.01)
    np.testing.assert_allclose(one.response, away, rtol=0.05)


def test_dual_variables_stay_inside_their_interval() -> None:
    room = np.array([1.0, 1.0, np.inf])
    b, _ = solve_dual(np.ones((3, 3)) + np.eye(3), np.array([-50.0, 50.0, -2.0]), room, np.full(3, 0.5))
    f = np.log(b) - np.log1p(-b / room) + np.array([-50.0, 50.0, -2.0]) + (np.ones((3, 3)) + np.eye(3)) @ b
    assert (b > 0).all()
    assert (b < room).all()
    assert np.abs(f * np.minimum(b, 1))[1:].max() < 1e-4
