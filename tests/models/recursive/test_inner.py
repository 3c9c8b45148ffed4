"""Inner vertices go to their exact optimum between the leaves, whatever runs where."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus.engine import get_engine
from linnaeus.models.recursive import network as network_module
from linnaeus.models.recursive import solver as inner_module
from linnaeus.models.recursive.solver import InnerWeights, entries_at
from linnaeus.models.solvers.dual_cd import PANEL
from tests.models.recursive.oracles import KINDS, Setup, links_matrix, random_case, set_up


def moved(kind: str, seed: int = 0, n_features: int = 40, dtype: type = np.float64) -> Setup:
    """Random inner weights, and leaves that differ from their centres in every feature."""
    case = random_case(seed, kind, n_nodes=40, n_docs=30, n_features=n_features)
    setup = set_up(case, "squared_hinge", dtype=dtype)
    rng = np.random.default_rng(seed)
    inner = setup.solver.inner
    inner.M[:], inner.solved[:] = rng.normal(size=inner.M.shape), rng.normal(size=inner.M.shape)
    for block in setup.solver.blocks:
        block.features = np.arange(setup.leaves.n_features, dtype=np.int32)
        block.U = np.zeros((len(block.features), PANEL), dtype)
        block.U[:, : block.n_columns] = rng.normal(size=(len(block.features), block.n_columns))
    return setup


def leaf_weights(setup: Setup, *, solved: bool) -> np.ndarray:
    """features x leaves."""
    parts = []
    for block in setup.solver.blocks:
        centre = setup.solver.inner.centres(block.columns, block.features, solved=solved)
        parts.append((centre + block.U)[:, : block.n_columns])
    return np.hstack(parts)


def inner_weights(M: np.ndarray, n_features: int) -> np.ndarray:
    """features x inner vertices."""
    return M.transpose(0, 2, 1).reshape(-1, M.shape[1])[:n_features]


@pytest.mark.parametrize("kind", ["tree", "forest"])
def test_a_step_solves_the_linear_system_of_a_tree(kind) -> None:
    setup = moved(kind)
    inner, d = setup.solver.inner, setup.leaves.n_features
    W = leaf_weights(setup, solved=False)
    A, k = links_matrix(setup.links), setup.network.n_inner
    inner.step(setup.solver.blocks, 0.0, get_engine(None, 1))
    expected = np.linalg.solve(A[:k, :k], -A[:k, k:] @ W.T).T
    np.testing.assert_allclose(inner_weights(inner.solved, d), expected, atol=1e-10)
    np.testing.assert_array_equal(inner.M, inner.solved)


@pytest.mark.parametrize("kind", ["dag", "graph"])
def test_a_step_never_raises_the_regulariser(kind) -> None:
    """Leaves with several parents are met half-way: the step minimises an upper bound that touches at the start."""
    setup = moved(kind, seed=3)
    inner, d = setup.solver.inner, setup.leaves.n_features
    W, A = leaf_weights(setup, solved=False), links_matrix(setup.links)
    before = np.hstack([inner_weights(inner.M, d), W])
    inner.step(setup.solver.blocks, 0.0, get_engine(None, 1))
    after = np.hstack([inner_weights(inner.M, d), W])
    P = [float(np.einsum("fu,uv,fv->", Z, A, Z)) for Z in (before, after)]
    assert P[1] < P[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_iterated_steps_and_factored_energies_are_those_of_an_elimination(kind, dtype, monkeypatch) -> None:
    found = []
    for most in (np.inf, -1):  # pairs per edge: elimination, then iteration
        monkeypatch.setattr(network_module, "_LARGE_FILL", most)
        monkeypatch.setattr(inner_module, "_TOLERANCE", 1e-20 if dtype is np.float64 else 1e-12)
        setup = moved(kind, seed=2, dtype=dtype)
        for block in setup.solver.blocks:
            block.U[np.random.default_rng(block.number).random(block.U.shape) < 0.6] = 0
        inner, engine = setup.solver.inner, get_engine(None, 1)
        used = np.arange(len(inner.M) * PANEL).reshape(-1, 1, PANEL) < setup.leaves.n_features
        inner.M *= used
        inner.solved *= used
        assert setup.network.large_fill == (most < 0)
        uphill = inner.step(setup.solver.blocks, 0.3, engine)
        found.append((uphill, inner.energy(setup.solver.blocks, engine), inner.M * used, inner.solved * used))
    tolerance = {"rtol": 1e-9, "atol": 1e-9} if dtype is np.float64 else {"rtol": 2e-4, "atol": 2e-4}
    for expected, iterated in zip(*found, strict=True):
        np.testing.assert_allclose(iterated, expected, **tolerance)


def test_momentum_goes_on_in_the_direction_of_the_last_move() -> None:
    plain, fast = moved("dag"), moved("dag")
    old = plain.solver.inner.solved.copy()
    uphill = plain.solver.inner.step(plain.solver.blocks, 0.0, get_engine(None, 1))
    M = fast.solver.inner.M.copy()
    assert fast.solver.inner.step(fast.solver.blocks, 0.5, get_engine(None, 1)) == pytest.approx(uphill)
    x = plain.solver.inner.solved
    np.testing.assert_array_equal(fast.solver.inner.solved, x)
    np.testing.assert_allclose(fast.solver.inner.M, x + 0.5 * (x - old), atol=1e-12)
    assert uphill == pytest.approx(float(((M - x) * (x - old)).sum()))


@pytest.mark.parametrize("kind", KINDS)
def test_energies_are_those_of_dense_matrices(kind) -> None:
    setup = moved(kind, seed=1)
    inner, d = setup.solver.inner, setup.leaves.n_features
    inner.solved[:, :, :] *= np.arange(len(inner.M) * PANEL).reshape(-1, 1, PANEL) < d
    A, k = links_matrix(setup.links), len(setup.links.inner)
    energy, least = inner.energy(setup.solver.blocks, get_engine(None, 1))
    Z = inner_weights(inner.solved, d)
    centres = np.hstack(
        [inner.centres(b.columns, b.features, solved=True)[:, : b.n_columns] for b in setup.solver.blocks]
    )
    whole = np.hstack([Z, centres])  # leaves at their centres add nothing beyond the meshes
    assert energy == pytest.approx(0.5 * np.einsum("fu,uv,fv->", whole, A, whole))
    V = np.hstack([b.U[:, : b.n_columns] for b in setup.solver.blocks]) * setup.network.leaf_total
    K = np.linalg.inv(A)[k:, k:]
    own = 0.5 * float((V**2 / setup.network.leaf_total).sum())
    assert least == pytest.approx(0.5 * np.einsum("fm,mn,fn->", V, K, V) - own)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_no_bit(dtype) -> None:
    found = []
    for n_jobs in (1, 2, 3):
        setup = moved("dag", n_features=300, dtype=dtype)
        inner = setup.solver.inner
        uphill = inner.step(setup.solver.blocks, 0.3, get_engine(None, n_jobs))
        found.append((uphill, inner.energy(setup.solver.blocks, get_engine(None, n_jobs)), inner.M, inner.solved))
    for other in found[1:]:
        assert other[:2] == found[0][:2]
        np.testing.assert_array_equal(other[2], found[0][2])
        np.testing.assert_array_equal(other[3], found[0][3])


def test_all_vertices_can_start_at_the_same_weights() -> None:
    setup = moved("tree")
    inner, shared = setup.solver.inner, np.arange(1.0, setup.leaves.n_features + 1)
    inner.start_from(shared)
    for vertex in range(setup.network.n_inner):
        np.testing.assert_array_equal(inner.of(vertex)[: len(shared)], shared)
        assert (inner.of(vertex)[len(shared) :] == 0).all()
    columns = setup.solver.blocks[0].columns
    centres = inner.centres(columns, np.array([4, 0], np.int32))
    np.testing.assert_allclose(centres[:, : len(columns)], np.repeat([[5.0], [1.0]], len(columns), axis=1))


def test_the_panels_hold_all_features() -> None:
    network = moved("tree").network
    for n_features, panels in ((1, 1), (16, 1), (17, 2)):
        assert InnerWeights.shape(network, n_features) == (panels, network.n_inner, PANEL)


def test_all_vertices_can_move_by_the_same_way() -> None:
    setup = moved("dag", dtype=np.float32)
    inner, way = setup.solver.inner, np.arange(setup.leaves.n_features, dtype=np.float32)
    before = inner_weights(inner.M, len(way)), inner_weights(inner.solved, len(way))
    inner.shift(way)
    for old, new in zip(before, (inner.M, inner.solved), strict=True):
        np.testing.assert_allclose(inner_weights(new, len(way)), old + way[:, None], rtol=1e-6)


def test_the_pull_to_zero_is_that_of_the_anchors() -> None:
    setup = moved("graph", seed=2)
    inner = setup.solver.inner
    pull, anchor = inner.pulled(setup.leaves.n_features)
    assert anchor == pytest.approx(sum(setup.links.anchor))
    np.testing.assert_allclose(pull, inner_weights(inner.solved, len(pull)) @ setup.links.anchor)


@pytest.mark.parametrize("n_features", [1, 5, 40])
def test_entries_of_rows_are_found_however_many_features_are_asked_for(n_features: int) -> None:
    rng = np.random.default_rng(n_features)
    P = sparse.random_array((6, 50), density=0.3, format="csr", rng=rng)
    P.data[:] = np.arange(1, P.nnz + 1)
    P.sort_indices()
    features = np.sort(rng.choice(50, n_features, replace=False))
    leaves = np.array([4, 0, 2])
    made = np.zeros((3, n_features))
    for row, at, entries in entries_at(sparse.csr_array(P), leaves, features):
        made[row, at] = P.data[entries]
    np.testing.assert_array_equal(made, P.toarray()[leaves][:, features])
