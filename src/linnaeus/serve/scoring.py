"""What a model says about a document of a queue: its answer, suggestions, and how useful a verdict would be.

Usefulness is the expected cost of the answer: with probabilities p, the expected number of wrong and missing nodes
sum over v in A of 1 - p(v) + sum over v not in A of p(v), where A is the answer with its ancestors. Without
probabilities it is minus the margin: the difference between the two best scores where documents have one label,
otherwise the smallest distance of a score from 0, at which a node becomes a label.

A model that knows little asks for the wrong documents: among 5,079 nodes of MEDLINE with 400 to 1,600 verdicts, whose
held-out F1 is .24 to .33, the expected cost learned less than a random order, and on a corpus with an F1 of .44 and
more it learned more (Hacohen, Dekel and Weinshall 2022 found the same of other measures of uncertainty). Below an F1 of
1/2 on the documents of its calibration all documents are therefore equally useful, and come in a random order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from linnaeus.answering.documents import as_dataset, fields_of
from linnaeus.answering.records import Answering
from linnaeus.errors import DataError
from linnaeus.serve.store.database import Transaction
from linnaeus.serve.store.documents import Content
from linnaeus.typing import FloatArray

if TYPE_CHECKING:
    from linnaeus.answering.documents import SavedModel
    from linnaeus.data import Dataset
    from linnaeus.serve.models import ServedModel

__all__ = [
    "SUGGESTIONS",
    "ScoredDocument",
    "dataset_for",
    "dataset_of",
    "keep_scores",
    "score_documents",
    "unscored",
    "usefulness",
]

SUGGESTIONS = 10  # nodes that are kept for each document
_KNOWS_LITTLE = 0.5  # held-out F1 below which expected costs are not used


@dataclass(frozen=True)
class ScoredDocument:
    """The answer of a model to a document, its suggestions, and the usefulness of a verdict."""

    usefulness: float | None  # None: the order is random
    answer: list[str]
    suggestions: list[dict[str, object]]
    nodes: list[str]  # the answer with its ancestors; the best suggestion where the answer is empty


def dataset_of(served: ServedModel, contents: Sequence[Content]) -> Dataset:
    """Contents as a served model takes them; fields that it does not know are left out."""
    return dataset_for(served.model, contents)


def dataset_for(model: SavedModel, contents: Sequence[Content]) -> Dataset:
    """Contents as a model takes them; fields that it does not know are left out."""
    return as_dataset(model, [_known(model, content, i) for i, content in enumerate(contents)])


def _known(model: SavedModel, content: Content, i: int) -> str | dict[str, str] | list[float]:
    fields = content.get("fields")
    if isinstance(fields, Mapping):
        known = fields_of(model)
        kept = {name: text for name, text in fields.items() if known is None or name in known}
        if not kept:
            wanted = ", ".join(map(repr, known or ()))
            raise DataError(
                f"Document {i + 1} has the fields {', '.join(map(repr, fields))}; the model was trained on {wanted}."
            )
        return kept
    given = content["text"] if "text" in content else content["vector"]
    assert isinstance(given, (str, list))
    return given


def score_documents(served: ServedModel, contents: Sequence[Content]) -> list[ScoredDocument]:
    """The answer, suggestions and usefulness of each document."""
    model, taxonomy = served.model, served.taxonomy
    documents = dataset_of(served, contents)
    ranked = Answering(model, top=SUGGESTIONS, probabilities=served.has_probabilities)
    answered = list(Answering(model).records(documents))
    answers = [[entry["label"] for entry in record["labels"]] for record in answered]
    useful = usefulness(served, documents, answers)
    found = []
    for i, record in enumerate(ranked.records(documents)):
        suggestions: list[dict[str, object]] = [
            {**entry, "name": taxonomy.display(entry["label"])} for entry in record["labels"]
        ]
        best = answers[i] or [entry["label"] for entry in record["labels"][:1]]
        nodes = sorted({int(v) for label in best for v in taxonomy.ancestors(label)})
        names = [str(taxonomy.names[v]) for v in nodes]
        found.append(ScoredDocument(None if useful is None else float(useful[i]), answers[i], suggestions, names))
    return found


def usefulness(served: ServedModel, documents: Dataset, answers: list[list[str]]) -> FloatArray | None:
    """The expected cost of the answers, by which a queue is ordered, the largest first; None: in a random order."""
    inner, taxonomy = served.model.estimator, served.taxonomy
    if served.held_out_f1 is not None and served.held_out_f1 < _KNOWS_LITTLE:
        return None
    X = served.model.matrix(documents.documents)
    if served.has_probabilities:
        P = np.asarray(inner.node_probabilities(X), dtype=np.float64)
        if taxonomy.root is not None:
            P[:, taxonomy.root] = 0.0
        A = taxonomy.close(taxonomy.indicator(answers), keep_root=False)
        sure = np.asarray(A.multiply(P).sum(axis=1), dtype=np.float64).ravel()
        return P.sum(axis=1) + np.diff(A.indptr) - 2.0 * sure
    S = np.concatenate(list(inner.ranking_blocks(X)))
    if S.shape[1] < 2:
        return np.zeros(len(S))
    if not inner.single_label:
        return -np.abs(S).min(axis=1)
    best = -np.partition(-S, 1, axis=1)[:, :2]
    return best[:, 1] - best[:, 0]


def unscored(transaction: Transaction, queue: str, fingerprint: str, limit: int) -> list[tuple[int, Content]]:
    """Numbers and contents of documents without a decision that another model has scored, or none."""
    rows = transaction.rows(
        "SELECT d.number, t.content FROM documents d JOIN texts t ON t.document = d.number WHERE d.queue = ? "
        "AND d.pending = 1 AND (d.scored_by IS NULL OR d.scored_by <> ?) ORDER BY d.number LIMIT ?",
        (queue, fingerprint, limit),
    )
    return [(int(row["number"]), json.loads(row["content"])) for row in rows]


def keep_scores(
    transaction: Transaction, fingerprint: str, numbers: Sequence[int], scored: Sequence[ScoredDocument]
) -> None:
    """Store what a model says about documents, in place of what another one said."""
    transaction.many(
        "UPDATE documents SET scored_by = ?, usefulness = COALESCE(?, place), answer = ?, suggestions = ? "
        "WHERE number = ?",
        [
            (fingerprint, one.usefulness, json.dumps(one.answer), json.dumps(one.suggestions), number)
            for number, one in zip(numbers, scored, strict=True)
        ],
    )
    transaction.many("DELETE FROM answer_nodes WHERE document = ?", [(number,) for number in numbers])
    transaction.many(
        "INSERT INTO answer_nodes (document, node) VALUES (?, ?)",
        [(number, node) for number, one in zip(numbers, scored, strict=True) for node in one.nodes],
    )
