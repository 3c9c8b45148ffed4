"""Occurrences of label texts in documents: longest matches, found by walking a trie for all positions at once.

The forms of all labels are sequences of word numbers. Their prefixes are the states of a trie: state 0 is empty, and
the edge with the i-th smallest key  state * n_words + word  leads to state i + 1. A step of the walk extends all
positions of the stream that are still in the trie by one word, with one binary search for all of them; few are left
after the second. Of every position the longest match is kept, and a match inside another one is dropped.

A phrase is a sequence of words that ends in at least one label; it may be a form of labels of several nodes, which are
all kept: the ambiguity is for the model to judge.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from linnaeus.lexical.labels import KINDS, LabelText, forms_of
from linnaeus.lexical.words import Normaliser, WordNumbers, WordStream, as_documents, fields_of
from linnaeus.typing import IntArray, ObjectArray

__all__ = ["LabelMatcher", "Matches", "Meanings"]

MAX_WORDS = 16  # of a form; longer ones are not matched


@dataclass(frozen=True)
class Matches:
    """Occurrences of phrases in a stream of words, in the order of the stream.

    Attributes
    ----------
    start, length : ndarray of shape (n_matches,)
        Positions of the first words in the stream, and numbers of words.
    phrase : ndarray of shape (n_matches,)
        Numbers of the phrases.
    """

    start: IntArray
    length: IntArray
    phrase: IntArray

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class Meanings:
    """The nodes that phrases are labels of: those of phrase p are entries ``indptr[p] .. indptr[p + 1] - 1``.

    Attributes
    ----------
    indptr : ndarray of shape (n_phrases + 1,)
        Where the entries of every phrase begin.
    node : ndarray of shape (n_entries,)
        Numbers of the nodes, each once for a phrase.
    kind : ndarray of shape (n_entries,)
        Kinds of the labels, as numbers in `KINDS`; the most official one where a node has several labels.
    label : ndarray of shape (n_entries,)
        Numbers of the labels.
    n_words : ndarray of shape (n_entries,)
        Number of words of the label, of which a form may have fewer.
    """

    indptr: IntArray
    node: IntArray
    kind: IntArray
    label: IntArray
    n_words: IntArray


class LabelMatcher:
    """Finds label texts in documents.

    Parameters
    ----------
    labels : list of LabelText
        The labels, as `label_texts` lists them.
    base : callable, default=None
        From a word in lower case to its stem, applied to labels and documents; None compares words.
    stop_words : collection of str, default=()
        Forms that consist only of these words are not matched.

    Attributes
    ----------
    meanings : Meanings
        The nodes that phrases are labels of.

    Examples
    --------
    >>> labels = [LabelText(4, "alternative", "Heart attack"), LabelText(7, "preferred", "Heart")]
    >>> matcher = LabelMatcher(labels)
    >>> matcher.phrases_in("A heart-attack, not the heart of the matter")
    [('heart-attack', 'Heart attack'), ('heart', 'Heart')]
    """

    def __init__(
        self,
        labels: list[LabelText],
        *,
        base: Callable[[str], str] | None = None,
        stop_words: Collection[str] = (),
    ) -> None:
        self.labels = labels
        self.normalise = Normaliser(base)
        self._stop_words = {self.normalise(word) for word in stop_words}
        self._vocabulary: dict[str, int] = {}
        form_words, rows = self._forms()
        phrase = self._build(form_words)
        self.meanings = _meanings(phrase, rows, len(self._phrase_state))
        self._numbers = WordNumbers(self.normalise, self._vocabulary)

    def _forms(self) -> tuple[list[list[int]], IntArray]:
        """Word numbers of every form, and (node, kind, label, words of the label) of each."""
        number, forms, rows = self._vocabulary, [], []
        for i, (node, kind, text) in enumerate(self.labels):
            code = KINDS.index(kind)
            known: set[tuple[int, ...]] = set()
            n_words = 0
            for form in forms_of(text):
                words = self.normalise.words(form)
                n_words = n_words or len(words)
                if not 0 < len(words) <= MAX_WORDS or self._stop_words.issuperset(words):
                    continue
                key = tuple(number.setdefault(word, len(number) + 1) for word in words)
                if key not in known:
                    known.add(key)
                    forms.append(list(key))
                    rows.append((node, code, i, n_words))
        return forms, np.array(rows, dtype=np.int64).reshape(-1, 4)

    def _build(self, forms: list[list[int]]) -> IntArray:
        """Build the trie; return the phrase of every form."""
        width = self._width = len(self._vocabulary) + 1
        lengths = np.array([len(form) for form in forms], dtype=np.int64)
        words = np.zeros((len(forms), max(lengths.max(initial=0), 1)), dtype=np.int64)
        words[np.arange(words.shape[1]) < lengths[:, None]] = [word for form in forms for word in form]
        state, keys, n_states = np.zeros(len(forms), dtype=np.int64), [np.zeros(0, dtype=np.int64)], 1
        for step in range(words.shape[1]):
            rows = np.flatnonzero(lengths > step)
            edges, place = np.unique(state[rows] * width + words[rows, step], return_inverse=True)
            state[rows] = n_states + place
            n_states += len(edges)
            keys.append(edges)  # larger than all before, since their states are
        self._keys = np.concatenate(keys)
        self._phrase_state, phrase = np.unique(state, return_inverse=True)
        self._phrase_of = np.full(n_states, -1, dtype=np.int64)
        self._phrase_of[self._phrase_state] = np.arange(len(self._phrase_state))
        self._first = np.zeros(width, dtype=np.int64)
        of_root = self._keys[self._keys < width]
        self._first[of_root] = np.arange(1, len(of_root) + 1)
        self._continues = np.zeros(n_states, dtype=bool)
        self._continues[self._keys // width] = True
        return np.asarray(phrase, dtype=np.int64)

    @property
    def nodes(self) -> IntArray:
        """Numbers of the nodes that can be found, ascending."""
        return np.unique(self.meanings.node)

    def stream(self, documents: ObjectArray) -> WordStream:
        """Documents, as `as_documents` returns them, as numbers of words."""
        return WordStream.of(fields_of(documents), self._numbers)

    def find(self, stream: WordStream) -> Matches:
        """Find the longest matches.

        Parameters
        ----------
        stream : WordStream
            Documents as `stream` numbers their words.

        Returns
        -------
        Matches
            Matches that are not inside other matches; they may overlap.
        """
        words = stream.numbers
        starts = np.flatnonzero(self._first[words])
        state = self._first[words[starts]]
        phrase = self._phrase_of[state]
        length = np.where(phrase >= 0, 1, 0)
        at = np.flatnonzero(self._continues[state])  # which starts are still in the trie, and in which state
        state, n_words = state[at], 1
        while len(at):
            following = words[starts[at] + n_words]  # the stream ends with a 0, which leads nowhere
            at, state, following = at[following > 0], state[following > 0], following[following > 0]
            keys = state * self._width + following
            place = np.searchsorted(self._keys, keys)
            place[place == len(self._keys)] = 0
            found = self._keys[place] == keys
            at, state, n_words = at[found], place[found] + 1, n_words + 1
            ends = self._phrase_of[state]
            phrase[at[ends >= 0]] = ends[ends >= 0]
            length[at[ends >= 0]] = n_words
            at, state = at[self._continues[state]], state[self._continues[state]]
        kept = length > 0
        starts, length, phrase = starts[kept], length[kept], phrase[kept]
        ends = starts + length
        before = np.concatenate([[0], np.maximum.accumulate(ends)[:-1]]) if len(ends) else ends
        outside = ends > before
        return Matches(starts[outside], length[outside], phrase[outside])

    def phrases_in(self, text: str) -> list[tuple[str, str]]:
        """The matches of a text: the words as they stand there, and one of the labels that they match.

        Parameters
        ----------
        text : str
            A document of one field.

        Returns
        -------
        list of (str, str)
            In the order of the text.
        """
        found = self.find(self.stream(as_documents([text])))
        spans = word_spans(text)
        meanings = self.meanings
        return [
            (text[spans[i][0] : spans[i + n - 1][1]], self.labels[int(meanings.label[meanings.indptr[p]])].text)
            for i, n, p in zip(found.start.tolist(), found.length.tolist(), found.phrase.tolist(), strict=True)
        ]


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where the words of a text stand in it.

    Examples
    --------
    >>> word_spans("a cat's life")
    [(0, 1), (2, 7), (8, 12)]
    """
    from linnaeus.lexical.words import WORD

    lower = text.lower()
    if len(lower) != len(text):  # a few letters become two; positions are those of the lower case then
        return [(min(m.start(), len(text)), min(m.end(), len(text))) for m in WORD.finditer(lower)]
    return [m.span() for m in WORD.finditer(lower)]


def _meanings(phrase: IntArray, rows: IntArray, n_phrases: int) -> Meanings:
    node, kind, label, n_words = rows.T
    order = np.lexsort((label, kind, node, phrase))
    phrase, node, kind, label, n_words = (array[order] for array in (phrase, node, kind, label, n_words))
    first = np.ones(len(order), dtype=bool)
    first[1:] = (phrase[1:] != phrase[:-1]) | (node[1:] != node[:-1])
    phrase, node, kind, label, n_words = (array[first] for array in (phrase, node, kind, label, n_words))
    indptr = np.searchsorted(phrase, np.arange(n_phrases + 1))
    return Meanings(indptr, node, kind, label, n_words)
