"""Bars and spinners appear at a terminal, only when the work lasts, and never elsewhere."""

from __future__ import annotations

import io
import sys
import time
from types import SimpleNamespace

import pytest

from linnaeus import progress as module
from linnaeus.progress import progress, waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def at_terminal(monkeypatch) -> Terminal:
    """Called in the test itself: pytest puts its own stderr back after the fixtures."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    return screen


def count(n: int = 5) -> None:
    with progress("counting", n) as advance:
        for _ in range(n):
            time.sleep(0.01)
            advance(1)


def test_short_work_shows_nothing(monkeypatch) -> None:
    terminal = at_terminal(monkeypatch)
    count()
    with waiting("reading"):
        pass
    assert terminal.getvalue() == ""


def test_long_work_shows_a_bar_and_a_spinner(monkeypatch) -> None:
    terminal = at_terminal(monkeypatch)
    monkeypatch.setattr(module, "_DELAY", 0.02)
    count(30)
    assert "counting" in terminal.getvalue()
    with waiting("reading"):
        time.sleep(0.3)
    assert "reading" in terminal.getvalue()


def test_nothing_is_shown_where_nobody_looks(monkeypatch) -> None:
    monkeypatch.setattr(module, "_DELAY", 0.0)
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    count()
    with waiting("reading"):
        time.sleep(0.05)
    assert pipe.getvalue() == ""


def test_an_error_ends_the_display(monkeypatch) -> None:
    terminal = at_terminal(monkeypatch)
    monkeypatch.setattr(module, "_DELAY", 0.0)

    def fail() -> None:
        with waiting("reading"):
            time.sleep(0.1)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert terminal.getvalue().endswith("\x1b[?25h\r\x1b[1A\x1b[2K"), "the cursor is shown again"


def test_a_notebook_counts_as_a_place_where_somebody_looks(monkeypatch) -> None:
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert module._somebody_looks()
    assert module._console().is_jupyter
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert not module._in_notebook()
