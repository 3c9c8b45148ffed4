from __future__ import annotations

import numpy as np
import pytest

from linnaeus import Taxonomy, metrics
from linnaeus.decoding.base import hierarchy
from linnaeus.decoding.probability.coherence import lifted
from linnaeus.decoding.probability.curves import fit_calibrator, offsets, platt, platt_columns
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


def sampling_error(n_fitted: int, n_tested: int, n_bins: int = 15) -> float:
    """What the expected calibration error of a right curve comes to by chance, at most, in the mean.

    A bin of n documents has a mean absolute error of sqrt(2 / pi) sqrt(p (1 - p) / n) <= 0.4 / sqrt(n); weighted by the
    shares of the bins that is at most 0.4 sqrt(n_bins / N). It counts twice: where the curve was fitted, where tested.
    """
    return 0.4 * (np.sqrt(n_bins / n_fitted) + np.sqrt(n_bins / n_tested))


@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_probabilities_are_frequencies_at_every_level(method: str) -> None:
    tax, n_docs = taxonomy(), 8000
    S, gold = sample(tax, n_docs)
    curve = fit_calibrator(S, gold.astype(int), tax, own=True, method=method)
    S, gold = sample(tax, n_docs, seed=1)
    P = curve(S, tax, np.arange(tax.n_nodes))
    alone = curve._curves(lifted(S, tax, np.arange(tax.n_nodes), own=True)[:, curve.nodes])
    names, depth = [str(tax.names[v]) for v in curve.nodes], tax.depth[curve.nodes]
    truth = tax.labels(gold.astype(int))
    for bare, row in zip(
        metrics.calibration_by_level(truth, alone, tax, labels=names),
        metrics.calibration_by_level(truth, P, tax, labels=names),
        strict=True,
    ):
        own = depth == row["level"]
        bound = sampling_error(n_docs, n_docs * int(own.sum()))
        assert bare["ece"] < bound < 0.03
        # Scores of parent and child err independently here, so that values disagree however many documents there are:
        # the projection moves them by 0.035 in the mean, and that much calibration it may cost.
        assert row["ece"] < bound + np.abs(P - alone)[:, own].mean()
        assert row["brier"] <= bare["brier"]  # what it cannot cost
    prior = np.broadcast_to(gold[:, curve.nodes].mean(axis=0), P.shape)
    assert metrics.brier(truth, P, tax, labels=names) < metrics.brier(truth, prior, tax, labels=names)


def test_platt_finds_the_curve_that_made_the_data() -> None:
    rng = np.random.default_rng(0)
    f = rng.normal(3.0, 10.0, size=20_000)
    y = rng.random(len(f)) < 1 / (1 + np.exp(-(0.4 * f - 1.0)))
    a, b = platt(f, y)
    assert a == pytest.approx(0.4, rel=0.05)
    assert b == pytest.approx(-1.0, rel=0.08)


def test_curves_of_many_nodes_at_once_are_those_of_largest_likelihood(monkeypatch) -> None:
    from scipy.optimize import minimize

    monkeypatch.setattr("linnaeus.decoding.probability.curves._PAIRS", 300)  # blocks of three nodes
    rng = np.random.default_rng(0)
    F = rng.normal(size=(100, 7)) * 3.0 ** np.arange(-3, 4) + np.arange(7)
    Y = rng.random(F.shape) < 1 / (1 + np.exp(-(F - F.mean(axis=0)) / F.std(axis=0)))
    use = rng.random(F.shape) < 0.8
    slope, offset = platt_columns(F, Y, use)
    pulled = platt_columns(F, Y, use, (np.ones(7), np.zeros(7)), 5.0)
    for j in range(7):
        f, y = F[use[:, j], j], Y[use[:, j], j]
        t = np.where(y, (y.sum() + 1) / (y.sum() + 2), 1 / ((~y).sum() + 2))
        mean, deviation = f.mean(), f.std()

        def loss(w, t=t, z=(f - mean) / deviation, tau=0.0, at=0.0):
            m = w[0] * z + w[1]
            return np.logaddexp(0.0, m).sum() - (t * m).sum() + 0.5 * tau * ((w - at) ** 2).sum()

        a, b = minimize(loss, np.zeros(2), tol=1e-12).x
        assert [slope[j], offset[j]] == pytest.approx([a / deviation, b - a * mean / deviation], rel=1e-4, abs=1e-4)
        at = np.array([deviation, mean])
        a, b = minimize(lambda w, y=y, at=at: loss(w, y.astype(float), tau=5.0, at=at), at, tol=1e-12).x
        expected = [a / deviation, b - a * mean / deviation]
        assert [pulled[0][j], pulled[1][j]] == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_offsets_give_curves_the_share_that_is_asked_for() -> None:
    rng = np.random.default_rng(0)
    F = rng.normal(size=(200, 5)) * [0.01, 1.0, 5.0, 100.0, 1.0]
    use = rng.random(F.shape) < 0.7
    use[:, 4] = False
    share = np.array([0.001, 0.3, 0.9, 0.2, 0.25])
    b = offsets(F, use, np.ones(5), share)
    P = 1 / (1 + np.exp(-np.clip(F + b, -500, 500)))
    assert [P[use[:, j], j].mean() for j in range(4)] == pytest.approx(share[:4], rel=1e-6)
    assert b[4] == pytest.approx(np.log(0.25 / 0.75))


def test_nodes_with_few_positives_take_the_slope_of_their_level_and_the_share_of_all_documents() -> None:
    tax = Taxonomy.flat([f"n{k}" for k in range(6)])
    rng = np.random.default_rng(0)
    S = rng.normal(size=(2_000, 6))
    gold = rng.random(S.shape) < 1 / (1 + np.exp(-2 * (S - 1)))
    gold[:, 5] &= rng.random(2_000) < 0.01
    shares = np.full(tax.n_nodes, 0.2)
    shares[tax.index("n5")] = 0.002
    curve = fit_calibrator(
        S, gold.astype(int), tax, [tax.index(f"n{k}") for k in range(6)], method="platt", shares=shares
    )
    at = list(curve.nodes).index(tax.index("n5"))
    assert curve.slope[:at].mean() == pytest.approx(2.0, rel=0.15)
    assert curve.slope[at] == pytest.approx(2.0, rel=0.35)


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
    S, gold = sample(tax, 20_000)  # of 1,000 documents about 20 score 3 or more: a standard error of 0.07
    curve = fit_calibrator(S[:, leaves], gold.astype(int), tax, leaves)
    P = curve([[3.0, -3.0, -3.0], [-3.0, 3.0, -3.0], [-3.0, -3.0, 3.0]], tax, leaves)
    at = {str(tax.names[v]): i for i, v in enumerate(curve.nodes)}
    assert (P[:2, at["A"]] > 0.85).all()  # 0.9 in the limit
    assert P[2, at["A"]] < 0.5


def test_wrong_settings_are_named() -> None:
    tax = Taxonomy.flat("AB")
    with pytest.raises(LinnaeusError, match="method='plat'.*did you mean 'platt'"):
        fit_calibrator([[0.0, 1.0]], [["A"]], tax, method="plat")
