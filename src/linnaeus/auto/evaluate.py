"""One candidate on documents that it has not seen: its best cut, and the value of the measure.

The training documents are split once (or into three folds, where they are few). A candidate learns from some of the
documents of one side, in a fixed random order, and scores the other side. Every cut is fitted on one half of these and
answers the other half; the best of them, the model's own decoder included, is the candidate's cut. Curves from scores
to probabilities, for measures of rankings, are fitted and applied in the same way.

Measures, by name:

hierarchical_f1, micro_f1, macro_f1, example_f1     of the answers, through the best cut
average_precision                                   area under the precision-recall curve of the calibrated
                                                    probabilities of all nodes, pooled, no cut
precision_at_1                                      share of documents whose first suggestion (`top`) is one of their
                                                    labels, no cut

A measure is computed for many weightings of the same documents at once: W (n_weightings x n_docs) holds ones, the
weights of the documents, or how often a bootstrap sample has drawn each of them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import numpy as np
from scipy import sparse
from sklearn.base import clone

from linnaeus.auto.candidates import (
    MAP,
    MIXTURE,
    PLAIN,
    PULLS,
    READ,
    VALUES,
    Candidate,
    Outcome,
    Place,
    make_model,
    map_kind,
    map_width,
    parameters_of,
    parts_of,
)
from linnaeus.data.matrices import is_sparse
from linnaeus.data.splits import kfold, train_test_split
from linnaeus.decoding import CutOff, Decoder, ExpectedCut, InstanceCut, SCut, TopScores
from linnaeus.decoding.base import stacked
from linnaeus.decoding.cutoffs.cut_off import Metric
from linnaeus.decoding.probability.curves import fit_calibrator
from linnaeus.engine import single_blas_thread
from linnaeus.errors import DataError, ParameterError, nearest
from linnaeus.features import KernelMap, SideBySide
from linnaeus.features.documents import take_documents
from linnaeus.features.side_by_side import joined, scales_of
from linnaeus.mixture import Mixture, mixed_held_out
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.mixed_scores import FIRST
from linnaeus.pipeline import Pipeline
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import is_closed
from linnaeus.tuning.calibration import coherent_way, node_shares
from linnaeus.tuning.held_out import HeldOutScores
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray, Matrix

if TYPE_CHECKING:
    from linnaeus.pipeline import Transformer

__all__ = [
    "MEASURES",
    "OWN",
    "PRECISION_AT_1",
    "RANKING",
    "RESAMPLES",
    "Evaluator",
    "Split",
    "Weighted",
    "check_measure",
    "cut_measure",
    "draws",
    "interval",
    "metric_of",
    "near_tie",
    "of_answers",
    "of_ranking",
    "splits_of",
    "squared_length",
    "wins",
]

OWN = "own"  # the model's own decoder
HELD_OUT, MOST_HELD, MOST_SCORES = 0.25, 4_000, 20_000_000
FEW, FOLDS = 400, 3  # documents below which all are held out once, in folds
TOO_FEW = 12  # documents below which nothing is held out
_LARGER_MAP = 8.0  # times the seconds of a map that one with the most landmarks takes: 6 to 10 were measured
_OUT_OF_FOLD = 3  # parts in which every document is held out once; more gain nothing
_NEARLY_ONE = 1.1  # mean number of labels
_USUAL_TOL, _TOL = 1e-3, 1e-2  # gap of most models, and of the same here: equal in quality, in half the time
_MIXTURE_C, _FIRST_C = (0.03, 0.003, 0.3), 0.3  # the usual value, and a smaller and a larger one
_FAR = 1e9  # values of dense vectors above this are not given to models without a feature step in front
_EXPECTED, _NEARLY = "expected", 0.001  # a cut that is taken where it is at most this far below the best,
_NEARLY_MACRO = 0.01  # or this far by macro-F1: on new documents it is that much better, beside others, than held out
_NEAR_TIE, _NEAR_TIE_MACRO = 0.01, 0.02  # by macro-F1 few held-out documents of rare labels decide
_ROUNDING = 1e-9  # of the differences of values
_MANY_NODES = 3_000  # from which curves of single nodes are not projected on DAGs

Split = tuple[IntArray, IntArray]
Weighted = Callable[[FloatArray], FloatArray]  # from W (n_weightings x n_docs) to n_weightings values

RANKING = "average_precision"
_OF_ANSWERS = ("hierarchical_f1", "micro_f1", "macro_f1", "example_f1")
PRECISION_AT_1 = "precision_at_1"
MEASURES = (*_OF_ANSWERS, RANKING, PRECISION_AT_1)
_ALIASES = {"au_prc": RANKING} | dict.fromkeys(("p@1", "p_at_1", "precision@1", "accuracy"), PRECISION_AT_1)
RESAMPLES = 200
_PAIRS = 40_000_000  # of documents and nodes that all resamples of a ranking may go through
_BY_CHANCE = 0.05  # share of bootstrap samples in which a choice that is not by chance may lose


def near_tie(measure: str) -> float:
    """How far below the best a candidate may be to be compared with it in folds.

    Examples
    --------
    >>> round(near_tie("micro_f1"), 6), round(near_tie("macro_f1"), 6)
    (0.01, 0.02)
    """
    return _ROUNDING + (_NEAR_TIE_MACRO if measure == "macro_f1" else _NEAR_TIE)


def splits_of(Y: CSR, seed: int) -> list[Split]:
    """(learn, held out) rows: one split, folds of few documents, or nothing of too few."""
    n_docs = Y.shape[0]
    if n_docs < TOO_FEW or not Y.nnz:
        return []
    if n_docs < FEW:
        return [(train, test) for train, test in kfold(Y, FOLDS, random_state=seed) if len(test) and Y[train].nnz]
    most = max(200, min(MOST_HELD, MOST_SCORES // Y.shape[1]))
    learn, held = train_test_split(Y, min(HELD_OUT, most / n_docs), random_state=seed)
    return [(learn, held)] if len(held) and Y[learn].nnz else []


@dataclass
class Evaluator:
    """The documents of a search, and the matrices that the variants of features make of them."""

    documents: object
    Y: CSR
    taxonomy: Taxonomy
    variants: Mapping[str, Transformer | None]
    splits: list[Split]
    measure: str
    seed: int
    n_jobs: int | None = None
    fixed: Mapping[str, object] = field(default_factory=dict)  # parameters of models that are not searched over
    decoder: Decoder | str | None = None  # instead of the best cut; "own" is the model's own decoder
    weights: FloatArray | None = None
    matrices: dict[tuple[str, int], tuple[Matrix, Matrix]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  # of the features
    scales: dict[str, float] = field(default_factory=dict)  # mean squared lengths of the vectors
    curve_seconds: float = 0.0  # of probabilities of all held-out documents, averaged, the last ones most
    weight_bytes: float = 0.0  # of the largest linear model so far
    measuring_seconds: float = 0.0  # of everything after the fits of a candidate, at most so far
    # Width and clipping of each kind of map: chosen once, so that curves and C mean the same in the last fit.
    widths: dict[str, tuple[float, float | None]] = field(default_factory=dict)
    _last: tuple[Place, int, TaxonomyClassifier] | None = None  # of a model that can be fitted further
    # Of folds: the evaluator whose widths and scales they have, also where an earlier run has measured with it.
    _quarter: Evaluator | None = None

    def __post_init__(self) -> None:
        self.rows = np.concatenate([held for _, held in self.splits])  # held-out documents
        self.gold = self.Y[self.rows]  # their labels
        self.one_label = bool((np.diff(self.taxonomy.frontier(self.Y).indptr) == 1).all())
        self.closed = self.taxonomy.n_edges > 0 and is_closed(self.taxonomy, self.Y)
        learn = np.unique(np.concatenate([learn for learn, _ in self.splits]))
        self.known = self.Y[learn]  # labels of documents that models learn from, in one fold or all
        self.shares = node_shares(self.known, self.taxonomy)

    @property
    def n_learn(self) -> int:
        """Documents that a candidate can learn from."""
        return min(len(learn) for learn, _ in self.splits)

    @property
    def nearly_one_label(self) -> bool:
        """Whether documents have one label each, ancestors not counted, with few exceptions."""
        return self.taxonomy.frontier(self.Y).nnz <= _NEARLY_ONE * self.Y.shape[0]

    @property
    def learnable(self) -> list[str]:
        """What models can learn that differs: labels as given, closed sets, the most specific labels.

        Where every document has one label, answers are such labels; models of closed sets also answer ancestors.
        """
        found = ["given"]
        if bool((np.diff(self.Y.indptr) == 1).all()):
            return found
        if self.taxonomy.n_edges and (self.taxonomy.close(self.Y, keep_root=False) != self.Y).nnz:
            found.append("closed")
        if self.taxonomy.n_edges and (self.taxonomy.frontier(self.Y) != self.Y).nnz:
            found.append("frontier")
        return found

    def fit_seconds(self, outcome: Outcome) -> float:
        """Seconds that one fit of a candidate takes, features included; of folds there are several."""
        candidate = outcome.candidate
        made = sum(self.seconds.get(name, 0.0) for name in {one.features for one in (candidate, *candidate.sources)})
        return (outcome.fitting + made) / len(self.splits)

    def making_seconds(self, variant: str) -> float:
        """Seconds that a map which was not made yet takes, by those of a map that was; 0 for other features."""
        parts = parts_of(variant)
        if len(parts) > 1:
            return sum(self.making_seconds(part) for part in parts)
        if MAP not in variant or variant in self.seconds:
            return 0.0
        of_size = {name.partition(MAP)[2]: seconds for name, seconds in self.seconds.items() if MAP in name}
        size = variant.partition(MAP)[2]
        return of_size[size] if size in of_size else _LARGER_MAP * of_size.get("", 0.0)

    def features(self, variant: str) -> Transformer | None:
        """Unfitted features; maps have the width that is chosen once, or a multiple of it."""
        parts = parts_of(variant)
        if len(parts) > 1:
            return SideBySide([self.features(part) for part in parts])
        features = self.variants[variant]
        if not isinstance(features, KernelMap) or features.gamma != "auto":
            return features
        kind = map_kind(variant)
        if kind not in self.widths:  # before any fit: its seconds are not those of a fit with a map
            learn = (self._quarter or self).splits[0][0]
            small = clone(features).set_params(n_components=1)
            small.fit(take_documents(self.documents, learn), self.taxonomy.close(self.Y[learn], keep_root=False))
            self.widths[kind] = small.gamma_, small.clip_
        gamma, clip = self.widths[kind]
        return clone(features).set_params(gamma=gamma * map_width(variant), clip=clip)

    def matrix(self, variant: str, part: int) -> tuple[Matrix, Matrix]:
        """The vectors of both sides of a split, features learned from the first."""
        if (variant, part) not in self.matrices and len(parts_of(variant)) > 1:
            self._join(variant, part)
        elif (variant, part) not in self.matrices:
            learn, held = self.splits[part]
            given, given_held = (take_documents(self.documents, rows) for rows in (learn, held))
            features = self.features(variant)
            began = time.perf_counter()
            if features is None:
                X, X_held = cast(Matrix, given), cast(Matrix, given_held)
            else:
                made = clone(features)
                X = made.fit_transform(given, self.taxonomy.close(self.Y[learn], keep_root=False))
                X_held = made.transform(given_held)
            self.matrices[variant, part] = X, X_held
            self.seconds[variant] = self.seconds.get(variant, 0.0) + time.perf_counter() - began
        if variant not in self.scales and self._quarter is not None:
            self.scales[variant] = self._quarter.scale(variant)
        elif variant not in self.scales:
            self.scales[variant] = 1.0 if variant in READ else squared_length(self.matrices[variant, part][0])
        return self.matrices[variant, part]

    def _join(self, variant: str, part: int) -> None:
        """The matrices of variants side by side, as `SideBySide` makes them, from those of each alone."""
        names = parts_of(variant)
        blocks = [self.matrix(name, part) for name in names]
        scales = scales_of([np.asarray(X) for X, _ in blocks])
        self.matrices[variant, part] = (
            joined([np.asarray(X) for X, _ in blocks], scales),
            joined([np.asarray(X_held) for _, X_held in blocks], scales),
        )
        self.seconds[variant] = sum(self.seconds[name] for name in names)

    def scale(self, variant: str) -> float:
        """Mean squared length of the vectors, which C is relative to."""
        if variant not in self.scales:
            self.matrix(variant, 0)
        return self.scales[variant]

    @property
    def foldable(self) -> bool:
        """Whether every document can be held out once, in three folds; not where it is so, or would be too large."""
        return len(self.splits) == 1 and self.Y.shape[0] * self.taxonomy.n_nodes <= MOST_SCORES

    def out_of_fold(self) -> Evaluator:
        """The same with every document held out once, in three folds."""
        splits = [(train, test) for train, test in kfold(self.Y, _OUT_OF_FOLD, random_state=self.seed) if len(test)]
        return replace(
            self, splits=splits, matrices={}, seconds={}, scales=dict(self.scales), _last=None, _quarter=self
        )

    # -- a candidate ---------------------------------------------------------------------------------------------------

    def run(self, candidate: Candidate, n_docs: int, *, max_time: float | None = None) -> Outcome:
        """Fit and measure a candidate.

        Models that can be warm-started continue from the last fit of the same model, features and documents.
        """
        for part in range(len(self.splits)):
            self.matrix(candidate.features, part)
        began = time.perf_counter()
        with single_blas_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            held, way, stopped, first, fitting = self._held_out(candidate, n_docs, max_time)
            outcome = self._measured(candidate, n_docs, held, way, began, first)
        outcome = replace(outcome, stopped=stopped, fitting=fitting)
        self.measuring_seconds = max(self.measuring_seconds, outcome.seconds - fitting)
        return outcome

    @property
    def mixes_first(self) -> bool:
        """Whether mixtures learn which label comes first."""
        return self.measure == PRECISION_AT_1 and not self.closed

    def mix(self, sources: list[Outcome], like: Candidate | None = None, *, rough: bool = False) -> Outcome:
        """Measure a mixture of candidates by their held-out scores; nothing is fitted but the weights.

        C is chosen from three values, unless a mixture is given; the largest is tried only if the smallest is not
        better than the one between. Where the first suggestion counts, it is not chosen: few weights are learned.
        ``rough``: with the usual C alone.
        """
        if like is not None:
            assert like.C is not None
            return self._mixed(sources, like.C, like.learn or "closed")
        found = [self._mixed(sources, _FIRST_C, FIRST)] if self.mixes_first else []
        if self.one_label or not found:
            usual, small, large = _MIXTURE_C
            mixed = [self._mixed(sources, C, "closed") for C in ((usual,) if rough else (usual, small))]
            mixed += [self._mixed(sources, large, "closed")] if not rough and mixed[1].rank <= mixed[0].rank else []
            found += mixed
        return max(found, key=lambda one: one.rank)

    def _mixed(self, sources: list[Outcome], C: float, learn: str) -> Outcome:
        began = time.perf_counter()
        front = {one.candidate.features for one in sources}
        given = (name for name in (*READ, PLAIN) if name in self.variants)  # what all make features of
        features = front.pop() if len(front) == 1 else next(given)
        if features == VALUES:
            self._check_values()
        held_out = {f"source {i + 1}": one.held for i, one in enumerate(sources) if one.held is not None}
        with single_blas_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            met = None  # each document was left out in turn
            if len(self.splits) == 1:
                met = np.bincount(self.Y[self.splits[0][0]].indices, minlength=self.taxonomy.n_nodes)
            mixed = mixed_held_out(
                held_out, C=C, sample_weight=self.weights, learn=learn, learned_from=met, known=self.known
            )
            back = np.searchsorted(mixed.documents, self.rows)
            own = None if mixed.own is None else self._as_given(mixed.own[back], mixed, False)
            held = replace(mixed, S=mixed.S[back], Y=mixed.Y[back], documents=self.rows, own=own)
            kind = learn if learn == FIRST else None
            candidate = Candidate(MIXTURE, features, C, kind, sources=tuple(one.candidate for one in sources))
            way = "softmax" if self.one_label else "project"
            first = held.nodes[np.argmax(_dense(held.S), axis=1)]
            outcome = self._measured(candidate, sources[0].n_docs, held, way, began, first)
        seconds = outcome.seconds + sum(one.seconds for one in sources)
        fitting = sum(one.fitting for one in sources)
        return replace(outcome, seconds=seconds, fitting=fitting, sources=tuple(sources))

    def _check_values(self) -> None:
        """Refuse values that a mixture, which has no features in front, does not take as they are."""
        values = np.asarray(self.documents, dtype=np.float64)
        if np.nanmax(np.abs(values), initial=0.0) > _FAR:
            raise DataError(f"values are larger than {_FAR:g}, so that sources cannot begin with them as they are")

    def model(self, candidate: Candidate, **more: object) -> TaxonomyClassifier:
        """The unfitted model of a candidate."""
        if candidate.sources:
            return self._mixture(candidate, more)
        kernel = self.fixed.get("kernel", "linear") != "linear"  # every document has length 1 there
        scale = 1.0 if kernel else self.scale(candidate.features)
        usual_tol = parameters_of(candidate.model).get("tol") == _USUAL_TOL
        costs = candidate.model == "RRLogistic" and candidate.pull != PULLS[-1]  # 1% costs it a point
        rough = {"tol": _TOL} if usual_tol and not costs else {}
        usual = {"random_state": self.seed, "n_jobs": self.n_jobs, **rough, **self.fixed, **more}
        return make_model(candidate, self.taxonomy, scale, **usual)

    def _mixture(self, candidate: Candidate, more: Mapping[str, object]) -> Mixture:
        """The unfitted mixture; its sources share the time, and have no checkpoints."""
        limit = more.get("max_time")
        own = {"verbose": more.get("verbose", 0)}
        own |= {} if not isinstance(limit, float) else {"max_time": limit / len(candidate.sources)}
        sources: list[tuple[str, TaxonomyClassifier | Pipeline]] = []
        for i, source in enumerate(candidate.sources):
            model: TaxonomyClassifier | Pipeline = self.model(source, **own)
            features = self.features(source.features)
            if source.features != candidate.features and features is not None:
                model = Pipeline(model, clone(features))
            sources.append((f"source {i + 1}", model))
        assert candidate.C is not None
        learn = candidate.learn or "closed"
        return Mixture(sources, self.taxonomy, C=candidate.C, learn=learn, random_state=self.seed)

    def _held_out(
        self, candidate: Candidate, n_docs: int, max_time: float | None
    ) -> tuple[HeldOutScores, str, bool, IntArray | None, float]:
        """Scores of the held-out documents, how they become probabilities, whether the fit was stopped, the best nodes,
        where the measure is of these, and the seconds of the fits."""
        parts, own, best, stopped, seconds = [], [], [], False, 0.0
        limit = {} if max_time is None else {"max_time": max(1.0, max_time / len(self.splits))}
        for part, (learn, _) in enumerate(self.splits):
            X, X_held = self.matrix(candidate.features, part)
            rows = np.sort(np.random.default_rng(self.seed).permutation(len(learn))[:n_docs])
            model = self._begun(candidate, n_docs, **limit)
            weights = () if self.weights is None else (self.weights[learn][rows],)
            began = time.perf_counter()
            model.fit(take_documents(X, rows), self.Y[learn][rows], *weights)
            seconds += time.perf_counter() - began
            self.weight_bytes = max(self.weight_bytes, float(getattr(getattr(model, "weights_", None), "nbytes", 0)))
            S = np.concatenate([np.asarray(block, dtype=np.float32) for block in model.score_blocks(X_held)])
            parts.append((S, model.nodes_))
            own.append(model.answers(X_held))
            if self.measure == PRECISION_AT_1:
                best.append(model.top_nodes(X_held, 1)[0][:, 0])
            stopped |= bool(getattr(model, "time_limit_reached_", False))
        nodes = np.unique(np.concatenate([columns for _, columns in parts])).astype(np.int32)
        S = np.full((sum(len(one) for one, _ in parts), len(nodes)), -np.inf, dtype=np.float32)
        start = 0
        for one, columns in parts:
            S[start : start + len(one), np.searchsorted(nodes, columns)] = one
            start += len(one)
        nested, conditional = bool(model.nested_), bool(model.conditional_scores)
        gold = self.taxonomy.close(self.gold, keep_root=False) if nested else self.gold
        answers = stacked(own, self.taxonomy)
        closed = nested or bool(model.closed_)
        held = HeldOutScores(S, gold, self.taxonomy, nodes, self.rows, closed, conditional, answers, nested)
        way = coherent_way(model, self.one_label and model.single_label)
        return held, self._affordable_way(way), stopped, np.concatenate(best) if best else None, seconds

    def _begun(self, candidate: Candidate, n_docs: int, **limit: float) -> TaxonomyClassifier:
        """An unfitted model, or the one that was fitted last, where it can be fitted further."""
        model = self.model(candidate, **limit)
        if len(self.splits) > 1 or "warm_start" not in parameters_of(candidate.model):
            return model
        if self._last is not None and self._last[:2] == (candidate.place, n_docs):
            return self._last[2].set_params(**model.get_params(deep=False) | {"warm_start": True})
        self._last = candidate.place, n_docs, model.set_params(warm_start=True)
        return model

    def _affordable_way(self, way: str) -> str:
        large = self.taxonomy.kind != "tree" and self.taxonomy.n_nodes > _MANY_NODES
        return "min" if way == "project" and large else way

    # -- its value -----------------------------------------------------------------------------------------------------

    def _measured(
        self,
        candidate: Candidate,
        n_docs: int,
        held: HeldOutScores,
        way: str,
        began: float,
        first: IntArray | None = None,
    ) -> Outcome:
        assert held.own is not None
        if self.measure == PRECISION_AT_1:
            assert first is not None
            answers = self._first_labels(held, way, first)
            value = self._weighted(of_answers(PRECISION_AT_1, self.gold, answers, self.taxonomy))
            return Outcome(candidate, n_docs, value, value, OWN, time.perf_counter() - began, answers, held, None, way)
        own = self.value(held.own)
        if self.measure == RANKING:
            P = self.probabilities(held, way)
            value = self._weighted(of_ranking(self.gold, P, self.taxonomy))
            return Outcome(candidate, n_docs, value, value, OWN, time.perf_counter() - began, held.own, held, P, way)
        value, cut, answers = self.best_cut(held, own, way, last=n_docs >= self.n_learn)
        outcome = Outcome(candidate, n_docs, value, own, cut, time.perf_counter() - began, answers, held, None, way)
        return replace(outcome, allowance=self.allowance(cut))

    def allowance(self, cut: str) -> float:
        """How much better a cut is on new documents, beside other cuts, than on held-out ones.

        By macro-F1 the curves of rare labels gain more from the documents that are added in the end than thresholds do.
        """
        return _NEARLY_MACRO if cut == _EXPECTED and self.measure == "macro_f1" else 0.0

    def value(self, answers: CSR) -> float:
        """The measure of answers to the held-out documents; hierarchical F1 where it does not depend on a cut."""
        return self._weighted(of_answers(cut_measure(self.measure), self.gold, answers, self.taxonomy))

    def _first_labels(self, held: HeldOutScores, way: str, best: IntArray) -> CSR:
        """The first suggestion for every held-out document (n_docs x n_nodes), as the calibrated model ranks labels.

        ``best`` are the nodes of largest score, which are also those of largest probability unless the model learned
        closed sets, or the labels are such.
        """
        if self.closed and not self.one_label:
            best = self.probabilities(held, way).argmax(axis=1)
        elif held.nested:
            best = self.probabilities(held, way, of_labels=True).argmax(axis=1)
        n_docs = len(self.rows)
        shape = n_docs, self.taxonomy.n_nodes
        return cast(CSR, sparse.csr_array((np.ones(n_docs), best, np.arange(n_docs + 1)), shape=shape))

    def _weighted(self, function: Weighted) -> float:
        weights = np.ones(len(self.rows)) if self.weights is None else self.weights[self.rows]
        return float(function(weights[None, :])[0])

    def resampled(self, outcome: Outcome) -> FloatArray:
        """The measure of an outcome on bootstrap samples of the held-out documents, the same ones for all."""
        weights = None if self.weights is None else self.weights[self.rows]
        if outcome.P is not None:
            function, n_pairs = of_ranking(self.gold, outcome.P, self.taxonomy), outcome.P.size
        else:
            assert outcome.answers is not None
            function, n_pairs = of_answers(self.measure, self.gold, outcome.answers, self.taxonomy), 0
        return function(draws(len(self.rows), n_pairs, weights, self.seed))

    def best_cut(self, held: HeldOutScores, own: float, way: str, *, last: bool = True) -> tuple[float, str, CSR]:
        """(value, cut, answers) of the best of all cuts, each fitted on one half and measured on the other.

        Of nearly equal ones the expected cut is taken: it maximises the measure by curves of half of the documents
        here, and by those of all of them, or of all training documents, afterwards.
        """
        assert held.own is not None
        best = own, OWN, held.own
        if self.decoder is not None and self.decoder != OWN:
            best = -np.inf, OWN, held.own  # the given one, even where the model's own is better
        expected = None
        for name, cut in self.cuts(held, last=last).items():
            answers = self._crossed(held, cut, way)
            if answers is None:
                continue
            found = self.value(answers), name, answers
            best = found if found[0] > best[0] else best
            expected = found if name == _EXPECTED else expected
        if expected is not None and best[0] - expected[0] <= max(_NEARLY, self.allowance(_EXPECTED)):
            return expected
        if not np.isfinite(best[0]):
            raise DataError(f"The held-out documents are too few to fit the decoder {self.decoder}.")
        return best

    def cuts(self, held: HeldOutScores, *, last: bool = True) -> dict[str, Decoder]:
        """Cut-offs worth a try, unfitted; none where every document has one label, or the one that is given."""
        if self.decoder is not None:
            return {} if isinstance(self.decoder, str) else {self.decoder.name: self.decoder}
        if (self.one_label and not self.closed) or len(held.documents) < 10:
            return {}
        some = bool((np.diff(self.Y.indptr) == 0).any())
        thresholds: dict[str, Decoder] = {"scut": SCut(at_least_one=not some)}
        # One cut ranks candidates as all of them do, in a third of the time; not by macro-F1, which curves raise most.
        if not last and self.measure != "macro_f1":
            return thresholds
        found: dict[str, Decoder] = {}
        if not isinstance(held.S, TopScores):
            found[_EXPECTED] = ExpectedCut(cut_measure(self.measure), at_least_one=not some)
        if not last:
            return found | thresholds
        return found | thresholds | {"instance_cut": InstanceCut(target="f1", at_least_one=not some)}

    def with_cut(self, outcome: Outcome) -> Outcome:
        """The outcome with the last cut: that of largest hierarchical F1 where the measure does not depend on it."""
        if outcome.held is None or outcome.held.own is None or self.measure == cut_measure(self.measure):
            return outcome
        return replace(outcome, cut=self.best_cut(outcome.held, self.value(outcome.held.own), outcome.way)[1])

    def fitted_cut(self, outcome: Outcome) -> Decoder | None:
        """The cut of an outcome, fitted on all its held-out documents; None for the model's own decoder."""
        if outcome.held is None or outcome.cut == OWN:
            return None
        cut = self.cuts(outcome.held)[outcome.cut]
        if not isinstance(cut, CutOff) or cut.fitted:
            return cut
        return outcome.held.fit(cut, metric_of(self.measure))

    def _crossed(self, held: HeldOutScores, cut: Decoder, way: str) -> CSR | None:
        """Answers to each half of the held-out documents by the cut fitted on the other half."""
        parts, order = [], []
        for here, there in self._halves():
            some = replace(held, S=held.S[there], Y=held.Y[there], documents=held.documents[there], own=None)
            fitted = cut
            if isinstance(cut, CutOff) and not cut.fitted:
                try:
                    fitted = some.fit(cut, metric_of(self.measure))
                except DataError:
                    return None
            if fitted.on_probabilities:
                P = self.probabilities(held, way)[here]
                parts.append(fitted(P, self.taxonomy, np.arange(self.taxonomy.n_nodes, dtype=np.int32)))
            else:
                S = held.S[here]
                parts.append(fitted(S.dense() if isinstance(S, TopScores) else S, self.taxonomy, held.nodes))
            order.append(here)
        Y = stacked(parts, self.taxonomy)[np.argsort(np.concatenate(order))]
        return self._as_given(Y, held, cut.closed)

    def _as_given(self, answers: CSR, held: HeldOutScores, closed: bool) -> CSR:
        """Answers in the form of the labels: closed sets, or the most specific labels."""
        if self.closed:
            return self.taxonomy.close(answers)
        return self.taxonomy.frontier(answers) if held.nested or held.conditional or closed else answers

    def _halves(self) -> list[tuple[IntArray, IntArray]]:
        first: BoolArray = np.arange(len(self.rows)) % 2 == 0
        one, other = np.flatnonzero(first), np.flatnonzero(~first)
        return [(one, other), (other, one)]

    def probabilities(self, held: HeldOutScores, way: str, *, of_labels: bool = False) -> FloatArray:
        """Probabilities of all nodes (n_docs x n_nodes), of each half by curves fitted on the other half.

        ``of_labels``: the probabilities that nodes are labels themselves, not one of the nodes below.
        """
        began = time.perf_counter()
        S = np.asarray(_dense(held.S), dtype=np.float32)
        low = float(S[np.isfinite(S)].min(initial=0.0))
        filled = np.where(np.isfinite(S), S, low)
        single = way == "softmax"
        P = np.zeros((len(S), self.taxonomy.n_nodes), dtype=np.float32)
        for here, there in self._halves():
            curves = fit_calibrator(
                S[there],
                self.taxonomy.frontier(held.Y[there]) if held.closed else held.Y[there],
                self.taxonomy,
                held.nodes,
                method="platt",
                coherent=way,
                own=held.nested,
                labels=np.unique(self.taxonomy.frontier(self.Y).indices) if single or of_labels else None,
                single=single,
                shares=self.shares,
                rank_labels=of_labels,
            )
            if of_labels and curves.labels is not None:
                Q = curves.label_probabilities(filled[here], self.taxonomy, held.nodes)
                P[np.ix_(here, curves.labels)] = Q
            else:
                P[np.ix_(here, curves.nodes)] = curves(filled[here], self.taxonomy, held.nodes)
        seconds = time.perf_counter() - began
        self.curve_seconds = (self.curve_seconds + seconds) / 2 if self.curve_seconds else seconds
        return P


def _dense(S: FloatArray | TopScores) -> FloatArray:
    return S.dense() if isinstance(S, TopScores) else S


def squared_length(X: Matrix) -> float:
    """Mean squared length of the rows, rounded to one digit; 1 where there is none."""
    values = X.data if is_sparse(X) else np.asarray(X)
    length = float(np.square(values, dtype=np.float64).sum()) / max(1, X.shape[0])
    return float(f"{length:.0e}") if np.isfinite(length) and length > 0 else 1.0


# -- measures ----------------------------------------------------------------------------------------------------------


def check_measure(measure: str) -> str:
    """The name of a measure, with spaces or underscores; "accuracy" and "p@1" are `PRECISION_AT_1`.

    Examples
    --------
    >>> check_measure("average precision")
    'average_precision'
    >>> check_measure("P@1")
    'precision_at_1'
    """
    name = str(measure).strip().lower().replace(" ", "_").replace("-", "_")
    name = _ALIASES.get(name, name)
    if name not in MEASURES:
        raise ParameterError(f"measure={measure!r} is not one of {', '.join(MEASURES)}{nearest(name, MEASURES)}")
    return name


def cut_measure(measure: str) -> str:
    """The measure that cuts are chosen by: hierarchical F1 where the measure does not depend on a cut."""
    return measure if measure in _OF_ANSWERS else "hierarchical_f1"


def metric_of(measure: str) -> Metric:
    """The metric that cuts are fitted by, see `cut_measure`."""
    from linnaeus import metrics

    metric: Metric = getattr(metrics, cut_measure(measure))
    return metric


def of_answers(measure: str, gold: CSR, answers: CSR, taxonomy: Taxonomy) -> Weighted:
    """A measure of answers (n_docs x n_nodes), for any weights of the documents.

    Parameters
    ----------
    measure : str
        One of `MEASURES` except `RANKING`.
    gold, answers : CSR
        Labels and answers, n_docs x n_nodes; the answers of `PRECISION_AT_1` are the first suggestions.
    taxonomy : Taxonomy
        The taxonomy.

    Returns
    -------
    callable
        From weights W (n_weightings x n_docs) to n_weightings values.

    Examples
    --------
    >>> tax = Taxonomy.flat(["A", "B"])
    >>> gold, answers = tax.indicator([["A"], ["A", "B"]]), tax.indicator([["A"], ["A"]])
    >>> of_answers("micro_f1", gold, answers, tax)(np.array([[1.0, 1.0], [1.0, 0.0]])).round(3).tolist()
    [0.8, 1.0]
    """
    if measure == "hierarchical_f1":
        gold, answers = (taxonomy.close(Y, keep_root=False) for Y in (gold, answers))
    both = gold.multiply(answers).tocsr()
    if measure == "macro_f1":
        leaf = np.asarray(taxonomy.is_leaf)

        def macro(W: FloatArray) -> FloatArray:
            hit, true, said = (np.asarray((Y.T @ W.T).T, dtype=np.float64) for Y in (both, gold, answers))
            counted = leaf | (true + said > 0)
            return np.asarray((_f1(hit, true, said, 0.0) * counted).sum(axis=1) / np.maximum(counted.sum(axis=1), 1))

        return macro
    hits, trues, saids = (np.asarray(Y.sum(axis=1), dtype=np.float64).ravel() for Y in (both, gold, answers))
    if measure in ("example_f1", PRECISION_AT_1):
        of_each = _f1(hits, trues, saids, 1.0) if measure == "example_f1" else (hits > 0).astype(np.float64)
        return lambda W: np.asarray(W @ of_each / np.maximum(W.sum(axis=1), 1e-300))
    return lambda W: _f1(W @ hits, W @ trues, W @ saids, 1.0)


def _f1(hit: FloatArray, true: FloatArray, said: FloatArray, empty: float) -> FloatArray:
    total = true + said
    return np.where(total > 0, 2.0 * hit / np.maximum(total, 1e-300), empty)


def of_ranking(gold: CSR, P: FloatArray, taxonomy: Taxonomy) -> Weighted:
    """Average precision of all pairs of documents and nodes (P, n_docs x n_nodes), for any weights of the documents.

    Examples
    --------
    >>> tax = Taxonomy.flat(["A", "B"])
    >>> P = np.zeros((2, tax.n_nodes))
    >>> P[:, tax.index("A")], P[:, tax.index("B")] = [0.9, 0.2], [0.1, 0.8]
    >>> of_ranking(tax.indicator([["A"], ["A"]]), P, tax)(np.ones((1, 2))).round(3).tolist()
    [0.833]
    """
    nodes = np.array([v for v in range(taxonomy.n_nodes) if v != taxonomy.root])
    truth = taxonomy.close(gold, keep_root=False)[:, nodes].toarray().ravel() > 0
    flat = np.asarray(P)[:, nodes].ravel()
    order = np.argsort(-flat, kind="stable")
    sorted_, truth = flat[order], truth[order]
    document = (order // len(nodes)).astype(np.int32)
    last = np.flatnonzero(np.append(sorted_[1:] != sorted_[:-1], True)) if len(flat) else np.empty(0, dtype=np.int64)

    def value(w: FloatArray) -> float:
        weight = w[document]
        hits = np.cumsum(np.where(truth, weight, 0.0))[last]
        if not len(hits) or hits[-1] <= 0:
            return 0.0
        gained = np.diff(hits, prepend=0.0)
        return float((gained * hits / np.maximum(np.cumsum(weight)[last], 1e-300)).sum() / hits[-1])

    return lambda W: np.array([value(w) for w in W])


def draws(n_docs: int, n_pairs: int, weights: FloatArray | None, seed: int) -> FloatArray:
    """Weights of bootstrap samples of the documents; fewer of them where there are very many pairs to rank."""
    n = RESAMPLES if not n_pairs else max(20, min(RESAMPLES, _PAIRS // n_pairs))
    W = np.random.default_rng(seed).multinomial(n_docs, np.full(n_docs, 1.0 / n_docs), size=n).astype(np.float64)
    return W if weights is None else W * weights


def interval(values: FloatArray, level: float = 0.95) -> tuple[float, float]:
    """Percentile interval of the values of bootstrap samples.

    Examples
    --------
    >>> [round(end, 2) for end in interval(np.arange(101.0))]
    [2.5, 97.5]
    """
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def wins(first: FloatArray, second: FloatArray) -> bool:
    """Whether the first is better than the second by more than chance, on the same bootstrap samples."""
    return bool((first <= second).mean() <= _BY_CHANCE)
