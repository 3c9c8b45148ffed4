from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.decoding import best_sets
from linnaeus.decoding.probability.expected_cost import LeastCost, LeastHLoss, least_risk
from linnaeus.errors import LinnaeusError
from linnaeus.losses.cost import AdditiveCost, h_loss, node_weights
from linnaeus.taxonomy.closure import pattern
from tests.decoding.oracles import closed_sets, rows
from tests.strategies import taxonomies


def joint(tax: Taxonomy, seed: int) -> tuple[list[frozenset[int]], np.ndarray, np.ndarray]:
    """Any distribution over closed sets, and the probabilities of nodes under it."""
    sets = closed_sets(tax)
    pi = np.random.default_rng(seed).dirichlet(np.full(len(sets), 0.3))
    P = np.zeros(tax.n_nodes)
    for members, probability in zip(sets, pi, strict=True):
        P[list(members)] += probability
    return sets, pi, np.clip(P, 0.0, 1.0)


def indicator(tax: Taxonomy, sets: list[frozenset[int]]):
    members = [sorted(s) for s in sets]
    indptr = np.cumsum([0, *map(len, members)])
    return pattern(indptr, np.concatenate([np.empty(0, np.int32), *members]).astype(np.int32), tax.n_nodes)


@settings(max_examples=80)
@given(st.data())
def test_least_cost_is_the_least_expected_cost_under_any_joint_distribution(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(max_nodes=6))
    seed = data.draw(st.integers(0, 10**6))
    sets, pi, P = joint(tax, seed)
    a, b = np.random.default_rng(seed).uniform(0.1, 2.0, size=(2, tax.n_nodes))
    answer = LeastCost(a, b)(P[None], tax)
    truth, cost = indicator(tax, sets), AdditiveCost(a, b)
    risks = [pi @ cost(truth, indicator(tax, [s] * len(sets))) for s in sets]
    assert risks[sets.index(rows(answer)[0])] == pytest.approx(min(risks), abs=1e-9)


@settings(max_examples=80)
@given(st.data())
def test_least_h_loss_on_trees_is_the_least_expected_one(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(max_nodes=6, kinds=("tree",)))
    sets, pi, P = joint(tax, data.draw(st.integers(0, 10**6)))
    scaling = data.draw(st.sampled_from(["uniform", "sibling", "subtree"]))
    answer = LeastHLoss(scaling)(P[None], tax)
    truth, c = indicator(tax, sets), node_weights(tax, scaling)
    risks = [pi @ h_loss(truth, indicator(tax, [s] * len(sets)), tax, c) for s in sets]
    assert risks[sets.index(rows(answer)[0])] == pytest.approx(min(risks), abs=1e-9)


def test_coherent_probabilities_are_cut_at_one_half(abc: Taxonomy) -> None:
    P = [[1.0, 0.7, 0.3, 0.55, 0.2, 0.1, 0.1]]
    assert abc.labels(LeastCost()(P, abc)) == [["A", "AA"]]


def test_scores_are_no_probabilities(abc: Taxonomy) -> None:
    with pytest.raises(LinnaeusError, match=r"Expected probabilities in 0..1, got -1..2"):
        LeastCost()([[-1, 2, 0, 0, 0, 0, 0]], abc)


@pytest.mark.parametrize("measure", ["example_f1", "hierarchical_f1", "jaccard"])
def test_the_least_risk_is_over_the_sets_found(abc: Taxonomy, measure: str) -> None:
    S = np.random.default_rng(0).normal(size=(6, abc.n_nodes))
    found = best_sets(S, abc, k=4)
    sets, value, confidence = least_risk(found, abc, measure, temperature=0.5)
    chosen, all_sets = rows(sets), rows(found.sets)
    for d in range(6):
        assert chosen[d] in all_sets[4 * d : 4 * d + 4]
        weight = np.exp(found.scores[d] / 0.5)
        assert confidence[d] == pytest.approx(weight[0] / weight.sum())
    assert ((value > 0) & (value <= 1)).all()
