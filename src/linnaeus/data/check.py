"""The one border where training input is doubted: X, y and taxonomy become a `Problem`, or an error says what is wrong.

y comes in four kinds, and answers go back in the same kind:

    labels      one label per document            ["AA", "BA"]
    sets        a list of labels per document     [["AA", "BB"], []]
    paths       2-d array, one path per row       [["A", "AA"], ["B", ""]]        (label: the last name of the path)
    indicator   0/1 matrix, dense or sparse, columns as ``taxonomy.names``
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from linnaeus.errors import DataError
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import is_closed, pattern
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix

__all__ = ["LabelCodec", "Problem", "check_labels", "check_weights"]


@dataclass(frozen=True)
class LabelCodec:
    """How labels were given, so that answers come back alike.

    ``kind`` is one of labels, sets, paths, indicator; ``dtype`` the type of the label values ("int64", "str", ...) or
    of the indicator's entries; ``width`` the number of columns of paths or indicator; ``sparse`` whether it was.
    """

    kind: str
    dtype: str = "str"
    width: int = 0
    sparse: bool = False

    @property
    def single_label(self) -> bool:
        """Whether every document has exactly one label."""
        return self.kind in ("labels", "paths")

    def values(self, names: Any) -> Any:
        """Names of nodes as label values of the original type."""
        if self.kind == "indicator" or self.dtype == "str":
            return np.array(names, dtype=object if len(names) == 0 else str)
        if self.dtype == "object":
            return np.array(names, dtype=object)
        kind = np.dtype(self.dtype)
        if kind.kind == "b":
            return np.array([name == "True" for name in names])
        return np.array([str(name) for name in names]).astype(float if kind.kind in "iu" else kind).astype(kind)

    def decode(self, Y: CSR, taxonomy: Taxonomy) -> Any:
        """Label sets (n_docs x n_nodes) in the kind of y; sets with other than one label cannot be labels or paths."""
        if self.kind == "indicator":
            Y = Y.astype(np.dtype(self.dtype))
            return Y if self.sparse else Y.toarray()
        single = np.diff(Y.indptr) == 1
        if self.kind == "sets" or not single.all():
            flat = self.values(taxonomy.names[Y.indices]).tolist()
            return [flat[a:b] for a, b in zip(Y.indptr[:-1], Y.indptr[1:], strict=True)]
        if self.kind == "labels":
            return self.values(taxonomy.names[Y.indices])
        return self._paths(Y.indices, taxonomy)

    def _paths(self, nodes: IntArray, taxonomy: Taxonomy) -> Any:
        unique, position = np.unique(nodes, return_inverse=True)
        paths = np.full((len(unique), max(self.width, int(taxonomy.depth.max()))), "", dtype=object)
        for row, node in enumerate(unique):
            path = path_to(taxonomy, int(node))
            paths[row, : len(path)] = taxonomy.names[path]
        if not self.dtype.startswith("str"):
            filled = paths != ""
            paths[filled] = self.values(paths[filled]).astype(object)
            if filled.all():
                return paths[position][:, : self.width].astype(self.dtype)
        widest = max(self.width, int((paths != "").any(axis=0).sum()))
        answer = paths[position][:, :widest]
        return answer.astype(str) if self.dtype == "str" else answer

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def path_to(taxonomy: Taxonomy, node: int) -> list[int]:
    """Nodes from the top to ``node`` along first parents, without the root."""
    path = [node]
    while (parent := int(taxonomy.parent[path[-1]])) >= 0 and parent != taxonomy.root:
        path.append(parent)
    return path[::-1]


@dataclass(frozen=True)
class Problem:
    """Checked training data: X (n_docs x n_features), Y as given (n_docs x n_nodes), taxonomy, weights of documents."""

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
        """Whether every set was given with all its ancestors; a taxonomy without edges closes nothing."""
        return self.taxonomy.n_edges > 0 and is_closed(self.taxonomy, self.Y)


def check_labels(y: Any, taxonomy: Taxonomy | None, n_docs: int | None = None) -> tuple[CSR, Taxonomy, LabelCodec]:
    """y of any kind as Y (n_docs x n_nodes); without a taxonomy one is made: flat, or from the paths."""
    from scipy import sparse

    if y is None:
        raise DataError("requires y to be passed, but the target y is None")
    if sparse.issparse(y):
        found = _indicator(y, taxonomy, True)
    else:
        y = _plain(y)
        if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1 and not _is_indicator(y, taxonomy):
            y = _column(y)
        if isinstance(y, np.ndarray) and y.ndim == 2:
            found = _indicator(y, taxonomy, False) if _is_indicator(y, taxonomy) else _paths(y, taxonomy)
        elif isinstance(y, np.ndarray) and y.ndim == 1 and not _ragged(y):
            found = _labels(y, taxonomy)
        elif isinstance(y, np.ndarray) and y.ndim != 1:
            raise DataError(f"y has {y.ndim} dimensions; expected labels, lists of labels, paths or a 0/1 indicator.")
        else:
            found = _sets(y, taxonomy)
    if n_docs is not None and found[0].shape[0] != n_docs:
        raise DataError(
            f"y has labels of {found[0].shape[0]} documents, but X has {n_docs} rows: inconsistent numbers of samples."
        )
    return found


def check_weights(sample_weight: Any, n_docs: int) -> FloatArray | None:
    """Weights of the documents: None, one number, or one per document; finite and not negative."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    weights = np.full(n_docs, float(weights)) if weights.ndim == 0 else weights
    if weights.shape != (n_docs,):
        raise DataError(f"sample_weight.shape == {weights.shape}, expected ({n_docs},)!")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError("sample_weight must be finite and not negative.")
    if len(weights) and not weights.any():
        raise DataError("All sample weights are zero: there is nothing to learn from.")
    return weights


def _plain(y: Any) -> Any:
    """Frames and sequences as arrays where they are rectangular, as lists of lists otherwise."""
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    if isinstance(y, np.ndarray) or hasattr(y, "__array__"):
        return np.asarray(y)
    y = list(y)
    if any(isinstance(row, (list, tuple, set, frozenset)) for row in y):
        # Lists of labels stay lists, even if all have one length. Only rows of zeros and ones that repeat themselves,
        # as no set does, are an indicator written as lists.
        return np.asarray(y) if _looks_like_indicator(y) else y
    try:
        return np.asarray(y)
    except ValueError:
        return y


def _looks_like_indicator(rows: list[Any]) -> bool:
    widths = {len(row) if isinstance(row, (list, tuple)) else -1 for row in rows}
    if len(widths) != 1 or -1 in widths:
        return False
    repeats = any(len(set(row)) < len(row) for row in rows)
    return repeats and all(type(v) in (int, bool) and v in (0, 1) for row in rows for v in row)


def _column(y: Any) -> Any:
    """A single column is taken as labels, with the warning that scikit-learn's users know."""
    from sklearn.utils import column_or_1d

    return column_or_1d(y, warn=True)


def _ragged(y: Any) -> bool:
    return y.dtype == object and any(isinstance(row, (list, tuple, set, frozenset, np.ndarray)) for row in y)


def _is_indicator(y: Any, taxonomy: Taxonomy | None) -> bool:
    if y.dtype.kind not in "biuf" or (taxonomy is not None and y.shape[1] != taxonomy.n_nodes):
        return False
    return bool(np.isin(y, (0, 1)).all())


def _indicator(y: Any, taxonomy: Taxonomy | None, is_sparse: bool) -> tuple[CSR, Taxonomy, LabelCodec]:
    from scipy import sparse

    taxonomy = taxonomy or Taxonomy.flat(range(y.shape[1]))
    if y.shape[1] != taxonomy.n_nodes:
        raise DataError(
            f"The indicator y has {y.shape[1]} columns; the taxonomy has {taxonomy.n_nodes} nodes (see taxonomy.names)."
        )
    Y = sparse.csr_array(y)
    if Y.nnz and not np.isin(Y.data, (0, 1)).all():
        raise DataError("The indicator y has entries other than 0 and 1.")
    Y = sparse.csr_array(Y, copy=True)
    Y.sum_duplicates()
    Y.eliminate_zeros()
    return pattern(Y.indptr, Y.indices.astype(np.int32), taxonomy.n_nodes), taxonomy, LabelCodec(
        "indicator", str(y.dtype), y.shape[1], is_sparse
    )  # fmt: skip


def _labels(y: Any, taxonomy: Taxonomy | None) -> tuple[CSR, Taxonomy, LabelCodec]:
    if y.dtype.kind == "f" and not (np.isfinite(y).all() and (y == np.floor(y)).all()):
        kind = "contains NaN or infinity" if not np.isfinite(y).all() else "is continuous"
        raise DataError(
            f"Unknown label type: y {kind}; labels are names or whole numbers (a classifier, not a regressor)."
        )
    dtype = _dtype_of(y)
    if y.dtype.kind == "f":
        names = y.astype(np.int64).astype(str)
    else:
        names = np.array([str(v) for v in y], dtype=object)
    if taxonomy is None:
        order = np.unique(y) if dtype != "object" else sorted(set(names))
        taxonomy = Taxonomy.flat(str(int(v)) if y.dtype.kind == "f" else str(v) for v in order)
    return taxonomy.indicator(names), taxonomy, LabelCodec("labels", dtype)


def _sets(y: Any, taxonomy: Taxonomy | None) -> tuple[CSR, Taxonomy, LabelCodec]:
    rows = [[row] if isinstance(row, str) or not hasattr(row, "__iter__") else list(row) for row in y]
    values = np.asarray(sorted({label for row in rows for label in row}, key=str))
    if not len(values):
        raise DataError("y has no label at all: every document has an empty set.")
    taxonomy = taxonomy or Taxonomy.flat(np.sort(values).tolist())
    return taxonomy.indicator(rows), taxonomy, LabelCodec("sets", _dtype_of(values))


def _paths(y: Any, taxonomy: Taxonomy | None) -> tuple[CSR, Taxonomy, LabelCodec]:
    dtype = _dtype_of(y)
    rows = [[str(step) for step in row if not _missing(step)] for row in y]
    empty = next((i for i, row in enumerate(rows) if not row), None)
    if empty is not None:
        raise DataError(f"The path of document {empty} is empty; expected at least one name.")
    if taxonomy is None:
        taxonomy = Taxonomy.from_paths(rows)
    else:
        _check_steps(rows, taxonomy)
    return taxonomy.indicator([row[-1] for row in rows]), taxonomy, LabelCodec("paths", dtype, y.shape[1])


def _check_steps(rows: list[list[str]], taxonomy: Taxonomy) -> None:
    """Every path must go down edges of the taxonomy (leaving levels out is allowed)."""
    for document, row in enumerate(rows):
        for above, below in pairwise(row):
            if taxonomy.index(above) not in taxonomy.ancestors(below) and taxonomy.index(above) != taxonomy.root:
                raise DataError(f"Path {row} (document {document}): {above!r} is not above {below!r} in the taxonomy.")


def _missing(step: Any) -> bool:
    return step is None or step == "" or (isinstance(step, float) and np.isnan(step))


def _dtype_of(values: Any) -> str:
    if values.dtype.kind in "US":
        return "str"
    return "object" if values.dtype.kind == "O" else str(values.dtype)
