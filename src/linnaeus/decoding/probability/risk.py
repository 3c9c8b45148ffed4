"""As deep as the risk allows: thresholds on probabilities with finite-sample promises.

The answer at threshold t is the closure of the candidates with P_v > t (`candidates`): it only shrinks as t grows, down
to nothing, which is a document for review. A node is *wrong* if it is neither a true label nor above one; an answer is
wrong if it holds a wrong node, so that a code above the true one is right, though coarse. On n documents that neither
the model nor its probabilities were fitted on, three promises can be derived. All assume that new documents are
exchangeable with these n, and nothing about the model.

``of="all"``, an expectation. With L_i(t) in {0, 1} (any wrong node) or in [0, 1] (the share of all nodes that is
answered wrongly), never growing with t, conformal risk control (Angelopoulos et al. 2024) takes

    t = inf{ t : (sum_i L_i(t) + 1) / (n + 1) <= risk },   then   E L(t) <= risk

over the n documents and the new one.

``of="all"`` with a confidence. With k(t) the number of wrong answers among the n, and the exact binomial
(Clopper-Pearson) bound, t is the smallest threshold with P(Bin(n, risk) <= k(t)) <= 1 - confidence. As the risk never
grows with t, one threshold decides, and with probability ``confidence`` over the n documents P(wrong) <= risk.

``of="answered"``, selective risk R(t) = P(wrong | answered), which is not monotone in t. Learn then test (Angelopoulos
et al. 2021) with fixed-sequence testing: a sequence of thresholds t_1 > t_2 > ... is fixed on *other* documents. H_j:
R(t_j) > risk is tested by P(Bin(m_j, risk) <= k_j) <= 1 - confidence, with k_j wrong among the m_j answered ones, which
are Bin(m_j, R(t_j)) given m_j; the last of the rejections before the first failure is t. A false one is among them only
if the first true hypothesis of the sequence was rejected, which has probability at most 1 - confidence. The sequence
starts where the other documents give the strongest evidence, among thresholds whose test is likely to reject, and goes
down from there. The other documents need not be exchangeable with the n: a bad sequence answers fewer documents, but
breaks no promise.

Where the n documents chose or trained the model (``exact=False``: folds, or the held-out documents of a search), their
losses are too small: on 10 draws of 2,000 documents a search promised .30 and .324 were wrong. The bound of confidence
0.9 then replaces the expectation, which gave .298, and .096 where .10 was promised.

Which nodes of a document may be answered: those that rules allow, on one path where labels exclude each other.

With coherent probabilities P (n_docs x len(nodes), no child above its parent) the answer at a threshold is the closure
of the candidates above it. The candidates of a document depend on P and on the rules, never on the threshold, so that a
higher threshold only removes nodes from the end of each path:

    sets        every node that the rules allow as a label
    one path    the most probable top node, its most probable child, and so on down; where no allowed label is above
                another (``leaves_only``, ``depth``): the most probable label
    k paths     the k most probable of the lowest allowed labels, each with its most probable parent, and so on up
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields

import numpy as np

from linnaeus.decoding.base import hierarchy
from linnaeus.decoding.rules import NO_BOUND, BoundRules, Rules
from linnaeus.decoding.simple.threshold import members
from linnaeus.engine import blocks, rows_that_fit
from linnaeus.errors import ParameterError, check_choice
from linnaeus.order import best_columns
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = [
    "CONFIDENCE",
    "LEAST",
    "LOSSES",
    "OF",
    "RiskControl",
    "candidates",
    "check_promise",
    "check_rules",
    "fit_risk",
    "promised_threshold",
]

LOSSES, OF = ("any_wrong", "wrong_share"), ("all", "answered")
CONFIDENCE = 0.9  # of promises about answered documents, where none is given
_STEPS = 500  # thresholds of the sequence, at most
_LIKELY = 0.9  # of the largest probability that the first test of a sequence rejects

_Rules = Rules | Mapping[str, object] | None


@dataclass(frozen=True)
class RiskControl:
    """Probabilities and truth of documents that promises are derived from; make one with `fit_risk`.

    Parameters
    ----------
    P : CSR array of shape (n_docs, n_nodes)
        Coherent probabilities; those below `LEAST` are left out.
    gold : CSR array of shape (n_docs, n_nodes)
        Closed labels.
    ordering : ndarray of int
        Ndarray of int, shape (n_docs,) 1 for documents that fix the sequence of thresholds; the others test it.
    nodes : ndarray of int
        The nodes that have probabilities.
    loss : {"any_wrong", "wrong_share"}
        What the risk is an expectation of.
    exact : bool
        Whether model and probabilities were fitted on other documents than those that test.
    single : bool
        Whether documents have one label, so that an answer is one path.
    """

    P: CSR
    gold: CSR
    ordering: IntArray
    nodes: IntArray
    loss: str = "any_wrong"
    exact: bool = True
    single: bool = False
    _kept: dict[str, tuple[FloatArray, FloatArray]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def n(self) -> int:
        """The number of documents that test a promise."""
        return int(self._testing.sum())

    @property
    def _testing(self) -> BoolArray:
        return (self.ordering == 0) | (not self.exact)

    def threshold(
        self,
        risk: float,
        taxonomy: Taxonomy,
        *,
        of: str = "all",
        confidence: float | None = None,
        rules: _Rules = None,
    ) -> float:
        """The threshold of a promise; 1 where nothing may be answered.

        Parameters
        ----------
        risk : float
            The largest share of wrong answers.
        taxonomy : Taxonomy
            The taxonomy of the nodes.
        of : {"all", "answered"}, default="all"
            What the share is of: all documents, or those that are answered.
        confidence : float, default=None
            The probability, over the draw of the calibration documents, with which the promise holds. None: for
            ``of="all"`` the promise is an expectation, for ``of="answered"`` the confidence is 0.9. It is 0.9 for both
            where the documents were used to choose or to fit the model (``exact`` is False).
        rules : Rules or dict, default=None
            Rules that answers obey.

        Returns
        -------
        float
            Nodes of larger probability are answered.
        """
        check_promise(risk, of, confidence, self.loss)
        if self.loss == "wrong_share":
            return self._expected_share(risk, taxonomy, rules)
        highest, wrong = self._levels(taxonomy, rules)
        if confidence is None and not self.exact:
            confidence = CONFIDENCE  # a margin, as these documents were used for the model
        return promised_threshold(highest, wrong, self.ordering == 1, self._testing, risk, of=of, confidence=confidence)

    def answered(self, threshold: float, taxonomy: Taxonomy, rules: _Rules = None) -> float:
        """The share of the testing documents that are answered at a threshold."""
        highest, _ = self._levels(taxonomy, rules)
        return float((highest[self._testing] > threshold).mean())

    def candidates(self, P: FloatArray, taxonomy: Taxonomy, nodes: IntArray, rules: _Rules = None) -> FloatArray:
        """Probabilities of the nodes of ``nodes`` that may be answered, 0 elsewhere (n_docs x len(nodes))."""
        bound = check_rules(rules, taxonomy, nodes, single=self.single)
        return candidates(P, taxonomy, nodes, bound, single=self.single)

    def answers(
        self, P: FloatArray, threshold: float, taxonomy: Taxonomy, nodes: IntArray, rules: _Rules = None
    ) -> CSR:
        """Closed answers of documents with probabilities P of ``nodes`` (n_docs x n_nodes)."""
        C = self.candidates(P, taxonomy, nodes, rules)
        return taxonomy.close(members(C, lambda rows: C[rows] > np.float32(threshold), nodes, taxonomy))

    def to_dict(self) -> dict[str, object]:
        """Its fields, for the store."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}

    def _levels(self, taxonomy: Taxonomy, rules: _Rules) -> tuple[FloatArray, FloatArray]:
        """Of every document: the largest probability of a candidate, and of a wrong one; 0 where there is none."""
        key = repr(Rules.of(rules))
        if key not in self._kept:
            parts = [
                (C.max(axis=1, initial=0.0), (C * ~true).max(axis=1, initial=0.0))
                for C, true in self._blocks(taxonomy, rules)
            ]
            highest, wrong = (np.concatenate([part[i] for part in parts]).astype(np.float64) for i in (0, 1))
            self._kept[key] = highest, wrong
        return self._kept[key]

    def _blocks(self, taxonomy: Taxonomy, rules: _Rules) -> Iterator[tuple[FloatArray, BoolArray]]:
        """Candidates of some documents at a time, beside which nodes are true."""
        for part in blocks(self.P.shape[0], rows_that_fit(16 * taxonomy.n_nodes)):
            P = self.P[part][:, self.nodes].toarray()
            yield self.candidates(P, taxonomy, self.nodes, rules), self.gold[part][:, self.nodes].toarray() > 0

    def _expected_share(self, risk: float, taxonomy: Taxonomy, rules: _Rules) -> float:
        use = self._testing
        rows = np.concatenate([np.where(true, 0.0, C) for C, true in self._blocks(taxonomy, rules)])[use]
        level = np.sort(rows[rows > 0])[::-1].astype(np.float64)
        total = np.arange(1.0, len(level) + 1) / max(len(self.nodes), 1)
        return _expected(level, total, self.n, risk, self.P.shape[0])


def promised_threshold(
    highest: FloatArray,
    wrong: FloatArray,
    ordering: BoolArray,
    testing: BoolArray,
    risk: float,
    *,
    of: str = "all",
    confidence: float | None = None,
) -> float:
    """The threshold of a promise, from what it would have done with documents whose labels are known.

    Parameters
    ----------
    highest, wrong : ndarray of shape (n_docs,)
        The largest probability of anything that may be answered, and of something wrong; 0 where there is none.
    ordering : ndarray of bool
        Documents that fix the sequence of thresholds of ``of="answered"``; all others test it.
    testing : ndarray of bool
        Documents that test a promise about all documents.
    risk, of, confidence : object
        As for `RiskControl.threshold`.

    Returns
    -------
    float
        What is more probable is answered; 1 where nothing may be.
    """
    check_promise(risk, of, confidence)
    n = int(testing.sum())
    if of == "all" and confidence is None:
        return _expected(np.sort(wrong[testing])[::-1], np.arange(1.0, n + 1), n, risk, len(ordering))
    delta = 1.0 - (CONFIDENCE if confidence is None else confidence)
    n_tested = n if of == "all" else int((~ordering).sum())
    with np.errstate(divide="ignore", over="ignore"):
        least = np.ceil(np.log(delta) / np.log1p(-np.float64(risk)) - 1e-9)
    if n_tested < least:
        raise ParameterError(
            f"risk={risk} cannot be promised with confidence {1 - delta:g} from {n_tested} documents: at least "
            f"{least:,.0f} are needed{_counted(n_tested, len(ordering))}."
        )
    if of == "all":
        return _bounded(np.sort(wrong[testing])[::-1], risk, delta)
    first, second = ordering, ~ordering
    return _selective((highest[first], wrong[first]), (highest[second], wrong[second]), risk, delta)


def fit_risk(
    P: FloatArray,
    gold: CSR,
    nodes: IntArray,
    loss: str = "any_wrong",
    *,
    ordering: BoolArray | None = None,
    ordered_by: RiskControl | None = None,
    exact: bool = True,
    single: bool = False,
) -> RiskControl:
    """Keep what promises are derived from.

    Parameters
    ----------
    P : ndarray of shape (n_docs, len(nodes))
        Coherent probabilities.
    gold : CSR array of shape (n_docs, n_nodes)
        Closed labels.
    nodes : ndarray of int
        The nodes of the columns of P.
    loss : {"any_wrong", "wrong_share"}, default="any_wrong"
        What the risk is an expectation of.
    ordering : ndarray of bool, default=None
        Documents that fix the sequence of thresholds of ``of="answered"``; None: every second one.
    ordered_by : RiskControl, default=None
        Earlier documents of the same model, with probabilities of the same nodes, that fix the sequence in place of
        ``ordering``, so that all documents of P test it.
    exact : bool, default=True
        False says that the documents were used to fit the model after all, so that promises are approximate.
    single : bool, default=False
        Whether documents have one label each.

    Returns
    -------
    RiskControl

    Examples
    --------
    >>> tax = Taxonomy.flat("AB")
    >>> P = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.6, 0.4]])
    >>> gold, testing = tax.indicator(["A", "B", "A", "B"]), np.zeros(4, dtype=bool)
    >>> control = fit_risk(P, gold, np.arange(2), ordering=testing, single=True)
    >>> round(control.threshold(0.4, tax), 6), round(control.threshold(0.2, tax), 6)
    (0.0, 0.6)
    """
    from scipy import sparse

    check_choice("loss", loss, LOSSES)
    kept = np.where(P > LEAST, P, 0.0).astype(np.float32)
    whole = sparse.csr_array(kept)
    whole = sparse.csr_array((whole.data, nodes[whole.indices], whole.indptr), shape=(len(P), gold.shape[1]))
    if ordered_by is not None:
        ordering = np.arange(ordered_by.P.shape[0] + len(P)) < ordered_by.P.shape[0]
        whole = sparse.csr_array(sparse.vstack([ordered_by.P, whole]))
        gold = sparse.csr_array(sparse.vstack([ordered_by.gold, gold]))
    elif ordering is None:
        ordering = np.arange(len(P)) % 2 == 0
    return RiskControl(whole, gold, np.asarray(ordering).astype(np.int8), np.asarray(nodes), loss, exact, single)


def check_promise(risk: object, of: str, confidence: object, loss: str = "any_wrong") -> None:
    """Refuse a risk, what it is of, or a confidence that cannot be promised."""
    for name, value in (("risk", risk), ("confidence", confidence)):
        if value is None and name == "confidence":
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)) or not 0 < value < 1:
            raise ParameterError(f"{name}={value!r}; expected a number between 0 and 1.")
    check_choice("risk_of", of, OF)
    if loss == "wrong_share" and (of == "answered" or confidence is not None):
        raise ParameterError(
            "The model was calibrated with loss='wrong_share', whose risk is an expectation over all documents; "
            "calibrate it with loss='any_wrong' for risk_of='answered' or a confidence."
        )


def _counted(n: int, n_docs: int) -> str:
    """How many documents of a calibration a promise counts, where these are not all of them."""
    if n == n_docs:
        return ""
    return f" (of {n_docs:,} calibration documents {n:,} count, about half; the others order the thresholds)"


def _expected(level: FloatArray, total: FloatArray, n: int, risk: float, n_docs: int) -> float:
    """Conformal risk control: the summed loss is ``total[i]`` where the threshold is just below ``level[i]``."""
    room = risk * (n + 1) - 1.0
    if room < -1e-9:
        with np.errstate(over="ignore"):
            least = np.ceil(1 / np.float64(risk)) - 1
        raise ParameterError(
            f"risk={risk} cannot be promised from {n} documents: at least {least:,.0f} are needed{_counted(n, n_docs)}."
        )
    over = np.flatnonzero(total > room + 1e-9)
    return float(level[over[0]]) if len(over) else 0.0


def _bounded(level: FloatArray, risk: float, delta: float) -> float:
    """The smallest threshold at which so few of the documents are wrong that the binomial bound is at most the risk."""
    from scipy.stats import binom

    wrong = np.arange(len(level) + 1)
    most = int(np.flatnonzero(binom.cdf(wrong, len(level), risk) <= delta)[-1])
    return float(level[most]) if most < len(level) else 0.0


def _selective(
    first: tuple[FloatArray, FloatArray], second: tuple[FloatArray, FloatArray], risk: float, delta: float
) -> float:
    """Fixed-sequence testing: thresholds ordered by the first documents, tested on the second ones; 1 if none holds."""
    from scipy.stats import binom

    levels = np.concatenate(first)
    grid = np.unique(np.append(levels[levels > LEAST], LEAST))[::-1]
    grid = grid[np.unique(np.linspace(0, len(grid) - 1, _STEPS).round().astype(int))]

    def counts(levels: tuple[FloatArray, FloatArray]) -> tuple[IntArray, IntArray]:
        n, k = (len(level) - np.searchsorted(np.sort(level), grid, side="right") for level in levels)
        return n, k

    start = _first_test(*counts(first), len(second[0]) / max(len(first[0]), 1), risk, delta)
    n, k = counts(second)
    holds = binom.logcdf(k[start:], n[start:], risk) <= np.log(delta)
    n_holding = len(holds) if holds.all() else int(np.argmin(holds))
    return float(grid[start + n_holding - 1]) if n_holding else 1.0


def _first_test(n: IntArray, k: IntArray, ratio: float, risk: float, delta: float) -> int:
    """Where a sequence of tests on ``ratio`` times as many documents starts, of which k of n were wrong before.

    The threshold with the strongest evidence, among those at which a rejection is about as likely as anywhere.
    """
    from scipy.stats import binom

    n_tested = np.floor(ratio * n)
    most = binom.ppf(delta, n_tested, risk)  # the largest number of wrong answers that rejects, or one more
    most -= binom.cdf(most, n_tested, risk) > delta
    power = binom.cdf(most, n_tested, (k + 0.5) / (n + 1.0))
    return int(np.argmin(np.where(power >= _LIKELY * power.max(), binom.logcdf(k, n, risk), np.inf)))


LEAST = 0.01  # nodes of a smaller probability are never answered, so that they need not be kept


def check_rules(
    rules: Rules | Mapping[str, object] | None, taxonomy: Taxonomy, nodes: IntArray, *, single: bool
) -> BoundRules:
    """Rules that a promised risk can be combined with, bound to the taxonomy.

    An answer that is not certain enough is withdrawn, so that nothing can be required. Of models with one label per
    document all other rules are possible, of others those that say which labels are allowed, and ``at_most``.
    """
    wanted = Rules.of(rules)
    if wanted.require or wanted.at_least:
        name = "require" if wanted.require else "at_least"
        raise ParameterError(f"risk and {name} contradict each other: an uncertain document gets no answer.")
    if wanted.per_document:
        raise ParameterError(
            "risk cannot be combined with candidates of single documents, which the calibration documents do not have; "
            "one list of candidates for all documents is possible."
        )
    for name in ("at_most_under", "one_per", "max_children"):
        if getattr(wanted, name) and not single:
            raise ParameterError(f"risk cannot be combined with {name} for label sets; at_most limits their size.")
    bound = wanted.bind(taxonomy)
    if not (bound.allowed & bound.may_stop)[nodes].any():
        raise ParameterError("The rules leave no node that the model can answer.")
    return bound


def candidates(P: FloatArray, taxonomy: Taxonomy, nodes: IntArray, rules: BoundRules, *, single: bool) -> FloatArray:
    """P where a node may be answered, 0 elsewhere (n_docs x len(nodes), float32).

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B"]])
    >>> P = np.array([[0.625, 0.375, 0.375, 0.25]])                      # A, B, AA, AB
    >>> candidates(P, tax, np.arange(4), check_rules(None, tax, np.arange(4), single=True), single=True).tolist()
    [[0.625, 0.0, 0.375, 0.0]]
    """
    P = np.where(P > LEAST, P, 0.0).astype(np.float32)
    ends = (rules.allowed & rules.may_stop)[nodes]
    most = int(rules.most[-1])
    if not single and most >= NO_BOUND:
        return np.where(ends, P, np.float32(0))
    whole = np.zeros((len(P), taxonomy.n_nodes), dtype=np.float32)
    whole[:, nodes] = P
    stops = np.zeros(taxonomy.n_nodes, dtype=bool)
    stops[nodes[ends]] = True
    if single or most == 1:
        chosen = _down(whole, taxonomy, stops)
    else:
        chosen = _up(whole, taxonomy, stops, most)
    return np.where(chosen[:, nodes] & ends, P, np.float32(0))


def _down(P: FloatArray, taxonomy: Taxonomy, stops: BoolArray) -> BoolArray:
    """The nodes of one path for each document: from the top to the most probable child, among nodes above a stop."""
    on = np.zeros(P.shape, dtype=bool)
    ends = np.flatnonzero(stops)
    above = taxonomy.ancestor_matrix[ends]
    if above[:, ends].nnz == len(ends):  # no stop is above another one
        on[np.arange(len(P)), ends[P[:, ends].argmax(axis=1)]] = True
        return on
    edges, reach = hierarchy(taxonomy), np.zeros(taxonomy.n_nodes, dtype=bool)
    reach[above.indices] = True
    tops = edges.tops[reach[edges.tops]]
    on[np.arange(len(P)), tops[P[:, tops].argmax(axis=1)]] = True
    for v in np.flatnonzero(np.diff(edges.child_indptr)).tolist():
        here = np.flatnonzero(on[:, v])
        below = edges.child_indices[edges.child_indptr[v] : edges.child_indptr[v + 1]]
        below = below[reach[below]]
        if len(here) and len(below):
            on[here, below[P[np.ix_(here, below)].argmax(axis=1)]] = True
    return on


def _up(P: FloatArray, taxonomy: Taxonomy, stops: BoolArray, k: int) -> BoolArray:
    """The nodes of k paths for each document, upwards from the most probable stops that have no stop below them."""
    on = np.zeros(P.shape, dtype=bool)
    ends = np.flatnonzero(stops)
    among = taxonomy.ancestor_matrix[ends][:, ends]
    lowest = ends[np.bincount(among.indices, minlength=len(ends)) == 1]  # only themselves are at or below them
    best = best_columns(P[:, lowest], min(k, len(lowest)))
    np.put_along_axis(on, lowest[best], True, axis=1)
    edges = hierarchy(taxonomy)
    for v in range(taxonomy.n_nodes - 1, -1, -1):
        above = edges.parent_indices[edges.parent_indptr[v] : edges.parent_indptr[v + 1]]
        here = np.flatnonzero(on[:, v])
        if len(here) and len(above):
            on[here, above[P[np.ix_(here, above)].argmax(axis=1)]] = True
    return on
