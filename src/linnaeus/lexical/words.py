"""From documents to streams of word numbers, the same way for documents and for label texts.

A word is a run of letters and digits, in lower case, without a possessive ending, as its stem, without accents. The
number of a word is that of its normal form in a vocabulary, and 0 if it is not there. A stream has a -1 after every
field of every document, so that nothing is found across their ends.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import numpy as np

from linnaeus.errors import ParameterError
from linnaeus.features.documents import columns_of, field_of, texts_of
from linnaeus.taxonomy.closure import pointers
from linnaeus.typing import BoolArray, IntArray, ObjectArray

__all__ = [
    "END",
    "WORD",
    "Normaliser",
    "WordCache",
    "WordStream",
    "as_documents",
    "fields_of",
    "fold",
    "one_document",
]

WORD = re.compile(r"[^\W_]+(?:['\u2019]s\b)?")
END = -1  # after every field
V = TypeVar("V")

_CACHED = 1_000_000  # words whose forms and numbers are remembered
_LEAD = 20  # words at the beginning of a document of one field that count as its title


def fold(word: str) -> str:
    """A word in lower case without accents.

    Examples
    --------
    >>> fold("Stra\u00dfe"), fold("Caf\u00e9")
    ('strasse', 'cafe')
    """
    word = word.casefold()
    if word.isascii():
        return word
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))


class WordCache(dict[str, V]):
    """What a function returns for words, computed once for every word."""

    def __init__(self, compute: Callable[[str], V]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, word: str) -> V:
        value = self._compute(word)
        if len(self) >= _CACHED:  # a stream of ever new words takes time, but no memory
            self.clear()
        self[word] = value
        return value


class Normaliser(WordCache[str]):
    """The normal form of a word: its stem, folded; found once for every word.

    Parameters
    ----------
    base : callable, default=None
        From a word in lower case to its stem; None takes the word as it is.

    Examples
    --------
    >>> Normaliser()["caf\u00e9's"]
    'cafe'
    """

    def __init__(self, base: Callable[[str], str] | None = None) -> None:
        super().__init__(self._form)
        self.base = base

    def _form(self, word: str) -> str:
        bare = word[:-2] if word[-2:] in ("'s", "\u2019s") else word
        return fold(bare if self.base is None else self.base(bare))

    def words(self, text: str) -> list[str]:
        """The normal forms of the words of a text."""
        return [*map(self.__getitem__, WORD.findall(text.lower()))]


@dataclass(frozen=True)
class WordStream:
    """Documents as numbers of words.

    Attributes
    ----------
    numbers : ndarray of shape (n_words,)
        Numbers of all words, with a -1 after every field.
    bounds : ndarray of shape (n_docs + 1,)
        Where every document begins.
    title_ends : ndarray of shape (n_docs,)
        Where the title of every document ends: its first field, or the first 20 words of a document of one field.
    roots : ndarray of shape (n_words,)
        Numbers of the roots of all words, for words that no label has as well; see `linnaeus.lexical.incomplete`.
    """

    numbers: IntArray
    bounds: IntArray
    title_ends: IntArray
    roots: IntArray

    @property
    def n_docs(self) -> int:
        return len(self.title_ends)

    @classmethod
    def of(cls, fields: Sequence[Sequence[str]], numbers: WordCache[int], root_of: IntArray, width: int) -> WordStream:
        """Documents given as one list of texts for every field.

        Parameters
        ----------
        fields : sequence of sequences of str
            Texts by field, each with one text per document.
        numbers : WordCache of int
            The numbers of words.
        root_of : ndarray of int
            The root of every number.
        width : int
            One more than the largest number of a word of a label; larger ones stand for roots only.

        Returns
        -------
        WordStream
            The documents as numbers.
        """
        number = numbers.__getitem__
        parts = [[[*map(number, WORD.findall(text.lower())), END] for text in column] for column in fields]
        lengths = np.array([[len(words) for words in column] for column in parts], dtype=np.int64)
        n_docs = lengths.shape[1] if lengths.size else 0
        lengths = lengths.reshape(len(fields), n_docs)
        bounds = pointers(lengths.sum(axis=0))
        rows = chain.from_iterable(chain.from_iterable(document) for document in zip(*parts, strict=True))
        stream = np.fromiter(rows, dtype=np.int32, count=int(bounds[-1]))
        title = lengths[0] if n_docs else np.zeros(0, dtype=np.int64)
        if len(fields) == 1:
            title = np.minimum(title, _LEAD)
        roots = root_of[np.maximum(stream, 0)]
        return cls(np.where(stream < width, stream, 0), bounds, bounds[:-1] + title, roots)

    def documents_of(self, positions: IntArray) -> IntArray:
        """The documents in which positions of the stream lie."""
        return np.searchsorted(self.bounds, positions, side="right") - 1

    def in_title(self, positions: IntArray, documents: IntArray) -> BoolArray:
        """Whether positions lie in the titles of their documents."""
        return positions < self.title_ends[documents]


def as_documents(documents: object, names: Iterable[str] | None = None) -> ObjectArray:
    """Documents as a one-dimensional array: strings, or records with these fields.

    Parameters
    ----------
    documents : list of str, list of dict, dict of lists, DataFrame or array of them
        Documents of any kind that text features take.
    names : iterable of str, default=None
        Names of the fields that records have; None keeps all.

    Returns
    -------
    ndarray of object
        One entry per document.

    Examples
    --------
    >>> as_documents({"title": ["a", "b"], "text": ["c", "d"]})[1]
    {'title': 'b', 'text': 'd'}
    """
    columns = columns_of(documents)
    wanted = list(columns) if names is None else [name for name in names if name in columns] or list(columns)
    texts = {name: list(texts_of(field_of(columns, name), name)) for name in wanted}
    n_docs = len(next(iter(texts.values()))) if texts else 0
    found = np.empty(n_docs, dtype=object)
    if len(texts) == 1:
        found[:] = next(iter(texts.values()))
    else:
        found[:] = [dict(zip(texts, row, strict=True)) for row in zip(*texts.values(), strict=True)]
    return found


def one_document(x: object) -> ObjectArray:
    """One document, a text or a record, or a list of one, as `as_documents` returns it.

    Examples
    --------
    >>> one_document({"title": "a", "text": "b"}).tolist()
    [{'title': 'a', 'text': 'b'}]
    """
    single = isinstance(x, str) or (isinstance(x, Mapping) and all(isinstance(value, str) for value in x.values()))
    found = as_documents([x] if single else x)
    if len(found) != 1:
        raise ParameterError(f"explain takes one document; got {len(found)}.")
    return found


def fields_of(documents: ObjectArray) -> list[list[str]]:
    """The documents of `as_documents` as one list of texts for every field."""
    if not len(documents) or not any(isinstance(document, Mapping) for document in documents):
        return [list(documents)]
    names = dict.fromkeys(name for document in documents for name in document)
    return [[document.get(name, "") for document in documents] for name in names]
