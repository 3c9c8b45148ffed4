"""All leaves of dense documents at once: the kernel between them, and Newton's steps with the inner vertices gone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus.engine import Clock
from linnaeus.models.recursive import solver
from linnaeus.models.recursive.coupled import leaf_kernel, newton_start
from linnaeus.models.recursive.network import make_network
from linnaeus.models.recursive.solver import fits_newton
from tests.models.recursive.oracles import KINDS, cases, links_kernel, links_matrix, optimum, random_case, set_up
from tests.models.recursive.test_inner import inner_weights
from tests.models.recursive.test_network import random_links
from tests.models.recursive.test_solver import whole_weights

SMOOTH = ("squared_hinge", "logistic")


@given(
    seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS), n=st.integers(2, 14),
    spawn=st.sampled_from(["inner", "all"]), root=st.sampled_from([0.5, 1.0, 1e6]),
)  # fmt: skip
@settings(max_examples=100)
def test_the_kernel_between_leaves_is_the_inverse_of_the_regulariser(seed, kind, n, spawn, root) -> None:
    links = random_links(seed, kind, n, spawn, root)
    if any(not near and not anchor for near, anchor in zip(links.inner, links.anchor, strict=True)):
        held = [u for near in links.leaves for u in near]
        if len(set(held)) < len(links.inner):
            return  # a vertex that nothing holds: reduced away before
    K, moved = leaf_kernel(make_network(links, np.float64))
    np.testing.assert_allclose(K, links_kernel(links), atol=1e-8)
    if links.inner:
        k = len(links.inner)
        np.testing.assert_allclose(moved, np.linalg.inv(links_matrix(links))[:k, k:], atol=1e-8)


@given(case=cases, loss=st.sampled_from(SMOOTH), C=st.sampled_from([0.1, 1.5, 30.0]))
@settings(max_examples=50)
def test_the_steps_reach_the_optimum_leaves_and_inner_vertices_alike(case, loss, C) -> None:
    setup = set_up(case, loss, C=C, sparse_rows=False)
    solver = setup.solver
    newton_start(solver, 1e-8, Clock(None))
    assert solver.state.newton_done
    best, _ = optimum(links_kernel(setup.links), setup.X, setup.signs, C, loss)
    solver.certify()
    assert best * (1 - 1e-9) <= solver.objective <= best * (1 + 1.1e-8)
    assert solver.gap <= 1e-8 * solver.objective
    np.testing.assert_array_equal(solver.inner.M, solver.inner.solved)
    W, A, k = whole_weights(setup), links_matrix(setup.links), len(setup.links.inner)
    inner = inner_weights(solver.inner.solved, setup.leaves.n_features)[:-1]
    if k:  # balanced: every inner vertex is at the mean of its neighbours
        np.testing.assert_allclose((W @ A)[:, :k], 0, atol=1e-9 * max(1, np.abs(inner).max()))


@pytest.mark.parametrize("loss", SMOOTH)
def test_steps_go_on_from_where_the_leaves_are(loss) -> None:
    case = random_case(4, "dag", n_nodes=12, n_docs=40, n_features=6)
    setup = set_up(case, loss, C=5.0, sparse_rows=False)
    newton_start(setup.solver, 1e-6, Clock(None))
    first = setup.solver.state.sweep
    newton_start(setup.solver, 1e-6, Clock(None))
    assert first > 1
    assert setup.solver.state.sweep == first


def test_out_of_time_leaves_a_point_that_can_be_certified() -> None:
    setup = set_up(random_case(4, "tree", n_nodes=12, n_docs=40), "logistic", sparse_rows=False)
    newton_start(setup.solver, 1e-12, Clock(1e-9))
    assert not setup.solver.state.newton_done
    setup.solver.certify()
    assert np.isfinite(setup.solver.gap)


def test_what_does_not_fit_is_left_to_the_sweeps(monkeypatch) -> None:
    network = set_up(random_case(0, "tree", n_nodes=12), "logistic", sparse_rows=False).network
    assert fits_newton(1000, network)
    assert not fits_newton(10**8, network)
    monkeypatch.setattr(solver, "_MOST_VERTICES", 1)
    assert not fits_newton(10, network)
