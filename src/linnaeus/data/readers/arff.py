"""HMC ARFF, the format of the CLUS data sets: numbers and nominal values, and labels of a hierarchy in the last column.

    @ATTRIBUTE size numeric
    @ATTRIBUTE strand {w,c}
    @ATTRIBUTE class hierarchical 1,1/1,1/2,2
    @DATA
    0.5,w,1/1@2

A nominal attribute becomes one 0/1 column per value (``strand=w``); ``?`` is NaN, in all of its columns. Rows in braces
(``{0 0.5, 2 1/1@2}``) are sparse: missing attributes are 0, or the first value of a nominal attribute. The taxonomy of
the class attribute is read by `linnaeus.taxonomy.formats`.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from linnaeus.data.dataset import Dataset
from linnaeus.data.readers.columns import ReadOptions
from linnaeus.errors import DataError, nearest, place
from linnaeus.files import InputFile, long_cells
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import pointers
from linnaeus.typing import Matrix

__all__ = ["read"]

ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S+)\s+(.*)", re.IGNORECASE | re.DOTALL)
NUMERIC = ("numeric", "real", "integer")
NAN = float("nan")


@dataclass(frozen=True)
class Attribute:
    """One column of the file: a number, one of ``values``, or the labels."""

    name: str
    kind: str  # numeric, nominal, hierarchical
    values: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        return [f"{self.name}={value}" for value in self.values] if self.kind == "nominal" else [self.name]


def read(source: InputFile, options: ReadOptions) -> Dataset:
    """Read an ARFF file with its labels and taxonomy."""
    lines = source.lines(options.encoding)
    attributes = _header(lines, source.name)
    label = _label_column(attributes, options, source.name)
    features = [a for i, a in enumerate(attributes) if i != label]
    names = [column for a in features for column in a.columns]
    rows = _Rows(attributes, label, len(names))
    for number, line in lines:
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        if options.enough(len(rows.lines)):
            break
        rows.add(text, number, place(source.name, number))
    if not rows.lines:
        raise DataError(f"{source.name} has no rows after @DATA.")
    hierarchical = label is not None and attributes[label].kind == "hierarchical"
    return Dataset(
        X=rows.matrix(),
        feature_names=names,
        labels=rows.labels if label is not None else None,
        taxonomy=options.taxonomy or (_taxonomy(source, options) if hierarchical else None),
        source=source.name,
        lines=np.array(rows.lines, dtype=np.int64),
    )


def _taxonomy(source: InputFile, options: ReadOptions) -> Taxonomy | None:
    from linnaeus.taxonomy import formats

    return None if source.path is None else formats.read(source.path, format="arff", encoding=options.encoding)


# -- header ------------------------------------------------------------------------------------------------------------


def _header(lines: Iterator[tuple[int, str]], name: str) -> list[Attribute]:
    """The attributes; the iterator is left at the first row."""
    attributes: list[Attribute] = []
    for number, line in lines:
        text = line.strip()
        keyword = text[:10].split(None, 1)[0].lower() if text else ""
        if keyword == "@data":
            if not attributes:
                raise DataError(f"{place(name, number)}: @DATA comes before any @ATTRIBUTE.")
            return attributes
        if keyword == "@attribute":
            attributes.append(_attribute(text, place(name, number)))
        elif text and not text.startswith("%") and keyword != "@relation":
            raise DataError(f"{place(name, number)}: {text[:40]!r} is neither @ATTRIBUTE nor @DATA.")
    raise DataError(f"{name} has no @DATA line.")


def _attribute(text: str, where: str) -> Attribute:
    found = ATTRIBUTE.fullmatch(text)
    if not found:
        raise DataError(f"{where}: an attribute needs a name and a type; got {text[:60]!r}.")
    name, kind = found.group(1).strip("'\""), found.group(2).strip()
    if kind.startswith("{") and kind.endswith("}"):
        values = tuple(value.strip() for value in _cells(kind[1:-1], where))
        if not any(values):
            raise DataError(f"{where}: the nominal attribute {name!r} has no values.")
        return Attribute(name, "nominal", values)
    if kind.lower().startswith("hierarchical"):
        return Attribute(name, "hierarchical")
    if kind.lower() in NUMERIC:
        return Attribute(name, "numeric")
    raise DataError(f"{where}: type {kind[:40]!r} of attribute {name!r} is not numeric, nominal or hierarchical.")


def _label_column(attributes: list[Attribute], options: ReadOptions, name: str) -> int | None:
    """The hierarchical attribute, the one the user names, or a nominal one called class; None if there is none."""
    names = [a.name for a in attributes]
    if options.labels:
        if options.labels[0] not in names:
            raise DataError(f"{name} has no attribute {options.labels[0]!r}{nearest(options.labels[0], names)}")
        return names.index(options.labels[0])
    for i, a in enumerate(attributes):
        if a.kind == "hierarchical" or (a.kind == "nominal" and a.name.lower() in ("class", "label")):
            return i
    return None


# -- rows --------------------------------------------------------------------------------------------------------------


class _Rows:
    """Collects rows, dense or sparse, into one matrix."""

    def __init__(self, attributes: list[Attribute], label: int | None, n_features: int) -> None:
        self.attributes, self.label, self.n_features = attributes, label, n_features
        self.encoders: list[Callable[[str], list[float]]] = [_encoder(a) for a in attributes]
        self.nominal = [i for i, a in enumerate(attributes) if a.kind == "nominal"]
        self.plain = all(a.kind == "numeric" for i, a in enumerate(attributes) if i != label)
        widths = [0 if i == label else len(a.columns) for i, a in enumerate(attributes)]
        self.starts = pointers(widths).tolist()
        self.values, self.indices, self.indptr = array("f"), array("i"), array("q", [0])
        self.labels: list[list[str]] = []
        self.lines: list[int] = []
        self.sparse = False

    def add(self, text: str, number: int, where: str) -> None:
        if not self.lines:
            self.sparse = text.startswith("{")
        (self._add_sparse if self.sparse else self._add_dense)(text, where)
        self.lines.append(number)

    def _add_dense(self, text: str, where: str) -> None:
        cells = _cells(text, where)
        if len(cells) != len(self.attributes):
            raise DataError(f"{where} has {len(cells)} values; expected {len(self.attributes)}.")
        self.labels.append([] if self.label is None else _labels(cells.pop(self.label)))
        if self.plain:
            try:
                self.values.extend(NAN if cell == "?" else float(cell) for cell in cells)
                return
            except ValueError:
                del self.values[len(self.lines) * self.n_features :]
        others = [i for i in range(len(self.attributes)) if i != self.label]
        for i, cell in zip(others, cells, strict=True):
            self.values.extend(self._encode(i, cell.strip(), where))

    def _add_sparse(self, text: str, where: str) -> None:
        if not (text.startswith("{") and text.endswith("}")):
            raise DataError(f"{where}: expected a sparse row {{index value, ...}}.")
        cells: dict[int, str] = {}
        for pair in _cells(text[1:-1], where) if text[1:-1].strip() else []:
            index, _, cell = pair.strip().partition(" ")
            if not index.isdecimal() or len(index) > 9 or int(index) >= len(self.attributes):
                raise DataError(
                    f"{where}: {pair.strip()[:40]!r} does not begin with the number of an attribute; "
                    f"expected 0..{len(self.attributes) - 1}."
                )
            if int(index) in cells:
                raise DataError(f"{where}: attribute {int(index)} is given twice.")
            cells[int(index)] = cell.strip()
        for i in self.nominal:
            cells.setdefault(i, self.attributes[i].values[0])
        self.labels.append(_labels(cells.pop(self.label)) if self.label in cells else [])
        for i, cell in cells.items():
            for offset, value in enumerate(self._encode(i, cell, where)):
                if value != 0:
                    self.indices.append(self.starts[i] + offset)
                    self.values.append(value)
        self.indptr.append(len(self.indices))

    def _encode(self, i: int, cell: str, where: str) -> list[float]:
        try:
            return self.encoders[i](cell)
        except (ValueError, KeyError):
            a = self.attributes[i]
            expected = f"one of {', '.join(a.values[:10])}" if a.kind == "nominal" else "a number or ?"
            raise DataError(f"{where}: attribute {a.name!r} has {cell!r}; expected {expected}.") from None

    def matrix(self) -> Matrix:
        values = np.array(self.values, dtype=np.float32)
        if not self.sparse:
            return values.reshape(len(self.lines), self.n_features)
        indptr, indices = np.array(self.indptr, dtype=np.int32), np.array(self.indices, dtype=np.int32)
        X = sparse.csr_array((values, indices, indptr), shape=(len(self.lines), self.n_features))
        X.sort_indices()
        return X


def _encoder(attribute: Attribute) -> Callable[[str], list[float]]:
    if attribute.kind != "nominal":
        return lambda cell: [NAN if cell == "?" else float(cell)]
    n = len(attribute.values)
    number_of = {value: i for i, value in enumerate(attribute.values)}

    def encoded(cell: str) -> list[float]:
        value = cell.strip("'\"")
        if value == "?":
            return [NAN] * n
        row = [0.0] * n
        row[number_of[value]] = 1.0
        return row

    return encoded


def _cells(text: str, where: str) -> list[str]:
    if "'" not in text and '"' not in text:
        return text.split(",")
    quote = "'" if "'" in text else '"'
    try:
        with long_cells():
            return next(csv.reader([text], quotechar=quote, skipinitialspace=True), [])
    except csv.Error as error:
        raise DataError(f"{where} is not a row of cells: {error}.") from None


def _labels(cell: str) -> list[str]:
    cell = cell.strip().strip("'\"")
    return [] if cell in ("", "?") else cell.split("@")
