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


def test_the_product_of_two_profiles_is_the_correlation_of_their_values() -> None:
    X = np.random.default_rng(0).normal(2, 3, size=(6, 9))
    Z = DenseFeatures(profiles=True).fit(X[:3]).transform(X)
    np.testing.assert_allclose(Z @ Z.T, np.corrcoef(X), atol=1e-12)


def test_profiles_of_a_document_do_not_depend_on_the_others_nor_on_the_scale_of_its_values() -> None:
    X = np.random.default_rng(0).normal(size=(50, 7))
    model = DenseFeatures(profiles=True).fit(X)
    whole = model.transform(np.asfortranarray(X))
    np.testing.assert_array_equal(np.concatenate([model.transform(row[None]) for row in X]), whole)
    np.testing.assert_allclose(model.transform(1e200 * X + 1e199), whole, atol=1e-12)


def test_a_document_of_equal_values_has_an_empty_profile_and_missing_values_are_those_of_the_column() -> None:
    model = DenseFeatures(profiles=True).fit([[1.0, 5.0, 6.0], [3.0, 5.0, 6.0]])
    assert model.transform([[4.0, 4.0, 4.0], [0.0, 0.0, 0.0]]).tolist() == [[0.0] * 3] * 2
    filled, given = model.transform([[np.nan, 5.0, 9.0], [2.0, 5.0, 9.0]])
    np.testing.assert_array_equal(filled, given)


def test_profiles_survive_saving_and_folders_without_them_are_standardised() -> None:
    X = np.random.default_rng(1).normal(size=(20, 3))
    model = DenseFeatures(profiles=True).fit(X)
    values, arrays = model.state()
    np.testing.assert_array_equal(DenseFeatures.from_state(values, arrays).transform(X), model.transform(X))
    del values["profiles"]
    assert DenseFeatures.from_state(values, arrays).profiles is False
