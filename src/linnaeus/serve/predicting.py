"""Addresses that answer documents: predict, top, n-best, risk, probabilities, explain, and streams of them.

A stream takes one document per line (a JSON string, or an object) and answers each with one line, while it still
receives: lines are read only as fast as answers are taken by the client.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Body
from fastapi import Request as HttpRequest
from pydantic import ValidationError
from starlette.responses import Response, StreamingResponse

from linnaeus.answering.records import APPROXIMATE
from linnaeus.errors import LinnaeusError
from linnaeus.serve import answers
from linnaeus.serve.guard import Receive, Send
from linnaeus.serve.models import ServedModel
from linnaeus.serve.problems import PROBLEMS, ProblemError, as_json, invalid, problem_of, request_id
from linnaeus.serve.schemas import (
    Answer,
    Document,
    Explain,
    Explanation,
    NBest,
    Predict,
    Probabilities,
    ProbabilityAnswer,
    Request,
    Risk,
    Top,
)
from linnaeus.serve.service import Service

__all__ = ["answered", "router"]

_AT_ONCE = 64  # lines of a stream that are answered together
_STREAMED: dict[str, type[Request]] = {"predict": Predict, "top": Top, "n-best": NBest, "risk": Risk}
_LINES = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-ndjson": {
                "schema": {"type": "string"},
                "example": '"a text"\n{"id": "d2", "text": "another", "rules": {"at_most": 1}}\n',
            }
        },
    }
}
_ANSWERED_LINES: dict[int | str, dict[str, object]] = {
    200: {"description": "One record, or one problem, per line.", "content": {"application/x-ndjson": {}}}
}


class AnswerHandlers:
    """What the addresses of a model answer."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def predict(self, http: HttpRequest, name: str, request: Annotated[Predict, Body()]) -> Response:
        """A label set for each document."""
        return await answered(self.service, http, name, "predict", request)

    async def top(self, http: HttpRequest, name: str, request: Annotated[Top, Body()]) -> Response:
        """The k best nodes for each document."""
        return await answered(self.service, http, name, "top", request)

    async def n_best(self, http: HttpRequest, name: str, request: Annotated[NBest, Body()]) -> Response:
        """The n best label sets for each document."""
        return await answered(self.service, http, name, "n-best", request)

    async def risk(self, http: HttpRequest, name: str, request: Annotated[Risk, Body()]) -> Response:
        """Label sets of which at most a share is wrong; other documents are left for review with candidates."""
        return await answered(self.service, http, name, "risk", request)

    async def probabilities(self, http: HttpRequest, name: str, request: Annotated[Probabilities, Body()]) -> Response:
        """Probabilities of nodes for each document."""
        service = self.service
        service.check_number(len(request.documents))
        served = service.models.get(name)
        results = await service.work(served, lambda deadline: answers.probabilities(served, request, deadline))
        service.metrics.documents(name, "probabilities", len(results))
        documents = [Document(text=one) if isinstance(one, str) else one for one in request.documents]
        await service.record(served, "probabilities", request_id(http), documents, results)
        return _json(http, served, results=results)

    async def explain(self, http: HttpRequest, name: str, request: Annotated[Explain, Body()]) -> Response:
        """The words that count for and against each node of the paths to the labels of one document."""
        service = self.service
        served = service.models.get(name)
        nodes = await service.work(served, lambda _: answers.explain(served, request))
        service.metrics.documents(name, "explain", 1)
        given = request.document
        document = Document(text=given) if isinstance(given, str) else given
        entry = {"id": document.id or "1", "labels": [{"label": node["node"]} for node in nodes]}
        await service.record(served, "explain", request_id(http), [document], [entry])
        return _json(http, served, nodes=nodes)

    async def stream(self, http: HttpRequest, name: str, operation: str) -> Response:
        """One document per line, answered with one line each; parameters of the operation are in the query.

        Operations are predict, top, n-best and risk; values of parameters are JSON: `k=3`, `rules={"at_most":1}`.
        """
        service = self.service
        served = service.models.get(name)
        kind = _STREAMED.get(operation)
        if kind is None:
            raise ProblemError(404, f"There is no stream of {operation!r}; streams are {', '.join(_STREAMED)}.")
        try:
            form = kind.model_validate({"documents": ["x"], **_parameters(http.query_params)})
        except ValidationError as error:
            return invalid([dict(one) for one in error.errors()], request_id(http))
        lines = _Lines(service, served, form, request_id(http), operation)
        service.metrics.documents(name, operation, 0)
        body = _answered(lines, http, partial(service.metrics.documents, name, operation))
        headers = {"X-Model-Fingerprint": served.fingerprint}
        return _OpenStream(body, media_type="application/x-ndjson", headers=headers)


def router(service: Service) -> APIRouter:
    """The addresses below /api/v1/models/{name}."""
    api = APIRouter(prefix="/api/v1/models/{name}", tags=["answers"], responses=PROBLEMS)
    on = AnswerHandlers(service)
    for address, handler in (("predict", on.predict), ("top", on.top), ("n-best", on.n_best), ("risk", on.risk)):
        api.post(f"/{address}", response_model=Answer)(handler)
    api.post("/probabilities", response_model=ProbabilityAnswer)(on.probabilities)
    api.post("/explain", response_model=Explanation)(on.explain)
    streamed = api.post("/{operation}/stream", openapi_extra=_LINES, responses=_ANSWERED_LINES, response_class=Response)
    streamed(on.stream)
    return api


async def answered(service: Service, http: HttpRequest, name: str, operation: str, request: Request) -> Response:
    """The answer to a request for records."""
    service.check_number(len(request.documents))
    served, documents = service.models.get(name), request.given()
    results = await service.records(served, request, documents)
    service.metrics.documents(name, operation, len(results))
    await service.record(served, operation, request_id(http), documents, results)
    shown = await service.with_memory(served, documents, results)
    control = served.model.risk_control_ if isinstance(request, Risk) else None
    if control is not None and not control.exact:
        return _json(http, served, results=shown, note=APPROXIMATE)
    return _json(http, served, results=shown)


def _json(http: HttpRequest, served: ServedModel, **content: object) -> Response:
    """An answer with the id of its request and the model that gave it."""
    whole = {"request_id": request_id(http), "model": served.reference, **content}
    return Response(as_json(whole), media_type="application/json")


def _parameters(query: Mapping[str, str]) -> dict[str, object]:
    """Parameters of a query as JSON values, or as text where they are not JSON."""
    found: dict[str, object] = {}
    for name, text in query.items():
        if name == "documents":
            raise ProblemError(422, "The documents of a stream are the lines of its body, not a parameter.")
        try:
            found[name] = json.loads(text)
        except (ValueError, RecursionError):
            found[name] = text
    return found


class _OpenStream(StreamingResponse):
    """A streaming response that leaves the body of the request to its generator.

    That of Starlette listens for the end of the connection meanwhile, and would take parts of the body.
    """

    async def __call__(self, scope: object, receive: Receive, send: Send) -> None:
        await self.stream_response(send)


class _Lines:
    """Lines of a stream to lines of its answer."""

    def __init__(self, service: Service, served: ServedModel, form: Request, id_: str, operation: str) -> None:
        self.service, self.served, self.form, self.id, self.operation = service, served, form, id_, operation
        self.number = 0

    async def answer(self, lines: list[bytes]) -> bytes:
        """The answers to some lines, one line each; empty lines are left out."""
        first, documents, failed = self.number + 1, {}, {}
        for line in lines:
            self.number += 1
            if not line.strip():
                continue
            try:
                documents[self.number] = _document(line)
            except ValueError as error:
                failed[self.number] = self._failure(self.number, 422, _reason(error))
        found: dict[int, object] = dict(failed)
        if documents:
            answered = await self.service.work(self.served, partial(self._records, documents))
            right = {n: one for n, one in answered.items() if isinstance(one, dict) and "problem" not in one}
            right_ones = [documents[n] for n in right]
            await self.service.record(self.served, self.operation, self.id, right_ones, list(right.values()))
            found.update(answered)
        return b"".join(as_json(found[n]) + b"\n" for n in range(first, self.number + 1) if n in found)

    def _records(self, documents: dict[int, Document], deadline: float) -> dict[int, object]:
        """Answers by number of line; one by one where the lines cannot be answered together."""
        named = {n: d if d.id is not None else d.model_copy(update={"id": str(n)}) for n, d in documents.items()}
        try:
            together = self.form.model_copy(update={"documents": list(named.values())})
            return dict(zip(named, answers.records(self.served, together, deadline), strict=True))
        except LinnaeusError as error:
            if len(named) == 1:
                return {n: self._failure(n, 422, str(error)) for n in named}
        return {n: found for n, d in named.items() for found in self._records({n: d}, deadline).values()}

    def _failure(self, number: int, status: int, detail: str) -> dict[str, object]:
        return {"line": number, "problem": problem_of(status, detail, self.id)}

    def failure(self, status: int, detail: str) -> bytes:
        """The last line of a stream that cannot be continued."""
        return as_json(self._failure(self.number + 1, status, detail)) + b"\n"


def _document(line: bytes) -> Document:
    """The document of a line."""
    try:
        value = json.loads(line)
    except RecursionError:
        raise ValueError("the line is nested too deeply") from None
    return Document(text=value) if isinstance(value, str) else Document.model_validate(value)


def _reason(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or 'document'}: {first['msg']}."
    return "The line is not valid JSON in UTF-8; expected a string, or an object with 'text', 'fields' or 'vector'."


async def _answered(lines: _Lines, http: HttpRequest, count: Callable[[int], None]) -> AsyncIterator[bytes]:
    """Read the body of a request line by line, and yield the answers."""
    most, rest = lines.service.settings.max_bytes, b""
    try:
        async for part in http.stream():
            *whole, rest = (rest + part).split(b"\n")
            for start in range(0, len(whole), _AT_ONCE):
                batch = whole[start : start + _AT_ONCE]
                yield await lines.answer(batch)
                count(len(batch))
            if len(rest) > most:
                raise ProblemError(413, f"A line is longer than {most:,} bytes; the stream ends here.")
        if rest.strip():
            yield await lines.answer([rest])
            count(1)
    except ProblemError as error:
        yield lines.failure(error.status_code, error.detail)
    except TimeoutError:
        yield lines.failure(
            503, f"A batch took longer than {lines.service.settings.timeout:g} s; the stream ends here."
        )
