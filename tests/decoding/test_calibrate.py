from __future__ import annotations

import numpy as np
import pytest

from linnaeus import Taxonomy, metrics
from linnaeus.decoding.base import hierarchy
from linnaeus.decoding.calibrate import fit_calibrator, platt
from linnaeus.errors import LinnaeusError
from tests.contracts.configurations import taxonomy


def sample(tax: Taxonomy, n_docs: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Documents that go down the taxonomy by chance, and scores of nodes that tell noisily how they went."""
    rng = np.random.default_rng(seed)
    gold = np.zeros((n_docs, tax.n_nodes), dtype=bool)
    edges = hierarchy(tax)
    for v in range(tax.n_nodes):
        above = edges.parent_indices[edges.parent_indptr[v] : edges.parent_indptr[v + 1]]
        if v != tax.root:
            gold[:, v] = gold[:, above].all(axis=1) & (rng.random(n_docs) < 0.5)
    return 2.0 * gold - 1.0 + 1.5 * rng.normal(size=gold.shape), gold


def fitted(tax: Taxonomy, **settings):
    S, gold = sample(tax, 2000)
    return fit_calibrator(S, gold.astype(int), tax, own=True, **settings)


@pytest.mark.parametrize("kind", ["tree", "dag"])
@pytest.mark.parametrize("method", ["isotonic", "platt"])
@pytest.mark.parametrize("coherent", ["project", "min", "product"])
def test_probabilities_are_coherent_and_do_not_depend_on_the_batch(kind: str, method: str, coherent: str) -> None:
    tax = taxonomy(kind)
    curve = fitted(tax, method=method, coherent=coherent)
    S, _ = sample(tax, 50, seed=1)
    P = curve(S, tax, np.arange(tax.n_nodes))
    names = [str(tax.names[v]) for v in curve.nodes]
    assert ((P >= 0) & (P <= 1)).all()
    assert metrics.coherence_violations(P, tax, labels=names, tolerance=0.0) == 0
    alone = np.vstack([curve(row[None], tax, np.arange(tax.n_nodes)) for row in S])
    np.testing.assert_array_equal(P, alone)


@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_probabilities_are_frequencies_at_every_level(method: str) -> None:
    tax = taxonomy()
    curve = fitted(tax, method=method)
    S, gold = sample(tax, 4000, seed=1)
    P = curve(S, tax, np.arange(tax.n_nodes))
    names = [str(tax.names[v]) for v in curve.nodes]
    truth = tax.labels(gold.astype(int))
    for row in metrics.calibration_by_level(truth, P, tax, labels=names):
        assert row["ece"] < 0.07  # the projection moves what was fitted, so it is looked at again
    prior = np.broadcast_to(gold[:, curve.nodes].mean(axis=0), P.shape)
    assert metrics.brier(truth, P, tax, labels=names) < metrics.brier(truth, prior, tax, labels=names)


def test_platt_finds_the_curve_that_made_the_data() -> None:
    rng = np.random.default_rng(0)
    f = rng.normal(3.0, 10.0, size=20_000)
    y = rng.random(len(f)) < 1 / (1 + np.exp(-(0.4 * f - 1.0)))
    a, b = platt(f, y)
    assert a == pytest.approx(0.4, rel=0.05)
    assert b == pytest.approx(-1.0, rel=0.08)


def test_a_node_without_positives_gets_a_small_probability() -> None:
    tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"]])
    S, _ = sample(tax, 300)
    gold = [["AA"] if s > 0 else ["B"] for s in S[:, 0]]
    curve = fit_calibrator(S, gold, tax)
    P = curve(S, tax, np.arange(tax.n_nodes))
    assert P[:, list(curve.nodes).index(tax.index("BA"))].mean() < 0.05
    assert P[:, list(curve.nodes).index(tax.index("AB"))].mean() < 0.05


def test_inner_nodes_without_scores_follow_those_below() -> None:
    tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"]])
    leaves = [tax.index(name) for name in ("AA", "AB", "BA")]
    S, gold = sample(tax, 1000)
    curve = fit_calibrator(S[:, leaves], gold.astype(int), tax, leaves)
    P = curve([[3.0, -3.0, -3.0], [-3.0, 3.0, -3.0], [-3.0, -3.0, 3.0]], tax, leaves)
    at = {str(tax.names[v]): i for i, v in enumerate(curve.nodes)}
    assert (P[:2, at["A"]] > 0.7).all()
    assert P[2, at["A"]] < 0.5


def test_wrong_settings_are_named() -> None:
    tax = Taxonomy.flat("AB")
    with pytest.raises(LinnaeusError, match="method='plat'.*did you mean 'platt'"):
        fit_calibrator([[0.0, 1.0]], [["A"]], tax, method="plat")
