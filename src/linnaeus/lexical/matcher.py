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

from linnaeus.features.analysis import SNOWBALL, Analyser
from linnaeus.features.stop_words import STOP_WORDS, stop_words_of
from linnaeus.lexical.incomplete import IncompleteLabels, root_of
from linnaeus.lexical.labels import KINDS, LabelText, forms_of, label_texts
from linnaeus.lexical.scattered import ScatteredPhrases
from linnaeus.lexical.words import WORD, Normaliser, WordNumbers, WordStream, fields_of
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import BoolArray, IntArray, ObjectArray

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
    scattered : ndarray of shape (n_matches,)
        Whether the words stand near each other only; ``start`` is the position of the rarest of them then.
    """

    start: IntArray
    length: IntArray
    phrase: IntArray
    scattered: BoolArray

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
        self.stop_words = {self.normalise[word] for word in stop_words}
        self._vocabulary: dict[str, int] = {}
        form_words, rows, label_words = self._forms()
        phrase = self._build(form_words)
        self.meanings = _meanings(phrase, rows, len(self._phrase_state))
        self._number_roots(label_words)
        self._numbers = WordNumbers(self._number_of)

    def _number_roots(self, label_words: list[list[str]]) -> None:
        """Roots of all words of labels; numbers beyond those of words are of words with such a root."""
        self._roots: dict[str, int] = {}
        number = [self._roots.setdefault(root_of(word), len(self._roots) + 1) for word in self._vocabulary]
        self._root_of = np.array([0, *number, *range(1, len(self._roots) + 1)], dtype=np.int64)
        ignored = {self._roots.get(root_of(word)) for word in self.stop_words}
        root = dict(zip(self._vocabulary, number, strict=True))
        of_label = ({root[word] for word in words if word in root} for words in label_words)
        node = np.array([label.node for label in self.labels], dtype=np.int64)
        self.incomplete = IncompleteLabels([sorted(row - ignored) for row in of_label], node)

    def _number_of(self, word: str) -> int:
        form = self.normalise[word]
        number = self._vocabulary.get(form, 0)
        if number:
            return number
        root = self._roots.get(root_of(form), 0)
        return len(self._vocabulary) + root if root else 0

    def _forms(self) -> tuple[list[list[int]], IntArray, list[list[str]]]:
        """Word numbers of every form, (node, kind, label, words of the label) of each, and the words of every label."""
        number, forms, rows, label_words = self._vocabulary, [], [], []
        for i, (node, kind, text) in enumerate(self.labels):
            code = KINDS.index(kind)
            known: set[tuple[int, ...]] = set()
            n_words = 0
            label_words.append(self.normalise.words(text))
            for form in forms_of(text):
                words = label_words[-1] if form is text else self.normalise.words(form)
                n_words = n_words or len(words)
                if not 0 < len(words) <= MAX_WORDS or self.stop_words.issuperset(words):
                    continue
                key = tuple(number.setdefault(word, len(number) + 1) for word in words)
                if key not in known:
                    known.add(key)
                    forms.append(list(key))
                    rows.append((node, code, i, n_words))
        return forms, np.array(rows, dtype=np.int64).reshape(-1, 4), label_words

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
        phrase = np.asarray(phrase, dtype=np.int64)
        ignored = np.array([n for word, n in self._vocabulary.items() if word in self.stop_words], dtype=np.int64)
        self.scattered = ScatteredPhrases(words, phrase, ignored, width)
        return phrase

    @classmethod
    def of(cls, taxonomy: Taxonomy, language: str | None = None, analyzer: str = "stems") -> LabelMatcher:
        """Look for the labels of a taxonomy.

        Parameters
        ----------
        taxonomy : Taxonomy
            The taxonomy with its texts.
        language : str, default=None
            Language of the labels, and of stems and stop words; None takes all labels, and English stems.
        analyzer : str, default="stems"
            "stems", "lemmas", or "word" for words as they are; the language may be named, as in "stems:de".

        Returns
        -------
        LabelMatcher
            Without forms that consist only of stop words.
        """
        code = "en" if language is None else language.lower().partition("-")[0]
        if ":" not in analyzer and language is not None and analyzer in ("stems", "lemmas"):
            analyzer = f"{analyzer}:{code}" if analyzer == "lemmas" or code in SNOWBALL else "word"
        analyser = Analyser(analyzer)
        stop_words = stop_words_of(code) if code in STOP_WORDS else ()
        base = analyser.bases if analyser.changes_words else None
        return cls(label_texts(taxonomy, language), base=base, stop_words=stop_words)

    @property
    def nodes(self) -> IntArray:
        """Numbers of the nodes that can be found, ascending."""
        return np.union1d(self.meanings.node, self.incomplete.nodes)

    def stream(self, documents: ObjectArray) -> WordStream:
        """Documents, as `as_documents` returns them, as numbers of words."""
        return WordStream.of(fields_of(documents), self._numbers, self._root_of, self._width)

    def find(self, stream: WordStream, *, scattered: bool = False) -> Matches:
        """Find the longest matches.

        Parameters
        ----------
        stream : WordStream
            Documents as `stream` numbers their words.
        scattered : bool, default=False
            Whether to find labels too whose words stand near each other, see `linnaeus.lexical.scattered`.

        Returns
        -------
        Matches
            Matches that are not inside other matches; they may overlap.
        """
        words = np.maximum(stream.numbers, 0)
        starts = np.flatnonzero(self._first[words])
        state = self._first[words[starts]]
        phrase = self._phrase_of[state]
        length = np.where(phrase >= 0, 1, 0)
        at = np.flatnonzero(self._continues[state])  # which starts are still in the trie, and in which state
        state, n_words = state[at], 1
        while len(at):
            following = words[starts[at] + n_words]  # the stream ends with a word that leads nowhere
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
        starts, length, phrase = starts[outside], length[outside], phrase[outside]
        found = Matches(starts, length, phrase, np.zeros(len(starts), dtype=bool))
        return self._with_scattered(stream, found) if scattered else found

    def _with_scattered(self, stream: WordStream, found: Matches) -> Matches:
        """Add phrases whose words are near each other, in documents where they do not stand as they are written."""
        start, length, phrase = self.scattered.find(stream.numbers)
        n_phrases = len(self._phrase_state)
        keys = stream.documents_of(start) * n_phrases + phrase
        new = ~np.isin(keys, stream.documents_of(found.start) * n_phrases + found.phrase)
        start, length, phrase = start[new], length[new], phrase[new]
        order = np.argsort(np.concatenate([found.start, start]), kind="stable")
        return Matches(
            np.concatenate([found.start, start])[order],
            np.concatenate([found.length, length])[order],
            np.concatenate([found.phrase, phrase])[order],
            np.concatenate([found.scattered, np.ones(len(start), dtype=bool)])[order],
        )

    def places(self, stream: WordStream, found: Matches, i: int) -> list[int]:
        """Positions of the words of a match in the stream, in their order.

        Parameters
        ----------
        stream : WordStream
            The documents.
        found : Matches
            What `find` returned for them.
        i : int
            Number of the match.

        Returns
        -------
        list of int
            Of scattered words the occurrences nearest to the rarest word.
        """
        start, length = int(found.start[i]), int(found.length[i])
        if not found.scattered[i]:
            return list(range(start, start + length))
        words = self.scattered.words_of(int(found.phrase[i]))
        near = (np.flatnonzero(stream.numbers == word) for word in words)
        return sorted({int(places[np.abs(places - start).argmin()]) for places in near})


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where the words of a text stand in it.

    Examples
    --------
    >>> word_spans("a cat's life")
    [(0, 1), (2, 7), (8, 12)]
    """
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
