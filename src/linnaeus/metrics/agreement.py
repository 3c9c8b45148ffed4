"""How far two coders agree, beyond what chance would give.

Both measures compare closed label sets A_i, B_i of two coders on the same documents i. ``kappa_nodes`` is Cohen's kappa
over all decisions (document, node), on the nodes that a coder used. ``kappa_hierarchical`` is 1 - D / E, where D is the
mean distance d(A_i, B_i), E the mean of d(A_i, B_j) over all pairs of documents, and
d(A, B) = 1 - 2|A n B|/(|A| + |B|): labels that share ancestors disagree less than others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linnaeus.metrics.sets import Score, as_pair, need_taxonomy
from linnaeus.taxonomy import Taxonomy

__all__ = ["NodeAgreement", "kappa_by_node", "kappa_hierarchical", "kappa_nodes"]

_BLOCK = 1024  # documents whose distances to all others are computed at a time


def kappa_nodes(first: object, second: object, taxonomy: Taxonomy | None = None) -> Score:
    """Cohen's kappa over the decisions on single nodes.

    Parameters
    ----------
    first, second : labels
        Label sets of two coders for the same documents, in any form of `linnaeus.metrics.sets`.
    taxonomy : Taxonomy, default=None
        The taxonomy; ancestors of labels are labels too.

    Returns
    -------
    Score
        1 for full agreement, 0 for that of chance; NaN where both coders always decided the same on all nodes.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"]])
    >>> round(kappa_nodes(["AA", "AB", "BA"], ["AA", "AA", "BA"], tax), 3)
    0.722
    """
    pair = as_pair(first, second, need_taxonomy(taxonomy)).closed()
    used = len(np.union1d(pair.Y.indices, pair.H.indices))
    n = pair.n_docs * used
    convention = "closed sets without the root, nodes that a coder used"
    both, one, two = pair.Y.multiply(pair.H).nnz, pair.Y.nnz, pair.H.nnz
    if not n:
        return Score(float("nan"), pair.n_docs, 0, convention)
    return Score(_cohen(n, both, one, two), pair.n_docs, 0, convention)


def kappa_hierarchical(first: object, second: object, taxonomy: Taxonomy | None = None) -> Score:
    """Agreement of whole label sets, by how far they share nodes of the taxonomy.

    Parameters
    ----------
    first, second, taxonomy : labels, Taxonomy
        As for `kappa_nodes`.

    Returns
    -------
    Score
        1 for full agreement, 0 for that of chance; NaN where chance agrees fully.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"]])
    >>> round(kappa_hierarchical(["AA", "AB", "BA"], ["AA", "AA", "BA"], tax), 3)
    0.7
    """
    pair = as_pair(first, second, need_taxonomy(taxonomy)).closed()
    sizes = [np.diff(side.indptr).astype(np.float64) for side in (pair.Y, pair.H)]
    convention = "closed sets without the root, distance 1 - F1"
    if not pair.n_docs:
        return Score(float("nan"), 0, 0, convention)
    shared = np.asarray(pair.Y.multiply(pair.H).sum(axis=1), dtype=np.float64).ravel()
    observed = 1.0 - _overlap(shared, sizes[0] + sizes[1]).mean()
    expected = 0.0
    for start in range(0, pair.n_docs, _BLOCK):
        rows = slice(start, start + _BLOCK)
        together = np.asarray((pair.Y[rows].astype(np.float64) @ pair.H.T).todense())
        expected += (1.0 - _overlap(together, sizes[0][rows, None] + sizes[1][None, :])).sum()
    expected /= pair.n_docs**2
    return Score(1.0 - observed / expected if expected > 0 else float("nan"), pair.n_docs, 0, convention)


@dataclass(frozen=True)
class NodeAgreement:
    """Decisions of two coders on one node.

    Parameters
    ----------
    node : str
        Name of the node.
    both : int
        Number of documents for which both coders used the node, or one below it.
    first, second : int
        Number of documents for which only the first coder did, or only the second.
    kappa : float
        Cohen's kappa of the decisions on the node.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"]])
    >>> kappa_by_node(["AA", "AB"], ["AA", "AA"], tax)[0]
    NodeAgreement(node='AA', both=1, first=0, second=1, kappa=0.0)
    """

    node: str
    both: int
    first: int
    second: int
    kappa: float


def kappa_by_node(first: object, second: object, taxonomy: Taxonomy | None = None) -> list[NodeAgreement]:
    """Agreement on each node that a coder used, the node with most disagreements first.

    Parameters
    ----------
    first, second, taxonomy : labels, Taxonomy
        As for `kappa_nodes`.

    Returns
    -------
    list of NodeAgreement
        One entry for each node; kappa is NaN where both coders used the node for all documents.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"]])
    >>> [(a.node, a.first + a.second) for a in kappa_by_node(["AA", "AB"], ["AA", "AA"], tax)]
    [('AA', 1), ('AB', 1), ('A', 0)]
    """
    pair = as_pair(first, second, need_taxonomy(taxonomy)).closed()
    n = pair.n_docs
    both = np.asarray(pair.Y.multiply(pair.H).sum(axis=0)).ravel().astype(np.int64)
    one, two = (np.asarray(side.sum(axis=0)).ravel().astype(np.int64) for side in (pair.Y, pair.H))
    apart = one + two - 2 * both
    used = np.flatnonzero(one + two)
    names = pair.column_names()
    found = []
    for v in used[np.lexsort((used, -apart[used]))].tolist():
        shared, a, b = int(both[v]), int(one[v]), int(two[v])
        found.append(NodeAgreement(names[v], shared, a - shared, b - shared, _cohen(n, shared, a, b)))
    return found


def _cohen(n: int, both: int, one: int, two: int) -> float:
    """Cohen's kappa of n decisions, of which the coders made ``one`` and ``two`` positive, and ``both`` alike."""
    observed = (n - one - two + 2 * both) / n
    chance = (one / n) * (two / n) + (1 - one / n) * (1 - two / n)
    return (observed - chance) / (1 - chance) if chance < 1 else float("nan")


def _overlap(shared: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """2|A n B|/(|A| + |B|), 1 where both are empty."""
    return np.where(sizes > 0, 2.0 * shared / np.maximum(sizes, 1.0), 1.0)
