"""Files are read through compression and encodings, and written whole or not at all."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from linnaeus import files
from linnaeus.errors import DataError, StoreError, TaxonomyError

PACKERS = [gzip.compress, lzma.compress, bz2.compress]


@pytest.mark.parametrize("pack", [bytes, *PACKERS])
def test_the_first_bytes_tell_the_compression(pack: Callable[[bytes], bytes]) -> None:
    assert files.unpacked(io.BytesIO(pack(b"goal"))).read() == b"goal"


@pytest.mark.parametrize("ending", ["", ".gz", ".xz", ".bz2"])
def test_the_ending_asks_for_the_compression(ending: str) -> None:
    content = files.packed(b"goal" * 99, f"docs.txt{ending}")
    assert (content == b"goal" * 99) == (ending == "")
    assert files.unpacked(io.BytesIO(content)).read() == b"goal" * 99


@pytest.mark.parametrize("pack", PACKERS)
@pytest.mark.parametrize("damage", ["cut", "altered", "checksum"])
def test_damage_is_an_error_of_the_room_that_names_the_file(pack: Callable[[bytes], bytes], damage: str) -> None:
    whole = bytearray(pack(os.urandom(5000)))
    if damage == "cut":
        del whole[-20:]
    else:
        whole[len(whole) // 2 if damage == "altered" else -6] ^= 0xFF
    stream = files.unpacked(io.BytesIO(bytes(whole)))
    message = r"docs\.gz: the compressed file is damaged or cut off"
    with pytest.raises(TaxonomyError, match=message), files.intact("docs.gz", TaxonomyError):
        stream.read()


def test_an_error_of_the_disk_is_not_damage() -> None:
    with pytest.raises(IsADirectoryError), files.intact("x", DataError):
        raise IsADirectoryError(21, "Is a directory", "x")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_decides_and_is_no_text(encoding: str) -> None:
    assert files.decode("é\n".encode(encoding), "f", None, DataError) == "é\n"


def test_a_given_encoding_decides_before_the_mark() -> None:
    assert files.decode("\ufeffé".encode("utf-16-le"), "f", "utf-16-le", DataError) == "é"
    assert files.decode(b"\xef\xbb\xbf\xe9", "f", "latin-1", DataError) == "é"


def test_a_wrong_byte_is_named_with_its_line() -> None:
    hint = r"name the encoding with encoding=\.\.\., for example 'latin-1'\."
    with pytest.raises(StoreError, match=rf"^f:2: byte 0xe9 is not UTF-8; {hint}$"):
        files.decode(b"a\nb\xe9d\n", "f", None, StoreError)
    # 0x0a is half of a letter here, not the end of a line.
    with pytest.raises(DataError, match=r"^f:1: "):
        files.decode("Ċ".encode("utf-16") + b"!", "f", None, DataError)


@pytest.mark.parametrize("encoding", ["latin-99", "hex", "a\0b"])
def test_an_unknown_encoding_is_an_error(encoding: str) -> None:
    with pytest.raises(DataError, match="is not an encoding that Python knows"):
        files.decode(b"", "f", encoding, DataError)


def test_only_wide_encodings_must_be_decoded_before_lines_are_cut() -> None:
    for encoding in ("utf-8", "utf-8-sig", "latin-1", "shift_jis"):
        assert files.cuts_at_line_feeds(encoding)
    for encoding in ("utf-16", "utf-16-be", "utf-32", "cp037"):
        assert not files.cuts_at_line_feeds(encoding)


def test_long_cells_are_allowed_only_inside_the_block() -> None:
    limit = csv.field_size_limit()
    with files.long_cells():
        assert len(next(csv.reader(["x" * 200_000]))[0]) == 200_000
    assert csv.field_size_limit() == limit


# -- writing -----------------------------------------------------------------------------------------------------------


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    files.replace_file(path, b"old")
    with pytest.raises(TypeError), files.replacing(path) as file:
        file.writelines([b"new", None])  # type: ignore[list-item]
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.txt"]
    files.replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_the_new_file_has_the_rights_of_the_old_one_or_the_usual_ones(tmp_path: Path) -> None:
    path, usual = tmp_path / "a", tmp_path / "usual"
    usual.write_bytes(b"")
    files.replace_file(path, b"1")
    assert path.stat().st_mode == usual.stat().st_mode
    path.chmod(0o640)
    files.replace_file(path, b"2")
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    files.replace_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_what_is_not_a_regular_file_is_written_through(tmp_path: Path) -> None:
    files.replace_file("/dev/null", b"x")
    assert not os.path.isfile("/dev/null")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    files.replace_file(pipe, b"through")
    reader.join(10)
    assert got == [b"through"]
    assert pipe.is_fifo()


def test_a_missing_folder_is_reported_with_the_name_that_was_given(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere/a\.txt"):
        files.replace_file(tmp_path / "nowhere" / "a.txt", b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_device_is_named() -> None:
    def write() -> None:
        with files.replacing("/dev/full") as file:
            file.write(b"x")
            file.flush()

    with pytest.raises(OSError, match="/dev/full"):
        write()


def test_a_member_of_an_archive_without_a_name_is_read() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("x", "some words")
    content = packed.getvalue()
    last = content.index(b"PK\x01\x02")  # the directory: the length of the name is at 28, the name at 46
    nameless = content[: last + 28] + b"\0\0" + content[last + 30 : last + 46] + content[last + 47 :]
    end = nameless.index(b"PK\x05\x06")  # its own record: the size of the directory is at 12
    size = int.from_bytes(content[end + 13 : end + 17], "little") - 1
    nameless = nameless[: end + 12] + size.to_bytes(4, "little") + nameless[end + 16 :]
    assert [member.filename for member in files.zip_members(io.BytesIO(nameless), "a.zip", DataError)] == [""]
