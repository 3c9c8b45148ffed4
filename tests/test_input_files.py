"""Files behind compression and encodings, with line numbers."""

from __future__ import annotations

import bz2
import gc
import gzip
import io
import lzma
import os
import threading
import warnings
import zipfile
from pathlib import Path

import pytest

from linnaeus import files
from linnaeus.errors import DataError
from linnaeus.files import InputFile

CONTENT = "one\ntwo é\nthree".encode()


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, bz2.compress])
def test_lines_are_read_through_any_compression_whatever_the_name(tmp_path: Path, pack: object) -> None:
    path = tmp_path / "docs.dat"
    path.write_bytes(pack(CONTENT))
    assert list(InputFile(path).lines()) == [(1, "one\n"), (2, "two é\n"), (3, "three")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_decides_the_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "docs"
    path.write_bytes("é\nb".encode(encoding))
    assert [line for _, line in InputFile(path).lines()] == ["é\n", "b"]


def test_a_wrong_byte_is_named_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "docs"
    path.write_bytes("good\nb\xe9d\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"docs:2: byte 0xe9 is not UTF-8; name the encoding .* 'latin-1'"):
        list(InputFile(path).lines())
    assert list(InputFile(path).lines("latin-1"))[1] == (2, "béd\n")
    with pytest.raises(DataError, match="'latin-99' is not an encoding"):
        list(InputFile(path).lines("latin-99"))


def test_broken_utf_16_is_named_with_file(tmp_path: Path) -> None:
    path = tmp_path / "docs"
    path.write_bytes("one\ntwo".encode("utf-16") + b"!")
    with pytest.raises(DataError, match=r"docs:2: byte 0x21 is not UTF-16"):
        list(InputFile(path).lines())


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_a_truncated_file_is_an_error(tmp_path: Path, pack: object) -> None:
    path = tmp_path / "docs"
    path.write_bytes(pack(bytes(range(256)) * 4000)[:-12])
    with pytest.raises(DataError, match="docs"):
        list(InputFile(path).lines("latin-1"))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, bz2.compress])
def test_a_file_is_closed_however_far_it_was_read(tmp_path: Path, pack: object) -> None:
    path = tmp_path / "docs"
    path.write_bytes(pack(CONTENT))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lines = InputFile(path).lines()
        assert next(lines) == (1, "one\n")
        lines.close()
        assert len(list(InputFile(path).lines())) == 3
        gc.collect()
    assert [str(w.message) for w in caught if w.category is ResourceWarning] == []


def test_standard_input_is_read_twice_without_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(gzip.compress(CONTENT)))
    monkeypatch.setattr("sys.stdin", stdin)
    source = InputFile("-")
    assert source.head == CONTENT
    assert len(list(source.lines())) == 3


@pytest.mark.parametrize("content", ["", "\n \n"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_file_of_nothing_but_a_byte_order_mark_is_empty(tmp_path: Path, content: str, encoding: str) -> None:
    (tmp_path / "docs").write_bytes(content.encode(encoding))
    with pytest.raises(DataError, match="docs is empty"):
        InputFile(tmp_path / "docs").check_not_empty()


def test_a_missing_file_is_named() -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        InputFile("nowhere.jsonl")


# -- pipes, archives and limits ----------------------------------------------------------------------------------------


def test_a_pipe_is_read_once_and_used_twice(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(gzip.compress(CONTENT)), daemon=True)
    writer.start()
    source = InputFile(pipe)
    writer.join(10)
    assert source.head == CONTENT
    assert len(list(source.lines())) == 3


def test_a_zip_archive_with_one_file_is_that_file(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "docs.csv.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("docs.csv", CONTENT)
        archive.writestr("__MACOSX/._docs.csv", b"x")
    source = InputFile(tmp_path / "docs.csv.zip")
    assert (source.head, source.ending) == (CONTENT, ".csv")


def test_an_office_document_is_named_as_one(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "docs.docx", "w") as archive:
        archive.writestr("[Content_Types].xml", b"<x/>")
    with pytest.raises(DataError, match=r"docs\.docx is an Office document.*save it as \.xlsx, CSV"):
        InputFile(tmp_path / "docs.docx").open()


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_a_file_that_unpacks_to_more_than_the_limit_is_an_error(tmp_path: Path, pack: object) -> None:
    (tmp_path / "docs").write_bytes(pack(b"\0" * 300_000))
    with pytest.raises(DataError, match="docs unpacks to more than 200,000 bytes"):
        InputFile(tmp_path / "docs", 200_000).read()
    assert len(InputFile(tmp_path / "docs", 300_000).read()) == 300_000


def test_the_usual_limit_follows_from_the_size_of_the_file() -> None:
    assert files.unpack_limit(1000) == 256 << 20
    assert files.unpack_limit(10 << 20) == 250 * (10 << 20)
    assert files.unpack_limit(10 << 20, 77) == 77
