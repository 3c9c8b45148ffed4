"""Leaves are solved on the documents that matter to them, and nothing is certified without the others."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

from linnaeus import Taxonomy
from linnaeus.data.matrices import prepare_rows
from linnaeus.models.recursive import leaves as leaves_module
from linnaeus.models.recursive import rr
from linnaeus.models.recursive.leaves import ScreenedLeaves, leaf_blocks
from tests.models.recursive.oracles import LOSSES, make_model

N_COLUMNS = 5


def wide(n_docs: int = 600, n_leaves: int = 64, n_features: int = 80) -> tuple[Taxonomy, sparse.csr_array, list[str]]:
    """Eight families of leaves in several blocks: most documents are far from most leaves."""
    rng = np.random.default_rng(0)
    edges = [("R", f"g{i}") for i in range(8)] + [(f"g{i % 8}", f"l{i}") for i in range(n_leaves)]
    topics, groups = rng.random((n_leaves, n_features)) < 0.08, rng.random((8, n_features)) < 0.1
    y = rng.integers(n_leaves, size=n_docs)
    noise = rng.random((3, n_docs, n_features))
    X = topics[y] * noise[0] + 0.5 * groups[y % 8] * noise[1] + (rng.random((n_docs, n_features)) < 0.05) * noise[2]
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    return Taxonomy.from_edges(edges), sparse.csr_array(X.astype(np.float32)), [f"l{i}" for i in y]


def block_of(loss: str, *, dense: bool = False, n_docs: int = 60, dtype: type = np.float64):
    """(leaves, block, centre of all features) of a random problem with links of several weights."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_docs, 12)) * (rng.random((n_docs, 12)) < (1 if dense else 0.4))
    X = X.astype(dtype)
    Y = sparse.csc_array((rng.random((n_docs, N_COLUMNS)) < 0.1).astype(np.int8))
    rows = prepare_rows(X if dense else sparse.csr_array(X), 1.0)
    leaves = ScreenedLeaves(rows, rng.uniform(0.5, 2, n_docs).astype(dtype), loss, 7)
    total, weight = rng.uniform(0.5, 3, N_COLUMNS).astype(dtype), rng.uniform(1, 2, N_COLUMNS).astype(dtype)
    (block,) = leaf_blocks(Y, total, weight)
    centre = np.zeros((leaves.n_features, 16), dtype)
    centre[:, :N_COLUMNS] = 0.3 * rng.normal(size=(leaves.n_features, N_COLUMNS))
    return leaves, leaves.begin(block), centre


@pytest.fixture
def small_sample(monkeypatch):
    monkeypatch.setattr(leaves_module, "SAMPLE", 5)


def test_the_first_candidates_are_the_positive_documents_and_a_sample(small_sample) -> None:
    leaves, block, _ = block_of("hinge")
    assert np.isin(block.positives[0], block.candidates).all()
    assert len(np.unique(block.positives[0])) < len(block.candidates) < 60
    assert len(block.features) <= leaves.n_features
    assert block.features[-1] == leaves.n_features - 1


@pytest.mark.parametrize(("loss", "dense"), [("logistic", False), ("hinge", True)])
def test_where_nothing_can_be_left_out_all_documents_are_used(loss, dense) -> None:
    leaves, block, _ = block_of(loss, dense=dense)
    assert not leaves.screens
    assert block.candidates is None
    assert len(block.alpha) == 60


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_visits_bring_the_leaves_to_their_optimum(loss, dense) -> None:
    leaves, block, centre = block_of(loss, dense=dense)
    pairs = [leaves.screen(block, centre, True).pairs]
    for sweep in range(60):
        leaves.visit(block, centre[block.features], sweep)
        if sweep in (0, 9, 59):
            pairs.append(leaves.screen(block, centre, True).pairs)
            if leaves.screens:
                leaves.screen(block, centre, False)
    assert pairs[0] > pairs[1] > pairs[2] > pairs[3] >= -1e-9
    assert pairs[3] < 0.02 * pairs[1]


@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_measured_is_the_definition(loss) -> None:
    """P, D and the pairs' part of the gap of the leaves' problems, multiplied by S again."""
    leaves, block, centre = block_of(loss)
    for sweep in range(3):
        leaves.visit(block, centre[block.features], sweep)
    found = leaves.screen(block, centre, True)
    X = sparse.csr_array(
        (leaves.rows.data, leaves.rows.indices, leaves.rows.indptr), shape=(60, leaves.rows.n_features)
    ).toarray()
    X = np.hstack([X, np.ones((60, 1))])
    Y = -np.ones((60, N_COLUMNS))
    Y[block.positives] = 1
    S = block.total
    c = leaves.bound[:, None] * np.where(Y > 0, block.positive_weight, 1)
    alpha = np.zeros((60, N_COLUMNS))
    alpha[np.arange(60) if block.candidates is None else block.candidates] = block.alpha[:, :N_COLUMNS]
    alpha *= S
    U = X.T @ (alpha * Y) / S
    T = Y * (X @ (centre[:, :N_COLUMNS] + U))
    Z = np.maximum(0, 1 - T)
    loss_of = {"hinge": c * Z, "squared_hinge": c * Z**2, "logistic": c * np.logaddexp(0, -T)}[loss]
    if loss == "logistic":
        dual = c * np.log(c) - alpha * np.log(alpha) - (c - alpha) * np.log(c - alpha)
    else:
        dual = alpha - (alpha**2 / (4 * c) if loss == "squared_hinge" else 0)
    assert (alpha >= 0).all()
    assert loss == "squared_hinge" or (alpha <= c * (1 + 1e-12)).all()
    assert found.loss == pytest.approx(loss_of.sum())
    assert found.dual == pytest.approx(dual.sum())
    assert found.norm == pytest.approx((S * (U**2).sum(axis=0)).sum())
    assert found.dual_norm == pytest.approx(found.norm)
    assert found.pairs == pytest.approx((loss_of - dual + alpha * T).sum())
    whole = np.zeros_like(centre[:, :N_COLUMNS])
    whole[block.features] = block.U[:, :N_COLUMNS]
    np.testing.assert_allclose(whole, U, atol=1e-12)


def test_measuring_the_candidates_misses_what_the_others_cost(small_sample) -> None:
    leaves, block, centre = block_of("hinge")
    some = leaves.measure(block, centre[block.features])
    every = leaves.screen(block, centre, True)
    assert some.loss < every.loss
    assert some.dual == every.dual


def test_screening_finds_all_that_matter_and_keeps_what_is_in_use(small_sample) -> None:
    leaves, block, centre = block_of("squared_hinge")
    for sweep in range(5):
        leaves.visit(block, centre[block.features], sweep)
    used = block.candidates[block.alpha[:, :N_COLUMNS].any(axis=1)]
    before = {int(i): row.copy() for i, row in zip(block.candidates, block.alpha, strict=True)}
    D = leaves.measure(block, centre[block.features]).dual
    leaves.screen(block, centre, False)
    assert np.isin(used, block.candidates).all()
    assert np.isin(block.positives[0], block.candidates).all()
    for i, row in zip(block.candidates, block.alpha, strict=True):
        np.testing.assert_array_equal(row[:N_COLUMNS], before.get(int(i), np.zeros(16))[:N_COLUMNS])
    assert leaves.measure(block, centre[block.features]).dual == pytest.approx(D)
    assert leaves.measure(block, centre[block.features]).loss == pytest.approx(leaves.screen(block, centre, True).loss)


def test_a_certificate_leaves_the_candidates_alone(small_sample) -> None:
    leaves, block, centre = block_of("hinge")
    before = block.candidates.copy()
    leaves.screen(block, centre, True)
    np.testing.assert_array_equal(block.candidates, before)


def test_the_worst_documents_come_first_ties_or_not(small_sample, monkeypatch) -> None:
    monkeypatch.setattr(leaves_module, "MOST", 8)
    leaves, block, _ = block_of("hinge")
    block.positives = (block.positives[0][:1], block.positives[1][:1])
    block.alpha[:] = 0
    worst = np.repeat(np.float32([2, 1]), 30)
    leaves._renew(block, worst.copy())
    assert len(np.setdiff1d(block.candidates, block.positives[0])) == 8
    assert (worst[np.setdiff1d(block.candidates, block.positives[0])] == 2).all()


def test_a_block_goes_on_from_its_arrays(small_sample) -> None:
    leaves, block, centre = block_of("hinge")
    leaves.visit(block, centre[block.features], 0)
    shipped = pickle.loads(pickle.dumps(block))
    assert shipped.local is None
    arrays = {name: array.copy() for name, array in block.arrays().items()}
    for array in arrays.values():
        array.flags.writeable = False
    resumed = leaves.resume(block, arrays)
    np.testing.assert_allclose(resumed.U, block.U, atol=1e-12)
    resumed.U = block.U.copy()
    for other in (block, shipped, resumed):
        leaves.visit(other, centre[other.features], 1)
    for other in (shipped, resumed):
        np.testing.assert_array_equal(other.alpha, block.alpha)
        np.testing.assert_array_equal(other.U, block.U)


def test_dual_variables_that_cannot_be_written_are_copied() -> None:
    leaves, block, centre = block_of("hinge")
    before = block.alpha.copy()
    before.flags.writeable = False
    block.alpha = before
    leaves.visit(block, centre[block.features], 0)
    assert (before == 0).all()
    assert block.alpha.any()


@pytest.mark.parametrize("setting", [
    {"SAMPLE": 0}, {"SAMPLE": 10**9}, {"MOST": 1, "SAMPLE": 0}, {"MOST": 10**9}, {"SLACK": 1e9}, {"SLACK": 0.0},
    {"SLACK": -0.01, "SAMPLE": 3},
], ids=str)  # fmt: skip
@pytest.mark.parametrize(
    ("loss", "C"), [("hinge", 1.0), ("squared_hinge", 0.01), pytest.param("squared_hinge", 1.0, marks=pytest.mark.slow)]
)
def test_screening_changes_no_optimum(loss, C, setting, monkeypatch) -> None:
    tax, X, y = wide()
    expected = make_model(loss, taxonomy=tax, C=C, tol=1e-4).fit(X, y)
    for name, value in setting.items():
        monkeypatch.setattr(leaves_module, name, value)
    monkeypatch.setattr(rr, "fits_coupled", lambda *_: False)
    found = make_model(loss, taxonomy=tax, C=C, tol=1e-3, max_iter=1000).fit(X, y)
    assert found.duality_gap_ <= 1e-3 * found.objective_
    assert found.objective_ - found.duality_gap_ <= expected.objective_
    assert found.objective_ >= expected.objective_ - expected.duality_gap_
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_thousands_of_equal_documents_are_no_obstacle(loss) -> None:
    tax, X, y = wide(n_docs=200)
    X = sparse.csr_array(sparse.vstack([X, sparse.csr_array((5000, X.shape[1]), dtype=np.float32)]))
    model = make_model(loss, taxonomy=tax, C=1.0, fit_intercept=False, max_iter=200)
    model.fit(X, [*([label] for label in y), *([] for _ in range(5000))])
    assert model.duality_gap_ <= 1e-3 * model.objective_
