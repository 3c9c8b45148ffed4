"""Matrices in numpy archives (.npz); nothing in them is executed, arrays of Python objects are refused.

Two layouts are known: ``X_data, X_indices, X_indptr, X_shape`` with ``Y_indices, Y_indptr`` and ``label_names``
(features and labels in one file), and the one of ``scipy.sparse.save_npz`` or a dense array ``X``, with the labels in
an array ``labels`` or in a text file that ``labels=`` names, one line per document. Other arrays with one entry per
document become ``extra``.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from scipy import sparse

from linnaeus.data.dataset import Dataset
from linnaeus.data.readers.labels import split_cells
from linnaeus.data.readers.source import Options, Source
from linnaeus.errors import DataError, nearest
from linnaeus.typing import CSR

__all__ = ["read"]


def read(source: Source, options: Options) -> Dataset:
    """Read a numpy archive."""
    with source.open() as stream, _opened(stream, source.name) as archive:
        arrays = {name: _array(archive, name, source.name) for name in archive.files}
    prefix = "X_" if "X_indptr" in arrays else ""
    if f"{prefix}indptr" in arrays:
        X: Any = _csr(arrays, prefix, source.name)
    elif "X" in arrays and arrays["X"].ndim == 2 and arrays["X"].dtype.kind in "biuf":
        X = arrays["X"]
    else:
        raise DataError(
            f"{source.name} has the arrays {', '.join(arrays)}; expected X_data, X_indices, X_indptr, X_shape, "
            f"a matrix saved by scipy.sparse.save_npz, or a dense X of numbers."
        )
    labels = _labels(arrays, options, X.shape[0], source.name)
    used = {"X", "labels", "y", "label_names", "data", "indices", "indptr", "shape", "format", "ids", "feature_names"}
    extra = {
        name: a
        for name, a in arrays.items()
        if name not in used and not name.startswith(("X_", "Y_")) and a.shape[:1] == (X.shape[0],)
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


def _opened(stream: Any, name: str) -> Any:
    try:
        opened = np.load(stream, allow_pickle=False)
    except (ValueError, OSError, EOFError, BadZipFile) as error:
        raise DataError(f"{name} is not a readable numpy archive: {error}") from error
    if isinstance(opened, np.ndarray):
        raise DataError(f"{name} is a single array (.npy); an archive of named arrays (.npz) is expected.")
    return opened


def _array(archive: Any, key: str, name: str) -> Any:
    try:
        found = archive[key]
    except ValueError as error:
        raise DataError(
            f"Array {key!r} of {name} holds Python objects; plain numbers or strings are expected."
        ) from error
    except Exception as error:  # zipfile and zlib raise errors of their own for damaged archives
        raise DataError(f"Array {key!r} of {name} is damaged: {error}") from error
    if not isinstance(found, np.ndarray):
        raise DataError(f"{key!r} of {name} is not an array.")
    return found


def _whole_numbers(arrays: dict[str, Any], key: str, name: str) -> Any:
    """A list of whole numbers that the layout cannot do without."""
    if key not in arrays:
        raise DataError(f"{name} has no array {key!r}; it has {', '.join(arrays)}{nearest(key, arrays)}")
    found = arrays[key]
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise DataError(
            f"{key} of {name} is {found.dtype} of shape {found.shape}; a list of whole numbers is expected."
        )
    return found


def _csr(arrays: dict[str, Any], prefix: str, name: str) -> CSR:
    layout = str(np.asarray(arrays.get("format", "csr")).astype(str))
    if layout not in ("csr", "csc"):
        raise DataError(f"{name} holds a sparse matrix of layout {layout!r}; csr or csc is expected.")
    kind = sparse.csr_array if layout == "csr" else sparse.csc_array
    indices, indptr, shape = (_whole_numbers(arrays, prefix + part, name) for part in ("indices", "indptr", "shape"))
    values = arrays.get(prefix + "data", np.ones(len(indices), dtype=np.float32))
    try:
        if values.dtype.kind not in "biuf":
            raise ValueError(f"{prefix}data is {values.dtype}")
        X = kind((values, indices, indptr), shape=tuple(shape.tolist()))
        X.check_format()
    except (ValueError, TypeError, ArithmeticError, LookupError) as error:
        raise DataError(f"The sparse matrix of {name} is inconsistent: {error}") from error
    if X.ndim != 2:
        raise DataError(f"The sparse matrix of {name} has {X.ndim} dimensions; 2 are expected.")
    return sparse.csr_array(X)


def _labels(arrays: dict[str, Any], options: Options, n_docs: int, name: str) -> list[list[str]] | None:
    if options.labels and options.labels[0] not in arrays:
        path = Path(options.labels[0])
        if not path.is_file():
            raise DataError(
                f"{name} has no array {options.labels[0]!r}, and no such file{nearest(options.labels[0], arrays)}"
            )
        cells = [line.rstrip("\r\n") for _, line in Source(path).lines(options.encoding)]
        return _checked(split_cells(cells, options.label_separator, options.taxonomy), n_docs, str(path))
    if "Y_indptr" in arrays and not options.labels:
        return _from_pattern(arrays, n_docs, name)
    given = arrays.get(options.labels[0] if options.labels else "labels", arrays.get("y"))
    if given is None:
        return None
    if given.ndim == 2:  # a dense 0/1 indicator
        names = _label_names(arrays, given.shape[1], name)
        return _checked([names[np.flatnonzero(row)].tolist() for row in given], n_docs, name)
    if given.ndim != 1:
        raise DataError(f"The labels of {name} have the shape {given.shape}; one or two dimensions are expected.")
    return _checked(split_cells(given.astype(str).tolist(), options.label_separator, options.taxonomy), n_docs, name)


def _from_pattern(arrays: dict[str, Any], n_docs: int, name: str) -> list[list[str]]:
    indptr = _whole_numbers(arrays, "Y_indptr", name)
    indices = _whole_numbers(arrays, "Y_indices", name).astype(np.int64)
    low, high = int(indices.min(initial=0)), int(indices.max(initial=-1))
    shape = _whole_numbers(arrays, "Y_shape", name).tolist() if "Y_shape" in arrays else [n_docs, high + 1]
    names = _label_names(arrays, shape[-1], name) if "label_names" in arrays else np.arange(shape[-1]).astype(str)
    if low < 0 or high >= len(names):
        raise DataError(f"Y_indices of {name} go from {low} to {high} for {len(names)} label names.")
    bounds = indptr.tolist()
    if bounds[:1] != [0] or bounds[-1] != len(indices) or sorted(bounds) != bounds:
        raise DataError(f"Y_indptr of {name} does not rise from 0 to the {len(indices):,} entries of Y_indices.")
    flat = names[indices].tolist()
    return _checked([flat[a:b] for a, b in pairwise(bounds)], n_docs, name)


def _label_names(arrays: dict[str, Any], n_labels: int, name: str) -> Any:
    names = np.atleast_1d(arrays.get("label_names", np.empty(0)))
    if names.ndim != 1 or len(names) < n_labels:
        raise DataError(f"{name} has {names.size:,} label_names for {n_labels:,} columns of labels.")
    return names.astype(str)


def _checked(labels: list[list[str]], n_docs: int, name: str) -> list[list[str]]:
    if len(labels) != n_docs:
        raise DataError(f"{name} has labels of {len(labels):,} documents; the matrix has {n_docs:,} rows.")
    return labels
