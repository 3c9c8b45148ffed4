from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linnaeus import Taxonomy
from linnaeus.errors import ParameterError
from linnaeus.losses import cost
from tests.strategies import label_sets, taxonomies


def by_definition(tax, y, u, c, above):
    """Sum of c_j over nodes where y and u differ and agree everywhere in above(j)."""
    return sum(c[j] for j in range(tax.n_nodes) if (j in y) != (j in u) and all((a in y) == (a in u) for a in above(j)))


@st.composite
def two_sides(draw, closed=False):
    """A taxonomy and two lists of label sets, as sets of node numbers and as rows."""
    tax = draw(taxonomies())
    gold = draw(label_sets(tax))
    predicted = [draw(label_sets(tax, max_docs=1))[0] for _ in gold]
    rows = [tax.indicator(side) for side in (gold, predicted)]
    if closed:
        rows = [tax.close(Y, keep_root=False) for Y in rows]
    sets = [[set(Y.indices[a:b].tolist()) for a, b in zip(Y.indptr[:-1], Y.indptr[1:], strict=True)] for Y in rows]
    return tax, *rows, *sets


@given(two_sides(), st.sampled_from(cost.SCALINGS))
@settings(max_examples=150)
def test_h_losses_are_their_definition_for_any_sets(given_, scaling):
    tax, Y, H, gold, predicted = given_
    c = cost.node_weights(tax, scaling)
    pairs = list(zip(gold, predicted, strict=True))

    def proper_ancestors(j):
        return [a for a in tax.ancestors(j, include_self=False) if a != tax.root]

    def parents(j):
        return [p for p in tax.parents(j) if p != tax.root]

    expected = [by_definition(tax, y, u, c, proper_ancestors) for y, u in pairs]
    assert cost.h_loss(Y, H, tax, scaling) == pytest.approx(expected)
    expected = [by_definition(tax, y, u, c, parents) for y, u in pairs]
    assert cost.h_tilde_loss(Y, H, tax, c) == pytest.approx(expected)


@given(two_sides(closed=True))
@settings(max_examples=100)
def test_h_loss_and_h_tilde_loss_agree_on_closed_sets(given_):
    tax, Y, H, _, _ = given_
    h = cost.h_loss(Y, H, tax)
    assert h == pytest.approx(cost.h_tilde_loss(Y, H, tax))
    assert h == pytest.approx(cost.h_loss(Y, H, tax, closed=True))
    assert (h <= cost.symmetric_difference(Y, H)).all()


def test_h_loss_and_h_tilde_loss_differ_on_a_chain_with_a_gap():
    tax = Taxonomy.from_paths([["a", "b", "c"]])
    Y, H = tax.indicator([[]]), tax.indicator([["a", "c"]])
    assert cost.h_loss(Y, H, tax).tolist() == [1]
    assert cost.h_tilde_loss(Y, H, tax).tolist() == [2]


@given(two_sides())
@settings(max_examples=80)
def test_additive_costs_are_sums_over_nodes(given_):
    tax, Y, H, gold, predicted = given_
    a, b = np.arange(1.0, tax.n_nodes + 1), np.arange(tax.n_nodes) * 0.5
    expected = [sum(a[j] for j in u - y) + sum(b[j] for j in y - u) for y, u in zip(gold, predicted, strict=True)]
    assert cost.AdditiveCost(a, b)(Y, H) == pytest.approx(expected)
    sizes = [len(y ^ u) for y, u in zip(gold, predicted, strict=True)]
    assert cost.symmetric_difference(Y, H).tolist() == sizes
    assert cost.symmetric_difference(Y, H, np.full(tax.n_nodes, 2.0)).tolist() == [2 * n for n in sizes]


def test_signing_up_costs_by_volume():
    price = cost.subscription(np.array([10.0, 2.0]), c_plus=1.0, c_minus=3.0)
    Y, H = sparse.csr_array([[1, 0], [0, 1]]), sparse.csr_array([[0, 1], [0, 1]])
    assert price(Y, H).tolist() == [32.0, 0.0]


def test_worked_weights(abc, diamond):
    names = {name: i for i, name in enumerate(abc.names)}
    sibling, subtree = cost.node_weights(abc, "sibling"), cost.node_weights(abc, "subtree")
    assert (sibling[names["R"]], sibling[names["A"]], sibling[names["AA"]]) == (1, 0.5, 0.25)
    assert (subtree[names["R"]], subtree[names["A"]], subtree[names["AA"]]) == pytest.approx((1, 3 / 7, 1 / 7))
    # C is one of one below A and one of two below B: the mean of 0.5 and 0.25
    assert cost.node_weights(diamond, "sibling")[diamond.index("C")] == 0.375
    assert cost.node_weights(diamond, "subtree")[diamond.index("B")] == pytest.approx(3 / 5)


@given(taxonomies(rooted=False))
@settings(max_examples=60)
def test_a_forest_has_the_weights_of_the_same_tree_with_a_root(forest):
    child = np.repeat(np.arange(forest.n_nodes), np.diff(forest.parent_indptr))
    edges = [(forest.names[p], forest.names[c]) for p, c in zip(forest.parent_indices, child, strict=True)]
    edges += [("top", forest.names[v]) for v in forest.tops]
    rooted = Taxonomy.from_edges(edges, root="top", kind=forest.kind)
    for scaling in cost.SCALINGS:
        ours, theirs = cost.node_weights(forest, scaling), cost.node_weights(rooted, scaling)
        assert {n: ours[i] for i, n in enumerate(forest.names)} == pytest.approx(
            {n: theirs[i] for i, n in enumerate(rooted.names) if n != "top"}
        )


@given(taxonomies())
@settings(max_examples=80)
def test_distances_are_differences_of_ancestors(tax):
    n = tax.n_nodes
    a, b = (grid.ravel() for grid in np.meshgrid(np.arange(n), np.arange(n)))
    above = [set(tax.ancestors(v).tolist()) - {tax.root} for v in range(n)]
    expected = [len(above[i] ^ above[j]) for i, j in zip(a, b, strict=True)]
    found = cost.tree_distance_cost(tax, a, b)
    assert found.tolist() == expected
    assert cost.half(found).tolist() == [d / 2 for d in expected]
    share = cost.normalised(tax, a, b)
    assert ((share >= 0) & (share <= 1)).all()
    shares = [
        (len(above[i] - above[j]) / max(len(above[i]), 1) + len(above[j] - above[i]) / max(len(above[j]), 1)) / 2
        for i, j in zip(a, b, strict=True)
    ]
    assert share == pytest.approx(shares)


def test_worked_distances(abc):
    a, b = np.array([abc.index("BA")]), np.array([abc.index("BB")])
    assert cost.tree_distance_cost(abc, a, b).tolist() == [2]
    assert cost.half(cost.tree_distance_cost(abc, a, b)).tolist() == [1]
    assert cost.normalised(abc, a, b).tolist() == [0.5]


@given(two_sides(closed=True))
@settings(max_examples=80)
def test_the_set_cost_is_at_most_the_sum_over_missed_and_added_pairs(given_):
    # for labels (the most specific ones) of which neither set contains the other
    tax, Y, H, _, _ = given_
    frontiers = [tax.labels(tax.frontier(Z)) for Z in (Y, H)]
    for y, u, whole in zip(*frontiers, cost.symmetric_difference(Y, H), strict=True):
        missed, added = set(y) - set(u), set(u) - set(y)
        if missed and added:
            pairs = [(tax.index(m), tax.index(w)) for m in missed for w in added]
            distances = cost.tree_distance_cost(tax, *(np.array(side) for side in zip(*pairs, strict=True)))
            assert whole <= distances.sum()


def test_membership():
    Y = sparse.csr_array([[0, 1, 1], [0, 0, 0]])
    found = cost.holds(Y, np.array([0, 0, 1, 0]), np.array([0, 2, 1, -1]))
    assert found.tolist() == [False, True, False, False]
    assert cost.holds(Y[1:], np.array([0]), np.array([0])).tolist() == [False]


def test_wrong_scaling_is_named(abc):
    with pytest.raises(ParameterError, match="did you mean 'subtree'"):
        cost.node_weights(abc, "subtre")
