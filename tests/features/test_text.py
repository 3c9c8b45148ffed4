"""Weighted terms: scikit-learn's numbers, one block per field, the same to the last bit after a round trip."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

from linnaeus.errors import DataError, ParameterError
from linnaeus.features import TextFeatures

TEXTS = ["the cat sat on the mat", "the dog sat", "a dog and another dog barked", "", "the Cat"]
RECORDS = {
    "title": ["cats and dogs", "dogs", "birds"],
    "abstract": ["long text on cats", "birds and dogs", "only birds"],
    "journal": ["Nature", "Science", "Nature"],
}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sublinear_tf": True},
        {"min_df": 2},
        {"ngram_range": (1, 2)},
        {"stop_words": "english"},
        {"max_features": 3},
    ],
)
def test_tfidf_is_that_of_scikit_learn(options: dict) -> None:
    ours = TextFeatures(**options)
    theirs = TfidfVectorizer(dtype=np.float32, **options)
    X = ours.fit_transform(TEXTS)
    np.testing.assert_allclose(X.toarray(), theirs.fit_transform(TEXTS).toarray(), rtol=1e-6)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    more = ["dog cat mat unseen", ""]
    np.testing.assert_allclose(ours.transform(more).toarray(), theirs.transform(more).toarray(), rtol=1e-6)
    assert X.dtype == np.float32


@pytest.mark.parametrize("at_once", [1, 7, 200_000])
def test_new_documents_are_counted_as_scikit_learn_does_whatever_is_counted_at_once(monkeypatch, at_once: int) -> None:
    monkeypatch.setattr("linnaeus.features.text._COUNTED", at_once)
    features = TextFeatures(ngram_range=(1, 2), norm=None, weighting="log2", min_df=1).fit(TEXTS)
    terms = features.vocabulary_["text"].tolist()
    new = [*TEXTS, "dog dog cat dog", "nothing known", "", "the the the"]
    expected = CountVectorizer(vocabulary=terms, ngram_range=(1, 2), dtype=np.float32).transform(new)
    found = features._count("text", new)
    assert found.indices.dtype == found.indptr.dtype == np.int32
    np.testing.assert_array_equal(found.toarray(), expected.toarray())
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))


def test_log2_is_raw_counts_times_log2_of_n_over_nu_without_norm() -> None:
    X = TextFeatures(weighting="log2").fit_transform(TEXTS).toarray()
    counts = CountVectorizer().fit_transform(TEXTS).toarray()
    expected = counts * np.log2(len(TEXTS) / (counts > 0).sum(axis=0))
    np.testing.assert_allclose(X, expected, rtol=1e-6)
    assert np.linalg.norm(X, axis=1).max() > 1.5
    unit = TextFeatures(weighting="log2", norm="l2").fit_transform(TEXTS).toarray()
    np.testing.assert_allclose(np.linalg.norm(unit[:3], axis=1), 1, rtol=1e-6)


def test_idf_gives_words_of_all_documents_no_weight() -> None:
    texts = [f"the {text}" for text in TEXTS]
    X = TextFeatures(weighting="idf").fit_transform(texts).toarray()
    counts = CountVectorizer().fit_transform(texts).toarray()
    expected = counts * np.log(len(texts) / (counts > 0).sum(axis=0))
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(X, expected / np.where(lengths > 0, lengths, 1.0), rtol=1e-6)
    assert not X[:, TextFeatures().fit(texts).get_feature_names_out().tolist().index("the")].any()


def test_field_weights_multiply_their_block_before_the_common_norm() -> None:
    model = TextFeatures(fields={"title": 3.0, "abstract": 1.0})
    X = model.fit_transform(RECORDS).toarray()
    blocks = [w * TextFeatures(norm=None).fit_transform(RECORDS[f]).toarray() for f, w in model.fields.items()]
    expected = np.hstack(blocks)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(X, expected, rtol=1e-5)
    names = model.get_feature_names_out().tolist()
    assert names[0] == "title:and"
    assert names[-1] == "abstract:text"


def test_categorical_fields_are_binary_features_outside_the_norm() -> None:
    model = TextFeatures(fields=["title"], categorical=["journal"])
    X = model.fit_transform(RECORDS).toarray()
    assert model.get_feature_names_out().tolist()[-2:] == ["journal=Nature", "journal=Science"]
    assert X[:, -2:].tolist() == [[1, 0], [0, 1], [1, 0]]
    np.testing.assert_allclose(np.linalg.norm(X[:, :-2], axis=1), 1, rtol=1e-6)
    unseen = model.transform({"title": ["dogs"], "journal": ["Cell"]}).toarray()
    assert unseen[0, -2:].tolist() == [0, 0]
    several = TextFeatures(categorical={"journal": 0.5}).fit_transform({"journal": [["a", "b"], [], ["b"]]})
    assert several.toarray().tolist() == [[0.5, 0.5], [0, 0], [0, 0.5]]


def test_all_kinds_of_documents_give_the_same_features() -> None:
    by_field = {"title": RECORDS["title"], "abstract": RECORDS["abstract"]}
    records = [dict(zip(by_field, row, strict=True)) for row in zip(*by_field.values(), strict=True)]

    class Frame:  # what pandas and polars have in common
        columns = tuple(by_field)

        def __getitem__(self, name: str) -> np.ndarray:
            return np.array(by_field[name], dtype=object)

    X = TextFeatures().fit_transform(by_field)
    for documents in (records, Frame()):
        assert (TextFeatures().fit_transform(documents) != X).nnz == 0


def test_a_model_of_one_field_takes_plain_strings() -> None:
    model = TextFeatures(fields=["title"]).fit(RECORDS)
    assert (model.transform(RECORDS["title"]) != model.transform(RECORDS)).nnz == 0
    plain = TextFeatures(fields={"title": 1.0}).fit(RECORDS["title"])
    assert (plain.transform(RECORDS) != model.transform(RECORDS)).nnz == 0
    assert (TextFeatures(fields=["title"]).fit_transform(RECORDS["title"]) != model.transform(RECORDS)).nnz == 0
    with pytest.raises(DataError, match="no field 'title'"):
        TextFeatures(fields=["title", "abstract"]).fit(TEXTS)


@settings(max_examples=40)
@given(
    st.lists(st.text(alphabet="ab cdé漢 ", max_size=30), min_size=1, max_size=8),
    st.booleans(),
    st.sampled_from(["tfidf", "log2"]),
)
def test_the_round_trip_through_values_and_arrays_changes_no_bit(
    texts: list[str], sublinear: bool, weighting: str
) -> None:
    records = {"text": [*texts, "ab cd"], "kind": [text[:1] for text in texts] + ["x"]}
    model = TextFeatures(
        {"text": 1.7}, categorical=["kind"], sublinear_tf=sublinear, weighting=weighting, token_pattern=r"\w+"
    ).fit(records)
    values, arrays = model.state()
    again = TextFeatures.from_state(json.loads(json.dumps(values)), {k: a.copy() for k, a in arrays.items()})
    one, two = model.transform(records), again.transform(records)
    for part in ("data", "indices", "indptr"):
        assert getattr(one, part).tobytes() == getattr(two, part).tobytes()
    assert again.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    assert all(isinstance(a, np.ndarray) and a.dtype != object for a in arrays.values())


def test_one_document_is_a_batch_of_one() -> None:
    model = TextFeatures().fit(TEXTS)
    whole = model.transform(TEXTS).toarray()
    alone = np.vstack([model.transform([text]).toarray() for text in TEXTS])
    assert whole.tobytes() == alone.tobytes()


def test_fitting_again_forgets_the_first_vocabulary() -> None:
    model = TextFeatures().fit(["cat dog"])
    model.transform(["cat"])
    model.fit(["bird fish worm"])
    assert model.transform(["bird cat"]).toarray().tolist() == [[1, 0, 0]]


def test_missing_texts_and_token_lists_are_read() -> None:
    X = TextFeatures().fit_transform({"text": ["cat dog", None, float("nan"), ["cat", "dog"]]}).toarray()
    assert X[0].tolist() == X[3].tolist()
    assert not X[1:3].any()


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ("one string", "single string"),
        (["a cat", 7], "Document 1"),
        ({"titel": ["a cat"]}, "did you mean 'titel'"),
        ({"title": ["a"], "abstract": []}, "different lengths"),
        (np.eye(2), "strings, records or fields"),
    ],
)
def test_documents_that_are_no_text_are_refused(documents: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        TextFeatures(fields=["title"] if isinstance(documents, dict) else None).fit(documents)


def test_nothing_to_learn_from_is_an_error() -> None:
    with pytest.raises(DataError, match="has a term in field 'text'"):
        TextFeatures().fit(["", "a"])
    for wrong in ({"weighting": "bm25"}, {"norm": "l1"}, {"dtype": "int8"}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            TextFeatures(**wrong).fit(TEXTS)


def test_it_clones_and_works_in_a_pipeline() -> None:
    model = TextFeatures(fields={"text": 2.0}, min_df=2)
    assert clone(model).get_params() == model.get_params()
    X = make_pipeline(TextFeatures()).fit_transform(TEXTS)
    assert X.shape[0] == len(TEXTS)


def test_characters_are_terms_for_sequences() -> None:
    model = TextFeatures(analyzer="char", ngram_range=(2, 2), lowercase=False).fit(["ACGA", "GATT"])
    assert model.get_feature_names_out().tolist() == ["AC", "AT", "CG", "GA", "TT"]
    again = TextFeatures.from_state(*model.state())
    assert (again.transform(["ACGATT"]) != model.transform(["ACGATT"])).nnz == 0
    with pytest.raises(ParameterError, match="analyzer"):
        TextFeatures(analyzer="letters").fit(["ACGA"])


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (["a cat sat"], {"min_df": 2}, r"No term of field 'text' occurs in at least min_df=2 of the 1 documents\."),
        (["cat", "dog"], {"min_df": 2}, r"at least min_df=2 of the 2 documents"),
        (["cat"] * 4, {"max_df": 0.5}, r"at least min_df=1 and at most max_df=0.5 of the 4 documents"),
        (["cat"] * 5, {"min_df": 3, "max_df": 2}, r"at least min_df=3 and at most max_df=2 of the 5 documents"),
        (["", "a b"], {}, r"None of the 2 documents has a term in field 'text'"),
    ],
)
def test_documents_without_features_are_explained(texts: list[str], options: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        TextFeatures(**options).fit(texts)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"min_df": -1}, "'min_df' parameter of TextFeatures"), ({"ngram_range": (2, 1)}, r"got \(2, 1\)")],
)
def test_a_wrong_parameter_is_not_taken_for_wrong_documents(options: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        TextFeatures(**options).fit(["a cat sat"])
