"""Distances against brute force over ancestor sets and networkx."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from linnaeus import Taxonomy
from linnaeus.errors import TaxonomyError
from linnaeus.taxonomy.distance import lowest_common_ancestors, path_length
from tests.strategies import taxonomies


def upward(tax: Taxonomy) -> nx.DiGraph:
    """Child -> parent, with an unwritten root above a forest."""
    graph = tax.to_networkx().reverse()
    if tax.root is None:
        graph.add_edges_from((name, "virtual") for name in tax.names if not len(tax.parents(name)))
    return graph


def all_pairs(tax: Taxonomy) -> tuple[list[str], list[str]]:
    a, b = zip(*itertools.product(tax.names, repeat=2), strict=True)
    return list(a), list(b)


@given(taxonomies(max_nodes=8))
@settings(max_examples=100)
def test_path_length_is_the_shortest_way_up_and_down(tax: Taxonomy) -> None:
    away = dict(nx.all_pairs_shortest_path_length(upward(tax)))
    a, b = all_pairs(tax)
    expected = [min(away[x][v] + away[y][v] for v in away[x] if v in away[y]) for x, y in zip(a, b, strict=True)]
    assert path_length(tax, a, b).tolist() == expected


@given(taxonomies(max_nodes=8))
@settings(max_examples=100)
def test_lowest_common_ancestors_are_those_with_no_other_below(tax: Taxonomy) -> None:
    graph = upward(tax)
    reach = {v: nx.descendants(graph, v) | {v} for v in graph}
    a, b = all_pairs(tax)
    for x, y, found in zip(a, b, lowest_common_ancestors(tax, a, b), strict=True):
        common = reach[x] & reach[y]
        lowest = {v for v in common if not any(v in reach[w] for w in common - {v})} - {"virtual"}
        if tax.kind == "tree":
            assert ({tax.names[found]} if found >= 0 else set()) == lowest
        else:
            assert set(tax.names[found]) == lowest


def test_single_nodes_give_single_answers(abc: Taxonomy, diamond: Taxonomy) -> None:
    assert abc.names[abc.lca("AA", "AB")] == "A"
    assert abc.path_length("AA", "BB") == 4
    assert diamond.names[diamond.lca("C", "D")].tolist() == ["B"]
    assert diamond.path_length("A", "D") == 3


def test_one_node_against_many(abc: Taxonomy) -> None:
    assert abc.path_length("AA", abc.names).tolist() == [2, 1, 3, 0, 2, 4, 4]
    assert abc.path_length(np.array([3]), np.arange(7)).tolist() == [2, 1, 3, 0, 2, 4, 4]


def test_a_forest_is_connected_through_its_unwritten_root() -> None:
    forest = Taxonomy.from_paths([["A", "AA"], ["B"]])
    assert forest.path_length("AA", "B") == 3
    assert forest.lca("AA", "B") == -1


def test_in_a_graph_the_path_follows_the_edges() -> None:
    graph = Taxonomy.from_edges([("a", "b"), ("b", "c"), ("x", "y")], kind="graph")
    assert path_length(graph, ["a", "a", "a"], ["c", "a", "x"]).tolist() == [2, 0, -1]


def test_unknown_nodes_are_named(abc: Taxonomy) -> None:
    with pytest.raises(TaxonomyError, match="did you mean 'AA'"):
        path_length(abc, "AAA", "A")
    with pytest.raises(TaxonomyError, match="Node number 7 is not in"):
        path_length(abc, np.array([7]), np.array([0]))


def test_no_pairs_give_no_answers(diamond: Taxonomy) -> None:
    nothing = np.array([], dtype=int)
    assert path_length(diamond, nothing, nothing).tolist() == []
    assert lowest_common_ancestors(diamond, nothing, nothing) == []
