"""Counts of pieces are those of a search by hand, whole or with gaps, numbered exactly or hashed."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus.engine import ThreadEngine
from linnaeus.errors import ParameterError
from linnaeus.features import string_kernel as module
from linnaeus.features.sequences import encode
from linnaeus.features.string_kernel import PieceMap


def by_hand(text: str, length: int, max_gap: int, decay: float) -> Counter[str]:
    found: Counter[str] = Counter()
    for places in combinations(range(len(text)), length):
        gap = places[-1] - places[0] + 1 - length
        if gap <= max_gap:
            found["".join(text[i] for i in places)] += decay**gap
    return found


texts = st.lists(st.text("abc", max_size=7), min_size=1, max_size=4)
maps = {
    "p": st.integers(1, 4),
    "q": st.integers(1, 4),
    "max_gap": st.integers(0, 3),
    "decay": st.sampled_from([0.25, 0.5, 1.0]),
}


def check(texts: list[str], p: int, q: int, max_gap: int, decay: float) -> None:
    lengths = tuple(range(min(p, q), p + 1))
    weights = tuple(float(length) for length in lengths)
    pieces = PieceMap(lengths, weights, max_gap, decay)
    A = encode(texts)
    vocabulary = pieces.learn(A)
    X = pieces.features(A, vocabulary).toarray()
    expected = [by_hand(text, length, max_gap, decay) for text in texts for length in lengths]
    squares = np.zeros(len(texts))
    for i in range(len(texts)):
        for k, weight in enumerate(weights):
            counts = expected[i * len(lengths) + k]
            squares[i] += weight * sum(value**2 for value in counts.values())
            row = X[i, sum(map(len, vocabulary.numbers[:k])) :][: len(vocabulary.numbers[k])]
            np.testing.assert_allclose(
                sorted(row[row != 0]), sorted(np.sqrt(weight) * v for v in counts.values()), rtol=1e-12
            )
    np.testing.assert_allclose(pieces.squared_norms(A), squares, rtol=1e-12)


@settings(max_examples=100)
@given(texts=texts, **maps)
def test_counts_are_those_of_a_search(texts, p, q, max_gap, decay) -> None:
    check(texts, p, q, max_gap, decay)


@settings(max_examples=40)
@given(texts=texts, **maps)
def test_hashed_pieces_are_counted_as_numbered_ones(texts, p, q, max_gap, decay) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_is_exact", lambda n_letters, length: False)
        check(texts, p, q, max_gap, decay)


def test_pieces_too_long_for_a_number_are_hashed() -> None:
    pieces = PieceMap((40,), (1.0,))
    A = encode(["ab" * 25, "ba" * 25])
    X = pieces.features(A, pieces.learn(A)).toarray()
    assert sorted(X[0]) == [5, 6]
    assert sorted(X[1]) == [5, 6]
    assert not np.array_equal(X[0], X[1])


def test_blocks_of_documents_change_nothing() -> None:
    rng = np.random.default_rng(0)
    A = encode(["".join(rng.choice(list("abcd"), n)) for n in rng.integers(0, 30, 40)])
    pieces = PieceMap((1, 2, 3), (1.0, 2.0, 0.5), 2, 0.3)
    vocabulary = pieces.learn(A)
    expected, squares = pieces.features(A, vocabulary).toarray(), pieces.squared_norms(A)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "rows_that_fit", lambda *_: 50)
        assert len(list(pieces._blocks(A, 2))) > 5
        for engine in (None, ThreadEngine(3)):
            learned = pieces.learn(A, engine=engine)
            assert all(map(np.array_equal, learned.numbers, vocabulary.numbers))
            np.testing.assert_array_equal(pieces.features(A, vocabulary, engine).toarray(), expected)
            np.testing.assert_array_equal(pieces.squared_norms(A, engine), squares)


def test_pieces_that_are_no_feature_are_left_out() -> None:
    pieces = PieceMap((2,), (1.0,))
    vocabulary = pieces.learn(encode(["abab", "abc"]), least=2)
    assert pieces.spelled(vocabulary, {}) == ["ab"]
    assert pieces.features(encode(["abXab", "", "zz"]), vocabulary).toarray().tolist() == [[2], [0], [0]]


def test_far_too_many_gaps_are_refused_with_advice() -> None:
    with pytest.raises(ParameterError, match="max_gap=30 with p=8 .*max_gap=None"):
        PieceMap((8,), (1.0,), 30)
