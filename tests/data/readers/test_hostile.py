"""Files that are made to hurt: our error with file and line, in bounded time and memory."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from linnaeus.data import read_dataset
from linnaeus.data.label_files import read_label_file
from linnaeus.errors import DataError

DIGITS = "9" * 5000
REUTERS = '<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="1"><TEXT>{}</TEXT></REUTERS>\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"3 {DIGITS}:1\n", "docs:1: '999.*' is not a feature"),
        (f"2 {DIGITS} 6\n3 0:1\n", "docs:1 announces 999.* features; a number below"),
        (f"1 9 6\n{DIGITS} 0:1\n", "docs:2: label '999.*' is out of range"),
        ("1 99999999999 6\n3 0:1\n", "docs:1 announces 99999999999 features"),
        (f'{{"text": "a", "labels": {DIGITS}}}\n', "docs:1 contains a number that cannot be read"),
        ('{"text": "a", "labels": ' + "[" * 10_000 + "]" * 10_000 + "}\n", "docs:1 is nested too deeply"),
        ("[" * 100_000, "docs:1 is nested too deeply"),
        ('{"text": "a", "labels": ' + "[" * 500 + "]" * 500 + "}\n", "docs:1: expected a label"),
        (f"@relation r\n@attribute x numeric\n@data\n{{{DIGITS} 1}}\n", "docs:4: '999.*' does not begin with"),
    ],
)
def test_huge_numbers_and_deep_nesting_are_errors_with_a_line(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "docs").write_text(content)
    with pytest.raises(DataError, match=message) as raised:
        read_dataset(tmp_path / "docs")
    assert len(str(raised.value)) <= 2000


def test_a_character_with_a_huge_number_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "docs").write_text(REUTERS.format(f"a &#{DIGITS}; b &#38;"))
    assert read_dataset(tmp_path / "docs").fields["body"] == ["a   b &"]


def test_elements_that_are_never_closed_take_linear_time(tmp_path: Path) -> None:
    (tmp_path / "docs").write_text(REUTERS.format("a") + "<REUTERS>" * 200_000 + "<TITLE" * 200_000)
    assert len(read_dataset(tmp_path / "docs")) == 1


def test_an_archive_that_says_it_is_far_larger_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "docs.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", b"\0" * 3_000_000)
    with pytest.raises(DataError, match=r"docs\.npz unpacks to more than 1,000,000 bytes"):
        read_dataset(tmp_path / "docs.npz", max_unpacked="1MB")
    with zipfile.ZipFile(tmp_path / "docs.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("a/1", "b/2"):
            archive.writestr(name, b" " * 600_000)
    with pytest.raises(DataError, match=r"docs\.zip unpacks to more than 1,000,000 bytes"):
        read_dataset(tmp_path / "docs.zip", max_unpacked=1_000_000)


def test_a_matrix_that_says_it_has_more_rows_than_memory_is_refused(tmp_path: Path) -> None:
    parts = {"data": np.ones(1), "indices": np.zeros(1, int), "indptr": np.array([0, 1]), "format": np.array("csc")}
    np.savez(tmp_path / "docs.npz", **parts, shape=np.array([10**12, 1]))
    with pytest.raises(DataError, match=r"The sparse matrix of .* is inconsistent: 1,000,000,000,000 rows"):
        read_dataset(tmp_path / "docs.npz")


def test_a_zip_file_of_an_unknown_version_is_damaged(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, X=np.eye(2))
    content = bytearray(buffer.getvalue())
    at = content.index(b"PK\x01\x02")
    content[at + 6] = 0xFF  # version needed to extract
    (tmp_path / "docs.npz").write_bytes(content)
    with pytest.raises(DataError, match=r"docs\.npz"):
        read_dataset(tmp_path / "docs.npz")


def test_a_label_file_nested_deeply_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "labels").write_text("[" * 100_000 + "\n")
    assert read_label_file(tmp_path / "labels").labels  # not JSON: a line of labels
    (tmp_path / "labels").write_text('{"labels": ' + "[" * 10_000 + "]" * 10_000 + "}\n")
    with pytest.raises(DataError, match="labels:1 is nested too deeply"):
        read_label_file(tmp_path / "labels")
