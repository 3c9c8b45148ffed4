"""Plain text: every line is a document without labels, an empty line an empty one, so that line n is document n."""

from __future__ import annotations

import numpy as np

from linnaeus.data.dataset import Dataset
from linnaeus.data.readers.source import Options, Source

__all__ = ["read"]


def read(source: Source, options: Options) -> Dataset:
    """Read one document per line."""
    texts: list[str] = []
    for _, line in source.lines(options.encoding):
        if options.enough(len(texts)):
            break
        texts.append(line.strip())
    lines = np.arange(1, len(texts) + 1)
    return Dataset(fields={"text": texts}, taxonomy=options.taxonomy, source=source.name, lines=lines)
