"""networkx graphs in and out."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, settings

from linnaeus import Taxonomy
from linnaeus.errors import TaxonomyError
from tests.strategies import taxonomies


@given(taxonomies())
@settings(max_examples=60)
def test_any_taxonomy_comes_back_equal(taxonomy: Taxonomy) -> None:
    graph = taxonomy.to_networkx()
    assert graph.number_of_edges() == taxonomy.n_edges
    assert Taxonomy.from_networkx(graph) == taxonomy


def test_an_undirected_graph_is_a_graph_and_comes_back_equal() -> None:
    tax = Taxonomy.from_networkx(nx.cycle_graph(4))
    assert (tax.kind, tax.n_nodes, tax.n_edges) == ("graph", 4, 4)
    assert Taxonomy.from_networkx(tax.to_networkx()) == tax


def test_labels_are_kept() -> None:
    graph = nx.DiGraph([("R", "A")])
    graph.nodes["A"]["label"] = "first"
    tax = Taxonomy.from_networkx(graph)
    assert tax.display("A") == "first"
    assert tax.to_networkx().nodes["A"]["label"] == "first"


def test_cycles_loops_and_names_that_fall_together_are_refused() -> None:
    with pytest.raises(TaxonomyError, match="cycle"):
        Taxonomy.from_networkx(nx.DiGraph([("A", "B"), ("B", "A")]))
    with pytest.raises(TaxonomyError, match="its own parent"):
        Taxonomy.from_networkx(nx.DiGraph([("A", "A")]))
    with pytest.raises(TaxonomyError, match="have the name '1'"):
        Taxonomy.from_networkx(nx.DiGraph([(1, "1")]))
