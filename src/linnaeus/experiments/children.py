"""Tasks in child processes, several at once, each with a time limit: a crash or an endless loop affects nothing else.

A child is forked from a clean server (or started as a new process, where there is no server), so that its peak memory
is its own. It returns one picklable value. It ends when its parent ends, even if the parent is killed.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import connection, get_all_start_methods, get_context, parent_process
from typing import TYPE_CHECKING, Generic, TypeVar

from linnaeus.engine import available_memory
from linnaeus.errors import LinnaeusError

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, ForkServerProcess, SpawnContext, SpawnProcess

__all__ = ["ChildOutcome", "in_children", "memory_of_each"]

T = TypeVar("T")

_PRELOAD = ["linnaeus.experiments.trial", "linnaeus.experiments.candidates"]
_NO_MEMORY = "out of memory"
_POLL = 0.5  # seconds between checks of the time limits


@dataclass(frozen=True)
class ChildOutcome(Generic[T]):
    """The value that a child returned, or its failure: "time", "memory", "refused" or "error", and a message."""

    value: T | None = None
    failure: str | None = None
    words: str = ""
    seconds: float = 0.0


def memory_of_each(jobs: int) -> float:
    """Bytes that each of ``jobs`` children may use: half of the available memory, shared.

    Examples
    --------
    >>> memory_of_each(2) <= memory_of_each(1)
    True
    """
    return available_memory() / 2 / max(1, jobs)


@dataclass
class _Child:
    process: SpawnProcess | ForkServerProcess
    answer: connection.Connection
    began: float
    limit: float


def in_children(
    work: Callable[..., T],
    tasks: Sequence[str],
    arguments: Callable[[str, int], tuple[tuple[object, ...], float] | None],
    *,
    jobs: int = 1,
) -> Iterator[tuple[str, ChildOutcome[T]]]:
    """Run tasks in child processes.

    Parameters
    ----------
    work : callable
        A function of a module, called in the child with the arguments of the task.
    tasks : sequence of str
        Names of the tasks.
    arguments : callable
        Called just before a task starts, with its name and the number of tasks not yet started; returns its arguments
        and time limit in seconds, or None to leave the task out.
    jobs : int, default=1
        Number of children at once.

    Yields
    ------
    tuple of (str, ChildOutcome)
        A task and its outcome, as children end.
    """
    context: SpawnContext | ForkServerContext = get_context("spawn")
    if "forkserver" in get_all_start_methods():
        context = get_context("forkserver")
        context.set_forkserver_preload(_PRELOAD)
    waiting, running = list(tasks), dict[str, _Child]()
    share = memory_of_each(jobs)
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                name = waiting.pop(0)
                given = arguments(name, len(waiting) + 1)
                if given is not None:
                    running[name] = _start(context, work, *given, share)
            for name in _ended(running):
                yield name, _outcome(running.pop(name))
    finally:
        for child in running.values():
            _kill(child)


def _start(
    context: SpawnContext | ForkServerContext,
    work: Callable[..., object],
    arguments: tuple[object, ...],
    limit: float,
    memory: float,
) -> _Child:
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_in_child, args=(there, work, arguments, memory), daemon=True)
    process.start()
    there.close()
    return _Child(process, here, time.monotonic(), limit)


def _ended(running: dict[str, _Child]) -> list[str]:
    """Names of children that are finished, dead or timed out; waits a moment for one."""
    if not running:
        return []
    watched: dict[object, str] = {child.answer: name for name, child in running.items()}
    ready = [watched[end] for end in connection.wait([child.answer for child in running.values()], timeout=_POLL)]
    late = [name for name, child in running.items() if time.monotonic() - child.began > child.limit]
    return list(dict.fromkeys([*ready, *late]))


def _outcome(child: _Child) -> ChildOutcome[T]:
    seconds = time.monotonic() - child.began
    if not child.answer.poll():
        _kill(child)
        return ChildOutcome(failure="time", seconds=seconds)
    try:
        value, failure, words = child.answer.recv()
    except (EOFError, OSError):  # it ended without an answer
        child.process.join(5)
        code = child.process.exitcode
        value = None
        failure, words = ("memory", _NO_MEMORY) if code == -9 else ("error", f"the process ended with code {code}")
    child.process.join(5)
    _kill(child)
    return ChildOutcome(value, failure, words, seconds)


def _kill(child: _Child) -> None:
    if child.process.is_alive():
        child.process.kill()
        child.process.join()
    child.answer.close()


# -- in the child ------------------------------------------------------------------------------------------------------


def _in_child(
    answer: connection.Connection, work: Callable[..., object], arguments: tuple[object, ...], memory: float
) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _limit_memory(memory)
    outcome: tuple[object, str | None, str]
    try:
        outcome = work(*arguments), None, ""
    except MemoryError:
        outcome = None, "memory", _NO_MEMORY
    except LinnaeusError as refusal:
        outcome = None, "refused", str(refusal)
    except Exception as error:
        outcome = None, "error", " ".join(f"{type(error).__name__}: {error}".split())
    with contextlib.suppress(OSError):  # nobody is left to read it
        answer.send(outcome)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _limit_memory(more: float) -> None:
    """Limit the memory of the child, so that its allocations fail before the system kills other processes."""
    try:
        import resource

        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + int(more), resource.RLIM_INFINITY))
    except (ImportError, OSError, ValueError, OverflowError):
        pass
