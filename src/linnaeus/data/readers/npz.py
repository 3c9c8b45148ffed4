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
    elif "X" in arrays and arrays["X"].ndim == 2:
        X = arrays["X"]
    else:
        raise DataError(
            f"{source.name} has the arrays {', '.join(arrays)}; expected X_data, X_indices, X_indptr, X_shape, "
            f"a matrix saved by scipy.sparse.save_npz, or a dense X."
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
        return np.load(stream, allow_pickle=False)
    except (ValueError, OSError, BadZipFile) as error:
        raise DataError(f"{name} is not a readable numpy archive: {error}") from error


def _array(archive: Any, key: str, name: str) -> Any:
    try:
        return archive[key]
    except ValueError as error:
        raise DataError(
            f"Array {key!r} of {name} holds Python objects; plain numbers or strings are expected."
        ) from error
    except Exception as error:  # zipfile and zlib raise errors of their own for damaged archives
        raise DataError(f"Array {key!r} of {name} is damaged: {error}") from error


def _csr(arrays: dict[str, Any], prefix: str, name: str) -> CSR:
    layout = str(np.asarray(arrays.get("format", "csr")).astype(str))
    if layout not in ("csr", "csc"):
        raise DataError(f"{name} holds a sparse matrix of layout {layout!r}; csr or csc is expected.")
    kind = sparse.csr_array if layout == "csr" else sparse.csc_array
    parts = [arrays.get(prefix + part) for part in ("data", "indices", "indptr")]
    if parts[0] is None:
        parts[0] = np.ones(len(arrays[prefix + "indices"]), dtype=np.float32)
    try:
        X = kind(tuple(parts), shape=tuple(arrays[prefix + "shape"].tolist()))
        X.check_format()
    except (KeyError, ValueError) as error:
        raise DataError(f"The sparse matrix of {name} is inconsistent: {error}") from error
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
    if given.ndim == 2 and "label_names" in arrays:  # a dense 0/1 indicator
        names = arrays["label_names"].astype(str)
        return _checked([names[np.flatnonzero(row)].tolist() for row in given], n_docs, name)
    return _checked(split_cells(given.astype(str).tolist(), options.label_separator, options.taxonomy), n_docs, name)


def _from_pattern(arrays: dict[str, Any], n_docs: int, name: str) -> list[list[str]]:
    indptr, indices = arrays["Y_indptr"], arrays["Y_indices"].astype(np.int64)
    n_labels = int(arrays["Y_shape"][1]) if "Y_shape" in arrays else int(indices.max(initial=-1)) + 1
    names = arrays["label_names"].astype(str) if "label_names" in arrays else np.arange(n_labels).astype(str)
    if len(indices) and not 0 <= indices.min() <= indices.max() < len(names):
        raise DataError(f"Y_indices of {name} go from {indices.min()} to {indices.max()} for {len(names)} label names.")
    flat = names[indices].tolist()
    bounds = indptr.tolist()
    return _checked([flat[a:b] for a, b in pairwise(bounds)], n_docs, name)


def _checked(labels: list[list[str]], n_docs: int, name: str) -> list[list[str]]:
    if len(labels) != n_docs:
        raise DataError(f"{name} has labels of {len(labels):,} documents; the matrix has {n_docs:,} rows.")
    return labels
