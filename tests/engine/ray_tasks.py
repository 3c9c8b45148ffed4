"""What the tests run on workers of Ray; a module of its own, so that workers import little."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import linnaeus
from linnaeus._kernels import dispatch


def slow_when_early(power: int, i: int) -> int:
    time.sleep(0.05 if i < 3 else 0)
    return i**power


def fail_and_count(file: str, i: int) -> int:
    with open(file, "a", encoding="ascii") as log:
        log.write(".")
    raise KeyError(i)


@dataclass(frozen=True)
class Documents:
    X: Any
    name: str = "documents"


def add_up(shared: Documents, row: int) -> tuple[float, bool, np.ndarray]:
    return float(shared.X[row].sum()), shared.X.flags.writeable, shared.X[row] * 2


def take(shared: tuple[int, ...], i: int) -> int:
    return shared[i]


def surroundings(shared: None, task: int) -> tuple[str, str, set[int]]:
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    threads = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
    return linnaeus.__file__, dispatch.best("dual_cd").__name__, threads


@dataclass(frozen=True)
class Fragile:
    """Work that some tasks must do twice: at the first try they wait to be killed before they can answer."""

    function: Any
    shared: Any
    folder: str
    victims: frozenset[int]


def work_or_die(fragile: Fragile, numbered: tuple[int, Any]) -> Any:
    number, task = numbered
    result = fragile.function(fragile.shared, task)
    note = Path(fragile.folder) / f"{number}.pid"
    if number in fragile.victims and not note.exists():
        note.with_suffix(".part").write_text(str(os.getpid()), "ascii")
        note.with_suffix(".part").rename(note)
        time.sleep(60)
    return result


def pull_block(shared: Documents, task: tuple[slice, Any]) -> Any:
    part, W = task
    return W[:, part] - 0.01 * shared.X.T @ np.tanh(shared.X @ W[:, part] - W.mean(axis=1).sum())


def die(shared: None, task: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
