"""Explanations through an embedding: exact, word by word, with the words of the node that a word resembles."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus import RRSVM, Mixture, OneVsRestLogistic, OneVsRestSVM, Taxonomy
from linnaeus.features import EmbeddedText, TextFeatures
from linnaeus.pipeline import Pipeline

TAX = Taxonomy.from_edges([("R", "pets"), ("R", "money"), ("pets", "cats"), ("pets", "dogs")])
TEXTS = [
    "the cat purrs and sleeps",
    "a kitten purrs and plays",
    "cat and kitten play",
    "the dog barks loudly",
    "a puppy barks and plays",
    "dog and puppy run",
    "stocks fall and markets shake",
    "markets rise as stocks rise",
]
LABELS = ["cats"] * 3 + ["dogs"] * 3 + ["money"] * 2


def fitted(model, **more: object) -> Pipeline:
    return Pipeline(model, EmbeddedText(TextFeatures(), weight=0.7, dimension=5, **more)).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    "model",
    [
        OneVsRestSVM(TAX, random_state=0),
        RRSVM(TAX, learn="closed", random_state=0),
        Mixture([("a", OneVsRestSVM()), ("b", OneVsRestLogistic())], TAX, cv=2),
    ],
    ids=["flat", "joint", "mixture"],
)
def test_words_and_the_constant_sum_to_the_score(model) -> None:
    pipe = fitted(model)
    document = "a puppy plays with the zebra"
    scores = dict(zip(pipe.classes_.tolist(), np.asarray(pipe.decision_function([document]))[0], strict=True))
    steps = pipe.explain(document, "dogs")
    for step in steps:
        assert step.intercept + step.contributions.sum() == pytest.approx(step.score, abs=1e-5)
        assert step.score == pytest.approx(scores[step.node], abs=1e-5)
        assert step.against is not None
        assert step.against.intercept + step.against.contributions.sum() == pytest.approx(step.against.margin, abs=1e-5)
    assert not any(str(name).startswith("embedding") for step in steps for name in step.features)


def test_a_word_through_its_vector_is_shown_with_words_of_the_node() -> None:
    (step,) = fitted(OneVsRestSVM(TAX, random_state=0)).explain("puppy", "dogs")
    shown = dict(zip(step.features.tolist(), step.origins.tolist(), strict=True))
    assert shown["puppy"] == "word"
    (near,) = [name for name, origin in shown.items() if origin == "embedding"]
    word, _, neighbours = near.partition(" ~ ")
    assert word == "puppy"
    assert set(neighbours.split(", ")) <= {"barks", "dog", "loudly", "run", "runs", "plays"}


def test_k_keeps_the_largest_contributions() -> None:
    pipe = fitted(OneVsRestSVM(TAX))
    (whole,), (some,) = (pipe.explain(TEXTS[3], "dogs", k) for k in (None, 3))
    np.testing.assert_allclose(some.contributions, whole.contributions[:3], rtol=1e-6)
    assert len(some.origins) == len(some.features) == 3


def test_stems_are_shown_as_words() -> None:
    features = EmbeddedText(TextFeatures(analyzer="stems"), weight=0.7, dimension=5)
    pipe = Pipeline(OneVsRestSVM(TAX), features).fit(TEXTS, LABELS)
    (step,) = pipe.explain("a puppy barks", "dogs")
    assert "barks" in step.features.tolist()
    assert step.intercept + step.contributions.sum() == pytest.approx(step.score, abs=1e-5)


def test_without_an_embedding_all_contributions_come_from_words() -> None:
    pipe = Pipeline(OneVsRestSVM(TAX, random_state=0), TextFeatures()).fit(TEXTS, LABELS)
    (step,) = pipe.explain("a puppy barks", "dogs")
    assert set(step.origins) == set(step.against.origins) == {"word"}
    assert len(step.against.origins) == len(step.against.features)


def test_pieces_of_words_are_shown_as_words() -> None:
    pipe = fitted(OneVsRestSVM(TAX, random_state=0), characters=0.7)
    (step,) = pipe.explain("the kittens purr", "cats")
    assert step.score == pytest.approx(step.intercept + step.contributions.sum(), abs=1e-5)
    words = dict(zip(step.features[step.origins == "word"], step.contributions[step.origins == "word"], strict=True))
    assert set(words) <= {"the", "kittens", "purr"}
    assert words["kittens"] > 0
