"""The single best node: argmax_v f_v over the scored nodes, or over the scored leaves only.

With ``path_sum`` a node counts with its whole path, F(v) = sum_{z in anc(v)} f_z, as in the hierarchical SVM of Cai and
Hofmann (2004); ancestors without a score count 0, and the root counts for itself only. Ties go to the lowest node
number. Answers are never empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from linnaeus.decoding.base import Decoder, as_given, blocks
from linnaeus.errors import DataError
from linnaeus.taxonomy.closure import pattern
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["BestLabel", "BestLeaf"]


@dataclass(frozen=True)
class BestLabel(Decoder):
    """The node of largest score among the scored ones, with its ancestors unless ``close=False``.

    Here the root competes where it was scored.

    Parameters
    ----------
    path_sum : a node counts with the sum of the scores on its way to the top.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA")])
    >>> Y = BestLabel()([[0.1, 0.5], [0.7, 0.2]], tax, columns=[tax.index("B"), tax.index("AA")])
    >>> tax.labels(Y)
    [['A', 'AA'], ['B']]
    >>> S = [[0.3, 0.45, 0.2]]                          # A, B, AA
    >>> tax.labels(BestLabel(path_sum=True)(S, tax, columns=[1, 2, 3])), tax.labels(BestLabel()(S, tax, [1, 2, 3]))
    ([['A', 'AA']], [['B']])
    """

    name: ClassVar[str] = "best_label"
    _nothing: ClassVar[str] = "There is no best label: no node has a score."
    path_sum: bool = False
    close: bool = True

    @property
    def closed(self) -> bool:
        return self.close

    @property
    def single(self) -> bool:
        return True

    @property
    def may_be_empty(self) -> bool:
        return False

    def label_scores(self, S: Any, taxonomy: Taxonomy, columns: Any = None) -> FloatArray:
        S, nodes = as_given(S, taxonomy, columns)
        if self.path_sum:
            paths = taxonomy.ancestor_matrix[nodes][:, nodes].astype(np.float64)
            S = np.asarray((paths @ S.T).T)
        return np.where(np.isin(nodes, self._candidates(taxonomy, nodes)), S, -np.inf)

    def margins(self, S: FloatArray, Y: CSR, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
        return super().margins(self.label_scores(S, taxonomy, columns), Y, taxonomy, columns)

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        nodes = self._candidates(taxonomy, columns)
        if len(S) and not len(nodes):
            raise DataError(self._nothing)
        return _best(S, taxonomy, columns, nodes, self.path_sum, self.close)

    def _candidates(self, taxonomy: Taxonomy, columns: IntArray) -> IntArray:
        return columns


@dataclass(frozen=True)
class BestLeaf(BestLabel):
    """The leaf of largest score among the scored ones, with its ancestors unless ``close=False``.

    Parameters
    ----------
    path_sum : a leaf counts with the sum of the scores on its way to the top.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["B", "BB"]])
    >>> S = [[0.1, 0.9, 0.6, 0.5]]                      # A, B, AA, BB
    >>> tax.labels(BestLeaf()(S, tax)), tax.labels(BestLeaf(path_sum=True)(S, tax))
    ([['A', 'AA']], [['B', 'BB']])
    """

    name: ClassVar[str] = "best_leaf"
    _nothing: ClassVar[str] = "There is no best leaf: none of the scored nodes is a leaf; BestLabel takes any node."

    def _candidates(self, taxonomy: Taxonomy, columns: IntArray) -> IntArray:
        return columns[taxonomy.is_leaf[columns]]


def _best(S: FloatArray, taxonomy: Taxonomy, columns: IntArray, nodes: IntArray, path_sum: bool, close: bool) -> CSR:
    """The best of ``nodes``, which are some of the scored ``columns``, for every document."""
    best = np.empty(len(S), dtype=np.intp)
    paths = taxonomy.ancestor_matrix[nodes][:, columns].astype(np.float64) if path_sum and len(S) else None
    at = slice(None) if len(nodes) == len(columns) else np.searchsorted(columns, nodes)
    for rows in blocks(len(S), len(nodes)):
        scores = S[rows, at] if paths is None else (paths @ S[rows].T.astype(np.float64)).T
        best[rows] = scores.argmax(axis=1)
    Y = pattern(np.arange(len(S) + 1, dtype=np.int64), nodes[best], taxonomy.n_nodes)
    return taxonomy.close(Y) if close else Y
