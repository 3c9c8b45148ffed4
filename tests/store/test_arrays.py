"""What is written piece by piece is a safetensors file like any other."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load_file

from linnaeus.errors import StoreError
from linnaeus.store import folder as array_files
from linnaeus.store.folder import DTYPES, write_arrays

ARRAYS = st.sampled_from(sorted(DTYPES.values())).flatmap(
    lambda kind: hnp.arrays(np.dtype(kind), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))
)


@settings(max_examples=80)
@given(st.dictionaries(st.text(min_size=1, max_size=6), ARRAYS, max_size=4), st.sampled_from([1, 7, 2**20]))
def test_the_library_reads_what_was_written(tmp_path_factory, arrays, piece) -> None:
    path = tmp_path_factory.mktemp("store") / "arrays.safetensors"
    arrays.pop("__metadata__", None)
    before, array_files._PIECE = array_files._PIECE, piece
    try:
        digest, size = write_arrays(path, arrays)
    finally:
        array_files._PIECE = before
    assert size == path.stat().st_size
    assert digest == hashlib.sha256(path.read_bytes()).hexdigest()
    found = load_file(path)
    assert set(found) == set(arrays)
    for key, array in arrays.items():
        assert found[key].dtype == array.dtype
        np.testing.assert_array_equal(found[key], array)


def test_views_and_mapped_arrays_are_written_as_they_look(tmp_path) -> None:
    W = np.arange(24.0, dtype=np.float32).reshape(4, 6)
    np.save(tmp_path / "W.npy", W)
    mapped = np.load(tmp_path / "W.npy", mmap_mode="r")
    write_arrays(tmp_path / "a", {"turned": W.T, "mapped": mapped, "big": W.astype(">f4")})
    found = load_file(tmp_path / "a")
    np.testing.assert_array_equal(found["turned"], W.T)
    np.testing.assert_array_equal(found["mapped"], W)
    np.testing.assert_array_equal(found["big"], W)


def test_arrays_of_objects_are_refused(tmp_path) -> None:
    with pytest.raises(StoreError, match="type object cannot be saved"):
        write_arrays(tmp_path / "a", {"x": np.array([None])})
