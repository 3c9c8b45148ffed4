"""Long fits: a killed one goes on to the same model, limits are kept, and what is forecast is what is measured."""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from sklearn.base import clone

import linnaeus
from linnaeus import OneVsRestLogistic, OneVsRestSVM, Taxonomy
from linnaeus.engine import SerialEngine, ThreadEngine
from linnaeus.errors import CheckpointError, ParameterError
from linnaeus.models import checkpoint as checkpoints
from tests.contracts.configurations import documents

WIDE = Taxonomy.from_edges([("R", f"n{i:03d}") for i in range(100)])  # seven blocks of sixteen labels


def problem(n_docs: int = 150):
    return documents(WIDE, n_docs)


def equal(first, second) -> None:
    for name in ("weights_", "intercept_", "nodes_"):
        one, two = getattr(first, name), getattr(second, name)
        np.testing.assert_array_equal(*(v.toarray() if hasattr(v, "toarray") else v for v in (one, two)))
    assert (first.objective_, first.duality_gap_, first.n_iter_) == (
        second.objective_,
        second.duality_gap_,
        second.n_iter_,
    )


class Interrupted:
    """An engine that is interrupted after some blocks."""

    n_workers = 1

    def __init__(self, after: int, error: type[BaseException] = KeyboardInterrupt) -> None:
        self.after, self.error, self.solved = after, error, 0

    def map(self, function, tasks, shared):
        for task in tasks:
            if self.solved == self.after:
                raise self.error
            self.solved += 1
            yield function(shared, task)


# -- checkpoints -------------------------------------------------------------------------------------------------------

KILLED = """
    import os, signal, sys
    from linnaeus import OneVsRestSVM
    from linnaeus.models import checkpoint
    from tests.models.test_long_fit import WIDE, problem

    class Killed:
        n_workers = 1
        def map(self, function, tasks, shared):
            for i, task in enumerate(tasks):
                if i == 2:
                    os.kill(os.getpid(), signal.SIGKILL)
                yield function(shared, task)

    checkpoint.EVERY = 0.0
    X, labels = problem()
    OneVsRestSVM(WIDE, random_state=3, engine=Killed(), checkpoint=sys.argv[1]).fit(X, labels)
"""


def finished_blocks(folder) -> int:
    try:
        return len(json.loads((folder / checkpoints.INDEX).read_text())["keys"])
    except OSError:
        return 0


def test_a_killed_fit_goes_on_to_the_same_model_bit_for_bit(tmp_path) -> None:
    folder = tmp_path / "checkpoint"
    finished = []
    for _ in range(2):  # killed twice, each time when its third block is asked for
        process = subprocess.run([sys.executable, "-c", textwrap.dedent(KILLED), str(folder)])
        assert process.returncode == -signal.SIGKILL
        finished.append(finished_blocks(folder))
    assert 0 < finished[0] < finished[1] < 7
    X, labels = problem()
    counting = Interrupted(after=1000)
    resumed = OneVsRestSVM(WIDE, random_state=3, checkpoint=folder, engine=counting).fit(X, labels)
    assert counting.solved == 7 - finished[1]
    equal(resumed, OneVsRestSVM(WIDE, random_state=3).fit(X, labels))


@pytest.mark.parametrize("kind", [OneVsRestSVM, OneVsRestLogistic])
@pytest.mark.parametrize("settings", [{"random_state": 0}, {"random_state": 0, "prune_below": 0.1}])
@pytest.mark.parametrize("dense", [False, True])
def test_an_interrupted_fit_keeps_what_is_finished(tmp_path, kind, settings, dense) -> None:
    X, labels = problem()
    X = X.toarray() if dense else X
    model = kind(WIDE, checkpoint=tmp_path / "c", **settings)
    with pytest.raises(KeyboardInterrupt, match="is kept in .*, and the same fit with this checkpoint continues"):
        clone(model).set_params(engine=Interrupted(2)).fit(X, labels)
    counting = Interrupted(1000)
    resumed = clone(model).set_params(engine=counting).fit(X, labels)
    expected = kind(WIDE, **settings).fit(X, labels)
    equal(resumed, expected)
    again = Interrupted(0)  # finished: nothing is solved any more
    equal(clone(model).set_params(engine=again).fit(X, labels), expected)


def test_an_error_keeps_what_is_finished_too(tmp_path) -> None:
    X, labels = problem()
    with pytest.raises(MemoryError):
        OneVsRestSVM(WIDE, checkpoint=tmp_path, engine=Interrupted(3, MemoryError)).fit(X, labels)
    assert finished_blocks(tmp_path) == 3


def test_without_a_seed_the_first_one_is_kept(tmp_path) -> None:
    X, labels = problem()
    for seed in (None, np.random.RandomState(5)):
        folder = tmp_path / type(seed).__name__
        with pytest.raises(KeyboardInterrupt):
            OneVsRestSVM(WIDE, checkpoint=folder, random_state=seed, engine=Interrupted(3)).fit(X, labels)
        resumed = OneVsRestSVM(WIDE, checkpoint=folder, random_state=seed).fit(X, labels)
        again = OneVsRestSVM(WIDE, checkpoint=folder, random_state=seed).fit(X, labels)
        equal(resumed, again)
        seed_kept = json.loads((folder / checkpoints.INDEX).read_text())["state"]["seed"]
        assert isinstance(seed_kept, int)


def test_another_fit_in_the_folder_is_refused(tmp_path) -> None:
    X, labels = problem()
    model = OneVsRestSVM(WIDE, random_state=0, checkpoint=tmp_path).fit(X, labels)
    with pytest.raises(CheckpointError, match="another fit: C was 1.0 and is 2.0;"):
        clone(model).set_params(C=2.0).fit(X, labels)
    with pytest.raises(CheckpointError, match="another fit: the documents differ, the labels differ;"):
        clone(model).fit(X[:-1], labels[:-1])
    with pytest.raises(CheckpointError, match="random_state was 0 and is 1;"):
        clone(model).set_params(random_state=1).fit(X, labels)
    equal(clone(model).set_params(n_jobs=2, verbose=0).fit(X, labels), model)


# -- time --------------------------------------------------------------------------------------------------------------


class Slow:
    """An engine with a clock of its own, on which a pass over the documents takes a fixed time."""

    n_workers = 1

    def __init__(self, monkeypatch, seconds: float) -> None:
        self.now, self.seconds = 1000.0, seconds
        self.budgets: list[int] = []
        for module in ("linnaeus.engine", "linnaeus.models.flat.one_vs_rest"):
            monkeypatch.setattr(f"{module}.time", self)

    def time(self) -> float:
        return self.now

    perf_counter = time

    def map(self, function, tasks, shared):
        for task in tasks:
            self.budgets.append(task.max_iter)
            found, budget, _ = function(shared, task)
            spent = 0.0 if found is None else self.seconds * (found.n_iter + 2)
            self.now += spent
            yield found, budget, spent


HARD = {"tol": 1e-5, "loss": "hinge", "max_iter": 2000, "random_state": 0, "fit_intercept": False}


def true_objective(model, X, labels) -> float:
    signs = 2.0 * WIDE.indicator(labels)[:, model.nodes_].toarray() - 1
    W = np.asarray(model.weights_, dtype=float)
    return float(0.5 * (W**2).sum() + np.maximum(0, 1 - signs * (X @ W)).sum())


def test_time_is_shared_out_over_all_labels_and_the_certificate_stays_true(monkeypatch) -> None:
    X, labels = problem()
    exact = OneVsRestSVM(WIDE, **HARD).fit(X, labels)
    slow = Slow(monkeypatch, 5.0)
    with pytest.warns(UserWarning, match="max_time=10m is over, .* labels are not at their optimum"):
        model = OneVsRestSVM(WIDE, **HARD, max_time="10m", engine=slow).fit(X, labels)
    assert 590 < slow.now - 1000 < 640  # the time is used, and exceeded by little
    assert model.time_limit_reached_
    assert list(model.classes_) == list(exact.classes_)  # every label has a model
    assert max(slow.budgets) < 2000
    assert model.objective_ - model.duality_gap_ <= exact.objective_ <= model.objective_
    assert model.objective_ == pytest.approx(true_objective(model, X, labels), rel=1e-5)
    assert model.duality_gap_ < 0.9 * model.objective_


def test_labels_that_were_not_reached_are_counted_and_never_answered() -> None:
    X, labels = problem()
    exact = OneVsRestSVM(WIDE, **HARD).fit(X, labels)
    missing = len(exact.classes_) - 16
    with pytest.warns(UserWarning, match=f"{missing} were not reached and cannot be predicted"):
        model = OneVsRestSVM(WIDE, **HARD, max_time=1e-6).fit(X, labels)
    assert len(model.classes_) == model.weights_.shape[1] == len(model.intercept_) == 16
    assert {label for row in model.predict(X) for label in row} <= set(model.classes_)
    assert model.objective_ == pytest.approx(true_objective(model, X, labels) + missing * X.shape[0], rel=1e-5)
    assert model.objective_ - model.duality_gap_ <= exact.objective_ <= model.objective_


def test_ample_time_changes_nothing() -> None:
    X, labels = problem()
    limited = OneVsRestSVM(WIDE, random_state=0, max_time="1h").fit(X, labels)
    assert not limited.time_limit_reached_
    equal(limited, OneVsRestSVM(WIDE, random_state=0).fit(X, labels))


@pytest.mark.filterwarnings("ignore:max_time")
def test_fits_of_limited_time_add_up_to_the_whole_one(tmp_path, monkeypatch) -> None:
    X, labels = problem()
    settings = {**HARD, "tol": 1e-3, "checkpoint": tmp_path}
    attempts = []
    while not attempts or (attempts[-1].time_limit_reached_ and len(attempts) < 30):
        slow = Slow(monkeypatch, 1.0)
        attempts.append(OneVsRestSVM(WIDE, **settings, max_time=120, engine=slow).fit(X, labels))
    model = attempts[-1]
    assert 2 < len(attempts) < 30
    equal(model, OneVsRestSVM(WIDE, **{**settings, "checkpoint": None}).fit(X, labels))


def test_threads_stop_in_time_too() -> None:
    X, labels = problem()
    with pytest.warns(UserWarning, match="max_time"):
        model = OneVsRestSVM(WIDE, **HARD, max_time=1e-6, n_jobs=3).fit(X, labels)
    assert 16 <= len(model.classes_) < 100


# -- memory ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def steady(monkeypatch) -> None:
    """A process that holds 100 MB at any time."""
    monkeypatch.setattr("linnaeus.engine.own_memory", lambda: 10**8)


@pytest.mark.parametrize("settings", [{}, {"prune_below": 0.05}, {"n_jobs": 2}])
def test_weights_on_disk_are_the_same_and_predict_from_the_mapping(tmp_path, settings, monkeypatch, steady) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(60, 10000))).astype(np.float32)
    labels = [[f"n{i:03d}"] for i in range(60)]
    model = OneVsRestSVM(WIDE, random_state=0, tol=0.1, **settings)
    inside = clone(model).fit(X, labels)
    forecast = inside.memory_forecast
    outside = clone(model).set_params(max_memory=forecast.peak - forecast.weights + forecast.merging).fit(X, labels)
    assert not forecast.on_disk
    assert outside.memory_forecast.on_disk
    assert list(tmp_path.iterdir()) == []  # nothing is left behind
    values = outside.weights_.data if settings.get("prune_below") else outside.weights_
    assert not values.flags.writeable
    equal(outside, inside)
    np.testing.assert_array_equal(outside.decision_function(X), inside.decision_function(X))
    assert outside.top(X[:3], 2)[0].tolist() == inside.top(X[:3], 2)[0].tolist()
    linnaeus.save(outside, tmp_path / "model")
    np.testing.assert_array_equal(linnaeus.load(tmp_path / "model").decision_function(X), inside.decision_function(X))


def test_a_limit_that_cannot_be_kept_is_refused_with_the_least(tmp_path) -> None:
    X, labels = problem()
    with pytest.raises(ParameterError, match="The memory limit is 1.00 MB, but the fit takes at least .* MB"):
        OneVsRestSVM(WIDE, max_memory="1MB", checkpoint=tmp_path / "c").fit(X, labels)
    assert not (tmp_path / "c").exists()


def test_a_machine_that_is_too_small_is_noticed(monkeypatch) -> None:
    X, labels = problem()
    monkeypatch.setattr("linnaeus.models.fitting.available_memory", lambda: 1000.0)
    with pytest.warns(UserWarning, match="only 1.00 kB are available; max_memory keeps weights on disk"):
        OneVsRestSVM(WIDE).fit(X, labels)


def test_fewer_threads_run_where_memory_is_short(steady) -> None:
    X, labels = problem(4000)
    free = OneVsRestSVM(WIDE, random_state=0, n_jobs=8).fit(X, labels).memory_forecast
    worker = sum(free.each_worker.values())
    tight = OneVsRestSVM(WIDE, random_state=0, n_jobs=8, max_memory=free.peak - 3 * worker).fit(X, labels)
    assert tight.memory_forecast.n_workers < 8
    equal(tight, OneVsRestSVM(WIDE, random_state=0).fit(X, labels))
    given = OneVsRestSVM(WIDE, engine=ThreadEngine(8), max_memory=free.peak - 5 * worker)
    with pytest.raises(ParameterError, match="takes at least"):
        given.fit(X, labels)


MEASURED = """
    import sys, threading, time
    import numpy as np
    from scipy import sparse
    from linnaeus import OneVsRestSVM, OneVsRestLogistic, Taxonomy
    from linnaeus.engine import own_memory

    kind, n_jobs, limit = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    rng = np.random.default_rng(0)
    if kind == "dense":
        X = rng.normal(size=(20000, 300)).astype(np.float32)
        n_nodes = 64
    else:
        n_docs, n_features, n_nodes = 8000, 60000, 320
        indices = rng.integers(0, n_features, 40 * n_docs).astype(np.int32)
        X = sparse.csr_array(
            (rng.random(40 * n_docs).astype(np.float32), indices, np.arange(n_docs + 1, dtype=np.int32) * 40),
            shape=(n_docs, n_features),
        )
    y = rng.integers(0, n_nodes, X.shape[0])
    peak, over = 0, threading.Event()

    def watch():
        global peak
        while not over.wait(0.002):
            peak = max(peak, own_memory())

    limit = None if limit == "none" else own_memory() + 90_000_000  # less than the weights would need
    model = OneVsRestSVM(tol=0.5, max_iter=3, random_state=0, n_jobs=n_jobs, max_memory=limit)
    watcher = threading.Thread(target=watch)
    watcher.start()
    model.fit(X, y)
    over.set()
    watcher.join()
    forecast = model.memory_forecast
    print(forecast, file=sys.stderr)
    print(forecast.peak, peak, forecast.now, forecast.on_disk)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.parametrize(
    ("kind", "n_jobs", "limit"),
    [
        ("sparse", 1, "some"),
        pytest.param("sparse", 2, "none", marks=pytest.mark.slow),
        pytest.param("sparse", 1, "none", marks=pytest.mark.slow),
        pytest.param("dense", 2, "none", marks=pytest.mark.slow),
    ],
)
def test_the_peak_is_what_was_forecast(kind, n_jobs, limit) -> None:
    code = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(MEASURED), kind, str(n_jobs), limit]
    ran = subprocess.run(code, capture_output=True, text=True, check=True)
    forecast, peak, now = (int(number) for number in ran.stdout.split()[:3])
    assert ran.stdout.split()[3] == str(limit != "none")
    assert peak <= 1.2 * forecast
    assert forecast - now <= 2.5 * (peak - now)  # and not a fantasy


# -- parameters --------------------------------------------------------------------------------------------------------


def test_wrong_limits_are_named() -> None:
    X, labels = problem()
    for settings, message in (
        ({"checkpoint": 3}, "checkpoint=3; expected a folder"),
        ({"max_time": "soon"}, "max_time='soon'"),
        ({"max_memory": "4 apples"}, "max_memory='4 apples'"),
        ({"prune_below": -1}, "prune_below=-1"),
    ):
        with pytest.raises(ParameterError, match=message):
            OneVsRestSVM(WIDE, **settings).fit(X, labels)


def test_the_forecast_is_told_to_those_who_listen(capsys) -> None:
    X, labels = problem()
    OneVsRestSVM(WIDE).fit(X, labels)
    assert capsys.readouterr().err == ""
    model = OneVsRestSVM(WIDE, verbose=1).fit(X, labels)
    assert capsys.readouterr().err == f"{model.memory_forecast}\n"
    assert pickle.loads(pickle.dumps(model)).memory_forecast is None


def test_saved_models_forget_how_they_were_run(tmp_path) -> None:
    X, labels = problem()
    model = OneVsRestSVM(WIDE, checkpoint=tmp_path / "c", max_time=1000, max_memory="100GB").fit(X, labels)
    linnaeus.save(model, tmp_path / "model")
    again = linnaeus.load(tmp_path / "model")
    assert (again.checkpoint, again.max_time, again.max_memory) == (None, None, None)
    assert again.time_limit_reached_ is False


def test_pruning_as_blocks_come_is_pruning_in_the_end() -> None:
    X, labels = problem()
    plain = OneVsRestSVM(WIDE, random_state=0).fit(X, labels).weights_
    early = OneVsRestSVM(WIDE, random_state=0, prune_below=0.1, engine=SerialEngine()).fit(X, labels).weights_
    np.testing.assert_array_equal(early.toarray(), np.where(np.abs(plain) < 0.1, 0, plain))
    assert early.nnz == np.count_nonzero(np.abs(plain) >= 0.1)
