"""JSON lines and JSON arrays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from linnaeus import Taxonomy
from linnaeus.data import read_dataset
from linnaeus.errors import DataError

RECORDS = [
    {"id": "d1", "title": "Goal", "text": "A late goal", "labels": ["Sports"], "year": 1999},
    {"id": "d2", "text": ["A", "vote"], "labels": []},
    {"id": "d3", "title": None, "text": "Both", "labels": ["Sports", "Politics"], "year": 2001},
]


def write(path: Path, records: list[dict]) -> Path:
    path.write_text("\n".join(map(json.dumps, records)) + "\n\n")
    return path


def test_fields_labels_ids_and_lines_are_read(tmp_path: Path) -> None:
    data = read_dataset(write(tmp_path / "docs.jsonl", RECORDS))
    assert data.fields == {"title": ["Goal", "", ""], "text": ["A late goal", "A vote", "Both"]}
    assert data.labels == [["Sports"], [], ["Sports", "Politics"]]
    assert data.ids == ["d1", "d2", "d3"]
    assert data.place(2).endswith("docs.jsonl:3")


def test_a_json_array_is_read_the_same(tmp_path: Path) -> None:
    lines = read_dataset(write(tmp_path / "docs.jsonl", RECORDS))
    (tmp_path / "docs.json").write_text(json.dumps(RECORDS, indent=1))
    array = read_dataset(tmp_path / "docs.json")
    assert (array.fields, array.labels, array.ids) == (lines.fields, lines.labels, lines.ids)


def test_named_and_categorical_fields_are_used(tmp_path: Path) -> None:
    path = write(tmp_path / "docs.jsonl", RECORDS)
    data = read_dataset(path, text="title", categorical=["year"], limit=2)
    assert data.fields == {"title": ["Goal", ""], "year": ["1999", ""]}


def test_a_key_may_be_missing_in_the_first_records(tmp_path: Path) -> None:
    path = write(tmp_path / "docs.jsonl", [{"text": "a"}] * 20 + [{"text": "b", "labels": ["x"]}])
    labels = read_dataset(path).labels
    assert labels is not None
    assert labels[0] == []
    assert labels[-1] == ["x"]


def test_an_id_that_is_null_is_no_id(tmp_path: Path) -> None:
    path = write(tmp_path / "a", [{"id": None, "text": "a", "split": None}, {"id": 0, "text": "b", "split": "test"}])
    data = read_dataset(path)
    assert (data.ids, data.split) == (["", "0"], ["", "test"])


def test_documents_without_labels_and_sequences_are_read(tmp_path: Path) -> None:
    data = read_dataset(write(tmp_path / "a", [{"sequence": "ACGT"}]))
    assert (data.kind, data.labels, data.documents) == ("sequence", None, ["ACGT"])


def test_the_taxonomy_chooses_between_ids_and_names(tmp_path: Path) -> None:
    path = write(tmp_path / "a", [{"text": "a", "mesh": [["D1", "Animals", "N"]]}])
    assert read_dataset(path).labels == [["Animals"]]
    assert read_dataset(path, taxonomy=Taxonomy.flat(["D1"])).labels == [["D1"]]
    assert read_dataset(path, label_part="id").labels == [["D1"]]


def test_a_joined_string_is_several_labels_where_the_taxonomy_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "a", [{"text": "a", "labels": "A;B"}, {"text": "b", "labels": ["A;B"]}])
    assert read_dataset(path, taxonomy=Taxonomy.flat(["A", "B"])).labels == [["A", "B"], ["A;B"]]
    assert read_dataset(path, taxonomy=Taxonomy.flat(["A", "B", "A;B"])).labels == [["A;B"], ["A;B"]]
    assert read_dataset(path).labels == [["A;B"], ["A;B"]]
    assert read_dataset(path, label_separator=";").labels == [["A", "B"], ["A;B"]]


def test_an_entry_that_is_no_label_is_named_with_its_line_whatever_the_taxonomy(tmp_path: Path) -> None:
    path = write(tmp_path / "docs", [{"text": "a", "labels": [["A"]]}, {"text": "a", "labels": [[{}], {"x": 1}]}])
    for taxonomy in (None, Taxonomy.flat(["A"])):
        with pytest.raises(DataError, match="docs:2: expected a label"):
            read_dataset(path, taxonomy=taxonomy)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "a"}\n{"text": \n', r"docs:2 is not JSON: Expecting value at column"),
        ('{"text": "a"}\n[1]\n', "docs:2 contains list"),
        ('{"text": {"a": 1}}\n', "docs:1: field 'text' contains dict"),
        ('{"text": "a", "labels": [[]]}\n', "docs:1: expected a label"),
        ('{"text": ' + "[" * 100_000 + "\n", "docs:1 is nested too deeply"),
        ('{"texte": "a"}\n', "no text field .* 'texte'; name it with text="),
        ("[\n1]\n", "docs, record 1 contains int"),
        ("[\n{]\n", "docs:2 is not JSON"),
        ("", "docs is empty"),
        (" \n\n", "docs is empty"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "docs").write_text(content)
    with pytest.raises(DataError, match=message):
        read_dataset(tmp_path / "docs", "jsonl")
