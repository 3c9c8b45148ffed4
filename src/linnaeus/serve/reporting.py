"""Addresses that report on a queue: progress, and exports of documents with their labels."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi import Request as HttpRequest
from starlette.responses import Response, StreamingResponse

from linnaeus.serve.exports import ENDINGS, FORMATS, export
from linnaeus.serve.problems import PROBLEMS, json_answer
from linnaeus.serve.progress import progress
from linnaeus.serve.review_schemas import Progress
from linnaeus.serve.reviewing import Model
from linnaeus.serve.service import Service

__all__ = ["router"]

_FILES: dict[int | str, dict[str, object]] = {
    200: {
        "description": "A file.",
        "content": {kind.partition(";")[0]: {} for kind in (entry[0] for entry in FORMATS.values())},
    }
}


def router(service: Service) -> APIRouter:
    """The addresses of progress and exports."""
    api = APIRouter(prefix="/api/v1", tags=["coding"], responses=PROBLEMS)

    @api.get("/progress", response_model=Progress)
    def queue_progress(http: HttpRequest, model: Model = None) -> Response:
        """Counts, accuracy on control documents, agreement of coders, and time left."""
        review, served = service.review, service.models.get(model)
        with review.read() as transaction:
            found = progress(transaction, served.name, served.taxonomy)
        return json_answer(http, queue=served.name, **found)

    @api.get("/export", responses=_FILES, response_class=Response)
    def export_file(
        format: Literal["jsonl", "csv", "annif", "label-studio", "skos"] = "jsonl",
        model: Model = None,
        state: Annotated[
            Literal["open", "partly", "done", "disagreement", "unsure", "all"] | None,
            Query(description="Only documents of this state; default: those with final labels."),
        ] = None,
    ) -> Response:
        """Documents with their final labels and decisions, as a file."""
        review, served = service.review, service.models.get(model)
        parts = export(review.database, served.name, format, served.taxonomy, state)
        name = f"{served.name}.{ENDINGS[format]}"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return StreamingResponse(parts, media_type=FORMATS[format][0], headers=headers)

    return api
