"""Contributions add up to scores and to margins over the runner-up; kept documents are found again."""

from __future__ import annotations

import numpy as np
import pytest

import linnaeus
from linnaeus import HM3, RRSVM, OneVsRestSVM, Pipeline, Taxonomy, TopDownSVM
from linnaeus.errors import LinnaeusError
from linnaeus.features.text import TextFeatures
from tests.contracts.configurations import documents, taxonomy


@pytest.mark.parametrize("kind", [OneVsRestSVM, RRSVM, TopDownSVM, HM3])
@pytest.mark.parametrize("shape", ["tree", "dag"])
def test_contributions_add_up_for_every_step_and_against_the_rival(kind, shape) -> None:
    tax = taxonomy(shape)
    X, labels = documents(tax)
    model = kind(tax).fit(X, labels)
    S = model.decision_function(X[:1])[0]
    if kind is HM3:  # explained by what nodes add to the score of the set
        ((weights, _, _),) = model._set_weights(X[:1], model._decoder(None))
        S = weights.nodes[0]
    column = {str(name): i for i, name in enumerate(model.classes_)}
    steps = model.explain(X[[0]], node="AAB")
    flat = kind in (OneVsRestSVM, RRSVM)
    assert [step.node for step in steps][-1] == "AAB"
    assert len(steps) == 1 or not flat
    for step in steps:
        assert step.score == pytest.approx(step.intercept + step.contributions.sum(), abs=1e-5)
        assert step.score == pytest.approx(S[column[step.node]], abs=1e-4)
        rival = step.against
        assert rival.margin == pytest.approx(rival.intercept + rival.contributions.sum(), abs=1e-5)
        assert rival.margin == pytest.approx(step.score - rival.rival_score)
        family = {str(tax.names[c]) for p in tax.parents(step.node) for c in tax.children(int(p))} - {step.node}
        if flat:
            family = set(column) - set(tax.names[tax.ancestors(step.node)])
        known = [name for name in family if name in column]
        assert rival.rival in (known or column)
        if known:
            assert rival.rival_score == pytest.approx(max(S[column[name]] for name in known), abs=1e-4)
    assert len(model.explain(X[[0]], k=2)[-1].against.features) == 2


def test_a_flat_model_explains_its_label_against_the_best_other_label_and_nothing_above_it() -> None:
    tax = Taxonomy.from_paths([["python", "scipy", "sparse"], ["python", "numpy"], ["r", "dplyr"]])
    texts = ["sparse solve", "array shape", "frame pipe", "scipy signal", "sparse matrix", "array sum"]
    pipe = Pipeline(OneVsRestSVM(tax, random_state=0), TextFeatures())
    pipe.fit(texts, ["sparse", "numpy", "dplyr", "scipy", "sparse", "numpy"])
    (step,) = pipe.explain("solve sparse array")
    assert step.node == pipe.predict(["solve sparse array"])[0] == "sparse"
    names, _ = pipe.top(["solve sparse array"], 3)
    assert step.against.rival == next(name for name in names[0] if name not in ("sparse", "scipy"))
    assert step.against.margin > 0
    assert list(np.abs(step.contributions)) == sorted(np.abs(step.contributions), reverse=True)
    with pytest.raises(LinnaeusError, match="'python' has no score: it was not trained"):
        pipe.explain("solve sparse array", node="python")


@pytest.mark.parametrize("n_labels", [5, 40])  # rivals are scored one by one, or all at once
def test_the_rival_of_a_label_is_the_best_of_all_others_but_its_ancestors(n_labels) -> None:
    rng = np.random.default_rng(0)
    edges = [("R", f"T{i}") for i in range(3)] + [(f"T{i % 3}", f"l{i}") for i in range(n_labels)]
    X = rng.normal(size=(4 * n_labels, 10))
    y = [[f"l{i % n_labels}"] if i % 7 else ["T0"] for i in range(len(X))]  # T0 is a label, and above others
    model = OneVsRestSVM(Taxonomy.from_edges(edges), random_state=0).fit(X, y)
    names, scores = [str(name) for name in model.classes_], model.decision_function(X)
    for x, row in zip(X[:20], scores, strict=False):
        (step,) = model.explain(x)
        assert row[names.index(step.node)] == pytest.approx(step.score, rel=1e-5)
        above = {str(model.taxonomy_.names[v]) for v in model.taxonomy_.ancestors(model.taxonomy_.index(step.node))}
        others = {name: score for name, score in zip(names, row, strict=True) if name not in above | {step.node}}
        assert step.against.rival == max(others, key=others.get)


def test_kept_documents_are_found_again(tmp_path) -> None:
    texts = ["cats purr softly", "dogs bark loudly", "a cat and a dog", "roses smell"]
    labels = [["cat"], ["dog"], ["cat", "dog"], ["rose"]]
    pipe = Pipeline(OneVsRestSVM(random_state=0), TextFeatures()).fit(texts, labels)
    with pytest.raises(LinnaeusError, match="No documents were kept"):
        pipe.nearest("cats")
    pipe.keep_documents(texts, labels, ["one", "two", "three", "four"])
    linnaeus.save(pipe, tmp_path / "model")
    for model in (pipe, linnaeus.load(tmp_path / "model")):
        found = model.nearest("dogs bark", k=2)
        assert (found[0].name, found[0].labels) == ("two", ["dog"])
        assert 0 < found[0].similarity <= 1 + 1e-6
        assert [n.name for n in model.nearest("cats bark", node="cat")] == ["one"]
    pipe.model_.fit(pipe.matrix(texts), labels)
    assert pipe.model_.kept_ is None


def test_explanations_of_text_name_the_words_against_the_rival() -> None:
    texts = ["cats purr", "dogs bark", "cats meow", "dogs growl"]
    pipe = Pipeline(OneVsRestSVM(random_state=0), TextFeatures()).fit(texts, ["cat", "dog", "cat", "dog"])
    (step,) = pipe.explain("cats bark")
    assert step.against.rival in ("cat", "dog")
    assert set(step.against.features) == {"cats", "bark"}
