"""Two systems on the same documents: the tests that belong to each kind of measure, side by side.

micro-F1, hierarchical F1 and example-based F1 get a paired permutation test and a bootstrap interval over documents;
whole sets get McNemar's test, per-label F1 gets Wilcoxon's, and the decisions the sign test. The p-values are corrected
for their number by Holm's method.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus.metrics import flat
from linnaeus.metrics.counts import Counts, by_document, by_node, joined
from linnaeus.metrics.resampling import Statistic, bootstrap, permutation_test
from linnaeus.metrics.sets import Pair, as_pairs
from linnaeus.metrics.significance import Test, decision_sign_test, holm, mcnemar, wilcoxon
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import FloatArray

__all__ = ["compare"]

MOST_DRAWS = 500_000_000  # documents drawn in all resamples together


def compare(
    gold: object,
    first: object,
    second: object,
    taxonomy: Taxonomy | None = None,
    *,
    n_resamples: int = 10_000,
    random_state: int = 0,
) -> list[dict[str, Any]]:
    """One row per measure: measure, test, first, second, difference, low, high, p_value, p_holm, n.

    With very many documents fewer resamples are drawn, never fewer than 1,000; each row says how many.

    Parameters
    ----------
    gold, first, second : labels
        Gold labels and those predicted by two systems, in any form of `linnaeus.metrics.sets`.
    taxonomy : Taxonomy, default=None
        The taxonomy of the nodes.
    n_resamples, random_state : int, default=10,000 and 0
        Number and seed of the resamples.

    Examples
    --------
    >>> rows = compare(["A", "B"] * 10, ["A", "B"] * 10, ["A", "A"] * 10)
    >>> rows[0]["measure"], rows[0]["first"], rows[0]["second"], rows[0]["p_value"] < 0.05
    ('micro_f1', 1.0, 0.5, True)
    """
    pairs = as_pairs(gold, first, second, taxonomy)
    n_docs = pairs[0].n_docs
    n_resamples = min(n_resamples, max(1_000, MOST_DRAWS // max(n_docs, 1)))
    given = [by_document(pair.Y, pair.H) for pair in pairs]
    rows = [_resampled("micro_f1", [c.table() for c in given], _pooled_f1, n_resamples, random_state)]
    rows.append(_resampled("example_f1", [c.f1() for c in given], None, n_resamples, random_state))
    if taxonomy is not None:
        closed = [_closed_counts(pair) for pair in pairs]
        rows.append(_resampled("hierarchical_f1", [c.table() for c in closed], _pooled_f1, n_resamples, random_state))
    rows.append(_whole_sets(given))
    rows.append(_per_label(pairs))
    rows.append(_row("decisions", decision_sign_test(gold, first, second, taxonomy), None, None))
    for row, corrected in zip(rows, holm([row["p_value"] for row in rows]), strict=True):
        row["p_holm"] = float(corrected)
    return rows


def _resampled(
    measure: str, sides: list[FloatArray], statistic: Statistic | None, n_resamples: int, random_state: int
) -> dict[str, Any]:
    tested = permutation_test(*sides, statistic=statistic, n_resamples=n_resamples, random_state=random_state)
    drawn = bootstrap(*sides, statistic=statistic, n_resamples=n_resamples, random_state=random_state)
    value_of = statistic or (lambda totals: totals / len(sides[0]))
    values = [float(value_of(side.sum(axis=0))) for side in sides]
    row = _row(measure, tested, *values)
    assert drawn.interval is not None
    return {**row, "low": drawn.interval[0], "high": drawn.interval[1]}


def _pooled_f1(totals: FloatArray) -> FloatArray:
    return Counts.of_table(totals).f1()


def _closed_counts(pair: Pair) -> Counts:
    return joined([by_document(block.Y, block.H) for block in (part.closed() for part in pair.blocks())])


def _whole_sets(given: list[Counts]) -> dict[str, Any]:
    right = [counts.difference() == 0 for counts in given]
    test = mcnemar(int((right[0] & ~right[1]).sum()), int((right[1] & ~right[0]).sum()))
    return _row("subset_accuracy", test, float(right[0].mean()), float(right[1].mean()))


def _per_label(pairs: tuple[Pair, Pair]) -> dict[str, Any]:
    """Per-label F1 of the labels that occur in gold or in either prediction."""
    counts = [by_node(pair.Y, pair.H) for pair in pairs]
    occurs = np.flatnonzero(sum(c.gold + c.predicted for c in counts) > 0)
    values = [flat.label_values(c.take(occurs)) for c in counts]
    means = [float(v.mean()) if len(v) else 0.0 for v in values]
    return _row("macro_f1_occurring", wilcoxon(values[0] - values[1]), *means)


def _row(measure: str, test: Test, first: float | None, second: float | None) -> dict[str, Any]:
    difference = None if first is None or second is None else first - second
    plain = {"measure": measure, "test": test.name, "first": first, "second": second, "difference": difference}
    return {**plain, "low": None, "high": None, "p_value": test.p_value, "p_holm": None, "n": test.n, **test.details}
