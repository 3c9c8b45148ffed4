"""s-cut: one threshold for each label, where its F1 on held-out documents is best.

How the thresholds are found, also for rare labels and under a repair, is told in `label_thresholds`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from linnaeus.decoding.base import less_theta, plain_theta, theta_per_node
from linnaeus.decoding.cut import CutOff, Metric, check_choice
from linnaeus.decoding.held_out import HeldOut
from linnaeus.decoding.label_thresholds import LabelThresholds
from linnaeus.decoding.threshold import members, repaired
from linnaeus.errors import check_number
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = ["SCut"]

_GRID = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # values of fbr that are tried


@dataclass(frozen=True)
class SCut(CutOff):
    """Every label with a score above its own threshold.

    Parameters
    ----------
    average : {"auto", "macro", "micro"}, default="auto"
        The F1 that the thresholds maximise. "auto" follows the metric of the fit: "macro" for macro-F1, "micro" for all
        others. Macro-F1 counts rare labels as much as frequent ones; thresholds for it answer many rare labels.
    fbr : labels whose best held-out F1 is below this are cut by ``rare``; "tune" finds it on one half of the held-out
        documents after the other; 0 never.
    rare : "none" gives such labels to no document (FBR.0), "top" above their best held-out score (FBR.1).
    min_positives : labels with fewer held-out positives take the ``fallback``.
    fallback : "parent" (the highest of its parents' thresholds, else the pooled one), "global" (the pooled one), or
        "top" (the best held-out score).
    at_least_one : an empty answer becomes the label of largest score.
    theta : learned: one threshold for each node.
    top : learned: only so many labels of a document are looked at, where only so many were held out.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.flat(["A"])
    >>> S = [[0.9], [0.8], [0.7], [0.6], [0.5], [0.4]]
    >>> cut = SCut(min_positives=1, at_least_one=False).fit(S, [["A"], [], ["A"], ["A"], [], []], tax)
    >>> round(cut.theta[0], 2)
    0.55
    >>> tax.labels(cut([[0.6], [0.5]], tax))
    [['A'], []]
    """

    name: ClassVar[str] = "scut"
    average: str = "auto"
    fbr: Any = 0.0
    rare: str = "top"
    min_positives: int = 5
    fallback: str = "parent"
    at_least_one: bool = True
    theta: Any = field(default=None, repr=False)
    top: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("average", self.average, ("auto", "macro", "micro"))
        check_choice("rare", self.rare, ("none", "top"))
        check_choice("fallback", self.fallback, ("parent", "global", "top"))
        check_number("min_positives", self.min_positives, least=0, whole=True)
        if self.fbr != "tune":
            check_number("fbr", self.fbr, least=0)
        if self.theta is not None:
            object.__setattr__(self, "theta", plain_theta(self.theta))

    @property
    def along_paths(self) -> bool:
        return False

    @property
    def fitted(self) -> bool:
        return self.theta is not None

    def margins(self, S: FloatArray, Y: CSR, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
        return less_theta(self.theta, S, taxonomy, columns)

    def _cut(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        theta = theta_per_node(self.theta, taxonomy)[columns]

        def above(rows: slice) -> BoolArray:
            if self.top is None or self.top >= len(columns):
                return S[rows] > theta
            least = np.partition(S[rows], -self.top, axis=1)[:, [-self.top]]
            return (S[rows] > theta) & (S[rows] >= least)

        Y = members(S, above, columns, taxonomy)
        return repaired(Y, taxonomy, self.repair, self._best(S, columns))

    def _fit(self, held: HeldOut, metric: Metric) -> SCut:
        cut = self
        if self.average == "auto":
            cut = replace(self, average="macro" if getattr(metric, "__name__", "") == "macro_f1" else "micro")
        fbr = cut._tuned_fbr(held, metric) if self.fbr == "tune" else self.fbr
        return replace(cut, theta=cut._thresholds(held).final(fbr, self.rare), top=held.truncated)

    def _thresholds(self, held: HeldOut) -> LabelThresholds:
        return LabelThresholds(held, self.average, self.min_positives, self.fallback, self.repair)

    def _tuned_fbr(self, held: HeldOut, metric: Metric) -> float:
        """The value with which thresholds of one half of the documents do best on the other half."""
        if len(held) < 2:
            return 0.0
        values = np.zeros(len(_GRID))
        halves = [held.take(np.arange(start, len(held), 2)) for start in (0, 1)]
        for train, test in (halves, halves[::-1]):
            found = self._thresholds(train)
            for i, fbr in enumerate(_GRID):
                cut = replace(self, theta=found.final(fbr, self.rare))  # scores left out are minus infinity here
                values[i] += metric(test.gold, test.answers(cut), test.taxonomy)
        return _GRID[int(np.argmax(values))]
