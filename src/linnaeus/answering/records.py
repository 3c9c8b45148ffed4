"""Answers of a saved model, one record per document: the work behind `linnaeus predict` and the service.

A record has the id of the document, its ``labels`` (best first; each with name, path, and score or probability; both
where the cut-off decided by a probability), the number of ``known_terms`` and a ``status``: answered, empty (the model
assigns no label), or unknown (no term of the document is known to the model, so the answer would not depend on the
document). Under a promised risk the status is coded, or review with the reason and the most probable labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NotRequired, TypedDict

import numpy as np

from linnaeus.decoding import Decoder, ExpectedCut, RankedSets, Rules
from linnaeus.engine import blocks
from linnaeus.errors import ParameterError
from linnaeus.models.promises import REASONS, Decisions
from linnaeus.models.requests import check_feasible
from linnaeus.typing import CSR, FloatArray, Matrix

if TYPE_CHECKING:
    from linnaeus.answering.documents import SavedModel
    from linnaeus.data import Dataset
    from linnaeus.taxonomy import Taxonomy

__all__ = [
    "ANSWERED",
    "APPROXIMATE",
    "CODED",
    "EMPTY",
    "REVIEW",
    "UNKNOWN",
    "Answering",
    "LabelCandidate",
    "LabelEntry",
    "PromisedRisk",
    "Record",
    "ScoredSet",
]

ANSWERED, EMPTY, UNKNOWN = "answered", "empty", "unknown"
APPROXIMATE = (
    "the risk was estimated on training documents, so that the promise is approximate and keeps a margin; "
    "`linnaeus calibrate` with other documents makes it exact"
)
CODED, REVIEW = "coded", "review"  # under a promised risk
_REMEMBERED = 20_000  # nodes whose texts are remembered
_BATCH = 4096
# Labels of a document, best first: the node, its score (or probability, if requested), the probability of a cut-off.
Row = list[tuple[int, float | None, float | None]]


class LabelEntry(TypedDict):
    """A label of an answer; display labels only where the taxonomy has them."""

    label: str
    path: list[str]
    score: NotRequired[float | None]
    probability: NotRequired[float | None]
    display: NotRequired[str]
    display_path: NotRequired[list[str]]
    other_paths: NotRequired[list[list[str]]]


class LabelCandidate(TypedDict):
    """A label that is suggested for a document left for review."""

    label: str
    name: str
    probability: float


class ScoredSet(TypedDict):
    """One of the n best label sets of a document."""

    labels: list[str]
    score: float | None


class Record(TypedDict):
    """The answer for one document, as described above."""

    id: str
    labels: list[LabelEntry]
    known_terms: int
    status: str
    proved: NotRequired[bool]
    sets: NotRequired[list[ScoredSet]]
    reason: NotRequired[str]
    margin: NotRequired[float]
    candidates: NotRequired[list[LabelCandidate]]


class PromisedRisk(TypedDict):
    """Parameters of ``decisions``."""

    risk: float
    risk_of: str
    confidence: float | None
    rules: dict[str, object] | None


class ReviewReason(TypedDict):
    """Why a document is left for review, and the most probable labels."""

    reason: str
    margin: float
    candidates: list[LabelCandidate]


@dataclass(frozen=True)
class NodeTexts:
    """What entries of a node say apart from scores."""

    label: str
    path: list[str]
    display: str | None
    display_path: list[str] | None
    other_paths: list[list[str]] | None


@dataclass
class Answering:
    """A model, and the form of answers that is requested from it; ``rules`` may have candidates of each document.

    ``texts`` remembers the texts of nodes; a service passes the same one with all requests to a model.
    """

    model: SavedModel
    top: int | None = None
    closed: bool | None = None
    decoder: Decoder | None = None
    probabilities: bool = False
    rules: dict[str, object] = field(default_factory=dict)
    n_best: int | None = None
    promise: PromisedRisk | None = None
    n_candidates: int = 3
    ancestors: bool = False
    answer_unknown: bool = False
    n_unknown: int = 0  # documents without a term that the model knows, counted while they are answered
    texts: dict[int, NodeTexts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.inner = self.model.estimator
        self.decoder = self.decoder or getattr(self.model, "decoder_", None)
        self.taxonomy = self.inner.taxonomy_

    def records(self, documents: Dataset, advance: Callable[[int], None] | None = None) -> Iterator[Record]:
        """One record per document; ``advance`` is called with the number of documents of every finished batch."""
        whole = not self.top and getattr(self.decoder, "whole_batch", False)
        wanted = Rules.of(self.rules) if self.rules else None
        own = list(wanted.candidates or ()) if wanted is not None and wanted.per_document else None
        if own is not None and len(own) != len(documents):
            raise ParameterError(f"candidates has {len(own):,} lists for {len(documents):,} documents.")
        for part in blocks(len(documents), max(1, len(documents)) if whole else _BATCH):
            is_all = part.stop - part.start == len(documents)
            batch = documents if is_all else documents.take(range(part.start, part.stop))
            names = batch.ids or [str(i) for i in range(part.start + 1, part.stop + 1)]
            X = self.model.matrix(batch.documents)
            by_column = getattr(getattr(self.model, "features_", None), "columns_are_terms", True)
            known = self.inner.known_terms(X) if by_column else self.model.known_terms(batch.documents)
            rules = self.rules if own is None else {**self.rules, "candidates": own[part]}
            yield from self._batch(X, names, known.tolist(), rules)
            if advance is not None:
                advance(part.stop - part.start)

    def _batch(self, X: Matrix, names: list[str], known: list[int], rules: dict[str, object]) -> Iterator[Record]:
        if self.promise is not None:
            yield from self._promised(X, names, known, self.promise)
            return
        sets = self._sets(X, rules, names)
        for i, row in enumerate(self._ranked(X, self.top, rules) if self.top else self._assigned(X, sets)):
            unknown = not known[i]
            self.n_unknown += unknown
            withheld = unknown and not self.answer_unknown
            labels = [] if withheld else [self._entry(*label) for label in row]
            status = UNKNOWN if withheld else ANSWERED if labels else EMPTY
            record: Record = {"id": names[i], "labels": labels, "known_terms": known[i], "status": status}
            if sets is not None:
                record["proved"] = bool(sets.proved[i])
            if sets is not None and self.n_best is not None:
                record["sets"] = [] if withheld else self._scored_sets(sets, i)
            yield record

    def _promised(self, X: Matrix, names: list[str], known: list[int], promise: PromisedRisk) -> Iterator[Record]:
        """Records under a promised risk: coded, or left for review with candidates."""
        found = self.inner.decisions(X, k=self.n_candidates, **promise)
        closed = found.Y
        shown = self._closed(closed)
        for i, name in enumerate(names):
            members = slice(closed.indptr[i], closed.indptr[i + 1])
            value = dict(zip(closed.indices[members].tolist(), found.certainty[members].tolist(), strict=True))
            row = [(v, value[v]) for v in shown.indices[shown.indptr[i] : shown.indptr[i + 1]].tolist()]
            self.n_unknown += not known[i]
            labels = [self._entry(v, p) for v, p in sorted(row, key=lambda pair: (-pair[1], pair[0])) if known[i]]
            status = CODED if labels else REVIEW
            record: Record = {"id": name, "labels": labels, "known_terms": known[i], "status": status}
            reason = REASONS[found.reason[i] if known[i] else 0]
            yield record if labels else {**record, **_review_entry(found, i, reason, self.n_candidates, self.taxonomy)}

    # -- sets ----------------------------------------------------------------------------------------------------------

    def _sets(self, X: Matrix, rules: dict[str, object], names: list[str]) -> RankedSets | None:
        """Ranked label sets, where they are requested."""
        if self.top or (not rules and self.n_best is None):
            return None
        found = self.inner.ranked_sets(X, self.n_best or 1, rules=rules or None, decoder=self.decoder)
        check_feasible(found, rules, self.taxonomy, names)
        return found

    def _scored_sets(self, sets: RankedSets, i: int) -> list[ScoredSet]:
        """The sets of document i with their scores."""
        rows = self._closed(sets.sets[i * sets.k : (i + 1) * sets.k])
        pairs = zip(self.taxonomy.labels(rows), sets.scores[i].tolist(), strict=True)
        return [{"labels": labels, "score": round(s, 6)} for labels, s in pairs if s > float("-inf")]

    def _closed(self, Y: CSR) -> CSR:
        """Closed sets, without ancestors where answers are requested without them."""
        closed = self.inner.closed_ if self.closed is None else self.closed
        return Y if closed else self.taxonomy.frontier(Y)

    def _assigned(self, X: Matrix, sets: RankedSets | None) -> Iterator[Row]:
        """The labels of each document; a node that is only an ancestor of a label may have no score."""
        if sets is not None:
            Y = self._closed(sets.best)
        else:
            Y = self.inner.answers(X, decoder=self.decoder, closed=self.closed)
        first, column_of = 0, self._column_of
        decided = set(self.decoder.nodes) if isinstance(self.decoder, ExpectedCut) else set()
        for S in [self._probabilities_of(X, Y)] if self.probabilities else self.inner.score_blocks(X):
            P = self._cut_probabilities(S)
            for i, scores in enumerate(S):
                members = Y.indices[Y.indptr[first + i] : Y.indptr[first + i + 1]].tolist()
                at = [v if self.probabilities else column_of.get(v) for v in members]
                values = [None if column is None else float(scores[column]) for column in at]
                used = [float(P[i, v]) if P is not None and v in decided else None for v in members]
                row = list(zip(members, values, used, strict=True))
                yield sorted(row, key=lambda label: (label[1] is None, -(label[1] or label[2] or 0.0), label[0]))
            first += len(S)

    def _probabilities_of(self, X: Matrix, Y: CSR) -> FloatArray:
        """Probabilities of all nodes, n_docs x n_nodes: those of ``predict_proba``, and of nodes that have no score."""
        columns = self.inner.nodes_
        P = np.zeros((Y.shape[0], self.taxonomy.n_nodes))
        if not np.isin(Y.indices, columns).all():
            P[:] = self.inner.node_probabilities(X)
        P[:, columns] = self.inner.predict_proba(X)
        return P

    def _cut_probabilities(self, S: FloatArray) -> FloatArray | None:
        """Probabilities of all nodes that the cut-off decided by (n_docs x n_nodes), if it did; S are scores."""
        if self.probabilities or self.rules or self.n_best is not None or not isinstance(self.decoder, ExpectedCut):
            return None
        order = np.argsort(self.inner.nodes_, kind="stable")
        P = np.zeros((len(S), self.taxonomy.n_nodes))
        columns = self.inner.nodes_[order]
        P[:, np.asarray(self.decoder.nodes)] = self.decoder.probabilities(S[:, order], self.taxonomy, columns)
        return P

    @cached_property
    def _column_of(self) -> dict[int, int]:
        return {node: i for i, node in enumerate(self.inner.nodes_.tolist())}

    # -- rankings ------------------------------------------------------------------------------------------------------

    def _ranked(self, X: Matrix, k: int, rules: dict[str, object]) -> Iterator[Row]:
        """The k best labels of each document by score; their probabilities do not change the order."""
        nodes, values = self.inner.top_nodes(
            X, k, probabilities=self.probabilities, ancestors=self.ancestors, rules=rules or None
        )
        for row in zip(nodes.tolist(), values.tolist(), strict=True):
            yield [(node, value, None) for node, value in zip(*row, strict=True) if node >= 0]

    # -- entries -------------------------------------------------------------------------------------------------------

    def entry(self, label: str) -> LabelEntry:
        """A label without a score."""
        return self._entry(self.taxonomy.index(label), None)

    def _entry(self, node: int, score: float | None, probability: float | None = None) -> LabelEntry:
        texts = self.texts.get(node)
        if texts is None or self._only_under:  # the order of paths depends on this rule
            texts = self._texts(node)
            if not self._only_under and len(self.texts) < _REMEMBERED:
                self.texts[node] = texts
        value = None if score is None else round(score, 6)
        entry: LabelEntry = {"label": texts.label, "path": texts.path}
        if self.probabilities or self.promise is not None:
            entry["probability"] = value
        else:
            entry["score"] = value
            if probability is not None:
                entry["probability"] = round(probability, 6)
        if texts.display is not None and texts.display_path is not None:
            entry["display"] = texts.display
            entry["display_path"] = texts.display_path
        if texts.other_paths:
            entry["other_paths"] = texts.other_paths
        return entry

    def _texts(self, node: int) -> NodeTexts:
        tax = self.taxonomy
        first, *others = self._paths(node)
        shown = tax.display_labels is not None
        return NodeTexts(
            str(tax.names[node]),
            tax.names[first].tolist(),
            tax.display(node) if shown else None,
            [tax.display(v) for v in first] if shown else None,
            [tax.names[path].tolist() for path in others] or None,
        )

    def _paths(self, node: int) -> list[list[int]]:
        """The paths to a node; those through a node of ``only_under`` come first."""
        paths = [[int(v) for v in path] for path in self.taxonomy.paths(node)]
        return sorted(paths, key=self._only_under.isdisjoint) if self._only_under else paths

    @cached_property
    def _only_under(self) -> set[int]:
        return {self.taxonomy.index(name) for name in Rules.of(self.rules).only_under} if self.rules else set()


def _review_entry(found: Decisions, i: int, reason: str, k: int, taxonomy: Taxonomy) -> ReviewReason:
    """Why a document has no answer, and its k most probable labels."""
    pairs = zip(found.candidates[i, :k].tolist(), found.probabilities[i, :k].tolist(), strict=True)
    labels: list[LabelCandidate] = [
        {"label": str(taxonomy.names[v]), "name": taxonomy.display(v), "probability": round(p, 6)} for v, p in pairs
    ]
    return {"reason": reason, "margin": round(float(found.margin[i]), 6), "candidates": labels}
