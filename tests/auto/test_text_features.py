"""One choice of text features for searches and shoot-outs."""

from __future__ import annotations

import json

from linnaeus import Taxonomy
from linnaeus.auto.candidates import CHARS
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
