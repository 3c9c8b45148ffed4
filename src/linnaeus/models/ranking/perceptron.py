"""Perceptrons that rank classes, which share weights through the taxonomy.

    F(x, y) = sum_v L[y, v] w_v'x                                    L: attributes of classes (`attributes`)
    y = argmin over Y_i of F(x_i, .),  z = argmax over the others     the pair of classes that is ranked worst
    where F(x_i, y) <= F(x_i, z):   w_v += D(y, z) (L[y, v] - L[z, v]) x_i

D(y, z) is the cost of ranking z above y (`losses.cost`). With attributes of the taxonomy, a mistake moves the
nodes in which the two classes differ, and classes below them move along. Variants:

    online      the weights after the last step
    averaged    the mean of the weights over all steps; usually better
    minover     always the worst pair of all documents, until all margins exceed the desired one (`models.published`)

L. Cai and T. Hofmann, IJCAI 2007; L. Cai's thesis, 2008; M. Collins (2002) for the mean.
"""

from __future__ import annotations

from linnaeus.engine import Clock
from linnaeus.errors import ParameterError, check_choice, check_number
from linnaeus.models.fitting import Seed
from linnaeus.models.ranking.online import OnlineRanker, RankerOutcome
from linnaeus.models.ranking.updates import PERCEPTRON, AttributeWeights, DocumentSource
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import FloatArray, Kernel, Matrix

__all__ = ["HierarchicalPerceptron"]


class HierarchicalPerceptron(OnlineRanker):
    """A perceptron that ranks all classes, which share weights through the nodes above them; single and multi-label.

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        The taxonomy of the labels; None makes a flat one (or, for paths, a tree) from y.
    variant : {"averaged", "online", "minover"}, default="averaged"
        Whether the mean of the weights over all steps answers, or the last weights; "minover" always learns the worst
        pair of all documents, for comparison.
    attributes : {"perclass", "depth", "one", "paper", "flat", "taxonomy+text"} or array-like, default="perclass"
        What classes share: the nodes above a class ("flat": nothing), or a matrix with a row for every node; see
        `linnaeus.models.ranking.attributes`.
    cost : {"half", "distance", "normalised", "zero_one"} or array-like, default="half"
        Cost of ranking a wrong class above a right one: half the tree distance, the distance, the same normalised, 1,
        or a matrix (n_nodes x n_nodes, right class first). The flat perceptron has ``attributes="flat"`` and
        ``cost="zero_one"``.
    kernel : {"linear", "rbf", "poly", "precomputed"} or Kernel, default="linear"
        "linear" has weights of features, the others coefficients of documents.
    margin : float, default=0.0
        Of "minover": how far all right classes should be above all wrong ones.
    max_iter : int, default=20
        Maximum number of passes over the documents; "minover" may take one step for each visit.
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
    n_iter_ : int
        Number of passes.
    n_steps_ : int
        Number of visits over which the mean is taken.
    n_updates_ : int
        Number of visits that changed the weights.
    converged_ : bool
        Whether the last pass learned nothing: all documents are ranked correctly.
    time_limit_reached_ : bool
        Whether ``max_time`` ended the fit.
    active_ratio_ : float
        Share of the pairs (document, right class, wrong class) that were learned from.
    n_documents_ : ndarray of int of shape (n_classes,)
        With ``answer="all"``: training documents of each class.
    margin_ : float
        Of "minover": the least margin over the length of the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import HierarchicalPerceptron, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0.9, 0.1, 0]])
    >>> model = HierarchicalPerceptron(taxonomy=tax, random_state=0).fit(X, ["AA", "AB", "B", "AA"])
    >>> model.predict(X).tolist(), model.top(X[:1], 3)[0].tolist()
    (['AA', 'AB', 'B', 'AA'], [['AA', 'B', 'AB']])
    >>> model.partial_fit(X[:1], ["B"]).n_updates_
    4
    """

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        variant: str = "averaged",
        attributes: str | Matrix = "perclass",
        cost: str | FloatArray = "half",
        kernel: str | Kernel = "linear",
        margin: float = 0.0,
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
        self.attributes = attributes
        self.cost = cost
        self.kernel = kernel
        self.margin = margin
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
        return PERCEPTRON

    @property
    def _averaged(self) -> bool:
        return self.variant == "averaged"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("variant", self.variant, ("averaged", "online", "minover"))
        check_number("margin", self.margin, least=0)
        if self.margin and self.variant != "minover":
            raise ParameterError(f"margin={self.margin} is for variant='minover'; got variant={self.variant!r}.")

    def _check_stream(self) -> None:
        super()._check_stream()
        if self.variant == "minover":
            raise ParameterError("variant='minover' needs all documents at once; 'averaged' and 'online' take streams.")

    def _train(self, source: DocumentSource, clock: Clock) -> tuple[AttributeWeights, RankerOutcome]:
        if self.variant != "minover":
            return super()._train(source, clock)
        from linnaeus.models.published.minover import train_minover

        return train_minover(self, source, clock)
