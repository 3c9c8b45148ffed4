"""The compiled solution of the inner nodes is the one of dense linear algebra, for every instruction set."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus._kernels import dispatch, recursive
from linnaeus.models.recursive.network import Links, Network, make_network
from tests.kernels.twins import recursive as reference

NAMES = [f"linnaeus._kernels.recursive{suffix}" for suffix in dispatch.levels()]
VARIANTS = [recursive, *map(importlib.import_module, NAMES)]
each_variant = pytest.mark.parametrize("kernel", VARIANTS, ids=lambda module: module.__name__.rsplit(".", 1)[-1])
LANES = 16


def network(seed: int, n_inner: int, n_leaves: int, density: float, dtype: type) -> Network:
    """A random network: 0 is a tree, more is a mesh; vertex 0 is anchored, and now and then another one."""
    rng = np.random.default_rng(seed)
    links = Links()
    for v in range(n_inner):
        links.add_inner(v)
        for u in range(v):
            if u == v - 1 or rng.random() < density:
                links.join(u if density else int(rng.integers(v)), v, float(rng.uniform(0.3, 2)))
                if not density:
                    break
    links.anchor = [1.0, *(rng.uniform(0, 1, n_inner - 1) * (rng.random(n_inner - 1) < 0.2))]
    for _ in range(n_leaves):
        near = rng.choice(n_inner, size=min(n_inner, int(rng.integers(1, 4))), replace=False)
        links.add_leaf({int(u): float(rng.uniform(0.3, 2)) for u in near})
    return make_network(links, dtype)


def pull(net: Network, seed: int, n_features: int, dtype: type) -> SimpleNamespace:
    """Blocks of up to 16 leaves with some features each, most entries zero; the second half of a panel stays empty."""
    rng = np.random.default_rng(seed)
    held = []
    for first in range(0, net.n_leaves, LANES):
        n_columns = min(LANES, net.n_leaves - first)
        used = (rng.random(n_features) < 0.6) & (np.arange(n_features) % LANES < 8)
        features = np.flatnonzero(used).astype(np.int32)
        U = rng.normal(size=(len(features), LANES)) * (rng.random((len(features), LANES)) < 0.3)
        U[:, n_columns:] = 0
        ptr = np.full(LANES + 1, net.leaf_ptr[first + n_columns])
        ptr[: n_columns + 1] = net.leaf_ptr[first : first + n_columns + 1]
        held.append((np.ascontiguousarray(U, dtype), features, ptr))
    return SimpleNamespace(
        held=held,
        arguments=(
            np.array([U.ctypes.data for U, _, _ in held], np.uint64),
            np.array([f.ctypes.data for _, f, _ in held], np.uint64),
            np.array([len(f) for _, f, _ in held], np.int64),
            np.array([p for _, _, p in held], np.int64),
            net.leaf_inner,
            net.leaf_weight,
        ),
    )


def scratch(net: Network, dtype: type) -> tuple:
    """Room that holds what was there before: the kernels must not trust it."""
    nodes, slots = np.full((2, net.n_inner, LANES), 7, dtype), np.full((max(1, net.n_slots), LANES), 7, dtype)
    return nodes, slots, np.full(net.n_inner, 7, np.uint8)


def cursors(found: SimpleNamespace, first_panel: int) -> np.ndarray:
    return np.array([np.searchsorted(f, first_panel * LANES) for _, f, _ in found.held], np.int64)


CASES = {
    "seed": st.integers(0, 10**6),
    "n_inner": st.integers(1, 9),
    "n_leaves": st.integers(1, 20),
    "density": st.sampled_from([0.0, 0.2, 0.6]),
    "dtype": st.sampled_from([np.float32, np.float64]),
}


@each_variant
@given(**CASES, momentum=st.sampled_from([0.0, 0.7]), first_panel=st.integers(0, 1))
@settings(max_examples=40)
def test_a_step_is_the_dense_solution(kernel, seed, n_inner, n_leaves, density, dtype, momentum, first_panel) -> None:
    net = network(seed, n_inner, n_leaves, density, dtype)
    found = pull(net, seed + 1, 40, dtype)
    rng = np.random.default_rng(seed + 2)
    M, before = (rng.normal(size=(3 - first_panel, n_inner, LANES)).astype(dtype) for _ in range(2))
    ours, twin = (M.copy(), before.copy()), (M.copy(), before.copy())
    uphill = [
        module.step(
            *net.elimination, *found.arguments, cursors(found, first_panel), first_panel, *state, momentum,
            *scratch(net, dtype),
        )
        for module, state in ((kernel, ours), (reference, twin))
    ]  # fmt: skip
    tolerance = {"rtol": 1e-3, "atol": 1e-4} if dtype is np.float32 else {"rtol": 1e-9, "atol": 1e-10}
    np.testing.assert_allclose(ours[0], twin[0], **tolerance)
    np.testing.assert_allclose(ours[1], twin[1], **tolerance)
    scale = float(np.abs(M - twin[1]).max() * np.abs(twin[1] - before).max() * M.size)
    assert uphill[0] == pytest.approx(uphill[1], abs=tolerance["rtol"] * scale)


@each_variant
@given(**CASES, first_panel=st.integers(0, 1))
@settings(max_examples=40)
def test_energies_are_quadratic_forms(kernel, seed, n_inner, n_leaves, density, dtype, first_panel) -> None:
    net = network(seed, n_inner, n_leaves, density, dtype)
    found = pull(net, seed + 1, 40, dtype)
    least = [
        module.least_energy(
            *net.elimination, *found.arguments, cursors(found, first_panel), first_panel, 3 - first_panel,
            *scratch(net, np.float64),
        )
        for module in (kernel, reference)
    ]  # fmt: skip
    assert least[0] == pytest.approx(least[1], rel=1e-6 if dtype is np.float32 else 1e-10, abs=1e-12)
    M = np.random.default_rng(seed + 3).normal(size=(2, n_inner, LANES)).astype(dtype)
    links = (net.order, net.later_ptr, net.later, net.conductance, net.anchor)
    assert kernel.energy(*links, M) == pytest.approx(reference.energy(*links, M), rel=1e-10)


@each_variant
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centres_are_means_of_the_neighbours(kernel, dtype) -> None:
    net = network(5, 6, 16, 0.5, dtype)
    M = np.random.default_rng(0).normal(size=(3, 6, LANES)).astype(dtype)
    features = np.array([0, 3, 15, 16, 40, 47], np.int32)
    columns = np.array([2, 3, 9])
    indptr, inner, share, _ = net.links(columns)
    W = np.full((2, len(features), LANES), 7, dtype)
    kernel.gather(M, features, indptr, inner, share, W[0])
    reference.gather(M, features, indptr, inner, share, W[1])
    np.testing.assert_allclose(W[0], W[1], rtol=1e-5 if dtype is np.float32 else 1e-12)
    assert (W[:, :, len(columns) :] == 7).all()
    flat = M.transpose(0, 2, 1).reshape(-1, 6)
    for b, column in enumerate(columns):
        mine = slice(net.leaf_ptr[column], net.leaf_ptr[column + 1])
        weight = net.leaf_weight[mine] / net.leaf_weight[mine].sum()
        np.testing.assert_allclose(W[0, :, b], flat[features][:, net.leaf_inner[mine]] @ weight, rtol=1e-5)


@each_variant
def test_a_vertex_that_nothing_holds_stays_where_it_was(kernel) -> None:
    links = Links()
    for _ in range(4):
        links.add_inner()
    links.join(2, 3)  # without anchor, without leaves
    links.anchor[0] = 1.0
    links.add_leaf({0: 1.0})
    net = make_network(links, np.float64)
    found = pull(net, 0, 16, np.float64)
    M = np.random.default_rng(1).normal(size=(1, 4, LANES))
    ours, twin = (M.copy(), M.copy()), (M.copy(), M.copy())
    for module, state in ((kernel, ours), (reference, twin)):
        module.step(*net.elimination, *found.arguments, cursors(found, 0), 0, *state, 0.0, *scratch(net, float))
    np.testing.assert_allclose(ours[1], twin[1], rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(ours[1][0, 1], M[0, 1])
    np.testing.assert_allclose(ours[1][0, 2], ours[1][0, 3])


@each_variant
def test_where_no_leaf_pulls_the_inner_nodes_fall_to_zero(kernel) -> None:
    net = network(3, 5, 4, 0.4, np.float64)
    found = pull(net, 0, 32, np.float64)
    M = np.random.default_rng(1).normal(size=(2, 5, LANES))
    solved = M.copy()
    kernel.step(*net.elimination, *found.arguments, cursors(found, 0), 0, M, solved, 0.0, *scratch(net, float))
    np.testing.assert_array_equal(solved[:, :, 8:], 0)  # features of no block
    assert np.abs(solved[:, :, :8]).max() > 0


def test_wrong_types_are_refused() -> None:
    net = network(0, 3, 2, 0.0, np.float64)
    M = np.zeros((1, 3, LANES), np.float32)
    with pytest.raises((ValueError, TypeError)):
        recursive.energy(net.order, net.later_ptr, net.later, net.conductance, net.anchor, M)


@each_variant
@given(**CASES, first_panel=st.integers(0, 1))
@settings(max_examples=30)
def test_weights_of_leaves_are_centres_and_what_is_added(
    kernel, seed, n_inner, n_leaves, density, dtype, first_panel
) -> None:
    net = network(seed, n_inner, n_leaves, density, dtype)
    found, rng = pull(net, seed + 1, 40, dtype), np.random.default_rng(seed + 2)
    M = rng.normal(size=(3 - first_panel, n_inner, LANES)).astype(dtype)
    row = np.append(rng.permutation(39), -1).astype(np.int32)  # the last feature is left out
    first_leaf = np.append(np.arange(0, n_leaves, LANES), n_leaves)
    U, features, length = found.arguments[:3]
    written = [np.full((39, n_leaves), 7, dtype) for _ in range(2)]
    for module, W in zip((kernel, reference), written, strict=True):
        module.write_leaves(
            M, first_panel, net.leaf_ptr, net.leaf_inner, net.leaf_share, U, features, length,
            cursors(found, first_panel), first_leaf, row, W,
        )  # fmt: skip
    np.testing.assert_allclose(written[0], written[1], rtol=1e-4, atol=1e-5)
