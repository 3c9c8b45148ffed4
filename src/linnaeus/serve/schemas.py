"""What requests and answers look like; the OpenAPI document is made from these classes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = [
    "Answer",
    "Document",
    "Explain",
    "Explanation",
    "ModelReference",
    "NBest",
    "Predict",
    "Probabilities",
    "ProbabilityAnswer",
    "ProblemDetails",
    "Remembered",
    "Request",
    "Risk",
    "RuleSet",
    "ScoredLabel",
    "StrictSchema",
    "Top",
    "check_one_content",
]

Nodes = str | list[str]
Count = Annotated[int, Field(ge=1, le=1000)]  # the work to find the best sets grows with bounds
Closed = Annotated[bool | None, Field(description="Add all ancestors, or not; default: as in the training labels.")]
DecoderName = Annotated[str | None, Field(max_length=200, description="Decoder with parameters: scut,average=micro.")]
WithProbabilities = Annotated[bool, Field(description="Probabilities instead of scores, if the model has them.")]
AnswerUnknown = Annotated[bool, Field(description="Also answer documents without any term that the model knows.")]


class StrictSchema(BaseModel):
    """Values with no other names than those listed."""

    model_config = ConfigDict(extra="forbid")


# -- requests ----------------------------------------------------------------------------------------------------------


class RuleSet(StrictSchema):
    """Which label sets may be answered; nodes are given by name, or by a display label that only one node has."""

    only_under: Nodes | None = Field(default=None, description="Only labels at or below this node, or one of these.")
    exclude: Nodes | None = Field(default=None, description="No label at or below these nodes.")
    candidates: Nodes | None = Field(
        default=None, description="Only these labels, apart from their ancestors; each document may have its own."
    )
    require: Nodes | None = Field(default=None, description="Every answer contains these nodes.")
    at_least: Annotated[int, Field(ge=0, le=1000)] | None = Field(default=None, description="Minimum number of labels.")
    at_most: Count | None = Field(default=None, description="Maximum number of labels.")
    at_most_under: dict[str, Count] | None = Field(
        default=None, description="{node: k}: at most k labels at or below a node."
    )
    one_per: Nodes | None = Field(
        default=None, description="At most one label at or below each node; tops: each top node."
    )
    min_depth: Count | None = Field(default=None, description="Labels at this depth or deeper; top nodes have depth 1.")
    depth: Count | None = Field(default=None, description="Labels at exactly this depth.")
    keep_shallow: bool | None = Field(default=None, description="Let leaves above min_depth or depth be answered.")
    max_children: Count | None = Field(default=None, description="Maximum number of children of a node to follow.")
    leaves_only: bool | None = Field(default=None, description="Only labels that are leaves.")

    def given(self) -> dict[str, object]:
        """The rules that were given, with lists of nodes."""
        values: dict[str, object] = self.model_dump(exclude_none=True)
        of_nodes = ("only_under", "exclude", "candidates", "require", "one_per")
        return {name: [v] if name in of_nodes and isinstance(v, str) else v for name, v in values.items()}


class SparseVector(StrictSchema):
    """The numbers of a vector that are not 0, by their positions from 0, each once."""

    indices: list[Annotated[int, Field(ge=0, le=2**31 - 1)]]
    values: list[Annotated[float, Field(allow_inf_nan=False)]]

    @model_validator(mode="after")
    def _paired(self) -> SparseVector:
        if len(self.indices) != len(self.values):
            raise ValueError(f"a vector has {len(self.indices):,} indices and {len(self.values):,} values")
        if len(set(self.indices)) != len(self.indices):
            raise ValueError("an index of a vector is given twice")
        return self


def check_one_content(text: object, fields: object, vector: object) -> None:
    """Refuse a document with no content, or several."""
    if sum(value is not None for value in (text, fields, vector)) != 1:
        raise ValueError("a document has exactly one of 'text', 'fields' and 'vector'")


class Document(StrictSchema):
    """A document with exactly one of text, fields and vector."""

    id: str | None = Field(
        default=None, max_length=1000, description="Returned with the answer; default: its number from 1."
    )
    text: str | None = Field(default=None, description="A text, or a sequence.")
    fields: dict[str, str] | None = Field(default=None, description="Texts by field; missing fields are empty.")
    vector: list[float] | SparseVector | None = Field(
        default=None, description="Numbers, for models of vectors: all of them, or indices and values of some."
    )
    rules: RuleSet | None = Field(
        default=None, description="Rules of this document; each replaces that rule of the request."
    )

    @model_validator(mode="after")
    def _one_content(self) -> Document:
        check_one_content(self.text, self.fields, self.vector)
        return self

    @property
    def content(self) -> str | dict[str, str] | list[float] | dict[int, float]:
        """The text, fields or vector; a sparse vector as values by position."""
        found = self.text if self.text is not None else self.fields if self.fields is not None else self.vector
        assert found is not None
        return dict(zip(found.indices, found.values, strict=True)) if isinstance(found, SparseVector) else found


class Request(StrictSchema):
    """Documents, as texts or objects, and rules for all of them."""

    documents: list[str | Document] = Field(min_length=1)
    rules: RuleSet | None = None

    def given(self) -> list[Document]:
        """The documents as objects."""
        return [Document(text=one) if isinstance(one, str) else one for one in self.documents]


class Predict(Request):
    """A label set for each document."""

    closed: Closed = None
    decoder: DecoderName = None
    probabilities: WithProbabilities = False
    answer_unknown: AnswerUnknown = False


class Top(Request):
    """The k best nodes for each document."""

    k: int = Field(default=5, ge=1, le=10_000)
    probabilities: WithProbabilities = False
    ancestors: bool = Field(default=False, description="With probabilities: also rank ancestors of labels.")
    answer_unknown: AnswerUnknown = False


class NBest(Request):
    """The n best label sets for each document, with their scores."""

    n: int = Field(default=5, ge=1, le=1000)
    closed: Closed = None
    decoder: DecoderName = None
    answer_unknown: AnswerUnknown = False


class Risk(Request):
    """Label sets of which at most a share is wrong; other documents are left for review."""

    risk: float = Field(gt=0, lt=1, description="The largest share of wrong answers.")
    risk_of: Literal["all", "answered"] = Field(
        default="all", description="Share of all documents, or of answered ones."
    )
    confidence: float | None = Field(default=None, gt=0, lt=1, description="Probability with which the risk is kept.")
    closed: Closed = None
    candidates: int = Field(default=3, ge=1, le=100, description="Suggested labels for each document left for review.")


class Probabilities(StrictSchema):
    """Probabilities of nodes for each document."""

    documents: list[str | Document] = Field(min_length=1)
    nodes: list[str] | None = Field(
        default=None, min_length=1, max_length=10_000, description="Default: the k most probable."
    )
    k: int = Field(default=10, ge=1, le=10_000, description="Number of nodes, where none are given.")


class Explain(StrictSchema):
    """One document, and the node whose score is explained."""

    document: str | Document
    node: str | None = Field(default=None, description="Default: all labels of the answer.")
    k: int = Field(default=10, ge=1, le=1000, description="Number of contributions to show per node.")
    neighbours: int = Field(
        default=3, ge=0, le=100, description="Similar training documents to show, if the model kept them."
    )


# -- answers -----------------------------------------------------------------------------------------------------------


class ModelReference(StrictSchema):
    """The model that answered: fingerprints of its folder and of its taxonomy."""

    name: str
    fingerprint: str
    taxonomy: str


class ScoredLabel(StrictSchema):
    """A node of an answer, with what is shown of it."""

    label: str
    path: list[str]
    score: float | None = None
    probability: float | None = None
    display: str | None = None
    display_path: list[str] | None = None
    other_paths: list[list[str]] | None = None


class _Set(StrictSchema):
    labels: list[str]
    score: float | None


class _Candidate(StrictSchema):
    label: str
    name: str
    probability: float


class Remembered(StrictSchema):
    """What people decided about the same or a similar document."""

    document: str
    coder: str
    labels: list[str]
    similarity: float = Field(description="1 for a document with the same text, up to case and white space.")


class _Record(StrictSchema):
    id: str
    labels: list[ScoredLabel]
    known_terms: int
    status: Literal["answered", "empty", "unknown", "coded", "review"]
    proved: bool | None = None
    sets: list[_Set] | None = None
    reason: str | None = None
    margin: float | None = None
    candidates: list[_Candidate] | None = None
    memory: Remembered | None = None


class Answer(StrictSchema):
    """One record per document, in the order of the request; the records are those of `linnaeus predict`."""

    request_id: str
    model: ModelReference
    results: list[_Record]
    note: str | None = Field(default=None, description="What to know about a promised risk.")


class _NodeProbability(StrictSchema):
    label: str
    name: str
    probability: float


class _DocumentProbabilities(StrictSchema):
    id: str
    probabilities: list[_NodeProbability]


class ProbabilityAnswer(StrictSchema):
    """Probabilities of nodes, one list per document."""

    request_id: str
    model: ModelReference
    results: list[_DocumentProbabilities]


class Explanation(StrictSchema):
    """Contributions to the score of every node of the paths; the nodes are those of `linnaeus explain --json`."""

    request_id: str
    model: ModelReference
    nodes: list[dict[str, object]]


class ProblemDetails(StrictSchema):
    """What went wrong, and what to do (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str
    errors: list[dict[str, str]] | None = Field(
        default=None, description="Every 'place' that is wrong, with a 'message'."
    )
