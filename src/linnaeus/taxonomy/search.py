"""Search for nodes by what people type: over ids, labels and notations, in this order of quality:

    exact     the text itself                              score 1
    folded    the same up to case, accents and punctuation      0.98
    prefix    a text that begins with the query                 0.7 to 0.9, by the share of the text that it covers
    fuzzy     a similar text                                    up to 0.9, by edit distance and common trigrams

Candidates of a fuzzy match share character trigrams with the query; lists of the texts that contain each trigram are
made once. Of the texts with the most common trigrams the edit distance is computed as well. Texts longer than 200
characters are compared by their beginnings.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linnaeus.errors import ParameterError
from linnaeus.taxonomy.closure import pointers, row_numbers
from linnaeus.taxonomy.texts import KINDS, LABELS, speaks
from linnaeus.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = ["Match", "SearchIndex", "fold"]

LONGEST = 200  # characters of a folded text or query
N_TRIGRAMS = 2**18  # numbers of trigrams; different trigrams may share one
RERANKED = 256  # texts whose edit distance is computed; a quarter for long queries
LEAST_SIMILAR = 0.5
_ID = len(KINDS)
_NAMES = (*KINDS, "id")
_RANK = np.array([0, 3, 4, 9, 9, 9, 9, 2, 1])  # of kinds, between matches with the same score
_ANY = -1  # the language of ids
_GAPS = re.compile(r"[\W_]+")
_IRI_STEPS = re.compile(r"[a-z][a-z0-9+.-]*:.*[/#:](?=[^/#:])", re.IGNORECASE)


class Match(NamedTuple):
    """A node that was found.

    Parameters
    ----------
    node : int
        Number of the node.
    score : float
        Quality of the match, 1 for the text itself.
    text : str
        The text that matches.
    kind : str
        Its kind: "preferred", "alternative", "hidden", "notation" or "id".
    how : str
        "exact", "folded", "prefix" or "fuzzy".

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> found = SearchIndex(Taxonomy.from_paths([["Nature", "Bees"]])).find("Bees")[0]
    >>> found.text, found.kind, found.score
    ('Bees', 'id', 1.0)
    """

    node: int
    score: float
    text: str
    kind: str
    how: str


def fold(text: str) -> str:
    """A text in lower case without accents, with one space for every run of punctuation and white space.

    Examples
    --------
    >>> fold("  Crème-brûlée (FRANCE)"), fold("STRASSE") == fold("Straße")
    ('creme brulee france', True)
    """
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return _GAPS.sub(" ", text.casefold()).strip()


class SearchIndex:
    """Folded texts of a taxonomy in order, and lists of the texts that contain each trigram.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_edges([("c", "i21"), ("c", "i22")], display_labels={"i21": "Heart attack", "c": "Heart"})
    >>> [(match.text, match.how) for match in SearchIndex(tax).find("heart")]
    [('Heart', 'folded'), ('Heart attack', 'prefix')]
    >>> [(match.text, match.how) for match in SearchIndex(tax).find("hart atack")]
    [('Heart attack', 'fuzzy')]
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy
        rows = list(_searched(taxonomy))
        self.text = [row[3] for row in rows]
        self.node = np.array([row[0] for row in rows], np.int32)
        self.kind = np.array([row[1] for row in rows], np.uint8)
        self.language = np.array([row[2] for row in rows], np.int32)
        folded = [fold(row[4][: 2 * LONGEST])[:LONGEST] for row in rows]
        order = sorted(range(len(folded)), key=folded.__getitem__)
        self.order = np.array(order, np.int64)
        self.sorted = [folded[i] for i in order]
        self.folded = folded
        self.length = np.array([len(text) for text in folded], np.int32)
        self.indptr, self.postings, self.n_trigrams = _inverted(folded)

    def find(self, query: str, k: int = 10, language: str | None = None) -> list[Match]:
        """The best k nodes for a query; see `Taxonomy.find`."""
        if not isinstance(query, str):
            raise ParameterError(f"query must be a string; got {query!r}.")
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise ParameterError(f"k must be a positive integer; got {k!r}.")
        allowed = self._allowed(language)
        exact = self.taxonomy.lookup(query.strip(), replace=True)
        found = [] if exact is None else [Match(exact, 1.0, query.strip(), "id", "exact")]
        wanted = fold(query[: 2 * LONGEST])[:LONGEST]
        if wanted:
            scores: dict[int, tuple[float, str]] = {}
            for entries, values, how in (self._beginning(wanted, k, allowed), self._similar(wanted, allowed)):
                for i, score in zip(entries.tolist(), values.tolist(), strict=True):
                    before = scores.get(i, (0.0, how))  # a text that begins with the query is a prefix match
                    scores[i] = max(score, before[0]), before[1]
            found += [self._match(i, score, how, query.strip(), wanted) for i, (score, how) in scores.items()]
        best: dict[int, Match] = {}
        for match in sorted(found, key=self._order):
            best.setdefault(match.node, match)
        return list(best.values())[:k]

    @staticmethod
    def _order(match: Match) -> tuple[float, int, int, int]:
        return -match.score, int(_RANK[_NAMES.index(match.kind)]), len(match.text), match.node

    def _match(self, i: int, score: float, how: str, query: str, wanted: str) -> Match:
        text, kind = self.text[i], _NAMES[self.kind[i]]
        if self.folded[i] == wanted:
            score, how = (1.0, "exact") if text == query else (0.98, "folded")
        return Match(int(self.node[i]), round(score, 4), text, kind, how)

    def _allowed(self, language: str | None) -> BoolArray | None:
        if language is None:
            return None
        texts = self.taxonomy.texts
        texts.check_language(language)
        spoken = [code for code, tag in enumerate(texts.tags) if speaks(tag, language)]
        return np.isin(self.language, [_ANY, *spoken])

    def _beginning(self, wanted: str, k: int, allowed: BoolArray | None) -> tuple[IntArray, FloatArray, str]:
        """Texts that begin with the query, the shortest ones; several texts may be those of one node."""
        start = bisect_left(self.sorted, wanted)
        stop = bisect_left(self.sorted, wanted + "\U0010ffff", lo=start)
        entries = self.order[start:stop]
        if allowed is not None:
            entries = entries[allowed[entries]]
        nearest = np.lexsort((self.node[entries], self.length[entries]))
        entries = entries[nearest[: 20 * k + 100]]
        return entries, 0.7 + 0.2 * len(wanted) / np.maximum(1, self.length[entries]), "prefix"

    def _similar(self, wanted: str, allowed: BoolArray | None) -> tuple[IntArray, FloatArray, str]:
        codes = np.unique(_trigrams(wanted))
        lists = [self.postings[self.indptr[code] : self.indptr[code + 1]] for code in codes]
        common = np.bincount(np.concatenate(lists), minlength=len(self.text))
        if allowed is not None:
            common[~allowed] = 0
        entries = np.flatnonzero(common >= max(1, 0.2 * len(codes)))
        dice = 2 * common[entries] / (len(codes) + self.n_trigrams[entries])
        similar = np.maximum(dice, 0.6 * common[entries] / len(codes) + 0.4 * dice)
        best = _largest(similar, RERANKED if len(wanted) <= 20 else RERANKED // 4)
        entries, similar = entries[best], similar[best]
        similar = np.maximum(similar, _edit_similarity(wanted, [self.folded[i] for i in entries.tolist()]))
        kept = similar >= LEAST_SIMILAR
        return entries[kept], 0.9 * np.minimum(1, similar[kept]), "fuzzy"


def _largest(values: FloatArray, k: int) -> IntArray:
    """Positions of the k largest values, the first ones of equal values; the others are not sorted."""
    if len(values) <= k:
        return np.argsort(-values, kind="stable")
    able = np.flatnonzero(values >= np.partition(values, len(values) - k)[len(values) - k])
    return able[np.argsort(-values[able], kind="stable")[:k]]


def _searched(taxonomy: Taxonomy) -> Iterator[tuple[int, int, int, str, str]]:
    """Node, kind, language, text and compared text of everything that is searched."""
    for id, v in taxonomy.index_of.items():
        yield v, _ID, _ANY, id, _last_step(id)
    for id, name in taxonomy.aliases.items():
        yield taxonomy.index_of[name], _ID, _ANY, id, _last_step(id)
    texts = taxonomy.texts
    chosen = texts.select((*LABELS, "notation"))
    known: set[tuple[int, str]] = set()
    arrays = (texts.node[chosen], texts.kind[chosen], texts.language[chosen], texts.decoded(chosen))
    for v, kind, language, text in zip(*(array.tolist() for array in arrays), strict=True):
        if kind == 0:
            known.add((v, text))
        yield v, kind, language, text, text
    for v, label in enumerate(() if taxonomy.display_labels is None else taxonomy.display_labels):
        if label and (v, label.strip()) not in known:
            yield v, 0, _ANY, label, label


def _last_step(id: str) -> str:
    """An id, or the last step of an IRI: the others are those of all nodes."""
    return _IRI_STEPS.sub("", id[: 10 * LONGEST], count=1)


def _trigrams(text: str) -> IntArray:
    """Numbers of the trigrams of texts that are separated by line breaks, where each text has a space on both sides.

    Trigrams across a line break have the number -1, so that a text of n characters has n trigrams.
    """
    codes = np.frombuffer(f" {text} ".replace("\n", " \n ").encode("utf-32-le"), np.uint32)
    a, b, c = codes[:-2], codes[1:-1], codes[2:]
    mixed = a * np.uint32(0x9E3779B1) ^ b * np.uint32(0x85EBCA77) ^ c * np.uint32(0xC2B2AE3D)
    mixed ^= mixed >> np.uint32(15)
    number = ((mixed * np.uint32(0x2C1B3C6D)) >> np.uint32(14)).astype(np.int64)
    return np.where((a == 10) | (b == 10) | (c == 10), -1, number)


def _inverted(folded: Sequence[str]) -> tuple[IntArray, IntArray, IntArray]:
    """Row pointers and texts of every trigram in CSR form, and the number of different trigrams of every text."""
    from scipy import sparse

    numbers, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    for start in range(0, len(folded), 20_000):
        texts = folded[start : start + 20_000]
        codes = _trigrams("\n".join(texts))
        numbers.append(codes[codes >= 0].astype(np.int32))
        lengths.append(np.array([len(text) for text in texts]))
    indices, indptr = np.concatenate(numbers), pointers(np.concatenate(lengths))
    indptr = indptr.astype(np.int32 if indptr[-1] < 2**31 else np.int64)
    shape = (len(folded), N_TRIGRAMS)
    # Transposing a sparse matrix is a counting sort; a trigram that occurs twice in a text is listed twice in a row.
    listed = sparse.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=shape).tocsc()
    trigram = row_numbers(listed.indptr)
    first = np.ones(len(trigram), bool)
    first[1:] = (np.diff(listed.indices) != 0) | (np.diff(trigram) != 0)
    postings = listed.indices[first].astype(np.int32)
    rows = pointers(np.bincount(trigram[first], minlength=N_TRIGRAMS))
    return rows, postings, np.bincount(postings, minlength=len(folded))


def _edit_similarity(query: str, texts: Sequence[str]) -> FloatArray:
    """1 - d / m of a query and each text: d their edit distance, m the length of the longer one.

    One row of the table of edit distances at a time, for all texts: insertions, which depend on the entry before them
    in the same row, are the running minimum of ``row - column``.
    """
    if not texts:
        return np.zeros(0)
    lengths = np.array([len(text) for text in texts])
    width = int(lengths.max())
    table = np.zeros((len(texts), width), np.int32)
    for row, text in zip(table, texts, strict=True):
        row[: len(text)] = np.frombuffer(text.encode("utf-32-le"), np.int32)
    columns = np.arange(width + 1)
    distance = np.tile(columns, (len(texts), 1))
    for i, letter in enumerate(map(ord, query), 1):
        changed = np.empty_like(distance)
        changed[:, 0] = i
        changed[:, 1:] = np.minimum(distance[:, :-1] + (table != letter), distance[:, 1:] + 1)
        distance = np.minimum.accumulate(changed - columns, axis=1) + columns
    last = distance[np.arange(len(texts)), lengths]
    return np.asarray(1 - last / np.maximum(lengths, len(query)))
