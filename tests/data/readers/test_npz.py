"""Numpy archives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from linnaeus.data import read_dataset
from linnaeus.errors import DataError

X = sparse.csr_array(np.array([[1, 0, 2], [0, 0, 3]], dtype=np.float32))


def parts(**more: object) -> dict:
    shape = np.array(X.shape)
    arrays = {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr, "X_shape": shape}
    labels = {"Y_indices": np.array([0, 1, 1], np.int16), "Y_indptr": np.array([0, 2, 3]), "Y_shape": np.array([2, 2])}
    return arrays | labels | {"label_names": np.array(["A", "B"])} | more


def without(arrays: dict, name: str) -> dict:
    return {key: array for key, array in arrays.items() if key != name}


def test_features_labels_and_further_columns_are_read(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "d.npz", **parts(half=np.array([0, 1])))
    data = read_dataset(tmp_path / "d.npz")
    assert (data.X != X).nnz == 0
    assert data.labels == [["A", "B"], ["B"]]
    assert data.extra["half"].tolist() == [0, 1]
    assert len(read_dataset(tmp_path / "d.npz", limit=1)) == 1


def test_a_matrix_saved_by_scipy_takes_its_labels_from_a_file(tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "d.npz", sparse.csc_array(X))
    assert read_dataset(tmp_path / "d.npz").labels is None
    (tmp_path / "labels.txt").write_text("A;B\n\n")
    data = read_dataset(tmp_path / "d.npz", labels=str(tmp_path / "labels.txt"))
    assert (data.X != X).nnz == 0
    assert data.labels == [["A", "B"], []]


def test_dense_arrays_with_labels_are_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", X=X.toarray(), labels=np.array(["A", "B|C"]), ids=np.array([7, 8]))
    data = read_dataset(tmp_path / "d.npz")
    assert (data.kind, data.labels, data.ids) == ("dense", [["A"], ["B", "C"]], ["7", "8"])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"Z": np.zeros(2)}, "has the arrays Z; expected X_data"),
        ({"X": np.array([[{}]])}, "contains Python objects"),
        (parts(Y_indices=np.array([0, 1, 7])), "Y_indices of .* go from 0 to 7 for 2 label names"),
        (without(parts(), "X_indices"), "d.npz has no array 'X_indices'"),
        (without(parts(), "Y_indices"), "d.npz has no array 'Y_indices'"),
        (without(parts(), "X_shape"), "d.npz has no array 'X_shape'"),
        (parts(Y_indptr=np.array([0, 9, 3])), "Y_indptr of .* does not rise from 0 to the 3 entries"),
        (parts(X_indptr=np.array(["a", "b", "c"])), "expected a one-dimensional array of integers"),
        (parts(label_names=np.array(["A"])), "1 label_names for 2 columns of labels"),
        ({"X": np.eye(2), "y": np.eye(2), "label_names": np.array(["A"])}, "1 label_names for 2 columns"),
        ({"X": np.eye(2), "y": np.eye(2)}, "0 label_names for 2 columns"),
        ({"X": np.array([["a"]])}, "or a dense X of numbers"),
        (without(parts(), "Y_indptr"), "no labels in a known layout, but 'Y_indices', 'Y_shape', 'label_names'"),
        ({"X": np.eye(2), "label_names": np.array(["A", "B"])}, "no labels in a known layout, but 'label_names'"),
        ({"X": np.eye(2), "y_train": np.array(["A", "B"])}, "but 'y_train'; .* name the array with labels="),
        ({"X": np.eye(2), "Y": 0.5 * np.eye(2), "label_names": np.array(["A", "B"])}, "Y of .* expected labels as"),
        ({"X": np.eye(2), "Y": np.zeros((2, 1, 1))}, "Y of .* one or two dimensions"),
        ({"X": np.eye(2), "y": np.array([0, 2]), "label_names": np.array(["A", "B"])}, "2 label_names for 3"),
        ({"X": np.eye(2), "y": np.array([0, -1]), "label_names": np.array(["A", "B"])}, "begin at 0"),
        (parts(Y_data=np.array([1, 2, 1])), "Y_data of .* a 0 or a 1"),
        (parts(Y_indptr=np.array([0, 3])), "labels of 1 documents; the matrix has 2 rows"),
        (parts(X_indices=np.array([0, 2, 9])), "inconsistent"),
    ],
)
def test_what_does_not_fit_is_an_error(tmp_path: Path, arrays: dict, message: str) -> None:
    np.savez(tmp_path / "d.npz", **arrays)
    with pytest.raises(DataError, match=message):
        read_dataset(tmp_path / "d.npz")


def test_a_truncated_archive_is_an_error(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", **parts())
    whole = (tmp_path / "d.npz").read_bytes()
    (tmp_path / "d.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"d\.npz"):
        read_dataset(tmp_path / "d.npz")


def test_a_single_array_is_not_an_archive(tmp_path: Path) -> None:
    np.save(tmp_path / "d.npy", np.eye(2))
    with pytest.raises(DataError, match=r"d\.npy is a single array"):
        read_dataset(tmp_path / "d.npy", "npz")
