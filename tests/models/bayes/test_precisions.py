"""Who owns a precision, and that the quick iteration ends where the plain one does."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus.models.bayes.precisions import LEAST_PRECISION, MODELS, Owners
from linnaeus.models.bayes.stages import inner_stiffness
from tests.models.bayes.worked import TREE, ones


def test_owners_are_inner_vertices_or_all_but_the_root() -> None:
    assert Owners("M1", TREE, 2).vertices.tolist() == [0, 1]
    assert Owners("M3", TREE, 2).vertices.tolist() == [1, 2, 3, 4]
    assert Owners("M1", TREE, 2).of.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("model", MODELS)
def test_every_link_counts_once_for_its_owner(model) -> None:
    owners = Owners(model, TREE, 2)
    q = np.arange(8.0).reshape(4, 2)
    total = owners.counts().sum() * (2 if model == "M2" else 1)
    assert total == 8
    assert owners.collect(q).sum() == q.sum()


@pytest.mark.parametrize("model", MODELS)
def test_the_quick_iteration_has_the_plain_ones_fixed_point(model) -> None:
    """Psi_n = 1 / (information + prec), with many features of no information."""
    rng = np.random.default_rng(0)
    n_features = 40
    information = np.where(rng.random((4, n_features)) < 0.2, 5.0, 0.0)
    moved = rng.normal(scale=0.5, size=(4, n_features)) ** 2 * (information > 0)
    above = np.full((4, n_features), 0.01)

    def terms(precisions):
        own = 1 / (information + precisions.at_vertices()[1:])
        return own + above + moved, own

    plain = quick = ones(model, n_features=n_features)
    for _ in range(5_000):
        plain = plain.updated(terms(plain)[0])
    for _ in range(200):
        quick = quick.well_determined(*terms(quick))
    np.testing.assert_allclose(quick.mean, plain.mean, rtol=1e-4)


def terms_at(precisions, gamma, differences):
    """q and Psi_n summed over features, inner variances by the precisions alone."""
    tree, d = TREE, precisions.owners.n_features
    rho = precisions.at_vertices()
    trace = d / inner_stiffness(tree, rho)[:, 0]
    trace[tree.leaves] = (d - gamma) / rho[tree.leaves, 0]
    own = trace[1:, None]
    return own + trace[tree.parent[1:], None] + differences[1:, None], own


@pytest.mark.parametrize("model", ["M1", "M3"])
def test_balanced_precisions_are_a_fixed_point_of_the_quick_iteration(model) -> None:
    gamma, differences = np.array([6.0, 9.0, 3.0]), np.array([0.0, 0.5, 2.0, 1.0, 4.0])
    start = ones(model, n_features=20)
    found = start.balanced(differences, gamma)
    again = found.well_determined(*terms_at(found, gamma, differences))
    np.testing.assert_allclose(again.mean, found.mean, rtol=1e-6)
    np.testing.assert_allclose(found.balanced(differences, gamma).mean, found.mean, rtol=1e-6)


def test_precisions_that_many_features_pull_down_stop_at_the_least() -> None:
    start = ones("M3", n_features=10**9)
    found = start.balanced(np.zeros(TREE.n_vertices), np.ones(TREE.n_leaves))
    deep = found.at_vertices()[TREE.leaves[:2], 0]
    np.testing.assert_allclose(deep, LEAST_PRECISION)
    assert (found.mean >= LEAST_PRECISION * (1 - 1e-12)).all()
