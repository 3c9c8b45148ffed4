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

from linnaeus.errors import check_choice, check_flag
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
    taxonomy : Taxonomy, default=None
        The taxonomy of the labels; None makes a flat one (or, for paths, a tree) from y.
    variant : {"averaged", "online"}, default="averaged"
        Whether the mean of the weights over all steps answers, or the last weights.
    augmented : bool, default=True
        Whether to learn also from right answers whose margin is too small; much better with repeated passes.
    attributes : {"perclass", "depth", "one", "paper", "flat", "taxonomy+text"} or array-like, default="perclass"
        What classes share: the nodes above a class ("flat": nothing), or a matrix with a row for every node; see
        `linnaeus.models.ranking.attributes`.
    cost : {"half", "distance", "normalised", "zero_one"} or array-like, default="half"
        Cost of ranking a wrong class above a right one: half the tree distance, the distance, the same normalised, 1,
        or a matrix (n_nodes x n_nodes, right class first). The flat learner has ``attributes="flat"`` and
        ``cost="zero_one"``.
    kernel : {"linear", "rbf", "poly", "precomputed"} or Kernel, default="linear"
        "linear" has weights of features, the others coefficients of documents.
    max_iter : int, default=20
        Maximum number of passes over the documents.
    max_time : float or str, default=None
        Time limit in seconds, or as "10m"; with label sets and ``set_size="held_out"`` each training has half of it.
    shuffle : bool, default=True
        Whether to visit the documents in a new random order in every pass; `partial_fit` takes them as they come.
    fit_intercept : bool, default=False
        Whether to add a constant feature; for kernel="linear".
    set_size : {"held_out", "training", "mean"}, default="held_out"
        How the number of labels is learned, for label sets: from held-out documents (trains a second time), from the
        training documents, or the mean for all.
    n_jobs : int, default=None
        Threads for predictions; documents are visited one after another.
    random_state : int or RandomState, default=None
        Seed of the order of the documents.
    verbose : int, default=0
        Whether to show a progress bar.
    answer : {"seen", "all"}, default="seen"
        Classes that can be answered: those that training documents have, or all nodes with texts, which needs
        ``attributes="taxonomy+text"``, ``kernel="linear"`` and ``label_features`` in `fit` or the first `partial_fit`.
        A node without documents scores by the nodes above it, words that its labels share with others, and its text.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_classes)
        With ``intercept_`` of shape (n_classes,); None behind a kernel, with ``support_documents_`` instead.
    n_iter_, n_steps_, n_updates_ : int
        Number of passes, of visits over which the mean is taken, and of visits that changed the weights. A step makes a
        margin equal to the desired one up to rounding: with ``augmented`` a later visit may find it too small by
        rounding and count as an update although the weights do not change noticeably.
    converged_ : bool
        Whether the last pass learned nothing.
    time_limit_reached_ : bool
        Whether ``max_time`` ended the fit.
    active_ratio_ : float
        Share of the pairs (document, right class, wrong class) that were learned from.
    n_documents_ : ndarray of int of shape (n_classes,)
        With ``answer="all"``: training documents of each class.

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
        max_time: float | str | None = None,
        shuffle: bool = True,
        fit_intercept: bool = False,
        set_size: str = "held_out",
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
        answer: str = "seen",
    ) -> None:
        self.taxonomy = taxonomy
        self.variant = variant
        self.augmented = augmented
        self.attributes = attributes
        self.cost = cost
        self.kernel = kernel
        self.max_iter = max_iter
        self.max_time = max_time
        self.shuffle = shuffle
        self.fit_intercept = fit_intercept
        self.set_size = set_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.answer = answer

    @property
    def _rule(self) -> int:
        return AUGMENTED if self.augmented else HIERON

    @property
    def _averaged(self) -> bool:
        return self.variant == "averaged"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("variant", self.variant, ("averaged", "online"))
        check_flag("augmented", self.augmented)
