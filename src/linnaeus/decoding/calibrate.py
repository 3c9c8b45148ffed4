"""Probabilities from scores: for every node a rising curve fitted on held-out scores, then made coherent.

Truth is the closed label set, so P_v is the probability that v or something below it is a label. The score of a node
is its own where the model was taught closed sets, else the largest of its own and of those below. Curves of one node:

    platt       P = 1 / (1 + exp(-(a f + b))),  a > 0, by maximum likelihood, targets (N+ + 1)/(N+ + 2) and 1/(N- + 2)
    isotonic    the nearest rising steps, joined by lines; with at least 200 documents and 20 positives, else platt
    pooled      where a node has too few positives: a of all nodes of its level, b such that the node's share is met

Coherent, no child above its parent:

    project     the nearest coherent values (`smoothed`): never farther from the truth
    min         the least on the way down
    product     curves of p_v = P(v | all parents), fitted where these are true, multiplied along the path; for scores
                that compare a node with its siblings
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from linnaeus.decoding.base import hierarchy
from linnaeus.decoding.cut import check_choice
from linnaeus.decoding.held_out import TopScores, held_out
from linnaeus.decoding.smoothing import lifted, lowered, smoothed
from linnaeus.errors import DataError
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import BoolArray, FloatArray, IntArray

__all__ = ["COHERENT", "METHODS", "Calibrator", "fit_calibrator"]

METHODS, COHERENT = ("isotonic", "platt"), ("project", "min", "product")
_ENOUGH_DOCS, _ENOUGH_POSITIVES, _FEW = 200, 20, 5
_EDGE = 1e-6  # probabilities stay so far from 0 and 1
_POOL = 200_000  # pairs of a level that its slope is fitted on


@dataclass(frozen=True)
class Calibrator:
    """Curves of ``nodes`` (all that are scored, and their ancestors); make one with `fit_calibrator`.

    ``slope`` and ``offset`` are of logistic curves; nodes with knots (rows of ``indptr``) have steps instead.
    """

    nodes: IntArray
    slope: FloatArray
    offset: FloatArray
    indptr: IntArray
    x: FloatArray
    y: FloatArray
    coherent: str
    own: bool

    def __call__(self, S: Any, taxonomy: Taxonomy, columns: Any) -> FloatArray:
        """Coherent probabilities of ``nodes`` (n_docs x len(nodes)); every document on its own."""
        columns = np.asarray(columns)
        F = lifted(np.asarray(S, dtype=np.float64), taxonomy, columns, own=self.own)[:, self.nodes]
        P = self._curves(F)
        if self.coherent == "project":
            P = smoothed(P, taxonomy, self.nodes)
        else:
            whole: FloatArray = np.ones((len(P), taxonomy.n_nodes))
            whole[:, self.nodes] = P
            whole = lowered(whole, taxonomy) if self.coherent == "min" else _multiplied(whole, taxonomy)
            P = whole[:, self.nodes]
        return np.clip(P, 0.0, 1.0)

    def _curves(self, F: FloatArray) -> FloatArray:
        from scipy.special import expit

        P = expit(self.slope * F + self.offset)
        for j in np.flatnonzero(np.diff(self.indptr)).tolist():
            knots = slice(self.indptr[j], self.indptr[j + 1])
            P[:, j] = np.interp(F[:, j], self.x[knots], self.y[knots])
        return np.clip(P, _EDGE, 1.0 - _EDGE)

    def to_dict(self) -> dict[str, Any]:
        """Its fields, for the store."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def fit_calibrator(
    S: Any,
    Y: Any,
    taxonomy: Taxonomy,
    columns: Any = None,
    *,
    method: str = "isotonic",
    coherent: str = "project",
    own: bool = False,
) -> Calibrator:
    """Curves fitted on scores of documents that the model has not seen.

    Parameters
    ----------
    S : scores, n_docs x n_scored; minus infinity is no score.
    Y : labels of any kind; their closures are the truth.
    method : "isotonic" or "platt".
    coherent : "project", "min" or "product".
    own : whether inner nodes have scores of closed sets, which need no help of those below.

    Examples
    --------
    >>> tax = Taxonomy.flat(["A"])
    >>> f = np.linspace(-2, 2, 40)[:, None]
    >>> gold = [["A"] if value > 0.5 else [] for value in f[:, 0]]
    >>> curve = fit_calibrator(f, gold, tax, method="platt")
    >>> P = curve(np.array([[-2.0], [0.5], [2.0]]), tax, [0])[:, 0]
    >>> bool(P[0] < 0.1 < 0.3 < P[1] < 0.7 < 0.9 < P[2])
    True
    """
    check_choice("method", method, METHODS)
    check_choice("coherent", coherent, COHERENT)
    held = held_out(S, Y, taxonomy, columns, close=True)
    S = held.S.dense() if isinstance(held.S, TopScores) else held.S
    scored = held.columns[held.columns != taxonomy.root]
    nodes = np.unique(taxonomy.ancestor_matrix[scored].indices).astype(np.int32)
    if not len(nodes):
        raise DataError("There is no node to calibrate: only the root has scores.")
    known = lifted(np.where(np.isfinite(S), 1.0, -1.0), taxonomy, held.columns, own=own or coherent == "product")
    low = float(S[np.isfinite(S)].min(initial=0.0))
    F = lifted(np.where(np.isfinite(S), S, low), taxonomy, held.columns, own=own or coherent == "product")
    gold = held.gold.toarray().astype(bool)
    use = known > 0
    if coherent == "product":
        use &= _parents_hold(gold, taxonomy)
    return _fitted(F[:, nodes], gold[:, nodes], use[:, nodes], taxonomy.depth[nodes], nodes, method, coherent, own)


def _fitted(
    F: FloatArray,
    gold: BoolArray,
    use: BoolArray,
    depth: IntArray,
    nodes: IntArray,
    method: str,
    coherent: str,
    own: bool,
) -> Calibrator:
    m = len(nodes)
    slope, offset = np.zeros(m), np.zeros(m)
    knots: list[tuple[FloatArray, FloatArray]] = [(np.empty(0), np.empty(0))] * m
    levels = {int(d): _level_slope(F, gold, use, depth == d) for d in np.unique(depth)}
    for j in range(m):
        f, y = F[use[:, j], j], gold[use[:, j], j]
        n_positive = int(y.sum())
        if min(n_positive, len(y) - n_positive) >= _FEW:
            slope[j], offset[j] = platt(f, y)
        if slope[j] <= 0:
            slope[j] = levels[int(depth[j])]
            offset[j] = _offset(f, slope[j], (n_positive + 1) / (len(y) + 2))
        if method == "isotonic" and len(y) >= _ENOUGH_DOCS and _ENOUGH_POSITIVES <= n_positive < len(y):
            knots[j] = _steps(f, y)
    indptr = np.cumsum([0, *(len(x) for x, _ in knots)])
    x, y = (np.concatenate([pair[i] for pair in knots]) for i in (0, 1))
    return Calibrator(nodes, slope, offset, indptr, x, y, coherent, own or coherent == "product")


def platt(f: FloatArray, y: BoolArray) -> tuple[float, float]:
    """Slope and offset of the logistic curve of largest likelihood, by Newton's method with halved steps."""
    n_positive = int(y.sum())
    t = np.where(y, (n_positive + 1) / (n_positive + 2), 1 / (len(y) - n_positive + 2))
    centre, scale = float(f.mean()), float(f.std()) or 1.0
    z = (f - centre) / scale
    a, b = 0.0, float(np.log(t.mean() / (1 - t.mean())))

    def loss(a: float, b: float) -> float:
        margin = a * z + b
        return float(np.logaddexp(0.0, margin).sum() - (t * margin).sum())

    now = loss(a, b)
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-np.clip(a * z + b, -500, 500)))
        g_a, g_b = float(((p - t) * z).sum()), float((p - t).sum())
        h = p * (1 - p)
        h_aa, h_ab, h_bb = float((h * z * z).sum()) + 1e-9, float((h * z).sum()), float(h.sum()) + 1e-9
        det = h_aa * h_bb - h_ab * h_ab
        if det <= 0 or max(abs(g_a), abs(g_b)) < 1e-8 * len(y):
            break
        step_a, step_b, size = (h_bb * g_a - h_ab * g_b) / det, (h_aa * g_b - h_ab * g_a) / det, 1.0
        while size > 1e-6 and (new := loss(a - size * step_a, b - size * step_b)) > now:
            size /= 2
        if size <= 1e-6 or now - new < 1e-10 * max(1.0, abs(now)):
            break
        a, b, now = a - size * step_a, b - size * step_b, new
    return a / scale, b - a * centre / scale


def _steps(f: FloatArray, y: BoolArray) -> tuple[FloatArray, FloatArray]:
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=_EDGE, y_max=1.0 - _EDGE, out_of_bounds="clip").fit(f, y.astype(np.float64))
    return fitted.X_thresholds_, fitted.y_thresholds_


def _level_slope(F: FloatArray, gold: BoolArray, use: BoolArray, here: BoolArray) -> float:
    """One slope for all nodes of a level together; 1 where they teach none."""
    at = np.flatnonzero((use & here).ravel())
    if len(at) > _POOL:
        at = at[:: len(at) // _POOL + 1]
    f, y = F.ravel()[at], gold.ravel()[at]
    a = platt(f, y)[0] if _FEW <= y.sum() <= len(y) - _FEW else 1.0
    return a if a > 0 else 1.0


def _offset(f: FloatArray, slope: float, share: float) -> float:
    """b with which the mean of the curve is ``share``."""
    if not len(f):
        return float(np.log(share / (1 - share)))
    low, high = -float(np.abs(slope * f).max()) - 20.0, float(np.abs(slope * f).max()) + 20.0
    for _ in range(60):
        b = 0.5 * (low + high)
        mean = float((1.0 / (1.0 + np.exp(-np.clip(slope * f + b, -500, 500)))).mean())
        low, high = (b, high) if mean < share else (low, b)
    return 0.5 * (low + high)


def _parents_hold(gold: BoolArray, taxonomy: Taxonomy) -> BoolArray:
    """Where all parents of a node are true."""
    edges, hold = hierarchy(taxonomy), np.ones(gold.shape, dtype=bool)
    for v in range(taxonomy.n_nodes):
        for p in edges.parent_indices[edges.parent_indptr[v] : edges.parent_indptr[v + 1]].tolist():
            hold[:, v] &= gold[:, p]
    return hold


def _multiplied(P: FloatArray, taxonomy: Taxonomy) -> FloatArray:
    """Conditional probabilities times that of the parents; of several the least, which bounds that all hold."""
    edges, V = hierarchy(taxonomy), P.T.copy()
    for v in range(taxonomy.n_nodes):
        above = edges.parent_indices[edges.parent_indptr[v] : edges.parent_indptr[v + 1]]
        if len(above):
            V[v] *= V[above].min(axis=0)
    return np.ascontiguousarray(V.T)
