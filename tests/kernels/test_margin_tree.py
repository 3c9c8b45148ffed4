from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus._kernels import dispatch, margin_scores
from linnaeus.models.structured.tree import edge_losses, make_layout, true_edges
from tests.kernels.twins import margin as reference_margin
from tests.strategies import label_sets, taxonomies


@st.composite
def batches(draw: st.DrawFn):
    """A layout, losses and truth of a few documents, their scores and kernel values."""
    tax = draw(taxonomies(kinds=("tree",), max_nodes=6))
    nodes = np.array([v for v in range(tax.n_nodes) if v != tax.root])
    consistent = draw(st.booleans())
    one_top = tax.root is not None or len(tax.tops) == 1
    root = draw(st.sampled_from(["super", "paper"])) if one_top and tax.n_nodes > 1 else "super"
    layout = make_layout(tax, nodes, root, consistent=consistent)
    cost = draw(st.sampled_from(["symmetric", "hierarchical"]))
    truth = true_edges(tax.close(tax.indicator(draw(label_sets(tax)))), layout, tax.root)
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    n_docs = len(truth)
    X = rng.normal(size=(n_docs, 2))
    X[rng.random(n_docs) < 0.2] = 0  # documents of norm 0
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    F = np.zeros((n_docs, layout.width), dtype)
    F[:, : layout.n * layout.columns] = rng.normal(size=(n_docs, layout.n * layout.columns))  # no ties
    loss = edge_losses(layout, rng.random(layout.n), cost)
    return layout, loss, truth, F, X @ X.T, rng.integers(1, 4, size=n_docs) / 2


def turn(kernel, batch, plain, sweeps):
    layout, loss, truth, F, gram, C = batch
    mu = np.zeros((*truth.shape, 4))
    np.put_along_axis(mu, truth[:, :, None].astype(int), C[:, None, None], axis=2)
    F, change, gaps = F.copy(), np.zeros_like(F), np.full(len(C), np.inf)
    rows, limits = np.arange(len(C)), np.full(len(C), sweeps, dtype=np.int32)
    at = layout.parent, layout.size, layout.tied, layout.columns
    kernel.solve_blocks(F, gram, mu, rows, truth, loss, C, *at, limits, 1e-6, plain, change, gaps)
    return mu, F, change, gaps


@settings(max_examples=60)
@given(batches())
def test_a_step_of_conditional_gradient_as_its_twin(batch) -> None:
    exact = batch[3].dtype == np.float64
    fast, slow = (turn(kernel, batch, True, 1) for kernel in (dispatch.best("margin_tree"), reference_margin))
    for ours, expected in zip(fast, slow, strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-9 if exact else 1e-4)


@settings(max_examples=40)
@given(batches())
def test_moves_end_where_those_of_their_twin_do(batch) -> None:
    """On the way the two may part: an exact step leaves labellings equally good, and rounding chooses among them."""
    layout, loss, truth, F, gram, C = batch
    one = layout, loss, truth[:1], F[:1].astype(np.float64), np.maximum(gram[:1, :1], 0.5), C[:1]
    fast, slow = (turn(kernel, one, False, 60) for kernel in (dispatch.best("margin_tree"), reference_margin))
    np.testing.assert_allclose(fast[2], slow[2], atol=1e-2)  # the optimum in D is unique, and the gap below 1e-6 of it
    np.testing.assert_allclose(fast[3], slow[3], atol=1e-9)


@settings(max_examples=60)
@given(batches(), st.booleans())
def test_tables_stay_mixtures_of_labellings(batch, plain) -> None:
    layout, _, _, _, _, C = batch
    mu = turn(dispatch.best("margin_tree"), batch, plain, 5)[0]
    assert (mu >= 0).all()
    np.testing.assert_allclose(mu.sum(axis=2), np.broadcast_to(C[:, None], mu.shape[:2]), atol=1e-9)
    on = mu[:, :, 1] + mu[:, :, 3]
    above = mu[:, :, 2] + mu[:, :, 3]
    inner = layout.parent >= 0
    np.testing.assert_allclose(above[:, inner], on[:, layout.parent[inner]], atol=1e-9)
    if layout.consistent:
        assert not mu[:, inner, 1].any()


@settings(max_examples=40)
@given(batches())
def test_more_sweeps_close_the_gap_of_a_document(batch) -> None:
    layout, loss, truth, F, gram, C = batch
    one = layout, loss, truth[:1], F[:1].astype(np.float64), gram[:1, :1], C[:1]
    _, _, change, gaps = turn(dispatch.best("margin_tree"), one, False, 100)
    again = turn(dispatch.best("margin_tree"), one, False, 0)
    assert gaps[0] == again[3][0]  # the gap is that before the turn
    out = np.empty((1, 1))
    moved = one[3] + gram[0, 0] * change
    margin_scores.slacks(moved, truth[:1], loss, layout.parent, layout.columns, np.ones(1), out)
    assert out[0, 0] >= -1e-9


@settings(max_examples=60)
@given(batches())
def test_slacks_and_margins_are_those_of_all_labellings(batch) -> None:
    layout, loss, truth, F, _, _ = batch
    scales = np.array([1.0, 0.5])
    fast, slow = np.empty((len(F), 2)), np.empty((len(F), 2))
    for module, out in ((margin_scores, fast), (reference_margin, slow)):
        module.slacks(F, truth, loss, layout.parent, layout.columns, scales, out)
    np.testing.assert_allclose(fast, slow, atol=1e-9)
    fast, slow = np.empty((len(F), layout.n)), np.empty((len(F), layout.n))
    for consistent in (True, False) if not layout.consistent else (True,):
        for module, out in ((margin_scores, fast), (reference_margin, slow)):
            module.margins(F, layout.parent, layout.columns, consistent, out)
        np.testing.assert_allclose(fast, slow, atol=1e-9)


def test_losses_held_as_its_twin() -> None:
    rng = np.random.default_rng(0)
    mu, loss = rng.random((3, 5, 4)), rng.random((5, 4, 4))
    truth = rng.integers(0, 4, size=(3, 5)).astype(np.uint8)
    assert margin_scores.losses_held(mu, truth, loss) == pytest.approx(reference_margin.losses_held(mu, truth, loss))
