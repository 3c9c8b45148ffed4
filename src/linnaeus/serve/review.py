"""Work of coders on documents of queues: what is kept about them, and the models that suggest labels."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from scipy import sparse

from linnaeus.answering.documents import fields_of, node_meant
from linnaeus.data.readers import read_dataset
from linnaeus.errors import DataError, LinnaeusError, StoreError
from linnaeus.serve.scoring import ScoredDocument, dataset_of, keep_scores, score_documents, unscored
from linnaeus.serve.store import documents as stored
from linnaeus.serve.store.audit import AuditLog, GroupedLines, append_line, salted_hash
from linnaeus.serve.store.database import Row, Sqlite, Transaction, first_process, open_database
from linnaeus.serve.store.documents import NewDocument, Shares
from linnaeus.serve.store.memory import keep_bands, remembered
from linnaeus.serve.store.verdicts import NewVerdict, StoredVerdict, add_verdict

if TYPE_CHECKING:
    from linnaeus.data import Dataset
    from linnaeus.serve.models import ServedModel
    from linnaeus.serve.settings import Settings

__all__ = ["Review", "documents_of"]

AT_ONCE = 256  # documents that are scored together
_ONLY_PEOPLE = 1e30  # usefulness of a document that the model cannot take


class Review:
    """The store of a service, and what is done with it.

    Parameters
    ----------
    settings : Settings
        ``store`` is the folder, which is created; ``database`` the URL of a PostgreSQL database to use instead of a
        SQLite file in the folder.
    """

    def __init__(self, settings: Settings) -> None:
        assert settings.store is not None
        self.folder = Path(settings.store)
        self.shares = Shares(settings.control, settings.blind, settings.double, settings.seed)
        self.lease_minutes = settings.lease_minutes
        self.memory = settings.memory
        self.max_unpacked = 16 * settings.max_bytes
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.folder} cannot be made a folder for the store: {error.strerror}.") from None
        self.database = open_database(self.folder, settings.database)
        self.log = AuditLog(self.folder, self.database)
        self._first: BinaryIO | None = None
        self._answers = GroupedLines(self.change)

    def read(self) -> contextlib.AbstractContextManager[Transaction]:
        """A transaction that only reads."""
        return self.database.read()

    @contextlib.contextmanager
    def change(self) -> Iterator[Transaction]:
        """A transaction that writes; at its end everything is on disk, and so are lines that were added to the log."""
        with self.database.write() as transaction:
            yield transaction
        self.log.flush()

    def is_first(self) -> bool:
        """Whether this is the process that works in the background; one is until it ends, among all of a store."""
        if self._first is None:
            self._first = first_process(self.folder / "background.lock")
        return self._first is not None

    def close(self) -> None:
        """Close the database."""
        self.database.close()
        if self._first is not None:
            self._first.close()
            self._first = None

    # -- documents -----------------------------------------------------------------------------------------------------

    def add(
        self,
        served: ServedModel,
        documents: Sequence[NewDocument],
        *,
        score: bool = True,
        shares: Shares | None = None,
    ) -> tuple[int, int]:
        """Add documents to the queue of a model; returns how many are new, and how many are known.

        Parameters
        ----------
        served : ServedModel
            The model, which has to be able to take the documents.
        documents : sequence of NewDocument
            The documents, as of `documents_of`.
        score : bool, default=True
            Whether the model scores them now; otherwise `score` does later.
        shares : Shares, default=None
            Shares to draw; default: those of the settings.

        Returns
        -------
        tuple of int
            The numbers of documents that were added, and that the queue had already.
        """
        dataset_of(served, [document.content for document in documents])  # raises what the model cannot take
        named = [_with_names(served, document) for document in documents]
        with self.change() as transaction:
            added, n_known = stored.add_documents(transaction, served.name, named, shares or self.shares)
            new = [document_content(transaction, number) for number in added] if self.memory else []
            for number, content in zip(added, new, strict=False):
                keep_bands(transaction, number, content)
            if added:
                hashes = [_logged_document(transaction, number) for number in added]
                append_line(transaction, "documents", {"queue": served.name, "documents": hashes})
        for _ in range(0, len(added) if score else 0, AT_ONCE):
            self.score(served)
        return len(added), n_known

    def score(self, served: ServedModel) -> int:
        """Score some of the documents that the model has not scored yet; returns how many."""
        with self.read() as transaction:
            waiting = unscored(transaction, served.name, served.fingerprint, AT_ONCE)
        if not waiting:
            return 0
        numbers, contents = [number for number, _ in waiting], [content for _, content in waiting]
        try:
            scored = score_documents(served, contents)
        except LinnaeusError:  # a model of other fields than the one before; find the documents it cannot take
            scored = [_scored_alone(served, content) for content in contents]
        with self.change() as transaction:
            keep_scores(transaction, served.fingerprint, numbers, scored)
        return len(numbers)

    def read_file(
        self, served: ServedModel, content: bytes, name: str, format: str | None, *, labelled: bool = False
    ) -> list[NewDocument]:
        """Documents of a file in any format that `read_dataset` reads."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            path = Path(folder) / f"file{Path(name).suffix[:20]}"
            path.write_bytes(content)
            try:
                data = read_dataset(
                    path,
                    format,
                    taxonomy=served.taxonomy,
                    usual_text=fields_of(served.model),
                    labelled=labelled,
                    max_unpacked=self.max_unpacked,
                )
            except LinnaeusError as error:
                raise DataError(str(error).replace(str(path), name)) from None
            return documents_of(data, name)

    # -- verdicts ------------------------------------------------------------------------------------------------------

    def verdicts(self, served: ServedModel, verdicts: Sequence[NewVerdict]) -> list[StoredVerdict]:
        """Store verdicts, all or none of them; they are on disk when this returns."""
        found = []
        with self.change() as transaction:
            for verdict in verdicts:
                one = add_verdict(transaction, served.name, verdict)
                if not one.repeated:
                    append_line(transaction, "verdict", self._logged_verdict(served, verdict, one))
                found.append(one)
        return found

    def decision(self, transaction: Transaction, served: ServedModel, id: str, coder: str) -> list[str] | None:
        """The labels that a coder has decided for a document, None without a decision."""
        rows = transaction.rows(
            "SELECT x.kind, x.labels FROM decisions x JOIN documents d ON d.number = x.document "
            "WHERE d.queue = ? AND d.id = ? AND x.coder = ? AND x.kind <> 'cannot-tell'",
            (served.name, id, coder),
        )
        return parsed(rows[0], "labels") if rows else None

    def _logged_verdict(self, served: ServedModel, verdict: NewVerdict, one: StoredVerdict) -> dict[str, object]:
        return {
            "queue": served.name,
            "document": verdict.document,
            "key": verdict.key,
            "coder": verdict.coder,
            "verdict": verdict.kind,
            "labels": None if verdict.labels is None else list(verdict.labels),
            "undoes": verdict.undoes,
            "adjudication": verdict.adjudication,
            "note": None if verdict.note is None else self.log.keyed_hash(verdict.note),
            "answer": parsed(one.row, "answer"),
            "scored_by": one.row["model"],
            "model": served.fingerprints,
        }

    def remembered(self, served: ServedModel, contents: Sequence[stored.Content]) -> list[dict[str, object] | None]:
        """What people decided about the same or similar documents."""
        if not self.memory:
            return [None for _ in contents]
        with self.read() as transaction:
            return [remembered(transaction, served.name, content) for content in contents]

    def erase(self, served: ServedModel, id: str) -> bool:
        """Delete the text of a document; verdicts and log stay. False if it was erased before."""
        with self.change() as transaction:
            erased = stored.erase_text(transaction, served.name, id)
            if erased:
                append_line(transaction, "erase", {"queue": served.name, "document": id})
        if isinstance(self.database, Sqlite):
            self.database.empty_log()
        return erased

    def log_answers(
        self,
        served: ServedModel,
        operation: str,
        request_id: str,
        contents: Sequence[object],
        results: Sequence[Mapping[str, Any]],
    ) -> None:
        """Record which model answered what; the log is on disk when this returns."""
        documents = [
            {"id": result["id"], "content": self.log.keyed_hash(json.dumps(content)), "labels": _labels(result)}
            for content, result in zip(contents, results, strict=True)
        ]
        entry = {"request": request_id, "operation": operation, "model": served.fingerprints, "documents": documents}
        self._answers.append("answer", entry)

    def named_labels(self, served: ServedModel, labels: Sequence[str]) -> list[str]:
        """Labels by the names of their nodes, each once."""
        return list(dict.fromkeys(node_meant(served.taxonomy, label) for label in labels))


def documents_of(data: Dataset, source: str | None = None) -> list[NewDocument]:
    """The documents of a data set, for `Review.add`.

    Parameters
    ----------
    data : Dataset
        Documents, with or without ids and labels.
    source : str, default=None
        Where they come from; default: the file that was read.

    Returns
    -------
    list of NewDocument
        The documents.

    Examples
    --------
    >>> from linnaeus.data import Dataset
    >>> documents_of(Dataset(fields={"text": ["a goal"]}, ids=["d1"]))[0].content
    {'text': 'a goal'}
    """
    contents: list[dict[str, object]]
    if data.sequences is not None:
        contents = [{"text": sequence} for sequence in data.sequences]
    elif data.fields is not None:
        names = list(data.fields)
        rows = zip(*data.fields.values(), strict=True)
        contents = [
            {"text": row[0]} if len(names) == 1 else {"fields": dict(zip(names, row, strict=True))} for row in rows
        ]
    else:
        X = data.X.toarray() if isinstance(data.X, sparse.csr_array) else np.asarray(data.X)
        contents = [{"vector": row} for row in X.astype(np.float64).tolist()]
    labels = data.labels or [[] for _ in contents]
    ids: Sequence[str | None] = data.ids or [None] * len(contents)
    return [
        NewDocument(content, id=id_, labels=row or None, source=source or data.source)
        for content, id_, row in zip(contents, ids, labels, strict=True)
    ]


def _with_names(served: ServedModel, document: NewDocument) -> NewDocument:
    """A document whose labels are names of nodes, where they are nodes; others stay as they are."""
    if document.labels is None:
        return document
    found = [served.taxonomy.lookup(label) for label in document.labels]
    names = [
        str(served.taxonomy.names[v]) if v is not None else label
        for v, label in zip(found, document.labels, strict=True)
    ]
    return NewDocument(document.content, document.id, names, document.source, document.assigned)


def _scored_alone(served: ServedModel, content: stored.Content) -> ScoredDocument:
    try:
        return score_documents(served, [content])[0]
    except LinnaeusError:
        return ScoredDocument(_ONLY_PEOPLE, [], [], [])


def document_content(transaction: Transaction, number: int) -> stored.Content:
    """The content of a document by its number."""
    row = transaction.rows("SELECT content FROM texts WHERE document = ?", (number,))[0]
    found: stored.Content = json.loads(row["content"])
    return found


def _logged_document(transaction: Transaction, number: int) -> list[str]:
    """The id of a document, and the hash of its content."""
    row = transaction.rows(
        "SELECT d.id, t.salt, t.content FROM documents d JOIN texts t ON t.document = d.number WHERE d.number = ?",
        (number,),
    )[0]
    return [row["id"], salted_hash(row["salt"], row["content"])]


def _labels(result: Mapping[str, Any]) -> list[str]:
    """The labels of a record, of an explanation, or of probabilities."""
    entries = result.get("labels") or result.get("probabilities") or []
    return [str(entry["label"]) for entry in entries]


def parsed(row: Row, name: str) -> list[str] | None:
    """A column that holds JSON."""
    return None if row[name] is None else json.loads(row[name])
