"""The interface of a database, and SQLite: one writer at a time, and what is committed is on disk.

Statements have ``?`` for parameters and use what SQLite and PostgreSQL have in common. A transaction of ``write`` is
the only one that writes, in all processes; ``read`` sees one state of the database.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeAlias

from linnaeus.errors import StoreError
from linnaeus.serve.store.schema import migrate

__all__ = ["Database", "Row", "Sqlite", "Transaction", "first_process", "open_database"]

Row: TypeAlias = dict[str, Any]  # values by name of column
Values: TypeAlias = Sequence[str | int | float | None]

_WAIT = 30_000  # milliseconds that a writer waits for another one
_NETWORK = {
    *("afs", "beegfs", "ceph", "cifs", "davfs", "fuse.glusterfs", "fuse.sshfs", "glusterfs", "gpfs", "lustre"),
    *("ncpfs", "nfs", "nfs4", "pvfs2", "smb3", "smbfs"),
}


class Transaction(Protocol):
    """Statements that see, or make, one state of the database."""

    def rows(self, statement: str, values: Values = ()) -> list[Row]:
        """Execute a statement and return its rows; empty where it returns none."""

    def many(self, statement: str, values: Iterable[Values]) -> None:
        """Execute a statement with several rows of values."""


class Database(Protocol):
    """Where a service keeps its tables."""

    def read(self) -> AbstractContextManager[Transaction]:
        """A transaction that only reads."""

    def write(self) -> AbstractContextManager[Transaction]:
        """The only transaction that writes; everything is kept at its end, or nothing after an exception."""

    def close(self) -> None:
        """Close all connections."""


def open_database(folder: Path, url: str | None = None) -> Database:
    """The database of a store: PostgreSQL at a URL, otherwise a SQLite file in the folder; its tables are migrated."""
    if url is None:
        return Sqlite(folder / "store.sqlite")
    from linnaeus.serve.store.postgres import Postgres

    return Postgres(url)


class Sqlite:
    """A SQLite file in WAL mode.

    Parameters
    ----------
    path : Path
        The file; it is created if it does not exist, and its tables are brought to the present version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        check_local(path.parent)
        self._writing = threading.Lock()
        self._idle: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()
        try:
            self._writer = self._connection()
            mode = self._writer.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            if mode != "wal":
                raise StoreError(f"{path} cannot use a write-ahead log here; expected a local file system.")
            with self.write() as transaction:
                migrate(transaction, "INTEGER PRIMARY KEY AUTOINCREMENT", str(path))
        except sqlite3.Error as error:
            raise StoreError(f"{path} cannot be opened as a store: {error}.") from None

    def _connection(self) -> sqlite3.Connection:
        # Statements are not shared between threads: a connection is used by one transaction at a time.
        connection = sqlite3.connect(self.path, timeout=_WAIT / 1000, isolation_level=None, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        connection.execute(f"PRAGMA busy_timeout={_WAIT}")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA secure_delete=ON")  # an erased text is overwritten, not only unlinked
        return connection

    @contextlib.contextmanager
    def read(self) -> Iterator[Transaction]:
        """A transaction that only reads."""
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            connection = self._connection()
        try:
            connection.execute("BEGIN")
            yield _SqliteTransaction(connection)
        finally:
            connection.rollback()
            self._idle.put(connection)

    @contextlib.contextmanager
    def write(self) -> Iterator[Transaction]:
        """The only transaction that writes."""
        with self._writing:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield _SqliteTransaction(self._writer)
            except BaseException:
                self._writer.rollback()
                raise
            self._writer.commit()

    def empty_log(self) -> None:
        """Write everything into the file and empty the write-ahead log, which may hold texts that were deleted."""
        with self._writing:
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close all connections."""
        with self._writing:
            self._writer.close()
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()


class _SqliteTransaction:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, values: Values = ()) -> list[Row]:
        return [dict(row) for row in self._connection.execute(statement, values)]

    def many(self, statement: str, values: Iterable[Values]) -> None:
        self._connection.executemany(statement, values)


def first_process(path: Path) -> BinaryIO | None:
    """A lock that the first process that asks has until it ends or closes the file; None for the others."""
    file = path.open("ab")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # Windows: one process of the service, as it is there by default
        return file
    except OSError:
        file.close()
        return None
    return file


def check_local(folder: Path, mounts: str | None = None) -> None:
    """Refuse a folder on a network file system, on which locks and shared memory of SQLite do not work.

    Parameters
    ----------
    folder : Path
        An existing folder.
    mounts : str, default=None
        The table of mounted file systems, one per line; default: that of the system, where it has one.
    """
    if mounts is None:
        try:
            mounts = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
    place, kind = "", ""
    for line in mounts.splitlines():
        parts = line.split()
        if len(parts) < 3:
            continue
        point = parts[1].replace("\\040", " ")
        inside = os.path.commonpath([point, folder.resolve()]) == point if point.startswith("/") else False
        if inside and len(point) >= len(place):
            place, kind = point, parts[2]
    if kind in _NETWORK:
        raise StoreError(
            f"{folder} is on a network file system ({kind}), where SQLite loses data; give a local folder as --store, "
            "or a PostgreSQL server with --database."
        )
