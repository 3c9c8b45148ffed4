"""The compiled Gram blocks of sequences are those of the readable twin, for every instruction set of this machine."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linnaeus._kernels import dispatch, strings
from tests.kernels.twins import strings as reference

LEVELS = dispatch.levels()
VARIANTS = [strings, *(importlib.import_module(f"linnaeus._kernels.strings{suffix}") for suffix in LEVELS)]
each_level = pytest.mark.parametrize("kernel", VARIANTS, ids=["baseline", *LEVELS])


def sequences(lengths: list[int], n_t: int, n_letters: int, dtype: type, seed: int = 0) -> tuple:
    """Codes and offsets of s of these lengths, and t of any length up to n_t side by side."""
    rng = np.random.default_rng(seed)
    lanes = 64 // np.dtype(dtype).itemsize
    codes = np.append(rng.integers(0, n_letters, sum(lengths)), 0).astype(dtype)
    T = rng.integers(0, n_letters, (n_t, lanes)).astype(dtype)
    T[np.arange(n_t)[:, None] >= rng.integers(0, n_t + 1, lanes)] = -1
    return codes, np.cumsum([0, *lengths]).astype(np.int64), T


def both(kernel, codes, offsets, T, decay: float, p: int) -> tuple:
    longest = int(np.diff(offsets).max(initial=1))
    out = np.full((len(offsets) - 1, p, T.shape[1]), np.nan, codes.dtype)
    scratch = np.full(max(1, T.shape[1] * (p - 1) * (len(T) + 2 * longest)), np.nan, codes.dtype)
    kernel.gap_weighted(codes, offsets, T, decay, scratch, out)
    expected = np.empty(out.shape)
    reference.gap_weighted(codes, offsets, T, decay, None, expected)
    return out, expected


@each_level
@settings(max_examples=30)
@given(
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=3),
    n_t=st.integers(1, 9),
    n_letters=st.integers(1, 4),
    p=st.integers(1, 9),
    decay=st.sampled_from([0.1, 0.5, 1.0]),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 1000),
)
def test_gap_weighted_does_what_its_twin_does(kernel, lengths, n_t, n_letters, p, decay, dtype, seed) -> None:
    out, expected = both(kernel, *sequences(lengths, n_t, n_letters, dtype, seed), decay, p)
    np.testing.assert_allclose(out, expected, rtol=1e-5 if dtype is np.float32 else 1e-12, atol=0)


@each_level
def test_sums_cross_the_edges_of_tiles(kernel) -> None:
    out, expected = both(kernel, *sequences([40], 70, 2, np.float64), 0.9, 10)  # tiles of 25 columns
    np.testing.assert_allclose(out, expected, rtol=1e-12)


@each_level
def test_gaps_that_sink_below_every_number_count_as_nothing(kernel) -> None:
    letters = np.r_[1.0, np.zeros(400), 2.0]
    T = np.where(letters == 0, 3.0, letters)[:, None].repeat(8, axis=1)
    out, _ = both(kernel, np.append(letters, 0.0), np.array([0, len(letters)]), T[:2], 0.5, 1)
    wide = np.empty((1, 2, 8))
    kernel.gap_weighted(letters, np.array([0, len(letters)]), T, 0.1, np.empty(8 * 3 * len(letters)), wide)
    assert out[0, 0, 0] == 1  # the 1 in front
    assert wide[0, :, 0].tolist() == [2, 0]  # 10^-800


def test_what_the_processor_does_with_tiny_numbers_elsewhere_is_left_alone() -> None:
    both(strings, *sequences([5], 5, 2, np.float64), 0.5, 3)
    assert np.float64(1e-308) / 16 > 0


def test_another_number_of_lanes_is_refused() -> None:
    codes, offsets, T = sequences([3], 4, 2, np.float64)
    with pytest.raises(ValueError, match="lanes"):
        strings.gap_weighted(codes, offsets, np.ascontiguousarray(T[:, :3]), 0.5, np.empty(100), np.empty((1, 1, 3)))


@each_level
@settings(max_examples=40)
@given(
    seed=st.integers(0, 1000),
    n_a=st.integers(1, 6),
    n_b=st.integers(1, 6),
    width=st.integers(1, 8),
    share=st.floats(0, 1),
)
def test_piece_gram_does_what_its_twin_does(kernel, seed, n_a, n_b, width, share) -> None:
    rng = np.random.default_rng(seed)
    A, B = (sparse.csr_array(rng.integers(1, 5, (n, width)) * (rng.random((n, width)) < share)) for n in (n_a, n_b))
    arguments = []
    for matrix in (A, B.tocsc()):
        arguments += [
            matrix.indptr.astype(np.int64), np.append(matrix.indices, 0).astype(np.int32), np.append(matrix.data, 0.0)
        ]  # fmt: skip
    K, expected = np.full((n_a, n_b), np.nan), np.empty((n_a, n_b))
    kernel.piece_gram(*arguments, K)
    reference.piece_gram(*arguments, expected)
    np.testing.assert_array_equal(K, expected)
    np.testing.assert_array_equal(K, (A @ B.T).toarray())
