"""A file to read: opened through its compression, decoded line by line, with the line number ready for messages."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from linnaeus.errors import DataError, place
from linnaeus.taxonomy import Taxonomy

__all__ = ["Options", "Source"]

HEAD = 1 << 16  # bytes looked at to recognise a format
OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ\x00": lzma.open, b"BZh": bz2.open}


@dataclass(frozen=True)
class Options:
    """How to read; a reader uses what concerns its format. See `linnaeus.data.read_dataset`."""

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

    def enough(self, n_docs: int) -> bool:
        """Whether the limit has been reached."""
        return self.limit is not None and n_docs >= self.limit


class Source:
    """A path, or ``-`` for standard input."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = None if str(path) == "-" else Path(path)
        self.name = "<stdin>" if self.path is None else str(path)
        if self.path is None:  # a pipe cannot be read twice: once to recognise it, once for good
            self._content = sys.stdin.buffer.read()
        elif not self.path.exists():
            raise FileNotFoundError(2, "No such file or directory", self.name)

    @property
    def is_folder(self) -> bool:
        return self.path is not None and self.path.is_dir()

    def open(self) -> BinaryIO:
        """The bytes behind the compression, which is recognised by its first bytes, not by the name."""
        raw: Any = io.BytesIO(self._content) if self.path is None else self.path.open("rb")
        start = raw.read(6)
        raw.seek(0)
        for magic, opener in OPENERS.items():
            if start.startswith(magic):
                return opener(raw)
        return raw

    @cached_property
    def head(self) -> bytes:
        """The first bytes of the content."""
        try:
            with self.open() as stream:
                return stream.read(HEAD)
        except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
            raise DataError(f"{self.name} cannot be decompressed: {error}") from error

    def check_not_empty(self) -> None:
        if not self.head.strip():
            raise DataError(f"{self.name} is empty; documents were expected.")

    def lines(self, encoding: str | None = None) -> Iterator[tuple[int, str]]:
        """(number, text) of every line with its line end; UTF-8 unless a byte order mark or ``encoding`` says other."""
        try:
            with self.open() as stream:
                yield from self._decoded(stream, encoding)
        except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
            raise DataError(f"{self.name} is truncated or damaged: {error}") from error

    def _decoded(self, stream: BinaryIO, encoding: str | None) -> Iterator[tuple[int, str]]:
        wide = self.head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        if wide or (encoding or "").lower().replace("-", "").startswith("utf16"):  # lines cannot be cut before decoding
            number = 0
            try:
                for number, text in enumerate(io.TextIOWrapper(stream, encoding or "utf-16", newline="\n"), 1):
                    yield number, text
            except UnicodeError as error:
                raise DataError(f"{place(self.name, number + 1)} is not UTF-16: {error}.") from error
            return
        encoding = encoding or "utf-8"
        for number, line in enumerate(stream, 1):
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            try:
                yield number, line.decode(encoding)
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{place(self.name, number)} is not {encoding}: byte {error.object[error.start]:#04x} at position "
                    f"{error.start}; name the encoding, for example encoding='latin-1'."
                ) from error
            except LookupError:
                raise DataError(f"There is no encoding {encoding!r}; try 'utf-8' or 'latin-1'.") from None
