"""Leaves and the vertices above them: the compiled sums are those of the readable twin, for every instruction set."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus._kernels import dispatch, paths
from tests.kernels.test_recursive import network
from tests.kernels.twins import paths as reference

VARIANTS = [paths, *(importlib.import_module(f"linnaeus._kernels.paths{suffix}") for suffix in dispatch.levels())]
each_variant = pytest.mark.parametrize("kernel", VARIANTS, ids=lambda module: module.__name__.rsplit(".", 1)[-1])
CLOSE = {"rtol": 1e-4, "atol": 1e-4}


def random_block(seed: int, n_features: int, n_groups: int):
    """(features, group, used, down, up, Z): some vertices of some groups above sixteen leaves, in some features."""
    rng = np.random.default_rng(seed)
    features = np.flatnonzero(rng.random(n_features) < 0.7).astype(np.int32)
    group = np.sort(rng.choice(5, n_groups, replace=False)).astype(np.int32)
    used = rng.integers(0, 2**16, n_groups).astype(np.uint32)
    inside = (used[:, None] >> np.arange(16)) & 1
    down = (rng.normal(size=(n_groups, 16, 16)) * inside[:, :, None]).astype(np.float32)
    up = np.ascontiguousarray(down.transpose(0, 2, 1) * np.float32(0.5))
    return features, group, used, down, up, rng.normal(size=(5, n_features, 16)).astype(np.float32)


@each_variant
@given(seed=st.integers(0, 10**6), n_features=st.integers(1, 60), n_groups=st.integers(0, 4))
@settings(max_examples=30)
def test_centres_and_changes_equal_the_twin(kernel, seed, n_features, n_groups) -> None:
    features, group, used, down, up, Z = random_block(seed, n_features, n_groups)
    rng = np.random.default_rng(seed + 1)
    start = rng.normal(size=(len(features), 16)).astype(np.float32)
    ours, before, twin = start.copy(), start.copy(), start.astype(float)
    kernel.join(Z, features, group, used, down, start, ours, before)
    reference.join(Z, features, group, used, down, start, twin, twin.copy())
    np.testing.assert_allclose(ours, twin, **CLOSE)
    np.testing.assert_array_equal(before, ours)

    W = np.where(rng.random((len(features), 1)) < 0.5, ours + rng.normal(size=ours.shape), ours).astype(np.float32)
    inverse = rng.normal(size=(16, 16)).astype(np.float32)
    found = [(start.copy(), Z.copy()), (start.astype(float), Z.astype(float))]
    for module, (U, z) in zip((kernel, reference), found, strict=True):
        changed = np.empty(len(features), np.int32)
        module.part(W, ours.copy(), inverse, features, group, up, U, z, changed)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)


@each_variant
@given(seed=st.integers(0, 10**6), n_inner=st.integers(1, 30), density=st.sampled_from([0.0, 0.3]))
@settings(max_examples=20)
def test_weights_of_vertices_equal_the_twin(kernel, seed, n_inner, density) -> None:
    net, rng = network(seed, n_inner, 3, density, np.float32), np.random.default_rng(seed)
    share = rng.uniform(0, 0.5, len(net.later)).astype(np.float32)
    place = rng.permutation(n_inner).astype(np.int32)
    Z = rng.normal(size=(-(-n_inner // 16), 48, 16)).astype(np.float32)
    ours, twin = np.full((2, n_inner, 16), 7, np.float32), np.full((2, n_inner, 16), 7.0)
    for module, M in ((kernel, ours), (reference, twin)):
        module.descend(net.order, net.later_ptr, net.later, share, place, Z, M, 1)
    np.testing.assert_allclose(ours, twin, rtol=1e-3, atol=1e-3)
