from __future__ import annotations

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.decoding import Threshold, TopScores
from linnaeus.decoding.base import held_out
from linnaeus.errors import DataError
from tests.decoding.oracles import rows


@pytest.fixture
def scores() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(9, 6))


def test_the_best_scores_are_the_beginning_of_the_ranking(scores: np.ndarray) -> None:
    top = TopScores.of(scores, 3)
    assert top.positions.tolist() == np.argsort(-scores, axis=1)[:, :3].tolist()
    dense = top.dense()
    kept = np.isfinite(dense)
    assert (kept.sum(axis=1) == 3).all()
    np.testing.assert_array_equal(dense[kept], scores[kept])
    np.testing.assert_array_equal(top.best(2).scores, TopScores.of(scores, 2).scores)


def test_columns_are_the_same_from_all_and_from_the_best_scores(scores: np.ndarray) -> None:
    tax = Taxonomy.flat("ABCDEF")
    labels = [["A"]] * 9
    whole, best = held_out(scores, labels, tax), held_out(TopScores.of(scores, 6), labels, tax)
    for k in range(6):
        for one, other in zip(whole.column(k), best.column(k), strict=True):
            np.testing.assert_array_equal(one, other)
    docs, values = held_out(TopScores.of(scores, 2), labels, tax).column(0)
    assert set(docs) == {d for d in range(9) if 0 in np.argsort(-scores[d])[:2]}
    np.testing.assert_array_equal(values, scores[docs, 0])


def test_columns_may_come_in_any_order(scores: np.ndarray) -> None:
    tax = Taxonomy.flat("ABCDEF")
    columns = np.array([3, 1, 5, 0, 4, 2])
    labels = [["B", "E"]] * 9
    sorted_ = held_out(scores[:, np.argsort(columns)], labels, tax)
    for given in (held_out(scores, labels, tax, columns), held_out(TopScores.of(scores, 6), labels, tax, columns)):
        assert given.columns.tolist() == list(range(6))
        for k in range(6):
            np.testing.assert_array_equal(given.column(k)[1], sorted_.column(k)[1])
        assert rows(given.answers(Threshold())) == rows(sorted_.answers(Threshold()))


def test_gold_is_found_among_the_best(scores: np.ndarray) -> None:
    tax = Taxonomy.flat("ABCDEF")
    Y = np.random.default_rng(1).random((9, 6)) < 0.4
    held = held_out(scores[:, 1:], Y.astype(int), tax, np.arange(1, 6))
    top = held.top(3)
    expected = np.take_along_axis(Y[:, 1:], top.positions.astype(int), axis=1)
    np.testing.assert_array_equal(held.is_gold(top), expected)


def test_closed_answers_never_hold_the_root(abc: Taxonomy) -> None:
    S = np.random.default_rng(0).normal(size=(5, 7))
    for given in (S, TopScores.of(S, 4)):
        held = held_out(given, [["AA"]] * 5, abc, close=True)
        assert abc.labels(held.gold) == [["A", "AA"]] * 5
        assert not any(len(held.column(k)[0]) for k in np.flatnonzero(held.columns == abc.root))
        assert (np.diff(held.top(4).scores, axis=1) <= 0).all()


def test_what_does_not_fit_is_refused(scores: np.ndarray) -> None:
    tax = Taxonomy.flat("ABCDEF")
    with pytest.raises(DataError, match="8 documents.*9 rows"):
        held_out(scores, [["A"]] * 8, tax)
    with pytest.raises(DataError, match="no held-out documents"):
        held_out(np.empty((0, 6)), [], tax)
    with pytest.raises(DataError, match="6 columns, expected 2"):
        held_out(TopScores.of(scores, 3), [["A"]] * 9, tax, [0, 1])
    scores[3, 3] = np.nan
    with pytest.raises(DataError, match="'D' for document 3 is NaN"):
        held_out(scores, [["A"]] * 9, tax)
