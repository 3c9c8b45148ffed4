"""The single best node: argmax_v f_v over the scored nodes, or over the scored leaves only.

With ``path_sum`` a leaf counts with its whole path, F(v) = sum_{z in anc(v)} f_z, as in the hierarchical SVM of Cai and
Hofmann (2004); ancestors without a score count 0. Ties go to the lowest node number. Answers are never empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from linnaeus.decoding.base import Decoder, blocks
from linnaeus.errors import DataError
from linnaeus.taxonomy.closure import pattern
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["BestLabel", "BestLeaf"]


@dataclass(frozen=True)
class BestLabel(Decoder):
    """The node of largest score among the scored ones, with its ancestors unless ``close=False``.

    This is the only decoder that can answer with the root: where the root was scored, it competes.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA")])
    >>> Y = BestLabel()([[0.1, 0.5], [0.7, 0.2]], tax, columns=[tax.index("B"), tax.index("AA")])
    >>> tax.labels(Y)
    [['A', 'AA'], ['B']]
    """

    name: ClassVar[str] = "best_label"
    close: bool = True

    @property
    def closed(self) -> bool:
        return self.close

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        if len(S) and not len(columns):
            raise DataError("There is no best label: no node has a score.")
        best = S.argmax(axis=1) if len(S) else np.empty(0, dtype=np.intp)
        return _one_each(columns[best], taxonomy, self.close)


@dataclass(frozen=True)
class BestLeaf(Decoder):
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
    path_sum: bool = False
    close: bool = True

    @property
    def closed(self) -> bool:
        return self.close

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        at = np.flatnonzero(taxonomy.is_leaf[columns])
        leaves = columns[at]
        if len(S) and not len(leaves):
            raise DataError("There is no best leaf: none of the scored nodes is a leaf; BestLabel takes any node.")
        best = np.empty(len(S), dtype=np.intp)
        paths = taxonomy.ancestor_matrix[leaves][:, columns].astype(np.float64) if self.path_sum and len(S) else None
        for rows in blocks(len(S), len(leaves)):
            scores = S[rows, at] if paths is None else (paths @ S[rows].T.astype(np.float64)).T
            best[rows] = scores.argmax(axis=1)
        return _one_each(leaves[best], taxonomy, self.close)


def _one_each(nodes: IntArray, taxonomy: Taxonomy, close: bool) -> CSR:
    Y = pattern(np.arange(len(nodes) + 1, dtype=np.int64), nodes, taxonomy.n_nodes)
    return taxonomy.close(Y) if close else Y
