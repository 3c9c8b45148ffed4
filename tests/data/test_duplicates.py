"""Exact duplicates, whatever the kind of document."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linnaeus.data import Dataset, drop_duplicates, drop_overlap
from linnaeus.data.splits import first_occurrence, share_seen, sketch
from linnaeus.errors import ParameterError


@settings(max_examples=60)
@given(st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), min_size=1, max_size=12), st.booleans())
def test_rows_are_compared_by_value(rows: list[list[int]], dense: bool) -> None:
    X = np.array(rows, dtype=np.float32)
    found = first_occurrence(Dataset(X=X if dense else sparse.csr_array(X)))
    assert found.tolist() == [rows.index(row) for row in rows]


def test_stored_zeros_unsorted_columns_and_missing_values_make_no_difference() -> None:
    one = sparse.csr_array((np.array([1.0, 2.0, 0.0]), np.array([0, 2, 1]), np.array([0, 3])), shape=(1, 3))
    two = sparse.csr_array((np.array([2.0, 1.0]), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    assert first_occurrence(Dataset(X=sparse.csr_array(sparse.vstack([one, two])))).tolist() == [0, 0]
    assert len(drop_overlap(Dataset(X=one), Dataset(X=two))) == 0
    assert first_occurrence(Dataset(X=np.array([[np.nan, 0.0], [np.nan, -0.0]]))).tolist() == [0, 0]


@pytest.mark.parametrize("matrix", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtypes", [("f4", "f8"), ("f8", "f4"), ("f4", "f4")])
def test_equal_rows_are_found_in_any_precision(matrix: object, dtypes: tuple[str, str]) -> None:
    rows = np.array([[0.1, 0, 1e300], [0.5, 0, 2]])
    with np.errstate(over="ignore"):
        one, two = (Dataset(X=matrix(rows.astype(dtype))) for dtype in dtypes)
    assert len(drop_overlap(one, two)) == 0
    whole = Dataset(X=matrix(np.array([[1, 0], [0, 2]])))
    assert len(drop_overlap(whole, Dataset(X=matrix(np.array([[0, 2.0], [0, 2.5]], dtype="f4"))))) == 1


def test_rows_that_differ_in_double_precision_only_are_different_in_it() -> None:
    assert first_occurrence(Dataset(X=np.array([[0.1], [0.1 + 1e-12]]))).tolist() == [0, 1]


def test_the_order_of_the_fields_does_not_matter() -> None:
    one = Dataset(fields={"title": ["a goal"], "body": ["x"]})
    assert len(drop_overlap(one, Dataset(fields={"body": ["x"], "title": ["A goal"]}))) == 0
    assert len(drop_overlap(one, Dataset(fields={"title": ["x"], "body": ["a goal"]}))) == 1


def test_texts_are_equal_up_to_case_and_white_space_in_all_fields() -> None:
    data = Dataset(fields={"title": ["A  Goal", "a goal", "a goal"], "body": ["x", "X\n", "y"]})
    assert first_occurrence(data).tolist() == [0, 0, 2]
    shifted = Dataset(fields={"title": ["a b", "a"], "body": ["c", "b c"]})
    assert first_occurrence(shifted).tolist() == [0, 1]
    assert first_occurrence(Dataset(sequences=["AC", "ac", "AC"])).tolist() == [0, 1, 0]


def test_the_first_is_kept_and_labels_are_merged_if_asked() -> None:
    data = Dataset(sequences=["A", "C", "A"], labels=[["x"], ["y"], ["z", "x"]], ids=["1", "2", "3"])
    assert drop_duplicates(data).labels == [["x"], ["y"]]
    merged = drop_duplicates(data, labels="merge")
    assert (merged.labels, merged.ids) == ([["x", "z"], ["y"]], ["1", "2"])
    assert data.labels == [["x"], ["y"], ["z", "x"]]
    with pytest.raises(ParameterError, match="'first' or 'merge'"):
        drop_duplicates(data, labels="all")


def test_test_documents_seen_in_training_are_dropped() -> None:
    train, test = Dataset(sequences=["A", "C"]), Dataset(sequences=["G", "A", "G"])
    assert drop_overlap(train, test).sequences == ["G", "G"]


def test_the_share_of_seen_documents_is_estimated_for_documents_that_repeat() -> None:
    train = Dataset(fields={"text": [f"title {i % 500}" for i in range(5000)]})  # 500 different ones
    new = Dataset(fields={"text": [f"title {i % 1000}" for i in range(4000)]})
    assert abs(share_seen(new, sketch(train)) - 0.5) < 0.15
