"""Local search, its repairs, and exact search, on a small tree and against enumeration."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.decoding.sets.search import ExactSearch, LocalSearch, path_scores

TREE = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"], ["B", "BB"]])
S = np.array([[-0.5, 0.3, 1.0, -0.2, -0.4, -0.1]])  # A, B, AA, AB, BA, BB


def found(decoder, scores: np.ndarray = S) -> list[str]:
    return TREE.labels(TREE.frontier(decoder(scores, TREE)))[0]


def test_local_search_cannot_mend_what_it_missed_at_the_top() -> None:
    assert found(LocalSearch()) == ["BB"]
    assert found(ExactSearch()) == ["AA", "BB"]


def test_a_wide_search_is_pruned_by_sums_along_paths() -> None:
    wide = TREE.frontier(LocalSearch(theta=-0.6)(S, TREE))
    assert TREE.labels(wide) == [["AA", "AB", "BA", "BB"]]
    sums = path_scores(S, wide, TREE, np.arange(6))
    assert sums == pytest.approx([1.1086, 0.8277, 0.9758, 1.0495], abs=1e-4)
    np.testing.assert_allclose(path_scores(S, wide, TREE, np.arange(6), "mean"), sums / 2)
    assert found(LocalSearch(theta=-0.6, path_threshold=1.0)) == ["AA", "BB"]
    assert found(LocalSearch(theta=-0.6, path_threshold=9.0)) == ["AA"]  # the best stays
    assert found(LocalSearch(theta=-0.6, r=3)) == ["AA", "BA", "BB"]
    assert found(LocalSearch(r_children=1)) == ["BB"]
    assert found(LocalSearch(r_children=2)) == ["AA", "AB", "BA", "BB"]


@pytest.mark.parametrize("seed", range(30))
def test_exact_search_finds_the_best_of_all_sets_of_leaves(seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(1, 6))
    leaves = np.flatnonzero(TREE.is_leaf).tolist()
    sets = [m for size in range(1, 5) for m in combinations(leaves, size)]

    def score(m: tuple[int, ...]) -> float:
        return float(scores[0, list(set().union(*(set(TREE.ancestors(v).tolist()) for v in m)))].sum())

    assert set(found(ExactSearch(), scores)) == {str(TREE.names[v]) for v in max(sets, key=score)}
