"""One document per line: plain text, and training files of fastText, which have labels in front of the text.

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
    """Read documents with marked labels in front of them; an empty line is not a document."""
    texts: list[str] = []
    labels: list[list[str]] = []
    lines: list[int] = []
    for number, line in source.lines(options.encoding):
        words = line.split()
        if not words:
            continue
        if options.enough(len(texts)):
            break
        n_labels = next((i for i, word in enumerate(words) if not word.startswith(MARK)), len(words))
        labels.append(list(dict.fromkeys(word.removeprefix(MARK) for word in words[:n_labels] if word != MARK)))
        texts.append(" ".join(words[n_labels:]))
        lines.append(number)
    return Dataset(
        fields={"text": texts},
        labels=labels,
        taxonomy=options.taxonomy,
        source=source.name,
        lines=np.array(lines, dtype=np.int64),
    )
