"""A memory of decided documents: a new document with the same or nearly the same words gets their labels shown.

Documents are the same if their texts are equal up to case and white space. They are similar if the sets of their
shingles (three words in a row) have a Jaccard similarity of at least `SIMILAR`. Candidates are found by MinHash: the
smallest values of `BANDS` x `ROWS` hash functions, of which documents with similarity s share a whole band with
probability 1 - (1 - s^ROWS)^BANDS.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np

from linnaeus.serve.store.database import Row, Transaction
from linnaeus.serve.store.documents import Content, digest_of, texts_of
from linnaeus.serve.store.verdicts import MACHINE

__all__ = ["keep_bands", "remembered"]

SIMILAR = 0.8
BANDS, ROWS = 8, 4
_WORDS = 3
_CANDIDATES = 20  # most recent documents that share a band, of which similarities are computed
_RNG = np.random.default_rng(0)
_FACTORS = _RNG.integers(0, 2**63, size=(BANDS * ROWS, 1), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
_OFFSETS = _RNG.integers(0, 2**63, size=(BANDS * ROWS, 1), dtype=np.uint64)


def _shingles(content: Content) -> set[str]:
    words = " ".join(texts_of(content)).casefold().split()
    return {" ".join(words[i : i + _WORDS]) for i in range(max(1, len(words) - _WORDS + 1))} if words else set()


def _bands(shingles: set[str]) -> list[str]:
    """One hash for each band; none for a document without words."""
    if not shingles:
        return []
    digests = [hashlib.blake2b(s.encode("utf-8", "surrogatepass"), digest_size=8).digest() for s in sorted(shingles)]
    values = np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)[None, :]
    smallest = ((values * _FACTORS + _OFFSETS) >> np.uint64(11)).min(axis=1).reshape(BANDS, ROWS)
    return [f"{i}-{hashlib.blake2b(row.tobytes(), digest_size=8).hexdigest()}" for i, row in enumerate(smallest)]


def keep_bands(transaction: Transaction, number: int, content: Content) -> None:
    """Keep what is needed to find a document again by its words."""
    if "vector" not in content:
        rows = [(band, number) for band in _bands(_shingles(content))]
        transaction.many("INSERT INTO bands (band, document) VALUES (?, ?)", rows)


def remembered(transaction: Transaction, queue: str, content: Content, other_than: int = 0) -> dict[str, object] | None:
    """The most recent decided document that is the same, otherwise the most similar one; None if there is none.

    Parameters
    ----------
    transaction : Transaction
        A transaction that reads.
    queue : str
        The queue whose documents are searched.
    content : mapping
        The content of the document.
    other_than : int, default=0
        The number of the document itself.

    Returns
    -------
    dict or None
        ``document``, ``coder``, ``labels`` and ``similarity``.
    """
    fields = (
        "SELECT d.number, d.id, d.final, t.content, t.digest FROM documents d JOIN texts t ON t.document = d.number "
    )
    decided = (
        "d.queue = ? AND d.final IS NOT NULL AND d.number <> ? AND EXISTS "
        "(SELECT 1 FROM decisions x WHERE x.document = d.number AND x.coder NOT LIKE ?)"
    )
    people = (queue, other_than, f"{MACHINE}%")
    same = transaction.rows(
        f"{fields} WHERE t.digest = ? AND {decided} ORDER BY d.number DESC LIMIT 1",
        (digest_of(content), *people),
    )
    if same:
        return _entry(transaction, same[0], 1.0)
    if "vector" in content:
        return None
    shingles = _shingles(content)
    bands = _bands(shingles)
    if not bands:
        return None
    marks = ", ".join("?" * len(bands))
    rows = transaction.rows(
        f"{fields} WHERE d.number IN (SELECT document FROM bands WHERE band IN ({marks})) AND {decided} "
        "ORDER BY d.number DESC LIMIT ?",
        (*bands, *people, _CANDIDATES),
    )
    similar = [(_similarity(shingles, row), row) for row in rows]
    best = max(similar, key=lambda pair: pair[0], default=(0.0, None))
    return None if best[1] is None or best[0] < SIMILAR else _entry(transaction, best[1], best[0])


def _similarity(shingles: set[str], row: Row) -> float:
    others = _shingles(json.loads(row["content"]))
    return len(shingles & others) / max(1, len(shingles | others))


def _entry(transaction: Transaction, row: Row, similarity: float) -> dict[str, object]:
    decided: Sequence[Row] = transaction.rows(
        "SELECT coder FROM decisions WHERE document = ? ORDER BY adjudication DESC, verdict LIMIT 1", (row["number"],)
    )
    return {
        "document": row["id"],
        "coder": decided[0]["coder"] if decided else "",
        "labels": json.loads(row["final"]),
        "similarity": round(similarity, 4),
    }
