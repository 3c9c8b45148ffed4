"""The compiled perceptron loops do what their readable twins do, for every instruction set of this machine."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from linnaeus._kernels import dispatch, perceptron
from tests.kernels.twins import perceptron as reference

NAMES = [f"linnaeus._kernels.perceptron{suffix}" for suffix in dispatch.levels()]
VARIANTS = [perceptron, *map(importlib.import_module, NAMES)]
each_variant = pytest.mark.parametrize("kernel", VARIANTS, ids=lambda module: module.__name__.rsplit(".", 1)[-1])


def csr(M: np.ndarray, dtype: type = np.float64) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    made = sparse.csr_array(M)
    made.sort_indices()
    return (
        made.indptr.astype(np.int64),
        np.append(made.indices, 0).astype(np.int32),
        np.append(made.data, 0).astype(dtype),
    )


def problem(seed: int, dense: bool, with_matrix: bool, averaged: bool, dtype: type) -> dict:
    """Random documents (small whole numbers, so that sums are exact) with random labels, some empty, some full."""
    rng = np.random.default_rng(seed)
    n, d, q, s = int(rng.integers(1, 12)), int(rng.integers(1, 9)), int(rng.integers(2, 6)), int(rng.integers(2, 7))
    X = rng.integers(-3, 4, size=(n, d)) * (rng.random((n, d)) < 0.7)
    L = rng.integers(0, 2, size=(q, s)) + np.eye(q, s)
    places = rng.random((q, s)) < 0.6
    labels = csr(rng.random((n, q)) < 0.4)[:2]
    indptr, indices, data = csr(X, dtype)
    if dense:
        indptr, indices, data = np.arange(n + 1, dtype=np.int64) * d, np.zeros(1, np.int32), X.ravel().astype(dtype)
    rows = indptr, indices, data, dense
    matrix = rng.integers(1, 5, size=(q, q)).astype(float) if with_matrix else np.zeros((0, 0))
    return {
        "rows": (*rows, *rows),
        "documents": ((X**2).sum(axis=1).astype(float), rng.integers(1, 3, n).astype(float), *labels),
        "order": rng.integers(0, n, size=2 * n).astype(np.int32),
        "attributes": csr(L),
        "cost": (
            *csr(places)[:2], *rng.integers(1, 5, (2, s)).astype(float), rng.integers(1, 3, q).astype(float), matrix,
        ),
        "W": rng.integers(-2, 3, size=(d, s)).astype(dtype),
        "U": np.zeros((d if averaged else 0, s)),
    }  # fmt: skip


def run(kernel, p: dict, rule: int) -> tuple:
    n, (_, s), q = len(p["order"]), p["W"].shape, len(p["attributes"][0]) - 1
    W, U = p["W"].copy(), p["U"].copy()
    right, wrong, size = np.empty(n, np.int32), np.empty(n, np.int32), np.zeros(n)
    scratch = np.empty(s, W.dtype), np.empty(q), np.zeros(s), np.empty(2 * s, np.int32), np.zeros(s, np.int32)
    steps = kernel.learn_rows(
        *p["rows"], *p["documents"], p["order"], *p["attributes"], *p["cost"], rule, 5, W, U, right, wrong, size,
        *scratch,
    )  # fmt: skip
    return steps, W, U, right, wrong, size


@each_variant
@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    rule=st.sampled_from([0, 1, 2]),
    dense=st.booleans(),
    with_matrix=st.booleans(),
    averaged=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@example(seed=601, rule=1, dense=False, with_matrix=False, averaged=False, dtype=np.float64)
def test_a_pass_is_that_of_the_twin(kernel, seed, rule, dense, with_matrix, averaged, dtype) -> None:
    p = problem(seed, dense, with_matrix, averaged, dtype)
    if rule and dtype is np.float32:
        p["order"] = p["order"][:1]  # steps are no whole numbers then: after one of them rounding may decide
    if rule and dtype is np.float64:
        p["W"] += np.random.default_rng(seed).normal(size=p["W"].shape)  # no ties
    expected = run(reference, p, rule)
    if rule:  # a step may make two labels equally wrong; what follows would be decided by rounding
        nudges = 1e-9 * np.random.default_rng(0).normal(size=(4, *p["W"].shape))
        nudged = [run(reference, {**p, "W": (p["W"] + nudge).astype(dtype)}, rule)[1] for nudge in nudges]
        assume(all(np.allclose(W, expected[1], atol=1e-6) for W in nudged))
    found = run(kernel, p, rule)
    assert found[0] == expected[0]
    tolerance = {"rtol": 1e-5 if dtype is np.float32 else 1e-9, "atol": 1e-5}
    for a, b in zip(found[1:3] + found[5:], expected[1:3] + expected[5:], strict=True):
        np.testing.assert_allclose(a, b, **tolerance)
    clear = expected[5] > 1e-9  # a margin that an earlier step has just reached is 0 up to rounding
    for a, b in zip(found[3:5], expected[3:5], strict=True):
        np.testing.assert_array_equal(a[clear], b[clear])
        assert rule or (a == b).all()


@each_variant
@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), dtype=st.sampled_from([np.float32, np.float64]))
def test_dense_rows_give_the_bits_of_sparse_ones(kernel, seed, dtype) -> None:
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(100, 100))
    both = []
    for dense in (False, True):
        p = problem(seed, dense, False, True, dtype)
        p["W"] += noise[: p["W"].shape[0], : p["W"].shape[1]].astype(dtype)
        both.append(run(kernel, p, 0))
    for a, b in zip(*both, strict=True):
        np.testing.assert_array_equal(a, b)


@each_variant
@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), steps=st.integers(1, 5))
def test_margins_follow_the_scores(kernel, seed, steps) -> None:
    rng = np.random.default_rng(seed)
    n, q = int(rng.integers(1, 8)), int(rng.integers(2, 6))
    Y = rng.random((n, q)) < 0.4
    indptr, indices, _ = csr(Y)
    mixed = Y.any(axis=1) & ~Y.all(axis=1)
    both = []
    for _ in range(2):
        right = np.where(mixed, Y.argmax(axis=1), -1).astype(np.int32)
        wrong = np.where(mixed, (~Y).argmax(axis=1), -1).astype(np.int32)
        both.append((np.zeros((n, q)), np.zeros(n), right, wrong))
    for _ in range(steps):
        K, d = rng.integers(-2, 3, n).astype(float), rng.integers(-2, 3, q).astype(float)
        least = []
        for module, (F, margin, right, wrong) in zip((kernel, reference), both, strict=True):
            least.append(module.shift_scores(F, K, d, indptr, indices, margin, right, wrong))
        assert least[0] == least[1]
        for a, b in zip(*both, strict=True):
            np.testing.assert_array_equal(a[mixed], b[mixed])
