"""The problem of one document is solved exactly, singular or not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus.models.published.ranking_algorithm2 import solve_block
from tests.kernels.twins import ranking as reference_ranking


def value(Q, c, b) -> float:
    return float(c @ b - 0.5 * b @ Q @ b)


@settings(max_examples=100)
@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 10**6), st.floats(0.1, 5.0))
def test_it_satisfies_the_conditions_of_optimality(m, rank, seed, C) -> None:
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(m, rank))
    Q, c = V @ V.T, rng.normal(size=m)
    start = rng.random(m)
    b = solve_block(Q, c, C, C * start / start.sum() * rng.random())
    assert (b >= 0).all()
    assert b.sum() <= C * (1 + 1e-9)
    g = np.append(c - Q @ b, 0.0)
    with_mass = np.append(b > 0, b.sum() < C * (1 - 1e-9))
    assert g.max() - g[with_mass].min() <= 1e-6 * max(1.0, np.abs(c).max())


@settings(max_examples=50)
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_it_is_worth_no_less_than_moving_mass_between_two_pairs_at_a_time(m, seed) -> None:
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(m, 3))
    Q, c, C = V @ V.T, rng.normal(size=m), 2.0
    b = solve_block(Q, c, C)
    other = np.append(np.zeros(m), C)
    reference_ranking.solve_block(Q, np.append(c, 0.0), other, 1e-12)
    assert value(Q, c, other[:m]) - 1e-9 <= value(Q, c, b) <= value(Q, c, other[:m]) + 1e-6


def test_without_curvature_all_mass_goes_to_the_best_pair() -> None:
    assert solve_block(np.zeros((3, 3)), np.array([1.0, 3.0, 2.0]), 4.0).tolist() == [0.0, 4.0, 0.0]
    assert solve_block(np.zeros((2, 2)), np.array([-1.0, -2.0]), 4.0).tolist() == [0.0, 0.0]


def test_one_pair_has_a_closed_form() -> None:
    for c, C in ((1.0, 10.0), (30.0, 10.0), (-1.0, 10.0)):
        assert solve_block(np.array([[2.0]]), np.array([c]), C) == pytest.approx([min(max(c / 2, 0), C)])
