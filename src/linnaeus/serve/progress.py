"""How far a queue is: counts, the accuracy of the model on random documents, agreement of coders, time left.

Accuracy is measured on control documents only, which are a random sample: those chosen by usefulness are the ones that
the model finds difficult. An answer is right if it is the label set of the coder, both with all ancestors.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from linnaeus.metrics import binomial_interval, hierarchical_f1
from linnaeus.metrics.agreement import kappa_by_node, kappa_hierarchical, kappa_nodes
from linnaeus.metrics.sets import as_pair
from linnaeus.serve.store.database import Row, Transaction
from linnaeus.serve.store.verdicts import MACHINE
from linnaeus.typing import BoolArray

if TYPE_CHECKING:
    from linnaeus.taxonomy import Taxonomy

__all__ = ["control_decisions", "progress"]

_BLOCKS, _SMALLEST = 20, 10  # number of points over time, and of documents of each
_RECENT = 1000  # verdicts of which times are taken
_UNCLEAR = 15  # nodes on which coders disagree most that are listed


def progress(transaction: Transaction, queue: str, taxonomy: Taxonomy) -> dict[str, object]:
    """All figures of a queue, as plain values."""
    states = _counts(
        transaction, "SELECT state AS name, COUNT(*) AS n FROM documents WHERE queue = ? GROUP BY state", queue
    )
    control = control_decisions(transaction, queue)
    seconds = _seconds(transaction, queue)
    middle = median(s for one in seconds.values() for s in one) if seconds else None
    left = _left(transaction, queue)
    double = _double_decisions(transaction, queue)
    return {
        "documents": sum(states.values()),
        "states": states,
        "flagged": _shares(transaction, queue, "flagged = 1")["all"],
        "shares": _shares(transaction, queue, "1 = 1"),
        "decided_shares": _shares(transaction, queue, "state NOT IN ('open', 'partly')"),
        "coders": _coders(transaction, queue, seconds),
        "control": _measured(control, taxonomy),
        "control_over_time": _over_time(control, taxonomy),
        "blind": _measured([row for row in control if row["blind"]], taxonomy),
        "accepted_ranks": _counts(
            transaction,
            "SELECT v.rank AS name, COUNT(*) AS n FROM decisions x JOIN verdicts v ON v.number = x.verdict "
            "JOIN documents d ON d.number = x.document WHERE d.queue = ? AND v.rank IS NOT NULL GROUP BY v.rank",
            queue,
        ),
        "agreement": _agreement(double, taxonomy),
        "unclear_nodes": _unclear_nodes(double, taxonomy),
        "median_seconds": middle,
        "seconds_left": None if middle is None else middle * left,
    }


def control_decisions(transaction: Transaction, queue: str) -> list[Row]:
    """Decided control documents with the ``labels`` of the coder and the ``answer`` that the model had given.

    Of several coders the first counts, or the adjudication; documents decided as "cannot tell" are left out.
    """
    rows = transaction.rows(
        "SELECT d.number, d.id, d.blind, d.final, x.labels, x.time, v.answer, v.shown, v.model, t.content "
        "FROM documents d JOIN decisions x ON x.document = d.number JOIN verdicts v ON v.number = x.verdict "
        "LEFT JOIN texts t ON t.document = d.number WHERE d.queue = ? AND d.control = 1 AND x.kind <> 'cannot-tell' "
        "AND v.answer IS NOT NULL AND x.coder NOT LIKE ? ORDER BY x.verdict",
        (queue, f"{MACHINE}%"),
    )
    found: dict[int, Row] = {}
    for row in rows:
        found.setdefault(row["number"], row)
    return [
        {**row, "labels": json.loads(row["final"] or row["labels"]), "answer": json.loads(row["answer"])}
        for row in found.values()
    ]


def _right(rows: Sequence[Row], taxonomy: Taxonomy) -> BoolArray:
    pair = as_pair([row["labels"] for row in rows], [row["answer"] for row in rows], taxonomy).closed()
    return np.asarray(abs(pair.Y.astype(np.int8) - pair.H.astype(np.int8)).sum(axis=1)).ravel() == 0


def _measured(rows: Sequence[Row], taxonomy: Taxonomy) -> dict[str, object]:
    n = len(rows)
    right = int(_right(rows, taxonomy).sum()) if n else 0
    low, high = binomial_interval(right, n)
    gold, predicted = [row["labels"] for row in rows], [row["answer"] for row in rows]
    f1 = float(hierarchical_f1(gold, predicted, taxonomy, average="document")) if n else None
    accuracy = right / n if n else None
    return {"n": n, "right": right, "accuracy": accuracy, "low": low, "high": high, "hierarchical_f1": f1}


def _over_time(rows: Sequence[Row], taxonomy: Taxonomy) -> list[dict[str, object]]:
    """Accuracy on blocks of consecutive control documents."""
    size = max(_SMALLEST, math.ceil(len(rows) / _BLOCKS))
    blocks = [rows[start : start + size] for start in range(0, len(rows), size)]
    return [
        {**_measured(block, taxonomy), "first": block[0]["time"], "last": block[-1]["time"]}
        for block in blocks
        if block
    ]


def _counts(transaction: Transaction, statement: str, queue: str) -> dict[str, int]:
    return {str(row["name"]): int(row["n"]) for row in transaction.rows(statement, (queue,))}


def _shares(transaction: Transaction, queue: str, condition: str) -> dict[str, int]:
    row = transaction.rows(
        "SELECT COUNT(*) AS n, COALESCE(SUM(control), 0) AS control, COALESCE(SUM(blind), 0) AS blind, "
        f"COALESCE(SUM(double), 0) AS double FROM documents WHERE queue = ? AND {condition}",
        (queue,),
    )[0]
    return {"all": int(row["n"]), **{name: int(row[name]) for name in ("control", "blind", "double")}}


def _seconds(transaction: Transaction, queue: str) -> dict[str, list[float]]:
    """Times of the last verdicts that decided a document, by coder."""
    rows = transaction.rows(
        "SELECT v.coder, v.seconds FROM verdicts v JOIN documents d ON d.number = v.document "
        "WHERE d.queue = ? AND v.seconds IS NOT NULL "
        "AND (v.labels IS NOT NULL OR v.kind IN ('none-fits', 'cannot-tell')) "
        "ORDER BY v.number DESC LIMIT ?",
        (queue, _RECENT),
    )
    found: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        found[row["coder"]].append(float(row["seconds"]))
    return found


def _left(transaction: Transaction, queue: str) -> int:
    """The number of decisions that are missing."""
    row = transaction.rows(
        "SELECT COUNT(*) + COALESCE(SUM(CASE WHEN double = 1 AND state = 'open' THEN 1 ELSE 0 END), 0) AS n "
        "FROM documents WHERE queue = ? AND pending = 1",
        (queue,),
    )[0]
    return int(row["n"])


def _coders(transaction: Transaction, queue: str, seconds: dict[str, list[float]]) -> list[dict[str, object]]:
    rows = transaction.rows(
        "SELECT x.coder, COUNT(*) AS n FROM decisions x JOIN documents d ON d.number = x.document WHERE d.queue = ? "
        "GROUP BY x.coder ORDER BY x.coder",
        (queue,),
    )
    return [
        {
            "coder": row["coder"],
            "decided": int(row["n"]),
            "median_seconds": median(seconds[row["coder"]]) if row["coder"] in seconds else None,
        }
        for row in rows
    ]


_Pairs = dict[tuple[str, str], list[tuple[list[str], list[str]]]]  # label sets of every two coders


def _double_decisions(transaction: Transaction, queue: str) -> _Pairs:
    """Label sets of every two coders on the documents that both decided; adjudications are left out."""
    rows = transaction.rows(
        "SELECT x.document, x.coder, x.labels FROM decisions x JOIN documents d ON d.number = x.document "
        "WHERE d.queue = ? AND x.coder NOT LIKE ? AND x.adjudication = 0 AND x.kind <> 'cannot-tell' "
        "AND d.number IN (SELECT document FROM "
        "decisions GROUP BY document HAVING COUNT(*) > 1) ORDER BY x.document, x.coder",
        (queue, f"{MACHINE}%"),
    )
    by_document: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        by_document[row["document"]].append(row)
    pairs: _Pairs = defaultdict(list)
    for decided in by_document.values():
        for one, two in combinations(decided, 2):
            pairs[one["coder"], two["coder"]].append((json.loads(one["labels"]), json.loads(two["labels"])))
    return pairs


def _agreement(pairs: _Pairs, taxonomy: Taxonomy) -> list[dict[str, object]]:
    """Agreement of every two coders."""
    found = []
    for (first, second), sets in sorted(pairs.items()):
        ones, twos = [one for one, _ in sets], [two for _, two in sets]
        found.append(
            {
                "first": first,
                "second": second,
                "documents": len(sets),
                "same": sum(set(one) == set(two) for one, two in sets),
                "kappa_nodes": _finite(kappa_nodes(ones, twos, taxonomy)),
                "kappa_hierarchical": _finite(kappa_hierarchical(ones, twos, taxonomy)),
            }
        )
    return found


def _unclear_nodes(pairs: _Pairs, taxonomy: Taxonomy) -> list[dict[str, object]]:
    """Nodes on which coders disagree most, each with the label that the other coder chose most often instead."""
    sets = [both for _, some in sorted(pairs.items()) for both in some]
    found: list[dict[str, object]] = []
    for one in kappa_by_node([first for first, _ in sets], [second for _, second in sets], taxonomy):
        if len(found) == _UNCLEAR or not one.first + one.second:
            break
        v = taxonomy.lookup(one.node)
        if v is None:  # a label of an earlier version of the taxonomy
            continue
        below = {str(taxonomy.names[u]) for u in taxonomy.descendants(v)}
        instead: Counter[str] = Counter()
        for first, second in sets:
            for own, other in ((first, second), (second, first)):
                if below.intersection(own) and not below.intersection(other):
                    instead.update(other)
        found.append(
            {
                "node": one.node,
                "name": taxonomy.display(one.node),
                "both": one.both,
                "one": one.first + one.second,
                "kappa": _finite(one.kappa),
                "instead": taxonomy.display(instead.most_common(1)[0][0]) if instead else None,
            }
        )
    return found


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
