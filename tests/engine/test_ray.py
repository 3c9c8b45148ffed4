"""Ray runs the same blocks elsewhere: same order, same errors, the same model bit for bit, also when workers die."""

from __future__ import annotations

import gc
import inspect
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import linnaeus
from linnaeus import OneVsRestSVM, Taxonomy, registry
from linnaeus._kernels import dispatch
from linnaeus.engine import GPUEngine, RayEngine, SerialEngine, ThreadEngine, get_engine
from linnaeus.engine.ray import join_session
from linnaeus.errors import EngineError, ParameterError
from tests.contracts.configurations import CONFIGURATIONS, REPRESENTATIVES, documents, make
from tests.engine import ray_tasks
from tests.engine.ray_tasks import Documents, Fragile

pytest.importorskip("ray", reason="the extra 'ray' is not installed: pip install linnaeus[ray]")

# Every registered model that takes an engine: a new one needs no line here.
MODELS = [name for name in registry.MODELS if "engine" in inspect.signature(registry.resolve(name)).parameters]
# Solved in this process: there is no worker to lose.
IN_ONE_PIECE = {"HierarchicalSVM", "MulticlassSVM", "OrthogonalTransfer", "SoftmaxRegression"}


@pytest.fixture(scope="module")
def engine() -> Iterator[RayEngine]:
    with RayEngine(n_workers=3, store_memory=200 * 2**20) as started:
        yield started


# -- the protocol ------------------------------------------------------------------------------------------------------


def test_results_come_in_the_order_of_the_tasks(engine) -> None:
    assert list(engine.map(ray_tasks.slow_when_early, range(20), shared=2)) == [i * i for i in range(20)]
    assert list(engine.map(ray_tasks.slow_when_early, [], shared=2)) == []


def test_an_error_of_the_function_is_raised_as_it_was_and_not_tried_again(engine, tmp_path) -> None:
    log = tmp_path / "calls"
    with pytest.raises(KeyError, match="7") as caught:
        list(engine.map(ray_tasks.fail_and_count, [7], shared=str(log)))
    assert type(caught.value) is KeyError
    assert "fail_and_count" in caught.value.__notes__[0]
    assert log.read_text("ascii") == "."


def test_few_tasks_are_in_flight_at_a_time(engine) -> None:
    taken: list[int] = []
    results = engine.map(ray_tasks.slow_when_early, (taken.append(i) or i for i in range(1000)), shared=1)
    assert next(results) == 0
    assert len(taken) <= 2 * engine.n_workers + 1
    results.close()


def test_what_is_shared_is_sent_once_and_let_go_with_its_owner(engine, monkeypatch) -> None:
    import ray

    sent: list[object] = []
    put = ray.put
    monkeypatch.setattr(ray, "put", lambda value: sent.append(type(value)) or put(value))
    shared = Documents(np.arange(60_000.0).reshape(3, -1))
    for _ in range(3):
        list(engine.map(ray_tasks.add_up, range(3), shared=shared))
    assert sent == [Documents]
    assert id(shared) in engine._sent._references
    key = id(shared)
    del shared
    gc.collect()
    assert key not in engine._sent._references
    pair = (1, 2)  # cannot be referenced weakly: held until the next of its kind
    assert (
        list(engine.map(ray_tasks.take, [0], shared=pair)) == list(engine.map(ray_tasks.take, [0], shared=pair)) == [1]
    )
    assert sent == [Documents, tuple]


def test_arrays_are_read_in_place_by_workers_and_owned_by_the_caller(engine) -> None:
    shared = Documents(np.arange(60_000.0).reshape(3, -1))
    for row, (total, writable_there, result) in enumerate(engine.map(ray_tasks.add_up, range(3), shared=shared)):
        assert total == shared.X[row].sum()
        assert not writable_there
        result += 1  # as a thread's result it is ours to change
        assert result.flags.owndata


def test_workers_have_our_package_our_instruction_set_and_one_blas_thread(engine) -> None:
    (there,) = engine.map(ray_tasks.surroundings, [0], shared=None)
    assert there == (linnaeus.__file__, dispatch.best("dual_cd").__name__, {1})


# -- models ------------------------------------------------------------------------------------------------------------


def problem(name: str) -> tuple[Taxonomy, Any, Any]:
    """Three levels, 60 leaves, labels everywhere, as model ``name`` takes them: several blocks."""
    edges = [("R", f"{a}") for a in "abc"]
    edges += [(a, f"{a}{b}") for a in "abc" for b in "ABCDE"]
    edges += [(f"{a}{b}", f"{a}{b}{c}") for a in "abc" for b in "ABCDE" for c in "1234"]
    tax = Taxonomy.from_edges(edges)
    return tax, *documents(tax, 160, name=name)


def assert_same_model(one: Any, other: Any, X: Any) -> None:
    W, V = (m.weights_.toarray() if sparse.issparse(m.weights_) else m.weights_ for m in (one, other))
    np.testing.assert_array_equal(W, V)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
    assert getattr(one, "objective_", None) == getattr(other, "objective_", None)  # online models have none


@pytest.mark.parametrize("dense", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["sparse", "dense"])
@pytest.mark.parametrize(
    "name", [n if n in REPRESENTATIVES else pytest.param(n, marks=pytest.mark.slow) for n in MODELS]
)
def test_ray_and_threads_give_the_same_model_bit_for_bit(engine, name, dense) -> None:
    tax, X, labels = problem(name)
    X = X.toarray() if dense else X
    on_threads = make(name, CONFIGURATIONS[name][0], taxonomy=tax, n_jobs=2).fit(X, labels)
    on_ray = make(name, CONFIGURATIONS[name][0], taxonomy=tax, engine=engine).fit(X, labels)
    assert_same_model(on_threads, on_ray, X)


class KillingEngine:
    """Ray, and somebody who kills the workers of some tasks, counted over all calls of `map`."""

    def __init__(self, engine: RayEngine, folder: Path, victims: set[int]) -> None:
        self.engine, self.n_workers, self.folder, self.victims = engine, engine.n_workers, folder, frozenset(victims)
        self.killed: set[int] = set()
        self.begun = 0
        self.over = threading.Event()

    def map(self, function: Any, tasks: Any, shared: Any) -> Iterator[Any]:
        fragile = Fragile(function, shared, str(self.folder), self.victims)
        return self.engine.map(ray_tasks.work_or_die, self._numbered(tasks), shared=fragile)

    def _numbered(self, tasks: Any) -> Iterator[tuple[int, Any]]:
        for task in tasks:
            yield self.begun, task
            self.begun += 1

    def _kill(self) -> None:
        while not self.over.wait(0.02):
            for note in self.folder.glob("*.pid"):
                pid = int(note.read_text("ascii"))
                if pid not in self.killed:
                    self.killed.add(pid)
                    os.kill(pid, signal.SIGKILL)

    def __enter__(self) -> KillingEngine:
        self.thread = threading.Thread(target=self._kill)
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.over.set()
        self.thread.join()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        name if name in REPRESENTATIVES else pytest.param(name, marks=pytest.mark.slow)
        for name in MODELS
        if name not in IN_ONE_PIECE
    ],
)
def test_a_worker_killed_in_the_middle_changes_nothing(engine, name, tmp_path) -> None:
    tax, X, labels = problem(name)
    on_threads = make(name, CONFIGURATIONS[name][0], taxonomy=tax, n_jobs=2).fit(X, labels)
    with KillingEngine(engine, tmp_path, {1}) as killing:
        on_ray = make(name, CONFIGURATIONS[name][0], taxonomy=tax, engine=killing).fit(X, labels)
    assert len(killing.killed) == 1
    assert_same_model(on_threads, on_ray, X)


def sweeps(engine: Any, X: Any) -> Any:
    """Several maps over the same documents, each starting from what the last one found: the shape of a joint fit."""
    shared, W = Documents(X), np.ones((X.shape[1], 12))
    for _ in range(4):
        tasks = [(slice(a, a + 2), W) for a in range(0, 12, 2)]
        W = np.hstack(list(engine.map(ray_tasks.pull_block, tasks, shared)))
    return W


def test_two_workers_killed_between_and_within_sweeps_change_nothing(engine, tmp_path) -> None:
    X = np.random.default_rng(0).normal(size=(50, 8))
    with KillingEngine(engine, tmp_path, {8, 15}) as killing:  # in the second sweep and in the third
        W = sweeps(killing, X)
    assert len(killing.killed) == 2
    np.testing.assert_array_equal(W, sweeps(SerialEngine(), X))
    np.testing.assert_array_equal(W, sweeps(engine, X))


def test_a_task_that_loses_every_worker_is_given_up(engine) -> None:
    stubborn = RayEngine(retries=0)  # uses the session of this process
    with pytest.raises(EngineError, match="lost on the Ray cluster 1 time"):
        list(stubborn.map(ray_tasks.die, [0], shared=None))


# -- beginning and end -------------------------------------------------------------------------------------------------


def test_by_name_the_session_of_this_process_is_used_and_left_alone(engine) -> None:
    import ray

    tax, X, labels = problem("OneVsRestSVM")
    by_name = OneVsRestSVM(taxonomy=tax, engine="ray", n_jobs=2, random_state=0).fit(X, labels)
    on_threads = OneVsRestSVM(taxonomy=tax, engine=ThreadEngine(2), random_state=0).fit(X, labels)
    assert ray.is_initialized()
    assert_same_model(by_name, on_threads, X)


def test_a_cluster_started_here_is_closed_to_the_network(engine) -> None:
    import ray

    host, port = ray.get_runtime_context().gcs_address.rsplit(":", 1)
    assert host == "127.0.0.1"
    assert {node["NodeManagerAddress"] for node in ray.nodes()} == {"127.0.0.1"}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: asks which of our addresses would be used
        except OSError:
            return  # there is no network to be closed to
        ours = probe.getsockname()[0]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((ours, int(port)), timeout=5)


def run_script(code: str, *arguments: str) -> str:
    path = os.pathsep.join([str(Path(linnaeus.__file__).parent.parent), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", code, *arguments]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


@pytest.mark.slow
def test_by_name_a_cluster_is_started_for_the_fit_and_ended_after_it() -> None:
    code = """
import numpy as np, ray
from linnaeus import OneVsRestSVM
model = OneVsRestSVM(engine="ray", n_jobs=1, random_state=0)
X = np.eye(4)
print(model.fit(X, list("abcd")).predict(X).tolist(), ray.is_initialized())
"""
    assert run_script(code) == "['a', 'b', 'c', 'd'] False"


@pytest.mark.slow
def test_another_process_joins_by_address_and_leaves_the_cluster_running(engine) -> None:
    import ray

    code = """
import operator, sys
from linnaeus.engine import RayEngine
with RayEngine(address=sys.argv[1]) as engine:
    print(engine.n_workers, list(engine.map(operator.mul, [1, 2, 3], shared=2)))
"""
    assert run_script(code, ray.get_runtime_context().gcs_address) == "3 [2, 4, 6]"
    assert list(engine.map(ray_tasks.slow_when_early, [5], shared=2)) == [25]


@pytest.mark.slow
def test_a_lost_machine_of_a_cluster_is_made_good() -> None:
    code = """
import numpy as np
from ray.cluster_utils import Cluster
from linnaeus.engine import RayEngine
from linnaeus.engine import ray as ray_engine
from tests.engine.ray_tasks import Documents, add_up

machine = {"object_store_memory": 10**8, "include_dashboard": False}
documents = Documents(np.arange(4e6).reshape(40, -1))
with ray_engine._local_only():
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, **machine})
    second = cluster.add_node(num_cpus=2, object_store_memory=10**8)
with RayEngine(address=cluster.address) as engine:
    totals = []
    for total, _, _ in engine.map(add_up, range(40), documents):
        totals.append(total)
        if len(totals) == 5:
            with ray_engine._local_only():
                cluster.remove_node(second, allow_graceful=False)
    print(engine.n_workers, totals == [row.sum() for row in documents.X])
with ray_engine._local_only():
    cluster.shutdown()
"""
    assert run_script(code).splitlines()[-1] == "3 True"  # before it Ray tells of the loss


def test_clones_share_the_engine_and_copies_for_other_processes_its_settings(engine) -> None:
    assert clone(OneVsRestSVM(engine=engine)).engine is engine
    again = pickle.loads(pickle.dumps(RayEngine(2, "10.0.0.1:6379", 5, store_memory=10**8)))
    assert again._settings == (2, "10.0.0.1:6379", 5, 10**8, None)


def test_wrong_parameters_and_a_missing_package_are_named(monkeypatch) -> None:
    with pytest.raises(ParameterError, match="n_workers=0"):
        RayEngine(0)
    with pytest.raises(ParameterError, match="retries=-1"):
        RayEngine(retries=-1)
    with pytest.raises(ParameterError, match="did you mean 'ray'"):
        get_engine("rays", None)
    with pytest.raises(EngineError, match="No Ray cluster answers at '127.0.0.1:1'"):
        join_session("127.0.0.1:1", {})
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EngineError, match=r"pip install linnaeus\[ray\]"):
        get_engine("ray", 2)


# -- devices -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_cluster_solves_blocks_on_the_devices_of_its_workers(engine) -> None:
    pytest.importorskip("torch")
    tax = Taxonomy.from_edges([("R", name) for name in "abcdef"])
    X, labels = sparse.csr_array(np.eye(6, dtype=np.float32)[np.arange(60) % 6]), [["abcdef"[i % 6]] for i in range(60)]
    here = OneVsRestSVM(tax, engine=GPUEngine("cpu", columns=3)).fit(X, labels)
    there = OneVsRestSVM(tax, engine=GPUEngine("cpu", columns=3, cluster=engine)).fit(X, labels)
    np.testing.assert_allclose(there.weights_, here.weights_, rtol=1e-5, atol=1e-6)
    assert engine.num_gpus == 0


def test_a_cluster_without_gpus_says_so_instead_of_waiting(engine) -> None:
    pytest.importorskip("torch")
    asking = RayEngine(n_workers=1)  # the session is the engine's
    device = GPUEngine("cuda", cluster=asking)
    assert asking.num_gpus == 1
    with pytest.raises(EngineError, match="of which the Ray cluster has fewer"):
        device.free_memory()
    assert pickle.loads(pickle.dumps(asking)).num_gpus == 1
