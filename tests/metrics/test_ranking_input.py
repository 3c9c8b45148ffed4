from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import metrics
from linnaeus.metrics import ranking_input
from linnaeus.metrics.ranking_input import as_ranking
from linnaeus.order import best_columns
from tests.metrics.worked import FOREST, GOLD, TAX


@given(st.integers(0, 2**32 - 1), st.integers(1, 100), st.sampled_from([np.float32, np.float64]))
@settings(max_examples=60)
def test_the_best_columns_go_by_score_and_then_by_number(seed, k, dtype):
    S = np.random.default_rng(seed).integers(0, 6, size=(4, 90)).astype(dtype)  # more than 64 columns, many ties
    expected = [sorted(range(90), key=lambda j: (-row[j], j))[:k] for row in S]
    assert best_columns(S, k).tolist() == expected


def test_blocks_together_are_the_whole(monkeypatch):
    monkeypatch.setattr(ranking_input, "BLOCK_BYTES", 32)
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


def test_of_a_repeated_label_the_first_mention_counts():
    listed = [[("A", 0.4), ("B", 0.5), ("A", 0.9), ("??", 0.3), ("??", 0.2), ("!!", 0.1)]]
    ranking = as_ranking([["A", "B"]], listed, labels=["A", "B"])
    assert ranking.top(5).tolist() == [[1, 0, -2, -2, -1]]  # the two strange labels take one place each
    arrays = (np.array([[0, 1, 0, -1, -1]]), np.array([[0.4, 0.5, 0.9, 0.3, 0.2]]))
    assert as_ranking([["A", "B"]], arrays, labels=["A", "B"]).top(3).tolist() == [[1, 0, -1]]
    for scores in (listed, arrays):
        assert metrics.recall_at_k([["A"]], scores, 2, labels=["A", "B"]) == 1
        assert metrics.recall_at_k([["A"]], scores, 1, labels=["A", "B"]) == 0


def kinds_of(S, names):
    """The same scores as an array, as lists of pairs and as arrays of columns."""
    columns = np.tile(np.arange(len(names)), (len(S), 1))
    return [S, [list(zip(names, row, strict=True)) for row in S.tolist()], (columns, S)]


@pytest.mark.parametrize(
    "measure",
    [
        metrics.average_precision,
        metrics.ranking_loss,
        metrics.coverage,
        metrics.one_accuracy,
        metrics.parent_accuracy,
        metrics.top_loss,
        metrics.maximal_loss,
        lambda *given: metrics.precision_at_k(*given[:2], 2, given[2]),
    ],
)
@pytest.mark.parametrize("at_root", [-1.0, 0.5, 2.0])
def test_a_root_that_is_written_down_is_not_ranked(measure, at_root):
    S = np.random.default_rng(0).random((4, FOREST.n_nodes))
    by_name = dict(zip(FOREST.names, S.T, strict=True))
    with_root = np.stack([by_name.get(name, np.full(4, at_root)) for name in TAX.names], axis=1)
    expected = measure(GOLD, S, FOREST)
    for scores in kinds_of(with_root, TAX.names):
        found = measure(GOLD, scores, TAX)
        assert found == pytest.approx(expected)
        assert "6 labels without the root" in found.convention
        assert measure(TAX.indicator(GOLD), scores, TAX) == pytest.approx(expected)


def test_a_root_anywhere_among_named_columns_is_not_ranked():
    names = ["AA", "R", "BB"]
    for scores in kinds_of(np.array([[0.3, 0.9, 0.6]]), names):
        ranking = as_ranking([["BB"]], scores, TAX, labels=names)
        assert ranking.names == ["AA", "BB"]
        assert ranking.top(3).tolist() == [[1, 0, -1]]
        assert ranking.left_out == 1
        assert not ranking.root_ranked


def test_a_root_that_is_a_gold_label_is_ranked_as_any_other():
    S = np.array([[0.9, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1]] * 2)
    assert metrics.one_accuracy([["R"], ["AA"]], S, TAX) == 0.5
    assert metrics.one_accuracy([["AA"], ["AA"]], S, TAX) == 1
    assert "7 labels with the root" in metrics.one_accuracy([["R"], ["AA"]], S, TAX).convention


def test_rankings_are_whole_if_every_document_lists_all_labels():
    labels = ["A", "B"]
    assert as_ranking([["A"]], [[0.1, 0.2]], labels=labels).is_whole
    assert as_ranking([["A"]], [[("A", 0.1), ("B", 0.2)]], labels=labels).is_whole
    assert not as_ranking([["A"]] * 2, [[("A", 0.1), ("B", 0.2)], [("A", 0.1)]], labels=labels).is_whole
    assert not as_ranking([["A"]], [[("A", 0.1), ("A", 0.2)]], labels=labels).is_whole
    assert not as_ranking([["A"]], [[("A", 0.1), ("??", 0.2)]], labels=labels).is_whole
    assert as_ranking([["A"]], [[(name, 0.1) for name in FOREST.names]], TAX).is_whole  # the root need not be listed
