"""Reuters-21578 as distributed: SGML files, alone, in a folder or in a tar file.

Documents have the fields title and body; labels are the topics. The split is the one known as ModApte: training
documents have the attributes LEWISSPLIT="TRAIN" and TOPICS="YES", test documents LEWISSPLIT="TEST" and TOPICS="YES".
The others belong to neither part and are left out. A document may have no topic.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import numpy as np

from linnaeus import files
from linnaeus.data.dataset import Dataset
from linnaeus.data.readers.archive import is_tar, members
from linnaeus.data.readers.source import Options, Source
from linnaeus.errors import DataError

__all__ = ["read"]

DOCUMENT = re.compile(r"<REUTERS(.*?)>(.*?)</REUTERS>", re.DOTALL)
ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
TOPIC = re.compile(r"<D>(.*?)</D>")
TITLE = re.compile(r"<TITLE>(.*?)</TITLE>", re.DOTALL)
BODY = re.compile(r"<BODY>(.*?)</BODY>", re.DOTALL)
TEXT = re.compile(r"<TEXT.*?>(.*?)</TEXT>", re.DOTALL)
MARKUP = re.compile(r"<[^<>]*>")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def read(source: Source, options: Options) -> Dataset:
    """Read the documents of the split, with the part that each belongs to."""
    titles: list[str] = []
    bodies: list[str] = []
    labels: list[list[str]] = []
    ids: list[str] = []
    split: list[str] = []
    places: list[str] = []
    lines: list[int] = []
    for name, content in _files(source):
        text = files.decode(content, name, options.encoding or "latin-1", DataError)
        line, position = 1, 0
        for found in DOCUMENT.finditer(text):
            if options.enough(len(ids)):
                break
            attributes = dict(ATTRIBUTE.findall(found.group(1)))
            part = _part(attributes)
            if part is None:
                continue
            line += text.count("\n", position, found.start())
            position = found.start()
            title, body = _title_and_body(found.group(2))
            titles.append(title)
            bodies.append(body)
            labels.append(_topics(found.group(2)))
            ids.append(attributes.get("NEWID", ""))
            split.append(part)
            places.append(name)
            lines.append(line)
    if not ids:
        raise DataError(f"{source.name} holds no <REUTERS> documents of the split.")
    return Dataset(
        fields={"title": titles, "body": bodies},
        labels=labels,
        ids=ids,
        split=split,
        taxonomy=options.taxonomy,
        source=source.name,
        files=places,
        lines=np.array(lines, dtype=np.int64),
    )


def _files(source: Source) -> Iterator[tuple[str, bytes]]:
    if source.is_folder:
        assert source.path is not None
        for path in sorted(source.path.glob("*.sgm")):
            yield str(path), path.read_bytes()
    elif is_tar(source.head):
        for name, content in members(source):
            if name.endswith(".sgm"):
                yield f"{source.name}/{name}", content
    else:
        yield source.name, source.read()


def _part(attributes: dict[str, str]) -> str | None:
    named = {"TRAIN": "train", "TEST": "test"}.get(attributes.get("LEWISSPLIT", ""))
    return named if attributes.get("TOPICS") == "YES" else None


def _topics(document: str) -> list[str]:
    found = TOPICS.search(document)
    return TOPIC.findall(found.group(1)) if found else []


def _title_and_body(document: str) -> tuple[str, str]:
    """A document without title and body (TYPE="UNPROC") keeps its whole text as body."""
    title, body = TITLE.search(document), BODY.search(document)
    if body is None and title is None and (whole := TEXT.search(document)):
        return "", _plain(MARKUP.sub(" ", whole.group(1)))
    return _plain(title.group(1)) if title else "", _plain(body.group(1)) if body else ""


def _plain(text: str) -> str:
    return CONTROL.sub("", html.unescape(text)).strip()
