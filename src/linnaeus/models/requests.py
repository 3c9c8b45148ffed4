"""Answers to requests of their own kind: the k best label sets of each document, and sets that obey rules.

Sets are ranked by the rule by which ``predict`` decides: the first set without rules is its answer. A decoder that
answers one label ranks labels (`Decoder.label_scores`); any other ranks closed sets by sums of weights
(`Decoder.set_weights`). Of sets that score the same, the answer of ``predict`` comes first. A model that decides by
other scores than its own ``_scores`` overrides ``_label_scores`` and ``_set_weights``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np

from linnaeus.decoding import Decoder
from linnaeus.decoding.rules import RULES_OF_NODES, BoundRules, Rules
from linnaeus.decoding.sets.best_sets import RankedSets, best_sets, branching_scores
from linnaeus.errors import ParameterError
from linnaeus.models.promises import label_probabilities
from linnaeus.order import best_columns
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import pattern, pointers
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray, Matrix

if TYPE_CHECKING:
    from linnaeus.models.base import TaxonomyClassifier

__all__ = [
    "best_labels",
    "best_nodes",
    "candidates",
    "check_all_used",
    "check_feasible",
    "joined",
    "known_ends",
    "ranked_sets",
]

_TIE = 1e-7  # relative difference of scores that is rounding


def ranked_sets(
    model: TaxonomyClassifier, X: Matrix, decide: Decoder, rules: Rules | Mapping[str, object] | None, k: int
) -> RankedSets:
    """The k best closed sets of every document that the rules allow; X is checked."""
    wanted, taxonomy = Rules.of(rules), model.taxonomy_
    if wanted.at_least > taxonomy.n_nodes:
        raise ParameterError(f"at_least={wanted.at_least}: the taxonomy has only {taxonomy.n_nodes:,} nodes.")
    table = decide.table(taxonomy) if hasattr(decide, "table") else None
    first, parts = 0, []
    if decide.single and wanted.at_least <= 1:
        bound = wanted.bind(taxonomy)
        for S, Y, nodes in model._label_scores(X, decide):
            parts.append(best_labels(S, taxonomy, nodes, k, part_of(bound, first, len(S)), Y))
            first += len(S)
        check_all_used(bound, first)
        return joined(parts)
    if not wanted.at_least and not model._may_be_empty(decide):
        wanted = replace(wanted, at_least=1)
    whole = wanted.bind(taxonomy)
    for weights, Y, nodes in model._set_weights(X, decide):
        bound = part_of(whole if table is not None else known_ends(whole, nodes), first, Y.shape[0])
        first += Y.shape[0]
        found = best_sets(weights.nodes, taxonomy, nodes, k=k, rules=bound, table=table, ends=weights.ends)
        scores = weights.scores(Y, taxonomy, nodes)
        if table is not None:
            scores = scores + branching_scores(Y, taxonomy, table)
        obeyed = bound.obeyed(Y)
        if bound.documents is not None:
            obeyed &= bound.documents.obeyed(taxonomy.frontier(Y))
        parts.append(_answers_first(found, Y, np.where(obeyed, scores, -np.inf)))
    check_all_used(whole, first)
    return joined(parts)


def part_of(rules: BoundRules, first: int, n_docs: int) -> BoundRules:
    """Rules of some of the documents."""
    if rules.documents is None:
        return rules
    return replace(rules, documents=rules.documents.part(first, first + n_docs))


def check_all_used(rules: BoundRules, n_docs: int) -> None:
    """Refuse candidates of more documents than there are."""
    if rules.documents is not None and len(rules.documents) != n_docs:
        raise ParameterError(f"candidates has {len(rules.documents):,} lists for {n_docs:,} documents.")


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
    """Rules with which labels are nodes that the model can answer; their ancestors are only added to them."""
    known = np.zeros(rules.taxonomy.n_nodes, dtype=bool)
    known[nodes] = True
    return replace(rules, may_stop=rules.may_stop & known)


def check_feasible(
    found: RankedSets, rules: Rules | Mapping[str, object] | None, taxonomy: Taxonomy, ids: Sequence[str] | None = None
) -> None:
    """Refuse rules that no label set obeys; documents are named by their number, or by ``ids``."""
    if not found.feasible.all():
        wanted, d = Rules.of(rules), int((~found.feasible).argmax())
        if wanted.per_document and wanted.candidates is not None:
            wanted = replace(wanted, candidates=list(wanted.candidates)[d] or None)
        shown = ", ".join(f"{rule.name}={given!r}" for rule in fields(wanted) if (given := getattr(wanted, rule.name)))
        labels = _display_labels(wanted, taxonomy)
        raise ParameterError(
            f"No label set of document {d if ids is None else repr(ids[d])} obeys "
            f"{shown or 'an empty list of candidates'}{f' ({labels})' if labels else ''}: the rules contradict each "
            "other, or no node that the model can answer is left."
        )


def _display_labels(rules: Rules, taxonomy: Taxonomy, most: int = 3) -> str:
    """Display labels of the first nodes that rules name, where these are not the names themselves."""
    given = [str(name) for rule in ("only_under", "exclude", "require") for name in getattr(rules, rule)]
    if taxonomy.display_labels is None:
        return ""
    shown = {name: str(taxonomy.display_labels[taxonomy.index(name)]) for name in given[:most]}
    return ", ".join(f"{name} is {label}" for name, label in shown.items() if label and label != name)


def candidates(rules: BoundRules, nodes: IntArray) -> BoolArray:
    """Which nodes may be the only label; the root, which says nothing, only where the rules do.

    Candidates of single documents are not looked at.
    """
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
    if rules.documents is not None:
        S = np.where(rules.documents.masks(taxonomy, nodes)[0], S, -np.inf)
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


def best_nodes(
    model: TaxonomyClassifier, X: Matrix, k: int, rules: Rules | Mapping[str, object], *, probabilities: bool
) -> tuple[IntArray, FloatArray]:
    """Nodes and scores (or probabilities) of the k best labels that the rules allow, n_docs x k each; X is checked.

    Where a document has fewer labels, the last nodes are -1, with minus infinity (or 0 as probability).
    """
    wanted, taxonomy, ranked = Rules.of(rules), model.taxonomy_, model.ranked_nodes
    for rule in fields(wanted):
        if rule.name not in RULES_OF_NODES and getattr(wanted, rule.name):
            raise ParameterError(f"top ranks single nodes; the rule {rule.name!r} applies to label sets.")
    bound = wanted.bind(taxonomy)
    nodes = ranked[candidates(bound, ranked)]
    if not len(nodes):
        raise ParameterError("The rules leave no label that the model can answer.")
    place = np.zeros(taxonomy.n_nodes, dtype=np.int64)
    place[model.nodes_] = np.arange(len(model.nodes_))
    columns, few, first = place[nodes], min(k, len(nodes)), 0
    best, values = [], []
    for scores in model._ranking_blocks(X):
        S, own = scores[:, columns], part_of(bound, first, len(scores)).documents
        if own is not None:
            S = np.where(own.masks(taxonomy, nodes)[0], S, -np.inf)
        first += len(S)
        best.append(best_columns(S, few))
        values.append(np.take_along_axis(S, best[-1], axis=1))
    check_all_used(bound, first)
    chosen, found = np.concatenate(best), np.concatenate(values)
    allowed = ~np.isneginf(found) | (bound.documents is None)
    if probabilities:
        P = np.take_along_axis(label_probabilities(model, X), columns[chosen], axis=1)
        found = np.where(allowed, P, 0.0)
    return np.where(allowed, nodes[chosen], -1), found


def joined(parts: list[RankedSets]) -> RankedSets:
    """Sets of some documents after those of others."""
    from scipy import sparse

    if len(parts) == 1:
        return parts[0]
    sets = sparse.csr_array(sparse.vstack([part.sets for part in parts], format="csr"))
    return RankedSets(
        sets, np.concatenate([part.scores for part in parts]), np.concatenate([part.proved for part in parts])
    )
