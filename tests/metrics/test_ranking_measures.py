from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy, metrics
from linnaeus.errors import DataError, ParameterError
from tests.metrics.worked import FOREST, GOLD, LEAVES, SCORES, TAX

WORKED = [
    (metrics.one_accuracy, [1, 1, 0, 0], 0.5),
    (metrics.parent_accuracy, [1, 1, 1, 1], 1.0),
    (metrics.average_precision, [1, 0.8333, 0.5, 0.5], 0.7083),
    (metrics.ranking_loss, [0, 0.25, 0.3333, 0.3333], 0.2292),
    (metrics.maximal_loss, [0, 2, 1, 1], 1.0),
    (metrics.top_loss, [0, 0, 1, 1], 0.5),
]


@pytest.mark.parametrize("tax", [TAX, FOREST], ids=["root", "forest"])
@pytest.mark.parametrize(("measure", "per_document", "mean"), WORKED)
def test_worked_example(measure, per_document, mean, tax):
    assert measure(GOLD, SCORES, tax, labels=LEAVES) == pytest.approx(mean, abs=1e-4)
    for gold, scores, value in zip(GOLD, SCORES, per_document, strict=True):
        assert measure([gold], [scores], tax, labels=LEAVES) == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize("measure", [row[0] for row in WORKED])
def test_all_kinds_of_rankings_agree(measure):
    dense = np.array(SCORES)
    listed = [list(zip(LEAVES, row, strict=True)) for row in SCORES]
    order = np.argsort(-dense, axis=1, kind="stable")
    arrays = (order, np.take_along_axis(dense, order, axis=1))
    expected = measure(GOLD, dense, TAX, labels=LEAVES)
    for scores in (dense.astype(np.float32), SCORES, listed, arrays):
        assert measure(GOLD, scores, TAX, labels=LEAVES) == pytest.approx(expected)


def test_columns_are_the_names_of_the_taxonomy_unless_named():
    S = np.zeros((4, TAX.n_nodes))
    S[:, [TAX.index(name) for name in LEAVES]] = SCORES
    assert metrics.one_accuracy(GOLD, S, TAX) == 0.5
    assert metrics.one_accuracy(TAX.indicator(GOLD), S, TAX) == 0.5


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(2, 5))
@settings(max_examples=80)
def test_agrees_with_scikit_learn(seed, n_docs, n_labels):
    from sklearn.metrics import coverage_error, label_ranking_average_precision_score, label_ranking_loss

    rng = np.random.default_rng(seed)
    Y = np.zeros((n_docs, n_labels), dtype=int)
    for row in Y:
        row[rng.choice(n_labels, size=rng.integers(1, n_labels), replace=False)] = 1
    S = rng.integers(0, 4, size=Y.shape) / 4  # with ties
    assert metrics.average_precision(Y, S) == pytest.approx(label_ranking_average_precision_score(Y, S))
    assert metrics.ranking_loss(Y, S) == pytest.approx(label_ranking_loss(Y, S))
    assert metrics.coverage(Y, S) == pytest.approx(coverage_error(Y, S))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=80)
def test_maximal_loss_bounds_top_loss(seed):
    rng = np.random.default_rng(seed)
    gold = [list(rng.choice(LEAVES, size=rng.integers(1, 4), replace=False)) for _ in range(3)]
    S = rng.integers(0, 5, size=(3, 4))
    top = metrics.top_loss(gold, S, TAX, labels=LEAVES)
    assert top <= metrics.maximal_loss(gold, S, TAX, labels=LEAVES)


def test_documents_without_labels_or_with_all_are_left_out_and_counted():
    gold = [["AA"], [], LEAVES]
    for measure in (metrics.average_precision, metrics.ranking_loss):
        value = measure(gold, SCORES[:3], TAX, labels=LEAVES)
        assert (value.n, value.n_skipped) == (1, 2)
        assert value == measure(gold[:1], SCORES[:1], TAX, labels=LEAVES)
    assert np.isnan(metrics.average_precision([[]], [[0.1]], labels=["A"]))


def test_a_gold_label_that_is_not_ranked_is_missed():
    assert metrics.average_precision([["A", "ZZ"]], [[0.9, 0.1]], labels=["A", "B"]) == 0.5
    assert metrics.ranking_loss([["A", "ZZ"]], [[0.9, 0.1]], labels=["A", "B"]) == 0.5
    assert metrics.coverage([["A", "ZZ"]], [[0.9, 0.1]], labels=["A", "B"]) == 3


def test_unlisted_labels_share_the_last_place():
    assert metrics.average_precision([["C"]], [[("A", 0.9)]], labels=["A", "B", "C"]) == pytest.approx(1 / 3)
    assert metrics.ranking_loss([["C"]], [[("A", 0.9)]], labels=["A", "B", "C"]) == 1


def test_a_label_outside_the_columns_takes_a_place_and_is_wrong():
    listed = [[("??", 0.9), ("A", 0.5)]]
    assert metrics.one_accuracy([["A"]], listed, labels=["A", "B"]) == 0
    assert metrics.precision_at_k([["A"]], listed, 2, labels=["A", "B"]) == 0.5
    assert metrics.precision_at_k([["A", "??"]], listed, 2, labels=["A", "B"]) == 0.5


def test_no_answer_is_charged_the_way_to_the_root():
    assert metrics.top_loss([["AA"]], [[]], TAX) == 1.0
    assert metrics.parent_accuracy([["AA"]], [[]], TAX) == 0


def test_parents_in_a_dag(diamond):
    labels = ["A", "B", "C", "D"]
    assert metrics.parent_accuracy(["C"], [[0, 0, 0, 1]], diamond, labels=labels) == 1  # both under B
    assert metrics.parent_accuracy(["C"], [[1, 0, 0, 0]], diamond, labels=labels) == 0
    mixed = Taxonomy.from_edges([("R", "A"), ("R", "C"), ("A", "C"), ("R", "B")])
    assert metrics.parent_accuracy(["C"], [[0, 1, 0]], mixed, labels=["A", "B", "C"]) == 1  # both under the root


def test_r_precision():
    assert metrics.r_precision(GOLD, SCORES, labels=LEAVES) == pytest.approx((1 + 0.5 + 0 + 0) / 4)


@pytest.mark.parametrize(
    ("scores", "options", "error", "message"),
    [
        ([[0.1, 0.2]], {"labels": LEAVES}, DataError, "expected .n_docs, 4."),
        ([[0.1, float("nan"), 0.2, 0.3]], {"labels": LEAVES}, DataError, "document 0 hold NaN"),
        (np.zeros((2, 4)), {"labels": LEAVES}, DataError, "gold has 1 documents and scores have 2"),
        (np.zeros((1, 4)), {}, ParameterError, "pass labels="),
    ],
)
def test_errors(scores, options, error, message):
    with pytest.raises(error, match=message):
        metrics.one_accuracy([["AA"]], scores, **options)


def test_columns_must_be_nodes_where_distances_are_asked_for():
    with pytest.raises(DataError, match="did you mean 'AA'"):
        metrics.top_loss([["AA"]], [[0.1]], TAX, labels=["AAA"])
