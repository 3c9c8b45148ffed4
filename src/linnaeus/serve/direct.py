"""The two requests that are sent most often, `top` and `predict`, without the layers of the framework.

These layers (routing, dependencies, one context for each) take longer than a model that answers one document. A request
that cannot be read is passed on to them, so that errors are written once, and the OpenAPI document is theirs.
"""

from __future__ import annotations

import json
import re
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from pydantic import ValidationError
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest

from linnaeus.serve.guard import App, Message, Receive, Send
from linnaeus.serve.predicting import answered
from linnaeus.serve.schemas import Predict, Request, Top
from linnaeus.serve.service import Service

__all__ = ["DirectPath"]

_ADDRESS = re.compile(r"/api/v1/models/([^/]+)/(predict|top)")
_KINDS: dict[str, type[Request]] = {"predict": Predict, "top": Top}
_ADDRESSED = "linnaeus.direct"  # where the scope has the name of the model and the operation


@dataclass(frozen=True)
class _Route:
    """The route of a request, as metrics name it."""

    path: str


_ROUTES = {name: _Route(f"/api/v1/models/{{name}}/{name}") for name in _KINDS}


class DirectPath:
    """An application that answers `top` and `predict`, and passes on all other requests."""

    def __init__(self, app: App, api: FastAPI, service: Service) -> None:
        self.app, self.service = app, service
        self._answering = ExceptionMiddleware(self._answer, api.exception_handlers)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        found = _ADDRESS.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"") if found else b""
        if found is None or not kind.startswith(b"application/json"):
            await self.app(scope, receive, send)
            return
        name, operation = found.groups()
        scope["route"], scope[_ADDRESSED] = _ROUTES[operation], (name, operation)
        await self._answering(scope, receive, send)

    async def _answer(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        name, operation = scope[_ADDRESSED]
        body = await _whole(receive)
        request = _parsed(operation, body)
        if request is None:
            await self.app(scope, _again(body, receive), send)
        else:
            response = await answered(self.service, HttpRequest(scope), name, operation, request)
            await response(scope, receive, send)


async def _whole(receive: Receive) -> bytes:
    """The body of a request."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """Receive a body that was received before."""
    first = True

    async def received() -> Message:
        nonlocal first
        if first:
            first = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return received


def _parsed(operation: str, body: bytes) -> Request | None:
    """A request, None for one that cannot be read."""
    try:
        return _KINDS[operation].model_validate(json.loads(body))
    except (ValueError, RecursionError, ValidationError):
        return None
