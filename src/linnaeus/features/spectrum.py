"""The substring spectrum of sequences: a kernel, and the same as explicit features for linear models.

    K_l(s, t) = sum over strings v of length l of count_v(s) count_v(t)                 overlapping occurrences count

A sequence shorter than l has no pieces of that length. Leslie, Eskin, Noble, The spectrum kernel (PSB 2002).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linnaeus.engine import get_engine
from linnaeus.errors import DataError, check_number
from linnaeus.features.documents import DocumentTransformer
from linnaeus.features.sequences import Alphabet, Sequences, encode
from linnaeus.features.string_kernel import (
    PieceMap,
    StringKernel,
    Vocabulary,
    check_lengths,
    lengths_of,
    piece_gram,
    weights_of,
)
from linnaeus.taxonomy.closure import pointers
from linnaeus.typing import CSR, Array, Engine, FloatArray, IntArray, ObjectArray

__all__ = ["SpectrumFeatures", "SpectrumKernel"]


@dataclass(frozen=True)
class SpectrumKernel(StringKernel):
    """Substrings of p tokens, or of q to p tokens.

    Parameters
    ----------
    p : int, default=4
        Length of the longest substrings.
    q : int, default=None
        Length of the shortest ones; None is ``p``.
    weights : sequence of float, default=None
        Weight of every length from ``q`` to ``p``; None weights all by 1.
    unit : str, default="character"
        "character" or "word": what strings are made of.
    alphabet : str or list, default=None
        The tokens that are expected; None allows all.
    unknown : str, default="error"
        Tokens outside the alphabet are an "error", or "skip" leaves them out.
    normalise : bool, default=True
        Divide by the norms, so that K(s, s) = 1.
    n_jobs : int, default=None
        Number of threads; None is 1, -1 all cores.
    engine : str or Engine, default=None
        Where Gram blocks run; default: by ``n_jobs``.

    Examples
    --------
    >>> kernel = SpectrumKernel(p=3, q=1, normalise=False)
    >>> A = kernel.prepare(["banana", "ananas"])
    >>> kernel(A, A).tolist(), kernel.diagonal(A).tolist()
    ([[29.0, 26.0], [26.0, 29.0]], [29.0, 29.0])
    """

    def _pieces(self) -> PieceMap:
        return PieceMap(self.lengths, self._weights())

    def _gram(self, A: Sequences, B: Sequences, engine: Engine) -> FloatArray:
        return piece_gram(self._pieces(), A, B, engine)

    def _squared_norms(self, A: Sequences, engine: Engine) -> FloatArray:
        return self._pieces().squared_norms(A, engine)


class SpectrumFeatures(DocumentTransformer):
    """Sequences to sparse counts of substrings, whole or with gaps, for linear models.

    Rows of the training sequences have the inner products of `SpectrumKernel`, or with ``max_gap`` of
    `SubsequenceKernel` with ``gaps_only``. Substrings that training did not see have no column, but count in the norm.

    Parameters
    ----------
    p : int, default=4
        Length of the longest substrings.
    q : int, default=None
        Length of the shortest ones; None is ``p``.
    weights : sequence of float, default=None
        Weight of every length from ``q`` to ``p``; None weights all by 1.
    max_gap : int, default=0
        Maximum number of tokens that a substring may leave out in all.
    decay : float, default=1.0
        Factor for each token that is left out.
    min_df : int, default=1
        Minimum number of training sequences of a substring.
    unit : str, default="character"
        "character" or "word": what strings are made of.
    alphabet : str or list, default=None
        The tokens that are expected; None allows all.
    unknown : str, default="error"
        Tokens outside the alphabet are an "error", or "skip" leaves them out.
    normalise : bool, default=True
        Rows of length 1.
    dtype : str, default="float32"
        "float32" or "float64".
    n_jobs : int, default=None
        Number of threads; None is 1, -1 all cores.

    Examples
    --------
    >>> features = SpectrumFeatures(p=2, normalise=False).fit(["banana"])
    >>> features.get_feature_names_out().tolist(), features.transform(["ananas"]).toarray().tolist()
    (['an', 'ba', 'na'], [[2.0, 0.0, 2.0]])
    """

    columns_are_terms = False

    def __init__(
        self,
        p: int = 4,
        q: int | None = None,
        *,
        weights: Sequence[float] | None = None,
        max_gap: int = 0,
        decay: float = 1.0,
        min_df: int = 1,
        unit: str = "character",
        alphabet: Alphabet = None,
        unknown: str = "error",
        normalise: bool = True,
        dtype: str = "float32",
        n_jobs: int | None = None,
    ) -> None:
        self.p = p
        self.q = q
        self.weights = weights
        self.max_gap = max_gap
        self.decay = decay
        self.min_df = min_df
        self.unit = unit
        self.alphabet = alphabet
        self.unknown = unknown
        self.normalise = normalise
        self.dtype = dtype
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object = None) -> SpectrumFeatures:
        """Learn the substrings of the training sequences."""
        self._learn(X)
        return self

    def fit_transform(self, X: object, y: object = None, **unused: object) -> CSR:
        """`fit`, then `transform` of the same sequences, encoding them once."""
        return self._rows(self._learn(X))

    def transform(self, X: object) -> CSR:
        """Counts over the substrings of training, n_docs x n_substrings."""
        check_is_fitted(self, "vocabulary_")
        return self._rows(self._encoded(X))

    def known_terms(self, documents: object) -> IntArray:
        """Number of different substrings of each sequence that were seen in `fit`.

        0 where its row is empty, and where most of its tokens do not occur in the training sequences at all, as in a
        text that is taken for a protein.

        Parameters
        ----------
        documents : list of str or list of list
            Sequences as `transform` takes them.

        Returns
        -------
        ndarray of shape (n_documents,)
            Number of known substrings of each sequence.

        Examples
        --------
        >>> SpectrumFeatures(p=2).fit(["banana"]).known_terms(["ananas", "xyz", ""]).tolist()
        [2, 0, 0]
        """
        check_is_fitted(self, "vocabulary_")
        A = self._encoded(documents)
        met = pointers(np.isin(A.codes, self.vocabulary_.letters))
        known = met[A.offsets[1:]] - met[A.offsets[:-1]]
        return np.where(2 * known < A.lengths, 0, np.diff(self._rows(A).indptr))

    def get_feature_names_out(self, input_features: object = None) -> ObjectArray:
        """The substrings, in the order of the columns."""
        check_is_fitted(self, "vocabulary_")
        return np.array(self._pieces().spelled(self.vocabulary_, self.names_), dtype=object)

    def _learn(self, X: object) -> Sequences:
        check_lengths(self.p, self.q, self.weights)
        check_number("max_gap", self.max_gap, least=0, whole=True)
        check_number("decay", self.decay, above=0)
        check_number("min_df", self.min_df, least=1, whole=True)
        A = self._encoded(X)
        self.vocabulary_ = self._pieces().learn(A, self.min_df, get_engine(None, self.n_jobs))
        self.names_ = {code: A.names[code] for code in self.vocabulary_.letters.tolist() if code in A.names}
        if not self.vocabulary_.n_pieces:
            shortest = lengths_of(self.p, self.q)[0]
            raise DataError(
                f"None of the {len(A):,} sequences has a substring of {shortest} tokens (min_df={self.min_df})."
            )
        return A

    def _rows(self, A: Sequences) -> CSR:
        engine = get_engine(None, self.n_jobs)
        X = self._pieces().features(A, self.vocabulary_, engine)
        if self.normalise:
            squares = np.repeat(self._pieces().squared_norms(A, engine), np.diff(X.indptr))
            X.data /= np.sqrt(squares)
        return X.astype(self.dtype)

    def _encoded(self, X: object) -> Sequences:
        return encode(X, unit=self.unit, alphabet=self.alphabet, unknown=self.unknown)

    def _pieces(self) -> PieceMap:
        weights = weights_of(self.p, self.q, self.weights)
        return PieceMap(lengths_of(self.p, self.q), weights, int(self.max_gap), float(self.decay))

    def state(self) -> tuple[dict[str, object], dict[str, Array]]:
        """What `transform` needs as (values, arrays)."""
        check_is_fitted(self, "vocabulary_")
        parameters = self.get_params(deep=False)
        parameters.pop("n_jobs")
        for name in ("weights", "alphabet"):
            if parameters[name] is not None and not isinstance(parameters[name], str):
                parameters[name] = list(parameters[name])
        names = {str(code): name for code, name in self.names_.items()}
        numbers = {f"numbers{i}": array for i, array in enumerate(self.vocabulary_.numbers)}
        return {"parameters": parameters, "names": names}, {"letters": self.vocabulary_.letters, **numbers}

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> SpectrumFeatures:
        """The inverse of `state`.

        Examples
        --------
        >>> made = SpectrumFeatures(p=2).fit(["banana"])
        >>> again = SpectrumFeatures.from_state(*made.state())
        >>> (again.transform(["nab"]) != made.transform(["nab"])).nnz
        0
        """
        made = cls(**values["parameters"])
        n_lengths = len(lengths_of(made.p, made.q))
        numbers = tuple(np.asarray(arrays[f"numbers{i}"]) for i in range(n_lengths))
        made.vocabulary_ = Vocabulary(np.asarray(arrays["letters"]), numbers)
        made.names_ = {int(code): name for code, name in values["names"].items()}
        return made
