"""The shoot-out: every model that fits a problem, the cheap ones first, within a budget of time; then the comparison.

Models are tried on a few documents to forecast what they take, and run in the order of the forecasts, each in a process
of its own. A run may take three times its part of what is left. A model that is forecast to take longer and cannot be
stopped in between is left out, and says so. Finished runs are kept (`kept`): the same call goes on from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linnaeus import registry
from linnaeus.engine.clock import Clock, format_seconds
from linnaeus.engine.memory import format_bytes
from linnaeus.experiments.applicability import parameters_of, why_not
from linnaeus.experiments.children import Outcome, in_children
from linnaeus.experiments.experiment import Experiment
from linnaeus.experiments.forecast import Forecast, forecast, pilot
from linnaeus.experiments.kept import Kept
from linnaeus.experiments.measures import MAIN
from linnaeus.experiments.results import results
from linnaeus.experiments.trial import try_model

__all__ = ["shootout"]

_RESERVE = 0.05  # of the budget, for the comparison and the report
_FOR_PILOTS = 0.15  # of the budget
_LATEST_PILOT = 0.35  # of the budget, after which no pilot begins: on a busy machine starting processes takes the time
_LONGEST_PILOT = 8.0
_GRACE = 1.3  # times its limit, after which a run is ended from outside
_SHARE = 3  # times its fair part of what is left that a run may take: most take less
_UNKNOWN = (50.0, 10.0)  # times a pilot that never ended that a run likely, and at least, takes
_STOPPABLE = 4  # times its limit that a model may be forecast to take, if it stops by itself


def shootout(
    experiment: Experiment,
    output: str | Path,
    *,
    models: Sequence[str] | None = None,
    budget: float = 600.0,
    jobs: int = 1,
    command: str = "",
    say: Callable[[str], None] = lambda message: None,
) -> dict[str, Any]:
    """Run, compare, and return everything that the report shows; runs are kept in ``output``/runs.

    Parameters
    ----------
    models : names, or None for all that are registered.
    budget : seconds in all; what has no time left says so.
    jobs : how many models run at once, each with one thread.
    say : is told what happens, line by line.
    """
    names = list(registry.MODELS) if models is None else list(dict.fromkeys(registry.find_model(m) for m in models))
    run = _Shootout(experiment, Kept(Path(output) / "runs", experiment), Clock(budget), jobs, say)
    run.all(names)
    return results(experiment, run.kept, [run.records[name] for name in names], command=command)


@dataclass
class _Shootout:
    experiment: Experiment
    kept: Kept
    clock: Clock
    jobs: int
    say: Callable[[str], None]
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    forecasts: dict[str, Forecast] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    slow: dict[str, float] = field(default_factory=dict)

    @property
    def left(self) -> float:
        """Seconds for runs."""
        return self.clock.remaining - _RESERVE * self.clock.limit

    def all(self, names: list[str]) -> None:
        waiting = [name for name in names if not self._finished(name)]
        self._pilots(waiting)
        waiting.sort(key=lambda name: self.forecasts[name].likely)
        if waiting:
            total = sum(min(self.forecasts[name].likely, self.clock.limit) for name in waiting) / self.jobs
            said = format_seconds(max(1.0, round(total)))
            self.say(f"{len(waiting)} models to run, about {said}; budget {format_seconds(self.clock.limit)}")
        for name, outcome in in_children(try_model, waiting, self._begin, jobs=self.jobs):
            self._end(name, outcome)

    def _finished(self, name: str) -> bool:
        """Whether nothing is left to do for a model: it does not apply, or its run is kept."""
        record = self.kept.read(name, self.clock.limit)
        if record is None:
            reason = why_not(name, self.experiment, jobs=self.jobs)
            if reason is None:
                return False
            record = _without(name, "does not apply", reason)
            self.kept.write(record)
        elif record["status"] in ("done", "stopped early"):
            self.say(f"{name}: kept from before, {self._value(record)}")
        if record["status"] == "does not apply":
            self.say(f"{name}: does not apply because {record['reason']}")
        self.records[name] = record
        return True

    # -- forecasts -----------------------------------------------------------------------------------------------------

    def _pilots(self, waiting: list[str]) -> None:
        seconds = self.clock.limit * _FOR_PILOTS * self.jobs / max(1, len(waiting))
        seconds = min(_LONGEST_PILOT, max(0.5, seconds))

        def begin(name: str, left: int) -> tuple[tuple[Any, ...], float] | None:
            if self.clock.remaining < (1 - _LATEST_PILOT) * self.clock.limit:
                self.forecasts[name] = Forecast(self.clock.limit, 0.0)  # unknown: after all others, while time is left
                return None
            return (self.experiment, name, seconds), 1.5 * seconds + 2

        for name, outcome in in_children(pilot, waiting, begin, jobs=self.jobs):
            if outcome.value is not None:
                self.forecasts[name] = forecast(self.experiment, name, *outcome.value)
            elif outcome.failure == "time":  # not even a few documents
                self.forecasts[name] = Forecast(*(times * outcome.seconds for times in _UNKNOWN))
                self.slow[name] = outcome.seconds
            else:
                self.forecasts[name] = Forecast(0.0, 0.0)  # what a run says of it is said at once

    # -- runs ----------------------------------------------------------------------------------------------------------

    def _begin(self, name: str, left: int) -> tuple[tuple[Any, ...], float] | None:
        """Arguments and the last moment of a run, or None where there is no time for it."""
        later = [self.forecasts[other].least for other in self.forecasts if other not in self.begun]
        self.begun.add(name)
        rivals = max(1, sum(least <= self.left for least in later))  # others have no hope anyway
        limit = min(self.left, _SHARE * self.left * self.jobs / rivals)
        likely, least = self.forecasts[name]
        longest = limit * (_STOPPABLE if "max_time" in parameters_of(name) else 1.0)
        about = format_seconds(max(1.0, round(likely)))
        if limit < 1 or least > longest:
            needed, there = (format_seconds(max(1.0, round(value))) for value in (least, limit))
            reason = f"it would take at least {needed}, and {there} were left for it"
            if name in self.slow:
                reason = f"a few documents alone took more than {format_seconds(round(self.slow[name]))}, and {there}"
                reason += " were left for it"
            self._keep(_without(name, "no time", reason, budget=self.clock.limit))
            return None
        budget = format_seconds(max(1.0, round(self.left)))
        models = "1 model" if left == 1 else f"{left} models"
        self.say(f"{name}: about {about}; {models} and {budget} left")
        return (self.experiment, name, limit), _GRACE * limit + 5

    def _end(self, name: str, outcome: Outcome) -> None:
        if outcome.value is not None:
            record, H, P = outcome.value
            record["budget"] = self.clock.limit
            self.kept.write(record, H, P)
            self.records[name] = record
            took = format_seconds(max(0.1, round(outcome.seconds, 1)))
            memory = format_bytes(1e6 * record["peak_memory_mb"]) if record["peak_memory_mb"] else "unknown memory"
            self.say(f"{name}: {self._value(record)} in {took}, {memory}")
            return
        if outcome.failure == "time":
            took = format_seconds(round(outcome.seconds))
            self._keep(_without(name, "no time", f"it was ended after {took}", budget=self.clock.limit))
        elif outcome.failure == "refused":
            self._keep(_without(name, "does not apply", outcome.words))
        else:
            self._keep(_without(name, "failed", outcome.words))

    def _keep(self, record: dict[str, Any]) -> None:
        self.kept.write(record)
        self.records[record["model"]] = record
        status = "does not apply because" if record["status"] == "does not apply" else f"{record['status']}:"
        self.say(f"{record['model']}: {status} {record['reason']}")

    def _value(self, record: dict[str, Any]) -> str:
        value = record["measures"].get(self.experiment.measure)
        return f"{MAIN[self.experiment.measure]} {'unknown' if value is None else format(value, '.4f')}"


def _without(name: str, status: str, reason: str, **more: Any) -> dict[str, Any]:
    """The record of a model that has no figures."""
    nothing: dict[str, Any] = {"parameters": {}, "tried": [], "seconds": {}, "peak_memory_mb": None, "model_mb": None}
    lists: dict[str, Any] = {"by_level": [], "by_size": [], "by_node": [], "confusion": [], "reliability": None}
    figures = {"measures": {}, "intervals": {}, **lists, "curve": None}
    return {"model": name, "status": status, "reason": reason, "note": None, **nothing, **figures, **more}
