"""Ranking models that also answer classes without documents: ``answer="all"``.

    F(x, y) = a_y (sum_v L[y, v] w_v'x  +  p_y'x) + b_y          p_y = g * t_y  word by word, 0 where y has documents

L are the attributes of classes (`attributes`): a class without documents has those of the nodes above it, and of words
that its labels share with other labels. Attributes of its own were never learned from. Their place is taken by its text
t_y in the features of the documents, with the gains g of words (`label_priors`), learned from what the own attributes
of classes with documents add at the words of their texts.

a and b are the same for all classes with 0, 1-2, 3-5 and more documents, learned from a model of four fifths of the
documents on the others, and on nodes whose labels were held out (`all_nodes`). How large scores are depends on the
number of documents, with perceptrons above all: what is taken from that model to the one of all documents is relative
to the length of the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from linnaeus.data.check import Problem
from linnaeus.data.matrices import with_constant
from linnaeus.decoding import SetSize
from linnaeus.errors import ParameterError, check_choice
from linnaeus.models.all_nodes import HeldOutNodes, centred, dense, group_scales, mean_document, unseen_rate
from linnaeus.models.label_priors import (
    GroupScales,
    LabelGains,
    choose_ridge,
    entries_of,
    group_of,
    nodes_with_texts,
    text_strengths,
)
from linnaeus.models.ranking.attributes import keyed_attributes
from linnaeus.models.ranking.set_sizes import set_size_decoder
from linnaeus.order import best_columns
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray, Matrix

__all__ = [
    "AllClasses",
    "HeldOutDocuments",
    "HeldOutRankings",
    "SharedWeights",
    "UnseenScales",
    "all_classes",
    "check_answer",
    "learn_scales",
    "learn_sizes",
    "own_attributes",
    "with_all_classes",
]

_TEXTS = "taxonomy+text"


def check_answer(answer: str, attributes: str | Matrix, linear: bool) -> None:
    """Validate ``answer``, and that the other parameters allow to answer classes without documents."""
    check_choice("answer", answer, ("seen", "all"))
    if answer == "seen":
        return
    if not isinstance(attributes, str) or attributes != _TEXTS:
        given = repr(attributes) if isinstance(attributes, str) else "a matrix"
        raise ParameterError(f"answer='all' finds nodes by their texts; got attributes={given}, expected {_TEXTS!r}.")
    if not linear:
        raise ParameterError("answer='all' compares label texts with words of documents, which needs kernel='linear'.")


@dataclass(frozen=True)
class SharedWeights:
    """What a ranking model has learned: classes, their attributes L and the weights w (n_inputs x n_attributes).

    ``keys`` are those of the columns of L. Inputs are the features and, where the model has one, a constant. ``start``
    (keys x n_features) are weights that own attributes had before anything was learned; None stands for 0.
    """

    nodes: IntArray
    attributes: CSR
    keys: IntArray
    weights: FloatArray
    start: CSR | None = None

    def scores(self, X: Matrix, attributes: CSR) -> FloatArray:
        """X w L' of documents, for any rows L of attributes."""
        rows = with_constant(X, float(self.weights.shape[0] > X.shape[1]))
        return np.ascontiguousarray((attributes @ dense(rows @ self.weights).T).T)

    @property
    def size(self) -> float:
        """Length of the weights, by which scores of two models of the same classes can be compared."""
        return float(np.linalg.norm(self.weights)) / len(self.nodes) ** 0.5

    def attributes_of(self, taxonomy: Taxonomy, nodes: IntArray) -> CSR:
        """Rows of attributes of other nodes, as far as weights of these attributes were learned."""
        L, keys = keyed_attributes(taxonomy, np.concatenate([self.nodes, nodes]), _TEXTS)
        order = np.argsort(self.keys)
        place = np.minimum(np.searchsorted(self.keys, keys, sorter=order), len(order) - 1)
        known = np.flatnonzero(self.keys[order[place]] == keys)
        moved = sparse.csr_array((np.ones(len(known)), (known, order[place[known]])), shape=(len(keys), len(self.keys)))
        found = sparse.csr_array(L[len(self.nodes) :] @ moved)
        found.sort_indices()
        return found

    def gains(self, T: CSR, documents: IntArray) -> LabelGains:
        """Gains of words, from the weights of the own attributes of classes at the words of their texts."""
        own, size = own_attributes(self.nodes, self.attributes, self.keys)
        texts = sparse.csr_array(T[self.nodes])
        rows = np.repeat(np.arange(len(self.nodes)), np.diff(texts.indptr))
        learned = self.weights[texts.indices, own[rows]]
        if self.start is not None:
            learned = learned - entries_of(self.start, self.keys[own[rows]], texts.indices)
        R = sparse.csr_array((size[rows] * learned, texts.indices, texts.indptr), shape=texts.shape)
        return choose_ridge(texts, R, documents[self.nodes])


def own_attributes(nodes: IntArray, attributes: CSR, keys: IntArray) -> tuple[IntArray, FloatArray]:
    """Column of the own attribute of every class, and its value there; 0 where a class has none.

    Examples
    --------
    >>> L = sparse.csr_array(np.array([[0.5, 0.5, 0.0], [0.5, 0.0, 0.8]]))
    >>> own, size = own_attributes(np.array([3, 4]), L, np.array([2, 6, 8]))
    >>> own.tolist(), size.tolist()
    ([1, 2], [0.5, 0.8])
    """
    own, size = np.zeros(len(nodes), np.intp), np.zeros(len(nodes))
    class_of = np.repeat(np.arange(len(nodes)), np.diff(attributes.indptr))
    key = keys[attributes.indices]
    for last in (0, 1):  # the own place of a class above others follows that of its node
        mine = np.flatnonzero(key == 2 * nodes[class_of].astype(np.int64) + last)
        own[class_of[mine]], size[class_of[mine]] = attributes.indices[mine], attributes.data[mine]
    return own, size


@dataclass(frozen=True)
class UnseenScales:
    """How much texts count (``strength``), and scales of groups; ``shift`` is relative to the length of the weights."""

    strength: float
    slope: FloatArray
    shift: FloatArray

    @classmethod
    def identity(cls) -> UnseenScales:
        scales = GroupScales.identity()
        return cls(1.0, scales.slope, scales.shift)


@dataclass(frozen=True)
class AllClasses:
    """Classes with and without documents; scores are ``slope`` x (attributes + texts) + ``shift``.

    Attributes
    ----------
    nodes : ndarray of int of shape (n_classes,)
        Numbers of the nodes.
    attributes : csr_array of shape (n_classes, n_attributes)
        Over the attributes that were learned.
    label_weights : csr_array of shape (n_features, n_classes)
        What the texts of the nodes give, multiplied by ``slope``.
    n_documents : ndarray of int of shape (n_classes,)
        Training documents.
    slope, shift : ndarray of shape (n_classes,)
        Scales.
    """

    nodes: IntArray
    attributes: CSR
    label_weights: CSR
    n_documents: IntArray
    slope: FloatArray
    shift: FloatArray

    def ordered(self, order: IntArray) -> AllClasses:
        """The same in another order of the classes."""
        texts = sparse.csr_array(self.label_weights[:, order])
        texts.sort_indices()
        return AllClasses(
            self.nodes[order], sparse.csr_array(self.attributes[order]), texts, self.n_documents[order],
            self.slope[order], self.shift[order],
        )  # fmt: skip

    def weights(self, W: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(weights of features, intercept) of all classes from those by attributes, n_inputs x n_classes."""
        n_features = self.label_weights.shape[0]
        found = np.ascontiguousarray(W[:n_features] * self.slope.astype(W.dtype))
        texts = self.label_weights.tocoo()
        found[texts.row, texts.col] += texts.data
        constant = W[n_features:].sum(axis=0, dtype=np.float64)  # one row, or none
        return found, constant * self.slope + self.shift


@dataclass(frozen=True)
class HeldOutDocuments:
    """Held-out documents X and labels Y (n_held x n_nodes); ``learned`` are the training documents of each node.

    Nodes ``ignored`` are compared neither as nodes with documents nor as nodes without.
    """

    X: Matrix
    Y: BoolArray
    learned: IntArray
    ignored: IntArray = field(default_factory=lambda: np.zeros(0, np.int32))


@dataclass(frozen=True)
class HeldOutRankings:
    """Scores (n_docs x nodes) and labels (n_docs x all nodes) of held-out documents."""

    nodes: IntArray
    S: FloatArray
    Y: BoolArray


def with_all_classes(
    shared: SharedWeights, problem: Problem, T: CSR, held: HeldOutNodes | None, part: SharedWeights | None
) -> tuple[AllClasses, UnseenScales, HeldOutRankings | None]:
    """All classes that have documents or texts, their scales, and the scores of held-out documents.

    Parameters
    ----------
    shared : SharedWeights
        The model of all documents.
    problem : Problem
        All documents, with labels as the model learns them.
    T : csr_array of shape (n_nodes, n_features)
        Texts of the nodes.
    held : HeldOutNodes or None
        What was held out.
    part : SharedWeights or None
        The model of the documents that were not held out.

    Returns
    -------
    classes : AllClasses
        Classes with documents in the order of ``shared``, then the others.
    scales : UnseenScales
        What a stream of further documents continues with.
    scores : HeldOutRankings or None
        Scores by ``part`` on the same scale.
    """
    counts = np.bincount(problem.Y.indices, minlength=problem.taxonomy.n_nodes)
    scales, scored = UnseenScales.identity(), None
    if held is not None and part is not None:
        learned = np.bincount(held.problem.Y.indices, minlength=problem.taxonomy.n_nodes)
        documents = HeldOutDocuments(held.X, held.Y, learned)
        scales, scored = learn_scales(part, problem.taxonomy, documents, T, counts, problem.n_docs)
    return all_classes(shared, problem.taxonomy, counts, T, scales, mean_document(problem)), scales, scored


def all_classes(
    shared: SharedWeights, taxonomy: Taxonomy, counts: IntArray, T: CSR, scales: UnseenScales, mean: FloatArray
) -> AllClasses:
    """Classes with documents in the order of ``shared``, then the other nodes with texts.

    Parameters
    ----------
    shared : SharedWeights
        The model.
    taxonomy : Taxonomy
        The taxonomy of the labels.
    counts : ndarray of int of shape (n_nodes,)
        Training documents of the nodes.
    T : csr_array of shape (n_nodes, n_features)
        Texts of the nodes.
    scales : UnseenScales
        How much texts count, and scales of groups.
    mean : ndarray of shape (n_features,)
        The mean of the training documents.

    Returns
    -------
    AllClasses
        All classes on one scale.
    """
    gains = shared.gains(T, counts).times(scales.strength)
    unseen = np.setdiff1d(nodes_with_texts(taxonomy), shared.nodes)
    nodes = np.concatenate([shared.nodes, unseen]).astype(np.int32)
    groups = group_of(counts[nodes])
    slope, shift = scales.slope[groups], scales.shift[groups] * shared.size
    A = shared.attributes_of(taxonomy, unseen)
    if len(unseen):
        document = np.append(mean, 1.0)[: len(shared.weights)]
        inherited = A @ (shared.weights.T @ document)
        shift[len(shared.nodes) :] += slope[len(shared.nodes) :] * (inherited.mean() - inherited)
    P = gains.prior(T)[nodes]
    P.data = P.data * np.repeat(slope * (counts[nodes] == 0), np.diff(P.indptr))
    P.eliminate_zeros()
    texts = sparse.csr_array(P.T, dtype=shared.weights.dtype)
    L = sparse.csr_array(sparse.vstack([shared.attributes, A], format="csr"))
    return AllClasses(nodes, L, texts, counts[nodes], slope, shift)


def learn_scales(
    part: SharedWeights, taxonomy: Taxonomy, held: HeldOutDocuments, T: CSR, counts: IntArray, n_docs: int
) -> tuple[UnseenScales, HeldOutRankings]:
    """How much texts count beside nodes above, scales of groups, and scores, on held-out documents.

    Parameters
    ----------
    part : SharedWeights
        A model that has not seen what is held out.
    taxonomy : Taxonomy
        The taxonomy of the labels.
    held : HeldOutDocuments
        What is held out.
    T : csr_array of shape (n_nodes, n_features)
        Texts of the nodes.
    counts : ndarray of int of shape (n_nodes,)
        Documents of the nodes, with those held out.
    n_docs : int
        Documents, with those held out.

    Returns
    -------
    scales : UnseenScales
        For a model of all documents.
    scores : HeldOutRankings
        Scores of the held-out documents by ``part``, on one scale.
    """
    X, Y, learned = held.X, held.Y, held.learned
    unseen = np.setdiff1d(np.setdiff1d(nodes_with_texts(taxonomy), part.nodes), held.ignored)
    S, strength = part.scores(X, part.attributes), 1.0
    spread = float(S.std())
    if len(unseen):
        inherited = centred(part.scores(X, part.attributes_of(taxonomy, unseen)))
        texts = dense(part.gains(T, learned).prior(T)[unseen] @ X.T).T
        (strength,) = text_strengths(inherited, [texts], Y[:, unseen])
        S = np.hstack([S, inherited + strength * texts])
    nodes = np.concatenate([part.nodes, unseen])
    rate = unseen_rate(counts, nodes, n_docs)
    scales = group_scales(
        S, Y[:, nodes], learned[nodes], rate, measure=_found_first, unit=2 * spread
    )  # scores of rankers have no unit of their own
    groups = group_of(learned[nodes])
    scored = HeldOutRankings(nodes, scales.slope[groups] * S + scales.shift[groups], Y)
    return UnseenScales(strength, scales.slope, scales.shift / max(part.size, np.finfo(float).tiny)), scored


def _found_first(S: FloatArray, gold: BoolArray) -> float:
    """Share of the labels that are among as many best classes as the document has labels.

    Rankings have no threshold by which to answer.
    """
    sizes = gold.sum(axis=1)
    k = max(1, int(sizes.max(initial=0)))
    hits = np.take_along_axis(gold, best_columns(S, k), 1) & (np.arange(k) < sizes[:, None])
    return float(hits.sum()) / max(1, int(sizes.sum()))


def learn_sizes(
    how: str,
    scored: HeldOutRankings | None,
    Y: CSR,
    taxonomy: Taxonomy,
    nodes: IntArray,
    scores: Callable[[], FloatArray],
) -> dict[str, object]:
    """A decoder of set sizes (`set_sizes`) from the scores of documents that are held out already.

    Parameters
    ----------
    how : {"held_out", "training", "mean"}
        From held-out scores where there are any, from scores of training documents, or the same number for all.
    scored : HeldOutRankings or None
        Scores of held-out documents.
    Y : sparse array of shape (n_docs, n_nodes)
        Labels of the training documents.
    taxonomy : Taxonomy
        The taxonomy of the labels.
    nodes : ndarray of int
        Classes of the model.
    scores : callable
        Computes the scores of the training documents.

    Returns
    -------
    dict
        The decoder as plain values.
    """
    if how == "held_out" and scored is not None:
        decoder = SetSize(at_least_one=bool((np.diff(Y.indptr) > 0).all()))
        return decoder.fit(scored.S, sparse.csr_array(scored.Y.astype(np.int8)), taxonomy, scored.nodes).to_dict()
    how = "mean" if how == "mean" else "training"
    return set_size_decoder(how, Y, taxonomy, nodes, lambda train, test: scores()).to_dict()
