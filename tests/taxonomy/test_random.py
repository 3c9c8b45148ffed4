"""Random hierarchies keep the levels, and are drawn uniformly."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.errors import TaxonomyError
from linnaeus.taxonomy.random import occupancy, random_like
from tests.strategies import taxonomies


@settings(max_examples=100)
@given(taxonomies(max_nodes=12), st.integers(0, 5))
def test_level_sizes_kind_and_names_stay(tax: Taxonomy, seed: int) -> None:
    other = tax.random_like(seed)
    assert [len(level) for level in other.levels] == [len(level) for level in tax.levels]
    assert sorted(other.names) == sorted(tax.names)
    assert other.kind == tax.kind
    assert sorted(other.names[other.leaves]) == sorted(tax.names[tax.leaves])
    assert other.n_edges == tax.n_edges


def test_every_way_to_deal_out_children_is_equally_likely() -> None:
    surjections = [f for f in product(range(3), repeat=5) if len(set(f)) == 3]
    tops = [("R", f"p{i}") for i in range(3)]
    tax = Taxonomy.from_edges(tops + [(f"p{min(i, 2)}", f"c{i}") for i in range(5)])
    drawn = 3000
    count = dict.fromkeys(surjections, 0)
    for seed in range(drawn):
        other = random_like(tax, seed)
        count[tuple(int(other.names[other.parent[other.index(f"c{i}")]][1]) for i in range(5))] += 1
    expected = drawn / len(surjections)
    chi_squared = sum((c - expected) ** 2 / expected for c in count.values())
    assert chi_squared / (len(surjections) - 1) < 1.35  # 150 - 1 degrees of freedom: beyond 1.35 once in 1,000 times


def test_the_same_seed_gives_the_same_hierarchy() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B")] + [("A" if i < 3 else "B", f"l{i}") for i in range(9)])
    assert tax.random_like(3) == tax.random_like(3)
    assert any(tax.random_like(3) != tax.random_like(seed) for seed in range(4, 8))


@pytest.mark.parametrize(("children", "parents"), [(5000, 4999), (20_000, 3000), (7, 1)])
def test_large_levels_are_dealt_out_whole(children: int, parents: int) -> None:
    counts = occupancy(children, parents, np.random.default_rng(0))
    assert counts.sum() == children
    assert len(counts) == parents
    assert counts.min() >= 1


def test_a_graph_is_refused() -> None:
    with pytest.raises(TaxonomyError, match="undirected graph"):
        Taxonomy.from_edges([("a", "b")], kind="graph").random_like(0)
