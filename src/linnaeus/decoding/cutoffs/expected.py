"""The cut of largest expected measure, from calibrated probabilities P of held-out documents.

F-measures that pool pairs of documents and nodes are ratios of expectations (plug-in F), and a ratio is maximised by
one threshold at half of its largest value:

    F* = max_t  2 sum_{P > t} P / ( sum P + #{P > t} ),      answer P > F*/2

    hierarchical_f1     P of closed sets, coherent: {P > t} is closed; one threshold
    micro_f1            P of the labels as they are compared; one threshold
    macro_f1            the same for every node alone; one threshold each
    cost                the expected symmetric difference: P > 1/2

example_f1 is a mean over documents. For independent labels the best answer of a document is its k most probable labels,
and with the number of true ones among and outside of these, K1 and K2 (Poisson-binomial, by dynamic programming),

    E[F(k)] = sum_{k1, k2} 2 k1 / (k + k1 + k2) P(K1 = k1) P(K2 = k2),      E[F(0)] = P(no label)

Curves from scores to probabilities are those of `curves`. Lipton et al. (2014); Ye et al. (2012); Jansche (2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from linnaeus.decoding.base import (
    Decoder,
    HeldOut,
    SetWeights,
    TopScores,
    blocks,
    plain_theta,
    positions,
    theta_per_node,
)
from linnaeus.decoding.cutoffs.cut_off import CutOff, Metric, check_choice
from linnaeus.decoding.probability.curves import Calibrator, fit_calibrator
from linnaeus.decoding.simple.threshold import members, repaired
from linnaeus.errors import DataError
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = ["ExpectedCut", "best_sizes", "plug_in_threshold"]

MEASURES = ("hierarchical_f1", "micro_f1", "macro_f1", "example_f1", "cost")
_MOST = 40  # labels of a document that the dynamic program looks at; the others are too improbable to matter
_MOST_PROJECTED = 3_000  # nodes of a DAG up to which probabilities are projected on coherent ones
_FEW = 3  # positives of a node, expected among the held-out documents, below which it takes the pooled threshold


@dataclass(frozen=True)
class ExpectedCut(CutOff):
    """The answer of largest expected measure.

    Parameters
    ----------
    measure : {"auto", "hierarchical_f1", "micro_f1", "macro_f1", "example_f1", "cost"}, default="auto"
        What is maximised, or for "cost" minimised: the symmetric difference. "auto" follows the metric of the fit,
        where it is one of these, and is "micro_f1" for others.
    at_least_one : bool, default=True
        An empty answer becomes the label of largest score.
    nodes, slope, offset : sequences or None, default=None
        Learned: nodes that have a curve, and the slopes and offsets of their logistic curves.
    theta : float or sequence of float, default=None
        Learned: threshold of the probabilities, one or one for each node.
    repair : {"closure", "suppress"}, default=None
        How answers are made closed; None leaves the labels as they are, see `CutOff`.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.flat(["A", "B"])
    >>> rng = np.random.default_rng(0)
    >>> S = rng.normal(size=(500, 2))
    >>> Y = (S + rng.normal(size=S.shape) > 1.0).astype(int)     # rare labels, noisy scores
    >>> cut = ExpectedCut("micro_f1", at_least_one=False).fit(S, Y, tax)
    >>> 0.2 < cut.theta < 0.4                                    # half of the F1 that is reached
    True
    """

    name: ClassVar[str] = "expected"
    measure: str = "auto"
    at_least_one: bool = True
    nodes: Any = field(default=None, repr=False)
    slope: Any = field(default=None, repr=False)
    offset: Any = field(default=None, repr=False)
    theta: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("measure", self.measure, ("auto", *MEASURES))
        if self.theta is None:
            return
        object.__setattr__(self, "theta", plain_theta(self.theta))
        for name, kind in (("nodes", int), ("slope", float), ("offset", float)):
            object.__setattr__(self, name, tuple(kind(value) for value in getattr(self, name) or ()))
        if not len(self.nodes) == len(self.slope) == len(self.offset):
            raise DataError(f"ExpectedCut has {len(self.nodes)} nodes and {len(self.slope)} curves; expected as many.")

    @property
    def fitted(self) -> bool:
        return self.theta is not None

    @property
    def closed(self) -> bool:
        return self.measure == "hierarchical_f1" or self.repair is not None

    @property
    def along_paths(self) -> bool:
        return False  # probabilities of conditional scores are products along paths

    # -- learning ------------------------------------------------------------------------------------------------------

    def fit(
        self, S: Any, Y: Any, taxonomy: Taxonomy, columns: Any = None, *, metric: Metric | None = None
    ) -> ExpectedCut:
        if self.measure != "auto":
            return super().fit(S, Y, taxonomy, columns, metric=metric)
        asked = getattr(metric, "__name__", "")
        named = replace(self, measure=asked if asked in MEASURES else "micro_f1")
        return CutOff.fit(named, S, Y, taxonomy, columns, metric=metric)

    def _fit(self, held: HeldOut, metric: Metric) -> ExpectedCut:
        if isinstance(held.S, TopScores) and held.truncated is not None:
            raise DataError(
                "ExpectedCut needs the scores of all nodes; got the best of each document. Take another cut-off, or "
                "top=None."
            )
        S = held.S.dense() if isinstance(held.S, TopScores) else held.S
        curves = self._fitted_curves(S, held)
        nodes = curves.nodes if self.closed else held.columns[curves.nodes]
        cut = replace(
            self,
            nodes=tuple(nodes.tolist()),
            slope=tuple(curves.slope.tolist()),
            offset=tuple(curves.offset.tolist()),
            theta=0.5,
        )
        low = float(S[np.isfinite(S)].min(initial=0.0))
        P = cut.probabilities(np.where(np.isfinite(S), S, low), held.taxonomy, held.columns)
        return replace(cut, theta=cut._threshold(P, held.taxonomy))

    def _fitted_curves(self, S: FloatArray, held: HeldOut) -> Calibrator:
        if self.closed:
            own, way = self.repair is not None, self._coherent(held.taxonomy)
            return fit_calibrator(
                S, held.gold, held.taxonomy, held.columns, method="platt", coherent=way, own=own, rank_labels=False
            )
        names = [str(name) for name in held.taxonomy.names[held.columns]]
        alone = Taxonomy.flat(names)  # every label on its own, as it is compared
        order = [alone.index(name) for name in names]
        gold = held.gold[:, held.columns][:, np.argsort(order)]
        return fit_calibrator(S, gold, alone, order, method="platt", rank_labels=False)

    def _coherent(self, taxonomy: Taxonomy) -> str:
        if self.repair == "suppress":
            return "product"
        # The projection on a DAG is a sequence of flow problems for every document.
        return "min" if taxonomy.kind != "tree" and taxonomy.n_nodes > _MOST_PROJECTED else "project"

    def _threshold(self, P: FloatArray, taxonomy: Taxonomy) -> Any:
        if self.measure in ("cost", "example_f1"):
            return 0.5
        pooled = plug_in_threshold(P)
        if self.measure != "macro_f1":
            return pooled
        theta = np.full(taxonomy.n_nodes, pooled)
        enough = P.sum(axis=0) >= _FEW
        nodes = np.asarray(self.nodes)
        theta[nodes[enough]] = [plug_in_threshold(P[:, k]) for k in np.flatnonzero(enough)]
        return tuple(theta.tolist())

    # -- deciding ------------------------------------------------------------------------------------------------------

    def probabilities(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
        """Probabilities of ``nodes``, n_docs x len(nodes): coherent where answers are closed."""
        from scipy.special import expit

        nodes, slope, offset = np.asarray(self.nodes, dtype=np.int32), np.asarray(self.slope), np.asarray(self.offset)
        if self.closed:
            knots, none = np.zeros(len(nodes) + 1, dtype=np.int64), np.empty(0)
            own = self.repair is not None
            return Calibrator(nodes, slope, offset, knots, none, none, self._coherent(taxonomy), own)(
                S, taxonomy, columns
            )
        at = positions(taxonomy, columns, with_root=True)[nodes]
        return np.where(at >= 0, expit(slope * np.asarray(S, dtype=np.float64)[:, at] + offset), 0.0)

    def _cut(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        nodes = np.asarray(self.nodes, dtype=np.int32)
        P = self.probabilities(S, taxonomy, columns)
        order = np.argsort(nodes, kind="stable")
        P, nodes = P[:, order], nodes[order]
        if self.measure == "example_f1":
            above = _most_probable(P, taxonomy.depth[nodes])
        else:
            above = P > theta_per_node(self.theta, taxonomy)[nodes]
        Y = members(P, lambda rows: above[rows], nodes, taxonomy)
        return repaired(Y, taxonomy, "closure" if self.closed else None, self._best(S, columns))

    def margins(self, S: FloatArray, Y: CSR, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
        if self.measure == "example_f1":
            return super().margins(S, Y, taxonomy, columns)
        whole = np.full((len(S), taxonomy.n_nodes), -1.0)
        order = np.argsort(columns, kind="stable")
        nodes = np.asarray(self.nodes)
        whole[:, nodes] = self.probabilities(np.asarray(S)[:, order], taxonomy, np.asarray(columns)[order])
        whole[:, nodes] -= theta_per_node(self.theta, taxonomy)[nodes]
        return np.asarray(whole[:, columns])

    def set_weights(self, S: Any, taxonomy: Taxonomy, columns: Any = None) -> SetWeights:
        self._check_fitted()
        return Decoder.set_weights(self, S, taxonomy, columns)


def plug_in_threshold(P: FloatArray) -> float:
    """Half of the largest expected F1 of cutting probabilities at one threshold; 0.5 where all are 0.

    Examples
    --------
    >>> round(plug_in_threshold(np.array([0.9, 0.5, 0.1])), 3)      # F of the first two: 2 * 1.4 / (1.5 + 2)
    0.4
    """
    p = np.sort(np.ravel(P))[::-1]
    total = float(p.sum())
    if total <= 0:
        return 0.5
    values = 2.0 * np.cumsum(p) / (total + np.arange(1, len(p) + 1))
    return 0.5 * float(values.max())


def best_sizes(P: FloatArray) -> IntArray:
    """How many of the most probable labels have the largest expected F1, for independent labels.

    Parameters
    ----------
    P : ndarray of shape (n_docs, n_labels)
        Probabilities, decreasing in every row.

    Returns
    -------
    ndarray of int, shape (n_docs,)

    Examples
    --------
    >>> best_sizes(np.array([[0.9, 0.5, 0.1], [0.2, 0.1, 0.1], [0.4, 0.35, 0.3]])).tolist()
    [2, 0, 3]
    """
    n_docs, n = P.shape
    values = np.zeros((n_docs, n + 1))
    after = _counts_from(P)
    values[:, 0] = after[0][:, 0]
    before = np.ones((n_docs, 1))
    for k in range(1, n + 1):
        p = P[:, [k - 1]]
        before = np.pad(before * (1.0 - p), ((0, 0), (0, 1))) + np.pad(before * p, ((0, 0), (1, 0)))
        hit, rest = np.arange(k + 1), np.arange(n - k + 1)
        gain = 2.0 * hit[:, None] / (k + hit[:, None] + rest)
        values[:, k] = np.einsum("di,ij,dj->d", before, gain, after[k], optimize=False)
    return values.argmax(axis=1)


def _counts_from(P: FloatArray) -> Sequence[FloatArray]:
    """For every k the distribution of the number of true labels among those from k on."""
    n = P.shape[1]
    found = [np.ones((len(P), 1))] * (n + 1)
    for k in range(n - 1, -1, -1):
        p, more = P[:, [k]], found[k + 1]
        found[k] = np.pad(more * (1.0 - p), ((0, 0), (0, 1))) + np.pad(more * p, ((0, 0), (1, 0)))
    return found


def _most_probable(P: FloatArray, depth: IntArray) -> BoolArray:
    """The labels of the best answers; of equally probable ones those higher up come first, so that sets are closed."""
    above = np.zeros(P.shape, dtype=bool)
    width = min(_MOST, P.shape[1])
    for rows in blocks(len(P), max(1, width * width)):
        order = np.lexsort((np.broadcast_to(depth, P[rows].shape), -P[rows]), axis=1)[:, :width]
        chosen = np.arange(width) < best_sizes(np.take_along_axis(P[rows], order, axis=1))[:, None]
        np.put_along_axis(above[rows], order, chosen, axis=1)
    return above
