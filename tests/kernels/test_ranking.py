"""The compiled passes of the ranking SVM do what their readable twins do, for every instruction set of this machine."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from linnaeus._kernels import dispatch, ranking, ranking_pairs
from linnaeus.data.matrices import prepare_rows
from linnaeus.losses.cost import pair_cost
from linnaeus.models.ranking.attributes import class_attributes
from linnaeus.models.ranking.solver import class_arrays, gram_rows
from tests.kernels.twins import ranking as reference
from tests.strategies import taxonomies


def variants(module):
    name = module.__name__.rsplit(".", 1)[-1]
    return [module, *(importlib.import_module(f"linnaeus._kernels.{name}{suffix}") for suffix in dispatch.levels())]


def each(module):
    return pytest.mark.parametrize("kernel", variants(module), ids=lambda m: m.__name__.rsplit(".", 1)[-1])


def problem(tax, seed: int, face: str, cost: str) -> dict:
    """Random documents (the first is empty), labels and weights away from 0, where scores do not tie."""
    rng = np.random.default_rng(seed)
    classes = np.arange(tax.n_nodes)
    X = rng.normal(size=(5, 4))
    X[0] = 0
    matrix = rng.random((tax.n_nodes, tax.n_nodes))
    np.fill_diagonal(matrix, 0)
    laid = class_arrays(
        class_attributes(tax, classes, "one"), pair_cost(tax, classes, matrix if cost == "matrix" else cost)
    )
    rows = {
        "dense": lambda: prepare_rows(X, 0.5),
        "sparse": lambda: prepare_rows(sparse.csr_array(X * (rng.random(X.shape) < 0.7)).astype(np.float64), 0.5),
        "gram": lambda: gram_rows(X @ X.T),
    }[face]()
    labels = sparse.csr_array(rng.random((5, tax.n_nodes)) < 0.5)
    n_panels = -(-laid.n_nodes // 16)
    W = np.zeros((n_panels, rows.n_features + 1, 16))
    W[:, : rows.n_features] = 0.3 * rng.normal(size=(n_panels, rows.n_features, 16))
    indices = np.append(labels.indices, 0).astype(np.int32)
    return {
        "rows": rows, "gram": face == "gram", "laid": laid, "labels": (labels.indptr.astype(np.int64), indices),
        "bound": rng.uniform(0.5, 2.0, 5), "W": W, "n_panels": n_panels, "order": rng.permutation(5).astype(np.int32),
    }  # fmt: skip


def state(p: dict, capacity: int) -> dict:
    n, q = 5, p["laid"].n_classes
    return {
        "W": p["W"].copy(), "sizes": np.zeros(n, np.int32), "ys": np.zeros((n, capacity), np.int32),
        "zs": np.zeros((n, capacity), np.int32), "cost": np.zeros((n, capacity)), "mass": np.zeros((n, capacity)),
        "idle": np.zeros((n, capacity), np.uint8), "violation": np.full(n, np.inf),
        "room": np.zeros(32 * p["n_panels"] + 5 * q + 2 * (capacity + 1) + capacity**2),
        "relevant": np.zeros(q, np.uint8), "wanted": np.zeros(p["n_panels"], np.uint8),
    }  # fmt: skip


faces = st.sampled_from(["dense", "sparse", "gram"])
costs = st.sampled_from(["half", "normalised", "zero_one", "subscription", "matrix"])


@each(ranking)
@settings(max_examples=60)
@given(tax=taxonomies(max_nodes=20), seed=st.integers(0, 10**6), face=faces, cost=costs, capacity=st.integers(1, 3))
def test_passes_move_as_their_twin_does(kernel, tax, seed, face, cost, capacity) -> None:
    # Four pairs of two right and two wrong classes depend on each other: their masses would not be unique.
    p = problem(tax, seed, face, cost)
    rows, ours, theirs, moved = p["rows"], state(p, capacity), state(p, capacity), state(p, capacity)
    moved["W"] += 1e-10 * np.random.default_rng(seed).normal(size=moved["W"].shape)
    for whole in (True, False, True):
        results = [
            module.sweep(
                *rows.matrix, p["gram"], rows.squared_norm, rows.bias, p["laid"].arrays, *p["labels"], p["bound"],
                p["order"], whole, 0.0, *s.values(),
            )
            for module, s in ((kernel, ours), (reference, theirs), (reference, moved))
        ]  # fmt: skip
        # Where two pairs tie, rounding decides which of them moves: the twin itself then takes another way.
        assume(np.allclose(results[1], results.pop(), atol=1e-6, rtol=1e-6))
        np.testing.assert_allclose(*results, atol=1e-7, rtol=1e-7)
        for name in ("W", "sizes", "violation"):
            np.testing.assert_allclose(ours[name], theirs[name], atol=1e-7)
        used = np.arange(capacity) < ours["sizes"][:, None]
        for name in ("ys", "zs", "cost", "mass"):
            np.testing.assert_allclose(ours[name][used], theirs[name][used], atol=1e-7)
        assert not ours["relevant"].any()


@each(ranking_pairs)
@settings(max_examples=40)
@given(tax=taxonomies(max_nodes=8), seed=st.integers(0, 10**6), face=faces, cost=costs)
def test_passes_over_pairs_move_as_their_twin_does(kernel, tax, seed, face, cost) -> None:
    p = problem(tax, seed, face, cost)
    rows, q = p["rows"], p["laid"].n_classes
    room, relevant = np.zeros(48 * p["n_panels"] + 2 * q), np.zeros(q, np.uint8)
    found = []
    for module in (kernel, reference):
        W, mass = p["W"].copy(), np.zeros((len(p["labels"][1]), q))
        for _ in range(2):
            largest = module.sweep_pairs(
                *rows.matrix, p["gram"], rows.squared_norm, rows.bias, p["laid"].arrays, *p["labels"], p["bound"],
                p["order"], W, mass, room, relevant,
            )  # fmt: skip
        found.append((largest, W, mass))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-7)


@each(ranking_pairs)
@settings(max_examples=40)
@given(tax=taxonomies(max_nodes=8), seed=st.integers(0, 10**6), face=faces, cost=costs, per_pair=st.booleans())
def test_losses_are_those_of_the_twin(kernel, tax, seed, face, cost, per_pair) -> None:
    p = problem(tax, seed, face, cost)
    rows, q = p["rows"], p["laid"].n_classes
    found = []
    for module in (kernel, reference):
        loss, norm = np.zeros(5), np.zeros(5)
        module.losses(
            *rows.matrix, rows.bias, p["laid"].arrays, *p["labels"], per_pair, p["gram"], p["W"], loss, norm,
            np.zeros(48 * p["n_panels"] + 2 * q), np.zeros(q, np.uint8),
        )  # fmt: skip
        found.append((loss, norm))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
