"""s-cut: one threshold for each label, where its F1 on held-out documents is best.

How the thresholds are found, also for rare labels and under a repair, is described below.

One threshold for each label, where its F1 on held-out documents is best.

All cuts of a label's held-out scores are tried, never inside a group of equal scores; of equally good ones the highest
counts; the threshold is the middle between the last score kept and the first one not kept. This maximises macro-F1,
which is a mean over labels. Micro-F1 pools the counts of all labels,

    F = 2 sum_v right_v / (sum_v kept_v + sum_v positives_v),

and is maximised by taking at every label the cut of largest 2 right_v - F kept_v, with F of the last round, until F
grows no more (Dinkelbach 1967). What cannot be improved label by label is a fixed point of this and so the optimum.

Rare labels overfit. Labels with few held-out positives are cut at one threshold that they share: that of largest
pooled F1 over these labels alone, or for micro-F1 of largest 2 right - F kept with F of the others. A threshold of the
parent, which is right for far more documents, can be so low that a rare label is answered for most documents. A label
whose best F1 stays below ``fbr`` is refused (FBR.0) or accepted only above its best held-out score (FBR.1; Yang 2001).

With a repair the cuts of a label are then compared as they are after it, given what is decided around it: with
"suppress" from the top down, on documents that hold all parents; with "closure" from the bottom up, where documents
that hold a child hold the label anyway. What rare labels inherit comes from before the repair: a node high up that is
right for most documents once sets are closed is best cut very low, and no child may inherit that.

Where to cut the scores of one label: F1 = 2 tp / (kept + positives) over all cuts between different scores.

A best cut lies right below a positive: continuing through negatives only adds to ``kept``. There is one candidate for
each different score of a positive, and one that keeps nothing. Counts may start above zero, for documents that hold
the label whatever its own score says (because they hold a label below it).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import ClassVar, NamedTuple

import numpy as np

from linnaeus.decoding.base import (
    HeldOut,
    Theta,
    TopScores,
    hierarchy,
    less_theta,
    plain_theta,
    positions,
    theta_per_node,
)
from linnaeus.decoding.cutoffs.cut_off import CutOff, Metric
from linnaeus.decoding.simple.threshold import members, repaired
from linnaeus.errors import check_choice, check_number
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = ["LabelCuts", "LabelThresholds", "SCut", "label_cuts", "pooled_threshold"]

FALLBACKS = ("shared", "parent", "global", "top")
_GRID = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # values of fbr that are tried


@dataclass(frozen=True)
class SCut(CutOff):
    """Every label with a score above its own threshold.

    Parameters
    ----------
    average : {"auto", "macro", "micro"}, default="auto"
        The F1 that the thresholds maximise. "auto" follows the metric of the fit: "macro" for macro-F1, "micro" for all
        others. Macro-F1 counts rare labels as much as frequent ones; thresholds for it answer many rare labels.
    fbr : object, default=0.0
        Labels whose best held-out F1 is below this are cut by ``rare``; "tune" finds it on one half of the held-out
        documents after the other; 0 never.
    rare : str, default="top"
        "none" gives such labels to no document (FBR.0), "top" above their best held-out score (FBR.1).
    min_positives : int, default=5
        Labels with fewer held-out positives take the ``fallback``.
    fallback : {"shared", "parent", "global", "top"}, default="shared"
        "shared" (all such labels have one threshold, that of largest F1 over their pooled scores, or the one of all
        labels where they have fewer than ``min_positives`` together), "parent" (the highest of its parents' thresholds,
        else the pooled one), "global" (the one threshold of all labels pooled), or "top" (the best held-out score).
    at_least_one : bool, default=True
        An empty answer becomes the label of largest score.
    theta : object, default=field(default=None, repr=False)
        Learned: one threshold for each node.
    top : int, default=None
        Learned: number of best labels of a document that are considered, where only these were held out.
    repair : {"closure", "suppress"}, default=None
        How answers are made closed; None leaves the labels as they are, see `CutOff`.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.flat(["A"])
    >>> S = [[0.9], [0.8], [0.7], [0.6], [0.5], [0.4]]
    >>> cut = SCut(min_positives=1, at_least_one=False).fit(S, [["A"], [], ["A"], ["A"], [], []], tax)
    >>> round(cut.theta[0], 2)
    0.55
    >>> tax.labels(cut([[0.6], [0.5]], tax))
    [['A'], []]
    """

    name: ClassVar[str] = "scut"
    average: str = "auto"
    fbr: float | str = 0.0
    rare: str = "top"
    min_positives: int = 5
    fallback: str = "shared"
    at_least_one: bool = True
    theta: Theta | None = field(default=None, repr=False)
    top: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("average", self.average, ("auto", "macro", "micro"))
        check_choice("rare", self.rare, ("none", "top"))
        check_choice("fallback", self.fallback, FALLBACKS)
        check_number("min_positives", self.min_positives, least=0, whole=True)
        if self.fbr != "tune":
            check_number("fbr", self.fbr, least=0)
        if self.theta is not None:
            object.__setattr__(self, "theta", plain_theta(self.theta))

    @property
    def along_paths(self) -> bool:
        return False

    @property
    def fitted(self) -> bool:
        return self.theta is not None

    def margins(self, S: FloatArray, Y: CSR, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
        assert self.theta is not None
        return less_theta(self.theta, S, taxonomy, columns)

    def _cut(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        assert self.theta is not None
        theta = theta_per_node(self.theta, taxonomy)[columns]

        def above(rows: slice) -> BoolArray:
            if self.top is None or self.top >= len(columns):
                return S[rows] > theta
            least = np.partition(S[rows], -self.top, axis=1)[:, [-self.top]]
            return (S[rows] > theta) & (S[rows] >= least)

        Y = members(S, above, columns, taxonomy)
        return repaired(Y, taxonomy, self.repair, self._best(S, columns))

    def _fit(self, held: HeldOut, metric: Metric) -> SCut:
        cut = self
        if self.average == "auto":
            cut = replace(self, average="macro" if getattr(metric, "__name__", "") == "macro_f1" else "micro")
        fbr = cut._tuned_fbr(held, metric) if isinstance(self.fbr, str) else self.fbr
        return replace(cut, theta=cut._thresholds(held).final(fbr, self.rare), top=held.truncated)

    def _thresholds(self, held: HeldOut) -> LabelThresholds:
        return LabelThresholds(held, self.average, self.min_positives, self.fallback, self.repair)

    def _tuned_fbr(self, held: HeldOut, metric: Metric) -> float:
        """The value with which thresholds of one half of the documents do best on the other half."""
        if len(held) < 2:
            return 0.0
        values = np.zeros(len(_GRID))
        halves = [held.take(np.arange(start, len(held), 2)) for start in (0, 1)]
        for train, test in (halves, halves[::-1]):
            found = self._thresholds(train)
            for i, fbr in enumerate(_GRID):
                cut = replace(self, theta=found.final(fbr, self.rare))  # scores left out are minus infinity here
                values[i] += metric(test.gold, test.answers(cut), test.taxonomy)
        return _GRID[int(np.argmax(values))]


_ROUNDS = 30  # of the pooled F1; it takes three to six


class LabelThresholds:
    """Thresholds of all labels on held-out documents, and the F1 that each label reached.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> from linnaeus.decoding.base import held_out
    >>> held = held_out([[0.9, 0.2], [0.4, 0.6], [0.8, 0.7]], [["A"], ["B"], ["A"]], Taxonomy.flat("AB"))
    >>> LabelThresholds(held, min_positives=1).final().round(2).tolist()
    [0.6, 0.4]
    """

    def __init__(
        self,
        held: HeldOut,
        average: str = "macro",
        min_positives: int = 5,
        fallback: str = "shared",
        repair: str | None = None,
    ) -> None:
        self.held, self.average, self.repair = held, average, repair
        self.min_positives = min_positives
        self.given, self.gold = held.given.tocsc(), held.gold.tocsc()
        self.edges, self.position = hierarchy(held.taxonomy), positions(held.taxonomy, held.columns, with_root=True)
        self.bare = [self._cuts(v) for v in held.columns]
        self.highest = np.array([cuts.theta[0] for cuts in self.bare])
        self.f1: FloatArray = np.zeros(len(held.columns))
        n_positive = np.array([cuts.right[-1] for cuts in self.bare])  # those that have a score
        self.enough = n_positive >= max(1, min_positives)
        self.theta: FloatArray = np.zeros(held.taxonomy.n_nodes)
        self.price: float | None = None  # F of the last round
        self._choose(after_repair=False)
        self._fall_back(fallback, n_positive)
        if repair is not None and held.taxonomy.n_edges:
            self._choose(after_repair=True)

    def final(self, fbr: float = 0.0, rare: str = "top") -> FloatArray:
        """One threshold for each node; labels whose F1 is below ``fbr`` are refused, or accepted above the best."""
        theta = self.theta.copy()
        low = self.enough & (self.f1 < fbr)
        theta[self.held.columns[low]] = self.highest[low] if rare == "top" else np.inf
        return theta

    def _choose(self, *, after_repair: bool) -> None:
        """The best cuts of all labels that have enough positives."""
        price, total = None, -1.0
        for _ in range(1 if self.average == "macro" else _ROUNDS):
            theta, f1, pooled = self._round(price, after_repair)
            if pooled <= total:
                break
            self.theta, self.f1, total = theta, f1, pooled
            self.price = price = pooled

    def _round(self, price: float | None, after_repair: bool) -> tuple[FloatArray, FloatArray, float]:
        """Thresholds and F1 of all labels at this price of a document kept, and the pooled F1."""
        theta, f1 = self.theta.copy(), np.zeros(len(self.f1))
        right = size = 0.0
        holders: dict[int, IntArray] = {}  # documents that hold a node after the repair
        for v in self._order() if after_repair else self.held.columns:
            k = self.position[v]
            within, forced = self._around(v, holders) if after_repair else (None, None)
            if k >= 0 and self.enough[k]:
                cuts = self._cuts(v, within, forced, after_repair=True) if after_repair else self.bare[k]
                best = cuts.best(price)
                theta[v], f1[k] = cuts.theta[best], cuts.f1()[best]
                right, size = right + cuts.right[best], size + cuts.kept[best] + cuts.n_positive
            if after_repair:
                holders[v] = self._holders(v, theta[v], within, forced)
        return theta, f1, 2 * right / max(1.0, size)

    # -- around a label ------------------------------------------------------------------------------------------------

    def _order(self) -> IntArray:
        nodes = np.arange(self.held.taxonomy.n_nodes)
        nodes = nodes[nodes != self.held.taxonomy.root] if self.held.taxonomy.root is not None else nodes
        return nodes[::-1] if self.repair == "closure" else nodes

    def _around(self, v: int, holders: dict[int, IntArray]) -> tuple[IntArray | None, IntArray | None]:
        """Documents that alone may hold a node, and those that hold it whatever its score; None for all and none."""
        edges = self.edges
        if self.repair == "closure":
            children = edges.child_indices[edges.child_indptr[v] : edges.child_indptr[v + 1]]
            return None, reduce(np.union1d, (holders[c] for c in children)) if len(children) else None
        parents = edges.parent_indices[edges.parent_indptr[v] : edges.parent_indptr[v + 1]]
        return reduce(np.intersect1d, (holders[p] for p in parents)) if len(parents) else None, None

    def _holders(self, v: int, theta: float, within: IntArray | None, forced: IntArray | None) -> IntArray:
        docs: IntArray = np.empty(0, dtype=np.int64)
        if self.position[v] >= 0:
            docs, scores = self.held.column(self.position[v])
            docs = docs[scores > theta]
        if forced is not None:
            return np.union1d(docs, forced)
        return docs if within is None else np.intersect1d(docs, within)

    def _cuts(
        self, v: int, within: IntArray | None = None, forced: IntArray | None = None, *, after_repair: bool = False
    ) -> LabelCuts:
        """LabelCuts of one label, compared with labels as given, or after the repair with closed ones."""
        docs, scores, is_gold, n_positive = self._column(v, self.gold if after_repair else self.given)
        if within is None and forced is None:
            return label_cuts(scores, is_gold[docs], n_positive)
        listed = np.zeros(len(self.held), dtype=bool)
        listed[within if forced is None else forced] = True
        use = listed[docs] if forced is None else ~listed[docs]
        kept, right = (0, 0) if forced is None else (len(forced), int(is_gold[forced].sum()))
        return label_cuts(scores[use], is_gold[docs[use]], n_positive, kept=kept, right=right)

    def _column(self, v: int, labels: CSR) -> tuple[IntArray, FloatArray, BoolArray, int]:
        """Documents with a score of the label, these scores, which of all documents carry it, and how many do."""
        docs, scores = self.held.column(self.position[v])
        positive = labels.indices[labels.indptr[v] : labels.indptr[v + 1]]
        is_gold = np.zeros(len(self.held), dtype=bool)
        is_gold[positive] = True
        return docs, scores, is_gold, len(positive)

    # -- few positives -------------------------------------------------------------------------------------------------

    def _fall_back(self, fallback: str, n_positive: FloatArray) -> None:
        """Thresholds of labels with few positives; the pooled one where there is nothing better."""
        few, columns = np.flatnonzero(~self.enough), self.held.columns
        usual = np.ones(self.held.taxonomy.n_nodes, dtype=bool)
        usual[columns[self.enough]] = False
        shared = self._shared(columns[few]) if fallback == "shared" else None
        self.theta[usual] = pooled_threshold(self.held) if shared is None else shared
        if fallback == "top":
            few = few[n_positive[few] > 0]
            self.theta[columns[few]] = self.highest[few]
        elif fallback == "parent":
            self._inherit(columns[few])

    def _shared(self, labels: IntArray) -> float | None:
        """The one threshold of labels that is best for all of them pooled; None where they have too few positives."""
        parts = [self._column(v, self.given) for v in labels.tolist()]
        n_positive = sum(part[3] for part in parts)
        if n_positive < max(1, self.min_positives):
            return None
        scores = np.concatenate([scores for _, scores, _, _ in parts])
        cuts = label_cuts(scores, np.concatenate([is_gold[docs] for docs, _, is_gold, _ in parts]), n_positive)
        price = None if self.average == "macro" or not self.enough.any() else self.price
        return float(cuts.theta[cuts.best(price)])

    def _inherit(self, labels: IntArray) -> None:
        """The highest threshold of the parents, for labels whose parents have one of their own."""
        own = np.zeros(self.held.taxonomy.n_nodes, dtype=bool)
        own[self.held.columns[self.enough]] = True
        for v in labels:  # parents come first, so that they have theirs already
            parents = self.edges.parent_indices[self.edges.parent_indptr[v] : self.edges.parent_indptr[v + 1]]
            if own[parents].any():
                self.theta[v], own[v] = self.theta[parents[own[parents]]].max(), True


class LabelCuts(NamedTuple):
    """Candidates of one label, thresholds decreasing: documents kept, those of them that are right, thresholds."""

    kept: FloatArray
    right: FloatArray
    theta: FloatArray
    n_positive: float

    def f1(self) -> FloatArray:
        """F1 of each cut; 0 where there is nothing to find."""
        return 2 * self.right / np.maximum(self.kept + self.n_positive, 1)

    def best(self, price: float | None = None) -> int:
        """The cut of largest F1, or of largest 2 right - price kept; the higher threshold where several are."""
        value = self.f1() if price is None else 2 * self.right - price * self.kept
        return int(np.argmax(value))


def label_cuts(scores: FloatArray, positive: BoolArray, n_positive: int, *, kept: int = 0, right: int = 0) -> LabelCuts:
    """The candidates of one label from its scores and which of them are of positive documents.

    Parameters
    ----------
    n_positive : int
        All documents that carry the label, with a score or without.
    kept, right : int, default=0
        Documents that hold the label anyway, and those of them that carry it.

    Examples
    --------
    >>> cuts = label_cuts(np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4]), np.array([1, 0, 1, 1, 0, 0], dtype=bool), 3)
    >>> round(float(cuts.theta[cuts.best()]), 2), cuts.f1().round(4).tolist()
    (0.55, [0.0, 0.5, 0.6667, 0.8571])
    """
    n = len(scores)
    ordered = np.sort(scores).astype(np.float64)
    found, counts = np.unique(scores[positive], return_counts=True)
    found, counts = found[::-1].astype(np.float64), counts[::-1]
    above = n - np.searchsorted(ordered, found, side="left")
    below = np.where(above < n, ordered[np.minimum(n - above - 1, n - 1)], found - 2.0) if n else found
    theta = below + (found - below) / 2
    theta = np.where(theta < found, theta, below)  # neighbours among floating-point numbers have no middle
    nothing = ordered[-1] if n else 0.0
    return LabelCuts(
        np.concatenate([[0], above]) + float(kept),
        np.concatenate([[0], np.cumsum(counts)]) + float(right),
        np.concatenate([[nothing], theta]),
        float(n_positive),
    )


def pooled_threshold(held: HeldOut) -> float:
    """The one threshold for all labels that has the best F1 over all documents and labels pooled.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> from linnaeus.decoding.base import held_out
    >>> pooled_threshold(held_out([[0.9, 0.2], [0.4, 0.6]], [["A"], ["B"]], Taxonomy.flat("AB")))
    0.5
    """
    gold = held.given[:, held.columns].tocoo()  # not closed: what has no score cannot be found
    if isinstance(held.S, TopScores):
        scores, positive = held.S.scores.ravel(), held.is_gold(held.S, held.given).ravel()
    else:
        scores = held.S.ravel()
        positive = np.zeros(held.S.shape, dtype=bool)
        positive[gold.row, gold.col] = True
        positive = positive.ravel()
    known = np.isfinite(scores)
    cuts = label_cuts(scores[known], positive[known], gold.nnz)
    return float(cuts.theta[cuts.best()])
