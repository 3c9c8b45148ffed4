"""Array aliases and small protocols used across the rooms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
ObjectArray: TypeAlias = npt.NDArray[np.object_]
CSR: TypeAlias = Any  # scipy.sparse.csr_array; scipy ships no usable types
Matrix: TypeAlias = Any  # CSR or dense two-dimensional array

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")


class Engine(Protocol):
    """Where independent blocks of work run; results come back in the order of the tasks.

    ``function(shared, task)`` is a plain function of a module; ``shared`` (the documents) reaches every worker once.
    """

    n_workers: int

    def map(self, function: Callable[[S, T], R], tasks: Iterable[T], shared: S) -> Iterator[R]: ...


class Kernel(Protocol):
    """A kernel on documents of any kind: vectors, sequences, rows of a Gram matrix.

    ``prepare`` validates raw documents once; what it returns has a length and takes slices and arrays of row numbers.
    """

    def prepare(self, X: Any) -> Any: ...

    def __call__(self, A: Any, B: Any) -> FloatArray:
        """The Gram block of prepared documents, len(A) x len(B)."""
        ...

    def diagonal(self, A: Any) -> FloatArray:
        """K(x, x) of every document of A."""
        ...
