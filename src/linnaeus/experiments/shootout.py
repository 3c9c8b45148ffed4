"""The shoot-out: every model that fits a problem, the cheap ones first, within a budget of time; then the comparison.

Models are tried on a few documents to forecast their time, and run in the order of the forecasts, each in a process of
its own. A run gets the time that it needs at least and an equal part of the rest; quick models, whose search is over
sooner, leave time to the slow ones, and where there is not enough for all, those that need most get none (`shares`).
Finished runs correct the forecasts of their family. A model that is forecast to take longer and cannot be stopped in
between is postponed: it gets the time that the others leave, and is left out, with the reason, only if it is forecast
to take more than twice that time. What is left then goes to those whose search was cut short, the best of them on
held-out documents first: they run again, for at least twice the time. A joint model runs after the model of its flat
end, with the same forecast and at least the same time; what that one has measured is not measured again. Finished runs
are kept (`run_folder`): the same call reads them.
"""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from itertools import zip_longest
from pathlib import Path

import numpy as np

from linnaeus import registry
from linnaeus.auto.candidates import FLAT, FLAT_ENDS, at_flat_end, parameters_of
from linnaeus.engine import Clock, format_bytes, format_seconds
from linnaeus.errors import ParameterError
from linnaeus.experiments.candidates import (
    Corrections,
    RunForecast,
    after_flat,
    firsts,
    forecast,
    in_turn,
    pilot,
    shares,
    why_not,
)
from linnaeus.experiments.children import ChildOutcome, in_children, memory_of_each
from linnaeus.experiments.comparison import as_good, choice, chosen_by_train, compare_runs, sentence
from linnaeus.experiments.experiment import Experiment
from linnaeus.experiments.measures import MAIN, measures_of
from linnaeus.experiments.records import MEASURED, NodeTable, ProblemSummary, Result, Run, ranked_by
from linnaeus.experiments.run_folder import RunFolder
from linnaeus.experiments.trial import Known, try_model
from linnaeus.typing import CSR, FloatArray

__all__ = ["node_table", "recommended", "shootout"]

_RESERVE = 0.05  # of the budget, for the comparison and the report
_FOR_PILOTS = 0.15  # of the budget
_LATEST_PILOT = 0.35  # of the budget, after which no pilot begins: on a busy machine starting processes takes the time
_LONGEST_PILOT = 8.0
_GRACE = 3.0  # times its limit, after which a run is ended from outside
_UNKNOWN = (50.0, 10.0)  # times a pilot that never ended that a run likely, and at least, takes
_FOR_FIRST = 0.5  # of an equal part of what is left that the first of a family gets, if it needs it
_BY_ITSELF = 0.8  # of its limit that a run took, if the limit has not ended it
_STOPPABLE = 8  # times its limit that a model may be forecast to take, if it stops by itself
_LONGER = 2.0  # times its former limit that a run which is repeated gets, at least
_ENOUGH = 0.9  # of that, where others took longer than they should
_DOUBTFUL = 2  # times what is left that a model may be forecast to take when nobody else needs the time


def shootout(
    experiment: Experiment,
    output: str | Path,
    *,
    models: Sequence[str] | None = None,
    budget: float = 600.0,
    jobs: int = 1,
    command: str = "",
    say: Callable[[str], None] | None = None,
) -> Result:
    """Run models on the same documents and compare them; finished runs are kept in ``output``/runs.

    Parameters
    ----------
    experiment : Experiment
        Documents, taxonomy and split.
    output : str or path-like
        Folder of the shoot-out; runs that it holds already are not repeated.
    models : sequence of str, default=None
        Names of models; None for all that are registered.
    budget : float, default=600.0
        Seconds for everything; models without time left are listed as such.
    jobs : int, default=1
        Number of models that run at once, each with one thread.
    command : str, default=""
        The command to show in the report.
    say : callable, default=None
        Called with a line of progress at a time.

    Returns
    -------
    Result
        Everything that the report shows.
    """
    names = list(registry.MODELS) if models is None else list(dict.fromkeys(registry.find_model(m) for m in models))
    as_read = [name for name in names if name in registry.DOCUMENT_MODELS]
    if as_read:
        raise ParameterError(f"{as_read[0]} takes texts as they are; a shoot-out compares models of the same vectors.")
    folder = RunFolder(Path(output) / "runs", experiment)
    shoot_out = _Shootout(experiment, folder, Clock(budget), jobs, say or (lambda message: None))
    shoot_out.run(names)
    return _result(experiment, folder, [shoot_out.runs[name] for name in names], command)


@dataclass
class _Shootout:
    experiment: Experiment
    folder: RunFolder
    clock: Clock
    jobs: int
    say: Callable[[str], None]
    runs: dict[str, Run] = field(default_factory=dict)
    forecasts: dict[str, RunForecast] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    limits: dict[str, float] = field(default_factory=dict)  # of runs that have begun
    slow: dict[str, float] = field(default_factory=dict)
    firsts: set[str] = field(default_factory=set)  # models that stand for their family
    learned: Corrections = field(default_factory=Corrections)
    put_off: list[str] = field(default_factory=list)
    late: bool = False  # whether the postponed ones have their turn
    measured: dict[str, Known] = field(default_factory=dict)  # by the searches of runs
    going: set[str] = field(default_factory=set)  # runs that are repeated now

    @property
    def left(self) -> float:
        """Seconds for runs."""
        return self.clock.remaining - _RESERVE * self.clock.limit

    def run(self, names: list[str]) -> None:
        waiting = [name for name in names if not self._finished(name)]
        self._pilots(waiting)
        seconds = {name: self.forecasts[name].least for name in waiting}
        families = max(1, len(firsts(seconds)))
        self.firsts = firsts(seconds, self.left * self.jobs / families)
        waiting = in_turn(seconds, self.left * self.jobs / families)
        if waiting:
            total = sum(min(self.forecasts[name].likely, self.clock.limit) for name in waiting) / self.jobs
            said = format_seconds(max(1.0, round(total)))
            self.say(f"{len(waiting)} models to run, about {said}; budget {format_seconds(self.clock.limit)}")
        for name, outcome in in_children(try_model, waiting, self._begin, jobs=self.jobs):
            self._end(name, outcome)
        self.late, self.begun = True, set(self.forecasts) - set(self.put_off)
        # Those that can be stopped give a figure in whatever time they get: they do not wait for others.
        again = sorted(self.put_off, key=lambda name: (not _can_stop(name), self._forecast(name).least))
        for name, outcome in in_children(try_model, after_flat(again), self._begin, jobs=self.jobs):
            self._end(name, outcome)
        for name, outcome in in_children(try_model, self._worth_more_time(), self._begin_again, jobs=self.jobs):
            self._end(name, outcome)

    def _worth_more_time(self) -> list[str]:
        """Models whose search was cut short, the best first, where equal parts of what is left are twice their time."""
        measured = {name: run for name, run in self.runs.items() if run.status in MEASURED and run.held_out is not None}
        runs = {name: run for name, run in measured.items() if run.cut_short or run.status == "stopped early"}
        value = {name: run.rank for name, run in runs.items() if name in self.limits}
        found: list[str] = []
        for name in after_flat(sorted(value, key=lambda name: -value[name])):
            longest = max(self.limits[one] for one in (*found, name))
            if _LONGER * longest <= min(self.left, self.left * self.jobs / (len(found) + 1)):
                found.append(name)
        pairs = [pair for pair in FLAT_ENDS.items() if set(pair) <= set(runs) and not set(pair) <= set(found)]
        return [name for name in found if all(name not in pair for pair in pairs)]  # both or none: they are compared

    def _begin_again(self, name: str, left: int) -> tuple[tuple[object, ...], float] | None:
        """Arguments and the last moment of a run that is repeated."""
        limit = min(self.left, self.left * self.jobs / max(left + len(self.going), self.jobs))
        if limit < _ENOUGH * _LONGER * self.limits[name]:  # others took longer than they should
            self.say(f"{name}: not again, since {format_seconds(max(1.0, round(limit)))} are left for it")
            return None
        self.going.add(name)
        self.say(f"{name}: again, since its search was cut short; {format_seconds(max(1.0, round(limit)))} for it")
        return self._task(name, limit)

    def _forecast(self, name: str) -> RunForecast:
        """What is known by now."""
        return self.learned.of(name, self.forecasts[name])

    def _finished(self, name: str) -> bool:
        """Whether nothing is left to do for a model: it does not apply, or its run is kept."""
        run = self.folder.read(name, self.clock.limit)
        earlier = self.folder.read(name) if run is None else None
        if earlier is not None and earlier.status in MEASURED:  # repeated with a larger budget
            self.runs[name] = earlier
            return False
        if run is None:
            reason = why_not(name, self.experiment, jobs=self.jobs)
            if reason is None:
                return False
            run = Run(model=name, status="does not apply", reason=reason)
            self.folder.write(run)
        elif run.status in MEASURED:
            self.say(f"{name}: kept from before, {self._value(run)}")
        if run.status == "does not apply":
            self.say(f"{name}: does not apply because {run.reason}")
        self.runs[name] = run
        return True

    # -- forecasts -----------------------------------------------------------------------------------------------------

    def _pilots(self, waiting: list[str]) -> None:
        seconds = self.clock.limit * _FOR_PILOTS * self.jobs / max(1, len(waiting))
        seconds = min(_LONGEST_PILOT, max(0.5, seconds))

        def begin(name: str, left: int) -> tuple[tuple[object, ...], float] | None:
            if self.clock.remaining < (1 - _LATEST_PILOT) * self.clock.limit:
                self.forecasts[name] = RunForecast(
                    self.clock.limit, 0.0
                )  # unknown: after all others, while time is left
                return None
            return (self.experiment, name, seconds), 1.5 * seconds + 2

        for name, outcome in in_children(pilot, waiting, begin, jobs=self.jobs):
            if outcome.value is not None:
                self.forecasts[name] = forecast(self.experiment, name, *outcome.value)
            elif outcome.failure == "time":  # not even a few documents
                self.forecasts[name] = RunForecast(*(times * outcome.seconds for times in _UNKNOWN))
                self.slow[name] = outcome.seconds
            else:
                self.forecasts[name] = RunForecast(0.0, 0.0)  # what a run says of it is said at once
        for joint, flat in FLAT_ENDS.items():  # the same fits: of the two, the slower was disturbed
            both = [self.forecasts[name] for name in (joint, flat) if name in self.forecasts]
            given = self.experiment.settings
            if len(both) == 2 and min(both).least > 0 and given.get(joint, {}) == given.get(flat, {}):
                self.forecasts[joint] = self.forecasts[flat] = min(both)

    # -- runs ----------------------------------------------------------------------------------------------------------

    def _begin(self, name: str, left: int) -> tuple[tuple[object, ...], float] | None:
        """Arguments and the last moment of a run, or None where there is no time for it."""
        rivals = {other: self._forecast(other) for other in self.forecasts if other not in self.begun or other == name}
        self.begun.add(name)
        likely, least = rivals[name]
        limit = min(self.left, shares(rivals, self.left * self.jobs)[name])
        if name in self.firsts:  # every family is seen before any is seen twice
            most = min(self.left, self.left * self.jobs / len(self.firsts - self.begun | {name}))
            limit = max(limit, min(least, _FOR_FIRST * most))
        limit = max(limit, min(self.left, self.limits.get(FLAT_ENDS.get(name, ""), 0.0)))
        stops = _can_stop(name)
        if self.late and stops:
            limit = max(limit, self.left * self.jobs / max(left, self.jobs))
        longest = limit * (_STOPPABLE if stops else 1.0)
        if self.late and not stops:  # what it does not get is of no use to anybody
            limit, longest = self.left, _DOUBTFUL * self.left
        about = format_seconds(max(1.0, round(likely)))
        if limit < 1 or (least > longest and not (self.late and stops)):
            if not self.late:
                self.put_off.append(name)
                return None
            needed, there = (format_seconds(max(1.0, round(value))) for value in (least, limit))
            reason = f"it would take at least {needed}, and {there} were left for it"
            if limit < 1:
                reason = f"it would take at least {needed}, and no time was left"
            if name in self.slow:
                reason = f"a few documents alone took more than {format_seconds(round(self.slow[name]))}, and {there}"
                reason += " were left for it"
            self._keep(Run(model=name, status="no time", reason=reason, budget=self.clock.limit))
            return None
        budget = format_seconds(max(1.0, round(self.left)))
        models = "1 model" if left == 1 else f"{left} models"
        self.say(f"{name}: about {about}; {models} and {budget} left")
        return self._task(name, limit)

    def _task(self, name: str, limit: float) -> tuple[tuple[object, ...], float]:
        """Arguments of a run that begins, and its last moment: late on a busy machine, not long after the budget."""
        self.limits[name] = limit
        last = min(_GRACE * limit + 5, self.clock.remaining) + 5
        return (self.experiment, name, limit, self._known(name)), last

    def _known(self, name: str) -> Known:
        """What was measured for a model, by a first run and, at its flat end, by the flat model."""
        own, flat = self.measured.get(name, ()), FLAT_ENDS.get(name, "")
        given = self.experiment.settings
        there = self.measured.get(flat, ()) if given.get(name, {}) == given.get(flat, {}) else ()
        ends = [[at_flat_end(one, name) for one in part] for part in there]
        return [[*first, *second] for first, second in zip_longest(own, ends, fillvalue=())]

    def _end(self, name: str, outcome: ChildOutcome[tuple[Run, CSR, FloatArray | None, Known]]) -> None:
        self.going.discard(name)
        if outcome.value is not None:
            run, H, P, self.measured[name] = outcome.value
            run.budget = self.clock.limit
            if self._stays(name, run):
                return
            if run.status == "done" and outcome.seconds < _BY_ITSELF * self.limits[name]:
                self.learned.add(name, self.forecasts[name], outcome.seconds)
            self.folder.write(run, H, P)
            self.runs[name] = run
            took = format_seconds(max(0.1, round(outcome.seconds, 1)))
            memory = format_bytes(1e6 * run.peak_memory_mb) if run.peak_memory_mb else "unknown memory"
            self.say(f"{name}: {self._value(run)} in {took}, {memory}")
            return
        if outcome.failure == "time":
            took = format_seconds(round(outcome.seconds))
            self._keep(Run(model=name, status="no time", reason=f"it was ended after {took}", budget=self.clock.limit))
        elif outcome.failure == "refused":
            self._keep(Run(model=name, status="does not apply", reason=outcome.words))
        elif outcome.failure == "memory":  # more than `why_not` has forecast
            most = format_bytes(memory_of_each(self.jobs))
            reason = f"it needs more memory than the {most} that it may take"
            self._keep(Run(model=name, status="does not apply", reason=reason))
        else:
            self._keep(Run(model=name, status="failed", reason=outcome.words))

    def _stays(self, name: str, new: Run | None = None) -> bool:
        """Whether an earlier run is kept, since the new one has no figures, or worse ones on held-out documents."""
        earlier = self.runs.get(name)
        if earlier is None or earlier.status not in MEASURED:
            return False
        if new is not None and as_good(new, earlier, self.experiment.measure):
            return False
        earlier.budget = self.clock.limit
        self.folder.renew(earlier)
        self.say(f"{name}: the earlier run is kept")
        return True

    def _keep(self, run: Run) -> None:
        if self._stays(run.model):
            return
        self.folder.write(run)
        self.runs[run.model] = run
        status = "does not apply because" if run.status == "does not apply" else f"{run.status}:"
        self.say(f"{run.model}: {status} {run.reason}")

    def _value(self, run: Run) -> str:
        value = run.measures.get(self.experiment.measure)
        return f"{MAIN[self.experiment.measure]} {'unknown' if value is None else format(value, '.4f')}"


def _can_stop(name: str) -> bool:
    """Whether a fit of the model ends within a time limit."""
    return "max_time" in parameters_of(name)


# -- the result --------------------------------------------------------------------------------------------------------


def _result(experiment: Experiment, folder: RunFolder, runs: list[Run], command: str) -> Result:
    comparisons = compare_runs(experiment, folder, runs)
    order = ranked_by(runs, experiment.measure)
    measured = dict.fromkeys(key for run in order for key in run.measures)  # some have more than others
    return Result(
        title=f"Shoot-out: {experiment.name}",
        made=datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        command=command,
        versions=_versions(),
        machine=_machine(),
        problem=_problem(experiment),
        taxonomy=node_table(experiment),
        measures=measures_of(measured or [experiment.measure], experiment.measure),
        runs=runs,
        comparisons=comparisons,
        best=order[0].model if order else None,
        flat=next((row.against for row in comparisons if row.kind == "flat"), None),
        sentence=" ".join(
            filter(None, [sentence(runs, comparisons, experiment.measure), choice(runs, experiment.measure)])
        ),
    )


def recommended(result: Result) -> Run | None:
    """The run to continue with: the best on held-out training documents, as `linnaeus train` would choose.

    Parameters
    ----------
    result : Result
        A finished shoot-out.

    Returns
    -------
    Run or None
        None if nothing was measured. Where no document could be held out, the flat model, if it is among the runs.

    Examples
    --------
    >>> runs = [Run(model="RRSVM", status="done", held_out=0.5), Run(model="NodeSVM", status="done", held_out=0.4)]
    >>> recommended(Result(best="NodeSVM", runs=runs)).model
    'RRSVM'
    """
    flat = (run for run in result.runs if run.model == FLAT and run.status in MEASURED)
    main = next(measure.key for measure in result.measures if measure.main)
    return chosen_by_train(result.runs, main) or next(flat, None)


def _problem(experiment: Experiment) -> ProblemSummary:
    tax, part = experiment.taxonomy, experiment.parts[0]
    return ProblemSummary(
        name=experiment.name,
        n_train=experiment.n_train,
        n_test=experiment.n_test,
        n_nodes=tax.n_nodes,
        n_leaves=len(tax.leaves),
        depth=int(tax.depth.max(initial=0)),
        kind=tax.kind,
        n_features=experiment.n_features,
        labels_per_document=float(np.diff(part.Y.indptr).mean()),
        split=experiment.split,
        features=experiment.features,
    )


def node_table(experiment: Experiment) -> NodeTable:
    """The nodes that a report shows."""
    tax, shown = experiment.taxonomy, experiment.shown
    place = np.full(tax.n_nodes, -1)
    place[shown] = np.arange(len(shown))
    displayed = [tax.display(int(v)) for v in shown]
    names = tax.names[shown].astype(str).tolist()
    return NodeTable(
        names=names,
        labels=[None if label == name else label for label, name in zip(displayed, names, strict=True)],
        parent=[int(place[above[0]]) if len(above := tax.parents(int(v))) else -1 for v in shown],
        level=tax.depth[shown].tolist(),
    )


def _versions() -> dict[str, str]:
    packages = ("linnaeus", "numpy", "scipy", "scikit-learn")
    versions = {"python": platform.python_version()}
    for name in packages:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions


def _machine() -> str:
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="ignore") as file:
            model = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{model}, {os.cpu_count()} cores"
