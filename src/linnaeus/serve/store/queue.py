"""What a coder gets next: the most useful document that nobody else has, or one of the random control documents.

Of the documents handed out, the share of control documents is kept: one is handed out, in a random order, whenever
there were too few of them; all others are ordered by usefulness, which is a random number where the model knows too
little to say it (`linnaeus.serve.scoring`). A document is leased to a coder for some minutes, so that two coders do not
get the same one; a double-coded document can be leased to two.
"""

from __future__ import annotations

import time

from linnaeus.serve.store.database import Row, Transaction

__all__ = ["next_documents", "release", "remaining"]

# Conditions on a document d for a coder: not decided by the coder, and assigned to nobody else; a double-coded document
# that is assigned is also for one other coder.
_OPEN = (
    "d.queue = ? AND d.pending = 1 AND (d.assigned IS NULL OR d.assigned = ? OR (d.double = 1 AND NOT EXISTS "
    "(SELECT 1 FROM decisions o WHERE o.document = d.number AND o.coder <> d.assigned))) "
    "AND NOT EXISTS (SELECT 1 FROM decisions x WHERE x.document = d.number AND x.coder = ?)"
)
# And not enough other coders have or had it.
_FREE = _OPEN + (
    " AND (d.assigned IS NULL OR d.assigned = ? OR NOT EXISTS (SELECT 1 FROM leases o WHERE o.document = d.number "
    "AND o.coder <> d.assigned AND o.coder <> ? AND o.until > ?)) "
    "AND 1 + d.double > (SELECT COUNT(*) FROM decisions x WHERE x.document = d.number) "
    "+ (SELECT COUNT(*) FROM leases l WHERE l.document = d.number AND l.coder <> ? AND l.until > ?)"
)
_UNDER = " AND EXISTS (SELECT 1 FROM answer_nodes a WHERE a.document = d.number AND a.node = ?)"
_HELD = "EXISTS (SELECT 1 FROM leases h WHERE h.document = d.number AND h.coder = ? AND h.until > ?)"


def next_documents(
    transaction: Transaction,
    queue: str,
    coder: str,
    *,
    subtree: str | None = None,
    limit: int = 1,
    control_share: float = 0.05,
    minutes: float = 10.0,
) -> list[Row]:
    """Documents for a coder, those that the coder has already first; all are leased until ``minutes`` from now."""
    now = time.time()
    free = _FREE if subtree is None else _FREE + _UNDER
    values: list[str | float] = [queue, *([coder] * 4), now, coder, now, *([] if subtree is None else [subtree])]
    held = transaction.rows(
        f"SELECT d.*, l.until FROM documents d JOIN leases l ON l.document = d.number "
        f"WHERE l.coder = ? AND l.until > ? AND {free} ORDER BY l.place, d.number LIMIT ?",
        [coder, now, *values, limit],
    )
    found = list(held)
    n_control, n_all = _handed_out(transaction, queue, now)
    while len(found) < limit:
        due = n_control + 0.5 < control_share * (n_all + 1)  # not the first document of a queue
        row = _best(transaction, free, [*values, coder, now], due) or _best(
            transaction, free, [*values, coder, now], not due
        )
        if row is None:
            break
        n_control, n_all = n_control + row["control"], n_all + 1
        found.append(row)
        _lease(transaction, row["number"], coder, now + 60 * minutes)
    for row in held:
        _lease(transaction, row["number"], coder, now + 60 * minutes)
    return [{**row, "until": now + 60 * minutes} for row in found]


def _best(transaction: Transaction, free: str, values: list[str | float], control: bool) -> Row | None:
    order = "d.place" if control else "d.usefulness DESC, d.number"
    found = transaction.rows(
        f"SELECT d.* FROM documents d WHERE d.control = {int(control)} AND {free} AND NOT {_HELD} "
        f"ORDER BY {order} LIMIT 1",
        values,
    )
    return found[0] if found else None


def _handed_out(transaction: Transaction, queue: str, now: float) -> tuple[int, int]:
    """The number of control documents, and of all documents, that are decided or leased."""
    rows = transaction.rows(
        "SELECT control, COUNT(*) AS n FROM documents WHERE queue = ? AND pending = 0 GROUP BY control "
        "UNION ALL SELECT d.control, COUNT(DISTINCT d.number) AS n FROM leases l JOIN documents d "
        "ON d.number = l.document WHERE d.queue = ? AND d.pending = 1 AND l.until > ? GROUP BY d.control",
        (queue, queue, now),
    )
    counts = {control: sum(int(row["n"]) for row in rows if row["control"] == control) for control in (0, 1)}
    return counts[1], sum(counts.values())


def _lease(transaction: Transaction, document: int, coder: str, until: float) -> None:
    transaction.rows(
        "INSERT INTO leases (document, coder, place, until) VALUES "
        "(?, ?, (SELECT COALESCE(MAX(place), 0) + 1 FROM leases WHERE coder = ?), ?) "
        "ON CONFLICT (document, coder) DO UPDATE SET until = excluded.until",
        (document, coder, coder, until),
    )


def release(transaction: Transaction, queue: str, coder: str, ids: list[str] | None) -> int:
    """Give leases of a coder back, all of them or those of some documents; returns how many there were."""
    rows = transaction.rows(
        "SELECT l.document, d.id FROM leases l JOIN documents d ON d.number = l.document "
        "WHERE l.coder = ? AND d.queue = ?",
        (coder, queue),
    )
    numbers = [row["document"] for row in rows if ids is None or row["id"] in set(ids)]
    transaction.many("DELETE FROM leases WHERE document = ? AND coder = ?", [(n, coder) for n in numbers])
    return len(numbers)


def remaining(transaction: Transaction, queue: str, coder: str, subtree: str | None = None) -> int:
    """The number of documents that a coder has not decided yet, also those that other coders have at the moment."""
    where = _OPEN + ("" if subtree is None else _UNDER)
    values = [queue, coder, coder] + ([] if subtree is None else [subtree])
    return int(transaction.rows(f"SELECT COUNT(*) AS n FROM documents d WHERE {where}", values)[0]["n"])
