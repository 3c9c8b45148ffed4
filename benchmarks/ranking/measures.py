"""The measures of the tables, and pairs of runs compared by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linnaeus import Taxonomy, metrics
from linnaeus.metrics.resampling import permutation_test

__all__ = ["LARGER_IS_BETTER", "MEASURES", "measured", "permutation_p", "with_own_leaves"]

MEASURES = {
    "accuracy": metrics.one_accuracy,
    "precision": metrics.average_precision,
    "top loss": metrics.top_loss,
    "maximal loss": metrics.maximal_loss,
    "ranking loss": metrics.ranking_loss,
    "parent accuracy": metrics.parent_accuracy,
}
LARGER_IS_BETTER = {"accuracy", "precision", "parent accuracy"}
_PER_CENT = {"accuracy", "precision", "ranking loss", "parent accuracy"}


def measured(
    model: Any, X: Any, Y: Any, taxonomy: Taxonomy, names: Sequence[str] = tuple(MEASURES)
) -> dict[str, float]:
    """Measures of a fitted model on documents with labels Y (0/1 rows); accuracies and ranking loss in per cent.

    ``taxonomy`` is the one to measure by, whatever the model was trained with.
    """
    S = np.concatenate(list(model.score_blocks(X)))
    columns = [str(name) for name in model.taxonomy_.names[model.nodes_]]
    labels = taxonomy.labels(Y)
    found = {name: float(MEASURES[name](labels, S, taxonomy, labels=columns)) for name in names}
    return {name: 100 * value if name in _PER_CENT else value for name, value in found.items()}


def permutation_p(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided p of paired runs: the signs of differences exchanged, in all ways where these are few."""
    test = permutation_test(np.asarray(first, dtype=float), np.asarray(second, dtype=float))
    return float(test.p_value)


def with_own_leaves(taxonomy: Taxonomy, Y: Any) -> tuple[Taxonomy, Any]:
    """Labels at inner nodes as leaves ``<node>/self`` of their own, as the thesis has them in training and measures."""
    inner = [v for v in np.unique(Y.indices).tolist() if not taxonomy.is_leaf[v]]
    grown = taxonomy.with_misc_leaves(inner)
    own: Mapping[str, str] = {str(taxonomy.names[v]): f"{taxonomy.names[v]}/self" for v in inner}
    return grown, grown.indicator([[own.get(name, name) for name in row] for row in taxonomy.labels(Y)])
