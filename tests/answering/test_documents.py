"""Documents of a request become what the model was trained on, or an error that says what was expected."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus import LexicalModel, OneVsRestSVM, Taxonomy
from linnaeus.answering.documents import as_dataset, named_rules
from linnaeus.errors import DataError, TaxonomyError
from linnaeus.features.text import TextFeatures
from linnaeus.pipeline import Pipeline

FIELDS = {"title": ["cats", "dogs"], "text": ["purr", "bark"]}


@pytest.fixture(scope="module")
def fielded():
    features = TextFeatures(fields={"title": 2.0, "text": 1.0})
    return Pipeline(OneVsRestSVM(random_state=0), features).fit(FIELDS, ["cat", "dog"])


def test_texts_and_fields_may_be_mixed_and_missing_fields_are_empty(fielded) -> None:
    made = as_dataset(fielded, ["purr", {"title": "dogs"}, {"title": "cats", "text": "bark"}])
    assert made.fields == {"title": ["", "dogs", "cats"], "text": ["purr", "", "bark"]}


def test_an_unknown_field_is_refused_with_the_nearest(fielded) -> None:
    with pytest.raises(DataError, match="field 'titel'.*'title', 'text'.*did you mean 'title'"):
        as_dataset(fielded, [{"titel": "cats"}])


def test_vectors_are_refused_by_models_of_texts_and_texts_by_models_of_vectors(fielded) -> None:
    with pytest.raises(DataError, match="Document 2 is a vector"):
        as_dataset(fielded, ["purr", [1.0, 2.0]])
    model = OneVsRestSVM(random_state=0).fit(np.eye(2), ["cat", "dog"])
    with pytest.raises(DataError, match="Document 1 is a text"):
        as_dataset(model, ["purr"])
    with pytest.raises(DataError, match="3 numbers.*vectors of 2"):
        as_dataset(model, [[1.0, 2.0], [1.0, 2.0, 3.0]])
    assert model.predict(as_dataset(model, [[1.0, 0.0]]).documents).tolist() == ["cat"]


def test_rules_take_display_labels_that_one_node_has() -> None:
    tax = Taxonomy.from_paths([["A", "AA"], ["B"]]).with_display_labels({"A": "Animals", "B": "Plants"})
    given = {"only_under": ["Animals"], "at_most_under": {"Plants": 1}, "one_per": ["tops"], "at_most": 2}
    expected = {"only_under": ["A"], "at_most_under": {"B": 1}, "one_per": "tops", "at_most": 2}
    assert named_rules(given, tax) == expected
    with pytest.raises(TaxonomyError, match="Animols"):
        named_rules({"exclude": ["Animols"]}, tax)


def test_a_lexical_model_takes_fields_of_any_name() -> None:
    model = LexicalModel(Taxonomy.from_edges([("Animals", "Cats"), ("Animals", "Dogs")])).fit()
    made = as_dataset(model, [{"title": "Cats", "abstract": "purr"}, {"abstract": "all Dogs"}])
    assert made.fields == {"title": ["Cats", ""], "abstract": ["purr", "all Dogs"]}
    assert [list(labels) for labels in model.predict(made.documents)] == [["Cats"], ["Dogs"]]
    mixed = as_dataset(model, ["all Dogs", {"title": "Cats"}])
    assert [list(labels) for labels in model.predict(mixed.documents)] == [["Dogs"], ["Cats"]]
