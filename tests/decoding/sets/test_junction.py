from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus.decoding.sets.junction import junction_tree
from linnaeus.errors import DataError, TaxonomyError
from tests.decoding.oracles import exact_scores


@st.composite
def graphs(draw: st.DrawFn, most: int = 6) -> tuple[int, list[int], list[int]]:
    """A graph of several components, some nodes with a pair of their own with the label that is always 1."""
    n = draw(st.integers(1, most))
    every = [(a, b) for a in range(-1, n) for b in range(n) if a != b]
    pairs = draw(st.lists(st.sampled_from(every), unique_by=frozenset, max_size=9))
    return n, [a for a, _ in pairs], [b for _, b in pairs]


def every_score(n: int, first: list[int], second: list[int], G: np.ndarray) -> dict[tuple[int, ...], float]:
    found = {}
    for y in product([0, 1], repeat=n):
        labels = [2 * (1 if a < 0 else y[a]) + y[b] for a, b in zip(first, second, strict=True)]
        found[y] = float(sum(G[e, u] for e, u in enumerate(labels)))
    return found


@settings(max_examples=120)
@given(st.data())
def test_labellings_and_max_marginals_are_the_best_of_all(data: st.DataObject) -> None:
    n, first, second = data.draw(graphs())
    G = data.draw(exact_scores(4 * len(first)))
    G = G.reshape(len(G), len(first), 4)
    if data.draw(st.booleans()) and G.size:
        G[:, 0, 1] = -np.inf
    tree = junction_tree(n, first, second)
    labels, scores = tree.best(G)
    marginals = tree.max_marginals(G)
    for d in range(len(G)):
        everything = every_score(n, first, second, G[d])
        assert scores[d] == max(everything.values())
        assert everything[tuple(labels[d].astype(int).tolist())] == scores[d]
        for v, b in product(range(n), (0, 1)):
            assert marginals[d, v, b] == max(score for y, score in everything.items() if y[v] == b)


def test_widths_of_trees_cycles_grids_and_cliques() -> None:
    assert junction_tree(5, [0, 0, 1, 1], [1, 2, 3, 4]).width == 1
    assert junction_tree(6, range(6), [1, 2, 3, 4, 5, 0]).width == 2
    grid = [(3 * r + c, 3 * r + c + 1) for r in range(3) for c in range(2)]
    grid += [(3 * r + c, 3 * r + c + 3) for r in range(2) for c in range(3)]
    assert junction_tree(9, *zip(*grid, strict=True)).width == 3
    assert junction_tree(5, *np.triu_indices(5, 1)).width == 4
    assert junction_tree(1, [], []).width == 0


def test_a_triangle_cannot_have_three_pairs_that_differ() -> None:
    # half-half marginals on every edge look consistent, and a linear programme over edges alone would promise 3
    G = np.tile([0.0, 1.0, 1.0, 0.0], (1, 3, 1))
    assert junction_tree(3, [0, 1, 2], [1, 2, 0]).best(G)[1].tolist() == [2.0]


def test_a_tie_prefers_nothing() -> None:
    labels, scores = junction_tree(4, [0, 1, 2, 3], [1, 2, 3, 0]).best(np.zeros((2, 4, 4)))
    assert not labels.any()
    assert not scores.any()


def test_a_wide_graph_is_refused_with_its_width() -> None:
    with pytest.raises(TaxonomyError, match="width 24.*at most width 20"):
        junction_tree(25, *np.triu_indices(25, 1))


def test_scores_of_a_wrong_shape_are_refused() -> None:
    with pytest.raises(DataError, match=r"shape \(2, 3\), expected \(n_docs, 1, 4\)"):
        junction_tree(2, [0], [1]).best(np.zeros((2, 3)))


def test_a_long_chain_is_no_trouble() -> None:
    n = 3000
    tree = junction_tree(n, range(n - 1), range(1, n))
    assert tree.width == 1
    assert tree.best(np.tile([0.0, 0.0, 0.0, 1.0], (1, n - 1, 1)))[1].tolist() == [n - 1.0]
