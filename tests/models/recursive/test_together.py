"""All vertices at once go to where a common move is best for all of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from linnaeus.data.matrices import prepare_rows
from linnaeus.engine import Clock
from linnaeus.models.recursive.solver import common_move
from tests.models.recursive.oracles import KINDS, random_case, set_up


@pytest.mark.parametrize("bias", [0.0, 0.7])
@pytest.mark.parametrize("seed", range(3))
def test_the_move_is_the_minimum_of_what_it_changes(seed, bias) -> None:
    rng = np.random.default_rng(seed)
    n, d = 30, 6
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    rows = prepare_rows(sparse.csr_array(X), bias)
    X = np.hstack([X[:, np.argsort(rows.rank)], np.full((n, 1), bias)])
    parts = []
    for _ in range(3):
        documents = np.sort(rng.integers(n, size=20)).astype(np.int32)
        parts.append((documents, rng.uniform(0.5, 2, 20) * rng.choice([-1, 1], 20), rng.normal(size=20)))
    pull, anchor = rng.normal(size=d + 1) * (np.arange(d + 1) < d + bool(bias)), 0.8

    def value(move: np.ndarray) -> float:
        total = pull @ move + 0.5 * anchor * move @ move
        for documents, c, t in parts:
            left = np.maximum(0, t - np.sign(c) * (X[documents] @ move))
            total += (np.abs(c) * left**2).sum()
        return float(total)

    found = common_move(rows, parts, pull, anchor)
    best = minimize(value, np.zeros(d + 1), options={"gtol": 1e-8})
    assert value(found) < value(np.zeros(d + 1))
    assert value(found) == pytest.approx(best.fun, rel=1e-3, abs=1e-3)
    if not bias:
        assert found[-1] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_common_move_lowers_the_objective_of_the_candidates(kind) -> None:
    setup = set_up(random_case(4, kind, n_nodes=9, n_docs=40, n_features=5), "squared_hinge", C=3.0)
    solver = setup.solver
    solver._sweep()
    before, _ = solver._measure(False)
    first = solver.inner.solved.copy()
    solver._move_together()
    after, _ = solver._measure(False)
    assert after < before
    move = (solver.inner.solved - first)[:, :1]
    np.testing.assert_allclose(solver.inner.solved - first, np.broadcast_to(move, first.shape), atol=1e-12)


def test_at_the_optimum_nothing_moves() -> None:
    setup = set_up(random_case(5, "tree", n_nodes=8, n_docs=30), "squared_hinge")
    assert setup.solver.run(1e-10, 3000, Clock(None), lambda gap: None)
    before = setup.solver.inner.solved.copy()
    setup.solver._move_together()
    np.testing.assert_allclose(setup.solver.inner.solved, before, atol=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_other_losses_and_updates_stay_where_they_are(loss) -> None:
    for name, awake in ((loss, None), ("squared_hinge", set())):
        solver = set_up(random_case(4, "tree", n_docs=40), name).solver
        solver._sweep()
        solver.awake = awake
        before = solver.inner.solved.copy()
        solver._move_together()
        np.testing.assert_array_equal(solver.inner.solved, before)
