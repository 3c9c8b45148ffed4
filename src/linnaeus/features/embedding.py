"""Weighted terms and an embedding of the words of a document side by side.

With c_t the weighted count of word t and v_t its vector (`word_vectors`), a document has the embedding

    m = sum_t c_t v_t / |sum_t c_t v_t|,      e = (m - mu) / |m - mu|,      mu the mean of m over training documents

and the row  [terms, weight * e].  Words that no training document has, but that resemble some, count through e. Since m
is a sum over words, the part of every word in a linear score is exact: `EmbeddedText.word_parts`. A neural model
(`text_encoder`) gives m of the whole text instead; the part of a word is then how e changes without it.

N-grams of characters may stand between the two, as a block of their own: words that resemble those of training
documents count through these as well.

The weight is chosen on documents that are left out (`block_weight`). The matrix is one CSR: the embedding adds
``dimension`` numbers to every row, and no term is made dense.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from linnaeus.errors import ParameterError, check_number
from linnaeus.features.analysis import Analyser
from linnaeus.features.block_weight import Block, held_out_weight
from linnaeus.features.documents import DocumentTransformer, columns_of, default_features, field_of, texts_of
from linnaeus.features.text import TextFeatures
from linnaeus.features.text_encoder import TextEncoder
from linnaeus.features.word_vectors import OwnVectors, WordVectors, open_vectors
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.texts import words_of_name
from linnaeus.typing import CSR, Array, FloatArray, IntArray, ObjectArray

__all__ = ["OWN", "EmbeddedText", "WordParts", "node_texts"]

OWN = "own"
Counted: TypeAlias = tuple[CSR, list[str]]  # counts of words in documents, and the words
_ROWS = 5_000  # documents that are embedded at a time
_MANY_TEXTS = 4  # times the documents that further texts are, from which vectors of these alone choose the weight
_LEARNED_FROM = 50_000  # documents that own vectors are learned from, at most
_MOST_TEXTS, _LONGEST_TEXT = 200_000, 10_000  # of a taxonomy, and characters of each


class EmbeddedText(DocumentTransformer):
    """Texts as weighted terms and, beside them, the mean of the vectors of their words.

    Parameters
    ----------
    features : TextFeatures, default=None
        Makes the terms; None takes the usual ones. Its fields, stop words and lower case hold for the embedding too.
    embedding : str, default="own"
        "own" learns vectors of words from the documents; "wordllama" takes those of the package of this name; else the
        folder of a model2vec model (both need ``pip install 'linnaeus[embeddings]'``), of an ONNX model
        (``'linnaeus[onnx]'``) or of a sentence-transformers model (``'linnaeus[transformers]'``).
    weight : float or "auto", default="auto"
        Length of the embedding of a document, where its terms have length 1. "auto" is the one of 0.1 to 1 that
        predicts labels of left-out documents best, 0 where own vectors do not help, and 0.5 without labels; see
        `block_weight`.
    characters : float, default=0.0
        Length of n-grams of 2 to 5 characters within words relative to that of the terms; both together have length 1.
        0 leaves them out. With few documents they help beside an embedding; 0.7 is a good value.
    dimension : int, default=100
        Length of own vectors.
    max_terms : int, default=20000
        Number of the most frequent words that own vectors are learned for.
    texts : sequence of str, default=()
        Further texts that own vectors are learned from: documents without labels, labels and definitions of nodes.
    keep : bool, default=False
        Whether a model folder holds the vectors of other sources; by default it holds their name and fingerprint.
    random_state : int, default=0
        Seed of own vectors.

    Attributes
    ----------
    features_ : TextFeatures
        The fitted terms.
    vectors_ : WordVectors
        The vectors of words, or a `TextEncoder` of whole texts.
    weight_ : float
        The weight that is used.
    characters_ : TextFeatures or None
        The fitted n-grams of characters.

    Examples
    --------
    >>> texts = ["cats purr", "cats purr softly", "dogs bark", "dogs bark loudly"]
    >>> features = EmbeddedText(weight=1.0, dimension=2).fit(texts)
    >>> features.transform(["a cat that purrs", "cats bark"]).shape
    (2, 6)
    """

    uses_labels = True  # the weight is chosen by them; a `Pipeline` passes closed ones

    columns_are_terms = False

    def __init__(
        self,
        features: TextFeatures | None = None,
        embedding: str = OWN,
        *,
        weight: float | str = "auto",
        characters: float = 0.0,
        dimension: int = 100,
        max_terms: int = 20_000,
        texts: Sequence[str] = (),
        keep: bool = False,
        random_state: int = 0,
    ) -> None:
        self.features = features
        self.embedding = embedding
        self.weight = weight
        self.characters = characters
        self.dimension = dimension
        self.max_terms = max_terms
        self.texts = texts
        self.keep = keep
        self.random_state = random_state

    # -- learning ------------------------------------------------------------------------------------------------------

    def fit(self, X: object, y: object = None) -> EmbeddedText:
        """Learn terms, vectors and weight; y are closed labels as 0/1 rows, or None."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: object, y: object = None, **unused: object) -> CSR:
        """As `fit`, then `transform` of the same documents."""
        self._check_parameters()
        self.features_: TextFeatures = default_features("text") if self.features is None else clone(self.features)
        self._check_terms()
        terms = self.features_.fit_transform(X)
        self.characters_: TextFeatures | None = None
        if self.characters:
            self.characters_ = clone(self.features_).set_params(
                analyzer="char_wb", ngram_range=(2, 5), stop_words=None, min_df=2, max_df=1.0, categorical=()
            )
            terms = self._beside(terms, self.characters_.fit_transform(X))
        columns = columns_of(X, self.features_.weights_, self.features_.kinds_)
        given = self._counts(columns, terms.shape[0])
        more = _counted([list(self.texts)], [1.0], self._words())
        every = np.arange(terms.shape[0])
        embedded = self._learn(given, more, every, columns)
        if isinstance(self.weight, str):
            honest = self._without(given, more) if self.embedding == OWN else embedded
            self.weight_ = held_out_weight(terms, honest, y, self.random_state)
        else:
            self.weight_ = float(self.weight)
        return self._joined(terms, embedded)

    def _learn(
        self, given: Counted, more: Counted, rows: IntArray, columns: Mapping[str, list[object]] | None = None
    ) -> FloatArray:
        """Learn vectors from some documents and the further texts, and the mean of all; the embeddings of all."""
        self.idf_: FloatArray | None = None
        self.vectors_: WordVectors
        if self.embedding == OWN:
            self.vectors_ = self._learned((given[0][rows], given[1]), more)
        else:
            self.vectors_ = open_vectors(self.embedding, keep=self.keep)
        encoded = columns is not None and isinstance(self.vectors_, TextEncoder)
        m = self._encoded(self._texts(columns)) if encoded and columns is not None else self._means(*given)
        known = m[np.abs(m).sum(axis=1) > 0]
        self.mean_: FloatArray = (known.sum(axis=0, dtype=np.float64) / max(1, len(known))).astype(np.float32)
        return self._centred(m)

    def _without(self, given: Counted, more: Counted) -> FloatArray | Block:
        """Embeddings by vectors that were not learned from the documents, which they embed too well.

        Where there are many further texts, vectors of these alone will do; otherwise a function learns them from some
        of the documents and embeds all.
        """
        other = clone(self)
        other.features_ = self.features_
        if more[0].shape[0] >= _MANY_TEXTS * given[0].shape[0]:
            return other._learn(given, more, np.arange(0))
        return lambda rows: other._learn(given, more, rows)

    def _check_parameters(self) -> None:
        check_number("characters", self.characters, least=0)
        check_number("dimension", self.dimension, least=1, whole=True)
        check_number("max_terms", self.max_terms, least=1, whole=True)
        check_number("random_state", self.random_state, least=0, whole=True)
        if isinstance(self.weight, str):
            if self.weight != "auto":
                raise ParameterError(f"weight={self.weight!r}; expected a number of at least 0, or 'auto'.")
        else:
            check_number("weight", self.weight, least=0)
        if not isinstance(self.embedding, str):
            raise ParameterError(f"embedding={self.embedding!r}; expected 'own', 'wordllama' or a folder.")
        if self.features is not None and not isinstance(self.features, TextFeatures):
            raise ParameterError(f"features are {type(self.features).__name__}; an embedding goes beside TextFeatures.")

    def _check_terms(self) -> None:
        if self.features_.analyser().kind in ("char", "char_wb"):
            raise ParameterError(
                f"analyzer={self.features_.analyzer!r}: an embedding takes words, stems or lemmas, not characters."
            )

    def _words(self) -> Analyser:
        """From a text to its words as they stand there, whatever terms are made of them."""
        features = self.features_
        return Analyser(
            stop_words=features.stop_words,  # type: ignore[arg-type]  # lists become tuples there
            lowercase=features.lowercase,
            token_pattern=features.token_pattern,
        )

    def _learned(self, given: Counted, more: Counted) -> OwnVectors:
        """Vectors of the most frequent words of documents and further texts, and their idf."""
        counts, words = _stacked(given, more)
        drawn = np.random.default_rng(self.random_state).permutation(counts.shape[0])[:_LEARNED_FROM]
        counts = counts[np.sort(drawn)]
        df = np.bincount(counts.indices, minlength=len(words))
        frequent = np.flatnonzero(df >= min(2, df.max(initial=1)))
        best = np.sort(frequent[np.argsort(-df[frequent], kind="stable")[: self.max_terms]])
        self.idf_ = np.log((1.0 + counts.shape[0]) / (1.0 + df[best])) + 1.0
        terms = np.array([words[i] for i in best], dtype=object)
        return OwnVectors.learn(counts[:, best], terms, self.dimension, self.random_state)

    # -- applying ------------------------------------------------------------------------------------------------------

    def transform(self, X: object) -> CSR:
        """Documents as n_docs x (terms + dimension) CSR; every document on its own."""
        check_is_fitted(self, "mean_")
        columns = columns_of(X, self.features_.weights_, self.features_.kinds_)
        terms = self.features_.transform(X)
        if self.characters_ is not None:
            terms = self._beside(terms, self.characters_.transform(X))
        if isinstance(self.vectors_, TextEncoder):
            return self._joined(terms, self._centred(self._encoded(self._texts(columns))))
        return self._joined(terms, self._centred(self._means(*self._counts(columns, terms.shape[0]))))

    @property
    def n_terms(self) -> int:
        """Number of columns before those of the embedding."""
        return self.n_words + (0 if self.characters_ is None else sum(map(len, self.characters_.vocabulary_.values())))

    @property
    def n_embedding(self) -> int:
        """Number of columns of the embedding, the last ones."""
        return self.vectors_.dimension

    @property
    def n_words(self) -> int:
        """Number of columns of terms, before those of n-grams of characters."""
        return sum(map(len, self.features_.vocabulary_.values()))

    def _beside(self, terms: CSR, characters: CSR) -> CSR:
        """Terms with the n-grams of characters behind them, both together as long as terms alone."""
        shrunk = 1.0 / math.sqrt(1.0 + self.characters**2)
        terms.data *= terms.dtype.type(shrunk)
        characters.data *= characters.dtype.type(self.characters * shrunk)
        return sparse.csr_array(sparse.hstack([terms, characters], format="csr"))

    def _joined(self, terms: CSR, embedded: FloatArray) -> CSR:
        block = sparse.csr_array((embedded * np.float32(self.weight_)).astype(terms.dtype))
        return sparse.csr_array(sparse.hstack([terms, block], format="csr"))

    def _centred(self, m: FloatArray) -> FloatArray:
        """e of m; a document without a known word stays 0."""
        e = m - self.mean_
        length = np.sqrt(np.square(e, dtype=np.float64).sum(axis=1))
        known = (np.abs(m).sum(axis=1) > 0) & (length > 1e-6)
        return np.asarray(e * np.where(known, 1.0 / np.maximum(length, 1e-6), 0.0)[:, None], dtype=np.float32)

    def _means(self, counts: CSR, words: list[str]) -> FloatArray:
        """m of all documents, some at a time."""
        means = np.zeros((counts.shape[0], self.vectors_.dimension), dtype=np.float32)
        for start in range(0, counts.shape[0], _ROWS):
            some = counts[start : start + _ROWS]
            used, place = np.unique(some.indices, return_inverse=True)
            some = sparse.csr_array((some.data, place, some.indptr), shape=(some.shape[0], len(used)))
            own = [words[i] for i in used]
            sums = self._weighted(some, own) @ self.vectors_.vectors(own).astype(np.float64)
            length = np.sqrt(np.square(sums).sum(axis=1))
            means[start : start + _ROWS] = sums / np.where(length > 0, length, 1.0)[:, None]
        return means

    def _counts(self, columns: Mapping[str, list[object]], n_docs: int) -> Counted:
        """Weighted counts of the words of documents, and the words in their order."""
        return _counted(self._texts(columns), list(self.features_.weights_.values()), self._words(), n_docs)

    def _texts(self, columns: Mapping[str, list[object]]) -> list[list[str]]:
        """The texts of every text field."""
        return [list(texts_of(field_of(columns, name), name)) for name in self.features_.weights_]

    def _encoded(self, fields: Sequence[Sequence[str]]) -> FloatArray:
        """m of all documents by a neural model: the weighted sum over fields, of length 1."""
        assert isinstance(self.vectors_, TextEncoder)
        sums = np.zeros((len(fields[0]), self.vectors_.dimension))
        for texts, weight in zip(fields, self.features_.weights_.values(), strict=True):
            for start in range(0, len(texts), _ROWS):
                sums[start : start + _ROWS] += weight * self.vectors_.vectors(texts[start : start + _ROWS])
        length = np.sqrt(np.square(sums).sum(axis=1))
        return np.asarray(sums / np.where(length > 0, length, 1.0)[:, None], dtype=np.float32)

    def _occluded(self, fields: Sequence[Sequence[str]]) -> WordParts:
        """How the embedding of one document changes when a word is left out of its texts."""
        analyse = self._words()
        pattern = re.compile(analyse.token_pattern)

        def without(text: str, word: str) -> str:
            return pattern.sub(lambda found: " " if analyse(found.group()) == [word] else found.group(), text)

        words = sorted({word for texts in fields for word in analyse(texts[0])})
        shown = [[texts[0], *(without(texts[0], word) for word in words)] for texts in fields]
        e = self.weight_ * self._centred(self._encoded(shown)).astype(np.float64)
        parts = e[0] - e[1:]
        return WordParts(words, parts, e[0] - parts.sum(axis=0), approximate=True)

    def _weighted(self, counts: CSR, words: Sequence[str]) -> CSR:
        """Counts times idf, where the vectors ask for it."""
        if self.idf_ is None:
            return counts
        assert isinstance(self.vectors_, OwnVectors)
        idf = np.zeros(len(words))
        places = self.vectors_.places(words)
        idf[places >= 0] = self.idf_[places[places >= 0]]
        return sparse.csr_array((counts.data * idf[counts.indices], counts.indices, counts.indptr), shape=counts.shape)

    def word_parts(self, documents: object) -> WordParts:
        """The embedding of one document as a sum over its words.

        By a neural model the part of a word is the change when it is left out, and the sum is approximate.

        Parameters
        ----------
        documents : list of str, list of dict, dict or DataFrame
            One document, as `transform` takes it.

        Returns
        -------
        WordParts
            The parts; together with the constant they are the last columns of `transform`.

        Examples
        --------
        >>> features = EmbeddedText(weight=1.0, dimension=2).fit(["cats purr", "cats purr", "dogs bark", "dogs bark"])
        >>> found = features.word_parts(["cats bark"])
        >>> found.words
        ['bark', 'cats']
        >>> row = features.transform(["cats bark"]).toarray()[0, features.n_terms :]
        >>> bool(np.allclose(found.parts.sum(axis=0) + found.constant, row, atol=1e-6))
        True
        """
        check_is_fitted(self, "mean_")
        columns = columns_of(documents, self.features_.weights_, self.features_.kinds_)
        if isinstance(self.vectors_, TextEncoder):
            return self._occluded(self._texts(columns))
        counts, words = self._counts(columns, 1)
        vectors = self.vectors_.vectors(words).astype(np.float64)
        weighted = self._weighted(counts, words)
        parts = np.zeros_like(vectors)
        parts[weighted.indices] = weighted.data[:, None] * vectors[weighted.indices]
        first = float(np.linalg.norm(parts.sum(axis=0)))
        parts /= first if first > 0 else 1.0
        second = float(np.linalg.norm(parts.sum(axis=0) - self.mean_))
        factor = self.weight_ / second if first > 0 and second > 1e-6 else 0.0
        known = np.flatnonzero(np.abs(factor * parts).sum(axis=1) > 0)
        return WordParts([words[i] for i in known], factor * parts[known], -factor * self.mean_.astype(np.float64))

    def known_terms(self, documents: object) -> IntArray:
        """Number of different words and values of each document that are a term or have a vector.

        Parameters
        ----------
        documents : list of str, list of dict, dict or DataFrame
            Documents as `transform` takes them.

        Returns
        -------
        ndarray of shape (n_documents,)
            Number of known words of each document; at least the number of known terms.
        """
        check_is_fitted(self, "mean_")
        columns = columns_of(documents, self.features_.weights_, self.features_.kinds_)
        counts, words = self._counts(columns, len(next(iter(columns.values()), ())))
        if self.weight_ == 0:
            return self.features_.known_terms(documents)
        if isinstance(self.vectors_, TextEncoder):
            return np.maximum(np.diff(counts.indptr), self.features_.known_terms(documents))
        has_vector = np.abs(self.vectors_.vectors(words)).sum(axis=1) > 0
        embedded = np.bincount(
            np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))[has_vector[counts.indices]],
            minlength=counts.shape[0],
        )
        return np.maximum(embedded, self.features_.known_terms(documents))

    def get_feature_names_out(self, input_features: object = None) -> ObjectArray:
        """Names of the terms, n-grams of characters as ``characters:ing``, then ``embedding0`` and so on."""
        check_is_fitted(self, "mean_")
        pieces = () if self.characters_ is None else self.characters_.get_feature_names_out()
        own = [f"characters:{piece}" for piece in pieces]
        own += [f"embedding{j}" for j in range(self.vectors_.dimension)]
        return np.concatenate([self.features_.get_feature_names_out(), np.array(own, dtype=object)])

    # -- keeping -------------------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """What `transform` needs as (values, arrays)."""
        check_is_fitted(self, "mean_")
        given = {name: getattr(self, name) for name in _PARAMETERS}
        fitted = {"features": self.features_, "vectors": self.vectors_, "weight_": self.weight_}
        if self.characters_ is not None:
            fitted |= {"characters": self.characters, "characters_": self.characters_}
        arrays = {"mean": self.mean_}
        return {**given, **fitted}, arrays if self.idf_ is None else {**arrays, "idf": self.idf_}

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> EmbeddedText:
        """The inverse of `state`; further texts are not kept."""
        made = cls(values["features"], **{name: values[name] for name in _PARAMETERS})
        made.features_, made.vectors_, made.weight_ = values["features"], values["vectors"], values["weight_"]
        made.characters, made.characters_ = values.get("characters", 0.0), values.get("characters_")
        made.mean_ = np.asarray(arrays["mean"])
        made.idf_ = np.asarray(arrays["idf"]) if "idf" in arrays else None
        return made


_PARAMETERS = ("embedding", "weight", "dimension", "max_terms", "keep", "random_state")


@dataclass(frozen=True)
class WordParts:
    """The embedding of one document as a sum over its words.

    Attributes
    ----------
    words : list of str
        Words of the document that have a vector.
    parts : ndarray of shape (n_words, dimension)
        What each word adds to the columns of the embedding, in double precision.
    constant : ndarray of shape (dimension,)
        What is added for every document: the mean of the training documents is subtracted. Of a neural model, what
        the parts leave of the embedding.
    approximate : bool, default=False
        Whether parts are changes when a word is left out, because the embedding is not a sum over words.
    """

    words: list[str]
    parts: FloatArray
    constant: FloatArray
    approximate: bool = False


def node_texts(taxonomy: Taxonomy) -> list[str]:
    """Texts of a taxonomy that own vectors learn from: labels, definitions, notes, and names of nodes without any.

    Parameters
    ----------
    taxonomy : Taxonomy
        A taxonomy, with or without texts.

    Returns
    -------
    list of str
        At most 200,000 texts, each shortened to 10,000 characters.

    Examples
    --------
    >>> node_texts(Taxonomy.flat(["cat", "dog"]))
    ['cat', 'dog']
    """
    named = {taxonomy.root, *taxonomy.texts.node.tolist()}
    others = (words_of_name(taxonomy.display(v)) for v in range(taxonomy.n_nodes) if v not in named)
    texts = chain((entry.text for entry in taxonomy.texts), others)
    return [text[:_LONGEST_TEXT] for text in islice(texts, _MOST_TEXTS)]


def _counted(
    fields: Sequence[Sequence[str]], weights: Sequence[float], words: Analyser, n_docs: int | None = None
) -> Counted:
    """1 + ln(count) of every word times the weight of its field, n_docs x n_words, words in alphabetical order.

    Sums over a row have the same order in every batch, so that rounding does not depend on the batch.
    """
    n_docs = len(fields[0]) if n_docs is None else n_docs
    numbers: dict[str, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for texts, weight in zip(fields, weights, strict=True):
        for row, text in enumerate(texts):
            for word, count in Counter(words(text)).items():
                rows.append(row)
                columns.append(numbers.setdefault(word, len(numbers)))
                values.append(weight * (1.0 + math.log(count)))
    known = sorted(numbers)
    place = np.empty(len(numbers), dtype=np.int64)
    place[[numbers[word] for word in known]] = np.arange(len(known))
    entries = np.asarray(values, dtype=np.float64), (np.asarray(rows, dtype=np.int64), place[columns])
    counts = sparse.csr_array(entries, shape=(n_docs, len(known)))
    counts.sum_duplicates()
    return counts, known


def _stacked(first: Counted, second: Counted) -> Counted:
    """Counts of both, over the words of both."""
    known = sorted({*first[1], *second[1]})
    number = {word: i for i, word in enumerate(known)}
    parts = []
    for counts, words in (first, second):
        place = np.array([number[word] for word in words], dtype=np.int64)
        parts.append(
            sparse.csr_array((counts.data, place[counts.indices], counts.indptr), shape=(counts.shape[0], len(known)))
        )
    return sparse.csr_array(sparse.vstack(parts, format="csr")), known
