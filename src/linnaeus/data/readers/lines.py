"""One document per line: plain text, or training files of fastText with labels in front of the text or behind it.

__label__Sports __label__Football A late goal
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from linnaeus.data.dataset import Dataset
from linnaeus.data.readers.columns import ReadOptions
from linnaeus.files import InputFile

__all__ = ["MARK", "batches", "fasttext_batches", "read", "read_fasttext"]

MARK = "__label__"


def read(source: InputFile, options: ReadOptions) -> Dataset:
    """Read every line as a document without labels; an empty line is an empty one, so that line n is document n."""
    return next(batches(source, options))


def batches(source: InputFile, options: ReadOptions, size: int | None = None) -> Iterator[Dataset]:
    """The same documents, at most ``size`` of them at a time; at least one batch."""
    lines = islice((line.strip() for _, line in source.lines(options.encoding)), options.limit)
    n_read = 0
    while (texts := list(islice(lines, size))) or not n_read:
        numbers = np.arange(n_read + 1, n_read + len(texts) + 1)
        yield Dataset(fields={"text": texts}, taxonomy=options.taxonomy, source=source.name, lines=numbers)
        n_read += max(len(texts), 1)


def read_fasttext(source: InputFile, options: ReadOptions) -> Dataset:
    """Read documents with labels in front of the text, or behind it; an empty line is not a document."""
    return next(fasttext_batches(source, options))


def fasttext_batches(source: InputFile, options: ReadOptions, size: int | None = None) -> Iterator[Dataset]:
    """The same documents, at most ``size`` of them at a time; at least one batch."""
    documents = islice(_fasttext(source, options), options.limit)
    started = False
    while (some := list(islice(documents, size))) or not started:
        started = True
        yield Dataset(
            fields={"text": [text for _, text, _ in some]},
            labels=[labels for _, _, labels in some],
            taxonomy=options.taxonomy,
            source=source.name,
            lines=np.array([number for number, _, _ in some], dtype=np.int64),
        )


def _fasttext(source: InputFile, options: ReadOptions) -> Iterator[tuple[int, str, list[str]]]:
    """(line, text, labels) of every document."""
    for number, line in source.lines(options.encoding):
        words = line.split()
        if not words:
            continue
        start = next((i for i, word in enumerate(words) if not word.startswith(MARK)), len(words))
        end = len(words)
        while start == 0 and words[end - 1].startswith(MARK):  # without labels in front, those at the end count
            end -= 1
        marked = words[:start] + words[end:]
        labels = list(dict.fromkeys(word.removeprefix(MARK) for word in marked if word != MARK))
        yield number, " ".join(words[start:end]), labels
