"""Explanations of scores that are not sums over features: what changes when one feature is left out.

The contribution of feature j to node v is  s_v(x) - s_v(x without j), with feature j set to 0. The constant is what
remains of the score, so that constant and contributions still sum to it; but the contributions of two features that
act together do not sum to their joint effect. Explanations are marked as approximate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from linnaeus.errors import ParameterError
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.explaining import NodeExplanation, best_answer, explain_path
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import FloatArray, IntArray, Matrix, is_sparse

__all__ = ["explain_by_occlusion"]


@dataclass(frozen=True)
class _Scored:
    """The scores of one document, as `explain_path` asks a model for them."""

    taxonomy_: Taxonomy
    nodes_: IntArray
    nested_: bool
    S: FloatArray

    def _scores(self, X: Matrix) -> FloatArray:
        return self.S


def explain_by_occlusion(
    model: TaxonomyClassifier, x: Matrix, inputs: Callable[[Matrix], Matrix], node: str | None, k: int | None
) -> list[NodeExplanation]:
    """Approximate contributions of the features of one document to every scored node of a path.

    Parameters
    ----------
    model : TaxonomyClassifier
        A fitted model.
    x : matrix of shape (1, n_features)
        The document.
    inputs : callable
        Makes the matrix that the model takes of rows such as x.
    node : str or None
        The node to explain; None: the best of the most specific labels of the answer.
    k : int or None
        Number of contributions that are kept, largest first; None keeps all.

    Returns
    -------
    list of NodeExplanation
        One for each node of the path from the top to the node, in this order.
    """
    if x.shape[0] != 1:
        raise ParameterError(f"explain takes one document; got {x.shape[0]}.")
    row = np.asarray(x.toarray() if is_sparse(x) else x, dtype=np.float64)
    features = np.flatnonzero(row[0])
    without = np.repeat(row, len(features) + 1, axis=0)  # the last row leaves out nothing
    without[np.arange(len(features)), features] = 0.0
    S = np.concatenate([np.asarray(part, dtype=np.float64) for part in model.score_blocks(inputs(without))])
    change = S[-1] - S[:-1]
    target = best_answer(model, inputs(row), S[-1]) if node is None else model.taxonomy_.index(node)
    document = _Scored(model.taxonomy_, model.nodes_, model.nested_, S[-1:])

    def weights_of(_: IntArray, column: int) -> FloatArray:
        return np.asarray(change[:, column] / row[0, features])

    found = explain_path(document, row, target, k, weights_of, S[-1] - change.sum(axis=0))
    return [replace(step, approximate=True) for step in found]
