"""Splits keep the share of every label and depend on nothing but the seed or the id."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linnaeus.data import Dataset, hash_split, kfold, train_test_split
from linnaeus.data.splits import by_split, stratified_folds
from linnaeus.errors import DataError, ParameterError

rows = st.lists(st.lists(st.sampled_from("abcdef"), unique=True, max_size=4), min_size=4, max_size=40)


@settings(max_examples=60)
@given(rows, st.integers(2, 4), st.integers(0, 99))
def test_folds_cover_every_document_once(labels: list[list[str]], n_splits: int, seed: int) -> None:
    tests = [test for _, test in kfold(labels, n_splits, random_state=seed)]
    assert sorted(np.concatenate(tests).tolist()) == list(range(len(labels)))
    for train, test in kfold(labels, n_splits, random_state=seed):
        assert sorted([*train, *test]) == list(range(len(labels)))


@settings(max_examples=40)
@given(st.integers(0, 999), st.integers(2, 5))
def test_a_label_of_single_label_data_is_spread_within_one_document(seed: int, n_splits: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.choice(list("abc"), size=60, p=[0.7, 0.2, 0.1])
    fold = stratified_folds(sparse.csr_array(labels[:, None] == np.array(list("abc"))), [1 / n_splits] * n_splits)
    for label in "abc":
        counts = np.bincount(fold[labels == label], minlength=n_splits)
        assert counts.max() - counts.min() <= 1


def test_rare_labels_are_better_spread_than_by_chance() -> None:
    rng = np.random.default_rng(0)
    Y = sparse.csr_array(rng.random((2000, 40)) < np.geomspace(0.002, 0.3, 40))
    expected = Y.sum(axis=0) * 0.25

    def error(stratify: bool) -> float:
        _, test = train_test_split(Y, 0.25, random_state=1, stratify=stratify)
        return float(np.abs(Y[test].sum(axis=0) - expected).mean())

    assert error(True) < 0.4 * error(False)


@pytest.mark.parametrize("per_label", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("test_size", [0.05, 0.1, 0.25, 0.5])
def test_both_sides_get_their_share_however_rare_the_labels_are(per_label: int, test_size: float) -> None:
    labels = [[f"label {i // per_label}"] for i in range(420)]
    train, test = train_test_split(labels, test_size, random_state=0)
    assert abs(len(test) - 420 * test_size) <= 2
    assert len(train) + len(test) == 420
    # and not the documents that happen to stand last
    assert 100 < test.mean() < 320


@pytest.mark.parametrize("stratify", [True, False])
@pytest.mark.parametrize("n_docs", [2, 3, 4])
@pytest.mark.parametrize("test_size", [0.01, 0.1, 0.9])
def test_no_side_is_empty(n_docs: int, test_size: float, stratify: bool) -> None:
    for seed in range(5):
        train, test = train_test_split([["a"]] * n_docs, test_size, random_state=seed, stratify=stratify)
        assert min(len(train), len(test)) >= 1
        assert sorted([*train, *test]) == list(range(n_docs))


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["a", "b"] * 10),
        [1, 2] * 10,
        ["a", "b"] * 10,
        np.array([["r", "a"], ["r", "b"]] * 10),
        [[1, 0, 0], [0, 1, 0]] * 10,
        np.array([[1, 0], [0, 1]] * 10),
        [{"a"}, ("b",)] * 10,
    ],
    ids=["array", "numbers", "strings", "paths", "rows", "indicator", "sets"],
)
def test_labels_of_any_kind_are_stratified(labels: object) -> None:
    _, test = train_test_split(labels, 0.3, random_state=0)
    assert np.bincount(test % 2).tolist() == [3, 3]
    for _, test in kfold(labels, 5, random_state=0):
        assert np.bincount(test % 2).tolist() == [2, 2]


def test_what_is_no_label_is_refused() -> None:
    for wrong in ([0.5, 1.5] * 5, "abab", np.full((4, 2), 0.5)):
        with pytest.raises(DataError):
            train_test_split(wrong)


def test_one_document_cannot_be_split() -> None:
    with pytest.raises(ParameterError, match="both parts of 1"):
        train_test_split([["a"]], 0.5)


def test_the_same_seed_gives_the_same_split() -> None:
    labels = [["a"], ["b"], ["a", "b"], []] * 10
    one, two, other = (train_test_split(labels, 0.3, random_state=s)[1].tolist() for s in (7, 7, 8))
    assert one == two
    assert one != other


def test_without_stratification_the_sizes_are_exact() -> None:
    train, test = train_test_split([[]] * 10, 3, random_state=0, stratify=False)
    assert (len(train), len(test)) == (7, 3)
    assert [len(test) for _, test in kfold([[]] * 10, 3, random_state=0, stratify=False)] == [3, 4, 3]


def test_a_data_set_is_split_into_data_sets() -> None:
    data = Dataset(sequences=list("ABCDEFGH"), labels=[["x"], ["y"]] * 4, ids=list("12345678"))
    train, test = train_test_split(data, 0.5, random_state=0)
    assert sorted([*train.ids, *test.ids]) == data.ids
    assert sorted(label for row in test.labels for label in row) == ["x", "x", "y", "y"]


@pytest.mark.parametrize("size", [0, 1.0, 4, -1])
def test_a_side_without_documents_is_refused(size: float) -> None:
    with pytest.raises(ParameterError, match="test_size"):
        train_test_split([["a"]] * 4, size)


def test_impossible_numbers_of_folds_are_refused() -> None:
    for n_splits in (1, 5):
        with pytest.raises(ParameterError, match="n_splits"):
            list(kfold([["a"]] * 4, n_splits))


def test_the_hash_of_an_id_decides_alone() -> None:
    ids = [str(i) for i in range(1000)]
    mask = hash_split(ids, 4)
    assert hash_split(ids[::-1], 4)[::-1].tolist() == mask.tolist()
    assert 200 < mask.sum() < 300
    import hashlib

    assert hash_split(["399296"], 7)[0] == (int.from_bytes(hashlib.md5(b"399296").digest(), "big") % 7 == 0)


def test_parts_that_the_file_names_are_given_by_name() -> None:
    data = Dataset(sequences=["A", "C", "G"], split=["train", "test", "train"])
    assert {name: part.sequences for name, part in by_split(data).items()} == {"train": ["A", "G"], "test": ["C"]}
    with pytest.raises(DataError, match="not divided into parts"):
        by_split(Dataset(sequences=["A"]))
