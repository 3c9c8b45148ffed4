"""Files are read by their format and options; what is wrong with either is said."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from linnaeus.data.readers import FORMATS, read_dataset, recognise
from linnaeus.errors import DataError, ParameterError


def test_every_format_has_a_reader() -> None:
    for path in FORMATS.values():
        module, _, function = path.rpartition(".")
        assert callable(getattr(importlib.import_module(f"linnaeus.data.{module}"), function))


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"\xff\xfe", b" \n"])
@pytest.mark.parametrize("format", [None, *FORMATS])
def test_a_file_without_content_is_said_to_be_empty(tmp_path: Path, content: bytes, format: str | None) -> None:
    (tmp_path / "docs").write_bytes(content)
    with pytest.raises(DataError, match="docs is empty"):
        read_dataset(tmp_path / "docs", format)
    with pytest.raises(DataError, match="docs is empty"):
        recognise(tmp_path / "docs")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
@pytest.mark.parametrize(
    "content", ['[{"text": "a", "labels": ["A"]}]', "text;labels\na;A\n", '{"text": "a", "labels": ["A"]}\n']
)
def test_wide_encodings_are_recognised_and_read(tmp_path: Path, content: str, encoding: str) -> None:
    (tmp_path / "docs").write_bytes(content.encode(encoding))
    data = read_dataset(tmp_path / "docs", encoding="utf-16-le" if encoding == "utf-16-le" else None)
    assert (data.documents, data.labels) == (["a"], [["A"]])


@pytest.mark.parametrize("format", [None, *FORMATS])
def test_an_unknown_encoding_is_an_error(tmp_path: Path, format: str | None) -> None:
    (tmp_path / "docs").write_text("text,labels\na,A\n")
    with pytest.raises(DataError, match=r"docs: 'latin-99' is not an encoding"):
        read_dataset(tmp_path / "docs", format, encoding="latin-99")


def test_wrong_options_are_answered_with_what_exists(tmp_path: Path) -> None:
    (tmp_path / "docs").write_text("a\n")
    with pytest.raises(ParameterError, match=r"Format 'jsnl' is not one of .*did you mean 'jsonl'"):
        read_dataset(tmp_path / "docs", "jsnl")
    with pytest.raises(ParameterError, match="label_part"):
        read_dataset(tmp_path / "docs", label_part="middle")
    with pytest.raises(DataError, match="is not divided into parts"):
        read_dataset(tmp_path / "docs", split="train")
    (tmp_path / "binary").write_bytes(b"\0\1\2\3")
    with pytest.raises(DataError, match="is not in a known format"):
        read_dataset(tmp_path / "binary")
