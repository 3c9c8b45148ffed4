"""Scores of several sources as one: calibrated log-odds of every source, and their weights at every node.

    t_v(x) = b_v + sum_s w_vs z_sv(x),      z_sv(x) = a_sv f_sv(x) + o_sv

f_sv is the score of source s. Where every document has one label, soft-max(t) are probabilities, a_s is one slope per
source (of largest likelihood of soft-max(a_s f_s) over the labels) and o = 0. For label sets, truth is the closed set
and t_v are log-odds; f_sv is the largest score at or below v unless the source was taught closed sets itself, a_s is
one slope per level of the taxonomy, and o_sv such that the node's share of documents is met: the share in all documents
where that is known, since a share that is counted without a document is lower for its labels than for those of others,
so that the scores of its labels would be too low. The weights w_v and b_v
come from `solvers.mixing`: those of nodes with fewer documents are nearer to those of their parents. They also adapt
the slope of a curve to its node, more reliably than a logistic curve of each node with few documents would.

Held-out scores say too little about nodes with few documents: the only document of a node is scored by a model that
does not know the node, all others by models that do, so that its one true score is among its lowest. Nodes with 1-2,
3-5 and 6-19 documents therefore share their curves, where there are many of them: a logistic regression over the pairs
of such nodes with the scores of all sources as inputs. Only the best nodes of every document and source are pairs.

Nodes that a source scores, but that no document has as a label, share their curves: weights of their parents, which
differ from node to node, would put low scores of one node before higher ones of another. The nodes with one document
stand for them, since the held-out score of that document is of a model without it: as many documents will have a label
that none had before (Good and Turing). Slopes of all sources and the constant b are a logistic regression of these
pairs against those of the nodes without documents, over pairs with high scores, since others are not answered anyway.
They are raised beyond their log-odds (`raised`, which probabilities do not have) as far as labels with few and with
more documents stay among the ten best of a document nearly as often as in the best source for them (a share of
``unseen_cost`` may be lost), and micro-F1 is not expected to fall by a larger share.
Where nodes with one document are few, and for the soft-max, weights are those of parents, and the constant is that with
which the expected number of labels is met; the soft-max is not raised. There a node u without documents is compared
with the others by what every source says about both, since a source that does not know u says nothing about it,
however sure it is of the others:

    t_u(x) = lse_v t_v(x) + b + sum_s w_us (z_su(x) - lse_v z_sv(x)),      v: all nodes with documents

Where it counts which label comes first (`learn_first`), t is a soft-max as well, also where documents have several
labels, and nodes with 0, 1-2, 3-5, 6-19 and more documents share one curve of every source: weights of single nodes say
nothing where few documents are held out. In `solvers.mixing` the groups take the place of the nodes below one root.

A source is anything that has scores of the same documents: a model's scores of documents that it has not seen, or a
label file of another tool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from linnaeus.data.check import check_labels, check_weights
from linnaeus.data.label_files.content import LabelFile, align
from linnaeus.decoding.base import TopScores
from linnaeus.decoding.cutoffs.cut_off import path_minima
from linnaeus.decoding.probability.coherence import lifted
from linnaeus.decoding.probability.curves import logistic_regression, platt
from linnaeus.engine import blocks, rows_that_fit
from linnaeus.errors import DataError, ParameterError, check_number, nearest, place, warn_user
from linnaeus.models.solvers.mixing import MixingProblem, MixingSolution, Pulls, pulls_of
from linnaeus.order import best_columns
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = [
    "COST",
    "FIRST",
    "MixtureWeights",
    "SourceScores",
    "fit_mixture",
    "mixture_targets",
    "target_shares",
    "targets_of",
]

FIRST = "first"  # what is learned where it counts which label comes first

_PAIRS = 4_000_000  # of documents and nodes that are used
_SHARE_STEPS, _SHARE_TOLERANCE = 30, 1e-3  # of offsets, which the constants of the mixture correct anyway
_LONGEST_STEP = 4.0  # times the difference of log-odds, where the curve of a node is flat
_BLOCK = 256 * 2**20  # bytes of scores held at once: lifting scores is quicker for many documents
_POOL = 200_000  # pairs of a level that its slope is fitted on
_MOST = 100  # best nodes of a document and source that are pairs, or fewer where there are many documents
_FEW = (3, 6, 20)  # nodes with up to 2, with 3-5 and with 6-19 held-out documents share their curves,
_GROUPS = (1, *_FEW)  # the same and nodes without documents, where it counts which label comes first
_SHARING = 30  # where there are this many of them
_FEWEST = 10  # best nodes of a document and source that are used in any case
_BEST = 10  # nodes of a document, on average, whose scores are high enough to be answered without documents
_RAISES = np.arange(0.0, 12.01, 0.25)
COST = 0.01  # of the labels with documents among the ten best
_RAISED_ON = 2_000  # documents
_BINS = 4_000  # of log-odds, where one offset is found for many pairs


@dataclass(frozen=True)
class SourceScores:
    """Scores of documents by one source.

    Parameters
    ----------
    S : ndarray of shape (n_docs, n_scored) or TopScores
        The scores; minus infinity where the source has none.
    nodes : ndarray of int, shape (n_scored,)
        Node numbers of the columns.
    nested : bool, default=False
        Whether inner nodes have scores of closed sets, which need no help of those below.
    conditional : bool, default=False
        Whether a score compares a node with its siblings only.

    Examples
    --------
    >>> import numpy as np
    >>> SourceScores(np.array([[0.9, -np.inf]]), np.array([1, 2])).nested
    False
    """

    S: FloatArray | TopScores
    nodes: IntArray
    nested: bool = False
    conditional: bool = False

    @classmethod
    def of_labels(cls, file: LabelFile, taxonomy: Taxonomy, ids: Sequence[str] | None = None) -> SourceScores:
        """The labels of a file, with scores; labels that it does not suggest have 0, or the least of all scores.

        Parameters
        ----------
        file : LabelFile
            What `linnaeus.data.label_files.read_label_file` reads.
        taxonomy : Taxonomy
            The taxonomy of the labels.
        ids : sequence of str, default=None
            The ids of the documents, in their order; the file may lack some and order them differently. None takes the
            documents as they are in the file.

        Returns
        -------
        SourceScores

        Examples
        --------
        >>> tax = Taxonomy.flat("ABC")
        >>> file = LabelFile("suggested.tsv", [["A", "C"], ["C"]], [1, 2], scores=[[0.9, 0.2], [0.5]])
        >>> scores = SourceScores.of_labels(file, tax)
        >>> tax.names[scores.nodes].tolist(), scores.S.tolist()
        (['A', 'C'], [[0.9, 0.2], [0.0, 0.5]])
        """
        if file.scores is None:
            raise DataError(f"{file.source} has labels without scores; a source of a mixture needs a score per label.")
        if ids is not None:
            file = align(LabelFile("the ids", [[] for _ in ids], [0] * len(ids), list(ids)), file)[0]
        for labels, line in zip(file.labels, file.lines, strict=True):
            for label in labels:
                if label not in taxonomy:
                    known = nearest(label, taxonomy.names)
                    raise DataError(f"Label {label!r} ({place(file.source, line)}) is not in the taxonomy{known}")
        rows = [[taxonomy.index(label) for label in labels] for labels in file.labels]
        nodes = np.unique([v for row in rows for v in row]).astype(np.int32)
        values_of = file.scores or []
        scores = [score for row in values_of for score in row]
        if not scores:
            raise DataError(f"{file.source} suggests no label for any document.")
        S = np.full((len(rows), len(nodes)), min(0.0, *scores))
        for d, (row, values) in enumerate(zip(rows, values_of, strict=True)):
            np.maximum.at(S[d], np.searchsorted(nodes, row), values)
        return cls(S, nodes)

    def over(self, rows: slice, taxonomy: Taxonomy, nodes: IntArray, *, closed: bool) -> FloatArray:
        """Scores of ``nodes`` for some documents (float64); minus infinity where the source has none.

        Of the best scores of a document, those that are not among them are taken as the least that is.
        """
        part = self.S[rows]
        S: FloatArray = np.asarray(part.dense() if isinstance(part, TopScores) else part, dtype=np.float64)
        if isinstance(part, TopScores) and part.k < part.n_columns:
            S = np.maximum(S, np.where(np.isfinite(part.scores), part.scores, np.inf).min(axis=1, keepdims=True))
            S[np.isposinf(S)] = -np.inf  # no score at all
        columns = np.asarray(self.nodes)
        if (np.diff(columns) < 0).any():
            order = np.argsort(columns, kind="stable")
            S, columns = S[:, order], columns[order]
        if self.conditional and not isinstance(part, TopScores):
            S = path_minima(S, taxonomy, columns)
        own = columns
        if closed and taxonomy.n_edges and not (self.nested and np.isin(nodes, columns).all()):
            S, own = lifted(S, taxonomy, columns, own=self.nested), np.arange(taxonomy.n_nodes)
            columns = np.unique(taxonomy.ancestor_matrix[columns].indices)  # those with a score at or below them
        known = np.isin(nodes, columns)
        found = np.full((len(S), len(nodes)), -np.inf)
        found[:, known] = S[:, np.searchsorted(own, nodes[known])]
        return found


@dataclass(frozen=True)
class MixtureWeights:
    """How scores of several sources become one score; made by `fit_mixture`.

    Attributes
    ----------
    names : list of str
        The sources.
    nodes : ndarray of int, shape (n_labels,)
        The nodes that have a mixed score.
    slope, offset : ndarrays of shape (n_labels, n_sources)
        Curves from scores to log-odds.
    prior : ndarray of shape (n_labels,)
        Log-odds where a source has no score.
    weights : ndarray of shape (n_labels, n_sources)
        Weights of the log-odds.
    intercept : ndarray of shape (n_labels,)
        The constants.
    vertices : ndarray of int
        The nodes whose weights were learned together: ``nodes``, all above them, and perhaps -1, above all others.
    vertex_weights : ndarray of shape (n_vertices, n_sources + 1)
        Their weights, the constant last.
    single : bool
        Whether every document has one label, so that scores are those of a soft-max.
    objective, gap : float
        What was minimised, and a bound on how far it is from the smallest value.
    n_iter : int
        The number of Newton steps.
    closed : bool, default=True
        Whether scores of label sets are of a node or anything below it, not of the node itself.
    raised : ndarray of shape (n_labels,)
        What ``intercept`` has beyond log-odds, so that nodes without documents are among the best of a document; 0
        unless given, as in model folders written before it was stored.
    relative : ndarray of int, shape (n_relative,)
        Columns of the nodes of a soft-max that have no documents, whose scores are relative to those of the others;
        none unless given.
    """

    names: list[str]
    nodes: IntArray
    slope: FloatArray
    offset: FloatArray
    prior: FloatArray
    weights: FloatArray
    intercept: FloatArray
    vertices: IntArray
    vertex_weights: FloatArray
    single: bool
    objective: float
    gap: float
    n_iter: int
    closed: bool = True
    raised: FloatArray = field(default_factory=lambda: np.zeros(0))
    relative: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        if not np.size(self.raised):
            object.__setattr__(self, "raised", np.zeros(len(self.nodes)))

    @property
    def lifts(self) -> bool:
        """Whether a source without closed scores scores a node by the best one at or below it."""
        return self.closed and not self.single

    def __call__(self, sources: Mapping[str, SourceScores], taxonomy: Taxonomy) -> FloatArray:
        """Mixed scores of ``nodes`` (n_docs x n_labels), every document on its own."""
        given = _ordered(sources, self.names)
        parts = []
        for rows in blocks(len(given[0].S), rows_that_fit(8 * taxonomy.n_nodes * (len(given) + 1), _BLOCK)):
            Z = self.log_odds([source.over(rows, taxonomy, self.nodes, closed=self.lifts) for source in given])
            parts.append(self.mix(Z))
        return np.concatenate(parts) if len(parts) != 1 else parts[0]

    def log_odds(self, scores: Sequence[FloatArray]) -> list[FloatArray]:
        """Calibrated scores of every source (n_docs x n_labels each); ``scores`` are those of ``nodes``."""
        return [
            _log_odds(F, self.slope[:, s], self.offset[:, s], self.prior, self.single) for s, F in enumerate(scores)
        ]

    def mix(self, Z: Sequence[FloatArray]) -> FloatArray:
        """The weighted sum of log-odds; of nodes without documents in a soft-max relative to the other nodes."""
        mixed = self.intercept + self.weights[:, 0] * Z[0]
        for s in range(1, len(Z)):
            mixed += self.weights[:, s] * Z[s]
        if len(self.relative):
            from scipy.special import logsumexp

            others = [logsumexp(np.delete(part, self.relative, axis=1), axis=1) for part in (mixed, *Z)]
            mixed[:, self.relative] += others[0][:, None] - np.stack(others[1:], 1) @ self.weights[self.relative].T
        return mixed

    def of_node(self, node: str | int, taxonomy: Taxonomy) -> dict[str, float]:
        """The weights of any node by the name of the source; a node without a score has those of its parents.

        Examples
        --------
        >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"]])
        >>> S = np.array([[3.0, -3.0, 3.0], [-3.0, 3.0, 3.0]] * 20)
        >>> sources = {"good": SourceScores(S, np.array([1, 2, 0])), "constant": SourceScores(S * 0, np.arange(3))}
        >>> mixture = fit_mixture(sources, [["A", "AA"], ["A"]] * 20, tax)
        >>> weights = mixture.of_node("AB", tax)
        >>> weights == mixture.of_node("A", tax), weights["good"] > weights["constant"]
        (True, True)
        """
        v = taxonomy.index(node)
        at = np.flatnonzero(self.nodes == v)
        weights = self.weights[at[0]] if len(at) else self.vertex_weights_of(np.array([v]), taxonomy)[0, :-1]
        return dict(zip(self.names, weights.tolist(), strict=True))

    def vertex_weights_of(self, nodes: IntArray, taxonomy: Taxonomy) -> FloatArray:
        """Weights of any nodes, the constant last; the mean of those of the parents where none were learned."""
        known = dict(zip(self.vertices.tolist(), self.vertex_weights, strict=True))

        def weights_of(v: int) -> FloatArray:
            if v not in known:
                parents = [] if taxonomy.kind == "graph" else taxonomy.parents(v).tolist()
                above = [weights_of(p) for p in parents]
                known[v] = np.mean(above, axis=0) if above else self.vertex_weights[0]
            return known[v]

        return np.array([weights_of(v) for v in nodes.tolist()]).reshape(len(nodes), self.vertex_weights.shape[1])

    def to_dict(self) -> dict[str, Any]:
        """Its fields, for the store."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def fit_mixture(
    sources: Mapping[str, SourceScores],
    y: Any,
    taxonomy: Taxonomy,
    *,
    C: float = 0.3,
    sample_weight: Any = None,
    tol: float = 1e-6,
    max_iter: int = 100,
    learn: str = "closed",
    unseen_cost: float = COST,
) -> MixtureWeights:
    """Learn how to mix scores of several sources, from documents that none of them has learned from.

    Parameters
    ----------
    sources : dict of SourceScores by name
        Scores of the same documents.
    y : labels
        Labels of the documents, of any kind. Where every document has one label, labels exclude each other.
    taxonomy : Taxonomy
        The taxonomy of the labels.
    C : float, default=0.3
        Weight of the documents against the pull of every node's weights towards those of its parents.
    sample_weight : array-like of shape (n_docs,), default=None
        Weights of the documents.
    tol : float, default=1e-6
        The certified relative gap at which the weights are final.
    max_iter : int, default=100
        The most Newton steps.
    learn : {"closed", "given", "first"}, default="closed"
        Whether scores of label sets are of a node or anything below it, of the node itself, or say which node should
        come first.
    unseen_cost : float, default=0.01
        Share of the labels with documents among the ten best of a document that nodes without documents may replace.

    Returns
    -------
    MixtureWeights
        Call it with scores of other documents, and the taxonomy, for mixed scores. Nodes are those of y and those
        that a source scores.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> tax = Taxonomy.flat("ABC")
    >>> gold = rng.random((300, 3)) < 0.3
    >>> ours = SourceScores(gold + rng.normal(size=gold.shape), np.arange(3))
    >>> theirs = SourceScores(gold + 2 * rng.normal(size=gold.shape), np.arange(3))
    >>> mixture = fit_mixture({"ours": ours, "theirs": theirs}, gold.astype(int), tax)
    >>> S = mixture({"ours": ours, "theirs": theirs}, tax)
    >>> S.shape, bool(mixture.gap <= 1e-6 * mixture.objective)
    ((300, 3), True)
    """
    check_number("C", C, above=0)
    check_number("tol", tol, above=0)
    check_number("max_iter", max_iter, least=1, whole=True)
    check_number("unseen_cost", unseen_cost, least=0)
    given = _ordered(sources, list(sources))
    Y, taxonomy, _ = check_labels(y, taxonomy, len(given[0].S))
    closed = learns_closed(learn)
    Y, single = mixture_targets(Y, taxonomy, learn)
    if not Y.nnz:
        raise DataError("y has no label at all: every document has an empty set.")
    nodes = mixed_nodes(given, Y, taxonomy, single, closed=closed)
    weights = check_weights(sample_weight, Y.shape[0])
    limits = C, weights, tol, max_iter
    named = dict(zip(sources, given, strict=True))
    if learn == FIRST:
        return learn_first(named, Y, taxonomy, nodes, *limits)
    return learn_weights(named, Y, taxonomy, nodes, single, *limits, closed=closed, unseen_cost=unseen_cost)


def learns_closed(learn: object) -> bool:
    """Whether ``learn`` is "closed"; an error unless it is "closed", "given" or "first"."""
    if learn not in ("closed", "given", FIRST):
        raise ParameterError(f"learn={learn!r}; expected 'closed', 'given' or 'first'.")
    return learn == "closed"


def mixture_targets(Y: CSR, taxonomy: Taxonomy, learn: str = "closed") -> tuple[CSR, bool]:
    """What mixed scores are of, labels or label sets, and whether they are those of a soft-max over labels."""
    if learn == FIRST:
        return Y, True
    frontier = taxonomy.frontier(Y)
    single = bool((np.diff(frontier.indptr) == 1).all())
    return targets_of(Y, taxonomy, single, closed=learn == "closed"), single


def targets_of(Y: CSR, taxonomy: Taxonomy, single: bool, *, closed: bool) -> CSR:
    """What mixed scores are of: the most specific labels of a soft-max, closed sets, or labels as given."""
    if single:
        return taxonomy.frontier(Y)
    return taxonomy.close(Y, keep_root=False) if closed else Y


def mixed_nodes(
    sources: Sequence[SourceScores], Y: CSR, taxonomy: Taxonomy, single: bool, *, closed: bool = True
) -> IntArray:
    """Nodes with a mixed score: those of the targets Y, and those that a source scores, in the order of their numbers.

    A source of closed or conditional scores has scores of inner nodes that no document has as a label of its own; they
    are added to closed sets only.
    """
    own = np.unique(Y.indices)
    lifts = closed and not single
    scored = [np.asarray(s.nodes) for s in sources if lifts or not (s.nested or s.conditional)]
    more = np.unique(np.concatenate(scored)) if scored else own
    if lifts and taxonomy.n_edges:
        more = np.unique(taxonomy.ancestor_matrix[more].indices)
    more = more[more != (-1 if taxonomy.root is None else taxonomy.root)]
    return np.union1d(own, more).astype(np.int32)


def learn_weights(
    sources: Mapping[str, SourceScores],
    Y: CSR,
    taxonomy: Taxonomy,
    nodes: IntArray,
    single: bool,
    C: float,
    weights: FloatArray | None,
    tol: float,
    max_iter: int,
    *,
    closed: bool = True,
    unseen_cost: float = COST,
    known: CSR | None = None,
) -> MixtureWeights:
    """`fit_mixture` of checked values; Y are the targets, and ``nodes`` are mixed, with or without documents.

    ``known`` are the targets of all training documents, where these are more.
    """
    more = Y if known is None else known
    shares = target_shares(more)
    seen = nodes[shares[nodes] > 0]
    if 0 < len(seen) < len(nodes):
        given_to = sources, Y, taxonomy, seen, single, C, weights, tol, max_iter
        learned = learn_weights(*given_to, closed=closed, known=known)
        return _with_unseen(learned, sources, Y, taxonomy, nodes, unseen_cost, more)
    given = list(sources.values())
    pairs = _pairs(given, Y, taxonomy, nodes, single, closed and not single)
    share = np.maximum(shares[nodes], 0.5 / (more.shape[0] + 1.0))
    prior = np.zeros(len(nodes)) if single else np.log(share / (1 - share))
    curve = _softmax_curves if single else _node_curves
    fixed = None if known is None else Y.shape[0]
    curves = [curve(F, pairs, taxonomy.depth[nodes], share, fixed) for F in pairs.scores.T]
    slope, offset = (np.column_stack([c[i] for c in curves]) for i in (0, 1))
    own = np.ones(len(nodes), bool)
    if not single:
        counts = np.bincount(Y.indices, minlength=taxonomy.n_nodes)[nodes]
        own = ~_share_curves(slope, offset, prior, pairs, counts)
    pulls = pulls_of(taxonomy, nodes[own] if own.any() else nodes)
    at = np.searchsorted(pulls.vertices, nodes[own])
    mine = np.flatnonzero(own[pairs.column])
    pairs = _Pairs(pairs.document[mine], pairs.column[mine], pairs.scores[mine], pairs.truth[mine])
    Z = np.column_stack(
        [
            np.where(np.isfinite(F), slope[pairs.column, s] * _finite(F) + offset[pairs.column, s], prior[pairs.column])
            for s, F in enumerate(pairs.scores.T)
        ]
    )
    c = np.full(len(Z), C) if weights is None else C * weights[pairs.document]
    starts = np.flatnonzero(np.diff(pairs.document, prepend=-1)) if single else None
    vertex = at[(np.cumsum(own) - 1)[pairs.column]]
    found = MixingProblem(Z, pairs.truth.astype(np.float64), vertex, c, pulls, starts).solve(tol, max_iter)
    _warn(found, tol, max_iter)
    W = np.tile(np.append(np.full(len(given), 1 / len(given)), 0.0), (len(nodes), 1))  # what shared curves are made for
    W[own] = found.weights[at]
    return MixtureWeights(
        list(sources), nodes, slope, offset, prior, W[:, :-1], W[:, -1], pulls.vertices, found.weights, single,
        float(found.objective), float(found.gap), found.n_iter, closed,
    )  # fmt: skip


def target_shares(Y: CSR) -> FloatArray:
    """The share of documents with each node as a target, 0 for nodes without documents.

    Examples
    --------
    >>> target_shares(Taxonomy.flat("AB").indicator([["A"], [], []])).round(3).tolist()
    [0.375, 0.0]
    """
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    return np.where(counts > 0, (counts + 0.5) / (Y.shape[0] + 1.0), 0.0)


def learn_first(
    sources: Mapping[str, SourceScores],
    Y: CSR,
    taxonomy: Taxonomy,
    nodes: IntArray,
    C: float,
    weights: FloatArray | None,
    tol: float,
    max_iter: int,
    *,
    learned_from: IntArray | None = None,
    counts: IntArray | None = None,
) -> MixtureWeights:
    """Weights with which the first label is right most often, one for each group of nodes.

    ``learned_from`` are the documents of every node of the taxonomy that the sources had learned from; None where each
    document of Y was left out in turn. ``counts`` are those of the sources whose scores will be mixed; None: the same.
    """
    own = np.bincount(Y.indices, minlength=taxonomy.n_nodes)
    counts = learned_from if counts is None else counts
    counts = own if counts is None else counts
    given, n_groups = list(sources.values()), len(_GROUPS) + 1
    # A label that no source has found would make low scores look likely.
    pairs = _pairs(given, Y, taxonomy, nodes, True, False, add_labels=False)
    met = own[nodes[pairs.column]] - pairs.truth if learned_from is None else learned_from[nodes[pairs.column]]
    group, group_of_node = (np.searchsorted(_GROUPS, n, side="right") for n in (met, counts[nodes]))
    curves = [_softmax_curves(F, pairs, taxonomy.depth[nodes], np.zeros(len(nodes))) for F in pairs.scores.T]
    slope = np.column_stack([curve[0] for curve in curves])
    starts = np.flatnonzero(np.diff(pairs.document, prepend=-1))
    size = np.diff(np.append(starts, len(pairs.document)))
    truth = pairs.truth / np.repeat(np.add.reduceat(pairs.truth.astype(np.float64), starts), size)
    Z, known = slope[0] * pairs.scores, np.ones((n_groups, len(given)), dtype=bool)
    for s, source in enumerate(given):  # a source that scores no node of a group says nothing about it
        scored = np.isin(nodes, source.nodes)
        known[:, s] = np.bincount(group, scored[pairs.column], n_groups) > 0
        Z[~known[group, s], s] = 0.0
    c = np.full(len(Z), C) if weights is None else C * weights[pairs.document]
    found = MixingProblem(Z, truth, group + 1, c, _star(n_groups), starts).solve(tol, max_iter)
    _warn(found, tol, max_iter)
    W = np.where(np.column_stack([known, np.ones(n_groups)]), found.weights[1:], 0.0)[group_of_node]
    none = np.zeros(len(nodes))
    return MixtureWeights(
        list(sources), nodes, slope, np.zeros_like(slope), none, W[:, :-1], W[:, -1], np.array([-1], np.int32),
        found.weights[:1], True, float(found.objective), float(found.gap), found.n_iter, False,
    )  # fmt: skip


def _star(n: int) -> Pulls:
    """One vertex above n others."""
    from scipy import sparse

    laplacian = np.diag(np.append(n + 1.0, np.ones(n)))
    laplacian[0, 1:] = laplacian[1:, 0] = -1.0
    return Pulls(np.arange(-1, n, dtype=np.int32), sparse.csr_array(laplacian))


# -- nodes without documents -------------------------------------------------------------------------------------------


def _with_unseen(
    learned: MixtureWeights,
    sources: Mapping[str, SourceScores],
    Y: CSR,
    taxonomy: Taxonomy,
    nodes: IntArray,
    cost: float,
    known: CSR,
) -> MixtureWeights:
    """The same with further nodes, which none of all training documents has; ``known`` are the targets of these."""
    from scipy.special import logit

    new = np.setdiff1d(nodes, learned.nodes)
    n_docs = Y.shape[0]
    once = np.flatnonzero(np.bincount(Y.indices, minlength=taxonomy.n_nodes) == 1)
    expected = _new_labels(known)
    share = min(0.5, expected / len(new))
    rows = np.unique(np.linspace(0, n_docs - 1, min(n_docs, max(_FEWEST, _PAIRS // len(new)))).astype(np.int64))
    some = {name: replace(source, S=source.S[rows]) for name, source in sources.items()}
    scores = [source.over(slice(0, len(rows)), taxonomy, new, closed=learned.lifts) for source in some.values()]
    found = None
    if not learned.single:
        alone = [_scores_of_pairs(source, Y, taxonomy, once, learned.lifts) for source in sources.values()]
        found = _curves_of_unseen(scores, alone, n_docs)
        if found is not None:  # the curve is of nodes that are new among the held-out documents, which are more
            found["intercept"] = found["intercept"] + np.log(expected / _new_labels(Y))
    prior = np.full(len(new), 0.0 if learned.single else logit(share))
    if found is None:
        found = _curves_of_parents(learned, some, scores, taxonomy, new, prior, min(0.5, expected), share)
    raised = 0.0
    if not learned.single:
        every: dict[str, Any] = {
            name: np.broadcast_to(value, (len(new), *value.shape[1:])) for name, value in found.items()
        }
        raised = _raised(learned, replace(learned, nodes=new, prior=prior, **every), sources, Y, taxonomy, cost)
        found["intercept"] = found["intercept"] + raised
    found["raised"] = np.array([raised])
    both = np.concatenate([learned.nodes, new])
    order = np.argsort(both, kind="stable")
    at = order[np.searchsorted(both[order], nodes)]
    added = {"nodes": new, "prior": prior, **found}
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(learned, name), np.broadcast_to(value, (len(new), *np.shape(value)[1:]))])[at]
        for name, value in added.items()
    }
    relative = np.flatnonzero(np.isin(nodes, new)) if learned.single else learned.relative
    return replace(learned, relative=relative, **joined)


def _new_labels(Y: CSR) -> float:
    """Expected number of labels of a further document that none of these has: by those that one of them has."""
    once = int((np.bincount(Y.indices, minlength=Y.shape[1]) == 1).sum())
    return max(once, 0.5) / (Y.shape[0] + 1.0)


def _curves_of_unseen(
    scores: Sequence[FloatArray], alone: Sequence[FloatArray], n_docs: int
) -> dict[str, FloatArray] | None:
    """Curves that nodes without documents share, from their scores (of some documents) and those of pairs of a node
    and its only document; None if these are too few.
    """
    from scipy.special import expit

    pairs = list(zip(scores, alone, strict=True))
    known = [s for s, (F, f) in enumerate(pairs) if np.isfinite(F).any() and np.isfinite(f).any()]
    if not known or len(alone[0]) < _FEWEST:
        return None
    least = {s: float(scores[s][np.isfinite(scores[s])].min()) for s in known}
    others = np.column_stack([np.where(np.isfinite(scores[s]), scores[s], least[s]).ravel() for s in known])
    true = np.column_stack([np.where(np.isfinite(alone[s]), alone[s], least[s]) for s in known])
    times = n_docs / len(scores[0])  # pairs that one of the others stands for
    high = -np.partition(-others, min(_BEST * len(scores[0]), len(others) - 1), axis=0)
    high = high[min(_BEST * len(scores[0]), len(others) - 1)]
    slopes, constant = _logistic_above(high, true, others, times)
    if times * expit(others @ slopes + constant).sum() > 2 * len(true):  # low scores would look likely
        slopes, constant = _logistic_above(np.full(len(known), -np.inf), true, others, times)
    slope = np.zeros((1, len(scores)))
    slope[0, known] = slopes
    return {
        "slope": slope,
        "offset": np.zeros_like(slope),
        "weights": (slope > 0).astype(np.float64),
        "intercept": np.array([constant]),
    }


def _logistic_above(high: FloatArray, true: FloatArray, others: FloatArray, times: float) -> tuple[FloatArray, float]:
    """`_logistic_of` over pairs with a score above ``high``; one of ``others`` stands for ``times`` of them."""
    true, others = true[(true > high).any(axis=1)], others[(others > high).any(axis=1)]
    y = np.arange(len(true) + len(others)) < len(true)
    return _logistic_of(np.concatenate([true, others]), y, times)


def _logistic_of(F: FloatArray, y: BoolArray, times: float = 1.0) -> tuple[FloatArray, float]:
    """Slopes of the sources and the constant; a pair that is not true stands for ``times`` of them.

    A source whose larger scores are not more often true says nothing and has the slope 0.
    """
    true, others = np.flatnonzero(y), np.flatnonzero(~y)
    total = len(true) + round(times * len(others))
    rows = np.concatenate([true, others[:: len(others) // _POOL + 1]])
    slopes, used = np.zeros(F.shape[1]), list(range(F.shape[1]))
    while used and 0 < len(true) < len(rows):
        found = logistic_regression(F[rows][:, used], y[rows], total)
        if found[:-1].min() > 0:
            slopes[used] = found[:-1]
            return slopes, float(found[-1])
        used.pop(int(found[:-1].argmin()))
    return slopes, float(np.log((len(true) + 0.5) / (total - len(true) + 0.5)))


def _raised(
    learned: MixtureWeights,
    unseen: MixtureWeights,
    sources: Mapping[str, SourceScores],
    Y: CSR,
    taxonomy: Taxonomy,
    cost: float,
) -> float:
    """What is added to log-odds of nodes without documents, which are hardly ever among the best by these.

    The largest value with which labels with few and with more documents are among the ten best of a document as often
    as in the source that is best for them, up to the share ``cost``, and with which the expected micro-F1 of positive
    scores is not lower; beyond the usual cost it may be lower by the further share.
    """
    from scipy.special import expit

    k, n_docs = min(_BEST, len(learned.nodes) - 1), Y.shape[0]
    if k < 1:
        return 0.0
    rows = np.unique(np.linspace(0, n_docs - 1, min(n_docs, _RAISED_ON)).astype(np.int64))
    counts = np.bincount(Y.indices, minlength=taxonomy.n_nodes)[learned.nodes]
    groups = np.stack([counts < _FEW[1], counts >= _FEW[1]])
    by_source, right, answered = np.zeros((len(groups), len(sources))), 0, 0
    best, truth, rivals, likely = [], [], [], []
    for part in blocks(len(rows), rows_that_fit(8 * taxonomy.n_nodes * (len(sources) + 3), _BLOCK)):
        some = {name: replace(source, S=source.S[rows[part]]) for name, source in sources.items()}
        gold = Y[rows[part]][:, learned.nodes].toarray() > 0
        S, U = learned(some, taxonomy), unseen(some, taxonomy)
        top = _best_first(S, k)
        best.append(np.take_along_axis(S, top, 1))
        truth.append(np.take_along_axis(gold, top, 1) & groups[:, top])
        rivals.append(np.take_along_axis(U, _best_first(U, min(k, U.shape[1])), 1))
        likely.append(U[U > -_RAISES[-1]])
        right, answered = right + int(gold[S > 0].sum()), answered + int((S > 0).sum())
        for s, source in enumerate(some.values()):
            F = source.over(slice(0, len(gold)), taxonomy, learned.nodes, closed=learned.lifts)
            top = _best_first(F, k)
            by_source[:, s] += (np.take_along_axis(gold, top, 1) & groups[:, top]).sum(axis=(1, 2))
    score, rival, odds = (np.concatenate(parts) for parts in (best, rivals, likely))
    hit, wanted = np.concatenate(truth, axis=1), (1 - cost) * by_source.max(axis=1)
    most, least, total = 0.0, 0.0, Y[rows].nnz
    for raised in _RAISES.tolist():
        place = (rival[:, None, :] + raised > score[:, :, None]).sum(axis=2) + np.arange(k)
        new = odds[odds > -raised]
        f1 = 2 * (right + expit(new).sum()) / max(total + answered + len(new), 1)
        least = least or (1 - max(0.0, cost - COST)) * f1
        if (hit[:, place < k].sum(axis=1) < wanted).any() or f1 < least:
            break
        most = raised
    return most


def _best_first(S: FloatArray, k: int) -> IntArray:
    """Columns of the k largest of every row, the largest first."""
    best = best_columns(np.ascontiguousarray(S), k)
    order = np.argsort(-np.take_along_axis(S, best, 1), axis=1, kind="stable")
    return np.take_along_axis(best, order, 1)


def _curves_of_parents(
    learned: MixtureWeights,
    some: Mapping[str, SourceScores],
    scores: Sequence[FloatArray],
    taxonomy: Taxonomy,
    new: IntArray,
    prior: FloatArray,
    expected: float,
    share: float,
) -> dict[str, FloatArray]:
    """Weights of parents and slopes of levels; constants with which the expected number of labels is met."""
    from scipy.special import logsumexp

    slope = np.stack([_level_slopes(column, taxonomy, learned.nodes, new) for column in learned.slope.T], 1)
    offset, weights = np.zeros_like(slope), learned.vertex_weights_of(new, taxonomy)[:, :-1]
    if not learned.single:
        for s, F in enumerate(scores):
            offset[:, s] = _shift((slope[:, s] * _finite(F))[np.isfinite(F)], share)
    weights = _divided(weights, np.stack([np.isfinite(F).any(axis=0) for F in scores], 1))
    curves: dict[str, Any] = {"slope": slope, "offset": offset, "weights": weights, "intercept": np.zeros(len(new))}
    found = replace(learned, nodes=new, prior=prior, **curves)
    mixed = found.mix(found.log_odds(scores))
    if learned.single:
        rows = slice(0, len(mixed))
        Z = learned.log_odds([one.over(rows, taxonomy, learned.nodes, closed=False) for one in some.values()])
        mixed -= np.stack([logsumexp(part, axis=1) for part in Z], 1) @ weights.T
        constant = _shift(logsumexp(mixed, axis=1), expected)
    else:
        constant = _shift(mixed.ravel(), share)
    return {**curves, "intercept": np.full(len(new), constant)}


def _scores_of_pairs(source: SourceScores, Y: CSR, taxonomy: Taxonomy, nodes: IntArray, lifts: bool) -> FloatArray:
    """Scores of nodes with one document, each of its document; there may be none."""
    columns = Y[:, nodes].tocsc()
    found = np.empty(len(nodes))
    for some in blocks(len(nodes), rows_that_fit(16 * taxonomy.n_nodes, _BLOCK)):
        part = replace(source, S=source.S[columns.indices[some]])
        F = part.over(slice(0, len(part.S)), taxonomy, nodes[some], closed=lifts)
        found[some] = np.diagonal(F)
    return found


def _divided(weights: FloatArray, known: BoolArray) -> FloatArray:
    """Weights of sources without a score (0 in ``known``) given to the others, in proportion."""
    rest = np.where(known, weights, 0.0)
    total, left = weights.sum(axis=1), rest.sum(axis=1)
    able = (left > 0) & (total > 0) & ~known.all(axis=1)
    return np.where(able[:, None], rest * (total / np.where(able, left, 1.0))[:, None], weights)


def _level_slopes(slope: FloatArray, taxonomy: Taxonomy, seen: IntArray, new: IntArray) -> FloatArray:
    """The slope of the level of each new node; of the nearest level where its own has none."""
    depth = taxonomy.depth[seen]
    levels = np.unique(depth)
    of_level = np.array([slope[depth == d].max() for d in levels])
    return of_level[np.abs(taxonomy.depth[new][:, None] - levels).argmin(axis=1)]


def _shift(log_odds: FloatArray, share: float) -> float:
    """What is added to log-odds so that their mean probability is ``share``; they are counted in bins."""
    from scipy.special import expit, logit

    if not len(log_odds):
        return float(logit(share))
    counts, edges = np.histogram(log_odds, _BINS)
    filled = counts > 0
    centre, part = ((edges[1:] + edges[:-1]) / 2)[filled], counts[filled] / len(log_odds)
    low, high = logit(share) - centre.max(), logit(share) - centre.min()
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if part @ expit(centre + middle) < share else (low, middle)
    return float((low + high) / 2)


def _warn(found: MixingSolution, tol: float, max_iter: int) -> None:
    if not found.converged:
        warn_user(
            f"The weights of the mixture did not converge (gap {found.gap / max(found.objective, 1e-300):.2g} > tol "
            f"{tol:g} after {max_iter} steps); increase max_iter or tol.",
            ConvergenceWarning,
        )


# -- pairs of documents and nodes --------------------------------------------------------------------------------------


class _Pairs(NamedTuple):
    """Documents and columns of the nodes, by document; scores of every source (n_pairs x n_sources), and the truth."""

    document: IntArray
    column: IntArray
    scores: FloatArray
    truth: BoolArray


def _pairs(
    given: list[SourceScores],
    Y: CSR,
    taxonomy: Taxonomy,
    nodes: IntArray,
    single: bool,
    lifts: bool,
    *,
    add_labels: bool = True,
) -> _Pairs:
    """All pairs for which a source has a score; of many, the best of every source.

    The soft-max needs a label: documents without one are left out, unless ``add_labels`` adds it to the best.
    """
    n_docs, n_nodes = Y.shape[0], len(nodes)
    most = max(_FEWEST, min(_MOST, _PAIRS // (n_docs * len(given))))
    parts = []
    for rows in blocks(n_docs, rows_that_fit(8 * max(taxonomy.n_nodes, n_nodes) * (len(given) + 2), _BLOCK)):
        scores = [source.over(rows, taxonomy, nodes, closed=lifts) for source in given]
        truth = Y[rows][:, nodes].toarray() > 0
        known = np.logical_or.reduce([np.isfinite(F) for F in scores])
        if most < n_nodes:
            # Label sets are chosen by scores alone: labels with low scores would stay without the other nodes that have
            # such scores, and low scores would look likely.
            chosen = truth.copy() if single and add_labels else np.zeros_like(truth)
            for F in scores:
                np.put_along_axis(chosen, best_columns(np.ascontiguousarray(F), most), True, axis=1)
            known &= chosen
        if single:  # the soft-max needs the label among the pairs
            known &= (known & truth).any(axis=1)[:, None]
        d, v = np.nonzero(known)
        parts.append(_Pairs(d + rows.start, v, np.column_stack([F[d, v] for F in scores]), truth[d, v]))
    pairs = _Pairs(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    if not len(pairs.document):
        raise DataError("The sources have no score for any label of the documents; a mixture has nothing to learn.")
    if not single:
        return pairs
    starts, document = np.flatnonzero(np.diff(pairs.document, prepend=-1)), pairs.document
    segment = np.searchsorted(document[starts], document)
    filled = [_filled(F, starts, segment) for F in pairs.scores.T]
    return pairs._replace(scores=np.column_stack(filled))


def _filled(F: FloatArray, starts: IntArray, segment: IntArray) -> FloatArray:
    """Scores with the least of the document, or 0 where it has none, in place of minus infinity: a label that a source
    does not know is its least likely one.
    """
    least = np.minimum.reduceat(np.where(np.isfinite(F), F, np.inf), starts)
    least[np.isinf(least)] = 0.0
    return np.where(np.isfinite(F), F, least[segment])


def _finite(F: FloatArray) -> FloatArray:
    return np.where(np.isfinite(F), F, 0.0)


def _log_odds(F: FloatArray, slope: FloatArray, offset: FloatArray, prior: FloatArray, single: bool) -> FloatArray:
    """Log-odds of scores F (n_docs x n_labels) of one source."""
    known = np.isfinite(F)
    if known.all():
        return slope * F + offset
    if single:
        least = np.where(known, F, np.inf).min(axis=1, keepdims=True)
        return slope * np.where(known, F, np.where(np.isfinite(least), least, 0.0)) + offset
    return np.where(known, slope * _finite(F) + offset, prior)


# -- curves ------------------------------------------------------------------------------------------------------------


def _node_curves(
    F: FloatArray, pairs: _Pairs, depth: IntArray, shares: FloatArray, fixed: int | None
) -> tuple[FloatArray, FloatArray]:
    """Slope and offset of every node: one slope for each level, and the offset with which the node's share is met.

    The share is that of the pairs that are used; of nodes with ``fixed`` pairs, which is all documents, it is given.
    """
    from scipy.special import expit, logit

    known = np.flatnonzero(np.isfinite(F))
    column, f, y = pairs.column[known], F[known], pairs.truth[known]
    level, slope, m = depth[column], np.zeros(len(depth)), len(depth)
    for d in np.unique(level):
        slope[depth == d] = _slope(f[level == d], y[level == d])
    n_docs = np.bincount(column, minlength=m)
    slope[n_docs == 0] = 0.0
    counted = (n_docs > 0) & (n_docs != fixed)
    shares = np.where(counted, (np.bincount(column, y, m) + 0.5) / (n_docs + 1.0), shares)
    f, wanted, n = slope[column] * f, logit(shares), np.maximum(n_docs, 1)
    offset = wanted - np.bincount(column, f, m) / n
    for _ in range(_SHARE_STEPS):  # Newton's steps on the log-odds of the means
        P = expit(f + offset[column])
        mean = np.clip(np.bincount(column, P, m) / n, 1e-12, 1 - 1e-12)
        bend = np.maximum(np.bincount(column, P * (1 - P), m) / n, 1e-12)
        times = np.minimum(mean * (1 - mean) / bend, _LONGEST_STEP)
        step = np.where(n_docs > 0, times * (wanted - logit(mean)), 0.0)
        offset += step
        if np.abs(step).max() < _SHARE_TOLERANCE:
            break
    return slope, offset


def _share_curves(
    slope: FloatArray, offset: FloatArray, prior: FloatArray, pairs: _Pairs, counts: IntArray
) -> BoolArray:
    """Replace the curves of nodes with few documents by those of a logistic regression that they share.

    ``counts`` are the documents of every node. The mean of the log-odds of all sources is the regression. The answer is
    which nodes share their curves.
    """
    group = np.searchsorted(_FEW, counts, side="right")
    of_pair, shared = group[pairs.column], np.zeros(len(counts), bool)
    for g in range(len(_FEW)):
        mine, rows = group == g, np.flatnonzero(of_pair == g)
        F, y = pairs.scores[rows], pairs.truth[rows]
        known = np.isfinite(F)
        if mine.sum() < _SHARING or min(y.sum(), (~y).sum()) < _FEWEST or not known.any(axis=0).all():
            continue
        usual = np.array([np.median(column[finite]) for column, finite in zip(F.T, known.T, strict=True)])
        # Lower scores than usual say no more: those of models that do not know a node are far lower than others.
        slopes, constant = _logistic_of(np.maximum(np.where(known, F, usual), usual), y)
        slope[mine] = F.shape[1] * slopes
        prior[mine] = constant + slopes @ usual
        offset[mine] = constant + slopes @ usual - F.shape[1] * slopes * usual
        shared |= mine
    return shared


def _slope(f: FloatArray, y: BoolArray) -> float:
    """One slope for the scores of many nodes: 0 where larger scores are not more often true, so that the source says
    nothing.
    """
    step = len(f) // _POOL + 1
    f, y = f[::step], y[::step]
    if not 0 < y.sum() < len(y):
        return 0.0
    return max(0.0, platt(f, y)[0])


def _softmax_curves(
    F: FloatArray, pairs: _Pairs, depth: IntArray, shares: FloatArray, fixed: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """One slope for all nodes: that of largest likelihood of the soft-max over the pairs of a document."""
    from scipy.optimize import minimize_scalar

    starts = np.flatnonzero(np.diff(pairs.document, prepend=-1))
    segment = np.searchsorted(pairs.document[starts], pairs.document)
    F = F - np.maximum.reduceat(F, starts)[segment]
    scale = float(F.std()) or 1.0
    own = np.add.reduceat(np.where(pairs.truth, F, 0.0), starts) / np.add.reduceat(pairs.truth.astype(np.int64), starts)

    def loss(t: float) -> float:
        a = np.exp(t) / scale
        return float((np.log(np.add.reduceat(np.exp(a * F), starts)) - a * own).mean())

    a = np.exp(minimize_scalar(loss, bounds=(-6.0, 6.0), method="bounded").x) / scale
    return np.full(len(depth), a), np.zeros(len(depth))


def _ordered(sources: Mapping[str, SourceScores], names: list[str]) -> list[SourceScores]:
    """The sources in the order of their names; all are of the same documents."""
    if not names:
        raise DataError("A mixture needs at least one source.")
    missing = [name for name in names if name not in sources]
    if missing:
        raise DataError(f"The source {missing[0]!r} is missing{nearest(missing[0], list(sources))}")
    found = [sources[name] for name in names]
    sizes = {name: len(source.S) for name, source in zip(names, found, strict=True)}
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise DataError(f"The sources have scores of different numbers of documents: {shown}.")
    return found
