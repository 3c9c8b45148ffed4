"""Taxonomies from distances: the worked examples, and scipy's inconsistency coefficients and flat clusters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, inconsistent
from scipy.spatial.distance import pdist, squareform

from linnaeus.errors import DataError, ParameterError
from linnaeus.taxonomy.learn import Dendrogram, distances_of, join, tree_of


def line(*points: float) -> Dendrogram:
    p = np.array(points)
    return join(abs(p[:, None] - p), [f"{x:g}" for x in points])


def test_the_worked_examples() -> None:
    first = line(0, 1, 4, 4.5, 9, 9.6, 20)
    np.testing.assert_allclose(first.links[:, 2], [0.5, 0.6, 1, 3.75, 6.925, 15.316667], atol=1e-6)
    np.testing.assert_allclose(first.inconsistency, [0, 0, 0, 1.142857, 1.001315, 0.707107], atol=1e-6)
    assert first.threshold == pytest.approx(0.950426, abs=1e-6)
    assert first.cut.tolist() == [False, False, False, True, True, True]  # the last one because it is above a cut
    assert [group.tolist() for group in first.clusters] == [[0, 1], [2, 3], [4, 5], [6]]
    second = line(0, 1, 2.2, 10, 11.1, 12.5, 40, 43)
    np.testing.assert_allclose(second.inconsistency, [0, 0, 0.707107, 0.707107, 0, 1.154309, 1.129019], atol=1e-6)
    assert second.threshold == pytest.approx(0.924385, abs=1e-6)
    assert [group.tolist() for group in second.clusters] == [[0, 1, 2], [3, 4, 5], [6, 7]]


def test_equal_inconsistencies_are_not_cut_by_rounding() -> None:
    assert len(line(*(1.6**k for k in range(5))).clusters) == 1


@settings(max_examples=150)
@given(st.integers(2, 25), st.integers(1, 4), st.integers(0, 10**6), st.sampled_from(["average", "complete", "ward"]))
def test_inconsistency_and_clusters_are_those_of_scipy(n: int, d: int, seed: int, linkage: str) -> None:
    points = np.random.default_rng(seed).normal(size=(n, d)) ** 3
    found = join(squareform(pdist(points)), [str(i) for i in range(n)], linkage)
    np.testing.assert_allclose(found.inconsistency, inconsistent(found.links, 2)[:, 3], atol=1e-9)
    if np.isfinite(found.threshold):
        flat = fcluster(found.links, found.threshold + 1e-12, "inconsistent", depth=2)
        expected = sorted(np.flatnonzero(flat == c).tolist() for c in np.unique(flat))
        assert [group.tolist() for group in found.clusters] == expected


@settings(max_examples=50)
@given(st.integers(1, 12), st.integers(0, 10**6))
def test_distances_come_from_inner_products(n: int, seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(n, 3))
    np.testing.assert_allclose(
        distances_of(points @ points.T), squareform(pdist(points)) if n > 1 else [[0]], atol=1e-6
    )


def test_the_tree_has_all_classes_at_one_depth_and_readable_nodes() -> None:
    points = np.array([0, 1, 4, 4.5, 9, 9.6, 20])[:, None] + 1
    tax, dendrogram = tree_of(points @ points.T, list("abcdefg"))
    assert tax.names[tax.levels[1]].tolist() == ["a + b", "c + d", "e + f", "g (alone)"]
    assert set(tax.depth[tax.leaves]) == {2}
    assert [tax.names[tax.children(v)].tolist() for v in tax.levels[1]] == [["a", "b"], ["c", "d"], ["e", "f"], ["g"]]
    assert len(dendrogram.clusters) == 4


def test_names_that_exist_are_not_taken_twice() -> None:
    points = np.array([0, 1, 40, 41, 90.0, 91])[:, None] + 1
    tax, _ = tree_of(points @ points.T, ["a", "b", "a + b", "root", "c", "d"])
    assert tax.names[tax.root] == "root (2)"
    assert "a + b (2)" in tax.names


def test_more_levels_are_nested_and_end_where_the_data_end() -> None:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, 1, 1, 8)) * 40 + rng.normal(size=(1, 3, 1, 8)) * 8 + rng.normal(size=(3, 3, 4, 8))
    points = centres.reshape(-1, 8)
    names = [f"{i:02d}" for i in range(len(points))]
    two, _ = tree_of(points @ points.T, names)
    more, _ = tree_of(points @ points.T, names, levels=None, branching=3)
    assert int(two.depth.max()) == 2
    assert int(more.depth.max()) > 2
    assert set(two.names[two.levels[1]]) == set(more.names[more.levels[-2]])
    assert len(set(more.depth[more.leaves].tolist())) == 1
    flat, _ = tree_of(points @ points.T, names, levels=1)
    assert int(flat.depth.max()) == 1


@pytest.mark.parametrize("n", [1, 2])
def test_few_classes_make_a_flat_tree(n: int) -> None:
    tax, _ = tree_of(np.eye(n), [f"c{i}" for i in range(n)])
    assert int(tax.depth.max()) == 1
    assert sorted(tax.names[tax.leaves]) == [f"c{i}" for i in range(n)]


def test_what_cannot_be_done_is_said() -> None:
    with pytest.raises(ParameterError, match="linkage='averge'.*did you mean 'average'"):
        join(np.zeros((2, 2)), ["a", "b"], "averge")
    with pytest.raises(DataError, match="20,001 classes"):
        join(np.zeros((1, 1)), [""] * 20_001)
