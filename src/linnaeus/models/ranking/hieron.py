"""Hieron: after a mistake, the smallest change of the weights that would have avoided it by a margin of its own.

    F(x, y) = sum_v L[y, v] w_v'x                        L: attributes of classes (`attributes`)
    y right, z wrong, ranked worst:   w <- argmin 1/2 |w' - w|^2  such that  F'(x, y) - F'(x, z) >= sqrt D(y, z)
    that is                           w_v += tau (L[y, v] - L[z, v]) x,
                                      tau = (sqrt D(y, z) - F(x, y) + F(x, z))_+ / (|L_y - L_z|^2 |x|^2)

The pair is that of lowest and highest score, and nothing is learned from a right answer; or, augmented, it maximises
F(x, z) - F(x, y) + sqrt D(y, z), so that margins that are too small teach as well. The weights after the last step
answer, or the mean of all steps. Dekel, Keshet and Singer, ICML 2004, for trees and one label; DAGs and label sets
follow Cai's thesis, 2008.
"""

from __future__ import annotations

from linnaeus.errors import ParameterError, check_choice
from linnaeus.models.fitting import Seed
from linnaeus.models.ranking.online import OnlineRanker
from linnaeus.models.ranking.updates import AUGMENTED, HIERON
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import FloatArray, Kernel, Matrix

__all__ = ["Hieron"]


class Hieron(OnlineRanker):
    """A passive-aggressive learner that ranks all classes, which share weights through the nodes above them.

    Parameters
    ----------
    variant : "averaged" (the mean of all steps answers) or "online" (the last one).
    augmented : also learn from right answers whose margin is too small; much better where passes are repeated.
    taxonomy, attributes, cost, kernel, max_iter, shuffle, fit_intercept, set_size : as in `HierarchicalPerceptron`.

    Attributes
    ----------
    weights_, n_iter_, n_steps_, n_updates_, converged_, active_ratio_ : as in `HierarchicalPerceptron`. A step makes a
        margin equal to the desired one up to rounding: with ``augmented`` a later visit may find it too small by
        rounding, and counts as an update although the weights do not change noticeably.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import Hieron, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0.9, 0.1, 0]])
    >>> model = Hieron(taxonomy=tax, random_state=0).fit(X, ["AA", "AB", "B", "AA"])
    >>> model.predict(X).tolist(), model.top(X[:1], 3)[0].tolist()
    (['AA', 'AB', 'B', 'AA'], [['AA', 'AB', 'B']])
    """

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        variant: str = "averaged",
        augmented: bool = True,
        attributes: str | Matrix = "perclass",
        cost: str | FloatArray = "half",
        kernel: str | Kernel = "linear",
        max_iter: int = 20,
        shuffle: bool = True,
        fit_intercept: bool = False,
        set_size: str = "held_out",
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.variant = variant
        self.augmented = augmented
        self.attributes = attributes
        self.cost = cost
        self.kernel = kernel
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.fit_intercept = fit_intercept
        self.set_size = set_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _rule(self) -> int:
        return AUGMENTED if self.augmented else HIERON

    @property
    def _averaged(self) -> bool:
        return self.variant == "averaged"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("variant", self.variant, ("averaged", "online"))
        if self.augmented not in (True, False):
            raise ParameterError(f"augmented={self.augmented!r}; expected True or False.")
