"""Validation of training input: X, y and taxonomy become a `Problem`, or an error explains what is wrong.

Labels of any of the four kinds become 0/1 rows over the nodes of the taxonomy. Without a taxonomy, a flat
one is built from the labels, or a tree from the paths.

The four kinds of labels, recognised in one place; predictions are returned in the same kind.

    labels      one label per document            ["AA", "BA"]
    sets        a list of labels per document     [["AA", "BB"], []]
    paths       2-d array, one path per row       [["A", "AA"], ["B", ""]]        (label: the last name of the path)
    indicator   0/1 matrix, dense or sparse, columns as ``taxonomy.names``

Labels are strings internally; integers, booleans and bytes are converted back to their original type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from linnaeus.data.matrices import as_csr, short_message
from linnaeus.errors import DataError, UnknownLabelError, warn_user
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import is_closed, pattern
from linnaeus.typing import CSR, Array, BoolArray, FloatArray, IntArray, Matrix, ObjectArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "GivenLabels",
    "LabelCodec",
    "Problem",
    "check_labels",
    "check_weights",
    "check_width",
    "is_indicator",
    "named_columns",
    "recognise",
    "warn_of_order",
    "with_index_of",
    "with_weight",
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
        warn_user(
            "X and y have the same index in a different order; their rows are matched by position. y.loc[X.index] "
            "puts y in the order of X."
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


_WEIGHTS = 1e-30, 1e8  # smallest and largest weight; products with values and losses stay within single precision


@dataclass(frozen=True)
class Problem:
    """Validated training data: X (n_docs x n_features), Y as given (n_docs x n_nodes), taxonomy, document weights."""

    X: Matrix
    Y: CSR
    taxonomy: Taxonomy
    weights: FloatArray | None = None
    codec: LabelCodec = field(default_factory=lambda: LabelCodec("sets"))

    @property
    def n_docs(self) -> int:
        return int(self.Y.shape[0])

    @cached_property
    def closed(self) -> CSR:
        """Y with all ancestors."""
        return self.taxonomy.close(self.Y)

    @cached_property
    def frontier(self) -> CSR:
        """The most specific labels of Y."""
        return self.taxonomy.frontier(self.Y)

    @cached_property
    def is_closed(self) -> bool:
        """Whether every label set contains all its ancestors; False if the taxonomy has no edges."""
        return self.taxonomy.n_edges > 0 and is_closed(self.taxonomy, self.Y)


def check_labels(y: object, taxonomy: Taxonomy | None, n_docs: int | None = None) -> tuple[CSR, Taxonomy, LabelCodec]:
    """y of any kind as Y (n_docs x n_nodes); without a taxonomy one is built, flat or from the paths."""
    given = recognise(y, None if taxonomy is None else taxonomy.n_nodes)
    if given.paths is not None:
        _refuse_counts(y, given, taxonomy)
        if taxonomy is not None and given.codec.dtype not in ("str", "object") and "1" not in taxonomy:
            check_width(given.codec.width, taxonomy)  # numbers that are not names: an indicator of another width
        _check_paths(given.paths, taxonomy)
    taxonomy = taxonomy or _taxonomy_of(given)
    if given.codec.kind == "labels" and not all(given.rows or []):
        missing = next(i for i, row in enumerate(given.rows or []) if not row)
        raise DataError(f"Document {missing} has no label; leave it out, or use lists of labels, which may be empty.")
    Y = _over(given, taxonomy)
    if n_docs is not None and Y.shape[0] != n_docs:
        raise DataError(
            f"y has labels of {Y.shape[0]} documents, but X has {n_docs} rows: inconsistent numbers of samples."
        )
    return Y, taxonomy, given.codec


def _refuse_counts(y: object, given: GivenLabels, taxonomy: Taxonomy | None) -> None:
    """Raise an error for an indicator whose entries are not 0 and 1: numbers in columns that stand for nodes."""
    if taxonomy is None or given.codec.dtype in ("str", "object"):
        return
    columns = named_columns(y)
    named = columns is not None and all(name in taxonomy for name in columns)
    if named or (given.codec.width == taxonomy.n_nodes and "0" not in taxonomy):
        values = np.asarray(y)
        odd = values[~np.isin(values, (0, 1))][0]
        raise DataError(f"An indicator of labels has the entries 0 and 1; got {odd!s}.")


def _over(given: GivenLabels, taxonomy: Taxonomy) -> CSR:
    """Labels as 0/1 rows over the nodes of a taxonomy."""
    if given.indicator is not None:
        return given.over(taxonomy)
    try:
        return taxonomy.indicator(given.rows or [])
    except UnknownLabelError as error:
        if given.codec.kind == "labels" and given.codec.dtype.startswith(("int", "uint")):
            error.args = (
                f"{error.args[0]} The labels are integers: scikit-learn's voting, stacking and bagging replace labels "
                "by numbers before they fit, and so does cross_val_predict with any method except 'predict'; they work "
                "with linnaeus models only without a taxonomy. linnaeus.tuning.held_out_scores("
                "model, X, y) computes scores by cross-validation.",
            )
        raise


def _taxonomy_of(given: GivenLabels) -> Taxonomy:
    if given.indicator is not None:
        return Taxonomy.flat(given.columns or range(given.indicator.shape[1]))
    if given.paths is not None:
        return Taxonomy.from_paths(given.paths)
    names = sorted({label for row in given.rows or [] for label in row})
    if not names:
        raise DataError("y has no label at all: the label set of every document is empty.")
    values = given.codec.values(names)
    order = np.argsort(values, kind="stable") if values.dtype.kind in "iufb" else range(len(names))
    return Taxonomy.flat(names[i] for i in order)


def _check_paths(paths: list[list[str]], taxonomy: Taxonomy | None) -> None:
    """Raise an error if a path is empty or a step does not go down the taxonomy (levels may be skipped)."""
    empty = next((document for document, path in enumerate(paths) if not path), None)
    if empty is not None:
        raise DataError(f"The path of document {empty} is empty; expected at least one name.")
    if taxonomy is None:
        return
    seen: set[tuple[str, str]] = set()
    for document, path in enumerate(paths):
        for step in pairwise(path):
            if step not in seen and not _is_above(taxonomy, *map(taxonomy.index, step)):
                above, below = step
                raise DataError(f"Path {path} (document {document}): {above!r} is not above {below!r} in the taxonomy.")
            seen.add(step)


def _is_above(taxonomy: Taxonomy, above: int, below: int) -> bool:
    return above == taxonomy.root or above in taxonomy.ancestors(below)


def with_weight(X: Matrix, Y: CSR, weights: FloatArray | None) -> tuple[Matrix, CSR, FloatArray | None]:
    """Only the documents with a positive weight.

    Examples
    --------
    >>> X, Y, weights = with_weight(np.eye(3), np.eye(3), np.array([1.0, 0.0, 2.0]))
    >>> X.shape, weights.tolist()
    ((2, 3), [1.0, 2.0])
    """
    if weights is None or weights.all():
        return X, Y, weights
    return X[weights > 0], Y[weights > 0], weights[weights > 0]


def check_weights(sample_weight: object, n_docs: int) -> FloatArray | None:
    """Weights of the documents: None, one number, or one per document; finite and not negative."""
    if sample_weight is None:
        return None
    try:
        given = np.asarray(sample_weight)
        if given.dtype.kind not in "biufO":
            raise TypeError(f"values of type {given.dtype}")
        with np.errstate(over="ignore"):
            weights = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"sample_weight must be numbers, one per document; got {short_message(error)}.") from None
    weights = np.full(n_docs, float(weights)) if weights.ndim == 0 else weights
    if weights.shape != (n_docs,):
        raise DataError(f"sample_weight.shape == {weights.shape}, expected ({n_docs},)!")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError("sample_weight must be finite and not negative.")
    odd = weights[(weights > _WEIGHTS[1]) | ((weights > 0) & (weights < _WEIGHTS[0]))]
    if len(odd):
        raise DataError(
            f"sample_weight contains {odd[0]:g}; expected 0, or a weight between {_WEIGHTS[0]:g} and {_WEIGHTS[1]:g}."
        )
    if len(weights) and not weights.any():
        raise DataError("All sample weights are zero; expected at least one positive weight.")
    return weights
