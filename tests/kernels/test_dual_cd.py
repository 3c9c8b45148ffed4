"""The compiled dual coordinate descent does what its readable twin does, for every instruction set of this machine."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linnaeus._kernels import dispatch, dual_cd
from tests.kernels.twins import dual_cd as reference

VARIANTS = [dual_cd, *(importlib.import_module(f"linnaeus._kernels.dual_cd{suffix}") for suffix in dispatch.levels())]
LOSSES = {"hinge": 0, "squared_hinge": 1, "logistic": 2}


def problem(seed: int, n: int, d: int, loss: int, dense: bool, dtype: type, bias: float) -> dict:
    """A random block, with an empty row where the rows are sparse."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < (1.0 if dense else 0.5))
    if not dense:
        X[0] = 0
    csr = sparse.csr_array(X.astype(dtype))
    y = sparse.csr_array((rng.random((n, 16)) < 0.3).astype(np.int8))
    y.sort_indices()
    bound = rng.uniform(0.5, 2.0, n).astype(dtype)
    return {
        "indptr": np.arange(n + 1, dtype=np.int64) * d if dense else csr.indptr.astype(np.int64),
        "indices": np.zeros(1, np.int32) if dense else np.append(csr.indices, 0).astype(np.int32),
        "data": X.astype(dtype).ravel() if dense else np.append(csr.data, 0).astype(dtype),
        "dense": dense,
        "squared_norm": ((X**2).sum(axis=1) + bias**2).astype(dtype),
        "bound": bound,
        "column_weight": rng.uniform(0.5, 2.0, (2, 16)).astype(dtype),
        "loss": loss,
        "bias": dtype(bias),
        "positive_indptr": y.indptr.astype(np.int64),
        "positive": np.append(y.indices, 0).astype(np.uint8),
    }


def start(p: dict, n: int, d: int, dtype: type) -> dict:
    alpha = np.zeros((n, 16), dtype) if p["loss"] != 2 else np.repeat((p["bound"] * dtype(0.3))[:, None], 16, axis=1)
    return {
        "order": np.arange(n, dtype=np.int32),
        "n_active": n,
        "W": np.zeros((d + 1, 16), dtype),
        "alpha": np.ascontiguousarray(alpha),
        "shrink_above": np.full(16, 0.2, dtype),
        "shrink_below": np.full(16, -0.2, dtype),
        "done": (np.arange(16) > 10).astype(np.uint8),
        "pg_max": np.zeros(16, dtype),
        "pg_min": np.zeros(16, dtype),
        "shares": np.zeros((2, 16), dtype),
    }


@pytest.mark.parametrize("kernel", VARIANTS, ids=lambda module: module.__name__.rsplit(".", 1)[-1])
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 6),
    d=st.integers(1, 5),
    loss=st.sampled_from(list(LOSSES.values())),
    dense=st.booleans(),
    bias=st.sampled_from([0.0, 1.0]),
)
@settings(max_examples=60)
def test_compiled_epochs_equal_the_twin(kernel, seed, n, d, loss, dense, bias) -> None:
    p = problem(seed, n, d, loss, dense, np.float64, bias)
    ours, twin = start(p, n, d, np.float64), start(p, n, d, np.float64)
    for _ in range(3):
        kept = [module.sweep(*p.values(), *state.values()) for module, state in ((kernel, ours), (reference, twin))]
        assert kept[0] == kept[1]
        assert ours["order"].tolist() == twin["order"].tolist()
        for name in ("W", "alpha", "pg_max", "pg_min", "shares"):
            np.testing.assert_allclose(ours[name], twin[name], rtol=1e-7, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", VARIANTS, ids=lambda module: module.__name__.rsplit(".", 1)[-1])
@pytest.mark.parametrize("loss", list(LOSSES))
def test_rebuild_and_certify_equal_the_twin(kernel, loss, dtype) -> None:
    n, d = 7, 4
    p = problem(3, n, d, LOSSES[loss], False, dtype, 1.0)
    state = start(p, n, d, dtype)
    kernel.sweep(*p.values(), *state.values())
    matrix, labels = list(p.values())[:4], [p["positive_indptr"], p["positive"]]
    found, expected = np.zeros((d + 1, 16)), np.zeros((d + 1, 16))
    kernel.rebuild(*matrix, p["bias"], *labels, state["alpha"], found)
    reference.rebuild(*matrix, p["bias"], *labels, state["alpha"], expected)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    sums = np.zeros((4, 16))
    arguments = (*matrix, p["bound"], p["column_weight"], p["loss"], p["bias"], *labels, state["W"], state["alpha"])
    kernel.certify(*arguments, sums[0], sums[1])
    reference.certify(*arguments, sums[2], sums[3])
    np.testing.assert_allclose(sums[:2], sums[2:], rtol=1e-5 if dtype is np.float32 else 1e-10)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_shares_of_rows_at_rest_add_up_to_the_certificate(loss) -> None:
    n, d = 40, 6
    p = problem(5, n, d, LOSSES[loss], False, np.float64, 1.0)
    p["column_weight"][:] = 1
    state = start(p, n, d, np.float64)
    state["shrink_above"][:], state["shrink_below"][:], state["done"][:] = np.inf, -np.inf, 0
    matrix, labels = list(p.values())[:4], [p["positive_indptr"], p["positive"]]
    dual_cd.rebuild(*matrix, p["bias"], *labels, state["alpha"], state["W"])
    for _ in range(3000):
        dual_cd.sweep(*p.values(), *state.values())
    primal, dual = np.zeros(16), np.zeros(16)
    dual_cd.certify(
        *matrix, p["bound"], p["column_weight"], p["loss"], p["bias"], *labels, state["W"], state["alpha"], primal, dual
    )
    squared = (state["W"] ** 2).sum(axis=0)
    np.testing.assert_allclose(state["shares"][1], primal + squared / 2, rtol=1e-6)
    np.testing.assert_allclose(state["shares"][0], primal + squared - dual, atol=1e-6 * primal.max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", VARIANTS, ids=lambda module: module.__name__.rsplit(".", 1)[-1])
def test_settled_weights_and_their_norms_equal_the_twin(kernel, dtype) -> None:
    V = np.random.default_rng(0).normal(size=(9, 16))
    found, expected = np.empty((9, 16), dtype), np.empty((9, 16), dtype)
    norms = np.zeros((4, 16))
    kernel.settle(V, found, norms[0], norms[1])
    reference.settle(V, expected, norms[2], norms[3])
    assert (found == expected).all()
    np.testing.assert_allclose(norms[:2], norms[2:], rtol=1e-12)


def test_wrong_types_are_refused() -> None:
    p = problem(0, 2, 2, 0, False, np.float64, 0.0)
    state = start(p, 2, 2, np.float64)
    state["W"] = state["W"].astype(np.float32)
    with pytest.raises((ValueError, TypeError)):
        dual_cd.sweep(*p.values(), *state.values())
