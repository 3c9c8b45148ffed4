"""Nodes that are no labels have the weights that the regulariser gives them."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus import RRSVM, Taxonomy, load, save

TAX = Taxonomy.from_edges([("0", "1"), ("0", "4"), ("1", "2"), ("1", "3"), ("1", "empty"), ("4", "5"), ("4", "none")])
X = np.array([(1, 0), (0.8, 0.6), (0, 1), (-1, 0)])


@pytest.fixture(scope="module")
def model() -> RRSVM:
    return RRSVM(TAX, loss="hinge", fit_intercept=False, tol=1e-7, random_state=0).fit(X, ["2", "2", "3", "5"])


def test_inner_nodes_stand_between_their_neighbours(model) -> None:
    w = {name: model.node_weights(name)[0] for name in TAX.names}
    np.testing.assert_allclose(w["1"], (w["0"] + w["2"] + w["3"]) / 3, atol=1e-6)
    np.testing.assert_allclose(w["0"], (w["1"] + w["4"]) / 3, atol=1e-6)  # the root is pulled to zero as well
    np.testing.assert_allclose(w["4"], (w["0"] + w["5"]) / 2, atol=1e-6)


def test_nodes_without_documents_have_their_parents_weights(model, tmp_path) -> None:
    for node, parent in (("empty", "1"), ("none", "4")):
        np.testing.assert_allclose(model.node_weights(node)[0], model.node_weights(parent)[0], atol=1e-12)
        assert node not in model.classes_
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.node_weights("empty")[0], model.node_weights("empty")[0])


def test_labels_have_their_own(model) -> None:
    column = list(model.classes_).index("2")
    np.testing.assert_array_equal(model.node_weights("2")[0], model.weights_[:, column])
