"""The border of matrices: every kind is converted to the same numbers, or refused with a reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linnaeus import OneVsRestSVM, Pipeline
from linnaeus.data.matrices import LARGEST, as_csr, as_matrix, is_sound_csr
from linnaeus.errors import DataError
from tests.fuzz.estimator_cases import HOSTILE, SPARSE

X = sparse.csr_array(np.array([[1, 0, 2, 0], [0, 0, 0, 0], [3, 4, 0, 0], [0, 1, 0, 2]], dtype=np.float32))


@pytest.mark.parametrize("kind", SPARSE)
def test_every_sparse_kind_becomes_the_same_csr(kind: str) -> None:
    given = SPARSE[kind](X.copy())
    before = None if given.dtype in (np.float16, object) or not given.dtype.isnative else given.toarray()
    made = as_csr(given)
    assert is_sound_csr(made)
    assert made.toarray().tolist() == X.toarray().tolist()
    if before is not None:
        assert given.toarray().tolist() == before.tolist()  # what was given stays as it was


def test_a_matrix_that_needs_no_conversion_is_not_copied() -> None:
    assert as_csr(X) is X
    shared = as_csr(sparse.csr_matrix(X))
    assert isinstance(shared, sparse.csr_array)
    assert np.shares_memory(shared.data, sparse.csr_matrix(X, copy=False).data) or shared.data.dtype == np.float32


@pytest.mark.parametrize(
    "kind", [k for k in HOSTILE if k.split()[0] in ("indptr", "indices", "data", "csc", "bsr", "coo")]
)
def test_a_damaged_sparse_matrix_is_refused_or_harmless(kind: str) -> None:
    for seed in range(8):
        damaged = HOSTILE[kind](X, np.random.default_rng(seed))
        try:
            made = as_csr(damaged)
        except DataError:
            continue
        assert is_sound_csr(made)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(-2, 9), min_size=0, max_size=6),
    st.lists(st.integers(-2, 6), min_size=0, max_size=8),
    st.integers(0, 8),
)
def test_a_structure_is_accepted_exactly_if_it_can_be_followed(indptr: list[int], indices: list[int], n: int) -> None:
    made = X.copy()
    made.indptr, made.indices = np.array(indptr, dtype=np.int32), np.array(indices, dtype=np.int32)
    made.data = np.ones(n, dtype=np.float32)
    ends = [0, *indptr[1:]]
    legal = (
        len(indptr) == 5
        and indptr[0] == 0
        and ends == sorted(ends)
        and indptr[-1] <= min(len(indices), n)
        and all(0 <= i < 4 for i in indices[: indptr[-1]])
    )
    try:
        as_csr(made)
    except DataError:
        assert not legal
    else:
        assert legal


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "contains NaN"),
        (-np.inf, "contains infinity"),
        (1e300, "infinity, or a value too large"),
        (1e9, "up to 1e"),
    ],
)
def test_values_that_cannot_be_computed_with_are_refused_with_their_place(value: float, message: str) -> None:
    wrong = X.astype(np.float64)
    wrong.data[2] = value
    with pytest.raises(DataError, match=rf"{message}.*\(document 2, feature 0\)|\(document 2, feature 0\).*{message}"):
        as_csr(wrong)


def test_limits_leave_room_for_fourth_powers() -> None:
    for dtype, limit in LARGEST.items():
        assert 1e6 * limit**4 < np.finfo(dtype).max


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["some text", "more"], "X holds text"),
        (("some text", "more"), "X holds text"),
        (pd.Series(["some text", "more"], index=[7, 8]), "X holds text"),
        (np.array(["some text", "more"]), "X holds text"),
        (np.array([["some text"], ["more"]], dtype=object), "X holds text"),
        (pd.DataFrame({"size": [1, 2], "body": ["some text", "more"]}), "Column 'body' of X holds text"),
        ([{"text": "a"}, {"text": "b"}], "X holds records"),
    ],
)
def test_text_is_refused_with_the_way_to_features_and_without_the_document(given: Any, message: str) -> None:
    for model in (OneVsRestSVM(), Pipeline(OneVsRestSVM())):
        with pytest.raises(DataError, match=rf"{message}.*TextFeatures\(\)") as error:
            model.fit(given, ["a", "b"])
        assert len(str(error.value)) < 200


def test_a_long_text_is_not_quoted_as_a_whole() -> None:
    with pytest.raises(DataError) as error:
        OneVsRestSVM().fit(["word " * 1000, "more"], ["a", "b"])
    assert len(str(error.value)) < 200


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((row for row in [[1.0]]), "X is a generator"),
        ({"a": [1.0]}, "X is a dict"),
        (np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]]), "1 masked values"),
        (sparse.coo_array(np.ones(3)), r"1 dimension\(s\)"),
        (sparse.csr_array((2, 2**40)), "columns; at most"),
        (X * 1j, "Complex data not supported"),
        ([], "no documents"),
        (np.zeros((0, 4)), "no documents"),
    ],
)
def test_what_is_no_matrix_is_refused(given: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        as_matrix(given)


def test_no_documents_are_refused_by_every_method_in_the_same_way() -> None:
    model = OneVsRestSVM(random_state=0).fit(X, ["a", "b", "a", "b"])
    for nothing in ([], (), np.zeros((0, 4)), X[:0], pd.DataFrame(np.zeros((0, 4)))):
        for method in (model.predict, model.decision_function, model.top, model.score_blocks, model.answers):
            with pytest.raises(DataError, match="X has no documents; expected at least one row"):
                method(nothing)


def test_dates_are_not_numbers() -> None:
    dates = np.array([["2026-01-01"], ["2026-01-02"]], dtype="datetime64[D]")
    for X in (dates, dates - dates[0]):
        with pytest.raises(DataError, match="X holds dates"):
            as_matrix(X)
