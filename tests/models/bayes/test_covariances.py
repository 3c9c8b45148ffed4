"""Full covariances of the leaves against plain inverses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus.engine import SerialEngine, ThreadEngine
from linnaeus.models.bayes.stages import fits, leaf_covariances
from tests.models.bayes.worked import TREE


@pytest.mark.parametrize("thin", [False, True])
def test_covariances_are_inverses(thin) -> None:
    rng = np.random.default_rng(0)
    X, bend, prior = rng.normal(size=(30, 4)), rng.uniform(size=(30, 11)), rng.uniform(0.5, 2, size=(11, 4))
    documents = sparse.csr_array(X) if thin else X
    psi, logdet, spread = leaf_covariances(documents, bend, prior, ThreadEngine(2), scores=True)
    for k in range(11):
        expected = np.linalg.inv(X.T @ (bend[:, [k]] * X) + np.diag(prior[k]))
        np.testing.assert_allclose(psi[k], expected, atol=1e-12)
        assert logdet[k] == pytest.approx(np.linalg.slogdet(expected)[1])
        np.testing.assert_allclose(spread[:, k], np.einsum("ij,jk,ik->i", X, expected, X))
    again = leaf_covariances(documents, bend, prior, SerialEngine())
    np.testing.assert_array_equal(again[0], psi)
    assert again[2] is None


def test_many_features_are_too_many() -> None:
    assert fits(TREE, 300)
    assert not fits(TREE, 301)
