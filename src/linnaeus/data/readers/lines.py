"""Plain text: every line is a document without labels."""

from __future__ import annotations

import numpy as np

from linnaeus.data.dataset import Dataset
from linnaeus.data.readers.source import Options, Source

__all__ = ["read"]


def read(source: Source, options: Options) -> Dataset:
    """Read one document per line; empty lines are left out."""
    texts: list[str] = []
    lines: list[int] = []
    for number, line in source.lines(options.encoding):
        if options.enough(len(texts)):
            break
        if line.strip():
            texts.append(line.strip())
            lines.append(number)
    return Dataset(
        fields={"text": texts}, taxonomy=options.taxonomy, source=source.name, lines=np.array(lines, dtype=np.int64)
    )
