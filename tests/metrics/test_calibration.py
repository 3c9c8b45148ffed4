from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy, metrics
from linnaeus.errors import DataError, ParameterError
from tests.metrics.worked import GOLD, LEAVES, SCORES, TAX


@pytest.mark.parametrize(("level", "brier", "ece"), [(1, 0.1438, 0.3375), (2, 0.1456, 0.2688)])
def test_worked_example(level, brier, ece):
    assert metrics.brier(GOLD, SCORES, TAX, labels=LEAVES, level=level) == pytest.approx(brier, abs=1e-4)
    found = metrics.expected_calibration_error(GOLD, SCORES, TAX, labels=LEAVES, level=level, n_bins=5)
    assert found == pytest.approx(ece, abs=1e-4)


def ece_by_hand(P, y, n_bins):
    total = 0.0
    for b in range(n_bins):
        inside = [i for i, p in enumerate(P) if b / n_bins <= p < (b + 1) / n_bins or (b == n_bins - 1 and p == 1)]
        if inside:
            total += len(inside) * abs(np.mean(P[inside]) - np.mean(y[inside]))
    return total / len(P)


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 4, 8]))
@settings(max_examples=60)
def test_ece_agrees_with_its_definition(seed, n_bins):
    rng = np.random.default_rng(seed)
    P = rng.integers(0, 17, size=(6, 2)) / 16  # exact in binary, on and off the borders of bins
    tax = Taxonomy.flat(["A", "B"])
    Y = (rng.random((6, 2)) < P).astype(int)
    found = metrics.expected_calibration_error(Y, P, tax, n_bins=n_bins)
    assert found == pytest.approx(ece_by_hand(P.ravel(), Y.ravel(), n_bins))


def test_bins_of_equal_mass_have_equal_mass():
    P = np.linspace(0, 1, 12).reshape(6, 2) ** 3
    rows = metrics.reliability(np.zeros((6, 2), int), P, Taxonomy.flat(["A", "B"]), n_bins=4, bins="mass")
    assert [row["n"] for row in rows] == [3, 3, 3, 3]


def test_conditional_calibration_looks_below_true_parents_only():
    tax = Taxonomy.from_paths([["A", "AA"], ["B", "BA"]])
    P = [[0.8, 0.5, 0.4, 0.5]]  # A, B, AA, BA
    # given A, AA has 0.4/0.8; B is not there, so BA does not count
    assert metrics.brier([["AA"]], P, tax, level=2, conditional=True) == pytest.approx(0.25)
    assert metrics.brier([["AA"]], P, tax, level=1, conditional=True) == pytest.approx((0.04 + 0.25) / 2)


def test_coherence_counts_edges_where_the_child_is_more_probable():
    P = np.array([[1.0, 0.5, 0.5, 0.6, 0.5, 0.1, 0.2]])  # R, A, B, AA, AB, BA, BB
    assert metrics.coherence_violations(P, TAX) == 0.25
    assert metrics.coherence_violations(SCORES, TAX, labels=LEAVES) == 0  # the largest below cannot be exceeded
    assert metrics.coherence_violations([[0.1, 0.9]], Taxonomy.flat(["A", "B"])) == 0


def test_levels_side_by_side():
    rows = metrics.calibration_by_level(GOLD, SCORES, TAX, labels=LEAVES, n_bins=5)
    assert [row["level"] for row in rows] == [1, 2]
    assert rows[1]["brier"] == pytest.approx(0.145625)
    assert rows[0]["ece"] == pytest.approx(0.3375)
    assert rows[0]["ece_conditional"] == pytest.approx(rows[0]["ece"])  # nothing is above the top nodes


def test_perfect_probabilities_are_perfect():
    Y = TAX.close(TAX.indicator(GOLD)).toarray()
    assert metrics.brier(GOLD, Y, TAX) == 0
    assert metrics.expected_calibration_error(GOLD, Y, TAX) == 0


def test_nothing_has_no_calibration():
    nothing = np.zeros((0, TAX.n_nodes))
    assert np.isnan(metrics.brier([], nothing, TAX))
    assert np.isnan(metrics.expected_calibration_error([], nothing, TAX))
    assert metrics.reliability([], nothing, TAX) == []
    for row in metrics.calibration_by_level([], nothing, TAX):
        assert np.isnan([value for key, value in row.items() if key != "level"]).all()


@pytest.mark.parametrize("conditional", [False, True])
def test_a_node_without_a_score_has_no_probability(conditional):
    tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"]])
    found = metrics.brier([["AB"]], [[0.5, 0.25]], tax, labels=["A", "AA"], level=2, conditional=conditional)
    assert found == pytest.approx(0.25 if conditional else 0.0625)  # AA only: 0.25 given A at 0.5, or by itself


def test_scores_are_not_probabilities():
    flat = Taxonomy.flat(["A", "B"])
    with pytest.raises(DataError, match="Probabilities lie in 0..1, got -1..2"):
        metrics.brier(["A"], [[-1.0, 2.0]], flat)
    for measure in (metrics.expected_calibration_error, metrics.reliability, metrics.calibration_by_level):
        with pytest.raises(DataError, match="Probabilities lie in 0..1, got 0.5..5"):
            measure(["A"], [[0.5, 5.0]], flat)
    with pytest.raises(ParameterError, match="bins='size'"):
        metrics.expected_calibration_error(GOLD, SCORES, TAX, labels=LEAVES, bins="size")
