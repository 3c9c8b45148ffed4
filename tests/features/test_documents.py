"""Documents of every kind are read in their order, whatever index they carry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from linnaeus.errors import DataError, ParameterError
from linnaeus.features import SpectrumFeatures, TextFeatures

TEXTS = ["the cat sat", "the dog sat", "a dog barked"]


@pytest.mark.parametrize(
    "documents",
    [
        pd.Series(TEXTS, index=[17, 3, 9]),
        pd.Series(TEXTS, index=["x", "y", "z"]),
        pd.Series(TEXTS, index=[1, 1, 1]),
        pd.Series(TEXTS, dtype="category"),
        pd.Series(TEXTS, dtype=object),
        pd.DataFrame({"body": TEXTS}, index=[5, 6, 7]),
        pd.Index(TEXTS),
        tuple(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        [{"body": text} for text in TEXTS],
        {"body": pd.Series(TEXTS, index=[4, 2, 0])},
    ],
    ids=lambda documents: type(documents).__name__,
)
def test_the_kind_of_the_documents_changes_no_feature(documents: Any) -> None:
    expected = TextFeatures().fit_transform(TEXTS)
    assert (TextFeatures().fit_transform(documents) != expected).nnz == 0
    pieces = SpectrumFeatures(p=2)
    if not isinstance(documents, list):
        assert (pieces.fit_transform(documents) != pieces.fit_transform(TEXTS)).nnz == 0


def test_missing_cells_of_a_frame_are_empty_documents() -> None:
    for missing in (None, float("nan"), pd.NA, pd.NaT):
        X = TextFeatures().fit_transform(pd.Series(["cat dog", missing], dtype=object))
        assert np.diff(X.indptr).tolist() == [2, 0]


def test_no_documents_have_no_rows() -> None:
    model = TextFeatures().fit(TEXTS)
    for none in ([], (), np.array([], dtype=object), pd.Series([], dtype=object), {"text": []}):
        assert model.transform(none).shape == (0, 5)
        assert model.known_terms(none).tolist() == []
    assert SpectrumFeatures(p=2).fit(TEXTS).transform([]).shape[0] == 0


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ((text for text in TEXTS), "read only once"),
        (np.array([TEXTS]), r"of shape \(1, 3\)"),
        ({"text": "a single text"}, r"Field 'text' is a single str"),
        ([{"text": "a"}, "b"], "Document 1 is str 'b', but other documents are records"),
        (pd.DataFrame([["a", "b"]], columns=["text", "text"]), "2 columns with the name 'text'"),
        (["a cat", b"bytes"], "Document 1 has bytes"),
        (3, "got int"),
        ({"a", "b"}, "got set"),
        (None, "got NoneType"),
    ],
)
def test_documents_that_cannot_be_read_are_refused_with_a_reason(documents: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        TextFeatures().fit(documents)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stop_words": "german"}, r"stop_words must be 'english', a language \(da, de, .*; got 'german'"),
        ({"stop_words": str.split}, "stop_words must be"),
        ({"analyzer": str.split}, "functions are not supported, documents may be lists of tokens"),
        ({"token_pattern": "("}, "token_pattern must be a regular expression"),
        ({"token_pattern": None}, "token_pattern must be a regular expression"),
        ({"token_pattern": "(a)(b)"}, "2 groups"),
        ({"ngram_range": 2}, "ngram_range"),
        ({"ngram_range": (0, 1)}, "ngram_range"),
        ({"fields": {"text": "heavy"}}, "fields must be names"),
        ({"fields": 3}, "fields must be names"),
        ({"dtype": "text"}, "dtype must be one of"),
    ],
)
def test_a_parameter_that_cannot_be_used_is_refused_with_what_is_allowed(options: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        TextFeatures(**options).fit(TEXTS)


def test_stop_words_may_be_any_collection_of_words() -> None:
    for words in (["the", "sat"], ("the", "sat"), {"the", "sat"}, frozenset({"the", "sat"})):
        model = TextFeatures(stop_words=words).fit(TEXTS)
        assert model.get_feature_names_out().tolist() == ["barked", "cat", "dog"]
        again = TextFeatures.from_state(*model.state())
        assert again.known_terms(["the cat"]).tolist() == [1]


def test_known_terms_are_counted_in_all_fields() -> None:
    records = {"title": ["cats and dogs", "birds"], "journal": ["Nature", "Science"]}
    model = TextFeatures(["title"], categorical=["journal"], weighting="log2").fit(records)
    found = model.known_terms({"title": ["cats cats birds", "fish", ""], "journal": ["Nature", "Science", None]})
    assert found.tolist() == [3, 1, 0]
