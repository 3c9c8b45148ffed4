"""Gene Ontology annotation files (GAF 2.0 to 2.2): one annotation of a gene product per line, in 15 to 17 columns.

    !gaf-version: 2.2
    UniProtKB <tab> Q0P887 <tab> abc <tab> involved_in <tab> GO:0006412 <tab> PMID:1 <tab> IEA <tab> ...

The document is named by column 2, the label is column 5. An annotation with NOT in column 4 says what a product does
not do and is left out, and so is one with the evidence code ND, which says that nothing is known. The evidence is not
read otherwise: choose the lines before, where only some codes are wanted.
"""

from __future__ import annotations

import re

from linnaeus.data.label_files.content import LabelFile, Line, assemble
from linnaeus.errors import DataError, place

__all__ = ["read", "recognised"]

TERM = re.compile(r"[A-Za-z]+:\d+")
WIDTH = range(15, 18)
ID, QUALIFIER, LABEL, EVIDENCE = 1, 3, 4, 6


def recognised(lines: list[str]) -> bool:
    """Whether lines are annotations: by the version on top, or by their columns.

    Examples
    --------
    >>> recognised(["!gaf-version: 2.2"]), recognised(["P1\\tGO:0006412"])
    (True, False)
    """
    if lines and lines[0].lower().startswith("!gaf-version"):
        return True
    rows = [line.split("\t") for line in lines if not line.startswith("!")]
    return bool(rows) and all(len(row) in WIDTH and TERM.fullmatch(row[LABEL]) for row in rows)


def read(lines: list[Line], name: str) -> LabelFile:
    """Read the terms of every gene product, each once."""
    terms: dict[str, tuple[int, dict[str, None]]] = {}
    for number, line in lines:
        if line.startswith("!") or not line.strip():
            continue
        row = line.split("\t")
        if len(row) not in WIDTH or not row[ID] or not row[LABEL]:
            raise DataError(f"{place(name, number)} has {len(row)} columns; an annotation (GAF) has 15 to 17.")
        of_product = terms.setdefault(row[ID], (number, {}))[1]
        if "NOT" not in row[QUALIFIER].split("|") and row[EVIDENCE] != "ND":
            of_product[row[LABEL]] = None
    if not terms:
        raise DataError(f"{name} holds no annotations.")
    return assemble([(line, product, (list(labels), ())) for product, (line, labels) in terms.items()], name)
