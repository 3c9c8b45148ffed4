"""Verdicts from files: documents that were coded elsewhere, with labels, of one coder or of those that the file names.

Exports of Label Studio name the coder of each annotation; all other formats of documents with labels (Annif's TSV, JSON
lines, tables) are verdicts of one coder. Documents are found by their id, otherwise by their text, and added if the
queue does not have them. Keys follow from what is decided, so that a file that is read twice is stored once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from linnaeus.data.readers.jsonl import load_json
from linnaeus.data.readers.label_studio import annotations_of, is_task
from linnaeus.errors import DataError, ParameterError
from linnaeus.serve.store.database import Transaction
from linnaeus.serve.store.documents import NewDocument, digest_of, id_of
from linnaeus.serve.store.verdicts import MACHINE, NewVerdict
from linnaeus.typing import JSON

if TYPE_CHECKING:
    from linnaeus.serve.models import ServedModel
    from linnaeus.serve.review import Review

__all__ = ["Imported", "import_verdicts", "read_verdicts"]

_AT_ONCE = 500  # documents, or verdicts, of one transaction


@dataclass(frozen=True)
class Imported:
    """Numbers of new documents, of verdicts that were stored or known, and of documents without any."""

    added: int
    stored: int
    repeated: int
    without: int


@dataclass(frozen=True)
class _Coded:
    """A document of a file, and what coders decided: None is "cannot tell", no label is "none fits"."""

    document: NewDocument
    decisions: list[tuple[str, list[str] | None]]


def read_verdicts(
    review: Review, served: ServedModel, content: bytes, name: str, format: str | None, coder: str
) -> list[_Coded]:
    """The documents of a file with the decisions on them; labels have to be nodes of the taxonomy."""
    if coder.startswith(MACHINE):
        raise ParameterError(f"{coder!r} cannot be a coder; names that begin with {MACHINE!r} are models.")
    documents = review.read_file(served, content, name, format, labelled=True)
    tasks = _tasks(content, name) if format in (None, "jsonl") else None
    found = []
    for number, document in enumerate(documents):
        decisions: list[tuple[str, list[str] | None]]
        if tasks is None:
            decisions = [(coder, list(document.labels))] if document.labels else []
        else:
            given = annotations_of(tasks[number], served.taxonomy)
            decisions = [
                (_visible(one.coder) or coder, one.labels) for one in given if not one.coder.startswith(MACHINE)
            ]
        for _, labels in decisions:
            for label in labels or ():
                if served.taxonomy.lookup(label) is None:
                    hint = served.taxonomy.hint(label) or "."
                    raise DataError(f"{name}: label {label!r} of document {number + 1} is not in the taxonomy{hint}")
        found.append(_Coded(replace(document, labels=None), decisions))
    if not any(one.decisions for one in found):
        raise DataError(f"{name}: no document has labels; expected documents that were coded.")
    return found


def import_verdicts(review: Review, served: ServedModel, coded: Sequence[_Coded]) -> Imported:
    """Store what `read_verdicts` found; documents are not scored here.

    Parameters
    ----------
    review : Review
        The store.
    served : ServedModel
        The model whose queue the documents belong to.
    coded : sequence
        Documents with decisions, of `read_verdicts`.

    Returns
    -------
    Imported
        The numbers of documents and verdicts.
    """
    with review.read() as transaction:
        placed = [replace(one, document=_known(transaction, served.name, one.document)) for one in coded]
    added = 0
    for part in _parts(placed):
        added += review.add(served, [one.document for one in part], score=False)[0]
    stored = repeated = 0
    for part in _parts([one for one in placed if one.decisions]):
        results = review.verdicts(served, [verdict for one in part for verdict in _verdicts(review, served, one)])
        repeated += sum(result.repeated for result in results)
        stored += sum(not result.repeated for result in results)
    return Imported(added, stored, repeated, sum(not one.decisions for one in placed))


def _parts(coded: list[_Coded]) -> Iterator[list[_Coded]]:
    for start in range(0, len(coded), _AT_ONCE):
        yield coded[start : start + _AT_ONCE]


def _known(transaction: Transaction, queue: str, document: NewDocument) -> NewDocument:
    """The document with the id that it has in the queue: its own, otherwise that of the first with the same text."""
    if document.id is not None:
        return document
    rows = transaction.rows(
        "SELECT d.id FROM documents d JOIN texts t ON t.document = d.number WHERE d.queue = ? AND t.digest = ? "
        "ORDER BY d.number LIMIT 1",
        (queue, digest_of(document.content)),
    )
    return replace(document, id=rows[0]["id"] if rows else id_of(document))


def _verdicts(review: Review, served: ServedModel, coded: _Coded) -> Iterator[NewVerdict]:
    assert coded.document.id is not None
    for coder, labels in coded.decisions:
        names = review.named_labels(served, labels or ())
        kind = "cannot-tell" if labels is None else "replace" if names else "none-fits"
        identity = json.dumps([served.name, coded.document.id, coder, kind, sorted(names)])
        key = "import-" + hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        yield NewVerdict(key, coded.document.id, coder, kind, names or None, taxonomy=served.taxonomy.fingerprint)


def _visible(coder: str) -> str:
    """A name of a coder as the service takes it: in one line, at most 100 characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in coder).split())[:100]


def _tasks(content: bytes, name: str) -> list[dict[str, JSON]] | None:
    """The tasks of an export of Label Studio; None for other files."""
    if Path(name).suffix.lower() in (".csv", ".tsv", ".xlsx"):
        return None
    text = content.decode("utf-8-sig", "replace")
    if not text.lstrip().startswith("["):
        return None
    records = load_json(text, name)
    if not isinstance(records, list) or not records or not all(map(is_task, records)):
        return None
    return [record for record in records if isinstance(record, dict)]
