"""Proposals for old nodes whose new node nobody names, from texts, structure and shared documents.

Every candidate n of an old node o has a score

    s(o, n) = a label(o, n) + b path(o, n) + c above(o, n) + d below(o, n)          (a + b + c + d = 1)

label    similarity of the labels (`linnaeus.revisions.similarity`); an equal preferred label counts fully, a preferred
         label that is an alternative one in the other version nearly so
path     similarity of the labels of all ancestors
above    score of the best pair of their parents (1 for pairs that are known); tops are each other's parents
below    share of the children of o whose best candidate is below n; leaves have the mean of the other three

An equal label that no other open old node and no other new node has halves the distance of the score from 1. With
shared documents the score is averaged with 2 n_both / (n_old + n_new), the overlap of their documents, by
n_old / (n_old + 2) halves. Structure needs scores of relatives, so the scores are computed three times. Because most
nodes of a revision continue, a new node is given to the old one that fits it best; others keep it at a discount. An old
node without a similar label is proposed the node that its parent became, with kind "broad".
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from linnaeus.errors import ParameterError
from linnaeus.revisions.correspondence import CodePair, Correspondence
from linnaeus.revisions.similarity import TextVectors, trigrams_of, words_of
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.search import fold
from linnaeus.typing import FloatArray

__all__ = ["Weights", "propose_pairs"]

BLOCK = 256  # old nodes compared with all new ones at a time
ALTERNATIVE = 0.95  # similarity of a preferred label that is an alternative one in the other version
DISCOUNT = 0.85  # of a new node that fits another old node better
LEAST_LABEL = 0.2  # similarity of labels below which the node of the parent is proposed
ROUNDS = 3


@dataclass(frozen=True)
class Weights:
    """Weights of the parts of a score.

    Parameters
    ----------
    label : float, default=0.5
        Weight of the similarity of labels.
    path : float, default=0.2
        Weight of the similarity of the labels of ancestors.
    above : float, default=0.15
        Weight of the score of the parents.
    below : float, default=0.15
        Weight of the share of children that are below the candidate.
    """

    label: float = 0.5
    path: float = 0.2
    above: float = 0.15
    below: float = 0.15


def propose_pairs(
    old: Taxonomy,
    new: Taxonomy,
    known: Correspondence | None = None,
    nodes: Sequence[str] | None = None,
    *,
    k: int = 5,
    weights: Weights | None = None,
    documents: tuple[Iterable[Iterable[str]], Iterable[Iterable[str]]] | None = None,
) -> dict[str, list[CodePair]]:
    """Propose new nodes for old ones.

    Parameters
    ----------
    old, new : Taxonomy
        The versions.
    known : Correspondence, default=None
        Pairs that are known, as evidence for their relatives.
    nodes : sequence of str, default=None
        The old nodes to propose for; by default those that `known` does not mention.
    k : int, default=5
        Maximum number of proposals for a node.
    weights : Weights, default=None
        Weights of label, path and structure.
    documents : (iterable of label lists, iterable of label lists), default=None
        Labels of the same documents in the old and in the new version.

    Returns
    -------
    dict of str to list of CodePair
        For every node its proposals, the best first, with their confidence.

    Examples
    --------
    >>> old = Taxonomy.from_paths([["Music", "Operas"], ["Film", "Western films"]])
    >>> new = Taxonomy.from_paths([["Music", "Opera"], ["Cinema", "Westerns"]])
    >>> found = propose_pairs(old, new)
    >>> [found[name][0].new for name in ("Operas", "Western films", "Film")]
    ['Opera', 'Westerns', 'Cinema']
    """
    if k < 1:
        raise ParameterError(f"k must be a positive integer; got {k!r}.")
    known = known or Correspondence(())
    if nodes is None:
        nodes = [str(name) for name in old.names if name not in known.targets]
    if not nodes:
        return {}
    found = _Scores(old, new, known, [old.index(name) for name in nodes], max(30, k), weights or Weights())
    if documents is not None:
        found.add_documents(*documents)
    return found.proposals(k)


class _Scores:
    """Candidates of the open old nodes and their scores: arrays of shape (n_open, n_candidates)."""

    def __init__(
        self, old: Taxonomy, new: Taxonomy, known: Correspondence, rows: list[int], width: int, weights: Weights
    ) -> None:
        self.old, self.new, self.weights = old, new, weights
        self.rows = np.array(rows)
        self.row_of = {v: i for i, v in enumerate(rows)}
        self.known: dict[int, set[int]] = {}
        for pair in known.pairs:
            self.known.setdefault(old.index_of[pair.old], set()).add(new.index_of[pair.new])
        self.taken = {n for news in self.known.values() for n in news}
        self.parents_old, self.parents_new = _parent_lists(old), _parent_lists(new)
        self.above_new = _ancestor_sets(new, self.parents_new)
        self.overlap: FloatArray | None = None
        self.evidence: FloatArray | None = None
        self._find_candidates(min(width, new.n_nodes))

    # -- candidates ----------------------------------------------------------------------------------------------------

    def _find_candidates(self, width: int) -> None:
        old, new = self.old, self.new
        labels = [[old.display(v)] for v in self.rows.tolist()], [[new.display(v)] for v in range(new.n_nodes)]
        above_old = _ancestor_sets(old, self.parents_old)
        above = (
            [[old.display(u) for u in sorted(above_old[v])] for v in self.rows.tolist()],
            [[new.display(u) for u in sorted(self.above_new[v])] for v in range(new.n_nodes)],
        )
        words, parts = TextVectors(*labels, words_of), TextVectors(*labels, trigrams_of)
        paths = TextVectors(*above, words_of)
        n_open = len(self.rows)
        self.nodes = np.zeros((n_open, width), np.int32)
        self.label = np.zeros((n_open, width), np.float32)
        self.path = np.zeros((n_open, width), np.float32)
        self.unique = np.zeros((n_open, width), bool)
        exact = _by_folded_label(new)
        others = _by_other_label(new)
        mine = Counter(fold(old.display(v)) for v in self.rows.tolist())
        w = self.weights
        top_old = np.array([not self.parents_old[v] for v in self.rows.tolist()])
        top_new = np.array([not parents for parents in self.parents_new])
        for start in range(0, n_open, BLOCK):
            block = slice(start, min(n_open, start + BLOCK))
            spelt = (parts.old[block] @ parts.new.T).toarray()
            label = 0.5 * (np.maximum((words.old[block] @ words.new.T).toarray(), spelt) + spelt)
            path = (paths.old[block] @ paths.new.T).toarray()
            path[np.ix_(top_old[block], top_new)] = 1.0  # both have no ancestors
            for i, v in enumerate(self.rows[block].tolist()):
                for n in self._by_label(v, others):
                    label[i, n] = max(label[i, n], ALTERNATIVE)
                label[i, exact.get(fold(old.display(v)), [])] = 1.0
                for p in self.parents_old[v]:  # what its parent became is a candidate, too
                    for n in self.known.get(p, ()):
                        path[i, n] = max(path[i, n], 0.5)
            total = w.label * label + w.path * path
            best = np.argpartition(-total, width - 1, axis=1)[:, :width]
            self.nodes[block] = best
            self.label[block] = np.minimum(1, np.take_along_axis(label, best, axis=1))
            self.path[block] = np.minimum(1, np.take_along_axis(path, best, axis=1))
            for i, v in enumerate(self.rows[block].tolist(), start):
                equal = exact.get(fold(old.display(v)), [])
                if len(equal) == 1 and mine[fold(old.display(v))] == 1:
                    self.unique[i] = self.nodes[i] == equal[0]

    def _by_label(self, v: int, others: dict[str, list[int]]) -> list[int]:
        """New nodes that have the label of an old one as another label, or the other way round."""
        found = list(others.get(fold(self.old.display(v)), ()))
        if self.old._texts is not None:
            for entry in self.old.texts.of(v, ("preferred", "alternative", "hidden")):
                found += others.get(fold(entry.text), ())
        return found

    # -- documents -----------------------------------------------------------------------------------------------------

    def add_documents(self, old_labels: Iterable[Iterable[str]], new_labels: Iterable[Iterable[str]]) -> None:
        """Count the documents that candidates share."""
        n_old: Counter[int] = Counter()
        n_new: Counter[int] = Counter()
        both: Counter[tuple[int, int]] = Counter()
        for before, after in zip(old_labels, new_labels, strict=True):
            olds = {v for name in before if (v := self.old.lookup(str(name))) is not None}
            news = {v for name in after if (v := self.new.lookup(str(name))) is not None}
            n_old.update(olds)
            n_new.update(news)
            both.update((o, n) for o in olds for n in news)
        for (o, n), count in both.items():  # documents may name candidates that no text suggests
            i = self.row_of.get(o)
            if i is not None and n not in self.nodes[i] and count >= 2:
                worst = int(np.argmin(self.weights.label * self.label[i] + self.weights.path * self.path[i]))
                self.nodes[i, worst], self.label[i, worst], self.path[i, worst] = n, 0, 0
        self.overlap, self.evidence = np.zeros_like(self.label), np.zeros_like(self.label)
        for i, v in enumerate(self.rows.tolist()):
            for j, n in enumerate(self.nodes[i].tolist()):
                shared = both[v, n]
                self.overlap[i, j] = 2 * shared / max(1, n_old[v] + n_new[n])
            self.evidence[i] = n_old[v] / (n_old[v] + 2)

    # -- scores --------------------------------------------------------------------------------------------------------

    def proposals(self, k: int) -> dict[str, list[CodePair]]:
        w = self.weights
        text = (w.label * self.label + w.path * self.path) / (w.label + w.path)
        score = self._with_documents(text)
        for _ in range(ROUNDS):
            above, below, has_below = self._structure(score)
            inner = w.label * self.label + w.path * self.path + w.above * above + w.below * below
            leaf = (w.label * self.label + w.path * self.path + w.above * above) / (1 - w.below)
            score = np.where(has_below[:, None], inner, leaf)
            score = self._with_documents(np.where(self.unique, (1 + score) / 2, score))
        return self._ranked(self._one_to_one(score), k)

    def _with_documents(self, score: FloatArray) -> FloatArray:
        if self.overlap is None or self.evidence is None:
            return score
        return np.asarray(score * (1 - 0.5 * self.evidence) + 0.5 * self.evidence * self.overlap)

    def _structure(self, score: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Scores of parents and shares of children for every candidate; which rows have children."""
        old = self.old
        pair = [dict(zip(self.nodes[i].tolist(), score[i].tolist(), strict=True)) for i in range(len(self.rows))]
        best = self.nodes[np.arange(len(self.rows)), np.argmax(score, axis=1)].tolist()
        above, below = np.zeros_like(self.label), np.zeros_like(self.label)
        has_below = np.zeros(len(self.rows), bool)
        for i, v in enumerate(self.rows.tolist()):
            parents = self.parents_old[v]
            children = old.children(v).tolist() if old.kind != "graph" else []
            share: Counter[int] = Counter()
            for c in children:
                became = self.known[c] if c in self.known else {best[self.row_of[c]]} if c in self.row_of else set()
                share.update({p for n in became for p in self.above_new[n]})
            has_below[i] = bool(children)
            for j, n in enumerate(self.nodes[i].tolist()):
                over = self.parents_new[n]
                if not parents and not over:
                    above[i, j] = 1.0
                for p in parents:
                    scores = pair[self.row_of[p]] if p in self.row_of else {}
                    for q in over:
                        value = 1.0 if q in self.known.get(p, ()) else scores.get(q, 0.0)
                        above[i, j] = max(above[i, j], value)
                if children:
                    below[i, j] = share[n] / len(children)
        return above, below, has_below

    def _one_to_one(self, score: FloatArray) -> FloatArray:
        """Scores with a discount for new nodes that are known, or that fit another old node better."""
        highest: dict[int, tuple[float, int]] = {}
        for i in range(len(self.rows)):
            for n, value in zip(self.nodes[i].tolist(), score[i].tolist(), strict=True):
                if n not in highest or value > highest[n][0]:
                    highest[n] = value, i
        mine = np.array(
            [[n not in self.taken and highest[n][1] == i for n in row] for i, row in enumerate(self.nodes.tolist())]
        )
        return np.asarray(np.where(mine, score, DISCOUNT * score))

    def _ranked(self, score: FloatArray, k: int) -> dict[str, list[CodePair]]:
        found: dict[str, list[CodePair]] = {}
        first: dict[int, int] = {}
        for i in sorted(range(len(self.rows)), key=lambda i: int(self.old.depth[self.rows[i]])):  # parents first
            v = int(self.rows[i])
            order = np.lexsort((self.nodes[i], -score[i]))[:k]
            label, values = self.label[i, order], score[i, order]
            listed = [(int(n), float(s), "") for n, s in zip(self.nodes[i, order], values, strict=True) if s > 0]
            if not listed or label[0] < LEAST_LABEL:
                over = [n for p in self.parents_old[v] for n in self._became(p, first)]
                listed = [(n, 0.4, "broad") for n in dict.fromkeys(over)] + [
                    one for one in listed if one[0] not in over
                ]
            if listed:
                first[v] = listed[0][0]
            found[str(self.old.names[v])] = self._pairs(v, listed[:k])
        return {str(self.old.names[v]): found[str(self.old.names[v])] for v in self.rows.tolist()}

    def _became(self, p: int, first: dict[int, int]) -> list[int]:
        return sorted(self.known[p]) if p in self.known else [first[p]] if p in first else []

    def _pairs(self, v: int, listed: list[tuple[int, float, str]]) -> list[CodePair]:
        """Proposals with a confidence: the score, less where the next one is as good."""
        old, new = self.old, self.new
        made = []
        for place, (n, score, kind) in enumerate(listed):
            rival = max((s for m, s, _ in listed if m != n), default=0.0)
            margin = min(1.0, max(0.0, (score - rival) / 0.1))
            sure = score * (0.6 + 0.4 * margin) if place == 0 else score * 0.5
            made.append(
                CodePair(str(old.names[v]), str(new.names[n]), kind, 1.0, round(min(0.99, sure), 3), "proposal")
            )
        return made


def _parent_lists(taxonomy: Taxonomy) -> list[list[int]]:
    """Parents of every node, without the root."""
    bounds, parents = taxonomy.parent_indptr.tolist(), taxonomy.parent_indices.tolist()
    return [[p for p in parents[a:b] if p != taxonomy.root] for a, b in itertools.pairwise(bounds)]


def _ancestor_sets(taxonomy: Taxonomy, parents: list[list[int]]) -> list[frozenset[int]]:
    """Ancestors of every node, without the root; parents have smaller numbers. A graph has none."""
    found: list[frozenset[int]] = []
    for above in parents:
        known = above if taxonomy.kind != "graph" else []
        found.append(frozenset(known).union(*(found[p] for p in known)))
    return found


def _by_folded_label(taxonomy: Taxonomy) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for v in range(taxonomy.n_nodes):
        found.setdefault(fold(taxonomy.display(v)), []).append(v)
    return found


def _by_other_label(taxonomy: Taxonomy) -> dict[str, list[int]]:
    """Nodes by their alternative and hidden labels, and by preferred ones in all languages."""
    if taxonomy._texts is None:
        return {}
    node, _, text = taxonomy.texts.labels()
    found: dict[str, list[int]] = {}
    for v, label in zip(node.tolist(), text.tolist(), strict=True):
        found.setdefault(fold(label), []).append(v)
    return found
