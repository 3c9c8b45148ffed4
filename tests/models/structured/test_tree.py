from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.errors import DataError, TaxonomyError
from linnaeus.losses.cost import h_tilde_loss, symmetric_difference
from linnaeus.models.structured.tree import cost_weights, edge_losses, make_layout, true_edges
from tests.strategies import label_sets, taxonomies


@settings(max_examples=60)
@given(taxonomies(kinds=("tree",), max_nodes=9))
def test_subtrees_are_consecutive(tax) -> None:
    nodes = np.array([v for v in range(tax.n_nodes) if v != tax.root])
    layout = make_layout(tax, nodes, "super")
    assert sorted(layout.nodes.tolist()) == nodes.tolist()
    for v in range(layout.n):
        below = set(layout.nodes[v : v + layout.size[v]].tolist())
        assert below == set(tax.descendants(int(layout.nodes[v])).tolist())


@settings(max_examples=60)
@given(st.data())
def test_edge_losses_sum_to_the_losses_of_label_sets(data) -> None:
    tax = data.draw(taxonomies(kinds=("tree",), max_nodes=7))
    nodes = np.array([v for v in range(tax.n_nodes) if v != tax.root])
    layout = make_layout(tax, nodes, "super")
    Y = tax.close(tax.indicator(data.draw(label_sets(tax, 3))), keep_root=False)
    H = tax.close(tax.indicator(data.draw(label_sets(tax, 1))), keep_root=False)[np.zeros(Y.shape[0], int)]
    weights = cost_weights(tax, data.draw(st.sampled_from(["uniform", "sibling", "subtree"])))
    t, u = true_edges(Y, layout, tax.root), true_edges(H, layout, tax.root)
    for cost, expected in (
        ("symmetric", symmetric_difference(Y, H, weights)),
        ("hierarchical", h_tilde_loss(Y, H, tax, weights)),
    ):
        loss = edge_losses(layout, weights[layout.nodes], cost)
        np.testing.assert_allclose(loss[np.arange(layout.n), t, u].sum(axis=1), expected, atol=1e-12)


def test_a_free_root_is_scored_and_paid_for_by_the_edges_below() -> None:
    tax = Taxonomy.from_edges([("A", "B"), ("A", "C")], root=None)
    layout = make_layout(tax, np.arange(3), "paper")
    assert layout.tied.tolist() == [0, 1, 1]
    loss = edge_losses(layout, np.ones(3), "hierarchical")
    assert not loss[0].any()
    assert loss[1, 3, 0] + loss[2, 2, 0] == 1.0  # A was on and is off: each edge pays half


def test_the_root_of_a_taxonomy_is_on_in_every_document() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B")])
    layout = make_layout(tax, np.array([1, 2]), "paper")
    assert true_edges(tax.indicator([[], ["B"]]), layout, tax.root).tolist() == [[3, 2, 2], [3, 2, 3]]


def test_deep_chains_need_no_recursion() -> None:
    tax = Taxonomy.from_edges([(f"n{i}", f"n{i + 1}") for i in range(3000)], root=None)
    assert make_layout(tax, np.arange(tax.n_nodes), "paper").size[0] == 3001


def test_what_cannot_be_laid_out_is_refused(diamond) -> None:
    forest = Taxonomy.from_paths([["A"], ["B"]])
    with pytest.raises(TaxonomyError, match="one node above all others.*root='super'"):
        make_layout(forest, np.arange(2), "paper")
    with pytest.raises(TaxonomyError, match="one node above all others"):
        make_layout(Taxonomy.flat(["A"]), np.arange(1), "paper")
    with pytest.raises(TaxonomyError, match="several parents"):
        make_layout(diamond, np.arange(1, 5), "super")
    with pytest.raises(DataError, match="ancestors"):
        make_layout(Taxonomy.from_paths([["A", "B"]]), np.array([1]), "super")
