"""Conjugate gradients solve systems in every arrangement; line searches find descent, or say that there is none."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus.models.solvers.cg import conjugate_gradients, line_search, step_length

RNG = np.random.default_rng(0)
A = RNG.normal(size=(40, 12))
H = np.eye(12) + A.T @ A
B = RNG.normal(size=(12, 3))


def product(p, q):
    return H @ p, A @ p


def test_columns_are_solved_each_to_its_own_tolerance() -> None:
    scaled = B * np.array([1.0, 1e-6, 1e6])
    found = conjugate_gradients(product, scaled, tolerance=1e-10, columns=True)
    np.testing.assert_allclose(found.x, np.linalg.solve(H, scaled), rtol=1e-6)
    np.testing.assert_allclose(found.image, A @ found.x, rtol=1e-6)
    assert found.preimage is found.x


def test_one_problem_is_all_columns_at_once() -> None:
    found = conjugate_gradients(product, B, tolerance=1e-10)
    np.testing.assert_allclose(found.x, np.linalg.solve(H, B), rtol=1e-6)


@pytest.mark.parametrize("columns", [True, False])
def test_preimages_follow_the_preconditioner(columns) -> None:
    # H = K^-1 + A'A in the variables x = K v; the product is given both.
    half = RNG.normal(size=(12, 12))
    K = half @ half.T + np.eye(12)

    def both(p, q):
        np.testing.assert_allclose(K @ q, p, atol=1e-8)
        return q + A.T @ (A @ p), None

    found = conjugate_gradients(
        both, B, tolerance=1e-10, precondition=lambda r: K @ r, scaled=K @ B, preimages=True, columns=columns
    )
    np.testing.assert_allclose(found.x, np.linalg.solve(np.linalg.inv(K) + A.T @ A, B), rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(K @ found.preimage, found.x, atol=1e-8)
    assert found.image.shape == ()


def test_single_precision_stays_single() -> None:
    found = conjugate_gradients(
        lambda p, q: ((H @ p).astype(np.float32), None), B.astype(np.float32), tolerance=1e-2, columns=True
    )
    assert found.x.dtype == np.float32
    np.testing.assert_allclose(found.x, np.linalg.solve(H, B), atol=0.05)


def test_products_are_limited_and_a_caller_may_stop() -> None:
    assert conjugate_gradients(product, B, tolerance=0.0, max_products=2).n_products == 2
    assert conjugate_gradients(product, B, stop=lambda x, residual, rho: True).n_products == 0
    assert conjugate_gradients(product, np.zeros_like(B), columns=True).n_products == 0


def test_without_curvature_the_direction_is_the_right_hand_side() -> None:
    found = conjugate_gradients(lambda p, q: (0.1 * p, p.copy()), B, least=0.5)
    np.testing.assert_array_equal(found.x, B)
    np.testing.assert_array_equal(found.image, B)


def test_lengths_are_halved_column_by_column() -> None:
    steep = np.array([1.0, 10.0, np.nan])
    length = line_search(lambda t, which: steep[which] * t**2 - 1.5 * t, np.array([-1.5, -1.5, -1.5]))
    assert length.tolist() == [1.0, 0.125, 0.0]


def test_a_newton_step_on_a_quadratic_has_length_one() -> None:
    W = RNG.normal(size=(12, 3))
    S = A @ W
    G = W + A.T @ S
    found = conjugate_gradients(product, -G, tolerance=1e-10, columns=True)
    start = 0.5 * (S**2).sum(axis=0)

    def losses(t, which):
        return 0.5 * ((S[:, which] + t * found.image[:, which]) ** 2).sum(axis=0)

    assert step_length(found, G, W, losses, start, columns=True).tolist() == [1.0, 1.0, 1.0]
    assert step_length(found, -G, W, lambda t, which: np.inf + t, start, columns=True).tolist() == [0.0, 0.0, 0.0]
