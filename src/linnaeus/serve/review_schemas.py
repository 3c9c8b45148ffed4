"""What requests and answers about documents, verdicts and progress look like."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from linnaeus.serve.schemas import ModelReference, Remembered, ScoredLabel, StrictSchema, check_one_content

__all__ = [
    "AddDocuments",
    "Added",
    "Coder",
    "DocumentAnswer",
    "DocumentList",
    "DocumentState",
    "Erased",
    "Identifier",
    "ImportedVerdicts",
    "NewVerdicts",
    "NextDocuments",
    "Progress",
    "Release",
    "Released",
    "VerdictResults",
]

# No control characters, which PostgreSQL, logs and spreadsheets do not take.
_VISIBLE = r"^[^\x00-\x1f\x7f]+$"
Identifier = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=_VISIBLE)]
Coder = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=_VISIBLE)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=_VISIBLE)]
DocumentState = Literal["open", "partly", "done", "disagreement", "unsure"]


# -- requests ----------------------------------------------------------------------------------------------------------


class QueueDocument(StrictSchema):
    """A document to add, with exactly one of text, fields and vector."""

    id: Identifier | None = Field(default=None, description="Default: an id that follows from the content.")
    text: str | None = None
    fields: dict[str, str] | None = Field(
        default=None, min_length=1, description="Texts by field, all shown to coders."
    )
    vector: list[Annotated[float, Field(allow_inf_nan=False)]] | None = None
    labels: list[Label] | None = Field(default=None, description="Labels that it has already; shown to coders.")
    assigned: Coder | None = Field(default=None, description="The only coder who gets it.")
    source: Identifier | None = Field(default=None, description="Where it comes from.")

    @model_validator(mode="after")
    def _one_content(self) -> QueueDocument:
        check_one_content(self.text, self.fields, self.vector)
        return self

    @property
    def content(self) -> dict[str, object]:
        """The content, under its name."""
        return self.model_dump(include={"text", "fields", "vector"}, exclude_none=True)


class AddDocuments(StrictSchema):
    """Documents to add to a queue."""

    documents: list[QueueDocument] = Field(min_length=1)


class Release(StrictSchema):
    """Documents that a coder returns to the queue."""

    coder: Coder
    ids: list[Identifier] | None = Field(default=None, description="Default: all documents of the coder.")


class VerdictInput(StrictSchema):
    """A verdict; sent again with the same key it is stored once."""

    key: Identifier = Field(description="Chosen by the client, unique for each verdict.")
    document: Identifier
    coder: Coder
    kind: Literal[
        "accept",
        "reject",
        "replace",
        "add",
        "back-off",
        "none-fits",
        "cannot-tell",
        "note",
        "flag",
        "undo",
        "redo",
    ]
    labels: list[Label] | None = Field(
        default=None, max_length=1000, description="The whole label set; decides the document."
    )
    shown: list[dict[str, object]] | None = Field(
        default=None, max_length=1000, description="Suggestions that were shown."
    )
    rank: int | None = Field(default=None, ge=1, le=10**6, description="Rank of the accepted suggestion.")
    seconds: float | None = Field(default=None, ge=0, le=10**7, allow_inf_nan=False, description="Time taken.")
    note: Annotated[str, StringConstraints(max_length=10_000, pattern=r"^[^\x00]*$")] | None = None
    undoes: Identifier | None = Field(default=None, description="Key of the verdict that undo or redo takes back.")
    adjudication: bool = Field(default=False, description="Decides a disagreement of coders.")


class NewVerdicts(StrictSchema):
    """Verdicts, which are stored all or not at all."""

    verdicts: list[VerdictInput] = Field(min_length=1)


# -- answers -----------------------------------------------------------------------------------------------------------


class Added(StrictSchema):
    """How many documents were added, and how many the queue had already."""

    request_id: str
    queue: str
    added: int
    known: int


class _Brief(StrictSchema):
    id: str
    state: DocumentState
    labels: list[str] | None = Field(description="The final labels, once the document is done.")
    given: list[str] | None = Field(description="Labels that it was added with.")
    answer: list[str] | None = Field(description="Labels that the model assigns; null for blind documents.")
    control: bool
    blind: bool
    double: bool
    flagged: bool
    erased: bool
    preview: str = Field(description="The first characters of the text.")
    assigned: str | None
    source: str | None
    usefulness: float | None


class DocumentList(StrictSchema):
    """Documents of a queue, page by page."""

    request_id: str
    queue: str
    total: int
    offset: int
    next_offset: int | None
    documents: list[_Brief]


class _Suggestion(ScoredLabel):
    name: str


class _Whole(_Brief):
    text: str | None = None
    fields: dict[str, str] | None = None
    vector: list[float] | None = None
    suggestions: list[_Suggestion] | None = Field(description="Best first; null for blind and erased documents.")
    scored_by: str | None = Field(description="Fingerprint of the model that made answer and suggestions.")
    memory: Remembered | None = Field(default=None, description="A decided document that is the same or similar.")
    lease_until: float | None = Field(
        default=None, description="When its lease for this coder ends, in seconds since 1970."
    )


class NextDocuments(StrictSchema):
    """Documents for a coder; none where none remains."""

    request_id: str
    queue: str
    model: ModelReference
    documents: list[_Whole]
    remaining: int = Field(description="Documents that this coder has not decided yet.")


class VerdictEntry(StrictSchema):
    """A verdict of the history of a document."""

    number: int
    key: str
    coder: str
    kind: str
    labels: list[str] | None
    shown: list[dict[str, object]] | None
    answer: list[str] | None
    model: str | None
    taxonomy: str | None
    rank: int | None
    seconds: float | None
    note: str | None
    undoes: str | None
    adjudication: bool
    time: float
    counts: bool = Field(description="False if it was taken back.")


class DocumentAnswer(StrictSchema):
    """A document with all verdicts on it, oldest first."""

    request_id: str
    queue: str
    model: ModelReference
    document: _Whole
    history: list[VerdictEntry]


class Erased(StrictSchema):
    """Whether there was a text to erase."""

    request_id: str
    erased: bool


class Released(StrictSchema):
    """How many documents were returned."""

    request_id: str
    released: int


class _VerdictResult(StrictSchema):
    key: str
    number: int
    stored: bool = Field(description="False if an earlier request stored it.")
    state: DocumentState


class VerdictResults(StrictSchema):
    """What became of each verdict, in their order."""

    request_id: str
    queue: str
    results: list[_VerdictResult]


class ImportedVerdicts(StrictSchema):
    """What was stored of a file that was coded elsewhere."""

    request_id: str
    queue: str
    added: int = Field(description="Documents that the queue did not have.")
    stored: int = Field(description="Verdicts that were stored.")
    repeated: int = Field(description="Verdicts that an earlier request stored.")
    without: int = Field(description="Documents of the file without a verdict.")


class Measured(StrictSchema):
    """A share of n, with its 90 % interval."""

    n: int
    right: int
    accuracy: float | None
    low: float
    high: float
    hierarchical_f1: float | None = None


class _Block(Measured):
    first: float
    last: float


class _CoderProgress(StrictSchema):
    coder: str
    decided: int
    median_seconds: float | None


class _Agreement(StrictSchema):
    first: str
    second: str
    documents: int
    same: int
    kappa_nodes: float | None
    kappa_hierarchical: float | None


class _UnclearNode(StrictSchema):
    node: str
    name: str
    both: int = Field(description="Documents for which both coders used the node, or one below it.")
    one: int = Field(description="Documents for which one of them did.")
    kappa: float | None
    instead: str | None = Field(description="What the other coder chose most often instead.")


class Progress(StrictSchema):
    """How far a queue is, how good the model is on random documents, and how far coders agree."""

    request_id: str
    queue: str
    documents: int
    states: dict[str, int]
    flagged: int
    shares: dict[str, int]
    decided_shares: dict[str, int]
    coders: list[_CoderProgress]
    control: Measured = Field(description="The model on decided control documents.")
    control_over_time: list[_Block]
    blind: Measured = Field(description="The model on control documents whose coders saw no suggestion.")
    accepted_ranks: dict[str, int] = Field(description="How often the suggestion of each rank was accepted.")
    agreement: list[_Agreement]
    unclear_nodes: list[_UnclearNode] = Field(description="Nodes on which coders disagree most, the first one most.")
    median_seconds: float | None
    seconds_left: float | None
