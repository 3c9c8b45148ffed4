from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.decoding.probability.coherence import lowered, smoothed
from tests.decoding.oracles import closed_sets, exact_scores, parents_of
from tests.strategies import taxonomies


def max_min(tax: Taxonomy, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """z_v = max over closed U with v of min over lower sets L with v of the mean of U & L."""
    nodes = frozenset(v for v in range(tax.n_nodes) if v != tax.root)
    uppers = closed_sets(tax)
    lowers = [nodes - u for u in uppers]
    z = np.zeros(tax.n_nodes)

    def mean(members: frozenset[int]) -> float:
        inside = list(members)
        return float((w[inside] * x[inside]).sum() / w[inside].sum())

    for v in nodes:
        z[v] = max(min(mean(u & low) for low in lowers if v in low) for u in uppers if v in u)
    return z


@settings(max_examples=150)
@given(st.data())
def test_smoothing_is_the_max_min_formula(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(max_nodes=6))
    columns = [v for v in range(tax.n_nodes) if v != tax.root]
    if not columns:
        return
    X = data.draw(exact_scores(len(columns), max_docs=2))
    w = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(columns), max_size=len(columns))), dtype=float)
    Z = smoothed(X, tax, columns, w)
    for x, z in zip(X, Z, strict=True):
        full, mass = np.zeros(tax.n_nodes), np.ones(tax.n_nodes)
        full[columns], mass[columns] = x, w
        np.testing.assert_allclose(z, max_min(tax, full, mass)[columns], atol=1e-7)


@settings(max_examples=60)
@given(st.data())
def test_smoothed_values_are_coherent_and_no_farther_from_the_truth(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(max_nodes=25))
    X = np.random.default_rng(data.draw(st.integers(0, 999))).random((5, tax.n_nodes))
    Z = smoothed(X, tax)
    for v in range(tax.n_nodes):
        for p in parents_of(tax, v):
            assert (Z[:, v] <= Z[:, p]).all()
    gold = tax.close(tax.indicator([[str(tax.names[v])] for v in range(min(5, tax.n_nodes))]), keep_root=False)
    Y = gold.toarray()
    free = [v for v in range(tax.n_nodes) if v != tax.root]
    before, after = (((V[: len(Y)] - Y)[:, free] ** 2).sum(axis=1) for V in (X, Z))
    assert (after <= before + 1e-9).all()
    np.testing.assert_allclose(smoothed(Z, tax), Z, atol=1e-9)


def test_rows_do_not_depend_on_their_batch(diamond: Taxonomy, abc: Taxonomy) -> None:
    for tax in (diamond, abc):
        X = np.random.default_rng(0).random((20, tax.n_nodes))
        assert (smoothed(X, tax) == np.vstack([smoothed(row[None], tax) for row in X])).all()


def test_lowered_values_are_minima_over_ancestors(diamond: Taxonomy) -> None:
    X = np.random.default_rng(0).random((10, diamond.n_nodes))
    Z = lowered(X, diamond)
    for v in range(diamond.n_nodes):
        assert (Z[:, v] == X[:, diamond.ancestors(v)].min(axis=1)).all()
