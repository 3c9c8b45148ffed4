"""Health and metadata of the Open Inference Protocol V2, for platforms that ask every model server in the same way.

Documents are not tensors with a fixed meaning, so that answers are requested below /api/v1.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from linnaeus import __version__
from linnaeus.answering.documents import texts_dataset
from linnaeus.serve.models import ServedModel
from linnaeus.serve.problems import PROBLEMS, ProblemError, as_json
from linnaeus.serve.service import Service

__all__ = ["router"]

Version = Annotated[str, Path(max_length=200, description="The fingerprint of the model.")]


def router(service: Service) -> APIRouter:
    """The addresses below /v2."""
    api = APIRouter(prefix="/v2", tags=["Open Inference Protocol"], responses=PROBLEMS)

    def found(name: str, version: str | None = None) -> ServedModel:
        served = service.models.get(name)
        if version not in (None, served.fingerprint):
            raise ProblemError(404, f"The model {name!r} has no version {version!r}; it is {served.fingerprint!r}.")
        return served

    @api.get("/health/live")
    async def live() -> Response:
        """Whether the process answers."""
        return _json({"live": True})

    @api.get("/health/ready")
    async def ready() -> Response:
        """Whether all models are loaded; a service answers only after it has loaded them."""
        return _json({"ready": True})

    @api.get("")
    async def server() -> Response:
        """Name, version and extensions of the server."""
        return _json({"name": "linnaeus", "version": __version__, "extensions": []})

    @api.get("/models/{name}")
    async def metadata(name: str) -> Response:
        """The documents that a model takes, and its answers, as tensors."""
        return _json(_metadata(found(name)))

    @api.get("/models/{name}/versions/{version}")
    async def version_metadata(name: str, version: Version) -> Response:
        """The same, for the version that runs."""
        return _json(_metadata(found(name, version)))

    @api.get("/models/{name}/ready")
    async def model_ready(name: str) -> Response:
        """Whether a model is loaded."""
        return _json({"name": found(name).name, "ready": True})

    @api.get("/models/{name}/versions/{version}/ready")
    async def version_ready(name: str, version: Version) -> Response:
        """Whether this version of a model runs."""
        return _json({"name": found(name, version).name, "ready": True})

    return api


def _json(content: object) -> Response:
    return Response(as_json(content), media_type="application/json")


def _metadata(served: ServedModel) -> dict[str, object]:
    estimator = served.model.estimator
    fields = served.card["takes"]
    names = fields if isinstance(fields, list) else ["text"]
    inputs: list[dict[str, object]] = [{"name": str(name), "datatype": "BYTES", "shape": [-1]} for name in names]
    if texts_dataset(served.model, []) is None:  # a model of vectors
        width = getattr(
            served.model.features_ if hasattr(served.model, "features_") else estimator, "n_features_in_", -1
        )
        inputs = [{"name": "vector", "datatype": "FP64", "shape": [-1, int(width)]}]
    n_labels = len(estimator.nodes_)
    return {
        "name": served.name,
        "versions": [served.fingerprint],
        "platform": f"linnaeus_{type(estimator).__name__.lower()}",
        "inputs": inputs,
        "outputs": [
            {"name": "scores", "datatype": "FP64", "shape": [-1, n_labels]},
            {"name": "labels", "datatype": "BYTES", "shape": [-1, -1]},
        ],
    }
