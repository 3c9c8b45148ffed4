"""What surrounds every request: its id, limits of size and of time while it is received, headers, metrics.

A plain ASGI middleware: one that reads bodies ahead would break streams.
"""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

import anyio.to_thread
from starlette.requests import ClientDisconnect

from linnaeus.serve.access import ANYBODY, Access
from linnaeus.serve.metrics import Metrics
from linnaeus.serve.problems import ProblemError, problem, unexpected
from linnaeus.serve.settings import Settings
from linnaeus.serve.store.users import User

__all__ = ["Guard"]

Message: TypeAlias = MutableMapping[str, Any]  # of the ASGI protocol
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"),
    (b"cache-control", b"no-store"),
]


class Guard:
    """An application with an id for every request, limits, and metrics."""

    def __init__(self, app: App, settings: Settings, metrics: Metrics, access: Access) -> None:
        self.app, self.settings, self.metrics, self.access = app, settings, metrics, access

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"")
        id_ = given.decode() if _ID.fullmatch(given) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = id_
        status, started = 0, time.monotonic()

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = {name for name, _ in message.get("headers", [])}
                more = [pair for pair in _HEADERS if pair[0] not in own]
                message["headers"] = [*message.get("headers", []), (b"x-request-id", id_.encode()), *more]
            await send(message)

        self.metrics.in_flight += 1
        try:
            limited = self._limited(receive, scope["path"].endswith("/stream"))
            refused = self._refused(headers, scope["path"].endswith("/stream"))
            if refused is None:
                try:
                    everybody = self.access.everybody
                    user = ANYBODY if everybody else await anyio.to_thread.run_sync(self._user, scope, headers)
                    scope["state"]["user"] = user
                except ProblemError as error:
                    refused = error
            if refused is not None:
                response = problem(refused.status_code, refused.detail, id_, headers=refused.headers)
                await response(scope, receive, answer)
            else:
                await self.app(scope, limited, answer)
        except ClientDisconnect:
            status = status or 499
        except Exception as error:
            response = unexpected(id_, error)
            if status:  # the answer has begun; the connection is closed without its end
                raise
            await response(scope, receive, answer)
        finally:
            self.metrics.in_flight -= 1
            route = scope.get("route")
            path = str(getattr(route, "path", "other"))
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self.metrics.answered(method, path, status or 499, time.monotonic() - started)

    def _refused(self, headers: dict[bytes, bytes], stream: bool) -> ProblemError | None:
        """Why a request is refused by its headers."""
        encoding = headers.get(b"content-encoding", b"identity").strip().lower()
        if encoding not in (b"identity", b""):
            return ProblemError(415, "Compressed bodies are not read; send the body without Content-Encoding.")
        length = headers.get(b"content-length", b"0")
        if not stream and length.isdigit() and int(length) > self.settings.max_bytes:
            return self._too_large()
        return None

    def _user(self, scope: MutableMapping[str, Any], headers: dict[bytes, bytes]) -> User:
        """The user of a request; raises a problem where it is refused."""
        client = scope["client"][0] if scope.get("client") else None
        user = self.access.user(scope["method"], scope["path"], headers, client)
        if scope["path"] not in ("/api/v1/health", "/api/v1/ready"):
            self.access.spend(user, client)
        return user

    def _too_large(self) -> ProblemError:
        return ProblemError(
            413, f"The body is larger than {self.settings.max_bytes:,} bytes; send fewer documents, or use a stream."
        )

    def _limited(self, receive: Receive, stream: bool) -> Receive:
        """Receive a body with a limit of its size, and of the time between two of its parts."""
        n_bytes, more = 0, True

        async def limited() -> Message:
            nonlocal n_bytes, more
            if not more:
                return await receive()  # waits for the end of the connection
            try:
                async with asyncio.timeout(self.settings.timeout):  # unlike wait_for, without a task
                    message = await receive()
            except TimeoutError:
                raise ProblemError(
                    408, f"Nothing was received for {self.settings.timeout:g} s; send the whole body."
                ) from None
            if message["type"] == "http.request":
                more = bool(message.get("more_body", False))
                n_bytes += len(message.get("body", b""))
                if n_bytes > self.settings.max_bytes and not stream:
                    raise self._too_large()
            return message

        return limited
