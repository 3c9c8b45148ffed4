"""Sparse vectors as text: libsvm multi-label, the extreme classification repository, LSHTC.

    3,5 0:0.5 7:1          libsvm: labels, then feature:value
    2 10 6                 extreme classification: a first line with the numbers of documents, features and labels
    3, 5 0:0.5 7:1         LSHTC: a space after the comma

Feature number i is column i of X in all three, so that files that are read separately agree; if a file counts from 1,
column 0 is empty. The number of columns is that of the first line, ``n_features``, or the largest number plus one.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from linnaeus.data.dataset import Dataset
from linnaeus.data.matrices import is_number
from linnaeus.data.readers.columns import ReadOptions
from linnaeus.errors import DataError, place
from linnaeus.files import InputFile
from linnaeus.taxonomy.closure import row_numbers
from linnaeus.typing import CSR, IntArray

__all__ = ["batches", "read"]

FIRST_FEATURE = re.compile(r"(?:^|\s)[^\s:,]+:")
COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)  # only after white space: c# is a label
SIZES = re.compile(r"(\d+)\s+(\d+)\s+(\d+)\s*")
LARGEST = 2**31  # columns are numbered in 32 bits


def read(source: InputFile, options: ReadOptions) -> Dataset:
    """Read labels and sparse features."""
    whole = next(_parsed(source, options))
    X = whole.matrix(options.n_features or whole.announced, source.name)
    return Dataset(X=X, labels=whole.labels, taxonomy=options.taxonomy, source=source.name, lines=whole.numbers)


def batches(source: InputFile, options: ReadOptions, n_entries: int) -> Iterator[tuple[CSR, list[list[str]]]]:
    """(X, labels) of consecutive documents with about ``n_entries`` features at a time.

    Where no width is given or announced, each X is as wide as the batches up to it need.
    """
    width = 0
    for batch in _parsed(source, options, n_entries):
        fixed = options.n_features or batch.announced
        width = max(width, batch.widest) if fixed is None else fixed
        yield batch.matrix(width, source.name), batch.labels


@dataclass
class _Batch:
    """Documents as they were parsed: labels, entries, line numbers; ``announced`` is the width given in line 1."""

    announced: int | None = None
    indptr: array[int] = field(default_factory=lambda: array("q", [0]))
    indices: array[int] = field(default_factory=lambda: array("i"))
    values: array[float] = field(default_factory=lambda: array("f"))
    lines: array[int] = field(default_factory=lambda: array("q"))
    labels: list[list[str]] = field(default_factory=list)

    @property
    def widest(self) -> int:
        return max(self.indices, default=-1) + 1

    @property
    def numbers(self) -> IntArray:
        return np.array(self.lines, dtype=np.int64)

    def matrix(self, width: int | None, name: str) -> CSR:
        return _matrix(self.indptr, self.indices, self.values, width, name, self.numbers)


def _parsed(source: InputFile, options: ReadOptions, n_entries: int | None = None) -> Iterator[_Batch]:
    """The documents of a file, all together or about ``n_entries`` features at a time; never an empty batch."""
    batch, n_docs = _Batch(), 0
    sizes: tuple[int, ...] | None = None
    for number, line in source.lines(options.encoding):
        if number == 1 and (found := SIZES.fullmatch(line)):
            sizes = _sizes(found.groups(), place(source.name, 1))
            batch.announced = sizes[1]
            continue
        if "#" in line:
            line = COMMENT.sub("", line, 1)
        line = line.rstrip()
        if options.enough(n_docs) or (sizes and n_docs == sizes[0] and not line):
            break
        if not line and sizes is None:
            continue
        first = FIRST_FEATURE.search(line)
        cut = first.start() if first else len(line)
        batch.labels.append(line[:cut].replace(",", " ").split())
        _parse_features(line[cut:], batch.indices, batch.values, place(source.name, number))
        batch.indptr.append(len(batch.indices))
        batch.lines.append(number)
        n_docs += 1
        if n_entries is not None and len(batch.indices) >= n_entries:
            _check_labels(sizes, batch, source.name)
            yield batch
            batch = _Batch(batch.announced)
    if not n_docs:
        raise DataError(f"{source.name} holds no documents; lines such as '3,5 0:0.5 7:1' were expected.")
    if sizes and n_docs != sizes[0] and not (options.limit is not None and n_docs < sizes[0]):
        raise DataError(f"{place(source.name, 1)} announces {sizes[0]:,} documents; the file has {n_docs:,}.")
    if batch.labels:
        _check_labels(sizes, batch, source.name)
        yield batch


def _sizes(words: tuple[str, ...], where: str) -> tuple[int, ...]:
    """The numbers of documents, features and labels that the first line announces."""
    for word, what in zip(words, ("documents", "features", "labels"), strict=True):
        if len(word.lstrip("0")) > 10 or int(word) >= LARGEST:
            raise DataError(f"{where} announces {word[:20]} {what}; a number below {LARGEST:,} is expected.")
    return tuple(map(int, words))


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
        bad = next((pair for pair in text.split() if not _is_pair(pair)), text.strip())[:40]
        raise DataError(f"{where}: {bad!r} is not a feature; expected number:value such as 7:0.5.") from None


def _is_pair(pair: str) -> bool:
    index, colon, value = pair.partition(":")
    return (
        bool(colon) and is_number(value) and index.isdecimal() and len(index.lstrip("0")) < 11 and int(index) < LARGEST
    )


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
    rows = row_numbers(starts)
    twice = np.flatnonzero((np.diff(X.indices) == 0) & (np.diff(rows) == 0))
    if len(twice):
        raise DataError(f"{place(name, int(lines[rows[twice[0]]]))}: feature {X.indices[twice[0]]} is given twice.")
    return X


def _check_labels(sizes: tuple[int, ...] | None, batch: _Batch, name: str) -> None:
    """Validate that labels are numbers below the number of labels in line 1, if the file has such a line."""
    if sizes is None:
        return
    for row, given in enumerate(batch.labels):
        for label in given:
            if not label.isdecimal() or len(label.lstrip("0")) > 10 or int(label) >= sizes[2]:
                where = place(name, batch.lines[row])
                raise DataError(f"{where}: label {label[:40]!r} is out of range; {sizes[2]:,} labels were announced.")
