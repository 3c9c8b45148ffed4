"""One compiled pass over all documents finds what its readable twin finds, for every instruction set."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus._kernels import dispatch, screen
from tests.kernels.test_dual_cd import LOSSES, problem
from tests.kernels.twins import screen as reference

VARIANTS = [screen, *(importlib.import_module(f"linnaeus._kernels.screen{suffix}") for suffix in dispatch.levels())]
each_variant = pytest.mark.parametrize("kernel", VARIANTS, ids=lambda module: module.__name__.rsplit(".", 1)[-1])


@each_variant
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 6),
    d=st.integers(1, 5),
    loss=st.sampled_from(list(LOSSES.values())),
    dense=st.booleans(),
    bias=st.sampled_from([0.0, 1.0]),
    n_columns=st.integers(1, 16),
    exact=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@settings(max_examples=80)
def test_losses_and_worst_margins_equal_the_twin(
    kernel, seed, n, d, loss, dense, bias, n_columns, exact, dtype
) -> None:
    p = problem(seed, n, d, loss, dense, dtype, bias)
    del p["squared_norm"]
    W = np.random.default_rng(seed + 1).normal(size=(d + 1, 16)).astype(dtype)
    primal, worst = np.full((2, 16), 7.0), np.full((2, n), 7, np.float32)
    kernel.screen(*p.values(), W, n_columns, exact, primal[0], worst[0])
    reference.screen(*p.values(), W, n_columns, exact, primal[1], worst[1])
    np.testing.assert_allclose(worst[0], worst[1], rtol=1e-5, atol=1e-5)
    rough = dtype is np.float32 and not exact
    np.testing.assert_allclose(primal[0], primal[1], rtol=1e-4 if rough else 1e-6, atol=1e-4 if rough else 1e-9)
    assert (primal[0, n_columns:] == 0).all()


@each_variant
def test_exact_scores_keep_what_single_precision_loses(kernel) -> None:
    data = np.array([1, 1e8, -1e8], np.float32)
    p = (np.array([0, 3]), np.arange(3, dtype=np.int32), data, False, np.ones(1, np.float32))
    weight, labels = np.ones((2, 16), np.float32), (np.array([0, 0]), np.zeros(1, np.uint8))
    W = np.ones((4, 16), np.float32)
    W[1] = 1 + 2**-23  # 1e8 (1 + e) - 1e8 + 1
    primal, worst = np.zeros(16), np.zeros(1, np.float32)
    kernel.screen(*p, weight, LOSSES["hinge"], 0.0, *labels, W, 1, True, primal, worst)
    assert primal[0] == pytest.approx(2 + 1e8 * 2**-23, rel=1e-12)


@each_variant
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 6),
    dense=st.booleans(),
    bias=st.sampled_from([0.0, 1.0]),
    reach=st.sampled_from([-0.5, 0.2, 9.0]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@settings(max_examples=60)
def test_pairs_near_the_margin_and_their_move_equal_the_twin(kernel, seed, n, dense, bias, reach, dtype) -> None:
    rng = np.random.default_rng(seed)
    p = problem(seed, n, 4, LOSSES["squared_hinge"], dense, dtype, bias)
    del p["squared_norm"], p["loss"]
    p["column_weight"][:, rng.random(16) < 0.3] = 0
    W = rng.normal(size=(5, 16)).astype(dtype)
    found = []
    for module in (kernel, reference):
        pairs = np.full(16 * n, 7, np.int32), np.full(16 * n, 7, dtype), np.full(16 * n, 7, dtype)
        count = module.near(*p.values(), W, reach, *pairs)
        pairs = tuple(part[:count] for part in pairs)
        slope, curvature = np.zeros(n), np.ones(n)
        loss = module.moved(*pairs, np.random.default_rng(seed).normal(size=n), slope, curvature)
        found.append((*pairs, slope, curvature, [loss]))
    for ours, twin in zip(*found, strict=True):
        np.testing.assert_allclose(ours, twin, rtol=1e-4, atol=1e-4)


def test_wrong_types_are_refused() -> None:
    p = problem(0, 2, 2, 0, False, np.float64, 0.0)
    del p["squared_norm"]
    with pytest.raises((ValueError, TypeError)):
        screen.screen(*p.values(), np.zeros((3, 16), np.float32), 1, True, np.zeros(16), np.zeros(2, np.float32))


@each_variant
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 20),
    d=st.integers(1, 6),
    bias=st.sampled_from([0.0, 1.0]),
    n_columns=st.integers(1, 16),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@settings(max_examples=60)
def test_rows_left_out_by_a_bound_are_far_from_all_margins(kernel, seed, n, d, bias, n_columns, dtype) -> None:
    p = problem(seed, n, d, LOSSES["squared_hinge"], False, dtype, bias)
    del p["squared_norm"]
    rng = np.random.default_rng(seed + 1)
    W = (rng.normal(size=(d + 1, 1)) + 0.1 * rng.normal(size=(d + 1, 16)) - 0.5).astype(dtype)
    limit = float(rng.normal())
    found = []
    for module in (kernel, reference):
        rows = np.empty(n, np.int32)
        head = p["indptr"], p["indices"], p["data"], bias, p["positive_indptr"]
        count = module.relevant(*head, W, n_columns, limit, np.empty((d + 1, 2), dtype), rows)
        found.append(rows[:count])
    np.testing.assert_array_equal(*found)
    primal, worst = np.zeros((2, 16)), np.full((2, n), -np.inf, np.float32)
    kernel.screen(*p.values(), W, n_columns, True, primal[0], worst[0])
    kernel.screen(*p.values(), W, n_columns, True, primal[1], worst[1], found[0])
    left_out = np.setdiff1d(np.arange(n), found[0])
    assert (worst[0][left_out] <= limit + 1e-5).all()
    np.testing.assert_array_equal(worst[0][found[0]], worst[1][found[0]])
    if limit <= 0:
        np.testing.assert_array_equal(primal[0], primal[1])
