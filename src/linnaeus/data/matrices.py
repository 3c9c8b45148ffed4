"""Documents as matrices: any array, table or sparse matrix becomes CSR or a dense array, or an error explains why not.

The kernels and SciPy follow ``indptr`` and ``indices`` without bounds checks, so the structure of a sparse matrix is
validated before anything else uses it: O(n_rows + nnz), a few passes over memory. The result is

    sparse   csr_array, float32 values, int32 column numbers within the shape, ascending and without repetition
    dense    as given, without masks and as a plain array; scikit-learn converts it

Values are finite and at most `LARGEST` in magnitude, so that losses do not overflow.

`Rows` are validated documents in the layout of the kernels: features sorted by document frequency, plain arrays, the
constant feature apart. Frequent features come first, so that the rows of W that every document touches share pages and
stay in cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from linnaeus.engine import blocks
from linnaeus.errors import DataError
from linnaeus.taxonomy.closure import canonical
from linnaeus.typing import CSR, Array, FloatArray, IntArray, Matrix

if TYPE_CHECKING:
    from typing_extensions import TypeIs

__all__ = [
    "LARGEST",
    "Rows",
    "aligned_zeros",
    "as_csr",
    "as_matrix",
    "check_values",
    "is_number",
    "is_sound_csr",
    "is_sparse",
    "prepare_rows",
    "rows_bytes",
    "short_message",
    "with_constant",
]

# Squared losses sum fourth powers of values; models that compute in single precision with double data sum third ones.
LARGEST = {"float32": 1e8, "float64": 1e10}
_MAX_COLUMNS = 2**31 - 1  # kernels number features with 32 bits
_USE_TEXT = "for text use Pipeline(model, TextFeatures()) or AutoClassifier(features=TextFeatures())"
_USE_NUMBERS = "models take numbers: convert them first, for example to days since a fixed date"
_DATES = ("M", "m")  # kinds of datetime64 and timedelta64
_CONVERSION = (ValueError, TypeError, IndexError, AttributeError, OverflowError, NotImplementedError)


def is_sparse(X: object) -> TypeIs[CSR]:
    """Whether a matrix is in sparse rows.

    Examples
    --------
    >>> from scipy import sparse
    >>> is_sparse(sparse.csr_array([[0, 1]])), is_sparse(np.array([[0, 1]]))
    (True, False)
    """
    return hasattr(X, "indptr")


def as_matrix(X: Any) -> Any:
    """Documents as a validated `csr_array`, or as a dense object that `check_array` of scikit-learn accepts.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame
        Documents, n_docs x n_features.

    Returns
    -------
    csr_array, ndarray or DataFrame
        Sparse documents validated and converted; dense ones without their mask, not yet converted to floats.

    Examples
    --------
    >>> from scipy import sparse
    >>> as_matrix(sparse.coo_array(np.eye(2, dtype=np.int8))).dtype
    dtype('float32')
    >>> as_matrix(["a text"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    linnaeus.errors.DataError: X holds text ('a text'); models take numbers: for text use Pipeline(model, ...
    """
    from scipy import sparse

    if sparse.issparse(X):
        X = as_csr(X)
        _refuse_nothing(X.shape[0])
        return X
    if isinstance(X, (str, bytes, Mapping, set, frozenset, Iterator)):
        raise DataError(f"X is a {type(X).__name__}; expected a matrix, documents x features ({_USE_TEXT}).")
    if isinstance(X, np.ma.MaskedArray):
        if np.ma.is_masked(X):
            raise DataError(f"X is an array with {int(np.ma.count_masked(X)):,} masked values; fill them first.")
        X = X.data
    if isinstance(X, np.matrix):
        X = np.asarray(X)
    _refuse_text(X)
    if hasattr(X, "__len__") and getattr(X, "shape", (1,)) != ():
        _refuse_nothing(len(X))
    return X


def as_csr(X: Any, name: str = "X") -> CSR:
    """A sparse matrix of any format and dtype as a validated `csr_array` of float32; see the module docstring.

    Arrays that need no conversion are shared with the input.

    Examples
    --------
    >>> from scipy import sparse
    >>> broken = sparse.csr_array(np.eye(2))
    >>> broken.indptr[1] = 9
    >>> as_csr(broken)
    Traceback (most recent call last):
    linnaeus.errors.DataError: X is a damaged CSR matrix: indptr decreases after row 1.
    """
    if is_sound_csr(X):
        return X
    if len(X.shape) != 2:
        raise DataError(f"{name} has {len(X.shape)} dimension(s); expected 2 (for one document, reshape(1, -1)).")
    if X.shape[1] > _MAX_COLUMNS:
        raise DataError(f"{name} has {X.shape[1]:,} columns; at most {_MAX_COLUMNS:,} are supported.")
    try:
        X = _converted(X, name)
    except DataError:
        raise
    except _CONVERSION as error:
        raise DataError(f"{name} cannot be read as a sparse matrix: {short_message(error).rstrip('.')}.") from error
    check_values(X, name)
    return X


def is_sound_csr(X: object) -> bool:
    """Whether X has the form that `as_csr` returns; for a single document this takes microseconds."""
    from scipy import sparse

    if not isinstance(X, sparse.csr_array) or X.ndim != 2 or _structure_fault(X.indptr, X.indices, X.data, *X.shape):
        return False
    if X.data.dtype != np.float32 or X.indices.dtype != np.int32 or X.indptr.dtype not in (np.int32, np.int64):
        return False
    if X.data.ndim != 1 or len(X.data) != X.indptr[-1]:
        return False
    return _within_limits(X.data) and bool(X.has_canonical_format)


def check_values(X: Matrix, name: str = "X") -> None:
    """Raise an error for NaN, infinity and values that are too large; X is CSR or dense, of float32 or float64.

    Examples
    --------
    >>> check_values(np.array([[1.0, 1e300]]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    linnaeus.errors.DataError: X holds 1e+300 (document 0, feature 1), too large to compute with in float64: values ...
    """
    values = X.data if is_sparse(X) else X
    if _within_limits(values):
        return
    limit = LARGEST[values.dtype.name]
    at = int(np.flatnonzero(~(np.abs(values) <= limit).ravel())[0])
    if is_sparse(X):
        row, column = int(np.searchsorted(X.indptr, at, side="right")) - 1, int(X.indices[at])
    else:
        row, column = divmod(at, X.shape[1])
    value, where = values.ravel()[at], f"(document {row}, feature {column})"
    if np.isnan(value):
        raise DataError(f"{name} contains NaN {where}; fill missing values first, as DenseFeatures does.")
    if np.isinf(value):
        raise DataError(f"{name} contains infinity, or a value too large for {values.dtype} {where}.")
    raise DataError(
        f"{name} holds {value:g} {where}, too large to compute with in {values.dtype}: values may be up to "
        f"{limit:g} in magnitude; scale the features."
    )


def _within_limits(values: FloatArray) -> bool:
    """Whether all values are numbers within `LARGEST`; NaN compares as False."""
    limit = LARGEST[values.dtype.name]
    flat = values.reshape(-1) if values.flags.c_contiguous else np.zeros(0)
    with np.errstate(over="ignore", invalid="ignore"):
        if values.size and len(flat) and float(np.dot(flat, flat)) <= limit**2:
            return True  # the usual case, in one pass: no value is larger than the root of the sum of squares
    return not values.size or bool(values.min() >= -limit and values.max() <= limit)


def short_message(error: Exception, most: int = 200) -> str:
    """The first characters of an error message that may quote a whole document.

    Examples
    --------
    >>> short_message(ValueError("could not convert " + 1000 * "x"), most=20)
    'could not convert xx...'
    """
    text = str(error)
    return text if len(text) <= most else f"{text[:most]}..."


def _refuse_nothing(n_docs: int) -> None:
    if not n_docs:
        raise DataError("X has no documents; expected at least one row.")


# -- text instead of features ------------------------------------------------------------------------------------------


def _refuse_text(X: Any) -> None:
    """Raise an error for texts and dates; the message of a failed conversion would quote a whole document."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        for name in X.columns:
            column = X[name]
            if getattr(getattr(column, "dtype", None), "kind", "") in _DATES:
                raise DataError(f"Column {name!r} of X holds dates ({column.dtype}); {_USE_NUMBERS}.")
            first = _first(column) if len(getattr(column, "shape", ())) == 1 else None
            if isinstance(first, (str, bytes)) and not is_number(first):
                raise DataError(
                    f"Column {name!r} of X holds text ({_quoted(first)}); models take numbers: {_USE_TEXT}."
                )
        return
    if not hasattr(X, "__iter__") or getattr(X, "shape", (1,)) == ():
        return
    if getattr(getattr(X, "dtype", None), "kind", "") in _DATES:
        raise DataError(f"X holds dates ({X.dtype}); {_USE_NUMBERS}.")
    first = _first(X)
    if isinstance(first, (str, bytes)):
        raise DataError(f"X holds text ({_quoted(first)}); models take numbers: {_USE_TEXT}.")
    if isinstance(first, Mapping):
        raise DataError(f"X holds records ({_quoted(first)}); models take numbers: {_USE_TEXT}.")
    if isinstance(first, (list, tuple, np.ndarray)) and len(np.shape(first)) == 1:
        odd = next((v for v in first if isinstance(v, (str, bytes)) and not is_number(v)), None)
        if odd is not None:
            raise DataError(f"X holds text ({_quoted(odd)}); models take numbers: {_USE_TEXT}.")


def _first(values: Iterable[object]) -> object:
    """The first value that is not missing: not None, NaN or the NA of pandas."""
    for value in values:
        if value is not None and not (isinstance(value, float) and value != value) and type(value).__name__ != "NAType":
            return value
    return None


def is_number(text: str | bytes) -> bool:
    """Whether a text is the decimal form of a number.

    Examples
    --------
    >>> is_number(" 1e3 "), is_number("1,5")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def _quoted(value: object, most: int = 40) -> str:
    text = repr(value[:most] if isinstance(value, (str, bytes)) else value)
    return text if len(text) <= most + 10 else f"{text[:most]}..."


# -- sparse matrices ---------------------------------------------------------------------------------------------------


def _converted(X: Any, name: str) -> CSR:
    """X as a csr_array of float32; raises the errors of `_CONVERSION` if its parts are inconsistent."""
    from scipy import sparse

    if X.format in ("csr", "csc", "bsr"):
        indptr, indices, data = X.indptr, X.indices, X.data
        n_rows, n_columns = X.shape[::-1] if X.format == "csc" else X.shape
        if X.format == "bsr":
            block = data.shape[1:]
            if data.ndim != 3 or n_rows % block[0] or n_columns % block[1]:
                raise DataError(f"{name} is a damaged BSR matrix: blocks of {block} do not fit the shape {X.shape}.")
            n_rows, n_columns = n_rows // block[0], n_columns // block[1]
        fault = _structure_fault(indptr, indices, data, n_rows, n_columns)
        if fault is not None:
            raise DataError(f"{name} is a damaged {X.format.upper()} matrix: {fault}.")
        used = int(indptr[-1])
        parts = (_floats(data[:used], name), _index(indices[:used], n_columns), _index(indptr, used))
        kind = {"csr": sparse.csr_array, "csc": sparse.csc_array, "bsr": sparse.bsr_array}[X.format]
        made = kind(parts, shape=X.shape).tocsr()
    else:
        data, row, column = _coordinates(X, name)
        for place, size in ((row, X.shape[0]), (column, X.shape[1])):
            if place.shape != (len(data),) or place.dtype.kind not in "iu":
                raise DataError(
                    f"{name} is a damaged {X.format.upper()} matrix: {len(place)} places of {len(data)} values."
                )
            if len(place) and not (0 <= int(place.min()) and int(place.max()) < size):
                raise DataError(
                    f"{name} is a damaged {X.format.upper()} matrix: it refers to entries outside its shape {X.shape}."
                )
        made = sparse.coo_array(
            (_floats(data, name), (_index(row, X.shape[0]), _index(column, X.shape[1]))), shape=X.shape
        ).tocsr()
    if made.indices.dtype != np.int32:
        made = sparse.csr_array((made.data, made.indices.astype(np.int32), made.indptr), shape=made.shape)
    return canonical(made)


def _structure_fault(indptr: Array, indices: Array, data: Array, n_rows: int, n_columns: int) -> str | None:
    """What is wrong with the parts of a compressed sparse matrix, or None."""
    for part, array in (("indptr", indptr), ("indices", indices)):
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "iu":
            return f"{part} is not an array of integers"
    if not isinstance(data, np.ndarray) or data.ndim not in (1, 3):  # 3 for BSR
        return "data is not an array of values"
    if len(indptr) != n_rows + 1:
        return f"indptr has {len(indptr)} entries, expected {n_rows + 1}, the number of rows and one more"
    if indptr[0] != 0:
        return f"indptr begins with {indptr[0]}, expected 0"
    falls = indptr[1:] < indptr[:-1]
    if falls.any():
        return f"indptr decreases after row {int(falls.argmax())}"
    used = int(indptr[-1])
    if used > min(len(indices), len(data)):
        return f"indptr ends with {used}, but there are {len(indices)} indices and {len(data)} values"
    named = indices[:used]
    if used and named.dtype == np.int32 and named.flags.c_contiguous:
        outside = int(named.view(np.uint32).max()) >= n_columns  # negative numbers become large ones: one pass
    else:
        outside = bool(used) and (int(named.min()) < 0 or int(named.max()) >= n_columns)
    return f"it refers to columns outside its {n_columns} columns" if outside else None


def _coordinates(X: Any, name: str) -> tuple[Array, Array, Array]:
    """Values, rows and columns of a sparse matrix that is not compressed."""
    if X.format == "lil":
        lengths = [len(row) for row in X.rows]
        if lengths != [len(row) for row in X.data] or len(lengths) != X.shape[0]:
            raise DataError(f"{name} is a damaged LIL matrix: rows of columns and of values have different lengths.")
        columns = np.array(list(chain.from_iterable(X.rows)), dtype=np.int64)
        values = list(chain.from_iterable(X.data))
        return np.array(values, dtype=X.dtype), np.repeat(np.arange(len(lengths)), lengths), columns
    if X.format == "dia":
        if X.data.ndim != 2 or X.offsets.shape != (len(X.data),) or X.offsets.dtype.kind not in "iu":
            raise DataError(f"{name} is a damaged DIA matrix: {len(X.offsets)} offsets of {len(X.data)} diagonals.")
        column = np.broadcast_to(np.arange(X.data.shape[1]), X.data.shape)
        row = column - X.offsets[:, None].astype(np.int64)
        kept = (row >= 0) & (row < X.shape[0]) & (column < X.shape[1]) & (X.data != 0)
        return X.data[kept], row[kept], column[kept]
    if X.format == "dok":
        places = np.array(list(X.keys()), dtype=np.int64).reshape(-1, 2)
        return np.array(list(X.values()), dtype=X.dtype), places[:, 0], places[:, 1]
    return X.data, X.row, X.col


def _floats(values: Array, name: str) -> Array:
    """Values in single precision; those that are too large become infinite, which is an error later."""
    if values.dtype.kind == "c":
        raise DataError(f"Complex data not supported: {name} contains complex numbers.")
    if values.dtype.kind not in "biufO":
        raise DataError(f"{name} contains values of type {values.dtype}; expected numbers.")
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(np.float32, copy=False)


def _index(numbers: Array, largest: int) -> IntArray:
    """Row and column numbers with 32 bits if that is sufficient, as kernels expect them."""
    return numbers.astype(np.int32 if largest < 2**31 else np.int64, copy=False)


# -- documents laid out for the kernels --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """X (n_docs x n_features) for the kernels.

    ``rank[j]`` is the position of feature j in the order of the kernels; None for dense rows, which keep theirs.
    """

    indptr: IntArray
    indices: IntArray
    data: FloatArray
    dense: bool
    squared_norm: FloatArray
    bias: float
    n_features: int
    rank: IntArray | None

    @property
    def n_docs(self) -> int:
        return len(self.indptr) - 1

    @property
    def matrix(self) -> tuple[IntArray, IntArray, FloatArray, bool]:
        """The first arguments of every kernel."""
        return self.indptr, self.indices, self.data, self.dense

    def to_features(self, W: FloatArray) -> FloatArray:
        """Rows of W, without the constant feature, in the order of X's features."""
        return W[:-1] if self.rank is None else W[:-1][self.rank]


def prepare_rows(X: Matrix, bias: float, rank: IntArray | None = None) -> Rows:
    """Lay out checked X (CSR or C-ordered dense, float32 or float64); ``rank``: features in an order made before."""
    from scipy import sparse

    n_docs, n_features = X.shape
    if not is_sparse(X):
        data = np.ascontiguousarray(X).reshape(-1)
        indptr = np.arange(n_docs + 1, dtype=np.int64) * n_features
        squared = np.einsum("ij,ij->i", X, X, dtype=X.dtype) + X.dtype.type(bias**2)
        return Rows(indptr, np.zeros(1, np.int32), data, True, squared, bias, n_features, None)
    on_disk = getattr(X, "by_frequency", None)
    indptr = X.indptr.astype(np.int64, copy=False)
    if on_disk is not None and rank is None:  # laid out when the data was converted: used where it lies
        indices, data, rank = on_disk
    else:
        if rank is None:
            frequency = np.bincount(X.indices, minlength=n_features)
            rank = np.empty(n_features, dtype=np.int32)
            rank[np.argsort(-frequency, kind="stable")] = np.arange(n_features, dtype=np.int32)
        renamed = sparse.csr_array((X.data.copy(), rank[X.indices], X.indptr.copy()), shape=X.shape)
        renamed.sum_duplicates()
        indptr = renamed.indptr.astype(np.int64)
        indices, data = renamed.indices.astype(np.int32, copy=False), renamed.data
    if not len(data):  # kernels want a first element to point at
        indices, data = np.zeros(1, np.int32), np.zeros(1, X.dtype)
    return Rows(indptr, indices, data, False, _squared_norms(indptr, data, bias), bias, n_features, rank)


def rows_bytes(X: Matrix) -> tuple[int, int]:
    """Bytes that `prepare_rows` of checked X keeps beyond X itself, with norms and bounds, and while it prepares them.

    Examples
    --------
    >>> rows_bytes(np.zeros((1000, 50), np.float32))
    (20000, 20000)
    """
    n_docs, n_features = X.shape
    size = X.dtype.itemsize
    per_document = n_docs * (8 + 3 * size)  # row pointers, norms, bounds
    if not is_sparse(X):
        return per_document, per_document
    entries = X.nnz * (size + 4)
    return entries + per_document + 4 * n_features, 2 * entries + per_document + 20 * n_features


def _squared_norms(indptr: IntArray, data: FloatArray, bias: float) -> FloatArray:
    """|x_i|^2 + bias^2 of sparse rows; some rows at a time, since these may lie in a file."""
    squared = np.full(len(indptr) - 1, bias**2, data.dtype)
    for part in blocks(len(squared), 2**16):
        ends = indptr[part.start : part.stop + 1]
        some = np.flatnonzero(np.diff(ends)) + part.start  # an empty row has no place to sum from
        if len(some):
            values = data[ends[0] : ends[-1]]
            squared[some] += np.add.reduceat(values * values, indptr[some] - ends[0])
    return squared


def with_constant(X: Matrix, value: float, dtype: npt.DTypeLike | None = None) -> Matrix:
    """X, CSR or dense, of a dtype (None keeps its own), with a last feature that is ``value`` in every document.

    Where ``value`` is 0 no feature is added.

    Examples
    --------
    >>> with_constant(np.eye(2), 1.0).tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    """
    from scipy import sparse

    dtype = X.dtype if dtype is None else dtype
    column: FloatArray = np.full((X.shape[0], 1), value, dtype)
    if isinstance(X, np.ndarray):
        X = np.asarray(X, dtype)
        return np.hstack([X, column]) if value else X
    X = sparse.csr_array(X, dtype=dtype)
    return sparse.csr_array(sparse.hstack([X, column], format="csr")) if value else X


def aligned_zeros(shape: tuple[int, ...], dtype: npt.DTypeLike) -> FloatArray:
    """Zeros that begin on a cache line: a row of 16 floats is then one line, not two halves."""
    dtype = np.dtype(dtype)
    n_bytes = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(n_bytes + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + n_bytes].view(dtype).reshape(shape)
