"""Signs of life on stderr for work that lasts, shown to people at a terminal only: a bar, or a spinner."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["note", "progress", "waiting"]

_PATIENCE = 2.0  # seconds of silence that nobody minds


def note(text: str) -> None:
    """Write one line to stderr: what a model reports with ``verbose``.

    Parameters
    ----------
    text : str
        The line.
    """
    sys.stderr.write(f"{text}\n")


@contextlib.contextmanager
def progress(
    description: str, total: int | None = None, *, done: int = 0, show: bool = True
) -> Iterator[Callable[[int], None]]:
    """Yields ``advance(n)`` for work that is counted, of which ``done`` is done before; a bar appears when it lasts.

    Examples
    --------
    >>> with progress("counting", 3) as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    if not show or not sys.stderr.isatty():
        yield lambda n: None
        return
    from rich import progress as rich
    from rich.console import Console

    columns = [rich.TextColumn("{task.description}"), rich.BarColumn(), rich.MofNCompleteColumn()]
    times = [rich.TimeElapsedColumn(), rich.TimeRemainingColumn()]
    bar = rich.Progress(*columns, *times, console=Console(stderr=True), transient=True)
    task = bar.add_task(description, total=total, completed=done)
    with _when_it_lasts(bar):
        yield lambda n: bar.update(task, advance=n)


@contextlib.contextmanager
def waiting(description: str) -> Iterator[None]:
    """A spinner for work that cannot be counted, such as reading a file; it appears when the work lasts.

    Examples
    --------
    >>> with waiting("reading docs.jsonl"):
    ...     pass
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with _when_it_lasts(Console(stderr=True).status(description)):
        yield


@contextlib.contextmanager
def _when_it_lasts(display: Any) -> Iterator[None]:
    """Start a display once the patience is over, stop it at the end in any case."""
    timer = threading.Timer(_PATIENCE, display.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        display.stop()
