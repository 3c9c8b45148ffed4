from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.decoding import TopScores
from linnaeus.decoding.base import held_out
from linnaeus.decoding.cutoffs.scut import label_cuts, pooled_threshold


def f1(right: float, kept: float, positives: float) -> float:
    return 2 * right / (kept + positives) if kept + positives else 0.0


def all_cuts(scores: np.ndarray) -> list[float]:
    """A threshold in the middle of every gap, decreasing: from keeping nothing to keeping all."""
    values = np.unique(scores)[::-1].tolist()
    middles = [(a + b) / 2 for a, b in pairwise(values)]
    return [values[0], *middles, values[-1] - 1]


def test_the_worked_example() -> None:
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    cuts = label_cuts(scores, np.array([1, 0, 1, 1, 0, 0], dtype=bool), 3)
    assert cuts.theta[cuts.best()] == pytest.approx(0.55)
    assert cuts.f1().max() == pytest.approx(0.8571, abs=1e-4)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=12), st.integers(0, 3))
def test_the_best_cut_is_the_best_of_all_and_the_highest_of_equals(pairs: list, unscored: int) -> None:
    scores = np.array([score for score, _ in pairs]) / 4
    positive = np.array([flag for _, flag in pairs])
    n_positive = int(positive.sum()) + unscored
    values = [(f1((positive & (scores > t)).sum(), (scores > t).sum(), n_positive), t) for t in all_cuts(scores)]
    best = max(value for value, _ in values)
    cuts = label_cuts(scores, positive, n_positive)
    assert cuts.f1()[cuts.best()] == pytest.approx(best)
    assert cuts.theta[cuts.best()] == max(t for value, t in values if value == pytest.approx(best))


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=8),
    st.integers(0, 4),
    st.integers(0, 4),
    st.floats(0, 1),
)
def test_documents_kept_anyway_and_a_price_count(pairs: list, kept: int, right: int, price: float) -> None:
    right = min(right, kept)
    scores = np.array([score for score, _ in pairs]) / 4
    positive = np.array([flag for _, flag in pairs])
    n_positive = int(positive.sum()) + right
    cuts = label_cuts(scores, positive, n_positive, kept=kept, right=right)

    def counts(t: float) -> tuple[int, int]:
        return right + (positive & (scores > t)).sum(), kept + (scores > t).sum()

    best = max(f1(*counts(t), n_positive) for t in all_cuts(scores))
    assert cuts.f1()[cuts.best()] == pytest.approx(best)
    value = max(2 * counts(t)[0] - price * counts(t)[1] for t in all_cuts(scores))
    at = cuts.best(price)
    assert 2 * cuts.right[at] - price * cuts.kept[at] == pytest.approx(value)
    assert counts(cuts.theta[at]) == (cuts.right[at], cuts.kept[at])


def test_neighbouring_numbers_still_have_a_threshold_between_them() -> None:
    low = np.float64(1.0)
    scores = np.array([np.nextafter(low, 2), low])
    cuts = label_cuts(scores, np.array([True, False]), 1)
    assert (scores > cuts.theta[cuts.best()]).tolist() == [True, False]


def test_one_threshold_for_all_labels_pools_them() -> None:
    rng = np.random.default_rng(0)
    Y = rng.random((40, 5)) < 0.3
    S = np.round(Y + rng.normal(size=Y.shape), 1)
    tax = Taxonomy.flat("ABCDE")
    theta = pooled_threshold(held_out(S, Y.astype(int), tax))
    values = {t: f1((Y & (S > t)).sum(), (S > t).sum(), Y.sum()) for t in all_cuts(S)}
    assert values[min(values, key=lambda t: abs(t - theta))] == max(values.values())
    assert pooled_threshold(held_out(TopScores.of(S, 4), Y.astype(int), tax)) == pytest.approx(theta)


def test_labels_without_a_score_do_not_lower_the_threshold() -> None:
    tax = Taxonomy.from_paths([["A", "AA", "AAA"], ["A", "AA", "AAB"]])
    S = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.3], [0.5, 0.4]])
    leaves = [tax.index("AAA"), tax.index("AAB")]
    labels = [["AAA"], ["AAB"], ["AAB"], ["AAA"]]
    bare, closed = (held_out(S, labels, tax, leaves, close=close) for close in (False, True))
    assert closed.gold.nnz == 3 * bare.gold.nnz
    assert pooled_threshold(closed) == pooled_threshold(bare)
