"""How alike labels of nodes are: shared words, and shared character trigrams of what is spelt differently.

Words are compared without case, accents, punctuation and the plural ``s``; rare words count more than frequent ones.
The similarity of two sets of labels is the mean of two cosines of TF-IDF vectors, of trigrams and of words; where the
latter is less, because words are spelt differently, it is that of trigrams.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from scipy import sparse

from linnaeus.taxonomy.closure import pointers
from linnaeus.taxonomy.search import fold
from linnaeus.typing import CSR

__all__ = ["TextVectors", "label_similarity", "words_of"]


def words_of(text: str) -> list[str]:
    """Folded words without the plural ``s``.

    Examples
    --------
    >>> words_of("Bird Cages & Glass Stands")
    ['bird', 'cage', 'glass', 'stand']
    """
    return [_singular(word) for word in fold(text).split() if word not in ("and", "or", "the", "of", "und", "et")]


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def trigrams_of(text: str) -> list[str]:
    """Character trigrams of the words, with their boundaries."""
    return [f" {word} "[i : i + 3] for word in words_of(text) for i in range(len(word))]


def label_similarity(one: str, other: str) -> float:
    """Similarity of two labels between 0 and 1, by their trigrams; 1 if they are equal up to case and plural.

    Examples
    --------
    >>> label_similarity("Bird Cage", "bird cages"), round(label_similarity("Tennis", "Tenis"), 2)
    (1.0, 0.67)
    """
    a, b = Counter(trigrams_of(one)), Counter(trigrams_of(other))
    if not a or not b:
        return float(fold(one) == fold(other))
    return 2 * (a & b).total() / (a.total() + b.total())


class TextVectors:
    """TF-IDF vectors of texts of two versions in one space, of words or of trigrams.

    Examples
    --------
    >>> space = TextVectors([["Ball games"], ["Chess"]], [["Games with balls"], ["Go"]], words_of)
    >>> (space.old @ space.new.T).toarray().astype(float).round(1).tolist()
    [[0.7, 0.0], [0.0, 0.0]]
    """

    def __init__(
        self, old: Sequence[Iterable[str]], new: Sequence[Iterable[str]], parts: Callable[[str], list[str]]
    ) -> None:
        index: dict[str, int] = {}
        rows = [_counted([*old, *new][i], parts, index) for i in range(len(old) + len(new))]
        indptr = pointers([len(row) for row in rows])
        indices = np.array([k for row in rows for k in row], np.int32)
        data = 1 + np.log(np.array([count for row in rows for count in row.values()], np.float32))
        X = sparse.csr_array((data, indices, indptr), shape=(len(rows), max(1, len(index))), dtype=np.float32)
        idf = 1 + np.log((1 + len(rows)) / (1 + np.bincount(indices, minlength=X.shape[1])))
        X = X @ sparse.diags_array(idf.astype(np.float32))
        norm = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        X = sparse.csr_array(sparse.diags_array((1 / np.maximum(norm, 1e-12)).astype(np.float32)) @ X)
        self.old: CSR = X[: len(old)]
        self.new: CSR = X[len(old) :]


def _counted(texts: Iterable[str], parts: Callable[[str], list[str]], index: dict[str, int]) -> dict[int, int]:
    counts = Counter(part for text in texts for part in parts(text))
    return {index.setdefault(part, len(index)): count for part, count in counts.items()}
