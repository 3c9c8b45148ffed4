"""Answers to requests of their own kind: the k best label sets of each document, and sets that obey rules.

Sets are ranked by the rule by which ``predict`` decides: the first set without rules is its answer. A decoder that
answers one label ranks labels (`Decoder.label_scores`); any other ranks closed sets by sums of weights
(`Decoder.set_weights`). Of sets that score the same, the answer of ``predict`` comes first. A model that decides by
other scores than its own ``_scores`` overrides ``_label_scores`` and ``_set_weights``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np

from linnaeus.decoding import Decoder
from linnaeus.decoding.rules import BoundRules, Rules
from linnaeus.decoding.sets.best_sets import RankedSets, best_sets, branching_scores
from linnaeus.errors import ParameterError
from linnaeus.order import best_columns
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import pattern, pointers
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray, Matrix

if TYPE_CHECKING:
    from linnaeus.models.base import TaxonomyClassifier

__all__ = ["best_labels", "candidates", "check_feasible", "known_ends", "ranked_sets"]

_TIE = 1e-7  # relative difference of scores that is rounding


def ranked_sets(
    model: TaxonomyClassifier, X: Matrix, decide: Decoder, rules: Rules | Mapping[str, object] | None, k: int
) -> RankedSets:
    """The k best closed sets of every document that the rules allow; X is checked."""
    wanted, taxonomy = Rules.of(rules), model.taxonomy_
    table = decide.table(taxonomy) if hasattr(decide, "table") else None
    if decide.single and wanted.at_least <= 1:
        bound = wanted.bind(taxonomy)
        parts = [best_labels(S, taxonomy, nodes, k, bound, Y) for S, Y, nodes in model._label_scores(X, decide)]
        return _joined(parts)
    if not wanted.at_least and not model._may_be_empty(decide):
        wanted = replace(wanted, at_least=1)
    parts = []
    for weights, Y, nodes in model._set_weights(X, decide):
        bound = wanted.bind(taxonomy) if table is not None else known_ends(wanted.bind(taxonomy), nodes)
        found = best_sets(weights.nodes, taxonomy, nodes, k=k, rules=bound, table=table, ends=weights.ends)
        scores = weights.scores(Y, taxonomy, nodes)
        if table is not None:
            scores = scores + branching_scores(Y, taxonomy, table)
        parts.append(_answers_first(found, Y, np.where(bound.obeyed(Y), scores, -np.inf)))
    return _joined(parts)


def _answers_first(found: RankedSets, Y: CSR, scores: FloatArray) -> RankedSets:
    """The sets found, with the answers Y before others of the same score; ``scores`` are those of Y."""
    from scipy import sparse

    k = found.k
    away = (found.best != Y).sum(axis=1) > 0
    close = scores >= found.scores[:, 0] - _TIE * np.maximum(1.0, np.abs(found.scores[:, 0]))
    rows = np.flatnonzero(np.asarray(away).ravel() & close & np.isfinite(scores))
    if not len(rows):
        return found
    values, order = found.scores.copy(), np.arange(found.sets.shape[0])
    sets = sparse.vstack([found.sets, Y[rows]], format="csr")
    for number, d in enumerate(rows.tolist()):
        own = range(d * k, (d + 1) * k)
        other = [i for i in own if i % k and (found.sets[[i]] != Y[[d]]).nnz == 0 and found.scores[d, i % k] > -np.inf]
        place = other[0] - d * k if other else k - 1
        order[d * k + 1 : d * k + place + 1] = order[d * k : d * k + place].copy()
        order[d * k] = found.sets.shape[0] + number
        values[d, 1 : place + 1] = values[d, :place].copy()
    return RankedSets(sparse.csr_array(sets[order]), values, found.proved)


def known_ends(rules: BoundRules, nodes: IntArray) -> BoundRules:
    """Rules with which labels are nodes that the model can answer; what stands above these only comes along."""
    known = np.zeros(rules.taxonomy.n_nodes, dtype=bool)
    known[nodes] = True
    return replace(rules, may_stop=rules.may_stop & known)


def check_feasible(found: RankedSets, rules: Rules | Mapping[str, object] | None) -> None:
    """Refuse rules that no label set obeys."""
    if not found.feasible.all():
        wanted = Rules.of(rules)
        shown = ", ".join(f"{rule.name}={given!r}" for rule in fields(wanted) if (given := getattr(wanted, rule.name)))
        raise ParameterError(
            f"No label set of document {int((~found.feasible).argmax())} obeys {shown}: the rules contradict each "
            "other, or no node that the model can answer is left."
        )


def candidates(rules: BoundRules, nodes: IntArray) -> BoolArray:
    """Which nodes may be the only label; the root, which says nothing, only where the rules do."""
    taxonomy = rules.taxonomy
    each = pattern(np.arange(len(nodes) + 1), nodes.astype(np.int32), taxonomy.n_nodes)
    obeyed = rules.obeyed(taxonomy.close(each))
    return np.asarray(obeyed | ((nodes == taxonomy.root) & rules.everything))


def best_labels(
    S: FloatArray, taxonomy: Taxonomy, nodes: IntArray, k: int, rules: BoundRules, answers: CSR | None = None
) -> RankedSets:
    """The k best labels of every document that the rules allow, each with its ancestors, as sets.

    ``S`` are scores of ``nodes`` as the only label, minus infinity where they are never answered; ``answers`` come
    before other labels of the same score.
    """
    S = np.where(candidates(rules, nodes), S, -np.inf)
    few = min(k, len(nodes))
    order = np.argsort(nodes, kind="stable")  # ties go to the lowest number
    best = order[best_columns(np.ascontiguousarray(S[:, order]), few)]
    scores = np.full((len(S), k), -np.inf)
    scores[:, :few] = np.take_along_axis(S, best, axis=1)
    indptr = pointers(np.isfinite(scores).ravel())
    chosen = nodes[best[np.isfinite(scores[:, :few])]]
    Y = taxonomy.close(pattern(indptr, chosen.astype(np.int32), taxonomy.n_nodes))
    found = RankedSets(Y, scores, np.ones(len(S), dtype=bool))
    if answers is None:
        return found
    given = taxonomy.frontier(answers)[:, nodes].tocoo()
    own = np.full(len(S), -np.inf)
    own[given.row] = S[given.row, given.col]
    return _answers_first(found, answers, own)


def _joined(parts: list[RankedSets]) -> RankedSets:
    from scipy import sparse

    if len(parts) == 1:
        return parts[0]
    sets = sparse.csr_array(sparse.vstack([part.sets for part in parts], format="csr"))
    return RankedSets(
        sets, np.concatenate([part.scores for part in parts]), np.concatenate([part.proved for part in parts])
    )
