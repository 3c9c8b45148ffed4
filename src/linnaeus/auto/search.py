"""The search: successive halving over candidates, with more documents in every round, within a budget of seconds.

    1   the flat model with its usual C, on all documents of the learning side: the baseline. Where no budget is given,
        it is ten such fits, with the features that take longest, and with the folds of 7 by a measure of probabilities
    2   on few documents: the flat model with every variant of the features, then with everything that can be learned,
        then with maps of other widths; then every model with the best of these, one of each family first; then larger
        and smaller C for the best half. A joint model that is searched alone takes the place of the flat one, at the
        flat end of its pull
    3   on more documents: the best third, at their best C; and so on, until all documents are learned from
    4   on all documents: C, then pull, of the best are followed in both directions as long as it pays; then, where it
        has a map, a larger one, then wider and narrower ones, and other kinds of features, of dense vectors also two of
        them side by side; then C and pull of the next.
        A joint model at its flat end is tuned as the flat model first
    5   the best of these, where they are nearly equal, with every document held out once, in three folds, where there
        is time: what four times as many held-out documents say is taken
    6   the best with the candidate of another kind that adds most, then with a third, from their held-out scores; by a
        measure of probabilities, or where a gain is small, from those in folds. The mixture is taken only where it wins
        by more than chance
    7   the chosen one with every document held out once, in three folds, where there is time: its cut, probabilities
        and weights of a mixture are learned from these scores

The order is fixed by the seed. The clock only decides how far the search goes: a fit that is forecast to end after the
budget, with the last fit on all documents still to come, is left out, and the report says so. Everything that was
measured can be kept in a folder; the same search then continues from there, with the same decisions.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from linnaeus.auto.candidates import (
    BESIDE,
    CHARS,
    COMMON,
    EMBEDDED,
    EMBEDDED_CHARS,
    FLAT,
    MAP,
    PLAIN,
    PROFILE_MAP,
    PROFILES,
    PULLS,
    RARE,
    READ,
    TEXTS,
    UP_TO_4,
    UP_TO_5,
    AutoReport,
    Candidate,
    FeatureVariants,
    Kept,
    Outcome,
    Place,
    Row,
    cut_words,
    document_models,
    feature_variants,
    fingerprint,
    first_candidate,
    is_later,
    larger_map,
    map_kind,
    models_for,
    other_widths,
    parameters_of,
    parts_of,
    side_by_side,
)
from linnaeus.auto.evaluate import (
    PRECISION_AT_1,
    RANKING,
    Evaluator,
    Split,
    check_measure,
    cut_measure,
    interval,
    near_tie,
    splits_of,
    wins,
)
from linnaeus.decoding import Decoder
from linnaeus.engine import format_seconds
from linnaeus.errors import LinnaeusError, ParameterError
from linnaeus.features import TextFeatures
from linnaeus.features.documents import take_documents
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, Matrix

if TYPE_CHECKING:
    from linnaeus.pipeline import Transformer

__all__ = ["FLAT", "LAST_FIT", "LEAST_BUDGET", "TUNED", "AutoReport", "Search", "choose_features", "search"]

TUNED = ("features", "learn", "C")
TIMES_FLAT, LEAST_BUDGET = 10.0, 30.0
_LONG = 120.0  # seconds up to which folds are part of the fits that the usual budget is counted in
_NEW = 10.0  # a model that is tried for the first time may take the tenth part of what is left
_KEPT = 3  # one of this many candidates is kept for the next round
_SMALLEST = 400  # documents of a round, at least
_GROWTH = 3  # times as many documents in the next round
_MANY = 50_000  # documents from which on there is one more round, so that the first takes a small part of the budget
_POWER = 1.1  # seconds grow with this power of the documents, where it is not known: the fit does, measuring hardly
_JOINT_POWER = 0.75  # the same for joint models, whose inner nodes cost the same for any number of documents
_LEAST_POWER, _MOST_POWER = 0.3, 2.0  # of what is known
_LARGER_FIT = 3.0  # times a fit with a map that one with the larger map takes
_LARGE_BYTES, _SAVED_BYTES = 1e8, 3e7  # of weights from which pruning and saving take long; and those of a second
_CURVES, _CUTS = 5.0, 3.0  # times the probabilities of held-out documents that the last ones take, and a last cut
LAST_FIT = 1.4  # times the fit of a candidate that the one on all documents takes, at most
_LAST_SPARE = 1.15  # the same, where hardly any documents are held out
_PILOT, _PILOT_FROM = 8, 400  # a model that cannot be stopped first learns from an eighth of more documents than this
_WIDTH_GAIN = 1.005  # times the value of the usual width of a map that another one has to have in the first round
_CLEAR = 0.005  # below the best: a direction of C is left at once
_FOLLOWED = 3  # places whose C is followed, however far below the best they are,
_MOST_FOLLOWED, _WORTH = 8, 0.02  # and while there is time, of those that are at most this far below
_FOR_MIXING = 0.25  # share of the budget that is left for a mixture at most, and for the last fit of its other source
_FOR_FIRST, _FOR_ROUNDS = 0.4, 0.75  # share of the budget that is over after the first round, and after all rounds
_LARGEST_LAST = 0.4  # share of the budget that the last fit of a candidate may take
_OVER = 1.1  # times the budget that the last fit may end at, where others took longer than was forecast
_SMALL_LAST = 0.1  # share of the budget that a last fit may always take: a far worse model would be a bad bargain
_OVER_USUAL = 1.5  # the same where nobody gave a budget: a clearly worse model would be a bad bargain for some seconds
_TERMS = PLAIN, RARE, COMMON, UP_TO_4, UP_TO_5  # words of texts, or substrings of sequences
_WORDS = *_TERMS, CHARS, EMBEDDED, EMBEDDED_CHARS  # features that see different parts of texts
_FINALISTS = 8  # candidates that are compared in folds, at most
_MOST_SOURCES, _MANY_SCORES = 3, 5_000_000  # of a mixture; of held-out documents, above which few are kept
_MIXING, _MIXING_FIRST = 3e-6, 1e-6  # seconds for each score of a mixture, and of one that learns what comes first
_FINAL_MIXTURE = 2.5  # times a rough mixture that the final one takes, with two or three values of C
_FOLDED_MIXTURES = 5.0  # mixtures in folds that time is kept for: rough ones of several pairs, and the final one
_FOLD_FITS, _FOR_FOLDS = 3.0, 0.25  # fits that holding out every document takes, and the most of the budget for them
_FOR_RANKED_FOLDS = (
    0.5  # the same by a measure of probabilities: their curves gain more from documents than from tuning
)


@dataclass
class Search:
    """A search under way."""

    evaluator: Evaluator
    budget: float | None
    say: Callable[[str], None]
    models: list[str]
    tuned: tuple[str, ...] = TUNED
    kept: Kept = field(default_factory=Kept)
    tried: list[Outcome] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    mixture: Outcome | None = None
    decided: Candidate | None = None  # the best of nearly equal ones
    folded: dict[Candidate, Outcome] = field(default_factory=dict)  # with every document held out once
    n_skipped: int = 0
    cut_short: bool = False  # whether the budget ended the search
    known: dict[tuple[Candidate, int], Outcome] = field(default_factory=dict)  # of the same documents, from elsewhere
    mixing: float | None = None  # seconds of a mixture for each score that it is learned from, where one was made
    usual: bool = False  # whether nobody gave a budget
    share: float = 1.0  # of the budget that the present round may use up
    leader: Candidate | None = (
        None  # the best of the rounds so far, where it may use what the usual budget has to spare
    )
    began: float = field(default_factory=lambda: time.perf_counter())
    earlier: float = 0.0  # seconds of what was kept from an earlier run, and of what was done before the search

    # -- single evaluations --------------------------------------------------------------------------------------------

    def measure(self, candidate: Candidate, n_docs: int, *, must: bool = False) -> Outcome | None:
        """The outcome of a candidate; None where there is no time for it, or the model refuses the documents."""
        known = next((one for one in self.tried if one.candidate == candidate and one.n_docs == n_docs), None)
        if known is not None:
            return known
        if candidate.model in self.refused or self._perfect():
            return None
        if (candidate, n_docs) in self.known:
            return self._add(self.known[candidate, n_docs])
        can_stop = "max_time" in parameters_of(candidate.model)
        new = all(one.candidate.model != candidate.model for one in self.tried)
        if new and not must and not can_stop and n_docs > _PILOT_FROM:
            self.measure(candidate, n_docs // _PILOT)  # how long it takes: it cannot be stopped
        if not must and not self._affordable(candidate, n_docs):
            self.n_skipped += 1
            return None
        key = json.dumps([asdict(candidate), n_docs])
        row = self.kept.rows.get(key)
        if row is not None and row["value"] is None:
            self.refused.add(candidate.model)
            return None
        if row is not None and row["value"] is not None:
            stopped, fitting = row.get("stopped", False), row.get("fitting", row["seconds"])
            known_values = row["value"], row["own"], row["cut"], row["seconds"]
            allowance = self.evaluator.allowance(row["cut"])
            outcome = Outcome(candidate, n_docs, *known_values, stopped=stopped, fitting=fitting, allowance=allowance)
            self.earlier += row["whole"]
        else:
            began = time.perf_counter()
            try:
                limit = self._limit(candidate, n_docs, new=new, must=must) if can_stop else None
                outcome = self.evaluator.run(candidate, n_docs, max_time=limit)
            except (LinnaeusError, MemoryError) as refusal:
                if must:
                    raise
                self.refused.add(candidate.model)
                self.notes.append(f"{candidate.model} was left out: {refusal}")
                self.kept.put(key, Row(value=None, own=0.0, cut="", seconds=0.0, whole=0.0))
                return None
            if not np.isfinite(outcome.value):
                outcome = replace(outcome, value=-np.inf)
            whole = time.perf_counter() - began  # with features that were made for it
            row = Row(
                value=outcome.value,
                own=outcome.own,
                cut=outcome.cut,
                seconds=outcome.seconds,
                whole=whole,
                stopped=outcome.stopped,
                fitting=outcome.fitting,
            )
            self.kept.put(key, row)
        return self._add(outcome)

    def _add(self, outcome: Outcome) -> Outcome:
        """Count an outcome among those that were tried."""
        self.tried.append(outcome)
        self._drop_scores()
        self._raise_budget(outcome)
        self.say(
            f"{outcome.candidate}, {outcome.n_docs:,} documents: {outcome.value:.4f} ({cut_words(outcome)}, "
            f"{outcome.seconds:.1f} s"
            f"{', stopped' if outcome.stopped else ''})"
        )
        return outcome

    def _drop_scores(self) -> None:
        """Keep the held-out scores of those that may be chosen or mixed only."""
        wanted = {id(one) for one in self._best_kinds()}
        self.tried = [one if id(one) in wanted else one.without_scores() for one in self.tried]

    def _ranked(self) -> list[Outcome]:
        """Outcomes, the best first, of each candidate that with the most documents.

        All are measured on the same held-out documents, and more documents rarely make a model worse: one that learned
        from few may be the best. Those whose last fit does not fit into the budget come at the end.
        """
        largest: dict[Candidate, Outcome] = {}
        for one in self.tried:
            if one.candidate not in largest or largest[one.candidate].n_docs < one.n_docs:
                largest[one.candidate] = one
        return sorted(
            largest.values(), key=lambda one: (one.candidate != self.decided, not self._can_be_last(one), -one.rank)
        )

    def _best_kinds(self) -> list[Outcome]:
        """The best outcome, then those of all documents that it may be mixed with.

        They have other features, of each kind the best unless their scores take much memory, or are of another model;
        those with other features come first, since they add most.
        """
        ranked = self._ranked()
        if not ranked:
            return []
        first = ranked[0]
        whole = [one for one in ranked if one.n_docs == self.evaluator.n_learn and one is not first]
        others = [one for one in whole if one.candidate.model != first.candidate.model][:1]
        others += [one for one in whole if one.candidate.features == TEXTS][:1]
        kinds: dict[str, Outcome] = {}
        for one in whole:
            kinds.setdefault(_front(one), one)
        kinds.pop(_front(first), None)
        most = len(kinds) if len(self.evaluator.rows) * self.evaluator.Y.shape[1] <= _MANY_SCORES else 1
        others += list(kinds.values())[:most]
        different = {id(one): one for one in others}.values()
        return [first, *sorted(different, key=lambda one: (_front(one) == _front(first), -one.rank))]

    def best(self) -> Outcome | None:
        """The best outcome; of equal ones the first."""
        ranked = self._ranked()
        return ranked[0] if ranked else None

    def _perfect(self) -> bool:
        """Whether nothing can be gained any more."""
        best = self.best()
        return best is not None and best.n_docs == self.evaluator.n_learn and best.value >= 1.0

    # -- the budget ----------------------------------------------------------------------------------------------------

    @property
    def spent(self) -> float:
        """Seconds so far, with those of what an earlier run has measured."""
        return time.perf_counter() - self.began + self.earlier

    @property
    def left(self) -> float:
        """Seconds of the budget that are left for the search.

        Those for the last fit, its cut and probabilities are kept back; after the rounds, which have a share of the
        budget, also those for folds and mixtures. By a measure of probabilities folds are kept back from the start.
        """
        if self.budget is None:
            return float("inf")
        last = self._last_fit()
        reserved = self._last * last + self._after()
        if (self._ranked_folds or self.share >= 1.0) and self._folds_fit(last):  # else there will be no time for them
            n_times = 2 if self.share >= 1.0 and self._folds_fit(2 * last) else 1  # of the two best, if nearly equal
            more = n_times * _FOLD_FITS * last + self._after(folds=True) - self._after()
            reserved += more if self.evaluator.foldable else 0.0
        if self.share >= 1.0 and len(self.models) > 1:
            reserved += self._for_mixing()
        if self.known:  # the best of those is fitted again for its scores
            best = self.best()
            reserved += best.seconds if best is not None and best.held is None else 0.0
        return self.budget - self.spent - reserved

    def _for_mixing(self) -> float:
        """Seconds that a mixture of two takes, folds included; 0 where it would take a large part of the budget."""
        assert self.budget is not None
        kinds = self._best_kinds()[:2]
        other = self._fit_seconds(kinds[-1]) if len(kinds) > 1 else 0.0
        mixing = self._mixing_seconds(kinds)
        plain = mixing + self._last * other
        folded = plain + _FOLD_FITS * other + _FOLDED_MIXTURES * self._more * mixing if self._ranked_folds else plain
        return next((seconds for seconds in (folded, plain) if seconds <= _FOR_MIXING * self.budget), 0.0)

    @property
    def _more(self) -> float:
        """Times as many documents as are held out otherwise that are held out in folds."""
        return self.evaluator.Y.shape[0] / max(1, len(self.evaluator.rows))

    def _last_best(self) -> Candidate | None:
        """The best candidate so far among those with all documents."""
        whole = [one for one in self.tried if one.n_docs == self.evaluator.n_learn]
        return max(whole, key=_rank).candidate if whole else None

    def _raise_budget(self, outcome: Outcome) -> None:
        """The usual budget is ten times a flat fit on all documents, with whatever features take longest.

        Its cut and probabilities are part of a fit; where these are learned in folds, as by a measure of probabilities,
        so are the folds, up to two minutes. C is the usual one, or that of the best candidate.
        """
        candidate = outcome.candidate
        if not self.usual or self.budget is None or outcome.stopped:
            return
        usual = candidate.C == self._first(candidate.model).C or outcome.candidate == self._last_best()
        if candidate.model != self.models[0] or not usual:
            return
        times = self.evaluator.Y.shape[0] / self.evaluator.n_learn
        larger = larger_map(candidate.features, self.evaluator.variants) is not None
        seconds = self._fit_seconds(outcome) * (_LARGER_FIT if larger else 1.0) + outcome.seconds - outcome.fitting
        fits = TIMES_FLAT * times * seconds
        with_folds = min(_LONG, (1.0 + _FOLD_FITS) * fits) if self._ranked_folds else fits
        self.budget = max(self.budget, fits, with_folds)

    @property
    def _last(self) -> float:
        """Times the fit of a candidate that the one on all documents takes."""
        return min(LAST_FIT, _LAST_SPARE * (self.evaluator.Y.shape[0] / self.evaluator.n_learn) ** _POWER)

    def _folds_fit(self, last: float) -> bool:
        """Whether holding out every document once, in folds, takes a small part of the budget."""
        assert self.budget is not None
        more = self._after(folds=True) - self._after()
        share = _FOR_RANKED_FOLDS if self._ranked_folds else _FOR_FOLDS
        return _FOLD_FITS * last + more <= share * self.budget

    @property
    def _ranked_folds(self) -> bool:
        """Whether probabilities are what is measured, and can be learned from all documents."""
        return self.evaluator.measure == RANKING and self.evaluator.foldable

    def _after(self, *, folds: bool = False) -> float:
        """Seconds after the last fit: of its cut, its probabilities, and pruning and saving a large model.

        ``folds``: cut and probabilities from scores of all documents.
        """
        one = self.evaluator
        times = _CURVES + (0.0 if cut_measure(one.measure) == one.measure else _CUTS)
        curves = times * one.curve_seconds * (one.Y.shape[0] / max(1, len(one.rows)) if folds else 1.0)
        return curves + (one.weight_bytes / _SAVED_BYTES if one.weight_bytes > _LARGE_BYTES else 0.0)

    def _last_fit(self) -> float:
        """Seconds of the last fit of the best so far, whether or not there is still time for it: it is not given up."""
        seconds = {id(one): self._fit_seconds(one) for one in self.tried}
        most = float("inf") if self.budget is None else _LARGEST_LAST * self.budget
        known = [one for one in self.tried if one is self.tried[0] or seconds[id(one)] <= most]
        return seconds[id(max(known, key=lambda one: one.rank))] if known else 0.0

    def _fit_seconds(self, outcome: Outcome) -> float:
        """Seconds of a fit of the candidate on all documents of the learning side, with its features."""
        larger = self._growth(outcome, self.evaluator.n_learn)
        return self.evaluator.fit_seconds(outcome) + (larger - 1.0) * outcome.fitting

    def _can_be_last(self, outcome: Outcome) -> bool:
        """Whether a fit on all documents fits into the budget; that of the first of all has to."""
        if self.budget is None or outcome is self.tried[0]:
            return True
        seconds = self._last * self._fit_seconds(outcome) + self._after()
        latest = self.budget * (_OVER_USUAL if self.usual else _OVER)
        return seconds <= _SMALL_LAST * self.budget or self.spent + seconds <= latest

    def _limit(self, candidate: Candidate, n_docs: int, *, new: bool, must: bool) -> float | None:
        """Seconds after which a fit is stopped.

        It never takes the time that is kept back for the last fit of the best so far, nor, with all documents, more
        than would leave time for its own last fit: it could not be chosen then.
        """
        if self.budget is None:
            return None
        measuring = self.evaluator.measuring_seconds
        leads = candidate == self.leader and n_docs == self.evaluator.n_learn
        latest = self.budget * (_OVER if leads else 1.0)
        whole = (latest - self.spent - measuring - self._after()) / (1.0 + self._last)
        if leads:
            return max(1.0, whole)
        if must:
            return max(1.0, whole)
        limit = self.left - measuring
        if n_docs == self.evaluator.n_learn:
            limit = min(limit, whole)
        return max(1.0, limit / (_NEW if new else 1.0))

    def _affordable(self, candidate: Candidate, n_docs: int) -> bool:
        seconds = self._forecast(candidate, n_docs)
        if self.budget is not None and candidate == self.leader and n_docs == self.evaluator.n_learn:
            return self.spent + (1.0 + self._last) * seconds + self._after() <= _OVER * self.budget
        after = max(0.0, seconds - self._last_fit()) * self._last if n_docs == self.evaluator.n_learn else 0.0
        if self.budget is not None and self.spent + seconds > self.share * self.budget:
            return False
        return seconds + after <= self.left

    def _forecast(self, candidate: Candidate, n_docs: int) -> float:
        """Seconds by the nearest that is known: the same place, the same model, or the first of all, the flat one."""
        for same in (
            lambda one: one.candidate.place == candidate.place,
            lambda one: one.candidate.model == candidate.model,
            lambda one: one is self.tried[0],
        ):
            known = [one for one in self.tried if same(one)]
            if known:
                near = max(known, key=lambda one: (_shares(one.candidate) == _shares(candidate), one.n_docs))
                parts = parts_of(candidate.features)
                if len(parts) > len(parts_of(near.candidate.features)):
                    return sum(self._forecast(replace(candidate, features=part), n_docs) for part in parts)
                larger = larger_map(near.candidate.features, [candidate.features]) is not None
                times = self._growth(near, n_docs) * (_LARGER_FIT if larger else 1.0)
                making = self.evaluator.making_seconds(candidate.features)
                return making + near.seconds + near.fitting * (times - 1.0)
        return 0.0

    def _growth(self, outcome: Outcome, n_docs: int) -> float:
        """Times the seconds that a fit of the candidate would take with this number of documents.

        By the last two sizes of the same place, or by those of the flat model, which has learned from few and from all
        documents. A fit that cannot be stopped is forecast by the faster growth of the two.
        """
        if n_docs == outcome.n_docs:
            return 1.0
        own = self._power([one for one in self.tried if one.candidate.place == outcome.candidate.place])
        flat = self._power([one for one in self.tried if one.candidate.place == self.tried[0].candidate.place])
        if "max_time" not in parameters_of(outcome.candidate.model):  # labels grow with documents: not less than flat
            power = max(flat or _POWER, own or _POWER)
        elif own is not None:
            power = own
        else:
            usual = _JOINT_POWER if _shares(outcome.candidate) else _POWER
            power = usual if flat is None else min(flat, usual)
        return float((n_docs / outcome.n_docs) ** min(max(power, _LEAST_POWER), _MOST_POWER))

    def _power(self, outcomes: list[Outcome]) -> float | None:
        """The power of the documents with which seconds grew between the two largest sizes; None where one is known."""
        seconds: dict[int, float] = {}
        for one in outcomes:  # the first of a size: the usual C
            if one.fitting > 0 and not one.stopped:
                seconds.setdefault(one.n_docs, one.fitting)
        if len(seconds) < 2:
            return None
        less, more = sorted(seconds)[-2:]
        return float(np.log(seconds[more] / seconds[less]) / np.log(more / less))

    # -- the rounds ----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Go through the rounds."""
        whole = self.evaluator.n_learn
        flat = self._first(self.models[0])
        base = self.measure(flat, whole, must=True)
        assert base is not None
        if self.budget is None:
            self.usual, self.budget = True, LEAST_BUDGET
            self._raise_budget(base)
        if self.left <= 0:
            self.cut_short = True
            self.notes.append(
                f"The budget of {format_seconds(self.budget)} is too small for more than one fit: "
                f"this is {flat.model} with its usual C."
            )
            return
        sizes = _sizes(whole)
        self.share = _FOR_FIRST if len(sizes) > 1 else _FOR_ROUNDS
        going = self._explore(sizes[0])
        costly: list[Candidate] = []
        self.share = _FOR_ROUNDS
        for n_docs in sizes[1:]:
            ranked = sorted(going, key=lambda one: -one.rank)[: max(2, -(-len(going) // _KEPT))]
            if n_docs < whole and not self._time_for_both(ranked[:2], n_docs):
                continue
            self.leader = ranked[0].candidate if self.usual else None
            cheap, costly = self._by_cost(ranked, n_docs)
            going = [new for one in cheap if (new := self.measure(one, n_docs)) is not None]
        self.share = 1.0
        done: set[Place] = set()
        best = self.best()
        at_flat_end = best is not None and best.n_docs == whole and best.candidate.pull == PULLS[-1]
        if best is not None and at_flat_end:  # where fits are cheap; pull is followed for the best map and C
            if "C" in self.tuned:
                self._follow(best, "C")
            if "features" in self.tuned:
                self._improve_map(set())
        if "C" in self.tuned:
            self._tune(done, 1)
        if "features" in self.tuned:
            self._improve_features(done, maps=not at_flat_end)
        for candidate in costly:
            self.measure(candidate, whole)
        if "C" in self.tuned:
            self._tune(done, _FOLLOWED - 1)
            self._tune(done, _MOST_FOLLOWED - _FOLLOWED, _WORTH)
        if not self._perfect():
            self._decide()
            if len(self.models) > 1:
                self._mix()
        self._say_how_it_ended(whole)

    def _by_cost(self, ranked: list[Outcome], n_docs: int) -> tuple[list[Candidate], list[Candidate]]:
        """Candidates of a round, and those that are postponed.

        These were stopped before, or would take more than an equal share of the round; otherwise one that is hardly
        better takes the time in which others would have been tuned. The best is never postponed.
        """
        assert self.budget is not None
        fair = (self.share * self.budget - self.spent) / max(1, len(ranked))
        costly = [one for one in ranked[1:] if one.stopped or self._forecast(one.candidate, n_docs) > fair]
        return [one.candidate for one in ranked if one not in costly], [one.candidate for one in costly]

    def _time_for_both(self, best: list[Outcome], n_docs: int) -> bool:
        """Whether the best can learn from this number of documents and then from all; otherwise from all at once."""
        whole = self.evaluator.n_learn
        rounds = sum(self._forecast(one.candidate, n) for one in best for n in (n_docs, whole))
        last = self._last * max((self._forecast(one.candidate, whole) for one in best), default=0.0)
        return rounds + max(0.0, last - self._last * self._last_fit()) <= self.left

    def _say_how_it_ended(self, whole: int) -> None:
        last = [one for one in self.tried if one.n_docs == whole]
        if self._perfect():
            self.notes.append("The held-out documents are answered without an error; nothing more was tried.")
        elif len(last) > 1 and len({one.rank for one in last}) == 1:
            name = self.evaluator.measure.replace("_", " ")
            self.notes.append(f"All candidates have the same held-out {name}, {last[0].value:.4f}; the first is taken.")
        n_stopped = sum(one.stopped for one in self.tried)
        ended = [_count(self.n_skipped, "candidate") + " left out"] if self.n_skipped else []
        ended += [_count(n_stopped, "fit") + " stopped early"] if n_stopped else []
        self.cut_short = bool(ended) and not self._perfect()
        if ended:
            self.notes.append(
                f"The budget ended the search: {' and '.join(ended)}, so that a run on a faster or slower machine may "
                "choose otherwise."
            )

    def _first(self, model: str, features: str = PLAIN, learn: str | None = None) -> Candidate:
        first = first_candidate(model, features, learn, self.evaluator.fixed)
        # A joint model that is searched alone begins at its flat end, where a fit is cheap; its pull is followed.
        alone = model == self.models[0] and first.pull is not None and "C" in self.tuned
        return replace(first, pull=PULLS[-1]) if alone else first

    def _explore(self, n_docs: int) -> list[Outcome]:
        """The first round: variants with the flat model, all models, and C of the best half."""
        flat, by_ranking = self.models[0], self.evaluator.measure == RANKING
        learns: list[str | None] = list(self.evaluator.learnable) if "learn" in self.tuned else [None]
        if self.evaluator.measure == PRECISION_AT_1 and len(learns) > 1:  # closed sets suggest ancestors first
            learns = [learn for learn in learns if learn != "closed"]
        if by_ranking and "closed" in learns:  # what the area is of
            learns.sort(key=lambda learn: learn != "closed")
        variants = [name for name in self.evaluator.variants if name not in READ and not is_later(name)]
        variants = sorted(variants, key=lambda name: "map" not in name) if "features" in self.tuned else [PLAIN]
        tried = [self.measure(self._first(flat, features, learns[0]), n_docs) for features in variants]
        features = max((one for one in tried if one), key=lambda one: one.rank, default=None)
        if features is None:
            return []
        tried += [self.measure(self._first(flat, features.candidate.features, learn), n_docs) for learn in learns[1:]]
        found = [one for one in tried if one is not None]
        top = max(found, key=lambda one: one.rank)
        if "features" in self.tuned:
            widths = other_widths(top.candidate.features, self.evaluator.variants)
            tried = [self.measure(replace(top.candidate, features=width), n_docs) for width in widths]
            found += [one for one in tried if one is not None]
            top = max((top, *(one for one in tried if one and one.rank > _WIDTH_GAIN * top.rank)), key=_rank)
        best = top.candidate
        learn = best.learn if "learn" in self.tuned else None
        tried = [self.measure(self._first(model, best.features, learn), n_docs) for model in self.models[1:]]
        found += [one for one in tried if one is not None]
        if "C" in self.tuned:
            ranked = sorted(found, key=lambda one: -one.rank)
            for one in ranked[: -(-len(ranked) // 2)]:
                found += [new for step in (1, -1) if (new := self._stepped(one, "C", step)) is not None]
        places: dict[Place, Outcome] = {}
        for one in found:  # each place at its best C
            place = one.candidate.place
            if place not in places or one.rank > places[place].rank:
                places[place] = one
        return list(places.values())

    def _tune(self, done: set[Place], n_places: int, worth: float = float("inf")) -> None:
        """C and pull of the best places on as many documents as they have seen, the best place first.

        ``worth``: how far below the best a place may be.
        """
        for _ in range(n_places):
            least = _sizes(self.evaluator.n_learn)[0]  # fewer are for forecasts of time only
            ranked = self._ranked()
            rest = [one for one in ranked if one.candidate.place not in done and one.n_docs >= least]
            if not rest or ranked[0].rank - rest[0].rank > worth:
                break
            place = rest[0].candidate.place
            done.add(place)
            # From the flat end, C is followed where fits are cheap, and once more where the pull is best.
            for axis in ("C", "pull", "C") if rest[0].candidate.pull == PULLS[-1] else ("C", "pull"):
                self._follow(next(one for one in self._ranked() if one.candidate.place == place), axis)

    def _improve_features(self, done: set[Place], *, maps: bool) -> None:
        """Other features for the best candidate, tried with a model that is as good and much faster where there is one.

        The slower model then learns from the features that were best.
        """
        best, quick = self.best(), self._quickest()
        if maps:
            self._improve_map(done)
        self._try_other_words()
        self._try_other_vectors()
        self._try_side_by_side()
        better = self.best()
        if best is None or quick is best or better is None or better.candidate.model == best.candidate.model:
            return
        self.measure(replace(best.candidate, features=better.candidate.features), best.n_docs)

    def _quickest(self) -> Outcome | None:
        """The best candidate, or one of another model with the same map, nearly as good and at least twice as fast.

        It may have learned from fewer documents so far, from which it was nearly as good.
        """
        best = self.best()
        if best is None or MAP not in best.candidate.features or best.n_docs < self.evaluator.n_learn:
            return best
        same = [one for one in self.tried if one.candidate.place == best.candidate.place]
        value = {
            n_docs: max(one.rank for one in same if one.n_docs == n_docs) for n_docs in {one.n_docs for one in same}
        }
        least = _sizes(self.evaluator.n_learn)[0]
        below = {
            one.candidate: value[one.n_docs] - one.rank
            for one in sorted(self.tried, key=lambda one: one.n_docs)  # that with the most documents counts
            if one.candidate.model != best.candidate.model and one.candidate.features == best.candidate.features
            if one.n_docs in value and one.n_docs >= least and not one.stopped
        }
        near = [one for one, less in below.items() if less <= _CLEAR]
        fast = [one for one in near if 2.0 * self._forecast(one, best.n_docs) <= best.seconds]
        quick = self.measure(min(fast, key=lambda one: below[one]), best.n_docs) if fast else None
        return quick if quick is not None and best.rank - quick.rank <= _CLEAR else best

    def _improve_map(self, done: set[Place]) -> None:
        """The best candidate with more landmarks, where there are enough documents, then with maps of other widths."""
        for better in (self._larger, lambda name: other_widths(name, self.evaluator.variants)):
            best = self._quickest()
            if best is None or best.n_docs < self.evaluator.n_learn:
                return
            for features in better(best.candidate.features):
                new = self.measure(replace(best.candidate, features=features), best.n_docs)
                if new is not None and new.rank > best.rank:
                    done.add(new.candidate.place)
                    if "C" in self.tuned:
                        self._follow(new, "C")
                    break

    def _try_other_words(self) -> None:
        """The best candidate with other parts of texts: words, characters or vectors of words, to mix it with.

        A model that is searched alone, and cannot be mixed, is tried with other terms only.
        """
        words = _WORDS if len(self.models) > 1 else _TERMS
        best, kinds = self.best(), [name for name in words if name in self.evaluator.variants]
        if best is None or best.n_docs < self.evaluator.n_learn or best.candidate.features == TEXTS:
            return
        for features in kinds:
            self.measure(replace(best.candidate, features=features), best.n_docs)

    def _try_other_vectors(self) -> None:
        """The best candidate with dense vectors of another kind, columns, profiles or their maps, to mix it with."""
        best = self._quickest()
        if best is None or best.n_docs < self.evaluator.n_learn or len(self.models) < 2:
            return
        if PROFILES not in self.evaluator.variants:
            return
        features, kind = best.candidate.features, map_kind(best.candidate.features)
        other = features.replace(kind, MAP if kind == PROFILE_MAP else PROFILE_MAP)
        for name in dict.fromkeys([other, PROFILE_MAP, MAP, PROFILES]):
            known = [one for one in self.tried if one.n_docs == best.n_docs and _front(one) == _kind(name)]
            if name not in self.evaluator.variants:
                continue
            new = max(known, key=_rank) if known else self.measure(replace(best.candidate, features=name), best.n_docs)
            if new is not None and "C" in self.tuned:
                self._follow(new, "C")

    def _try_side_by_side(self) -> None:
        """The best map beside the other one of the same size, then beside profiles, each in one matrix."""
        best, variants = self._quickest(), self.evaluator.variants
        if best is None or best.n_docs < self.evaluator.n_learn or len(self.models) < 2:
            return
        features = best.candidate.features
        if MAP not in features or PROFILE_MAP not in variants:
            return
        other = MAP if map_kind(features) == PROFILE_MAP else PROFILE_MAP
        known = [one for one in self.tried if one.n_docs == best.n_docs and _front(one) == other]
        width = max(known, key=_rank).candidate.features.partition(other)[0] if known else ""
        beside = f"{width}{other}{features.partition(MAP)[2]}"
        for name in (side_by_side(features, beside), side_by_side(features, PROFILES)):
            new = self.measure(replace(best.candidate, features=name), best.n_docs)
            if new is not None and new.rank > best.rank and "C" in self.tuned:
                self._follow(new, "C")

    def _larger(self, features: str) -> list[str]:
        larger = larger_map(features, self.evaluator.variants)
        return [] if larger is None else [larger]

    def _stepped(self, outcome: Outcome, axis: str, step: int) -> Outcome | None:
        """The same candidate with the next C or pull in one direction."""
        new = outcome.candidate.stepped(axis, step)
        return None if new is None else self.measure(new, outcome.n_docs)

    def _follow(self, outcome: Outcome, axis: str) -> None:
        """C or pull in both directions, as long as the value does not fall clearly, or twice.

        Smaller values first: a joint model that continues from a smaller C needs fewer sweeps, from a larger one as
        many as from zero.
        """
        for step in (-1, 1):
            now, best, below = outcome, outcome.rank, 0
            while below < 2 and (new := self._stepped(now, axis, step)) is not None:
                below = 0 if new.rank >= best else 2 if best - new.rank > _CLEAR else below + 1
                now, best = new, max(best, new.rank)

    # -- near ties ---------------------------------------------------------------------------------------------------

    def _decide(self) -> None:
        """Compare the best candidates, the best of each model first, by all documents in folds, where nearly equal."""
        ranked = [one for one in self._ranked() if one.n_docs == self.evaluator.n_learn and self._can_be_last(one)]
        alike = {(one.candidate.model, one.rank): one for one in reversed(ranked)}  # those of one model answer alike
        far = near_tie(self.evaluator.measure)
        near = [one for one in list(alike.values())[::-1] if ranked[0].rank - one.rank <= far]
        models: dict[str, Outcome] = {}
        for one in near:
            models.setdefault(one.candidate.model, one)
        near = [*models.values(), *(one for one in near if one not in models.values())][:_FINALISTS]
        if len(near) < 2 or ranked[0] is not self.best() or self._time_to_fold(near[:2]) is None:
            return
        for one in near:
            if (limit := self._time_to_fold([one])) is not None:
                self._folded(one, limit)
        if len(self.folded) < 2:  # there was no time for the second
            return
        self.decided = best = max(self.folded, key=lambda candidate: self.folded[candidate].rank)
        values = [f"{candidate} {_shown(one)}" for candidate, one in self.folded.items()]
        if self._folds.Y.shape[0] * self._folds.Y.shape[1] > _MANY_SCORES:
            self.folded = {key: one if key == best else one.without_scores() for key, one in self.folded.items()}
        self.notes.append(f"Nearly equal candidates, all documents in folds: {'; '.join(values)}. The best is taken.")

    def _time_to_fold(self, outcomes: list[Outcome]) -> float | None:
        """Seconds for folds of all these; None where there is no time for them with the last fit, and mixtures."""
        assert self.budget is not None
        if not self.evaluator.foldable:
            return None
        seconds = [self._fit_seconds(one) for one in outcomes]
        last = self._last * max(seconds) + self._after(folds=True)
        mixing = self._for_mixing() if len(self.models) > 1 else 0.0
        left = self.budget - self.spent - last - mixing
        return left if _FOLD_FITS * sum(seconds) <= left else None

    def _folded(self, outcome: Outcome, limit: float | None = None) -> Outcome:
        """The candidate with every document held out once, in three folds."""
        found = self.folded.get(outcome.candidate)
        if found is None or found.held is None:
            folds = self._folds
            can_stop = "max_time" in parameters_of(outcome.candidate.model)
            found = folds.run(outcome.candidate, folds.Y.shape[0], max_time=limit if can_stop else None)
            self.folded[outcome.candidate] = found
            self.say(f"{found.candidate}, all documents in {len(folds.splits)} folds: {found.value:.4f}")
        return found

    @cached_property
    def _folds(self) -> Evaluator:
        return self.evaluator.out_of_fold()

    # -- mixtures ------------------------------------------------------------------------------------------------------

    def _mix(self) -> None:
        """The best mixture of the best candidate with another one, then with a third, if it wins by more than chance.

        The candidate that is better alone is not always the better one to mix with. By a measure of probabilities all
        documents are held out once for this, where there is time: four times as many documents show a small gain.
        """
        kinds = self._best_kinds()
        if len(kinds) < 2 or kinds[0].n_docs < self.evaluator.n_learn:
            return
        folded = self._kinds_in_folds(kinds)
        where, (best, *others) = (self._folds, folded) if folded else (self.evaluator, kinds)
        chosen: list[Outcome] = [best]
        mixture: Outcome | None = None
        while others and len(chosen) < _MOST_SOURCES:
            found = [one for other in others if (one := self._mixed(where, [*chosen, other], rough=True)) is not None]
            if not found or (mixture is not None and max(found, key=_rank).rank <= mixture.rank):
                break
            mixture = max(found, key=_rank)
            chosen = list(mixture.sources)
            others = [one for one in others if one.candidate != chosen[-1].candidate]
        if mixture is None:
            return
        if not (where.mixes_first and not where.one_label):  # there C is not chosen
            mixture = self._mixed(where, chosen) or mixture
        best = mixture.sources[0]  # with its scores
        won = self._wins(where, mixture, best)
        shown = f"{_shown(mixture)}, the best single model {_shown(best)}"
        if not won and mixture.rank > best.rank and where is self.evaluator:
            pair = self._pair_in_folds(mixture, best)
            won = pair is not None and self._wins(self._folds, *pair)
            shown += f" (in folds {_shown(pair[0])} and {_shown(pair[1])})" if pair is not None else ""
        elif folded:
            shown += " in folds"
        chance = "not more than by chance" if mixture.rank > best.rank else "no gain"
        end = "more than by chance; it is taken" if won else f"{chance}; it is not taken"
        self.notes.append(f"The {mixture.candidate} reaches {shown}: {end}.")
        if won and where is not self.evaluator:  # the held-out value is that of the same documents as for the others
            self.folded[mixture.candidate] = mixture
            parts = [self._with_scores(self._in_quarter(one)) for one in mixture.sources]
            mixture = self.evaluator.mix(parts, mixture.candidate)
        self.mixture = mixture if won else None

    @staticmethod
    def _wins(where: Evaluator, mixture: Outcome, best: Outcome) -> bool:
        drawn = [where.resampled(one) + one.allowance for one in (mixture, best)]
        return mixture.rank > best.rank and wins(*drawn)

    def _mixed(self, where: Evaluator, sources: list[Outcome], *, rough: bool = False) -> Outcome | None:
        """A mixture of these; None where there is no time for it, or it is refused. ``rough``: with one value of C."""
        if not self._time_to_mix(where, sources, rough=rough):
            self.n_skipped += 1
            return None
        sources = [self._with_scores(one) for one in sources]
        began = time.perf_counter()
        try:
            outcome = where.mix(sources, rough=rough)
        except LinnaeusError as refusal:
            note = f"A mixture was left out: {refusal}"
            self.notes += [] if note in self.notes else [note]
            return None
        seconds = time.perf_counter() - began
        n_pairs = self._pairs(sources) * len(where.rows) / len(self.evaluator.rows)
        self.mixing = seconds / n_pairs if rough or self.mixing is None else self.mixing
        self.say(f"{outcome.candidate}: {outcome.value:.4f} ({cut_words(outcome)})")
        return outcome

    def _kinds_in_folds(self, kinds: list[Outcome]) -> list[Outcome]:
        """Those of these for which there is time, with every document held out once; none without the first."""
        assert self.budget is not None
        found: list[Outcome] = []
        for one in kinds if self._ranked_folds else []:
            known = self.folded.get(one.candidate)
            if known is None or known.held is None:
                last = self._last * (self._fit_seconds(kinds[0]) + self._fit_seconds(one)) + self._after(folds=True)
                mixing = _FOLDED_MIXTURES * self._more * self._mixing_seconds([kinds[0], one])
                limit = self.budget - self.spent - last - mixing
                try:
                    known = self._folded(one, limit) if _FOLD_FITS * self._fit_seconds(one) <= limit else None
                except LinnaeusError as refusal:
                    self.notes.append(f"{one.candidate} was not compared in folds: {refusal}")
                    known = None
            if known is not None:
                found.append(known)
            elif not found:
                break
        return found if len(found) > 1 else []

    def _pair_in_folds(self, mixture: Outcome, best: Outcome) -> tuple[Outcome, Outcome] | None:
        """A mixture and its best source with every document held out once; None where there is no time for it."""
        known = [self.folded.get(one.candidate) for one in mixture.sources]
        pairs = zip(mixture.sources, known, strict=True)
        unknown = [one for one, there in pairs if there is None or there.held is None]
        last = self._last * sum(self._fit_seconds(one) for one in mixture.sources) + self._after(folds=True)
        seconds = _FOLD_FITS * sum(self._fit_seconds(one) for one in unknown)
        seconds += self._more * self._mixing_seconds(list(mixture.sources))
        assert self.budget is not None
        if not self.evaluator.foldable or self.spent + seconds + last > self.budget:
            return None
        limit = (self.budget - self.spent - last) / max(1, len(unknown))
        try:
            folded = [self._folded(one, limit) for one in mixture.sources]
            self.folded[mixture.candidate] = self._folds.mix(folded, mixture.candidate)
        except LinnaeusError as refusal:
            self.notes.append(f"A mixture was not compared in folds: {refusal}")
            return None
        return self.folded[mixture.candidate], self.folded[best.candidate]

    def _time_to_mix(self, where: Evaluator, sources: list[Outcome], *, rough: bool) -> bool:
        """Whether the last fits of all sources fit into the budget, and those whose scores are not kept."""
        assert self.budget is not None
        parts = [self._in_quarter(one) for one in sources]
        again = sum(one.seconds for one in parts if one.held is None)
        last = self._last * sum(self._fit_seconds(one) for one in parts)
        mixing = self._mixing_seconds(sources) * len(where.rows) / len(self.evaluator.rows)
        after = self._after(folds=where is not self.evaluator)
        return self.spent + again + mixing * (1.0 if rough else _FINAL_MIXTURE) + last + after < self.budget

    def _in_quarter(self, outcome: Outcome) -> Outcome:
        """What was measured of the candidate on the held-out quarter."""
        wanted = outcome.candidate, self.evaluator.n_learn
        return next((one for one in self.tried if (one.candidate, one.n_docs) == wanted), outcome)

    def _mixing_seconds(self, sources: list[Outcome]) -> float:
        """Seconds that a mixture of these is forecast to take."""
        few = self.evaluator.mixes_first and not self.evaluator.one_label
        return (self.mixing or (_MIXING_FIRST if few else _MIXING)) * self._pairs(sources)

    def _pairs(self, sources: list[Outcome]) -> int:
        """Scores that a mixture is learned from."""
        n_nodes = max(
            (len(one.held.nodes) for one in sources if one.held is not None), default=self.evaluator.Y.shape[1]
        )
        return len(sources) * len(self.evaluator.rows) * n_nodes

    def _with_scores(self, outcome: Outcome) -> Outcome:
        """The outcome with its held-out scores, fitted again where they were not kept, or are of an earlier run."""
        outcome = next((one for one in self.tried if _same(one, outcome) and one.held is not None), outcome)
        if outcome.held is not None:
            return outcome
        limit = {"max_time": outcome.fitting} if outcome.stopped else {}
        again = self.evaluator.run(outcome.candidate, outcome.n_docs, **limit)
        scored = replace(outcome, held=again.held, P=again.P, answers=again.answers, way=again.way)
        self.tried = [scored if _same(one, outcome) else one for one in self.tried]
        return scored

    def report(self) -> AutoReport:
        """What was chosen."""
        evaluator, chosen, most = self.evaluator, self.mixture or self.best(), self.evaluator.n_learn
        assert chosen is not None
        assert self.budget is not None
        chosen = evaluator.with_cut(self._with_scores(chosen))
        refined = self._refined(chosen)
        kind = (chosen.candidate.model, chosen.candidate.features)
        others = [one for one in self._ranked() if (one.candidate.model, one.candidate.features) != kind]
        bounds = interval(evaluator.resampled(chosen))
        notes = list(self.notes)
        if chosen.candidate.learn == "closed" and evaluator.nearly_one_label:
            notes.append(
                "Nearly every document has one label, and closed sets are learned: where the first suggestion counts, "
                "choose by precision_at_1."
            )
        runner_up = max(others, key=_rank, default=None)
        if runner_up is not None and runner_up.rank <= chosen.rank and runner_up.value > chosen.value:
            notes.append(
                f"The expected cut counts {chosen.allowance:g} more in comparisons: on new documents it is that much "
                "better, beside other cuts, than on held-out ones."
            )
        if len(evaluator.splits) > 1:
            notes.append(f"There are few documents: every one was held out once, in {len(evaluator.splits)} folds.")
        return AutoReport(
            evaluator.measure,
            chosen,
            next(one for one in self.tried if one.n_docs == most),
            chosen.value,
            bounds,
            self.budget,
            self.spent,
            len(evaluator.rows),
            runner_up,
            self.tried,
            notes,
            refined,
            self.cut_short,
        )

    def _refined(self, chosen: Outcome) -> Outcome | None:
        """The chosen candidate with every document held out once; None where there is no time for it."""
        parts = chosen.sources or (chosen,)
        seconds = sum(self._fit_seconds(one) for one in parts)
        assert self.budget is not None
        last = self._last * seconds + self._after(folds=True)
        found = self.folded.get(chosen.candidate)
        known = [found] if found is not None else [self.folded.get(one.candidate) for one in parts]
        ready = all(one is not None and one.held is not None for one in known)
        fits = 0.0 if ready else _FOLD_FITS * seconds
        if not self.evaluator.foldable or self.spent + fits + last > _OVER * self.budget:
            return None
        folds, limit = self._folds, (self.budget - self.spent - last) / len(parts)
        if found is None or found.held is None:
            outcomes = [self._folded(one, limit) for one in parts]
            found = folds.mix(outcomes, chosen.candidate) if chosen.sources else outcomes[0]
        refined = folds.with_cut(found)
        self.notes.append(
            f"The cut and the probabilities are learned from scores of all {len(folds.rows):,} documents in "
            f"{len(folds.splits)} folds ({folds.measure.replace('_', ' ')} {refined.value:.4f})."
        )
        return refined


def _count(n: int, noun: str) -> str:
    """The number with its noun and verb, as in "1 fit was" and "2 fits were"."""
    return f"{n} {noun} was" if n == 1 else f"{n} {noun}s were"


def _rank(outcome: Outcome) -> float:
    return outcome.rank


def _shown(outcome: Outcome) -> str:
    """The value, and what its cut counts more in comparisons."""
    return f"{outcome.value:.4f}" + (f" + {outcome.allowance:g}" if outcome.allowance else "")


def _shares(candidate: Candidate) -> bool:
    """Whether nodes of a joint model share weights: it takes longer than its flat end, which is a flat model."""
    return candidate.pull is not None and candidate.pull != PULLS[-1]


def _same(one: Outcome, other: Outcome) -> bool:
    return one.candidate == other.candidate and one.n_docs == other.n_docs


def _front(outcome: Outcome) -> str:
    """The kind of features: maps of different sizes and widths are of one kind, and so are terms."""
    return _kind(outcome.candidate.features)


def _kind(features: str) -> str:
    if len(parts_of(features)) > 1:
        return BESIDE
    return map_kind(features) if MAP in features else PLAIN if features in _TERMS else features


def search(
    documents: object,
    Y: CSR,
    taxonomy: Taxonomy,
    features: Transformer | None = None,
    *,
    measure: str = "hierarchical_f1",
    budget: float | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    models: list[str] | None = None,
    tuned: tuple[str, ...] = TUNED,
    parameters: Mapping[str, object] = MappingProxyType({}),
    decoder: Decoder | str | None = None,
    weights: FloatArray | None = None,
    checkpoint: str | Path | None = None,
    spent: float = 0.0,
    known: Iterable[Outcome] = (),
    say: Callable[[str], None] = lambda message: None,
) -> tuple[AutoReport, Evaluator] | None:
    """Search, and what was found; None where there are too few documents to hold any out.

    Parameters
    ----------
    documents : documents as ``features`` take them, or a matrix
        Training documents.
    Y : CSR
        Their labels, n_docs x n_nodes.
    taxonomy : Taxonomy
        The taxonomy.
    features : transformer or None, default=None
        The usual features; variants of them are tried.
    measure : str, default="hierarchical_f1"
        What is maximised, see `linnaeus.auto.evaluate`.
    budget : float or None, default=None
        Seconds; None: ten times a fit of the flat model, with the features that take longest, at least 30. By a
        measure of probabilities the folds of its cut and probabilities are part of a fit, up to two minutes.
    seed : int, default=0
        Of splits, orders and models.
    n_jobs : int or None, default=None
        Threads of a fit.
    models : list of str or None, default=None
        The models, the first is the baseline; None: all that fit the labels.
    tuned : tuple of {"features", "learn", "C"}
        What is searched over, next to the models and the cut; "C" stands for ``pull``, too.
    parameters : mapping
        Parameters of models that are fixed, such as ``{"C": 1.0}``; only models that have them are tried.
    decoder : Decoder, "own" or None, default=None
        The decoder of the answers, "own" for the model's own; None: the best cut.
    weights : ndarray of shape (n_docs,), default=None
        Weights of the documents, in fits and in the measure.
    checkpoint : path or None, default=None
        Folder for what was measured; the same search continues from there.
    spent : float, default=0.0
        Seconds of the budget that are over, such as those of reading; at most half of a budget that is given.
    known : iterable of Outcome
        What a search with the same documents, measure, seed and parameters has measured: it is not measured again.
    say : callable
        Called with a line for every candidate.

    Returns
    -------
    (AutoReport, Evaluator) or None
        What was chosen, and what makes the unfitted model, features and cut of it.
    """
    measure = check_measure(measure)
    splits = splits_of(Y, seed)
    if not splits:
        return None
    began = time.perf_counter()
    variants = _variants(documents, Y, features, splits, seed)
    evaluator = Evaluator(documents, Y, taxonomy, variants, splits, measure, seed, n_jobs, parameters, decoder, weights)
    if models is None:
        models = models_for(Y, taxonomy)
        if taxonomy.n_edges == 0 and FLAT not in models:
            models = [FLAT, *models]
        models += document_models(features, taxonomy)
        models = [name for name in models if set(parameters) <= set(parameters_of(name))]
        if not models:
            raise ParameterError(f"None of the models that fit the documents has all of {', '.join(parameters)}.")
    kept = Kept()
    if checkpoint is not None:
        about = fingerprint(
            documents,
            Y,
            taxonomy,
            features,
            measure=measure,
            seed=seed,
            models=models,
            tuned=tuned,
            parameters=dict(parameters),
            decoder=decoder,
            weights=None if weights is None else weights.tolist(),
        )
        kept = Kept.read(Path(checkpoint), about)
    earlier = spent if budget is None else min(spent, budget / 2)
    run = Search(evaluator, budget, say, list(models), tuned, kept, began=began, earlier=earlier)
    run.known = {(one.candidate, one.n_docs): one for one in known if not one.stopped}
    try:
        run.run()
        return run.report(), evaluator
    except KeyboardInterrupt:
        if checkpoint is None:
            raise
        raise KeyboardInterrupt(
            f"stopped; what was measured is kept in {checkpoint}, and the same search continues there"
        ) from None


def choose_features(
    documents: object,
    Y: CSR,
    taxonomy: Taxonomy,
    features: Transformer | None,
    *,
    measure: str = "hierarchical_f1",
    seed: int = 0,
    n_jobs: int | None = None,
) -> tuple[str, Transformer | None]:
    """The features of texts that the first round of a search would take for all models.

    Parameters
    ----------
    documents, Y, taxonomy, features, measure, seed, n_jobs
        As for `search`.

    Returns
    -------
    tuple of (str, transformer or None)
        The name of the variant and the unfitted features; ``features`` themselves where they are not of texts, or
        where there are too few documents to hold any out.

    Examples
    --------
    >>> from linnaeus.features import DenseFeatures
    >>> tax = Taxonomy.flat(["a", "b"])
    >>> X, Y = np.eye(20), tax.indicator([["a"], ["b"]] * 10)
    >>> choose_features(X, Y, tax, DenseFeatures())
    ('as they are', DenseFeatures())
    """
    splits = splits_of(Y, seed) if isinstance(features, TextFeatures) else []
    variants = _variants(documents, Y, features, splits, seed) if splits else {}
    names = [name for name in variants if name not in READ]
    if len(names) < 2:
        return PLAIN, features
    evaluator = Evaluator(documents, Y, taxonomy, variants, splits, check_measure(measure), seed, n_jobs, decoder="own")
    n_docs = _sizes(evaluator.n_learn)[0]
    value = {name: evaluator.run(first_candidate(FLAT, name), n_docs).rank for name in names}
    best = max(names, key=lambda name: value[name])
    return best, variants[best]


def _variants(
    documents: object, Y: CSR, features: Transformer | None, splits: list[Split], seed: int
) -> FeatureVariants:
    """Variants of the features, by what these make of a few documents."""
    few = take_documents(documents, splits[0][0][:50])
    n_learn, n_labels = min(len(learn) for learn, _ in splits), len(np.unique(Y.indices))
    sample, length = _sample(features, few), _mean_length(few)
    return feature_variants(features, sample, seed, n_learn, n_labels, length=length)


def _sizes(whole: int) -> list[int]:
    """Documents of the rounds, all of them last."""
    sizes = [whole]
    n_rounds = 3 if whole < _MANY else 4
    while sizes[0] >= _GROWTH * _SMALLEST and len(sizes) < n_rounds:
        sizes.insert(0, sizes[0] // _GROWTH)
    return sizes


def _mean_length(documents: object) -> float:
    """Mean number of characters of documents, all their fields together; infinite where they are not texts."""
    if isinstance(documents, Mapping):
        return sum(_mean_length(values) for values in documents.values())
    if isinstance(documents, np.ndarray) and documents.dtype.kind not in "OU":
        return float("inf")
    values = list(documents) if isinstance(documents, Iterable) and not hasattr(documents, "indptr") else []
    lengths = [len(one) for one in values if isinstance(one, str)]
    return float(np.mean(lengths)) if lengths else float("inf")


def _sample(features: Transformer | None, documents: object) -> Matrix:
    """What features make of a few documents, to see of which kind it is."""
    if features is None:
        return documents  # type: ignore[return-value]
    try:
        made: Matrix = clone(features).fit_transform(documents)
    except LinnaeusError:
        return np.zeros((1, 1))
    return made
