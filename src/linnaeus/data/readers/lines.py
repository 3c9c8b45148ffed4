"""One document per line: plain text, or training files of fastText with labels in front of the text or behind it.

__label__Sports __label__Football A late goal
"""

from __future__ import annotations

import numpy as np

from linnaeus.data.dataset import Dataset
from linnaeus.data.readers.source import InputFile, ReadOptions

__all__ = ["MARK", "read", "read_fasttext"]

MARK = "__label__"


def read(source: InputFile, options: ReadOptions) -> Dataset:
    """Read every line as a document without labels; an empty line is an empty one, so that line n is document n."""
    texts: list[str] = []
    for _, line in source.lines(options.encoding):
        if options.enough(len(texts)):
            break
        texts.append(line.strip())
    lines = np.arange(1, len(texts) + 1)
    return Dataset(fields={"text": texts}, taxonomy=options.taxonomy, source=source.name, lines=lines)


def read_fasttext(source: InputFile, options: ReadOptions) -> Dataset:
    """Read documents with labels in front of the text, or behind it; an empty line is not a document."""
    texts: list[str] = []
    labels: list[list[str]] = []
    lines: list[int] = []
    for number, line in source.lines(options.encoding):
        words = line.split()
        if not words:
            continue
        if options.enough(len(texts)):
            break
        start = next((i for i, word in enumerate(words) if not word.startswith(MARK)), len(words))
        end = len(words)
        while start == 0 and words[end - 1].startswith(MARK):  # without labels in front, those at the end count
            end -= 1
        marked = words[:start] + words[end:]
        labels.append(list(dict.fromkeys(word.removeprefix(MARK) for word in marked if word != MARK)))
        texts.append(" ".join(words[start:end]))
        lines.append(number)
    return Dataset(
        fields={"text": texts},
        labels=labels,
        taxonomy=options.taxonomy,
        source=source.name,
        lines=np.array(lines, dtype=np.int64),
    )
