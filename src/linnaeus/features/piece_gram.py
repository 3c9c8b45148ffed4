"""Gram blocks through explicit pieces: K = Phi(A) Phi(B)', both sparse, some rows of A at a time.

Phi(B) over the pieces of B is made once and kept with B by columns; pieces of A that B lacks add nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linnaeus._kernels import dispatch
from linnaeus.engine.limits import blocks, rows_that_fit
from linnaeus.features.pieces import PieceMap, Vocabulary
from linnaeus.features.sequences import Sequences
from linnaeus.typing import Engine, FloatArray, IntArray

__all__ = ["piece_gram"]


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
