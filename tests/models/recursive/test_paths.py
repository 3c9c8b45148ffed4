"""Coordinate descent along the paths to the root: the same optimum as with sweeps of leaves and inner vertices."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from scipy import sparse

from linnaeus import RRSVM, Taxonomy
from linnaeus.models.recursive import paths, rr
from linnaeus.models.recursive.network import lay_out, links_of
from linnaeus.models.recursive.paths import PathSolver, fits_paths
from linnaeus.models.recursive.solver import JointSolver
from tests.models.recursive.oracles import make_model
from tests.models.recursive.test_coupled import problem
from tests.models.recursive.test_resume import Countdown


@pytest.fixture(autouse=True)
def also_few_leaves(monkeypatch) -> None:
    monkeypatch.setattr(paths, "_FEWEST_LEAVES", 0)
    monkeypatch.setattr(rr, "fits_coupled", lambda *_: False)


def fitted(X, y, tax, **settings) -> RRSVM:
    model = make_model("squared_hinge", taxonomy=tax, **settings).fit(X, y)
    assert type(model._joint.solver) is PathSolver
    return model


@pytest.mark.parametrize("C", [0.1, 3.0])
@pytest.mark.parametrize("settings", [{}, {"spawn": "all"}, {"pull": 0.5}, {"fit_intercept": False}])
def test_both_solvers_bound_the_same_optimum(C, settings, monkeypatch) -> None:
    tax, X, y = problem()
    found = fitted(X, y, tax, C=C, tol=1e-4, **settings)
    monkeypatch.setattr(rr, "fits_paths", lambda *_: False)
    other = make_model("squared_hinge", taxonomy=tax, C=C, tol=1e-4, **settings).fit(X, y)
    assert type(other._joint.solver) is JointSolver
    for one, another in ((found, other), (other, found)):
        assert one.duality_gap_ <= 1e-4 * one.objective_
        assert one.objective_ - one.duality_gap_ <= another.objective_
    np.testing.assert_allclose(found.weights_, other.weights_, atol=0.05)


def test_dual_variables_place_the_vertices_at_the_optimum_between_the_leaves() -> None:
    """After a sweep z gives the weights that minimise the regulariser under the leaves' pull."""
    tax, X, y = problem()
    solver = fitted(X, y, tax, tol=0.3)._joint.solver
    inner = solver.inner
    inner.M = np.zeros(inner.path_shape(inner.network, solver.leaves.n_features), np.float32)
    solver.engine, solver.local_engine = (rr.local_engine(rr.get_engine(None, None), None) for _ in range(2))
    for block in solver.blocks:
        solver.leaves.settle(block)
    solver._place()
    solver._sweep()
    for block in solver.blocks:
        solver.leaves.settle(block)
    inner.descend(solver.local_engine)
    energy, least = inner.energy(solver.blocks, solver.local_engine)
    assert energy == pytest.approx(least, rel=1e-4)


def test_threads_change_no_bit() -> None:
    tax, X, y = problem()
    one, two = (fitted(X, y, tax, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.weights_, two.weights_)
    assert (one.objective_, one.duality_gap_) == (two.objective_, two.duality_gap_)


def test_a_warm_start_takes_fewer_sweeps_to_the_optimum_of_another_C() -> None:
    tax, X, y = problem()
    cold = fitted(X, y, tax, C=1.2, tol=1e-3)
    warm = fitted(X, y, tax, C=1.0, tol=1e-3, warm_start=True)
    warm.set_params(C=1.2).fit(X, y)
    assert warm.duality_gap_ <= warm.tol * warm.objective_
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-3)
    assert warm.n_iter_ <= cold.n_iter_


def test_new_documents_and_nodes_lead_to_the_optimum_of_all() -> None:
    tax, X, y = problem(n_docs=400)
    y = ["new" if i > 390 else label for i, label in enumerate(y)]
    edges = [(str(tax.names[p]), str(tax.names[v])) for v in range(tax.n_nodes) for p in tax.parents(v)]
    grown = Taxonomy.from_edges([*edges, ("n2", "new")])
    whole = fitted(X, y, grown, tol=1e-4)
    model = fitted(X[:380], y[:380], tax, tol=1e-4).update(X[380:], y[380:], taxonomy=grown)
    assert type(model._joint.solver) is PathSolver
    assert model.duality_gap_ <= 1e-4 * model.objective_
    assert model.objective_ == pytest.approx(whole.objective_, rel=2e-4)


def test_labels_are_merged_and_removed() -> None:
    tax, X, y = problem()
    expected = fitted(X, ["l8" if label == "l3" else label for label in y], tax, tol=1e-3)
    model = fitted(X, y, tax, tol=1e-3).update(replaced={"l3": "l8"})
    assert model.duality_gap_ <= 1e-3 * model.objective_
    assert model.objective_ == pytest.approx(expected.objective_, rel=2e-3)
    assert "l3" not in model.classes_


def test_fits_that_a_time_limit_stops_add_up_to_the_same_model(tmp_path, monkeypatch) -> None:
    tax, X, y = problem()
    expected = fitted(X, y, tax, tol=1e-5)
    assert expected.n_iter_ > paths._PLACE_EVERY
    limited = make_model("squared_hinge", taxonomy=tax, tol=1e-5, checkpoint=tmp_path / "kept")
    with monkeypatch.context() as patch:
        patch.setattr(rr, "Clock", Countdown)
        for looks in (1, 3, 4, 8, 17):
            Countdown.looks = looks
            with pytest.warns(match="did not converge"):
                limited.fit(X, y)
    for _ in range(2):  # once to the end, once from the finished checkpoint
        limited.fit(X, y)
        np.testing.assert_array_equal(limited.weights_, expected.weights_)
        assert (limited.n_iter_, limited.objective_) == (expected.n_iter_, expected.objective_)
        assert limited.duality_gap_ == expected.duality_gap_


@pytest.mark.parametrize("finished", [True, False])
def test_a_checkpoint_of_the_other_solver_is_continued(finished, tmp_path, monkeypatch) -> None:
    tax, X, y = problem()
    settings = {"taxonomy": tax, "tol": 1e-3, "checkpoint": tmp_path / "kept"}
    with monkeypatch.context() as patch:
        patch.setattr(rr, "fits_paths", lambda *_: False)
        if not finished:
            patch.setattr(rr, "Clock", Countdown)
            patch.setattr(Countdown, "looks", 3)
        with nullcontext() if finished else pytest.warns(match="did not converge"):
            before = make_model("squared_hinge", **settings).fit(X, y)
    after = make_model("squared_hinge", **settings).fit(X, y)
    assert type(before._joint.solver) is JointSolver
    assert type(after._joint.solver) is PathSolver
    assert after.duality_gap_ <= 1e-3 * after.objective_
    if finished:
        np.testing.assert_array_equal(after.weights_, before.weights_)


def test_only_many_leaves_with_short_paths_are_solved_along_paths(monkeypatch) -> None:
    tax, X, y = problem()
    nodes = np.array([tax.index(name) for name in sorted(set(y))])
    network = lay_out(links_of(tax, nodes), np.float32)[2]
    assert fits_paths(X, "squared_hinge", network)
    assert not fits_paths(X, "hinge", network)
    assert not fits_paths(X.toarray(), "squared_hinge", network)
    assert not fits_paths(sparse.csr_array(X.astype(np.float64)), "squared_hinge", network)
    monkeypatch.setattr(paths, "_MOST_ABOVE", 1)
    assert not fits_paths(X, "squared_hinge", network)
    monkeypatch.setattr(paths, "_MOST_ABOVE", 100)
    monkeypatch.setattr(paths, "_FEWEST_LEAVES", 21)
    assert not fits_paths(X, "squared_hinge", network)


def test_prior_weights_of_leaves_lead_to_the_same_optimum(monkeypatch) -> None:
    tax, X, y = problem()
    texts = sparse.random_array((tax.n_nodes, X.shape[1]), density=0.1, rng=np.random.default_rng(1), dtype=np.float32)
    prior, objectives = sparse.csr_array(texts), []
    for fits in (rr.fits_paths, lambda *_: False):
        monkeypatch.setattr(rr, "fits_paths", fits)
        model = make_model("squared_hinge", taxonomy=tax, tol=1e-4)
        fit_joint = model._fit_joint
        model._fit_joint = lambda problem, fit_joint=fit_joint: fit_joint(problem, prior=prior)
        model.fit(X, y)
        assert model.duality_gap_ <= 1e-4 * model.objective_
        objectives.append((type(model._joint.solver), model.objective_))
    assert [kind for kind, _ in objectives] == [PathSolver, JointSolver]
    assert objectives[0][1] == pytest.approx(objectives[1][1], rel=2e-4)
