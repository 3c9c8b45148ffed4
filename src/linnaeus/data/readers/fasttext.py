"""Training files of fastText: the labels at the beginning of a line, each behind a mark, then the document.

__label__Sports __label__Football A late goal
"""

from __future__ import annotations

import numpy as np

from linnaeus.data.dataset import Dataset
from linnaeus.data.readers.source import Options, Source

__all__ = ["MARK", "read"]

MARK = "__label__"


def read(source: Source, options: Options) -> Dataset:
    """Read one document per line; an empty line is none."""
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
