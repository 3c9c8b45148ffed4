"""What a search maximises, by name: a measure of answers, or of rankings.

hierarchical_f1, micro_f1, macro_f1, example_f1     of the answers, through the best cut
average_precision                                   area under the precision-recall curve of the calibrated
                                                    probabilities of all nodes, pooled, no cut
precision_at_1                                      share of documents whose first suggestion (`top`) is one of their
                                                    labels, no cut

A measure is computed for many weightings of the same documents at once: W (n_weightings x n_docs) holds ones, the
weights of the documents, or how often a bootstrap sample has drawn each of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linnaeus.decoding.cutoffs.cut_off import Metric
from linnaeus.errors import ParameterError, nearest
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray

__all__ = [
    "FIRST",
    "MEASURES",
    "RANKING",
    "RESAMPLES",
    "Weighted",
    "check_measure",
    "cut_measure",
    "draws",
    "interval",
    "metric_of",
    "of_answers",
    "of_ranking",
    "wins",
]

Weighted = Callable[[FloatArray], FloatArray]  # from W (n_weightings x n_docs) to n_weightings values

RANKING = "average_precision"
_OF_ANSWERS = ("hierarchical_f1", "micro_f1", "macro_f1", "example_f1")
FIRST = "precision_at_1"
MEASURES = (*_OF_ANSWERS, RANKING, FIRST)
_ALIASES = {"au_prc": RANKING, "p@1": FIRST, "p_at_1": FIRST, "precision@1": FIRST, "accuracy": FIRST}
RESAMPLES = 200
_PAIRS = 40_000_000  # of documents and nodes that all resamples of a ranking may go through
_BY_CHANCE = 0.05  # share of bootstrap samples in which a choice that is not by chance may lose


def check_measure(measure: str) -> str:
    """The name of a measure, with spaces or underscores; "accuracy" and "p@1" are `FIRST`.

    Examples
    --------
    >>> check_measure("average precision")
    'average_precision'
    >>> check_measure("P@1")
    'precision_at_1'
    """
    name = str(measure).strip().lower().replace(" ", "_").replace("-", "_")
    name = _ALIASES.get(name, name)
    if name not in MEASURES:
        raise ParameterError(f"measure={measure!r} is not one of {', '.join(MEASURES)}{nearest(name, MEASURES)}")
    return name


def cut_measure(measure: str) -> str:
    """The measure that cuts are chosen by: hierarchical F1 where the measure does not depend on a cut."""
    return measure if measure in _OF_ANSWERS else "hierarchical_f1"


def metric_of(measure: str) -> Metric:
    """The metric that cuts are fitted by, see `cut_measure`."""
    from linnaeus import metrics

    metric: Metric = getattr(metrics, cut_measure(measure))
    return metric


def of_answers(measure: str, gold: CSR, answers: CSR, taxonomy: Taxonomy) -> Weighted:
    """A measure of answers (n_docs x n_nodes), for any weights of the documents.

    Parameters
    ----------
    measure : str
        One of `MEASURES` except `RANKING`.
    gold, answers : CSR
        Labels and answers, n_docs x n_nodes; the answers of `FIRST` are the first suggestions.
    taxonomy : Taxonomy
        The taxonomy.

    Returns
    -------
    callable
        From weights W (n_weightings x n_docs) to n_weightings values.

    Examples
    --------
    >>> tax = Taxonomy.flat(["A", "B"])
    >>> gold, answers = tax.indicator([["A"], ["A", "B"]]), tax.indicator([["A"], ["A"]])
    >>> of_answers("micro_f1", gold, answers, tax)(np.array([[1.0, 1.0], [1.0, 0.0]])).round(3).tolist()
    [0.8, 1.0]
    """
    if measure == "hierarchical_f1":
        gold, answers = (taxonomy.close(Y, keep_root=False) for Y in (gold, answers))
    both = gold.multiply(answers).tocsr()
    if measure == "macro_f1":
        leaf = np.asarray(taxonomy.is_leaf)

        def macro(W: FloatArray) -> FloatArray:
            hit, true, said = (np.asarray((Y.T @ W.T).T, dtype=np.float64) for Y in (both, gold, answers))
            counted = leaf | (true + said > 0)
            return np.asarray((_f1(hit, true, said, 0.0) * counted).sum(axis=1) / np.maximum(counted.sum(axis=1), 1))

        return macro
    hits, trues, saids = (np.asarray(Y.sum(axis=1), dtype=np.float64).ravel() for Y in (both, gold, answers))
    if measure in ("example_f1", FIRST):
        of_each = _f1(hits, trues, saids, 1.0) if measure == "example_f1" else (hits > 0).astype(np.float64)
        return lambda W: np.asarray(W @ of_each / np.maximum(W.sum(axis=1), 1e-300))
    return lambda W: _f1(W @ hits, W @ trues, W @ saids, 1.0)


def _f1(hit: FloatArray, true: FloatArray, said: FloatArray, empty: float) -> FloatArray:
    total = true + said
    return np.where(total > 0, 2.0 * hit / np.maximum(total, 1e-300), empty)


def of_ranking(gold: CSR, P: FloatArray, taxonomy: Taxonomy) -> Weighted:
    """Average precision of all pairs of documents and nodes (P, n_docs x n_nodes), for any weights of the documents.

    Examples
    --------
    >>> tax = Taxonomy.flat(["A", "B"])
    >>> P = np.zeros((2, tax.n_nodes))
    >>> P[:, tax.index("A")], P[:, tax.index("B")] = [0.9, 0.2], [0.1, 0.8]
    >>> of_ranking(tax.indicator([["A"], ["A"]]), P, tax)(np.ones((1, 2))).round(3).tolist()
    [0.833]
    """
    nodes = np.array([v for v in range(taxonomy.n_nodes) if v != taxonomy.root])
    truth = taxonomy.close(gold, keep_root=False)[:, nodes].toarray().ravel() > 0
    flat = np.asarray(P)[:, nodes].ravel()
    order = np.argsort(-flat, kind="stable")
    sorted_, truth = flat[order], truth[order]
    document = (order // len(nodes)).astype(np.int32)
    last = np.flatnonzero(np.append(sorted_[1:] != sorted_[:-1], True)) if len(flat) else np.empty(0, dtype=np.int64)

    def value(w: FloatArray) -> float:
        weight = w[document]
        hits = np.cumsum(np.where(truth, weight, 0.0))[last]
        if not len(hits) or hits[-1] <= 0:
            return 0.0
        gained = np.diff(hits, prepend=0.0)
        return float((gained * hits / np.maximum(np.cumsum(weight)[last], 1e-300)).sum() / hits[-1])

    return lambda W: np.array([value(w) for w in W])


def draws(n_docs: int, n_pairs: int, weights: FloatArray | None, seed: int) -> FloatArray:
    """Weights of bootstrap samples of the documents; fewer of them where there are very many pairs to rank."""
    n = RESAMPLES if not n_pairs else max(20, min(RESAMPLES, _PAIRS // n_pairs))
    W = np.random.default_rng(seed).multinomial(n_docs, np.full(n_docs, 1.0 / n_docs), size=n).astype(np.float64)
    return W if weights is None else W * weights


def interval(values: FloatArray, level: float = 0.95) -> tuple[float, float]:
    """Percentile interval of the values of bootstrap samples.

    Examples
    --------
    >>> [round(end, 2) for end in interval(np.arange(101.0))]
    [2.5, 97.5]
    """
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def wins(first: FloatArray, second: FloatArray) -> bool:
    """Whether the first is better than the second by more than chance, on the same bootstrap samples."""
    return bool((first <= second).mean() <= _BY_CHANCE)
