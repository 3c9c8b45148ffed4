"""The taxonomy object: numbering, structure, identity, and that it cannot be changed."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.base import clone

from linnaeus import Taxonomy
from linnaeus.errors import TaxonomyError, UnknownLabelError
from tests.strategies import taxonomies


@given(taxonomies(max_nodes=10))
@settings(max_examples=100)
def test_parents_come_before_children_and_levels_are_consecutive(tax: Taxonomy) -> None:
    for v in range(tax.n_nodes):
        assert all(p < v for p in tax.parents(v))
        assert all(v in tax.parents(c) for c in tax.children(v))
    assert (np.diff(tax.depth) >= 0).all()
    assert sum(map(len, tax.levels)) == tax.n_nodes


@given(taxonomies(max_nodes=10))
@settings(max_examples=100)
def test_depth_is_the_longest_path_with_tops_at_one(tax: Taxonomy) -> None:
    for v in range(tax.n_nodes):
        above = [tax.depth[p] for p in tax.parents(v)]
        assert tax.depth[v] == (max(above) + 1 if above else int(v != tax.root))


@given(taxonomies(max_nodes=10))
@settings(max_examples=100)
def test_ancestors_and_descendants_are_each_others_inverse(tax: Taxonomy) -> None:
    above = {v: set(tax.ancestors(v).tolist()) for v in range(tax.n_nodes)}
    for v in range(tax.n_nodes):
        assert v in above[v]
        assert set(tax.descendants(v).tolist()) == {w for w in above if v in above[w]} | (
            set(above) if v == tax.root else set()
        )
        assert v not in tax.ancestors(v, include_self=False)
        assert v not in tax.descendants(v, include_self=False)


def test_ancestors_leave_out_the_root(abc: Taxonomy) -> None:
    assert abc.names[abc.ancestors("AB")].tolist() == ["A", "AB"]
    assert abc.names[abc.ancestors("R")].tolist() == ["R"]


@given(taxonomies(max_nodes=10))
@settings(max_examples=60)
def test_edges_are_parents_and_children_child_by_child(tax: Taxonomy) -> None:
    pairs = zip(*(nodes.tolist() for nodes in tax.edges), strict=True)
    assert list(pairs) == [(p, v) for v in range(tax.n_nodes) for p in tax.parents(v)]


@given(taxonomies(max_nodes=10))
@settings(max_examples=60)
def test_a_path_goes_down_first_parents_from_a_top(tax: Taxonomy) -> None:
    for v in range(tax.n_nodes):
        path = tax.path(v).tolist()
        assert path[-1] == v
        assert tax.parent[path[0]] in (-1, tax.root)
        assert tax.parent[path[1:]].tolist() == path[:-1]
        assert tax.root not in path or path == [tax.root]


def test_leaves_tops_and_parent(abc: Taxonomy) -> None:
    assert abc.names[abc.leaves].tolist() == ["AA", "AB", "BA", "BB"]
    assert abc.names[abc.tops].tolist() == ["A", "B"]
    assert abc.parent.tolist() == [-1, 0, 0, 1, 1, 2, 2]
    assert (abc.n_edges, len(abc), "A" in abc, "C" in abc) == (6, 7, True, False)


def test_a_graph_has_neighbours_and_no_levels() -> None:
    graph = Taxonomy.from_edges([("a", "b"), ("c", "b")], kind="graph")
    assert graph.names[graph.parents("b")].tolist() == graph.names[graph.children("b")].tolist() == ["a", "c"]
    assert graph.n_edges == 2
    assert graph.is_leaf.all()
    assert graph.ancestors("b").tolist() == [graph.index("b")]


def test_names_and_numbers_are_looked_up_and_unknown_ones_refused(abc: Taxonomy) -> None:
    assert abc.index("AB") == abc.index(4) == abc.index(np.int64(4)) == 4
    with pytest.raises(TaxonomyError, match="'ABB' is not a node of the taxonomy; did you mean 'BB'"):
        abc.index("ABB")
    with pytest.raises(TaxonomyError, match=r"Node number 7 is not in 0\.\.6"):
        abc.index(7)
    with pytest.raises(TaxonomyError, match="Node number -1"):
        abc.index(-1)


def test_display_is_the_label_or_else_the_name() -> None:
    tax = Taxonomy.from_edges([("R", "A")], display_labels={"A": "first"})
    assert (tax.display("A"), tax.display("R")) == ("first", "R")


def test_a_taxonomy_cannot_be_changed(abc: Taxonomy) -> None:
    with pytest.raises(AttributeError, match="frozen"):
        abc.root = 3  # type: ignore[misc]
    for array in (abc.names, abc.parent_indices, abc.child_indices, abc.depth, abc.is_leaf):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]


def test_the_arrays_of_the_caller_stay_theirs() -> None:
    indptr, indices = np.array([0, 0, 1]), np.array([0], dtype=np.int32)
    tax = Taxonomy(["A", "B"], indptr, indices)
    indptr[2], indices[0] = 0, 1
    assert tax.parents("B").tolist() == [0]
    again = Taxonomy(tax.names, tax.parent_indptr, tax.parent_indices)
    assert again == tax
    assert again.parent_indices is tax.parent_indices  # read-only already: no copy


def test_copies_and_clones_are_the_same_object(abc: Taxonomy) -> None:
    assert copy.deepcopy(abc) is copy.copy(abc) is clone(abc) is abc


@given(taxonomies())
@settings(max_examples=50)
def test_pickles_are_equal(tax: Taxonomy) -> None:
    back = pickle.loads(pickle.dumps(tax))
    assert back == tax
    assert hash(back) == hash(tax)
    assert back.root == tax.root


def test_names_edges_root_and_kind_make_the_identity_but_labels_do_not() -> None:
    edges = [("R", "A"), ("R", "B")]
    tax = Taxonomy.from_edges(edges)
    assert tax == Taxonomy.from_edges(edges, display_labels={"A": "first"})
    assert tax != Taxonomy.from_edges(edges, root=None)
    assert tax != Taxonomy.from_edges(edges, kind="dag")
    assert tax != Taxonomy.from_edges([("R", "A"), ("R", "C")])
    assert tax != Taxonomy.from_edges([("R", "A"), ("A", "B")])
    assert tax != "R"


def test_line_breaks_in_names_do_not_blur_the_identity() -> None:
    assert Taxonomy.flat(["a\nb", "c"]) != Taxonomy.flat(["a", "b\nc"])


def test_a_display_label_given_as_a_name_is_told_its_node() -> None:
    shown = {"x:1": "Music", "x:2": "Opera", "x:3": "Opera"}
    tax = Taxonomy.from_edges([("x:1", "x:2"), ("x:1", "x:3")], display_labels=shown)
    with pytest.raises(
        TaxonomyError, match="'Music' is not a node of the taxonomy; it is the display label of node 'x:1'"
    ):
        tax.index("Music")
    with pytest.raises(UnknownLabelError, match="it is the display label of 2 nodes, 'x:2' and others"):
        tax.indicator([["Opera"]])
    assert tax.displayed_as("Opera").tolist() == [1, 2]
    assert tax.displayed_as("x:1").tolist() == []


def test_all_ways_down_to_a_node_are_found() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "C"), ("B", "C"), ("C", "D"), ("B", "D")])
    names = [tax.names[path].tolist() for path in tax.paths("D")]
    assert sorted(names) == [["A", "C", "D"], ["B", "C", "D"], ["B", "D"]]
    assert len(tax.paths("D", most=2)) == 2
    assert [tax.names[path].tolist() for path in tax.paths("R")] == [["R"]]
    for node in tax.names:
        assert any(path.tolist() == tax.path(node).tolist() for path in tax.paths(node))
