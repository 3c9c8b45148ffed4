"""Ways through a taxonomy whose nodes have local scores: local search with its repairs, and the best set exactly.

Local search follows children above ``theta`` from the top, or the best one. Its repairs make it look wider and then
choose among the leaves it has reached, by a score of their paths,

    P(l) = sum (or mean) over v on the path to l of sigma(s_v)              (Sasaki and Weissenbacher 2012)

keeping leaves with P(l) at least a threshold, or the r best; r-cut per parent follows the r best children of every
node. A threshold for each node is an s-cut, a classifier of whole paths another repair (`path_classifier`); what they
need is learned by `EdgePA.fit_search`. Exact search takes the set of leaves whose paths have the largest sum of scores
(Murawaki 2013).

A model that goes down its taxonomy calls these with a leaf ``<node>/self`` wherever a document may stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from linnaeus.decoding.base import SetWeights, as_given, hierarchy, positions, scored_families, scored_inner
from linnaeus.decoding.rules import Rules
from linnaeus.decoding.sets.best_sets import best_sets
from linnaeus.decoding.simple.top_down import TopDown
from linnaeus.errors import ParameterError, check_choice, check_number
from linnaeus.taxonomy.closure import pattern, pointers, row_numbers
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = ["Descent", "ExactSearch", "LocalSearch", "chosen_ends", "path_scores"]


@dataclass(frozen=True)
class Descent(TopDown):
    """A model's own way down, over its taxonomy with a leaf ``<node>/self`` wherever a document may stop."""


@dataclass(frozen=True)
class LocalSearch(Descent):
    """From the top downwards, then a choice among the leaves reached.

    Parameters
    ----------
    theta : float or sequence of float, default=0.0
        Children above it are followed, and at least the best; below 0 the search looks wider.
    leaf_mandatory : bool, default=True
        Take the best child where none is above theta.
    parents : {"all", "any"}, default="any"
        Which parents of a node must be kept before the node can be.
    path_threshold : float, default=None
        Keep leaves whose path scores at least this, and the best one; None keeps all.
    aggregate : str, default="sum"
        "sum" of sigma(score) along the path, or the "mean", which does not prefer deep leaves.
    r : int, default=None
        Keep the r best leaves by their paths; None keeps all.
    r_children : int, default=None
        Follow the r best children of every node, whatever their scores; None goes by ``theta``.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"], ["B", "BB"]])
    >>> S = [[-0.5, 0.3, 1.0, -0.2, -0.4, -0.1]]                # A, B, AA, AB, BA, BB
    >>> [tax.labels(tax.frontier(d(S, tax)))[0] for d in (LocalSearch(), LocalSearch(theta=-0.6, path_threshold=1.0))]
    [['BB'], ['AA', 'BB']]
    >>> [tax.labels(tax.frontier(d(S, tax)))[0] for d in (LocalSearch(theta=-0.6, r=1), LocalSearch(r_children=1))]
    [['AA'], ['BB']]
    """

    name: ClassVar[str] = "local_search"
    parents: str = "any"
    path_threshold: float | None = None
    aggregate: str = "sum"
    r: int | None = None
    r_children: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("aggregate", self.aggregate, ("sum", "mean"))
        for name in ("r", "r_children"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), least=1, whole=True)

    def descent_margins(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray, *, at_top: bool) -> FloatArray:
        given = [n for n in ("path_threshold", "r", "r_children") if getattr(self, n) is not None]
        if given:
            raise ParameterError(
                f"LocalSearch with {', '.join(given)} does not rank label sets, so it takes no rules and no n_best: it "
                "chooses among the paths of one search; LocalSearch() and ExactSearch() do."
            )
        return super().descent_margins(S, taxonomy, columns, at_top=at_top)

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        if self.r_children is None:
            Y = super()._decode(S, taxonomy, columns)
        else:  # all children but the r best are out of reach
            low = _best_children(S, taxonomy, columns, int(self.r_children))
            Y = super()._decode(np.where(low, S.max(initial=0.0) + 1, -np.inf).astype(S.dtype), taxonomy, columns)
        if self.path_threshold is None and self.r is None:
            return Y
        ends = taxonomy.frontier(Y)
        values = path_scores(S, ends, taxonomy, columns, self.aggregate)
        return taxonomy.close(chosen_ends(ends, values, self.path_threshold, self.r))


@dataclass(frozen=True)
class ExactSearch(Descent):
    """The set of leaves whose paths have the largest sum of scores; one path only where ``theta`` is infinite.

    On a DAG sets may end anywhere.

    Parameters
    ----------
    theta : float or sequence of float, default=0.0
        One number, or one for each node of the taxonomy.
    leaf_mandatory : bool, default=True
        Take the best child where none is above theta.
    parents : {"all", "any"}, default="all"
        Which parents of a node must be kept before the node can be.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"], ["B", "BB"]])
    >>> S = [[-0.5, 0.3, 1.0, -0.2, -0.4, -0.1]]                # A, B, AA, AB, BA, BB
    >>> [tax.labels(tax.frontier(d(S, tax)))[0] for d in (ExactSearch(), ExactSearch(theta=np.inf))]
    [['AA', 'BB'], ['AA']]
    """

    name: ClassVar[str] = "exact_search"

    def set_weights(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> SetWeights:
        """The scores that are summed; on a tree sets end at scored leaves."""
        S, nodes = as_given(S, taxonomy, columns)
        edges = hierarchy(taxonomy)
        if not edges.is_forest:
            return SetWeights(S)
        inner = scored_inner(edges, positions(taxonomy, nodes))[nodes]
        return SetWeights(S, np.broadcast_to(np.where(inner, -np.inf, 0.0), S.shape))

    def label_scores(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> FloatArray:
        """Sums of the scores of every scored leaf and of all that is above it."""
        S, nodes = as_given(S, taxonomy, columns)
        inner = scored_inner(hierarchy(taxonomy), positions(taxonomy, nodes))[nodes]
        paths = taxonomy.ancestor_matrix[nodes][:, nodes].astype(np.float64)
        return np.where(inner, -np.inf, np.asarray((paths @ S.T).T))

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        edges = hierarchy(taxonomy)
        place = positions(taxonomy, columns)
        known, inner = place >= 0, scored_inner(edges, place)
        if not edges.is_forest:
            if self.single:
                return _best_paths(S, taxonomy, columns, np.flatnonzero(known & ~inner))
            return best_sets(S, taxonomy, columns, rules=Rules(at_least=1)).best
        table = np.zeros((taxonomy.n_nodes + 1, 3))
        table[np.append(~known | inner, True), 0] = -np.inf  # sets end at scored leaves and are not empty
        if self.single:
            table[:, 2] = -np.inf
        return best_sets(S, taxonomy, columns, table=table).best


def chosen_ends(ends: CSR, values: FloatArray, threshold: float | None = None, r: int | None = None) -> CSR:
    """The entries of ``ends`` whose values reach the threshold and are among the r best of their row; the best always.

    Examples
    --------
    >>> ends = pattern(np.array([0, 3]), np.array([0, 2, 3]), 4)
    >>> chosen_ends(ends, np.array([0.1, 0.7, 0.4]), 0.3).indices.tolist()
    [2, 3]
    """
    rows = row_numbers(ends.indptr)
    order = np.lexsort((ends.indices, -values, rows))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - ends.indptr[rows]
    keep = np.ones(len(rank), dtype=bool) if threshold is None else values >= threshold
    keep = (keep & (rank < (r or len(rank)))) | (rank == 0)
    sizes = np.bincount(rows[keep], minlength=ends.shape[0])
    return pattern(pointers(sizes), ends.indices[keep], ends.shape[1])


def path_scores(S: FloatArray, ends: CSR, taxonomy: Taxonomy, columns: IntArray, aggregate: str = "sum") -> FloatArray:
    """P(l) of every label of ``ends``, in the order of its entries: sum or mean of sigma(score) along its path."""
    from scipy.special import expit

    above = taxonomy.ancestor_matrix[ends.indices][:, columns]
    lengths = np.diff(above.indptr)
    values = expit(S[np.repeat(row_numbers(ends.indptr), lengths), above.indices].astype(np.float64))
    total = np.bincount(np.repeat(np.arange(len(lengths)), lengths), values, minlength=len(lengths))
    return np.asarray(total / np.maximum(lengths, 1) if aggregate == "mean" else total, dtype=np.float64)


def _best_children(S: FloatArray, taxonomy: Taxonomy, columns: IntArray, r: int) -> BoolArray:
    """Which scored nodes are among the r best of the children of some parent, ties by number."""
    found = np.zeros(S.shape, dtype=bool)
    for at in scored_families(taxonomy, columns):
        if len(at):
            best = np.argsort(-S[:, at], axis=1, kind="stable")[:, :r]
            np.put_along_axis(found, at[best], True, axis=1)
    return found


def _best_paths(S: FloatArray, taxonomy: Taxonomy, columns: IntArray, ends: IntArray) -> CSR:
    """The end of largest sum over its ancestors, closed."""
    above = taxonomy.ancestor_matrix[ends][:, columns].astype(np.float64)
    best = ends[np.asarray((above @ S.T.astype(np.float64)).T).argmax(axis=1)]
    return taxonomy.close(pattern(np.arange(len(S) + 1), best.astype(np.int32), taxonomy.n_nodes))
