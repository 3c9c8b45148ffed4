"""Sparse vectors as text: libsvm multi-label, the extreme classification repository, LSHTC.

    3,5 0:0.5 7:1          libsvm: labels, then feature:value
    2 10 6                 extreme classification: a first line with the numbers of documents, features and labels
    3, 5 0:0.5 7:1         LSHTC: a space after the comma

Feature number i is column i of X in all three, so that files read apart agree; a file that counts from 1 has an empty
column 0. The width is that of the first line, ``n_features``, or the largest number plus one.
"""

from __future__ import annotations

import re
from array import array

import numpy as np
from scipy import sparse

from linnaeus.data.dataset import Dataset
from linnaeus.data.readers.source import Options, Source
from linnaeus.errors import DataError, place
from linnaeus.typing import CSR, IntArray

__all__ = ["read"]

FIRST_FEATURE = re.compile(r"(?:^|\s)[^\s:,]+:")
COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)  # only after white space: c# is a label
SIZES = re.compile(r"(\d+)\s+(\d+)\s+(\d+)\s*")


def read(source: Source, options: Options) -> Dataset:
    """Read labels and sparse features."""
    indptr, indices, values, lines = array("q", [0]), array("i"), array("f"), array("q")
    labels: list[list[str]] = []
    sizes: tuple[int, ...] | None = None
    for number, line in source.lines(options.encoding):
        if number == 1 and (found := SIZES.fullmatch(line)):
            sizes = tuple(map(int, found.groups()))
            continue
        if "#" in line:
            line = COMMENT.sub("", line, 1)
        line = line.rstrip()
        if options.enough(len(labels)) or (sizes and len(labels) == sizes[0] and not line):
            break
        if not line and sizes is None:
            continue
        first = FIRST_FEATURE.search(line)
        cut = first.start() if first else len(line)
        labels.append(line[:cut].replace(",", " ").split())
        _parse_features(line[cut:], indices, values, place(source.name, number))
        indptr.append(len(indices))
        lines.append(number)
    if not labels:
        raise DataError(f"{source.name} holds no documents; lines such as '3,5 0:0.5 7:1' were expected.")
    numbers = np.array(lines, dtype=np.int64)
    X = _matrix(indptr, indices, values, options.n_features or (sizes[1] if sizes else None), source.name, numbers)
    if sizes:
        _check_sizes(sizes, labels, source.name, numbers, limited=options.limit is not None)
    return Dataset(X=X, labels=labels, taxonomy=options.taxonomy, source=source.name, lines=numbers)


def _parse_features(text: str, indices: array[int], values: array[float], where: str) -> None:
    """Append the pairs ``index:value`` of one line."""
    parts = text.replace(":", " ").split()
    try:
        if 2 * text.count(":") != len(parts):
            raise ValueError
        numbers = list(map(int, parts[::2]))
        if numbers and min(numbers) < 0:
            raise ValueError
        indices.extend(numbers)
        values.extend(map(float, parts[1::2]))
    except (ValueError, OverflowError):
        bad = next((pair for pair in text.split() if not _is_pair(pair)), text.strip()[:40])
        raise DataError(f"{where}: {bad!r} is not a feature; expected number:value such as 7:0.5.") from None


def _is_pair(pair: str) -> bool:
    index, colon, value = pair.partition(":")
    try:
        float(value)
    except ValueError:
        return False
    return bool(colon) and index.isdecimal() and int(index) < 2**31


def _matrix(
    indptr: array[int], indices: array[int], values: array[float], width: int | None, name: str, lines: IntArray
) -> CSR:
    columns = np.array(indices, dtype=np.int32)
    starts = np.array(indptr, dtype=np.int64)
    n_features = int(columns.max(initial=-1)) + 1 if width is None else width
    if len(columns) and columns.max() >= n_features:
        at = int(np.argmax(columns >= n_features))
        row = int(np.searchsorted(starts, at, side="right")) - 1
        raise DataError(
            f"{place(name, int(lines[row]))}: feature {columns[at]} is out of range; "
            f"{n_features:,} features were announced."
        )
    if len(columns) < 2**31:
        starts = starts.astype(np.int32)
    X = sparse.csr_array((np.array(values, dtype=np.float32), columns, starts), shape=(len(lines), n_features))
    X.sort_indices()
    rows = np.repeat(np.arange(len(lines)), np.diff(starts))
    twice = np.flatnonzero((np.diff(X.indices) == 0) & (np.diff(rows) == 0))
    if len(twice):
        raise DataError(f"{place(name, int(lines[rows[twice[0]]]))}: feature {X.indices[twice[0]]} is given twice.")
    return X


def _check_sizes(sizes: tuple[int, ...], labels: list[list[str]], name: str, lines: IntArray, *, limited: bool) -> None:
    n_docs, _, n_labels = sizes
    if len(labels) != n_docs and not (limited and len(labels) < n_docs):
        raise DataError(f"{place(name, 1)} announces {n_docs:,} documents; the file has {len(labels):,}.")
    for row, given in enumerate(labels):
        for label in given:
            if not label.isdecimal() or int(label) >= n_labels:
                where = place(name, int(lines[row]))
                raise DataError(f"{where}: label {label!r} is out of range; {n_labels:,} labels were announced.")
