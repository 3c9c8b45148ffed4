"""Progress of long-running work, shown at a terminal (on stderr) or in a notebook only: a bar, or a spinner."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["note", "progress", "waiting"]

_DELAY = 2.0  # seconds before a display appears


class _Display(Protocol):
    """A bar or a spinner of rich."""

    def start(self) -> None: ...
    def stop(self) -> None: ...


def note(text: str) -> None:
    """Write one line to stderr: what a model reports with ``verbose``.

    Parameters
    ----------
    text : str
        The line.

    Examples
    --------
    >>> import contextlib, io
    >>> with contextlib.redirect_stderr(io.StringIO()) as lines:
    ...     note("pass 3: gap 0.01")
    >>> lines.getvalue()
    'pass 3: gap 0.01\\n'
    """
    sys.stderr.write(f"{text}\n")


@contextlib.contextmanager
def progress(
    description: str, total: int | None = None, *, done: int = 0, show: bool = True
) -> Iterator[Callable[[int], None]]:
    """Show a bar for work that is counted; it appears after two seconds.

    Parameters
    ----------
    description : str
        Text before the bar.
    total : int, default=None
        Number of steps, if it is known.
    done : int, default=0
        Number of steps that were done earlier.
    show : bool, default=True
        Whether to show a bar at all.

    Yields
    ------
    callable
        ``advance(n)`` counts n more steps.

    Examples
    --------
    >>> with progress("counting", 3) as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    if not show or not _somebody_looks():
        yield lambda n: None
        return
    from rich import progress as rich

    columns = [rich.TextColumn("{task.description}"), rich.BarColumn(), rich.MofNCompleteColumn()]
    times = [rich.TimeElapsedColumn(), rich.TimeRemainingColumn()]
    bar = rich.Progress(*columns, *times, console=_console(), transient=True)
    task = bar.add_task(description, total=total, completed=done)
    with _delayed(bar):
        yield lambda n: bar.update(task, advance=n)


@contextlib.contextmanager
def waiting(description: str) -> Iterator[None]:
    """Show a spinner for work that cannot be counted, such as reading a file; it appears after two seconds.

    Parameters
    ----------
    description : str
        Text next to the spinner.

    Yields
    ------
    None
        Control, while the spinner turns.

    Examples
    --------
    >>> with waiting("reading docs.jsonl"):
    ...     pass
    """
    if not _somebody_looks():
        yield
        return
    with _delayed(_console().status(description)):
        yield


def _in_notebook() -> bool:
    """Whether the code runs in a kernel of Jupyter, without importing IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


def _somebody_looks() -> bool:
    return sys.stderr.isatty() or _in_notebook()


def _console() -> Console:
    from rich.console import Console

    return Console(stderr=True, force_jupyter=_in_notebook())


@contextlib.contextmanager
def _delayed(display: _Display) -> Iterator[None]:
    """Start a display after a delay, and stop it at the end in any case."""
    timer = threading.Timer(_DELAY, display.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        display.stop()
