"""Classes without documents in a stream (``answer="all"`` with ``partial_fit``).

After every call the model has the weights w of the classes that have had documents, and the same answer as after a fit:

    F(x, y) = a_y (sum_v L[y, v] w_v'x  +  p_y'x) + b_y          p_y = g * t_y  word by word, 0 where y has documents

(`unseen`). A class whose first document comes in a later call starts with p_y as the weights of its own attribute, and
learns from there; gains g are learned from what was added to such starts.

Scales a, b and the strength of texts need documents and nodes that were not learned from. A fit holds them out and
trains twice. A stream does the same as it goes: a second ranker (``trial_``) learns beside the first one, without every
fifth document of the stream, and without the labels of every fifth node in the order in which nodes come. The last
documents held out are kept with the model (``held_documents_``), and all of them are compared after each call. Which
ones these are depends on their place in the stream, not on how it is divided into calls. A model that was fitted first
keeps the scales of its fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from sklearn.base import clone

from linnaeus.models.fitting import Stream, begin_stream, document_weights
from linnaeus.models.label_priors import check_label_features
from linnaeus.models.ranking.unseen import (
    HeldOutDocuments,
    SharedWeights,
    UnseenScales,
    all_classes,
    learn_scales,
    own_attributes,
)
from linnaeus.models.ranking.updates import AttributeWeights, stacked
from linnaeus.typing import CSR, IntArray

if TYPE_CHECKING:
    from linnaeus.models.ranking.online import OnlineRanker

__all__ = ["learn_all", "stream_texts", "with_start"]

_EACH = 5  # one of five documents, and of five nodes, is held out
_FEW = 5  # documents of held-out nodes that are compared, where there are enough such nodes
_LEAST_DOCUMENTS, _LEAST_NODES = 4, 2  # held out; with fewer nothing is compared
_MOST_DOCUMENTS, _MOST_SCORES = 500, 5 * 10**6  # of documents that are kept


def stream_texts(ranker: OnlineRanker, label_features: object, stream: Stream) -> CSR:
    """Texts of the nodes (n_nodes x n_features): those given, or those of an earlier call."""
    kept = ranker.label_features_
    if label_features is None and kept is not None:
        return kept
    return check_label_features(
        label_features, stream.problem.taxonomy.n_nodes, stream.problem.X.shape[1], method="partial_fit"
    )


def learn_all(ranker: OnlineRanker, stream: Stream, T: CSR) -> None:
    """Learn from a part of a stream, and answer all nodes with texts."""
    problem, n_nodes = stream.problem, stream.problem.taxonomy.n_nodes
    counts, before = np.zeros(n_nodes, np.int64), 0
    if stream.first:
        ranker.mean_document_, ranker.document_weight_ = np.zeros(problem.X.shape[1]), 0.0
        ranker.trial_documents_ = np.zeros(n_nodes, np.int64)
        ranker.met_nodes_ = np.zeros(0, np.int32)
        ranker._keep_scales(UnseenScales.identity())
    else:
        assert ranker.n_documents_ is not None
        counts[ranker.nodes_] = ranker.n_documents_
        before = ranker.n_docs_
        ranker._set_classes(ranker.ranked_nodes_)
    ranker.label_features_ = T
    prior = None if stream.first else _prior(ranker, T, counts)
    if "met_nodes_" in vars(ranker):  # the stream did not begin with a fit
        _learn_beside(ranker, stream, T, before)
    ranker._learn(stream, prior)
    counts += np.bincount(problem.frontier.indices, minlength=n_nodes)
    weight = document_weights(problem)
    total = ranker.document_weight_ + float(weight.sum())
    more = np.asarray(problem.X.T @ weight, dtype=np.float64).ravel()
    ranker.mean_document_ = (ranker.mean_document_ * ranker.document_weight_ + more) / max(total, 1e-300)
    ranker.document_weight_ = total
    scales = _compared(ranker, T, counts)
    if scales is not None:
        ranker._keep_scales(scales)
    found = all_classes(_shared(ranker), problem.taxonomy, counts, T, ranker._scales(), ranker.mean_document_)
    ranker._take_classes(found)


def _shared(ranker: OnlineRanker) -> SharedWeights:
    return SharedWeights(
        ranker.nodes_, ranker.attributes_, ranker.attribute_keys_, ranker._weights().answer, ranker.start_weights_
    )


def _prior(ranker: OnlineRanker, T: CSR, counts: IntArray) -> CSR:
    """Weights that nodes get from their texts, n_nodes x n_features."""
    return _shared(ranker).gains(T, counts).times(_start_strength(ranker)).prior(T)


def _start_strength(ranker: OnlineRanker) -> float:
    """How much texts count for a class that joins: as much as before, on the scale of classes with 1-2 documents."""
    return ranker.text_strength_ * float(ranker.group_slope_[0] / ranker.group_slope_[1])


def with_start(
    known: AttributeWeights, nodes: IntArray, attributes: CSR, keys: IntArray, prior: CSR, joined: IntArray
) -> CSR:
    """Put the prior weights of classes that join into those of their own attributes.

    Parameters
    ----------
    known : AttributeWeights
        The weights, which are changed.
    nodes : ndarray of int
        All classes, with those that join.
    attributes : csr_array of shape (n_classes, n_attributes)
        Their attributes.
    keys : ndarray of int of shape (n_attributes,)
        Keys of the attributes.
    prior : csr_array of shape (n_nodes, n_features)
        Weights of nodes by their texts.
    joined : ndarray of int
        Nodes that join.

    Returns
    -------
    csr_array of shape (2 * n_nodes, n_features)
        What was added to the attribute of each key.
    """
    own, size = own_attributes(nodes, attributes, keys)
    column = {int(node): i for i, node in enumerate(nodes)}
    classes = np.array([column[int(node)] for node in joined], dtype=np.intp)
    classes, joined = classes[size[classes] > 0], joined[size[classes] > 0]
    texts = sparse.csr_array(prior[joined])
    lengths = np.diff(texts.indptr)
    added = texts.data / np.repeat(size[classes], lengths)
    columns = np.repeat(own[classes], lengths)
    known.W[texts.indices, columns] += added.astype(known.W.dtype)  # of every step, hence of their mean
    shape = (2 * prior.shape[0], prior.shape[1])
    return sparse.csr_array((added, (keys[columns], texts.indices)), shape=shape)


# -- the second ranker -------------------------------------------------------------------------------------------------


def _learn_beside(ranker: OnlineRanker, stream: Stream, T: CSR, before: int) -> None:
    """Hold out documents and nodes of this part of the stream, and learn the second ranker from the rest."""
    problem = stream.problem
    _meet(ranker, stream)
    held = (before + np.arange(problem.n_docs)) % _EACH == _EACH - 1
    shown = np.ones(problem.taxonomy.n_nodes, problem.Y.dtype)
    shown[_hidden(ranker)] = 0
    Y = _only(sparse.csr_array(problem.frontier[~held]), shown)
    trial = ranker.trial_[0] if ranker.trial_ else clone(ranker).set_params(taxonomy=ranker.taxonomy_, answer="seen")
    declared = _only(stream.declared, shown)
    if Y.shape[0] and (ranker.trial_ or Y.nnz or declared.nnz):
        weights = None if problem.weights is None else problem.weights[~held]
        prior = _prior_of_trial(ranker, trial, T) if ranker.trial_ else None
        some = begin_stream(trial, problem.X[~held], Y, declared if declared.nnz else None, weights)
        trial._learn(some, prior)
        ranker.trial_ = [trial]
        ranker.trial_documents_ = ranker.trial_documents_ + np.bincount(Y.indices, minlength=len(shown))
    if held.any():
        most = max(1, min(_MOST_DOCUMENTS, _MOST_SCORES // problem.taxonomy.n_nodes))
        X, gold = problem.X[held], sparse.csr_array(problem.frontier[held])
        if ranker.held_documents_ is not None:
            X = stacked(ranker.held_documents_, X)
            gold = sparse.csr_array(sparse.vstack([ranker.held_labels_, gold], format="csr"))
        ranker.held_documents_, ranker.held_labels_ = X[-most:], sparse.csr_array(gold[-most:])


def _meet(ranker: OnlineRanker, stream: Stream) -> None:
    """Note the order in which nodes are declared or occur in documents."""
    met = np.concatenate([ranker.met_nodes_, np.unique(stream.declared.indices), stream.problem.frontier.indices])
    first = np.sort(np.unique(met, return_index=True)[1])
    ranker.met_nodes_ = met[first].astype(np.int32)


def _hidden(ranker: OnlineRanker) -> IntArray:
    return ranker.met_nodes_[_EACH - 1 :: _EACH]


def _only(Y: CSR, shown: IntArray) -> CSR:
    """Labels without those of hidden nodes."""
    found = sparse.csr_array(Y, copy=True)
    found.data = found.data * shown[found.indices]
    found.eliminate_zeros()
    return found


def _prior_of_trial(ranker: OnlineRanker, trial: OnlineRanker, T: CSR) -> CSR:
    return _shared(trial).gains(T, ranker.trial_documents_).times(_start_strength(ranker)).prior(T)


def _compared(ranker: OnlineRanker, T: CSR, counts: IntArray) -> UnseenScales | None:
    """Scales from the documents and nodes held out so far; None where there are too few, or the model was fitted."""
    X, Y = ranker.held_documents_, ranker.held_labels_
    if X is None or Y is None or not ranker.trial_:
        return None
    trial, hidden = ranker.trial_[0], _hidden(ranker)
    if X.shape[0] < _LEAST_DOCUMENTS or len(hidden) < _LEAST_NODES or len(trial.nodes_) < 2:
        return None
    frequent = hidden[counts[hidden] > _FEW]  # a node without documents is not like one with many
    ignored = frequent if len(hidden) - len(frequent) >= _LEAST_NODES else frequent[:0]
    held = HeldOutDocuments(X, Y.toarray() > 0, ranker.trial_documents_, ignored)
    return learn_scales(_shared(trial), ranker.taxonomy_, held, T, counts, ranker.n_docs_)[0]
