"""Agreement beyond chance, against the plain definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.metrics import kappa_by_node, kappa_hierarchical, kappa_nodes

TAX = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"], ["B", "BB"]])
LEAVES = ["AA", "AB", "BA", "BB"]


def closed(labels: list[str]) -> set[int]:
    return {int(v) for label in labels for v in TAX.ancestors(label)}


def drawn(n: int, seed: int) -> tuple[list[list[str]], list[list[str]]]:
    rng = np.random.default_rng(seed)
    first = [[LEAVES[i] for i in np.flatnonzero(rng.random(4) < 0.4)] for _ in range(n)]
    second = [row if rng.random() < 0.6 else [LEAVES[int(rng.integers(4))]] for row in first]
    return first, second


@pytest.mark.parametrize("seed", range(5))
def test_kappas_follow_their_definitions(seed) -> None:
    first, second = drawn(30, seed)
    A, B = [closed(row) for row in first], [closed(row) for row in second]
    nodes = sorted(set().union(*A, *B))
    a, b = (np.array([[v in row for v in nodes] for row in side]).ravel() for side in (A, B))
    observed, chance = (a == b).mean(), a.mean() * b.mean() + (1 - a.mean()) * (1 - b.mean())
    assert kappa_nodes(first, second, TAX) == pytest.approx((observed - chance) / (1 - chance))

    def distance(x: set[int], y: set[int]) -> float:
        return 0.0 if not x and not y else 1 - 2 * len(x & y) / (len(x) + len(y))

    seen = np.mean([distance(x, y) for x, y in zip(A, B, strict=True)])
    expected = np.mean([distance(x, y) for x in A for y in B])
    assert kappa_hierarchical(first, second, TAX) == pytest.approx(1 - seen / expected)


def test_disagreement_within_a_branch_counts_less() -> None:
    gold = ["AA", "AB", "BA", "BB"]
    near, far = ["AA", "AB", "BA", "BA"], ["AA", "AB", "BA", "AA"]
    assert kappa_hierarchical(gold, near, TAX) > kappa_hierarchical(gold, far, TAX)


def test_agreement_without_documents_or_variation_is_undefined() -> None:
    assert math.isnan(kappa_nodes([], [], TAX))
    assert math.isnan(kappa_hierarchical(["AA", "AA"], ["AA", "AA"], TAX))


@pytest.mark.parametrize("seed", range(3))
def test_kappas_of_nodes_are_those_of_the_decisions_on_each_node(seed) -> None:
    first, second = drawn(30, seed)
    A, B = [closed(row) for row in first], [closed(row) for row in second]
    found = kappa_by_node(first, second, TAX)
    assert {one.node for one in found} == {str(TAX.names[v]) for v in set().union(*A, *B)}
    apart = [one.first + one.second for one in found]
    assert apart == sorted(apart, reverse=True)
    for one in found:
        v = TAX.index(one.node)
        a, b = (np.array([v in row for row in side]) for side in (A, B))
        chance = a.mean() * b.mean() + (1 - a.mean()) * (1 - b.mean())
        assert one.kappa == pytest.approx(((a == b).mean() - chance) / (1 - chance))
        assert (one.both, one.first, one.second) == ((a & b).sum(), (a & ~b).sum(), (b & ~a).sum())
