"""The weight of a second block of features, chosen on documents that are held out.

With T the rows of terms and E those of the second block, ridge regression of the labels Y on  [T, w E]  is tried for
several w; the log-loss of a soft-max of its answers on held-out documents decides. All of it follows from products,

    K = T T' + w^2 E E'

Where E does not depend on the documents, every document is left out once, in closed form: the residual of document i is
row i of  (K + penalty)^(-1) Y  over entry i of the diagonal of the inverse. The weight is then at least 0.1, which does
no harm, so that words that no training document has still count. Where E is learned from the documents, it is learned
without those of a fold, and has a weight only if there are 200 documents and labels of the folds are ranked higher with
it, by more than two standard errors.

Of many documents all those of some labels take part: the best weight depends on the number of documents for each label,
and falls with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from scipy import sparse

from linnaeus.engine import single_blas_thread
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["WEIGHTS", "Block", "held_out_weight"]

Block: TypeAlias = Callable[[IntArray], FloatArray]  # from rows to learn from to the block of all documents

WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)  # that are tried
_USUAL = 0.5  # weight where there are no labels to choose it by
_DRAWN, _LABELS = 1_000, 300  # documents and labels that choose the weight, at most
_ENOUGH = 200  # documents from which a block that is learned from them can be judged by them
_FOLDS, _FEW = 4, 3_000  # folds, and documents up to which all of them are used instead of one
_TEMPERATURES = (2.0, 4.0, 8.0, 16.0, 32.0)  # factors of scores in a soft-max
_PENALTIES = (0.1, 0.3, 1.0)  # of ridge regression; rows have about length 1


def held_out_weight(terms: CSR, block: FloatArray | Block, y: object, random_state: int = 0) -> float:
    """The weight of a block with which labels of held-out documents are predicted best.

    Parameters
    ----------
    terms : CSR of shape (n_docs, n_terms)
        The first block, rows of about length 1.
    block : ndarray of shape (n_docs, dimension) or callable
        The second block, rows of length 1; or a function that learns it from some rows and gives that of all.
    y : CSR of shape (n_docs, n_nodes) or None
        Labels as 0/1 rows.
    random_state : int, default=0
        Seed of the choice of labels and folds.

    Returns
    -------
    float
        One of `WEIGHTS`, 0 only for a block that is learned; 0.5 where labels are missing or do not differ.

    Examples
    --------
    >>> held_out_weight(sparse.csr_array(np.eye(4)), np.eye(2)[[0, 0, 1, 1]], np.eye(2)[[0, 0, 1, 1]])
    1.0
    """
    if y is None:
        return _USUAL
    Y, rng = sparse.csr_array(y), np.random.default_rng(random_state)
    rows = _whole_labels(Y, rng)
    count = np.bincount(Y[rows].indices, minlength=Y.shape[1])
    varied = np.flatnonzero((count > 1) & (count < len(rows)))
    if not len(varied):
        return _USUAL
    targets = Y[rows][:, varied[np.argsort(-count[varied], kind="stable")[:_LABELS]]].toarray().astype(np.float64)
    with single_blas_thread():
        of_terms = np.asarray((terms[rows] @ terms[rows].T).toarray(), dtype=np.float64)
        if callable(block):
            return _weight_by_folds(of_terms, block, targets, rows, terms.shape[0], rng)
        products = _products(block[rows])
        losses = [
            min(_log_loss(S, targets) for S in _left_out_scores(of_terms + weight**2 * products, targets))
            for weight in WEIGHTS[1:]
        ]
    return WEIGHTS[1 + int(np.argmin(losses))]


def _products(E: FloatArray) -> FloatArray:
    E = E.astype(np.float64)
    return np.asarray(E @ E.T)


def _whole_labels(Y: CSR, rng: np.random.Generator) -> IntArray:
    """All documents if they are few; otherwise those of labels drawn at random, as many as are allowed."""
    n_docs = Y.shape[0]
    if n_docs <= _DRAWN:
        return np.arange(n_docs)
    by_label = sparse.csc_array(Y)
    taken = np.zeros(n_docs, dtype=bool)
    for label in rng.permutation(Y.shape[1]).tolist():
        own = by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]
        if taken.sum() + np.count_nonzero(~taken[own]) <= _DRAWN:
            taken[own] = True
    rows = np.flatnonzero(taken)
    return rows if len(rows) >= _DRAWN // 4 else np.sort(rng.permutation(n_docs)[:_DRAWN])


def _left_out_scores(K: FloatArray, Y: FloatArray) -> Iterator[FloatArray]:
    """Answers of ridge regression to documents that are left out, for every penalty."""
    values, U = np.linalg.eigh(K)
    rotated = U.T @ (Y - Y.mean(axis=0))
    for penalty in _PENALTIES:
        inverse = 1.0 / (np.maximum(values, 0.0) + penalty)
        yield Y - (U @ (rotated * inverse[:, None])) / (np.square(U) @ inverse)[:, None]


def _log_loss(S: FloatArray, Y: FloatArray) -> float:
    """Mean log-loss over the labels of documents, of a soft-max of the scores at the best temperature."""
    from scipy.special import logsumexp

    given = Y.any(axis=1)
    S, Y = S[given], Y[given] / Y[given].sum(axis=1, keepdims=True)
    return min(float((logsumexp(a * S, axis=1) - a * (S * Y).sum(axis=1)).mean()) for a in _TEMPERATURES)


def _weight_by_folds(
    of_terms: FloatArray, block: Block, Y: FloatArray, rows: IntArray, n_docs: int, rng: np.random.Generator
) -> float:
    """The weight with the best ranks of labels in folds of the rows, the block learned from all other documents."""
    n = len(rows)
    if n < _ENOUGH:
        return 0.0
    fold = rng.permutation(np.arange(n) % _FOLDS)
    ranks: list[FloatArray] = []  # of a fold: weights x penalties x documents
    for part in range(_FOLDS if n_docs <= _FEW else 1):
        held, learn = np.flatnonzero(fold == part), np.flatnonzero(fold != part)
        held = held[Y[held].any(axis=1)]
        if not len(held) or not len(learn):
            continue
        products = _products(block(np.setdiff1d(np.arange(n_docs), rows[held]))[rows])
        found = np.zeros((len(WEIGHTS), len(_PENALTIES), len(held)))
        for i, weight in enumerate(WEIGHTS):
            K = of_terms + weight**2 * products
            values, U = np.linalg.eigh(K[np.ix_(learn, learn)])
            left, right = K[np.ix_(held, learn)] @ U, U.T @ (Y[learn] - Y[learn].mean(axis=0))
            for j, penalty in enumerate(_PENALTIES):
                answers = Y[learn].mean(axis=0) + left @ (right / (np.maximum(values, 0.0) + penalty)[:, None])
                found[i, j] = _reciprocal_ranks(answers, Y[held])
        ranks.append(found)
    if not ranks:
        return 0.0
    whole = np.concatenate(ranks, axis=2)
    best = whole[np.arange(len(WEIGHTS)), whole.mean(axis=2).argmax(axis=1)]  # weights x documents
    chosen = int(best.mean(axis=1).argmax())
    gain = best[chosen] - best[0]
    return WEIGHTS[chosen] if gain.mean() > 2.0 * gain.std() / np.sqrt(len(gain)) else 0.0


def _reciprocal_ranks(S: FloatArray, Y: FloatArray) -> FloatArray:
    """Mean of 1 / rank over the labels of every document."""
    place = np.empty(S.shape, dtype=np.int64)
    np.put_along_axis(place, np.argsort(-S, axis=1, kind="stable"), np.arange(S.shape[1])[None], axis=1)
    return np.asarray((Y / (1.0 + place)).sum(axis=1) / Y.sum(axis=1))
