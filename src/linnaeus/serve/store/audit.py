"""The audit log: one JSON object per line, each with the SHA-256 of itself and of the line before.

A line is made in the transaction of the change that it records, and kept in a table; after the transaction it is
appended to the file ``audit.log``, which is on disk before the change is acknowledged. Lines that a killed process did
not append are appended by the next one, so that the file has a line for everything that was committed. Lines name
documents by id and a keyed hash of their content. The texts are elsewhere and can be erased without breaking the chain.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from linnaeus.errors import StoreError
from linnaeus.files import sync_folder
from linnaeus.serve.store.database import Database, Row, Transaction

__all__ = ["FILE", "START", "AuditLog", "AuditReport", "GroupedLines", "append_line", "salted_hash", "verify"]

FILE = "audit.log"
_KEY = "audit.key"
START = "0" * 64  # the hash before the first line
_KEPT = 1000  # lines between two removals of appended lines from the table


def append_line(transaction: Transaction, kind: str, content: Mapping[str, object]) -> int:
    """Add a line to the chain; returns its number."""
    last = transaction.rows("SELECT number, line FROM audit ORDER BY number DESC LIMIT 1")
    number, previous = (int(last[0]["number"]), json.loads(last[0]["line"])["hash"]) if last else (0, START)
    body = {"number": number + 1, "time": round(time.time(), 3), "kind": kind, **content, "previous": previous}
    line = _canonical({**body, "hash": _hash(body)})
    transaction.rows("INSERT INTO audit (number, line) VALUES (?, ?)", (number + 1, line))
    return number + 1


class GroupedLines:
    """Lines of many threads in few transactions: the thread that may write also writes the lines that wait by then.

    Parameters
    ----------
    change : callable
        Begins a transaction, whose changes are on disk when it ends.
    """

    def __init__(self, change: Callable[[], contextlib.AbstractContextManager[Transaction]]) -> None:
        self._change = change
        self._waiting: list[tuple[str, Mapping[str, object], Future[None]]] = []
        self._adding, self._writing = threading.Lock(), threading.Lock()

    def append(self, kind: str, content: Mapping[str, object]) -> None:
        """Add a line to the chain; it is on disk when this returns."""
        written: Future[None] = Future()
        with self._adding:
            self._waiting.append((kind, content, written))
        with self._writing:
            with self._adding:
                lines, self._waiting = self._waiting, []
            if lines:
                self._write(lines)
        written.result()  # the line was among these, or among those of a thread before

    def _write(self, lines: list[tuple[str, Mapping[str, object], Future[None]]]) -> None:
        try:
            with self._change() as transaction:
                for kind, content, _ in lines:
                    append_line(transaction, kind, content)
        except BaseException as error:
            for _, _, written in lines:
                written.set_exception(error)
        else:
            for _, _, written in lines:
                written.set_result(None)


def _canonical(content: Mapping[str, object]) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def _hash(body: Mapping[str, object]) -> str:
    return hashlib.sha256(_canonical(body).encode()).hexdigest()


def salted_hash(salt: str, content: str) -> str:
    """The hash of a text that only those can compare who have its salt, which is erased with the text."""
    return hashlib.sha256(f"{salt}\0{content}".encode("utf-8", "surrogatepass")).hexdigest()


class AuditLog:
    """The file of an audit log.

    Parameters
    ----------
    folder : Path
        The folder of the store.
    database : Database
        Its database; lines that the file lacks are appended now.
    """

    def __init__(self, folder: Path, database: Database) -> None:
        self.path = folder / FILE
        self._database = database
        self._lock = threading.Lock()
        self._at, self._number = -1, 0  # size of the file, and number of its last line
        self._key = _read_key(folder / _KEY)
        self.flush()

    def keyed_hash(self, content: str) -> str:
        """The hash of a text that is not kept, under the key of the store."""
        return hmac.new(self._key, content.encode("utf-8", "surrogatepass"), "sha256").hexdigest()

    def flush(self) -> None:
        """Append all lines that the file lacks, and wait until they are on disk."""
        with self._lock, _locked_file(self.path) as file:
            number = self._last_number(file)
            with self._database.read() as transaction:
                rows = transaction.rows("SELECT number, line FROM audit WHERE number > ? ORDER BY number", (number,))
            if not rows:
                return
            if rows[0]["number"] != number + 1:
                raise StoreError(
                    f"{self.path} ends with line {number}, but the store continues with line {rows[0]['number']}; "
                    "restore the file from a copy."
                )
            file.seek(0, os.SEEK_END)
            file.write("".join(row["line"] + "\n" for row in rows).encode())
            file.flush()
            os.fsync(file.fileno())
            self._at, self._number = file.tell(), int(rows[-1]["number"])
        if self._number // _KEPT > number // _KEPT:
            with self._database.write() as transaction:
                transaction.rows("DELETE FROM audit WHERE number < ?", (self._number,))

    def _last_number(self, file: BinaryIO) -> int:
        """The number of the last whole line; what a killed process wrote after it is removed."""
        size = file.seek(0, os.SEEK_END)
        if size == self._at:
            return self._number
        start, block = size, 1 << 16
        tail = b""
        while start > 0 and tail.count(b"\n") < 2:
            start = max(0, start - block)
            file.seek(start)
            tail = file.read(size - start)
            block *= 4
        whole = tail[: tail.rfind(b"\n") + 1]
        if len(whole) < len(tail):
            file.truncate(start + len(whole))
        last = whole.rstrip(b"\n").rpartition(b"\n")[2]
        if not last:
            return 0
        try:
            return int(json.loads(last)["number"])
        except (ValueError, KeyError, TypeError):
            raise StoreError(f"{self.path} does not end with a line of an audit log; restore it from a copy.") from None


@contextlib.contextmanager
def _locked_file(path: Path) -> Iterator[BinaryIO]:
    """The file, for one process at a time."""
    try:
        import fcntl
    except ImportError:  # Windows: one process of the service, as it is there by default
        fcntl = None  # type: ignore[assignment]
    new = not path.exists()
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        if new:
            sync_folder(path.parent)
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _read_key(path: Path) -> bytes:
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
            file.flush()
            os.fsync(file.fileno())
        sync_folder(path.parent)
    except FileExistsError:
        for _ in range(100):  # another process may be about to write it
            if path.stat().st_size == 32:
                break
            time.sleep(0.05)
    key = path.read_bytes()
    if len(key) != 32:
        raise StoreError(f"{path} has {len(key)} bytes instead of 32; restore it from a copy.")
    return key


# -- verification ------------------------------------------------------------------------------------------------------


@dataclass
class AuditReport:
    """What a verification found; ``problems`` is empty where the log is intact."""

    lines: int = 0
    last: str = START
    kinds: dict[str, int] = field(default_factory=dict)
    verdicts: int = 0
    texts: int = 0
    erased: int = 0
    incomplete: bool = False
    problems: list[str] = field(default_factory=list)


def verify(folder: Path, database: Database | None) -> AuditReport:
    """Check every line of a log, and that it agrees with the store.

    Parameters
    ----------
    folder : Path
        The folder of the store.
    database : Database or None
        Its database, None to check the file alone.

    Returns
    -------
    AuditReport
        Counts, and problems by line.
    """
    report, path = AuditReport(), folder / FILE
    if not path.is_file():
        raise StoreError(f"{folder} has no {FILE}; expected the folder of `linnaeus serve --store FOLDER`.")
    verdicts: dict[str, Row] = {}
    contents: dict[tuple[str, str], str] = {}
    with path.open("rb") as file:
        for n, raw in enumerate(file, start=1):
            if not raw.endswith(b"\n"):
                report.incomplete = True  # a process was killed while it wrote; the next one completes the line
                break
            content = _checked_line(raw, n, report)
            if content is None:
                return report
            kind = str(content["kind"])
            report.lines, report.last = n, content["hash"]
            report.kinds[kind] = report.kinds.get(kind, 0) + 1
            if kind == "verdict":
                verdicts[content["key"]] = content
            elif kind == "documents":
                contents.update({(content["queue"], id_): digest for id_, digest in content["documents"]})
    if database is not None:
        _compare(report, database, verdicts, contents)
    return report


def _checked_line(raw: bytes, n: int, report: AuditReport) -> Row | None:
    """The content of a line, None where the chain breaks."""
    try:
        content = json.loads(raw)
        given = content.pop("hash")
        right = (content["number"], content["previous"], _hash(content)) == (n, report.last, given)
    except (ValueError, KeyError, TypeError, AttributeError):
        report.problems.append(f"Line {n} is not a line of an audit log.")
        return None
    if not right or _canonical({**content, "hash": given}).encode() + b"\n" != raw:
        what = "does not follow line" if content["previous"] != report.last else "was changed after line"
        report.problems.append(f"Line {n} {what} {n - 1}.")
        return None
    return {**content, "hash": given}


def _compare(
    report: AuditReport, database: Database, verdicts: dict[str, Row], contents: dict[tuple[str, str], str]
) -> None:
    """Compare the log with the verdicts and texts of the store."""
    with database.read() as transaction:
        expected = transaction.rows("SELECT MAX(number) AS n FROM audit")[0]["n"] or 0
        if report.lines < expected and not report.incomplete:
            report.problems.append(f"The log has {report.lines} lines; the store has written {expected}.")
        rows = transaction.rows(
            "SELECT v.key, v.coder, v.kind, v.labels, d.id, d.queue FROM verdicts v "
            "JOIN documents d ON d.number = v.document ORDER BY v.number"
        )
        texts = transaction.rows(
            "SELECT d.queue, d.id, d.erased, t.salt, t.content FROM documents d "
            "LEFT JOIN texts t ON t.document = d.number ORDER BY d.number"
        )
    report.verdicts = len(rows)
    for row in rows:
        labels = None if row["labels"] is None else json.loads(row["labels"])
        line = verdicts.pop(row["key"], None)
        stored = (row["coder"], row["kind"], labels, row["id"], row["queue"])
        if line is None:
            report.problems.append(f"The verdict {row['key']!r} of the store is not in the log.")
        elif (line["coder"], line["verdict"], line["labels"], line["document"], line["queue"]) != stored:
            report.problems.append(f"The verdict {row['key']!r} of the store differs from line {line['number']}.")
    report.problems += [f"The verdict {key!r} of the log is not in the store." for key in verdicts]
    for row in texts:
        logged = contents.get((row["queue"], row["id"]))
        if logged is None:
            report.problems.append(f"The document {row['id']!r} of the store is not in the log.")
        elif row["content"] is None:
            report.erased += 1
        else:
            report.texts += 1
            if salted_hash(row["salt"], row["content"]) != logged:
                report.problems.append(f"The text of the document {row['id']!r} was changed.")
