"""Running the service: one process, or several that share the memory of mapped models; connections have to be quick."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from linnaeus.errors import ParameterError
from linnaeus.serve.app import create_app
from linnaeus.serve.models import ModelRegistry
from linnaeus.serve.service import Service
from linnaeus.serve.settings import Settings

__all__ = ["ImpatientProtocol", "run"]


def run(
    settings: Settings,
    host: str,
    port: int,
    *,
    log_level: str = "warning",
    grace: int = 30,
    prepare: Callable[[Service], None] | None = None,
) -> None:
    """Serve until interrupted; requests that are being answered are finished within ``grace`` seconds.

    ``prepare`` is called with the service before it answers, in a service of one process.
    """
    if not 0 < port < 65536:
        raise ParameterError(f"{port} is not a port; expected a number from 1 to 65535.")
    several = settings.workers > 1
    if several:
        ModelRegistry(settings.folders)  # errors are raised here, once, rather than in every worker
        settings.export()
    app = None if several else create_app(settings)
    if app is not None and prepare is not None:
        prepare(app.state.service)
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
        http=ImpatientProtocol,
        h11_max_incomplete_event_size=65_536,
        **patient,  # type: ignore[arg-type]
    )


def _asks_workers() -> bool:
    return "timeout_worker_healthcheck" in inspect.signature(uvicorn.run).parameters


class ImpatientProtocol(H11Protocol):
    """Closes a connection whose request line and headers are not complete in time.

    The time limits of bodies begin later, so that without this a client could hold a connection forever.
    """

    header_seconds = 20.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request."""
        super().connection_made(transport)  # type: ignore[arg-type]
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Stop waiting once a head is complete."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self._stop()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.header_seconds, self._give_up)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()
