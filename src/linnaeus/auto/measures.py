"""What a search maximises, by name: a measure of answers, or of rankings.

hierarchical_f1, micro_f1, macro_f1, example_f1     of the answers, through the best cut
average_precision                                   AU(PRC) of calibrated probabilities of all nodes, no cut
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linnaeus import metrics
from linnaeus.errors import ParameterError, nearest
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray

__all__ = ["MEASURES", "RANKING", "RESAMPLES", "AnswerMeasure", "check_measure", "interval", "of_answers", "of_ranking"]

AnswerMeasure = Callable[[CSR, CSR, Taxonomy], float]

RANKING = "average_precision"
_OF_ANSWERS: dict[str, AnswerMeasure] = {
    "hierarchical_f1": metrics.hierarchical_f1,
    "micro_f1": metrics.micro_f1,
    "macro_f1": metrics.macro_f1,
    "example_f1": metrics.example_f1,
}
MEASURES = (*_OF_ANSWERS, RANKING)
RESAMPLES = 200


def check_measure(measure: str) -> str:
    """The name of a measure, with spaces or underscores.

    Examples
    --------
    >>> check_measure("average precision")
    'average_precision'
    """
    name = str(measure).strip().lower().replace(" ", "_").replace("-", "_")
    name = {"au_prc": RANKING}.get(name, name)
    if name not in MEASURES:
        raise ParameterError(f"measure={measure!r} is not one of {', '.join(MEASURES)}{nearest(name, MEASURES)}")
    return name


def of_answers(measure: str) -> AnswerMeasure:
    """The measure of answers that cuts are chosen by; hierarchical F1 for a measure of rankings."""
    return _OF_ANSWERS.get(measure, _OF_ANSWERS["hierarchical_f1"])


def of_ranking(gold: CSR, P: FloatArray, taxonomy: Taxonomy) -> float:
    """AU(PRC) of probabilities of all nodes (n_docs x n_nodes); 0 where no document has a label."""
    return float(metrics.au_prc(gold, P, taxonomy)) if gold.nnz else 0.0


def interval(
    value: Callable[[np.ndarray], float], n_docs: int, seed: int, *, level: float = 0.95, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Percentile interval of a value of document numbers, under resampling of the documents.

    Examples
    --------
    >>> low, high = interval(lambda rows: float((rows % 2).mean()), 400, 0)
    >>> 0.42 < low < 0.5 < high < 0.58
    True
    """
    rng = np.random.default_rng(seed)
    values = [value(np.sort(rng.integers(n_docs, size=n_docs))) for _ in range(resamples)]
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
