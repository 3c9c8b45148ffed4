"""Features of the same dense vectors side by side: every part counts the same, alone, in a folder and by its name."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus import RRSVM, Pipeline, Taxonomy, store
from linnaeus.errors import DataError, ParameterError
from linnaeus.features import DenseFeatures, FillMissing, KernelMap, SideBySide
from linnaeus.features.named import is_side_by_side, side_by_side

TAX = Taxonomy.from_edges([("root", "A"), ("root", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA")])
PARTS = DenseFeatures(profiles=True), KernelMap(DenseFeatures(), 20, gamma=0.3)


def documents(n: int = 70) -> tuple[np.ndarray, list[str]]:
    X = np.random.default_rng(0).normal(2.0, 3.0, size=(n, 5))
    X[::9, 1] = np.nan
    return X, [["AA", "AB", "BA"][i] for i in np.nan_to_num(X[:, :3]).argmax(axis=1)]


def test_the_product_of_two_documents_is_the_sum_of_those_of_the_parts_each_with_mean_one() -> None:
    X, _ = documents()
    Z = SideBySide(PARTS).fit_transform(X)
    parts = [part.fit_transform(X) for part in PARTS]
    wanted = sum(V @ V.T / np.square(V).sum(axis=1).mean() for V in parts)
    np.testing.assert_allclose(Z @ Z.T, wanted, atol=1e-5)
    np.testing.assert_allclose(np.square(Z).sum(axis=1).mean(), 2.0, rtol=1e-5)


@pytest.mark.parametrize("missing", ["mean", "median", "zero"])
def test_explanations_are_of_the_document_that_the_parts_see(missing) -> None:
    X, _ = documents()
    both = SideBySide([DenseFeatures(missing, profiles=True), KernelMap(DenseFeatures(missing), 20, gamma=0.3)]).fit(X)
    np.testing.assert_allclose(both.map(both.vectors(X)), both.transform(X), atol=1e-5)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([DenseFeatures("zero"), KernelMap(DenseFeatures(), 5)], "fill missing values by mean and by zero"),
        ([FillMissing(), DenseFeatures()], "expected DenseFeatures, or a KernelMap of them"),
        ([KernelMap(FillMissing()), DenseFeatures()], "expected DenseFeatures, or a KernelMap of them"),
        ([SideBySide(PARTS), DenseFeatures()], "expected DenseFeatures, or a KernelMap of them"),
        (["rbf", "profiles"], "parts has 'rbf'"),
    ],
)
def test_parts_that_no_folder_could_hold_are_refused(parts, message) -> None:
    with pytest.raises(ParameterError, match=message):
        SideBySide(parts).fit(documents()[0])


def test_a_plus_in_a_number_does_not_separate_features() -> None:
    assert not is_side_by_side("rbf:60,gamma=1e+1")
    first, second = side_by_side("rbf:60,gamma=1e+1+rbf:5,gamma=0.5").parts
    assert (first.gamma, second.n_components) == (10.0, 5)


def test_a_document_has_the_same_columns_in_every_batch_as_in_training() -> None:
    X, _ = documents()
    both = SideBySide(PARTS)
    Z = both.fit_transform(X)
    np.testing.assert_array_equal(Z, both.transform(X))
    np.testing.assert_array_equal(Z, np.concatenate([both.transform(row[None]) for row in X]))
    assert len(both.get_feature_names_out()) == Z.shape[1]


def test_vectors_without_length_are_left_as_they_are() -> None:
    both = SideBySide([DenseFeatures(), DenseFeatures(profiles=True)]).fit(np.ones((3, 4)))
    assert both.scales_ == [1.0, 1.0]
    assert not both.transform(np.ones((2, 4))).any()


def test_models_see_both_parts_survive_saving_and_explain_the_values(tmp_path) -> None:
    X, y = documents()
    pipe = Pipeline(RRSVM(TAX, random_state=0), SideBySide(PARTS)).fit(X, y, feature_names=list("abcde"))
    assert pipe.score(X, y) > 0.8
    store.save(pipe, tmp_path / "model")
    loaded = store.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(X), pipe.decision_function(X))
    steps = pipe.explain(X[1])
    assert [str(step) for step in loaded.explain(X[1])] == [str(step) for step in steps]
    assert steps[-1].approximate
    assert set(steps[-1].features) <= set("abcde")
    step = next(step for step in pipe.explain(X[1], node="AA", k=5) if step.node == "AA")
    whole = pipe.decision_function(X[1:2])[0, list(pipe.classes_).index("AA")]
    for name, change in zip(step.features, step.contributions, strict=True):
        without = X[1:2].copy()
        without[0, "abcde".index(name)] = np.nan  # filled with the mean of the column
        left = pipe.decision_function(without)[0, list(pipe.classes_).index("AA")]
        np.testing.assert_allclose(change, whole - left, atol=1e-6)


def test_one_part_and_vectors_of_another_width_are_refused() -> None:
    with pytest.raises(ParameterError, match="at least two"):
        SideBySide([DenseFeatures()]).fit(np.ones((2, 3)))
    with pytest.raises(DataError, match="3 columns"):
        SideBySide(PARTS).fit(documents()[0][:, :3]).transform(np.ones((2, 4)))


def test_names_of_the_command_line() -> None:
    first, second = side_by_side("rbf:80,gamma=0.5 + profiles", DenseFeatures("zero"), random_state=3).parts
    assert (first.n_components, first.gamma, first.random_state) == (80, 0.5, 3)
    assert repr(first.features) == "DenseFeatures(missing='zero')"
    assert repr(second) == "DenseFeatures(missing='zero', profiles=True)"
    with pytest.raises(ParameterError, match="did you mean 'profiles'"):
        side_by_side("rbf+profile")
    with pytest.raises(ParameterError, match="gamma"):
        side_by_side("rbf:gama=1+profiles")
