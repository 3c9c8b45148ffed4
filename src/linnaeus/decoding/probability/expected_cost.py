"""Answers of least expected cost, from probabilities of nodes.

Additive costs, a_v for a wrong and b_v for a missed node: only the probabilities of single nodes matter, whatever
depends on what, and the best consistent answer is a closure,

    expected cost of U = constant - sum_{v in U} ( b_v P_v - a_v (1 - P_v) ).

H-loss, where a mistake counts c_v unless something above is wrong already, on a tree with p_v = P_v / P_parent(v):

    on_v = c_v (1 - p_v) + p_v sum_{children k} H_k,    off_v = c_v p_v,    H_v = min(on_v, off_v)
    v is answered iff its parent is and on_v < off_v.

On a DAG this follows first parents only, and adds the other ancestors at the end: an approximation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from linnaeus.decoding.base import Decoder, SetWeights, Theta, as_given, hierarchy, plain_theta, theta_per_node
from linnaeus.decoding.probability.coherence import lifted
from linnaeus.decoding.sets.best_sets import RankedSets
from linnaeus.decoding.sets.closures import best_closures
from linnaeus.errors import DataError, ParameterError, check_choice
from linnaeus.losses.cost import node_weights
from linnaeus.taxonomy.closure import pattern, pointers
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["LeastCost", "LeastHLoss", "least_risk"]

_MEASURES = ("example_f1", "hierarchical_f1", "jaccard")


@dataclass(frozen=True)
class LeastCost(Decoder):
    """The closed set of least expected additive cost; takes probabilities. May be empty.

    Parameters
    ----------
    false_positive, miss : object, default=1.0
        Cost of a wrong and of a missed node: one number, or one for each node of the taxonomy. With equal ones this is
        the symmetric difference; coherent probabilities are then cut at 1/2.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"]])
    >>> tax.labels(LeastCost()([[0.8, 0.4, 0.1]], tax)), tax.labels(LeastCost(miss=3.0)([[0.8, 0.4, 0.1]], tax))
    ([['A']], [['A', 'AA']])
    """

    name: ClassVar[str] = "least_cost"
    on_probabilities: ClassVar[bool] = True
    false_positive: Theta = 1.0
    miss: Theta = 1.0

    def __post_init__(self) -> None:
        for name in ("false_positive", "miss"):
            value = plain_theta(getattr(self, name))
            if min(np.atleast_1d(np.asarray(value))) < 0:
                raise ParameterError(f"{name}={value!r}; expected costs of at least 0.")
            object.__setattr__(self, name, value)

    def set_weights(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> SetWeights:
        """What nodes save of the expected cost."""
        P, nodes = as_given(S, taxonomy, columns)
        a, b = (theta_per_node(cost, taxonomy)[nodes] for cost in (self.false_positive, self.miss))
        return SetWeights(b * _probabilities(P) - a * (1.0 - P))

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        return best_closures(np.ascontiguousarray(self.set_weights(S, taxonomy, columns).nodes), taxonomy, columns)


@dataclass(frozen=True)
class LeastHLoss(Decoder):
    """The closed set of least expected H-loss; takes coherent probabilities. May be empty. Exact on trees.

    Parameters
    ----------
    scaling : str, default="sibling"
        Weights c of the nodes, as in `linnaeus.losses.cost.node_weights`.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"], ["B", "BB"]])
    >>> P = [[0.6, 0.55, 0.42, 0.18, 0.2475, 0.275]]            # A, B, AA, AB, BA, BB
    >>> tax.labels(LeastHLoss("uniform")(P, tax)), tax.labels(LeastHLoss("sibling")(P, tax))
    ([[]], [['A', 'AA']])
    """

    name: ClassVar[str] = "least_h_loss"
    on_probabilities: ClassVar[bool] = True
    scaling: str = "sibling"

    def set_weights(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> SetWeights:
        """Refused: the H-loss of a set is not a sum over its nodes."""
        raise ParameterError(
            "LeastHLoss does not rank label sets, so it takes no rules and no n_best: the expected H-loss is not a sum "
            "over nodes; LeastCost ranks them by expected cost."
        )

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        cost = node_weights(taxonomy, self.scaling)
        edges = hierarchy(taxonomy)
        n = taxonomy.n_nodes
        first = np.full(n, -1)
        has = np.diff(edges.parent_indptr) > 0
        first[has] = edges.parent_indices[edges.parent_indptr[:-1][has]]
        P = lifted(_probabilities(S), taxonomy, columns, edges).T
        scored = np.zeros(n, dtype=bool)
        scored[columns] = True
        below = np.zeros(P.shape)
        gain = np.zeros(P.shape, dtype=bool)
        for v in range(n - 1, -1, -1):
            above = P[first[v]] if first[v] >= 0 else np.ones(P.shape[1])
            p = np.clip(np.divide(P[v], above, out=np.zeros_like(above), where=above > 0), 0.0, 1.0)
            on, off = cost[v] * (1.0 - p) + p * below[v], cost[v] * p
            gain[v] = on < off
            if first[v] >= 0:
                below[first[v]] += np.minimum(on, off)
        if taxonomy.root is not None:
            gain[taxonomy.root] = False
        for v in range(n):
            if first[v] >= 0:
                gain[v] &= gain[first[v]]
        Y = pattern(pointers(gain.sum(axis=0)), np.nonzero(gain.T)[1].astype(np.int32), n)
        return Y if edges.is_forest else taxonomy.close(Y)


def _probabilities(P: FloatArray) -> FloatArray:
    if P.size and (P.min() < 0 or P.max() > 1):
        raise DataError(f"Expected probabilities in 0..1, got {P.min():g}..{P.max():g}; calibrate the model first.")
    return P


def least_risk(
    found: RankedSets, taxonomy: Taxonomy, measure: str = "example_f1", temperature: float = 1.0
) -> tuple[CSR, FloatArray, FloatArray]:
    """Of the sets found, the one of largest expected measure: for measures that are not sums over nodes.

    A set has the weight pi_i = softmax(score / temperature) among those found; candidate i is worth
    sum_j pi_j measure(set_j, set_i). Exact as far as the list reaches.

    Parameters
    ----------
    found : RankedSets
        The best sets of every document.
    taxonomy : Taxonomy
        The taxonomy of the nodes.
    measure : {"example_f1", "hierarchical_f1", "jaccard"}, default="example_f1"
        What is maximised.
    temperature : float, default=1.0
        Scale of the scores in the weights of sets.

    Returns
    -------
    sets : CSR array of shape (n_docs, n_nodes)
        The chosen sets, closed.
    value : ndarray of shape (n_docs,)
        Their expected measure.
    confidence : ndarray of shape (n_docs,)
        The weight of the set of largest score.

    Examples
    --------
    >>> from linnaeus.decoding import best_sets, branching_table
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"], ["B", "BB"]])
    >>> S = [[-0.5, 0.3, 1.0, -0.2, -0.4, -0.1]]
    >>> sets, value, confidence = least_risk(best_sets(S, tax, k=3, table=branching_table(tax)), tax)
    >>> tax.labels(tax.frontier(sets)), value.round(4).tolist(), confidence.round(4).tolist()
    ([['AA', 'BB']], [0.8344], [0.3792])
    """
    check_choice("measure", measure, _MEASURES)
    sets = found.sets if measure == "hierarchical_f1" else taxonomy.frontier(found.sets)
    k, n_docs = found.k, len(found.scores)
    chosen, value = np.zeros(n_docs, dtype=np.int64), np.zeros(n_docs)
    with np.errstate(invalid="ignore"):
        weight = np.exp((found.scores - found.scores[:, :1]) / temperature)
    weight = np.where(np.isfinite(found.scores), weight, 0.0)
    weight /= np.maximum(weight.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    for d in range(n_docs):
        rows = sets[d * k : (d + 1) * k].astype(np.float64)
        both = (rows @ rows.T).toarray()
        sizes = np.diff(rows.indptr)
        union = sizes[:, None] + sizes
        part = both / np.maximum(union - both, 1) if measure == "jaccard" else 2 * both / np.maximum(union, 1)
        worth = weight[d] @ np.where(union == 0, 1.0, part)
        worth = np.where(found.scores[d] > -np.inf, worth, -np.inf)
        chosen[d] = worth.argmax()
        value[d] = worth[chosen[d]]
    return found.sets[np.arange(n_docs) * k + chosen], value, weight[:, 0]
