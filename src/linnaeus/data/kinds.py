"""The four kinds of labels, recognised in one place; predictions are returned in the same kind.

    labels      one label per document            ["AA", "BA"]
    sets        a list of labels per document     [["AA", "BB"], []]
    paths       2-d array, one path per row       [["A", "AA"], ["B", ""]]        (label: the last name of the path)
    indicator   0/1 matrix, dense or sparse, columns as ``taxonomy.names``

Labels are strings internally; integers, booleans and bytes are converted back to their original type.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from linnaeus.data.matrices import as_csr
from linnaeus.errors import DataError
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import pattern
from linnaeus.typing import CSR, Array, BoolArray, IntArray, Matrix, ObjectArray

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

__all__ = [
    "GivenLabels",
    "LabelCodec",
    "check_width",
    "is_indicator",
    "named_columns",
    "recognise",
    "warn_of_order",
    "with_index_of",
]


Predictions: TypeAlias = "Matrix | list[list[object]] | pd.DataFrame"
T = TypeVar("T")


@runtime_checkable
class Index(Protocol):
    """What is used of the index of a pandas object."""

    is_unique: bool

    def equals(self, other: Index) -> bool: ...
    def isin(self, values: Index) -> BoolArray: ...
    def __len__(self) -> int: ...


@runtime_checkable
class Indexed(Protocol):
    """What is used of a Series or a data frame of pandas."""

    index: Index
    iloc: object


@runtime_checkable
class PandasFrame(Protocol):
    """What is used of a data frame, of pandas or another library."""

    columns: Iterable[object]

    def to_numpy(self) -> Array: ...


def with_index_of(X: object, predictions: T) -> T:
    """Give predictions that are a data frame the index of the documents if these have one."""
    if isinstance(predictions, Indexed) and isinstance(X, Indexed):
        predictions.index = X.index
    return predictions


def warn_of_order(X: object, y: object) -> None:
    """Warn if documents and labels have the same pandas index in a different order: rows are matched by position."""
    first, second = getattr(X, "index", None), getattr(y, "index", None)
    if not isinstance(first, Index) or not isinstance(second, Index) or first.equals(second):
        return
    if len(first) == len(second) and first.is_unique and bool(first.isin(second).all()):
        warnings.warn(
            "X and y have the same index in a different order; their rows are matched by position. y.loc[X.index] "
            "puts y in the order of X.",
            stacklevel=3,
        )


def _one_column(values: Array, columns: list[str]) -> pd.DataFrame:
    """Labels as a data frame of one column."""
    import pandas as pd

    return pd.DataFrame({columns[0]: values})


@dataclass(frozen=True)
class LabelCodec:
    """How labels were given, so that predictions can be returned in the same form.

    ``kind`` is one of labels, sets, paths, indicator; ``dtype`` the type of the label values ("int64", "str", ...) or
    of the entries of the indicator; ``width`` the number of columns of paths or indicator; ``sparse`` whether the
    indicator was sparse. ``columns`` are the column names of an indicator or of labels that were a data frame:
    predictions are then data frames with the same columns, and labels without a column in an indicator are left out.
    """

    kind: str
    dtype: str = "str"
    width: int = 0
    sparse: bool = False
    columns: list[str] | None = None

    @property
    def single_label(self) -> bool:
        """Whether every document has one label."""
        return self.kind in ("labels", "paths")

    def values(self, names: Sequence[str] | ObjectArray) -> Array:
        """Names of nodes as an array of label values of the original type."""
        if self.kind == "indicator" or self.dtype == "str":
            return np.array(names, dtype=object if len(names) == 0 else str)
        if self.dtype == "bytes":
            return np.array([str(name).encode() for name in names])
        if self.dtype == "bool":
            return np.array([name == "True" for name in names], dtype=bool)
        if self.dtype == "object":
            return np.array(names, dtype=object)
        return np.array([int(name) for name in names], dtype=self.dtype)

    def decode(self, Y: CSR, taxonomy: Taxonomy, *, single: bool = False) -> Predictions:
        """Label sets (n_docs x n_nodes) in the kind of y; labels and paths only if every set is ``single``."""
        if self.kind == "indicator":
            Y = Y.astype(np.dtype(self.dtype))
            return self._frame(Y, taxonomy) if self.columns is not None else Y if self.sparse else Y.toarray()
        if self.single_label and single:
            if self.kind == "paths":
                return self._paths(Y.indices, taxonomy)
            values = self.values(taxonomy.names[Y.indices])
            return values if self.columns is None else _one_column(values, self.columns)
        flat = self.values(taxonomy.names[Y.indices]).tolist()
        return [flat[a:b] for a, b in zip(Y.indptr[:-1], Y.indptr[1:], strict=True)]

    def _frame(self, Y: CSR, taxonomy: Taxonomy) -> pd.DataFrame:
        """Label sets as a data frame with the columns of y."""
        import pandas as pd

        names = self.columns or []
        return pd.DataFrame(Y[:, [taxonomy.index(name) for name in names]].toarray(), columns=names)

    def _paths(self, nodes: IntArray, taxonomy: Taxonomy) -> Array:
        """Paths to the nodes as rows of at least the given width, padded with empty strings."""
        unique, position = np.unique(nodes, return_inverse=True)
        found = [self.values(taxonomy.names[taxonomy.path(int(node))]) for node in unique]
        width = max([self.width, *map(len, found)])
        paths = np.full((len(found), width), "", dtype=object)
        for row, path in enumerate(found):
            paths[row, : len(path)] = path
        if self.dtype in ("str", "bytes"):
            return paths[position].astype(str if self.dtype == "str" else bytes)
        whole = all(len(path) == width for path in found)
        return paths[position].astype(self.dtype) if whole else paths[position]

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class GivenLabels:
    """Labels as they were given: names per document, or an indicator; for paths also the whole paths."""

    codec: LabelCodec
    rows: list[list[str]] | None = None
    indicator: CSR | None = None
    paths: list[list[str]] | None = None
    columns: list[str] | None = None  # column names of an indicator that was a data frame

    def over(self, taxonomy: Taxonomy) -> CSR:
        """The indicator over the nodes of a taxonomy; named columns are put in the order of the nodes."""
        Y = self.indicator
        assert Y is not None
        if self.columns is None:
            check_width(Y.shape[1], taxonomy)
            return Y
        nodes = np.array([taxonomy.index(name) for name in self.columns], dtype=np.int32)
        Y = pattern(Y.indptr, nodes[Y.indices], taxonomy.n_nodes)
        Y.sort_indices()
        return Y


def check_width(width: int, taxonomy: Taxonomy) -> None:
    """Raise an error if an indicator does not have one column per node."""
    if width != taxonomy.n_nodes:
        nodes = f"the taxonomy has {taxonomy.n_nodes} nodes, the columns of an indicator (see taxonomy.indicator)"
        raise DataError(f"The indicator has {width} columns; {nodes}.")


def named_columns(y: object) -> list[str] | None:
    """Column names of a data frame; None if the columns are only numbered."""
    if not isinstance(y, PandasFrame):
        return None
    names = [str(name) for name in y.columns]
    return None if names == [str(i) for i in range(len(names))] else names


def recognise(y: Any, n_nodes: int | None = None) -> GivenLabels:
    """Recognise the kind of y; ``n_nodes``, if known, distinguishes paths of integers from an indicator.

    Examples
    --------
    >>> recognise(["AA", "B"]).rows, recognise([["AA", "B"], []]).rows
    ([['AA'], ['B']], [['AA', 'B'], []])
    >>> recognise(np.array([["A", "AA"], ["B", ""]])).codec.kind
    'paths'
    """
    from scipy import sparse

    if y is None:
        raise DataError("requires y to be passed, but the target y is None")
    if isinstance(y, (str, bytes)):
        raise DataError(f"y must be a list with one entry per document; got the string {y[:40]!r}.")
    if not hasattr(y, "__iter__") and hasattr(y, "__array__"):
        y = np.asarray(y)
    if isinstance(y, (Mapping, set, frozenset)) or not (hasattr(y, "__iter__") or sparse.issparse(y)):
        raise DataError(f"y must be a list with one entry per document; got {type(y).__name__}.")
    if sparse.issparse(y):
        return _indicator(y)
    columns = named_columns(y)
    y = _plain(y)
    if columns is not None and y.ndim == 2 and _is_indicator(y, None):
        given = _indicator(y)
        return replace(given, columns=columns, codec=replace(given.codec, columns=columns))
    if isinstance(y, list) or (y.ndim == 1 and _ragged(y)):
        return _sets(y)
    if y.ndim == 2:
        if y.shape[1] == 1 and columns is not None:
            given = _labels(y[:, 0])
            return replace(given, codec=replace(given.codec, columns=columns))
        if y.shape[1] == 1 and not _is_indicator(y, n_nodes):
            return _labels(_column(y))
        return _indicator(y) if _is_indicator(y, n_nodes) else _paths(y)
    if y.ndim != 1:
        raise DataError(f"y has {y.ndim} dimensions; expected labels, lists of labels, paths or a 0/1 indicator.")
    return _labels(y)


def is_indicator(y: Any, n_nodes: int | None = None) -> bool:
    """Whether labels are a 0/1 matrix: dense, sparse or nested lists.

    Examples
    --------
    >>> is_indicator([[0, 1, 0], [1, 0, 0]]), is_indicator([["a"], ["b"]])
    (True, False)
    """
    from scipy import sparse

    if sparse.issparse(y):
        return True
    y = _plain(y)
    return isinstance(y, np.ndarray) and y.ndim == 2 and _is_indicator(y, n_nodes)


# -- recognition -------------------------------------------------------------------------------------------------------


def _plain(y: Any) -> Array | list[Any]:
    """Frames and sequences as arrays if they are rectangular, otherwise as lists of lists."""
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    if np.ma.is_masked(y):
        raise DataError("y is an array with masked values; remove these documents first.")
    if isinstance(y, np.ndarray) or hasattr(y, "__array__"):
        return np.asarray(y)
    y = list(y)
    if any(isinstance(row, (list, tuple, set, frozenset)) for row in y):
        # Lists of labels stay lists, even if all have the same length. Only rows of zeros and ones with repeated
        # entries, which a set does not have, are an indicator written as nested lists.
        return np.asarray(y) if _looks_like_indicator(y) else y
    try:
        return np.asarray(y)
    except ValueError:
        return y


def _looks_like_indicator(rows: Sequence[object]) -> bool:
    first = rows[0]
    if not isinstance(first, (list, tuple)) or not all(type(v) in (int, bool) and v in (0, 1) for v in first):
        return False
    listed = [row for row in rows if isinstance(row, (list, tuple)) and len(row) == len(first)]
    if len(listed) < len(rows):
        return False
    repeats = any(len(set(row)) < len(row) for row in listed)
    return repeats and all(type(v) in (int, bool) and v in (0, 1) for row in listed for v in row)


def _ragged(y: Array) -> bool:
    return y.dtype == object and any(isinstance(row, (list, tuple, set, frozenset, np.ndarray)) for row in y)


def _column(y: Array) -> Array:
    """The labels of a single column, with the warning of scikit-learn."""
    from sklearn.utils import column_or_1d

    labels: Array = column_or_1d(y, warn=True)
    return labels


def _is_indicator(y: Array, n_nodes: int | None) -> bool:
    if y.dtype.kind not in "biuf" or (n_nodes is not None and y.shape[1] != n_nodes):
        return False
    return bool(np.isin(y, (0, 1)).all())


# -- conversion --------------------------------------------------------------------------------------------------------


def _indicator(y: Matrix) -> GivenLabels:
    from scipy import sparse

    is_sparse = bool(sparse.issparse(y))
    Y = as_csr(y, "y").copy() if is_sparse else sparse.csr_array(y)
    if Y.nnz and not np.isin(Y.data, (0, 1)).all():
        odd = Y.data[~np.isin(Y.data, (0, 1))][0]
        raise DataError(f"An indicator of labels has the entries 0 and 1; got {odd!s}.")
    Y.eliminate_zeros()
    plain = y.dtype.isnative and y.dtype.kind in "biuf" and y.dtype != np.float16  # dtypes that SciPy supports
    codec = LabelCodec("indicator", str(y.dtype) if plain else "int8", y.shape[1], is_sparse)
    return GivenLabels(codec, indicator=pattern(Y.indptr, Y.indices.astype(np.int32, copy=False), y.shape[1]))


def _labels(y: Array) -> GivenLabels:
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            raise DataError("Unknown label type: y contains NaN or infinity; expected names or integers.")
        if (y != np.floor(y)).any():
            raise DataError("Unknown label type: y is continuous; expected names or integers.")
    codec = LabelCodec("labels", _dtype_of(y))
    values = [int(value) for value in y.tolist()] if y.dtype.kind == "f" else y.tolist()
    return GivenLabels(codec, [[] if _blank(value) else [_name(value)] for value in values])


def _sets(y: list[Any] | Array) -> GivenLabels:
    if isinstance(y, list) and all(type(row) is list and all(type(v) is str and v for v in row) for row in y):
        return GivenLabels(LabelCodec("sets"), y)  # the usual case, not copied: there may be millions
    rows = [_labels_of(row, i) for i, row in enumerate(y)]
    sample = next((label for row in rows for label in row), "")
    uniform = isinstance(sample, str) or not all(type(label) is type(sample) for row in rows for label in row)
    dtype = "str" if uniform else _dtype_of(np.asarray([sample]))
    return GivenLabels(LabelCodec("sets", dtype), [[_name(v) for v in row if not _blank(v)] for row in rows])


def _labels_of(row: object, document: int) -> list[object]:
    """The labels of one document: a single one, or those of a list, set or array."""
    if isinstance(row, Mapping):
        raise DataError(f"The labels of document {document} are a {type(row).__name__}; expected a list of labels.")
    return list(row) if isinstance(row, Iterable) and not isinstance(row, (str, bytes)) else [row]


def _paths(y: Array) -> GivenLabels:
    if y.dtype.kind == "f" and (odd := y[np.isinf(y) | (y != np.floor(y)) & ~np.isnan(y)]).size:
        odd = odd[0]
        raise DataError(f"Labels contain the number {odd!s}; expected names, integers or an indicator of 0 and 1.")
    paths = [[_name(step) for step in row if not _blank(step)] for row in y.tolist()]
    dtype = _dtype_of(y if y.dtype != object else np.asarray([step for row in y for step in row if not _blank(step)]))
    codec = LabelCodec("paths", "str" if dtype == "object" else dtype, y.shape[1])
    return GivenLabels(codec, [path[-1:] for path in paths], paths=paths)


def _blank(label: object) -> bool:
    """Whether a label is missing: an empty string, None, NaN, or the NA of pandas, which does not compare equal."""
    if type(label) is str:
        return not label
    if label is None:
        return True
    try:
        return bool(label == "") or bool(label != label)
    except TypeError:
        return True
    except ValueError:  # an array
        return False


def _name(label: object) -> str:
    if type(label) is str:
        return label
    if isinstance(label, bytes):
        try:
            return label.decode()
        except UnicodeDecodeError:
            raise DataError(f"The label {label[:40]!r} is not UTF-8; decode it first.") from None
    if isinstance(label, (list, tuple, set, frozenset, dict, np.ndarray)):
        raise DataError(f"A label is a {type(label).__name__}, {str(label)[:40]}; expected a name or an integer.")
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def _dtype_of(values: Array) -> str:
    """Type of label values: str, bytes, bool, an integer or floating type, otherwise object."""
    if values.dtype.kind == "O":
        again = np.asarray(values.tolist()) if len(values) else values
        return str(again.dtype) if again.dtype.kind in "iub" and again.ndim == 1 else "object"
    kind = values.dtype.kind
    return {"U": "str", "S": "bytes"}.get(kind, str(values.dtype.newbyteorder("=")) if kind in "iufb" else "object")
