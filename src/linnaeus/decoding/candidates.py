"""Which nodes of a document may be answered: those that rules allow, on one path where labels exclude each other.

With coherent probabilities P (n_docs x len(nodes), no child above its parent) the answer at a threshold is the closure
of the candidates above it. The candidates of a document depend on P and on the rules, never on the threshold, so that a
higher threshold only removes nodes from the end of each path:

    sets        every node that the rules allow as a label
    one path    the most probable top node, its most probable child, and so on down; where no allowed label is above
                another (``leaves_only``, ``depth``): the most probable label
    k paths     the k most probable of the lowest allowed labels, each with its most probable parent, and so on up
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linnaeus.decoding.base import hierarchy
from linnaeus.decoding.rules import NO_BOUND, BoundRules, Rules
from linnaeus.errors import ParameterError
from linnaeus.order import best_columns
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import BoolArray, FloatArray, IntArray

__all__ = ["LEAST", "candidates", "check_rules"]

LEAST = 0.01  # nodes of a smaller probability are never answered, so that they need not be kept


def check_rules(
    rules: Rules | Mapping[str, Any] | None, taxonomy: Taxonomy, nodes: IntArray, *, single: bool
) -> BoundRules:
    """Rules that a promised risk can be combined with, bound to the taxonomy.

    An answer that is not certain enough is withdrawn, so that nothing can be required. Of models with one label per
    document all other rules are possible, of others those that say which labels are allowed, and ``at_most``.
    """
    wanted = Rules.of(rules)
    if wanted.require or wanted.at_least:
        name = "require" if wanted.require else "at_least"
        raise ParameterError(f"risk and {name} contradict each other: an uncertain document gets no answer.")
    for name in ("at_most_under", "one_per", "max_children"):
        if getattr(wanted, name) and not single:
            raise ParameterError(f"risk cannot be combined with {name} for label sets; at_most limits their size.")
    bound = wanted.bind(taxonomy)
    if not (bound.allowed & bound.may_stop)[nodes].any():
        raise ParameterError("The rules leave no node that the model can answer.")
    return bound


def candidates(P: FloatArray, taxonomy: Taxonomy, nodes: IntArray, rules: BoundRules, *, single: bool) -> FloatArray:
    """P where a node may be answered, 0 elsewhere (n_docs x len(nodes), float32).

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B"]])
    >>> P = np.array([[0.625, 0.375, 0.375, 0.25]])                      # A, B, AA, AB
    >>> candidates(P, tax, np.arange(4), check_rules(None, tax, np.arange(4), single=True), single=True).tolist()
    [[0.625, 0.0, 0.375, 0.0]]
    """
    P = np.where(P > LEAST, P, 0.0).astype(np.float32)
    ends = (rules.allowed & rules.may_stop)[nodes]
    most = int(rules.most[-1])
    if not single and most >= NO_BOUND:
        return np.where(ends, P, np.float32(0))
    whole = np.zeros((len(P), taxonomy.n_nodes), dtype=np.float32)
    whole[:, nodes] = P
    stops = np.zeros(taxonomy.n_nodes, dtype=bool)
    stops[nodes[ends]] = True
    if single or most == 1:
        chosen = _down(whole, taxonomy, stops)
    else:
        chosen = _up(whole, taxonomy, stops, most)
    return np.where(chosen[:, nodes] & ends, P, np.float32(0))


def _down(P: FloatArray, taxonomy: Taxonomy, stops: BoolArray) -> BoolArray:
    """The nodes of one path for each document: from the top to the most probable child, among nodes above a stop."""
    on = np.zeros(P.shape, dtype=bool)
    ends = np.flatnonzero(stops)
    above = taxonomy.ancestor_matrix[ends]
    if above[:, ends].nnz == len(ends):  # no stop is above another one
        on[np.arange(len(P)), ends[P[:, ends].argmax(axis=1)]] = True
        return on
    edges, reach = hierarchy(taxonomy), np.zeros(taxonomy.n_nodes, dtype=bool)
    reach[above.indices] = True
    tops = edges.tops[reach[edges.tops]]
    on[np.arange(len(P)), tops[P[:, tops].argmax(axis=1)]] = True
    for v in np.flatnonzero(np.diff(edges.child_indptr)).tolist():
        here = np.flatnonzero(on[:, v])
        below = edges.child_indices[edges.child_indptr[v] : edges.child_indptr[v + 1]]
        below = below[reach[below]]
        if len(here) and len(below):
            on[here, below[P[np.ix_(here, below)].argmax(axis=1)]] = True
    return on


def _up(P: FloatArray, taxonomy: Taxonomy, stops: BoolArray, k: int) -> BoolArray:
    """The nodes of k paths for each document, upwards from the most probable stops that have no stop below them."""
    on = np.zeros(P.shape, dtype=bool)
    ends = np.flatnonzero(stops)
    among = taxonomy.ancestor_matrix[ends][:, ends]
    lowest = ends[np.bincount(among.indices, minlength=len(ends)) == 1]  # only themselves are at or below them
    best = best_columns(P[:, lowest], min(k, len(lowest)))
    np.put_along_axis(on, lowest[best], True, axis=1)
    edges = hierarchy(taxonomy)
    for v in range(taxonomy.n_nodes - 1, -1, -1):
        above = edges.parent_indices[edges.parent_indptr[v] : edges.parent_indptr[v + 1]]
        here = np.flatnonzero(on[:, v])
        if len(here) and len(above):
            on[here, above[P[np.ix_(here, above)].argmax(axis=1)]] = True
    return on
