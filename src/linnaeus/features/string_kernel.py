"""What string kernels share: parameters, sequences as documents, normalisation, Gram blocks on an engine.

    K(s, t) = sum over l = q .. p of weight_l K_l(s, t) ,      normalised  K(s, t) / sqrt(K(s, s) K(t, t))

K_l compares pieces of l tokens; which pieces, and how, is what the kernels differ in. A sequence without any piece (it
is shorter than q) has norm 0: its rows and its own value are 0, and `prepare` warns how many there are.

`piece_gram` computes Gram blocks through explicit pieces: K = Phi(A) Phi(B)', both sparse, some rows of A at a time.
Phi(B) over the pieces of B is made once and kept with B by columns; pieces of A that B lacks add nothing.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from linnaeus._kernels import dispatch
from linnaeus.engine import get_engine
from linnaeus.engine.limits import blocks, rows_that_fit
from linnaeus.errors import ParameterError, check_number
from linnaeus.features.pieces import PieceMap, Vocabulary
from linnaeus.features.sequences import Alphabet, Sequences, encode
from linnaeus.typing import Engine, FloatArray, IntArray

__all__ = ["StringKernel", "normalise", "piece_gram", "weights_of"]

_RUN_ONLY = ("n_jobs", "engine")  # how to run, not what is computed


@dataclass(frozen=True)
class StringKernel(ABC):
    """Base of the kernels on sequences."""

    p: int = 4
    q: int | None = None
    weights: Sequence[float] | None = None
    unit: str = "character"
    alphabet: Alphabet = None
    unknown: str = "error"
    normalise: bool = True
    n_jobs: int | None = None
    engine: str | Engine | None = None

    def __post_init__(self) -> None:
        check_lengths(self.p, self.q, self.weights)
        encode([], unit=self.unit, alphabet=self.alphabet, unknown=self.unknown)  # validates the three

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of pieces, q .. p."""
        return lengths_of(self.p, self.q)

    def prepare(self, X: object) -> Sequences:
        """Sequences as codes; see `linnaeus.features.sequences.encode` for what may be given."""
        made = encode(X, unit=self.unit, alphabet=self.alphabet, unknown=self.unknown)
        given = [length for length, weight in zip(self.lengths, self._weights(), strict=True) if weight > 0]
        short = int((made.lengths < given[0]).sum())
        if short:
            warnings.warn(
                f"{short:,} of {len(made):,} sequences have fewer than {given[0]} tokens: their kernel values are 0.",
                stacklevel=2,
            )
        return made

    def __call__(self, A: Sequences, B: Sequences) -> FloatArray:
        """The Gram block, len(A) x len(B); rows and columns of sequences without a piece are 0."""
        engine = get_engine(self.engine, self.n_jobs)
        K = self._gram(A, B, engine)
        return normalise(K, self._squares(A, engine), self._squares(B, engine)) if self.normalise else K

    def diagonal(self, A: Sequences) -> FloatArray:
        """K(s, s) of every sequence: 1 or, without a piece, 0 where the kernel is normalised."""
        squares = self._squares(A, get_engine(self.engine, self.n_jobs))
        return (squares > 0).astype(np.float64) if self.normalise else squares

    def to_dict(self) -> dict[str, object]:
        """Parameters as plain values; how to run is not among them."""
        found = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _RUN_ONLY}
        for name in ("weights", "alphabet"):
            if found[name] is not None and not isinstance(found[name], str):
                found[name] = list(found[name])
        return found

    def _weights(self) -> tuple[float, ...]:
        return weights_of(self.p, self.q, self.weights)

    def _squares(self, A: Sequences, engine: Engine) -> FloatArray:
        """K(s, s) before it is normalised; computed once for every set of sequences."""
        key = ("squares", type(self).__name__, *(str(value) for value in self.to_dict().values()))
        found: FloatArray = A.keep(key, lambda: self._squared_norms(A, engine))
        return found

    @abstractmethod
    def _gram(self, A: Sequences, B: Sequences, engine: Engine) -> FloatArray: ...

    @abstractmethod
    def _squared_norms(self, A: Sequences, engine: Engine) -> FloatArray: ...


def check_lengths(p: int, q: int | None, weights: Sequence[float] | None) -> None:
    """Refuse lengths and weights that say nothing."""
    check_number("p", p, least=1, whole=True)
    if q is not None:
        check_number("q", q, least=1, whole=True)
        if q > p:
            raise ParameterError(f"q={q}, p={p}; pieces have q to p tokens, so q is at most p.")
    if weights is None:
        return
    wanted = len(lengths_of(p, q))
    if len(weights) != wanted:
        raise ParameterError(f"{len(weights)} weights were given; expected {wanted}, one for each length.")
    for weight in weights:
        check_number("weights", weight, least=0)
    if not any(weights):
        raise ParameterError("All weights are 0; expected one above 0.")


def lengths_of(p: int, q: int | None) -> tuple[int, ...]:
    """q .. p; p alone where q is None."""
    return tuple(range(p if q is None else q, p + 1))


def weights_of(p: int, q: int | None, weights: Sequence[float] | None) -> tuple[float, ...]:
    """A weight for each length; 1 where none are given."""
    return tuple(map(float, weights)) if weights is not None else (1.0,) * len(lengths_of(p, q))


def normalise(K: FloatArray, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """K / sqrt(rows x columns), in place; 0 where a norm is 0. What was symmetric stays so to the last bit.

    Examples
    --------
    >>> normalise(np.array([[6.0, 1.0]]), np.array([4.0]), np.array([9.0, 0.0])).tolist()
    [[1.0, 0.0]]
    """
    for part in blocks(len(K), rows_that_fit(8 * len(columns), 16 * 2**20)):
        norms = np.sqrt(rows[part, None] * columns)
        np.divide(K[part], norms, out=K[part], where=norms > 0)
        K[part][norms <= 0] = 0
    return K


class _Indexed(NamedTuple):
    """Phi(B) by columns: the documents that hold each piece."""

    vocabulary: Vocabulary
    indptr: IntArray
    documents: IntArray
    values: FloatArray
    n_docs: int


def piece_gram(pieces: PieceMap, A: Sequences, B: Sequences, engine: Engine) -> FloatArray:
    """K(s, t) for s in A and t in B, before normalisation.

    Examples
    --------
    >>> from linnaeus.engine import SerialEngine
    >>> from linnaeus.features.sequences import encode
    >>> piece_gram(PieceMap((2,), (1.0,)), encode(["banana"]), encode(["ananas", "x"]), SerialEngine()).tolist()
    [[8.0, 0.0]]
    """
    indexed: _Indexed = B.keep(pieces, lambda: _index(pieces, B, engine))
    K = np.empty((len(A), len(B)))
    if not K.size:
        return K
    tasks = list(blocks(len(A), rows_that_fit(8 * len(B), 16 * 2**20)))
    for rows, part in zip(tasks, engine.map(_rows_of_gram, tasks, (pieces, A, indexed)), strict=True):
        K[rows] = part
    return K


def _index(pieces: PieceMap, B: Sequences, engine: Engine) -> _Indexed:
    vocabulary = pieces.learn(B, engine=engine)
    columns = pieces.features(B, vocabulary, engine).tocsc()
    documents, values = _never_empty(columns.indices.astype(np.int32), columns.data)
    return _Indexed(vocabulary, columns.indptr.astype(np.int64), documents, values, len(B))


def _rows_of_gram(shared: tuple[PieceMap, Sequences, _Indexed], rows: slice) -> FloatArray:
    pieces, A, B = shared
    X = pieces.features(A[rows], B.vocabulary)
    K = np.empty((X.shape[0], B.n_docs))
    indices, data = _never_empty(X.indices.astype(np.int32), X.data)
    kernel = dispatch.best("strings")
    kernel.piece_gram(X.indptr.astype(np.int64), indices, data, B.indptr, B.documents, B.values, K)
    return K


def _never_empty(indices: IntArray, data: FloatArray) -> tuple[IntArray, FloatArray]:
    """Compiled code takes the address of a first entry, even where none is used."""
    return (indices, data) if len(indices) else (np.zeros(1, np.int32), np.zeros(1))
