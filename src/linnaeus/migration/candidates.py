"""Which of its new nodes a document of a split node belongs to, learned from what is certain.

A *family* is an old node o with several new nodes c (the candidates), and a *case* is a document with the label o. For
each family a mixture over its candidates is fitted by expectation-maximisation (K. Nigam et al., Machine Learning 39,
2000); x_d are the features of document d:

    score_dc = a cover_dc  +  b x_d' log(theta_c / theta)  +  log pi_c ,      P(c | d) = softmax of the scores

    cover_dc     share of the label words of c, by weight, that d has; words that all candidates have do not count
    theta_c      words of c: of documents that certainly belong to it (coded by hand, or recoded without a choice), of
                 its label texts, and of undecided documents, in proportion to P(c | d); smoothed by the words theta
                 of the family
    pi_c         share of c among the documents of o, from the same responsibilities and the weights of the table

So with no document coded by hand the labels are what there is to go by, and the documents that a label matches decide
how frequent the candidates are and which other words go with them.

The factors of the three terms are the same for all families. They are fitted, as a conditional logistic regression, to
cases coded by hand that were hidden from the mixture, which also calibrates the probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["DEFAULT_FACTORS", "Families", "SplitFamily", "family_scores", "fit_factors", "probabilities"]

DEFAULT_FACTORS = (8.0, 0.3, 1.0)  # of cover, words and share; chosen on training citations of MEDLINE
_UNDECIDED = 0.3  # weight of an undecided document among the words of a candidate
_LABEL = 1.0  # weight of the label texts, as a document
_SMOOTHING = 5.0  # weight of the words of the family
_SHARE = 1.0  # weight of the shares of the table, in documents
_ROUNDS = 3
_CERTAIN = 200  # documents of a candidate from outside the family that are used
_LEAST_CASES = 20  # hidden cases for fitted factors
_RIDGE = 1.0


@dataclass(frozen=True)
class SplitFamily:
    """An old node with several new nodes.

    Parameters
    ----------
    old : str
        Name of the old node.
    candidates : ndarray of int
        Numbers of its new nodes.
    share : ndarray
        Share of each candidate by the table.
    rows : ndarray of int
        Documents with the old node as a label.
    """

    old: str
    candidates: IntArray
    share: FloatArray
    rows: IntArray


@dataclass(frozen=True)
class Families:
    """All families, with what is known about documents and candidates.

    Parameters
    ----------
    families : sequence of SplitFamily
        The families.
    X : CSR array of shape (n_docs, n_features)
        Features of the documents, not negative.
    texts : CSR array of shape (n_nodes, n_features)
        Texts of the new nodes in the same features.
    certain : CSR array of shape (n_docs, n_nodes)
        Labels that follow from the table without a choice.
    """

    families: Sequence[SplitFamily]
    X: CSR
    texts: CSR
    certain: CSR

    @property
    def of_case(self) -> IntArray:
        """The number of the family of each case; cases are ordered by family."""
        return np.repeat(np.arange(len(self.families)), [len(family.rows) for family in self.families])


def family_scores(
    data: Families,
    known: Mapping[int, FloatArray],
    factors: Sequence[float] = DEFAULT_FACTORS,
    only: Sequence[int] | None = None,
) -> list[FloatArray]:
    """The three terms of the score of every candidate of every case, n_cases x n_candidates x 3 for each family.

    Parameters
    ----------
    data : Families
        The families.
    known : mapping of int to ndarray
        For cases that are coded by hand (numbered over all families), the share of each candidate.
    factors : sequence of float, default=DEFAULT_FACTORS
        Factors of the terms while the mixture is fitted.
    only : sequence of int, default=None
        The families to fit; the others have no scores.

    Returns
    -------
    list of ndarray
        Terms of each family; empty arrays where it was left out.
    """
    by_node = data.certain.tocsc()
    wanted = range(len(data.families)) if only is None else set(only)
    found: list[FloatArray] = []
    first = 0
    for number, family in enumerate(data.families):
        n = len(family.rows)
        if number not in wanted:
            found.append(np.empty((0, len(family.candidates), 3)))
        else:
            own = {i: known[first + i] for i in range(n) if first + i in known}
            found.append(_terms(data, family, own, by_node, factors))
        first += n
    return found


def _terms(
    data: Families, family: SplitFamily, known: Mapping[int, FloatArray], by_node: CSR, factors: Sequence[float]
) -> FloatArray:
    """Expectation-maximisation in one family."""
    n, k = len(family.rows), len(family.candidates)
    outside, of_candidate = _certain_documents(family, by_node)
    X = data.X[np.concatenate([family.rows, outside])]
    T = data.texts[family.candidates]
    used = np.unique(np.concatenate([X.indices, T.indices]))
    X, T = _narrowed(X, used), _narrowed(T, used).toarray()
    T[:, (T > 0).all(axis=0)] = 0.0
    cover = np.asarray((X[:n] > 0).astype(np.float64) @ (T / np.maximum(T.sum(axis=1, keepdims=True), 1e-12)).T)
    weight = np.concatenate([np.full(n, _UNDECIDED), np.ones(len(outside))])
    fixed = np.zeros((n + len(outside), k))
    fixed[np.arange(n, n + len(outside)), of_candidate] = 1.0
    hand = np.array(sorted(known), dtype=np.int64)
    if len(hand):
        weight[hand] = 1.0
        fixed[hand] = [known[i] for i in hand.tolist()]
    background = np.asarray(X.sum(axis=0)).ravel() + 1e-3
    background /= background.sum()
    prior = family.share * _SHARE + fixed[hand].sum(axis=0)
    R = _softmax(factors[0] * cover + np.log(prior / prior.sum() + 1e-9))
    for _ in range(_ROUNDS):
        R[hand] = fixed[hand]
        whole = np.concatenate([R, fixed[n:]]) * weight[:, None]
        counts = np.asarray((X.T @ whole).T) + _LABEL * T
        theta = (counts + _SMOOTHING * background) / (counts.sum(axis=1, keepdims=True) + _SMOOTHING)
        pi = R.sum(axis=0) + family.share * _SHARE
        words = np.asarray(X[:n] @ (np.log(theta) - np.log(background)).T)
        terms = np.stack([cover, words, np.broadcast_to(np.log(pi / pi.sum() + 1e-9), (n, k))], axis=2)
        R = _softmax(terms @ np.asarray(factors))
    return terms


def _certain_documents(family: SplitFamily, by_node: CSR) -> tuple[IntArray, IntArray]:
    """Documents outside the family that belong to a candidate without a choice, and to which."""
    rows, places = [], []
    inside = set(family.rows.tolist())
    for place, node in enumerate(family.candidates.tolist()):
        own = [d for d in by_node.indices[by_node.indptr[node] : by_node.indptr[node + 1]].tolist() if d not in inside]
        rows += own[:_CERTAIN]
        places += [place] * len(own[:_CERTAIN])
    return np.array(rows, dtype=np.int64), np.array(places, dtype=np.int64)


def _narrowed(X: CSR, used: IntArray) -> CSR:
    """The columns ``used``, which hold all that is stored."""
    return sparse.csr_array((X.data, np.searchsorted(used, X.indices), X.indptr), shape=(X.shape[0], len(used)))


def probabilities(terms: FloatArray, factors: Sequence[float]) -> FloatArray:
    """P(c | d) from the terms of one family, n_cases x n_candidates."""
    return _softmax(terms @ np.asarray(factors))


def _softmax(S: FloatArray) -> FloatArray:
    E = np.exp(S - S.max(axis=1, keepdims=True, initial=-np.inf)) if len(S) else S
    return np.asarray(E / E.sum(axis=1, keepdims=True))


def fit_factors(terms: Sequence[FloatArray], truth: Sequence[FloatArray]) -> tuple[float, float, float]:
    """Factors of the three terms, by conditional logistic regression on cases that were hidden from the mixture.

    Parameters
    ----------
    terms : sequence of ndarray of shape (n_candidates, 3)
        Terms of each case.
    truth : sequence of ndarray of shape (n_candidates,)
        Share of each candidate, by hand.

    Returns
    -------
    tuple of float
        The factors; those by default where there are fewer than 20 cases.

    Examples
    --------
    >>> terms = [np.array([[1.0, 0.0, -0.7], [0.0, 0.0, -0.7]])] * 40
    >>> noisy = [np.array([1.0, 0.0])] * 30 + [np.array([0.0, 1.0])] * 10
    >>> fit_factors(terms, noisy)[0] < DEFAULT_FACTORS[0]
    True
    """
    from scipy.optimize import minimize

    if len(terms) < _LEAST_CASES:
        return DEFAULT_FACTORS
    width = max(len(rows) for rows in terms)
    F, Q, mask = np.zeros((len(terms), width, 3)), np.zeros((len(terms), width)), np.full((len(terms), width), -np.inf)
    for i, (rows, shares) in enumerate(zip(terms, truth, strict=True)):
        F[i, : len(rows)], Q[i, : len(rows)], mask[i, : len(rows)] = rows, shares, 0.0
    start = np.log(DEFAULT_FACTORS)

    def loss(logs: FloatArray) -> tuple[float, FloatArray]:
        w = np.exp(logs)
        S = F @ w + mask
        top = S.max(axis=1, keepdims=True)
        E = np.exp(S - top)
        P = E / E.sum(axis=1, keepdims=True)
        value = float((np.log(E.sum(axis=1)) + top[:, 0] - (Q * (F @ w)).sum(axis=1)).sum())
        slope = np.einsum("ij,ijt->t", P - Q, F) * w
        away = logs - start
        return value + 0.5 * _RIDGE * float(away @ away), slope + _RIDGE * away

    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(s - 5, s + 5) for s in start]).x
    cover, words, share = np.exp(best).tolist()
    return cover, words, share


def without_cases(known: Mapping[int, FloatArray], hidden: set[int]) -> dict[int, FloatArray]:
    """What is known without some of the cases."""
    return {case: shares for case, shares in known.items() if case not in hidden}
