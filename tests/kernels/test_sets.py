"""The compiled programmes over sets, and isotonic regression, do what their readable twins do."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus._kernels import best_changes, best_sets, branching, max_flow, smoothing
from linnaeus.decoding.base import hierarchy, positions
from linnaeus.decoding.sets.best_sets import allowed_children
from tests.decoding.oracles import exact_scores, some_columns
from tests.kernels.twins import sets as reference_sets
from tests.strategies import taxonomies


@st.composite
def problems(draw: st.DrawFn):
    """Scores, positions, children, a table of branching and forced nodes."""
    tax = draw(taxonomies(kinds=("tree",), max_nodes=9))
    columns = np.sort(draw(some_columns(tax)))
    S = draw(exact_scores(len(columns), max_docs=3)).astype(draw(st.sampled_from([np.float32, np.float64])))
    allowed = np.array(draw(st.lists(st.booleans(), min_size=tax.n_nodes, max_size=tax.n_nodes))) | (
        np.arange(tax.n_nodes) % 3 > 0
    )
    if tax.root is not None:
        allowed[tax.root] = False
    width = draw(st.integers(2, 4))
    table = draw(exact_scores(width * (tax.n_nodes + 1), max_docs=1)).reshape(-1, width)
    table[table == 2.0] = -np.inf
    forced = np.zeros(tax.n_nodes + 1, dtype=np.uint8)
    if draw(st.booleans()):
        forced[tax.ancestors(draw(st.integers(0, tax.n_nodes - 1)))] = 1
    E = S[:, ::-1].copy() if draw(st.booleans()) else S[:, :0].copy()
    below = allowed_children(hierarchy(tax), allowed)
    return S, positions(tax, columns), *below, np.ascontiguousarray(table), forced, E


@settings(max_examples=150)
@given(problems())
def test_branching_sets_as_the_twin(problem) -> None:
    (rows, indices, scores), (_, _, expected) = (
        branching.branching_sets(*problem),
        reference_sets.branching_sets(*problem),
    )
    np.testing.assert_allclose(scores, expected)
    assert rows.dtype == np.int64
    assert indices.dtype == np.int32


@settings(max_examples=150)
@given(problems(), st.integers(1, 9), st.booleans())
def test_changed_sets_as_the_twin(problem, K, not_empty) -> None:
    arguments = (*problem[:4], problem[5], not_empty, K)
    (rows, indices, scores), (_, _, expected) = (m.changed_sets(*arguments) for m in (best_changes, reference_sets))
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    for d in range(len(scores)):
        sets = [tuple(indices[a:b]) for a, b in pairwise(rows[d * K : (d + 1) * K + 1])]
        sets = sets[: int((scores[d] > -np.inf).sum())]
        assert len(set(sets)) == len(sets)
        for members, score in zip(sets, scores[d], strict=False):  # each is what its score says
            own = sum(problem[0][d, problem[1][v]] for v in members if problem[1][v] >= 0)
            assert own == pytest.approx(score, abs=1e-9)
            assert members or not not_empty


@settings(max_examples=60)
@given(problems(), st.integers(1, 5), st.integers(1, 3), st.integers(0, 2))
def test_best_sets_as_the_twin(problem, K, J, low) -> None:
    n = len(problem[1])
    least, most = np.zeros(n + 1, dtype=np.int32), np.full(n + 1, J, dtype=np.int32)
    least[n] = min(low, J)
    if J > 1:
        most[: n // 2] = J - 1
    arguments = (*problem, least, most, J, K)
    (rows, indices, scores), (twin_rows, twin_indices, expected) = (
        module.best_sets(*arguments) for module in (best_sets, reference_sets)
    )
    np.testing.assert_allclose(scores, expected)
    one_more = reference_sets.best_sets(*arguments[:-1], K + 1)[2]
    for d in range(len(scores)):
        if len(set(one_more[d].tolist())) == K + 1:  # without ties the sets are the same
            part = slice(d * K, (d + 1) * K + 1)
            assert np.diff(rows[part]).tolist() == np.diff(twin_rows[part]).tolist()
            ours = indices[rows[d * K] : rows[(d + 1) * K]]
            assert ours.tolist() == twin_indices[twin_rows[d * K] : twin_rows[(d + 1) * K]].tolist()


@settings(max_examples=100)
@given(st.data())
def test_isotonic_forest_as_the_twin(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(kinds=("tree",), max_nodes=15))
    X = data.draw(exact_scores(tax.n_nodes, max_docs=3))
    w = np.random.default_rng(data.draw(st.integers(0, 99))).integers(1, 4, size=tax.n_nodes).astype(float)
    arguments = (X, w, hierarchy(tax).parent)
    np.testing.assert_allclose(
        smoothing.isotonic_forest(*arguments), reference_sets.isotonic_forest(*arguments), atol=1e-9
    )


@settings(max_examples=80)
@given(st.data())
def test_closures_within_groups_as_the_twin(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(max_nodes=10))
    S = data.draw(exact_scores(tax.n_nodes, max_docs=3))
    groups = st.lists(st.integers(0, 1), min_size=tax.n_nodes, max_size=tax.n_nodes)
    group = np.array([data.draw(groups) for _ in S], dtype=np.int32)
    edges = hierarchy(tax)
    arguments = (S, group, edges.parent_indptr, edges.parent_indices)
    assert max_flow.closures_within(*arguments).tolist() == reference_sets.closures_within(*arguments).tolist()


def test_wrong_types_are_refused() -> None:
    with pytest.raises((TypeError, ValueError)):
        smoothing.isotonic_forest(np.zeros((1, 2), dtype=int), np.ones(2), np.array([-1, 0], dtype=np.int32))
