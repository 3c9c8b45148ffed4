"""The search: successive halving over candidates, with more documents in every round, within a budget of seconds.

    1   the flat model with its usual C, on all documents of the learning side: the baseline, and the unit of the budget
    2   on few documents: the flat model with every variant of features and of what is learned; then every model with
        the best of these, one of each family first; then larger and smaller C for the best half
    3   on more documents: the best third, at their best C; and so on, until all documents are learned from
    4   on all documents: C of the best is followed in both directions as long as it pays, then that of the next

The order is fixed by the seed. The clock only decides how far the search goes: a fit that is forecast to end after the
budget, with the last fit on all documents still to come, is left out. Everything that was measured can be kept in a
folder; the same search then continues from there, with the same decisions.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from linnaeus.auto import measures
from linnaeus.auto.candidates import GRID, PLAIN, Candidate, feature_variants, models_for, parameters_of
from linnaeus.auto.evaluate import OWN, Evaluator, Outcome, splits_of
from linnaeus.decoding import Decoder
from linnaeus.engine.limits import format_seconds
from linnaeus.errors import LinnaeusError, ParameterError
from linnaeus.files import replace_file
from linnaeus.models.checkpoint import digest
from linnaeus.taxonomy import Taxonomy
from linnaeus.tuning.held_out import take_documents
from linnaeus.typing import CSR, is_sparse

__all__ = ["FLAT", "LAST_FIT", "LEAST_BUDGET", "AutoReport", "Search", "search"]

FLAT = "OneVsRestSVM"
TIMES_FLAT, LEAST_BUDGET = 10.0, 30.0
_KEPT = 3  # one of so many candidates goes on to the next round
_SMALLEST = 600  # documents of a round, at least
_GROWTH = 4  # times as many documents in the next round
_POWER = 1.3  # seconds grow with this power of the documents
LAST_FIT = 1.4  # times the fit of a candidate that the one on all documents takes
_PILOT, _PILOT_FROM = 8, 400  # a model that cannot be stopped first learns from an eighth of more documents than this
_PAIRS = 40_000_000  # of documents and nodes that the interval of an area may sort
_CLEAR = 0.005  # below the best: a direction of C is left at once


@dataclass
class AutoReport:
    """What a search has chosen, and why.

    Attributes
    ----------
    measure : str
        The measure that was maximised.
    chosen, runner_up : Outcome
        The best candidate, and the best of another model or other features (None if there is none).
    baseline : Outcome
        The flat model with its usual parameters; ``baseline.own`` is its value with the usual decoder.
    value : float
        Held-out value of the chosen candidate; ``interval`` is its 95% bootstrap interval over documents.
    tried : list of Outcome
        Everything that was measured, in this order.
    budget, seconds : float
        The budget, and what the search has taken.
    n_held_out : int
        Number of held-out documents.
    notes : list of str
        What a user should know.
    """

    measure: str
    chosen: Outcome
    baseline: Outcome
    value: float
    interval: tuple[float, float]
    budget: float
    seconds: float
    n_held_out: int
    runner_up: Outcome | None = None
    tried: list[Outcome] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "measure": self.measure,
            "chosen": _plain(self.chosen),
            "runner_up": None if self.runner_up is None else _plain(self.runner_up),
            "baseline": _plain(self.baseline),
            "value": self.value,
            "interval": list(self.interval),
            "held_out_documents": self.n_held_out,
            "budget": round(self.budget, 3),
            "seconds": round(self.seconds, 3),
            "tried": [_plain(one) for one in self.tried],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        name, (low, high) = self.measure.replace("_", " "), self.interval
        lines = [
            f"chosen: {self.chosen.candidate}, {_cut_words(self.chosen)}",
            f"held-out {name} {self.value:.4f} (95% interval {low:.4f} to {high:.4f}, {self.n_held_out:,} documents)",
        ]
        if self.runner_up is not None:
            lines.append(
                f"runner-up: {self.runner_up.candidate}, {_cut_words(self.runner_up)}: {self.runner_up.value:.4f}"
            )
        first = self.baseline.candidate
        name = "flat baseline" if first.model == FLAT else "not tuned"
        lines.append(f"{name}: {first}, its own decoder: {self.baseline.own:.4f}")
        lines.append(
            f"{len(self.tried)} fits in {format_seconds(max(1.0, round(self.seconds)))} "
            f"(budget {format_seconds(max(1.0, round(self.budget)))})"
        )
        return "\n".join([*lines, *self.notes])


def _cut_words(outcome: Outcome) -> str:
    return "its own decoder" if outcome.cut == OWN else f"cut {outcome.cut}"


def _plain(outcome: Outcome) -> dict[str, Any]:
    said = {"value": outcome.value, "own": outcome.own, "cut": outcome.cut, "n_docs": outcome.n_docs}
    return {**asdict(outcome.candidate), **said, "seconds": round(outcome.seconds, 3)}


@dataclass
class Search:
    """A search under way."""

    evaluator: Evaluator
    budget: float | None
    folder: Path | None
    say: Callable[[str], None]
    models: list[str]
    tuned: tuple[str, ...] = ("features", "learn", "C")
    tried: list[Outcome] = field(default_factory=list)
    kept: dict[str, dict[str, Any]] = field(default_factory=dict)
    spent: float = 0.0
    notes: list[str] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)

    # -- single evaluations --------------------------------------------------------------------------------------------

    def measure(self, candidate: Candidate, n_docs: int, *, must: bool = False) -> Outcome | None:
        """The outcome of a candidate; None where there is no time for it, or the model refuses the documents."""
        known = next((one for one in self.tried if one.candidate == candidate and one.n_docs == n_docs), None)
        if known is not None:
            return known
        if candidate.model in self.refused:
            return None
        can_stop = "max_time" in parameters_of(candidate.model)
        new = all(one.candidate.model != candidate.model for one in self.tried)
        if new and not must and not can_stop and n_docs > _PILOT_FROM:
            self.measure(candidate, n_docs // _PILOT)  # how long it takes: it cannot be stopped
        if not must and not self._affordable(candidate, n_docs):
            return None
        key = json.dumps([asdict(candidate), n_docs])
        if key in self.kept:
            row = self.kept[key]
            if row["value"] is None:
                self.refused.add(candidate.model)
                return None
            outcome = Outcome(candidate, n_docs, row["value"], row["own"], row["cut"], row["seconds"])
        else:
            began = time.perf_counter()
            limit = None if self.budget is None else max(1.0, self.left / (3.0 if new and not must else 1.0))
            try:
                outcome = self.evaluator.run(candidate, n_docs, max_time=limit if can_stop else None)
            except (LinnaeusError, MemoryError) as refusal:
                if must:
                    raise
                self.refused.add(candidate.model)
                self.notes.append(f"{candidate.model} was left out: {refusal}")
                self._keep(key, {"value": None})
                return None
            if not np.isfinite(outcome.value):
                outcome = Outcome(candidate, n_docs, -np.inf, outcome.own, outcome.cut, outcome.seconds)
            whole = time.perf_counter() - began  # with features that were made for it
            self._keep(key, {"value": outcome.value, "own": outcome.own, "cut": outcome.cut, "seconds": whole})
            object.__setattr__(outcome, "seconds", whole)
        self.spent += outcome.seconds
        self.tried.append(self._lean(outcome))
        self.say(
            f"{candidate}, {n_docs:,} documents: {outcome.value:.4f} ({_cut_words(outcome)}, {outcome.seconds:.1f} s)"
        )
        return outcome

    def _lean(self, outcome: Outcome) -> Outcome:
        """The outcome, without the scores of those that were overtaken."""
        best = self.best()
        if best is None or (outcome.n_docs, outcome.value) > (best.n_docs, best.value):
            for one in self.tried:
                for name in ("answers", "held", "P"):
                    object.__setattr__(one, name, None)
            return outcome
        for name in ("answers", "held", "P"):
            object.__setattr__(outcome, name, None)
        return outcome

    def best(self) -> Outcome | None:
        """The best outcome with the most documents; of equal ones the first."""
        if not self.tried:
            return None
        most = max(one.n_docs for one in self.tried)
        return max((one for one in self.tried if one.n_docs == most), key=lambda one: one.value)

    @property
    def left(self) -> float:
        """Seconds of the budget that are left for the search, without those for the last fit."""
        if self.budget is None:
            return float("inf")
        best = self.best()
        return self.budget - self.spent - (0.0 if best is None else LAST_FIT * best.seconds)

    def _affordable(self, candidate: Candidate, n_docs: int) -> bool:
        seconds = self._forecast(candidate, n_docs)
        after = max(0.0, seconds - self._last_fit()) * LAST_FIT if n_docs == self.evaluator.n_learn else 0.0
        return seconds + after <= self.left

    def _last_fit(self) -> float:
        best = self.best()
        return 0.0 if best is None else best.seconds

    def _forecast(self, candidate: Candidate, n_docs: int) -> float:
        """Seconds by the nearest that is known: the same place, the same model, or the first of all, the flat one."""
        for same in (
            lambda one: one.candidate.place == candidate.place,
            lambda one: one.candidate.model == candidate.model,
            lambda one: one is self.tried[0],
        ):
            known = [one for one in self.tried if same(one)]
            if known:
                near = max(known, key=lambda one: one.n_docs)
                return near.seconds * (n_docs / near.n_docs) ** _POWER
        return 0.0

    def _keep(self, key: str, row: dict[str, Any]) -> None:
        self.kept[key] = row
        if self.folder is not None:
            replace_file(self.folder / "search.json", (json.dumps(self.kept, indent=1) + "\n").encode())

    # -- the rounds ----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Go through the rounds."""
        whole = self.evaluator.n_learn
        flat = self._first(self.models[0])
        base = self.measure(flat, whole, must=True)
        assert base is not None
        if self.budget is None:
            self.budget = max(LEAST_BUDGET, TIMES_FLAT * base.seconds * self.evaluator.Y.shape[0] / whole)
        if self.left <= 0:
            self.notes.append(
                f"The budget of {format_seconds(max(1.0, round(self.budget)))} is too small for more than one fit: "
                f"this is {flat.model} with its usual C."
            )
            return
        sizes = self._sizes(whole)
        going = self._explore(sizes[0])
        for n_docs in sizes[1:]:
            ranked = sorted(going, key=lambda one: -one.value)[: max(2, -(-len(going) // _KEPT))]
            going = [new for one in ranked if (new := self.measure(one.candidate, n_docs)) is not None]
        if "C" in self.tuned:
            done: set[tuple[str, str, str | None]] = set()
            for _ in range(3):
                rest = [one for one in self.tried if one.n_docs == whole and one.candidate.place not in done]
                if not rest:
                    break
                best = max(rest, key=lambda one: one.value)
                done.add(best.candidate.place)
                self._follow(best)
        values = {one.value for one in self.tried if one.n_docs == whole}
        if len(values) == 1 and len([one for one in self.tried if one.n_docs == whole]) > 1:
            name = self.evaluator.measure.replace("_", " ")
            self.notes.append(f"All candidates have the same held-out {name}, {values.pop():.4f}; the first is taken.")

    def _sizes(self, whole: int) -> list[int]:
        """Documents of the rounds, all of them last."""
        sizes = [whole]
        while sizes[0] >= _GROWTH * _SMALLEST and len(sizes) < 3:
            sizes.insert(0, sizes[0] // _GROWTH)
        return sizes

    def _first(self, model: str, features: str = PLAIN, learn: str | None = None) -> Candidate:
        known = parameters_of(model)
        learn = (learn or "given") if "learn" in known and known["learn"] in ("given", "closed", "frontier") else None
        fixed = self.evaluator.fixed
        return Candidate(
            model,
            features,
            1.0 if "C" in known and "C" not in fixed else None,
            None if "learn" in fixed else learn,
        )

    def _explore(self, n_docs: int) -> list[Outcome]:
        """The first round: variants with the flat model, all models, and C of the best half."""
        flat = self.models[0]
        learns = ["given", "closed"] if "learn" in self.tuned and self.evaluator.closed_sets else ["given"]
        variants = list(self.evaluator.variants) if "features" in self.tuned else [PLAIN]
        found: list[Outcome] = []
        for features in variants:
            for learn in learns:
                found.append(self.measure(self._first(flat, features, learn), n_docs))  # type: ignore[arg-type]
        found = [one for one in found if one is not None]
        if not found:
            return []
        best = max(found, key=lambda one: one.value).candidate
        for model in self.models[1:]:
            new = self.measure(self._first(model, best.features, best.learn), n_docs)
            found += [] if new is None else [new]
        if "C" in self.tuned:
            ranked = sorted(found, key=lambda one: -one.value)
            for one in ranked[: -(-len(ranked) // 2)]:
                for step in (1, -1):
                    new = self._stepped(one, step)
                    found += [] if new is None else [new]
        places: dict[tuple[str, str, str | None], Outcome] = {}
        for one in found:  # each place at its best C
            place = one.candidate.place
            if place not in places or one.value > places[place].value:
                places[place] = one
        return list(places.values())

    def _stepped(self, outcome: Outcome, step: int) -> Outcome | None:
        """The same candidate with the next C in one direction."""
        C = outcome.candidate.C
        if C is None or not 0 <= GRID.index(C) + step < len(GRID):
            return None
        return self.measure(outcome.candidate.at(GRID[GRID.index(C) + step]), outcome.n_docs)

    def _follow(self, outcome: Outcome) -> None:
        """C in both directions, as long as the value does not fall clearly, or twice."""
        for step in (1, -1):
            now, best, below = outcome, outcome.value, 0
            while below < 2 and (new := self._stepped(now, step)) is not None:
                below = 0 if new.value >= best else 2 if best - new.value > _CLEAR else below + 1
                now, best = new, max(best, new.value)


def search(
    documents: Any,
    Y: CSR,
    taxonomy: Taxonomy,
    features: Any = None,
    *,
    measure: str = "hierarchical_f1",
    budget: float | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    models: list[str] | None = None,
    tuned: tuple[str, ...] = ("features", "learn", "C"),
    parameters: Mapping[str, object] = MappingProxyType({}),
    decoder: Decoder | str | None = None,
    checkpoint: str | Path | None = None,
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
        What is maximised, see `linnaeus.auto.measures`.
    budget : float or None, default=None
        Seconds; None: ten times a fit of the flat model, at least 30.
    seed : int, default=0
        Of splits, orders and models.
    n_jobs : int or None, default=None
        Threads of a fit.
    models : list of str or None, default=None
        The models, the first is the baseline; None: all that fit the labels.
    tuned : tuple of {"features", "learn", "C"}
        What is searched over, next to the models and the cut.
    parameters : mapping
        Parameters of models that are fixed, such as ``{"C": 1.0}``; only models that have them are tried.
    decoder : Decoder, "own" or None, default=None
        The decoder of the answers, "own" for the model's own; None: the best cut.
    checkpoint : path or None, default=None
        Folder for what was measured; the same search continues from there.
    say : callable
        Called with a line for every candidate.

    Returns
    -------
    (AutoReport, Evaluator) or None
    """
    measure = measures.check_measure(measure)
    splits = splits_of(Y, seed)
    if not splits:
        return None
    began = time.perf_counter()
    few = take_documents(documents, splits[0][0][:50])
    some = few if features is None else _sample(features, few)
    evaluator = Evaluator(
        documents,
        Y,
        taxonomy,
        feature_variants(features, some, seed),
        splits,
        measure,
        seed,
        n_jobs,
        parameters,
        decoder,
    )
    if models is None:
        models = models_for(Y, taxonomy)
        if taxonomy.n_edges == 0 and FLAT not in models:
            models = [FLAT, *models]
        models = [name for name in models if set(parameters) <= set(parameters_of(name))]
        if not models:
            raise ParameterError(f"None of the models that fit the documents has all of {', '.join(parameters)}.")
    folder, kept = None if checkpoint is None else Path(checkpoint), {}
    if folder is not None:
        fingerprint = _fingerprint(
            documents, Y, taxonomy, features, measure, seed, models, tuned, dict(parameters), decoder
        )
        kept = _read(folder, fingerprint)
    run = Search(evaluator, budget, folder, say, list(models), tuned, kept=kept)
    run.run()
    report = _report(run, began)
    return report, evaluator


def _report(run: Search, began: float) -> AutoReport:
    evaluator, chosen, measure = run.evaluator, run.best(), run.evaluator.measure
    assert chosen is not None
    assert run.budget is not None
    if chosen.held is None:  # kept from an earlier run, or a candidate that was overtaken and came back
        chosen = evaluator.run(chosen.candidate, chosen.n_docs)
    whole = chosen.n_docs
    others = [
        one
        for one in run.tried
        if one.n_docs == whole
        and (one.candidate.model, one.candidate.features) != (chosen.candidate.model, chosen.candidate.features)
    ]
    gold, function = evaluator.gold, measures.of_answers(measure)

    def value(rows: np.ndarray) -> float:
        if chosen.P is not None:
            return measures.of_ranking(gold[rows], chosen.P[rows], evaluator.taxonomy)
        assert chosen.answers is not None
        return float(function(gold[rows], chosen.answers[rows], evaluator.taxonomy))

    resamples = measures.RESAMPLES
    if chosen.P is not None:  # an area sorts all pairs of documents and nodes
        resamples = max(20, min(resamples, _PAIRS // chosen.P.size))
    notes = list(run.notes)
    if len(evaluator.splits) > 1:
        notes.append(f"There are few documents: every one was held out once, in {len(evaluator.splits)} folds.")
    return AutoReport(
        measure,
        chosen,
        next(one for one in run.tried if one.n_docs == whole),
        chosen.value,
        measures.interval(value, gold.shape[0], evaluator.seed, resamples=resamples),
        run.budget,
        time.perf_counter() - began,
        gold.shape[0],
        max(others, key=lambda one: one.value, default=None),
        run.tried,
        notes,
    )


def _sample(features: Any, documents: Any) -> Any:
    """What features make of a few documents, to see of which kind it is."""
    from sklearn.base import clone

    try:
        return clone(features).fit_transform(documents)
    except LinnaeusError:
        return np.zeros((1, 1))


def _fingerprint(documents: Any, Y: CSR, taxonomy: Taxonomy, features: Any, *more: Any) -> str:
    from linnaeus import __version__

    if is_sparse(documents) or isinstance(documents, np.ndarray):
        seen = digest(documents)
    else:
        import hashlib

        seen = hashlib.blake2b(repr(documents).encode(errors="surrogatepass"), digest_size=16).hexdigest()
    return json.dumps([__version__, seen, digest(Y), taxonomy.fingerprint, repr(features), repr(more)])


def _read(folder: Path, fingerprint: str) -> dict[str, dict[str, Any]]:
    """What an earlier search has measured on the same documents; an earlier search on others is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    about, kept = folder / "about.json", folder / "search.json"
    try:
        same = json.loads(about.read_text()) == fingerprint
        return dict(json.loads(kept.read_text())) if same else _begin(about, kept, fingerprint)
    except (OSError, ValueError):
        return _begin(about, kept, fingerprint)


def _begin(about: Path, kept: Path, fingerprint: str) -> dict[str, dict[str, Any]]:
    kept.unlink(missing_ok=True)
    replace_file(about, (json.dumps(fingerprint) + "\n").encode())
    return {}
