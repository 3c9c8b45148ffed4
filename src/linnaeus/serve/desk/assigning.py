"""Documents of a queue for certain coders: by share, by subtree, or both.

Documents without a verdict are drawn in the random order of the queue, so that each coder gets a random part of them.
An assigned document is coded by nobody else, except that a double-coded one is also coded by one other coder.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from linnaeus.errors import ParameterError
from linnaeus.serve.store.database import Transaction

__all__ = ["assign", "assignments"]

_RECENT = 200  # verdicts of a coder of which times are taken


def assign(transaction: Transaction, queue: str, rules: Sequence[tuple[str, float, str | None]]) -> dict[str, int]:
    """Assign the documents without a verdict; what no rule covers is for everybody.

    Parameters
    ----------
    transaction : Transaction
        A transaction that writes.
    queue : str
        The queue.
    rules : sequence of tuple
        Coder, share, and the node at or below which the suggestions of a document are, or None for all documents. Of
        several nodes of rules the first one that covers a document counts.

    Returns
    -------
    dict
        The number of documents of each coder.
    """
    shares: dict[str | None, list[tuple[str, float]]] = defaultdict(list)
    for coder, share, subtree in rules:
        shares[subtree].append((coder, share))
    for subtree, given in shares.items():
        total = sum(share for _, share in given)
        if total > 1 + 1e-9:
            where = "all documents" if subtree is None else f"documents below {subtree!r}"
            raise ParameterError(f"The shares of {where} sum to {total:.3g}; expected at most 1.")
    transaction.rows("UPDATE documents SET assigned = NULL WHERE queue = ? AND state = 'open'", (queue,))
    rows = transaction.rows(
        "SELECT number FROM documents WHERE queue = ? AND state = 'open' AND pending = 1 ORDER BY place, number",
        (queue,),
    )
    left = [int(row["number"]) for row in rows]
    counts: dict[str, int] = defaultdict(int)
    for subtree, given in shares.items():
        covered = left if subtree is None else _below(transaction, left, subtree)
        start, end = 0, 0.0
        for coder, share in given:
            end += share * len(covered)
            own = covered[start : math.floor(end + 0.5)]
            start += len(own)
            transaction.many("UPDATE documents SET assigned = ? WHERE number = ?", [(coder, n) for n in own])
            counts[coder] += len(own)
        inside = set(covered)
        left = [number for number in left if number not in inside]
    return dict(counts)


def _below(transaction: Transaction, numbers: Sequence[int], node: str) -> list[int]:
    """Documents whose suggestions are at or below a node, in the order given."""
    rows = transaction.rows("SELECT document FROM answer_nodes WHERE node = ?", (node,))
    found = {int(row["document"]) for row in rows}
    return [number for number in numbers if number in found]


def assignments(transaction: Transaction, queue: str) -> list[dict[str, object]]:
    """For each coder: documents assigned, those among them that are left, decided documents, and seconds left."""
    given = transaction.rows(
        "SELECT d.assigned AS coder, COUNT(*) AS n, SUM(CASE WHEN d.pending = 1 AND NOT EXISTS (SELECT 1 FROM "
        "decisions x WHERE x.document = d.number AND x.coder = d.assigned) THEN 1 ELSE 0 END) AS open "
        "FROM documents d WHERE d.queue = ? AND d.assigned IS NOT NULL GROUP BY d.assigned ORDER BY d.assigned",
        (queue,),
    )
    found: list[dict[str, object]] = []
    for row in given:
        times = transaction.rows(
            "SELECT v.seconds FROM verdicts v JOIN documents d ON d.number = v.document WHERE d.queue = ? "
            "AND v.coder = ? AND v.seconds IS NOT NULL AND v.kind NOT IN ('note', 'flag', 'undo', 'redo') "
            "ORDER BY v.number DESC LIMIT ?",
            (queue, row["coder"], _RECENT),
        )
        each = median(float(one["seconds"]) for one in times) if times else None
        n_open = int(row["open"])
        found.append(
            {
                "coder": row["coder"],
                "assigned": int(row["n"]),
                "left": n_open,
                "seconds_left": None if each is None else each * n_open,
            }
        )
    return found
