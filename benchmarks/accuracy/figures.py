"""How good, how sure, and is one better than the other? In per cent, for gold Y and answers H (n_docs x n_nodes, 0/1).

Micro-F1 is resampled over documents. Macro-F1 is the mean over a fixed set of labels, 0 for a label that is neither
gold nor found. Documents drawn at random would leave out the labels with one or two of them and pull macro-F1 down, so
they are drawn label by label for it (one label per document; a label with a single document adds no spread). The
difference of two systems in macro-F1 is resampled over the labels, as the signed-rank test is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus.metrics import bootstrap, decision_sign_test, permutation_test, sign_test, wilcoxon
from linnaeus.metrics.flat import label_values
from linnaeus.metrics.sets import Counts, by_document, by_node
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["figures", "label_f1", "paired"]


def label_f1(Y: CSR, H: CSR, nodes: IntArray) -> FloatArray:
    """F1 of each of the nodes."""
    return label_values(by_node(Y, H).take(nodes))


def figures(Y: CSR, H: CSR, nodes: IntArray, *, macro_interval: bool = False, n_resamples: int = 2_000) -> dict:
    """micro_f1 and macro_f1 over ``nodes``, with 95 % intervals."""
    micro = bootstrap(by_document(Y, H).table(), statistic=_pooled_f1, n_resamples=n_resamples)
    found = {
        "micro_f1": 100 * micro.statistic,
        "micro_interval": _percent(micro.interval),
        "macro_f1": 100 * float(label_f1(Y, H, nodes).mean()),
    }
    if macro_interval:
        found["macro_interval"] = _macro_interval(Y, H, nodes, n_resamples)
    return found


def _macro_interval(Y: CSR, H: CSR, nodes: IntArray, n_resamples: int) -> list[float]:
    """The documents of every gold label resampled among themselves."""
    rng = np.random.default_rng(0)
    groups = [np.flatnonzero(Y.indices == v) for v in np.unique(Y.indices)]  # one label per row: entry i is document i
    drawn = []
    for _ in range(n_resamples):
        rows = np.concatenate([rng.choice(group, len(group)) for group in groups])
        drawn.append(float(label_f1(Y[rows], H[rows], nodes).mean()))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return _percent((low, high))


def paired(Y: CSR, first: CSR, second: CSR, nodes: IntArray, *, by: str, n_resamples: int = 2_000) -> dict[str, Any]:
    """The first system against the second; ``by`` "document" (one answer each) or "decision" for the sign test."""
    tables = [by_document(Y, H).table() for H in (first, second)]
    drawn = bootstrap(*tables, statistic=_pooled_f1, n_resamples=n_resamples)
    swapped = permutation_test(*tables, statistic=_pooled_f1, n_resamples=n_resamples)
    if by == "document":
        right = [table[:, 0] > 0 for table in tables]
        signs = sign_test(int((right[0] & ~right[1]).sum()), int((right[1] & ~right[0]).sum()))
    else:
        signs = decision_sign_test(Y, first, second)
    f1 = [label_f1(Y, H, nodes) for H in (first, second)]
    over_labels, ranks = bootstrap(*f1, n_resamples=n_resamples), wilcoxon(f1[0] - f1[1])
    return {
        "micro_gain": 100 * drawn.statistic,
        "micro_gain_interval": _percent(drawn.interval),
        "permutation_p": swapped.p_value,
        "sign_wins": signs.details["wins"],
        "sign_losses": signs.details["losses"],
        "sign_p": signs.p_value,
        "macro_gain": 100 * over_labels.statistic,
        "macro_gain_interval": _percent(over_labels.interval),
        "labels_better": ranks.details.get("positive", 0),
        "labels_worse": ranks.details.get("negative", 0),
        "wilcoxon_p": ranks.p_value,
    }


def _pooled_f1(totals: FloatArray) -> FloatArray:
    return Counts.of_table(totals).f1(0.0)  # nothing against nothing is 0: the other side of a lone system


def _percent(interval: tuple[float, float] | None) -> list[float]:
    assert interval is not None
    return [100 * value for value in interval]
