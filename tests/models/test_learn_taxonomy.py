"""Taxonomies learned from documents: centroids, kernels, and models that take them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, inconsistent, linkage
from scipy.spatial.distance import pdist

from linnaeus import HierarchicalPerceptron, Taxonomy
from linnaeus.errors import DataError, ParameterError
from linnaeus.models.kernels import RBF, Linear
from linnaeus.models.learn_taxonomy import learn_dendrogram, learn_taxonomy


def grouped(n_docs: int = 240, seed: int = 0) -> tuple[np.ndarray, list[str], list[str]]:
    """Twelve classes in four groups of three; classes of a group are near each other."""
    rng = np.random.default_rng(seed)
    centres = np.repeat(rng.normal(size=(4, 10)) * 6, 3, axis=0) + rng.normal(size=(12, 10)) * 1.5
    own = np.arange(n_docs) % 12
    names = [f"{'abcd'[k // 3]}{k % 3}" for k in range(12)]
    return centres[own] + rng.normal(size=(n_docs, 10)), [names[k] for k in own], names


def groups(tax: Taxonomy) -> list[list[str]]:
    return sorted(sorted(tax.names[tax.children(v)].tolist()) for v in tax.levels[1])


def test_groups_that_are_there_are_found() -> None:
    X, y, names = grouped()
    assert groups(learn_taxonomy(X, y)) == [names[k : k + 3] for k in (0, 3, 6, 9)]


@pytest.mark.parametrize("seed", range(5))
def test_clusters_are_those_of_scipy_on_centroids(seed: int) -> None:
    X, y, names = grouped(seed=seed)
    X[:, 0] += np.random.default_rng(seed).normal(size=len(X)) * 3
    centroids = np.array([X[np.array(y) == name].mean(axis=0) for name in names])
    Z = linkage(pdist(centroids), "average")
    ic = inconsistent(Z, 2)[:, 3]
    flat = fcluster(Z, ic[ic != 0].mean() + 1e-12, "inconsistent", depth=2)
    expected = sorted(sorted(names[k] for k in np.flatnonzero(flat == c)) for c in np.unique(flat))
    assert groups(learn_taxonomy(X, y)) == expected


def test_sparse_dense_kernel_and_gram_agree() -> None:
    X, y, _ = grouped()
    expected = learn_taxonomy(X, y)
    for given, kernel in (
        (sparse.csr_array(X), "linear"),
        (X @ X.T, "precomputed"),
        (X, Linear()),
        (sparse.csr_array(X), Linear()),
    ):
        assert groups(learn_taxonomy(given, y, kernel=kernel)) == groups(expected)
    assert groups(learn_taxonomy(X, y, kernel=RBF(gamma=0.001))) == groups(expected)


def test_centroids_behind_a_kernel_have_the_distances_of_their_images() -> None:
    from linnaeus.models.kernels import Polynomial

    X, y, _ = grouped(60)
    features = np.array([np.outer(x, x).ravel() for x in X])  # the square of x'z
    by_kernel = learn_dendrogram(X, y, kernel=Polynomial(degree=2, gamma=1.0, coef0=0.0))[1]
    np.testing.assert_allclose(by_kernel.links, learn_dendrogram(features, y)[1].links, rtol=1e-7)


def test_several_labels_count_in_each_of_their_classes() -> None:
    X = np.array([[0.0, 1], [1, 0], [10, 10], [11, 10], [0.5, 0.5]])
    y = [["a"], ["b"], ["c"], ["d"], ["a", "b"]]
    with pytest.warns(UserWarning, match="is flat"):  # one link cannot stand out alone
        links = learn_dendrogram(X, y)[1].links
    assert links[0].tolist() == [0, 1, pytest.approx(0.5 * 2**0.5), 2]  # (0.25, 0.75) to (0.75, 0.25)


def test_cosine_looks_at_directions_only() -> None:
    X, y, names = grouped()
    lengths = {name: 10.0 ** (k % 3) for k, name in enumerate(names)}
    scaled = X * np.array([lengths[label] for label in y])[:, None]
    assert groups(learn_taxonomy(scaled, y, metric="cosine")) == groups(learn_taxonomy(X, y, metric="cosine"))
    with pytest.warns(UserWarning, match="is flat"):
        assert groups(learn_taxonomy(scaled, y)) != groups(learn_taxonomy(X, y))


def test_models_take_the_result() -> None:
    X, y, _ = grouped()
    tax = learn_taxonomy(X[:120], y[:120])
    assert HierarchicalPerceptron(tax, random_state=0).fit(X[:120], y[:120]).score(X[120:], y[120:]) > 0.8


def test_labels_without_documents_are_put_alone_at_the_same_depth() -> None:
    X, y, _ = grouped()
    with pytest.warns(UserWarning, match="1 labels have no document, 'new'"):
        tax = learn_taxonomy(X, y, classes=["a0", "new"])
    assert tax.names[tax.parents("new")].tolist() == ["new (alone)"]
    assert set(tax.depth[tax.leaves]) == {2}


def test_labels_that_are_all_alike_make_a_flat_tree_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="taxonomy is flat"):
        tax = learn_taxonomy(np.eye(4), list("abcd"))
    assert int(tax.depth.max()) == 1


def test_wrong_input_is_named() -> None:
    X, y, _ = grouped(24)
    with pytest.raises(ParameterError, match="metric='cosin'.*did you mean 'cosine'"):
        learn_taxonomy(X, y, metric="cosin")
    with pytest.raises(DataError, match="23 documents, but X has 24"):
        learn_taxonomy(X, y[1:])
    with pytest.raises(ParameterError, match="levels=0"):
        learn_taxonomy(X, y, levels=0)
