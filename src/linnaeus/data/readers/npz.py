"""Matrices in numpy archives (.npz); nothing in them is executed, arrays of Python objects are refused.

Features are ``X_data, X_indices, X_indptr, X_shape``, the arrays of ``scipy.sparse.save_npz``, or a dense ``X``. Labels
are read by `linnaeus.data.readers.npz_labels`. Other arrays with one entry per document become ``extra``.
"""

from __future__ import annotations

import io
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from linnaeus import files
from linnaeus.data.dataset import Dataset
from linnaeus.data.readers.archive import is_zip
from linnaeus.data.readers.npz_labels import read_labels, whole_numbers
from linnaeus.data.readers.source import Options, Source
from linnaeus.errors import DataError
from linnaeus.typing import CSR

__all__ = ["read"]

MOST_EMPTY_ROWS = 10_000_000  # a csc matrix may claim any number of rows


def read(source: Source, options: Options) -> Dataset:
    """Read a numpy archive."""
    with source.open_seekable() as stream:
        _check_size(stream, source)
        with _opened(stream, source.name) as archive:
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


def _check_size(stream: BinaryIO, source: Source) -> None:
    """Refuse an archive whose arrays are far larger than the file."""
    limit = files.unpack_limit(stream.seek(0, io.SEEK_END), source.max_unpacked)
    stream.seek(0)
    found = files.zip_members(stream, source.name, DataError) if is_zip(stream.read(4)) else []
    if sum(info.file_size for info in found) > limit:
        raise DataError(files.too_large(source.name, limit))
    stream.seek(0)


def _opened(stream: Any, name: str) -> Any:
    try:
        opened = np.load(stream, allow_pickle=False)
    except (ValueError, *files.DAMAGE) as error:
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


def _csr(arrays: dict[str, Any], prefix: str, name: str) -> CSR:
    layout = str(np.asarray(arrays.get("format", "csr")).astype(str))
    if layout not in ("csr", "csc"):
        raise DataError(f"{name} holds a sparse matrix of layout {layout!r}; csr or csc is expected.")
    kind = sparse.csr_array if layout == "csr" else sparse.csc_array
    indices, indptr, shape = (whole_numbers(arrays, prefix + part, name) for part in ("indices", "indptr", "shape"))
    values = arrays.get(prefix + "data", np.ones(len(indices), dtype=np.float32))
    try:
        if values.dtype.kind not in "biuf":
            raise ValueError(f"{prefix}data is {values.dtype}")
        if layout == "csc" and len(shape) and shape[0] > MOST_EMPTY_ROWS + 1000 * len(indices):
            raise ValueError(f"{shape[0]:,} rows for {len(indices):,} values")
        X = kind((values, indices, indptr), shape=tuple(shape.tolist()))
        X.check_format()
    except (ValueError, TypeError, ArithmeticError, LookupError) as error:
        raise DataError(f"The sparse matrix of {name} is inconsistent: {error}") from error
    if X.ndim != 2:
        raise DataError(f"The sparse matrix of {name} has {X.ndim} dimensions; 2 are expected.")
    return sparse.csr_array(X)
