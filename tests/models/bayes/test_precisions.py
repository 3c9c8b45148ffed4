"""Who owns a precision, and that the quick iteration ends where the plain one does."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus.models.bayes.precisions import MODELS, Owners
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
