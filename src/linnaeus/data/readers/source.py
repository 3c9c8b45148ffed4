"""A file to read: opened through its compression, decoded line by line, with the line number ready for messages."""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from linnaeus import files
from linnaeus.errors import DataError, place
from linnaeus.taxonomy import Taxonomy

__all__ = ["Options", "Source"]

HEAD = 1 << 16  # bytes looked at to recognise a format


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
    usual_text: tuple[str, ...] = ()
    labelled: bool = True

    def enough(self, n_docs: int) -> bool:
        """Whether the limit has been reached."""
        return self.limit is not None and n_docs >= self.limit


class Source:
    """A path, or ``-`` for standard input; ``max_unpacked`` limits the bytes that a compressed file unpacks to."""

    def __init__(self, path: str | PathLike[str], max_unpacked: int | None = None) -> None:
        self.path = None if str(path) == "-" else Path(path)
        self.name = "<stdin>" if self.path is None else str(path)
        self.max_unpacked = max_unpacked
        self._content: bytes | None = None  # of a pipe, which cannot be read twice: to recognise it, and for good
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
        """The ending of the name in lower case, without that of a compression: ``.csv`` of docs.CSV.gz."""
        if self.path is None:
            return ""
        name = Path(self.path.name.lower())
        return (name.with_suffix("") if name.suffix in (*files.ENDINGS, ".zip") else name).suffix

    def open(self) -> BinaryIO:
        """The bytes behind the compression, which is recognised by its first bytes, not by the name."""
        raw = self.raw()
        try:
            with files.intact(self.name, DataError):
                return files.unpacked(raw, self.name, DataError, self.max_unpacked)
        except BaseException:
            raw.close()
            raise

    def open_seekable(self) -> BinaryIO:
        """The same, read whole where a compression does not let it seek: for archives that are read from their end."""
        stream = self.open()
        if stream.seekable():
            return stream
        with files.intact(self.name, DataError), stream:
            return io.BytesIO(stream.read())

    def raw(self) -> BinaryIO:
        """The bytes as they are stored."""
        if self._content is not None:
            return io.BytesIO(self._content)
        assert self.path is not None
        return self.path.open("rb")

    def read(self) -> bytes:
        """All bytes behind the compression."""
        with files.intact(self.name, DataError), self.open() as stream:
            return stream.read()

    @cached_property
    def head(self) -> bytes:
        """The first bytes of the content."""
        with files.intact(self.name, DataError), self.open() as stream:
            return stream.read(HEAD)

    def text_head(self, encoding: str | None = None) -> str:
        """The first bytes as text without byte order mark, to look at; what is no text is replaced."""
        chosen = files.text_encoding(self.head, encoding, self.name, DataError)
        return self.head.decode(chosen, "replace").removeprefix("\ufeff")

    def check_not_empty(self, encoding: str | None = None) -> None:
        if not files.without_mark(self.head) or not self.text_head(encoding).strip():
            raise DataError(f"{self.name} is empty; documents were expected.")

    def lines(self, encoding: str | None = None) -> Iterator[tuple[int, str]]:
        """(number, text) of every line with its line end; UTF-8 unless a byte order mark or ``encoding`` says other."""
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
        except UnicodeError as wrong:  # encodings such as idna, which say no position
            where = place(self.name, number)
            raise DataError(f"{where} is not {encoding.upper()} ({wrong}); {files.NAME_ENCODING}.") from None
