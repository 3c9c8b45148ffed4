"""A joint training that is killed goes on from its checkpoint, to the same model bit for bit; limits are kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from linnaeus import RRSVM, RRLogistic, Taxonomy
from linnaeus.engine import Forecast
from linnaeus.errors import CheckpointError, ParameterError
from linnaeus.models import checkpoint as checkpoint_module
from linnaeus.models.recursive import coupled, paths, rr
from linnaeus.models.recursive.coupled import CoupledSolver
from linnaeus.models.recursive.paths import PathSolver
from linnaeus.models.recursive.solver import JointSolver

EDGES = [("R", f"T{i}") for i in range(6)] + [(f"T{i}", f"T{i}.{j}") for i in range(6) for j in range(6)]


def problem(n_docs: int = 400) -> tuple[Taxonomy, sparse.csr_array, list[str]]:
    rng = np.random.default_rng(0)
    labels = [f"T{rng.integers(6)}.{rng.integers(6)}" for _ in range(n_docs)]
    X = sparse.random_array((n_docs, 300), density=0.05, rng=rng, dtype=np.float32).tocsr()
    return Taxonomy.from_edges(EDGES), X, labels


def prefer(solver: type[JointSolver]) -> None:
    """Let a small problem with the squared hinge be solved by ``solver``."""
    coupled._FEWEST_DOCUMENTS = 0 if solver is CoupledSolver else 10**9
    paths._FEWEST_LEAVES = 0 if solver is PathSolver else 10**9


@pytest.fixture
def solvers_as_they_were(monkeypatch) -> None:
    """Undo `prefer` after the test."""
    monkeypatch.setattr(coupled, "_FEWEST_DOCUMENTS", coupled._FEWEST_DOCUMENTS)
    monkeypatch.setattr(paths, "_FEWEST_LEAVES", paths._FEWEST_LEAVES)


class Killed(Exception):
    pass


@pytest.mark.parametrize(
    ("kind", "settings", "dense", "solver"),
    [
        (RRSVM, {"loss": "hinge"}, False, JointSolver),
        (RRSVM, {}, False, JointSolver),
        (RRSVM, {}, False, CoupledSolver),
        (RRSVM, {}, False, PathSolver),
        (RRLogistic, {}, False, CoupledSolver),
        (RRSVM, {"loss": "hinge"}, True, JointSolver),
        (RRSVM, {"schedule": "colours"}, False, JointSolver),
    ],
)
@pytest.mark.usefixtures("solvers_as_they_were")
def test_a_fit_that_broke_off_goes_on_to_the_same_model(kind, settings, dense, solver, tmp_path, monkeypatch) -> None:
    tax, X, labels = problem()
    X = X.toarray().astype(float) if dense else X
    prefer(solver)
    monkeypatch.setattr(checkpoint_module, "EVERY", 0.0)  # a commit at every occasion
    settings = {"tol": 1e-9, "max_iter": 30, "random_state": 0, **settings}
    expected = _quietly(kind(tax, **settings), X, labels)
    assert isinstance(expected._joint.solver, solver)
    commits = []

    def stop_at_the_second(self) -> None:
        commits.append(1)
        if len(commits) == 2:
            raise Killed
        commit(self)

    commit = checkpoint_module.Checkpoint.commit
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_module.Checkpoint, "commit", stop_at_the_second)
        with pytest.raises(Killed):
            _quietly(kind(tax, checkpoint=tmp_path / "kept", **settings), X, labels)
    again = _quietly(kind(tax, checkpoint=tmp_path / "kept", **settings), X, labels)
    np.testing.assert_array_equal(again.weights_, expected.weights_)
    assert again.n_iter_ == expected.n_iter_
    assert again.objective_ == expected.objective_


class Countdown:
    """A clock that is over after a number of looks at it."""

    looks = 0

    def __init__(self, limit: object) -> None:
        self.limit = np.inf

    @property
    def remaining(self) -> float:
        Countdown.looks -= 1
        return 1e9 if Countdown.looks > 0 else 0.0

    @property
    def over(self) -> bool:
        return self.remaining <= 0


@pytest.mark.parametrize("schedule", ["exact", "colours"])
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_fits_that_a_time_limit_stops_add_up_to_the_same_model(loss, dense, schedule, tmp_path, monkeypatch) -> None:
    tax, X, labels = problem(60)
    X = X.toarray().astype(float) if dense else X
    kind, settings = RRLogistic, {"schedule": schedule, "tol": 1e-4, "max_iter": 2000, "random_state": 0}
    if loss != "logistic":
        kind, settings = RRSVM, {"loss": loss, **settings}
    expected = kind(tax, **settings).fit(X, labels)
    limited = kind(tax, checkpoint=tmp_path / "kept", **settings)
    monkeypatch.setattr(rr, "Clock", Countdown)
    for looks in (2, 3, 4, 8, 17, 50):
        Countdown.looks = looks
        _quietly(limited, X, labels)
    monkeypatch.undo()
    for _ in range(2):  # once to the end, once from the finished checkpoint
        limited.fit(X, labels)
        np.testing.assert_array_equal(limited.weights_, expected.weights_)
        np.testing.assert_array_equal(limited.intercept_, expected.intercept_)
        assert (limited.n_iter_, limited.objective_) == (expected.n_iter_, expected.objective_)
        assert limited.duality_gap_ == expected.duality_gap_


def _quietly(model, X, labels):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, labels)


SCRIPT = """
import sys, time
from linnaeus.models import checkpoint
from linnaeus.models.recursive import coupled, paths, solver
from tests.models.recursive.test_resume import killed_fit, prefer
checkpoint.EVERY = 0.0
kind = next(getattr(m, sys.argv[2]) for m in (coupled, paths, solver) if sys.argv[2] in m.__all__)
sweep = kind._sweep
kind._sweep = lambda self: (sweep(self), time.sleep(0.1))
prefer(kind)
print("begins", flush=True)
killed_fit(sys.argv[3], checkpoint=sys.argv[1])
"""


def killed_fit(loss: str, **settings):
    """The fit that `SCRIPT` runs."""
    tax, X, labels = problem()
    return _quietly(RRSVM(tax, loss=loss, tol=1e-6, max_iter=200, random_state=0, **settings), X, labels)


@pytest.mark.parametrize(
    ("solver", "loss"),
    [(JointSolver, "hinge"), (CoupledSolver, "squared_hinge"), (PathSolver, "squared_hinge")],
)
@pytest.mark.usefixtures("solvers_as_they_were")
def test_a_killed_process_loses_nothing_that_was_committed(solver, loss, tmp_path) -> None:
    folder = tmp_path / "kept"
    run = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(SCRIPT), str(folder), solver.__name__, loss],
        stdout=subprocess.PIPE,
    )
    assert run.stdout.readline() == b"begins\n"
    for _ in range(500):
        if (folder / checkpoint_module.INDEX).exists():
            break
        time.sleep(0.02)
    time.sleep(0.3)
    os.kill(run.pid, signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    prefer(solver)
    again, expected = killed_fit(loss, checkpoint=folder), killed_fit(loss)
    assert type(expected._joint.solver) is solver
    np.testing.assert_array_equal(again.weights_, expected.weights_)
    assert (again.n_iter_, again.objective_) == (expected.n_iter_, expected.objective_)


def test_a_checkpoint_of_another_fit_is_refused(tmp_path) -> None:
    tax, X, labels = problem()
    RRSVM(tax, random_state=0, checkpoint=tmp_path / "kept").fit(X, labels)
    with pytest.raises(CheckpointError, match="C was 1.0 and is 2.0"):
        RRSVM(tax, C=2.0, random_state=0, checkpoint=tmp_path / "kept").fit(X, labels)


def test_a_time_limit_stops_with_a_certified_model() -> None:
    tax, X, labels = problem()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = RRSVM(tax, loss="hinge", tol=1e-9, max_time=1e-6, random_state=0).fit(X, labels)
    best = RRSVM(tax, loss="hinge", tol=1e-4, random_state=0).fit(X, labels)
    assert model.time_limit_reached_
    assert np.isfinite(model.duality_gap_)
    assert model.objective_ - model.duality_gap_ <= best.objective_ <= model.objective_ * (1 + 1e-9)


@pytest.mark.slow
def test_weights_go_to_disk_where_memory_is_small() -> None:
    tax, X, labels = problem()
    wide = sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], 400_000))
    free = RRSVM(tax, random_state=0, tol=1e-2).fit(wide, labels)
    plan = free.memory_forecast
    now = Forecast({}, {}, n_workers=1, weights=0).now  # what earlier fits freed is given back first
    limit = now + plan.peak - plan.now - (plan.weights - plan.merging) // 2
    tight = RRSVM(tax, random_state=0, tol=1e-2, max_memory=limit).fit(wide, labels)
    assert tight.memory_forecast.on_disk
    assert not plan.on_disk
    order = [list(tight.classes_).index(label) for label in free.classes_]
    np.testing.assert_array_equal(np.asarray(tight.weights_)[:, order], free.weights_)
    with pytest.raises(ParameterError, match="at least"):
        RRSVM(tax, random_state=0, max_memory="1MB").fit(wide, labels)
