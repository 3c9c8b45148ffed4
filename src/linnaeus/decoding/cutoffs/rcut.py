"""r-cut: the r best labels of every document, or the r best children at every node on the way down.

Over documents, r need not be whole. r = 1.85 means: one label always, and the second for the 85% of documents with the
highest second score. Which scores these are is learned from held-out documents as a threshold on the second score, so
that the answer for one document does not depend on the others.

Per parent, a child is chosen if it is among the r best scored children of one of its parents (children of the root, or
of none, compete with each other), and kept if all above it is kept. There is no test of the sign. This needs scores of
internal nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from linnaeus.decoding.base import HeldOut, SetWeights, TopScores, hierarchy, positions
from linnaeus.decoding.cutoffs.cut_off import CutOff, Metric, best_of
from linnaeus.decoding.simple.threshold import members, repaired, repaired_weights, suppress
from linnaeus.errors import DataError, ParameterError, check_choice, check_number
from linnaeus.order import best_columns
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = ["RCut"]

_MOST = 20  # the largest r that is tried


@dataclass(frozen=True)
class RCut(CutOff):
    """The r best labels.

    Parameters
    ----------
    r : float, default=None
        How many; None tunes it on held-out documents (per document in tenths).
    per : str, default="document"
        "document", or "parent" for the r best children at every node, from the top to the leaves.
    path_sum : bool, default=False
        Rank the scored leaves only, each by the sum of the scores on its way to the top (per document).
    theta : float, default=None
        Learned: the score that the last label must exceed where r is not whole.
    repair : {"closure", "suppress"}, default=None
        How answers are made closed; None leaves the labels as they are, see `CutOff`.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.flat("ABC")
    >>> S = [[0.9, 0.4, 0.1], [0.2, 0.8, 0.7]]
    >>> tax.labels(RCut(2)(S, tax))
    [['A', 'B'], ['B', 'C']]
    >>> half = RCut(1.5).fit(S, [["A"], ["B", "C"]], tax)
    >>> tax.labels(half(S, tax)), round(half.theta, 2)
    ([['A'], ['B', 'C']], 0.55)
    """

    name: ClassVar[str] = "rcut"
    r: float | None = None
    per: str = "document"
    path_sum: bool = False
    theta: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("per", self.per, ("document", "parent"))
        if self.r is not None:
            check_number("r", self.r, above=0, whole=self.per == "parent")
        if self.per == "parent" and (self.path_sum or self.repair is not None):
            given = "path_sum=True" if self.path_sum else f"repair={self.repair!r}"
            raise ParameterError(
                f"RCut(per='parent') takes no {given}: it goes down node by node, its sets are closed."
            )

    @property
    def closed(self) -> bool:
        return self.repair is not None or self.per == "parent"

    @property
    def along_paths(self) -> bool:
        return self.repair == "suppress" and not self.path_sum

    @property
    def fitted(self) -> bool:
        return self.r is not None and (self.r == int(self.r) or self.theta is not None)

    @property
    def may_be_empty(self) -> bool:
        return False

    def margins(self, S: FloatArray, Y: CSR, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
        """Scores (of leaves by their paths, with ``path_sum``) less the cut; per parent, within every family."""
        if self.per == "parent":
            return self._family_margins(S, taxonomy, columns)
        if self.path_sum:
            paths = taxonomy.ancestor_matrix[columns][:, columns].astype(np.float64)
            S = np.where(taxonomy.is_leaf[columns], np.asarray((paths @ S.T).T), -np.inf)
        return super().margins(S, Y, taxonomy, columns)

    def _family_margins(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
        M, r = np.full(S.shape, -np.inf), int(self.r or 1)
        for group in _siblings(taxonomy, columns):
            own = np.sort(S[:, group], axis=1)[:, ::-1]
            inside, outside = own[:, min(r, len(group)) - 1], own[:, min(r, len(group) - 1)]
            cut = np.where(np.isfinite(outside), 0.5 * (inside + outside), inside - 1.0)
            cut = np.where(np.isfinite(cut), cut, 0.0) - (1.0 if len(group) <= r else 0.0)
            M[:, group] = np.maximum(M[:, group], S[:, group] - cut[:, None])
        return M

    def set_weights(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> SetWeights:
        return repaired_weights(self, "suppress" if self.per == "parent" else self.repair, S, taxonomy, columns)

    def _fit(self, held: HeldOut, metric: Metric) -> RCut:
        if self.r is not None and self.r == int(self.r):
            return self
        if held.truncated and (self.per == "parent" or self.path_sum):
            raise DataError(
                "RCut needs the scores of all nodes for this; got the best of each document. Give a whole r."
            )
        if self.per == "parent":
            most = max((len(group) for group in _siblings(held.taxonomy, held.columns)), default=1)
            return best_of((replace(self, r=r) for r in range(1, min(most, _MOST) + 1)), held, metric)[0]
        top = self._ranked(held.S, held.taxonomy, held.columns, _MOST if self.r is None else math.ceil(self.r))
        if self.r is not None:
            return self._at(self.r, top)

        def best(sizes: Iterable[float]) -> tuple[RCut, float]:
            cuts = [self._at(r, top) for r in sizes]
            values = [metric(held.gold, c._answers(top, held.taxonomy, held.columns), held.taxonomy) for c in cuts]
            return cuts[int(np.argmax(values))], max(values)

        whole, value = best(range(1, top.k + 1))
        near = (round(float(whole.r or 0) + step / 10, 1) for step in range(-9, 10) if step)
        finer, finer_value = best([r for r in near if 0 < r < top.k] or [1])
        return finer if finer_value > value else whole

    def _at(self, r: float, top: TopScores) -> RCut:
        """With this r, and the threshold on the last label where r is not whole."""
        if r == int(r):
            return replace(self, r=int(r), theta=None)
        last = math.floor(r)
        if top.k <= last:
            return replace(self, r=r, theta=0.0)  # there is no such label
        scores = np.sort(top.scores[:, last].astype(np.float64))[::-1]
        return replace(self, r=r, theta=between(scores, math.floor((r - last) * len(scores) + 0.5)))

    def _minima(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
        """Least scores on the way to the top; nodes held down by one ancestor rank below it by their own scores."""
        least = super()._minima(S, taxonomy, columns)
        place = np.argsort(np.argsort(-S, axis=1, kind="stable"), axis=1) + 1.0
        held_down = np.isfinite(least) & (least < S)
        return np.where(held_down, least - np.spacing(np.abs(np.where(held_down, least, 0.0))) * place, least)

    def _cut(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        assert self.r is not None
        if self.per == "parent":
            return self._descent(S, taxonomy, columns)
        return self._answers(self._ranked(S, taxonomy, columns, math.ceil(self.r)), taxonomy, columns)

    def _answers(self, top: TopScores, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        assert self.r is not None
        top = top.best(math.ceil(self.r))
        keep = np.isfinite(top.scores)
        last = math.floor(self.r)
        if self.theta is not None and top.k > last:
            keep[:, last] &= top.scores[:, last] > self.theta
        Y = top.members(keep, columns, taxonomy.n_nodes)
        return repaired(Y, taxonomy, self.repair)

    def _ranked(self, S: FloatArray | TopScores, taxonomy: Taxonomy, columns: IntArray, k: int) -> TopScores:
        """The k best columns of each document by their own score, or leaves by the sum over their path."""
        if isinstance(S, TopScores):
            return S.best(k)
        if not self.path_sum:
            return TopScores.of(S, k)
        leaves = np.flatnonzero(taxonomy.is_leaf[columns]).astype(np.int32)
        paths = taxonomy.ancestor_matrix[columns[leaves]][:, columns].astype(np.float64)
        top = TopScores.of(np.ascontiguousarray((paths @ S.T.astype(np.float64)).T), k)
        return TopScores(leaves[top.positions], top.scores, len(columns))

    def _descent(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        if len(S) and not (positions(taxonomy, columns)[hierarchy(taxonomy).tops] >= 0).any():
            raise DataError("RCut(per='parent') starts at the top nodes, but none of them has a score.")
        groups = list(_siblings(taxonomy, columns))
        assert self.r is not None
        r = int(self.r)

        def chosen(rows: slice) -> BoolArray:
            found = np.zeros(S[rows].shape, dtype=bool)
            for group in groups:
                scores = S[rows][:, group]
                best = group[best_columns(scores, r)] if len(group) > r else np.broadcast_to(group, scores.shape)
                np.put_along_axis(found, best, True, axis=1)
            return found & np.isfinite(S[rows])

        return suppress(members(S, chosen, columns, taxonomy), taxonomy)


def between(scores: FloatArray, n: int) -> float:
    """A threshold that n of the decreasing scores exceed, in the middle of the gap; fewer where the gap is none."""
    if n <= 0:
        return float(scores[0])
    if n >= len(scores):
        return float(scores[-1]) - 1.0
    if scores[n - 1] == scores[n]:
        return float(scores[n])
    return float(scores[n] + (scores[n - 1] - scores[n]) / 2)


def _siblings(taxonomy: Taxonomy, columns: IntArray) -> Iterator[IntArray]:
    """Positions of the scored children of every parent, and of the scored tops."""
    edges, position = hierarchy(taxonomy), positions(taxonomy, columns)
    bounds = zip(edges.child_indptr[:-1], edges.child_indptr[1:], strict=True)
    for nodes in (edges.tops, *(edges.child_indices[a:b] for a, b in bounds if b > a)):
        scored = position[nodes]
        if (scored >= 0).any():
            yield scored[scored >= 0].astype(np.intp)
