"""A shoot-out: every model gets a row, failures included, and what is finished is never run again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from linnaeus.auto.candidates import Outcome, at_flat_end, first_candidate
from linnaeus.engine import Clock
from linnaeus.errors import ParameterError
from linnaeus.experiments.candidates import RunForecast
from linnaeus.experiments.children import ChildOutcome
from linnaeus.experiments.records import Result, Run
from linnaeus.experiments.run_folder import RunFolder
from linnaeus.experiments.shootout import _Shootout, shootout
from tests.experiments.toy import toy
from tests.experiments.work import Broken, Hungry, hurried

MODELS = ["OneVsRestSVM", "NodeSVM", "MulticlassSVM"]
ROOT = Path(__file__).resolve().parents[2]


def status(found: Result) -> dict[str, str]:
    return {run.model: run.status for run in found.runs}


def test_every_model_has_a_row_and_the_result_is_what_reports_take(tmp_path) -> None:
    said: list[str] = []
    found = shootout(toy(), tmp_path, models=MODELS, budget=120, jobs=2, say=said.append)
    assert status(found) == {"OneVsRestSVM": "done", "NodeSVM": "done", "MulticlassSVM": "does not apply"}
    assert Result.from_json(found.to_json()) == found
    assert found.best in MODELS
    assert found.flat == "OneVsRestSVM"
    assert found.best in found.sentence
    assert any("about" in line and "left" in line for line in said), "a forecast before each run"
    assert any(line.startswith("MulticlassSVM: does not apply because it learns exactly one label") for line in said)


def test_a_model_that_fails_is_a_row_and_stops_nobody(tmp_path) -> None:
    settings = {"OneVsRestPA": {"engine": Broken()}, "NodeSVM": {"tol": -1.0}}
    found = shootout(toy(settings=settings), tmp_path, models=["OneVsRestPA", "NodeSVM", "OneVsRestSVM"], budget=120)
    rows = {run.model: run for run in found.runs}
    assert status(found) == {"OneVsRestPA": "failed", "NodeSVM": "does not apply", "OneVsRestSVM": "done"}
    assert rows["OneVsRestPA"].reason == "RuntimeError: the engine is broken"
    assert "tol=-1.0" in rows["NodeSVM"].reason
    assert found.sentence.startswith("Only OneVsRestSVM was measured")
    assert Result.from_json(found.to_json()) == found


def test_a_model_that_needs_too_much_memory_does_not_apply(tmp_path) -> None:
    found = shootout(toy(settings={"NodeSVM": {"engine": Hungry()}}), tmp_path, models=["NodeSVM"], budget=120)
    assert status(found) == {"NodeSVM": "does not apply"}
    assert re.fullmatch(r"it needs more memory than the [\d.]+ \w+ that it may take", found.runs[0].reason or "")


def test_without_time_models_say_so(tmp_path) -> None:
    found = shootout(toy(), tmp_path, models=MODELS, budget=0.2)
    assert status(found)["NodeSVM"] == "no time"
    assert found.sentence == "No model could be measured; increase the budget."
    assert Result.from_json(found.to_json()) == found


def test_models_run_though_no_time_was_left_for_forecasts(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("linnaeus.experiments.shootout._LATEST_PILOT", 0.0)
    found = shootout(toy(), tmp_path, models=["OneVsRestSVM"], budget=60)
    assert status(found) == {"OneVsRestSVM": "done"}


def test_models_that_were_put_off_get_the_time_that_is_left(tmp_path, monkeypatch) -> None:
    """A pilot too pessimistic by a factor of thousands costs a model its place in the order, not its run."""

    def slow(experiment, name, fits, busy) -> RunForecast:
        return RunForecast(9e5, 9e5) if name == "HierarchicalRLS" else RunForecast(0.5, 0.5)

    monkeypatch.setattr("linnaeus.experiments.shootout.forecast", slow)
    said: list[str] = []
    names = ["HierarchicalRLS", "NodeSVM", "OneVsRestSVM"]
    state = _Shootout(toy(), RunFolder(tmp_path, toy()), Clock(60), 1, said.append)
    monkeypatch.setattr("linnaeus.experiments.shootout._DOUBTFUL", 1e6)
    state.run(names)
    assert state.put_off == ["HierarchicalRLS"]
    assert {name: run.status for name, run in state.runs.items()} == dict.fromkeys(names, "done")


def test_forecasts_learn_from_finished_models_of_the_family(tmp_path) -> None:
    """NodeSVM took a hundredth of its forecast, so that another local model fits, which cannot be stopped."""
    state = _Shootout(toy(), RunFolder(tmp_path, toy()), Clock(100), 1, lambda message: None)
    state.forecasts = {name: RunForecast(1000.0, 500.0) for name in ("NodeSVM", "HierarchicalRLS", "Hieron")}
    assert state._begin("HierarchicalRLS", 2) is None
    assert state.put_off == ["HierarchicalRLS"]
    assert not state.runs, "it is not refused before the others have ended"
    state.late, state.begun = True, set()
    assert state._begin("HierarchicalRLS", 1) is None
    assert state.runs["HierarchicalRLS"].status == "no time"
    state.late, state.begun = False, {"NodeSVM"}
    state.learned.add("NodeSVM", state.forecasts["NodeSVM"], 10.0)
    assert state._forecast("HierarchicalRLS").least == pytest.approx(500 / 20)
    assert state._forecast("Hieron").least == 500, "another family"
    assert state._begin("HierarchicalRLS", 2) is not None


def test_postponed_models_that_can_be_stopped_get_their_part_of_the_rest_whatever_is_forecast(tmp_path) -> None:
    """HBLR would need more than is left, and is stopped; HierarchicalRLS could not be."""
    state = _Shootout(toy(), RunFolder(tmp_path, toy()), Clock(100), 1, lambda message: None)
    state.forecasts = {name: RunForecast(9e3, 9e3) for name in ("HBLR", "HierarchicalRLS")}
    assert state._begin("HBLR", 2) is None
    assert state.put_off == ["HBLR"]
    state.late, state.begun = True, set()
    assert state._begin("HBLR", 2) is not None
    assert 40 < state.limits["HBLR"] <= 50
    assert state._begin("HierarchicalRLS", 1) is None


def test_runs_that_take_all_their_time_leave_as_much_to_the_others(tmp_path) -> None:
    """Six models that would like to have 100 s each and need 5 s, in 100 s: the last one gets as much as the first."""
    state = _Shootout(toy(), RunFolder(tmp_path, toy()), Clock(100), 1, lambda message: None)
    names = ["OneVsRestSVM", "NodeSVM", "TopDownSVM", "EdgePA", "Hieron", "OneVsRestPA"]
    state.forecasts = dict.fromkeys(names, RunForecast(100.0, 5.0))
    state.firsts = {"OneVsRestSVM", "NodeSVM", "OneVsRestPA"}
    limits = []
    for name in names:
        begun = state._begin(name, 1)
        assert begun is not None
        limits.append(begun[0][2])
        state.clock.limit -= limits[-1]  # it takes all of it
    assert min(limits) > 0.8 * max(limits)


def test_what_is_left_goes_to_searches_that_were_cut_short(tmp_path) -> None:
    """The best on held-out documents that can have twice their time; a joint model and its flat end both or none."""
    state = _Shootout(toy(), RunFolder(tmp_path, toy()), Clock(100), 1, lambda message: None)
    values = {"NodeSVM": 0.9, "HierarchicalRLS": 0.8, "RRSVM": 0.7, "OneVsRestSVM": 0.7, "EdgePA": 0.6, "Hieron": 0.5}
    for name, value in values.items():
        state.runs[name] = Run(model=name, status="done", held_out=value, cut_short=name != "Hieron")
        state.limits[name] = 60.0 if name == "HierarchicalRLS" else 10.0
    assert state._worth_more_time() == ["NodeSVM", "OneVsRestSVM", "RRSVM", "EdgePA"]
    state.limits["RRSVM"] = 60.0
    assert state._worth_more_time() == ["NodeSVM", "EdgePA"]
    state.limits["RRSVM"] = 10.0
    del state.limits["OneVsRestSVM"]  # kept from before
    assert state._worth_more_time() == ["NodeSVM", "EdgePA"]
    state.runs["OneVsRestSVM"].cut_short = False
    assert state._worth_more_time() == ["NodeSVM", "RRSVM", "EdgePA"]


def test_a_search_that_was_cut_short_is_repeated_with_the_time_that_is_left(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("linnaeus.experiments.shootout.shares", lambda rivals, seconds: dict.fromkeys(rivals, 5.0))
    monkeypatch.setattr("linnaeus.experiments.shootout.try_model", hurried)
    monkeypatch.setattr("linnaeus.experiments.shootout.forecast", lambda *arguments: RunForecast(1.0, 1.0))
    said: list[str] = []
    found = shootout(toy(), tmp_path, models=["RRSVM", "OneVsRestSVM"], budget=60, say=said.append)
    assert sum("again, since its search was cut short" in line for line in said) == 2
    assert [(run.held_out, run.cut_short) for run in found.runs] == [(0.75, False)] * 2
    said.clear()
    shootout(toy(), tmp_path, models=["RRSVM", "OneVsRestSVM"], budget=60, say=said.append)
    assert sum("kept from before" in line for line in said) == 2


def test_a_repeated_run_that_is_worse_is_not_taken(tmp_path) -> None:
    experiment = toy()
    folder = RunFolder(tmp_path, experiment)
    first = Run(model="NodeSVM", status="done", held_out=0.9, cut_short=True, budget=10.0)
    folder.write(first, experiment.parts[0].Y_test)
    assert folder.read("NodeSVM", 10.0) is not None
    assert folder.read("NodeSVM", 100.0) is None, "a larger budget repeats it"
    state = _Shootout(experiment, folder, Clock(100), 1, lambda message: None)
    assert not state._finished("NodeSVM")
    first = state.runs["NodeSVM"]
    for outcome in (
        ChildOutcome((Run(model="NodeSVM", status="done", held_out=0.8), None, None, ())),
        ChildOutcome(failure="time"),
    ):
        state._end("NodeSVM", outcome)
    state._keep(Run(model="NodeSVM", status="no time"))
    assert state.runs["NodeSVM"] is first
    kept = folder.read("NodeSVM", 100.0)
    assert kept is not None, "it is not repeated once more"
    assert kept.held_out == 0.9


def test_repeated_runs_share_what_is_left_with_those_that_are_going(tmp_path) -> None:
    state = _Shootout(toy(), RunFolder(tmp_path, toy()), Clock(100), 2, lambda message: None)
    state.limits = dict.fromkeys(["A", "B", "C"], 10.0)
    parts = [state._begin_again(name, left) for name, left in (("A", 3), ("B", 2), ("C", 1))]
    assert [round(one[0][2]) for one in parts] == [63, 63, 63]


def test_a_joint_model_has_the_time_and_the_forecast_of_its_flat_end(tmp_path, monkeypatch) -> None:
    """The pilot of RRSVM was disturbed; OneVsRestSVM had 50 s."""

    def disturbed(experiment, name, fits, busy) -> RunForecast:
        return RunForecast(900.0, 500.0) if name == "RRSVM" else RunForecast(9.0, 5.0)

    monkeypatch.setattr("linnaeus.experiments.shootout.forecast", disturbed)
    state = _Shootout(toy(), RunFolder(tmp_path, toy()), Clock(100), 1, lambda message: None)
    state._pilots(["RRSVM", "OneVsRestSVM"])
    assert state.forecasts["RRSVM"] == state.forecasts["OneVsRestSVM"] == RunForecast(9.0, 5.0)
    state.forecasts |= dict.fromkeys(["EdgePA", "Hieron", "NodeSVM"], RunForecast(90.0, 5.0))
    state.limits["OneVsRestSVM"] = 50.0
    assert state._begin("RRSVM", 4) is not None
    assert state.limits["RRSVM"] == 50.0


def test_a_joint_model_is_told_what_its_flat_end_has_measured(tmp_path, monkeypatch) -> None:
    state = _Shootout(toy(), RunFolder(tmp_path, toy()), Clock(100), 1, lambda message: None)
    one = Outcome(first_candidate("OneVsRestSVM"), 90, 0.5, 0.4, "expected", 1.0)
    own = Outcome(first_candidate("RRSVM"), 90, 0.6, 0.4, "expected", 1.0)
    state.measured = {"OneVsRestSVM": [[one]]}
    assert state._known("RRSVM") == [[at_flat_end(one, "RRSVM")]]
    assert state._known("OneVsRestSVM") == [[one]], "a run that is repeated knows what it has measured"
    assert state._known("RRLogistic") == []
    state.measured["RRSVM"] = [[own]]
    assert state._known("RRSVM") == [[own, at_flat_end(one, "RRSVM")]]
    state.experiment = toy(settings={"RRSVM": {"C": 1.0}})
    assert state._known("RRSVM") == [[own]], "with other parameters the fits are others"


def test_unknown_models_are_refused_before_anything_runs(tmp_path) -> None:
    with pytest.raises(ParameterError, match="did you mean 'RRSVM'"):
        shootout(toy(), tmp_path, models=["RRSVN"])
    assert not list(tmp_path.iterdir())


SCRIPT = """
import sys
from linnaeus.experiments.shootout import shootout
from tests.experiments.toy import toy

if __name__ == "__main__":
    shootout(toy(), sys.argv[1], models=["OneVsRestSVM", "NodeSVM", "Hieron"], budget=600)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="sends SIGKILL")
def test_a_killed_shootout_goes_on_without_repeating_what_is_finished(tmp_path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    where = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen([sys.executable, script, tmp_path], env={**os.environ, "PYTHONPATH": where})
    runs, deadline = tmp_path / "runs", time.monotonic() + 120
    while not list(runs.glob("*.json")) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = {path: path.read_bytes() for path in runs.glob("*.json")}
    assert finished
    said: list[str] = []
    found = shootout(toy(), tmp_path, models=["OneVsRestSVM", "NodeSVM", "Hieron"], budget=120, say=said.append)
    assert status(found) == dict.fromkeys(["OneVsRestSVM", "NodeSVM", "Hieron"], "done")
    assert {path: path.read_bytes() for path in finished} == finished
    assert sum("kept from before" in line for line in said) == len(finished)
