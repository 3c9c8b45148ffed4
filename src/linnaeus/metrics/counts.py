"""Sizes of gold sets, predicted sets and their intersections: what every measure on sets is made of.

For gold rows Y and predicted rows H, per document (sum over nodes) or per node (sum over documents)::

    precision P = common / predicted,   recall R = common / gold,   F = 2 common / (gold + predicted)

Both sides empty: P = R = F = 1. Exactly one side empty: the undefined ratio is 0. A number given as ``zero_division``
replaces every 0/0 instead, as in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from linnaeus.losses.cost import row_sums
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["Counts", "added", "by_document", "by_node", "count", "joined"]


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
