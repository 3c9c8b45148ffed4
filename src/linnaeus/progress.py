"""A progress bar on stderr for work that lasts, shown to people at a terminal only."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

__all__ = ["progress"]


@contextlib.contextmanager
def progress(
    description: str, total: int | None = None, *, show: bool = True, after: float = 2.0
) -> Iterator[Callable[[int], None]]:
    """Yields ``advance(n)``; the bar appears when the work has lasted ``after`` seconds.

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
    task = bar.add_task(description, total=total)
    start, shown = time.monotonic(), False

    def advance(n: int) -> None:
        nonlocal shown
        if not shown and time.monotonic() - start > after:
            bar.start()
            shown = True
        bar.update(task, advance=n)

    try:
        yield advance
    finally:
        if shown:
            bar.stop()
