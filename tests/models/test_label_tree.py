"""The tree of a prior: which vertices it has, and that its two passes are exact."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.errors import TaxonomyError
from linnaeus.models.label_tree import label_tree
from tests.models.bayes.worked import TREE, random_tree


def laplacian(tree, rho: np.ndarray) -> np.ndarray:
    """The prior's precision matrix over all vertices, for one feature."""
    A = np.zeros((tree.n_vertices, tree.n_vertices))
    for v, p in enumerate(tree.parent):
        A[v, v] += rho[v]
        if p >= 0:
            A[p, p] += rho[v]
            A[v, p] -= rho[v]
            A[p, v] -= rho[v]
    return A


@pytest.mark.parametrize("seed", range(5))
def test_pulls_move_all_vertices_as_the_whole_system_says(seed) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    V, rho = rng.normal(size=(tree.n_leaves, 3)), rng.uniform(0.1, 5, (tree.n_vertices, 3))
    found = tree.pull(V, rho)
    for j in range(3):
        right = np.zeros(tree.n_vertices)
        right[tree.leaves] = V[:, j]
        np.testing.assert_allclose(found[:, j], np.linalg.solve(laplacian(tree, rho[:, j]), right), atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_inner_vertices_go_to_their_optimum_between_the_leaves(seed) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    W, rho = rng.normal(size=(tree.n_vertices, 2)), rng.uniform(0.1, 5, (tree.n_vertices, 1))
    found, A, inner = tree.between(W, rho), laplacian(tree, rho[:, 0]), tree.inner
    expected = np.linalg.solve(A[np.ix_(inner, inner)], -A[np.ix_(inner, tree.leaves)] @ W[tree.leaves])
    np.testing.assert_allclose(found[inner], expected, atol=1e-10)
    np.testing.assert_array_equal(found[tree.leaves], W[tree.leaves])


def test_one_precision_is_the_same_one_for_every_feature() -> None:
    V, rho = np.arange(6.0).reshape(3, 2), np.array([[1.0], [2], [3], [4], [5]])
    np.testing.assert_allclose(TREE.pull(V, rho), TREE.pull(V, np.repeat(rho, 2, axis=1)))


def test_nodes_without_labels_below_them_are_left_out(abc) -> None:
    tree = label_tree(abc, np.array([abc.index("AA"), abc.index("AB")]))
    assert [str(abc.names[v]) for v in tree.node] == ["R", "A", "AA", "AB"]


def test_flat_hangs_all_labels_on_the_root(abc) -> None:
    labels = np.array([abc.index(v) for v in ("AA", "B", "BA")])
    tree = label_tree(abc, labels, flat=True)
    assert tree.parent.tolist() == [-1, 0, 0, 0]
    assert tree.node[tree.leaves].tolist() == labels.tolist()


def test_a_forest_hangs_on_a_root_of_its_own() -> None:
    tax = Taxonomy.from_edges([("A", "AA"), ("B", "BA")], root=None)
    tree = label_tree(tax, np.array([tax.index("AA"), tax.index("BA")]))
    assert tree.parent.tolist() == [-1, 0, 0, 1, 2]


def test_a_dag_is_refused_with_a_way_out(diamond) -> None:
    labels = np.array([diamond.index("C"), diamond.index("D")])
    with pytest.raises(TaxonomyError, match="'C' has 2 parents.*parents='first'"):
        label_tree(diamond, labels)
    tree = label_tree(diamond, labels, parents="first")
    assert str(diamond.names[tree.node[tree.parent[tree.leaves[0]]]]) == "A"


def test_a_graph_is_refused() -> None:
    graph = Taxonomy.from_edges([("a", "b")], kind="graph")
    with pytest.raises(TaxonomyError, match="undirected graph"):
        label_tree(graph, np.array([0, 1]))
