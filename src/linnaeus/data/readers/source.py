"""Input files: decompressed and decoded line by line, with line numbers; members of archives.

A tar file is a sequence of headers of 512 bytes, each followed by its content, and ends with blocks of zeros. The
tarfile module of Python treats a header with a wrong checksum, or the end of the file, as the end of the archive; here
archives are read to their end, so that a damaged archive is an error instead of fewer documents.
"""

from __future__ import annotations

import codecs
import io
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from linnaeus import files
from linnaeus.errors import DataError, place
from linnaeus.taxonomy import Taxonomy

__all__ = ["InputFile", "ReadOptions", "is_tar", "is_zip", "members"]

HEAD = 1 << 16  # bytes examined to recognise a format


@dataclass(frozen=True)
class ReadOptions:
    """Options of the readers; each uses those of its format. See `linnaeus.data.read_dataset`."""

    taxonomy: Taxonomy | None = None
    text: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    id: str | None = None
    sequence: str | None = None
    categorical: tuple[str, ...] = ()
    header: bool | None = None
    delimiter: str | None = None
    label_separator: str | None = None
    label_part: str | None = None
    headers: str = "strip"
    n_features: int | None = None
    encoding: str | None = None
    limit: int | None = None
    usual_text: tuple[str, ...] = ()
    usual_labels: tuple[str, ...] = ()
    usual_id: str | None = None
    labelled: bool = True

    def enough(self, n_docs: int) -> bool:
        """Whether the limit has been reached."""
        return self.limit is not None and n_docs >= self.limit


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
        elif not self.is_folder and not files.is_regular(self.path):
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
        return (name.with_suffix("") if name.suffix in (*files.ENDINGS, ".zip") else name).suffix

    def open(self) -> BinaryIO:
        """The decompressed bytes; the compression is recognised by the first bytes, not by the name."""
        raw = self.raw()
        try:
            with files.intact(self.name, DataError):
                return files.unpacked(raw, self.name, DataError, self.max_unpacked)
        except BaseException:
            raw.close()
            raise

    def open_seekable(self) -> BinaryIO:
        """The decompressed bytes as a seekable stream, for archives that are read from their end."""
        stream = self.open()
        if stream.seekable():
            return stream
        with files.intact(self.name, DataError), stream:
            return io.BytesIO(stream.read())

    def raw(self) -> BinaryIO:
        """The bytes as stored."""
        if self._content is not None:
            return io.BytesIO(self._content)
        assert self.path is not None
        return self.path.open("rb")

    def read(self) -> bytes:
        """All decompressed bytes."""
        with files.intact(self.name, DataError), self.open() as stream:
            return stream.read()

    @cached_property
    def head(self) -> bytes:
        """The first decompressed bytes."""
        with files.intact(self.name, DataError), self.open() as stream:
            return stream.read(HEAD)

    def text_head(self, encoding: str | None = None) -> str:
        """The first bytes as text without byte-order mark; bytes that are not text are replaced."""
        chosen = files.text_encoding(self.head, encoding, self.name, DataError)
        return self.head.decode(chosen, "replace").removeprefix("\ufeff")

    def check_not_empty(self, encoding: str | None = None) -> None:
        if not files.without_mark(self.head) or not self.text_head(encoding).strip():
            raise DataError(f"{self.name} is empty; expected documents.")

    def lines(self, encoding: str | None = None) -> Iterator[tuple[int, str]]:
        """(number, text) of every line with its line end; UTF-8 unless a byte-order mark or ``encoding`` is given."""
        encoding = files.text_encoding(self.head, encoding, self.name, DataError)
        if files.cuts_at_line_feeds(encoding):
            yield from self._decoded(encoding)
        else:
            text = files.decode(self.read(), self.name, encoding, DataError)
            yield from enumerate(io.StringIO(text, newline="\n"), 1)

    def _decoded(self, encoding: str) -> Iterator[tuple[int, str]]:
        number = 0
        try:
            with files.intact(self.name, DataError), self.open() as stream:
                for number, line in enumerate(stream, 1):
                    yield number, (line.removeprefix(codecs.BOM_UTF8) if number == 1 else line).decode(encoding)
        except UnicodeDecodeError as wrong:
            raise DataError(files.wrong_byte(self.name, number, wrong, encoding)) from None
        except UnicodeError as wrong:  # from encodings such as idna, which do not give a position
            where = place(self.name, number)
            raise DataError(f"{where} is not {encoding.upper()} ({wrong}); {files.NAME_ENCODING}.") from None


CHUNK = 1 << 20


def is_tar(head: bytes) -> bool:
    """Whether a file with these first bytes is a tar file."""
    return head[257:262] == b"ustar"


def is_zip(head: bytes) -> bool:
    """Whether a file with these first bytes is a zip file."""
    return head.startswith(files.ZIP)


def members(source: InputFile) -> Iterator[tuple[str, bytes]]:
    """(path, content) of every file in the archive, in its order."""
    if is_zip(source.head):
        yield from _zip_members(source)
        return
    try:
        with files.intact(source.name, DataError), source.open() as stream:
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
    with files.intact(source.name, DataError), source.open_seekable() as stream:
        limit = files.unpack_limit(stream.seek(0, io.SEEK_END), source.max_unpacked)
        found = files.zip_members(stream, source.name, DataError)
        if sum(info.file_size for info in found) > limit:  # at most this size is read of each member
            raise DataError(files.too_large(source.name, limit))
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
