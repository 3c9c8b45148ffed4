"""Attributes of classes: presets, matrices of the user, kernels between classes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus import Taxonomy
from linnaeus.errors import ParameterError
from linnaeus.models.ranking.attributes import class_attributes, kernel_attributes, keyed_attributes
from tests.losses.test_pair_cost import four


def test_rows_of_perclass_have_length_one_and_siblings_share() -> None:
    L = class_attributes(*four(), "perclass")
    expected = np.eye(4)
    expected[0, 1] = expected[1, 0] = expected[1, 2] = expected[2, 1] = 6**-0.5
    np.testing.assert_allclose((L @ L.T).toarray(), expected)


@pytest.mark.parametrize(("preset", "length"), [("flat", 1.0), ("one", 3.0), ("depth", 1.0), ("paper", 0.75)])
def test_the_deepest_class_has_the_length_that_the_preset_says(preset, length) -> None:
    tax, classes = four()
    row = class_attributes(tax, classes, preset)[[1]]
    assert row.power(2).sum() == pytest.approx(length)


def test_nodes_above_all_classes_are_left_out() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("A", "B"), ("B", "c"), ("B", "d")])
    classes = np.array([tax.index("c"), tax.index("d")])
    np.testing.assert_array_equal(class_attributes(tax, classes, "perclass").toarray(), np.eye(2))


def test_on_a_star_all_presets_but_paper_are_flat() -> None:
    tax = Taxonomy.from_edges([("R", "a"), ("R", "b"), ("R", "c")])
    classes = np.array([1, 2, 3])
    for preset in ("flat", "one", "depth", "perclass"):
        np.testing.assert_array_equal(class_attributes(tax, classes, preset).toarray(), np.eye(3))


def test_a_matrix_has_a_row_for_every_node() -> None:
    tax, classes = four()
    given = np.arange(14.0).reshape(7, 2)
    np.testing.assert_array_equal(class_attributes(tax, classes, given).toarray(), given[classes])
    np.testing.assert_array_equal(class_attributes(tax, classes, sparse.csr_array(given)).toarray(), given[classes])
    with pytest.raises(ParameterError, match="3 rows; expected 7"):
        class_attributes(tax, classes, given[:3])


def test_wrong_names_are_refused() -> None:
    with pytest.raises(ParameterError, match="attributes='perclas'.*did you mean 'perclass'"):
        class_attributes(*four(), "perclas")
    with pytest.raises(ParameterError, match="attributes is a int"):
        class_attributes(*four(), 3)


def test_a_kernel_between_classes_is_factored() -> None:
    rng = np.random.default_rng(0)
    G = rng.normal(size=(5, 3))
    L = kernel_attributes(G @ G.T, np.array([0, 2, 4]))
    np.testing.assert_allclose(L @ L.T, (G @ G.T)[np.ix_([0, 2, 4], [0, 2, 4])], atol=1e-10)
    assert L.shape == (3, 3)
    with pytest.raises(ParameterError, match="eigenvalue -1"):
        kernel_attributes(np.diag([1.0, -1.0]), np.array([0, 1]))


def test_words_of_labels_are_attributes_that_classes_share() -> None:
    labels = {"a": "Heart attack", "b": "Heart failure", "c": "Lung failure", "d": "Broken leg"}
    tax = Taxonomy.from_edges([("R", name) for name in labels], display_labels=labels)
    classes = np.array([tax.index(name) for name in labels])
    L, keys = keyed_attributes(tax, classes, "taxonomy+text")
    gram = (L @ L.T).toarray()
    np.testing.assert_allclose(np.diag(gram), 1.0)
    assert gram[0, 1] > 0  # heart
    assert gram[1, 2] > 0  # failure
    assert gram[0, 2] == gram[0, 3] == 0
    assert len(np.unique(keys)) == L.shape[1]
    kept = keyed_attributes(tax, classes[1:], "taxonomy+text")[1]
    assert set(kept[kept >= 2 * tax.n_nodes]) <= set(keys.tolist())


@pytest.mark.parametrize("model", ["HierarchicalSVM", "HierarchicalPerceptron", "Hieron"])
def test_models_learn_with_the_words_of_labels(model, tmp_path) -> None:
    import linnaeus

    labels = {"a": "Heart attack", "b": "Heart failure", "c": "Lung failure", "d": "Broken leg"}
    tax = Taxonomy.from_edges([("R", name) for name in labels], display_labels=labels)
    X, y = np.vstack([np.eye(4)] * 3), list(labels) * 3
    fitted = getattr(linnaeus, model)(tax, attributes="taxonomy+text", random_state=0).fit(X, y)
    assert fitted.predict(X).tolist() == y
    linnaeus.save(fitted, tmp_path / "model")
    np.testing.assert_allclose(linnaeus.load(tmp_path / "model").decision_function(X), fitted.decision_function(X))
