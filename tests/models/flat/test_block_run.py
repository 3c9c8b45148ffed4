"""Blocks are shared out in time, and a block is final only if an unlimited run would have found the same."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus.engine import Clock, ThreadEngine, blocks
from linnaeus.models.checkpoint import Checkpoint
from linnaeus.models.flat import one_vs_rest
from linnaeus.models.flat.one_vs_rest import BlockRun, block_key
from linnaeus.models.linear import InMemory
from linnaeus.models.solvers import BlockSolution

N_BLOCKS, WIDTH, NEEDED = 10, 4, 50


class Training:
    """Stands for the documents: a block needs 50 passes, and its gap is what is left of them."""

    max_iter = 1000


class Ticking:
    """Time that passes only with the work: a second per pass and per certificate."""

    def __init__(self) -> None:
        self.now = 0.0

    def time(self) -> float:
        return self.now

    perf_counter = time


class Workers:
    """Workers that draw tasks ahead, as threads do, on the ticking clock."""

    def __init__(self, clock: Ticking, n_workers: int) -> None:
        self.clock, self.n_workers = clock, n_workers

    def map(self, function, tasks, shared):
        waiting: list = []
        for task in tasks:
            waiting.append(task)
            if len(waiting) > 2 * self.n_workers:
                yield self._work(function, shared, waiting.pop(0))
        for task in waiting:
            yield self._work(function, shared, task)

    def _work(self, function, shared, task):
        before = self.clock.now
        found, budget, _ = function(shared, task)
        spent = self.clock.now - before
        self.clock.now = before + spent / self.n_workers
        return found, budget, spent


@pytest.fixture
def ticking(monkeypatch) -> Ticking:
    clock = Ticking()

    def solve(training, task):
        passes = min(NEEDED, training.max_iter)
        clock.now += passes + 2
        gap = np.full(WIDTH, 1.0 - passes / NEEDED)
        return BlockSolution(np.full((3, WIDTH), passes), np.zeros(WIDTH), gap + 1, gap, passes, passes == NEEDED)

    monkeypatch.setattr("linnaeus.engine.time", clock)
    monkeypatch.setattr(one_vs_rest, "time", clock)
    monkeypatch.setattr(one_vs_rest, "solve_columns", solve)

    def limited(training, max_iter):
        made = Training()
        made.max_iter = max_iter
        return made

    monkeypatch.setattr(one_vs_rest, "replace", limited)
    return clock


def make(ticking, limit, n_workers=1, store=None) -> BlockRun:
    parts = list(blocks(N_BLOCKS * WIDTH, WIDTH))
    weights = InMemory(3, parts, np.float32)
    engine = Workers(ticking, n_workers)
    return BlockRun(Training(), parts, lambda number: number, weights, engine, Clock(limit), store)


@pytest.mark.parametrize("n_workers", [1, 2, 3])
@pytest.mark.parametrize("limit", [100, 200, 300, 500])
def test_every_block_gets_its_share_and_the_limit_is_kept(ticking, n_workers, limit) -> None:
    limit = limit / n_workers
    run = make(ticking, limit, n_workers)
    run.run()
    assert run.reached == list(range(N_BLOCKS))
    passes = [run.outcomes[number].n_iter for number in range(N_BLOCKS)]
    assert min(passes) >= min(4, limit * n_workers / N_BLOCKS / 3)
    assert 0.75 * min(limit, 520 / n_workers) <= ticking.now <= limit + 60 / n_workers
    assert run.complete == (min(passes) == NEEDED)


def test_ample_time_solves_every_block_once_but_for_the_probes(ticking) -> None:
    run = make(ticking, 10_000)
    run.run()
    assert run.complete
    assert ticking.now == N_BLOCKS * (NEEDED + 2) + 3 * 6  # four passes of each block drawn before the pace is known


def test_without_a_limit_every_block_is_solved_once(ticking) -> None:
    run = make(ticking, None)
    run.run()
    assert run.complete
    assert ticking.now == N_BLOCKS * (NEEDED + 2)


def test_a_cut_block_is_not_final_even_if_it_converged(ticking) -> None:
    run = make(ticking, None)
    found = BlockSolution(np.zeros((3, WIDTH)), np.zeros(WIDTH), np.ones(WIDTH), np.zeros(WIDTH), 20, True)
    run._keep(0, found, 20)
    assert not run.outcomes[0].final
    run._keep(0, found, 21)
    assert run.outcomes[0].final
    run._keep(1, found, Training.max_iter)
    assert run.outcomes[1].final


def test_a_worse_draft_does_not_replace_a_better_one(ticking) -> None:
    run = make(ticking, None)
    for gap, passes in ((0.2, 10), (0.5, 5)):
        gaps = np.full(WIDTH, gap)
        run._keep(0, BlockSolution(np.full((3, WIDTH), gap), np.zeros(WIDTH), gaps, gaps, passes, False), passes)
    assert run.outcomes[0].n_iter == 10
    assert (run.weights.whole(range(N_BLOCKS))[:, :WIDTH] == np.float32(0.2)).all()


def test_drafts_are_kept_and_taken_up_only_under_a_limit(ticking, tmp_path) -> None:
    with Checkpoint(tmp_path, {}) as store:
        make(ticking, 100, store=store).run()
        assert set(store) == {block_key(number) for number in range(N_BLOCKS)}
        before = ticking.now
        make(ticking, 60, store=store).run()  # time for one block, and none is lost on first drafts
        assert ticking.now - before <= 70
        final = [store.get(key)["flags"][2] for key in store]
        assert sum(final) == 1
        before = ticking.now
        make(ticking, None, store=store).run()
        assert ticking.now - before == (N_BLOCKS - 1) * (NEEDED + 2)


def test_threads_leave_nothing_running_when_a_block_fails(monkeypatch) -> None:
    def fails(training, task):
        raise RuntimeError("no")

    monkeypatch.setattr(one_vs_rest, "solve_in_time", fails)
    parts = [slice(0, 2), slice(2, 4)]
    run = BlockRun(Training(), parts, lambda i: i, InMemory(3, parts, np.float32), ThreadEngine(2), Clock(None))
    with pytest.raises(RuntimeError, match="no"):
        run.run()
