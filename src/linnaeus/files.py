"""Files as bytes and as lines: read through compression, encodings and archives, and written in one step.

Compression (gzip, xz, bzip2, a zip archive with one file) is detected by the first bytes, not by the name. A file that
unpacks to more than 256 MB and more than 250 times its size is refused unless a larger limit is given. Text is decoded
with the given encoding, otherwise by a byte order mark, otherwise as UTF-8; errors name the file and line, and have the
class that the caller passes.

`InputFile` is a file of documents, whose lines come with their numbers. A tar file is a sequence of headers of 512
bytes, each followed by its content, and ends with blocks of zeros. The tarfile module of Python treats a header with a
wrong checksum, or the end of the file, as the end of the archive; here archives are read to their end, so that a
damaged archive is an error instead of fewer documents.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import csv
import errno
import gzip
import hashlib
import io
import lzma
import os
import secrets
import stat
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from functools import cached_property
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from linnaeus.errors import DataError, LinnaeusError, place

__all__ = [
    "NAME_ENCODING",
    "InputFile",
    "cuts_at_line_feeds",
    "decode",
    "file_sha256",
    "intact",
    "is_regular",
    "is_tar",
    "is_zip",
    "long_cells",
    "members",
    "naming",
    "packed",
    "replace_file",
    "replacing",
    "sync_folder",
    "text_encoding",
    "too_large",
    "unpack_limit",
    "unpacked",
    "without_mark",
    "wrong_byte",
    "zip_members",
]

MAGIC: tuple[tuple[bytes, ModuleType], ...] = ((b"\x1f\x8b", gzip), (b"\xfd7zXZ\x00", lzma), (b"BZh", bz2))
ZIP = b"PK\x03\x04"
HEAD = 1 << 16  # bytes examined to recognise a format
CHUNK = 1 << 20
UNPACKED_BYTES, UNPACKED_RATIO = 256 << 20, 250  # text is rarely compressed to less than a hundredth
ENDINGS: dict[str, ModuleType] = {".gz": gzip, ".xz": lzma, ".bz2": bz2}
NAME_ENCODING = "name the encoding with encoding=..."  # the command line replaces it by its option
DAMAGE = (EOFError, lzma.LZMAError, zlib.error, OSError, zipfile.BadZipFile, NotImplementedError, struct.error)
# UTF-32 first: its little-endian mark begins with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def file_sha256(path: str | PathLike[str]) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_regular(path: str | PathLike[str]) -> bool:
    """Whether a path is a file that can be read more than once, unlike /dev/stdin and the pipe of ``<(command)``."""
    return stat.S_ISREG(os.stat(path).st_mode)


# -- compression -------------------------------------------------------------------------------------------------------


def unpacked(
    raw: BinaryIO, name: str = "the file", error: type[LinnaeusError] = LinnaeusError, limit: int | None = None
) -> BinaryIO:
    """The bytes behind the compression of a stream; closing the result closes the stream.

    Parameters
    ----------
    raw : binary stream
        A stream that cannot seek (a pipe) is read whole.
    name : str, default="the file"
        Name of the file for messages.
    error : type of LinnaeusError, default=LinnaeusError
        Class of the error for a file that unpacks to more than the limit.
    limit : int, default=None
        Maximum number of unpacked bytes; None for 256 MB or 250 times the packed size, whichever is more.

    Returns
    -------
    stream : binary stream
        The unpacked content. A zip archive with one file is that file; of an Excel workbook it is the first sheet as
        tab-separated text; any other zip archive is returned as it is.

    Examples
    --------
    >>> import io
    >>> unpacked(io.BytesIO(gzip.compress(b"goal"))).read()
    b'goal'
    """
    if not raw.seekable():
        with raw:
            raw = io.BytesIO(raw.read())
    start = raw.read(6)
    size = raw.seek(0, io.SEEK_END)
    raw.seek(0)
    for magic, module in MAGIC:
        if start.startswith(magic):
            return _Unpacked(module.open(raw), raw, name, error, unpack_limit(size, limit))
    if start.startswith(ZIP):
        if (sheet := _first_sheet(raw, name, error, unpack_limit(size, limit))) is not None:
            return sheet
        members = zip_members(raw, name, error)
        if len(members) == 1 and not members[0].filename.endswith(".npy"):
            stream = zipfile.ZipFile(raw).open(members[0])  # noqa: SIM115 - the stream closes it
            return _Unpacked(stream, raw, name, error, unpack_limit(size, limit))
        raw.seek(0)
    return raw


def _first_sheet(raw: BinaryIO, name: str, error: type[LinnaeusError], limit: int) -> BinaryIO | None:
    """The first sheet of an Excel workbook as a stream of tab-separated text; None for other archives."""
    from linnaeus.workbooks import WORKBOOK, sheet_as_text

    with intact(name, error):
        archive = zipfile.ZipFile(raw)
        if WORKBOOK not in archive.namelist():
            return None
        if any(info.flag_bits & 1 for info in archive.infolist()):
            raise error(f"{name} is encrypted; unpack it first.")
        if sum(info.file_size for info in archive.infolist()) > limit:
            raise error(too_large(name, limit))
        try:
            content = sheet_as_text(archive)
        except ValueError as wrong:
            raise error(f"{name} cannot be read as an Excel workbook ({wrong}); save it as CSV.") from None
    raw.close()
    return io.BytesIO(content)


def unpack_limit(size: int, limit: int | None = None) -> int:
    """The number of bytes that a packed file of ``size`` bytes may unpack to: the given limit, or the default."""
    return max(UNPACKED_BYTES, UNPACKED_RATIO * size) if limit is None else limit


def too_large(name: str, limit: int) -> str:
    """The message about a file that unpacks to more than the limit."""
    return (
        f"{name} unpacks to more than {limit:,} bytes, the limit for a packed file of its size; unpack it first if "
        "that is intended (or, for documents, raise max_unpacked=, --max-unpacked)."
    )


def zip_members(raw: BinaryIO, name: str, error: type[LinnaeusError]) -> list[zipfile.ZipInfo]:
    """The files of a zip archive, without folders and files added by macOS; refuses Office documents and passwords."""
    with intact(name, error):
        # `is_dir` of a member without a name is an IndexError in Python 3.11.
        found = [info for info in zipfile.ZipFile(raw).infolist() if not info.filename.endswith("/")]
    if any(info.filename == "[Content_Types].xml" for info in found):
        raise error(f"{name} is an Office document, which cannot be read; save it as .xlsx, CSV or plain text.")
    if any(info.flag_bits & 1 for info in found):
        raise error(f"{name} is encrypted; unpack it first.")
    return [info for info in found if not info.filename.startswith("__MACOSX/")]


class _Unpacked(io.BufferedReader):
    """A decompressor together with its file; reading more than ``limit`` bytes is an error."""

    def __init__(self, stream: Any, file: BinaryIO, name: str, error: type[LinnaeusError], limit: int) -> None:
        super().__init__(_Limited(stream, name, error, limit), 1 << 17)
        self._file = file

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._file.close()


class _Limited(io.RawIOBase):
    """Counts the bytes that come out of a decompressor."""

    def __init__(self, stream: Any, name: str, error: type[LinnaeusError], limit: int) -> None:
        self.stream, self.name, self.error, self.left, self.limit = stream, name, error, limit, limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n_bytes: int = self.stream.readinto(buffer)
        self.left -= n_bytes
        if self.left < 0:
            raise self.error(too_large(self.name, self.limit))
        return n_bytes

    def close(self) -> None:
        if not self.closed:
            self.stream.close()
        super().close()


def packed(content: bytes, path: str | PathLike[str]) -> bytes:
    """The bytes, compressed if the name ends in .gz, .xz or .bz2."""
    module = ENDINGS.get(os.path.splitext(path)[1])
    data: bytes = content if module is None else module.compress(content)
    return data


@contextlib.contextmanager
def intact(name: str, error: type[LinnaeusError]) -> Iterator[None]:
    """Turn exceptions of decompressors on damaged or truncated bytes into an ``error`` that names the file."""
    try:
        yield
    except DAMAGE as damage:
        if isinstance(damage, OSError) and damage.errno not in (None, errno.EINVAL):  # a damaged zip seeks anywhere
            raise  # the disk, not the content
        raise error(f"{name}: the compressed file is damaged or cut off ({damage}).") from None


# -- text --------------------------------------------------------------------------------------------------------------


def text_encoding(head: bytes, encoding: str | None, name: str, error: type[LinnaeusError]) -> str:
    """The given encoding, otherwise that of the byte order mark, otherwise UTF-8; an unknown encoding is refused."""
    chosen = encoding or next((found for mark, found in MARKS if head.startswith(mark)), "utf-8")
    try:
        "\n".encode(chosen)
    except (LookupError, ValueError):
        raise error(f"{name}: {chosen!r} is not an encoding that Python knows; try 'utf-8' or 'latin-1'.") from None
    return chosen


def without_mark(head: bytes) -> bytes:
    """The bytes without a byte order mark."""
    return head[next((len(mark) for mark, _ in MARKS if head.startswith(mark)), 0) :]


def cuts_at_line_feeds(encoding: str) -> bool:
    """Whether bytes can be split into lines before they are decoded; false for UTF-16 and UTF-32."""
    return "\n".encode(encoding).removeprefix(codecs.BOM_UTF8) == b"\n"


def decode(data: bytes, name: str, encoding: str | None, error: type[LinnaeusError]) -> str:
    """The text of a whole file, without byte order mark; a wrong byte is named with its line.

    Examples
    --------
    >>> decode(b"\\xef\\xbb\\xbfgoal", "docs.txt", None, LinnaeusError)
    'goal'
    """
    chosen = text_encoding(data, encoding, name, error)
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode(chosen).removeprefix("\ufeff")
    except UnicodeDecodeError as wrong:
        line = data[: wrong.start].decode(chosen, "replace").count("\n") + 1
        raise error(wrong_byte(name, line, wrong, chosen)) from None
    except UnicodeError as wrong:  # encodings such as idna, which give no position
        raise error(f"{name} is not {chosen.upper()} ({wrong}); {NAME_ENCODING}.") from None


def wrong_byte(name: str, line: int, wrong: UnicodeDecodeError, encoding: str) -> str:
    """The message about a byte that is invalid in the encoding."""
    byte = wrong.object[wrong.start]
    where = place(name, line)
    return f"{where}: byte 0x{byte:02x} is not {encoding.upper()}; {NAME_ENCODING}, for example 'latin-1'."


@contextlib.contextmanager
def long_cells() -> Iterator[None]:
    """Let the csv module read cells longer than its default limit of 131,072 characters."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


# -- documents ---------------------------------------------------------------------------------------------------------


class InputFile:
    """A path, or ``-`` for standard input; ``max_unpacked`` limits the decompressed size in bytes."""

    def __init__(self, path: str | PathLike[str], max_unpacked: int | None = None) -> None:
        self.path = None if str(path) == "-" else Path(path)
        self.name = "<stdin>" if self.path is None else str(path)
        self.max_unpacked = max_unpacked
        self._content: bytes | None = None  # of a pipe, which cannot be read twice
        if self.path is None:
            self._content = sys.stdin.buffer.read()
        elif not self.path.exists():
            raise FileNotFoundError(2, "No such file or directory", self.name)
        elif not self.is_folder and not is_regular(self.path):
            self._content = self.path.read_bytes()

    @property
    def is_folder(self) -> bool:
        return self.path is not None and self.path.is_dir()

    @property
    def ending(self) -> str:
        """The ending of the name in lower case, without that of the compression: ``.csv`` for docs.CSV.gz."""
        if self.path is None:
            return ""
        name = Path(self.path.name.lower())
        return (name.with_suffix("") if name.suffix in (*ENDINGS, ".zip") else name).suffix

    def open(self) -> BinaryIO:
        """The decompressed bytes; the compression is recognised by the first bytes, not by the name."""
        raw = self.raw()
        try:
            with intact(self.name, DataError):
                return unpacked(raw, self.name, DataError, self.max_unpacked)
        except BaseException:
            raw.close()
            raise

    def open_seekable(self) -> BinaryIO:
        """The decompressed bytes as a seekable stream, for archives that are read from their end."""
        stream = self.open()
        if stream.seekable():
            return stream
        with intact(self.name, DataError), stream:
            return io.BytesIO(stream.read())

    def raw(self) -> BinaryIO:
        """The bytes as stored."""
        if self._content is not None:
            return io.BytesIO(self._content)
        assert self.path is not None
        return self.path.open("rb")

    def read(self) -> bytes:
        """All decompressed bytes."""
        with intact(self.name, DataError), self.open() as stream:
            return stream.read()

    @cached_property
    def head(self) -> bytes:
        """The first decompressed bytes."""
        with intact(self.name, DataError), self.open() as stream:
            return stream.read(HEAD)

    def text_head(self, encoding: str | None = None) -> str:
        """The first bytes as text without byte-order mark; bytes that are not text are replaced."""
        chosen = text_encoding(self.head, encoding, self.name, DataError)
        return self.head.decode(chosen, "replace").removeprefix("\ufeff")

    def check_not_empty(self, encoding: str | None = None) -> None:
        if not without_mark(self.head) or not self.text_head(encoding).strip():
            raise DataError(f"{self.name} is empty; expected documents.")

    def lines(self, encoding: str | None = None) -> Iterator[tuple[int, str]]:
        """(number, text) of every line with its line end; UTF-8 unless a byte-order mark or ``encoding`` is given."""
        encoding = text_encoding(self.head, encoding, self.name, DataError)
        if cuts_at_line_feeds(encoding):
            yield from self._decoded(encoding)
        else:
            text = decode(self.read(), self.name, encoding, DataError)
            yield from enumerate(io.StringIO(text, newline="\n"), 1)

    def _decoded(self, encoding: str) -> Iterator[tuple[int, str]]:
        number = 0
        try:
            with intact(self.name, DataError), self.open() as stream:
                for number, line in enumerate(stream, 1):
                    yield number, (line.removeprefix(codecs.BOM_UTF8) if number == 1 else line).decode(encoding)
        except UnicodeDecodeError as wrong:
            raise DataError(wrong_byte(self.name, number, wrong, encoding)) from None
        except UnicodeError as wrong:  # from encodings such as idna, which do not give a position
            where = place(self.name, number)
            raise DataError(f"{where} is not {encoding.upper()} ({wrong}); {NAME_ENCODING}.") from None


def is_tar(head: bytes) -> bool:
    """Whether a file with these first bytes is a tar file."""
    return head[257:262] == b"ustar"


def is_zip(head: bytes) -> bool:
    """Whether a file with these first bytes is a zip file."""
    return head.startswith(ZIP)


def members(source: InputFile) -> Iterator[tuple[str, bytes]]:
    """(path, content) of every file in the archive, in its order."""
    if is_zip(source.head):
        yield from _zip_members(source)
        return
    try:
        with intact(source.name, DataError), source.open() as stream:
            watched = _Watched(stream)
            with tarfile.open(fileobj=watched, mode="r|", tarinfo=_Member) as tar:  # type: ignore[call-overload]
                for member in tar:
                    if member.isfile():
                        content = tar.extractfile(member)
                        yield member.name.removeprefix("./"), content.read() if content else b""
                end = tar.offset
            watched.check_ends_at(end)
    except DataError:
        raise
    except (tarfile.TarError, ValueError, ArithmeticError, LookupError) as error:
        raise DataError(f"{source.name} is not a readable tar file: {error}.") from error


def _zip_members(source: InputFile) -> Iterator[tuple[str, bytes]]:
    with intact(source.name, DataError), source.open_seekable() as stream:
        limit = unpack_limit(stream.seek(0, io.SEEK_END), source.max_unpacked)
        found = zip_members(stream, source.name, DataError)
        if sum(info.file_size for info in found) > limit:  # at most this size is read of each member
            raise DataError(too_large(source.name, limit))
        with zipfile.ZipFile(stream) as archive:
            for info in found:
                yield info.filename, archive.read(info)


class _Member(tarfile.TarInfo):
    """A header; any block that is neither a header nor all zeros is an error, not only the first one."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Member:
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if len(buf) == tarfile.BLOCKSIZE and not buf.strip(b"\0"):
                raise  # the end of the archive
            what = f"a header is damaged ({error})" if len(buf) == tarfile.BLOCKSIZE else "it is cut off"
            raise tarfile.ReadError(what) from None


class _Watched:
    """A stream that counts the bytes read and the position of the last byte other than zero."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.position = self.last = 0

    def read(self, size: int) -> bytes:
        chunk = self.stream.read(size)
        filled = len(chunk.rstrip(b"\0"))
        if filled:
            self.last = self.position + filled
        self.position += len(chunk)
        return chunk

    def check_ends_at(self, end: int) -> None:
        """Read the rest, which also verifies the checksum of a gzip file; raise an error if it is not all zeros."""
        while self.read(CHUNK):
            pass
        if self.last > end:
            raise tarfile.ReadError(f"its end is marked at byte {end:,}, but more data follow")


# -- writing -----------------------------------------------------------------------------------------------------------


def replace_file(path: str | PathLike[str], content: bytes) -> None:
    """Put ``content`` at ``path`` in one step: a kill at any moment leaves the old file or the new one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "labels.txt")
    >>> replace_file(path, b"A\\n")
    >>> path.read_bytes()
    b'A\\n'
    """
    with replacing(path) as file:
        file.write(content)


@contextlib.contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which replaces ``path`` when the block succeeds and is removed otherwise.

    A path that exists and is not a regular file (a FIFO, /dev/null) cannot be replaced; it is written directly.
    """
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode):
        with naming(path), open(path, "wb") as through:
            yield through
        return
    target = os.path.realpath(path)  # the target of a link, so that the link remains a link
    folder = os.path.dirname(target)
    part = os.path.join(folder, f".{secrets.token_hex(8)}.part")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as refused:  # name the requested file
        raise OSError(refused.errno, refused.strerror, os.fspath(path)) from None
    try:
        with naming(path), os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # on disk before it is visible
        if mode is not None:
            os.chmod(part, stat.S_IMODE(mode))
        os.replace(part, target)
        sync_folder(folder)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)


@contextlib.contextmanager
def naming(path: str | PathLike[str]) -> Iterator[None]:
    """Add the path to an error of the system that names no file, such as a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def _mode(path: str | PathLike[str]) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def sync_folder(folder: str | PathLike[str]) -> None:
    """Have the system write the entries of a folder to the disk."""
    if os.name == "nt":  # Windows cannot open folders
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
