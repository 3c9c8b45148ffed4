"""Text files in folders named by their label, on disk or in a tar file, as 20 Newsgroups comes.

    20news-bydate-train/rec.autos/103007
    sports/football/0001.txt

Folders whose name ends in train, test, valid or dev are parts of a split. What remains of the path, joined by ``/``, is
the label. Files that are not UTF-8 are read as latin-1. The header of a news post or e-mail names the group outright,
so it is stripped unless ``headers="keep"``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from linnaeus import files
from linnaeus.data.dataset import Dataset
from linnaeus.data.readers.archive import members
from linnaeus.data.readers.source import Options, Source
from linnaeus.errors import DataError

__all__ = ["read", "strip_headers"]

PART = re.compile(r"(?:.*[^a-z])?(train|test|valid|validation|dev)(?:ing)?", re.IGNORECASE)
MAIL = re.compile(r"^(?:From|Newsgroups|Path|Xref|Message-ID|Return-Path|Received):", re.MULTILINE)


def read(source: Source, options: Options) -> Dataset:
    """Read one document per file."""
    texts: list[str] = []
    paths: list[str] = []
    for path, content in _files(source):
        if options.enough(len(paths)):
            break
        text = _decoded(content, options.encoding, f"{source.name}/{path}")
        texts.append(strip_headers(text) if options.headers == "strip" else text)
        paths.append(path)
    if not paths:
        raise DataError(f"{source.name} holds no files in folders; LABEL/FILE was expected.")
    folders = [path.split("/")[:-1] for path in paths]
    common = _common_depth(folders)
    splits, labels = zip(*(_split_and_label(parts[common:]) for parts in folders), strict=True)
    return Dataset(
        fields={"text": texts},
        labels=[[label] if label else [] for label in labels],
        ids=paths,
        split=list(splits) if any(splits) else None,
        taxonomy=options.taxonomy,
        source=source.name,
        files=[f"{source.name}/{path}" for path in paths],
    )


def _files(source: Source) -> Iterator[tuple[str, bytes]]:
    """(path, content) of every file that is in a folder, hidden ones left out."""
    if source.is_folder:
        assert source.path is not None
        for path in sorted(source.path.rglob("*")):
            inner = path.relative_to(source.path)
            if path.is_file() and len(inner.parts) > 1 and not any(p.startswith(".") for p in inner.parts):
                yield inner.as_posix(), path.read_bytes()
        return
    for name, content in members(source):
        if "/" in name and not any(p.startswith(".") for p in name.split("/")):
            yield name, content


def _decoded(content: bytes, encoding: str | None, name: str) -> str:
    try:
        return files.decode(content, name, encoding, DataError)
    except DataError:
        if encoding is not None:
            raise
        return content.decode("latin-1")


def _common_depth(folders: list[list[str]]) -> int:
    """How many leading folders all files share, always leaving one folder to be the label."""
    shortest = min(map(len, folders))
    depth = 0
    while (
        depth < shortest - 1 and len({parts[depth] for parts in folders}) == 1 and not PART.fullmatch(folders[0][depth])
    ):
        depth += 1
    return depth


def _split_and_label(parts: list[str]) -> tuple[str, str]:
    found = PART.fullmatch(parts[0])
    if found and len(parts) > 1:
        return found.group(1).lower(), "/".join(parts[1:])
    return "", "/".join(parts)


def strip_headers(text: str) -> str:
    """A news post or e-mail without its header lines; other texts as they are.

    Examples
    --------
    >>> strip_headers("From: a@b\\nSubject: c\\n\\nHello")
    'Hello'
    >>> strip_headers("Dear all,\\n\\nhello")
    'Dear all,\\n\\nhello'
    """
    header, blank, body = text.replace("\r\n", "\n").partition("\n\n")
    return body if blank and MAIL.search(header) else text
