"""The state of a running service: its models, limits and counts, and the thread that work is done in."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from linnaeus.serve.access import Access
from linnaeus.serve.jobs import Jobs
from linnaeus.serve.metrics import Labels, Metrics
from linnaeus.serve.models import ModelRegistry, ServedModel
from linnaeus.serve.problems import NoStoreError, ProblemError
from linnaeus.serve.review import Review
from linnaeus.serve.schemas import Document, Request
from linnaeus.serve.settings import Settings

if TYPE_CHECKING:
    from linnaeus.answering.records import Record

__all__ = ["Service"]

T = TypeVar("T")


class Service:
    """Models that answer within limits."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.models = ModelRegistry(settings.folders)
        self.metrics = Metrics(str(os.getpid()) if settings.workers > 1 else None)
        self._review = None if settings.store is None else Review(settings)
        self.access = Access(settings, self._review)
        self._jobs = None if self._review is None else Jobs(self)
        self._waiting = 0

    @property
    def review(self) -> Review:
        """Documents and verdicts; raises an error where the service has no store."""
        if self._review is None:
            raise NoStoreError("This service keeps no documents; start it with `linnaeus serve MODEL --store FOLDER`.")
        return self._review

    @property
    def jobs(self) -> Jobs:
        """Long work; raises an error where the service has no store."""
        if self._jobs is None:
            raise NoStoreError("This service has no jobs; start it with `linnaeus serve MODEL --store FOLDER`.")
        return self._jobs

    @property
    def has_store(self) -> bool:
        """Whether documents and verdicts are kept."""
        return self._review is not None

    def close(self) -> None:
        """Close the store."""
        if self._review is not None:
            self._review.close()

    @contextlib.contextmanager
    def _waits(self) -> Iterator[float]:
        """Count a request that waits for a model, and give its deadline; refuse it if too many are waiting."""
        if self._waiting >= self.settings.max_waiting:
            raise ProblemError(
                503, f"{self._waiting} requests are waiting already; try again later.", {"Retry-After": "1"}
            )
        self._waiting += 1
        try:
            yield time.monotonic() + self.settings.timeout
        finally:
            self._waiting -= 1

    async def work(self, served: ServedModel, function: Callable[[float], T]) -> T:
        """Call a function with a deadline in a thread, one at a time for each model."""
        with self._waits() as deadline:
            return await anyio.to_thread.run_sync(partial(_locked, served, function, deadline))

    async def records(self, served: ServedModel, request: Request, documents: list[Document]) -> list[Record]:
        """One record for each of the documents of a request, in their order."""
        with self._waits() as deadline:
            return await served.queue.records(request, documents, deadline)

    async def record(
        self,
        served: ServedModel,
        operation: str,
        request_id: str,
        documents: Sequence[Document],
        results: Sequence[Mapping[str, Any]],
    ) -> None:
        """Write the answers to documents into the audit log, if there is one, before they are sent."""
        if self._review is not None and self.settings.audit_answers:
            contents = [document.content for document in documents]
            log = partial(self._review.log_answers, served, operation, request_id, contents, results)
            await anyio.to_thread.run_sync(log)

    async def with_memory(
        self, served: ServedModel, documents: Sequence[Document], records: list[Record]
    ) -> list[Record] | list[dict[str, object]]:
        """Records with what people decided about the same or similar documents; answers stay those of the model."""
        if self._review is None or not self._review.memory:
            return records
        contents = [
            document.model_dump(include={"text", "fields", "vector"}, exclude_none=True) for document in documents
        ]
        found = await anyio.to_thread.run_sync(self._review.remembered, served, contents)
        return [
            dict(record) if one is None else {**record, "memory": one}
            for record, one in zip(records, found, strict=True)
        ]

    def check_number(self, n_documents: int) -> None:
        """Refuse requests with too many documents."""
        most = self.settings.max_documents
        if n_documents > most:
            raise ProblemError(
                413,
                f"The request has {n_documents:,} documents; at most {most:,} are answered at once. Send several "
                "requests, or use a stream.",
            )

    def metrics_text(self) -> str:
        """All metrics, for Prometheus."""
        info: dict[Labels, float] = {
            (("model", m.name), ("fingerprint", m.fingerprint), ("kind", type(m.model.estimator).__name__)): 1
            for m in self.models
        }
        reloads: dict[Labels, float] = {
            (("model", name), ("result", result)): n for (name, result), n in self.models.reloads.items()
        }
        return self.metrics.text(
            {
                "linnaeus_model_info": ("gauge", "Models that are served.", info),
                "linnaeus_model_reloads_total": ("counter", "Folders that were loaded again.", reloads),
                "linnaeus_requests_waiting": ("gauge", "Requests in or before a model.", {(): self._waiting}),
            }
        )


def _locked(served: ServedModel, function: Callable[[float], T], deadline: float) -> T:
    if not served.lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
        raise TimeoutError
    try:
        return function(deadline)
    finally:
        served.lock.release()
