"""Terms that a vocabulary lacks: frequent phrases of documents that no label text covers.

A phrase has one to four words, neither begins nor ends with a stop word or a number, and does not cross a punctuation
mark or the end of a field. An occurrence inside a label that was found is covered; "chronic heart failure" is not
covered by the label "heart failure", and may be a narrower term. Phrases grow word by word from those that are frequent
enough, so that millions of words take seconds. A phrase is dropped if a longer one has most of its documents: "reuptake
inhibitors" where nearly all are "serotonin reuptake inhibitors".

Of labelled documents, a phrase is proposed for the node with which it is associated most: by the likelihood ratio of
documents with the phrase and documents with the node, where they occur together more often than by chance.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from linnaeus.lexical.matcher import LabelMatcher
from linnaeus.lexical.words import WORD, fields_of
from linnaeus.taxonomy.closure import row_numbers
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray, ObjectArray

__all__ = ["Proposal", "find_gaps"]

_MARKS = '.,;:!?()[]"'
_TOKEN = re.compile(rf"{WORD.pattern}|[{re.escape(_MARKS)}]")
_CONTAINED = 0.8  # share of its documents that a longer phrase has, from which the shorter one is dropped
_EXAMPLES = 3
_LEAST_TOGETHER = 3  # documents with a phrase and a node


@dataclass(frozen=True)
class Proposal:
    """A phrase that no label covers.

    Attributes
    ----------
    phrase : str
        The words as they stand in the first document, in lower case.
    documents : int
        Number of documents in which it is not covered.
    occurrences : int
        Number of such occurrences.
    examples : list of int
        Numbers of some documents, from 0.
    node : int or None
        The node with which it is associated most; None without labels.
    node_documents : int
        Number of its documents that have the node as a label.
    """

    phrase: str
    documents: int
    occurrences: int
    examples: list[int]
    node: int | None = None
    node_documents: int = 0

    def to_dict(self) -> dict[str, object]:
        """Its fields."""
        return asdict(self)


@dataclass(frozen=True)
class _Level:
    """Phrases of one length: where they occur, which phrase is there, and its first document word by word."""

    starts: IntArray
    phrases: IntArray
    n_phrases: int


def find_gaps(
    matcher: LabelMatcher,
    documents: ObjectArray,
    Y: CSR | None = None,
    *,
    min_documents: int = 5,
    max_words: int = 4,
    stop_words: Collection[str] | None = None,
) -> list[Proposal]:
    """Frequent phrases that no label covers, the most frequent first.

    Parameters
    ----------
    matcher : LabelMatcher
        The labels.
    documents : ndarray of object
        Documents as `as_documents` returns them.
    Y : csr_array of shape (n_docs, n_nodes), default=None
        Labels of the documents; phrases are then proposed for nodes.
    min_documents : int, default=5
        Least number of documents in which a phrase is not covered.
    max_words : int, default=4
        Largest number of words.
    stop_words : collection of str, default=None
        Words with which no phrase begins or ends; those of the matcher by default.

    Returns
    -------
    list of Proposal
        Sorted by documents times the logarithm of words, so that terms come before common words.

    Examples
    --------
    >>> from linnaeus.lexical.labels import LabelText
    >>> from linnaeus.lexical.words import as_documents
    >>> texts = as_documents(["a gene drive in mosquitoes", "the gene drive", "gene drive works", "mosquitoes"])
    >>> found = find_gaps(LabelMatcher([LabelText(0, "preferred", "Mosquitoes")]), texts, min_documents=2)
    >>> [(proposal.phrase, proposal.documents) for proposal in found]
    [('gene drive', 3)]
    """
    ignored = matcher.stop_words if stop_words is None else {matcher.normalise[word] for word in stop_words}
    text = _Text.of(matcher, documents, ignored)
    levels = _frequent(text, min_documents, max_words)
    proposals: list[tuple[float, Proposal]] = []
    for n_words, level in enumerate(levels, 1):
        proposals += _proposals(text, level, levels[n_words:], n_words, min_documents, Y)
    proposals.sort(key=lambda entry: (-entry[0], entry[1].phrase))
    return [proposal for _, proposal in proposals]


@dataclass(frozen=True)
class _Text:
    """All words of the documents.

    ``words`` numbers normal forms from 1, with 0 after every field; ``surfaces`` numbers words as they stand.
    ``ends_well`` says whether a phrase may begin or end with a word, ``continues`` whether it may continue with it,
    that is not after a punctuation mark (one more entry is for the end of the text). ``covered_to`` is where the label
    that covers a position ends.
    """

    words: IntArray
    surfaces: IntArray
    spelled: list[str]
    document: IntArray
    ends_well: BoolArray
    continues: BoolArray
    covered_to: IntArray

    @classmethod
    def of(cls, matcher: LabelMatcher, documents: ObjectArray, stop_words: Collection[str]) -> _Text:
        normalise = matcher.normalise
        number_of: dict[str, int] = {}  # of words as they stand
        fields = fields_of(documents)
        rows: list[int] = []
        breaks: list[int] = []
        for document in zip(*fields, strict=True):
            for field in document:
                for word in _TOKEN.findall(field.lower()):
                    if word[0] in _MARKS:
                        breaks.append(len(rows))
                    else:
                        rows.append(number_of.setdefault(word, len(number_of) + 1))
                rows.append(0)
        spelled = ["", *number_of]
        normal: dict[str, int] = {}
        of_surface = np.array([0, *(normal.setdefault(normalise[w], len(normal) + 1) for w in number_of)])
        good = [word not in stop_words and not word.isdigit() and len(word) > 1 for word in normal]
        surfaces = np.array(rows, dtype=np.int64)
        words = of_surface[surfaces] if len(surfaces) else surfaces
        stream = matcher.stream(documents)
        found = matcher.find(stream)
        covered_to = np.zeros(len(words), dtype=np.int64)
        np.maximum.at(covered_to, found.start, found.start + found.length)
        covered_to = np.maximum.accumulate(covered_to) if len(words) else covered_to
        positions = np.arange(len(words))
        ends_well = np.array([False, *good])[words] if len(words) else np.zeros(0, dtype=bool)
        continues = np.ones(len(words) + 1, dtype=bool)
        continues[breaks] = False
        continues[:-1] &= words > 0
        continues[-1] = False
        return cls(words, surfaces, spelled, stream.documents_of(positions), ends_well, continues, covered_to)

    def is_covered(self, starts: IntArray, n_words: int) -> BoolArray:
        """Whether occurrences lie inside a label; matches are not nested, so the one that reaches furthest covers."""
        return self.covered_to[starts] >= starts + n_words


def _frequent(text: _Text, min_documents: int, max_words: int) -> list[_Level]:
    """Phrases of every length that are in enough documents, covered or not; ends are looked at later."""
    levels: list[_Level] = []
    starts: IntArray = np.flatnonzero(text.words)
    keys: IntArray = text.words[starts]
    width = int(text.words.max(initial=0)) + 1
    for n_words in range(1, max_words + 1):
        level = _level(text, starts, keys, min_documents)
        if not level.n_phrases:
            break
        levels.append(level)
        following = level.starts + n_words
        word = text.words[np.minimum(following, len(text.words) - 1)]
        frequent = np.zeros(len(text.words) + 1, dtype=bool)
        frequent[levels[0].starts] = True
        more = text.continues[following] & frequent[following]
        starts, keys = level.starts[more], level.phrases[more] * width + word[more]
    return levels


def _level(text: _Text, starts: IntArray, keys: IntArray, min_documents: int) -> _Level:
    _, phrases = np.unique(keys, return_inverse=True)
    documents = _document_counts(text.document[starts], phrases)
    kept = documents >= min_documents
    number = np.cumsum(kept) - 1
    chosen = kept[phrases] if len(phrases) else np.zeros(0, dtype=bool)
    return _Level(starts[chosen], number[phrases[chosen]], int(kept.sum()))


def _document_counts(documents: IntArray, phrases: IntArray) -> IntArray:
    """Number of different documents of every phrase; ``documents`` ascend."""
    if not len(phrases):
        return np.zeros(0, dtype=np.int64)
    order = np.lexsort((documents, phrases))
    phrase, document = phrases[order], documents[order]
    new = np.append(True, (phrase[1:] != phrase[:-1]) | (document[1:] != document[:-1]))
    return np.bincount(phrase[new], minlength=int(phrases.max()) + 1)


def _proposals(
    text: _Text, level: _Level, longer: list[_Level], n_words: int, min_documents: int, Y: CSR | None
) -> list[tuple[float, Proposal]]:
    last = level.starts + n_words - 1
    open_ = text.ends_well[level.starts] & text.ends_well[last] & ~text.is_covered(level.starts, n_words)
    starts, phrases = level.starts[open_], level.phrases[open_]
    documents = text.document[starts]
    n_documents = _padded(_document_counts(documents, phrases), level.n_phrases)
    occurrences = np.bincount(phrases, minlength=level.n_phrases)
    kept = (n_documents >= min_documents) & ~_contained(text, level, longer, n_words, n_documents)
    order = np.argsort(phrases, kind="stable")
    begin = np.searchsorted(phrases[order], np.arange(level.n_phrases + 1))
    nodes, together = _associated(documents, phrases, n_documents, kept, Y)
    found = []
    for phrase in np.flatnonzero(kept).tolist():
        places = order[begin[phrase] : begin[phrase + 1]]
        first = int(starts[places[0]])
        shown = " ".join(text.spelled[i] for i in text.surfaces[first : first + n_words].tolist())
        examples = list(dict.fromkeys(documents[places].tolist()))[:_EXAMPLES]
        node = int(nodes[phrase])
        counts = int(n_documents[phrase]), int(occurrences[phrase])
        proposal = Proposal(shown, *counts, examples, None if node < 0 else node, int(together[phrase]))
        found.append((float(n_documents[phrase] * np.log2(1 + n_words)), proposal))
    return found


def _contained(text: _Text, level: _Level, longer: list[_Level], n_words: int, n_documents: IntArray) -> BoolArray:
    """Whether most documents of a phrase have it inside one longer phrase that begins and ends well."""
    inside = np.zeros(level.n_phrases, dtype=bool)
    at = np.full(len(text.words) + 1, -1, dtype=np.int64)
    at[level.starts] = level.phrases
    for more, other in enumerate(longer, 1):
        good = text.ends_well[other.starts] & text.ends_well[other.starts + n_words + more - 1]
        starts, phrases = other.starts[good], other.phrases[good]
        counts = _padded(_document_counts(text.document[starts], phrases), other.n_phrases)
        for shift in range(more + 1):  # where the shorter phrase begins in the longer one
            short = at[starts + shift]
            known = short >= 0
            share = counts[phrases[known]] / np.maximum(n_documents[short[known]], 1)
            inside[short[known][share >= _CONTAINED]] = True
    return inside


def _associated(
    documents: IntArray, phrases: IntArray, n_documents: IntArray, kept: BoolArray, Y: CSR | None
) -> tuple[IntArray, IntArray]:
    """The node with which every phrase is associated most, -1 for none, and their common documents."""
    none = np.full(len(n_documents), -1, dtype=np.int64)
    if Y is None or not kept.any():
        return none, np.zeros(len(n_documents), dtype=np.int64)
    n_docs = Y.shape[0]
    shape = (len(n_documents), n_docs)
    has = sparse.csr_array((np.ones(len(phrases), dtype=np.int64), (phrases, documents)), shape=shape)
    has.data[:] = 1  # the constructor adds repeated entries
    common = sparse.csr_array(has[np.flatnonzero(kept)] @ (Y != 0).astype(np.int64))
    rows = np.flatnonzero(kept)[row_numbers(common.indptr)]
    n_node = np.asarray((Y != 0).sum(axis=0)).ravel()[common.indices]
    ratio = _likelihood_ratio(common.data, n_documents[rows], n_node, n_docs)
    often = (common.data >= _LEAST_TOGETHER) & (common.data * n_docs > n_documents[rows] * n_node)
    together = np.zeros(len(n_documents), dtype=np.int64)
    order = np.lexsort((-common.indices, ratio))  # the best comes last
    order = order[often[order]]
    none[rows[order]], together[rows[order]] = common.indices[order], common.data[order]
    return none, together


def _likelihood_ratio(both: IntArray, first: IntArray, second: IntArray, n: int) -> FloatArray:
    """Dunning's G squared of two sets of documents."""
    table: Sequence[IntArray] = (both, first - both, second - both, n - first - second + both)
    margins = (first, n - first, second, n - second)
    inside = sum(xlogy(cell, cell) for cell in table)
    outside = sum(xlogy(margin, margin) for margin in margins)
    return np.asarray(2 * (inside - outside + xlogy(n, n)))


def _padded(counts: IntArray, size: int) -> IntArray:
    return np.concatenate([counts, np.zeros(size - len(counts), dtype=np.int64)])
