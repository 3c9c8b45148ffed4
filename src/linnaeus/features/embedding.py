"""Weighted terms and an embedding of the words of a document side by side.

With c_t the weighted count of word t and v_t its vector (`word_vectors`), a document has the embedding

    m = sum_t c_t v_t / |sum_t c_t v_t|,      e = (m - mu) / |m - mu|,      mu the mean of m over training documents

and the row  [terms, weight * e].  Words that no training document has, but that resemble some, count through e. Since m
is a sum over words, the part of every word in a linear score is exact: `EmbeddedText.word_parts`.

The weight is chosen on documents that are left out (`held_out_weight`). The matrix is one CSR: the embedding adds
``dimension`` numbers to every row, and no term is made dense.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from linnaeus.engine import single_blas_thread
from linnaeus.errors import ParameterError, check_number
from linnaeus.features.analysis import Analyser
from linnaeus.features.documents import columns_of, field_of, texts_of
from linnaeus.features.named import default_features
from linnaeus.features.text import TextFeatures
from linnaeus.features.word_vectors import OwnVectors, WordVectors, open_vectors
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, Array, FloatArray, IntArray, ObjectArray

__all__ = ["OWN", "WEIGHTS", "EmbeddedText", "WordParts", "held_out_weight", "node_texts"]

OWN = "own"
_ROWS = 5_000  # documents that are embedded at a time
_LEARNED_FROM = 50_000  # documents that own vectors are learned from, at most
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)  # that are tried
_USUAL = 0.5  # weight where there are no labels to choose it by
_DRAWN, _LABELS = 1_000, 300  # documents and labels that choose the weight, at most
_MOST_TEXTS, _LONGEST_TEXT = 200_000, 10_000  # of a taxonomy, and characters of each
_PENALTIES = (0.1, 0.3, 1.0)  # of ridge regression; rows have about length 1


class EmbeddedText(TransformerMixin, BaseEstimator):
    """Texts as weighted terms and, beside them, the mean of the vectors of their words.

    Parameters
    ----------
    features : TextFeatures, default=None
        Makes the terms; None takes the usual ones. Its fields, stop words and lower case hold for the embedding too.
    embedding : str, default="own"
        "own" learns vectors of words from the documents; "wordllama" takes those of the package of this name; else the
        folder of a model2vec model. The last two need ``pip install 'linnaeus[embeddings]'``.
    weight : float or "auto", default="auto"
        Length of the embedding of a document, where its terms have length 1. "auto" is the one of 0 to 1 that
        predicts labels of left-out documents best, and 0.5 without labels; see `held_out_weight`.
    dimension : int, default=100
        Length of own vectors.
    max_terms : int, default=20000
        Number of the most frequent words that own vectors are learned for.
    label_texts : sequence of str, default=()
        Further texts that own vectors are learned from, such as labels and definitions.
    keep : bool, default=False
        Whether a model folder holds the vectors of other sources; by default it holds their name and fingerprint.
    random_state : int, default=0
        Seed of own vectors.

    Attributes
    ----------
    features_ : TextFeatures
        The fitted terms.
    vectors_ : WordVectors
        The vectors of words.
    weight_ : float
        The weight that is used.

    Examples
    --------
    >>> texts = ["cats purr", "cats purr softly", "dogs bark", "dogs bark loudly"]
    >>> features = EmbeddedText(weight=1.0, dimension=2).fit(texts)
    >>> features.transform(["a cat that purrs", "cats bark"]).shape
    (2, 6)
    """

    uses_labels = True  # the weight is chosen by them; a `Pipeline` passes closed ones

    def __init__(
        self,
        features: TextFeatures | None = None,
        embedding: str = OWN,
        *,
        weight: float | str = "auto",
        dimension: int = 100,
        max_terms: int = 20_000,
        label_texts: Sequence[str] = (),
        keep: bool = False,
        random_state: int = 0,
    ) -> None:
        self.features = features
        self.embedding = embedding
        self.weight = weight
        self.dimension = dimension
        self.max_terms = max_terms
        self.label_texts = label_texts
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
        columns = columns_of(X, self.features_.weights_, self.features_.kinds_)
        self.idf_: FloatArray | None = None
        self.vectors_: WordVectors
        if self.embedding == OWN:
            self.vectors_ = self._learned(columns, terms.shape[0])
        else:
            self.vectors_ = open_vectors(self.embedding, keep=self.keep)
        means = list(self._means(columns))
        with_words = sum(int((np.abs(block).sum(axis=1) > 0).sum()) for block in means)
        total = sum((block.sum(axis=0, dtype=np.float64) for block in means), np.zeros(self.vectors_.dimension))
        self.mean_: FloatArray = (total / max(1, with_words)).astype(np.float32)
        embedded = self._centred_all(means)
        self.weight_ = (
            held_out_weight(terms, embedded, y, self.random_state)
            if isinstance(self.weight, str)
            else float(self.weight)
        )
        return self._joined(terms, embedded)

    def _check_parameters(self) -> None:
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

    def _learned(self, columns: Mapping[str, list[object]], n_docs: int) -> OwnVectors:
        """Vectors of the most frequent words of the documents and label texts, and their idf."""
        rng = np.random.default_rng(self.random_state)
        rows = np.sort(rng.permutation(n_docs)[:_LEARNED_FROM])
        counts, words = self._counts(columns, rows)
        more, labels = _counted([list(self.label_texts)], [1.0], self._words())
        counts, words = _stacked((counts, words), (more, labels))
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
        return self._joined(self.features_.transform(X), self._centred_all(self._means(columns)))

    @property
    def n_terms(self) -> int:
        """Number of columns before those of the embedding."""
        return sum(map(len, self.features_.vocabulary_.values()))

    def _joined(self, terms: CSR, embedded: FloatArray) -> CSR:
        block = sparse.csr_array((embedded * np.float32(self.weight_)).astype(terms.dtype))
        return sparse.csr_array(sparse.hstack([terms, block], format="csr"))

    def _centred_all(self, means: Iterable[FloatArray]) -> FloatArray:
        none = np.zeros((0, self.vectors_.dimension), dtype=np.float32)
        return np.concatenate([none, *(self._centred(block) for block in means)])

    def _centred(self, m: FloatArray) -> FloatArray:
        """e of m; a document without a known word stays 0."""
        e = m - self.mean_
        length = np.sqrt(np.square(e, dtype=np.float64).sum(axis=1))
        known = (np.abs(m).sum(axis=1) > 0) & (length > 1e-6)
        return np.asarray(e * np.where(known, 1.0 / np.maximum(length, 1e-6), 0.0)[:, None], dtype=np.float32)

    def _means(self, columns: Mapping[str, list[object]]) -> Iterator[FloatArray]:
        """m of some documents at a time."""
        n_docs = len(next(iter(columns.values()), ()))
        for start in range(0, n_docs, _ROWS):
            counts, words = self._counts(columns, np.arange(start, min(n_docs, start + _ROWS)))
            sums = self._weighted(counts, words) @ self.vectors_.vectors(words).astype(np.float64)
            length = np.sqrt(np.square(sums).sum(axis=1))
            yield np.asarray(sums / np.where(length > 0, length, 1.0)[:, None], dtype=np.float32)

    def _counts(self, columns: Mapping[str, list[object]], rows: IntArray) -> tuple[CSR, list[str]]:
        """Weighted counts of words of some documents, and the words in their order."""
        weights = self.features_.weights_
        texts = [list(texts_of((field_of(columns, name)[i] for i in rows), name)) for name in weights]
        return _counted(texts, list(weights.values()), self._words(), len(rows))

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
        counts, words = self._counts(columns, np.arange(1))
        vectors = self.vectors_.vectors(words).astype(np.float64)
        weighted = self._weighted(counts, words)
        parts = np.zeros_like(vectors)
        parts[weighted.indices] = weighted.data[:, None] * vectors[weighted.indices]
        first = float(np.linalg.norm(parts.sum(axis=0)))
        parts /= first if first > 0 else 1.0
        second = float(np.linalg.norm(parts.sum(axis=0) - self.mean_))
        factor = self.weight_ / second if first > 0 and second > 1e-6 else 0.0
        known = np.flatnonzero(np.abs(parts).sum(axis=1) > 0)
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
        counts, words = self._counts(columns, np.arange(len(next(iter(columns.values()), ()))))
        has_vector = np.abs(self.vectors_.vectors(words)).sum(axis=1) > 0
        embedded = np.bincount(
            np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))[has_vector[counts.indices]],
            minlength=counts.shape[0],
        )
        return np.maximum(embedded, self.features_.known_terms(documents))

    def get_feature_names_out(self, input_features: object = None) -> ObjectArray:
        """Names of the terms, then ``embedding0`` and so on."""
        check_is_fitted(self, "mean_")
        own = [f"embedding{j}" for j in range(self.vectors_.dimension)]
        return np.concatenate([self.features_.get_feature_names_out(), np.array(own, dtype=object)])

    # -- keeping -------------------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """What `transform` needs as (values, arrays)."""
        check_is_fitted(self, "mean_")
        given = {name: getattr(self, name) for name in _PARAMETERS}
        fitted = {"features": self.features_, "vectors": self.vectors_, "weight_": self.weight_}
        arrays = {"mean": self.mean_}
        return {**given, **fitted}, arrays if self.idf_ is None else {**arrays, "idf": self.idf_}

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> EmbeddedText:
        """The inverse of `state`; label texts are not kept."""
        made = cls(values["features"], **{name: values[name] for name in _PARAMETERS})
        made.features_, made.vectors_, made.weight_ = values["features"], values["vectors"], values["weight_"]
        made.mean_ = np.asarray(arrays["mean"])
        made.idf_ = np.asarray(arrays["idf"]) if "idf" in arrays else None
        return made

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


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
        What is added for every document: the mean of the training documents is subtracted.
    """

    words: list[str]
    parts: FloatArray
    constant: FloatArray


def held_out_weight(terms: CSR, embedded: FloatArray, y: object, random_state: int = 0) -> float:
    """The weight of an embedding that predicts labels of documents best that are left out.

    Ridge regression of the labels on ``[terms, weight * embedded]`` has the error of leaving out one document in closed
    form: with K the products of all rows, the residual of document i is that of  (K + penalty)^(-1) Y  in row i over
    the diagonal. The least squared error decides, of all penalties and up to 1,000 documents. Where there are more
    documents, all documents of some labels are taken: the best weight depends on the documents for each label.

    Parameters
    ----------
    terms : CSR of shape (n_docs, n_terms)
        Weighted terms.
    embedded : ndarray of shape (n_docs, dimension)
        Embeddings of length 1.
    y : CSR of shape (n_docs, n_nodes) or None
        Labels as 0/1 rows.
    random_state : int, default=0
        Seed of the choice of labels.

    Returns
    -------
    float
        One of `WEIGHTS`; 0.5 where labels are missing or do not differ.

    Examples
    --------
    >>> held_out_weight(sparse.csr_array(np.eye(4)), np.eye(2)[[0, 0, 1, 1]], np.eye(2)[[0, 0, 1, 1]])
    1.0
    """
    if y is None:
        return _USUAL
    Y = sparse.csr_array(y)
    rows = _whole_labels(Y, np.random.default_rng(random_state))
    count = np.bincount(Y[rows].indices, minlength=Y.shape[1])
    varied = np.flatnonzero((count > 1) & (count < len(rows)))
    if not len(varied):
        return _USUAL
    T = Y[rows][:, varied[np.argsort(-count[varied], kind="stable")[:_LABELS]]].toarray().astype(np.float64)
    T -= T.mean(axis=0)
    with single_blas_thread():
        of_terms = np.asarray((terms[rows] @ terms[rows].T).toarray(), dtype=np.float64)
        of_words = embedded[rows].astype(np.float64) @ embedded[rows].T.astype(np.float64)
        errors = [_left_out_error(of_terms + weight**2 * of_words, T) for weight in WEIGHTS]
    return WEIGHTS[int(np.argmin(errors))]


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
    others = (taxonomy.display(v) for v in range(taxonomy.n_nodes) if v not in named)
    texts = chain((entry.text for entry in taxonomy.texts), others)
    return [text[:_LONGEST_TEXT] for text in islice(texts, _MOST_TEXTS)]


def _whole_labels(Y: CSR, rng: np.random.Generator) -> IntArray:
    """All documents if they are few; otherwise those of labels drawn at random, as many as are allowed."""
    n_docs = Y.shape[0]
    if n_docs <= _DRAWN:
        return np.arange(n_docs)
    by_label = sparse.csc_array(Y)
    taken = np.zeros(n_docs, dtype=bool)
    for label in rng.permutation(Y.shape[1]).tolist():
        own = by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]
        if taken.sum() + np.count_nonzero(~taken[own]) <= _DRAWN:
            taken[own] = True
    rows = np.flatnonzero(taken)
    return rows if len(rows) >= _DRAWN // 4 else np.sort(rng.permutation(n_docs)[:_DRAWN])


def _left_out_error(K: FloatArray, T: FloatArray) -> float:
    """Mean squared error of ridge regression for documents that are left out, with the best penalty."""
    values, U = np.linalg.eigh(K)
    rotated = U.T @ T
    errors = []
    for penalty in _PENALTIES:
        inverse = 1.0 / (np.maximum(values, 0.0) + penalty)
        residuals = (U @ (rotated * inverse[:, None])) / (np.square(U) @ inverse)[:, None]
        errors.append(float(np.square(residuals).mean()))
    return min(errors)


def _counted(
    fields: Sequence[Sequence[str]], weights: Sequence[float], words: Analyser, n_docs: int | None = None
) -> tuple[CSR, list[str]]:
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


def _stacked(first: tuple[CSR, list[str]], second: tuple[CSR, list[str]]) -> tuple[CSR, list[str]]:
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
