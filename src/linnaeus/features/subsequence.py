"""The gap-weighted subsequence kernel: pieces of l tokens in their order, with gaps that count less and less.

    phi_v(s) = sum over places i_1 < ... < i_l of v in s of decay^(i_l - i_1 + 1)       spans, or with gaps_only
    phi_v(s) = sum over places i_1 < ... < i_l of v in s of decay^(i_l - i_1 + 1 - l)   what is left out

    K_l(s, t) = sum over v of phi_v(s) phi_v(t) ,     K_l by spans = decay^(2 l) K_l by gaps

Without a bound on the gaps all K_1 .. K_p come from one dynamic program of p |s| |t| steps (`subsequence.h`), for as
many t at once as a register row has lanes; sequences of similar length go together. With ``max_gap`` pieces are counted
(`string_kernel`). Lodhi and others, Text classification using string kernels (JMLR 2002).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from linnaeus._kernels import dispatch
from linnaeus.errors import DataError, ParameterError, check_choice, check_number
from linnaeus.features.sequences import Sequences
from linnaeus.features.string_kernel import PieceMap, StringKernel, piece_gram
from linnaeus.taxonomy.closure import pointers
from linnaeus.typing import Engine, FloatArray, IntArray

__all__ = ["SubsequenceKernel"]

LANE_BYTES = 64
MOST_LEVELS = 16
ROWS = 64  # sequences of A that meet one group of B in a task; a multiple of the lanes, so that no group is divided


@dataclass(frozen=True)
class SubsequenceKernel(StringKernel):
    """Subsequences of p tokens, or of q to p tokens, weighted by their gaps.

    Parameters
    ----------
    p : int, default=4
        Length of the longest subsequences, at most 16 where gaps are not bounded.
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
    decay : float, default=0.5
        What a token of the span (or of the gaps) multiplies by, above 0 and at most 1.
    max_gap : int, default=None
        Maximum number of tokens left out in all; None for any number.
    gaps_only : bool, default=False
        Weight what is left out instead of the whole span. Only ranges of lengths differ, once normalised.
    precision : str, default="double"
        "single" is twice as fast as "double" and right to about six digits.

    Examples
    --------
    >>> kernel = SubsequenceKernel(p=2, decay=0.5)
    >>> A = kernel.prepare(["car", "cat"])
    >>> kernel(A, A).round(4).tolist()
    [[1.0, 0.4444], [0.4444, 1.0]]
    """

    decay: float = 0.5
    max_gap: int | None = None
    gaps_only: bool = False
    precision: str = "double"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("decay", self.decay, above=0)
        if self.decay > 1:
            raise ParameterError(f"decay={self.decay!r}; expected a number above 0, at most 1.")
        check_choice("precision", self.precision, ("single", "double"))
        if self.max_gap is not None:
            check_number("max_gap", self.max_gap, least=0, whole=True)
            self._pieces()
        elif self.p > MOST_LEVELS:
            raise ParameterError(f"p={self.p}; expected at most {MOST_LEVELS} where max_gap=None.")

    def by_length(self, A: Sequences, B: Sequences) -> FloatArray:
        """K_1 .. K_p by gaps, neither weighted nor normalised, p x len(A) x len(B); for any gap.

        Examples
        --------
        >>> kernel = SubsequenceKernel(p=2, decay=0.5)
        >>> kernel.by_length(kernel.prepare(["banana"]), kernel.prepare(["ananas"])).ravel().tolist()
        [13.0, 11.640625]
        """
        shared = _Pairs(A, B, self)
        K = np.zeros((self.p, len(A), len(B)))
        for task in shared.tasks(symmetric=False):
            rows, columns, values = _levels(shared, task)
            K[:, rows[:, None], columns] = values.transpose(1, 0, 2)
        return K

    def _level_weights(self) -> FloatArray:
        """Of K_q .. K_p by gaps."""
        lengths = np.array(self.lengths)
        spans = 1.0 if self.gaps_only else float(self.decay) ** (2 * lengths)
        return np.asarray(np.array(self._weights()) * spans)

    def _pieces(self) -> PieceMap:
        return PieceMap(self.lengths, tuple(self._level_weights().tolist()), int(self.max_gap or 0), float(self.decay))

    def _gram(self, A: Sequences, B: Sequences, engine: Engine) -> FloatArray:
        if self.max_gap is not None:
            return piece_gram(self._pieces(), A, B, engine)
        symmetric = A is B
        pairs = _Pairs(A, B, self)
        K = np.zeros((len(A), len(B)))
        for rows, columns, values in engine.map(_weighted, pairs.tasks(symmetric), pairs):
            if symmetric:  # what was computed of s and t is taken for t and s, which sums in another order
                own = np.isin(rows, columns)
                if own.any():
                    values[own] = np.triu(values[own]) + np.triu(values[own], 1).T
                K[columns[:, None], rows] = values.T
            K[rows[:, None], columns] = values
        return K

    def _squared_norms(self, A: Sequences, engine: Engine) -> FloatArray:
        if self.max_gap is not None:
            return self._pieces().squared_norms(A, engine)
        pairs = _Pairs(A, A, self)
        squares = np.zeros(len(A))
        for rows, values in engine.map(_own, pairs.groups(), pairs):
            squares[rows] = values
        return squares


class _Pairs:
    """Two sets of sequences with common codes from 0 in the type of the sums; B in the order of lengths."""

    def __init__(self, A: Sequences, B: Sequences, kernel: SubsequenceKernel) -> None:
        self.dtype = np.dtype(np.float32 if kernel.precision == "single" else np.float64)
        self.lanes = LANE_BYTES // self.dtype.itemsize
        self.p, self.decay, self.lengths = kernel.p, float(kernel.decay), kernel.lengths
        self.weights = kernel._level_weights()
        letters = B.letters if A is B else np.union1d(A.letters, B.letters)
        self.A, self.A_offsets = np.searchsorted(letters, A.codes).astype(self.dtype), A.offsets
        self.B, self.B_offsets = np.searchsorted(letters, B.codes).astype(self.dtype), B.offsets
        self.order = np.argsort(B.lengths, kind="stable")

    def groups(self) -> Iterator[IntArray]:
        """Sequences of B of similar length, as many as there are lanes."""
        return (self.order[i : i + self.lanes] for i in range(0, len(self.order), self.lanes))

    def tasks(self, symmetric: bool) -> Iterator[tuple[IntArray, IntArray]]:
        """(rows of A, columns of B); where A is B only rows up to the columns in the order of lengths."""
        ordered = self.order if symmetric else np.arange(len(self.A_offsets) - 1)
        for number, columns in enumerate(self.groups()):
            stop = min(len(ordered), (number + 1) * self.lanes) if symmetric else len(ordered)
            for start in range(0, stop, ROWS):
                yield ordered[start : min(start + ROWS, stop)], columns

    def side_by_side(self, columns: IntArray) -> FloatArray:
        """Some sequences of B as columns; -1 where one has ended or is missing."""
        longest = max(1, int((self.B_offsets[columns + 1] - self.B_offsets[columns]).max()))
        T = np.full((longest, self.lanes), -1, dtype=self.dtype)
        for lane, column in enumerate(columns):
            codes = self.B[self.B_offsets[column] : self.B_offsets[column + 1]]
            T[: len(codes), lane] = codes
        return T

    def rows(self, rows: IntArray) -> tuple[FloatArray, IntArray]:
        """Codes and offsets of some sequences of A; one code more than there are, whose address may be taken."""
        parts = [self.A[self.A_offsets[row] : self.A_offsets[row + 1]] for row in rows]
        offsets = pointers([len(part) for part in parts])
        return np.concatenate([*parts, np.zeros(1, self.dtype)]), offsets


def _levels(pairs: _Pairs, task: tuple[IntArray, IntArray]) -> tuple[IntArray, IntArray, FloatArray]:
    """K_1 .. K_p of rows with columns, rows x p x columns."""
    rows, columns = task
    codes, offsets = pairs.rows(rows)
    T = pairs.side_by_side(columns)
    longest = max(1, int(np.diff(offsets).max()))
    scratch = np.empty(max(1, pairs.lanes * (pairs.p - 1) * (len(T) + 2 * longest)), dtype=pairs.dtype)
    out = np.empty((len(rows), pairs.p, pairs.lanes), dtype=pairs.dtype)
    dispatch.best("strings").gap_weighted(codes, offsets, T, pairs.decay, scratch, out)
    if not np.isfinite(out[:, -1]).all():
        raise DataError(
            f"Sums over subsequences of {pairs.p} tokens with decay {pairs.decay:g} are too large for "
            f"{pairs.dtype.name}; expected a smaller decay or p, shorter sequences, or precision='double'."
        )
    return rows, columns, out[:, :, : len(columns)]


def _weighted(pairs: _Pairs, task: tuple[IntArray, IntArray]) -> tuple[IntArray, IntArray, FloatArray]:
    """The weighted sum over lengths, rows x columns."""
    rows, columns, values = _levels(pairs, task)
    total = np.zeros((len(rows), len(columns)))
    for length, weight in zip(pairs.lengths, pairs.weights, strict=True):
        total += weight * values[:, length - 1].astype(np.float64)
    return rows, columns, total


def _own(pairs: _Pairs, group: IntArray) -> tuple[IntArray, FloatArray]:
    """K(s, s) of a group."""
    _, _, values = _weighted(pairs, (group, group))
    return group, np.diagonal(values).copy()
