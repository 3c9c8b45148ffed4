"""What models share that answer nodes without documents (``answer="all"``): nodes held out, scales, explanations.

    1. A fifth of the documents is held out, and so are the labels of a fifth of the nodes with few documents
       (`hold_out`): how nodes without documents score can only be learned where their labels are known.
    2. On these the scores of nodes with 0, 1-2, 3-5 and more documents are brought to one scale (`group_scales`).

Held-out nodes are labels more often than nodes that no document has. Good and Turing's estimate of how often a new
document has one of those, as often as documents had a label for the only time, corrects the scale of nodes without
documents. Ranked by such probabilities, they would hardly ever be seen; they are raised as far as it costs the others
next to nothing (`raised`).

What nodes without documents inherit from nodes above them has the same mean over the training documents for all of
them (`centred`): the constant part of these scores says how often the nodes above are labels, not how often the node
is, and would outweigh the texts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from linnaeus.data.check import Problem
from linnaeus.data.matrices import is_sparse
from linnaeus.errors import ParameterError, check_number
from linnaeus.models.explaining import NodeExplanation, one_row
from linnaeus.models.fitting import document_weights
from linnaeus.models.label_priors import GROUPS, GroupScales, LabelTextExplanation, check_label_features, group_of
from linnaeus.models.linear import LinearTaxonomyClassifier
from linnaeus.order import best_columns
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray, Matrix

__all__ = [
    "AllNodes",
    "HeldOutNodes",
    "centred",
    "dense",
    "group_scales",
    "hold_out",
    "mean_document",
    "micro_f1",
    "raised",
    "unseen_rate",
]

_HELD = 0.2  # of the documents, and of the nodes with few documents
_FEW = 5  # documents of nodes that are held out, where there are such
_LEAST_DOCUMENTS, _LEAST_NODES = 20, 10  # with fewer nothing is held out
_MOST_HELD = 2000
_MOST_SCORES = 2 * 10**7
_BEST = 10  # nodes of a document that a user sees
_COST = np.array([0.02, 0.01])  # of labels among these, and of the measure: what nodes without documents may cost
_RAISES = np.arange(0.1, 4.01, 0.1)  # of scores


# -- nodes and documents held out --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HeldOutNodes:
    """Documents and labels to learn from, those held out, and labels of the latter (n_held x n_nodes)."""

    problem: Problem
    X: Matrix
    Y: BoolArray


def hold_out(problem: Problem, seed: int) -> HeldOutNodes | None:
    """A fifth of the documents, and of the nodes with few documents; None where there are few of either."""
    rng = np.random.default_rng([seed, 1])
    n = problem.n_docs
    counts = np.bincount(problem.Y.indices, minlength=problem.taxonomy.n_nodes)
    seen = np.flatnonzero(counts)
    few = seen[counts[seen] <= _FEW]
    few = few if len(few) >= _LEAST_NODES else seen
    if n < _LEAST_DOCUMENTS or len(few) < _LEAST_NODES:
        return None
    hidden = rng.permutation(few)[: round(_HELD * len(few))]
    held = rng.permutation(n)[: round(_HELD * n)]
    scored = held[: max(1, min(_MOST_HELD, _MOST_SCORES // problem.taxonomy.n_nodes))]
    kept = np.setdiff1d(np.arange(n), held)
    shown = np.ones(problem.taxonomy.n_nodes, problem.Y.dtype)
    shown[hidden] = 0
    Y = problem.Y[kept]
    Y.data = Y.data * shown[Y.indices]
    Y.eliminate_zeros()
    if len(np.unique(Y.indices)) < 2:
        return None
    weights = None if problem.weights is None else problem.weights[kept]
    learn = Problem(problem.X[kept], Y, problem.taxonomy, weights, problem.codec)
    return HeldOutNodes(learn, problem.X[np.sort(scored)], problem.Y[np.sort(scored)].toarray() > 0)


# -- scales ------------------------------------------------------------------------------------------------------------


def micro_f1(S: FloatArray, gold: BoolArray) -> float:
    """Micro-F1 of positive scores, and of the best one of every document.

    Examples
    --------
    >>> micro_f1(np.array([[1.0, -1.0], [-2.0, -1.0]]), np.array([[True, False], [True, False]]))
    0.5
    """
    answers = S > 0
    answers[np.arange(len(S)), S.argmax(axis=1)] = True
    return 2.0 * float((answers & gold).sum()) / max(1, int(answers.sum() + gold.sum()))


def unseen_rate(counts: IntArray, nodes: IntArray, n_docs: int) -> float:
    """How often one of the ``nodes`` without documents is a label of a new document, by Good and Turing's estimate.

    Examples
    --------
    >>> unseen_rate(np.array([0, 0, 1, 1, 8]), np.arange(5), 10)
    0.1
    """
    return max(1, int((counts == 1).sum())) / (n_docs * max(1, int((counts[nodes] == 0).sum())))


def group_scales(
    S: FloatArray,
    Y: BoolArray,
    learned: IntArray,
    rate: float,
    *,
    measure: Callable[[FloatArray, BoolArray], float] = micro_f1,
    unit: float = 1.0,
) -> GroupScales:
    """Scales of the groups on held-out documents, for a model that learned without them.

    Parameters
    ----------
    S, Y : ndarray of shape (n_held, n_classes)
        Scores and labels of the held-out documents.
    learned : ndarray of int of shape (n_classes,)
        Documents of each class among those learned from.
    rate : float
        How often a node without documents is a label of a new document (`unseen_rate`).
    measure : callable, default=micro_f1
        ``measure(S, Y)`` of nodes with documents must not become much lower.
    unit : float, default=1.0
        Unit of the scores in which nodes without documents are raised.

    Returns
    -------
    GroupScales
        One slope and one shift for each group.
    """
    groups = group_of(learned)
    unseen = groups == 0
    rates = np.full(len(GROUPS), np.nan)
    mean = Y[:, unseen].mean() if unseen.any() else 0.0
    if mean > 0:
        rates[0] = min(rate, mean)
    scales = GroupScales.fit(S, Y, groups, rates)
    more = raised(scales.slope[groups] * S + scales.shift[groups], Y, unseen, measure, unit)
    return replace(scales, shift=scales.shift + np.where(np.arange(len(GROUPS)) == 0, more, 0.0))


def raised(
    S: FloatArray,
    gold: BoolArray,
    unseen: BoolArray,
    measure: Callable[[FloatArray, BoolArray], float] = micro_f1,
    unit: float = 1.0,
) -> float:
    """What is added to scores of nodes without documents, which by their probabilities are hardly ever among the best.

    The largest value that costs nodes with documents at most a hundredth of the measure, and two of the labels among
    the ten best of a document.
    """
    if not unseen.any() or unseen.all():
        return 0.0
    gold = gold & ~unseen
    k = min(_BEST, len(unseen) // 2)

    def kept(more: float) -> FloatArray:
        raised_scores = S + more * unseen
        best = best_columns(raised_scores, k)
        return np.array([np.take_along_axis(gold, best, 1).sum(), measure(raised_scores, gold)])

    least, most = (1 - _COST) * kept(0.0), 0.0
    for more in (unit * _RAISES).tolist():
        if (kept(more) < least).any():
            break
        most = more
    return most


def centred(S: FloatArray) -> FloatArray:
    """Scores (n_docs x n_nodes) with one mean for all nodes."""
    mean = S.mean(axis=0)
    return np.asarray(S - mean + mean.mean())


def mean_document(problem: Problem) -> FloatArray:
    """The weighted mean of the training documents (n_features)."""
    weights = document_weights(problem)
    return np.asarray(problem.X.T @ (weights / weights.sum()), dtype=np.float64).ravel()


def dense(product: Matrix) -> FloatArray:
    """A product of matrices as a dense array."""
    return product.toarray() if is_sparse(product) else product


# -- the estimator -----------------------------------------------------------------------------------------------------


class AllNodes(LinearTaxonomyClassifier):
    """Mixin for linear models with the parameter ``answer``.

    With "all" the model sets ``n_documents_`` (n_classes) and ``label_weights_`` (n_features x n_classes, sparse): what
    of the weights comes from the texts of the nodes.
    """

    answer: str
    n_documents_: IntArray | None = None
    label_weights_: CSR | None = None

    def fit(
        self, X: object, y: object, sample_weight: object = None, *, label_features: object = None, n_embedding: int = 0
    ) -> Self:
        """Learn from documents and labels.

        Parameters
        ----------
        X : matrix of shape (n_docs, n_features)
            The documents; CSR, dense or memory-mapped.
        y : labels
            Labels of any kind.
        sample_weight : float or array-like of shape (n_docs,), default=None
            Weights of the documents.
        label_features : matrix of shape (n_nodes, n_features), default=None
            Texts of all nodes of the taxonomy in the features of the documents, for ``answer="all"``; a `Pipeline` with
            text features computes them.
        n_embedding : int, default=0
            Number of last columns that are an embedding: `RRSVM` and `RRLogistic` with ``answer="all"`` learn how much
            texts count there apart from how much their words do. A `Pipeline` with `EmbeddedText` passes it.

        Returns
        -------
        TaxonomyClassifier
            The model itself.
        """
        check_number("n_embedding", n_embedding, least=0, whole=True)
        self._label_features, self._n_embedding = label_features, n_embedding
        try:
            super().fit(X, y, sample_weight)
        finally:
            del self._label_features, self._n_embedding
        return self

    def _label_texts(self, problem: Problem) -> CSR:
        """The texts given to `fit` (n_nodes x n_features), validated."""
        n_features = problem.X.shape[1]
        if self._n_embedding >= n_features:
            raise ParameterError(f"n_embedding={self._n_embedding}; expected less than the {n_features} features.")
        return check_label_features(self._label_features, problem.taxonomy.n_nodes, n_features)

    def _forget(self) -> None:
        super()._forget()
        for name in ("n_documents_", "label_weights_"):
            self.__dict__.pop(name, None)

    def explain(self, x: object, node: str | None = None, k: int | None = None) -> list[NodeExplanation]:
        """Exact contributions of the features of one document; see `LinearTaxonomyClassifier.explain`.

        With ``answer="all"`` contributions have ``origins``: "label" for what the words of the node's text gave, else
        "word", or "parent" where the node has no documents. ``evidence`` says the same in words.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            One document.
        node : str, default=None
            The node to explain; None explains the best of the most specific labels of the answer.
        k : int, default=None
            Keep the k largest contributions; None keeps all.

        Returns
        -------
        list of NodeExplanation
            One for each scored node of the path.
        """
        texts, documents = self.label_weights_, self.n_documents_
        if texts is None or documents is None:
            return super().explain(x, node, k)

        def prior(name: str) -> tuple[FloatArray, int]:
            column = int(np.flatnonzero(self.nodes_ == self.taxonomy_.index(name))[0])
            return texts[:, [column]].toarray()[:, 0], int(documents[column])

        X = self._check_X(one_row(x), reset=False)
        return [LabelTextExplanation.of(step, X, prior, k) for step in super().explain(x, node, None)]
