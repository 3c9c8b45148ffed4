"""Labels of numpy archives, in whatever array and layout they come."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from linnaeus.data import read_dataset
from linnaeus.errors import DataError

PATTERN = {"Y_indices": np.array([0, 1, 1]), "Y_indptr": np.array([0, 2, 3]), "label_names": np.array(["A", "B"])}


@pytest.mark.parametrize("key", ["y", "Y", "labels", "topics"])
def test_a_dense_indicator_names_its_labels(tmp_path: Path, key: str) -> None:
    indicator = {key: np.array([[1, 1], [0, 1]])}
    np.savez(tmp_path / "d.npz", X=np.eye(2), **indicator, label_names=np.array(["A", "B"]))
    data = read_dataset(tmp_path / "d.npz")
    assert data.labels == [["A", "B"], ["B"]]
    assert data.extra == {}


def test_whole_numbers_are_numbers_of_label_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", X=np.eye(2), y=np.array([1, 0]), label_names=np.array(["A", "B"]))
    assert read_dataset(tmp_path / "d.npz").labels == [["B"], ["A"]]
    np.savez(tmp_path / "d.npz", X=np.eye(2), y=np.array([1, 0]))
    assert read_dataset(tmp_path / "d.npz").labels == [["1"], ["0"]]


def test_rows_of_strings_are_label_lists(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", X=np.eye(2), labels=np.array([["A", "AA"], ["B", ""]]))
    assert read_dataset(tmp_path / "d.npz").labels == [["A", "AA"], ["B"]]


def test_zeros_that_were_written_down_are_no_labels(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", X=np.eye(2), **PATTERN, Y_data=np.array([0, 1, 1]))
    assert read_dataset(tmp_path / "d.npz").labels == [["B"], ["B"]]


def test_an_array_can_be_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", X=np.eye(2), y_train=np.array(["A", "B"]))
    assert read_dataset(tmp_path / "d.npz", labels="y_train").labels == [["A"], ["B"]]


def test_a_missing_label_file_is_named(tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "d.npz", sparse.csr_array(np.eye(2)))
    with pytest.raises(DataError, match="no array 'lables'"):
        read_dataset(tmp_path / "d.npz", labels="lables")
