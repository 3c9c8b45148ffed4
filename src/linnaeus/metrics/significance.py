"""Is one system better than another, or was it luck? Paired tests: both systems on the same documents, labels or folds.

All tests are two-sided and say how many pairs were discordant. The decisions on one document depend on each other, so
the sign test over decisions finds differences too easily; it is here for comparison with the literature. Permutation
and bootstrap are in `linnaeus.metrics.resampling`.
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
    "Test",
    "corrected_resampled_t",
    "decision_sign_test",
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
