"""Costs of pairs of classes, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.errors import ParameterError
from linnaeus.losses.cost import pair_cost
from linnaeus.taxonomy.terminals import terminals
from tests.strategies import taxonomies


def four() -> tuple[Taxonomy, np.ndarray]:
    """A DAG with four classes at the ends; the second has two parents, the fourth hangs on the root."""
    edges = [("R", "A"), ("R", "B"), ("A", "c1"), ("A", "c2"), ("B", "c2"), ("B", "c3"), ("R", "c4")]
    tax = Taxonomy.from_edges(edges)
    return tax, np.array([tax.index(f"c{i}") for i in range(1, 5)])


def test_half_and_normalised_distances_of_the_worked_example() -> None:
    half = [[0, 1.5, 2, 1.5], [1.5, 0, 1.5, 2], [2, 1.5, 0, 1.5], [1.5, 2, 1.5, 0]]
    assert pair_cost(*four()).dense().tolist() == half
    part = 7 / 12
    normalised = [[0, part, 1, 1], [part, 0, part, 1], [1, part, 0, 1], [1, 1, 1, 0]]
    np.testing.assert_allclose(pair_cost(*four(), "normalised").dense(), normalised)


@settings(max_examples=80)
@given(taxonomies(max_nodes=7), st.data())
def test_costs_are_sums_over_the_places_that_differ(tax: Taxonomy, data: st.DataObject) -> None:
    classes = np.array(sorted(data.draw(st.sets(st.integers(0, tax.n_nodes - 1), min_size=1))))
    volumes = np.array(data.draw(st.lists(st.integers(0, 5), min_size=tax.n_nodes, max_size=tax.n_nodes)), float)
    found = terminals(tax, classes)
    places = [set(row.indices.tolist()) for row in found.pattern]

    def volume(nodes: set[int]) -> float:
        return sum(volumes[found.nodes[p]] for p in nodes)

    costs = {name: pair_cost(tax, classes, name).dense() for name in ("half", "distance", "normalised", "zero_one")}
    signed = pair_cost(tax, classes, "subscription", volumes=volumes, c_minus=3.0, c_plus=2.0).dense()
    for y, a in enumerate(places):
        for z, b in enumerate(places):
            assert costs["distance"][y, z] == len(a ^ b) == 2 * costs["half"][y, z]
            expected = 0.5 * (len(a - b) / len(a) + len(b - a) / len(b))
            assert costs["normalised"][y, z] == pytest.approx(expected)
            assert costs["zero_one"][y, z] == (y != z)
            assert signed[y, z] == pytest.approx(3 * volume(a - b) + 2 * volume(b - a))


def test_a_matrix_of_the_user_is_taken_for_the_classes() -> None:
    tax, classes = four()
    D = np.arange(49.0).reshape(7, 7)
    np.fill_diagonal(D, 0)
    assert pair_cost(tax, classes, D).row(1).tolist() == D[classes[1], classes].tolist()


def test_wrong_costs_are_refused() -> None:
    tax, classes = four()
    with pytest.raises(ParameterError, match="cost='halve'.*did you mean 'half'"):
        pair_cost(tax, classes, "halve")
    with pytest.raises(ParameterError, match="expected 7 x 7"):
        pair_cost(tax, classes, np.zeros((4, 4)))
    with pytest.raises(ParameterError, match="zeros on its diagonal"):
        pair_cost(tax, classes, np.ones((7, 7)))
    with pytest.raises(ParameterError, match="one per node"):
        pair_cost(tax, classes, "subscription", volumes=[1.0])
    with pytest.raises(ParameterError, match="cost is a list"):
        pair_cost(tax, classes, [1])
