"""Thresholds with repair: T = {v : f_v > theta_v}, made closed in one of two ways.

closure     add the ancestors of T: trusts deep scores, raises recall.
suppress    keep v only if all its ancestors are in T (on a DAG: through every parent): raises precision.

If scores never grow from parent to child and theta is one constant, T is closed already and both leave it as it is.
Nodes without a score are never in T.

Where one label is wanted, it is the best node: argmax_v f_v over the scored nodes, or over the scored leaves only.

With ``path_sum`` a node counts with its whole path, F(v) = sum_{z in anc(v)} f_z, as in the hierarchical SVM of Cai and
Hofmann (2004); ancestors without a score count 0, and the root counts for itself only. Ties go to the lowest node
number. Answers are never empty.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from linnaeus.decoding.base import (
    Decoder,
    SetWeights,
    Theta,
    as_given,
    blocks,
    by_closure,
    by_suppression,
    hierarchy,
    less_theta,
    plain_theta,
    theta_per_node,
)
from linnaeus.errors import DataError, check_choice
from linnaeus.taxonomy.closure import pattern, pointers, select
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = [
    "REPAIRS",
    "BestLabel",
    "BestLeaf",
    "Threshold",
    "best_nodes",
    "members",
    "repaired",
    "repaired_weights",
    "suppress",
]

REPAIRS = ("closure", "suppress", None)


@dataclass(frozen=True)
class Threshold(Decoder):
    """Every node with a score above its threshold, repaired; the best label where nothing would be left.

    Parameters
    ----------
    theta : object, default=0.0
        One threshold, or one for each node of the taxonomy.
    repair : str or None, default="closure"
        "closure", "suppress", or None for the bare set T.
    at_least_one : bool, default=True
        An empty answer becomes the label of largest score (with its ancestors, unless repair is None); with a repair
        the root is that label only where nothing else was scored.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["B"]])
    >>> S = [[-1.0, 0.5, 2.0], [-3.0, -2.0, -1.0]]      # A, B, AA
    >>> tax.labels(Threshold()(S, tax))
    [['A', 'B', 'AA'], ['A', 'AA']]
    >>> tax.labels(Threshold(repair="suppress", at_least_one=False)(S, tax))
    [['B'], []]
    """

    name: ClassVar[str] = "threshold"
    theta: Theta = 0.0
    repair: str | None = "closure"
    at_least_one: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", plain_theta(self.theta))
        check_choice("repair", self.repair, REPAIRS)

    @property
    def closed(self) -> bool:
        return self.repair is not None

    @property
    def may_be_empty(self) -> bool:
        return not self.at_least_one

    def margins(self, S: FloatArray, Y: CSR, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
        return less_theta(self.theta, S, taxonomy, columns)

    def set_weights(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> SetWeights:
        return repaired_weights(self, self.repair, S, taxonomy, columns)

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        if self.at_least_one and len(S) and not len(columns):
            raise DataError("There is no best label to answer with: no node has a score; at_least_one=False allows it.")
        if self.at_least_one and len(columns) == 1 and columns[0] == taxonomy.root:
            return BestLabel()(S, taxonomy, columns)  # nothing else can be answered
        if self.closed and (columns == taxonomy.root).any():  # a bare set may hold the root, as labels may
            S, columns = S[:, columns != taxonomy.root], columns[columns != taxonomy.root]
        theta = theta_per_node(self.theta, taxonomy)[columns]
        Y = members(S, lambda rows: S[rows] > theta, columns, taxonomy)
        return repaired(Y, taxonomy, self.repair, best_nodes(S, columns) if self.at_least_one else None)


def repaired_weights(
    decide: Decoder, repair: str | None, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None
) -> SetWeights:
    """Weights of sets for a rule that answers what is above its margins, repaired."""
    S, nodes = as_given(S, taxonomy, columns)
    Y = decide(S, taxonomy, nodes)
    M = decide.margins(S, Y, taxonomy, nodes)
    if repair == "suppress":
        return SetWeights(by_suppression(M, Y, taxonomy, nodes))
    return by_closure(M, Y, taxonomy, nodes, closed=repair is not None)


def repaired(Y: CSR, taxonomy: Taxonomy, repair: str | None, best: Callable[[IntArray], IntArray] | None = None) -> CSR:
    """Y made closed as ``repair`` says; ``best`` gives documents that would be left with nothing their best node."""
    if repair == "suppress":
        Y = suppress(Y, taxonomy)
    if best is not None:
        Y = _with_best(Y, best)
    return taxonomy.close(Y) if repair is not None else Y


def best_nodes(S: FloatArray, columns: IntArray) -> Callable[[IntArray], IntArray]:
    """The node of largest score for each of the documents asked for."""
    return lambda docs: columns[[int(S[d].argmax()) for d in docs]]


def suppress(Y: CSR, taxonomy: Taxonomy) -> CSR:
    """Every row without the members that lack an ancestor (the root is not missed).

    Parameters
    ----------
    Y : CSR array of shape (n_docs, n_nodes)
        Label sets as 0/1 rows.
    taxonomy : Taxonomy
        The taxonomy of the nodes.

    Returns
    -------
    csr_array
        The rows that are left, of the shape of the input.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["B"]])
    >>> tax.names[suppress(tax.indicator([["AA", "B"]]), tax).indices].tolist()
    ['B']
    """
    from linnaeus._kernels.descent import supported_members

    edges = hierarchy(taxonomy)
    indptr, indices = Y.indptr.astype(np.int64), Y.indices.astype(np.int32, copy=False)
    keep = supported_members(indptr, indices, edges.parent_indptr, edges.parent_indices).astype(bool)
    return pattern(*select(indptr, indices, keep), taxonomy.n_nodes)


def members(S: FloatArray, keep: Callable[[slice], BoolArray], columns: IntArray, taxonomy: Taxonomy) -> CSR:
    """What ``keep`` marks as CSR, by blocks of documents: the only dense thing as large as S is S."""
    sizes: list[IntArray] = [np.zeros(1, dtype=np.int64)]
    found: list[IntArray] = [np.empty(0, dtype=np.int32)]
    for rows in blocks(len(S), len(columns)):
        kept = keep(rows)
        sizes.append(kept.sum(axis=1))
        found.append(columns[kept.nonzero()[1]])
    return pattern(np.concatenate(sizes).cumsum(), np.concatenate(found), taxonomy.n_nodes)


def _with_best(Y: CSR, best: Callable[[IntArray], IntArray]) -> CSR:
    """Y with the best label in its empty rows."""
    sizes = np.diff(Y.indptr)
    empty = np.flatnonzero(sizes == 0)
    if not len(empty):
        return Y
    sizes[empty] = 1
    indices = np.insert(Y.indices, Y.indptr[empty], best(empty)).astype(np.int32)
    return pattern(pointers(sizes), indices, Y.shape[1])


@dataclass(frozen=True)
class BestLabel(Decoder):
    """The node of largest score among the scored ones, with its ancestors unless ``close=False``.

    Here the root competes where it was scored.

    Parameters
    ----------
    path_sum : bool, default=False
        A node counts with the sum of the scores on its way to the top.
    close : bool, default=True
        Whether ancestors of the label are answered as well.

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

    def label_scores(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> FloatArray:
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
    path_sum : bool, default=False
        A leaf counts with the sum of the scores on its way to the top.
    close : bool, default=True
        Whether ancestors of the leaf are answered as well.

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
