"""Matrices in numpy archives (.npz); nothing in them is executed, arrays of Python objects are refused.

Features are ``X_data, X_indices, X_indptr, X_shape``, the arrays of ``scipy.sparse.save_npz``, or a dense ``X``. Other
arrays with one entry per document become ``extra``. Labels are in one of the layouts

    Y_indptr, Y_indices (Y_shape, Y_data)    rows of a sparse 0/1 matrix, columns named by label_names or by number
    a 0/1 matrix of numbers                  columns named by label_names
    a list of integers                       numbers of label_names; the labels themselves without label_names
    a list of strings                        joined labels, ``A;B``
    a table of strings                       several labels per row, empty strings are ignored

The array is called ``labels``, ``y`` or another usual name, in any case, or it is named by ``labels=``, which may also
be a text file with one line per document. Arrays that look like labels but cannot be read as labels are an error;
otherwise the documents would seem to have no labels.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np
from scipy import sparse

from linnaeus import files
from linnaeus.data.dataset import Dataset
from linnaeus.data.readers.columns import LABELS, ReadOptions, first_of, split_cells
from linnaeus.errors import DataError, nearest
from linnaeus.files import InputFile, is_zip
from linnaeus.taxonomy.closure import pointers
from linnaeus.typing import CSR, Array, IntArray, Matrix

__all__ = ["read", "read_labels", "whole_numbers"]

MAX_EMPTY_ROWS = 10_000_000  # the shape of a csc matrix may have any number of rows


def read(source: InputFile, options: ReadOptions) -> Dataset:
    """Read a numpy archive."""
    with source.open_seekable() as stream:
        _check_size(stream, source)
        with _opened(stream, source.name) as archive:
            arrays = {name: _array(archive, name, source.name) for name in archive.files}
    prefix = "X_" if "X_indptr" in arrays else ""
    if f"{prefix}indptr" in arrays:
        X: Matrix = _csr(arrays, prefix, source.name)
    elif "X" in arrays and arrays["X"].ndim == 2 and arrays["X"].dtype.kind in "biuf":
        X = arrays["X"]
    else:
        raise DataError(
            f"{source.name} has the arrays {', '.join(arrays)}; expected X_data, X_indices, X_indptr, X_shape, "
            f"a matrix saved by scipy.sparse.save_npz, or a dense X of numbers."
        )
    labels, used = read_labels(arrays, options, X.shape[0], source.name)
    used |= {"X", "data", "indices", "indptr", "shape", "format", "ids", "feature_names"}
    extra = {
        name: a
        for name, a in arrays.items()
        if name not in used and not name.startswith("X_") and a.shape[:1] == (X.shape[0],)
    }
    data = Dataset(
        X=X,
        labels=labels,
        ids=arrays["ids"].astype(str).tolist() if "ids" in arrays else None,
        feature_names=arrays["feature_names"].astype(str).tolist() if "feature_names" in arrays else None,
        taxonomy=options.taxonomy,
        source=source.name,
        extra=extra,
    )
    return data if options.limit is None else data.take(np.arange(min(options.limit, len(data))))


def _check_size(stream: BinaryIO, source: InputFile) -> None:
    """Raise an error if the arrays of an archive are far larger than the file."""
    limit = files.unpack_limit(stream.seek(0, io.SEEK_END), source.max_unpacked)
    stream.seek(0)
    found = files.zip_members(stream, source.name, DataError) if is_zip(stream.read(4)) else []
    if sum(info.file_size for info in found) > limit:
        raise DataError(files.too_large(source.name, limit))
    stream.seek(0)


def _opened(stream: BinaryIO, name: str) -> np.lib.npyio.NpzFile:
    try:
        opened: Array | np.lib.npyio.NpzFile = np.load(stream, allow_pickle=False)
    except (ValueError, *files.DAMAGE) as error:
        raise DataError(f"{name} is not a readable numpy archive: {error}") from error
    if isinstance(opened, np.ndarray):
        raise DataError(f"{name} is a single array (.npy); expected an archive of named arrays (.npz).")
    return opened


def _array(archive: Mapping[str, Array], key: str, name: str) -> Array:
    try:
        found = archive[key]
    except ValueError as error:
        raise DataError(f"Array {key!r} of {name} contains Python objects; expected numbers or strings.") from error
    except Exception as error:  # damaged archives raise various errors
        raise DataError(f"Array {key!r} of {name} is damaged: {error}") from error
    if not isinstance(found, np.ndarray):
        raise DataError(f"{key!r} of {name} is not an array.")
    return found


def _csr(arrays: dict[str, Array], prefix: str, name: str) -> CSR:
    layout = str(np.asarray(arrays.get("format", "csr")).astype(str))
    if layout not in ("csr", "csc"):
        raise DataError(f"{name} contains a sparse matrix of layout {layout!r}; expected csr or csc.")
    kind = sparse.csr_array if layout == "csr" else sparse.csc_array
    indices, indptr, shape = (whole_numbers(arrays, prefix + part, name) for part in ("indices", "indptr", "shape"))
    values = arrays.get(prefix + "data", np.ones(len(indices), dtype=np.float32))
    try:
        if values.dtype.kind not in "biuf":
            raise ValueError(f"{prefix}data is {values.dtype}")
        if layout == "csc" and len(shape) and shape[0] > MAX_EMPTY_ROWS + 1000 * len(indices):
            raise ValueError(f"{shape[0]:,} rows for {len(indices):,} values")
        X = kind((values, indices, indptr), shape=tuple(shape.tolist()))
        X.check_format()
    except (ValueError, TypeError, ArithmeticError, LookupError) as error:
        raise DataError(f"The sparse matrix of {name} is inconsistent: {error}") from error
    if X.ndim != 2:
        raise DataError(f"The sparse matrix of {name} has {X.ndim} dimensions; expected 2.")
    return sparse.csr_array(X)


PATTERN = {"Y_indptr", "Y_indices", "Y_shape", "Y_data"}
SUSPECTS = ("y_", "label", "target")  # names of arrays that begin like this are probably labels


def read_labels(
    arrays: dict[str, Array], options: ReadOptions, n_docs: int, name: str
) -> tuple[list[list[str]] | None, set[str]]:
    """Labels per document, or None if there are none, and the arrays that they were read from."""
    if options.labels:
        key = options.labels[0]
        labels = _of_array(arrays, key, options, name) if key in arrays else _of_file(arrays, key, options, name)
        return _checked(labels, n_docs, name if key in arrays else key), {key, "label_names"}
    if "Y_indptr" in arrays:
        return _checked(_of_pattern(arrays, name), n_docs, name), {*PATTERN, "label_names"}
    found = first_of(arrays, LABELS)
    if found is None:
        suspects = [key for key in arrays if key.lower().startswith(SUSPECTS)]
        if suspects:
            raise DataError(
                f"{name} has no labels in a known layout, but {', '.join(map(repr, suspects))}; expected an array "
                f"'labels' or 'Y', or Y_indptr and Y_indices; name the array with labels=..."
            )
        return None, set()
    return _checked(_of_array(arrays, found, options, name), n_docs, name), {found, "label_names"}


def _of_file(arrays: dict[str, Array], key: str, options: ReadOptions, name: str) -> list[list[str]]:
    if not Path(key).is_file():
        raise DataError(f"{name} has no array {key!r}, and there is no such file{nearest(key, arrays)}")
    cells = [line.rstrip("\r\n") for _, line in InputFile(key).lines(options.encoding)]
    return split_cells(cells, options.label_separator, options.taxonomy)


def _of_array(arrays: dict[str, Array], key: str, options: ReadOptions, name: str) -> list[list[str]]:
    given = arrays[key]
    if given.ndim == 2 and given.dtype.kind in "US":
        return [[label for label in row if label] for row in given.astype(str).tolist()]
    if given.ndim == 2:
        if given.dtype.kind not in "biuf" or not np.isin(given, (0, 1)).all():
            raise DataError(f"{key} of {name} is a matrix of {given.dtype}; expected labels as 0 and 1, or strings.")
        names = _label_names(arrays, given.shape[1], name)
        return [names[np.flatnonzero(row)].tolist() for row in given]
    if given.ndim != 1:
        raise DataError(f"{key} of {name} has the shape {given.shape}; expected one or two dimensions.")
    if given.dtype.kind in "iu" and "label_names" in arrays:
        low, high = int(given.min(initial=0)), int(given.max(initial=-1))
        names = _label_names(arrays, high + 1, name)
        if low < 0:
            raise DataError(f"{key} of {name} contains {low}; expected numbers of label_names, which begin at 0.")
        return [[label] for label in names[given].tolist()]
    return split_cells(given.astype(str).tolist(), options.label_separator, options.taxonomy)


def _of_pattern(arrays: dict[str, Array], name: str) -> list[list[str]]:
    indptr = whole_numbers(arrays, "Y_indptr", name)
    indices = whole_numbers(arrays, "Y_indices", name).astype(np.int64)
    low, high = int(indices.min(initial=0)), int(indices.max(initial=-1))
    width = int(whole_numbers(arrays, "Y_shape", name)[-1:].sum()) if "Y_shape" in arrays else high + 1
    if low < 0 or high >= width:
        raise DataError(f"Y_indices of {name} go from {low} to {high} for {width} label names.")
    names = _label_names(arrays, width, name) if "label_names" in arrays else None
    bounds = indptr.tolist()
    if bounds[:1] != [0] or bounds[-1] != len(indices) or sorted(bounds) != bounds:
        raise DataError(f"Y_indptr of {name} does not rise from 0 to the {len(indices):,} entries of Y_indices.")
    values = arrays.get("Y_data", np.ones(len(indices), dtype=np.int8))
    if values.shape != indices.shape or not np.isin(values, (0, 1)).all():
        raise DataError(f"Y_data of {name} does not contain a 0 or a 1 for each of the {len(indices):,} entries.")
    if not values.all():  # stored zeros
        bounds = pointers(values != 0)[bounds].tolist()
        indices = indices[values != 0]
    flat = (indices.astype(str) if names is None else names[indices]).tolist()
    return [flat[a:b] for a, b in pairwise(bounds)]


def _label_names(arrays: dict[str, Array], n_labels: int, name: str) -> Array:
    names = np.atleast_1d(arrays.get("label_names", np.empty(0)))
    if names.ndim != 1 or len(names) < n_labels:
        raise DataError(f"{name} has {names.size:,} label_names for {n_labels:,} columns of labels.")
    return names.astype(str)


def _checked(labels: list[list[str]], n_docs: int, name: str) -> list[list[str]]:
    if len(labels) != n_docs:
        raise DataError(f"{name} has labels of {len(labels):,} documents; the matrix has {n_docs:,} rows.")
    return labels


def whole_numbers(arrays: dict[str, Array], key: str, name: str) -> IntArray:
    """A required one-dimensional array of integers."""
    if key not in arrays:
        raise DataError(f"{name} has no array {key!r}; it has {', '.join(arrays)}{nearest(key, arrays)}")
    found = arrays[key]
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise DataError(
            f"{key} of {name} is {found.dtype} of shape {found.shape}; expected a one-dimensional array of integers."
        )
    return found
