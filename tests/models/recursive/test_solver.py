"""What the solver certifies is true: P and D are those of the joint problem, at any point and at the end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.engine import Clock
from linnaeus.models.recursive import leaves as leaves_module
from tests.models.recursive.oracles import (
    KINDS,
    LOSSES,
    Case,
    Setup,
    cases,
    links_kernel,
    links_matrix,
    losses,
    optimum,
    random_case,
    set_up,
)
from tests.models.recursive.test_inner import inner_weights
from tests.models.recursive.test_screened import wide

C = 1.5


def scatter(setup: Setup, rng: np.random.Generator) -> None:
    """Random inner weights and dual variables (or leaf weights, where there are no dual variables)."""
    inner = setup.solver.inner
    inside = np.arange(len(inner.M) * 16).reshape(-1, 1, 16) < setup.leaves.n_features - 1  # no constant
    inner.M[:] = inner.solved[:] = rng.normal(size=inner.M.shape) * inside * bool(setup.links.inner)
    for i, block in enumerate(setup.solver.blocks):
        arrays = dict(block.arrays())
        if "alpha" in arrays:
            upper = C / block.total
            arrays["alpha"] = np.zeros_like(block.alpha)
            arrays["alpha"][:, : block.n_columns] = upper * rng.uniform(0.01, 0.99, (len(block.alpha), block.n_columns))
        else:
            arrays["U"] = np.zeros_like(block.U)
            arrays["U"][:-1, : block.n_columns] = rng.normal(size=(len(block.U) - 1, block.n_columns))
        setup.solver.blocks[i] = setup.leaves.resume(block, arrays)


def whole_weights(setup: Setup) -> np.ndarray:
    """features x (inner vertices, leaves), at the last solution."""
    solver, d = setup.solver, setup.leaves.n_features
    every = np.arange(d, dtype=np.int32)
    parts = []
    for block in solver.blocks:
        W = solver.inner.centres(block.columns, every, solved=True)
        W[block.features] += block.U
        parts.append(W[:, : block.n_columns])
    return np.hstack([inner_weights(solver.inner.solved, d), *parts])[:-1]


def dual_variables(setup: Setup) -> np.ndarray:
    """documents x leaves, in the scale of the joint problem."""
    if setup.solver.blocks[0].alpha is None:
        T = setup.signs * (setup.X @ whole_weights(setup)[:, len(setup.links.inner) or 1 :])
        return C / (1 + np.exp(T)) if setup.leaves.loss == "logistic" else 2 * C * np.maximum(0, 1 - T)
    alpha = np.zeros(setup.signs.shape)
    for block in setup.solver.blocks:
        rows = np.arange(len(alpha)) if block.candidates is None else block.candidates
        alpha[np.ix_(rows, block.columns)] = block.alpha[:, : block.n_columns] * block.total
    return alpha


def conjugate(alpha: np.ndarray, loss: str) -> np.ndarray:
    """Part of D that is local in the pairs."""
    if loss == "logistic":
        return C * np.log(C) - alpha * np.log(alpha) - (C - alpha) * np.log(C - alpha)
    return alpha - (alpha**2 / (4 * C) if loss == "squared_hinge" else 0)


def check_definitions(setup: Setup, loss: str) -> None:
    """P and D as certified, and the gap as a sum: pairs' terms, and what the vertices' balance lacks; none negative."""
    solver = setup.solver
    solver.certify()
    W, A, k = whole_weights(setup), links_matrix(setup.links), len(setup.links.inner)
    W = W if k else W[:, 1:]  # a network without vertices has one that stands for none
    T = setup.signs * (setup.X @ W[:, k:])
    P = 0.5 * np.einsum("fu,uv,fv->", W, A, W) + C * losses(T, loss).sum()
    alpha = dual_variables(setup)
    V = np.zeros_like(W)
    V[:, k:] = setup.X.T @ (alpha * setup.signs)
    held = np.flatnonzero((np.diag(A) > 0) | (np.arange(len(A)) >= k))
    inverse = np.zeros_like(A)
    inverse[np.ix_(held, held)] = np.linalg.inv(A[np.ix_(held, held)])
    D = conjugate(alpha, loss).sum() - 0.5 * np.einsum("fu,uv,fv->", V, inverse, V)
    assert solver.objective == pytest.approx(P, rel=1e-9)
    assert solver.state.best_dual == pytest.approx(D, rel=1e-9, abs=1e-9 * P)
    assert solver.gap == pytest.approx(P - D, rel=1e-9)
    pairs = C * losses(T, loss) - conjugate(alpha, loss) + alpha * T
    lack = W @ A - V
    assert (pairs > -1e-9).all()
    assert P - D == pytest.approx(pairs.sum() + 0.5 * np.einsum("fu,uv,fv->", lack, inverse, lack), rel=1e-8)


@given(case=cases, loss=st.sampled_from(LOSSES), sparse_rows=st.booleans(), seed=st.integers(0, 10**6))
@settings(max_examples=100)
def test_objective_and_bound_are_the_definitions_at_any_point(case, loss, sparse_rows, seed) -> None:
    setup = set_up(case, loss, C=C, sparse_rows=sparse_rows)
    scatter(setup, np.random.default_rng(seed))
    check_definitions(setup, loss)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_documents_that_nobody_looked_at_are_part_of_the_certificate(loss, kind, monkeypatch) -> None:
    monkeypatch.setattr(leaves_module, "SAMPLE", 0)
    setup = set_up(random_case(3, kind, n_nodes=60, n_docs=50, n_features=6), loss, C=C)
    assert min(len(block.candidates) for block in setup.solver.blocks) < 45
    scatter(setup, np.random.default_rng(0))
    check_definitions(setup, loss)


@given(case=cases, loss=st.sampled_from(LOSSES), sparse_rows=st.booleans())
@settings(max_examples=40)
def test_the_bounds_hold_from_the_first_sweep_to_the_last(case, loss, sparse_rows) -> None:
    setup = set_up(case, loss, C=C, sparse_rows=sparse_rows)
    best, _ = optimum(links_kernel(setup.links), setup.X, setup.signs, C, loss)
    solver, gaps = setup.solver, []
    for n_sweeps in (0, 1, 2, 5, 20, 60):
        solver.run(1e-12, n_sweeps, Clock(None), lambda gap: None)
        assert solver.objective >= best * (1 - 1e-9)
        assert solver.objective - solver.gap <= best * (1 + 1e-9)
        gaps.append(solver.gap / solver.objective)
    assert gaps[-1] < 1e-2 * min(1, gaps[0]) + 1e-8


@pytest.mark.parametrize("loss", LOSSES)
def test_a_run_in_two_parts_is_the_run(loss) -> None:
    case = random_case(5, "dag", n_nodes=20, n_docs=40, n_features=10)
    whole, parts = set_up(case, loss), set_up(case, loss)
    whole.solver.run(1e-12, 12, Clock(None), lambda gap: None)
    for n_sweeps in (5, 12):
        parts.solver.run(1e-12, n_sweeps, Clock(None), lambda gap: None)
    assert whole.solver.state.sweep == parts.solver.state.sweep == 12
    assert parts.solver.objective == pytest.approx(whole.solver.objective, rel=1e-6)


def test_a_solver_out_of_time_certifies_what_it_has() -> None:
    setup = set_up(random_case(1, "tree", n_nodes=20, n_docs=40), "hinge")
    assert not setup.solver.run(1e-12, 10**6, Clock(1e-9), lambda gap: None)
    assert setup.solver.out_of_time
    assert np.isfinite(setup.solver.objective)
    assert 0 <= setup.solver.gap < np.inf


def test_the_gap_is_told_while_it_falls() -> None:
    setup, heard = set_up(random_case(2, "tree", n_nodes=20, n_docs=40), "squared_hinge"), []
    assert setup.solver.run(1e-4, 1000, Clock(None), heard.append)
    assert heard[-1] < heard[0]
    assert setup.solver.gap <= 1e-4 * setup.solver.objective


@pytest.mark.parametrize("loss", LOSSES)
def test_momentum_saves_sweeps_where_families_are_wide(loss) -> None:
    """Common directions of many siblings move slowly without it."""
    _, X, labels = wide(n_docs=200)
    star = Taxonomy.from_edges([("R", f"l{i}") for i in range(64)])
    case = Case(star, X.toarray().astype(float), [[label] for label in labels])
    fast, slow = set_up(case, loss).solver, set_up(case, loss).solver
    assert fast.run(1e-5, 1000, Clock(None), lambda gap: None)
    sweep = slow._sweep

    def without_momentum() -> None:
        sweep()
        slow.state.momentum = 1.0

    slow._sweep = without_momentum
    assert slow.run(1e-5, 1000, Clock(None), lambda gap: None)
    assert fast.state.sweep < 0.75 * slow.state.sweep
