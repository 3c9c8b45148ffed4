"""The compiled sequential dual method does what its readable twin does, for every instruction set of this machine."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linnaeus._kernels import crammer_singer, dispatch
from tests.kernels.twins import crammer_singer as reference

NAMES = [f"linnaeus._kernels.crammer_singer{suffix}" for suffix in dispatch.levels()]
VARIANTS = [crammer_singer, *map(importlib.import_module, NAMES)]
each_variant = pytest.mark.parametrize("kernel", VARIANTS, ids=lambda module: module.__name__.rsplit(".", 1)[-1])


def problem(seed: int, n: int, d: int, n_classes: int, dense: bool, bias: float, dtype: type = np.float64) -> dict:
    """Random rows, with one empty one where they are sparse (two equal rows would tie)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if not dense:
        X[:, 1:] *= rng.random((n, d - 1)) < 0.5
        X[0] = 0
    csr = sparse.csr_array(X.astype(dtype))
    return {
        "indptr": np.arange(n + 1, dtype=np.int64) * d if dense else csr.indptr.astype(np.int64),
        "indices": np.zeros(1, np.int32) if dense else np.append(csr.indices, 0).astype(np.int32),
        "data": X.astype(dtype).ravel() if dense else np.append(csr.data, 0).astype(dtype),
        "dense": dense,
        "squared_norm": ((X**2).sum(axis=1) + bias**2).astype(dtype),
        "bound": rng.uniform(0.5, 2.0, n).astype(dtype),
        "bias": dtype(bias),
        "target": rng.integers(0, n_classes, n).astype(np.int32),
        "n_classes": n_classes,
    }


def start(p: dict, n: int, d: int, scale: float = 0.0) -> dict:
    """The state before the first epoch; weights away from 0 have no ties, which rounding would break either way."""
    n_panels, dtype = -(-p["n_classes"] // 16), p["data"].dtype
    mass = np.zeros((n, 16 * n_panels), dtype)
    mass[np.arange(n), p["target"]] = p["bound"]
    return {
        "order": np.arange(n, dtype=np.int32),
        "n_active": n,
        "W": (scale * np.random.default_rng(d).normal(size=(n_panels, d + 1, 16))).astype(dtype),
        "p": mass,
        "live": np.ones((n, n_panels), np.uint8),
        "room": np.zeros((4, 16 * n_panels), dtype),
        "candidates": np.zeros(16 * n_panels, np.int32),
    }


@each_variant
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 6),
    d=st.integers(2, 5),  # with one feature classes tie, and rounding decides between them
    n_classes=st.integers(2, 40),
    dense=st.booleans(),
    bias=st.sampled_from([0.0, 1.0]),
)
@settings(max_examples=60)
def test_compiled_epochs_equal_the_twin(kernel, seed, n, d, n_classes, dense, bias) -> None:
    p = problem(seed, n, d, n_classes, dense, bias)
    ours, twin = start(p, n, d, 0.5), start(p, n, d, 0.5)
    for epoch in range(4):
        results = [module.sweep(*p.values(), *state.values()) for module, state in ((kernel, ours), (reference, twin))]
        if epoch == 0:  # later, rows solved exactly have ties up to rounding, and may leave or stay
            assert results[0][0] == results[1][0]
            assert ours["order"].tolist() == twin["order"].tolist()
            np.testing.assert_array_equal(ours["live"], twin["live"])
        assert results[0][1] == pytest.approx(results[1][1], abs=1e-7)
        np.testing.assert_allclose(ours["W"], twin["W"], rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(ours["p"], twin["p"], rtol=1e-7, atol=1e-7)
        for state in (ours, twin):
            state["order"][:], state["live"][:] = np.arange(n), 1


@each_variant
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rebuild_and_losses_equal_the_twin(kernel, dtype) -> None:
    n, d = 7, 4
    p = problem(3, n, d, 20, False, 1.0, dtype)
    state = start(p, n, d)
    for _ in range(3):
        kernel.sweep(*p.values(), *state.values())
    matrix, common = list(p.values())[:4], (p["bound"], p["bias"], p["target"])
    found, expected = np.zeros((2, d + 1, 16)), np.zeros((2, d + 1, 16))
    linear = kernel.rebuild(*matrix, *common, state["p"], found)
    assert linear == pytest.approx(reference.rebuild(*matrix, *common, state["p"], expected), rel=1e-10)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found, state["W"], atol=1e-5)
    loss = [module.losses(*matrix, *common, 20, state["W"]) for module in (kernel, reference)]
    assert loss[0] == pytest.approx(loss[1], rel=1e-10)


@each_variant
def test_every_row_stays_a_point_of_its_simplex(kernel) -> None:
    p = problem(5, 30, 6, 37, True, 1.0, np.float32)
    state = start(p, 30, 6)
    for _ in range(5):
        kernel.sweep(*p.values(), *state.values())
    assert (state["p"] >= 0).all()
    assert (state["p"][:, 37:] == 0).all()
    np.testing.assert_allclose(state["p"].sum(axis=1), p["bound"], rtol=1e-5)


def test_mass_beyond_the_bound_is_cut_down_so_that_the_dual_point_is_feasible() -> None:
    p = problem(1, 1, 2, 3, True, 0.0)
    mass = np.zeros((1, 16))
    mass[0, [k for k in range(3) if k != p["target"][0]]] = 2 * p["bound"][0]
    V = np.zeros((1, 3, 16))
    total = crammer_singer.rebuild(*list(p.values())[:4], p["bound"], 0.0, p["target"], mass, V)
    assert total == pytest.approx(p["bound"][0])
    np.testing.assert_allclose(V.sum(axis=2), 0, atol=1e-12)


def test_wrong_types_are_refused() -> None:
    p = problem(0, 2, 2, 3, False, 0.0)
    state = start(p, 2, 2)
    state["W"] = state["W"].astype(np.float32)
    with pytest.raises((ValueError, TypeError)):
        crammer_singer.sweep(*p.values(), *state.values())
