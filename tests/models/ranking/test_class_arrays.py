"""What kernels know of classes says what attributes and costs say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.losses.cost import PairCost, pair_cost
from linnaeus.models.ranking.attributes import class_attributes
from linnaeus.models.ranking.solver import class_arrays
from tests.kernels.twins.ranking import _Classes
from tests.strategies import taxonomies


@settings(max_examples=60)
@given(taxonomies(), st.sampled_from(["half", "distance", "normalised", "zero_one", "subscription"]))
def test_costs_made_row_by_row_are_the_costs(tax, cost) -> None:
    classes = np.arange(tax.n_nodes)
    more = {"volumes": np.arange(tax.n_nodes) + 1.0, "c_minus": 3.0} if cost == "subscription" else {}
    D = pair_cost(tax, classes, cost, **more)
    laid = class_arrays(class_attributes(tax, classes), D)
    np.testing.assert_allclose(_Classes(laid.arrays, laid.n_nodes).D, D.dense(), atol=1e-12)


def test_misses_and_alarms_that_are_no_multiples_of_each_other_become_a_matrix() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB")])
    classes = tax.leaves
    plain = pair_cost(tax, classes)
    odd = PairCost(plain.pattern, plain.miss * np.array([1, 2, 3, 4]), plain.extra, plain.scale)
    laid = class_arrays(class_attributes(tax, classes), odd)
    np.testing.assert_allclose(_Classes(laid.arrays, laid.n_nodes).D, odd.dense())


@settings(max_examples=60)
@given(taxonomies())
def test_renaming_nodes_leaves_products_of_classes_alone(tax) -> None:
    A = class_attributes(tax, np.arange(tax.n_nodes), "perclass")
    laid = class_arrays(A, pair_cost(tax, np.arange(tax.n_nodes)))
    np.testing.assert_allclose((laid.attributes @ laid.attributes.T).toarray(), (A @ A.T).toarray(), atol=1e-12)


def test_nodes_of_a_path_are_neighbours() -> None:
    edges = [("R", f"{a}") for a in "abcdef"] + [(a, f"{a}{k}") for a in "abcdef" for k in range(4)]
    tax = Taxonomy.from_edges(edges)
    laid = class_arrays(class_attributes(tax, tax.leaves, "one"), pair_cost(tax, tax.leaves))
    rows = np.split(laid.attributes.indices, laid.attributes.indptr[1:-1])
    assert max(np.ptp(row) for row in rows) == 4


@pytest.mark.parametrize("n_classes", [1, 2])
def test_one_class_is_legal(n_classes) -> None:
    tax = Taxonomy.flat("ab"[:n_classes])
    laid = class_arrays(class_attributes(tax, np.arange(n_classes)), pair_cost(tax, np.arange(n_classes)))
    assert laid.n_classes == n_classes
