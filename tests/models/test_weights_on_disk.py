"""Weights from blocks are the same matrix wherever the blocks were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linnaeus.engine import blocks
from linnaeus.models.checkpoint import Checkpoint
from linnaeus.models.linear import InMemory, OnDisk, block_arrays, block_weights, pruned


def made(n_features: int, n_columns: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(n_features, n_columns)).astype(np.float32)
    W[rng.random(W.shape) < 0.5] = 0
    return W


@settings(max_examples=60)
@given(
    st.integers(1, 40), st.integers(1, 20), st.integers(1, 7), st.sampled_from([0.0, 0.5]), st.sampled_from([1, 300])
)
def test_all_three_places_give_the_same_weights(tmp_path_factory, n_features, n_columns, size, below, budget) -> None:
    W = made(n_features, n_columns)
    parts = list(blocks(n_columns, size))
    memory = InMemory(n_features, parts, np.float32, sparse=below > 0)
    with Checkpoint(tmp_path_factory.mktemp("store"), {}, durable=False) as store:
        disk = OnDisk(store, str, parts, budget=budget)
        for number in reversed(range(len(parts))):
            kept = pruned(W[:, parts[number]], below)
            memory.put(number, kept)
            store.put(str(number), block_arrays(kept))
            disk.put(number, kept)
        numbers = range(len(parts))
        expected = np.where(np.abs(W) < below, 0, W)
        for whole in (memory.whole(numbers), disk.whole(numbers)):
            assert sparse.issparse(whole) == (below > 0)
            assert whole.dtype == np.float32
            np.testing.assert_array_equal(whole.toarray() if below else whole, expected)
        some = list(numbers)[::2]
        columns = np.concatenate([np.r_[parts[i]] for i in some])
        for whole in (memory.whole(some), disk.whole(some)):
            np.testing.assert_array_equal(whole.toarray() if below else whole, expected[:, columns])


@pytest.mark.parametrize("below", [0.0, 0.3])
def test_weights_on_disk_are_mapped_and_leave_no_file(tmp_path, below) -> None:
    W = made(50, 6)
    with Checkpoint(tmp_path / "store", {}) as store:
        store.put("0", block_arrays(pruned(W, below)))
        whole = OnDisk(store, str, [slice(0, 6)]).whole([0])
        store.remove()
    assert not (tmp_path / "store").exists()
    values = whole.data if below else whole
    assert not values.flags.writeable
    base = values
    while base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    np.testing.assert_array_equal(whole.toarray() if below else whole, np.where(np.abs(W) < below, 0, W))
    x = np.ones((1, 50), np.float32)
    np.testing.assert_allclose((x @ whole).ravel(), np.where(np.abs(W) < below, 0, W).sum(axis=0), rtol=1e-5)


def test_blocks_survive_as_arrays() -> None:
    W = made(9, 4)
    for below in (0.0, 0.4):
        kept = pruned(W, below)
        again = block_weights(block_arrays(kept), 4)
        np.testing.assert_array_equal(again.toarray() if below else again, np.where(np.abs(W) < below, 0, W))


def test_a_block_that_was_pruned_away_is_empty(tmp_path) -> None:
    with Checkpoint(tmp_path, {}) as store:
        store.put("0", block_arrays(pruned(made(5, 3), 100.0)))
        whole = OnDisk(store, str, [slice(0, 3)]).whole([0])
    assert whole.shape == (5, 3)
    assert whole.nnz == 0
