"""Explanations of answers as plain values: the contribution of each word to the score of every node of the path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linnaeus.errors import DataError

if TYPE_CHECKING:
    from linnaeus.answering.documents import SavedModel
    from linnaeus.data import Dataset
    from linnaeus.models.explaining import Contrast, Neighbour, NodeExplanation
    from linnaeus.taxonomy import Taxonomy

__all__ = ["evidence_of", "explained_nodes", "plain_explanation", "single_document"]


def explained_nodes(model: SavedModel, documents: Dataset, given: object, node: str | None) -> list[NodeExplanation]:
    """The nodes on the paths to a node, or to all labels of the answer, each once."""
    if not hasattr(model, "explain"):
        raise DataError(f"{type(model).__name__} has no explanations.")
    labels: list[str | None] = [node]
    if node is None:
        answer = model.taxonomy_.frontier(model.answers(documents.documents))
        labels = list(model.taxonomy_.labels(answer)[0]) or [None]
    steps = {step.node: step for label in labels for step in model.explain(given, label)}
    return list(steps.values())


def evidence_of(step: NodeExplanation, taxonomy: Taxonomy) -> list[str]:
    """Labels that were found in the document, in words, also those of a source of a mixture."""
    from linnaeus.models.label_priors import LabelTextExplanation

    own: list[str] = list(getattr(step, "evidence", ()))
    if isinstance(step, LabelTextExplanation):
        own = step.evidence_for(taxonomy.display(step.node))
    sources = [source.explanation for source in getattr(step, "sources", ()) if source.explanation is not None]
    return own + [line for explanation in sources for line in evidence_of(explanation, taxonomy)]


def single_document(documents: Dataset) -> object:
    """The only document of a data set, as `explain` takes it."""
    if documents.suggestions:
        return documents.documents
    if documents.X is not None:
        return documents.X
    if documents.fields is not None and len(documents.fields) > 1:
        return {field: values[0] for field, values in documents.fields.items()}
    return documents.documents[0]


def plain_explanation(
    step: NodeExplanation, taxonomy: Taxonomy, k: int, near: Sequence[Neighbour] | None = None
) -> dict[str, object]:
    """An explanation as plain values, with the k largest contributions."""
    from linnaeus.models.explaining import MixtureExplanation

    evidence = evidence_of(step, taxonomy)
    more: dict[str, object] = {"evidence": evidence} if evidence else {}
    if isinstance(step, MixtureExplanation):  # these and the constant sum to the score, as contributions do
        more["mixed"] = [{"source": s.name, "weight": s.weight, "contribution": s.contribution} for s in step.sources]
        more["mixed_constant"] = step.constant
    if step.against is not None:
        rival = step.against
        more["against"] = {
            "rival": rival.rival,
            "display": taxonomy.display(rival.rival),
            "score": rival.rival_score,
            "margin": rival.margin,
            **_terms(rival, k),
        }
    if near is not None:
        more["nearest"] = [{"id": n.name, "similarity": n.similarity, "labels": n.labels} for n in near]
    return {
        "node": step.node,
        "display": taxonomy.display(step.node),
        "score": step.score,
        "approximate": step.approximate,
        **_terms(step, k),
        **more,
    }


def _terms(found: NodeExplanation | Contrast, k: int) -> dict[str, object]:
    """The terms of a score or of a difference of scores as plain values."""
    shown = zip(found.features[:k], found.contributions[:k], strict=True)
    terms: dict[str, object] = {
        "constant": found.intercept,
        "contributions": [[str(f), float(c)] for f, c in shown],
        "others": float(found.contributions[k:].sum()),
    }
    return terms if found.origins is None else {**terms, "sources": found.origins[:k].tolist()}
