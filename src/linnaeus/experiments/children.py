"""Work in child processes, some at once, each with a time limit: what crashes or never ends takes nothing with it.

A child is forked from a clean server (or started anew, where there is none), so that its peak memory is its own. It
sends back one plain value. It ends with its parent, however that one ends.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import connection, get_all_start_methods, get_context, parent_process
from typing import Any

from linnaeus.engine.memory import available_memory
from linnaeus.errors import LinnaeusError

__all__ = ["Outcome", "in_children", "memory_of_each"]

_PRELOAD = ["linnaeus.experiments.trial", "linnaeus.experiments.forecast"]
_NO_MEMORY = "out of memory"
_POLL = 0.5  # seconds between looks at the clock


@dataclass(frozen=True)
class Outcome:
    """What became of a child: its value, or why there is none: "time", "memory", "refused", "error", and in words."""

    value: Any = None
    failure: str | None = None
    words: str = ""
    seconds: float = 0.0


def memory_of_each(jobs: int) -> float:
    """Bytes that each of so many children may take: half of what is there, shared out, so that others can live.

    Examples
    --------
    >>> memory_of_each(2) <= memory_of_each(1)
    True
    """
    return available_memory() / 2 / max(1, jobs)


@dataclass
class _Child:
    process: Any
    answer: Any
    began: float
    limit: float


def in_children(
    work: Callable[..., Any],
    tasks: Sequence[str],
    arguments: Callable[[str, int], tuple[tuple[Any, ...], float] | None],
    *,
    jobs: int = 1,
) -> Iterator[tuple[str, Outcome]]:
    """Yields (task, outcome) as children end.

    Parameters
    ----------
    work : a function of a module, called in the child with the arguments of the task.
    arguments : called just before a task begins with its name and the number of tasks not yet begun; its arguments and
        time limit in seconds, or None to leave it out.
    jobs : how many run at once.
    """
    context: Any = get_context("forkserver" if "forkserver" in get_all_start_methods() else "spawn")
    if hasattr(context, "set_forkserver_preload"):
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


def _start(context: Any, work: Callable[..., Any], arguments: tuple[Any, ...], limit: float, memory: float) -> _Child:
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_in_child, args=(there, work, arguments, memory), daemon=True)
    process.start()
    there.close()
    return _Child(process, here, time.monotonic(), limit)


def _ended(running: dict[str, _Child]) -> list[str]:
    """Names of children with an answer, without a life, or without time; waits a moment for one."""
    if not running:
        return []
    watched = {child.answer: name for name, child in running.items()}
    ready = [watched[found] for found in connection.wait(list(watched), timeout=_POLL)]
    late = [name for name, child in running.items() if time.monotonic() - child.began > child.limit]
    return list(dict.fromkeys([*ready, *late]))


def _outcome(child: _Child) -> Outcome:
    seconds = time.monotonic() - child.began
    if not child.answer.poll():
        _kill(child)
        return Outcome(failure="time", seconds=seconds)
    try:
        found = child.answer.recv()
    except (EOFError, OSError):  # it died without a word
        child.process.join(5)
        code = child.process.exitcode
        found = (None, "memory", _NO_MEMORY) if code == -9 else (None, "error", f"the process ended with code {code}")
    child.process.join(5)
    _kill(child)
    value, failure, words = found
    return Outcome(value, failure, words, seconds)


def _kill(child: _Child) -> None:
    if child.process.is_alive():
        child.process.kill()
        child.process.join()
    child.answer.close()


# -- in the child ------------------------------------------------------------------------------------------------------


def _in_child(answer: Any, work: Callable[..., Any], arguments: tuple[Any, ...], memory: float) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _limit_memory(memory)
    found: tuple[Any, str | None, str]
    try:
        found = work(*arguments), None, ""
    except MemoryError:
        found = None, "memory", _NO_MEMORY
    except LinnaeusError as refusal:
        found = None, "refused", str(refusal)
    except Exception as error:
        found = None, "error", " ".join(f"{type(error).__name__}: {error}".split())
    with contextlib.suppress(BrokenPipeError):
        answer.send(found)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _limit_memory(more: float) -> None:
    """Let an allocation fail in the child before the system ends something else."""
    try:
        import resource

        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + int(more), resource.RLIM_INFINITY))
    except (ImportError, OSError, ValueError, OverflowError):
        pass
