"""Files in a tar or zip archive, read to its end, so that damage is an error and not fewer documents.

A tar file is a chain of headers of 512 bytes, each followed by its content, and ends with blocks of zeros. Python's
tarfile takes a header whose checksum is wrong, or the end of the file, for the end of the archive and says nothing.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterator
from typing import BinaryIO

from linnaeus import files
from linnaeus.data.readers.source import Source
from linnaeus.errors import DataError

__all__ = ["is_tar", "is_zip", "members"]

CHUNK = 1 << 20


def is_tar(head: bytes) -> bool:
    """Whether the first bytes are those of a tar file."""
    return head[257:262] == b"ustar"


def is_zip(head: bytes) -> bool:
    """Whether the first bytes are those of a zip file."""
    return head.startswith(files.ZIP)


def members(source: Source) -> Iterator[tuple[str, bytes]]:
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


def _zip_members(source: Source) -> Iterator[tuple[str, bytes]]:
    with files.intact(source.name, DataError), source.open_seekable() as stream:
        limit = files.unpack_limit(stream.seek(0, io.SEEK_END), source.max_unpacked)
        found = files.zip_members(stream, source.name, DataError)
        if sum(info.file_size for info in found) > limit:  # no more than this is read of each
            raise DataError(files.too_large(source.name, limit))
        with zipfile.ZipFile(stream) as archive:
            for info in found:
                yield info.filename, archive.read(info)


class _Member(tarfile.TarInfo):
    """A header; a block that is neither a header nor all zeros is an error at any place, not only at the first."""

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
    """A stream that knows how much was read of it and where its last byte other than zero stood."""

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
        """Read what is left, which also checks the sum of a gzip file: there is nothing but zeros."""
        while self.read(CHUNK):
            pass
        if self.last > end:
            raise tarfile.ReadError(f"its end is marked at byte {end:,}, but there is more after it")
