"""FASTA: sequences, with labels in the header lines.

    >P47482 2.7.7.18;3.6.1.41
    MKQKIIIFGGSFDPIHNAHLYIAKHAIKKIKAQK

The first word of a header is the id. The labels are the second word, or with ``labels="EC="`` what follows that mark.
"""

from __future__ import annotations

import re

import numpy as np

from linnaeus.data.dataset import Dataset
from linnaeus.data.readers.labels import split_cells
from linnaeus.data.readers.source import Options, Source
from linnaeus.errors import DataError, place

__all__ = ["read"]


def read(source: Source, options: Options) -> Dataset:
    """Read sequences; letters may be wrapped over several lines."""
    ids: list[str] = []
    cells: list[str] = []
    chunks: list[list[str]] = []
    lines: list[int] = []
    for number, line in source.lines(options.encoding):
        text = line.strip()
        if text.startswith(">"):
            if options.enough(len(ids)):
                break
            name, _, rest = text[1:].strip().partition(" ")
            ids.append(name)
            cells.append(_label_cell(rest, options))
            chunks.append([])
            lines.append(number)
        elif text and not text.startswith(";"):  # an old kind of comment
            if not chunks:
                raise DataError(f"{place(source.name, number)}: a FASTA file begins with a header line '>id labels'.")
            chunks[-1].append(text.rstrip("*"))
    for line_number, chunk in zip(lines, chunks, strict=True):
        if not chunk:
            raise DataError(f"{place(source.name, line_number)}: the header is followed by no sequence.")
    labels = split_cells(cells, options.label_separator, options.taxonomy)
    return Dataset(
        sequences=["".join(chunk) for chunk in chunks],
        labels=labels if any(labels) else None,
        ids=ids,
        taxonomy=options.taxonomy,
        source=source.name,
        lines=np.array(lines, dtype=np.int64),
    )


def _label_cell(rest: str, options: Options) -> str:
    if not options.labels:
        return rest.split(None, 1)[0] if rest.strip() else ""
    found = re.search(re.escape(options.labels[0]) + r"\s*(\S+)", rest)
    return found.group(1) if found else ""
