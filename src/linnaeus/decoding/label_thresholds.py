"""One threshold for each label, where its F1 on held-out documents is best.

All cuts of a label's held-out scores are tried, never inside a group of equal scores; of equally good ones the highest
counts; the threshold is the middle between the last score kept and the first one not kept. This maximises macro-F1,
which is a mean over labels. Micro-F1 pools the counts of all labels,

    F = 2 sum_v right_v / (sum_v kept_v + sum_v positives_v),

and is maximised by taking at every label the cut of largest 2 right_v - F kept_v, with F of the last round, until F
grows no more (Dinkelbach 1967). What cannot be improved label by label is a fixed point of this and so the optimum.

Rare labels overfit. A label with few held-out positives takes its parent's threshold, or the pooled one; a label whose
best F1 stays below ``fbr`` is refused (FBR.0) or accepted only above its best held-out score (FBR.1; Yang 2001).

With a repair the cuts of a label are then compared as they are after it, given what is decided around it: with
"suppress" from the top down, on documents that hold all parents; with "closure" from the bottom up, where documents
that hold a child hold the label anyway. What rare labels inherit comes from before the repair: a node high up that is
right for most documents once sets are closed is best cut very low, and no child may inherit that.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from linnaeus.decoding.base import hierarchy, positions
from linnaeus.decoding.held_out import HeldOut
from linnaeus.decoding.sweep import Cuts, label_cuts, pooled_threshold
from linnaeus.typing import FloatArray, IntArray

__all__ = ["LabelThresholds"]

_ROUNDS = 30  # of the pooled F1; it takes three to six


class LabelThresholds:
    """Thresholds of all labels on held-out documents, and the F1 that each label reached.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> from linnaeus.decoding.held_out import held_out
    >>> held = held_out([[0.9, 0.2], [0.4, 0.6], [0.8, 0.7]], [["A"], ["B"], ["A"]], Taxonomy.flat("AB"))
    >>> LabelThresholds(held, min_positives=1).final().round(2).tolist()
    [0.6, 0.4]
    """

    def __init__(
        self,
        held: HeldOut,
        average: str = "macro",
        min_positives: int = 5,
        fallback: str = "parent",
        repair: str | None = None,
    ) -> None:
        self.held, self.average, self.repair = held, average, repair
        self.given, self.gold = held.given.tocsc(), held.gold.tocsc()
        self.edges, self.position = hierarchy(held.taxonomy), positions(held.taxonomy, held.columns, with_root=True)
        self.bare = [self._cuts(v) for v in held.columns]
        self.highest = np.array([cuts.theta[0] for cuts in self.bare])
        self.f1: FloatArray = np.zeros(len(held.columns))
        n_positive = np.array([cuts.right[-1] for cuts in self.bare])  # those that have a score
        self.enough = n_positive >= max(1, min_positives)
        self.theta: FloatArray = np.full(held.taxonomy.n_nodes, pooled_threshold(held))
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
            price = pooled

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
    ) -> Cuts:
        """Cuts of one label, compared with labels as given, or after the repair with closed ones."""
        docs, scores = self.held.column(self.position[v])
        labels = self.gold if after_repair else self.given
        positive = labels.indices[labels.indptr[v] : labels.indptr[v + 1]]
        is_gold = np.zeros(len(self.held), dtype=bool)
        is_gold[positive] = True
        if within is None and forced is None:
            return label_cuts(scores, is_gold[docs], len(positive))
        listed = np.zeros(len(self.held), dtype=bool)
        listed[within if forced is None else forced] = True
        use = listed[docs] if forced is None else ~listed[docs]
        kept, right = (0, 0) if forced is None else (len(forced), int(is_gold[forced].sum()))
        return label_cuts(scores[use], is_gold[docs[use]], len(positive), kept=kept, right=right)

    # -- few positives -------------------------------------------------------------------------------------------------

    def _fall_back(self, fallback: str, n_positive: FloatArray) -> None:
        """Thresholds of labels with few positives; the pooled one stays where there is nothing better."""
        few = np.flatnonzero(~self.enough)
        if fallback == "top":
            few = few[n_positive[few] > 0]
            self.theta[self.held.columns[few]] = self.highest[few]
        if fallback != "parent":
            return
        own = np.zeros(self.held.taxonomy.n_nodes, dtype=bool)
        own[self.held.columns[self.enough]] = True
        for v in self.held.columns[few]:  # parents come first, so that they have theirs already
            parents = self.edges.parent_indices[self.edges.parent_indptr[v] : self.edges.parent_indptr[v + 1]]
            if own[parents].any():
                self.theta[v], own[v] = self.theta[parents[own[parents]]].max(), True
