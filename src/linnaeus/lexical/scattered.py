"""Labels whose words stand near each other in a document, in any order and with others between them.

"Kidney Diseases" is meant where a text says "diseases of the kidney". A phrase of at least two words that are not stop
words is scattered around an occurrence of its rarest word (in the vocabulary of the labels) if all of its words are in
the same part of the text: blocks of eight words, where a word may be in the same block or in one next to it, so that
they are at most 23 words apart. Ends of fields and documents separate blocks.

This also finds labels of several words inside longer ones, which the longest match leaves out.
"""

from __future__ import annotations

import numpy as np

from linnaeus.typing import IntArray

__all__ = ["ScatteredPhrases"]

_BLOCK = 8  # words
_MOST_WORDS = 6


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
        position = np.arange(len(numbers)) + 2 * _BLOCK * np.cumsum(numbers < 0)
        block = position // _BLOCK
        known = np.flatnonzero(numbers > 0)
        here = np.sort(block[known] * self._width + numbers[known])
        count = (self._indptr[1:] - self._indptr[:-1])[numbers[known]]
        row = np.repeat(np.arange(len(known)), count)
        first = np.repeat(self._indptr[numbers[known]], count)
        which = first + np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
        at = known[row]
        for column in range(1, self._words.shape[1]):
            word = self._words[which, column]
            around = np.zeros(len(at), dtype=bool)
            for step in (-1, 0, 1):
                key = (block[at] + step) * self._width + word
                place = np.minimum(np.searchsorted(here, key), max(len(here) - 1, 0))
                around |= here[place] == key if len(here) else False
            kept = around | (word == 0)
            at, which = at[kept], which[kept]
        return at, (self._words[which] > 0).sum(axis=1), self._phrase[which]

    def words_of(self, phrase: int) -> list[int]:
        """Numbers of the words of a phrase that may be scattered."""
        rows = self._words[self._phrase == phrase]
        return [word for word in rows[0].tolist() if word] if len(rows) else []
