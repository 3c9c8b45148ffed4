"""Coordinate descent on the dual of the whole problem: the same optimum as with sweeps of leaves and inner vertices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus import RRSVM, OneVsRestSVM, Taxonomy
from linnaeus.models.recursive import coupled, rr
from linnaeus.models.recursive.coupled import CoupledLeaves, CoupledSolver, fits_coupled
from linnaeus.models.recursive.leaves import ScreenedLeaves
from linnaeus.models.recursive.network import lay_out, links_of
from tests.models.recursive.oracles import make_model

LOSSES = ("squared_hinge", "logistic")


@pytest.fixture(autouse=True)
def also_few_documents(monkeypatch) -> None:
    monkeypatch.setattr(coupled, "_FEWEST_DOCUMENTS", 0)


def problem(seed: int = 0, n_docs: int = 300, n_features: int = 60):
    """Twenty leaves under five nodes, one of them under two: a DAG, in two blocks."""
    rng = np.random.default_rng(seed)
    edges = [("Root", f"n{i}") for i in range(5)] + [(f"n{i % 5}", f"l{i}") for i in range(20)] + [("n1", "l0")]
    X = sparse.random_array((n_docs, n_features), density=0.1, rng=rng, dtype=np.float32, format="csr")
    return Taxonomy.from_edges(edges), X, [f"l{i}" for i in rng.integers(20, size=n_docs)]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.1, 3.0])
def test_both_solvers_bound_the_same_optimum(loss, C, monkeypatch) -> None:
    tax, X, y = problem()
    found = make_model(loss, taxonomy=tax, C=C, tol=1e-4).fit(X, y)
    assert isinstance(found._joint.solver, CoupledSolver)
    monkeypatch.setattr(rr, "fits_coupled", lambda *_: False)
    other = make_model(loss, taxonomy=tax, C=C, tol=1e-4).fit(X, y)
    assert type(other._joint.solver.leaves) is ScreenedLeaves
    for one, another in ((found, other), (other, found)):
        assert one.duality_gap_ <= 1e-4 * one.objective_
        assert one.objective_ - one.duality_gap_ <= another.objective_
    np.testing.assert_allclose(found.weights_, other.weights_, atol=0.05)


@pytest.mark.parametrize("loss", LOSSES)
def test_features_without_documents_have_no_weights(loss) -> None:
    tax, X, y = problem()
    wide = sparse.csr_array(sparse.hstack([sparse.csr_array((X.shape[0], 7), dtype=np.float32), X]))
    expected, found = (make_model(loss, taxonomy=tax).fit(matrix, y) for matrix in (X, wide))
    assert not found.weights_[:7].any()
    np.testing.assert_array_equal(found.weights_[7:], expected.weights_)


@pytest.mark.parametrize("loss", LOSSES)
def test_threads_change_no_bit(loss) -> None:
    tax, X, y = problem()
    one, two = (make_model(loss, taxonomy=tax, n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.weights_, two.weights_)
    assert (one.objective_, one.duality_gap_) == (two.objective_, two.duality_gap_)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_warm_start_takes_fewer_sweeps_to_the_optimum_of_another_C(loss) -> None:
    tax, X, y = problem()
    cold = make_model(loss, taxonomy=tax, C=1.2, tol=1e-3).fit(X, y)
    warm = make_model(loss, taxonomy=tax, C=1.0, tol=1e-3, warm_start=True).fit(X, y)
    warm.set_params(C=1.2).fit(X, y)
    assert warm.duality_gap_ <= warm.tol * warm.objective_
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-3)
    assert warm.n_iter_ <= cold.n_iter_


def test_only_sparse_documents_with_a_smooth_loss_and_few_vertices_are_coupled() -> None:
    tax, X, y = problem()
    nodes = np.array([tax.index(name) for name in sorted(set(y))])
    network = lay_out(links_of(tax, nodes), np.float32)[2]
    assert fits_coupled(X, "logistic", network)
    assert fits_coupled(X, "squared_hinge", network)
    assert not fits_coupled(X, "hinge", network)
    assert not fits_coupled(X.toarray(), "logistic", network)
    many = sparse.csr_array((10**7, X.shape[1]), dtype=np.float32)
    assert not fits_coupled(many, "logistic", network)


def test_the_squared_hinge_of_few_documents_is_screened(monkeypatch) -> None:
    monkeypatch.setattr(coupled, "_FEWEST_DOCUMENTS", 301)
    tax, X, y = problem()
    assert type(make_model("squared_hinge", taxonomy=tax).fit(X, y)._joint.solver.leaves) is ScreenedLeaves
    assert isinstance(make_model("logistic", taxonomy=tax).fit(X, y)._joint.solver.leaves, CoupledLeaves)


def test_a_block_with_candidates_is_resumed_over_all_documents() -> None:
    tax, X, y = problem()
    solver = make_model("squared_hinge", taxonomy=tax).fit(X, y)._joint.solver
    leaves, block = solver.leaves, solver.blocks[0]
    assert isinstance(leaves, CoupledLeaves)
    rows = np.flatnonzero(block.alpha.any(axis=1)).astype(np.int32)
    resumed = leaves.resume(block, {"alpha": block.alpha[rows], "candidates": rows})
    np.testing.assert_array_equal(resumed.alpha, block.alpha)
    np.testing.assert_array_equal(resumed.U, block.dual_U)


def test_a_measure_moves_constants_to_their_optimum_and_a_sweep_goes_on_from_the_dual_variables() -> None:
    tax, X, y = problem()
    solver = make_model("squared_hinge", taxonomy=tax).fit(X, y)._joint.solver
    leaves, inner, block = solver.leaves, solver.inner, solver.blocks[0]
    centre = inner.centres(block.columns, block.features, solved=True)
    measured = leaves.measure(block, centre)
    best = measured.loss + 0.5 * measured.norm
    assert (block.U[-1, : block.n_columns] != block.dual_U[-1, : block.n_columns]).any()
    W = centre + block.U
    assert np.abs(leaves._best_constant(block, W)).max() < 1e-3
    plain = ScreenedLeaves.measure(leaves, block, centre)
    assert best < plain.loss + 0.5 * plain.norm
    of_dual_variables = block.U.copy()
    leaves.measure(block, centre)
    solver._settle()
    np.testing.assert_array_equal(block.U, of_dual_variables)
    assert block.measured_dual is None


@pytest.mark.parametrize("kind", [RRSVM, OneVsRestSVM])
def test_documents_sorted_by_label_take_about_as_many_passes_as_others(kind) -> None:
    """Neighbours of the same label, visited together, would undo one another's steps by the constant they share."""
    rng, n = np.random.default_rng(0), 2048
    label = np.sort(rng.integers(20, size=n))
    words = (40 * label[:, None] + rng.integers(40, size=(n, 8))).ravel()
    own = sparse.csr_array((np.ones(8 * n, np.float32), (np.repeat(np.arange(n), 8), words)), shape=(n, 800))
    shared = sparse.random_array((n, 400), density=0.1, rng=rng, dtype=np.float32, format="csr")
    X = sparse.csr_array(sparse.hstack([own, shared]))
    X = sparse.csr_array(X / np.sqrt(X.multiply(X).sum(axis=1))[:, None]).astype(np.float32)
    tax, _, _ = problem()
    mixed = rng.permutation(n)
    in_order, in_disorder = (
        kind(tax, random_state=0).fit(X[rows], [f"l{i}" for i in label[rows]]).n_iter_ for rows in (np.arange(n), mixed)
    )
    assert in_order <= 1.4 * in_disorder
