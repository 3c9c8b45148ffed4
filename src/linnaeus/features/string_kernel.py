"""What string kernels share: parameters, sequences as documents, normalisation, Gram blocks on an engine.

    K(s, t) = sum over l = q .. p of weight_l K_l(s, t) ,      normalised  K(s, t) / sqrt(K(s, s) K(t, t))

K_l compares pieces of l tokens; which pieces, and how, is what the kernels differ in. A sequence without any piece (it
is shorter than q) has norm 0: its rows and its own value are 0, and `prepare` warns how many there are.

`piece_gram` computes Gram blocks through explicit pieces: K = Phi(A) Phi(B)', both sparse, some rows of A at a time.
Phi(B) over the pieces of B is made once and kept with B by columns; pieces of A that B lacks add nothing.

The explicit features of a sequence say how often every piece of l tokens occurs, whole or with gaps.

A piece v of length l occurs in s at places i_1 < ... < i_l; its total gap is  (i_l - i_1 + 1) - l. With at most G,

    phi_v(s) = sqrt(weight_l) * sum over occurrences of v with gap <= G of decay^gap ,      K(s, t) = <phi(s), phi(t)>

G = 0 is the substring spectrum. An occurrence is a place and one of C(l - 1 + G, G) patterns of steps, so features are
counted, never searched for. A piece is numbered by its letters in base n_letters where 62 bits hold that, otherwise by
a 62-bit hash (two of n different pieces share one with probability below n^2 / 2^63).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import sparse

from linnaeus._kernels import dispatch
from linnaeus.engine import blocks, get_engine, rows_that_fit
from linnaeus.errors import ParameterError, check_number, warn_user
from linnaeus.features.sequences import Alphabet, Sequences, encode, spell
from linnaeus.taxonomy.closure import pointers
from linnaeus.typing import CSR, BoolArray, Engine, FloatArray, IntArray

__all__ = ["PieceMap", "StringKernel", "Vocabulary", "normalise", "piece_gram", "weights_of"]

MOST_PATTERNS = 2_000  # per place; the recursion without a maximal gap is faster long before
_BITS = 2**62
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Vocabulary(NamedTuple):
    """Pieces that are features: the letters they consist of, and the numbers of the pieces of each length."""

    letters: IntArray
    numbers: tuple[IntArray, ...]

    @property
    def n_pieces(self) -> int:
        return sum(map(len, self.numbers))


@dataclass(frozen=True)
class PieceMap:
    """Which pieces count, and how much: lengths with their weights (of K), the largest total gap, the decay of a gap.

    Examples
    --------
    >>> from linnaeus.features.sequences import encode
    >>> banana = encode(["banana"])
    >>> pieces = PieceMap((2,), (1.0,))
    >>> vocabulary = pieces.learn(banana)
    >>> pieces.features(banana, vocabulary).toarray().tolist(), pieces.spelled(vocabulary, {})
    ([[2.0, 1.0, 2.0]], ['an', 'ba', 'na'])
    """

    lengths: tuple[int, ...]
    weights: tuple[float, ...]
    max_gap: int = 0
    decay: float = 1.0

    def __post_init__(self) -> None:
        patterns = sum(len(_patterns(self.lengths[-1], gap, MOST_PATTERNS)) for gap in range(self.max_gap + 1))
        if patterns > MOST_PATTERNS:
            raise ParameterError(
                f"max_gap={self.max_gap} with p={self.lengths[-1]} has more than {MOST_PATTERNS:,} patterns of gaps; "
                "expected fewer, or max_gap=None (no bound), which costs the same for every gap."
            )

    def learn(self, A: Sequences, least: int = 1, engine: Engine | None = None) -> Vocabulary:
        """The pieces that occur in at least ``min_df`` of these sequences."""
        letters = A.letters
        numbers = []
        for length in self.lengths:
            found = np.concatenate([counted.numbers for counted in self._count(A, letters, length, engine)])
            unique, documents = np.unique(found, return_counts=True)
            numbers.append(unique[documents >= least])
        return Vocabulary(letters, tuple(numbers))

    def features(self, A: Sequences, vocabulary: Vocabulary, engine: Engine | None = None) -> CSR:
        """phi of all sequences over a vocabulary, n_docs x n_pieces; other pieces are left out."""
        blocks = []
        for length, weight, known in zip(self.lengths, self.weights, vocabulary.numbers, strict=True):
            parts = [_over(known, counted) for counted in self._count(A, vocabulary.letters, length, engine)]
            blocks.append(np.sqrt(weight) * sparse.csr_array(sparse.vstack(parts)))
        return blocks[0] if len(blocks) == 1 else sparse.csr_array(sparse.hstack(blocks))

    def squared_norms(self, A: Sequences, engine: Engine | None = None) -> FloatArray:
        """K(s, s), over all pieces of s whatever the vocabulary."""
        total = np.zeros(len(A))
        for length, weight in zip(self.lengths, self.weights, strict=True):
            parts = [counted.squares() for counted in self._count(A, A.letters, length, engine)]
            total += weight * np.concatenate(parts)
        return total

    def spelled(self, vocabulary: Vocabulary, names: Mapping[int, str]) -> list[str]:
        """The pieces as text, in the order of the columns; hashed ones by their number."""
        written = []
        for length, numbers in zip(self.lengths, vocabulary.numbers, strict=True):
            if not _is_exact(len(vocabulary.letters), length):
                written += [f"#{number:x}" for number in numbers.tolist()]
                continue
            powers = len(vocabulary.letters) ** np.arange(length - 1, -1, -1, dtype=np.int64)
            digits = numbers[:, None] // powers % len(vocabulary.letters)
            written += [spell(codes, names) for codes in vocabulary.letters[digits].tolist()]
        return written

    def _count(self, A: Sequences, letters: IntArray, length: int, engine: Engine | None) -> list[_Counted]:
        """Counts of some documents at a time, so that the occurrences fit into memory."""
        task = (self, letters, length)
        if engine is None:
            return [_count_block((A, task), rows) for rows in self._blocks(A, length)]
        return list(engine.map(_count_block, self._blocks(A, length), (A, task)))

    def _blocks(self, A: Sequences, length: int) -> Iterator[slice]:
        patterns = sum(len(_patterns(length, gap)) for gap in range(self.max_gap + 1))
        size = rows_that_fit(40 * patterns)  # tokens
        start = 0
        while start < len(A) or start == 0:
            stop = int(np.searchsorted(A.offsets, A.offsets[start] + size, side="right")) - 1
            stop = max(min(stop, len(A)), start + 1)
            yield slice(start, stop)
            start = stop


class _Counted(NamedTuple):
    """Distinct pieces of some documents: numbers ascending within each, and their values."""

    indptr: IntArray
    numbers: IntArray
    values: FloatArray

    def squares(self) -> FloatArray:
        document = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        total = np.zeros(len(self.indptr) - 1)
        np.add.at(total, document, self.values**2)
        return total


def _count_block(shared: tuple[Sequences, tuple[PieceMap, IntArray, int]], rows: slice) -> _Counted:
    A, (pieces, letters, length) = shared
    part = A[rows]
    n_docs = len(part)
    places, missing = _places(part.codes, letters)
    document = np.repeat(np.arange(n_docs), part.lengths)
    room = part.offsets[1:][document] - np.arange(len(document))  # tokens from here to the end of the document
    numbers, documents, gaps = [], [], []
    for gap in range(pieces.max_gap + 1 if length > 1 else 1):
        starts = np.flatnonzero(room >= length + gap)
        for steps in _patterns(length, gap):
            at = starts if missing is None else starts[~np.any([missing[starts + step] for step in steps], axis=0)]
            numbers.append(_numbered(places, at, steps, len(letters)))
            documents.append(document[at])
            gaps.append(np.full(len(at), gap, np.int8 if gap < 128 else np.int32))
    return _summed(np.concatenate(documents), np.concatenate(numbers), np.concatenate(gaps), n_docs, pieces.decay)


def _summed(documents: IntArray, numbers: IntArray, gaps: IntArray, n_docs: int, decay: float) -> _Counted:
    """Occurrences gathered by document and piece; counts of equal gaps are whole numbers, so that no order matters."""
    most = int(numbers.max(initial=0)) + 1
    widest = int(gaps.max(initial=0)) + 1
    if n_docs * most * widest < _BITS:  # one number says all: sorting is several times faster
        key = np.sort((documents * most + numbers) * widest + gaps)
        distinct = np.flatnonzero(_changes(key))
        counts = np.diff(np.append(distinct, len(key)))
        key = key[distinct]
        documents, numbers, gaps = key // (most * widest), key // widest % most, key % widest
    else:
        order = np.lexsort((gaps, numbers, documents))
        documents, numbers, gaps = documents[order], numbers[order], gaps[order]
        distinct = np.flatnonzero(_changes(documents) | _changes(numbers) | _changes(gaps))
        counts = np.diff(np.append(distinct, len(documents)))
        documents, numbers, gaps = documents[distinct], numbers[distinct], gaps[distinct]
    values = counts * float(decay) ** gaps.astype(np.float64)
    if widest > 1:
        distinct = np.flatnonzero(_changes(documents) | _changes(numbers))
        values = np.add.reduceat(values, distinct) if len(distinct) else values
        documents, numbers = documents[distinct], numbers[distinct]
    indptr = pointers(np.bincount(documents, minlength=n_docs))
    return _Counted(indptr, numbers, values)


def _changes(values: IntArray) -> BoolArray:
    changed = np.ones(len(values), dtype=bool)
    changed[1:] = values[1:] != values[:-1]
    return changed


def _over(known: IntArray, counted: _Counted) -> CSR:
    """Counts as rows over the known pieces."""
    n_docs = len(counted.indptr) - 1
    columns = np.minimum(np.searchsorted(known, counted.numbers), max(0, len(known) - 1))
    there = known[columns] == counted.numbers if len(known) else np.zeros(len(columns), dtype=bool)
    kept = pointers(there)[counted.indptr]
    return sparse.csr_array((counted.values[there], columns[there], kept), shape=(n_docs, len(known)))


def _places(codes: IntArray, letters: IntArray) -> tuple[IntArray, BoolArray | None]:
    """Each code's place among the letters, and which are none of them (None: all are)."""
    places = np.minimum(np.searchsorted(letters, codes), max(0, len(letters) - 1))
    missing = letters[places] != codes if len(letters) else np.ones(len(codes), dtype=bool)
    return places, missing if missing.any() else None


def _is_exact(n_letters: int, length: int) -> bool:
    return n_letters**length < _BITS


def _numbered(places: IntArray, at: IntArray, steps: tuple[int, ...], n_letters: int) -> IntArray:
    """Numbers of the pieces that begin at ``at`` and go in ``steps``."""
    if _is_exact(n_letters, len(steps)):
        numbers = places[at]
        for step in steps[1:]:
            numbers = numbers * n_letters + places[at + step]
        return numbers
    hashed: IntArray = np.zeros(len(at), dtype=np.uint64)
    for step in steps:
        hashed = _mixed(hashed * _MULTIPLIER + places[at + step].astype(np.uint64) + np.uint64(1))
    return (hashed >> np.uint64(2)).astype(np.int64)


def _mixed(x: IntArray) -> IntArray:
    """A bijection of 64 bits that scatters (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _patterns(length: int, gap: int, most: int | None = None) -> list[tuple[int, ...]]:
    """All (0, s_1, ..., s_{length - 1}) with s ascending and the last at length - 1 + gap; at most ``most`` + 1."""
    if length == 1:
        return [(0,)] if gap == 0 else []
    last = length - 1 + gap
    found: list[tuple[int, ...]] = []
    for inner in combinations(range(1, last), length - 2):
        found.append((0, *inner, last))
        if most is not None and len(found) > most:
            break
    return found


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
            warn_user(
                f"{short:,} of {len(made):,} sequences have fewer than {given[0]} tokens: their kernel values are 0."
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
    """Refuse lengths and weights that have no meaning."""
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
