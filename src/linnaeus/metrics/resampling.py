"""Permutation and bootstrap: what would the difference of two systems have been by chance, and how sure is it?

Whole documents are swapped or resampled, never single decisions, because the labels of one document depend on each
other. Measures that are functions of sums over documents (micro-F1, hierarchical F1, means) are resampled through these
sums; any other measure is recomputed on the documents themselves. Seeds are parameters and come back in the answer.

`compare` shows two systems on the same documents: the tests that belong to each kind of measure, side by side.

micro-F1, hierarchical F1 and example-based F1 get a paired permutation test and a bootstrap interval over documents;
whole sets get McNemar's test, per-label F1 gets Wilcoxon's, and the decisions the sign test. The p-values are corrected
for their number by Holm's method.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from linnaeus.display import TableRows
from linnaeus.engine import blocks, rows_that_fit
from linnaeus.errors import DataError, ParameterError, check_choice
from linnaeus.metrics import flat
from linnaeus.metrics.sets import Counts, Pair, as_pairs, by_document, by_node, is_indicator, joined, label_lists
from linnaeus.metrics.significance import Test, decision_sign_test, holm, mcnemar, wilcoxon
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = ["bootstrap", "bootstrap_metric", "compare", "permutation_metric", "permutation_test"]

EXHAUSTIVE = 15  # pairs up to which all 2^n swaps are tried
BLOCK_BYTES = 32_000_000  # of float64, documents x resamples at a time
Statistic = Callable[[FloatArray], FloatArray]


def permutation_test(
    first: npt.ArrayLike,
    second: npt.ArrayLike | None = None,
    *,
    statistic: Statistic | None = None,
    n_resamples: int = 10_000,
    random_state: int = 0,
) -> Test:
    """Swap the two systems within pairs at random and see how often the difference is as large.

    Up to 15 pairs all 2^n swaps are tried; beyond, p = (1 + as extreme)/(1 + n_resamples).

    Parameters
    ----------
    first, second : object
        Values per pair (n), or sums per document (n x m); without ``second``, ``first`` holds differences.
    statistic : Statistic, default=None
        Maps totals over documents (..., m) to values (...); default: the mean of single values. For micro-F1 from rows
        (common, gold, predicted): ``lambda t: 2 * t[..., 0] / (t[..., 1] + t[..., 2])``.
    n_resamples, random_state : int, default=10,000 and 0
        Number and seed of the resamples.

    Returns
    -------
    Test
        The result: p-value, statistic, effect, and how many pairs were used.

    Examples
    --------
    >>> d = [0.03, 0.01, 0.04, -0.02, 0.05, 0.06, 0.015, 0.025]
    >>> permutation_test(d).p_value
    0.03125
    """
    if second is None:  # swapping the systems turns the sign of a difference
        first, second = np.asarray(first, dtype=np.float64) / 2, -np.asarray(first, dtype=np.float64) / 2
    A, B, value_of = _paired(first, second, statistic)
    total_A, total_B = A.sum(axis=0), B.sum(axis=0)

    def differences(swaps: FloatArray) -> FloatArray:
        moved = swaps @ (B - A)
        return np.asarray(value_of(total_A + moved) - value_of(total_B - moved))

    observed = float(value_of(total_A) - value_of(total_B))
    n_discordant = int((A != B).any(axis=1).sum())
    return _permuted(observed, len(A), differences, n_resamples, random_state, {"n_discordant": n_discordant})


def permutation_metric(
    metric: Callable[[object, object], float],
    gold: object,
    first: object,
    second: object,
    *,
    n_resamples: int = 1_000,
    random_state: int = 0,
) -> Test:
    """`permutation_test` for any ``metric(gold, predicted)``, recomputed on the swapped documents.

    Parameters
    ----------
    metric : callable
        A measure, called with gold and predicted labels.
    gold, first, second : labels
        Gold labels and those predicted by two systems, in any form of `linnaeus.metrics.sets`.
    n_resamples, random_state : int, default=1,000 and 0
        Number and seed of the resamples.

    Returns
    -------
    Test
        The result: p-value, statistic, effect, and how many pairs were used.

    Examples
    --------
    >>> from linnaeus.metrics import micro_f1
    >>> permutation_metric(micro_f1, ["A", "B", "A"], ["A", "B", "A"], ["B", "B", "A"]).p_value
    1.0
    """
    both = _Documents(first, second)

    def differences(swaps: FloatArray) -> FloatArray:
        return np.array([metric(gold, both.mix(s > 0)) - metric(gold, both.mix(s == 0)) for s in swaps])

    observed = float(metric(gold, first) - metric(gold, second))
    return _permuted(observed, both.n, differences, n_resamples, random_state, {})


def _permuted(
    observed: float,
    n: int,
    differences: Callable[[FloatArray], FloatArray],
    n_resamples: int,
    random_state: int,
    details: dict[str, int | float | str | bool],
) -> Test:
    exhaustive = n <= EXHAUSTIVE
    rng = np.random.default_rng(random_state)
    total = 2**n if exhaustive else n_resamples
    least = abs(observed) - 1e-12 * max(1.0, abs(observed))  # sums in another order differ in the last digit
    as_extreme = 0
    for part in blocks(total, rows_that_fit(8 * n, BLOCK_BYTES)):
        numbers = np.arange(part.start, part.stop)
        if exhaustive:
            swaps = ((numbers[:, None] >> np.arange(n)) & 1).astype(np.float64)
        else:
            swaps = rng.integers(0, 2, size=(len(numbers), n)).astype(np.float64)
        as_extreme += int((np.abs(differences(swaps)) >= least).sum())
    p = as_extreme / total if exhaustive else (1 + as_extreme) / (1 + total)
    details = {"exhaustive": exhaustive, "n_resamples": total, "random_state": random_state, **details}
    return Test("paired permutation", p, observed, observed, None, n, details)


def bootstrap(
    first: npt.ArrayLike,
    second: npt.ArrayLike | None = None,
    *,
    statistic: Statistic | None = None,
    level: float = 0.95,
    method: str = "percentile",
    n_resamples: int = 10_000,
    random_state: int = 0,
) -> Test:
    """Interval of the difference of two systems by resampling documents.

    Parameters
    ----------
    first, second, statistic : array-like, array-like, callable
        As for `permutation_test`.
    level : float, default=0.95
        Confidence level of the interval.
    method : {"percentile", "bca"}, default="percentile"
        Plain quantiles, or bias-corrected and accelerated ones.
    n_resamples, random_state : int, default=10,000 and 0
        Number and seed of the resamples.

    Returns
    -------
    Test
        The result: p-value, statistic, effect, and how many pairs were used.

    Examples
    --------
    >>> d = [0.03, 0.01, 0.04, -0.02, 0.05, 0.06, 0.015, 0.025]
    >>> low, high = bootstrap(d).interval
    >>> abs(low - 0.0094) < 0.001 and abs(high - 0.0419) < 0.001
    True
    """
    first = np.asarray(first, dtype=np.float64)
    A, B, value_of = _paired(first, np.zeros_like(first) if second is None else second, statistic)
    n = len(A)

    def difference(weights: FloatArray) -> FloatArray:
        return np.asarray(value_of(weights @ A) - value_of(weights @ B))

    rng = np.random.default_rng(random_state)
    parts = blocks(n_resamples, rows_that_fit(8 * n, BLOCK_BYTES))
    drawn = [difference(_how_often(rng, part.stop - part.start, n)) for part in parts]
    left_out = None
    if method == "bca":  # one document left out; totals are scaled back to n documents for statistics that divide by n
        scale = n / max(n - 1, 1)
        left_out = np.asarray(value_of(scale * (A.sum(axis=0) - A)) - value_of(scale * (B.sum(axis=0) - B)))
    observed = float(difference(np.ones((1, n)))[0])
    return _interval(observed, np.concatenate(drawn), left_out, level, method, n, random_state)


def _how_often(rng: np.random.Generator, n_samples: int, n: int) -> FloatArray:
    """How often each of n documents is drawn when n are drawn with replacement (n_samples x n)."""
    drawn = rng.integers(0, n, size=(n_samples, n)) + n * np.arange(n_samples)[:, None]
    return np.bincount(drawn.ravel(), minlength=n_samples * n).reshape(n_samples, n).astype(np.float64)


def bootstrap_metric(
    metric: Callable[[object, object], float],
    gold: object,
    first: object,
    second: object,
    *,
    level: float = 0.95,
    method: str = "percentile",
    n_resamples: int = 1_000,
    random_state: int = 0,
) -> Test:
    """`bootstrap` for any ``metric(gold, predicted)``, recomputed on the resampled documents.

    Parameters
    ----------
    metric, gold, first, second : callable, labels
        As for `permutation_metric`.
    level, method, n_resamples, random_state : float, str, int, int
        As for `bootstrap`, with 1,000 resamples by default.

    Returns
    -------
    Test
        The result: p-value, statistic, effect, and how many pairs were used.

    Examples
    --------
    >>> from linnaeus.metrics import micro_f1
    >>> bootstrap_metric(micro_f1, ["A", "B"] * 9, ["A", "B"] * 9, ["A", "A"] * 9, n_resamples=200).interval[0] > 0
    True
    """
    sides = [_Documents(side) for side in (gold, first, second)]

    def difference(rows: IntArray) -> float:
        G, A, B = (side.take(rows) for side in sides)
        return float(metric(G, A) - metric(G, B))

    n = sides[0].n
    rng = np.random.default_rng(random_state)
    drawn = np.array([difference(rng.integers(0, n, size=n)) for _ in range(n_resamples)])
    everyone = np.arange(n)
    left_out = np.array([difference(np.delete(everyone, i)) for i in range(n)]) if method == "bca" else None
    return _interval(difference(everyone), drawn, left_out, level, method, n, random_state)


def _interval(
    observed: float,
    drawn: FloatArray,
    left_out: FloatArray | None,
    level: float,
    method: str,
    n: int,
    random_state: int,
) -> Test:
    check_choice("method", method, ("percentile", "bca"))
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if left_out is not None:
        tails = _corrected_tails(tails, observed, drawn, left_out)
    low, high = np.quantile(drawn, tails)
    beyond = min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))
    p = min(1.0, 2 * (1 + beyond) / (1 + len(drawn)))
    details: dict[str, int | float | str | bool] = {
        "level": level,
        "method": method,
        "n_resamples": len(drawn),
        "random_state": random_state,
    }
    return Test("paired bootstrap", p, observed, observed, (float(low), float(high)), n, details)


def _corrected_tails(tails: FloatArray, observed: float, drawn: FloatArray, left_out: FloatArray) -> FloatArray:
    """Efron's BCa: shift the quantiles by the median bias and by how the spread changes with the value."""
    from scipy import stats

    below = ((drawn < observed).sum() + 0.5 * (drawn == observed).sum()) / len(drawn)
    if not 0 < below < 1:
        return tails
    bias = stats.norm.ppf(below)
    spread = left_out.mean() - left_out
    power = float((spread**2).sum() ** 1.5)
    acceleration = float((spread**3).sum()) / (6 * power) if power > 0 else 0.0
    z = bias + stats.norm.ppf(tails)
    return np.asarray(stats.norm.cdf(bias + z / (1 - acceleration * z)))


def _paired(
    first: npt.ArrayLike, second: npt.ArrayLike, statistic: Statistic | None
) -> tuple[FloatArray, FloatArray, Statistic]:
    A, B = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if A.shape != B.shape:
        raise DataError(f"The two systems have values of shapes {A.shape} and {B.shape}; they must be paired.")
    if not len(A):
        raise DataError("There are no pairs to compare.")
    if A.ndim == 1:
        A, B = A[:, None], B[:, None]
    if statistic is not None:
        return A, B, statistic
    if A.shape[1] != 1:
        raise ParameterError(f"Rows of {A.shape[1]} sums need a `statistic` that turns their totals into a value.")
    n = len(A)
    return A, B, lambda totals: totals[..., 0] / n


class _Documents:
    """Labels in any form, of one or two systems, from which documents can be taken."""

    def __init__(self, first: object, second: object = None) -> None:
        from scipy import sparse

        self.n = first.shape[0] if hasattr(first, "shape") else len(cast(Sized, first))
        self.parts: CSR | list[list[str]]
        if is_indicator(first) and (second is None or is_indicator(second)):
            self.parts = sparse.csr_array(first)
            if second is not None:
                self.parts = sparse.csr_array(sparse.vstack([self.parts, sparse.csr_array(second)]))
        else:
            self.parts = label_lists(first) + ([] if second is None else label_lists(second))

    def take(self, rows: IntArray) -> CSR | list[list[str]]:
        return [self.parts[i] for i in rows] if isinstance(self.parts, list) else self.parts[rows]

    def mix(self, swapped: BoolArray) -> CSR | list[list[str]]:
        return self.take(np.arange(self.n) + self.n * swapped)


MOST_DRAWS = 500_000_000  # documents drawn in all resamples together


def compare(
    gold: object,
    first: object,
    second: object,
    taxonomy: Taxonomy | None = None,
    *,
    n_resamples: int = 10_000,
    random_state: int = 0,
) -> TableRows:
    """One row per measure: measure, test, first, second, difference, low, high, p_value, p_holm, n.

    The rows are a list that notebooks show as a table; ``to_frame()`` makes a data frame of it.
    With very many documents fewer resamples are drawn, never fewer than 1,000; each row says how many.

    Parameters
    ----------
    gold, first, second, taxonomy : labels, Taxonomy
        As for `linnaeus.metrics.decision_sign_test`.
    n_resamples, random_state : int, default=10,000 and 0
        Number and seed of the resamples.

    Returns
    -------
    TableRows
        The rows; notebooks show them as a table, and ``to_frame`` makes a data frame of them.

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
    return TableRows(rows)


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
