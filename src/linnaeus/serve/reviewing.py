"""Addresses for coders: documents of a queue, what to decide next, verdicts, progress, and exports.

A queue has the name of a model; the parameter ``model`` names it, by default the first model that is served. Ids of
documents are parameters of the query, since they may have slashes.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated, Literal

import anyio.to_thread
from fastapi import APIRouter, Body, Query
from fastapi import Request as HttpRequest
from starlette.responses import Response, StreamingResponse

from linnaeus.answering.documents import node_meant
from linnaeus.errors import ParameterError
from linnaeus.serve.exports import ENDINGS, FORMATS, export
from linnaeus.serve.imports import import_verdicts, read_verdicts
from linnaeus.serve.problems import PROBLEMS, ProblemError, check_name, json_answer, user_of
from linnaeus.serve.progress import progress
from linnaeus.serve.review import AT_ONCE, parsed
from linnaeus.serve.review_schemas import (
    AddDocuments,
    Added,
    Coder,
    DocumentAnswer,
    DocumentList,
    DocumentState,
    Erased,
    Identifier,
    ImportedVerdicts,
    NewVerdicts,
    NextDocuments,
    Progress,
    Release,
    Released,
    VerdictResults,
)
from linnaeus.serve.service import Service
from linnaeus.serve.store import queue
from linnaeus.serve.store.database import Row, Transaction
from linnaeus.serve.store.documents import (
    UNSCORED,
    Listing,
    NewDocument,
    content_of,
    document_row,
    list_documents,
    preview,
)
from linnaeus.serve.store.memory import remembered
from linnaeus.serve.store.verdicts import MACHINE, NewVerdict, history

__all__ = ["router"]

Model = Annotated[str | None, Query(max_length=100, description="The model whose queue is meant; default: the first.")]
Subtree = Annotated[str | None, Query(max_length=2000, description="Only documents answered at or below this node.")]
_EXPORTS: dict[int | str, dict[str, object]] = {
    200: {
        "description": "A file.",
        "content": {kind.partition(";")[0]: {} for kind in (entry[0] for entry in FORMATS.values())},
    }
}
_FILE = {
    "requestBody": {
        "required": True,
        "content": {
            kind: {"schema": {"type": "string"}}
            for kind in ("text/csv", "application/x-ndjson", "application/octet-stream")
        },
    }
}


class CodingHandlers:
    """What the addresses of documents, queue and verdicts answer."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def add(self, http: HttpRequest, request: Annotated[AddDocuments, Body()], model: Model = None) -> Response:
        """Add documents to a queue; those whose id it has already are left as they are."""
        self.service.check_number(len(request.documents))
        documents = [
            NewDocument(one.content, one.id, one.labels, one.source, one.assigned) for one in request.documents
        ]
        return await self._added(http, model, documents)

    async def add_file(
        self,
        http: HttpRequest,
        model: Model = None,
        name: Annotated[str, Query(max_length=200, description="Name of the file, kept as the source.")] = "file",
        format: Annotated[str | None, Query(max_length=50, description="Default: recognised from the content.")] = None,
    ) -> Response:
        """Add the documents of a file: CSV, TSV, JSON lines, Excel, or another format that `linnaeus` reads."""
        review, served, content = self.service.review, self.service.models.get(model), await http.body()
        documents = await anyio.to_thread.run_sync(partial(review.read_file, served, content, name, format))
        return await self._added(http, model, documents)

    async def _added(self, http: HttpRequest, model: str | None, documents: list[NewDocument]) -> Response:
        review, served = self.service.review, self.service.models.get(model)
        n_added, n_known = await self.service.work(served, lambda _: review.add(served, documents, score=False))
        for _ in range(0, n_added, AT_ONCE):  # the model can answer other requests between two parts
            await self.service.work(served, lambda _: review.score(served))
        return json_answer(http, queue=served.name, added=n_added, known=n_known)

    def documents(
        self,
        http: HttpRequest,
        model: Model = None,
        state: DocumentState | None = None,
        coder: Annotated[Coder | None, Query(description="Only documents that this coder decided.")] = None,
        subtree: Subtree = None,
        flagged: bool | None = None,
        q: Annotated[
            str | None, Query(max_length=200, description="Only documents whose id or content contains this.")
        ] = None,
        offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> Response:
        """Documents of a queue, in the order in which they were added."""
        review, served = self.service.review, self.service.models.get(model)
        under = None if subtree is None else node_meant(served.taxonomy, subtree)
        with review.read() as transaction:
            total, rows = list_documents(
                transaction, served.name, Listing(state, coder, under, flagged, q, offset, limit)
            )
        after = offset + limit if offset + limit < total else None
        shown = [_brief(row) for row in rows]
        return json_answer(http, queue=served.name, total=total, offset=offset, next_offset=after, documents=shown)

    def document(self, http: HttpRequest, id: Annotated[Identifier, Query()], model: Model = None) -> Response:
        """A document with all verdicts on it."""
        review, served = self.service.review, self.service.models.get(model)
        with review.read() as transaction:
            row = document_row(transaction, served.name, id)
            verdicts = [_verdict(one) for one in history(transaction, row["number"])]
            shown = _whole(row, review.memory, transaction)
        return json_answer(http, queue=served.name, model=served.reference, document=shown, history=verdicts)

    def erase(self, http: HttpRequest, id: Annotated[Identifier, Query()], model: Model = None) -> Response:
        """Delete the text of a document; its verdicts stay."""
        review, served = self.service.review, self.service.models.get(model)
        return json_answer(http, erased=review.erase(served, id))

    async def next_documents(
        self,
        http: HttpRequest,
        coder: Annotated[Coder, Query()],
        model: Model = None,
        subtree: Subtree = None,
        limit: Annotated[int, Query(ge=1, le=50, description="Maximum number of documents.")] = 1,
    ) -> Response:
        """The documents that a coder has, then the most useful ones and random control documents that nobody has."""
        check_name(http, coder)
        review, served = self.service.review, self.service.models.get(model)
        under = None if subtree is None else node_meant(served.taxonomy, subtree)
        await self.service.work(served, lambda _: review.score(served))

        def handed_out() -> tuple[list[dict[str, object]], int]:
            with review.change() as transaction:
                rows = queue.next_documents(
                    transaction,
                    served.name,
                    coder,
                    subtree=under,
                    limit=limit,
                    control_share=review.shares.control,
                    minutes=review.lease_minutes,
                )
                whole = [{**document_row(transaction, served.name, row["id"]), "until": row["until"]} for row in rows]
                shown = [_whole(row, review.memory, transaction) for row in whole]
                return shown, queue.remaining(transaction, served.name, coder, under)

        shown, n_left = await anyio.to_thread.run_sync(handed_out)
        return json_answer(http, queue=served.name, model=served.reference, documents=shown, remaining=n_left)

    def release(self, http: HttpRequest, request: Annotated[Release, Body()], model: Model = None) -> Response:
        """Return documents to the queue, so that others can get them."""
        review, served = self.service.review, self.service.models.get(model)
        with review.change() as transaction:
            n = queue.release(transaction, served.name, request.coder, request.ids)
        return json_answer(http, released=n)

    def verdicts(self, http: HttpRequest, request: Annotated[NewVerdicts, Body()], model: Model = None) -> Response:
        """Store verdicts, all of them or none; one whose key is known is not stored again."""
        review, served = self.service.review, self.service.models.get(model)
        self.service.check_number(len(request.verdicts))
        for one in request.verdicts:
            check_name(http, one.coder)
            if one.coder.startswith(MACHINE):
                raise ParameterError(f"{one.coder!r} cannot be a coder; names that begin with {MACHINE!r} are models.")
            if one.adjudication and not user_of(http).may("reviewer"):
                raise ProblemError(403, "An adjudication needs the role reviewer.")
        given = [
            NewVerdict(
                **one.model_dump(exclude={"labels"}),
                labels=None if one.labels is None else review.named_labels(served, one.labels),
                taxonomy=served.taxonomy.fingerprint,
            )
            for one in request.verdicts
        ]
        results = [
            {"key": one.key, "number": one.number, "stored": not one.repeated, "state": one.state}
            for one in review.verdicts(served, given)
        ]
        return json_answer(http, queue=served.name, results=results)

    async def verdicts_file(
        self,
        http: HttpRequest,
        coder: Annotated[Coder, Query(description="Coder of the verdicts, where the file does not name one.")],
        model: Model = None,
        name: Annotated[str, Query(max_length=200, description="Name of the file, for messages.")] = "file",
        format: Annotated[str | None, Query(max_length=50, description="Default: recognised from the content.")] = None,
    ) -> Response:
        """Store the verdicts of a file that was coded elsewhere: TSV of Annif, JSON of Label Studio, JSON lines, CSV.

        Documents are found by id or by text, and added if the queue does not have them.
        """
        review, served, content = self.service.review, self.service.models.get(model), await http.body()
        coded = await anyio.to_thread.run_sync(partial(read_verdicts, review, served, content, name, format, coder))
        found = await self.service.work(served, lambda _: import_verdicts(review, served, coded))
        for _ in range(0, found.added, AT_ONCE):
            await self.service.work(served, lambda _: review.score(served))
        return json_answer(http, queue=served.name, **asdict(found))

    def queue_progress(self, http: HttpRequest, model: Model = None) -> Response:
        """Counts, accuracy on control documents, agreement of coders, and time left."""
        review, served = self.service.review, self.service.models.get(model)
        with review.read() as transaction:
            found = progress(transaction, served.name, served.taxonomy)
        return json_answer(http, queue=served.name, **found)

    def export_file(
        self,
        format: Literal["jsonl", "csv", "annif", "label-studio", "skos"] = "jsonl",
        model: Model = None,
        state: Annotated[
            Literal["open", "partly", "done", "disagreement", "unsure", "all"] | None,
            Query(description="Only documents of this state; default: those with final labels."),
        ] = None,
    ) -> Response:
        """Documents with their final labels and decisions, as a file."""
        review, served = self.service.review, self.service.models.get(model)
        parts = export(review.database, served.name, format, served.taxonomy, state)
        name = f"{served.name}.{ENDINGS[format]}"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return StreamingResponse(parts, media_type=FORMATS[format][0], headers=headers)


def router(service: Service) -> APIRouter:
    """The addresses of documents, queue and verdicts."""
    api = APIRouter(prefix="/api/v1", tags=["coding"], responses=PROBLEMS)
    on = CodingHandlers(service)
    api.post("/documents", response_model=Added)(on.add)
    api.post("/documents/file", response_model=Added, openapi_extra=_FILE)(on.add_file)
    api.get("/documents", response_model=DocumentList)(on.documents)
    api.get("/documents/one", response_model=DocumentAnswer)(on.document)
    api.post("/documents/erase", response_model=Erased)(on.erase)
    api.get("/queue/next", response_model=NextDocuments)(on.next_documents)
    api.post("/queue/release", response_model=Released)(on.release)
    api.post("/verdicts", response_model=VerdictResults)(on.verdicts)
    api.post("/verdicts/file", response_model=ImportedVerdicts, openapi_extra=_FILE)(on.verdicts_file)
    api.get("/progress", response_model=Progress)(on.queue_progress)
    api.get("/export", responses=_EXPORTS, response_class=Response)(on.export_file)
    return api


def _brief(row: Row) -> dict[str, object]:
    hidden = bool(row["blind"]) and row["state"] in ("open", "partly")
    return {
        "id": row["id"],
        "state": row["state"],
        "labels": parsed(row, "final"),
        "given": parsed(row, "given"),
        "answer": None if hidden else parsed(row, "answer"),
        **{name: bool(row[name]) for name in ("control", "blind", "double", "flagged")},
        "erased": bool(row["erased"]),
        "preview": preview(row),
        "assigned": row["assigned"],
        "source": row["source"],
        "usefulness": None if row["usefulness"] == UNSCORED else row["usefulness"],
    }


def _whole(row: Row, memory: bool, transaction: Transaction) -> dict[str, object]:
    """A document with its content, and what is remembered about others like it."""
    hidden = bool(row["blind"]) and row["state"] in ("open", "partly")
    content = content_of(row)
    known = memory and not hidden and content is not None
    return {
        **_brief(row),
        **(content or {}),
        "memory": remembered(transaction, row["queue"], content or {}, row["number"]) if known else None,
        "suggestions": None if hidden else parsed(row, "suggestions"),
        "scored_by": row["scored_by"],
        "lease_until": row.get("until"),
    }


def _verdict(row: Row) -> dict[str, object]:
    same = ("number", "key", "coder", "kind", "model", "taxonomy", "rank", "seconds", "note", "time", "counts")
    return {
        **{name: row[name] for name in same},
        **{name: parsed(row, name) for name in ("labels", "shown", "answer")},
        "undoes": row["undoes_key"],
        "adjudication": bool(row["adjudication"]),
    }
