"""The application: all addresses of the service around its models."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncIterator

import anyio.to_thread
from fastapi import FastAPI
from fastapi import Request as HttpRequest
from starlette.responses import Response

from linnaeus import __version__
from linnaeus.serve import annif, browsing, inference, predicting, reviewing, working
from linnaeus.serve.desk import addresses
from linnaeus.serve.desk import page as desk_page
from linnaeus.serve.direct import DirectPath
from linnaeus.serve.guard import Guard
from linnaeus.serve.learning import learn_online
from linnaeus.serve.page import STYLE, page
from linnaeus.serve.problems import install, json_answer
from linnaeus.serve.service import Service
from linnaeus.serve.settings import Settings

__all__ = ["create_app", "worker_app"]

_LOG = logging.getLogger("linnaeus.serve")


def create_app(settings: Settings) -> FastAPI:
    """The application that serves the models of some folders, which are loaded now.

    Parameters
    ----------
    settings : Settings
        Folders and limits.

    Returns
    -------
    FastAPI
        An ASGI application; ``app.state.service`` has the models and metrics.
    """
    service = Service(settings)
    app = FastAPI(
        title="linnaeus",
        version=__version__,
        description="Classify documents into a taxonomy. Errors are problem+json and say what to do.",
        docs_url=None,  # these pages load scripts from other hosts
        redoc_url=None,
        lifespan=lambda _: _running(service),
    )
    app.state.service = service
    install(app, settings.timeout)
    app.add_middleware(DirectPath, api=app, service=service)  # type: ignore[arg-type,unused-ignore]
    app.add_middleware(Guard, settings=settings, metrics=service.metrics, access=service.access)  # type: ignore[arg-type,unused-ignore]
    _add_own_addresses(app, service)
    for part in (predicting, browsing, reviewing, working, annif, inference):
        app.include_router(part.router(service))
    if service.has_store:
        app.include_router(addresses.router(service))
        app.include_router(desk_page.router())
    return app


def _add_own_addresses(app: FastAPI, service: Service) -> None:
    """Health, metrics and documentation."""

    @app.get("/api/v1/health", tags=["service"])
    async def health(http: HttpRequest) -> Response:
        """Whether the process answers."""
        return json_answer(http, status="ok", version=__version__)

    @app.get("/api/v1/ready", tags=["service"])
    async def ready(http: HttpRequest) -> Response:
        """Which models are loaded, and whether a replaced folder could not be loaded."""
        models = [served.reference for served in service.models]
        return json_answer(http, status="ready", models=models, reload_failures=service.models.failures)

    @app.get("/metrics", tags=["service"])
    async def metrics() -> Response:
        """Counts and durations for Prometheus."""
        return Response(service.metrics_text(), media_type="text/plain; version=0.0.4")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return Response(page(app.openapi()), media_type="text/html")

    @app.get("/docs/style.css", include_in_schema=False)
    async def style() -> Response:
        return Response(STYLE, media_type="text/css")


@contextlib.asynccontextmanager
async def _running(service: Service) -> AsyncIterator[None]:
    """What runs beside the answers: reloading, scoring of queues, jobs."""
    settings = service.settings
    tasks = [asyncio.create_task(_reload(service))] if settings.reload_every else []
    if settings.reload_every and service.has_store:
        tasks.append(asyncio.create_task(_score(service)))
    if settings.workers > 1:
        tasks.append(asyncio.create_task(_end_with(settings.exporter())))
    if service.has_store:
        await service.jobs.adopt()
    yield
    if service.has_store:
        await service.jobs.close()
    for task in tasks:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    service.close()


def worker_app() -> FastAPI:
    """The application of a worker process."""
    return create_app(Settings.exported())


async def _end_with(parent: int) -> None:
    """End when the process that started this worker was killed: nobody else would end it, and it has the port."""
    while os.getppid() == parent:
        await asyncio.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)


async def _reload(service: Service) -> None:
    """Check the folders at regular intervals."""
    while True:
        await asyncio.sleep(service.settings.reload_every)
        before = dict(service.models.failures)
        for name in await anyio.to_thread.run_sync(service.models.refresh):
            _LOG.warning("loaded %s again: its folder was replaced", name)
        for name, reason in service.models.failures.items():
            if before.get(name) != reason:
                _LOG.error("%s was replaced but cannot be loaded; the previous model still answers: %s", name, reason)


async def _score(service: Service) -> None:
    """Score documents of queues again after their model was replaced, and let online models learn from verdicts.

    One of several workers does it; another one when this one has ended.
    """
    while True:
        await asyncio.sleep(service.settings.reload_every)
        if not service.review.is_first():
            continue
        for served in service.models:
            try:
                while await service.work(served, lambda _, served=served: service.review.score(served)):  # type: ignore[misc]
                    await asyncio.sleep(0)
            except Exception:
                _LOG.exception("documents of the queue %s cannot be scored", served.name)
            try:
                while await anyio.to_thread.run_sync(learn_online, service.review, served):
                    await anyio.to_thread.run_sync(service.models.refresh)
            except Exception:
                _LOG.exception("%s cannot learn from verdicts", served.name)
