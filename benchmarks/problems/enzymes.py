"""Protein sequences with EC numbers, to the third level of the EC tree."""

from __future__ import annotations

import numpy as np

from benchmarks.problems.base import DATA, Problem, tree_of_codes
from linnaeus.data import hash_split
from linnaeus.data.readers import read_dataset

LEVELS = 3


def enzyme_ec() -> Problem:
    """X is an array of sequences; those whose md5 of the entry is divisible by 5 are test documents."""
    data = read_dataset(DATA / "enzyme_ec" / "split10.csv.gz")
    codes = [sorted({_lifted(code) for code in row}) for row in data.labels or []]
    taxonomy = tree_of_codes((code for row in codes for code in row), "EC")
    sequences = np.array(data.sequences, dtype=object)
    test = hash_split(data.ids or [], 5)
    Y = taxonomy.indicator(codes)
    return Problem("enzyme_ec", taxonomy, sequences[~test], Y[~test], sequences[test], Y[test])


def _lifted(code: str) -> str:
    """The first numbers of an EC number; a dash stands for what is not known."""
    return ".".join(part for part in code.split(".")[:LEVELS] if part != "-")
