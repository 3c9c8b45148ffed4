"""--analyser, --ngrams and --stop-words of the commands that learn from texts."""

from __future__ import annotations

import json

import pytest

from linnaeus import load


@pytest.fixture
def train(linnaeus, files):
    """``train("--analyser", "stems")`` -> the result of training on the small corpus."""
    usual = ("train", "-t", files / "topics.tsv", "-d", files / "docs.jsonl", "-o", files / "model", "--test-size", 0)
    return lambda *options: linnaeus(*usual, *options)


def test_stems_pairs_and_stop_words_are_learned_and_stored(train, files) -> None:
    (files / "words.txt").write_text("thing\nbark\n")
    result = train("--analyser", "stems", "--ngrams", "1-2", "--stop-words", files / "words.txt")
    assert result.code == 0, result.err
    features = load(files / "model").features_
    assert (features.analyzer, features.ngram_range, features.stop_words) == ("stems", (1, 2), ["bark", "thing"])
    assert "purr" in features.get_feature_names_out()
    assert "thing" not in features.get_feature_names_out()


def test_both_spellings_name_the_same_option(train, files) -> None:
    assert train("--analyzer", "chars:3-4").code == 0
    features = load(files / "model").features_
    assert (features.analyzer, features.ngram_range) == ("char_wb", (3, 4))


def test_explanations_show_words_and_not_stems(train, linnaeus, files) -> None:
    rows = [{"text": text, "labels": [label]} for text, label in 4 * [("studies of cats", "Cats"), ("dogs", "Dogs")]]
    (files / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert train("--analyser", "stems").code == 0
    out = linnaeus("explain", files / "model", "--document", "studying dogs").out
    assert "studies" in out
    assert "studi " not in out


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--analyser", "stms"), "--analyser stms: 'stms' is not an analyser"),
        (("--analyser", "stems:xx"), "--analyser stems:xx: 'xx' is not a language with a stemmer"),
        (("--stop-words", "klingon"), "--stop-words klingon is neither a language"),
        (("--ngrams", "3-1"), "--ngrams 3-1: '3-1' is not a range of lengths"),
        (("--analyser", "chars", "--ngrams", "1-2"), "--analyser chars:1-2"),
        (("--analyser", "chars", "--stop-words", "en"), "--stop-words"),
        (("--features", "spectrum:2", "--analyser", "stems"), "--analyser has no effect with --features"),
    ],
)
def test_wrong_options_are_named(train, options, why) -> None:
    result = train(*options)
    assert result.code == 2
    assert why in result.err


def test_options_of_texts_are_refused_for_vectors(linnaeus, tmp_path) -> None:
    (tmp_path / "docs.txt").write_text("a 1:1\nb 2:1\n")
    result = linnaeus("train", "-d", tmp_path / "docs.txt", "-o", tmp_path / "model", "--ngrams", "1-2")
    assert "--ngrams has no effect on sparse vectors" in result.err
