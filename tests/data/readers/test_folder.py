"""Folders and tar files of texts."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest

from linnaeus.data import read_dataset
from linnaeus.errors import DataError

POST = b"From: a@b\nNewsgroups: rec.autos\nSubject: Brakes\n\nMy br\xe9kes squeak.\n\nHelp"


def make(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def test_the_folder_names_the_label(tmp_path: Path) -> None:
    make(tmp_path, {"sports/1.txt": b"A goal", "politics/uk/2.txt": b"A vote", ".git/x": b"", "README": b"about"})
    data = read_dataset(tmp_path)
    assert dict(zip(data.ids, data.documents, strict=True)) == {"politics/uk/2.txt": "A vote", "sports/1.txt": "A goal"}
    assert data.labels == [["politics/uk"], ["sports"]]
    assert data.split is None
    assert data.place(0).startswith(str(tmp_path))


@pytest.mark.parametrize("packed", [False, True])
def test_parts_of_a_split_are_no_labels_and_headers_are_stripped(tmp_path: Path, packed: bool) -> None:
    root = make(tmp_path / "x", {"news-train/rec.autos/1": POST, "news-test/sci.med/2": POST})
    if packed:
        with tarfile.open(tmp_path / "x.tar.xz", "w:xz") as tar:
            for folder in ("news-test", "news-train"):
                tar.add(root / folder, folder)
        root = tmp_path / "x.tar.xz"
    data = read_dataset(root)
    assert data.labels == [["sci.med"], ["rec.autos"]]
    assert data.split == ["test", "train"]
    assert data.documents == ["My brékes squeak.\n\nHelp"] * 2
    assert read_dataset(root, split="train").labels == [["rec.autos"]]
    assert read_dataset(root, headers="keep").documents[0].startswith("From: a@b")


def test_a_common_top_folder_is_no_label(tmp_path: Path) -> None:
    make(tmp_path, {"corpus/a/1": b"x", "corpus/b/2": b"y"})
    assert read_dataset(tmp_path).labels == [["a"], ["b"]]
    make(tmp_path / "only", {"a/1": b"x", "a/2": b"y"})
    assert read_dataset(tmp_path / "only").labels == [["a"], ["a"]]


def test_an_encoding_that_was_given_is_not_guessed(tmp_path: Path) -> None:
    make(tmp_path, {"a/1": b"\xe9"})
    assert read_dataset(tmp_path).documents == ["é"]
    with pytest.raises(DataError, match="a/1:1: byte 0xe9 is not UTF-8"):
        read_dataset(tmp_path, encoding="utf-8")


def test_a_folder_without_texts_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="or LABEL/FILE"):
        read_dataset(tmp_path)


def test_texts_beside_files_of_labels_are_documents_with_labels(tmp_path: Path) -> None:
    for name, content in {
        "d1.txt": "A late goal",
        "d1.tsv": "<http://x/1>\tSports\n<http://x/2>\tFootball\n",
        "d2.txt": "A vote",
        "d2.key": "Politics\nElections\n",
        "d3.txt": "Neither",
    }.items():
        (tmp_path / name).write_text(content)
    data = read_dataset(tmp_path)
    assert (data.ids, data.documents) == (["d1.txt", "d2.txt", "d3.txt"], ["A late goal", "A vote", "Neither"])
    assert data.labels == [["http://x/1", "http://x/2"], ["Politics", "Elections"], []]
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in sorted(tmp_path.glob("d*")):
            archive.write(path, path.name)
    assert read_dataset(tmp_path / "all.zip").labels == data.labels


def test_texts_alone_in_a_folder_have_no_labels(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name)
    assert (read_dataset(tmp_path).labels, len(read_dataset(tmp_path))) == (None, 2)
