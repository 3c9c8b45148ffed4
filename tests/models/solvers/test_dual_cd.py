"""The block solver stops when its certificate says so, not before."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus.data.matrices import prepare_rows
from linnaeus.models.solvers.dual_cd import LOSSES, negative_start, solve_block


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


@pytest.mark.parametrize("loss", list(LOSSES))
def test_a_common_start_leads_to_the_same_solution(loss) -> None:
    rows, Y, bound = block()
    stop = {"loss": loss, "max_iter": 100000, "seed": 0}
    start = negative_start(rows, bound, tol=1e-6, **stop)
    near = solve_block(rows, Y, bound, tol=1e-8, start=start, **stop)
    far = solve_block(rows, Y, bound, tol=1e-8, **stop)
    assert near.converged
    np.testing.assert_allclose(near.objective, far.objective, rtol=1e-7)
    np.testing.assert_allclose(near.weights, far.weights, atol=1e-3)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_a_column_without_positive_documents_is_solved_at_its_start(loss) -> None:
    rows, _, bound = block()
    none = sparse.csr_array((rows.n_docs, 1), dtype=np.int8)
    start = negative_start(rows, bound, loss=loss, tol=1e-7, max_iter=100000, seed=0)
    found = solve_block(rows, none, bound, loss=loss, tol=1e-5, max_iter=1000, seed=1, start=start)
    assert found.converged
    assert found.n_iter == 1


def test_many_rows_are_visited_in_pieces_and_all_of_them() -> None:
    rng = np.random.default_rng(2)
    X = sparse.random_array((3001, 50), density=0.1, format="csr", rng=rng, dtype=np.float32)
    Y = sparse.csr_array((rng.random((3001, 16)) < 0.1).astype(np.int8))
    rows = prepare_rows(X, 1.0)
    found = solve_block(rows, Y, np.ones(3001, np.float32), loss="hinge", tol=1e-3, max_iter=10000, seed=0)
    assert found.converged
    again = solve_block(rows, Y, np.ones(3001, np.float32), loss="hinge", tol=1e-3, max_iter=10000, seed=0)
    assert (found.weights == again.weights).all()
