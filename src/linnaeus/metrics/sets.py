"""Gold and predicted labels, in whatever form they come, as sparse 0/1 rows over one set of columns.

Labels come in the four kinds of `linnaeus.data.check`. The columns of the answer are the nodes of the taxonomy, then
the gold labels and then the predicted labels that it does not know. Unknown labels never meet: an unknown gold label
can only be missed, an unknown predicted label can only be wrong. Without a taxonomy the columns are the labels that
occur, sorted.

The value of a measure is a `Score`: a plain float that remembers how it was computed.

Every measure on sets is made of `Counts`: sizes of gold sets, predicted sets and their intersections.

For gold rows Y and predicted rows H, per document (sum over nodes) or per node (sum over documents)::

    precision P = common / predicted,   recall R = common / gold,   F = 2 common / (gold + predicted)

Both sides empty: P = R = F = 1. Exactly one side empty: the undefined ratio is 0. A number given as ``zero_division``
replaces every 0/0 instead, as in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from linnaeus.data.check import is_indicator, recognise
from linnaeus.errors import DataError, ParameterError
from linnaeus.losses.cost import row_sums
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import pattern
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = [
    "Counts",
    "LabelSets",
    "Pair",
    "Score",
    "added",
    "as_pair",
    "as_pairs",
    "as_sets",
    "by_document",
    "by_node",
    "count",
    "is_indicator",
    "joined",
    "label_lists",
    "need_taxonomy",
    "rows_over",
]


@dataclass(frozen=True)
class LabelSets:
    """Rows Y (n_docs x (n_nodes + len(unknown))) with the names of the labels that the taxonomy does not know."""

    Y: CSR
    unknown: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return int(self.Y.shape[0])


def as_sets(labels: object, taxonomy: Taxonomy | None = None) -> LabelSets:
    """Labels in any accepted form as 0/1 rows; labels outside the taxonomy get columns of their own at the end.

    Parameters
    ----------
    labels : sequence of str
        Names of the columns of the scores; None: all nodes of the taxonomy.
    taxonomy : Taxonomy, default=None
        The taxonomy of the nodes.

    Returns
    -------
    LabelSets
        Rows, names of columns, and the taxonomy.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["B"]])
    >>> sets = as_sets([["A"], ["B", "ZZ"]], tax)
    >>> sets.Y.toarray().tolist(), sets.unknown
    ([[1, 0, 0, 0], [0, 1, 0, 1]], ['ZZ'])
    """
    if isinstance(labels, LabelSets):
        return labels
    if is_indicator(labels):
        return LabelSets(_indicator(labels) if taxonomy is None else recognise(labels).over(taxonomy))
    flat, indptr = _flatten(labels)
    if taxonomy is None:
        names = sorted(set(flat))
        return _numbered(flat, indptr, {name: i for i, name in enumerate(names)})
    return _numbered(flat, indptr, taxonomy.index_of)


def rows_over(labels: object, names: Sequence[str]) -> CSR:
    """Names of labels as 0/1 rows over these columns; labels that are none of them have columns at the end."""
    return _numbered(*_flatten(labels), {name: i for i, name in enumerate(names)}).Y


def _numbered(flat: list[str], indptr: IntArray, index_of: Mapping[str, int]) -> LabelSets:
    n_known = len(index_of)
    columns = np.array([index_of.get(label, -1) for label in flat], dtype=np.int32)
    strange: dict[str, int] = {}
    for i in np.flatnonzero(columns < 0).tolist():
        columns[i] = n_known + strange.setdefault(flat[i], len(strange))
    Y = pattern(indptr, columns, n_known + len(strange))
    Y.sum_duplicates()
    Y.data[:] = 1
    return LabelSets(Y, list(strange))


def label_lists(labels: object) -> list[list[str]]:
    """Names as one list per document: single labels become lists, a path stands for its last name."""
    rows = recognise(labels).rows
    if rows is None:
        raise DataError("Labels are a 0/1 indicator here; expected names, or `taxonomy` to name its columns.")
    return rows


def _indicator(labels: object) -> CSR:
    indicator = recognise(labels).indicator
    assert indicator is not None
    return indicator


def _flatten(labels: object) -> tuple[list[str], IntArray]:
    rows = label_lists(labels)
    indptr = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=indptr[1:])
    return [label for row in rows for label in row], indptr


@dataclass(frozen=True)
class Pair:
    """Gold rows Y and predicted rows H over the same columns: nodes, unseen gold labels, unknown predicted labels."""

    Y: CSR
    H: CSR
    taxonomy: Taxonomy | None
    n_known: int
    unseen_gold: list[str]
    unknown_predicted: list[str]
    label_names: list[str] | None = None  # names of the columns where there is no taxonomy

    @property
    def n_docs(self) -> int:
        return int(self.Y.shape[0])

    @property
    def n_unseen_gold(self) -> int:
        """How often a gold label is not a node of the taxonomy."""
        return int((self.Y.indices >= self.n_known).sum())

    @property
    def n_unknown_predicted(self) -> int:
        """How often a predicted label is not a node of the taxonomy."""
        return int((self.H.indices >= self.n_known).sum())

    def column_names(self) -> list[str]:
        known = self.label_names if self.taxonomy is None else list(self.taxonomy.names)
        return [*(known or map(str, range(self.n_known))), *self.unseen_gold, *self.unknown_predicted]

    def closed(self) -> Pair:
        """The same with all ancestors on both sides, and without the root."""
        taxonomy = need_taxonomy(self.taxonomy)
        both = [_close(taxonomy, Z) for Z in (self.Y, self.H)]
        return Pair(both[0], both[1], taxonomy, self.n_known, self.unseen_gold, self.unknown_predicted)

    def blocks(self, n_rows: int = 65_536) -> Iterator[Pair]:
        """The pair in blocks of documents, so that closures need memory for one block only."""
        if self.n_docs <= n_rows:
            yield self
            return
        rest = (self.taxonomy, self.n_known, self.unseen_gold, self.unknown_predicted, self.label_names)
        for start in range(0, self.n_docs, n_rows):
            rows = slice(start, start + n_rows)
            yield Pair(self.Y[rows], self.H[rows], *rest)


def as_pair(gold: object, predicted: object, taxonomy: Taxonomy | None = None) -> Pair:
    """Gold and predicted labels over the same columns; see the top of this module.

    Examples
    --------
    >>> pair = as_pair([["A"], ["ZZ"]], [["A"], ["B"]], Taxonomy.flat(["A", "B"]))
    >>> pair.n_unseen_gold, pair.Y.shape
    (1, (2, 3))
    """
    if taxonomy is None:
        return _pair_without_taxonomy(gold, predicted)
    Y, H = as_sets(gold, taxonomy), as_sets(predicted, taxonomy)
    _check_lengths(len(Y), len(H))
    n, n_gold = taxonomy.n_nodes, len(Y.unknown)
    width = n + n_gold + len(H.unknown)
    shifted = np.where(H.Y.indices >= n, H.Y.indices + n_gold, H.Y.indices) if n_gold else H.Y.indices
    return Pair(
        pattern(Y.Y.indptr, Y.Y.indices, width),
        pattern(H.Y.indptr, shifted.astype(np.int32, copy=False), width),
        taxonomy,
        n,
        Y.unknown,
        H.unknown,
    )


def as_pairs(gold: object, first: object, second: object, taxonomy: Taxonomy | None = None) -> tuple[Pair, Pair]:
    """Gold beside each of two systems, all over the same columns, so that the systems can be compared label by label.

    Examples
    --------
    >>> first, second = as_pairs(["A"], ["B"], ["C"])
    >>> first.H.indices.tolist(), second.H.indices.tolist()
    ([1], [2])
    """
    sides = [gold, first, second]
    if all(map(is_indicator, sides)):
        rows = [_indicator(side) for side in sides]
        G, A, B = rows
        pair = as_pair(sparse.vstack([G, G], format="csr"), sparse.vstack([A, B], format="csr"), taxonomy)
    else:
        lists = [_as_lists(side, taxonomy) for side in sides]
        for side in lists[1:]:
            _check_lengths(len(lists[0]), len(side))
        pair = as_pair(lists[0] * 2, lists[1] + lists[2], taxonomy)
    halves = list(pair.blocks(max(pair.n_docs // 2, 1)))
    return halves[0], halves[-1]


def _as_lists(labels: object, taxonomy: Taxonomy | None) -> list[list[str]]:
    if is_indicator(labels):
        return need_taxonomy(taxonomy).labels(as_sets(labels, taxonomy).Y)
    return label_lists(labels)


def _pair_without_taxonomy(gold: object, predicted: object) -> Pair:
    if is_indicator(gold) or is_indicator(predicted):
        if not (is_indicator(gold) and is_indicator(predicted)):
            raise DataError("One side is a 0/1 indicator and the other is not; give `taxonomy` to name its columns.")
        Y, H = _indicator(gold), _indicator(predicted)
        _check_lengths(Y.shape[0], H.shape[0])
        if Y.shape[1] != H.shape[1]:
            raise DataError(
                f"gold has {Y.shape[1]} columns and predicted has {H.shape[1]}; they must be the same labels."
            )
        return Pair(Y, H, None, Y.shape[1], [], [])
    sides = [_flatten(side) for side in (gold, predicted)]
    _check_lengths(len(sides[0][1]) - 1, len(sides[1][1]) - 1)
    names = sorted({*sides[0][0], *sides[1][0]})
    index_of = {name: i for i, name in enumerate(names)}
    Y, H = (_numbered(flat, indptr, index_of).Y for flat, indptr in sides)
    return Pair(Y, H, None, len(names), [], [], names)


def _check_lengths(n_gold: int, n_predicted: int) -> None:
    if n_gold != n_predicted:
        raise DataError(
            f"gold has {n_gold} documents and predicted has {n_predicted}; they must be the same documents."
        )


def _close(taxonomy: Taxonomy, Y: CSR) -> CSR:
    n = taxonomy.n_nodes
    if Y.shape[1] == n:
        return taxonomy.close(Y, keep_root=False)
    if not (Y.indices >= n).any():
        closed = taxonomy.close(pattern(Y.indptr, Y.indices, n), keep_root=False)
        return pattern(closed.indptr, closed.indices, Y.shape[1])
    known = taxonomy.close(Y[:, :n], keep_root=False)
    return sparse.csr_array(sparse.hstack([known, Y[:, n:]], format="csr"))


def need_taxonomy(taxonomy: Taxonomy | None) -> Taxonomy:
    """The taxonomy, or an error that says it is needed."""
    if taxonomy is None:
        raise ParameterError("A hierarchical measure needs the taxonomy: pass taxonomy=...")
    return taxonomy


class Score(float):
    """A float with ``n`` (documents used), ``n_skipped`` (left out, where the measure is undefined) and ``convention``.

    Parameters
    ----------
    value : float
        The value.
    n : int, default=0
        Number of documents used.
    n_skipped : int, default=0
        Number of documents left out.
    convention : str, default=""
        How the value was computed.

    Examples
    --------
    >>> value = Score(0.5, n=4, convention="micro")
    >>> value, value + 1, value.n, value.convention
    (0.5, 1.5, 4, 'micro')
    """

    n: int
    n_skipped: int
    convention: str

    def __new__(cls, value: float, n: int = 0, n_skipped: int = 0, convention: str = "") -> Score:
        self = super().__new__(cls, value)
        self.n, self.n_skipped, self.convention = int(n), int(n_skipped), convention
        return self

    @classmethod
    def mean(
        cls,
        values: FloatArray,
        convention: str = "mean over documents",
        *,
        n_skipped: int = 0,
        weights: FloatArray | None = None,
    ) -> Score:
        """Mean of one value per document, weighted if asked; NaN where there is nothing to take the mean of.

        Examples
        --------
        >>> Score.mean(np.array([1.0, 0.0])), Score.mean(np.array([1.0, 0.0]), weights=np.array([3.0, 1.0]))
        (0.5, 0.75)
        """
        values = np.asarray(values, dtype=np.float64)
        defined = len(values) > 0 and (weights is None or weights.sum() > 0)
        value = float(np.average(values, weights=weights)) if defined else float("nan")
        return cls(value, len(values), n_skipped, convention)

    def __reduce__(self) -> tuple[type[Score], tuple[float, int, int, str]]:  # float's own would forget the rest
        return Score, (float(self), self.n, self.n_skipped, self.convention)


@dataclass(frozen=True)
class Counts:
    """Sizes (float64 arrays of one shape): common, gold, predicted."""

    common: FloatArray
    gold: FloatArray
    predicted: FloatArray

    def total(self, weights: FloatArray | None = None) -> Counts:
        """All pooled into one (the micro average), each with its weight if there are weights."""
        sides = (self.common, self.gold, self.predicted)
        return Counts(*(np.array([a.sum() if weights is None else weights @ a]) for a in sides))

    def table(self) -> FloatArray:
        """Columns common, gold, predicted (n x 3): sums that can be resampled."""
        return np.stack([self.common, self.gold, self.predicted], axis=1)

    @classmethod
    def of_table(cls, table: FloatArray) -> Counts:
        """From sums (..., 3) in the columns of `table`."""
        return cls(table[..., 0], table[..., 1], table[..., 2])

    def take(self, which: IntArray) -> Counts:
        return Counts(self.common[which], self.gold[which], self.predicted[which])

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.common + other.common, self.gold + other.gold, self.predicted + other.predicted)

    def __len__(self) -> int:
        return len(self.common)

    def precision(self, zero_division: float | None = None) -> FloatArray:
        return self._ratio(self.common, self.predicted, zero_division)

    def recall(self, zero_division: float | None = None) -> FloatArray:
        return self._ratio(self.common, self.gold, zero_division)

    def f1(self, zero_division: float | None = None) -> FloatArray:
        return self._ratio(2 * self.common, self.gold + self.predicted, zero_division)

    def jaccard(self, zero_division: float | None = None) -> FloatArray:
        return self._ratio(self.common, self.gold + self.predicted - self.common, zero_division)

    def difference(self) -> FloatArray:
        """Sizes of the symmetric differences."""
        return self.gold + self.predicted - 2 * self.common

    def _ratio(self, above: FloatArray, below: FloatArray, zero_division: float | None) -> FloatArray:
        both_empty = (self.gold == 0) & (self.predicted == 0)
        fill = both_empty if zero_division is None else np.full(below.shape, zero_division)
        undefined = np.array(fill, dtype=np.float64)  # an array even for single totals
        return np.divide(above, below, out=undefined, where=below > 0)


def count(Y: CSR, H: CSR) -> tuple[Counts, Counts]:
    """Sizes per document and per node, with one intersection for both."""
    common = sparse.csr_array(Y.multiply(H))
    return _per_row(common, Y, H), _per_column(common, Y, H)


def by_document(Y: CSR, H: CSR, weights: FloatArray | None = None) -> Counts:
    """Sizes per document, or sums of node weights."""
    common = sparse.csr_array(Y.multiply(H))
    if weights is None:
        return _per_row(common, Y, H)
    return Counts(*(row_sums(Z.indptr, weights[Z.indices]) for Z in (common, Y, H)))


def by_node(Y: CSR, H: CSR) -> Counts:
    """Sizes per node (column): documents where it is right, gold, predicted."""
    return _per_column(sparse.csr_array(Y.multiply(H)), Y, H)


def joined(parts: Sequence[Counts]) -> Counts:
    """Blocks one after the other.

    Examples
    --------
    >>> one = Counts(np.array([1.0]), np.array([2.0]), np.array([1.0]))
    >>> joined([one, one]).gold.tolist(), added([one, one]).gold.tolist()
    ([2.0, 2.0], [4.0])
    """
    return Counts.of_table(np.concatenate([part.table() for part in parts]))


def added(parts: Sequence[Counts]) -> Counts:
    """Blocks over the same nodes, summed."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _per_row(*sides: CSR) -> Counts:
    return Counts(*(np.diff(Z.indptr).astype(np.float64) for Z in sides))


def _per_column(*sides: CSR) -> Counts:
    return Counts(*(np.bincount(Z.indices, minlength=Z.shape[1]).astype(np.float64) for Z in sides))
