"""Rows as bare arrays against lists of lists."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus.taxonomy.closure import pointers, row_numbers, select


@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=4), max_size=5))
@settings(max_examples=100)
def test_rows_are_counted_numbered_and_filtered_as_lists_are(rows: list[list[tuple[int, bool]]]) -> None:
    indptr = pointers(np.array([len(row) for row in rows], dtype=np.int64))
    entries = [entry for row in rows for entry in row]
    indices, keep = np.array([v for v, _ in entries], dtype=np.int32), np.array([k for _, k in entries], dtype=bool)
    assert row_numbers(indptr).tolist() == [r for r, row in enumerate(rows) for _ in row]
    left, kept = select(indptr, indices, keep)
    assert [kept[a:b].tolist() for a, b in pairwise(left)] == [[v for v, k in row if k] for row in rows]
