from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import metrics
from linnaeus.errors import ParameterError
from tests.metrics.worked import GOLD, LEAVES, SCORES, TAX

COUNTS = [500, 200, 20, 3]


@pytest.mark.parametrize(
    ("measure", "k", "value"),
    [
        (metrics.precision_at_k, 1, 0.5),
        (metrics.precision_at_k, 2, 0.5),
        (metrics.ndcg_at_k, 1, 0.5),
        (metrics.ndcg_at_k, 2, 0.7188),
        (metrics.recall_at_k, 1, 0.375),
    ],
)
def test_worked_example(measure, k, value):
    assert measure(GOLD, SCORES, k, labels=LEAVES) == pytest.approx(value, abs=1e-4)


def test_worked_propensities():
    p = metrics.propensities(COUNTS, 1000)
    assert p == pytest.approx([0.757580, 0.654292, 0.355993, 0.189543], abs=1e-6)
    found = [
        metrics.propensity_scored_precision_at_k(GOLD, SCORES, k, p, labels=LEAVES, normalise=normalise)
        for normalise in (False, True)
        for k in (1, 2)
    ]
    assert found == pytest.approx([0.6600, 0.8722, 0.2415, 0.5694], abs=1e-4)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
@settings(max_examples=60)
def test_ndcg_agrees_with_scikit_learn_without_ties(seed, k):
    from sklearn.metrics import ndcg_score

    rng = np.random.default_rng(seed)
    Y = (rng.random((4, 5)) < 0.4).astype(int)
    S = rng.permuted(np.tile(np.arange(5.0), (4, 1)), axis=1)
    assert metrics.ndcg_at_k(Y, S, k) == pytest.approx(ndcg_score(Y, S, k=k))


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
@settings(max_examples=40)
def test_a_perfect_ranking_attains_the_best(seed, k):
    rng = np.random.default_rng(seed)
    Y = (rng.random((3, 4)) < 0.5).astype(int)
    Y[0, 0] = 1
    p = metrics.propensities([500, 200, 20, 3], 1000)
    assert metrics.propensity_scored_precision_at_k(Y, Y / p, k, p) == pytest.approx(1.0)


def test_propensities_belong_to_the_columns_as_given_with_the_root_or_without():
    p = np.linspace(0.2, 0.8, TAX.n_nodes)
    S = np.random.default_rng(1).random((4, TAX.n_nodes))
    found = metrics.propensity_scored_precision_at_k(GOLD, S, 2, p, TAX)
    names = [name for name in TAX.names if name != "R"]
    columns = [TAX.index(name) for name in names]
    assert found == metrics.propensity_scored_precision_at_k(GOLD, S[:, columns], 2, p[columns], labels=names)


def test_fewer_labels_than_k_still_divide_by_k():
    assert metrics.precision_at_k([["A"]], [[0.5, 0.1]], 4, labels=["A", "B"]) == 0.25


def test_documents_without_gold_labels_count_zero():
    assert metrics.ndcg_at_k([[], ["A"]], [[0.5], [0.5]], 1, labels=["A"]) == 0.5


def test_wrong_arguments_are_named():
    with pytest.raises(ParameterError, match="k=0"):
        metrics.precision_at_k(GOLD, SCORES, 0, labels=LEAVES)
    with pytest.raises(ParameterError, match="one per label"):
        metrics.propensity_scored_precision_at_k(GOLD, SCORES, 1, np.ones(3), labels=LEAVES)
    with pytest.raises(ParameterError, match="n_train=2"):
        metrics.propensities([1], 2)
