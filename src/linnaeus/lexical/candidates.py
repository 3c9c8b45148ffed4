"""Candidates: the nodes whose labels occur in a document, and what is known about each occurrence, as features.

    occurrences      log(1 + number of occurrences)
    early            1 - position of the first occurrence / length of the document
    late             position of the last occurrence / length of the document
    spread           distance of first and last occurrence / length of the document
    title            1 if a label occurs in the title (the first field, or the first 20 words)
    alternative      1 if only alternative or hidden labels occur
    hidden           1 if only hidden labels occur
    words            log of the number of words of the longest label found
    ambiguity        log of the number of nodes that the least ambiguous phrase found is a label of
    partial          share of the words of the label that the best form found leaves out
    scattered        1 if the words of labels only stand near each other
    length           log(1 + number of words of the document)
    candidates       log of the number of candidates of the document
    above, beside, below, nearness    other candidates, see `relations`

Where only some words of a label stand in a document (`incomplete`), the candidate has ``title``, ``length`` and

    incomplete       1
    missing          share of the information of the label that the document lacks
    information      information of the words that the document has

and 0 otherwise; the other candidates of its document do not count it. Where training documents are known (0
otherwise), measured on documents of other folds for the training documents:

    rarity           log(number of documents / number in which the node is a candidate)
    use              log(number of documents / number that have the node as a label), with its sign turned
    precision        log-odds that the node is a label of a document in which it is a candidate, pulled to the average
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linnaeus.lexical.matcher import LabelMatcher, Matches
from linnaeus.lexical.relations import Relations
from linnaeus.lexical.words import WordStream
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray, ObjectArray

__all__ = ["FEATURES", "LEARNED", "OF_WHOLE", "Candidates", "NodeCounts", "find_candidates", "first_nodes"]

LEARNED = ("rarity", "use", "precision")
OF_INCOMPLETE = ("incomplete", "missing", "information")
FEATURES = (
    "occurrences",
    "early",
    "late",
    "spread",
    "title",
    "alternative",
    "hidden",
    "words",
    "ambiguity",
    "partial",
    "scattered",
    "length",
    "candidates",
    "above",
    "beside",
    "below",
    "nearness",
    *OF_INCOMPLETE,
    *LEARNED,
)
OF_WHOLE = tuple(name for name in FEATURES if name not in OF_INCOMPLETE)  # of models that find whole labels only
_PULL = 4.0  # documents that the average precision counts as


@dataclass(frozen=True)
class Candidates:
    """Candidates of documents: those of document i are entries ``indptr[i] .. indptr[i + 1] - 1``, sorted by node.

    Attributes
    ----------
    indptr : ndarray of shape (n_docs + 1,)
        Where the candidates of every document begin.
    nodes : ndarray of shape (n_candidates,)
        Numbers of the nodes.
    values : dict of str to ndarray of shape (n_candidates,)
        The features by name; those of `LEARNED` are added by `with_counts`.
    """

    indptr: IntArray
    nodes: IntArray
    values: dict[str, FloatArray]

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def n_docs(self) -> int:
        return len(self.indptr) - 1

    @property
    def documents(self) -> IntArray:
        """The document of every candidate."""
        return np.repeat(np.arange(self.n_docs), np.diff(self.indptr))

    def matrix(self, names: tuple[str, ...] = FEATURES) -> FloatArray:
        """Features as columns; those that are not known are 0."""
        zero = np.zeros(len(self))
        return np.stack([self.values.get(name, zero) for name in names], axis=1)

    def are_labels(self, Y: CSR) -> BoolArray:
        """Whether candidates are labels of their documents, by 0/1 rows with sorted indices (n_docs x n_nodes)."""
        n_nodes = Y.shape[1]
        gold = np.repeat(np.arange(Y.shape[0], dtype=np.int64), np.diff(Y.indptr)) * n_nodes + Y.indices
        return np.isin(self.documents * n_nodes + self.nodes, gold)

    @property
    def are_complete(self) -> BoolArray:
        """Whether a label was found as a whole."""
        return self.values["incomplete"] == 0

    def complete(self) -> Candidates:
        """Those of which a label was found as a whole."""
        return self.only(self.are_complete)

    def only(self, kept: BoolArray) -> Candidates:
        """Those that ``kept`` marks."""
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.indptr]
        return Candidates(indptr, self.nodes[kept], {name: value[kept] for name, value in self.values.items()})

    def with_counts(self, counts: NodeCounts, groups: IntArray | None = None) -> Candidates:
        """Add the learned features; with ``groups`` (of documents) those of documents outside the own group."""
        group = None if groups is None else groups[self.documents]
        return Candidates(self.indptr, self.nodes, {**self.values, **counts.features(self.nodes, group)})


def find_candidates(
    matcher: LabelMatcher, relations: Relations, documents: ObjectArray, *, describe_nodes: bool = False
) -> Candidates:
    """The candidates of documents with all features that need no training documents.

    Parameters
    ----------
    matcher : LabelMatcher
        The labels.
    relations : Relations
        The taxonomy.
    documents : ndarray of object
        Documents as `as_documents` returns them.
    describe_nodes : bool, default=False
        Whether documents begin with the name of a node that they describe. Such nodes are not candidates, nor do they
        count for those near them in the taxonomy.

    Returns
    -------
    Candidates
        One entry for every document and node that has a label in it.
    """
    stream = matcher.stream(documents)
    found = matcher.find(stream, scattered=True)
    none: IntArray = np.zeros(0, dtype=np.int64)
    described = _first_nodes(matcher, stream, found) if describe_nodes else (none, none)
    whole = _candidates(matcher, relations, stream, found, described)
    return _with_incomplete(matcher, stream, whole, described)


def first_nodes(matcher: LabelMatcher, documents: ObjectArray) -> tuple[IntArray, IntArray]:
    """Documents and nodes of which a label stands at the beginning of the document.

    Parameters
    ----------
    matcher : LabelMatcher
        The labels.
    documents : ndarray of object
        Documents as `as_documents` returns them.

    Returns
    -------
    tuple of (ndarray of int, ndarray of int)
        Numbers of documents and nodes; a document begins with several nodes where these have the same label.
    """
    stream = matcher.stream(documents)
    return _first_nodes(matcher, stream, matcher.find(stream))


def _first_nodes(matcher: LabelMatcher, stream: WordStream, found: Matches) -> tuple[IntArray, IntArray]:
    first = np.flatnonzero(np.isin(found.start, stream.bounds[:-1]) & ~found.scattered)
    match, entry = _entries(matcher, found.phrase[first])
    return stream.documents_of(found.start[first])[match], matcher.meanings.node[entry]


def _entries(matcher: LabelMatcher, phrase: IntArray) -> tuple[IntArray, IntArray]:
    """Entries of the meanings of phrases, and the place of the phrase of each."""
    indptr = matcher.meanings.indptr
    count = np.diff(indptr)[phrase]
    place: IntArray = np.repeat(np.arange(len(phrase)), count)
    ends = np.cumsum(count)
    return place, np.repeat(indptr[phrase] - (ends - count), count) + np.arange(len(place))


def _candidates(
    matcher: LabelMatcher,
    relations: Relations,
    stream: WordStream,
    found: Matches,
    described: tuple[IntArray, IntArray],
) -> Candidates:
    meanings = matcher.meanings
    ambiguity = np.diff(meanings.indptr)[found.phrase]
    match, entry = _entries(matcher, found.phrase)  # of every occurrence of a node
    start, length = found.start[match], found.length[match]
    document = stream.documents_of(found.start)[match]
    node = meanings.node[entry]
    order = np.lexsort((start, node, document))
    if len(described[0]):
        n_nodes = relations.n_nodes
        order = order[~np.isin(document * n_nodes + node, described[0] * n_nodes + described[1])[order]]
    match, entry, start, length, document, node = (
        array[order] for array in (match, entry, start, length, document, node)
    )
    first = np.ones(len(order), dtype=bool)
    first[1:] = (document[1:] != document[:-1]) | (node[1:] != node[:-1])
    begin = np.flatnonzero(first)
    nodes, documents = node[begin], document[begin]
    indptr = np.searchsorted(documents, np.arange(stream.n_docs + 1))
    count = np.diff(np.append(begin, len(order)))
    size = np.maximum(np.diff(stream.bounds), 1)[documents]
    here = stream.bounds[documents]
    one, last = start[begin] - here, start[begin + count - 1] - here

    def least(values: IntArray | FloatArray) -> FloatArray:
        return np.minimum.reduceat(values, begin) if len(begin) else np.zeros(0)

    kind = least(meanings.kind[entry])
    left_out = 1.0 - np.minimum(length / np.maximum(meanings.n_words[entry], 1), 1.0)
    near = relations.of(indptr, nodes)
    values = {
        "occurrences": np.log1p(count),
        "early": 1.0 - one / size,
        "late": last / size,
        "spread": (last - one) / size,
        "title": -least(-stream.in_title(start, document).astype(np.int64)),
        "alternative": kind > 0,
        "hidden": kind > 1,
        "words": np.log(-least(-length)),
        "ambiguity": np.log(least(ambiguity[match])),
        "partial": least(left_out),
        "scattered": least(found.scattered[match].astype(np.int64)),
        "length": np.log1p(size),
        "candidates": np.log(np.diff(indptr)[documents]),
        "above": near.above,
        "beside": near.beside,
        "below": near.below,
        "nearness": near.nearness,
    }
    return Candidates(indptr, nodes, {name: np.asarray(value, dtype=np.float64) for name, value in values.items()})


def _with_incomplete(
    matcher: LabelMatcher, stream: WordStream, whole: Candidates, described: tuple[IntArray, IntArray]
) -> Candidates:
    """Candidates with those of which documents have some words only."""
    of_whole = whole.documents
    left_out = np.concatenate([of_whole, described[0]]), np.concatenate([whole.nodes, described[1]])
    some = matcher.incomplete.find(stream.roots, stream.bounds, stream.title_ends, left_out)
    size, number = np.maximum(np.diff(stream.bounds), 1), np.maximum(np.diff(whole.indptr), 1)
    more = {
        "title": some.in_title,
        "length": np.log1p(size)[some.document],
        "candidates": np.log(number)[some.document],
        "incomplete": np.ones(len(some.node)),
        "missing": 1.0 - some.share,
        "information": some.information,
    }
    document, node = np.concatenate([of_whole, some.document]), np.concatenate([whole.nodes, some.node])
    order = np.lexsort((node, document))
    none = np.zeros(len(whole)), np.zeros(len(some.node))
    values = {
        name: np.concatenate([whole.values.get(name, none[0]), more.get(name, none[1])])[order]
        for name in FEATURES
        if name not in LEARNED
    }
    indptr = np.searchsorted(document[order], np.arange(stream.n_docs + 1))
    return Candidates(indptr, node[order], values)


@dataclass(frozen=True)
class NodeCounts:
    """What training documents say about nodes, in groups of documents.

    Attributes
    ----------
    documents : ndarray of shape (n_groups,)
        Number of documents of every group.
    found, used, both : ndarray of shape (n_groups, n_nodes)
        Number of documents in which a node is a candidate, is a label, and is both.
    """

    documents: FloatArray
    found: FloatArray
    used: FloatArray
    both: FloatArray

    @classmethod
    def of(cls, candidates: Candidates, Y: CSR, groups: IntArray, n_groups: int) -> NodeCounts:
        """Count candidates and labels Y (n_docs x n_nodes) of documents that lie in groups."""
        n_nodes = Y.shape[1]

        def count(documents: IntArray, nodes: IntArray) -> FloatArray:
            keys = groups[documents].astype(np.int64) * n_nodes + nodes
            return np.bincount(keys, minlength=n_groups * n_nodes).reshape(n_groups, n_nodes).astype(np.float64)

        hit = candidates.are_labels(Y)
        of_candidates, rows = candidates.documents, np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
        return cls(
            np.bincount(groups, minlength=n_groups).astype(np.float64),
            count(of_candidates, candidates.nodes),
            count(rows, Y.indices),
            count(of_candidates[hit], candidates.nodes[hit]),
        )

    def features(self, nodes: IntArray, group: IntArray | None = None) -> dict[str, FloatArray]:
        """The learned features of nodes; with ``group``, of the documents outside these groups."""

        def outside(counts: FloatArray) -> FloatArray:
            total = counts.sum(axis=0)
            if counts.ndim == 1:
                return np.asarray(total if group is None else total - counts[group])
            return np.asarray(total[nodes] if group is None else total[nodes] - counts[group, nodes])

        n = outside(self.documents)
        found, used, both = outside(self.found), outside(self.used), outside(self.both)
        average = (self.both.sum() + 1.0) / (self.found.sum() + 2.0)
        precision = (both + _PULL * average) / (found + _PULL)
        return {
            "rarity": np.log((n + 1.0) / (found + 1.0)),
            "use": np.log((used + 0.5) / (n + 1.0)),
            "precision": np.log(precision / (1.0 - precision)),
        }

    def unmatched(self, nodes: IntArray) -> FloatArray:
        """Log-odds that nodes are labels of a document in which they are not candidates."""
        n = self.documents.sum()
        used = (self.used - self.both).sum(axis=0)[nodes]
        without = n - self.found.sum(axis=0)[nodes]
        usual = used.sum() / max(n * len(nodes), 1.0) + 1e-7
        p = np.minimum((used + usual) / (without + 1.0), 0.999)
        return np.asarray(np.log(p / (1.0 - p)))
