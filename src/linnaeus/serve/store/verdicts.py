"""Verdicts: appended, never changed; each is stored once for its key, however often a client sends it.

A verdict with labels decides a document for its coder, and so do "none-fits" (no label) and "cannot-tell"; notes, flags
and rejections of single suggestions do not. "undo" takes back a verdict, "redo" takes back an undo. What holds now is
derived from all verdicts of a coder on a document: a verdict counts unless an undo that counts refers to it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

from linnaeus.errors import LinnaeusError
from linnaeus.serve.store.database import Row, Transaction
from linnaeus.serve.store.documents import PENDING, document_row

__all__ = [
    "KINDS",
    "MACHINE",
    "KeyReusedError",
    "NewVerdict",
    "StoredVerdict",
    "VerdictError",
    "add_verdict",
    "history",
]

MACHINE = "model:"  # how names begin under which answers of models are stored; they are not verdicts of people
WITH_LABELS = ("accept", "replace", "add", "back-off")
KINDS = (*WITH_LABELS, "reject", "none-fits", "cannot-tell", "note", "flag", "undo", "redo")
_DECIDING = ("none-fits", "cannot-tell")
_WITHOUT_LABELS = ("none-fits", "cannot-tell", "note", "flag", "undo", "redo")


class VerdictError(LinnaeusError):
    """A verdict contradicts itself, or the verdicts before it."""


class KeyReusedError(LinnaeusError):
    """A key was used for another verdict before."""


@dataclass(frozen=True)
class NewVerdict:
    """A verdict to store; ``key`` is made by the client and is the same when the verdict is sent again."""

    key: str
    document: str
    coder: str
    kind: str
    labels: Sequence[str] | None = None
    shown: object = None
    rank: int | None = None
    seconds: float | None = None
    note: str | None = None
    undoes: str | None = None
    adjudication: bool = False
    taxonomy: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise VerdictError(f"{self.kind!r} is not a kind of verdict; kinds are {', '.join(KINDS)}.")
        if self.kind in WITH_LABELS and not self.labels:
            raise VerdictError(f"A verdict {self.kind!r} needs 'labels', the whole label set of the document.")
        if self.kind in _WITHOUT_LABELS and self.labels:
            raise VerdictError(f"A verdict {self.kind!r} has no labels; leave out 'labels'.")
        if self.undoes is not None and self.kind not in ("undo", "redo"):
            raise VerdictError(f"'undoes' belongs to verdicts 'undo' and 'redo', not to {self.kind!r}.")
        if self.kind == "note" and not self.note:
            raise VerdictError("A verdict 'note' needs 'note', its text.")

    @property
    def decides(self) -> bool:
        """Whether it decides the document for its coder."""
        return self.kind in _DECIDING or (self.labels is not None and self.kind not in _WITHOUT_LABELS)


@dataclass(frozen=True)
class StoredVerdict:
    """A verdict that is stored now, or was stored by an earlier request (``repeated``)."""

    key: str
    number: int
    state: str
    repeated: bool
    row: Row


def add_verdict(transaction: Transaction, queue: str, verdict: NewVerdict) -> StoredVerdict:
    """Store a verdict, and update what holds for its document."""
    document = document_row(transaction, queue, verdict.document)
    labels = None if verdict.labels is None else json.dumps(list(verdict.labels))
    known = transaction.rows("SELECT * FROM verdicts WHERE key = ?", (verdict.key,))
    if known:
        before = known[0]
        same = (before["document"], before["coder"], before["kind"], before["labels"], before["note"])
        if same != (document["number"], verdict.coder, verdict.kind, labels, verdict.note):
            raise KeyReusedError(f"The key {verdict.key!r} belongs to another verdict; make a new key for each.")
        return StoredVerdict(verdict.key, int(before["number"]), document["state"], True, before)
    undone = _undone(transaction, document, verdict)
    row = transaction.rows(
        "INSERT INTO verdicts (key, document, coder, kind, labels, shown, answer, model, taxonomy, rank, seconds, "
        "note, undoes, adjudication, time) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING *",
        (
            *(verdict.key, document["number"], verdict.coder, verdict.kind, labels),
            None if verdict.shown is None else json.dumps(verdict.shown),
            *(document["answer"], document["scored_by"], verdict.taxonomy, verdict.rank, verdict.seconds),
            *(verdict.note, undone, int(verdict.adjudication), time.time()),
        ),
    )[0]
    state = _derive(transaction, document, verdict.coder)
    if verdict.decides:
        transaction.rows("DELETE FROM leases WHERE document = ? AND coder = ?", (document["number"], verdict.coder))
    return StoredVerdict(verdict.key, int(row["number"]), state, False, row)


def history(transaction: Transaction, document: int) -> list[Row]:
    """All verdicts on a document, oldest first, each with ``counts``: whether no undo that counts refers to it."""
    rows = transaction.rows(
        "SELECT v.*, u.key AS undoes_key FROM verdicts v LEFT JOIN verdicts u ON u.number = v.undoes "
        "WHERE v.document = ? ORDER BY v.number",
        (document,),
    )
    counting = _counting(rows)
    return [{**row, "counts": row["number"] in counting} for row in rows]


def _counting(rows: Sequence[Row]) -> set[int]:
    """Numbers of the verdicts that count: later ones are looked at first, since only they take back earlier ones."""
    taken_back: set[int] = set()
    counting: set[int] = set()
    for row in sorted(rows, key=lambda row: -row["number"]):
        if row["number"] in taken_back:
            continue
        counting.add(row["number"])
        if row["undoes"] is not None:
            taken_back.add(row["undoes"])
    return counting


def _undone(transaction: Transaction, document: Row, verdict: NewVerdict) -> int | None:
    """The number of the verdict that is taken back."""
    if verdict.kind not in ("undo", "redo"):
        return None
    rows = transaction.rows(
        "SELECT number, key, kind, undoes FROM verdicts WHERE document = ? AND coder = ? ORDER BY number",
        (document["number"], verdict.coder),
    )
    counting = _counting(rows)
    if verdict.kind == "undo":
        possible = [row for row in rows if row["number"] in counting and row["kind"] not in ("undo", "redo")]
    else:  # a verdict after an undo makes it final
        last = max((row["number"] for row in rows if row["kind"] not in ("undo", "redo")), default=0)
        possible = [row for row in rows if row["number"] in counting and row["kind"] == "undo" and row["number"] > last]
    if verdict.undoes is not None:
        possible = [row for row in possible if row["key"] == verdict.undoes]
    if not possible:
        what = "undo" if verdict.kind == "redo" else "verdict"
        raise VerdictError(f"{verdict.coder!r} has no {what} on {verdict.document!r} that can be taken back.")
    return int(possible[-1]["number"])


def _derive(transaction: Transaction, document: Row, coder: str) -> str:
    """Update the decision of a coder and the state of the document from all verdicts; returns the state."""
    number = document["number"]
    rows = transaction.rows("SELECT * FROM verdicts WHERE document = ? ORDER BY number", (number,))
    counting = [row for row in rows if row["number"] in _counting(rows)]
    transaction.rows("DELETE FROM decisions WHERE document = ? AND coder = ?", (number, coder))
    own = [row for row in counting if row["coder"] == coder and _decided(row)]
    if own:
        last = own[-1]
        transaction.rows(
            "INSERT INTO decisions (document, coder, verdict, kind, labels, adjudication, time) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                *(number, coder, last["number"], last["kind"]),
                *(last["labels"] if last["kind"] not in _DECIDING else "[]", last["adjudication"], last["time"]),
            ),
        )
    decisions = transaction.rows("SELECT * FROM decisions WHERE document = ? ORDER BY verdict", (number,))
    state, final = _state(decisions, 2 if document["double"] else 1)
    flagged = any(row["kind"] == "flag" for row in counting)
    pending = int(state in PENDING and document["content"] is not None)
    transaction.rows(
        "UPDATE documents SET state = ?, final = ?, pending = ?, flagged = ? WHERE number = ?",
        (state, final, pending, int(flagged), number),
    )
    return state


def _decided(row: Row) -> bool:
    return row["kind"] in _DECIDING or (row["labels"] is not None and row["kind"] not in _WITHOUT_LABELS)


def _state(decisions: Sequence[Row], needed: int) -> tuple[str, str | None]:
    """The state of a document and its final labels: of the last adjudication, or those that all coders agree on."""
    final = [row for row in decisions if row["adjudication"]][-1:]
    if not final:
        if len(decisions) < needed:
            return ("partly" if decisions else "open"), None
        sets = {(row["kind"] == "cannot-tell", *sorted(json.loads(row["labels"]))) for row in decisions}
        if len(sets) > 1:
            return "disagreement", None
        final = list(decisions[:1])
    return ("unsure", None) if final[0]["kind"] == "cannot-tell" else ("done", final[0]["labels"])
