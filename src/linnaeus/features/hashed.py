"""Text to features without a vocabulary: the column of a term is a hash of the term.

    x[h(t) mod 2**bits] += s(t) * weight of the field * (1 + ln tf(t)),        s(t) = +1 or -1, another hash

Nothing has to be learned from documents first, and every word has a column: an online model learns words that occur in
later documents only. In exchange two terms may share a column (with random signs their weights cancel on average), and
there is no idf. The most frequent terms are remembered, a bounded number of them, so that columns have names.

Weinberger, Dasgupta, Langford, Smola, Attenberg: Feature hashing for large scale multitask learning. ICML 2009.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher
from sklearn.utils import Tags

from linnaeus.errors import ParameterError, check_choice, check_number
from linnaeus.features.analysis import WORD, shown, surfaces_of
from linnaeus.features.documents import (
    TermTransformer,
    columns_of,
    field_of,
    packed,
    plain_parameters,
    texts_of,
    unpacked,
    values_of,
)
from linnaeus.typing import CSR, Array, IntArray, ObjectArray

__all__ = ["HashedText"]

_MOST_BITS = 30  # numbers of columns are 32-bit integers
_NAMES = 3  # terms of one column that are shown
Pairs = list[tuple[str, float]]


class HashedText(TermTransformer):
    """Documents (strings, fields by name, records, or a data frame) to a sparse matrix of hashed terms.

    Parameters
    ----------
    bits : int, default=18
        The matrix has 2**bits columns.
    fields : mapping of str to float, or sequence of str, default=None
        Text fields with their weights, or names of weight 1; None takes all fields that are not categorical. Terms of
        several fields have different columns.
    categorical : mapping of str to float, or sequence of str, default=()
        Fields whose values become features ``journal=Nature``, with the value to use instead of 1.
    signed : bool, default=True
        Give terms a random sign, so that terms that share a column cancel on average.
    sublinear_tf : bool, default=True
        1 + ln tf instead of tf, the number of occurrences.
    ngram_range : tuple of int, default=(1, 1)
        Shortest and longest number of words (or characters) of a term.
    stop_words : str or list of str, default=None
        Words to leave out: a language ("de"), "english" for the longer list of scikit-learn, or the words themselves.
    lowercase : bool, default=True
        Convert texts to lower case first.
    analyzer : str, default="word"
        "word", "stems:de", "lemmas:de", "char" or "char_wb", as in `TextFeatures`.
    token_pattern : str
        Regular expression of a word; default: two or more letters, digits or underscores.
    norm : {"l2", None}, default="l2"
        Whether the terms of a document have unit length; categorical features are added after that.
    max_names : int, default=100000
        Number of the most frequent terms that are remembered as names of columns.
    dtype : {"float32", "float64"}, default="float32"
        Type of the matrix.

    Examples
    --------
    >>> features = HashedText(bits=10)
    >>> features.transform(["a word that nobody has seen"]).shape
    (1, 1024)
    >>> X = features.fit_transform(["late goals", "late votes"])
    >>> sorted(features.get_feature_names_out()[np.unique(X.indices)].tolist())
    ['goals', 'late', 'votes']
    """

    def __init__(
        self,
        bits: int = 18,
        *,
        fields: Mapping[str, float] | Sequence[str] | None = None,
        categorical: Mapping[str, float] | Sequence[str] = (),
        signed: bool = True,
        sublinear_tf: bool = True,
        ngram_range: tuple[int, int] = (1, 1),
        stop_words: str | list[str] | None = None,
        lowercase: bool = True,
        analyzer: str = "word",
        token_pattern: str = WORD,
        norm: str | None = "l2",
        max_names: int = 100_000,
        dtype: str = "float32",
    ) -> None:
        self.bits = bits
        self.fields = fields
        self.categorical = categorical
        self.signed = signed
        self.sublinear_tf = sublinear_tf
        self.ngram_range = ngram_range
        self.stop_words = stop_words
        self.lowercase = lowercase
        self.analyzer = analyzer
        self.token_pattern = token_pattern
        self.norm = norm
        self.max_names = max_names
        self.dtype = dtype

    # -- learning names ------------------------------------------------------------------------------------------------

    def fit(self, X: object, y: object = None) -> HashedText:
        """Remember the fields and the most frequent terms of documents; `transform` does not depend on the terms."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: object, y: object = None, **unused: object) -> CSR:
        """`fit`, then `transform` of the same documents, analysing them once."""
        for name in ("weights_", "kinds_", "terms_"):
            if hasattr(self, name):
                delattr(self, name)
        return self.partial_fit_transform(X)

    def partial_fit(self, X: object, y: object = None) -> HashedText:
        """Count the terms of more documents."""
        self.partial_fit_transform(X)
        return self

    def partial_fit_transform(self, X: object) -> CSR:
        """`partial_fit`, then `transform` of the same documents, analysing them once.

        Parameters
        ----------
        X : list of str, list of dict, dict or DataFrame
            Documents.

        Returns
        -------
        csr_array of shape (n_docs, 2**bits)
            The matrix.
        """
        self._check_parameters()
        weights, kinds, columns = self._columns(X)
        self.weights_, self.kinds_ = weights, kinds
        if not hasattr(self, "terms_"):
            self.terms_: Counter[str] = Counter()
        return self._matrix(weights, kinds, columns, self.terms_)

    def transform(self, X: object) -> CSR:
        """Documents as n_docs x 2**bits CSR; it needs no `fit`."""
        self._check_parameters()
        return self._matrix(*self._columns(X), None)

    def _check_parameters(self) -> None:
        check_number("bits", self.bits, least=1, whole=True)
        if self.bits > _MOST_BITS:
            raise ParameterError(f"bits={self.bits}; expected at most {_MOST_BITS}.")
        check_number("max_names", self.max_names, least=0, whole=True)
        check_choice("norm", self.norm, ("l2", None))
        check_choice("dtype", self.dtype, ("float32", "float64"))
        self._check_terms()

    def _columns(self, documents: object) -> tuple[dict[str, float], dict[str, float], dict[str, list[object]]]:
        """Weights of text fields and of categorical fields, and the documents by field."""
        if not hasattr(self, "weights_"):
            return self._fields_of(documents)
        weights, kinds = self.weights_, self.kinds_
        return weights, kinds, columns_of(documents, weights, kinds)

    # -- hashing -------------------------------------------------------------------------------------------------------

    def _hasher(self) -> FeatureHasher:
        return FeatureHasher(
            2**self.bits, input_type="pair", alternate_sign=self.signed, dtype=np.dtype(self.dtype).type
        )

    def _matrix(
        self,
        weights: Mapping[str, float],
        kinds: Mapping[str, float],
        columns: Mapping[str, list[object]],
        counted: Counter[str] | None,
    ) -> CSR:
        hasher, analyse = self._hasher(), self.analyser()
        total = sparse.csr_array((len(next(iter(columns.values()), ())), 2**self.bits), dtype=self.dtype)
        if not total.shape[0]:
            return total
        for name, weight in weights.items():
            texts = texts_of(field_of(columns, name), name)
            rows = self._text_rows(texts, f"{name}:" if len(weights) > 1 else "", weight, analyse, counted)
            total = total + sparse.csr_array(hasher.transform(rows))
        if self.norm == "l2":
            from sklearn.preprocessing import normalize

            total = sparse.csr_array(normalize(total, copy=False))
        for name, weight in kinds.items():
            values = values_of(field_of(columns, name))
            flags = [[(f"{name}={value}", weight) for value in dict.fromkeys(row)] for row in values]
            if counted is not None:
                self._count(counted, (term for row in flags for term, _ in row))
            total = total + sparse.csr_array(hasher.transform(flags))
        total.sum_duplicates()
        total.eliminate_zeros()  # terms of one column and different signs
        return total

    def _text_rows(
        self,
        texts: Iterator[str],
        prefix: str,
        weight: float,
        analyse: Callable[[str], list[str]],
        counted: Counter[str] | None,
    ) -> Iterator[Pairs]:
        for text in texts:
            if not text.isascii():  # half a surrogate pair has no bytes to hash
                text = text.encode("utf-8", "replace").decode()
            found = Counter(analyse(text))
            if counted is not None:
                self._count(counted, (prefix + term for term in found) if prefix else found)
            if self.sublinear_tf:
                yield [(prefix + term, weight * (1 + math.log(n))) for term, n in found.items()]
            else:
                yield [(prefix + term, weight * n) for term, n in found.items()]

    def _count(self, counted: Counter[str], terms: Any) -> None:
        """Count documents by term; when there are too many terms, the rarest are forgotten."""
        counted.update(dict.fromkeys(terms, 1))
        if len(counted) > 2 * self.max_names + 1000:
            kept = counted.most_common(self.max_names)
            counted.clear()
            counted.update(dict(kept))

    # -- names ---------------------------------------------------------------------------------------------------------

    def get_feature_names_out(self, input_features: object = None) -> ObjectArray:
        """Names of the columns: the most frequent terms that were counted there, or ``#number`` where none was."""
        counted: Counter[str] = vars(self).get("terms_", Counter())
        return self._named([term for term, _ in counted.most_common(self.max_names)])

    def names_for(self, documents: object) -> ObjectArray:
        """The same, with the terms of these documents as names of their columns, as they are spelt there.

        Parameters
        ----------
        documents : list of str, list of dict, dict or DataFrame
            Few documents, such as the one to explain.

        Returns
        -------
        ndarray of str
            One name per column.

        Examples
        --------
        >>> features = HashedText(analyzer="stems")
        >>> X = features.transform(["new studies"])
        >>> sorted(features.names_for(["new studies"])[X.indices].tolist())
        ['new', 'studies']
        """
        weights, kinds, columns = self._columns(documents)
        analyser, seen = self.analyser(), Counter[str]()
        analyse = analyser.counting(seen) if analyser.changes_words else analyser
        own: dict[str, tuple[str, str]] = {}  # prefix and term of what is hashed
        for name in weights:
            prefix = f"{name}:" if len(weights) > 1 else ""
            for text in texts_of(field_of(columns, name), name):
                own |= {prefix + term: (prefix, term) for term in analyse(text.encode("utf-8", "replace").decode())}
        surfaces = surfaces_of(seen.items(), analyser, (term for _, term in own.values())) if seen else {}
        labels = {key: prefix + (shown(term, surfaces) if surfaces else term) for key, (prefix, term) in own.items()}
        for name in kinds:
            values = (f"{name}={value}" for row in values_of(field_of(columns, name)) for value in row)
            labels |= {value: value for value in values}
        names = self.get_feature_names_out()
        for bucket, text in _joined(self._buckets(list(labels)), list(labels.values())).items():
            names[bucket] = text
        return names

    def _named(self, terms: list[str]) -> ObjectArray:
        names = np.array([f"#{i}" for i in range(2**self.bits)], dtype=object)
        for bucket, text in _joined(self._buckets(terms), terms).items():
            names[bucket] = text
        return names

    def _buckets(self, terms: list[str]) -> IntArray:
        """The column of each term."""
        found = self._hasher().transform([(term, 1.0)] for term in terms) if terms else sparse.csr_array((0, 1))
        return np.asarray(found.indices, dtype=np.int64)

    # -- keeping -------------------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, object], dict[str, Array]]:
        """Parameters, fields and names, as plain values and arrays: (values, arrays)."""
        parameters = plain_parameters(self.get_params(deep=False))
        kept = self.terms_.most_common(self.max_names)
        values: dict[str, object] = {
            "parameters": parameters,
            "weights": dict(self.weights_),
            "kinds": dict(self.kinds_),
        }
        terms, offsets = packed(term for term, _ in kept)
        counts = np.array([count for _, count in kept], dtype=np.int64)
        return values, {"terms": terms, "offsets": offsets, "counts": counts}

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> HashedText:
        """The inverse of `state`.

        Examples
        --------
        >>> again = HashedText.from_state(*HashedText(bits=8).fit(["a cat", "a dog"]).state())
        >>> again.terms_
        Counter({'cat': 1, 'dog': 1})
        """
        parameters = dict(values["parameters"])
        made = cls(**{**parameters, "ngram_range": tuple(parameters["ngram_range"])})
        made.weights_, made.kinds_ = dict(values["weights"]), dict(values["kinds"])
        terms, counts = unpacked(arrays["terms"], arrays["offsets"]), np.asarray(arrays["counts"]).tolist()
        made.terms_ = Counter(dict(zip(terms.tolist(), counts, strict=True)))
        return made

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def _joined(buckets: IntArray, names: list[str]) -> dict[int, str]:
    """Names of columns, the most frequent first; those of one column are joined."""
    found: dict[int, list[str]] = {}
    for bucket, name in zip(buckets.tolist(), names, strict=True):
        some = found.setdefault(bucket, [])
        if len(some) < _NAMES:
            some.append(name)
    return {bucket: " | ".join(some) for bucket, some in found.items()}
