from __future__ import annotations

import itertools

import numpy as np
import pytest

from linnaeus import metrics
from linnaeus.errors import DataError, ParameterError
from linnaeus.metrics.sets import as_pair, by_document
from tests.metrics.worked import GOLD, PREDICTED, TAX

D = [0.03, 0.01, 0.04, -0.02, 0.05, 0.06, 0.015, 0.025]


def f1(totals):
    return 2 * totals[..., 0] / (totals[..., 1] + totals[..., 2])


def rows(gold, predicted):
    pair = as_pair(gold, predicted, TAX).closed()
    counts = by_document(pair.Y, pair.H)
    return np.stack([counts.common, counts.gold, counts.predicted], axis=1)


def systems(n, seed=0):
    rng = np.random.default_rng(seed)
    leaves = np.array(["AA", "AB", "BA", "BB"])
    gold = [[str(x)] for x in rng.choice(leaves, n)]
    first = [g if rng.random() < 0.8 else ["AA"] for g in gold]
    second = [g if rng.random() < 0.4 else ["AB"] for g in gold]
    return gold, first, second


def test_worked_permutation():
    found = metrics.permutation_test(D)
    assert found.p_value == 0.03125
    assert found.statistic == pytest.approx(0.02625)
    assert found.details["exhaustive"]
    assert metrics.permutation_test(D, np.zeros(8)).p_value == 0.03125


def test_worked_bootstrap():
    found = metrics.bootstrap(D)
    assert found.interval == pytest.approx((0.0094, 0.0419), abs=1e-3)
    assert found.effect == pytest.approx(0.02625)


def test_permuting_sums_is_permuting_documents():
    gold, first, second = systems(8)
    by_sums = metrics.permutation_test(rows(gold, first), rows(gold, second), statistic=f1)

    def hierarchical(G, P):
        return metrics.hierarchical_f1(G, P, TAX)

    by_documents = metrics.permutation_metric(hierarchical, gold, first, second)
    assert by_sums.p_value == by_documents.p_value
    assert by_sums.statistic == pytest.approx(by_documents.statistic)
    # and both are the enumeration of all swaps
    observed, as_extreme = abs(by_sums.statistic), 0
    for swap in itertools.product([False, True], repeat=8):
        a = [s if x else f for f, s, x in zip(first, second, swap, strict=True)]
        b = [f if x else s for f, s, x in zip(first, second, swap, strict=True)]
        as_extreme += abs(hierarchical(gold, a) - hierarchical(gold, b)) >= observed - 1e-12
    assert by_sums.p_value == as_extreme / 2**8


def test_many_documents_are_sampled_with_a_seed():
    gold, first, second = systems(60)
    found = [
        metrics.permutation_test(
            rows(gold, first), rows(gold, second), statistic=f1, n_resamples=500, random_state=seed
        )
        for seed in (1, 1, 2)
    ]
    assert found[0] == found[1]
    assert not found[0].details["exhaustive"]
    assert found[0].p_value == pytest.approx(1 / 501)
    same = metrics.permutation_test(rows(gold, first), rows(gold, first), statistic=f1, n_resamples=100)
    assert same.p_value == 1
    assert same.details["n_discordant"] == 0


def test_any_metric_can_be_permuted_on_indicators_too():
    Y = [TAX.indicator(side) for side in (GOLD, GOLD, PREDICTED)]

    def lca(G, P):
        return metrics.lca_f1(G, P, TAX)

    by_rows = metrics.permutation_metric(lca, *Y)
    by_names = metrics.permutation_metric(lca, GOLD, GOLD, PREDICTED)
    assert by_rows.p_value == by_names.p_value == 2 / 16 * 2  # one document is the same: 2 of 8, each twice


def test_intervals_hold_the_difference_and_tell_systems_apart():
    gold, first, second = systems(80)
    for method in ("percentile", "bca"):
        found = metrics.bootstrap(rows(gold, first), rows(gold, second), statistic=f1, method=method, n_resamples=1000)
        low, high = found.interval
        assert 0 < low < found.effect < high

    def hierarchical(G, P):
        return metrics.hierarchical_f1(G, P, TAX)

    slow = metrics.bootstrap_metric(hierarchical, gold, first, second, n_resamples=300)
    assert slow.interval == pytest.approx(
        metrics.bootstrap(rows(gold, first), rows(gold, second), statistic=f1, n_resamples=3000).interval, abs=0.06
    )


def test_bca_agrees_with_scipy():
    from scipy import stats

    rng = np.random.default_rng(0)
    values = rng.exponential(size=40)
    ours = metrics.bootstrap(values, method="bca", n_resamples=20_000).interval
    theirs = stats.bootstrap((values,), np.mean, method="BCa", n_resamples=20_000, rng=rng).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_wrong_arguments_are_named():
    with pytest.raises(DataError, match="must be paired"):
        metrics.permutation_test([0.1, 0.2], [0.1])
    with pytest.raises(ParameterError, match="need a `statistic`"):
        metrics.permutation_test(np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(ParameterError, match="method='normal'"):
        metrics.bootstrap(D, method="normal")
    with pytest.raises(DataError, match="no pairs"):
        metrics.bootstrap([])
