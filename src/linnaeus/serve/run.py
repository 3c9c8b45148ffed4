"""Running the service: one process, or several that share the memory of mapped models."""

from __future__ import annotations

import gc
import inspect
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable

import uvicorn

from linnaeus.errors import ParameterError
from linnaeus.serve.app import create_app
from linnaeus.serve.connections import MAX_HEAD, protocol
from linnaeus.serve.models import ModelRegistry
from linnaeus.serve.service import Service
from linnaeus.serve.settings import Settings

__all__ = ["run"]

_SWITCH = (
    0.001  # seconds after which a thread that computes lets another one answer; Python's 5 ms delay short requests
)


def run(
    settings: Settings,
    host: str,
    port: int,
    *,
    log_level: str = "warning",
    grace: int = 30,
    prepare: Callable[[Service], None] | None = None,
    announce: Callable[[], None] | None = None,
) -> None:
    """Serve until interrupted; requests that are being answered are finished within ``grace`` seconds.

    ``prepare`` is called with the service before it answers, in a service of one process; ``announce`` once the models
    can be served, before requests are.
    """
    if not 0 < port < 65536:
        raise ParameterError(f"{port} is not a port; expected a number from 1 to 65535.")
    sys.setswitchinterval(_SWITCH)
    several = settings.workers > 1
    if several:
        ModelRegistry(settings.folders)  # errors are raised here, once, rather than in every worker
        settings.export()
        _share_imports()
    app = None if several else create_app(settings)
    if app is not None and prepare is not None:
        prepare(app.state.service)
    if announce is not None:
        announce()
    # A worker that computes, or waits for a processor, answers its supervisor late; older versions do not ask.
    patient = {"timeout_worker_healthcheck": 60} if _asks_workers() else {}
    uvicorn.run(
        "linnaeus.serve.app:worker_app" if app is None else app,
        factory=several,
        workers=settings.workers if several else None,
        host=host,
        port=port,
        log_level=log_level,
        timeout_graceful_shutdown=grace,
        server_header=False,
        proxy_headers=False,
        ws="none",
        http=protocol(),
        h11_max_incomplete_event_size=MAX_HEAD,
        **patient,  # type: ignore[arg-type]
    )


def _share_imports() -> None:
    """Let workers begin as copies of this process, which share the memory of what it has imported.

    Only on Linux: elsewhere a copy may inherit libraries in states that they do not expect. What exists now is not
    looked at by the garbage collection of workers, which would write to it and end the sharing.
    """
    if sys.platform != "linux":
        return
    from uvicorn import _subprocess

    # uvicorn starts every worker from nothing otherwise.
    _subprocess.spawn = multiprocessing.get_context("fork")  # type: ignore[assignment,unused-ignore]
    os.register_at_fork(before=_tidy, after_in_child=_forget_signals)


def _tidy() -> None:
    gc.collect()
    gc.freeze()


def _forget_signals() -> None:
    """Let signals end a worker that has not begun to handle them; the handlers of its parent would only note them."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _asks_workers() -> bool:
    return "timeout_worker_healthcheck" in inspect.signature(uvicorn.run).parameters
