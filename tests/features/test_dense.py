"""Dense features are filled and standardised from the training documents only, and survive saving."""

from __future__ import annotations

import numpy as np

from linnaeus.features import DenseFeatures


def test_training_columns_have_mean_zero_and_deviation_one() -> None:
    X = np.random.default_rng(0).normal(3, 5, size=(50, 4))
    Z = DenseFeatures().fit_transform(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Z.std(axis=0), 1)


def test_missing_values_become_the_training_mean() -> None:
    model = DenseFeatures().fit([[1.0, np.nan], [3.0, np.nan]])
    assert model.transform([[np.nan, np.nan], [3.0, 0.0]]).tolist() == [[0.0, 0.0], [1.0, 0.0]]


def test_constant_features_are_only_centred() -> None:
    assert DenseFeatures().fit([[1e6], [1e6]]).transform([[1e6 + 2]]).tolist() == [[2.0]]
    assert DenseFeatures(scale=False).fit([[1.0], [3.0]]).transform([[5.0]]).tolist() == [[5.0]]


def test_state_gives_the_same_transform() -> None:
    X = np.random.default_rng(1).normal(size=(20, 3))
    model = DenseFeatures(missing="median").fit(X)
    np.testing.assert_array_equal(DenseFeatures.from_state(*model.state()).transform(X), model.transform(X))
