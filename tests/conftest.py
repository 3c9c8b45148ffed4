"""Fixtures: where the real data is, small taxonomies drawn once, and a way to run the command line as a user does."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from linnaeus import Taxonomy

settings.register_profile("linnaeus", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("linnaeus")

DATA = Path(os.environ.get("LINNAEUS_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data sets; tests that need it are skipped where it is absent."""
    if not DATA.is_dir():
        pytest.skip(f"real data not found: {DATA} (set LINNAEUS_DATA)")
    return DATA


BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium as Debian packages it; tests that need it are skipped where it is absent."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (dependency group test)"
    )
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is on the path (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def abc() -> Taxonomy:
    """R(A(AA, AB), B(BA, BB)): the tree of the worked examples."""
    edges = [("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA"), ("B", "BB")]
    return Taxonomy.from_edges(edges)


@pytest.fixture
def diamond() -> Taxonomy:
    """R; A and B under R; C under both; D under B: the DAG of the worked examples."""
    return Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "C"), ("B", "C"), ("B", "D")])


@pytest.fixture
def linnaeus(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., SimpleNamespace]:
    """``linnaeus("train", ...)`` -> code, out, err of the real entry point.

    Trainings choose nothing (``--budget 0``), which is quick, unless a test gives a ``--budget``; an empty one is left
    out.
    """

    from linnaeus.cli.main import run

    def call(*arguments: str, stdin: str | None = None) -> SimpleNamespace:
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin.encode()), isatty=lambda: False))
        given = [str(argument) for argument in arguments]
        if given[:1] == ["train"] and "--budget" not in given:
            given += ["--budget", "0"]
        elif "" in given and given[given.index("") - 1] == "--budget":
            del given[given.index("") - 1 : given.index("") + 1]
        code = 0
        try:
            run(given)
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        out, err = capsys.readouterr()
        return SimpleNamespace(code=code, out=out, err=err)

    return call
