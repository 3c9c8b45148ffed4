"""The compiled descent on coupled columns does what its readable twin does, for every instruction set."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from linnaeus._kernels import coupled, dispatch
from tests.kernels.test_dual_cd import LOSSES, problem
from tests.kernels.twins import coupled as reference

VARIANTS = [coupled, *(importlib.import_module(f"linnaeus._kernels.coupled{suffix}") for suffix in dispatch.levels())]
N, D = 40, 12


def coupling(seed: int) -> np.ndarray:
    """A positive definite T, as a network gives it."""
    B = np.random.default_rng(seed).normal(size=(16, 4))
    return (np.eye(16) + B @ B.T / 4).astype(np.float32)


def run(kernel, p: dict, T, alpha, n_columns: int, reach: float = 0.0, limits=(np.inf, -np.inf)):
    W, high, low = np.zeros((D + 1, 16), np.float32), np.zeros(16, np.float32), np.zeros(16, np.float32)
    shares, gain = np.zeros((2, 16)), np.full(N, -2, np.float32)
    above, below = (np.full(16, limit, np.float32) for limit in limits)
    arguments = [p[name] for name in ("indptr", "indices", "data", "squared_norm", "bound", "column_weight", "loss")]
    arguments += [p["bias"], p["positive_indptr"], p["positive"], np.arange(N, dtype=np.int32), T, n_columns, reach]
    kernel.sweep(*arguments, W, alpha, above, below, high, low, shares, gain)
    return W, shares, gain, arguments


def first_variables(p: dict) -> np.ndarray:
    share = 0.3 * p["column_weight"].min() if p["loss"] == 2 else 0.0
    return np.repeat((share * p["bound"])[:, None], 16, axis=1).astype(np.float32)


@pytest.mark.parametrize("kernel", VARIANTS, ids=lambda kernel: kernel.__name__.rpartition(".")[2])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_columns", [16, 11])
def test_an_epoch_is_that_of_the_twin(kernel, loss, n_columns) -> None:
    p, T = problem(3, N, D, LOSSES[loss], False, np.float32, 1.0), coupling(5)
    alpha = first_variables(p)
    expected_alpha, expected_W = alpha.astype(float), np.zeros((D + 1, 16))
    W, _, _, arguments = run(kernel, p, T, alpha, n_columns)
    reference.sweep(*arguments, expected_W, expected_alpha)
    # Near the optimum the logistic step is an expansion: its dual variables are close, not equal.
    loose = 0.1 if loss == "logistic" else 1e-3
    np.testing.assert_allclose(alpha, expected_alpha, atol=loose)
    np.testing.assert_allclose(W, expected_W, atol=20 * loose)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_weights_are_those_of_the_dual_variables(loss) -> None:
    p, T = problem(1, N, D, LOSSES[loss], False, np.float32, 1.0), coupling(2)
    alpha = first_variables(p)
    before = alpha.astype(float)
    W, _, _, _ = run(coupled, p, T, alpha, 16)
    rows = [reference._row(i, p["indptr"], p["indices"], p["data"], False, 1.0, D) for i in range(N)]
    signs = np.array([reference._signs(i, p["positive_indptr"], p["positive"]) for i in range(N)])
    np.testing.assert_allclose(W, np.array(rows).T @ ((alpha - before) * signs) @ T, atol=1e-3)
    assert (alpha >= 0).all()


def test_logistic_pairs_within_reach_are_left_alone() -> None:
    p = problem(1, N, D, LOSSES["logistic"], False, np.float32, 0.0)
    weights = np.empty((N, 16))
    for i in range(N):
        y = reference._signs(i, p["positive_indptr"], p["positive"])
        weights[i] = np.where(y > 0, p["column_weight"][0], p["column_weight"][1])
    optimum = (0.5 * p["bound"][:, None] * weights).astype(np.float32)  # of scores that are 0
    alpha = (optimum * 1.02).astype(np.float32)
    W, shares, gain, _ = run(coupled, p, np.eye(16, dtype=np.float32), alpha, 16, reach=0.1)
    np.testing.assert_array_equal(alpha, (optimum * 1.02).astype(np.float32))
    assert not W.any()
    assert not gain.any()
    assert shares[0].sum() == pytest.approx(0.5 * (0.02**2 * optimum**2 / (optimum / 2)).sum(), rel=1e-2)


def test_pairs_of_the_squared_hinge_within_reach_are_left_alone() -> None:
    p = problem(1, N, D, LOSSES["squared_hinge"], False, np.float32, 0.0)
    weights = np.empty((N, 16))
    for i in range(N):
        y = reference._signs(i, p["positive_indptr"], p["positive"])
        weights[i] = np.where(y > 0, p["column_weight"][0], p["column_weight"][1])
    optimum = 2 * p["bound"][:, None] * weights  # of scores that are 0
    start = (optimum * 1.02).astype(np.float32)
    alpha = start.copy()
    W, shares, _, _ = run(coupled, p, np.eye(16, dtype=np.float32), alpha, 16, reach=0.03)
    np.testing.assert_array_equal(alpha, start)
    assert not W.any()
    assert shares[0].sum() == pytest.approx(0.02**2 * 0.5 * optimum.sum(), rel=1e-2)
    assert run(coupled, p, np.eye(16, dtype=np.float32), start.copy(), 16, reach=0.01)[0].any()


@pytest.mark.parametrize("n_columns", [16, 11])
def test_gains_are_sums_of_squared_gradients(n_columns) -> None:
    p = problem(1, N, D, LOSSES["squared_hinge"], False, np.float32, 0.0)
    p["data"] = np.zeros_like(p["data"])  # scores are 0, and stay there: every gradient is a / 2c - 1
    alpha = np.random.default_rng(0).random((N, 16)).astype(np.float32)
    y = np.array([reference._signs(i, p["positive_indptr"], p["positive"]) for i in range(N)])
    c = p["bound"][:, None] * np.where(y > 0, *p["column_weight"][:, None, :])
    expected = np.square(alpha / (2 * c) - 1)[:, :n_columns].sum(axis=1)
    _, _, gain, _ = run(coupled, p, np.eye(16, dtype=np.float32), alpha, n_columns)
    np.testing.assert_allclose(gain, expected, rtol=1e-4)


def test_rows_at_rest_are_told() -> None:
    p = problem(1, N, D, LOSSES["squared_hinge"], False, np.float32, 1.0)
    p["positive_indptr"], p["positive"] = np.zeros(N + 1, np.int64), np.zeros(1, np.uint8)
    alpha = np.zeros((N, 16), np.float32)
    W = np.zeros((D + 1, 16), np.float32)
    W[-1] = -2.0  # the constant puts all documents far on the right side
    p["indptr"] = np.zeros(N + 1, np.int64)
    extremes, shares, gain = np.zeros((2, 16), np.float32), np.zeros((2, 16)), np.zeros(N, np.float32)
    names = ("indptr", "indices", "data", "squared_norm", "bound", "column_weight", "loss", "bias")
    coupled.sweep(
        *(p[name] for name in names), p["positive_indptr"], p["positive"], np.arange(N, dtype=np.int32),
        np.eye(16, dtype=np.float32), 16, 0.0, W, alpha, np.full(16, 0.5, np.float32), np.full(16, -0.5, np.float32),
        *extremes, shares, gain,
    )  # fmt: skip
    assert (gain == -1).all()
    assert not alpha.any()
    assert not shares.any()


@pytest.mark.parametrize("kernel", VARIANTS, ids=lambda kernel: kernel.__name__.rpartition(".")[2])
def test_leaves_are_joined_to_their_centres(kernel) -> None:
    rng = np.random.default_rng(0)
    M, U = (rng.normal(size=(D, n)).astype(np.float32) for n in (32, 16))
    node, share = rng.integers(20, size=(2, 16)).astype(np.int32), rng.random((2, 16)).astype(np.float32)
    W = np.empty_like(U)
    kernel.join(M, node, share, U, W)
    np.testing.assert_allclose(W, U + share[0] * M[:, node[0]] + share[1] * M[:, node[1]], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kernel", VARIANTS, ids=lambda kernel: kernel.__name__.rpartition(".")[2])
@pytest.mark.parametrize("n_changed", [0, 1, 4, 7, D])
def test_changes_of_a_visit_reach_leaves_and_inner_vertices(kernel, n_changed) -> None:
    rng = np.random.default_rng(n_changed)
    before, U, M = (rng.normal(size=(D, n)).astype(np.float32) for n in (16, 16, 32))
    inverse, reach = (rng.normal(size=shape).astype(np.float32) for shape in ((16, 16), (2, 16, 16)))
    W = before.copy()
    W[rng.permutation(D)[:n_changed]] += 1
    change = (W - before) @ inverse
    expected_U, expected_M = U + change, M + np.hstack([change @ reach[0], change @ reach[1]])
    kernel.part(W, before, inverse, reach, U, M)
    np.testing.assert_allclose(U, expected_U, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(M, expected_M, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kernel", VARIANTS, ids=lambda kernel: kernel.__name__.rpartition(".")[2])
def test_slopes_are_derivatives_of_the_squared_hinge_by_the_constant(kernel) -> None:
    p = problem(1, N, D, LOSSES["squared_hinge"], False, np.float32, 1.0)
    W = np.random.default_rng(2).normal(size=(D + 1, 16)).astype(np.float32)
    rows = np.array([reference._row(i, p["indptr"], p["indices"], p["data"], False, 1.0, D) for i in range(N)])
    y = np.array([reference._signs(i, p["positive_indptr"], p["positive"]) for i in range(N)])
    c = p["bound"][:, None] * np.where(y > 0, *p["column_weight"][:, None, :])
    S, move, sums = np.empty((N, 16), np.float32), np.linspace(-1, 1, 16, dtype=np.float32), np.empty((2, 16))
    kernel.scores(p["indptr"], p["indices"], p["data"], 1.0, W, S)
    np.testing.assert_allclose(S, rows @ W, rtol=1e-4, atol=1e-4)
    labels = p["positive_indptr"], p["positive"]
    kernel.slopes(S, p["bound"], p["column_weight"], 1.0, *labels, move, sums)
    z = np.maximum(0, 1 - y * (S + move))
    np.testing.assert_allclose(sums[0], -(2 * c * y * z).sum(axis=0), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(sums[1], (2 * c * (z > 0)).sum(axis=0), rtol=1e-3)
