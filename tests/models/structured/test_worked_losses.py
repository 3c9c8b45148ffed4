"""Losses of edges and the dynamic programme against the worked numbers and against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy, metrics
from linnaeus.decoding import Threshold, max_edge_labelling
from linnaeus.losses import cost as costs
from linnaeus.models.structured.tree import cost_weights, edge_losses, make_layout
from tests.models.structured import oracles
from tests.models.structured.oracles import TREE_A, Case, taxonomy_of

ROWS = np.array([[0, 0, 0, 0], [1, 9, -2, 3], [0, 2, 5, -1], [2, -3, 1, 4]], dtype=float)


@pytest.mark.parametrize(
    ("consistent", "value", "y"), [(False, 15, (0, 1, 1, 1)), (True, 12, (1, 1, 0, 1))], ids=["all", "consistent"]
)
def test_the_programme_has_the_worked_answers(consistent, value, y) -> None:
    labels, scores = max_edge_labelling(ROWS[None], taxonomy_of(TREE_A), consistent=consistent)
    assert scores.tolist() == [value]
    assert tuple(labels[0].astype(int)) == y


def test_repairing_the_best_labelling_is_not_the_best_consistent_one() -> None:
    tax = taxonomy_of(TREE_A)
    labels, _ = max_edge_labelling(ROWS[None], tax, consistent=False)
    repaired = Threshold(repair="suppress", at_least_one=False)(labels.astype(float) - 0.5, tax)
    assert tax.labels(repaired) == [[]]  # which scores 3, not 12
    assert sum(ROWS[v, 0] for v in (1, 2, 3)) == 3


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 6), st.booleans(), st.sampled_from(["symmetric", "hierarchical"]))
def test_losses_of_edges_are_those_of_the_definition(seed, n, above_root, cost) -> None:
    rng = np.random.default_rng(seed)
    parents = sorted([-1, *(int(rng.integers(0, v)) for v in range(1, n))])
    tax = taxonomy_of(parents)
    layout = make_layout(tax, np.arange(n), "super" if above_root else "paper")
    c = rng.random(n)
    case = Case(parents, np.eye(1), [(0,) * n], cost, above_root=above_root, c=c)
    found, expected = edge_losses(layout, c[layout.nodes], cost), oracles.edge_losses(case)[layout.nodes]
    np.testing.assert_allclose(found[1:], expected[1:], atol=1e-12)
    np.testing.assert_allclose(found[0, 2:, 2:], expected[0, 2:, 2:], atol=1e-12)  # above the top the label is 1


@pytest.mark.parametrize("scaling", costs.SCALINGS)
def test_weights_of_a_single_tree_are_those_of_the_tree_alone(scaling) -> None:
    for parents in (oracles.TREE_A, oracles.TREE_B):
        np.testing.assert_allclose(
            cost_weights(taxonomy_of(parents), scaling), oracles.weights_of_nodes(parents, scaling)
        )


def test_measures_of_the_worked_answers() -> None:
    tax = Taxonomy.from_edges([("n0", "n1"), ("n0", "n2"), ("n1", "n3")], root=None)
    gold = tax.indicator([["n0", "n1", "n3"], ["n0", "n2"]])
    found = tax.indicator([["n0", "n1", "n2"], ["n0"]])
    assert float(metrics.micro_precision(gold, found)) == 0.75
    assert float(metrics.micro_recall(gold, found)) == 0.6
    assert float(metrics.micro_f1(gold, found)) == pytest.approx(2 / 3)
    assert costs.symmetric_difference(gold, found).mean() == 1.5
    for scaling, expected in (("uniform", 1.5), ("sibling", 0.75), ("subtree", 0.375)):
        c = oracles.weights_of_nodes(TREE_A, scaling)
        assert costs.h_tilde_loss(gold, found, tax, c).mean() == expected
