"""Leaves are cut into blocks of sixteen, and what blocks measure is scaled back to the joint problem."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus.models.recursive.leaves import LeafBlock, leaf_blocks


def labels(n_leaves: int) -> sparse.csc_array:
    return sparse.csc_array((np.random.default_rng(0).random((30, n_leaves)) < 0.2).astype(np.int8))


@pytest.mark.parametrize("n_leaves", [1, 15, 16, 17, 40])
def test_blocks_hold_all_leaves_and_all_positive_pairs(n_leaves) -> None:
    Y = labels(n_leaves)
    total, weight = np.arange(1.0, n_leaves + 1), np.arange(2.0, n_leaves + 2)
    blocks = list(leaf_blocks(Y, total, weight))
    assert [block.number for block in blocks] == list(range(-(-n_leaves // 16)))
    assert np.concatenate([block.columns for block in blocks]).tolist() == list(range(n_leaves))
    for block in blocks:
        rows, columns = block.positives
        assert (np.diff(rows) >= 0).all()
        part = np.zeros((30, block.n_columns), np.int8)
        part[rows, columns] = 1
        np.testing.assert_array_equal(part, Y.toarray()[:, block.columns])
        np.testing.assert_array_equal(block.total, total[block.columns])
        np.testing.assert_array_equal(block.positive_weight, weight[block.columns])


def test_sub_problems_are_divided_by_the_weight_of_the_links() -> None:
    block = LeafBlock(0, np.arange(2), np.array([2.0, 4.0]), np.array([3.0, 1.0]), (np.zeros(0), np.zeros(0)))
    weight = block.weight(np.float64)
    np.testing.assert_array_equal(weight[:, :2], [[1.5, 0.25], [0.5, 0.25]])
    assert weight.shape == (2, 16)
    assert block.scaled(np.arange(1.0, 17)) == 2 * 1 + 4 * 2
