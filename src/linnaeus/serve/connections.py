"""Connections have to be quick: those whose request line and headers are not complete in time are closed.

The time limits of bodies begin later, so that without this a client could hold a connection forever. Requests are
parsed by httptools where it is installed, otherwise by h11, which takes several times as long.
"""

from __future__ import annotations

import asyncio
import re

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["MAX_HEAD", "H11Connection", "protocol"]

MAX_HEAD = 65_536  # bytes of a request line and headers
# httptools reads no body after an offer of another protocol (as of HTTP/2 by Java's client), which need not be taken.
_UPGRADE = re.compile(rb"\nupgrade:", re.IGNORECASE)


class _Impatience:
    """A timer that closes a connection."""

    header_seconds = 20.0
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    _timer: asyncio.TimerHandle | None = None

    def _watch(self, is_waiting: bool) -> None:
        """Start the timer when a head is incomplete, stop it when none is."""
        if not is_waiting:
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.header_seconds, self._give_up)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()


class H11Connection(_Impatience, H11Protocol):
    """A connection whose requests h11 parses."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request."""
        super().connection_made(transport)  # type: ignore[arg-type]
        self._watch(True)

    def data_received(self, data: bytes) -> None:
        """Stop waiting once a head is complete."""
        super().data_received(data)
        self._watch(self.conn.their_state is h11.IDLE)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self._stop()
        super().connection_lost(exc)


def protocol() -> type[asyncio.Protocol]:
    """The fastest kind of connection that the installed packages allow."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        return H11Connection

    class HttpToolsConnection(_Impatience, HttpToolsProtocol):
        """A connection whose requests httptools parses; the size of a head is limited as it is in h11."""

        _is_waiting = True
        _in_body = False
        _n_bytes = 0

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)  # type: ignore[arg-type]
            self._watch(True)

        def data_received(self, data: bytes) -> None:
            if not self._in_body and b"pgrade" in data:
                head, blank, rest = data.partition(b"\r\n\r\n")
                data = _UPGRADE.sub(b"\nx-upgrade:", head) + blank + rest
            super().data_received(data)
            self._watch(self._is_waiting)
            self._n_bytes = self._n_bytes + len(data) if self._is_waiting else 0
            if self._n_bytes > MAX_HEAD and not self.transport.is_closing():
                self.send_400_response("The headers are too large.")

        def on_message_begin(self) -> None:
            self._is_waiting = True
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._is_waiting, self._in_body = False, True
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self._in_body = False
            super().on_message_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

    return HttpToolsConnection
