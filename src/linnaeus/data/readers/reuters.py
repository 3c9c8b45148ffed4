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
from linnaeus.data.readers.columns import ReadOptions
from linnaeus.errors import DataError
from linnaeus.files import InputFile, is_tar, members

__all__ = ["read"]

ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
TOPIC = re.compile(r"<D>([^<]*)</D>")
MARKUP = re.compile(r"<[^<>]*>")
NUMBER = re.compile(r"&#[xX]?[0-9a-fA-F]{9,};?")  # no character has such a number
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def read(source: InputFile, options: ReadOptions) -> Dataset:
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
        for start, head, document in _documents(text):
            if options.enough(len(ids)):
                break
            attributes = dict(ATTRIBUTE.findall(head))
            part = _part(attributes)
            if part is None:
                continue
            line += text.count("\n", position, start)
            position = start
            title, body = _title_and_body(document)
            titles.append(title)
            bodies.append(body)
            labels.append(_topics(document))
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


def _files(source: InputFile) -> Iterator[tuple[str, bytes]]:
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


def _documents(text: str) -> Iterator[tuple[int, str, str]]:
    """(position, attributes, content) of every <REUTERS ...> element that is closed."""
    start = text.find("<REUTERS")
    while start >= 0:
        head = text.find(">", start)
        end = text.find("</REUTERS>", head) if head >= 0 else -1
        if end < 0:
            return
        yield start, text[start + len("<REUTERS") : head], text[head + 1 : end]
        start = text.find("<REUTERS", end)


def _element(document: str, name: str) -> str | None:
    """The content of the first element of that name; its tag may have attributes."""
    start = document.find(f"<{name}")
    head = document.find(">", start) if start >= 0 else -1
    end = document.find(f"</{name}>", head) if head >= 0 else -1
    return document[head + 1 : end] if end >= 0 else None


def _topics(document: str) -> list[str]:
    return TOPIC.findall(_element(document, "TOPICS") or "")


def _title_and_body(document: str) -> tuple[str, str]:
    """A document without title and body (TYPE="UNPROC") keeps its whole text as body."""
    title, body = _element(document, "TITLE"), _element(document, "BODY")
    if body is None and title is None and (whole := _element(document, "TEXT")) is not None:
        return "", _plain(MARKUP.sub(" ", whole))
    return _plain(title or ""), _plain(body or "")


def _plain(text: str) -> str:
    return CONTROL.sub("", html.unescape(NUMBER.sub(" ", text))).strip()
