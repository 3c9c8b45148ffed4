"""The desk in a browser: a service in a thread that can be stopped and started again, and pages of it."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import socket
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

if any(importlib.util.find_spec(package) is None for package in ("fastapi", "uvicorn")):
    collect_ignore_glob = ["test_*.py"]

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()


class DeskServer:
    """A desk on a port of its own."""

    def __init__(self, folder: str, store: Path, **settings: Any) -> None:
        self.folder, self.store, self.settings = folder, store, {"control": 0.0, "blind": 0.0, "double": 0.0} | settings
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.start()

    def start(self) -> None:
        import uvicorn

        from linnaeus.serve.app import create_app
        from linnaeus.serve.settings import Settings

        self.app = create_app(Settings((self.folder,), store=str(self.store), reload_every=0, **self.settings))
        config = uvicorn.Config(self.app, port=self.port, log_level="warning", ws="none", timeout_graceful_shutdown=1)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        while not self.server.started:
            assert self.thread.is_alive()
            time.sleep(0.01)

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/desk/"

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}", timeout=60) as answer:
            return json.load(answer)

    def post(self, path: str, body: object) -> Any:
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}"
        request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def add(self, texts: dict[str, str]) -> None:
        self.post("documents", {"documents": [{"id": id_, "text": text} for id_, text in texts.items()]})

    def verdicts(self) -> list[tuple[str, str, str]]:
        """Document, kind and labels of all verdicts, in the order in which they were stored."""
        with self.app.state.service.review.read() as transaction:
            rows = transaction.rows(
                "SELECT d.id, v.kind, v.labels FROM verdicts v JOIN documents d ON d.number = v.document "
                "ORDER BY v.number"
            )
        return [(row["id"], row["kind"], ", ".join(json.loads(row["labels"] or "[]"))) for row in rows]


@pytest.fixture
def desk(folders, tmp_path) -> Iterator[Callable[..., DeskServer]]:
    """Start a desk of one of the small models."""
    started = []

    def start(model: str = "joint", **settings: Any) -> DeskServer:
        started.append(DeskServer(folders.get(model, model), tmp_path / f"store{len(started)}", **settings))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def open_page(browser) -> Iterator[Callable[..., Any]]:
    """Open a desk in a browser of its own; an error on the page fails the test."""
    with contextlib.ExitStack() as stack:
        problems: list[str] = []

        def start(
            desk: DeskServer, view: str = "", *, width: int = 1400, scheme: str = "light", ready: bool = True
        ) -> Any:
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True
            )
            stack.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(20_000)
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.on("dialog", lambda dialog: (problems.append(f"dialog {dialog.message}"), dialog.dismiss()))
            page.goto(f"{desk.url}#{view}")
            if ready:
                page.wait_for_selector("main#work")
            return page

        yield start
    assert not problems, problems


def stored(page: Any) -> None:
    """Wait until everything on the page is at the server."""
    page.wait_for_selector(".connection[data-waiting='0']:not(.away)")


def document(page: Any) -> str:
    """The id of the document that is shown."""
    return str(page.locator("#document h2 code").inner_text())


def violations(page: Any) -> list[str]:
    """What axe-core finds on the page."""
    page.evaluate(AXE)
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [f"{v['id']}: {n['html']} {n['failureSummary']}" for v in found for n in v["nodes"]]
