"""Probabilities from scores: for every node a rising curve fitted on held-out scores, then made coherent.

Truth is the closed label set, so P_v is the probability that v or something below it is a label. The score of a node
is its own where the model was taught closed sets, else the largest of its own and of those below. Curves of one node:

    platt       P = 1 / (1 + exp(-(a f + b))),  a > 0, by maximum likelihood, pulled towards the curve with the slope of
                all nodes of its level and the offset with which the node's share is met: a node with few positives has
                nearly that one
    isotonic    the nearest rising steps, joined by lines; with at least 200 documents and 20 positives, else platt

Coherent, no child above its parent:

    project     the nearest coherent values (`smoothed`): never farther from the truth
    min         the least on the way down
    product     curves of p_v = P(v | all parents), fitted where these are true, multiplied along the path; for scores
                that compare a node with its siblings
    softmax     where every document has one label: Q_v = exp(a f_v) / sum_u exp(a f_u) over the labels, one slope a by
                maximum likelihood, so that labels are ranked as by their scores; P_v is the sum of Q at and below v

Q_v, the probability that v itself is a label (`label_probabilities`), is what suggestions show. Where every document
has one label it sums to 1 over the labels: other ways than softmax take P_v less that of the children and divide by the
sum, and P_v becomes the sum of Q again. For label sets it is one rising curve of the scores of all labels, which keeps
their order. Where the model was taught closed sets the score of a node that has children with large scores is lowered,
f_v - 2 max(0, 1 + f_c) for the largest f_c of the children; Q_v is one rising curve of it where its first label is
right for more of the documents than that of P_v less the largest of the children, which is Q_v otherwise.

Logistic curves of many nodes at once, from held-out scores F and truth Y (n_docs x n_nodes).

    max  sum_i  t_i log p_i + (1 - t_i) log(1 - p_i),   p_i = 1 / (1 + exp(-(a f_i + b)))

with Platt's targets t = (N+ + 1)/(N+ + 2) for the positive and 1/(N- + 2) for the other documents, by Newton's method
in the two parameters of every node, with halved steps. Where a curve is expected beforehand, such as that of a node's
level, the parameters are pulled towards it: less tau/2 |(a, b) - (a0, b0)|^2, of standardised scores. Nodes whose
slope is given need only the offset with which the mean probability is a given share. Nodes are treated in blocks, so
that memory does not grow with their number.

Platt (1999); Lin, Lin and Weng (2007).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linnaeus.decoding.base import HeldOut, TopScores, held_out, hierarchy
from linnaeus.decoding.probability.coherence import lifted, lowered, smoothed
from linnaeus.errors import DataError, ParameterError, check_choice
from linnaeus.losses.surrogate import Logistic
from linnaeus.taxonomy.closure import pointers, row_numbers
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import BoolArray, FloatArray, IntArray

__all__ = ["COHERENT", "METHODS", "Calibrator", "fit_calibrator", "logistic_regression", "offsets", "platt",
           "platt_columns"]  # fmt: skip

_PAIRS = 2**17  # pairs of documents and nodes of a block: its arrays stay in the cache
_STEPS, _HALVINGS = 50, 20
_LOGISTIC = Logistic()
_TILT, _RIDGE = 1e-6, 1e-2
_OVERTAKEN = 2.0  # times the margin of a child by which the score of its parent is lowered, to rank labels
_SHARE_STEPS, _SHARE_TOLERANCE = 60, 1e-10


def platt(f: FloatArray, y: BoolArray) -> tuple[float, float]:
    """Slope and offset of the logistic curve of largest likelihood.

    Parameters
    ----------
    f : ndarray of shape (n_docs,)
        Scores of one node.
    y : ndarray of bool, shape (n_docs,)
        The truth.

    Returns
    -------
    slope, offset : float
        Of the curve 1 / (1 + exp(-(slope * f + offset))).

    Examples
    --------
    >>> slope, offset = platt(np.array([-2.0, -1.0, 1.0, 2.0] * 5), np.array([False, False, True, True] * 5))
    >>> bool(slope > 1), bool(abs(offset) < 1e-9)
    (True, True)
    """
    slope, offset = platt_columns(f[:, None], y[:, None], np.ones((len(f), 1), dtype=bool))
    return float(slope[0]), float(offset[0])


def logistic_regression(F: FloatArray, y: BoolArray, n: int) -> FloatArray:
    """Weights and constant of a logistic regression; negative rows stand for all of the ``n`` pairs that are negative.

    Features are standardised, with a small ridge, so that separable classes have a finite solution.

    Examples
    --------
    >>> F, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([False, True, False, True])
    >>> logistic_regression(F, y, 4).round(1).tolist()
    [0.9, -1.3]
    """
    from scipy.special import expit, logit

    F = np.asarray(F, np.float64)
    mean, spread = F.mean(axis=0), np.maximum(F.std(axis=0), 1e-12)
    Z = np.column_stack([(F - mean) / spread, np.ones(len(F))])
    positive = int(y.sum())
    weight = np.where(y, 1.0, (n - positive) / max(1, len(y) - positive))
    ridge = np.full(Z.shape[1], _RIDGE)
    ridge[-1] = 1e-9
    w = np.zeros(Z.shape[1])
    w[-1] = logit((positive + 0.5) / (n + 1.0))

    def loss(w: FloatArray) -> float:
        t = Z @ w
        return float(weight @ (_LOGISTIC.value(-t) - y * t) + 0.5 * ridge @ w**2)

    value = loss(w)
    for _ in range(100):
        p = expit(Z @ w)
        gradient = Z.T @ (weight * (p - y)) + ridge * w
        step = np.linalg.solve(Z.T @ (Z * (weight * p * (1 - p))[:, None]) + np.diag(ridge), gradient)
        if gradient @ step < 1e-10 * max(1.0, value):
            break
        length = 1.0
        while length > 1e-6 and loss(w - length * step) > value:
            length /= 2
        w = w - length * step
        value = loss(w)
    weights = w[:-1] / spread
    return np.append(weights, w[-1] - weights @ mean)


def platt_columns(
    F: FloatArray,
    Y: BoolArray,
    use: BoolArray,
    expected: tuple[FloatArray, FloatArray] | None = None,
    tau: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Slopes and offsets of the logistic curves of largest likelihood, one for every column.

    Parameters
    ----------
    F : ndarray of shape (n_docs, n_nodes)
        Scores.
    Y : ndarray of bool, shape (n_docs, n_nodes)
        The truth.
    use : ndarray of bool, shape (n_docs, n_nodes)
        Which pairs count.
    expected : (slopes, offsets), default=None
        Curves that are expected beforehand; the targets are then 1 and 0.
    tau : float, default=0.0
        Strength of the pull towards these.

    Returns
    -------
    slope, offset : ndarrays of shape (n_nodes,)
        Of the curves 1 / (1 + exp(-(slope * f + offset))).

    Examples
    --------
    >>> F = np.array([[-2.0, 0.0], [-1.0, 1.0], [1.0, 0.0], [2.0, 1.0]] * 5)
    >>> slope, offset = platt_columns(F, F > 0.5, np.ones(F.shape, dtype=bool))
    >>> bool((slope > 1).all())
    True
    """
    slope, offset = np.zeros(F.shape[1]), np.zeros(F.shape[1])
    for columns in _blocks(*F.shape):
        here = None if expected is None else (expected[0][columns], expected[1][columns])
        slope[columns], offset[columns] = _newton(F[:, columns], Y[:, columns], use[:, columns], here, tau)
    return slope, offset


class _Block(NamedTuple):
    """Standardised scores, targets and weights (n_docs x n_nodes); expected parameters; weights of their columns."""

    Z: FloatArray
    T: FloatArray
    weight: FloatArray
    n_docs: FloatArray
    a0: FloatArray
    b0: FloatArray
    tau: float

    def taken(self, columns: BoolArray) -> _Block:
        """Some of the columns."""
        Z, T, weight = (matrix[:, columns] for matrix in (self.Z, self.T, self.weight))
        return _Block(Z, T, weight, self.n_docs[columns], self.a0[columns], self.b0[columns], self.tau)

    def expand(self, a: FloatArray, b: FloatArray) -> _Expansion:
        """The loss of every column, and the slopes and curvatures of its pairs."""
        margin = a * self.Z + b
        value, slope, curvature = _LOGISTIC.expand(-margin)
        pull = 0.5 * self.tau * ((a - self.a0) ** 2 + (b - self.b0) ** 2)
        margin *= self.T
        value -= margin
        value *= self.weight
        slope += self.T
        slope *= self.weight
        curvature *= self.weight
        return _Expansion(value.sum(axis=0) + pull, slope, curvature)

    def direction(self, a: FloatArray, b: FloatArray, at: _Expansion) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Newton's step in both parameters, and which gradients are small already."""
        g_a = self.tau * (a - self.a0) - np.einsum("ij,ij->j", at.slope, self.Z)
        g_b = self.tau * (b - self.b0) - at.slope.sum(axis=0)
        least = self.tau + 1e-9
        HZ = at.curvature * self.Z
        h_aa, h_ab, h_bb = np.einsum("ij,ij->j", HZ, self.Z) + least, HZ.sum(axis=0), at.curvature.sum(axis=0) + least
        det = h_aa * h_bb - h_ab * h_ab
        small = (det <= 0) | (np.maximum(np.abs(g_a), np.abs(g_b)) < 1e-8 * self.n_docs)
        det = np.where(det > 0, det, 1.0)
        return (h_bb * g_a - h_ab * g_b) / det, (h_aa * g_b - h_ab * g_a) / det, small


class _Expansion(NamedTuple):
    """Losses of columns; slopes, towards smaller losses, and curvatures of pairs (n_docs x n_nodes)."""

    loss: FloatArray
    slope: FloatArray
    curvature: FloatArray

    def taken(self, columns: BoolArray) -> _Expansion:
        """Some of the columns."""
        return _Expansion(self.loss[columns], self.slope[:, columns], self.curvature[:, columns])


def _newton(
    F: FloatArray, Y: BoolArray, use: BoolArray, expected: tuple[FloatArray, FloatArray] | None, tau: float
) -> tuple[FloatArray, FloatArray]:
    """`platt_columns` of one block; columns leave it as they converge."""
    n = np.maximum(use.sum(axis=0), 1).astype(np.float64)
    n_positive = (Y & use).sum(axis=0).astype(np.float64)
    centre = np.where(use, F, 0.0).sum(axis=0) / n
    Z = np.where(use, F - centre, 0.0)
    scale = np.sqrt((Z * Z).sum(axis=0) / n)
    scale[scale == 0] = 1.0
    Z /= scale
    weight = use.astype(np.float64)
    if expected is None:
        T = np.where(Y, (n_positive + 1) / (n_positive + 2), 1 / (n - n_positive + 2))
        share = np.clip((T * weight).sum(axis=0) / n, 1e-12, 1 - 1e-12)
        a, b, tau = np.zeros(F.shape[1]), np.log(share / (1 - share)), 0.0
    else:
        T = Y.astype(np.float64)
        a, b = expected[0] * scale, expected[1] + expected[0] * centre
    block = _Block(Z, T, weight, n, a.copy(), b.copy(), tau)
    at = block.expand(a, b)
    live: IntArray = np.arange(F.shape[1])
    for _ in range(_STEPS):
        if not len(live):
            break
        step_a, step_b, small = block.direction(a[live], b[live], at)
        size, worse = np.where(small, 0.0, 1.0), np.zeros(len(live), dtype=bool)
        for _ in range(_HALVINGS):
            trial = block.expand(a[live] - size * step_a, b[live] - size * step_b)
            worse = ~(trial.loss <= at.loss)
            if not worse.any():
                break
            size[worse] /= 2
        better = ~worse & (size > 0)
        a[live] -= np.where(better, size, 0.0) * step_a
        b[live] -= np.where(better, size, 0.0) * step_b
        going = better & (at.loss - trial.loss >= 1e-10 * np.maximum(1.0, np.abs(at.loss)))
        at = trial  # columns that are not better leave the block
        if not going.all():
            live, block, at = live[going], block.taken(going), at.taken(going)
    return a / scale, b - a * centre / scale


def offsets(F: FloatArray, use: BoolArray, slope: FloatArray, share: FloatArray) -> FloatArray:
    """Offsets with which the mean of every logistic curve is a given share.

    Parameters
    ----------
    F : ndarray of shape (n_docs, n_nodes)
        Scores.
    use : ndarray of bool, shape (n_docs, n_nodes)
        Which pairs count; where none of a node does, the offset alone gives the share.
    slope : ndarray of shape (n_nodes,)
        Slopes, all above 0.
    share : ndarray of shape (n_nodes,)
        Shares, between 0 and 1.

    Returns
    -------
    ndarray of shape (n_nodes,)

    Examples
    --------
    >>> F = np.array([[-1.0], [1.0]])
    >>> offsets(F, np.ones((2, 1), dtype=bool), np.ones(1), np.array([0.5])).round(6).tolist()
    [0.0]
    """
    b = np.zeros(F.shape[1])
    for columns in _blocks(*F.shape):
        b[columns] = _offsets(F[:, columns], use[:, columns], slope[columns], share[columns])
    return b


def _offsets(F: FloatArray, use: BoolArray, slope: FloatArray, share: FloatArray) -> FloatArray:
    """`offsets` of one block: Newton's steps on the log-odds of the mean, kept between bounds by bisection."""
    from scipy.special import expit, logit

    wanted = logit(share)
    n = use.sum(axis=0)
    G = np.where(use, slope * F, 0.0)
    least, most = (
        np.where(use, G, np.inf).min(axis=0, initial=np.inf),
        np.where(use, G, -np.inf).max(axis=0, initial=-np.inf),
    )
    least, most = np.where(n > 0, least, 0.0), np.where(n > 0, most, 0.0)
    low, high = wanted - most, wanted - least  # where all scores are the largest, or the least
    b, live = np.clip(wanted - G.sum(axis=0) / np.maximum(n, 1), low, high), np.flatnonzero(n > 0)
    b[n == 0] = wanted[n == 0]
    G, use = G[:, live], use[:, live]
    for _ in range(_SHARE_STEPS):
        if not len(live):
            break
        P = np.where(use, expit(G + b[live]), 0.0)
        mean, slopes = P.sum(axis=0) / n[live], (P * (1 - P)).sum(axis=0) / n[live]
        above = mean > share[live]
        high[live] = np.where(above, b[live], high[live])
        low[live] = np.where(above, low[live], b[live])
        mean = np.clip(mean, 1e-300, 1 - 1e-16)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = (logit(mean) - wanted[live]) * mean * (1 - mean) / slopes
        new = b[live] - step
        inside = np.isfinite(new) & (new >= low[live]) & (new <= high[live])
        new = np.where(inside, new, 0.5 * (low[live] + high[live]))
        going = np.abs(new - b[live]) > _SHARE_TOLERANCE * np.maximum(1.0, np.abs(new))
        b[live] = new
        live, G, use = live[going], G[:, going], use[:, going]
    return b


def _blocks(n_docs: int, n_columns: int) -> Iterator[slice]:
    size = max(1, _PAIRS // max(1, n_docs))
    return (slice(start, start + size) for start in range(0, n_columns, size))


METHODS, COHERENT = ("isotonic", "platt"), ("project", "min", "product", "softmax")
_ENOUGH_DOCS, _ENOUGH_POSITIVES, _FEW = 200, 20, 5
_PULL = 20.0  # of a node's curve towards that of its level, in documents of largest information
_EDGE = 1e-6  # probabilities stay so far from 0 and 1
_POOL = 200_000  # pairs of a level that its slope is fitted on


@dataclass(frozen=True)
class Calibrator:
    """Curves of ``nodes`` (all that are scored, and their ancestors); make one with `fit_calibrator`.

    ``slope`` and ``offset`` are of logistic curves; nodes with knots (rows of ``indptr``) have steps instead.
    ``labels`` are the nodes that documents were labelled with, of which each has one if ``single``; ``label_slope`` is
    the slope of the soft-max over them, ``label_x`` and ``label_y`` are the knots of the one curve of their scores.
    """

    nodes: IntArray
    slope: FloatArray
    offset: FloatArray
    indptr: IntArray
    x: FloatArray
    y: FloatArray
    coherent: str
    own: bool
    labels: IntArray | None = None
    single: bool = False
    label_slope: float = 0.0
    label_x: FloatArray | None = None
    label_y: FloatArray | None = None

    def __call__(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None) -> FloatArray:
        """Coherent probabilities of ``nodes`` (n_docs x len(nodes)); every document on its own."""
        if self.labels is None or not self.single:
            return self._nodewise(S, taxonomy, columns)
        above = taxonomy.ancestor_matrix[self.labels][:, self.nodes].astype(np.float64)
        return np.minimum(self.label_probabilities(S, taxonomy, columns) @ above, 1.0)

    def label_probabilities(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None) -> FloatArray:
        """Probabilities that a node itself is a label, of ``labels`` (n_docs x len(labels))."""
        if self.labels is None:
            raise DataError("The model was calibrated by an earlier version; calibrate it again.")
        if self.coherent == "softmax":
            F = self.label_slope * _label_scores(np.asarray(S, dtype=np.float64), columns, self.labels)
            E = np.exp(F - F.max(axis=1, keepdims=True))
            return np.asarray(E / E.sum(axis=1, keepdims=True))
        if self.label_x is not None and self.label_y is not None:
            F = self._ranks(S, taxonomy, columns, self.labels)
            return np.asarray(np.interp(F, self.label_x, self.label_y))
        P = self._nodewise(S, taxonomy, columns)
        whole = np.zeros((len(P), taxonomy.n_nodes))
        whole[:, self.nodes] = P
        Q = np.maximum(whole - _below(whole, taxonomy, np.add if self.single else np.maximum), _EDGE * whole)
        Q = Q[:, self.labels]
        return Q / Q.sum(axis=1, keepdims=True) if self.single else Q

    def label_order(
        self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None, Q: FloatArray
    ) -> FloatArray:
        """What ranks labels as their probabilities Q do: the scores behind them, where Q rises with these.

        Probabilities of two labels may be equal where their scores are not.
        """
        if self.labels is None or not (self.coherent == "softmax" or self.label_x is not None):
            return Q
        return self._ranks(S, taxonomy, columns, self.labels)

    def _ranks(
        self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None, labels: IntArray
    ) -> FloatArray:
        """Scores that rank labels: their own, of closed sets lowered by those of children."""
        S = np.asarray(S, dtype=np.float64)
        F = _label_scores(S, columns, labels)
        if not self.own or self.coherent in ("softmax", "product"):
            return F
        above = np.zeros((len(S), taxonomy.n_nodes))
        above[:, np.asarray(columns)] = np.maximum(0.0, 1.0 + S)
        return F - _OVERTAKEN * _below(above, taxonomy, np.maximum)[:, labels]

    def _nodewise(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None) -> FloatArray:
        """The curves of all nodes, made coherent."""
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

    @property
    def stepped(self) -> IntArray:
        """The nodes that have isotonic curves."""
        return self.nodes[np.diff(self.indptr) > 0]

    def to_dict(self) -> dict[str, object]:
        """Its fields, for the store."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def fit_calibrator(
    S: npt.ArrayLike,
    Y: object,
    taxonomy: Taxonomy,
    columns: npt.ArrayLike | None = None,
    *,
    method: str = "isotonic",
    coherent: str = "project",
    own: bool = False,
    labels: npt.ArrayLike | None = None,
    single: bool = False,
    shares: FloatArray | None = None,
    stepped: npt.ArrayLike | None = None,
    rank_labels: bool = True,
) -> Calibrator:
    """Curves fitted on scores of documents that the model has not seen.

    Parameters
    ----------
    S : array-like of shape (n_docs, n_scored)
        Scores; minus infinity means that a node has no score.
    Y : object
        Labels of any kind; their closures are the truth.
    taxonomy : Taxonomy
        The taxonomy of the nodes.
    columns : array-like of int, default=None
        Node numbers of the columns of S; None: all nodes in order.
    method : {"isotonic", "platt"}, default="isotonic"
        The curves of single nodes.
    coherent : {"project", "min", "product", "softmax"}, default="project"
        How probabilities are made coherent; "softmax" needs ``single``, and no curves of single nodes.
    own : bool, default=False
        Whether inner nodes have scores of closed sets, which need no help of those below.
    labels : array-like of int, default=None
        The nodes that documents are labelled with; None: those that have scores.
    single : bool, default=False
        Whether every document has one label, so that their probabilities sum to 1.
    shares : ndarray of shape (n_nodes,), default=None
        The share of documents at or below every node, where it is known from more documents than these.
    stepped : array-like of int, default=None
        Nodes that have isotonic curves, where these were chosen on more documents; None: all with enough documents.
    rank_labels : bool, default=True
        Whether `label_probabilities` are asked for, which have a curve of their own.

    Returns
    -------
    Calibrator

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
    if coherent == "softmax" and not single:
        raise ParameterError(
            "coherent='softmax' is for documents with one label each; expected 'project', 'min' or 'product'."
        )
    held = held_out(S, Y, taxonomy, columns, close=True)
    S = held.S.dense() if isinstance(held.S, TopScores) else held.S
    scored = held.columns[held.columns != taxonomy.root]
    nodes = np.unique(taxonomy.ancestor_matrix[scored].indices).astype(np.int32)
    if not len(nodes):
        raise DataError("There is no node to calibrate: only the root has scores.")
    carried = scored if labels is None else np.intersect1d(np.asarray(labels), scored)
    low = float(S[np.isfinite(S)].min(initial=0.0))
    if coherent == "softmax":  # a label that has no score here, as in no fold, is one of them all the same
        slope = _softmax_slope(np.where(np.isfinite(S), S, low), held, carried)
        carried = carried if labels is None else np.unique(labels)
        nodes = np.unique(taxonomy.ancestor_matrix[carried].indices).astype(np.int32)
        none, knots, empty = np.zeros(len(nodes)), np.zeros(len(nodes) + 1, dtype=np.int64), np.empty(0)
        return Calibrator(nodes, none, none, knots, empty, empty, coherent, own, carried, True, slope)
    known = lifted(np.where(np.isfinite(S), 1.0, -1.0), taxonomy, held.columns, own=own or coherent == "product")
    F = lifted(np.where(np.isfinite(S), S, low), taxonomy, held.columns, own=own or coherent == "product")
    gold = held.gold.toarray().astype(bool)
    use = known > 0
    if coherent == "product":
        use &= _parents_hold(gold, taxonomy)
    depth, share = taxonomy.depth[nodes], None if shares is None or coherent == "product" else shares[nodes]
    curves = _fitted(F[:, nodes], gold[:, nodes], use[:, nodes], depth, nodes, method, coherent, own, share, stepped)
    plain = replace(curves, labels=carried, single=single)
    if single or coherent == "product" or not rank_labels:
        return plain
    ranks = curves._ranks(np.where(np.isfinite(S), S, low), taxonomy, held.columns, carried)
    if own:
        Q = plain.label_probabilities(np.where(np.isfinite(S), S, low), taxonomy, held.columns)
        if _first_hits(ranks, held, carried) <= _first_hits(Q, held, carried):
            return plain
    x, y = _label_curve(ranks, held, carried)
    if own:  # labels are ranked by Q itself, so that it has to rise between steps
        x, y = np.concatenate([[x[0] - 10.0], x, [x[-1] + 10.0]]), np.concatenate([y[:1], y, y[-1:]])
        y = (1.0 - _TILT) * y + _TILT * (x - x[0]) / (x[-1] - x[0])
    return replace(plain, label_x=x, label_y=y)


def _fitted(
    F: FloatArray,
    gold: BoolArray,
    use: BoolArray,
    depth: IntArray,
    nodes: IntArray,
    method: str,
    coherent: str,
    own: bool,
    shares: FloatArray | None,
    stepped: npt.ArrayLike | None,
) -> Calibrator:
    m = len(nodes)
    n_docs, n_positive = use.sum(axis=0), (gold & use).sum(axis=0)
    levels = {int(d): _level_slope(F, gold, use, depth == d) for d in np.unique(depth)}
    slope = np.array([levels[int(d)] for d in depth])
    if shares is None:
        shares = (n_positive + 1) / (n_docs + 2)
    offset = offsets(F, use, slope, np.clip(shares, _EDGE, 1 - _EDGE))
    some = np.flatnonzero(n_positive)  # nodes without positives keep the curve of their level
    own_slope, own_offset = platt_columns(F[:, some], gold[:, some], use[:, some], (slope[some], offset[some]), _PULL)
    rising = own_slope > 0
    slope[some[rising]], offset[some[rising]] = own_slope[rising], own_offset[rising]
    knots: list[tuple[FloatArray, FloatArray]] = [(np.empty(0), np.empty(0))] * m
    if method == "isotonic":
        often = (n_docs >= _ENOUGH_DOCS) & (n_positive >= _ENOUGH_POSITIVES)
        if stepped is not None:
            often = np.isin(nodes, np.asarray(stepped)) & (n_positive > 0)
        for j in np.flatnonzero(often & (n_positive < n_docs)):
            knots[j] = _steps(F[use[:, j], j], gold[use[:, j], j])
    indptr = pointers([len(x) for x, _ in knots])
    x, y = (np.concatenate([pair[i] for pair in knots]) for i in (0, 1))
    return Calibrator(nodes, slope, offset, indptr, x, y, coherent, own or coherent == "product")


def _label_scores(S: FloatArray, columns: npt.ArrayLike | None, labels: IntArray) -> FloatArray:
    """The columns of the labels; the least score of the document where a label has none."""
    columns = np.asarray(columns)
    order = np.argsort(columns, kind="stable")
    at = order[np.minimum(np.searchsorted(columns[order], labels), len(order) - 1)]
    return np.where(columns[at] == labels, S[:, at], S.min(axis=1, keepdims=True))


def _softmax_slope(S: FloatArray, held: HeldOut, labels: IntArray) -> float:
    """The slope a of largest likelihood of soft-max(a S), over documents whose label has a score."""
    from scipy.optimize import minimize_scalar
    from scipy.special import logsumexp

    F = _label_scores(S, held.columns, labels)
    truth = held.taxonomy.frontier(held.gold)[:, labels]
    rows, target = row_numbers(truth.indptr), truth.indices
    if not len(rows) or len(labels) < 2:
        return 1.0
    F = F[rows] - F[rows].max(axis=1, keepdims=True)
    scale = float(F.std()) or 1.0

    def loss(t: float) -> float:
        a = np.exp(t) / scale
        return float((logsumexp(a * F, axis=1) - a * F[np.arange(len(F)), target]).mean())

    return float(np.exp(minimize_scalar(loss, bounds=(-6.0, 6.0), method="bounded").x) / scale)


def _first_hits(ranks: FloatArray, held: HeldOut, labels: IntArray) -> int:
    """Number of documents whose best label is given."""
    best = labels[ranks.argmax(axis=1)]
    return int((held.given.tocsr()[np.arange(len(best)), best] > 0).sum())


def _label_curve(ranks: FloatArray, held: HeldOut, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """Knots of one rising curve from the scores of all labels to how often they are given."""
    from sklearn.isotonic import IsotonicRegression

    F = ranks.ravel()
    y = held.given[:, labels].toarray().ravel() > 0
    known = np.isfinite(F)
    positive, negative = np.flatnonzero(known & y), np.flatnonzero(known & ~y)
    step = len(negative) // _POOL + 1
    at = np.concatenate([positive, negative[::step]])
    weight = np.where(y[at], 1.0, float(step))
    fitted = IsotonicRegression(y_min=_EDGE, y_max=1.0 - _EDGE, out_of_bounds="clip").fit(F[at], y[at], weight)
    return fitted.X_thresholds_, fitted.y_thresholds_


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


def _parents_hold(gold: BoolArray, taxonomy: Taxonomy) -> BoolArray:
    """Where all parents of a node are true."""
    edges, hold = hierarchy(taxonomy), np.ones(gold.shape, dtype=bool)
    for v in range(taxonomy.n_nodes):
        for p in edges.parent_indices[edges.parent_indptr[v] : edges.parent_indptr[v + 1]].tolist():
            hold[:, v] &= gold[:, p]
    return hold


def _below(P: FloatArray, taxonomy: Taxonomy, join: np.ufunc) -> FloatArray:
    """What the children of every node have together (n_docs x n_nodes)."""
    edges, below = hierarchy(taxonomy), np.zeros_like(P)
    join.at(below.T, edges.parent_indices, P.T[row_numbers(edges.parent_indptr)])
    return below


def _multiplied(P: FloatArray, taxonomy: Taxonomy) -> FloatArray:
    """Conditional probabilities times that of the parents; of several the least, which bounds that all hold."""
    edges, V = hierarchy(taxonomy), P.T.copy()
    for v in range(taxonomy.n_nodes):
        above = edges.parent_indices[edges.parent_indptr[v] : edges.parent_indptr[v + 1]]
        if len(above):
            V[v] *= V[above].min(axis=0)
    return np.ascontiguousarray(V.T)
