"""Compiled walks over a DAG answer as their readable twins do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus._kernels import graph
from tests.kernels.twins import graph as reference

Arrays = tuple[np.ndarray, np.ndarray]


def csr(rows: list[list[int]]) -> Arrays:
    indptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return indptr, np.array([v for row in rows for v in row], dtype=np.int32)


@st.composite
def dags(draw: st.DrawFn, max_nodes: int = 12) -> list[list[int]]:
    """Parents of every node; parents have smaller numbers."""
    n = draw(st.integers(1, max_nodes))
    return [sorted(draw(st.sets(st.integers(0, v - 1), max_size=3))) if v else [] for v in range(n)]


@st.composite
def sets_over(draw: st.DrawFn, n: int) -> list[list[int]]:
    return draw(st.lists(st.lists(st.integers(0, n - 1), unique=True), max_size=5))


@given(st.data())
@settings(max_examples=150)
def test_upward_closure(data: st.DataObject) -> None:
    parents = data.draw(dags())
    sets = csr(data.draw(sets_over(len(parents))))
    barrier = data.draw(st.integers(-1, len(parents) - 1))
    fast = graph.upward_closure(*sets, *csr(parents), barrier)
    slow = reference.upward_closure(*sets, *csr(parents), barrier)
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


@given(st.data())
@settings(max_examples=150)
def test_covered_members(data: st.DataObject) -> None:
    parents = data.draw(dags())
    sets = csr(data.draw(sets_over(len(parents))))
    np.testing.assert_array_equal(
        graph.covered_members(*sets, *csr(parents)), reference.covered_members(*sets, *csr(parents))
    )


@given(st.lists(st.sets(st.integers(0, 9), max_size=4), min_size=10, max_size=10))
@settings(max_examples=150)
def test_topological_depth_with_cycles_too(children: list[set[int]]) -> None:
    indptr, indices = csr([sorted(row) for row in children])
    n_parents = np.bincount(indices, minlength=10).astype(np.int32)
    np.testing.assert_array_equal(
        graph.topological_depth(indptr, indices, n_parents), reference.topological_depth(indptr, indices, n_parents)
    )


@pytest.mark.parametrize("length", [63, 64, 65, 200])
def test_long_rows_are_sorted_too(length: int) -> None:
    rng = np.random.default_rng(length)
    parents = csr([[], *([int(rng.integers(v))] for v in range(1, 400))])
    sets = csr([rng.permutation(400)[:length].tolist() for _ in range(3)])
    fast = graph.upward_closure(*sets, *parents, -1)
    slow = reference.upward_closure(*sets, *parents, -1)
    np.testing.assert_array_equal(fast[0], slow[0])
    np.testing.assert_array_equal(fast[1], slow[1])


def test_one_node_and_no_sets() -> None:
    lone = csr([[]])
    assert [array.tolist() for array in graph.upward_closure(*csr([]), *lone, -1)] == [[0], []]
    assert [array.tolist() for array in graph.upward_closure(*csr([[], [0]]), *lone, -1)] == [[0, 0, 1], [0]]
    assert graph.covered_members(*csr([[0]]), *lone).tolist() == [0]
    assert graph.topological_depth(*lone, np.zeros(1, np.int32)).tolist() == [0]


def test_a_wrong_type_is_refused() -> None:
    indptr, indices = csr([[], [0]])
    with pytest.raises(ValueError, match="dtype mismatch"):
        graph.upward_closure(indptr, indices.astype(np.int64), indptr, indices, -1)
