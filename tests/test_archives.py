"""A tar file that is damaged or cut off is an error; it never is a smaller data set."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus.data import read_dataset
from linnaeus.errors import DataError
from linnaeus.files import InputFile, members

SGML = b'<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="1"><TOPICS></TOPICS><TEXT>a</TEXT></REUTERS>\n'


def archive(files: dict[str, bytes], mode: str = "w") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


TEXTS = {f"label{i % 3}/{i}.txt": b"word " * (i + 1) for i in range(30)}


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., list[tuple[str, bytes]]]:
    def write_and_read(content: bytes) -> list[tuple[str, bytes]]:
        (tmp_path / "docs.tar").write_bytes(content)
        return list(members(InputFile(tmp_path / "docs.tar")))

    return write_and_read


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_all_files_are_read_in_order(read: Callable[..., list[tuple[str, bytes]]], mode: str) -> None:
    assert read(archive(TEXTS, mode)) == list(TEXTS.items())


def test_a_flipped_byte_of_a_header_is_an_error(read: Callable[..., list[tuple[str, bytes]]]) -> None:
    whole = bytearray(archive(TEXTS))
    whole[15 * 1024] ^= 0xFF  # the header of the sixteenth file
    with pytest.raises(DataError, match=r"docs\.tar is not a readable tar file: a header is damaged"):
        read(bytes(whole))


@settings(max_examples=60)
@given(st.integers(0, 30 * 1024 - 1))
def test_wherever_an_archive_is_cut_off_it_is_an_error(tmp_path_factory: pytest.TempPathFactory, at: int) -> None:
    path = tmp_path_factory.getbasetemp() / "cut.tar"
    path.write_bytes(archive(TEXTS)[:at])
    with pytest.raises(DataError, match=r"cut\.tar"):
        list(members(InputFile(path)))


def test_a_header_overwritten_with_zeros_is_not_the_end(read: Callable[..., list[tuple[str, bytes]]]) -> None:
    whole = archive(TEXTS)
    with pytest.raises(DataError, match="its end is marked at byte 15,360, but more data follow"):
        read(whole[: 15 * 1024] + bytes(512) + whole[15 * 1024 + 512 :])


def test_a_wrong_checksum_of_gzip_is_noticed(read: Callable[..., list[tuple[str, bytes]]]) -> None:
    whole = bytearray(gzip.compress(archive(TEXTS)))
    whole[-6] ^= 0xFF
    with pytest.raises(DataError, match=r"docs\.tar: the compressed file is damaged"):
        read(bytes(whole))


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
@pytest.mark.parametrize("files", [TEXTS, {f"reut2-{i:03}.sgm": SGML * 50 for i in range(9)}], ids=["folder", "sgml"])
def test_data_sets_in_broken_archives_are_errors_that_name_the_file(
    tmp_path: Path, mode: str, files: dict[str, bytes]
) -> None:
    path = tmp_path / "docs.tar"
    whole = archive(files, mode)
    path.write_bytes(whole)
    assert len(read_dataset(path)) > 0
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"docs\.tar"):
        read_dataset(path)
    if mode != "w":
        path.write_bytes(whole[: len(whole) // 2] + b"\xff" + whole[len(whole) // 2 + 1 :])
        with pytest.raises(DataError, match=r"docs\.tar"):
            read_dataset(path)
