"""Hashed terms need no vocabulary: online models learn words they have never seen, and columns keep readable names."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer

from linnaeus import HierarchicalPerceptron, Taxonomy
from linnaeus.errors import ParameterError
from linnaeus.features import HashedText, TextFeatures
from linnaeus.features.named import hashed_text
from linnaeus.pipeline import Pipeline
from linnaeus.store import load, save

TEXTS = ["late goals", "late late votes", "", "votes and goals"]


@pytest.mark.parametrize("signed", [True, False])
def test_the_hash_is_that_of_scikit_learn(signed: bool) -> None:
    ours = HashedText(bits=12, signed=signed, sublinear_tf=False).transform(TEXTS)
    theirs = HashingVectorizer(n_features=2**12, alternate_sign=signed, token_pattern=r"(?u)\b\w\w+\b").transform(TEXTS)
    np.testing.assert_allclose(ours.toarray(), theirs.toarray(), rtol=1e-6)


def test_transform_depends_neither_on_fit_nor_on_the_batch() -> None:
    unfitted, fitted = HashedText(bits=10), HashedText(bits=10).fit(["other words"])
    whole = unfitted.transform(TEXTS).toarray()
    np.testing.assert_array_equal(fitted.transform(TEXTS).toarray(), whole)
    np.testing.assert_array_equal(np.vstack([unfitted.transform([text]).toarray() for text in TEXTS]), whole)
    np.testing.assert_array_equal(clone(fitted).fit_transform(TEXTS).toarray(), whole)


def test_fields_have_columns_of_their_own_and_weights() -> None:
    records = {"title": ["goals", "goals"], "body": ["goals", ""], "journal": ["Nature", ""]}
    model = HashedText(bits=12, fields={"title": 2.0, "body": 1.0}, categorical=["journal"], signed=False)
    X = model.fit_transform(records)
    names = model.get_feature_names_out()
    row = dict(zip(names[X[[0]].indices], X[[0]].data, strict=True))
    assert row == pytest.approx({"title:goals": 2 / 5**0.5, "body:goals": 1 / 5**0.5, "journal=Nature": 1.0})
    assert X[[1]].nnz == 1


def test_names_are_the_most_frequent_terms_and_their_number_is_bounded() -> None:
    model = HashedText(bits=4, max_names=3).fit([])
    for i in range(300):
        model.partial_fit([f"goals votes rare{10 * i + k}" for k in range(10)])
    assert len(model.terms_) <= 2 * 3 + 1000
    kept = [term for term, _ in model.terms_.most_common(2)]
    assert sorted(kept) == ["goals", "votes"]
    assert sum(name.startswith("#") for name in model.get_feature_names_out()) >= 13


def test_terms_that_share_a_column_are_all_named() -> None:
    model = HashedText(bits=1).fit(["goals votes late"])
    shown = sorted(term for name in model.get_feature_names_out() for term in name.split(" | ") if term[0] != "#")
    assert shown == ["goals", "late", "votes"]


def test_an_online_model_learns_words_that_it_has_never_seen() -> None:
    tax = Taxonomy.from_edges([("root", "sport"), ("root", "politics")])
    first = ["late goals", "a vote passed", "goals again", "the vote failed"] * 3
    labels = ["sport", "politics"] * 6
    new = ["wicket innings", "referendum ballot"]
    answers = {}
    for features in (HashedText(bits=12), TextFeatures()):
        pipe = Pipeline(HierarchicalPerceptron(taxonomy=tax, random_state=0), features).fit(first, labels)
        for _ in range(3):
            pipe.partial_fit(new, ["sport", "politics"])
        answers[type(features).__name__] = pipe.decision_function(["wicket", "innings", "ballot"])
    sport = pipe.classes_.tolist().index("sport")
    margins = {name: scores[:, sport] - scores[:, 1 - sport] for name, scores in answers.items()}
    assert (margins["HashedText"][:2] > 0).all()
    assert margins["HashedText"][2] < 0
    assert len(set(margins["TextFeatures"].tolist())) == 1  # three empty documents


def test_saved_models_hash_and_name_as_before(tmp_path) -> None:
    pipe = Pipeline(HierarchicalPerceptron(random_state=0), HashedText(bits=10, analyzer="stems"))
    pipe.fit(["studies of goals", "a vote"], ["sport", "politics"])
    save(pipe, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(["goals unseen"]), pipe.decision_function(["goals unseen"]))
    assert again.features_.terms_ == pipe.features_.terms_
    again.partial_fit(["unseen votes"], ["politics"])
    assert "unseen" in again.features_.terms_


def test_explanations_name_the_words_of_the_document_even_if_they_were_never_counted() -> None:
    features = HashedText(bits=16, analyzer="stems", max_names=0)
    pipe = Pipeline(HierarchicalPerceptron(random_state=0), features).fit(["studies", "voting"], ["a", "b"])
    named = {name for step in pipe.explain("he studied") for name in step.features}
    assert "studied" in named


def test_half_surrogate_pairs_are_hashed() -> None:
    assert HashedText(bits=8, analyzer="char", ngram_range=(1, 1)).fit_transform(["a\ud800b"]).nnz == 3


def test_the_state_is_plain() -> None:
    values, arrays = HashedText(bits=8, fields=["text"], stop_words=["the"]).fit({"text": TEXTS}).state()
    again = HashedText.from_state(json.loads(json.dumps(values)), arrays)
    assert again.terms_ == Counter({"late": 2, "goals": 2, "votes": 2, "and": 1})
    assert again.stop_words == ["the"]


def test_hashed_features_by_name() -> None:
    assert hashed_text("hashed").bits == 18
    made = hashed_text("hashed:20,signed=False")
    assert (made.bits, made.signed) == (20, False)
    for wrong, why in [
        ("hashed:99", "at most 30"),
        ("hashed:x", "bits"),
        ("hashed:8,sined=1", "did you mean 'signed'"),
    ]:
        with pytest.raises(ParameterError, match=why):
            hashed_text(wrong)
