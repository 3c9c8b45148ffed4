from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus.metrics import rankings
from linnaeus.metrics.rankings import as_ranking, best_columns


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
@settings(max_examples=60)
def test_the_best_columns_go_by_score_and_then_by_number(seed, k):
    S = np.random.default_rng(seed).integers(0, 6, size=(4, 90)).astype(float)  # more than 64 columns, many ties
    expected = [sorted(range(90), key=lambda j: (-row[j], j))[:k] for row in S]
    assert best_columns(S, k).tolist() == expected


def test_blocks_together_are_the_whole(monkeypatch):
    monkeypatch.setattr(rankings, "BLOCK_CELLS", 4)
    S = np.arange(10.0).reshape(5, 2)
    ranking = as_ranking(["A"] * 5, S, labels=["A", "B"])
    blocks = list(ranking.blocks())
    assert len(blocks) == 3
    assert np.concatenate([block for _, block in blocks]).tolist() == S.tolist()
    assert ranking.top(1).tolist() == [[1]] * 5


def test_lists_are_sorted_and_padded():
    ranking = as_ranking([["A"], ["B"]], [[("A", 0.1), ("B", 0.4)], []], labels=["A", "B"])
    assert ranking.top(3).tolist() == [[1, 0, -1], [-1, -1, -1]]


def test_without_names_the_labels_that_occur_are_ranked():
    assert as_ranking([["A"]], [[("C", 0.1)]]).names == ["A", "C"]
