"""Whatever arrays a numpy archive holds, the reader answers with a data set or with an error meant for people."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus.data.dataset import Dataset
from linnaeus.data.readers import read_dataset
from linnaeus.errors import LinnaeusError

ARRAYS = {
    "X_data": np.array([1.0, 2.0]),
    "X_indices": np.array([0, 1]),
    "X_indptr": np.array([0, 1, 2]),
    "X_shape": np.array([2, 2]),
    "Y_indices": np.array([0, 1]),
    "Y_indptr": np.array([0, 1, 2]),
    "Y_shape": np.array([2, 2]),
    "label_names": np.array(["A", "B"]),
}
DENSE = {"X": np.eye(2), "y": np.eye(2), "label_names": np.array(["A", "B"]), "ids": np.array([7, 8])}


def npz(arrays: dict[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def check(path_factory: pytest.TempPathFactory, content: bytes, read: Callable[[str], object], kind: type) -> None:
    path = path_factory.getbasetemp() / "damaged"
    path.write_bytes(content)
    with contextlib.suppress(LinnaeusError):
        assert isinstance(read(str(path)), kind)


arrays_in_place = st.sampled_from(
    [np.array(0), np.array([]), np.array([-1]), np.array([0, 9]), np.array([2, 1]), np.array(["x"]), np.ones((1, 2, 3))]
)


@settings(max_examples=200)
@given(
    st.sampled_from([ARRAYS, DENSE]),
    st.sets(st.sampled_from([*ARRAYS, *DENSE]), max_size=3),
    st.dictionaries(st.sampled_from([*ARRAYS, *DENSE]), arrays_in_place, max_size=2),
)
def test_archives_with_other_arrays_never_end_in_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, good: dict, dropped: set[str], replaced: dict
) -> None:
    arrays = {name: array for name, array in (good | replaced).items() if name not in dropped}
    check(tmp_path_factory, npz(arrays), lambda path: read_dataset(path, "npz"), Dataset)
