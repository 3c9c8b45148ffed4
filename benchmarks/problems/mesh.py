"""MEDLINE citations that have an abstract, in one branch of MeSH read as a tree of positions.

A descriptor that stands at several positions labels all of them that lie in the branch. Positions that no citation
uses, for itself or for something below, are left out. Title and abstract are one bag of words: tf log2(N/n), unit
length, words of at least two citations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.problems.base import DATA, Problem, tree_of_codes
from linnaeus import Taxonomy
from linnaeus.data import hash_split
from linnaeus.data.readers import read_dataset
from linnaeus.features.text import TextFeatures


def mesh_d01(*, split: bool = False) -> Problem:
    """Inorganic chemicals (D01) with labels lifted to three levels: 1,837 citations, 185 nodes with the root D01.

    All citations are training documents, for questions of speed; with ``split`` those whose md5 of the id is divisible
    by 4 are test documents, for questions of accuracy.
    """
    return branch("D01", levels=3, split=split, name="mesh_d01_split" if split else "mesh_d01")


def branch(top: str, *, levels: int | None = None, split: bool = True, name: str | None = None) -> Problem:
    """A branch by the tree number it begins with (``D01``), a whole letter (``H``), or all of them (``MeSH``).

    ``levels`` lifts deeper labels to their ancestor on that level, the top of the branch counted as the first.
    """
    citations, codes = _labelled(top, levels)
    taxonomy = tree_of_codes((code for row in codes for code in row), top)
    Y = taxonomy.indicator(codes)
    texts = [f"{t} {a}" for t, a in zip(citations.fields["title"], citations.fields["abstract"], strict=True)]
    test = hash_split(citations.ids, 4) if split else np.zeros(len(texts), dtype=bool)
    features = TextFeatures(weighting="log2", norm="l2", min_df=2)
    X = features.fit_transform([text for text, out in zip(texts, test, strict=True) if not out])
    held_out = [text for text, out in zip(texts, test, strict=True) if out]
    X_test = features.transform(held_out) if held_out else X[:0]
    return Problem(name or f"mesh_{top.lower()}", taxonomy, X, Y[~test], X_test, Y[test])


def _labelled(top: str, levels: int | None) -> tuple[Any, list[list[str]]]:
    """The citations of a branch and their positions in it."""
    folder = DATA / "medline_mesh"
    positions = Taxonomy.read(folder / "mtrees2014.csv.gz", positions=True)
    data = read_dataset(folder / "medline_pubmed20n0014.jsonl.xz")
    labels, abstracts = data.labels or [], (data.fields or {})["abstract"]
    found, rows = [], []
    for document, (names, abstract) in enumerate(zip(labels, abstracts, strict=True)):
        at = {code for name in names for code in positions.names[positions.displayed_as(name)] if _within(code, top)}
        if at and abstract.strip():
            found.append(document)
            rows.append(sorted({".".join(code.split(".")[:levels]) for code in at}))
    return data.take(found), rows


def _within(code: str, top: str) -> bool:
    if top == "MeSH":
        return True
    return code[0] == top if len(top) == 1 else code.split(".")[0] == top
