"""Documents of a queue: each is added once, belongs to shares that a seeded hash draws, and can lose its text.

A queue has the name of the model that suggests labels for its documents. The shares are nested: blind documents (the
coder sees no suggestion) are a part of the control documents, which are a random sample of all documents and are never
chosen by usefulness. A share of all documents is coded by two coders.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from linnaeus.errors import LinnaeusError, ParameterError, check_number
from linnaeus.serve.store.database import Row, Transaction

__all__ = [
    "PENDING",
    "STATES",
    "Content",
    "Listing",
    "NewDocument",
    "Shares",
    "UnknownDocumentError",
    "add_documents",
    "content_of",
    "digest_of",
    "document_row",
    "erase_text",
    "id_of",
    "list_documents",
    "preview",
    "texts_of",
]

Content = Mapping[str, object]  # exactly one of "text", "fields" and "vector"
# open: nobody has decided; partly: a second coder is missing; done: decided; disagreement: coders differ;
# unsure: decided as "cannot tell".
STATES = ("open", "partly", "done", "disagreement", "unsure")
PENDING = ("open", "partly")
UNSCORED = -1e30  # usefulness of a document that no model has scored


class UnknownDocumentError(LinnaeusError):
    """A request names a document that the queue does not have."""


@dataclass(frozen=True)
class Shares:
    """Shares of documents, drawn by a hash of the seed, the queue and the id.

    Parameters
    ----------
    control : float, default=0.05
        Share of control documents: a random sample, on which accuracy is measured.
    blind : float, default=0.02
        Share of control documents without suggestions; at most ``control``.
    double : float, default=0.05
        Share of documents that two coders decide.
    seed : int, default=0
        Changes which documents are drawn.

    Examples
    --------
    >>> Shares(control=1.0, blind=0.0).draw("news", "d1")[1:3]
    (True, False)
    """

    control: float = 0.05
    blind: float = 0.02
    double: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("control", "blind", "double"):
            check_number(name, getattr(self, name), least=0)
            if getattr(self, name) > 1:
                raise ParameterError(f"{name}={getattr(self, name)} is not a share; expected a number from 0 to 1.")
        if self.blind > self.control:
            object.__setattr__(self, "control", self.blind)

    def draw(self, queue: str, id: str) -> tuple[float, bool, bool, bool]:
        """The place of a document in a random order, and whether it is a control, a blind, a double-coded document."""
        key = json.dumps([self.seed, queue, id]).encode()
        digest = hashlib.blake2b(key, digest_size=24).digest()
        first, second, place = (int.from_bytes(digest[i : i + 8], "big") / 2**64 for i in (0, 8, 16))
        return place, first < self.control, first < self.blind, second < self.double


@dataclass(frozen=True)
class NewDocument:
    """A document to add; without an id it gets one that follows from its content."""

    content: Content
    id: str | None = None
    labels: Sequence[str] | None = None
    source: str | None = None
    assigned: str | None = None


def digest_of(content: Content) -> str:
    """A hash that documents with the same content share, up to case and white space."""
    text = json.dumps(content, sort_keys=True) if "vector" in content else " ".join(texts_of(content)).casefold()
    return hashlib.blake2b(" ".join(text.split()).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def id_of(document: NewDocument) -> str:
    """The id of a document; by default one that follows from its content."""
    return document.id if document.id is not None else f"doc-{digest_of(document.content)[:16]}"


def texts_of(content: Content) -> list[str]:
    """The texts of a document, by field in the order of names."""
    fields = content.get("fields")
    if isinstance(fields, Mapping):
        return [str(fields[name]) for name in sorted(fields)]
    return [str(content.get("text", ""))]


def add_documents(
    transaction: Transaction, queue: str, documents: Iterable[NewDocument], shares: Shares
) -> tuple[list[int], int]:
    """Add documents; returns the numbers of new ones, and how many have an id that the queue has already."""
    added, n_known = [], 0
    now = time.time()
    for document in documents:
        digest, id_ = digest_of(document.content), id_of(document)
        place, control, blind, double = shares.draw(queue, id_)
        given = None if document.labels is None else json.dumps(list(document.labels))
        found = transaction.rows(
            "INSERT INTO documents (queue, id, source, assigned, given, control, blind, double, place, added, state, "
            "pending, flagged, usefulness) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'open', 1, 0, ?) "
            "ON CONFLICT (queue, id) DO NOTHING RETURNING number",
            (
                *(queue, id_, document.source, document.assigned, given),
                *(int(control), int(blind), int(double), place, now, UNSCORED),
            ),
        )
        if not found:
            n_known += 1
            continue
        number = int(found[0]["number"])
        transaction.rows(
            "INSERT INTO texts (document, content, salt, digest) VALUES (?, ?, ?, ?)",
            (number, json.dumps(document.content), secrets.token_hex(16), digest),
        )
        added.append(number)
    return added, n_known


def document_row(transaction: Transaction, queue: str, id: str) -> Row:
    """The row of a document, with its ``content``, which is None after its text was erased."""
    found = transaction.rows(
        "SELECT d.*, t.content, t.salt, t.digest FROM documents d LEFT JOIN texts t ON t.document = d.number "
        "WHERE d.queue = ? AND d.id = ?",
        (queue, id),
    )
    if not found:
        raise UnknownDocumentError(f"There is no document {id!r} in the queue {queue!r}.")
    return found[0]


def content_of(row: Row) -> Content | None:
    """The content of a document, None after it was erased."""
    return None if row["content"] is None else json.loads(row["content"])


def erase_text(transaction: Transaction, queue: str, id: str) -> bool:
    """Delete the text of a document and what was derived from it; verdicts stay. False if it has none already."""
    row = document_row(transaction, queue, id)
    transaction.rows("DELETE FROM texts WHERE document = ?", (row["number"],))
    transaction.rows("DELETE FROM bands WHERE document = ?", (row["number"],))
    transaction.rows(
        "UPDATE documents SET suggestions = NULL, pending = 0, erased = 1 WHERE number = ?", (row["number"],)
    )
    transaction.rows("DELETE FROM leases WHERE document = ?", (row["number"],))
    return row["content"] is not None


@dataclass(frozen=True)
class Listing:
    """Which documents are listed."""

    state: str | None = None
    coder: str | None = None
    subtree: str | None = None
    flagged: bool | None = None
    containing: str | None = None
    offset: int = 0
    limit: int = 100


def list_documents(transaction: Transaction, queue: str, listing: Listing) -> tuple[int, list[Row]]:
    """The number of documents that match, and those of a page in the order in which they were added."""
    conditions: list[tuple[str, list[str | int | None]]] = [
        ("d.queue = ?", [queue]),
        ("d.state = ?", [listing.state]),
        ("EXISTS (SELECT 1 FROM decisions x WHERE x.document = d.number AND x.coder = ?)", [listing.coder]),
        ("EXISTS (SELECT 1 FROM answer_nodes a WHERE a.document = d.number AND a.node = ?)", [listing.subtree]),
        ("d.flagged = ?", [None if listing.flagged is None else int(listing.flagged)]),
    ]
    if listing.containing:
        in_json = json.dumps(listing.containing)[1:-1]
        conditions.append(
            (
                "(LOWER(d.id) LIKE LOWER(?) ESCAPE '!' OR LOWER(t.content) LIKE LOWER(?) ESCAPE '!')",
                [_pattern(listing.containing), _pattern(in_json)],
            )
        )
    given = [(condition, values) for condition, values in conditions if values[0] is not None]
    where, values = " AND ".join(condition for condition, _ in given), [v for _, some in given for v in some]
    tables = "documents d LEFT JOIN texts t ON t.document = d.number"
    total = transaction.rows(f"SELECT COUNT(*) AS n FROM {tables} WHERE {where}", values)[0]["n"]
    rows = transaction.rows(
        f"SELECT d.*, t.content FROM {tables} WHERE {where} ORDER BY d.number LIMIT ? OFFSET ?",
        [*values, listing.limit, listing.offset],
    )
    return int(total), rows


def _pattern(text: str) -> str:
    """A pattern of LIKE for texts that contain a text."""
    return "%" + re.sub(r"[!%_]", r"!\g<0>", text) + "%"


def preview(row: Row, length: int = 160) -> str:
    """The first characters of the text of a document, in one line."""
    content = content_of(row)
    text = "" if content is None or "vector" in content else " ".join(texts_of(content))
    return " ".join(text[: 4 * length].split())[:length]
