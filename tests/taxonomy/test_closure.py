"""Label sets: closure, frontier and names against sets of Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linnaeus import Taxonomy
from linnaeus.errors import DataError, ParameterError, UnknownLabelError
from linnaeus.taxonomy import closure
from tests.strategies import label_sets, taxonomies


def above(tax: Taxonomy, name: str) -> set[str]:
    """The node and everything above it but the root, by recursion."""
    found = {name}
    for p in tax.parents(name):
        if p != tax.root:
            found |= above(tax, tax.names[p])
    return found


@given(st.data())
@settings(max_examples=100)
def test_closing_adds_all_ancestors_but_the_root(data: st.DataObject) -> None:
    tax = data.draw(taxonomies())
    labels = data.draw(label_sets(tax))
    closed = tax.close(tax.indicator(labels))
    expected = [set().union(*(above(tax, label) for label in given)) for given in labels]
    assert [set(row) for row in tax.labels(closed)] == expected
    assert closure.is_closed(tax, closed)
    assert (tax.close(closed) != closed).nnz == 0


@given(st.data())
@settings(max_examples=100)
def test_the_root_is_dropped_on_request(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(rooted=True))
    labels = data.draw(label_sets(tax))
    root = None if tax.root is None else tax.names[tax.root]
    expected = [set().union(*(above(tax, label) for label in given if label != root)) for given in labels]
    assert [set(row) for row in tax.labels(tax.close(tax.indicator(labels), keep_root=False))] == expected


@given(st.data())
@settings(max_examples=100)
def test_the_frontier_keeps_what_is_above_no_other_label(data: st.DataObject) -> None:
    tax = data.draw(taxonomies())
    labels = data.draw(label_sets(tax))
    root = None if tax.root is None else tax.names[tax.root]

    def covered(label: str, given: list[str]) -> bool:
        others = [other for other in given if other != label]
        return any(label in above(tax, other) for other in others) or (label == root and bool(others))

    expected = [{label for label in given if not covered(label, given)} for given in labels]
    assert [set(row) for row in tax.labels(tax.frontier(tax.indicator(labels)))] == expected


@given(st.data())
@settings(max_examples=60)
def test_frontier_and_closure_undo_each_other(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(rooted=False))
    closed = tax.close(tax.indicator(data.draw(label_sets(tax))))
    assert (tax.close(tax.frontier(closed)) != closed).nnz == 0


@given(st.data())
@settings(max_examples=60)
def test_names_to_rows_and_back(data: st.DataObject) -> None:
    tax = data.draw(taxonomies())
    labels = data.draw(label_sets(tax))
    Y = tax.indicator(labels)
    assert Y.shape == (len(labels), tax.n_nodes)
    assert Y.dtype == np.int8
    assert [set(row) for row in tax.labels(Y)] == [set(given) for given in labels]


def test_the_ancestor_matrix_holds_the_ancestors_of_every_node(diamond: Taxonomy) -> None:
    A = diamond.ancestor_matrix
    assert [diamond.names[A.indices[A.indptr[v] : A.indptr[v + 1]]].tolist() for v in range(5)] == [
        ["R"],
        ["A"],
        ["B"],
        ["A", "B", "C"],
        ["B", "D"],
    ]


def test_stored_zeros_and_unsorted_rows_mean_what_they_say_and_stay_untouched(abc: Taxonomy) -> None:
    Y = sparse.csr_array((np.array([1, 0, 1]), np.array([6, 5, 3]), np.array([0, 3])), shape=(1, 7))
    before = Y.data.copy(), Y.indices.copy()
    assert tuple(abc.labels(abc.close(Y))[0]) == ("A", "B", "AA", "BB")
    assert (Y.data == before[0]).all()
    assert (Y.indices == before[1]).all()
    assert abc.labels(abc.close(np.eye(7)[[3]])) == [["A", "AA"]]


def test_single_labels_and_repeated_labels_are_accepted(abc: Taxonomy) -> None:
    assert abc.labels(abc.indicator(["AA", "B"])) == [["AA"], ["B"]]
    assert abc.indicator([["AA", "AA"]]).sum() == 1


def test_unknown_labels_are_named_or_dropped(abc: Taxonomy) -> None:
    with pytest.raises(
        UnknownLabelError, match=r"Label 'AAA' \(document 1\) is not in the taxonomy; did you mean 'AA'"
    ):
        abc.indicator([["AA"], ["AAA"]])
    assert abc.labels(abc.indicator([["AA"], ["AAA", "B"]], unknown="drop")) == [["AA"], ["B"]]


def test_what_to_do_with_unknown_labels_is_error_drop_or_replace(abc: Taxonomy) -> None:
    with pytest.raises(ParameterError, match="unknown='eror' is not one of 'error', 'drop', 'replace'; did you mean"):
        abc.indicator([["AAA"]], unknown="eror")


@pytest.mark.parametrize("n_columns", [3, 8, 5_000_000])
def test_rows_over_other_columns_than_the_nodes_are_refused(abc: Taxonomy, n_columns: int) -> None:
    Y = sparse.csr_array((np.ones(1), ([0], [n_columns - 1])), shape=(1, n_columns))
    for ask in (abc.close, abc.frontier, abc.labels, lambda Y: closure.is_closed(abc, Y)):
        with pytest.raises(DataError, match=f"got {n_columns} columns, expected 7 nodes"):
            ask(Y)
    with pytest.raises(DataError, match="expected 2: documents x nodes"):
        abc.close(np.ones(7))


@given(taxonomies())
@settings(max_examples=60)
def test_parent_sets_are_the_parents_without_the_root(tax: Taxonomy) -> None:
    for keep_root in (False, True):
        indptr, indices = closure.parent_sets(tax, keep_root=keep_root)
        for v in range(tax.n_nodes):
            expected = [p for p in tax.parents(v) if keep_root or p != tax.root]
            assert indices[indptr[v] : indptr[v + 1]].tolist() == expected


def test_a_graph_closes_nothing() -> None:
    graph = Taxonomy.from_edges([("a", "b")], kind="graph")
    Y = graph.indicator([["a"], ["a", "b"]])
    assert (graph.close(Y) != Y).nnz == 0
    assert (graph.frontier(Y) != Y).nnz == 0
    assert [array.tolist() for array in closure.parent_sets(graph)] == [[0, 0, 0], []]
