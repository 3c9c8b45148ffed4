"""One choice of text features for searches and shoot-outs."""

from __future__ import annotations

import json

import numpy as np

import linnaeus
from linnaeus import Taxonomy
from linnaeus.auto.candidates import CHARS, COMMON, EMBEDDED, PLAIN, TEXTS, feature_variants, first_candidate
from linnaeus.auto.evaluate import Evaluator, splits_of
from linnaeus.auto.search import choose_features
from linnaeus.cli.shootout import train_command
from linnaeus.experiments.experiment import make_parts
from linnaeus.experiments.records import Run
from linnaeus.features import TextFeatures

TAX = Taxonomy.flat(["baker", "welder"])
# Every title is a word of its own: only parts of words tell the two labels apart.
TITLES = [f"{stem}{i}{end}" for i in range(40) for stem, end in (("back", "stube"), ("schweiss", "erei"))]
LABELS = [["baker"], ["welder"]] * 40


def test_characters_are_chosen_where_words_are_not_seen_twice(monkeypatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)  # without an embedding
    name, made = choose_features(TITLES, TAX.indicator(LABELS), TAX, TextFeatures(min_df=1))
    assert name == CHARS
    assert isinstance(made, TextFeatures)
    assert made.analyzer != "word"


def test_the_features_of_a_part_are_chosen_on_its_training_documents_only() -> None:
    seen: list[int] = []

    def choose(documents, Y) -> TextFeatures:
        seen.append(len(documents))
        return TextFeatures(min_df=1)

    parts, _ = make_parts(TITLES, TAX.indicator(LABELS), folds=4, choose=choose)
    assert seen == [part.Y.shape[0] for part in parts] == [60] * 4


def test_the_recommended_command_has_the_features_of_the_shoot_out() -> None:
    run = Run(model="RRSVM", status="done", parameters={"C": 3.0})
    command = train_command(["shootout", "-d", json.dumps("a.csv")], run, CHARS)
    assert "--model RRSVM --set C=3 --analyser chars:2-5" in command
    assert "--min-df 1 --weighting idf" in train_command(["shootout", "-d", "a.csv"], run, COMMON)
    assert "--embedding wordllama --min-df 1" in train_command(["shootout", "-d", "a.csv"], run, EMBEDDED)
    assert "--min-df 1" not in train_command(["shootout", "-d", "a.csv", "--min-df", "3"], run, EMBEDDED)


def described(n_docs: int, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Short texts: a stem with any ending, or a word of its own, gives the label."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n_docs):
        label = int(rng.integers(3))
        ending = "".join(rng.choice(list("aeioulnrst"), 4))
        word = f"{['brot', 'stahl', 'papier'][label]}{ending}"
        texts.append(" ".join(rng.permutation([word, f"w{rng.integers(9)}", ["ofen", "gas", "druck"][label]])))
        labels.append([["baker", "welder", "printer"][label]])
    return texts, labels


def test_models_of_words_and_of_characters_are_mixed_each_with_its_own_features(tmp_path) -> None:
    tax = Taxonomy.flat(["baker", "printer", "welder"])
    texts, labels = described(120)
    Y = tax.indicator(labels)
    variants = feature_variants(TextFeatures(min_df=1), np.zeros((1, 9000)), 0, 90, 3, length=20.0)
    assert {PLAIN, CHARS, TEXTS} <= set(variants)
    evaluator = Evaluator(texts, Y, tax, variants, splits_of(Y, 0), "hierarchical_f1", 0)
    sources = [evaluator.run(first_candidate("OneVsRestSVM", name), evaluator.n_learn) for name in (PLAIN, CHARS)]
    mixed = evaluator.mix(sources)
    assert mixed.candidate.features == TEXTS
    model = evaluator.model(mixed.candidate).fit(texts, labels)
    test, truth = described(60, seed=1)
    assert (np.asarray(model.predict(test)).ravel() == np.asarray(truth).ravel()).mean() > 0.9
    linnaeus.save(model, tmp_path / "model")
    np.testing.assert_array_equal(
        linnaeus.load(tmp_path / "model").decision_function(test), model.decision_function(test)
    )


def test_characters_are_tried_for_texts_of_a_line_unless_there_are_very_many() -> None:
    def tried(length: float, n_docs: int) -> bool:
        return CHARS in feature_variants(TextFeatures(), np.zeros((1, 9000)), 0, n_docs, 3, length=length)

    assert tried(40, 1_000_000)
    assert tried(150, 10_000)
    assert not tried(150, 100_000)
    assert not tried(1_000, 100)
