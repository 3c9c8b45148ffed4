"""FASTA: sequences, with labels in the header lines or in a file of their own.

    >P47482 2.7.7.18;3.6.1.41
    MKQKIIIFGGSFDPIHNAHLYIAKHAIKKIKAQK
    >sp|Q0P887|Y1234_CAMJE Uncharacterized protein OS=Campylobacter jejuni
    MKKLLFALLLSLFIF

The first word of a header is the id; of an id as UniProt writes it (``sp|ACCESSION|NAME``) the accession. The labels
are the second word where it is a label of the taxonomy or, without a taxonomy, where the second words of all headers
look like codes or are the only ones; a description is not a label. With ``labels="EC="`` they are what follows that
mark.
"""

from __future__ import annotations

import re

import numpy as np

from linnaeus.data.dataset import Dataset
from linnaeus.data.readers.columns import ReadOptions, split_cell, split_cells
from linnaeus.errors import DataError, place
from linnaeus.files import InputFile

__all__ = ["DESCRIPTION", "read"]

DESCRIPTION = "description in the header"
UNIPROT = re.compile(r"(?:sp|tr)\|([A-Za-z0-9-]+)\|\S*")
CODE = re.compile(r"(?=\S*\d)[\w.:;,|@/-]+")


def read(source: InputFile, options: ReadOptions) -> Dataset:
    """Read sequences; letters may be wrapped over several lines."""
    ids: list[str] = []
    rests: list[str] = []
    chunks: list[list[str]] = []
    lines: list[int] = []
    n_uniprot = 0
    for number, line in source.lines(options.encoding):
        text = line.strip()
        if text.startswith(">"):
            if options.enough(len(ids)):
                break
            name, _, rest = text[1:].strip().partition(" ")
            accession = UNIPROT.fullmatch(name)
            n_uniprot += accession is not None
            ids.append(accession[1] if accession else name)
            rests.append(rest.strip())
            chunks.append([])
            lines.append(number)
        elif text and not text.startswith(";"):  # an old kind of comment
            if not chunks:
                raise DataError(f"{place(source.name, number)}: a FASTA file begins with a header line '>id labels'.")
            chunks[-1].append(text.rstrip("*"))
    for line_number, chunk in zip(lines, chunks, strict=True):
        if not chunk:
            raise DataError(f"{place(source.name, line_number)}: the header is followed by no sequence.")
    cells = _label_cells(rests, options, uniprot=n_uniprot > 0)
    labels = None if cells is None else split_cells(cells, options.label_separator, options.taxonomy)
    columns = {"id": ("the accession" if n_uniprot else "first word of the header",)}
    if labels is not None and any(labels):
        columns["labels"] = (f"header after {options.labels[0]}" if options.labels else "second word of the header",)
    elif any(rests):
        columns["ignored"] = (DESCRIPTION,)
    return Dataset(
        sequences=["".join(chunk).upper() for chunk in chunks],  # lower case marks residues (repeats), no others
        labels=labels if labels is not None and any(labels) else None,
        ids=ids,
        taxonomy=options.taxonomy,
        source=source.name,
        lines=np.array(lines, dtype=np.int64),
        columns=columns,
    )


def _label_cells(rests: list[str], options: ReadOptions, *, uniprot: bool) -> list[str] | None:
    """What stands in place of the labels in each header; None where this is a description."""
    if options.labels:
        mark = re.compile(re.escape(options.labels[0]) + r"\s*(\S+)")
        found = [mark.search(rest) for rest in rests]
        return [match[1] if match else "" for match in found]
    if uniprot:
        return None
    cells = [rest.split(None, 1)[0] if rest else "" for rest in rests]
    given = [cell for cell in cells if cell]
    if options.taxonomy is not None and any(_is_known(cell, options) for cell in given):
        return cells
    if all(map(CODE.fullmatch, given)) or not any(" " in rest for rest in rests):
        return cells
    return None


def _is_known(cell: str, options: ReadOptions) -> bool:
    assert options.taxonomy is not None
    marks = (options.label_separator,) if options.label_separator else (None, ";", "|", ",")
    return any(label in options.taxonomy for mark in marks for label in split_cell(cell, mark))
