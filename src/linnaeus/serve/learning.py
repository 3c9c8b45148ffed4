"""What models learn from verdicts: online models at once, others by a training that a person promotes.

Control documents are never learned from: they are the sample on which models are compared and calibrated. Versions of
a model are folders below the store; the running model is kept as a version before another one takes its place.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from linnaeus import store
from linnaeus.errors import DataError
from linnaeus.pipeline import Pipeline
from linnaeus.serve.problems import UnknownVersionError
from linnaeus.serve.progress import control_decisions
from linnaeus.serve.scoring import dataset_for
from linnaeus.serve.store.audit import append_line
from linnaeus.serve.store.database import Row, Transaction
from linnaeus.serve.store.verdicts import MACHINE

if TYPE_CHECKING:
    from linnaeus.serve.models import ServedModel
    from linnaeus.serve.review import Review

__all__ = [
    "FEWEST_CONTROL",
    "keep_version",
    "learn_online",
    "list_versions",
    "promote",
    "write_documents",
]

FEWEST_CONTROL = 100  # control documents with verdicts that a calibration needs
_AT_ONCE = 1000  # documents that an online model learns from at a time
_LEARNED = "last_verdict"  # what a pipeline says about its training: the last verdict it has learned from


# -- documents to learn from -------------------------------------------------------------------------------------------


def _decided(transaction: Transaction, queue: str, after: int = 0, limit: int = 10**9) -> list[Row]:
    """Documents with final labels of people, without control documents, in the order of their last verdicts."""
    return transaction.rows(
        "SELECT d.final, t.content, MAX(x.verdict) AS last FROM documents d JOIN texts t ON t.document = d.number "
        "JOIN decisions x ON x.document = d.number WHERE d.queue = ? AND d.control = 0 AND d.state = 'done' "
        "AND d.final <> '[]' AND x.coder NOT LIKE ? GROUP BY d.number, d.final, t.content HAVING MAX(x.verdict) > ? "
        "ORDER BY last LIMIT ?",
        (queue, f"{MACHINE}%", after, limit),
    )


def write_documents(review: Review, queue: str, folder: Path, kind: str) -> int:
    """Write the files of a training, ``verdicts.jsonl`` and ``control.jsonl``; returns the number of the latter."""
    with review.read() as transaction:
        control = [row for row in control_decisions(transaction, queue) if row["content"] is not None and row["labels"]]
        decided = _decided(transaction, queue) if kind == "refit" else []
    if kind == "recalibrate" and len(control) < FEWEST_CONTROL:
        raise DataError(
            f"A calibration needs verdicts on at least {FEWEST_CONTROL} control documents with labels; there are "
            f"{len(control)}. Verdicts on other documents, which were chosen by usefulness, would break the promise."
        )
    _write_lines(folder / "control.jsonl", [(row["content"], row["labels"]) for row in control])
    _write_lines(folder / "verdicts.jsonl", [(row["content"], json.loads(row["final"])) for row in decided])
    return len(control)


def _write_lines(path: Path, rows: list[tuple[str, list[str]]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for content, labels in rows:
            file.write(json.dumps({"content": json.loads(content), "labels": labels}) + "\n")


def learn_online(review: Review, served: ServedModel) -> int:
    """Let an online model learn from verdicts that it has not seen, and replace its folder; returns their number.

    The folder says which verdict was the last, so that each is learned from once, also after a kill. A verdict that is
    taken back later stays learned.
    """
    if not isinstance(served.model, Pipeline) or not hasattr(served.model, "partial_fit"):
        return 0
    with _one_learner(review, served.name):
        model = store.load(served.folder)
        last = model.about_.get(_LEARNED, 0)
        with review.read() as transaction:
            rows = _decided(transaction, served.name, int(last), _AT_ONCE)
        if not rows:
            return 0
        keep_version(review, served, "before online learning", only_first=True)
        documents = dataset_for(model, [json.loads(row["content"]) for row in rows]).documents
        model.partial_fit(documents, [json.loads(row["final"]) for row in rows])
        model.about_ = {**model.about_, _LEARNED: int(rows[-1]["last"])}
        store.save(model, served.folder)
        fingerprint = str(store.read_manifest(served.folder)["checksum"])
        with review.change() as transaction:
            entry = {"queue": served.name, "documents": len(rows), "from": served.fingerprint, "to": fingerprint}
            append_line(transaction, "learned", entry)
    return len(rows)


@contextlib.contextmanager
def _one_learner(review: Review, name: str) -> Iterator[None]:
    """One process at a time changes the folder of a model."""
    import fcntl

    with (review.folder / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# -- versions ----------------------------------------------------------------------------------------------------------


def list_versions(transaction: Transaction, queue: str) -> list[dict[str, object]]:
    """All versions of a model that are kept, newest first."""
    rows = transaction.rows("SELECT * FROM models WHERE queue = ? ORDER BY created DESC, id", (queue,))
    return [
        {
            **{name: row[name] for name in ("id", "kind", "fingerprint", "created")},
            "comparison": json.loads(row["comparison"]),
            "documents": row["documents"],
            "control": row["control"],
        }
        for row in rows
    ]


def keep_version(
    review: Review,
    served: ServedModel,
    kind: str,
    *,
    folder: Path | None = None,
    result: Mapping[str, object] | None = None,
    only_first: bool = False,
) -> str:
    """Keep a model as a version: that of a folder, which is moved, or a copy of the running one; returns its id."""
    fingerprint = str(store.read_manifest(folder or served.folder)["checksum"])
    with review.read() as transaction:
        before = transaction.rows(
            "SELECT id FROM models WHERE queue = ? AND (fingerprint = ? OR (kind = ? AND ? = 1)) ORDER BY created",
            (served.name, fingerprint, kind, int(only_first)),
        )
    if before:
        return str(before[0]["id"])
    id_ = secrets.token_hex(6)
    target = review.folder / "models" / id_
    target.parent.mkdir(exist_ok=True)
    if folder is None:
        part = target.with_suffix(".part")
        shutil.copytree(served.folder, part, ignore=shutil.ignore_patterns(".*"))
        os.replace(part, target)
    else:
        os.replace(folder, target)
    found = result or {}
    documents, control = found.get("documents"), found.get("control")
    with review.change() as transaction:
        transaction.rows(
            "INSERT INTO models (id, queue, kind, fingerprint, created, comparison, documents, control) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(id_, served.name, kind, fingerprint, time.time(), json.dumps(found.get("comparison") or [])),
                documents if isinstance(documents, int) else None,
                control if isinstance(control, int) else None,
            ),
        )
        append_line(transaction, "version", {"queue": served.name, "version": id_, "made": kind, "to": fingerprint})
    return id_


def promote(review: Review, served: ServedModel, id: str, by: str) -> dict[str, str]:
    """Let a version take the place of the running model, which is kept as a version; also the way back.

    Parameters
    ----------
    review : Review
        The store.
    served : ServedModel
        The running model.
    id : str
        The version.
    by : str
        Who decided, for the audit log.

    Returns
    -------
    dict
        ``version`` of the model that ran, and the fingerprints ``before`` and ``after``.
    """
    with review.read() as transaction:
        rows = transaction.rows("SELECT * FROM models WHERE id = ? AND queue = ?", (id, served.name))
    if not rows:
        raise UnknownVersionError(
            f"The model {served.name!r} has no version {id!r}; /api/v1/models/NAME/versions lists them."
        )
    with _one_learner(review, served.name):
        before = str(store.read_manifest(served.folder)["checksum"])
        kept = keep_version(review, served, "replaced")
        store.save(store.load(review.folder / "models" / id), served.folder)
        after = str(store.read_manifest(served.folder)["checksum"])
        with review.change() as transaction:
            entry = {"queue": served.name, "version": id, "by": by, "from": before, "to": after}
            append_line(transaction, "promote", entry)
    return {"version": kept, "before": before, "after": after}
