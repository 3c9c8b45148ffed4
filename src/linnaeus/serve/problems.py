"""Errors as problem+json (RFC 9457): what was given, what was expected, what to do; never a stack trace."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from linnaeus.errors import LinnaeusError, TaxonomyError, visible
from linnaeus.serve.models import UnknownModelError
from linnaeus.serve.schemas import ProblemDetails
from linnaeus.serve.store.documents import UnknownDocumentError
from linnaeus.serve.store.users import User
from linnaeus.serve.store.verdicts import KeyReusedError

__all__ = ["PROBLEMS", "NoStoreError", "ProblemError", "as_json", "install", "json_answer", "problem", "problem_of"]

_LOG = logging.getLogger("linnaeus.serve")
_TITLES = {
    400: "Malformed request",
    401: "A user is needed",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "The request was sent too slowly",
    409: "Conflict",
    413: "The request is too large",
    415: "Unsupported kind of body",
    422: "The request cannot be answered",
    429: "Too many requests",
    500: "Internal error",
    503: "Overloaded",
}
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
# Answers that every operation may give, for the OpenAPI document.
_CONTENT = {"application/problem+json": {"schema": ProblemDetails.model_json_schema()}}
PROBLEMS: dict[int | str, dict[str, object]] = {
    status: {"description": _TITLES[status], "content": _CONTENT}
    for status in (400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 503)
}


class NoStoreError(LinnaeusError):
    """A request needs the store of a service that has none."""


class UnknownVersionError(LinnaeusError):
    """A request names a version of a model that does not exist."""


class UnknownJobError(LinnaeusError):
    """A request names a job that does not exist."""


NOT_FOUND = (UnknownModelError, UnknownDocumentError, UnknownVersionError, UnknownJobError, NoStoreError)


class ProblemError(HTTPException):
    """A problem that is known when it is raised."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, detail, dict(headers or {}))


def as_json(content: object) -> bytes:
    """JSON in UTF-8; halves of surrogate pairs, which UTF-8 cannot encode, are replaced."""
    return _ENCODER.encode(content).encode("utf-8", "replace")


def json_answer(request: Request, status: int = 200, /, **content: object) -> Response:
    """An answer with the id of its request."""
    return Response(as_json({"request_id": request_id(request), **content}), status, media_type="application/json")


def problem(
    status: int,
    detail: str,
    request_id: str,
    *,
    headers: Mapping[str, str] | None = None,
    errors: list[dict[str, str]] | None = None,
) -> Response:
    """A response that says what went wrong."""
    content = problem_of(status, detail, request_id)
    if errors:
        content["errors"] = errors
    return Response(as_json(content), status, dict(headers or {}), media_type="application/problem+json")


def problem_of(status: int, detail: str, request_id: str) -> dict[str, object]:
    """The content of a problem."""
    title = _TITLES.get(status, "Error")
    name = title.lower().replace(" ", "-")
    return {
        "type": f"urn:linnaeus:problem:{name}",
        "title": title,
        "status": status,
        "detail": visible(detail),
        "request_id": request_id,
    }


def status_of(error: LinnaeusError) -> int:
    """404 for what the address names but does not exist, 409 for a conflict with what is stored, 422 for the rest."""
    if isinstance(error, NOT_FOUND):
        return 404
    return 409 if isinstance(error, KeyReusedError) else 422


def user_of(request: Request) -> User:
    """The user of a request."""
    user: User = request.scope["state"]["user"]
    return user


def check_name(request: Request, name: str) -> None:
    """Refuse a request of a coder in the name of somebody else, where the service has users."""
    user = user_of(request)
    if user.name and user.name != name:
        raise ProblemError(403, f"{user.name!r} cannot act in the name of {name!r}.")


def request_id(request: Request) -> str:
    """The id of a request, given by the client or made by the service."""
    return str(request.scope["state"]["request_id"])


def install(app: FastAPI, timeout: float) -> None:
    """Answer all errors as problems."""

    async def of_user(request: Request, error: Exception) -> Response:
        assert isinstance(error, LinnaeusError)
        return problem(status_of(error), str(error), request_id(request))

    async def of_node(request: Request, error: Exception) -> Response:
        status = 404 if request.method == "GET" else 422
        return problem(status, str(error), request_id(request))

    async def of_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        detail = error.detail
        if error.status_code == 404 and detail == "Not Found":
            detail = f"There is nothing at {request.url.path}; /docs lists all addresses."
        elif error.status_code == 405:
            detail = f"{request.url.path} does not take {request.method}; /docs lists what it takes."
        elif error.status_code == 400 and not isinstance(error, ProblemError):
            detail = "The body cannot be read; expected JSON in UTF-8."
        return problem(error.status_code, detail, request_id(request), headers=error.headers)

    async def of_validation(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        kind = request.headers.get("content-type", "nothing")
        if "json" not in kind and any(tuple(one["loc"]) == ("body",) for one in error.errors()):
            detail = f"The body was sent as {kind}; send JSON with the header Content-Type: application/json."
            return problem(415, detail, request_id(request))
        status = 400 if request.url.path.startswith("/v1/") else 422  # as Annif does
        return invalid(list(error.errors()), request_id(request), status)

    async def of_time(request: Request, error: Exception) -> Response:
        detail = f"The request took longer than {timeout:g} s; send fewer documents at once, or use a stream."
        return problem(503, detail, request_id(request), headers={"Retry-After": "1"})

    app.add_exception_handler(TaxonomyError, of_node)
    app.add_exception_handler(LinnaeusError, of_user)
    app.add_exception_handler(HTTPException, of_http)
    app.add_exception_handler(RequestValidationError, of_validation)
    app.add_exception_handler(TimeoutError, of_time)


def invalid(found: list[dict[str, object]], id_: str, status: int = 422) -> Response:
    """A problem that lists what is wrong where in a request."""
    if any(error["type"] == "json_invalid" for error in found):
        return problem(400, "The body is not valid JSON; send application/json in UTF-8.", id_)
    errors = []
    for error in found[:20]:
        place = error["loc"]
        steps = [str(step) for step in place] if isinstance(place, (tuple, list)) else []
        errors.append({"place": ".".join(steps), "message": str(error["msg"])})
    first = errors[0]
    detail = f"{first['place']}: {first['message']}. /docs describes what is expected."
    return problem(status, detail, id_, errors=errors)


def unexpected(request_id: str, error: Exception) -> Response:
    """The answer to an error of the service itself, whose trace goes to the log only."""
    _LOG.error("request %s failed", request_id, exc_info=error)
    detail = f"The service failed on this request; its log has the cause under the id {request_id}."
    return problem(500, detail, request_id)
