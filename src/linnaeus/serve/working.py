"""Addresses of long work: jobs with progress, and what models learn from verdicts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Literal

import anyio.to_thread
from fastapi import APIRouter, Body, Query
from fastapi import Request as HttpRequest
from pydantic import Field
from starlette.responses import FileResponse, Response, StreamingResponse

from linnaeus.errors import ParameterError
from linnaeus.serve.jobs import FINISHED, OPERATIONS, shown_job
from linnaeus.serve.learning import list_versions, promote
from linnaeus.serve.problems import PROBLEMS, ProblemError, check_name, json_answer, user_of
from linnaeus.serve.review_schemas import Coder
from linnaeus.serve.schemas import NBest, Predict, Risk, StrictSchema, Top
from linnaeus.serve.service import Service

__all__ = ["router"]

_POLL = 0.3  # seconds between two looks at a job whose progress is sent
Limit = Annotated[str, Field(max_length=50)]


class Batch(StrictSchema):
    """A long batch: exactly one of the requests of predict, top, n-best and risk."""

    model: str | None = Field(default=None, max_length=100)
    predict: Predict | None = None
    top: Top | None = None
    n_best: NBest | None = None
    risk: Risk | None = None


class Refit(StrictSchema):
    """A training with verdicts."""

    max_time: Limit | None = Field(default=None, description="Such as 10min or 2h, for models that can be stopped.")
    max_memory: Limit | None = Field(default=None, description="Such as 4GB, for models that can be limited.")


class Promotion(StrictSchema):
    """The version that is to run, and who decided it."""

    version: str = Field(max_length=100)
    by: Coder


class Job(StrictSchema):
    """A job: ``state`` is waiting, running, done, failed or cancelled."""

    id: str
    kind: str
    model: str
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    total: int
    done: int
    detail: str | None
    result: dict[str, object] | None
    created: float
    changed: float


class JobAnswer(StrictSchema):
    """One job."""

    request_id: str
    job: Job


class JobList(StrictSchema):
    """Jobs, newest first."""

    request_id: str
    jobs: list[Job]


class Version(StrictSchema):
    """A version of a model that is kept."""

    id: str
    kind: str
    fingerprint: str
    created: float
    comparison: list[dict[str, object]] = Field(
        description="Rows of a comparison with the model that ran, on control documents; empty where there are none."
    )
    documents: int | None
    control: int | None


class VersionList(StrictSchema):
    """Versions of a model, newest first, and the fingerprint of the one that runs."""

    request_id: str
    running: str
    versions: list[Version]


class Promoted(StrictSchema):
    """The version under which the model that ran before is kept, and both fingerprints."""

    request_id: str
    version: str
    before: str
    after: str


class JobHandlers:
    """What the addresses of jobs and versions answer."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def _job(self, http: HttpRequest, id: str, status: int = 200) -> Response:
        return json_answer(http, status, job=shown_job(self.service.jobs.get(id)))

    async def create(self, http: HttpRequest, batch: Annotated[Batch, Body()]) -> Response:
        """Answer many documents in the background; the documents of a job are limited by the size of the body only."""
        jobs = self.service.jobs
        given = {
            kind: request for kind in OPERATIONS if (request := getattr(batch, kind.replace("-", "_"))) is not None
        }
        if len(given) != 1:
            raise ParameterError("A job has exactly one of 'predict', 'top', 'n_best' and 'risk'.")
        ((kind, request),) = given.items()
        served = self.service.models.get(batch.model)
        content = request.model_dump(exclude_none=True)
        n, owner = len(request.documents), user_of(http).name or None
        id_ = await anyio.to_thread.run_sync(jobs.create, kind, served.name, content, n, owner)
        jobs.start(id_)
        return await anyio.to_thread.run_sync(self._job, http, id_, 202)

    def list_jobs(self, http: HttpRequest, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> Response:
        """The newest jobs."""
        return json_answer(http, jobs=[shown_job(row) for row in self.service.jobs.newest(limit)])

    def one_job(self, http: HttpRequest, id: str) -> Response:
        """The state of a job."""
        return self._job(http, id)

    def cancel(self, http: HttpRequest, id: str) -> Response:
        """Stop a job; one that is finished stays as it is."""
        user, owner = user_of(http), self.service.jobs.get(id)["owner"]
        if user.name and user.name != owner and not user.may("admin"):
            raise ProblemError(403, f"The job {id!r} was started by {owner!r}; only an admin may also stop it.")
        self.service.jobs.cancel(id)
        return self._job(http, id)

    def result(self, http: HttpRequest, id: str) -> Response:
        """The records of a batch, one per line, as far as they are finished."""
        row = self.service.jobs.get(id)
        path = self.service.jobs.folder(row["id"]) / "result.jsonl"
        if row["kind"] not in OPERATIONS:
            raise ProblemError(404, f"The job {id!r} has no records; its result is in /api/v1/jobs/{id}.")
        if not path.exists():
            return Response(b"", media_type="application/x-ndjson")
        return FileResponse(path, media_type="application/x-ndjson")

    async def events(self, http: HttpRequest, id: str) -> Response:
        """The progress of a job as server-sent events, until it is finished."""
        first = await anyio.to_thread.run_sync(self.service.jobs.get, id)

        async def sent() -> AsyncIterator[bytes]:
            row, last = first, ""
            while True:
                text = json.dumps(shown_job(row))
                if text != last:
                    yield f"event: progress\ndata: {text}\n\n".encode()
                    last = text
                if row["state"] in FINISHED:
                    return
                await asyncio.sleep(_POLL)
                row = await anyio.to_thread.run_sync(self.service.jobs.get, id)

        return StreamingResponse(sent(), media_type="text/event-stream")

    async def _train(self, http: HttpRequest, name: str, kind: str, limits: Refit) -> Response:
        jobs, served = self.service.jobs, self.service.models.get(name)
        request: dict[str, object] = {
            "kind": kind,
            "model": str(served.folder),
            "training": list(self.service.settings.training),
            **limits.model_dump(),
        }
        id_ = await anyio.to_thread.run_sync(jobs.create, kind, served.name, request, 1, user_of(http).name or None)
        jobs.start(id_)
        return await anyio.to_thread.run_sync(self._job, http, id_, 202)

    async def refit(self, http: HttpRequest, name: str, request: Annotated[Refit, Body()]) -> Response:
        """Train the model again with all verdicts but those on control documents, and compare it on these."""
        return await self._train(http, name, "refit", request)

    async def recalibrate(self, http: HttpRequest, name: str) -> Response:
        """Calibrate the model again, for probabilities and promised risks, with verdicts on control documents only."""
        return await self._train(http, name, "recalibrate", Refit())

    def versions(self, http: HttpRequest, name: str) -> Response:
        """Versions of a model: trained or calibrated again, or replaced by another one."""
        review, served = self.service.review, self.service.models.get(name)
        with review.read() as transaction:
            return json_answer(http, running=served.fingerprint, versions=list_versions(transaction, served.name))

    def promoted(self, http: HttpRequest, name: str, request: Annotated[Promotion, Body()]) -> Response:
        """Let a version run in place of the model, which is kept as a version and can be restored in this way."""
        check_name(http, request.by)
        review, served = self.service.review, self.service.models.get(name)
        found = promote(review, served, request.version, request.by)
        self.service.models.refresh()
        return json_answer(http, version=found["version"], before=found["before"], after=found["after"])


def router(service: Service) -> APIRouter:
    """The addresses of jobs and versions."""
    api = APIRouter(prefix="/api/v1", tags=["jobs"], responses=PROBLEMS)
    on = JobHandlers(service)
    api.post("/jobs", response_model=JobAnswer, status_code=202)(on.create)
    api.get("/jobs", response_model=JobList)(on.list_jobs)
    api.get("/jobs/{id}", response_model=JobAnswer)(on.one_job)
    api.post("/jobs/{id}/cancel", response_model=JobAnswer)(on.cancel)
    api.get("/jobs/{id}/result", response_class=Response, responses={200: {"content": {"application/x-ndjson": {}}}})(
        on.result
    )
    api.get("/jobs/{id}/events", response_class=Response, responses={200: {"content": {"text/event-stream": {}}}})(
        on.events
    )
    api.post("/models/{name}/refit", response_model=JobAnswer, status_code=202)(on.refit)
    api.post("/models/{name}/recalibrate", response_model=JobAnswer, status_code=202)(on.recalibrate)
    api.get("/models/{name}/versions", response_model=VersionList)(on.versions)
    api.post("/models/{name}/promote", response_model=Promoted)(on.promoted)
    return api
