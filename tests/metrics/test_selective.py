"""Risk and coverage of answers that may be withheld."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from linnaeus import Taxonomy
from linnaeus.errors import LinnaeusError
from linnaeus.metrics import binomial_interval, coverage_risk_curve, selective_risk

TREE = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B"]])


def test_a_coarse_answer_is_right_and_a_finer_one_than_the_truth_is_wrong() -> None:
    gold = ["AA", "A", "AA", "B"]
    assert selective_risk(gold, [["A"], ["AA"], ["AB"], []], TREE) == pytest.approx(2 / 3)
    assert selective_risk(gold, [["A"], ["AA"], ["AB"], []], TREE, of="all") == 0.5
    assert selective_risk(gold, [["A"], ["AA"], ["AB"], []]) == 1.0  # without a taxonomy only the label itself


def test_nothing_answered_has_no_risk() -> None:
    value = selective_risk(["AA"], [[]], TREE)
    assert np.isnan(value)
    assert value.n_skipped == 1
    assert coverage_risk_curve(["AA"], [[]], [0.3], TREE) == []


def test_the_curve_ends_at_the_risk_of_all_answers_and_joins_ties() -> None:
    rng = np.random.default_rng(0)
    gold, answers = rng.choice(list("AB"), 500), rng.choice(list("AB"), 500)
    certainty = rng.integers(20, size=500) / 20
    rows = coverage_risk_curve(gold, answers, certainty)
    assert rows[-1]["risk"] == pytest.approx(selective_risk(gold, answers))
    assert [row["coverage"] for row in rows] == sorted({(certainty >= t).mean() for t in certainty})
    for row in rows:
        chosen = certainty >= row["threshold"]
        assert row["risk"] == pytest.approx((gold != answers)[chosen].mean())
        assert row["low"] <= row["risk"] <= row["high"]


def test_certainty_of_another_length_is_refused() -> None:
    with pytest.raises(LinnaeusError, match="certainty has the shape"):
        coverage_risk_curve(["AA", "B"], ["AA", "B"], [0.5], TREE)


def test_exact_intervals_are_those_of_the_binomial_distribution() -> None:
    for k, n in ((0, 10), (3, 10), (10, 10)):
        low, high = binomial_interval(k, n, 0.9)
        assert k == 0 or stats.binom.sf(k - 1, n, low) == pytest.approx(0.05)
        assert k == n or stats.binom.cdf(k, n, high) == pytest.approx(0.05)
    assert binomial_interval(0, 0) == (0.0, 1.0)
