"""Who owns a precision, and that the quick iteration ends where the plain one does."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus.models.bayes.precisions import MODELS, Owners
from linnaeus.models.bayes.stages import determined_shares
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


def tree_posterior(tree, rho, information):
    """Variances of w_n - w_parent of every vertex but the root, by the inverse of the whole precision matrix."""
    variances = np.zeros((tree.n_vertices - 1, information.shape[1]))
    for i in range(information.shape[1]):
        A = np.zeros((tree.n_vertices, tree.n_vertices))
        A[0, 0] = 1
        A[tree.leaves, tree.leaves] += information[:, i]
        for v in range(1, tree.n_vertices):
            link = np.zeros(tree.n_vertices)
            link[[v, tree.parent[v]]] = 1, -1
            A += rho[v, 0] * np.outer(link, link)
        C = np.linalg.inv(A)
        above = tree.parent[1:]
        own = np.arange(1, tree.n_vertices)
        variances[:, i] = C[own, own] + C[above, above] - 2 * C[own, above]
    return variances


def test_determined_shares_are_those_of_the_whole_posterior() -> None:
    rng = np.random.default_rng(0)
    information = rng.exponential(size=(TREE.n_leaves, 5)) * (rng.random((TREE.n_leaves, 5)) < 0.7)
    rho = rng.exponential(size=(TREE.n_vertices, 1))
    expected = 1 - rho[1:] * tree_posterior(TREE, rho, information)
    np.testing.assert_allclose(determined_shares(TREE, rho, information)[1:], expected, atol=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_newton_steps_end_at_a_plain_update_with_the_posterior_of_the_tree(model) -> None:
    """At the end precisions are (a + terms / 2) / (b + E |w_n - w_parent|^2 / 2), whatever features there are."""
    rng = np.random.default_rng(1)
    information, moved = 3 * rng.random((TREE.n_leaves, 6)), rng.random((TREE.n_vertices, 6))
    information[:, 4:] = moved[:, 4:] = 0  # nobody knows these features
    found = ones(model, n_features=6)
    for _ in range(100):
        share = determined_shares(TREE, found.at_vertices(), information)
        found, length = found.newton_step(moved, share, share * (1 - share))
    assert length < 1e-9
    if model != "M2":
        spread = moved[1:] + tree_posterior(TREE, found.at_vertices(), information)
        np.testing.assert_allclose(found.updated(spread).mean, found.mean, rtol=1e-6)
    fewer = ones(model, n_features=4)
    for _ in range(100):
        share = determined_shares(TREE, fewer.at_vertices()[:, :4], information[:, :4])
        fewer, _ = fewer.newton_step(moved[:, :4], share, share * (1 - share))
    np.testing.assert_allclose(fewer.mean, found.mean[:, : fewer.mean.shape[1]], rtol=1e-6)
