"""Scores or probabilities of nodes beside the closed gold sets, both dense (n_docs x nodes without the root).

Where the scores have no column for an internal node, the largest score of its descendants stands in for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from linnaeus.errors import DataError, ParameterError, nearest
from linnaeus.metrics.sets import as_pair, need_taxonomy
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import BoolArray, FloatArray, IntArray, is_sparse

__all__ = ["NodeScores", "as_node_scores", "lift"]


@dataclass(frozen=True)
class NodeScores:
    """``S`` and ``Y`` (n_docs x len(nodes)), the node numbers of the columns, and the gold labels without a column."""

    S: FloatArray
    Y: BoolArray
    nodes: IntArray
    n_unscored: int
    taxonomy: Taxonomy

    @property
    def n_docs(self) -> int:
        return len(self.S)

    def level(self, level: int | None) -> NodeScores:
        """Only the nodes of one level, or all."""
        if level is None:
            return self
        here = self.taxonomy.depth[self.nodes] == level
        if not here.any():
            raise ParameterError(f"level={level} has no nodes; levels are 1..{int(self.taxonomy.depth.max())}.")
        return NodeScores(self.S[:, here], self.Y[:, here], self.nodes[here], 0, self.taxonomy)


def as_node_scores(
    gold: object,
    scores: object,
    taxonomy: Taxonomy | None,
    labels: Sequence[str] | None = None,
    exclude: Iterable[str] = (),
) -> NodeScores:
    """Scores of all nodes but the root and the excluded ones, beside the closure of gold.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"]])
    >>> both = as_node_scores(["AB"], [[0.2, 0.7]], tax, labels=["AA", "AB"])
    >>> both.S.tolist(), both.Y.tolist()
    ([[0.7, 0.2, 0.7]], [[True, False, True]])
    """
    taxonomy = need_taxonomy(taxonomy)
    S = lift(scores, taxonomy, labels)
    nothing = sparse.csr_array((S.shape[0], taxonomy.n_nodes), dtype=np.int8)
    pair = as_pair(gold, nothing, taxonomy).closed()
    keep = np.ones(taxonomy.n_nodes, dtype=bool)
    keep[[taxonomy.index(name) for name in exclude]] = False
    if taxonomy.root is not None:
        keep[taxonomy.root] = False
    nodes = np.flatnonzero(keep)
    Y = pair.Y[:, : taxonomy.n_nodes].toarray().astype(bool)
    return NodeScores(S[:, nodes], Y[:, nodes], nodes, pair.n_unseen_gold, taxonomy)


def lift(scores: object, taxonomy: Taxonomy, labels: Sequence[str] | None = None) -> FloatArray:
    """Scores of every node (n_docs x n_nodes): those given, elsewhere the largest among the descendants, or -inf."""
    S = scores.toarray() if is_sparse(scores) else np.asarray(scores, dtype=np.float64)
    names = list(taxonomy.names) if labels is None else [str(label) for label in labels]
    if S.ndim != 2 or S.shape[1] != len(names):
        raise DataError(f"Scores have shape {S.shape}, expected (n_docs, {len(names)}): one column per label.")
    if np.isnan(S).any():
        raise DataError(f"The scores of document {np.argwhere(np.isnan(S))[0][0]} hold NaN.")
    if labels is None:
        return S
    strange = [name for name in names if name not in taxonomy]
    if strange:
        raise DataError(
            f"Column {strange[0]!r} of the scores is not in the taxonomy{nearest(strange[0], taxonomy.names)}"
        )
    columns = np.array([taxonomy.index_of[name] for name in names], dtype=np.int64)
    best = np.full((len(S), taxonomy.n_nodes), -np.inf)
    best[:, columns] = S
    if taxonomy.kind != "graph":
        for v in range(taxonomy.n_nodes - 1, -1, -1):  # children have larger numbers than their parents
            for p in taxonomy.parents(v):
                np.maximum(best[:, p], best[:, v], out=best[:, p])
    best[:, columns] = S
    return best
