"""Answers of a saved model, one record per document: the work behind `linnaeus predict`.

A record has the id of the document, its ``labels`` (best first; each with name, score and path), the number of
``known_terms`` and a ``status``: answered, empty (the model assigns no label), or unknown (the model knows no term of
the document, so that its answer would say nothing about it). Under a promised risk it is coded, or review with the
reason and the most probable labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from linnaeus.cli.risk import review_entry
from linnaeus.errors import ParameterError
from linnaeus.models.promises import nonzero_features
from linnaeus.models.requests import candidates, check_feasible
from linnaeus.order import best_columns

__all__ = ["ANSWERED", "CODED", "EMPTY", "REVIEW", "UNKNOWN", "Answering"]

ANSWERED, EMPTY, UNKNOWN = "answered", "empty", "unknown"
CODED, REVIEW = "coded", "review"  # under a promised risk
_BATCH = 4096
Row = list[tuple[int, float | None]]  # (node, score) of the labels of a document, best first


@dataclass
class Answering:
    """A model and how it is to answer."""

    model: Any
    top: int | None = None
    closed: bool | None = None
    decoder: Any = None
    probabilities: bool = False
    rules: dict[str, Any] = field(default_factory=dict)
    n_best: int | None = None
    promise: dict[str, Any] = field(default_factory=dict)  # parameters of ``decisions``, rules included
    n_candidates: int = 3
    ancestors: bool = False
    answer_unknown: bool = False
    n_unknown: int = 0  # documents of which the model knows no term, counted while they are answered

    def __post_init__(self) -> None:
        self.inner = self.model.estimator
        self.decoder = self.decoder or getattr(self.model, "decoder_", None)
        self.taxonomy = self.inner.taxonomy_

    def records(self, documents: Any) -> Iterator[dict[str, Any]]:
        """One record per document."""
        from linnaeus.cli.console import progress
        from linnaeus.engine.limits import blocks

        whole = not self.top and getattr(self.decoder, "whole_batch", False)
        with progress("predicting", len(documents)) as advance:
            for part in blocks(len(documents), max(1, len(documents)) if whole else _BATCH):
                batch = documents.take(range(part.start, part.stop))
                names = batch.ids or [str(i) for i in range(part.start + 1, part.stop + 1)]
                given = batch.documents
                yield from self._batch(self.model.matrix(given), names)
                advance(part.stop - part.start)

    def _batch(self, X: Any, names: list[str]) -> Iterator[dict[str, Any]]:
        known = nonzero_features(X).tolist()
        if self.promise:
            yield from self._promised(X, names, known)
            return
        sets = self._sets(X)
        for i, row in enumerate(self._ranked(X) if self.top else self._assigned(X, sets)):
            nothing = not known[i]
            self.n_unknown += nothing
            silent = nothing and not self.answer_unknown
            labels = [] if silent else [self._entry(node, score) for node, score in row]
            status = UNKNOWN if silent else ANSWERED if labels else EMPTY
            record = {"id": names[i], "labels": labels, "known_terms": known[i], "status": status}
            yield record if sets is None else {**record, **self._proof(sets, i, silent)}

    def _promised(self, X: Any, names: list[str], known: list[int]) -> Iterator[dict[str, Any]]:
        """Records under a promised risk: coded, or left for review with candidates."""
        found = self.inner.decisions(X, k=self.n_candidates, **self.promise)
        closed = found.Y
        shown = self._closed(closed)
        for i, name in enumerate(names):
            members = slice(closed.indptr[i], closed.indptr[i + 1])
            value = dict(zip(closed.indices[members].tolist(), found.certainty[members].tolist(), strict=True))
            row = [(v, value[v]) for v in shown.indices[shown.indptr[i] : shown.indptr[i + 1]].tolist()]
            labels = [self._entry(v, p) for v, p in sorted(row, key=lambda pair: (-pair[1], pair[0]))]
            self.n_unknown += not known[i]
            record = {"id": name, "labels": labels, "known_terms": known[i], "status": CODED if labels else REVIEW}
            yield record if labels else {**record, **review_entry(found, i, self.n_candidates, self.taxonomy)}

    # -- sets ----------------------------------------------------------------------------------------------------------

    def _sets(self, X: Any) -> Any:
        """Ranked label sets, where they are asked for."""
        if self.top or (not self.rules and self.n_best is None):
            return None
        found = self.inner.ranked_sets(X, self.n_best or 1, rules=self.rules or None, decoder=self.decoder)
        check_feasible(found, self.rules)
        return found

    def _proof(self, sets: Any, i: int, silent: bool) -> dict[str, Any]:
        """Whether an answer is proved to be the best, and the sets with their scores."""
        proof: dict[str, Any] = {"proved": bool(sets.proved[i])}
        if self.n_best is not None:
            rows = self._closed(sets.sets[i * sets.k : (i + 1) * sets.k])
            pairs = zip(self.taxonomy.labels(rows), sets.scores[i].tolist(), strict=True)
            found = [{"labels": labels, "score": round(s, 6)} for labels, s in pairs if s > float("-inf")]
            proof["sets"] = [] if silent else found
        return proof

    def _closed(self, Y: Any) -> Any:
        """Closed sets as answers are to be."""
        closed = self.inner.closed_ if self.closed is None else self.closed
        return Y if closed else self.taxonomy.frontier(Y)

    def _assigned(self, X: Any, sets: Any) -> Iterator[Row]:
        """The labels of each document; nodes that only stand above a label may have no score."""
        if sets is not None:
            Y = self._closed(sets.best)
        else:
            Y = self.inner.answers(X, decoder=self.decoder, closed=self.closed)
        first = 0
        for S in [self.inner.predict_proba(X)] if self.probabilities else self.inner.score_blocks(X):
            for i, scores in enumerate(S):
                members = Y.indices[Y.indptr[first + i] : Y.indptr[first + i + 1]].tolist()
                column_of = self._column_of
                row = [(v, float(scores[column_of[v]]) if v in column_of else None) for v in members]
                yield sorted(row, key=lambda pair: (pair[1] is None, -(pair[1] or 0.0), pair[0]))
            first += len(S)

    @cached_property
    def _column_of(self) -> dict[int, int]:
        return {node: i for i, node in enumerate(self.inner.nodes_.tolist())}

    # -- rankings ------------------------------------------------------------------------------------------------------

    def _ranked(self, X: Any) -> Iterator[Row]:
        """The best labels of each document by score; their probabilities do not change the order."""
        if self.probabilities and not self.rules:
            found = self.inner.top_nodes(X, self.top, probabilities=True, ancestors=self.ancestors)
            yield from (list(zip(*row, strict=True)) for row in zip(*(part.tolist() for part in found), strict=True))
            return
        nodes, scores = self._best(X)
        if self.probabilities:
            columns = [[self._column_of[node] for node in row] for row in nodes]
            scores = np.take_along_axis(self.inner.predict_proba(X), np.array(columns), axis=1).tolist()
        yield from (list(zip(*row, strict=True)) for row in zip(nodes, scores, strict=True))

    def _best(self, X: Any) -> tuple[Any, Any]:
        if not self.rules:  # no scores of all nodes are needed for it
            nodes, scores = self.inner.top_nodes(X, self.top)
            return nodes.tolist(), scores.tolist()
        from linnaeus.decoding import Rules

        nodes = self.inner.nodes_[candidates(Rules.of(self.rules).bind(self.taxonomy), self.inner.nodes_)]
        if not len(nodes):
            raise ParameterError("The rules leave no label that the model can answer.")
        columns = np.array([self._column_of[node] for node in nodes.tolist()], dtype=np.int64)
        S = np.concatenate([scores[:, columns] for scores in self.inner.score_blocks(X)])
        best = best_columns(S, min(int(self.top or 1), len(nodes)))
        return nodes[best].tolist(), np.take_along_axis(S, best, axis=1).tolist()

    # -- entries -------------------------------------------------------------------------------------------------------

    def entry(self, label: str) -> dict[str, Any]:
        """A label without a score."""
        return self._entry(self.taxonomy.index(label), None)

    def _entry(self, node: int, score: float | None) -> dict[str, Any]:
        tax = self.taxonomy
        entry: dict[str, Any] = {"label": str(tax.names[node]), "score": None if score is None else round(score, 6)}
        first, *others = self._paths(node)
        entry["path"] = tax.names[first].tolist()
        if tax.display_labels is not None:
            entry["display"] = tax.display(node)
            entry["display_path"] = [tax.display(v) for v in first]
        if others:
            entry["other_paths"] = [tax.names[path].tolist() for path in others]
        return entry

    def _paths(self, node: int) -> list[list[int]]:
        """The paths to a node; those through a node of ``only_under`` come first."""
        paths = [[int(v) for v in path] for path in self.taxonomy.paths(node)]
        through = {self.taxonomy.index(name) for name in self.rules.get("only_under", ())}
        return sorted(paths, key=lambda path: through.isdisjoint(path)) if through else paths
