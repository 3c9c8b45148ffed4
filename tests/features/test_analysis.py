"""Analysers: texts to words, stems, lemmas or characters; stored by their parameters; explained by words of texts."""

from __future__ import annotations

import json
import pickle
import re
import sys
import types

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from linnaeus import OneVsRestSVM
from linnaeus.errors import ParameterError
from linnaeus.features import TextFeatures, analysis
from linnaeus.features.analysis import SNOWBALL, Analyser, parse_analyser
from linnaeus.features.stop_words import STOP_WORDS
from linnaeus.pipeline import Pipeline
from linnaeus.store import load, save

TEXTS = ["He studies cats", "they study a cat", "studies of dogs", "the dogs studied cats", "dog"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ngram_range": (1, 2)},
        {"stop_words": "english", "ngram_range": (1, 3)},
        {"analyzer": "char", "ngram_range": (2, 3)},
        {"analyzer": "char_wb", "ngram_range": (2, 5)},
        {"lowercase": False},
    ],
)
def test_words_and_characters_are_those_of_scikit_learn(options: dict) -> None:
    theirs = CountVectorizer(**options).build_analyzer()
    assert [Analyser(**options)(text) for text in TEXTS] == [theirs(text) for text in TEXTS]


def test_stems_are_one_feature_and_n_grams_are_of_stems() -> None:
    analyse = Analyser("stems:en", ngram_range=(1, 2), stop_words="en")
    assert analyse("The dogs studied") == ["dog", "studi", "dog studi"] == analyse("a dog studies")
    assert Analyser("stems:de")("Häusern Haus") == ["haus", "haus"]
    assert Analyser("stems:german").language == "de"


def test_stop_words_are_left_out_before_stems_are_taken() -> None:
    assert Analyser("stems", stop_words=["studies"])("studies study") == ["studi"]


@pytest.mark.parametrize("language", list(STOP_WORDS))
def test_every_language_of_stop_words_has_lower_case_words_and_a_stemmer(language: str) -> None:
    words = STOP_WORDS[language].split()
    assert len(set(words)) > 80
    assert all(word == word.lower() and word.isalpha() for word in words)
    assert language in SNOWBALL
    assert Analyser("word", stop_words=language)(" ".join(words)) == []


def test_features_of_stems_are_named_by_the_most_frequent_word() -> None:
    model = TextFeatures(analyzer="stems", stop_words="en").fit(TEXTS)
    assert model.vocabulary_["text"].tolist() == ["cat", "dog", "studi"]
    assert model.get_feature_names_out().tolist() == ["cats", "dogs", "studies"]
    pairs = TextFeatures(analyzer="stems", stop_words="en", ngram_range=(2, 2)).fit(TEXTS)
    assert "studies cats" in pairs.get_feature_names_out().tolist()
    assert pairs.transform(["he studied the cat"]).nnz == 1


def test_a_pipeline_with_stems_survives_saving_and_explains_itself_in_words(tmp_path) -> None:
    pipe = Pipeline(OneVsRestSVM(random_state=0), TextFeatures(analyzer="stems", stop_words="en"))
    pipe.fit(TEXTS, ["cat", "cat", "dog", "cat", "dog"])
    save(pipe, tmp_path / "model")
    again = load(tmp_path / "model")
    new = ["studying", "a cat"]
    np.testing.assert_array_equal(again.decision_function(new), pipe.decision_function(new))
    features = [name for step in again.explain("studying cat") for name in step.features]
    assert {"studies", "cats"} <= set(features)
    assert not {"studi", "cat"} & set(features)
    assert again.features_.analyser() == pipe.features_.analyser()


def test_another_version_of_the_stemmer_is_a_warning(monkeypatch) -> None:
    model = TextFeatures(analyzer="stems").fit(TEXTS)
    again = TextFeatures.from_state(*model.state())
    other = analysis._Bases(lambda word: word[:3], lower=True)
    monkeypatch.setattr(analysis, "_bases", lambda kind, language, lower: other)
    with pytest.warns(UserWarning, match="other stems than before, such as"):
        again.transform(["studies"])


def test_the_state_of_an_analyser_is_its_parameters() -> None:
    analyse = Analyser("stems", stop_words=["the"])
    analyse("running")
    assert pickle.loads(pickle.dumps(analyse)) == analyse
    values = TextFeatures(analyzer="stems:de", stop_words="de").fit(["Häuser", "Haus"]).state()[0]
    assert json.loads(json.dumps(values))["parameters"]["analyzer"] == "stems:de"


def test_a_stem_is_computed_once_per_word(monkeypatch) -> None:
    calls: list[str] = []
    analysis._bases.cache_clear()
    monkeypatch.setattr(analysis, "_stemmer", lambda language: lambda word: calls.append(word) or word)
    try:
        TextFeatures(analyzer="stems").fit(["cats cats", "cats dogs"])
        TextFeatures(analyzer="stems").fit(["cats"])
    finally:
        analysis._bases.cache_clear()
    assert calls == ["cats", "dogs"]


def test_lemmas_come_from_simplemma(monkeypatch) -> None:
    lemmas = {"went": "go", "mice": "mouse"}
    package = types.ModuleType("simplemma")
    package.lemmatize = lambda word, lang: lemmas.get(word, word)
    monkeypatch.setitem(sys.modules, "simplemma", package)
    analysis._bases.cache_clear()
    try:
        assert Analyser("lemmas:en")("mice went") == ["mouse", "go"]
        assert TextFeatures(analyzer="lemmas").fit(["mice went"]).get_feature_names_out().tolist() == ["went", "mice"]
    finally:
        analysis._bases.cache_clear()


def test_real_lemmas_where_the_package_is_installed() -> None:
    pytest.importorskip("simplemma")
    assert Analyser("lemmas:en")("mice") == ["mouse"]
    with pytest.raises(ParameterError, match="no lemmas of the language"):
        Analyser("lemmas:xx")("mice")


def test_a_missing_package_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "simplemma", None)
    analysis._bases.cache_clear()
    with pytest.raises(ParameterError, match=r"pip install 'linnaeus\[lemmas\]'"):
        Analyser("lemmas")("mice")


def test_analysers_by_the_names_of_the_command_line() -> None:
    assert parse_analyser("words") == {"analyzer": "word"}
    assert parse_analyser("chars") == {"analyzer": "char_wb", "ngram_range": (2, 5)}
    for wrong, why in [
        ("stms", "did you mean 'stems'"),
        ("stems:xx", "a stemmer"),
        ("chars:5-2", "range"),
        ("words:de", "analyser"),
    ]:
        with pytest.raises(ParameterError, match=why):
            parse_analyser(wrong)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"analyzer": "stems:xx"}, "language with a stemmer"),
        ({"analyzer": "word:de"}, "only stems and lemmas"),
        ({"analyzer": str.split}, "functions are not supported"),
        ({"stop_words": "klingon"}, "stop_words must be"),
        ({"stop_words": [1]}, "stop_words must be"),
        ({"ngram_range": (2, 1)}, "ngram_range"),
        ({"token_pattern": "("}, "token_pattern"),
    ],
)
def test_wrong_parameters_are_refused(wrong: dict, why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        TextFeatures(**wrong).fit(TEXTS)


@given(st.text() | st.text(st.characters(max_codepoint=127)))
@settings(max_examples=200, deadline=None)
@example("a b ab_c 12 x\x1fyz\x00--A1 \x7f")
@example("na\xefve caf\xe9 s")
def test_words_are_found_as_by_the_regular_expression(text: str) -> None:
    wanted = re.findall(analysis.WORD, text)
    assert Analyser(lowercase=False)(text) == wanted
    assert Analyser(lowercase=False).words(text) == wanted
    by_sklearn = CountVectorizer(ngram_range=(1, 2), stop_words="english").build_analyzer()
    assert Analyser(ngram_range=(1, 2), stop_words="english")(text) == by_sklearn(text)
