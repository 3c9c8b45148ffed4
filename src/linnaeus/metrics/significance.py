"""Is one system better than another, or was it luck? Paired tests: both systems on the same documents, labels or folds.

All tests are two-sided and say how many pairs were discordant. The decisions on one document depend on each other, so
the sign test over decisions finds differences too easily; it is here for comparison with the literature. Permutation
and bootstrap are in `linnaeus.metrics.resampling`.

Several systems on several data sets: Friedman's test on ranks, and which pairs differ (Nemenyi).

Scores are N data sets x k systems; in each row the best system has rank 1 and ties share the mean rank. With R_j the
mean rank of system j::

    chi2 = 12 N / (k (k+1)) [sum_j R_j^2 - k (k+1)^2 / 4]
    F    = (N-1) chi2 / (N (k-1) - chi2)                       with k-1 and (k-1)(N-1) degrees of freedom
    CD   = q sqrt(k (k+1) / (6 N))

F is Iman and Davenport's correction of the too cautious chi2; two systems differ if their mean ranks are more than the
critical difference CD apart, with q the studentised range quantile over sqrt(2). Demšar (2006).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from linnaeus.errors import DataError, check_choice
from linnaeus.metrics.sets import as_pairs
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import FloatArray

__all__ = [
    "Friedman",
    "Test",
    "corrected_resampled_t",
    "decision_sign_test",
    "friedman",
    "holm",
    "mcnemar",
    "sign_test",
    "wilcoxon",
]


@dataclass(frozen=True)
class Test:
    """Result of a test: name, p-value, statistic, effect, interval where there is one, and how many pairs it used."""

    __test__ = False  # not a test case of pytest

    name: str
    p_value: float
    statistic: float
    effect: float | None = None
    interval: tuple[float, float] | None = None
    n: int = 0
    details: Mapping[str, int | float | str | bool] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        plain = {"name": self.name, "p_value": self.p_value, "statistic": self.statistic, "effect": self.effect}
        return {**plain, "interval": list(self.interval) if self.interval else None, "n": self.n, **self.details}


# -- counts of wins and losses -----------------------------------------------------------------------------------------


def sign_test(wins: int, losses: int) -> Test:
    """Exact binomial test of wins against losses; ties are left out.

    Parameters
    ----------
    wins, losses : int
        Numbers of pairs in which the first and the second system is better.

    Returns
    -------
    Test
        The result: p-value, statistic, effect, and how many pairs were used.

    Examples
    --------
    >>> round(sign_test(8, 2).p_value, 4)
    0.1094
    """
    n = wins + losses
    effect = (wins - losses) / n if n else 0.0
    return Test("sign test", _binomial(wins, n), float(wins), effect, None, n, {"wins": wins, "losses": losses})


def decision_sign_test(gold: object, first: object, second: object, taxonomy: Taxonomy | None = None) -> Test:
    """Sign test over all (document, label) decisions where exactly one of two systems is right.

    Decisions of one document are not independent, so the p-value is too small; see `permutation_metric`.

    Parameters
    ----------
    gold, first, second : labels
        Gold labels and those predicted by two systems, in any form of `linnaeus.metrics.sets`.
    taxonomy : Taxonomy, default=None
        The taxonomy of the nodes.

    Returns
    -------
    Test
        The result: p-value, statistic, effect, and how many pairs were used.

    Examples
    --------
    >>> decision_sign_test(["A", "B"], ["A", "B"], ["A", "C"]).details
    {'wins': 2, 'losses': 0}
    """
    pairs = as_pairs(gold, first, second, taxonomy)
    wrong_first, wrong_second = (abs(pair.Y - pair.H) for pair in pairs)
    both = wrong_first.multiply(wrong_second).nnz
    return sign_test(wrong_second.nnz - both, wrong_first.nnz - both)


def mcnemar(b: int, c: int, method: str = "auto") -> Test:
    """Documents that only the first (b) or only the second system (c) gets right.

    ``method``: "exact" binomial, "mid-p", "chi2" with continuity correction, or "auto": exact below 25, mid-p from
    there.

    Parameters
    ----------
    b, c : int
        Numbers of documents that only the first and only the second system gets right.
    method : str, default="auto"
        How it is computed, as described above.

    Returns
    -------
    Test
        The result: p-value, statistic, effect, and how many pairs were used.

    Examples
    --------
    >>> [round(mcnemar(10, 3, method).p_value, 4) for method in ("exact", "mid-p", "chi2")]
    [0.0923, 0.0574, 0.0961]
    """
    from scipy import stats

    n, details = b + c, {"only_first": b, "only_second": c}
    effect = (b - c) / n if n else 0.0
    check_choice("method", method, ("auto", "exact", "mid-p", "chi2"))
    if method == "auto":
        method = "exact" if n < 25 else "mid-p"
    if method == "chi2":
        statistic = max(abs(b - c) - 1, 0) ** 2 / n if n else 0.0
        return Test("McNemar, corrected chi2", float(stats.chi2.sf(statistic, 1)), statistic, effect, None, n, details)
    p = _binomial(b, n)
    if method == "mid-p" and n:
        p = 2 * float(stats.binom.cdf(min(b, c), n, 0.5)) - float(stats.binom.pmf(min(b, c), n, 0.5))
    return Test(f"McNemar, {method}", min(p, 1.0), float(b), effect, None, n, details)


def _binomial(wins: int, n: int) -> float:
    from scipy import stats

    return float(stats.binomtest(int(wins), int(n), 0.5).pvalue) if n else 1.0


# -- paired values -----------------------------------------------------------------------------------------------------


def wilcoxon(differences: npt.ArrayLike, zeros: str = "drop") -> Test:
    """Signed ranks of paired differences, for example of per-label F1; exact up to 25 pairs without ties, else normal.

    ``zeros``: "drop" leaves equal pairs out, "pratt" ranks them and then leaves them out.

    Parameters
    ----------
    differences : array-like of shape (n,)
        One difference per pair.
    zeros : {"drop", "pratt"}, default="drop"
        What happens to equal pairs.

    Returns
    -------
    Test
        The result: p-value, statistic, effect, and how many pairs were used.

    Examples
    --------
    >>> round(wilcoxon([0.03, 0.01, 0.04, -0.02, 0.05, 0.06, 0.015, 0.025]).p_value, 4)
    0.0391
    """
    from scipy import stats

    check_choice("zeros", zeros, ("drop", "pratt"))
    d = _values(differences)
    d = d[d != 0] if zeros == "drop" else d
    effect = float(np.median(d)) if len(d) else 0.0
    if not d.any():
        return Test("Wilcoxon signed rank", 1.0, 0.0, effect, None, len(d))
    exact = len(d) <= 25 and len(np.unique(np.abs(d))) == len(d) and bool(d.all())
    rule = "wilcox" if zeros == "drop" else "pratt"
    found = stats.wilcoxon(d, zero_method=rule, method="exact" if exact else "approx")
    details = {"exact": exact, "positive": int((d > 0).sum()), "negative": int((d < 0).sum())}
    return Test("Wilcoxon signed rank", float(found.pvalue), float(found.statistic), effect, None, len(d), details)


def corrected_resampled_t(differences: npt.ArrayLike, n_train: int, n_test: int) -> Test:
    """t-test over folds or repeated splits whose training sets overlap: variance factor 1/J + n_test/n_train.

    Parameters
    ----------
    differences : array-like of shape (n,)
        One difference per pair.
    n_train : int
        Number of training documents.
    n_test : int
        Number of test documents.

    Returns
    -------
    Test
        The result: p-value, statistic, effect, and how many pairs were used.

    Examples
    --------
    >>> corrected_resampled_t([0.02, 0.03, 0.01, 0.02], n_train=80, n_test=20).p_value < 0.05
    True
    """
    from scipy import stats

    d = _values(differences)
    J = len(d)
    if J < 2:
        raise DataError(f"The corrected resampled t needs at least 2 differences, got {J}.")
    scale = np.sqrt((1 / J + n_test / n_train) * d.var(ddof=1))
    mean = float(d.mean())
    if scale == 0:
        return Test("corrected resampled t", 1.0 if mean == 0 else 0.0, float(np.sign(mean) * np.inf), mean, None, J)
    t = mean / scale
    width = float(stats.t.ppf(0.975, J - 1) * scale)
    return Test(
        "corrected resampled t", float(2 * stats.t.sf(abs(t), J - 1)), float(t), mean, (mean - width, mean + width), J
    )


def holm(p_values: Sequence[float]) -> FloatArray:
    """p-values corrected for the number of comparisons (Holm's step-down).

    Parameters
    ----------
    p_values : sequence of float
        The p-values of all comparisons.

    Returns
    -------
    ndarray
        The corrected p-values, in the order of the input.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    p = _values(p_values)
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p)))))
    return corrected


# -- shared ------------------------------------------------------------------------------------------------------------


def _values(given: npt.ArrayLike) -> FloatArray:
    values = np.asarray(given, dtype=np.float64)
    if values.ndim != 1:
        raise DataError(f"Expected one value per pair, got an array of shape {values.shape}.")
    return values


@dataclass(frozen=True)
class Friedman:
    """Mean ranks, the two tests, and the critical difference with the pairs of systems that exceed it."""

    ranks: FloatArray
    chi2: float
    p_value: float
    F: float
    F_p_value: float
    q: float
    critical_difference: float
    different: list[tuple[int, int]]
    n: int


def friedman(scores: npt.ArrayLike, *, higher_is_better: bool = True, alpha: float = 0.05) -> Friedman:
    """Friedman, Iman-Davenport and Nemenyi on scores (n_datasets x n_systems).

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_systems)
        One score for each system on each data set.
    higher_is_better : bool, default=True
        Whether larger scores are better.
    alpha : float, default=0.05
        Level of significance.

    Returns
    -------
    Friedman
        Mean ranks, statistics, p-values and the critical difference.

    Examples
    --------
    >>> table = [[0.80, 0.82, 0.85], [0.60, 0.66, 0.65], [0.71, 0.70, 0.75], [0.55, 0.58, 0.61], [0.90, 0.91, 0.93]]
    >>> found = friedman(table)
    >>> found.ranks.round(4).tolist(), round(found.chi2, 4), found.different
    ([2.8, 2.0, 1.2], 6.4, [(0, 2)])
    """
    from scipy import stats

    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 2:
        raise DataError(f"Expected at least 2 data sets x 2 systems, got an array of shape {table.shape}.")
    N, k = table.shape
    ranks = stats.rankdata(-table if higher_is_better else table, axis=1).mean(axis=0)
    chi2 = float(12 * N / (k * (k + 1)) * ((ranks**2).sum() - k * (k + 1) ** 2 / 4))
    rest = N * (k - 1) - chi2
    F = (N - 1) * chi2 / rest if rest > 1e-12 else float("inf")
    q = float(stats.studentized_range.ppf(1 - alpha, k, np.inf) / np.sqrt(2))
    CD = q * float(np.sqrt(k * (k + 1) / (6 * N)))
    different = [(i, j) for i in range(k) for j in range(i + 1, k) if abs(ranks[i] - ranks[j]) > CD]
    return Friedman(
        ranks=ranks,
        chi2=chi2,
        p_value=float(stats.chi2.sf(chi2, k - 1)),
        F=F,
        F_p_value=float(stats.f.sf(F, k - 1, (k - 1) * (N - 1))),
        q=q,
        critical_difference=CD,
        different=different,
        n=N,
    )
