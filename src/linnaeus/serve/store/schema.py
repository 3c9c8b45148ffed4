"""Tables of a store. A version of them is a list of statements; a store of an earlier version gets those it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linnaeus.errors import StoreError

if TYPE_CHECKING:
    from linnaeus.serve.store.database import Transaction

__all__ = ["MIGRATIONS", "migrate"]

# Statements from each version to the next; {serial} is a primary key that counts upwards.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE documents (
            number {serial},
            queue TEXT NOT NULL,
            id TEXT NOT NULL,
            source TEXT,
            assigned TEXT,
            given TEXT,
            control INTEGER NOT NULL,
            blind INTEGER NOT NULL,
            double INTEGER NOT NULL,
            place DOUBLE PRECISION NOT NULL,
            added DOUBLE PRECISION NOT NULL,
            state TEXT NOT NULL,
            pending INTEGER NOT NULL,
            flagged INTEGER NOT NULL,
            erased INTEGER NOT NULL DEFAULT 0,
            final TEXT,
            scored_by TEXT,
            usefulness DOUBLE PRECISION NOT NULL,
            answer TEXT,
            suggestions TEXT,
            UNIQUE (queue, id)
        )""",
        "CREATE INDEX documents_useful ON documents (queue, pending, control, usefulness DESC, number)",
        "CREATE INDEX documents_scored ON documents (queue, pending, scored_by)",
        # Texts are apart, so that they can be erased while everything else stays.
        """CREATE TABLE texts (
            document BIGINT PRIMARY KEY REFERENCES documents (number),
            content TEXT NOT NULL,
            salt TEXT NOT NULL,
            digest TEXT NOT NULL
        )""",
        "CREATE INDEX texts_digest ON texts (digest)",
        """CREATE TABLE answer_nodes (
            document BIGINT NOT NULL REFERENCES documents (number),
            node TEXT NOT NULL,
            PRIMARY KEY (document, node)
        )""",
        "CREATE INDEX answer_nodes_node ON answer_nodes (node, document)",
        """CREATE TABLE leases (
            document BIGINT NOT NULL REFERENCES documents (number),
            coder TEXT NOT NULL,
            place INTEGER NOT NULL,
            until DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (document, coder)
        )""",
        """CREATE TABLE verdicts (
            number {serial},
            key TEXT NOT NULL UNIQUE,
            document BIGINT NOT NULL REFERENCES documents (number),
            coder TEXT NOT NULL,
            kind TEXT NOT NULL,
            labels TEXT,
            shown TEXT,
            answer TEXT,
            model TEXT,
            taxonomy TEXT,
            rank INTEGER,
            seconds DOUBLE PRECISION,
            note TEXT,
            undoes BIGINT,
            adjudication INTEGER NOT NULL,
            time DOUBLE PRECISION NOT NULL
        )""",
        "CREATE INDEX verdicts_document ON verdicts (document, number)",
        # Follows from the verdicts: what holds now for each document and coder.
        """CREATE TABLE decisions (
            document BIGINT NOT NULL REFERENCES documents (number),
            coder TEXT NOT NULL,
            verdict BIGINT NOT NULL,
            kind TEXT NOT NULL,
            labels TEXT,
            adjudication INTEGER NOT NULL,
            time DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (document, coder)
        )""",
        """CREATE TABLE users (
            name TEXT PRIMARY KEY,
            role TEXT NOT NULL,
            token TEXT NOT NULL,
            active INTEGER NOT NULL,
            created DOUBLE PRECISION NOT NULL
        )""",
        """CREATE TABLE jobs (
            id TEXT PRIMARY KEY,
            kind TEXT NOT NULL,
            queue TEXT NOT NULL,
            owner TEXT,
            state TEXT NOT NULL,
            total INTEGER NOT NULL,
            done INTEGER NOT NULL,
            request TEXT NOT NULL,
            result TEXT,
            detail TEXT,
            process INTEGER,
            created DOUBLE PRECISION NOT NULL,
            changed DOUBLE PRECISION NOT NULL
        )""",
        "CREATE TABLE audit (number BIGINT PRIMARY KEY, line TEXT NOT NULL)",
    ),
    (
        """CREATE TABLE bands (
            band TEXT NOT NULL,
            document BIGINT NOT NULL REFERENCES documents (number),
            PRIMARY KEY (band, document)
        )""",
        "CREATE INDEX bands_document ON bands (document)",
        "ALTER TABLE users ADD COLUMN token_id TEXT",
        """CREATE TABLE models (
            id TEXT PRIMARY KEY,
            queue TEXT NOT NULL,
            kind TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            created DOUBLE PRECISION NOT NULL,
            comparison TEXT NOT NULL,
            documents INTEGER,
            control INTEGER
        )""",
    ),
)


def migrate(
    transaction: Transaction, serial: str, name: str, migrations: tuple[tuple[str, ...], ...] = MIGRATIONS
) -> None:
    """Bring the tables to the present version; refuses those of a later one.

    Parameters
    ----------
    transaction : Transaction
        A transaction that writes.
    serial : str
        The type of a primary key that counts upwards.
    name : str
        Name of the store for messages.
    migrations : tuple of tuple of str, default=MIGRATIONS
        Statements of each version.
    """
    transaction.rows("CREATE TABLE IF NOT EXISTS versions (version INTEGER PRIMARY KEY)")
    found = transaction.rows("SELECT MAX(version) AS version FROM versions")[0]["version"] or 0
    if found > len(migrations):
        raise StoreError(
            f"{name} has tables of version {found}; this version of linnaeus knows versions up to {len(migrations)}. "
            "Install a newer one."
        )
    for version, statements in enumerate(migrations[found:], start=found + 1):
        for statement in statements:
            transaction.rows(statement.replace("{serial}", serial))
        transaction.rows("INSERT INTO versions (version) VALUES (?)", (version,))
