from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.decoding import TopScores
from linnaeus.decoding.base import held_out
from linnaeus.decoding.cutoffs.by_document import best_cuts, score_features


def test_the_worked_example() -> None:
    held = held_out([[0.9, 0.6, 0.5, 0.2]], [["A", "C"]], Taxonomy.flat("ABCD"))
    found = best_cuts(held, "errors")
    assert found.theta.tolist() == pytest.approx([0.35])  # cost 1 on (.2, .5) and on (.6, .9): the lower one
    assert found.size.tolist() == [3]


def intervals(row: np.ndarray) -> list[float]:
    """The middle of every interval between scores, increasing; the ends are the extreme scores -/+ 1."""
    values = np.unique(row)
    return [values[0] - 1, *((values[:-1] + values[1:]) / 2), values[-1] + 1]


documents = st.lists(
    st.tuples(st.lists(st.integers(0, 5), min_size=5, max_size=5), st.lists(st.booleans(), min_size=5, max_size=5)),
    min_size=1,
    max_size=5,
)


@settings(max_examples=200)
@given(documents)
def test_the_threshold_of_fewest_errors_is_the_lowest_of_the_best_intervals(docs: list) -> None:
    S, Y = np.array([s for s, _ in docs]) / 4, np.array([y for _, y in docs])
    found = best_cuts(held_out(S, Y.astype(int), Taxonomy.flat("ABCDE")), "errors")
    for row, gold, theta, size in zip(S, Y, found.theta, found.size, strict=True):
        costs = {t: (gold & (row <= t)).sum() + (~gold & (row >= t)).sum() for t in intervals(row)}
        expected = min(t for t, cost in costs.items() if cost == min(costs.values()))
        assert theta == pytest.approx(expected)
        assert size == (row > theta).sum()


@settings(max_examples=200)
@given(documents)
def test_the_threshold_of_best_f1_keeps_the_fewest_labels_of_the_best(docs: list) -> None:
    S, Y = np.array([s for s, _ in docs]) / 4, np.array([y for _, y in docs])
    found = best_cuts(held_out(S, Y.astype(int), Taxonomy.flat("ABCDE")), "f1")
    for row, gold, theta, size in zip(S, Y, found.theta, found.size, strict=True):
        if not gold.any():
            assert theta == row.max() + 1
            continue
        values = {t: 2 * (gold & (row > t)).sum() / ((row > t).sum() + gold.sum()) for t in intervals(row)[:-1]}
        assert theta == pytest.approx(max(t for t, value in values.items() if value == max(values.values())))
        assert size == (row > theta).sum()


@pytest.mark.parametrize("criterion", ["errors", "f1"])
def test_the_best_scores_are_enough(criterion: str) -> None:
    rng = np.random.default_rng(0)
    Y = rng.random((50, 30)) < 0.1
    Y[:, 0] = True
    S = 3.0 * Y + rng.normal(size=Y.shape)
    tax = Taxonomy.flat(range(30))
    whole, best = (best_cuts(held_out(s, Y.astype(int), tax), criterion) for s in (S, TopScores.of(S, 20)))
    np.testing.assert_array_equal(whole.size, best.size)
    np.testing.assert_array_equal(whole.theta, best.theta)


def test_features_are_scores_in_order_gaps_mean_and_deviation() -> None:
    rng = np.random.default_rng(0)
    S = rng.normal(size=(20, 6))
    F = score_features(S, 4)
    ordered = -np.sort(-S, axis=1)[:, :4]
    np.testing.assert_allclose(F[:, :4], ordered)
    np.testing.assert_allclose(F[:, 4:7], -np.diff(ordered, axis=1))
    np.testing.assert_allclose(F[:, 7:], np.stack([ordered.mean(axis=1), ordered.std(axis=1)], axis=1))
    np.testing.assert_array_equal(F, score_features(TopScores.of(S, 5), 4))
    np.testing.assert_array_equal(F, score_features(rng.permuted(S, axis=1), 4))  # which label it is does not matter


def test_missing_scores_repeat_the_last_one() -> None:
    F = score_features(np.array([[1.0, -np.inf, 3.0], [-np.inf, -np.inf, -np.inf]]), 4)
    assert F[0, :4].tolist() == [3.0, 1.0, 1.0, 1.0]
    assert np.isfinite(F).all()
