"""Several systems on several data sets: Friedman's test on ranks, and which pairs differ (Nemenyi).

Scores are N data sets x k systems; in each row the best system has rank 1 and ties share the mean rank. With R_j the
mean rank of system j::

    chi2 = 12 N / (k (k+1)) [sum_j R_j^2 - k (k+1)^2 / 4]
    F    = (N-1) chi2 / (N (k-1) - chi2)                       with k-1 and (k-1)(N-1) degrees of freedom
    CD   = q sqrt(k (k+1) / (6 N))

F is Iman and Davenport's correction of the too cautious chi2; two systems differ if their mean ranks are more than the
critical difference CD apart, with q the studentised range quantile over sqrt(2). Demšar (2006).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linnaeus.errors import DataError
from linnaeus.typing import FloatArray

__all__ = ["Friedman", "friedman"]


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
