"""CorrMNL as a model: chains, diagnostics, probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from linnaeus import CorrMNL, Taxonomy, calibrate
from linnaeus.errors import LinnaeusError
from linnaeus.models.bayes.corr_mnl import PathSum
from linnaeus.models.label_tree import label_tree
from tests.models.bayes.test_hblr import images


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_chains_agree_and_threads_change_nothing() -> None:
    X, y, tax = images(n_docs=80)
    settings = {"n_iter": 300, "burn_in": 100, "n_chains": 2, "random_state": 0}
    model = CorrMNL(tax, **settings).fit(X, y)
    assert np.median(model.r_hat_) < 1.2
    assert (model.effective_sample_size_ > 5).all()
    assert ((model.acceptance_ > 0.4) & (model.acceptance_ <= 1)).all()
    assert model.samples_.shape == (200, 5, 7)
    again = CorrMNL(tax, n_jobs=2, **settings).fit(X, y)
    np.testing.assert_array_equal(model.samples_, again.samples_)


def test_probabilities_are_means_over_samples() -> None:
    X, y, tax = images(n_docs=60)
    model = CorrMNL(tax, random_state=0).fit(X, y)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    S = np.einsum("ij,snj->isn", np.hstack([X, np.ones((60, 1))]), model.samples_)
    E = np.exp(S - S.max(axis=2, keepdims=True))
    np.testing.assert_allclose(P, (E / E.sum(axis=2, keepdims=True)).mean(axis=1), atol=1e-6)
    assert (model.classes_[P.argmax(axis=1)] == model.predict(X)).all()
    assert model.score(X, y) > 0.7


def test_chains_that_disagree_are_told() -> None:
    X, y, tax = images(n_docs=60)
    with pytest.warns(ConvergenceWarning, match="R-hat"):
        CorrMNL(tax, n_iter=8, burn_in=2, n_chains=3, n_leapfrog=1, random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"burn_in": 300}, "less than n_iter=300"), ({"tau_prior": (1.0,)}, "shape and rate"), ({"n_chains": 0}, "n_ch")],
)
def test_wrong_parameters_are_named(settings, message) -> None:
    X, y, tax = images(n_docs=30)
    with pytest.raises(LinnaeusError, match=message):
        CorrMNL(tax, **settings).fit(X, y)


def test_a_time_limit_ends_chains_and_leaves_draws() -> None:
    X, y, tax = images(n_docs=60)
    model = CorrMNL(tax, n_iter=100_000, burn_in=50_000, n_samples=10_000, max_time=0.3, random_state=0).fit(X, y)
    assert 1 < model.n_iter_ < 100_000
    assert len(model.samples_) >= 1
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_calibrated_probabilities_are_answered() -> None:
    X, y, tax = images(n_docs=120)
    model = CorrMNL(tax, n_iter=60, burn_in=20, random_state=0).fit(X[:60], y[:60])
    plain = model.predict_proba(X)
    calibrate(model, X[60:], y[60:][::-1], cv=None)  # labels of other documents: the curves must be flat
    assert np.abs(model.predict_proba(X) - plain).max() > 0.1


def two_levels(n_docs: int, n_features: int) -> tuple[Taxonomy, np.ndarray, list[str]]:
    """Nine leaves in three families, drawn from the model itself."""
    rng = np.random.default_rng(0)
    leaves = [a + b for a in "ABC" for b in "ABC"]
    tax = Taxonomy.from_edges([("Root", a) for a in "ABC"] + [(leaf[0], leaf) for leaf in leaves])
    above, own = rng.normal(size=(3, n_features)), 0.3 * rng.normal(size=(9, n_features))
    X = rng.normal(size=(n_docs, n_features))
    scores = X @ (np.repeat(above, 3, axis=0) + own).T + rng.gumbel(size=(n_docs, 9))
    return tax, X, [leaves[k] for k in scores.argmax(axis=1)]


def test_gradients_of_scales_and_branches_are_those_of_their_energy() -> None:
    tax, X, y = two_levels(20, 2)
    nodes = np.flatnonzero(np.isin(tax.names, sorted(set(y))))
    tree = label_tree(tax, nodes)
    target = np.array([np.flatnonzero(tax.names[nodes] == label)[0] for label in y])
    posterior = PathSum(X, target, np.ones(len(X)), tree, (1.0, 0.1), (2.0, 1.0))
    rng = np.random.default_rng(1)
    t, eps = 0.3 * rng.normal(size=len(tree.inner) + 2), rng.normal(size=(tree.n_vertices - 1, 2))
    _, gradient = posterior.scales_energy(t, eps)
    for i, unit in enumerate(1e-5 * np.eye(len(t))):
        above, below = (posterior.scales_energy(t + sign * unit, eps)[0] for sign in (1, -1))
        assert gradient[i] == pytest.approx((above - below) / 2e-5, rel=1e-5, abs=1e-5)
    q = np.append(t, eps)
    value, gradient = posterior.joint_energy(q)
    assert value == pytest.approx(posterior.scales_energy(t, eps)[0] + 0.5 * (eps**2).sum())
    for i, unit in enumerate(1e-5 * np.eye(len(q))):
        above, below = (posterior.joint_energy(q + sign * unit)[0] for sign in (1, -1))
        assert gradient[i] == pytest.approx((above - below) / 2e-5, rel=1e-5, abs=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_scales_of_four_chains_agree() -> None:
    """At 300 iterations draws given the branches alone have 65 effective draws of 800; a joint move has 160."""
    tax, X, y = two_levels(80, 6)
    model = CorrMNL(tax, n_iter=300, burn_in=100, n_chains=4, random_state=0).fit(X, y)
    n_scales = 4 + 7  # inner vertices; features and the constant
    assert model.r_hat_.max() < 1.1
    assert model.effective_sample_size_[:n_scales].min() > 120
