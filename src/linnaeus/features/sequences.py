"""Sequences of tokens as whole numbers: what string kernels compare.

A sequence is a string, read by characters or by words, or any list of tokens: strings, numbers, tuples of them. Every
token has one code that depends on the token alone, so that documents encoded on different days compare: a character its
code point, any other token a 62-bit hash (two of n different tokens share one with probability below n^2 / 2^63).

    codes    (n_tokens,)   int64, sequence after sequence
    offsets  (n_docs + 1,) int64, where each begins
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar, cast

import numpy as np

from linnaeus.errors import DataError, ParameterError, nearest
from linnaeus.features.documents import columns_of, one_field
from linnaeus.taxonomy.closure import pointers
from linnaeus.typing import Array, IntArray

__all__ = ["Sequences", "encode"]

T = TypeVar("T")
Alphabet = str | Iterable[object] | None  # the tokens that may occur; None: all

UNITS = ("character", "word")
UNKNOWN = ("error", "skip")
_HASHED = 2**32  # codes from here on are hashes; characters are below


class Sequences:
    """Encoded sequences; rows are taken with slices, row numbers or masks.

    Examples
    --------
    >>> made = encode(["ACGT", "", "TT"])
    >>> len(made), made.lengths.tolist()
    (3, [4, 0, 2])
    >>> made[[2, 0]].codes.tolist() == [84, 84, 65, 67, 71, 84]
    True
    """

    def __init__(self, codes: IntArray, offsets: IntArray, names: Mapping[int, str] | None = None) -> None:
        self.codes = codes
        self.offsets = offsets
        self.names = {} if names is None else names  # of tokens that are not characters, for display
        self._kept: dict[Hashable, object] = {}

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"Sequences({len(self):,} documents, {len(self.codes):,} tokens)"

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)

    @property
    def lengths(self) -> IntArray:
        """Number of tokens of each sequence."""
        return np.diff(self.offsets)

    @property
    def letters(self) -> IntArray:
        """The codes that occur, ascending."""
        found: IntArray = self.keep("letters", lambda: np.unique(self.codes))
        return found

    def __getitem__(self, rows: slice | IntArray) -> Sequences:
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step == 1:
                stop = max(start, stop)
                begin, end = self.offsets[start], self.offsets[stop]
                return Sequences(self.codes[begin:end], self.offsets[start : stop + 1] - begin, self.names)
        rows = np.atleast_1d(np.arange(len(self))[rows])
        lengths = self.lengths[rows]
        offsets = pointers(lengths)
        source = np.repeat(self.offsets[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Sequences(self.codes[source], offsets, self.names)

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_kept": {}}  # what is computed of sequences is not sent with them

    def keep(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` computes of these sequences, computed once: they never change."""
        if key not in self._kept:
            self._kept[key] = make()
        return cast("T", self._kept[key])

    def spell(self, codes: Iterable[int]) -> str:
        """Tokens as a readable string: characters side by side, others with blanks between."""
        return spell(codes, self.names)

    def state(self) -> tuple[dict[str, object], dict[str, Array]]:
        """Everything as (values, arrays), in narrow types."""
        letters = self.letters
        used = {str(code): self.names[code] for code in letters.tolist() if code in self.names}
        codes = np.searchsorted(letters, self.codes)
        narrow = np.uint8 if len(letters) <= 2**8 else np.uint16 if len(letters) <= 2**16 else np.int32
        return {"names": used}, {"letters": letters, "codes": codes.astype(narrow), "offsets": self.offsets}

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> Sequences:
        """The inverse of `state`.

        Examples
        --------
        >>> Sequences.from_state(*encode(["AC", "G"]).state()).codes.tolist()
        [65, 67, 71]
        """
        names = {int(code): name for code, name in values["names"].items()}
        letters = np.asarray(arrays["letters"], dtype=np.int64)
        return cls(letters[arrays["codes"]], np.asarray(arrays["offsets"], dtype=np.int64), names)


def encode(
    documents: object, *, unit: str = "character", alphabet: Alphabet = None, unknown: str = "error"
) -> Sequences:
    """Documents as codes.

    Parameters
    ----------
    documents : object
        Strings, or lists (tuples, arrays) of tokens: strings, numbers, or tuples of them.
    unit : str, default="character"
        Whether strings are read by "character", or by "word" (between blanks).
    alphabet : Alphabet, default=None
        The tokens that are expected, a string or a list; None allows all.
    unknown : str, default="error"
        Tokens outside the alphabet are an "error", or "skip" leaves them out, so that what stands left and right of
        them become neighbours.

    Examples
    --------
    >>> encode(["ACXG"], alphabet="ACGT", unknown="skip").lengths.tolist()
    [3]
    >>> encode([["a", "b"], [7, ("x", 1)]]).lengths.tolist()
    [2, 2]
    """
    if isinstance(documents, Sequences):
        return _within(documents, alphabet, unknown)
    _one_of("unit", unit, UNITS)
    rows = _as_list(documents, unit)
    texts = [row for row in rows if isinstance(row, str)]
    if len(texts) == len(rows):
        made = _characters(texts)
    else:
        made = _tokens([row if isinstance(row, str) else list(row) for row in rows])
    return _within(made, alphabet, unknown)


def spell(codes: Iterable[int], names: Mapping[int, str]) -> str:
    """Codes as a readable string; hashed tokens need their ``names``."""
    codes = [int(code) for code in codes]
    between = "" if all(code < _HASHED for code in codes) else " "
    return between.join(chr(code) if code < _HASHED else names.get(code, "?") for code in codes)


def _as_list(documents: object, unit: str) -> list[Sequence[object]]:
    if isinstance(documents, (str, bytes)) or not hasattr(documents, "__iter__"):
        kind = "a single string" if isinstance(documents, (str, bytes)) else type(documents).__name__
        raise DataError(f"A list of sequences is expected; got {kind}.")
    if isinstance(documents, Mapping) or hasattr(documents, "columns"):  # a data frame
        columns = columns_of(documents)
        if len(columns) != 1:
            raise DataError(f"Sequences are one field; got the fields {', '.join(map(repr, columns))}.")
        documents = next(iter(columns.values()))
    tokens = getattr(documents, "ndim", 1) == 2 and isinstance(documents, np.ndarray)  # rows of tokens
    found: list[Sequence[object]] = []
    for i, document in enumerate(documents if tokens else one_field(documents)):
        if isinstance(document, str):
            found.append(document if unit == "character" else document.split())
        elif isinstance(document, (list, tuple)) or (isinstance(document, np.ndarray) and document.ndim == 1):
            found.append(cast("Sequence[object]", document))
        else:
            shown = repr(document) if len(repr(document)) <= 40 else repr(document)[:37] + "..."
            raise DataError(f"Document {i} is {shown}; a sequence is a string or a list of tokens.")
    return found


def _characters(texts: list[str]) -> Sequences:
    offsets = pointers([len(text) for text in texts])
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    return Sequences(points.astype(np.int64), offsets)


def _tokens(documents: list[Sequence[object]]) -> Sequences:
    offsets = pointers([len(document) for document in documents])
    code_of: dict[tuple[type, object], int] = {}
    codes = np.empty(int(offsets[-1]), dtype=np.int64)
    for position, token in enumerate(chain.from_iterable(documents)):
        key = (type(token), token)
        try:
            code = code_of.get(key)
        except TypeError:
            code = _code(token)  # says what a token is
        if code is None:
            code = code_of[key] = _code(token)
        codes[position] = code
    names = {code: str(token) for (_, token), code in code_of.items() if code >= _HASHED}
    return Sequences(codes, offsets.astype(np.int64), names)


def _code(token: object) -> int:
    """The code of a token: the same on every machine and day, which Python's own hashes are not."""
    if isinstance(token, str) and len(token) == 1:
        return ord(token)
    digest = hashlib.blake2b(_written(token).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return _HASHED + (int.from_bytes(digest, "little") >> 2)


def _written(token: object) -> str:
    """A token as text that distinguishes it from all others."""
    if isinstance(token, np.generic):
        token = token.item()
    if isinstance(token, tuple):
        return f"({','.join(map(_written, token))})"
    if isinstance(token, (str, bytes, int, float)):  # True is a number here, too
        return f"{'number' if isinstance(token, (int, float)) else type(token).__name__}:{token!r}"
    raise DataError(f"Tokens are strings, numbers or tuples of them; got {type(token).__name__} {token!r}.")


def _within(made: Sequences, alphabet: Alphabet, unknown: str) -> Sequences:
    _one_of("unknown", unknown, UNKNOWN)
    if alphabet is None:
        return made
    expected = encode([list(alphabet)]).letters
    strange = np.setdiff1d(made.letters, expected)
    if not len(strange):
        return made
    at = np.isin(made.codes, strange)
    if unknown == "error":
        raise DataError(_stranger(made, int(np.flatnonzero(at)[0]), int(at.sum()), alphabet))
    lengths = np.add.reduceat(np.append(~at, False), made.offsets[:-1]) if len(made) else np.zeros(0, np.int64)
    lengths = np.where(made.lengths > 0, lengths, 0)  # reduceat takes an empty stretch for the token after it
    return Sequences(made.codes[~at], pointers(lengths), made.names)


def _stranger(made: Sequences, position: int, count: int, alphabet: Iterable[object]) -> str:
    document = int(np.searchsorted(made.offsets, position, side="right")) - 1
    token = made.spell([int(made.codes[position])])
    tokens = list(map(str, alphabet))
    known = "".join(tokens) if all(len(t) == 1 for t in tokens) else ", ".join(tokens[:10])
    hint = nearest(token, tokens) if len(token) > 1 else "."
    return (
        f"Document {document} has the token {token!r} at place {position - made.offsets[document]}, which is not in "
        f"the alphabet {known!r} ({count:,} such tokens in all; unknown='skip' leaves them out){hint or '.'}"
    )


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ParameterError(
            f"{name}={value!r}; expected {' or '.join(map(repr, allowed))}{nearest(str(value), allowed)}"
        )
