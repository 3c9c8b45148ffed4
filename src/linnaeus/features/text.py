"""Text to features: weighted counts of terms, one vocabulary per field; scikit-learn's CountVectorizer learns it.

With tf the count of term t in a document, N the number of training documents and n(t) those that hold t, the weight is

    tfidf:  tf (or 1 + ln tf) * (ln((1 + N) / (1 + n(t))) + 1)     scikit-learn's smoothed weighting
    idf:    tf (or 1 + ln tf) * ln(N / n(t))                       words of nearly all documents fade out
    log2:   tf * log2(N / n(t))                                    raw counts, no smoothing, no norm unless asked

Every text field is a block of columns with its own vocabulary; its weight multiplies the block, and only then all text
blocks of a document are brought to unit length together. Categorical fields follow as binary features
``journal=Nature`` that take no part in the norm. The result is CSR float32, n_docs x n_features.

Exact counts of more terms than fit into memory.

Counts grow in a dictionary. When it holds too many terms, it is written to a file, sorted by term, and emptied. In the
end the files are merged, term by term: the result is exact, and memory holds one dictionary and a block of each
file, whatever the number of documents.
"""

from __future__ import annotations

import heapq
import pickle
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice, repeat
from operator import itemgetter
from pathlib import Path
from string import punctuation
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.validation import check_is_fitted

from linnaeus.errors import DataError, ParameterError, check_number, warn_user
from linnaeus.features.analysis import WORD, Analyser, shown, surfaces_of
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
from linnaeus.taxonomy.closure import pointers
from linnaeus.typing import CSR, Array, FloatArray, IntArray, ObjectArray

__all__ = ["SpilledCounter", "TextFeatures"]

_BLOCK = 10_000  # terms that are read from a file at a time
_COUNTED = 200_000  # occurrences of terms that are counted at a time
_Counting = tuple[Callable[[str], list[str]], dict[str, int]]  # terms of a text, and columns of terms


class SpilledCounter:
    """A counter of strings that moves to disk where it becomes large.

    Parameters
    ----------
    folder : Path
        Existing folder for its files, which belongs to this counter alone.
    max_terms : int
        Number of terms in memory.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     counter = SpilledCounter(Path(folder), max_terms=2)
    ...     for text in ("b a b", "c a", "b"):
    ...         counter.counts.update(text.split())
    ...         counter.spill_if_large()
    ...     list(counter.items()), len(counter.runs)
    ([('a', 2), ('b', 3), ('c', 1)], 1)
    """

    def __init__(self, folder: Path, max_terms: int) -> None:
        self.folder, self.max_terms = folder, max_terms
        self.counts: Counter[str] = Counter()
        self.runs: list[Path] = []

    def spill_if_large(self) -> None:
        """Write the counts to disk if there are too many; called from time to time, such as after a batch."""
        if len(self.counts) <= self.max_terms:
            return
        path = self.folder / f"{len(self.runs)}.run"
        with path.open("wb") as file:
            ordered = self._sorted()
            while block := list(islice(ordered, _BLOCK)):
                pickle.dump(block, file, protocol=5)
        self.runs.append(path)
        self.counts.clear()  # the same object: analysers may hold it

    def _sorted(self) -> Iterator[tuple[str, int]]:
        for term in sorted(self.counts):
            yield term, self.counts[term]

    def items(self) -> Iterator[tuple[str, int]]:
        """Terms in their order, each once with its count."""
        if not self.runs:
            yield from self._sorted()
            return
        merged = heapq.merge(*map(_read, self.runs), self._sorted(), key=itemgetter(0))
        for term, same in groupby(merged, key=itemgetter(0)):
            yield term, sum(count for _, count in same)


def _read(path: Path) -> Iterator[tuple[str, int]]:
    with path.open("rb") as file:
        while True:
            try:
                block = pickle.load(file)  # written above, in a folder of this process
            except EOFError:
                return
            yield from block


_COMPARED = 100  # words whose stems are compared with those of the training


class TextFeatures(TermTransformer):
    """Documents (strings, fields by name, records, or a data frame) to a sparse matrix of weighted terms.

    Parameters
    ----------
    fields : Mapping[str, float] or Sequence[str], default=None
        Text fields with their weights, or names of weight 1; None takes all fields that are not categorical.
    categorical : Mapping[str, float] or Sequence[str], default=()
        Fields whose values become binary features, names or names with the value to use instead of 1.
    weighting : str, default="tfidf"
        "tfidf", "idf" or "log2".
    min_df : float or int, default=1
        Minimum number, or share, of documents of a term in the field.
    max_df : float or int, default=1.0
        Maximum number, or share, of documents of a term in the field.
    max_features : int, default=None
        Keep only this number of terms of a field, the most frequent ones.
    sublinear_tf : bool, default=False
        1 + ln tf instead of tf.
    ngram_range : tuple of int, default=(1, 1)
        Shortest and longest number of words (or characters) of a term.
    stop_words : str or list of str, default=None
        Words to leave out: a language ("de"), "english" for the longer list of scikit-learn, or the words themselves.
    lowercase : bool, default=True
        Convert texts to lower case first.
    analyzer : str, default="word"
        "word"; "stems" or "lemmas" of words, with a language as in "stems:de" (default: English; lemmas need the
        package simplemma); "char" and "char_wb" for pieces of words and for sequences. See `Analyser`.
    token_pattern : str
        Regular expression of a word; default: two or more letters, digits or underscores.
    norm : str or None, default="auto"
        "l2", None, or "auto": None for log2 and "l2" for the others.
    dtype : str, default="float32"
        "float32" or "float64".

    Examples
    --------
    >>> texts = ["the cat sat", "the dog sat", "a dog barked"]
    >>> TextFeatures().fit_transform(texts).shape
    (3, 5)
    >>> records = {"title": ["cats", "dogs"], "journal": ["Pets", "Nature"]}
    >>> model = TextFeatures(fields={"title": 2.0}, categorical=("journal",)).fit(records)
    >>> model.get_feature_names_out().tolist()
    ['cats', 'dogs', 'journal=Nature', 'journal=Pets']
    """

    def __init__(
        self,
        fields: Mapping[str, float] | Sequence[str] | None = None,
        *,
        categorical: Mapping[str, float] | Sequence[str] = (),
        weighting: str = "tfidf",
        min_df: float = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
        sublinear_tf: bool = False,
        ngram_range: tuple[int, int] = (1, 1),
        stop_words: str | list[str] | None = None,
        lowercase: bool = True,
        analyzer: str = "word",
        token_pattern: str = WORD,
        norm: str | None = "auto",
        dtype: str = "float32",
    ) -> None:
        self.fields = fields
        self.categorical = categorical
        self.weighting = weighting
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.sublinear_tf = sublinear_tf
        self.ngram_range = ngram_range
        self.stop_words = stop_words
        self.lowercase = lowercase
        self.analyzer = analyzer
        self.token_pattern = token_pattern
        self.norm = norm
        self.dtype = dtype

    # -- learning ------------------------------------------------------------------------------------------------------

    def fit(self, X: object, y: object = None) -> TextFeatures:
        """Learn vocabularies and weights from documents."""
        self._learn(X)
        return self

    def fit_transform(self, X: object, y: object = None, **unused: object) -> CSR:
        """`fit`, then `transform` of the same documents, counting them once."""
        return self._assemble(*self._learn(X))

    def fit_batches(self, batches: Iterable[object], *, max_terms: int = 2_000_000) -> TextFeatures:
        """Learn vocabularies and weights from documents that are given some at a time, at bounded memory.

        The result is that of `fit` on all documents at once; of equally frequent terms ``max_features`` keeps the first
        in alphabetical order. Counts of more than ``max_terms`` terms move to a temporary folder.

        Parameters
        ----------
        batches : iterable of documents
            Lists of texts, or other documents as `fit` takes them; all batches have the fields of the first.
        max_terms : int, default=2000000
            Number of different terms of a field that are counted in memory.

        Returns
        -------
        TextFeatures
            The features themselves, fitted.

        Examples
        --------
        >>> model = TextFeatures(min_df=2).fit_batches([["a cat", "a dog"], ["the cat"]])
        >>> model.get_feature_names_out().tolist()
        ['cat']
        """
        import tempfile

        self._check_parameters()
        check_number("max_terms", max_terms, least=1, whole=True)
        self._counters: dict[str, _Counting] = {}
        with tempfile.TemporaryDirectory(prefix="linnaeus-") as folder:
            counting = _BatchCounts(self, Path(folder), max_terms)
            for documents in batches:
                counting.add(documents)
            counting.finish()
        return self

    def _learn(self, documents: object) -> tuple[list[CSR], list[CSR]]:
        self._check_parameters()
        self._counters = {}
        weights, kinds, columns = self._fields_of(documents)
        self.weights_, self.kinds_ = weights, kinds
        self.vocabulary_: dict[str, ObjectArray] = {}
        self.idf_: dict[str, FloatArray] = {}
        blocks = []
        analyser, seen = self.analyser(), Counter[str]()
        analyse = analyser.counting(seen) if analyser.changes_words else analyser
        for name in weights:
            counts = self._fit_counts(name, field_of(columns, name), analyse)
            df = np.bincount(counts.indices, minlength=counts.shape[1])
            self.idf_[name] = _idf(df, counts.shape[0], self.weighting)
            blocks.append(self._weighted(counts, name))
        self.surfaces_ = surfaces_of(seen.items(), analyser, self._text_terms()) if seen else {}
        flags = []
        for name in kinds:
            values = values_of(field_of(columns, name))
            self.vocabulary_[name] = _frequent(values, self.min_df)
            flags.append(self._flags(values, name))
        return blocks, flags

    def _text_terms(self) -> Iterator[str]:
        return (term for name in self.weights_ for term in self.vocabulary_[name])

    def _check_parameters(self) -> None:
        for name, allowed in (
            ("weighting", ("tfidf", "idf", "log2")),
            ("norm", ("auto", "l2", None)),
            ("dtype", ("float32", "float64")),
        ):
            value = getattr(self, name)
            given = getattr(value, "__name__", str(value)) if name == "dtype" else value
            if given not in allowed:
                raise ParameterError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
        self._check_terms()

    def _fit_counts(self, name: str, column: Collection[object], analyse: Callable[[str], list[str]]) -> CSR:
        limits = {"min_df": self.min_df, "max_df": self.max_df, "max_features": self.max_features}
        counter = CountVectorizer(analyzer=analyse, dtype=np.dtype(self.dtype).type, **limits)
        try:
            counts = counter.fit_transform(texts_of(column, name))
        except ValueError as error:
            if isinstance(error, DataError):
                raise
            if isinstance(error, TypeError):  # scikit-learn's error about a parameter is both
                raise ParameterError(str(error).replace("CountVectorizer", "TextFeatures")) from None
            terms = self.analyser()
            any_terms = any(terms(text) for text in texts_of(column, name))
            raise DataError(self._why_no_terms(name, len(column), any_terms=any_terms)) from error
        self.vocabulary_[name] = counter.get_feature_names_out()
        return sparse.csr_array(counts)

    def _why_no_terms(self, name: str, n_docs: int, *, any_terms: bool) -> str:
        """What the documents lack, where there is nothing to count."""
        if not any_terms:
            return f"None of the {n_docs:,} documents has a term in field {name!r} that can be a feature."
        frequent = f"occurs in at least min_df={self.min_df}"
        if self.max_df != 1.0 or isinstance(self.max_df, (int, np.integer)):
            frequent += f" and at most max_df={self.max_df}"
        return f"No term of field {name!r} {frequent} of the {n_docs:,} documents."

    # -- applying ------------------------------------------------------------------------------------------------------

    def transform(self, X: object) -> CSR:
        """Documents as n_docs x n_features CSR; terms never seen in `fit` count nothing."""
        check_is_fitted(self, "vocabulary_")
        columns = columns_of(X, self.weights_, self.kinds_)
        blocks = [self._weighted(self._count(name, field_of(columns, name)), name) for name in self.weights_]
        flags = [self._flags(values_of(field_of(columns, name)), name) for name in self.kinds_]
        return self._assemble(blocks, flags)

    def known_terms(self, documents: object) -> IntArray:
        """Number of different terms and categorical values of each document that were seen in `fit`.

        A document with 0 has no feature at all: its row of `transform` is empty, and a model can answer no more than
        it would for an empty document.

        Parameters
        ----------
        documents : list of str, list of dict, dict or DataFrame
            Documents as `transform` takes them.

        Returns
        -------
        ndarray of shape (n_documents,)
            Number of known terms of each document.

        Examples
        --------
        >>> TextFeatures().fit(["a cat", "a dog"]).known_terms(["cat and dog", "a bird", ""]).tolist()
        [2, 0, 0]
        """
        return np.diff(self.transform(documents).indptr)

    def _count(self, name: str, column: Iterable[object]) -> CSR:
        """Counts of the terms of a field in canonical form; CountVectorizer takes longer for a single document."""
        known = self.__dict__.setdefault("_counters", {})  # made once: single documents should not wait for it
        if name not in known:
            terms, analyser = self.vocabulary_[name].tolist(), self.analyser()
            self._check_stems(analyser)
            known[name] = analyser, dict(zip(terms, range(len(terms)), strict=True))
        analyse, place = known[name]
        parts: list[tuple[Array, IntArray, IntArray]] = []
        found: list[str] = []
        ends = [0]
        for text in texts_of(column, name):
            found += analyse(text)
            ends.append(len(found))
            if len(found) > _COUNTED:
                parts.append(_counted(found, ends, place))
                found, ends = [], [0]
        parts.append(_counted(found, ends, place))
        counts, columns, lengths = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
        indptr = np.zeros(len(lengths) + 1, np.int32 if len(counts) < 2**31 else np.int64)
        np.cumsum(lengths, out=indptr[1:])
        made = sparse.csr_array(
            (counts.astype(self.dtype), columns.astype(indptr.dtype), indptr), shape=(len(lengths), len(place))
        )
        made.has_canonical_format = True
        return made

    def _check_stems(self, analyser: Analyser) -> None:
        """Warn if words have other stems or lemmas than in training: another version of the stemmer is installed."""
        words = list(self.surfaces_.items())[:_COMPARED]
        wrong = [word for base, word in words if analyser.base(word) != base]
        if wrong:
            warn_user(
                f"{len(wrong)} of {len(words)} words have other {analyser.kind} than before, such as {wrong[0]!r}; "
                "another version of the stemmer or of the lemmas is installed; install that version, or train again."
            )

    def _weighted(self, counts: CSR, name: str) -> CSR:
        """Counts times idf times the weight of the field, in place."""
        if self.sublinear_tf:
            np.log(counts.data, out=counts.data)
            counts.data += 1
        idf, weight = self.idf_[name], self.weights_[name]
        if counts.nnz < len(idf):  # a few documents: the terms that they have, rather than all
            counts.data *= (idf[counts.indices] * weight).astype(counts.dtype)
        else:
            counts.data *= (idf * weight).astype(counts.dtype)[counts.indices]
        return counts

    def _flags(self, values: list[list[str]], name: str) -> CSR:
        """Binary features of a categorical field."""
        number = {value: i for i, value in enumerate(self.vocabulary_[name].tolist())}
        rows = [sorted({number[v] for v in given if v in number}) for given in values]
        indptr = pointers(list(map(len, rows)))
        indices = np.fromiter((i for row in rows for i in row), dtype=np.int32, count=int(indptr[-1]))
        data = np.full(len(indices), self.kinds_[name], dtype=self.dtype)
        return sparse.csr_array((data, indices, indptr.astype(np.int32)), shape=(len(rows), len(number)))

    def _assemble(self, blocks: list[CSR], flags: list[CSR]) -> CSR:
        text = blocks[0] if len(blocks) == 1 else sparse.hstack(blocks, format="csr") if blocks else None
        if (
            text is not None
            and text.shape[0]
            and (self.norm == "l2" or (self.norm == "auto" and self.weighting != "log2"))
        ):
            from sklearn.utils.sparsefuncs_fast import inplace_csr_row_normalize_l2

            inplace_csr_row_normalize_l2(text)  # what `normalize` calls after checks that cost more than a document
        parts = ([] if text is None else [text]) + flags
        return parts[0] if len(parts) == 1 else sparse.csr_array(sparse.hstack(parts, format="csr"))

    def get_feature_names_out(self, input_features: object = None) -> ObjectArray:
        """Names of the columns: the term, ``field:term`` where there are several text fields, ``field=value``.

        A stem or lemma is shown as the word that it stands for most often.
        """
        check_is_fitted(self, "vocabulary_")
        names: list[str] = []
        for field in self.weights_:
            prefix = f"{field}:" if len(self.weights_) > 1 else ""
            terms = self.vocabulary_[field]
            names += [prefix + (shown(term, self.surfaces_) if self.surfaces_ else term) for term in terms]
        for field in self.kinds_:
            names += [f"{field}={value}" for value in self.vocabulary_[field]]
        return np.array(names, dtype=object)

    def word_shares(self, document: object) -> tuple[ObjectArray, CSR] | None:
        """Which words the pieces of words of one document are from (``analyzer="char_wb"``).

        Parameters
        ----------
        document : list of str, list of dict, dict or DataFrame
            One document, as `transform` takes it.

        Returns
        -------
        (names, shares) or None
            The words, named as columns are, without punctuation around them, and the share of each of them in the
            occurrences of each column (n_words, n_features); a categorical value stands for itself. None where terms
            are not pieces of words.

        Examples
        --------
        >>> features = TextFeatures(analyzer="char_wb", ngram_range=(2, 2)).fit(["a cat", "a car"])
        >>> names, shares = features.word_shares(["A cat, a car"])
        >>> names.tolist()
        ['a', 'cat', 'car']
        >>> shares.toarray()[:, features.get_feature_names_out() == "ca"].ravel().tolist()
        [0.0, 0.5, 0.5]
        """
        check_is_fitted(self, "vocabulary_")
        if self.analyser().kind != "char_wb":
            return None
        columns = columns_of(document, self.weights_, self.kinds_)
        names: list[str] = []
        blocks: list[CSR] = []
        for field in self.weights_:
            (text,) = texts_of(field_of(columns, field), field)
            words = (text.lower() if self.lowercase else text).split()
            plain = [word.strip(punctuation) or word for word in words]
            place = {word: i for i, word in enumerate(dict.fromkeys(plain))}
            counts = self._count(field, words)  # pieces do not cross words: those of a text are those of its words
            group = sparse.csr_array(
                (np.ones(len(words)), ([place[word] for word in plain], np.arange(len(words)))),
                shape=(len(place), len(words)),
            )
            shares = sparse.csr_array(group @ counts)
            shares.data /= np.bincount(shares.indices, weights=shares.data, minlength=shares.shape[1])[shares.indices]
            blocks.append(shares)
            prefix = f"{field}:" if len(self.weights_) > 1 else ""
            names += [prefix + word for word in place]
        for field in self.kinds_:
            blocks.append(sparse.eye_array(len(self.vocabulary_[field]), format="csr"))
            names += [f"{field}={value}" for value in self.vocabulary_[field]]
        return np.array(names, dtype=object), sparse.csr_array(sparse.block_diag(blocks, format="csr"))

    # -- keeping -------------------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, object], dict[str, Array]]:
        """Everything `transform` needs, as plain values and arrays: (values, arrays)."""
        check_is_fitted(self, "vocabulary_")
        parameters = plain_parameters(self.get_params(deep=False))
        values: dict[str, object] = {
            "parameters": parameters,
            "weights": dict(self.weights_),
            "kinds": dict(self.kinds_),
        }
        arrays: dict[str, Array] = {}
        for i, name in enumerate([*self.weights_, *self.kinds_]):
            arrays[f"terms{i}"], arrays[f"offsets{i}"] = packed(self.vocabulary_[name])
            if name in self.idf_:
                arrays[f"idf{i}"] = self.idf_[name]
        if self.surfaces_:
            arrays["bases"], arrays["base_offsets"] = packed(self.surfaces_)
            arrays["surfaces"], arrays["surface_offsets"] = packed(self.surfaces_.values())
        return values, arrays

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> TextFeatures:
        """The inverse of `state`; the transform is the same to the last bit.

        Examples
        --------
        >>> model = TextFeatures().fit(["a cat", "a dog"])
        >>> again = TextFeatures.from_state(*model.state())
        >>> bool((again.transform(["cat dog"]) != model.transform(["cat dog"])).nnz)
        False
        """
        parameters = dict(values["parameters"])
        model = cls(**{**parameters, "ngram_range": tuple(parameters["ngram_range"])})
        model.weights_, model.kinds_ = dict(values["weights"]), dict(values["kinds"])
        model.vocabulary_, model.idf_ = {}, {}
        for i, name in enumerate([*model.weights_, *model.kinds_]):
            model.vocabulary_[name] = unpacked(arrays[f"terms{i}"], arrays[f"offsets{i}"])
            if name in model.weights_:
                model.idf_[name] = np.asarray(arrays[f"idf{i}"])
        model.surfaces_ = {}
        if "bases" in arrays:
            bases = unpacked(arrays["bases"], arrays["base_offsets"])
            model.surfaces_ = dict(zip(bases, unpacked(arrays["surfaces"], arrays["surface_offsets"]), strict=True))
        return model


class _BatchCounts:
    """Counts of `TextFeatures.fit_batches`: documents and occurrences by term of each field, and words by stem."""

    def __init__(self, features: TextFeatures, folder: Path, max_terms: int) -> None:
        self.features, self.folder, self.max_terms = features, folder, max_terms
        self.analyser = features.analyser()
        self.words = self._counter("words")
        counted = self.words.counts
        self.analyse = self.analyser.counting(counted) if self.analyser.changes_words else self.analyser
        self.in_documents: dict[str, SpilledCounter] = {}
        self.occurrences: dict[str, SpilledCounter] = {}
        self.n_docs = 0

    def _counter(self, name: str) -> SpilledCounter:
        folder = self.folder / name
        folder.mkdir()
        return SpilledCounter(folder, self.max_terms)

    def add(self, documents: object) -> None:
        features = self.features
        if not self.in_documents:
            features.weights_, features.kinds_, columns = features._fields_of(documents)
            names = [*features.weights_, *features.kinds_]
            self.in_documents = {name: self._counter(f"documents{i}") for i, name in enumerate(names)}
            if features.max_features is not None:
                self.occurrences = {name: self._counter(f"terms{i}") for i, name in enumerate(features.weights_)}
        else:
            columns = columns_of(documents, features.weights_, features.kinds_)
        for name in features.weights_:
            self._add_texts(name, texts_of(field_of(columns, name), name))
        for name in features.kinds_:
            for row in values_of(field_of(columns, name)):
                self.in_documents[name].counts.update(set(row))
        self.n_docs += len(next(iter(columns.values()), ()))
        for counter in (self.words, *self.in_documents.values(), *self.occurrences.values()):
            counter.spill_if_large()

    def _add_texts(self, name: str, texts: Iterable[str]) -> None:
        counts = self.in_documents[name].counts
        occurrences = self.occurrences[name].counts if name in self.occurrences else None
        for text in texts:
            terms = self.analyse(text)
            counts.update(set(terms))
            if occurrences is not None:
                occurrences.update(terms)

    def finish(self) -> None:
        """Set vocabularies, idf and readable words of the features."""
        features = self.features
        if not self.in_documents:
            raise DataError("There are no documents to learn from.")
        features.vocabulary_, features.idf_, features.surfaces_ = {}, {}, {}
        for name in features.weights_:
            features.vocabulary_[name], df = self._kept(name)
            features.idf_[name] = _idf(df, self.n_docs, features.weighting)
        if self.analyser.changes_words:
            features.surfaces_ = surfaces_of(self.words.items(), self.analyser, features._text_terms())
        least = _number_of(features.min_df, self.n_docs)
        for name in features.kinds_:
            kept = [value for value, n in self.in_documents[name].items() if n >= least]
            features.vocabulary_[name] = np.array(kept, dtype=object)

    def _kept(self, name: str) -> tuple[ObjectArray, IntArray]:
        """Terms of a field in their order, and the number of documents of each."""
        features = self.features
        least, most = (_number_of(limit, self.n_docs) for limit in (features.min_df, features.max_df))
        counts, any_terms = [], False
        for term, n in self.in_documents[name].items():
            any_terms = True
            if least <= n <= most:
                counts.append((term, n))
        if features.max_features is not None:
            kept = {term for term, _ in counts}
            totals = ((-n, term) for term, n in self.occurrences[name].items() if term in kept)
            frequent = {term for _, term in heapq.nsmallest(features.max_features, totals)}
            counts = [(term, n) for term, n in counts if term in frequent]
        if not counts:
            raise DataError(features._why_no_terms(name, self.n_docs, any_terms=any_terms))
        terms = np.empty(len(counts), dtype=object)
        terms[:] = [term for term, _ in counts]
        return terms, np.array([n for _, n in counts], dtype=np.int64)


def _counted(terms: list[str], ends: list[int], place: Mapping[str, int]) -> tuple[Array, IntArray, IntArray]:
    """Counts and columns of the known terms of some documents, and the number of different ones in each.

    The terms of document i are those from ``ends[i]`` to ``ends[i + 1]``.
    """
    found = np.fromiter(map(place.get, terms, repeat(-1)), np.int64, len(terms))
    lengths, n_terms = np.diff(ends), max(1, len(place))
    keys = (found + np.repeat(np.arange(0, n_terms * len(lengths), n_terms), lengths))[found >= 0]
    keys.sort()
    first = np.flatnonzero(np.concatenate([keys[:1] >= 0, keys[1:] != keys[:-1]]))
    rows, columns = np.divmod(keys[first], n_terms)
    return np.diff(first, append=len(keys)), columns, np.bincount(rows, minlength=len(lengths))


def _number_of(limit: float, n_docs: int) -> float:
    """A number of documents, or a share of them."""
    return limit if isinstance(limit, (int, np.integer)) else limit * n_docs


def _idf(df: IntArray, n_docs: int, weighting: str) -> FloatArray:
    if weighting == "log2":
        return np.asarray(np.log2(n_docs / np.maximum(df, 1.0)))
    if weighting == "idf":
        return np.asarray(np.log(n_docs / np.maximum(df, 1.0)))
    return np.asarray(np.log((1.0 + n_docs) / (1.0 + df)) + 1.0)


def _frequent(values: list[list[str]], min_df: float) -> ObjectArray:
    counts = Counter(v for row in values for v in set(row))
    least = _number_of(min_df, len(values))
    return np.array(sorted(v for v, n in counts.items() if n >= least), dtype=object)
