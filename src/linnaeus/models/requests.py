"""Answers to requests of their own kind: the k best label sets of each document, and sets that obey rules.

Sets are compared by what they sum to. Of a model whose decoder answers one label this is the score of that label, or of
its whole path; of any other it is the sum of the decoder's margins (`Decoder.margins`) over the closed set. Where the
model was taught labels as given, without what stands above them, a node that only comes along with a label below it
counts only if it speaks for itself: margins below 0 count at the ends of the set. A model whose scores do not add up so
overrides ``_set_weights``, which may give pairs: weights of nodes, and of labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from linnaeus.decoding import BestClosure, BestLeaf, Decoder
from linnaeus.decoding.best_sets import RankedSets, best_sets
from linnaeus.decoding.branching import branching_scores
from linnaeus.decoding.rules import BoundRules, Rules
from linnaeus.errors import ParameterError
from linnaeus.order import best_columns
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import pattern
from linnaeus.typing import FloatArray, IntArray

__all__ = ["best_labels", "candidates", "check_feasible", "ranked_sets"]


def ranked_sets(
    model: Any, X: Any, decide: Decoder, rules: Rules | Mapping[str, Any] | None, k: int, at_least_one: bool
) -> RankedSets:
    """The k best closed sets of every document that the rules allow; X is checked."""
    wanted, taxonomy = Rules.of(rules), model.taxonomy_
    weights, path_sum = model._set_weights(X, decide)
    ends = getattr(model, "label_nodes_", model.nodes_)
    table = decide.table(taxonomy) if hasattr(decide, "table") else None
    if decide.single and wanted.at_least <= 1:
        nodes = candidates(wanted.bind(taxonomy), ends, isinstance(decide, BestLeaf))
        singles = map(_pair, weights)
        return _joined([best_labels(U, taxonomy, model.nodes_, nodes, path_sum, k, table, E) for U, E in singles])
    if at_least_one and not wanted.at_least and not isinstance(decide, BestClosure):
        wanted = replace(wanted, at_least=1)
    bound = _known_ends(wanted.bind(taxonomy), model.nodes_)
    alone = not (decide.closed or model.nested_ or model.closed_) and taxonomy.n_edges > 0
    pairs = ((np.maximum(U, 0), np.minimum(U, 0)) if alone else _pair(U) for U in weights)
    return _joined([best_sets(U, taxonomy, model.nodes_, k=k, rules=bound, table=table, ends=E) for U, E in pairs])


def _pair(weights: Any) -> tuple[FloatArray, FloatArray | None]:
    """Weights of nodes, and of labels if there are any of their own."""
    return weights if isinstance(weights, tuple) else (weights, None)


def _known_ends(rules: BoundRules, nodes: IntArray) -> BoundRules:
    """Rules with which labels are nodes that the model can answer; what stands above these only comes along."""
    known = np.zeros(rules.taxonomy.n_nodes, dtype=bool)
    known[nodes] = True
    return replace(rules, may_stop=rules.may_stop & known)


def check_feasible(found: RankedSets, rules: Any) -> None:
    """Refuse rules that no label set obeys."""
    if not found.feasible.all():
        wanted = Rules.of(rules)
        shown = ", ".join(f"{rule.name}={given!r}" for rule in fields(wanted) if (given := getattr(wanted, rule.name)))
        raise ParameterError(
            f"No label set of document {int((~found.feasible).argmax())} obeys {shown}: the rules contradict each "
            "other, or no node that the model can answer is left."
        )


def candidates(rules: BoundRules, nodes: IntArray, leaves: bool) -> IntArray:
    """The nodes that may be the only label."""
    taxonomy = rules.taxonomy
    above = taxonomy.ancestor_matrix[nodes]
    free = np.asarray(above @ (~rules.allowed).astype(np.int32)) == 0
    held = np.asarray(above @ rules.forced.astype(np.int32)) == rules.forced.sum()
    ok = free & held & rules.may_stop[nodes]
    return nodes[ok & taxonomy.is_leaf[nodes]] if leaves else nodes[ok]


def best_labels(
    U: FloatArray,
    taxonomy: Taxonomy,
    scored: IntArray,
    nodes: IntArray,
    path_sum: bool,
    k: int,
    table: FloatArray | None = None,
    E: FloatArray | None = None,
) -> RankedSets:
    """The k best of ``nodes``, each with its ancestors, as sets.

    With scores of branching where there is a table, and weights of the nodes as labels where there are (E).
    """
    column_of = np.full(taxonomy.n_nodes, -1)
    column_of[scored] = np.arange(len(scored))
    if path_sum:
        paths = taxonomy.ancestor_matrix[nodes][:, scored].astype(np.float64)
        S = np.ascontiguousarray((paths @ U.T.astype(np.float64)).T)
    else:
        S = np.asarray(U[:, column_of[nodes]], dtype=np.float64)
    if E is not None:
        S = S + E[:, column_of[nodes]]
    if table is not None:
        each = pattern(np.arange(len(nodes) + 1), nodes.astype(np.int32), taxonomy.n_nodes)
        S = S + branching_scores(taxonomy.close(each, keep_root=False), taxonomy, table)
    few = min(k, len(nodes))
    scores = np.full((len(S), k), -np.inf)
    chosen = np.zeros((len(S), k), dtype=bool)
    best = best_columns(S, few) if few else np.zeros((len(S), 0), dtype=np.int64)
    scores[:, :few] = np.take_along_axis(S, best, axis=1)
    chosen[:, :few] = True
    indptr = np.concatenate([[0], np.cumsum(chosen.ravel())])
    Y = taxonomy.close(pattern(indptr, nodes[best].ravel().astype(np.int32), taxonomy.n_nodes))
    return RankedSets(Y, scores, np.ones(len(S), dtype=bool))


def _joined(parts: list[RankedSets]) -> RankedSets:
    from scipy import sparse

    if len(parts) == 1:
        return parts[0]
    sets = sparse.csr_array(sparse.vstack([part.sets for part in parts], format="csr"))
    return RankedSets(
        sets, np.concatenate([part.scores for part in parts]), np.concatenate([part.proved for part in parts])
    )
