"""A converted data set says what the files said, is used where it lies, and gives the same models bit for bit."""

from __future__ import annotations

import importlib
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linnaeus import OneVsRestLogistic, OneVsRestSVM, Taxonomy
from linnaeus.data import Dataset, read_dataset
from linnaeus.data.convert import check_output, convert, write_mapped
from linnaeus.data.mapped import MappedCSR, read_mapped
from linnaeus.data.matrices import prepare_rows
from linnaeus.errors import DataError
from tests.contracts.configurations import documents, taxonomy

module = importlib.import_module("linnaeus.data.convert")


def random_data(seed: int, n_docs: int, n_features: int, labelled: bool = True) -> Dataset:
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n_docs, n_features), density=0.3, format="csr", rng=rng, dtype=np.float32)
    names = ["sport", "Größe", "a,b", "new\nline"]
    labels = [[names[v] for v in rng.choice(4, rng.integers(0, 3), replace=False)] for _ in range(n_docs)]
    return Dataset(X=X, labels=labels if labelled else None, source="made")


def assert_same(one: Dataset, two: Dataset) -> None:
    assert one.labels == two.labels
    assert one.ids == two.ids
    assert one.X.shape == two.X.shape
    np.testing.assert_array_equal(one.X.toarray(), two.X.toarray())


@settings(max_examples=30)
@given(
    seed=st.integers(0, 1000),
    n_docs=st.integers(1, 12),
    n_features=st.integers(1, 9),
    labelled=st.booleans(),
    batch=st.sampled_from([1, 5, 10_000]),
)
def test_a_converted_data_set_is_the_data_set(tmp_path_factory, seed, n_docs, n_features, labelled, batch) -> None:
    data = random_data(seed, n_docs, n_features, labelled)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BATCH", batch)
        assert_same(write_mapped(data, tmp_path_factory.mktemp("data") / "converted"), data)


VECTORS = {
    "libsvm": "a,b 3:1 1:0.5\n# nothing\nb 0:2\n 2:1.5\nc\n",
    "xmc": "3 6 4\n0,3 3:1 1:0.5\n\n2 0:2\n",
    "lshtc": "1, 2 3:1 1:0.5\n2, 3 5:2\n",
}


@pytest.mark.parametrize("batch", [1, 1000])
@pytest.mark.parametrize("format", list(VECTORS))
def test_vectors_as_text_are_converted_in_batches(tmp_path, monkeypatch, format, batch) -> None:
    monkeypatch.setattr(module, "BATCH", batch)
    file = tmp_path / "docs.txt"
    file.write_text(VECTORS[format])
    assert_same(convert(file, tmp_path / "converted"), read_dataset(file))
    assert_same(convert([file, file], tmp_path / "twice"), read_dataset([file, file]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 0:1\nb 1:x\n", "docs.txt:2: '1:x' is not a feature"),
        ("a 0:1\nb 1:1 1:2\n", "docs.txt:2: feature 1 is given twice"),
        ("2 3 2\n0 0:1\n1 5:1\n", "docs.txt:3: feature 5 is out of range"),
        ("2 3 2\n0 0:1\n7 1:1\n", "docs.txt:3: label '7' is out of range"),
        ("3 3 2\n0 0:1\n", "announces 3 documents; the file has 1"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_and_leaves_no_folder(tmp_path, monkeypatch, text, message) -> None:
    monkeypatch.setattr(module, "BATCH", 1)
    (tmp_path / "docs.txt").write_text(text)
    with pytest.raises(DataError, match=message):
        convert(tmp_path / "docs.txt", tmp_path / "converted")
    assert not (tmp_path / "converted").exists()


def test_dense_features_ids_names_parts_and_taxonomy_are_kept(tmp_path) -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B")])
    data = Dataset(
        X=np.array([[0.1, np.nan], [2.0, 3.0]]),
        labels=[["A"], ["B"]],
        ids=["d1", "d2"],
        feature_names=["height", "width"],
        split=["train", "test"],
        taxonomy=tax,
    )
    again = write_mapped(data, tmp_path / "converted")
    np.testing.assert_array_equal(again.X, data.X)
    assert (again.labels, again.ids, again.split) == (data.labels, data.ids, data.split)
    assert again.feature_names == data.feature_names
    assert again.taxonomy == tax
    assert read_dataset(tmp_path / "converted", split="test").ids == ["d2"]


def test_the_reader_recognises_the_folder_and_maps_it(tmp_path) -> None:
    write_mapped(random_data(0, 20, 6), tmp_path / "converted")
    data = read_dataset(tmp_path / "converted")
    assert isinstance(data.X, MappedCSR)
    for array in (data.X.data, data.X.indices, *data.X.by_frequency):
        assert not array.flags.writeable
    assert data.source == str(tmp_path / "converted")
    assert len(read_dataset(tmp_path / "converted", limit=3)) == 3
    with pytest.raises(DataError, match="6 features; n_features=9 was given"):
        read_dataset(tmp_path / "converted", n_features=9)


def test_solvers_take_the_rows_where_they_lie(tmp_path) -> None:
    data = random_data(1, 30, 8)
    mapped = write_mapped(data, tmp_path / "converted").X
    rows, in_memory = prepare_rows(mapped, 1.0), prepare_rows(data.X, 1.0)
    assert np.shares_memory(rows.data, mapped.by_frequency[1])
    assert np.shares_memory(rows.indices, mapped.by_frequency[0])
    for name in ("indptr", "indices", "data", "squared_norm", "rank"):
        np.testing.assert_array_equal(getattr(rows, name), getattr(in_memory, name))
    part = prepare_rows(mapped[:10], 1.0)  # a part has other frequencies
    np.testing.assert_array_equal(part.indices, prepare_rows(data.X[:10], 1.0).indices)


@pytest.mark.parametrize("kind", [OneVsRestSVM, OneVsRestLogistic])
def test_training_on_mapped_documents_gives_the_same_bits(tmp_path, kind) -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    mapped = write_mapped(Dataset(X=X, labels=labels), tmp_path / "converted")
    one, two = kind(tax, random_state=0).fit(X, labels), kind(tax, random_state=0).fit(mapped.X, mapped.labels)
    np.testing.assert_array_equal(one.weights_, two.weights_)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(mapped.X))
    assert one.predict(X) == two.predict(mapped.X)
    weights = np.arange(X.shape[0]) % 3
    one, two = one.fit(X, labels, weights), two.fit(mapped.X, mapped.labels, weights)
    np.testing.assert_array_equal(one.weights_, two.weights_)


def test_a_damaged_folder_is_refused(tmp_path) -> None:
    folder = tmp_path / "converted"
    write_mapped(random_data(0, 20, 6), folder)
    whole = (folder / "data.npy").read_bytes()
    (folder / "data.npy").write_bytes(whole[:-4])
    with pytest.raises(DataError, match=r"data\.npy has .* bytes; expected"):
        read_dataset(folder)
    (folder / "data.npy").write_bytes(whole[:-4] + b"\0\0\0\0")
    with pytest.raises(DataError, match="checksum differs"):
        read_mapped(folder, verify=True)
    (folder / "data.npy").unlink()
    with pytest.raises(DataError, match="incomplete"):
        read_dataset(folder)
    manifest = json.loads((folder / "dataset.json").read_text())
    (folder / "dataset.json").write_text(json.dumps({**manifest, "format_version": 99}, indent=1))
    with pytest.raises(DataError, match="format version 99"):
        read_dataset(folder)


def test_folders_of_others_are_not_written_to(tmp_path) -> None:
    (tmp_path / "letters.txt").write_text("keep me")
    with pytest.raises(DataError, match="not empty and not a converted data set"):
        check_output(tmp_path)
    with pytest.raises(DataError, match="is a file"):
        check_output(tmp_path / "letters.txt")
    write_mapped(random_data(0, 3, 2), tmp_path / "new")
    assert_same(write_mapped(random_data(1, 4, 2), tmp_path / "new"), random_data(1, 4, 2))  # one of ours is replaced


def test_texts_are_no_vectors(tmp_path) -> None:
    with pytest.raises(DataError, match="linnaeus.features.vectorise"):
        write_mapped(Dataset(fields={"text": ["a goal"]}), tmp_path / "converted")
    assert not (tmp_path / "converted").exists()
