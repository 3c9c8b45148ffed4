"""A card says what a model is, has metadata that can be read, and can live in the model folder."""

from __future__ import annotations

import json

import pytest

import linnaeus
from linnaeus import OneVsRestSVM, Pipeline, Taxonomy
from linnaeus.features import TextFeatures


@pytest.fixture
def model(tmp_path):
    tax = Taxonomy.from_edges([("Root", "Animals"), ("Animals", "Cats | <b>"), ("Animals", "Dogs")])
    pipe = Pipeline(OneVsRestSVM(taxonomy=tax, random_state=0), TextFeatures())
    linnaeus.save(pipe.fit(["cats purr", "dogs bark"], [["Cats | <b>"], ["Dogs"]]), tmp_path / "model")
    return tmp_path / "model"


def test_a_card_in_the_folder_leaves_the_model_as_it_is(linnaeus, model, tmp_path) -> None:
    import linnaeus as package

    figures = tmp_path / "figures.json"
    figures.write_text(json.dumps({"metrics": {"hierarchical_f1": 0.75, "micro_f1": None}, "documents": 1234}))
    card = model / "README.md"
    linnaeus("card", model, "--output", card, "--licence", "cc-by-4.0", "--evaluation", figures, "--name", 'My "model"')
    text = card.read_text("utf-8")
    head = text.split("---\n")[1]
    assert "license: cc-by-4.0\n" in head
    assert '- name: "My \\"model\\""' in head
    assert "- type: hierarchical_f1\n      value: 0.7500\n" in head
    assert "On 1,234 documents." in text
    assert "Cats \\| &lt;b>" in text
    assert package.load(model).predict(["dogs"]) == [["Dogs"]]


def test_without_an_output_it_is_printed(linnaeus, model) -> None:
    assert "# model\n" in linnaeus("card", model).out


def test_figures_that_are_not_json_are_refused(linnaeus, model, tmp_path) -> None:
    (tmp_path / "figures.txt").write_text("F1 0.9")
    assert "is not JSON" in linnaeus("card", model, "--evaluation", tmp_path / "figures.txt").err
