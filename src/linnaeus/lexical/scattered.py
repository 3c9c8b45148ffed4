"""Labels whose words stand near each other in a document, in any order and with others between them.

"Kidney Diseases" is meant where a text says "diseases of the kidney". A phrase of at least two words that are not stop
words is scattered around an occurrence of its rarest word (in the vocabulary of the labels) if all of its words are in
the same part of the text: blocks of eight words, where a word may be in the same block or in one next to it, so that
they are at most 23 words apart. Blocks are counted from the beginning of every field, so that a document has the same
matches whatever stands before it.

This also finds labels of several words inside longer ones, which the longest match leaves out.
"""

from __future__ import annotations

import numpy as np

from linnaeus.engine import blocks, rows_that_fit
from linnaeus.taxonomy.closure import expanded, pointers
from linnaeus.typing import IntArray

__all__ = ["ScatteredPhrases"]

_BLOCK = 8  # words
_MOST_WORDS = 6
_TABLE = 2**25  # bytes of a table of the words of fields


class ScatteredPhrases:
    """The phrases that may be scattered.

    Parameters
    ----------
    words : ndarray of shape (n_forms, n_words)
        Numbers of the words of every form, 0 after the last.
    phrase : ndarray of shape (n_forms,)
        The phrase of every form.
    ignored : ndarray of int
        Numbers of stop words.
    width : int
        One more than the largest number of a word.
    """

    def __init__(self, words: IntArray, phrase: IntArray, ignored: IntArray, width: int) -> None:
        words = np.where(np.isin(words, ignored), 0, words)
        words = -np.sort(-words, axis=1)
        words[:, 1:][words[:, 1:] == words[:, :-1]] = 0  # each word once
        n_words = (words > 0).sum(axis=1)
        kept = np.flatnonzero((n_words > 1) & (n_words <= _MOST_WORDS))
        kept = kept[np.unique(phrase[kept], return_index=True)[1]]
        frequency = np.bincount(words[kept].ravel(), minlength=width)
        frequency[0] = np.iinfo(np.int64).max
        rows = words[kept]
        rarest = np.argsort(frequency[rows], axis=1, kind="stable")
        self._words = np.take_along_axis(rows, rarest, axis=1)[:, :_MOST_WORDS]
        self._phrase, self._width = phrase[kept], width
        order = np.argsort(self._words[:, 0], kind="stable")
        self._words, self._phrase = self._words[order], self._phrase[order]
        self._indptr = np.searchsorted(self._words[:, 0], np.arange(width + 1))

    def find(self, numbers: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Occurrences in a stream of words.

        Parameters
        ----------
        numbers : ndarray of int
            Numbers of words, 0 for words that are not part of labels, and -1 after every field.

        Returns
        -------
        tuple of (ndarray of int, ndarray of int, ndarray of int)
            Positions of the rarest words, numbers of words, and phrases.
        """
        ends = np.append(np.flatnonzero(numbers < 0) + 1, len(numbers))
        sizes = np.diff(ends, prepend=0)
        field = np.repeat(np.arange(len(ends)), sizes)
        within = np.arange(len(numbers)) - (ends - sizes)[field]
        block = within // _BLOCK + pointers(sizes // _BLOCK + 2)[field]  # a field begins with a block of its own
        parts = []
        for some in blocks(len(ends), rows_that_fit(self._width, _TABLE)):
            part = slice(int(ends[some.start - 1]) if some.start else 0, int(ends[some.stop - 1]))
            at, which = self._find(numbers[part], block[part], field[part] - some.start)
            parts.append((at + part.start, which))
        at, which = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return at, (self._words[which] > 0).sum(axis=1), self._phrase[which]

    def _find(self, numbers: IntArray, block: IntArray, field: IntArray) -> tuple[IntArray, IntArray]:
        """Positions of rarest words, and rows of the phrases that are scattered around them, of some fields."""
        known = np.flatnonzero(numbers > 0)
        here = np.sort(block[known] * self._width + numbers[known])
        has = np.zeros((int(field[-1]) + 1 if len(field) else 0, self._width), dtype=bool)
        has[field[known], numbers[known]] = True
        has[:, 0] = True  # no further word
        place, which = expanded(numbers[known], self._indptr, np.arange(len(self._words)))
        at = known[place]
        for column in range(1, self._words.shape[1]):
            kept = has[field[at], self._words[which, column]]
            at, which = at[kept], which[kept]
        for column in range(1, self._words.shape[1]):
            word = self._words[which, column]
            around = word == 0
            for step in (-1, 0, 1):
                key = (block[at] + step) * self._width + word
                near = np.minimum(np.searchsorted(here, key), max(len(here) - 1, 0))
                around |= here[near] == key if len(here) else False
            at, which = at[around], which[around]
        return at, which

    def words_of(self, phrase: int) -> list[int]:
        """Numbers of the words of a phrase that may be scattered."""
        rows = self._words[self._phrase == phrase]
        return [word for word in rows[0].tolist() if word] if len(rows) else []
