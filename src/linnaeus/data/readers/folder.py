"""Text files in folders named by their label, or next to a file of labels; on disk, in a tar file or in a zip file.

    20news-bydate-train/rec.autos/103007        as 20 Newsgroups is distributed
    sports/football/0001.txt
    fulltext/d1.txt  fulltext/d1.tsv            as for Annif; labels in d1.tsv or d1.key
    fulltext/d2.txt

Folders whose name ends in train, test, valid or dev are parts of a split. What remains of the path, joined by ``/``,
is the label. If any text file has a label file next to it (one label per line: ``<address> <tab> name``, or names in a
.key file), folders are not labels, and a text without a label file has no labels. Text files that are neither in
folders nor next to label files are documents without labels. Files that are not UTF-8 are read as latin-1. The header
of a news post or e-mail contains the name of the group, so it is removed unless ``headers="keep"``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from linnaeus import files
from linnaeus.data.dataset import Dataset
from linnaeus.data.readers.columns import ReadOptions, bare
from linnaeus.errors import DataError
from linnaeus.files import InputFile, members

__all__ = ["read", "strip_headers"]

LABEL_FILES = (".tsv", ".key")
PART = re.compile(r"(?:.*[^a-z])?(train|test|valid|validation|dev)(?:ing)?", re.IGNORECASE)
MAIL = re.compile(r"^(?:From|Newsgroups|Path|Xref|Message-ID|Return-Path|Received):", re.MULTILINE)


def read(source: InputFile, options: ReadOptions) -> Dataset:
    """Read one document per file."""
    found: dict[str, str] = {}
    for path, content in _files(source):
        if options.enough(len(found)) and not any(other.endswith(LABEL_FILES) for other in found):
            break
        found[path] = _decoded(content, options.encoding, f"{source.name}/{path}")
    label_files = [path for path in found if path.endswith(LABEL_FILES) and path[:-4] + ".txt" in found]
    if label_files or (found and all("/" not in path and path.endswith(".txt") for path in found)):
        return _with_label_files(source, options, found, labelled=bool(label_files))
    paths = [path for path in found if "/" in path][: options.limit]
    if not paths:
        names = [] if source.is_folder else sorted(name for name, _ in members(source))
        several = f"{len(names)} files ({', '.join(names[:3])}) and " if len(names) > 1 else ""
        raise DataError(
            f"{source.name} holds {several}no files in folders; expected one file, or LABEL/FILE, or text files "
            "NAME.txt with their labels in NAME.tsv or NAME.key."
        )
    texts = [_text(found[path], options) for path in paths]
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


def _with_label_files(source: InputFile, options: ReadOptions, found: dict[str, str], *, labelled: bool) -> Dataset:
    """Documents NAME.txt, with their labels in NAME.tsv or NAME.key where there are any."""
    paths = [path for path in found if path.endswith(".txt")][: options.limit]
    labels = []
    for path in paths:
        own = next((path[:-4] + ending for ending in LABEL_FILES if path[:-4] + ending in found), None)
        labels.append([] if own is None else _labels(found[own], tabs=own.endswith(".tsv")))
    return Dataset(
        fields={"text": [_text(found[path], options) for path in paths]},
        labels=labels if labelled else None,
        ids=paths,
        taxonomy=options.taxonomy,
        source=source.name,
        files=[f"{source.name}/{path}" for path in paths],
    )


def _text(text: str, options: ReadOptions) -> str:
    return strip_headers(text) if options.headers == "strip" else text


def _labels(text: str, *, tabs: bool) -> list[str]:
    """One label per line; in a table it is the text before the first tab."""
    cells = (bare(line.split("\t", 1)[0] if tabs else line) for line in text.splitlines())
    return list(dict.fromkeys(cell for cell in cells if cell))


def _files(source: InputFile) -> Iterator[tuple[str, bytes]]:
    """(path, content) of every file that is not hidden."""
    if source.is_folder:
        assert source.path is not None
        for path in sorted(source.path.rglob("*")):
            inner = path.relative_to(source.path)
            readable = len(inner.parts) > 1 or inner.suffix in (".txt", *LABEL_FILES)
            if path.is_file() and readable and not any(p.startswith(".") for p in inner.parts):
                yield inner.as_posix(), path.read_bytes()
        return
    for name, content in members(source):
        readable = "/" in name or name.endswith((".txt", *LABEL_FILES))
        if readable and not any(p.startswith(".") for p in name.split("/")):
            yield name, content


def _decoded(content: bytes, encoding: str | None, name: str) -> str:
    try:
        return files.decode(content, name, encoding, DataError)
    except DataError:
        if encoding is not None:
            raise
        return content.decode("latin-1")


def _common_depth(folders: list[list[str]]) -> int:
    """The number of leading folders that all files share; at least one folder remains as the label."""
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
    >>> strip_headers("Hello all,\\n\\nhello")
    'Hello all,\\n\\nhello'
    """
    header, blank, body = text.replace("\r\n", "\n").partition("\n\n")
    return body if blank and MAIL.search(header) else text
