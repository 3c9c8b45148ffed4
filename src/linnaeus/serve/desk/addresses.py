"""Addresses that only the desk uses: how it starts, coding at a promised risk, drift, training, proposals."""

from __future__ import annotations

import atexit
from typing import Annotated, Literal

from fastapi import APIRouter, Body, Query
from fastapi import Request as HttpRequest
from pydantic import Field
from starlette.responses import Response

from linnaeus.answering.documents import node_meant
from linnaeus.serve.browsing import shown_node
from linnaeus.serve.desk import automatic
from linnaeus.serve.desk.assigning import assign, assignments
from linnaeus.serve.desk.automatic import AutomaticCoding
from linnaeus.serve.desk.drift import Drift
from linnaeus.serve.desk.pictures import pictures
from linnaeus.serve.desk.proposals import Kind, Proposals
from linnaeus.serve.desk.training import Training, learning_curve
from linnaeus.serve.problems import PROBLEMS, as_json, check_name, json_answer, user_of
from linnaeus.serve.progress import control_decisions
from linnaeus.serve.review_schemas import Coder, Identifier, Label
from linnaeus.serve.reviewing import Model, Subtree
from linnaeus.serve.schemas import StrictSchema
from linnaeus.serve.service import Service
from linnaeus.serve.store.audit import append_line

__all__ = ["router"]

_PATHS = 5  # paths to a node that are shown
RiskShare = Annotated[
    float, Query(gt=0, lt=1, description="The largest share of wrong answers among those of the model.")
]


class CodeAutomatically(StrictSchema):
    """Let the model code documents at a promised risk."""

    risk: float = Field(gt=0, lt=1, description="The largest share of wrong answers among those of the model.")
    key: Identifier = Field(description="Chosen by the client; repeating a key codes nothing new.", max_length=100)
    coder: Coder = Field(description="Who requested it.")
    subtree: Label | None = Field(default=None, description="Only documents with suggestions at or below this node.")


class TakeBack(StrictSchema):
    """Take back what the model coded."""

    batch: Identifier
    coder: Coder


class AssignmentRule(StrictSchema):
    """Documents for a coder."""

    coder: Coder
    share: float = Field(default=1.0, gt=0, le=1, description="Share of the documents.")
    subtree: Label | None = Field(default=None, description="Only documents with suggestions at or below this node.")


class Assign(StrictSchema):
    """Who codes which documents; of several rules whose subtrees have a document the first subtree counts."""

    rules: list[AssignmentRule] = Field(max_length=1000)
    coder: Coder = Field(description="Who decided it.")


class NewProposal(StrictSchema):
    """A change to the vocabulary."""

    kind: Kind
    node: Label = Field(description="The node that is renamed, gets a child, or is merged into another one.")
    text: Label = Field(description="The new name, the name of the new node, or the node to merge into.")
    coder: Coder


class DeskHandlers:
    """What the addresses of the desk answer."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.coding, self.training, self.drift = AutomaticCoding(), Training(), Drift()
        atexit.register(self.training.close)

    def _proposals(self) -> Proposals:
        return Proposals(self.service.review.folder)

    def about(self, http: HttpRequest) -> Response:
        """What the page needs to start."""
        self.service.review.folder  # noqa: B018 - raises where there is no store
        user = user_of(http)
        who = {"name": user.name, "role": user.role} if user.name else None
        models = [served.card for served in self.service.models]
        return json_answer(http, models=models, coder=user.name or "coder", user=who)

    def paths(
        self,
        http: HttpRequest,
        node: Annotated[list[Label], Query(max_length=100, description="Names of nodes; may be repeated.")],
        model: Model = None,
    ) -> Response:
        """The first paths to several nodes, as the tree shows them."""
        tax = self.service.models.get(model).taxonomy
        wanted = [tax.index(node_meant(tax, name)) for name in node]
        found = [[[shown_node(tax, int(u)) for u in path] for path in tax.paths(v, _PATHS)] for v in wanted]
        return json_answer(http, paths=found)

    async def promised(
        self,
        http: HttpRequest,
        risk: RiskShare = 0.05,
        subtree: Subtree = None,
        preview: Annotated[int, Query(ge=0, le=100, description="Number of documents that are listed.")] = 0,
        model: Model = None,
    ) -> Response:
        """How many of the remaining documents the model would code at a risk, and what it has coded."""
        review, served = self.service.review, self.service.models.get(model)
        under = None if subtree is None else node_meant(served.taxonomy, subtree)
        found = await self.service.work(
            served, lambda deadline: self.coding.promise(served, review, risk, deadline, under)
        )
        coded = len(found.labels)
        return json_answer(
            http,
            risk=risk,
            remaining=found.remaining,
            coded=coded,
            left=found.remaining - coded,
            coverage=coded / found.remaining if found.remaining else None,
            subtree=under,
            documents=automatic.preview_of(served, review, found, preview),
            promise=found.text,
            batches=automatic.batches(served, review),
        )

    async def code(
        self, http: HttpRequest, request: Annotated[CodeAutomatically, Body()], model: Model = None
    ) -> Response:
        """Let the model code the documents that it may code at a risk."""
        review, served = self.service.review, self.service.models.get(model)

        under = None if request.subtree is None else node_meant(served.taxonomy, request.subtree)

        def work(deadline: float) -> int:
            known = {str(one["batch"]): one["coded"] for one in automatic.batches(served, review)}
            if request.key in known:
                return int(str(known[request.key]))
            promise = self.coding.promise(served, review, request.risk, deadline, under)
            return automatic.code(served, review, promise, request.key, request.coder)

        return json_answer(http, batch=request.key, coded=await self.service.work(served, work))

    async def take_back(self, http: HttpRequest, request: Annotated[TakeBack, Body()], model: Model = None) -> Response:
        """Take back what the model coded in a batch."""
        review, served = self.service.review, self.service.models.get(model)
        undone = await self.service.work(served, lambda _: automatic.take_back(served, review, request.batch))
        return json_answer(http, batch=request.batch, undone=undone)

    async def drifted(
        self,
        http: HttpRequest,
        weeks: Annotated[int, Query(ge=1, le=520, description="Weeks before the newest document.")] = 4,
        against: Literal["training", "earlier"] | None = None,
        model: Model = None,
    ) -> Response:
        """Documents and answers of the last weeks beside the training documents, or beside earlier ones."""
        review, served = self.service.review, self.service.models.get(model)
        found = await self.service.work(
            served, lambda deadline: self.drift.figures(served, review, weeks, against, deadline)
        )
        return json_answer(http, queue=served.name, model=served.reference, **found)

    def training_status(self, http: HttpRequest, model: Model = None) -> Response:
        """How far the training of a model is, and the learning curve."""
        return json_answer(http, **self.training.status(self.service.models.get(model), self.service.review))

    def pictures(self, http: HttpRequest, model: Model = None) -> Response:
        """Charts of control documents and of the learning curve, as SVG."""
        review, served = self.service.review, self.service.models.get(model)
        with review.read() as transaction:
            decided = control_decisions(transaction, served.name)
        return json_answer(http, pictures=pictures(decided, served.taxonomy, learning_curve(review.folder)))

    def train(self, http: HttpRequest, model: Model = None) -> Response:
        """Train a model from the verdicts, in the background."""
        return json_answer(http, documents=self.training.start(self.service.models.get(model), self.service.review))

    def assigned(self, http: HttpRequest, model: Model = None) -> Response:
        """What is assigned to each coder, and how far they are."""
        review, served = self.service.review, self.service.models.get(model)
        with review.read() as transaction:
            return json_answer(http, queue=served.name, coders=assignments(transaction, served.name))

    def assign(self, http: HttpRequest, request: Annotated[Assign, Body()], model: Model = None) -> Response:
        """Assign the documents without a verdict to coders, in place of earlier assignments."""
        check_name(http, request.coder)
        review, served = self.service.review, self.service.models.get(model)
        tax = served.taxonomy
        rules = [
            (one.coder, one.share, None if one.subtree is None else node_meant(tax, one.subtree))
            for one in request.rules
        ]
        with review.change() as transaction:
            numbers = assign(transaction, served.name, rules)
            entry = {"queue": served.name, "by": request.coder, "rules": [list(rule) for rule in rules], "to": numbers}
            append_line(transaction, "assign", entry)
        return json_answer(http, queue=served.name, assigned=numbers)

    def proposed(self, http: HttpRequest) -> Response:
        """Changes to the vocabulary that coders proposed."""
        return json_answer(http, proposals=self._proposals().all())

    def propose(self, http: HttpRequest, request: Annotated[NewProposal, Body()], model: Model = None) -> Response:
        """Propose another name of a node, a new node, or a merge."""
        served = self.service.models.get(model)
        tax = served.taxonomy
        node = node_meant(tax, request.node)
        text = node_meant(tax, request.text) if request.kind == "merge" else request.text
        made = self._proposals().add(request.kind, node, tax.display(node), text, request.coder, tax.fingerprint)
        return json_answer(http, proposal=made)

    def proposal_file(self) -> Response:
        """The change file: one JSON object per line."""
        lines = "".join(as_json(one).decode() + "\n" for one in self._proposals().all())
        headers = {"Content-Disposition": 'attachment; filename="proposals.jsonl"'}
        return Response(lines, media_type="application/x-ndjson", headers=headers)


def router(service: Service) -> APIRouter:
    """The addresses of the desk."""
    api = APIRouter(prefix="/api/v1", tags=["desk"], responses=PROBLEMS)
    on = DeskHandlers(service)
    api.get("/desk")(on.about)
    api.get("/desk/paths")(on.paths)
    api.get("/automatic")(on.promised)
    api.post("/automatic")(on.code)
    api.post("/automatic/undo")(on.take_back)
    api.get("/desk/assignments")(on.assigned)
    api.post("/desk/assignments")(on.assign)
    api.get("/desk/drift")(on.drifted)
    api.get("/desk/pictures")(on.pictures)
    api.get("/desk/training")(on.training_status)
    api.post("/desk/training")(on.train)
    api.get("/desk/proposals")(on.proposed)
    api.post("/desk/proposals")(on.propose)
    api.get("/desk/proposals/file", response_class=Response)(on.proposal_file)
    return api
