"""One candidate on documents that it has not seen: its best cut, and the value of the measure.

The training documents are split once (or into three folds, where they are few). A candidate learns from some of the
documents of one side, in a fixed random order, and scores the other side. Every cut is fitted on one half of these and
answers the other half; the best of them, the model's own decoder included, is the candidate's cut.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linnaeus.auto import measures
from linnaeus.auto.candidates import Candidate, make_model
from linnaeus.data.splits import kfold, train_test_split
from linnaeus.decoding import CutOff, Decoder, ExpectedCut, InstanceCut, SCut
from linnaeus.decoding.probability.curves import fit_calibrator
from linnaeus.engine import single_blas_thread
from linnaeus.errors import DataError
from linnaeus.taxonomy import Taxonomy
from linnaeus.tuning.held_out import HeldOutScores, take_documents
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix, is_sparse

__all__ = ["MOST_CURVES", "OWN", "Evaluator", "Outcome", "splits_of"]

OWN = "own"  # the model's own decoder
HELD_OUT, MOST_HELD, MOST_SCORES = 0.25, 4_000, 20_000_000
FEW, FOLDS = 400, 3  # documents below which all are held out once, in folds
TOO_FEW = 12  # documents below which nothing is held out
MOST_CURVES = 3_000  # nodes up to which a curve for each is fitted in a search

Split = tuple[IntArray, IntArray]


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


@dataclass(frozen=True)
class Outcome:
    """What a candidate reached.

    Attributes
    ----------
    candidate : Candidate
        The candidate.
    n_docs : int
        Documents it learned from.
    value : float
        The measure with the best cut; ``own`` with the model's own decoder.
    cut : str
        The best cut, "own" for the model's own decoder.
    seconds : float
        Of the fit and everything after it.
    """

    candidate: Candidate
    n_docs: int
    value: float
    own: float
    cut: str
    seconds: float
    answers: CSR | None = field(default=None, repr=False, compare=False)  # with the best cut
    held: HeldOutScores | None = field(default=None, repr=False, compare=False)
    P: FloatArray | None = field(default=None, repr=False, compare=False)


@dataclass
class Evaluator:
    """The documents of a search, and the matrices that the variants of features make of them."""

    documents: Any
    Y: CSR
    taxonomy: Taxonomy
    variants: dict[str, Any]
    splits: list[Split]
    measure: str
    seed: int
    n_jobs: int | None = None
    fixed: Mapping[str, object] = field(default_factory=dict)  # parameters of models that are not searched over
    decoder: Decoder | str | None = None  # instead of the best cut; "own" is the model's own decoder
    matrices: dict[tuple[str, int], tuple[Matrix, Matrix, float]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  # of the features

    @property
    def n_learn(self) -> int:
        """Documents that a candidate can learn from."""
        return min(len(learn) for learn, _ in self.splits)

    @property
    def gold(self) -> CSR:
        """Labels of the held-out documents."""
        return self.Y[np.concatenate([held for _, held in self.splits])]

    @property
    def closed_sets(self) -> bool:
        """Whether learning closed sets differs from learning labels as given."""
        return self.taxonomy.n_edges > 0 and (self.taxonomy.close(self.Y, keep_root=False) != self.Y).nnz > 0

    def matrix(self, variant: str, part: int) -> tuple[Matrix, Matrix, float]:
        """The vectors of both sides of a split, features learned from the first, and their mean squared length."""
        if (variant, part) not in self.matrices:
            began = time.perf_counter()
            learn, held = self.splits[part]
            features = self.variants[variant]
            X, X_held = (take_documents(self.documents, rows) for rows in (learn, held))
            if features is not None:
                from sklearn.base import clone

                made = clone(features)
                X = made.fit_transform(X, self.taxonomy.close(self.Y[learn], keep_root=False))
                X_held = made.transform(X_held)
            values = X.data if is_sparse(X) else np.asarray(X)
            length = float(np.square(values, dtype=np.float64).sum()) / max(1, X.shape[0])
            length = float(f"{length:.0e}") if np.isfinite(length) and length > 0 else 1.0
            self.matrices[variant, part] = X, X_held, length
            self.seconds[variant] = self.seconds.get(variant, 0.0) + time.perf_counter() - began
        return self.matrices[variant, part]

    def run(self, candidate: Candidate, n_docs: int, *, max_time: float | None = None, warm: Any = None) -> Outcome:
        """Fit and measure a candidate; ``warm`` is an earlier model of the same place, which is fitted further."""
        for part in range(len(self.splits)):
            self.matrix(candidate.features, part)
        began = time.perf_counter()
        with single_blas_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            held, calibrated = self._held_out(candidate, n_docs, max_time, warm)
            found = self._measured(held, calibrated)
        return Outcome(candidate, n_docs, *found[:3], time.perf_counter() - began, found[3], held, found[4])

    def model(self, candidate: Candidate, part: int = 0, **more: Any) -> Any:
        """The unfitted model of a candidate."""
        scale = self.matrix(candidate.features, part)[2]
        if self.fixed.get("kernel", "linear") != "linear":  # every document has length 1 there
            scale = 1.0
        usual = {"random_state": self.seed, "n_jobs": self.n_jobs, **self.fixed, **more}
        return make_model(candidate, self.taxonomy, scale, **usual)

    def _held_out(
        self, candidate: Candidate, n_docs: int, max_time: float | None, warm: Any
    ) -> tuple[HeldOutScores, dict[str, Any]]:
        parts, own, how = [], [], {}
        limit = {} if max_time is None else {"max_time": max(1.0, max_time / len(self.splits))}
        for part, (learn, _) in enumerate(self.splits):
            X, X_held, _ = self.matrix(candidate.features, part)
            rows = np.sort(np.random.default_rng(self.seed).permutation(len(learn))[:n_docs])
            model = self.model(candidate, part, **limit)
            if warm is not None and len(self.splits) == 1:
                model = warm.set_params(
                    **{k: v for k, v in model.get_params(deep=False).items() if k in ("C", "max_time")}
                )
            model.fit(X[rows], self.Y[learn][rows])
            S = np.concatenate([np.asarray(block, dtype=np.float32) for block in model.score_blocks(X_held)])
            parts.append((S, model.nodes_))
            own.append(model.answers(X_held))
            how = {
                "nested": bool(model.nested_),
                "closed": bool(model.closed_),
                "conditional": model.conditional_scores,
            }
        nodes = np.unique(np.concatenate([columns for _, columns in parts])).astype(np.int32)
        S = np.full((sum(len(one) for one, _ in parts), len(nodes)), -np.inf, dtype=np.float32)
        start = 0
        for one, columns in parts:
            S[start : start + len(one), np.searchsorted(nodes, columns)] = one
            start += len(one)
        from scipy import sparse

        gold = self.taxonomy.close(self.gold, keep_root=False) if how["nested"] else self.gold
        documents = np.concatenate([rows for _, rows in self.splits])
        answers = sparse.csr_array(sparse.vstack(own, format="csr"))
        closed = how["nested"] or how["closed"]
        held = HeldOutScores(S, gold, self.taxonomy, nodes, documents, closed, bool(how["conditional"]), answers)
        return held, how

    def _measured(self, held: HeldOutScores, how: dict[str, Any]) -> tuple[float, float, str, CSR, FloatArray | None]:
        """(value, value of the own decoder, best cut, its answers, probabilities where the measure is of rankings)."""
        assert held.own is not None
        gold = self.gold
        if self.measure == measures.RANKING:
            P = self._probabilities(held, how)
            value = measures.of_ranking(gold, P, self.taxonomy)
            return value, value, OWN, held.own, P
        function = measures.of_answers(self.measure)
        own = float(function(gold, held.own, self.taxonomy))
        best = own, OWN, held.own
        if self.decoder is not None and self.decoder != OWN:
            best = -np.inf, OWN, held.own  # the given one, even where the model's own is better
        for name, cut in self.cuts(held).items():
            answers = self._crossed(held, cut, how)
            if answers is not None and (value := float(function(gold, answers, self.taxonomy))) > best[0]:
                best = value, name, answers
        if not np.isfinite(best[0]):
            raise DataError(f"The held-out documents are too few to fit the decoder {self.decoder}.")
        return best[0], own, best[1], best[2], None

    def cuts(self, held: HeldOutScores) -> dict[str, Decoder]:
        """Cut-offs worth a try, unfitted; none where every document has one label, or the one that is given."""
        if self.decoder is not None:
            return {} if isinstance(self.decoder, str) else {self.decoder.name: self.decoder}
        if bool((np.diff(self.taxonomy.frontier(self.Y).indptr) == 1).all()) or len(held.documents) < 10:
            return {}
        some = bool((np.diff(self.Y.indptr) == 0).any())
        found: dict[str, Decoder] = {}
        if len(held.nodes) <= MOST_CURVES:
            measure = self.measure if self.measure != measures.RANKING else "hierarchical_f1"
            found["expected"] = ExpectedCut(measure, at_least_one=not some)
        found["scut"] = SCut(at_least_one=not some)
        found["instance_cut"] = InstanceCut(target="f1", at_least_one=not some)
        return found

    def fitted_cut(self, outcome: Outcome) -> Decoder | None:
        """The cut of an outcome, fitted on all held-out documents; None for the model's own decoder."""
        if outcome.cut == OWN or outcome.held is None:
            return None
        cut = self.cuts(outcome.held)[outcome.cut]
        if not isinstance(cut, CutOff) or cut.fitted:
            return cut
        return outcome.held.fit(cut, measures.of_answers(self.measure))

    def _crossed(self, held: HeldOutScores, cut: Decoder, how: dict[str, Any]) -> CSR | None:
        """Answers to each half of the held-out documents by the cut fitted on the other half."""
        from scipy import sparse

        halves = np.arange(len(held.documents)) % 2
        rows, parts = [], []
        for half in (0, 1):
            here, there = np.flatnonzero(halves == half), np.flatnonzero(halves != half)
            some = HeldOutScores(
                held.S[there],
                held.Y[there],
                held.taxonomy,
                held.nodes,
                held.documents[there],
                held.closed,
                held.conditional,
            )
            try:
                fitted = cut
                if isinstance(cut, CutOff) and not cut.fitted:
                    fitted = some.fit(cut, measures.of_answers(self.measure))
            except DataError:
                return None
            if fitted.on_probabilities:
                P = self._probabilities(held, how)[here]
                parts.append(fitted(P, self.taxonomy, np.arange(self.taxonomy.n_nodes, dtype=np.int32)))
            else:
                parts.append(fitted(np.asarray(held.S[here]), self.taxonomy, held.nodes))
            rows.append(here)
        Y = sparse.csr_array(sparse.vstack(parts, format="csr"))[np.argsort(np.concatenate(rows))]
        if how["closed"]:
            return self.taxonomy.close(Y)
        return self.taxonomy.frontier(Y) if how["nested"] or how["conditional"] or cut.closed else Y

    def _probabilities(self, held: HeldOutScores, how: dict[str, Any]) -> FloatArray:
        S = np.asarray(held.S, dtype=np.float64)
        way = "product" if held.conditional else "project"
        curves = fit_calibrator(S, held.Y, self.taxonomy, held.nodes, method="platt", coherent=way, own=how["nested"])
        low = float(S[np.isfinite(S)].min(initial=0.0))
        P = np.zeros((len(S), self.taxonomy.n_nodes), dtype=np.float32)
        P[:, curves.nodes] = curves(np.where(np.isfinite(S), S, low), self.taxonomy, held.nodes)
        return P
