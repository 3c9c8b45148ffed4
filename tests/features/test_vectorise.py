"""Features learned in batches are those of all documents at once, also where counts move to disk."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from linnaeus.data import Dataset
from linnaeus.data.mapped import read_mapped
from linnaeus.errors import DataError
from linnaeus.features import HashedText, TextFeatures
from linnaeus.features.text import SpilledCounter
from linnaeus.features.vectorise import load_features, vectorise

RNG = np.random.default_rng(0)
TEXTS = [" ".join(f"word{k}s" for k in RNG.zipf(1.5, 8) if k < 500) for _ in range(200)]
RECORDS = {"title": TEXTS, "body": TEXTS[::-1], "journal": [f"J{i % 5}" if i % 7 else "" for i in range(200)]}
OPTIONS = [
    {},
    {"min_df": 2, "max_df": 0.5, "sublinear_tf": True},
    {"min_df": 0.02, "weighting": "log2"},
    {"ngram_range": (1, 2), "stop_words": "en"},
    {"analyzer": "stems"},
    {"analyzer": "char", "ngram_range": (1, 3)},
    {"fields": {"title": 2.0, "body": 1.0}, "categorical": ["journal"], "min_df": 3},
]


def parts(documents, size: int = 30) -> list:
    if isinstance(documents, dict):
        columns = {name: parts(column, size) for name, column in documents.items()}
        return [dict(zip(columns, some, strict=True)) for some in zip(*columns.values(), strict=True)]
    return [documents[i : i + size] for i in range(0, len(documents), size)]


@pytest.mark.parametrize("max_terms", [20, 1_000_000])
@pytest.mark.parametrize("options", OPTIONS)
def test_batches_give_the_features_of_all_documents(options: dict, max_terms: int) -> None:
    documents = RECORDS if "fields" in options else TEXTS
    whole = TextFeatures(**options).fit(documents)
    batched = TextFeatures(**options).fit_batches(parts(documents), max_terms=max_terms)
    assert batched.get_feature_names_out().tolist() == whole.get_feature_names_out().tolist()
    assert batched.surfaces_ == whole.surfaces_
    np.testing.assert_array_equal(batched.transform(documents).toarray(), whole.transform(documents).toarray())


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_most_frequent_terms_are_those_of_all_documents(n: int) -> None:
    texts = ["a1 a1 a1 a1 b1", "b1 b1 c1", "c1 d1"]
    batched = TextFeatures(max_features=n).fit_batches(parts(texts, 1), max_terms=1)
    assert batched.get_feature_names_out().tolist() == ["a1", "b1", "c1"][:n]
    assert TextFeatures(max_features=n).fit(texts).get_feature_names_out().tolist() == ["a1", "b1", "c1"][:n]


def test_spilled_counts_are_exact(tmp_path) -> None:
    counter, whole = SpilledCounter(tmp_path, 10), Counter()
    for text in TEXTS:
        counter.counts.update(text.split())
        whole.update(text.split())
        counter.spill_if_large()
    assert len(counter.runs) > 3
    assert list(counter.items()) == sorted(whole.items())


@pytest.mark.parametrize("features", [TextFeatures(min_df=2), HashedText(bits=10)])
def test_a_vectorised_folder_holds_the_matrix_the_labels_and_the_features(tmp_path, features) -> None:
    batches = [
        Dataset(
            fields={"text": some}, labels=[["a"]] * len(some), ids=[f"{k}-{i}" for i in range(len(some))], source="x"
        )
        for k, some in enumerate(parts(TEXTS, 64))
    ]
    counted = []
    made = vectorise(lambda: iter(batches), tmp_path / "out", features, advance=counted.append)
    data = read_mapped(tmp_path / "out", verify=True)
    expected = type(features)(**features.get_params()).fit_transform(TEXTS)
    assert (made.n_docs, made.n_features, made.labelled) == (200, expected.shape[1], True)
    assert (data.X != expected).nnz == 0
    assert data.labels == [["a"]] * 200
    assert (data.ids[0], data.ids[-1]) == ("0-0", "3-7")
    again = load_features(tmp_path / "out")
    np.testing.assert_array_equal(again.transform(TEXTS[:5]).toarray(), data.X[:5].toarray())
    assert sum(counted) == (400 if isinstance(features, TextFeatures) else 200)


def test_an_error_leaves_the_old_folder_as_it_was(tmp_path) -> None:
    vectorise(lambda: [Dataset(fields={"text": ["a cat"]})], tmp_path / "out", TextFeatures())
    for wrong in ([], [Dataset(fields={"text": [""]})]):
        with pytest.raises(DataError):
            vectorise(lambda wrong=wrong: wrong, tmp_path / "out", TextFeatures())
    assert read_mapped(tmp_path / "out").feature_names == ["cat"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_damaged_features_are_an_error(tmp_path) -> None:
    vectorise(lambda: [Dataset(fields={"text": ["a cat"]})], tmp_path / "out", TextFeatures())
    (tmp_path / "out" / "features.json").write_text("{}")
    with pytest.raises(DataError, match="no readable features"):
        load_features(tmp_path / "out")
    assert load_features(tmp_path) is None
