"""A taxonomy with texts: the search tries a model that looks for them in documents, alone and in mixtures."""

from __future__ import annotations

import numpy as np

from linnaeus import AutoClassifier, LexicalModel, Mixture, Taxonomy
from linnaeus.auto.candidates import TEXTS, Candidate, document_models, feature_variants
from linnaeus.auto.evaluate import Evaluator, splits_of
from linnaeus.features import DenseFeatures, TextFeatures
from linnaeus.pipeline import Pipeline
from linnaeus.store import load, save
from linnaeus.taxonomy.texts import Texts

WORDS = ["heart", "lung", "kidney", "liver", "brain", "skin", "bone", "blood", "eye", "ear"]


def vocabulary() -> Taxonomy:
    tax = Taxonomy.from_edges([("R", f"n{i}") for i in range(len(WORDS))])
    entries = [(tax.index(f"n{i}"), "preferred", "en", word) for i, word in enumerate(WORDS)]
    return tax.with_texts(Texts.from_entries(entries))


def documents(n: int) -> tuple[list[str], list[list[str]]]:
    """Every text names its node, among words that say nothing; few documents for each node."""
    rng = np.random.default_rng(0)
    texts, labels = [], []
    for i in range(n):
        k = i % len(WORDS)
        noise = " ".join(f"w{j}" for j in rng.integers(0, 400, size=15))
        texts.append(f"{noise} {WORDS[k]} {noise[:7]}")
        labels.append([f"n{k}"])
    return texts, labels


def test_the_model_is_tried_for_texts_and_a_taxonomy_with_texts_only() -> None:
    tax = vocabulary()
    assert document_models(TextFeatures(), tax) == ["LexicalModel"]
    assert document_models(TextFeatures(analyzer="char"), tax) == []
    assert document_models(DenseFeatures(), tax) == document_models(None, tax) == []
    assert document_models(TextFeatures(), Taxonomy.flat(["a", "b"])) == []
    assert document_models(TextFeatures(), Taxonomy.flat(["heart.00001", "lung.00002", "C04"])) == ["LexicalModel"]


def test_the_search_takes_it_where_labels_stand_in_documents(tmp_path) -> None:
    tax, (texts, labels) = vocabulary(), documents(30)
    auto = AutoClassifier(tax, budget=1e6, features=TextFeatures())
    auto.fit(texts, labels, tuned=("features",))
    tried = {one.candidate.model for one in auto.report_.tried}
    assert {"OneVsRestSVM", "LexicalModel"} <= tried
    assert auto.report_.chosen.candidate == Candidate("LexicalModel", TEXTS)
    assert isinstance(auto.pipeline_.model_, LexicalModel)
    assert auto.pipeline_.features_ is None
    save(auto, tmp_path / "model")
    assert load(tmp_path / "model").predict(["the liver"]) == auto.predict(["the liver"]) == [["n3"]]


def test_a_mixture_with_it_takes_texts_and_gives_others_their_features() -> None:
    tax, (texts, labels) = vocabulary(), documents(60)
    Y = tax.indicator(labels)
    variants = {**feature_variants(TextFeatures(), np.zeros((1, 1)), 0), TEXTS: None}
    evaluator = Evaluator(texts, Y, tax, variants, splits_of(Y, 0), "micro_f1", 0)
    outcomes = [
        evaluator.run(Candidate("OneVsRestSVM", C=1.0), 40),
        evaluator.run(Candidate("LexicalModel", TEXTS), 40),
    ]
    mixed = evaluator.mix(outcomes)
    assert mixed.candidate.features == TEXTS
    model = evaluator.model(mixed.candidate)
    assert isinstance(model, Mixture)
    (_, words), (_, lexical) = model.sources
    assert isinstance(words, Pipeline)
    assert isinstance(words.features, TextFeatures)
    assert isinstance(lexical, LexicalModel)
    fitted = Pipeline(model, evaluator.features(TEXTS)).fit(texts, labels)
    assert fitted.predict(["the liver"]) == [["n3"]]
