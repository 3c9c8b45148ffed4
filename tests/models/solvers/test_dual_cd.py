"""The block solver stops when its certificate says so, not before."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus.models.solvers.dual_cd import LOSSES, solve_block
from linnaeus.models.solvers.rows import prepare_rows


def block():
    rng = np.random.default_rng(1)
    X = sparse.random_array((80, 40), density=0.2, format="csr", rng=rng, dtype=np.float64)
    Y = sparse.csr_array((rng.random((80, 16)) < 0.2).astype(np.int8))
    return prepare_rows(X, 1.0), Y, np.ones(80)


@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_every_column_meets_the_tolerance(loss, tol) -> None:
    rows, Y, bound = block()
    found = solve_block(rows, Y, bound, loss=loss, tol=tol, max_iter=100000, seed=0)
    assert found.converged
    assert (found.gap <= tol * found.objective).all()


@pytest.mark.parametrize("loss", list(LOSSES))
def test_the_gap_bounds_the_distance_from_the_optimum(loss) -> None:
    rows, Y, bound = block()
    best = solve_block(rows, Y, bound, loss=loss, tol=1e-9, max_iter=100000, seed=0).objective
    for epochs in (1, 2, 4, 8):
        found = solve_block(rows, Y, bound, loss=loss, tol=1e-12, max_iter=epochs, seed=0)
        assert (found.objective - found.gap <= best * (1 + 1e-9)).all()


@pytest.mark.parametrize("loss", list(LOSSES))
def test_a_column_does_not_depend_on_its_block(loss) -> None:
    rows, Y, bound = block()
    together = solve_block(rows, Y, bound, loss=loss, tol=1e-8, max_iter=100000, seed=0)
    alone = solve_block(rows, Y[:, [3]], bound, loss=loss, tol=1e-8, max_iter=100000, seed=0)
    assert together.objective[3] == pytest.approx(alone.objective[0], rel=1e-7)
    np.testing.assert_allclose(together.weights[:, 3], alone.weights[:, 0], atol=1e-3)
