"""Engines give results in the order of the tasks, pass errors on, and stop early without leaving threads."""

from __future__ import annotations

import threading
import time

import pytest

from linnaeus.engine import SerialEngine, ThreadEngine, blocks, get_engine, n_workers, rows_that_fit
from linnaeus.errors import ParameterError

ENGINES = [SerialEngine(), ThreadEngine(3)]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: type(engine).__name__)
def test_results_come_in_the_order_of_the_tasks(engine) -> None:
    def slow_when_early(power: int, i: int) -> int:
        time.sleep(0.01 if i < 3 else 0)
        return i**power

    assert list(engine.map(slow_when_early, range(20), shared=2)) == [i * i for i in range(20)]
    assert list(engine.map(slow_when_early, [], shared=2)) == []


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: type(engine).__name__)
def test_an_error_in_a_task_reaches_the_caller(engine) -> None:
    def fail(shared: None, i: int) -> int:
        raise KeyError(i)

    with pytest.raises(KeyError):
        list(engine.map(fail, range(5), shared=None))


def test_threads_run_at_the_same_time_and_end() -> None:
    barrier = threading.Barrier(3, timeout=10)
    before = threading.active_count()
    list(ThreadEngine(3).map(lambda barrier, i: barrier.wait(), range(3), shared=barrier))
    assert threading.active_count() == before


def test_few_results_wait_at_a_time() -> None:
    started: list[int] = []
    results = ThreadEngine(2).map(lambda started, i: started.append(i), range(1000), shared=started)
    next(results)
    assert len(started) < 20
    results.close()


def test_engines_by_name() -> None:
    assert isinstance(get_engine(None, None), SerialEngine)
    assert get_engine(None, 4).n_workers == 4
    assert isinstance(get_engine("threads", None), ThreadEngine)
    assert get_engine(ENGINES[0], 7) is ENGINES[0]
    assert n_workers(-1) >= 1
    with pytest.raises(ParameterError, match="unknown"):
        get_engine("spark", None)
    with pytest.raises(ParameterError, match="n_jobs=0"):
        n_workers(0)


def test_blocks_cover_everything_once() -> None:
    covered = [i for part in blocks(10, 3) for i in range(10)[part]]
    assert covered == list(range(10))
    assert rows_that_fit(10**12) == 1
