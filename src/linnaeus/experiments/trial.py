"""One model on one problem: `AutoClassifier` with this model alone, then answers to the test documents.

Features, what is learned, C and the cut are chosen on training documents held out inside, by the search of
`linnaeus train`. The scores of these documents also calibrate: AU(PRC) and reliability are of their probabilities.
"""

from __future__ import annotations

import inspect
import os
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import clone

from linnaeus import metrics, store
from linnaeus.auto import AutoClassifier, AutoReport
from linnaeus.auto.candidates import Outcome
from linnaeus.auto.search import TUNED
from linnaeus.engine import Clock, format_seconds, single_blas_thread
from linnaeus.experiments.experiment import Experiment, Part
from linnaeus.experiments.measures import LabelScores, ModelAnswers, label_scores, measure
from linnaeus.experiments.records import Attempt, CurvePoint, Run
from linnaeus.features.named import name_of
from linnaeus.pipeline import Pipeline
from linnaeus.typing import CSR, FloatArray

__all__ = ["Known", "Trial", "try_model"]

Known = Sequence[Sequence[Outcome]]  # for every part, what a search has measured

_SHARES = (0.125, 0.25, 0.5)  # of a learning curve
_LEFT_OUT = {"taxonomy", "n_jobs", "random_state", "max_time", "verbose"}  # of the parameters of a record


def try_model(
    experiment: Experiment, name: str, limit: float, known: Known = ()
) -> tuple[Run, CSR, FloatArray | None, Known]:
    """Run a model: the record, its label sets of all test documents, probabilities, and what its search has measured.

    Parameters
    ----------
    experiment : Experiment
        Documents, taxonomy and split.
    name : str
        A registered model.
    limit : float
        Seconds for everything.
    known : sequence of lists of Outcome
        For every part, what need not be measured again.

    Returns
    -------
    tuple of (Run, CSR, ndarray or None, list of lists of Outcome)
        The record, label sets and probabilities, n_docs x n_nodes each, and what was measured in every part.
    """
    trial = Trial(experiment, name, Clock(limit), known)
    with single_blas_thread(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        answers = trial.answers()
        figures = measure(experiment, answers)
        curve = trial.curve(figures.measures) if experiment.curves else None
    stopped = trial.stopped
    reports = trial.reports
    run = Run(
        model=name,
        status="stopped early" if stopped else "done",
        reason=f"its time of {format_seconds(limit)} was over before it had converged" if stopped else None,
        note=_note(caught),
        parameters=trial.parameters,
        features=_joined(report.chosen.candidate.features for report in reports),
        maps=[name_of(pipe.features) for pipe in trial.pipelines],
        cut=_joined(report.chosen.cut for report in reports),
        held_out=float(np.mean([report.value for report in reports])) if reports else None,
        in_folds=_mean_in_folds(reports),
        cut_short=any(report.cut_short for report in reports),
        allowance=float(np.mean([report.chosen.allowance for report in reports])) if reports else None,
        tried=[attempt for report in reports for attempt in _attempts(report, trial.pipelines[0])],
        seconds={key: round(value, 3) for key, value in trial.seconds.items()},
        peak_memory_mb=_peak_memory(),
        model_mb=_size(trial.pipelines[0]),
        curve=curve,
        **vars(figures),
    )
    measured = [[one.without_scores() for one in report.tried] for report in reports]
    return run, answers.H, answers.P, measured


@dataclass
class Trial:
    """A run of one model, part after part."""

    experiment: Experiment
    name: str
    clock: Clock
    known: Known = ()
    pipelines: list[Pipeline] = field(default_factory=list)
    reports: list[AutoReport] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: {"search": 0.0, "fit": 0.0, "predict": 0.0})

    def answers(self) -> ModelAnswers:
        """Answers of all parts."""
        parts = self.experiment.parts
        answers = [self._part(i, part, self.clock.remaining / (len(parts) - i)) for i, part in enumerate(parts)]
        H = sparse.csr_array(sparse.vstack([one.H for one in answers]))
        P = [one.P for one in answers if one.P is not None]
        return ModelAnswers(
            H, _stacked([one.S for one in answers]), np.concatenate(P) if len(P) == len(parts) else None
        )

    @property
    def stopped(self) -> bool:
        """Whether a training ended because its time was over."""
        return any(getattr(pipe.model_, "time_limit_reached_", False) for pipe in self.pipelines)

    @property
    def parameters(self) -> dict[str, object]:
        """Parameters that differ from the defaults of the model, and C; a list where the parts have several values."""
        found = [_changed(pipe) for pipe in self.pipelines]
        names = dict.fromkeys(name for one in found for name in one)
        values = {name: [one.get(name) for one in found] for name in names}
        return {name: given[0] if len(set(map(repr, given))) == 1 else given for name, given in values.items()}

    def _part(self, number: int, part: Part, seconds: float) -> ModelAnswers:
        experiment, began = self.experiment, time.perf_counter()
        auto = AutoClassifier(
            experiment.taxonomy,
            measure=experiment.measure,
            budget=max(seconds, 0.1),
            features=experiment.vectors,
            random_state=experiment.seed,
            n_jobs=1,
        )
        settings = experiment.settings.get(self.name, {})
        tuned = tuple(name for name in TUNED if name != "features" or experiment.tune_features)
        known = self.known[number] if number < len(self.known) else ()
        auto.fit(part.X, part.Y, models=[self.name], tuned=tuned, parameters=settings, known=known)
        took, report, pipe = time.perf_counter() - began, auto.report_, auto.pipeline_
        searching = 0.0 if report is None else report.seconds
        self.seconds["search"] += searching
        self.seconds["fit"] += max(0.0, took - searching)
        self.pipelines.append(pipe)
        self.reports += [] if report is None else [report]
        began = time.perf_counter()
        H = pipe.answers(part.X_test)
        S, P = label_scores(pipe.model_, pipe.matrix(part.X_test), experiment.label_nodes, pipe.calibrator_)
        self.seconds["predict"] += time.perf_counter() - began
        return ModelAnswers(H, S, P)

    def curve(self, measured: Mapping[str, float | None]) -> list[CurvePoint]:
        """The main measure after learning from parts of the documents of the first part, while there is time.

        What was chosen for all documents is kept: features, parameters and cut.
        """
        experiment, part, chosen = self.experiment, self.experiment.parts[0], self.pipelines[0]
        key = experiment.measure if experiment.measure != "au_prc" else "hierarchical_f1"
        order = np.random.default_rng(experiment.seed).permutation(part.Y.shape[0])
        points = []
        for share in _SHARES:
            rows = np.sort(order[: max(2, int(share * len(order)))])
            if self.clock.remaining < self.seconds["fit"] * share * 2 or not part.Y[rows].nnz:
                break
            pipe = Pipeline(clone(chosen.model), chosen.features, decoder=chosen.decoder)
            pipe.fit(part.X[rows], part.Y[rows])
            value = float(getattr(metrics, key)(part.Y_test, pipe.answers(part.X_test), experiment.taxonomy))
            points.append(CurvePoint(share, len(rows), value))
        return [*points, CurvePoint(1.0, len(order), measured[key])]


def _attempts(report: AutoReport, pipe: Pipeline) -> list[Attempt]:
    """What was measured on all documents of the learning side; C as the model takes it."""
    chosen = report.chosen
    C = pipe.model_.get_params(deep=False).get("C")
    unit = float(C) / chosen.candidate.C if chosen.candidate.C and isinstance(C, float) else 1.0
    return [
        Attempt(
            one.value if np.isfinite(one.value) else None,
            round(one.seconds, 3),
            None if one.candidate.C is None else float(f"{one.candidate.C * unit:.3g}"),
            one.candidate.features,
            one.candidate.learn,
            one.cut,
        )
        for one in report.tried
        if one.n_docs == chosen.n_docs
    ]


def _joined(values: object) -> str | None:
    """One value, or the values of the parts in order."""
    found = list(dict.fromkeys(str(value) for value in values))  # type: ignore[attr-defined]
    return ", ".join(found) or None


def _mean_in_folds(reports: list[AutoReport]) -> float | None:
    """The mean value with every document held out once; None where that was not measured for all parts."""
    values = [report.refined.value for report in reports if report.refined is not None]
    return float(np.mean(values)) if values and len(values) == len(reports) else None


def _stacked(parts: list[LabelScores | None]) -> LabelScores | None:
    """Arrays or pairs of arrays one below the other; None where one is missing."""
    pairs = [part for part in parts if isinstance(part, tuple)]
    if len(pairs) == len(parts):
        return np.concatenate([columns for columns, _ in pairs]), np.concatenate([scores for _, scores in pairs])
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    return np.concatenate(arrays) if len(arrays) == len(parts) else None


def _changed(pipe: Pipeline) -> dict[str, object]:
    """C, and parameters that are not the defaults of the model, as plain values."""
    model = pipe.model_
    defaults = {key: one.default for key, one in inspect.signature(type(model)).parameters.items()}
    return {
        key: value if isinstance(value, int | str) or (isinstance(value, float) and np.isfinite(value)) else repr(value)
        for key, value in model.get_params(deep=False).items()
        if key not in _LEFT_OUT and (key == "C" or repr(value) != repr(defaults.get(key)))
    }


def _size(pipe: Pipeline) -> float | None:
    """Megabytes of the model on disk."""
    with tempfile.TemporaryDirectory(prefix="linnaeus-", ignore_cleanup_errors=True) as folder:
        store.save(pipe, os.path.join(folder, "model"))
        return round(sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 1e6, 3)


def _peak_memory() -> float | None:
    try:
        import resource
        import sys
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1)


def _note(caught: list[warnings.WarningMessage]) -> str | None:
    warned = dict.fromkeys(str(one.message).split("\n")[0].rstrip(".") for one in caught)
    return "; ".join([message for message in warned if "max_time=" not in message][:3]) or None  # the status says it
