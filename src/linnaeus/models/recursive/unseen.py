"""Recursive regularisation that also answers nodes without documents: `RRSVM(answer="all")`.

    1. A fifth of the documents is held out, and so are the labels of a fifth of the nodes with few documents.
    2. A fit of the others, without prior weights: from how far the weights of its leaves are from their centres the
       gains of words are learned, and on the held-out nodes how much texts count beside parents (`label_priors`).
    3. The same fit with the prior weights, from there on, in which texts of nodes with documents count as far as these
       are not found worse; held-out documents give a scale to nodes with 0, 1-2, 3-5 and more documents.
    4. The fit of all documents with the prior weights; nodes without documents get the weights of their place in the
       network plus their prior weights; and all columns are brought to one scale.

With w_n = v_n + p_n the network is one of v (`solver`): it gives v of every node, a label or not. What is held out, and
how scales are learned, is in `models.all_nodes`. Inner nodes with documents below them that none of these has as a
label are lowered before (`documents_below`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from linnaeus.data.check import Problem
from linnaeus.engine import Clock, blocks
from linnaeus.errors import ParameterError
from linnaeus.models.all_nodes import (
    HeldOutNodes,
    centred,
    dense,
    group_scales,
    hold_out,
    mean_document,
    micro_f1,
    unseen_rate,
)
from linnaeus.models.label_priors import (
    GroupScales,
    LabelGains,
    choose_ridge,
    documents_below,
    group_of,
    nodes_with_texts,
    text_strengths,
)
from linnaeus.models.recursive.leaves import LeafSolver
from linnaeus.models.recursive.network import links_of, unlabelled_weights
from linnaeus.models.recursive.solver import entries_at
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from linnaeus.models.recursive.rr import RecursiveModel

__all__ = ["LabelTexts", "answer_all_nodes", "fit_all_nodes", "prior_of_leaves"]

_TRIAL_TOL = 0.01
_SHARES = (1.0, 0.3, 0.1, 0.0)
_ROWS = 512  # features at a time, where weights of nodes without documents are computed


@dataclass(frozen=True)
class LabelTexts:
    """What is kept for updates: texts of the nodes, gains of words, scales of groups.

    ``share`` is what the texts of nodes with documents count beside those of nodes without; ``below`` is subtracted
    from scores of nodes without documents for each unit of log(1 + documents below them).
    """

    T: CSR
    gains: LabelGains
    scales: GroupScales = field(default_factory=GroupScales.identity)
    share: float = 1.0
    below: float = 0.0

    def shifts(self, counts: IntArray, below: IntArray) -> FloatArray:
        """What is added to scores of nodes with this many documents of their own and below them."""
        found = self.scales.shift[group_of(counts)]
        return np.asarray(found - self.below * np.where(counts == 0, np.log1p(below), 0.0))

    def prior(self, labels: IntArray) -> CSR:
        """Prior weights of all nodes (n_nodes x n_features); ``labels`` are those with documents."""
        P = self.gains.prior(self.T)
        factor = np.ones(P.shape[0])
        factor[labels] = self.share
        P.data *= np.repeat(factor, np.diff(P.indptr))
        return P


def prior_of_leaves(P: CSR, labels: IntArray, leaves: LeafSolver) -> CSR:
    """Prior weights of the leaves in the order of features and the precision of their solver."""
    from scipy import sparse

    rows = P[labels]
    indices = rows.indices if leaves.rank is None else leaves.rank[rows.indices]
    return sparse.csr_array(
        (rows.data.astype(leaves.dtype), indices, rows.indptr), shape=(len(labels), leaves.n_features)
    )


def fit_all_nodes(model: RecursiveModel, problem: Problem, T: CSR, n_embedding: int = 0) -> None:
    """Fit a model that answers all nodes with texts.

    ``T`` are the texts (n_nodes x n_features); the last ``n_embedding`` columns are an embedding, with a gain and a
    strength of its own.
    """
    clock, tol = Clock(model.max_time), max(model.tol, _TRIAL_TOL)
    trial = hold_out(problem, model._fit_seed(None))
    learn = problem if trial is None else trial.problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model._fit_joint(learn, clock=_part(clock, 0.35), tol=tol, on_trial=True)
        gains = _learned_gains(model, learn, T, n_embedding)
        texts = LabelTexts(T, reduce(LabelGains.beside, gains))
        if trial is not None:
            strengths = _strengths(model, trial, texts.gains.prior(T), [len(block.gains) for block in gains])
            gains = [block.times(strength) for block, strength in zip(gains, strengths, strict=True)]
            texts = replace(texts, gains=reduce(LabelGains.beside, gains))
            texts = _with_share(model, trial, texts, clock, tol)
            scales, below = _scales(model, trial, texts.prior(model.nodes_), problem)
            texts = replace(texts, scales=scales, below=below)
    labels = np.flatnonzero(_documents(model, problem))
    model._fit_joint(problem, prior=texts.prior(labels), clock=clock if np.isfinite(clock.limit) else None)
    answer_all_nodes(model, problem, texts)


def _with_share(model: RecursiveModel, trial: HeldOutNodes, texts: LabelTexts, clock: Clock, tol: float) -> LabelTexts:
    """The largest share with which the texts of nodes with documents do not lower micro-F1, and the fit with it.

    Texts that tell nodes without documents from each other may count far too much beside documents: the words of
    newsgroups' names stand in posts of other groups as well.
    """
    gold = _held_labels(model, trial)
    least = micro_f1(model._scores(trial.X), gold[:, model.nodes_])
    for share in _SHARES:
        texts = replace(texts, share=share)
        prior = texts.prior(model.nodes_)
        model._fit_joint(trial.problem, prior=prior, clock=_part(clock, 0.2), tol=tol, on_trial=True, warm=True)
        if micro_f1(model._scores(trial.X), gold[:, model.nodes_]) >= least:
            break
    return texts


def _held_labels(model: RecursiveModel, trial: HeldOutNodes) -> BoolArray:
    """Labels of the held-out documents (n_docs x n_nodes), as the model learns them."""
    if model.learn != "closed":
        return trial.Y
    return np.asarray(model.taxonomy_.close(_sparse(trial.Y)).todense()) > 0


def _part(clock: Clock, share: float) -> Clock:
    """A clock for a share of the time that is left."""
    return Clock(clock.remaining * share) if np.isfinite(clock.limit) else Clock()


def _learned_gains(model: RecursiveModel, problem: Problem, T: CSR, n_embedding: int) -> list[LabelGains]:
    """Gains from how far the weights of the leaves are from their centres, at the words of their texts.

    Those of words, then those of the embedding, if there is one.
    """
    from scipy import sparse

    assert model._joint is not None
    solver, labels = model._joint.solver, model._joint.labels
    at = prior_of_leaves(T, labels, solver.leaves)
    found = np.zeros(at.nnz)
    for block in solver.blocks:
        for row, places, entries in entries_at(at, block.columns, block.features):
            found[entries] = block.U[places, row]
    own = T[labels]
    R = sparse.csr_array((found, own.indices, own.indptr), shape=own.shape)
    documents, n_words = _documents(model, problem)[labels], T.shape[1] - n_embedding
    ends = [0, n_words, T.shape[1]] if n_embedding else [0, n_words]
    return [choose_ridge(own[:, a:b], R[:, a:b], documents) for a, b in pairwise(ends)]


def _documents(model: RecursiveModel, problem: Problem) -> IntArray:
    """Number of documents of every node of the taxonomy, as the model learns labels."""
    Y = {"given": problem.Y, "closed": problem.closed, "frontier": problem.frontier}[model.learn]
    return np.bincount(Y.indices, minlength=problem.taxonomy.n_nodes)


def _below(problem: Problem) -> IntArray:
    """Number of documents with a label at or below every node of the taxonomy."""
    return np.bincount(problem.closed.indices, minlength=problem.taxonomy.n_nodes)


def _unseen(model: RecursiveModel) -> IntArray:
    """Nodes with texts that no document has as a label, without the root."""
    return np.setdiff1d(nodes_with_texts(model.taxonomy_), model.nodes_)


def _network(model: RecursiveModel, unseen: IntArray) -> Callable[[FloatArray], FloatArray]:
    """From weights, or scores, of the labels (rows) to those of nodes without documents; prior weights apart."""
    links = links_of(model.taxonomy_, model.nodes_, **model._link_options)
    return unlabelled_weights(links, model.taxonomy_, unseen)


def _strengths(model: RecursiveModel, trial: HeldOutNodes, P: CSR, widths: Sequence[int]) -> list[float]:
    """How much blocks of columns of the texts count beside parents, of held-out nodes on the held-out documents."""
    unseen = _unseen(model)
    if not len(unseen):
        return [1.0] * len(widths)
    parents = centred(_network(model, unseen)(model._scores(trial.X)))
    X, Q, ends = trial.X, P[unseen], np.cumsum([0, *widths]).tolist()
    texts = [dense(Q[:, a:b] @ X[:, a:b].T).T for a, b in pairwise(ends)]
    return text_strengths(parents, texts, trial.Y[:, unseen])


def _scales(model: RecursiveModel, trial: HeldOutNodes, P: CSR, problem: Problem) -> tuple[GroupScales, float]:
    """Scales of the groups on the held-out documents, for what the model learned without them.

    And how much the documents below nodes without documents count, see `label_priors.documents_below`.
    """
    unseen = _unseen(model)
    X, n_docs = trial.X, trial.X.shape[0]
    S = np.zeros((n_docs, problem.taxonomy.n_nodes))
    S[:, model.nodes_] = model._scores(X)
    if len(unseen):
        own = S[:, model.nodes_] - dense(P[model.nodes_] @ X.T).T
        S[:, unseen] = centred(_network(model, unseen)(own)) + dense(P[unseen] @ X.T).T
    nodes = np.concatenate([model.nodes_, unseen])
    S, Y, learned = S[:, nodes], _held_labels(model, trial)[:, nodes], _documents(model, trial.problem)[nodes]
    unseen_here = learned == 0
    log_below = np.where(unseen_here, np.log1p(_below(trial.problem)[nodes]), 0.0)
    factor = documents_below(S[:, unseen_here], Y[:, unseen_here], log_below[unseen_here])
    rate = unseen_rate(_documents(model, problem), nodes, problem.n_docs)
    scales = group_scales(S - factor * log_below, Y, learned, rate)
    return scales, float(factor * scales.slope[0])


def _sparse(Y: BoolArray) -> CSR:
    from scipy import sparse

    return sparse.csr_array(Y.astype(np.int8))


def answer_all_nodes(model: RecursiveModel, problem: Problem, texts: LabelTexts) -> None:
    """Add the nodes without documents to a fitted model, and bring all nodes to one scale."""
    from scipy import sparse

    P = texts.prior(model.nodes_)
    unseen, seen, counts = _unseen(model), model.nodes_, _documents(model, problem)
    if not isinstance(model.weights_, np.ndarray):
        raise ParameterError("answer='all' needs all weights in memory; increase max_memory.")
    nodes = np.concatenate([seen, unseen]).astype(np.int32)
    if problem.codec.kind == "labels":  # scikit-learn's scorers take classes_ as sorted
        order = np.argsort(problem.codec.values(problem.taxonomy.names[nodes]), kind="stable")
    else:
        order = np.arange(len(nodes))
    place = np.argsort(order)
    at_seen, at_unseen = place[: len(seen)], place[len(seen) :]
    groups = group_of(counts[nodes[order]])
    slope, shift = texts.scales.slope[groups], texts.shifts(counts, _below(problem))[nodes[order]]
    dtype, n_features = model.weights_.dtype, model.weights_.shape[0]
    W = np.empty((n_features, len(nodes)), dtype)
    below, of_seen, of_unseen = _network(model, unseen), P[seen].T.tocsr(), P[unseen].T.tocsr()
    document, constant = mean_document(problem), below(model.intercept_[None])[0]
    mean = constant.astype(np.float64)  # of the scores from the network
    for part in blocks(n_features, _ROWS):
        inherited = below(model.weights_[part] - of_seen[part].toarray())
        mean += document[part] @ inherited
        W[part, at_seen] = model.weights_[part]
        W[part, at_unseen] = inherited + of_unseen[part].toarray()
    W *= slope.astype(dtype)
    intercept = np.empty(len(nodes))
    intercept[at_seen] = model.intercept_
    intercept[at_unseen] = constant - mean + mean.mean() if len(unseen) else 0.0
    label_weights = sparse.csr_array(P[nodes[order]].multiply(slope[:, None]).T, dtype=dtype)
    label_weights.sort_indices()
    model.nodes_, model.weights_ = nodes[order], W
    model.intercept_ = (intercept * slope + shift).astype(dtype)
    model.n_documents_ = counts[model.nodes_]
    model.label_weights_ = label_weights
    model._prior = replace(texts)
