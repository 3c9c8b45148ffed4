"""Annif's addresses: every model is a project, and its taxonomy a vocabulary, so that clients of Annif work unchanged.

Scores are between 0 and 1, as Annif's are: probabilities where the model has them, otherwise the logistic function of
the scores, which keeps their order but is not calibrated.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Annotated
from urllib.parse import parse_qs

import anyio.to_thread
from fastapi import APIRouter, Body, Query
from fastapi import Request as HttpRequest
from pydantic import BaseModel, Field
from starlette.responses import Response

from linnaeus import __version__
from linnaeus.answering.documents import fields_of, main_field, reading_features
from linnaeus.errors import TaxonomyError, nearest
from linnaeus.serve.models import ServedModel
from linnaeus.serve.problems import PROBLEMS, ProblemError, as_json, request_id, user_of
from linnaeus.serve.review import Review
from linnaeus.serve.review_schemas import Identifier
from linnaeus.serve.schemas import Document, Top
from linnaeus.serve.service import Service
from linnaeus.serve.store.documents import NewDocument, Shares, digest_of, id_of
from linnaeus.serve.store.verdicts import NewVerdict
from linnaeus.taxonomy import Taxonomy

__all__ = ["router"]

_REMEMBERED = 20_000  # subjects whose texts are remembered

_FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-www-form-urlencoded": {
                "schema": {
                    "type": "object",
                    "required": ["text"],
                    "properties": {
                        "text": {"type": "string"},
                        "limit": {"type": "integer", "minimum": 0, "default": 10},
                        "threshold": {"type": "number", "minimum": 0, "maximum": 1, "default": 0},
                        "language": {"type": "string"},
                    },
                }
            }
        },
    }
}


class AnnifDocument(BaseModel):
    """A document of suggest-batch; metadata are fields of the model, others are ignored."""

    text: str
    document_id: str | None = None
    metadata: dict[str, str] = Field(default_factory=dict)


class AnnifBatch(BaseModel):
    """The body of suggest-batch."""

    documents: list[AnnifDocument]


class AnnifSubject(BaseModel):
    """A subject of a document; the label is not read."""

    uri: str
    label: str | None = None


class IndexedDocument(BaseModel):
    """A document with all its subjects."""

    text: str
    subjects: list[AnnifSubject] = Field(max_length=1000)
    document_id: Identifier | None = None
    metadata: dict[str, str] = Field(default_factory=dict)


Limit = Annotated[int, Query(ge=0, le=10_000)]
Threshold = Annotated[float, Query(ge=0, le=1)]


class AnnifHandlers:
    """What the addresses of Annif answer."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def info(self) -> Response:
        """Name and version."""
        return _json({"title": "linnaeus, with the interface of Annif", "version": __version__})

    def projects(self) -> Response:
        """The models as projects."""
        return _json({"projects": [_project(served) for served in self.service.models]})

    def project(self, project_id: str) -> Response:
        """A model as a project."""
        return _json(_project(self.service.models.get(project_id)))

    def vocabs(self) -> Response:
        """The taxonomies as vocabularies, each once."""
        found = {served.taxonomy.fingerprint: _vocabulary(served) for served in reversed(list(self.service.models))}
        return _json({"vocabs": list(reversed(found.values()))})

    async def suggest(self, http: HttpRequest, project_id: str) -> Response:
        """Suggestions for a text, which is sent as a form."""
        served = self.service.models.get(project_id)
        try:
            form = parse_qs((await http.body()).decode("utf-8"), keep_blank_values=True, max_num_fields=1000)
        except ValueError:
            raise ProblemError(400, "The body cannot be read; expected a form, URL-encoded in UTF-8.") from None
        values = {name: given[-1] for name, given in form.items()}
        if "text" not in values:
            raise ProblemError(400, "The form has no 'text'; send it as application/x-www-form-urlencoded.")
        metadata = {name.removeprefix("metadata_"): v for name, v in values.items() if name.startswith("metadata_")}
        limit, threshold = _number(values, "limit", 10, 10_000), _number(values, "threshold", 0.0, 1.0)
        documents = [_document(served, values["text"], metadata)]
        language = values.get("language") or None
        results = await self._suggested(request_id(http), project_id, documents, int(limit), threshold, language)
        return _json({"results": results[0]})

    async def suggest_batch(
        self,
        http: HttpRequest,
        project_id: str,
        batch: Annotated[AnnifBatch, Body()],
        limit: Limit = 10,
        threshold: Threshold = 0.0,
        language: str | None = None,
    ) -> Response:
        """Suggestions for several documents."""
        served = self.service.models.get(project_id)
        documents = [_document(served, one.text, one.metadata) for one in batch.documents]
        results = await self._suggested(request_id(http), project_id, documents, limit, threshold, language or None)
        pairs = zip(batch.documents, results, strict=True)
        return _json([{"document_id": one.document_id, "results": found} for one, found in pairs])

    async def _suggested(
        self, id_: str, project_id: str, documents: list[Document], limit: int, threshold: float, language: str | None
    ) -> list[list[dict[str, object]]]:
        service = self.service
        service.check_number(len(documents))
        served = service.models.get(project_id)
        taxonomy = _in_language(served.taxonomy, language)
        if not documents or not limit:
            return [[] for _ in documents]
        request = Top(documents=list(documents), k=limit, probabilities=served.has_probabilities)
        records = await service.records(served, request, documents)
        service.metrics.documents(project_id, "suggest", len(records))
        await service.record(served, "suggest", id_, documents, records)
        found = []
        shown = _shown(served, taxonomy, language)
        for record in records:
            scored = [
                (entry["label"], _score(entry.get("probability"), entry.get("score"))) for entry in record["labels"]
            ]
            found.append([{**shown(label), "score": round(s, 6)} for label, s in scored if s > 0 and s >= threshold])
        return found

    async def learn(
        self, http: HttpRequest, project_id: str, documents: Annotated[list[IndexedDocument], Body()]
    ) -> None:
        """Keep documents with their subjects as verdicts; online models learn from them at once."""
        served = self.service.models.get(project_id)
        if not self.service.has_store:
            raise ProblemError(
                403, f"{project_id!r} cannot learn here; start the service with `linnaeus serve MODEL --store FOLDER`."
            )
        self.service.check_number(len(documents))
        given = [
            NewDocument(
                _document(served, one.text, one.metadata).model_dump(include={"text", "fields"}, exclude_none=True),
                one.document_id,
                list(dict.fromkeys(_node(served.taxonomy, subject.uri, i) for subject in one.subjects)),
                "annif",
            )
            for i, one in enumerate(documents)
        ]
        coder = user_of(http).name or "annif"
        if given:
            await anyio.to_thread.run_sync(partial(_learn, self.service.review, served, given, coder))

    def detect_language(self) -> Response:
        """Not available."""
        raise ProblemError(404, "Languages are not detected here; leave out the step, or ask Annif itself.")


def router(service: Service) -> APIRouter:
    """The addresses below /v1."""
    api = APIRouter(prefix="/v1", tags=["Annif"], responses=PROBLEMS)
    on = AnnifHandlers(service)
    api.get("/")(on.info)
    api.get("/projects")(on.projects)
    api.get("/projects/{project_id}")(on.project)
    api.get("/vocabs")(on.vocabs)
    api.post("/projects/{project_id}/suggest", openapi_extra=_FORM)(on.suggest)
    api.post("/projects/{project_id}/suggest-batch")(on.suggest_batch)
    api.post("/projects/{project_id}/learn", status_code=204, response_class=Response)(on.learn)
    api.post("/detect-language", status_code=404)(on.detect_language)
    return api


def _json(content: object) -> Response:
    return Response(as_json(content), media_type="application/json")


def _languages(taxonomy: Taxonomy) -> list[str]:
    return [language for language in taxonomy.texts.languages if language]


def _vocabulary(served: ServedModel) -> dict[str, object]:
    taxonomy = served.taxonomy
    return {
        "vocab_id": taxonomy.fingerprint[:16],
        "languages": _languages(taxonomy),
        "size": taxonomy.n_nodes,
        "loaded": True,
    }


def _project(served: ServedModel) -> dict[str, object]:
    languages = _languages(served.taxonomy)
    language = getattr(served.model, "about_", {}).get("language") or (languages[0] if languages else "en")
    saved = datetime.fromtimestamp(served.stamp[2] / 1e9, UTC)
    return {
        "project_id": served.name,
        "name": served.name,
        "language": language,
        "backend": {"backend_id": f"linnaeus-{type(served.model.estimator).__name__}"},
        "vocab": _vocabulary(served),
        "vocab_language": language,
        "is_trained": True,
        "modification_time": saved.isoformat(timespec="seconds").replace("+00:00", "Z"),
    }


def _document(served: ServedModel, text: str, metadata: dict[str, str]) -> Document:
    """A text, with the metadata that are fields of the model."""
    fields = fields_of(served.model)
    known = {name: value for name, value in metadata.items() if fields is not None and name in fields}
    if not known:
        return Document(text=text)
    return Document(fields={**known, main_field(reading_features(served.model)): text})


def _node(taxonomy: Taxonomy, uri: str, i: int) -> str:
    """The node of a subject; an unknown one is refused, since the rest would not be all subjects of the document."""
    if uri not in taxonomy:
        hint = nearest(uri, [str(name) for name in taxonomy.names])
        raise ProblemError(400, f"The subject {uri!r} of document {i + 1} is not in the vocabulary{hint}")
    return uri


def _learn(review: Review, served: ServedModel, documents: list[NewDocument], coder: str) -> None:
    """Store documents and what a coder says about them; what the coder has said already is not stored again.

    The sender has chosen the documents, so that none of them is drawn as a control document.
    """
    with review.read() as transaction:
        for document in documents:
            rows = transaction.rows(
                "SELECT t.digest FROM documents d JOIN texts t ON t.document = d.number WHERE d.queue = ? AND d.id = ?",
                (served.name, id_of(document)),
            )
            if rows and rows[0]["digest"] != digest_of(document.content):
                raise ProblemError(
                    409, f"The document {document.id!r} has another text here; send it under another document_id."
                )
    plain = [NewDocument(one.content, one.id, None, one.source) for one in documents]
    review.add(served, plain, score=False, shares=Shares(0.0, 0.0, 0.0))
    with review.read() as transaction:
        known = [review.decision(transaction, served, id_of(one), coder) for one in documents]
    review.verdicts(
        served,
        [
            NewVerdict(
                key=f"annif-{secrets.token_hex(12)}",
                document=id_of(one),
                coder=coder,
                kind="replace" if one.labels else "none-fits",
                labels=one.labels or None,
                taxonomy=served.taxonomy.fingerprint,
            )
            for one, before in zip(documents, known, strict=True)
            if before is None or sorted(before) != sorted(set(one.labels or ()))
        ],
    )


def _in_language(taxonomy: Taxonomy, language: str | None) -> Taxonomy:
    """The taxonomy with labels in a language; one without languages has the same labels in all."""
    if language is None or not _languages(taxonomy):
        return taxonomy
    try:
        return taxonomy.with_language(language)
    except TaxonomyError as error:
        raise ProblemError(400, f"language={language!r}: {error}") from None


def _score(probability: float | None, score: float | None) -> float:
    if probability is not None:
        return min(1.0, max(0.0, probability))
    return 0.0 if score is None else 0.5 * (1.0 + math.tanh(score / 2.0))


def _shown(served: ServedModel, taxonomy: Taxonomy, language: str | None) -> Callable[[str], dict[str, object]]:
    """What suggestions say about a node; remembered with the model, since looking it up takes longer than ranking."""
    known = served.subjects

    def shown(label: str) -> dict[str, object]:
        found = known.get((language, label))
        if found is None:
            v = taxonomy.index(label)
            notations = taxonomy.texts.of(v, "notation")
            notation = notations[0].text if notations else None
            found = {"uri": label, "label": taxonomy.display(v), "notation": notation}
            if len(known) < _REMEMBERED:
                known[language, label] = found
        return found

    return shown


def _number(values: dict[str, str], name: str, default: float, most: float) -> float:
    try:
        value = float(values.get(name) or default)
    except ValueError:
        value = math.nan
    if not 0 <= value <= most:
        raise ProblemError(400, f"{name}={values[name]!r} is not a number between 0 and {most:g}.")
    return value
