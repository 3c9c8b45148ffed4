"""A kernel map approximates the RBF kernel, chooses its width on held-out documents, and survives saving."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from linnaeus import OneVsRestSVM, Taxonomy, store
from linnaeus.errors import DataError, ParameterError
from linnaeus.features import DenseFeatures, KernelMap, TextFeatures
from linnaeus.features.kernel_map import CLIPS
from linnaeus.features.named import kernel_map
from linnaeus.pipeline import Pipeline

TAX = Taxonomy.from_paths([["in", "core"], ["in", "ring"], ["out"]])


def rings(n: int = 300, seed: int = 0) -> tuple[np.ndarray, list[list[str]]]:
    """Points whose label is their distance from the origin: no linear model can tell them apart."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    r = (X**2).sum(axis=1)
    return X, [["core"] if d < 0.6 else ["ring"] if d < 2.0 else ["out"] for d in r]


def gram(X: np.ndarray, gamma: float) -> np.ndarray:
    return np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))


def test_with_all_documents_as_landmarks_the_map_has_the_exact_kernel() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    Z = KernelMap(n_components=40, gamma=0.3, landmarks="uniform").fit_transform(X)
    np.testing.assert_allclose(Z @ Z.T, gram(X, 0.3), atol=1e-5)


@pytest.mark.parametrize("how", [{"landmarks": "kmeans"}, {"landmarks": "uniform"}, {"method": "fourier"}])
def test_fewer_components_approximate_the_kernel(how) -> None:
    X = np.random.default_rng(0).normal(size=(400, 3))
    Z = KernelMap(n_components=150, gamma=0.2, **how).fit_transform(X)
    assert np.abs(Z @ Z.T - gram(X, 0.2)).mean() < 0.08


def test_landmarks_of_k_means_approximate_better_than_drawn_ones() -> None:
    X = np.random.default_rng(0).normal(size=(400, 4))
    K = gram(X, 0.2)
    maps = {how: KernelMap(n_components=30, gamma=0.2, landmarks=how).fit_transform(X) for how in ("kmeans", "uniform")}
    errors = {how: np.square(Z @ Z.T - K).sum() for how, Z in maps.items()}
    assert errors["kmeans"] < errors["uniform"]


@pytest.mark.parametrize("projection", [None, 5])
@pytest.mark.parametrize("method", ["nystroem", "fourier"])
def test_a_document_has_the_same_map_in_every_batch(method, projection) -> None:
    X = np.random.default_rng(0).normal(size=(150, 9))
    phi = KernelMap(n_components=30, method=method, projection=projection).fit(X)
    together = phi.transform(X)
    np.testing.assert_array_equal(together[:40], np.concatenate([phi.transform(X[i : i + 1]) for i in range(40)]))
    np.testing.assert_array_equal(together[7:90], phi.transform(X[7:90]))
    np.testing.assert_array_equal(together, phi.fit_transform(X))


def test_sparse_vectors_are_projected_and_equal_dense_ones() -> None:
    X = sparse.random(300, 400, 0.05, format="csr", random_state=0)
    phi = KernelMap(n_components=20, gamma=1.0).fit(X)
    assert phi.projection_ is not None
    assert phi.projection_.shape == (400, 256)
    np.testing.assert_allclose(phi.transform(X), phi.transform(X.toarray()), atol=1e-5)
    narrow = KernelMap(n_components=20, gamma=1.0).fit(X[:, :50])
    assert narrow.projection_ is None


def test_gamma_is_chosen_on_held_out_documents_where_labels_are_given() -> None:
    X, y = rings()
    assert len(KernelMap(n_components=50, clip=None).fit(X, y).gamma_errors_) == 6
    phi = KernelMap(n_components=50).fit(X, y)
    assert phi.gamma_errors_[phi.gamma_] == min(phi.gamma_errors_.values()) < 0.6
    assert KernelMap(n_components=50).fit(X, y).gamma_ == phi.gamma_
    without = KernelMap(n_components=50).fit(X)
    assert not without.gamma_errors_
    assert without.gamma_ > 0
    assert KernelMap(gamma=0.7).fit(X, y).gamma_ == 0.7


def outliers(n: int = 240) -> tuple[np.ndarray, list[str]]:
    """A ring in two columns, and eight columns of noise whose few far values decide all distances."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(n, 2)), rng.standard_t(1.2, size=(n, 8))])
    return X, ["in" if radius < 1.2 else "out" for radius in np.linalg.norm(X[:, :2], axis=1)]


def test_values_far_from_the_mean_are_clipped_where_held_out_documents_ask_for_it(tmp_path) -> None:
    X, y = outliers()
    chosen = KernelMap(DenseFeatures(), 100).fit(X, y)
    assert chosen.clip_ in CLIPS
    given = KernelMap(DenseFeatures(), 100, clip=None).fit(X, y)
    assert given.clip_ is None
    assert min(chosen.gamma_errors_.values()) < min(given.gamma_errors_.values())
    far = X[:2].copy()
    far[:, 5] = [80.0, 90.0]
    far[1, :5], far[1, 6:] = far[0, :5], far[0, 6:]
    np.testing.assert_array_equal(*chosen.transform(far))  # both are beyond the limit
    model = Pipeline(OneVsRestSVM(random_state=0), KernelMap(DenseFeatures(), 100)).fit(X, y)
    store.save(model, tmp_path / "model")
    loaded = store.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(far), model.decision_function(far))


def test_vectors_without_outliers_are_not_clipped() -> None:
    X = np.random.default_rng(0).choice([-1.0, 1.0], size=(200, 6))
    assert KernelMap(gamma="auto").fit(X, [str(x) for x in X[:, 0] * X[:, 1]]).clip_ is None


def test_a_width_that_is_given_clips_nothing_unless_asked() -> None:
    X, y = outliers()
    assert KernelMap(gamma=0.1).fit(X, y).clip_ is None
    asked = KernelMap(gamma=0.1, clip=2.0).fit(X, y)
    expected = KernelMap(gamma=0.1).fit(np.clip(X, *asked.limits_))
    np.testing.assert_allclose(asked.transform(X), expected.transform(np.clip(X, *asked.limits_)), atol=1e-6)


@pytest.mark.parametrize(
    ("gamma", "words"), [(0.5, "hardly any two documents are alike"), (1e-6, "all documents are nearly alike")]
)
def test_a_width_far_from_the_distances_of_documents_is_warned_of(gamma: float, words: str) -> None:
    X = np.random.default_rng(0).normal(size=(60, 64))  # the median squared distance is near 128
    with pytest.warns(UserWarning, match=rf"gamma={gamma:g} is .* times 1 / \(median squared distance\).*{words}"):
        KernelMap(gamma=gamma).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelMap(gamma=0.03).fit(X)
        KernelMap().fit(X, ["a", "b"] * 30)


def test_folders_written_before_vectors_were_clipped_load() -> None:
    X, y = outliers()
    made = KernelMap(gamma=0.1).fit(X, y)
    values, arrays = made.state()
    old = KernelMap.from_state({k: v for k, v in values.items() if "clip" not in k}, arrays)
    np.testing.assert_array_equal(old.transform(X), made.transform(X))


@pytest.mark.parametrize("y", [[["out"]] * 300, [[]] * 300])
def test_labels_that_do_not_vary_leave_the_median_distance(y) -> None:
    X, _ = rings()
    assert KernelMap(n_components=10).fit(X, TAX.indicator(y)).gamma_ == KernelMap(n_components=10).fit(X).gamma_


def test_one_document_and_equal_documents_have_a_map() -> None:
    assert KernelMap().fit_transform([[1.0, 2.0]]).shape == (1, 1)
    Z = KernelMap().fit_transform(np.ones((5, 2)))
    np.testing.assert_allclose(Z @ Z.T, 1.0, atol=1e-5)


def test_a_linear_model_learns_rings_through_the_map() -> None:
    X, y = rings()
    X_test, y_test = rings(seed=1)
    plain = Pipeline(OneVsRestSVM(TAX, random_state=0), DenseFeatures()).fit(X, y)
    mapped = Pipeline(OneVsRestSVM(TAX, random_state=0), KernelMap(DenseFeatures(), 60)).fit(X, y)
    assert mapped.score(X_test, y_test) > 0.9 > 0.7 > plain.score(X_test, y_test)
    assert mapped.features_.gamma_errors_


@pytest.mark.parametrize("how", [{}, {"method": "fourier"}, {"projection": 1}])
def test_a_saved_map_gives_the_same_answers(tmp_path, how) -> None:
    X, y = rings(100)
    pipe = Pipeline(OneVsRestSVM(TAX, random_state=0), KernelMap(DenseFeatures(), 30, **how))
    store.save(pipe.fit(X, y, feature_names=["x", "y"]), tmp_path / "model")
    loaded = store.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(X), pipe.decision_function(X))
    assert loaded.features_.gamma_ == pipe.features_.gamma_
    assert [str(s) for s in loaded.explain(X[0])] == [str(s) for s in pipe.explain(X[0])]


def test_text_goes_through_a_projection_and_a_map(tmp_path) -> None:
    texts = ["cats purr and sleep", "dogs bark at night", "cats sleep", "dogs run and bark"] * 5
    pipe = Pipeline(OneVsRestSVM(random_state=0), KernelMap(TextFeatures(), 8)).fit(texts, ["cat", "dog"] * 10)
    assert pipe.predict(["a cats purr"]).tolist() == ["cat"]
    assert pipe.known_terms(["cats bark", "zebras"]).tolist() == [2, 0]
    store.save(pipe, tmp_path / "model")
    assert store.load(tmp_path / "model").predict(["dogs"]).tolist() == ["dog"]
    (step,) = pipe.explain("cats purr")
    assert step.approximate
    assert set(step.features) == {"cats", "purr"}
    assert (step.contributions > 0).all()


def test_explanations_through_a_map_are_changes_by_leaving_out_a_feature_and_are_marked() -> None:
    X, y = rings(100)
    pipe = Pipeline(OneVsRestSVM(TAX, random_state=0), KernelMap(DenseFeatures(scale=False), 30))
    pipe.fit(X, y, feature_names=["east", "north"])
    (step,) = pipe.explain(X[0], node="ring")
    column = list(pipe.classes_).index("ring")
    whole = pipe.decision_function(X[:1])[0, column]
    without = {"east": [[0.0, X[0, 1]]], "north": [[X[0, 0], 0.0]]}
    assert step.approximate
    assert " ~ " in str(step)
    for name, change in zip(step.features, step.contributions, strict=True):
        np.testing.assert_allclose(change, whole - pipe.decision_function(without[name])[0, column], atol=1e-6)
    np.testing.assert_allclose(step.intercept + step.contributions.sum(), whole, atol=1e-6)
    assert step.against is not None
    assert len(pipe.explain(X[0], k=1)[0].features) == 1


@pytest.mark.parametrize(
    ("how", "named"),
    [({"gamma": 0}, "gamma"), ({"gamma": "wide"}, "gamma"), ({"landmarks": "kmean"}, "did you mean 'kmeans'"),
     ({"method": "rff"}, "nystroem"), ({"n_components": 0}, "n_components"), ({"projection": 0}, "projection")],
)  # fmt: skip
def test_wrong_parameters_are_refused_by_name(how, named) -> None:
    with pytest.raises(ParameterError, match=named):
        KernelMap(**how).fit([[1.0]])


def test_vectors_of_another_width_and_texts_are_refused() -> None:
    with pytest.raises(DataError, match="X has 3 features"):
        KernelMap().fit([[1.0, 2.0]]).transform([[1.0, 2.0, 3.0]])
    with pytest.raises(DataError):
        KernelMap().fit(["a text"])


def test_names_of_the_command_line() -> None:
    assert kernel_map("rbf").n_components == 600
    made = kernel_map("rbf:800,gamma=0.5,landmarks=uniform,clip=3")
    assert (made.n_components, made.gamma, made.landmarks, made.clip) == (800, 0.5, "uniform", 3)
    with pytest.raises(ParameterError, match="gamma"):
        kernel_map("rbf:gama=1")
    with pytest.raises(ParameterError, match="n_components"):
        kernel_map("rbf:many")
