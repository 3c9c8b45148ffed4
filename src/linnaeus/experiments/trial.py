"""One model on one problem: choose C on documents held out inside, learn from all, answer the test documents.

The clock is looked at before every fit: a search that would leave no time for the last fit ends with the values it has.
Scores of the inner held-out documents also calibrate: their probabilities are what AU(PRC) and reliability are of.
"""

from __future__ import annotations

import inspect
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from linnaeus import metrics, registry, store
from linnaeus.decoding.probability.curves import Calibrator
from linnaeus.engine import single_blas_thread
from linnaeus.engine.limits import Clock, format_seconds
from linnaeus.experiments.experiment import Experiment, Part
from linnaeus.experiments.measures import measure
from linnaeus.experiments.records import Attempt, CurvePoint, Run
from linnaeus.experiments.scores import (
    LabelScores,
    ModelAnswers,
    all_scores,
    curves_of,
    label_scores,
    probabilities,
    too_many,
)
from linnaeus.experiments.search import GRID, NoTime, choose
from linnaeus.typing import CSR, FloatArray, Matrix

__all__ = ["Trial", "grid_of", "make_model", "parameters_of", "try_model"]

_SHARES = (0.125, 0.25, 0.5)  # of a learning curve
_FOR_SEARCH = 0.4  # of the time, at most, for the first fit of a search
_ON_ALL = 1.7  # times a fit of the search that the last one takes, on all documents


def parameters_of(name: str) -> dict[str, object]:
    """Parameters of a model with their defaults."""
    return {key: p.default for key, p in inspect.signature(registry.resolve(name)).parameters.items()}


def grid_of(name: str, experiment: Experiment) -> list[float]:
    """Values of C to try, nothing where the model has none or it is fixed.

    A document of length 10 counts a hundred times as much as one of length 1: C is divided by the mean squared length,
    but for RBF kernels, for which every document has length 1.
    """
    if "C" not in parameters_of(name) or "C" in experiment.settings.get(name, {}):
        return []
    linear = make_model(name, experiment, C=1.0).get_params().get("kernel", "linear") == "linear"
    scale = experiment.squared_length if linear else 1.0
    return [float(f"{C / scale:.3g}") for C in GRID]


def make_model(name: str, experiment: Experiment, **more: object) -> Any:
    """An unfitted model with the usual parameters it has: one thread, the seed, RBF kernels for dense documents.

    Where AU(PRC) decides, which is of closed sets, models that can learn closed sets do.
    """
    known = parameters_of(name)
    usual: dict[str, object] = {"taxonomy": experiment.taxonomy, "random_state": experiment.seed, "n_jobs": 1}
    if experiment.is_dense:
        usual["kernel"] = "rbf"
    if experiment.measure == "au_prc" and known.get("learn") == "given":
        usual["learn"] = "closed"  # what the area is of
    if "C" not in more and (grid := grid_of(name, experiment)):
        usual["C"] = grid[len(grid) // 2]
    given = {**usual, **experiment.settings.get(name, {}), **more}
    return registry.resolve(name)(**{key: value for key, value in given.items() if key in known})


def try_model(experiment: Experiment, name: str, limit: float) -> tuple[Run, CSR, FloatArray | None]:
    """The run of a model, its label sets of all test documents, and probabilities."""
    trial = Trial(experiment, name, Clock(limit))
    with single_blas_thread(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        answers = trial.answers()
        figures = measure(experiment, answers)
        curve = trial.curve(figures.measures) if experiment.curves else None
    stopped = trial.stopped
    run = Run(
        model=name,
        status="stopped early" if stopped else "done",
        reason=f"its time of {format_seconds(limit)} was over before it had converged" if stopped else None,
        note=_note(caught, trial),
        parameters=trial.parameters,
        tried=trial.tried,
        seconds={key: round(value, 3) for key, value in trial.seconds.items()},
        peak_memory_mb=_peak_memory(),
        model_mb=trial.size,
        curve=curve,
        **vars(figures),
    )
    return run, answers.H, answers.P


@dataclass
class Trial:
    """A run of one model, part after part."""

    experiment: Experiment
    name: str
    clock: Clock
    tried: list[Attempt] = field(default_factory=list)
    parameters: dict[str, object] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=lambda: {"search": 0.0, "fit": 0.0, "predict": 0.0})
    size: float | None = None
    stopped: bool = False
    cut_short: bool = False
    chosen: list[float | None] = field(default_factory=list)

    @property
    def can_stop(self) -> bool:
        """Whether the model ends by itself when its time is over."""
        return "max_time" in parameters_of(self.name)

    def answers(self) -> ModelAnswers:
        """Answers of all parts."""
        parts = self.experiment.parts
        answers = [self._part(part, self.clock.remaining / (len(parts) - i)) for i, part in enumerate(parts)]
        H = sparse.csr_array(sparse.vstack([one.H for one in answers]))
        P = [one.P for one in answers if one.P is not None]
        return ModelAnswers(
            H, _stacked([one.S for one in answers]), np.concatenate(P) if len(P) == len(parts) else None
        )

    def search(self) -> float | None:
        """The best C of the first part, without learning from all of it."""
        return self._search(self.experiment.parts[0], self.clock)[0]

    def _part(self, part: Part, seconds: float) -> ModelAnswers:
        clock = Clock(max(seconds, 1.0))
        C, calibrator = self._search(part, clock)
        self.chosen.append(C)
        model = self._fitted(part.X, part.Y, C, clock.remaining, "fit")
        self.parameters = _changed_parameters(model, self.chosen)
        if self.size is None:
            self.size = _size(model)
        began = time.perf_counter()
        H = model.answers(part.X_test)
        S, P = label_scores(model, part.X_test, self.experiment.label_nodes, calibrator)
        self.seconds["predict"] += time.perf_counter() - began
        return ModelAnswers(H, S, P)

    def _fitted(self, X: Matrix, Y: CSR, C: float | None, seconds: float, what: str, model: Any = None) -> Any:
        """A model fitted within these seconds, if it has a time limit; ``model`` continues from an earlier C."""
        model = make_model(self.name, self.experiment) if model is None else model
        given: dict[str, Any] = {} if C is None else {"C": C}
        model.set_params(**given, **({"max_time": max(seconds, 1.0)} if self.can_stop else {}))
        began = time.perf_counter()
        model.fit(X, Y)
        took = time.perf_counter() - began
        self.seconds[what] += took
        if what == "fit":
            self.stopped |= bool(getattr(model, "time_limit_reached_", self.can_stop and took > seconds))
        return model

    # -- search --------------------------------------------------------------------------------------------------------

    def _search(self, part: Part, clock: Clock) -> tuple[float | None, Calibrator | None]:
        """The best C on the inner held-out documents, and curves of probabilities from its scores there."""
        learn, held = part.inner
        X, Y, X_held, Y_held = part.X[learn], part.Y[learn], part.X[held], part.Y[held]
        if not Y.nnz:
            return None, None
        grid = grid_of(self.name, self.experiment)
        warm = (
            make_model(self.name, self.experiment, warm_start=True)
            if "warm_start" in parameters_of(self.name)
            else None
        )
        best, longest = (-np.inf, 0.0), 0.0
        curves: Callable[[], Calibrator | None] = lambda: None  # noqa: E731

        def quality(C: float | None) -> dict[str, float]:
            nonlocal best, curves, longest
            if longest * (1.0 + _ON_ALL) > clock.remaining:
                self.cut_short = True
                raise NoTime
            began = time.perf_counter()
            model = self._fitted(X, Y, C, clock.remaining * _FOR_SEARCH, "search", warm)
            longest = max(longest, time.perf_counter() - began)
            value, of_model = self._held_out(model, X_held, Y_held)
            if (value, -(C or 0.0)) > best:
                best, curves = (value, -(C or 0.0)), of_model
            self.tried.append(Attempt(value, round(time.perf_counter() - began, 3), C))
            return {"value": value}

        if not grid:
            quality(None)
            return None, curves()
        chosen = choose(quality, grid, start=grid[len(grid) // 2]).best("value")
        return chosen, curves()

    def _held_out(self, model: Any, X: Matrix, Y: CSR) -> tuple[float, Callable[[], Calibrator | None]]:
        """The main measure on held-out documents, and how to get curves of probabilities from the scores there."""
        tax, by = self.experiment.taxonomy, self.experiment.measure
        if not Y.nnz or too_many(X, tax):
            return self._value(model, X, Y), lambda: None
        S = all_scores(model, X)
        curves = curves_of(model, S, Y)
        if by != "au_prc":
            return self._value(model, X, Y), curves
        calibrator = curves()
        P = probabilities(calibrator, S, model)
        return float(metrics.au_prc(Y, P, tax, exclude=self.experiment.exclude)), lambda: calibrator

    def _value(self, model: Any, X: Matrix, Y: CSR) -> float:
        named = metrics.micro_f1 if self.experiment.measure == "micro_f1" else metrics.hierarchical_f1
        return float(named(Y, model.answers(X), taxonomy=self.experiment.taxonomy))

    # -- learning curves -----------------------------------------------------------------------------------------------

    def curve(self, measured: Mapping[str, float | None]) -> list[CurvePoint]:
        """The main measure after learning from parts of the documents of the first part, while there is time."""
        experiment, part = self.experiment, self.experiment.parts[0]
        key = experiment.measure if experiment.measure != "au_prc" else "hierarchical_f1"
        order = np.random.default_rng(experiment.seed).permutation(part.Y.shape[0])
        points = []
        for share in _SHARES:
            rows = np.sort(order[: max(2, int(share * len(order)))])
            if self.clock.remaining < self.seconds["fit"] * share * 2 or not part.Y[rows].nnz:
                break
            began = self.seconds["fit"], self.stopped
            model = self._fitted(part.X[rows], part.Y[rows], self.chosen[0], self.clock.remaining, "fit")
            self.seconds["fit"], self.stopped = began  # the curve is not part of the run
            value = self._value(model, part.X_test, part.Y_test)
            points.append(CurvePoint(share, len(rows), value))
        return [*points, CurvePoint(1.0, len(order), measured[key])]


def _stacked(parts: list[LabelScores | None]) -> LabelScores | None:
    """Arrays or pairs of arrays one below the other; None where one is missing."""
    pairs = [part for part in parts if isinstance(part, tuple)]
    if len(pairs) == len(parts):
        return np.concatenate([columns for columns, _ in pairs]), np.concatenate([scores for _, scores in pairs])
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    return np.concatenate(arrays) if len(arrays) == len(parts) else None


def _changed_parameters(model: Any, chosen: list[float | None]) -> dict[str, object]:
    """Parameters that are not the defaults of the model, as plain values."""
    defaults = parameters_of(type(model).__name__)
    left_out = {"taxonomy", "n_jobs", "random_state", "max_time", "verbose"}
    changed: dict[str, object] = {
        key: value if isinstance(value, (int, float, str, bool)) else repr(value)
        for key, value in model.get_params(deep=False).items()
        if key not in left_out and (key == "C" or value != defaults[key])
    }
    if len(set(chosen)) > 1:
        changed["C"] = chosen  # of the parts
    return changed


def _size(model: Any) -> float | None:
    """Megabytes of the model on disk."""
    with tempfile.TemporaryDirectory(prefix="linnaeus-", ignore_cleanup_errors=True) as folder:
        store.save(model, os.path.join(folder, "model"))
        return round(sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 1e6, 3)


def _peak_memory() -> float | None:
    try:
        import resource
        import sys
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1)


def _note(caught: list[warnings.WarningMessage], trial: Trial) -> str | None:
    said = [f"time for {len(trial.tried)} values of C only"] if trial.cut_short and trial.tried else []
    warned = dict.fromkeys(str(one.message).split("\n")[0].rstrip(".") for one in caught)
    said += [message for message in warned if "max_time=" not in message]  # the status says it
    return "; ".join(said[:3]) or None
