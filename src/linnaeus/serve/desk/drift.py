"""Drift of inputs and of answers: documents of the last weeks beside the training documents, or beside earlier ones.

Inputs: the share of unknown words of each document, and the cosine similarity to the nearest training document, for
training documents to the nearest other one. Answers: with p(v) the mean share of label v among the labels of a document
(a document without labels has a label of its own), the distance of two samples is sum_v |p(v) - q(v)| / 2, from 0 to 1.
It is above 0 by chance: p-value and the 95 % quantile of that chance come from permutations of the documents of both
samples. Nodes gain or lose documents at or below them by a z-test, at a false discovery rate of 10 % (Benjamini and
Hochberg 1995).

Weeks are counted back from the newest document. Samples are the first documents in the random order of the queue. All
answers are those of the running model, so that a change of the model is not a drift.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.special import ndtr, ndtri

from linnaeus.errors import ParameterError
from linnaeus.features.documents import columns_of, field_of, texts_of
from linnaeus.features.text import TextFeatures
from linnaeus.serve.answers import check_time
from linnaeus.serve.scoring import dataset_of
from linnaeus.typing import CSR, FloatArray, Matrix

if TYPE_CHECKING:
    from linnaeus.serve.models import ServedModel
    from linnaeus.serve.review import Review
    from linnaeus.taxonomy import Taxonomy

__all__ = ["Drift", "Reference"]

WEEK = 7 * 24 * 3600.0
_SAMPLE, _WEEKLY, _WEEKS = 500, 100, 12  # documents of a sample and of a week, and weeks that are shown
_FEWEST = 20  # documents of a sample from which something is said
_AT_ONCE = 250  # documents that are answered together
_KEPT = 3000  # training documents among which the nearest one is looked for
_PERMUTATIONS = 400
_DISCOVERIES, _LISTED = 0.1, 8  # false discovery rate, and nodes and words that are listed
_Z = float(ndtri(0.95))  # of 90 % intervals


@dataclass(frozen=True)
class Reference:
    """What the last weeks are compared with: ``training`` or ``earlier`` documents, their number and label sets."""

    kind: str
    n: int
    labels: CSR
    unknown: FloatArray | None = None
    nearest: FloatArray | None = None


@dataclass
class _Documents:
    """What is known about documents of the queue, by their number."""

    labels: dict[int, list[str]] = field(default_factory=dict)
    unknown: dict[int, float] = field(default_factory=dict)
    new_words: dict[int, set[str]] = field(default_factory=dict)
    nearest: dict[int, float] = field(default_factory=dict)


@dataclass
class Drift:
    """Figures of drift; what was computed about documents is kept until the model changes."""

    _known: tuple[str, _Documents] | None = field(default=None, repr=False)
    _training: tuple[str, Reference | None] | None = field(default=None, repr=False)

    def figures(
        self, served: ServedModel, review: Review, weeks: int, against: str | None, deadline: float
    ) -> dict[str, object]:
        """Compare the last weeks with training or earlier documents.

        Parameters
        ----------
        served : ServedModel
            The running model.
        review : Review
            The store of its queue.
        weeks : int
            Number of weeks before the newest document that are compared.
        against : {"training", "earlier"} or None
            The reference; None takes training documents where they are kept with the model.
        deadline : float
            Value of `time.monotonic` at which the work is given up.

        Returns
        -------
        dict
            Plain values.
        """
        with review.read() as transaction:
            rows = transaction.rows(
                "SELECT number, added FROM documents WHERE queue = ? AND erased = 0 ORDER BY place, number",
                (served.name,),
            )
        newest = max((row["added"] for row in rows), default=0.0)
        ages = [(row["number"], int((newest - row["added"]) // WEEK)) for row in rows]
        recent = [number for number, age in ages if age < weeks][:_SAMPLE]
        earlier = [number for number, age in ages if age >= weeks][:_SAMPLE]
        weekly = {week: [number for number, age in ages if age == week][:_WEEKLY] for week in reversed(range(_WEEKS))}
        shown = [number for some in weekly.values() for number in some]
        found = self._documents(served, review, [*recent, *earlier, *shown], deadline)
        references = {
            "training": self._training_reference(served),
            "earlier": _reference("earlier", served.taxonomy, found, earlier) if len(earlier) >= _FEWEST else None,
        }
        possible = [kind for kind, reference in references.items() if reference is not None]
        if against is not None and against not in possible:
            raise ParameterError(
                "Documents are not kept with this model; train it with --keep-documents to compare with them."
                if against == "training"
                else f"{len(earlier)} documents are older than {weeks} weeks; {_FEWEST} are needed for a comparison."
            )
        chosen = references[against or possible[0]] if possible else None
        now = _reference("recent", served.taxonomy, found, recent)
        result: dict[str, object] = {
            "weeks": weeks,
            "documents": len(recent),
            "possible": possible,
            "against": None if chosen is None else chosen.kind,
            "reference_documents": 0 if chosen is None else chosen.n,
            "unknown_words": _difference(now.unknown, None if chosen is None else chosen.unknown),
            "nearest_training": _difference(now.nearest, None if chosen is None else chosen.nearest),
            "new_words": _new_words([found.new_words.get(number, set()) for number in recent]),
            "answers": None,
            "gaining": [],
            "losing": [],
            "over_time": [
                {"weeks_ago": week, **_week(served.taxonomy, found, some, chosen)}
                for week, some in weekly.items()
                if some
            ],
        }
        if chosen is not None and min(len(recent), chosen.n) >= _FEWEST:
            result["answers"] = _distance(now.labels, chosen.labels)
            result["gaining"], result["losing"] = _moving_nodes(served.taxonomy, now.labels, chosen.labels)
        return result

    def _documents(self, served: ServedModel, review: Review, numbers: Sequence[int], deadline: float) -> _Documents:
        """Answers, unknown words and similarities of documents; those that are known already are not computed again."""
        if self._known is None or self._known[0] != served.fingerprint:
            self._known = served.fingerprint, _Documents()
        found = self._known[1]
        missing = [number for number in dict.fromkeys(numbers) if number not in found.labels]
        for start in range(0, len(missing), _AT_ONCE):
            check_time(deadline)
            self._add(served, review, found, missing[start : start + _AT_ONCE])
        return found

    def _add(self, served: ServedModel, review: Review, found: _Documents, numbers: Sequence[int]) -> None:
        from sklearn.preprocessing import normalize  # takes as long to import as the rest of the service

        with review.read() as transaction:
            rows = [
                row
                for number in numbers
                for row in transaction.rows(
                    "SELECT d.number, d.answer, d.scored_by, t.content FROM documents d JOIN texts t "
                    "ON t.document = d.number WHERE d.number = ?",
                    (number,),
                )
            ]
        if not rows:
            return
        documents = dataset_of(served, [json.loads(row["content"]) for row in rows]).documents
        known = [row["scored_by"] == served.fingerprint and row["answer"] is not None for row in rows]
        if all(known):
            labels = [json.loads(row["answer"]) for row in rows]
        else:
            answers = served.model.answers(documents)
            labels = served.taxonomy.labels(served.taxonomy.frontier(answers))
        found.labels.update({row["number"]: list(own) for row, own in zip(rows, labels, strict=True)})
        features = getattr(served.model, "features_", None)
        if isinstance(features, TextFeatures):
            for row, (share, words) in zip(rows, _unknown_words(features, documents), strict=True):
                found.new_words[row["number"]] = words
                if not math.isnan(share):
                    found.unknown[row["number"]] = share
        kept = getattr(served.model.estimator, "kept_", None)
        if kept is not None:
            some = kept.X[_drawn(kept.X.shape[0], _KEPT)]
            nearest = _similarities(normalize(served.model.matrix(documents)), some).max(axis=1)
            found.nearest.update(zip((row["number"] for row in rows), nearest.tolist(), strict=True))

    def _training_reference(self, served: ServedModel) -> Reference | None:
        """Label sets of the training documents that are kept with the model, and how near each is to the others."""
        if self._training is None or self._training[0] != served.fingerprint:
            kept, reference = getattr(served.model.estimator, "kept_", None), None
            if kept is not None and kept.X.shape[0] >= _FEWEST:
                rows = _drawn(kept.X.shape[0], _KEPT)
                some = kept.X[rows]
                first = np.arange(min(_SAMPLE, len(rows)))
                similar = _similarities(some[first], some)
                similar[first, first] = -1.0
                labels = kept.labels if kept.labels is not None else served.taxonomy.frontier(kept.Y)
                reference = Reference("training", len(rows), labels[rows], None, similar.max(axis=1))
            self._training = served.fingerprint, reference
        return self._training[1]


def _drawn(n: int, most: int) -> np.ndarray:
    """A sample of rows, in their order."""
    return np.arange(n) if n <= most else np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def _similarities(A: Matrix, B: Matrix) -> FloatArray:
    """Cosine similarities of rows of length 1."""
    S = A @ B.T
    return np.asarray(S if isinstance(S, np.ndarray) else S.toarray(), dtype=np.float64)


def _unknown_words(features: TextFeatures, documents: object) -> list[tuple[float, set[str]]]:
    """For each document the share of its different words that are not features, and these words."""
    columns, analyser = columns_of(documents, features.weights_, features.kinds_), features.analyser()
    words = analyser.words if features.ngram_range[0] == 1 and analyser.kind not in ("char", "char_wb") else analyser
    shares: list[list[int]] = []
    unknown: list[set[str]] = []
    for name in features.weights_:
        known = frozenset(features.vocabulary_[name])
        for i, text in enumerate(texts_of(field_of(columns, name), name)):
            if i == len(shares):
                shares.append([0, 0])
                unknown.append(set())
            own = set(words(text))
            shares[i][0] += len(own - known)
            shares[i][1] += len(own)
            unknown[i] |= own - known
    return [(n / of if of else math.nan, new) for (n, of), new in zip(shares, unknown, strict=True)]


def _reference(kind: str, taxonomy: Taxonomy, found: _Documents, numbers: Sequence[int]) -> Reference:
    known = [number for number in numbers if number in found.labels]
    unknown, nearest = (
        np.array([values[number] for number in known if number in values]) for values in (found.unknown, found.nearest)
    )
    labels = taxonomy.indicator([found.labels[number] for number in known])
    return Reference(kind, len(known), labels, unknown if len(unknown) else None, nearest if len(nearest) else None)


def _mean(values: FloatArray | None) -> tuple[float, float] | None:
    """Mean and standard error."""
    if values is None or len(values) < 2:
        return None
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


def _difference(now: FloatArray | None, before: FloatArray | None) -> dict[str, object] | None:
    """Means of both samples, and the difference with its 90 % interval."""
    one, two = _mean(now), _mean(before)
    if one is None:
        return None
    result: dict[str, object] = {"now": one[0], "before": None, "difference": None, "low": None, "high": None}
    if two is not None:
        difference, error = one[0] - two[0], _Z * math.hypot(one[1], two[1])
        result |= {
            "before": two[0],
            "difference": difference,
            "low": difference - error,
            "high": difference + error,
        }
    return result


def _new_words(words: Sequence[set[str]]) -> list[dict[str, object]]:
    """Unknown words that most documents have, at least two."""
    counts = Counter(word for some in words for word in some)
    best = sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:_LISTED]
    return [{"word": word, "documents": n} for word, n in best if n > 1]


def _shares(Y: CSR) -> CSR:
    """Label sets as shares of each document; one more column for documents without labels."""
    sizes = np.diff(Y.indptr)
    data = np.repeat(1.0 / np.maximum(sizes, 1), sizes)
    given = sparse.csr_array((data, Y.indices, Y.indptr), shape=Y.shape)
    return sparse.csr_array(sparse.hstack([given, sparse.csr_array((sizes == 0).astype(np.float64)[:, None])]))


def _distance(now: CSR, before: CSR) -> dict[str, float]:
    """The distance of two samples of label sets, with what chance gives."""
    W = sparse.csr_array(sparse.vstack([_shares(now), _shares(before)]))
    W = W[:, np.unique(W.indices)]
    n, n_now = W.shape[0], now.shape[0]
    rng = np.random.default_rng(0)
    members = np.zeros((_PERMUTATIONS + 1, n))
    members[0, :n_now] = 1.0
    for row in members[1:]:
        row[rng.permutation(n)[:n_now]] = 1.0
    weights = members / n_now - (1.0 - members) / (n - n_now)
    values = np.abs(np.asarray((W.T @ weights.T).T)).sum(axis=1) / 2.0
    p_value = (1.0 + float((values[1:] >= values[0] - 1e-12).sum())) / (1.0 + _PERMUTATIONS)
    return {"distance": float(values[0]), "chance": float(np.quantile(values[1:], 0.95)), "p_value": p_value}


def _moving_nodes(taxonomy: Taxonomy, now: CSR, before: CSR) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Nodes with more, and with less, documents at or below them than before, the largest change first."""
    n, m = now.shape[0], before.shape[0]
    one, two = (
        np.asarray(taxonomy.close(Y, keep_root=False).sum(axis=0), dtype=np.float64).ravel() for Y in (now, before)
    )
    used = np.flatnonzero(one + two)
    one, two = one[used], two[used]
    pooled = (one + two) / (n + m)
    error = np.sqrt(pooled * (1.0 - pooled) * (1.0 / n + 1.0 / m))
    change = one / n - two / m
    p_values = 2.0 * ndtr(-np.abs(change) / np.where(error > 0, error, np.inf))
    order = np.argsort(p_values, kind="stable")
    passed = np.flatnonzero(p_values[order] <= _DISCOVERIES * np.arange(1, len(order) + 1) / len(order))
    moving = order[: passed[-1] + 1] if len(passed) else order[:0]
    a, b = (one + 1.0) / (n + 2.0), (two + 1.0) / (m + 2.0)  # Agresti and Caffo 2000
    width = _Z * np.sqrt(a * (1.0 - a) / (n + 2.0) + b * (1.0 - b) / (m + 2.0))
    entries = [
        {
            "node": str(taxonomy.names[used[i]]),
            "name": taxonomy.display(int(used[i])),
            "before": float(two[i] / m),
            "now": float(one[i] / n),
            "low": float(a[i] - b[i] - width[i]),
            "high": float(a[i] - b[i] + width[i]),
        }
        for i in moving[np.argsort(-np.abs(change[moving]), kind="stable")].tolist()
    ]
    gaining = [entry for entry in entries if float(str(entry["now"])) > float(str(entry["before"]))]
    return gaining[:_LISTED], [entry for entry in entries if entry not in gaining][:_LISTED]


def _week(taxonomy: Taxonomy, found: _Documents, numbers: Sequence[int], chosen: Reference | None) -> dict[str, object]:
    """The figures of one week."""
    own = _reference("week", taxonomy, found, numbers)
    unknown, answers = _mean(own.unknown), None
    if chosen is not None and own.n >= _FEWEST:
        answers = _distance(own.labels, chosen.labels)
    return {
        "documents": own.n,
        "unknown_words": None if unknown is None else unknown[0],
        "low": None if unknown is None else unknown[0] - _Z * unknown[1],
        "high": None if unknown is None else unknown[0] + _Z * unknown[1],
        "answers": answers,
    }
