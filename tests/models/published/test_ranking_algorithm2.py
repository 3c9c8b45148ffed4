"""Algorithm 2 of the thesis, in both variants, ends at the optimum that the sweeping solver finds."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus.models.published.ranking_algorithm2 import solve_by_worst
from linnaeus.models.ranking.solver import solve_ranking
from tests.models.ranking.oracles import CASES, CLASSES, T4, X4, Y4, problem

INDICATOR4 = T4.indicator(Y4).toarray()[:, CLASSES]
variants = pytest.mark.parametrize("every", [False, True], ids=["8a", "8b"])


@variants
@pytest.mark.parametrize("case", [name for name, (*_, per_pair, _) in CASES.items() if not per_pair])
def test_the_worked_examples(case, every) -> None:
    attributes, cost, C, _, optimum = CASES[case]
    given = problem(T4, X4, INDICATOR4, CLASSES, attributes, cost, C, "gram")
    found = solve_by_worst(given, every=every, tol=1e-8, epsilon=None, max_iter=2000)
    assert found.converged
    assert found.objective == pytest.approx(optimum, abs=1e-6)
    assert found.gap <= 1e-8 * found.objective


@variants
def test_it_stops_by_the_rule_of_the_thesis_and_its_gap_is_bounded_by_it(every) -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(25, 4)), (rng.random((25, 4)) < 0.4).astype(int)
    given = problem(T4, X, Y, CLASSES, "perclass", "half", 1.0, "gram")
    found = solve_by_worst(given, every=every, tol=1e-3, epsilon=0.01, max_iter=500)
    assert found.violation <= 0.01
    assert found.gap <= 0.01 * 25
    best = solve_ranking(given, tol=1e-8, epsilon=None, max_iter=5000, seed=0).objective
    assert best <= found.objective * (1 + 1e-8)
    assert found.objective - found.gap <= best * (1 + 1e-8)


def test_pairs_without_mass_do_not_stay() -> None:
    given = problem(T4, X4, INDICATOR4, CLASSES, "perclass", "half", 1.0, "gram")
    found = solve_by_worst(given, every=False, tol=1e-8, epsilon=None, max_iter=2000)
    assert (found.pairs[3] > 0).all()
    assert len(found.pairs[0]) == 5  # as in the worked example
