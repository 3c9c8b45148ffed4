"""Many small binary problems, each over its own documents: the families of a taxonomy, solved some at a time.

A family is a set of rows (the documents that reach a place of the taxonomy) and columns (what is decided there):

    for every column b of family f:   min_w  1/2 |w|^2 + sum_{i in rows(f)} c_i loss(y_ib w'x_i)

A taxonomy has thousands of families, most of them of a few dozen documents. Families with equally many columns are
therefore put below one another in one matrix in which every family has features of its own (those that occur in its
documents, and its own constant):

    rows of f |  X_f  .   .            column b of the panel is then a direct sum of independent problems, the b-th
    rows of g |   .  X_g  .            of every family: sixteen columns at a time, one pass, no feature that does
    rows of h |   .   .  X_h           not occur. The objective and the certified gap of a pack are sums over it.

Dense documents use all features anyway; there a pack is one family.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from linnaeus.engine import Clock
from linnaeus.models.solvers import PANEL, Seed
from linnaeus.models.solvers.dual_cd import BinaryTraining, prepare_training, solve_columns
from linnaeus.taxonomy.closure import pointers
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix

__all__ = ["Family", "LocalSolution", "LocalTraining", "Pack", "packs", "solve_pack"]

_SHARE = 3.0  # times its part of the time that a pack may take
_PACK_ROWS = 8192  # of all families of a pack together; a larger family is a pack of its own


@dataclass(frozen=True)
class Family:
    """Documents ``rows`` (increasing), one column for each entry of ``columns``.

    ``positives`` holds, for every column, the positions in ``rows`` of its positive documents, increasing.
    """

    rows: IntArray
    columns: IntArray
    positives: list[IntArray]


@dataclass(frozen=True)
class LocalTraining:
    """What all packs share: checked documents, the bound c_i of each, the loss, the constant, and when to stop."""

    X: Matrix
    bound: FloatArray
    loss: str
    bias: float
    tol: float
    max_iter: int
    clock: Clock = field(default_factory=Clock)
    n_workers: int = 1


@dataclass(frozen=True)
class Pack:
    """Families of equal width below one another; family f has the rows ``starts[f]:starts[f + 1]``."""

    rows: IntArray
    starts: IntArray
    columns: IntArray  # n_families x width
    positives: CSR  # n_rows x width

    @property
    def size(self) -> int:
        """A measure of the work: rows of all columns."""
        return len(self.rows) * self.columns.shape[1]


@dataclass(frozen=True)
class LocalSolution:
    """Weights of a pack as entries (feature, column, value); intercepts beside ``columns``."""

    features: IntArray
    owners: IntArray
    values: FloatArray
    columns: IntArray
    intercept: FloatArray
    objective: float
    gap: float
    n_iter: int
    converged: bool
    out_of_time: bool = False


def packs(families: Iterable[Family], *, dense: bool) -> list[Pack]:
    """Families as packs of at most sixteen columns, in an order that depends on nothing but the families.

    Examples
    --------
    >>> few = Family(np.arange(4), np.array([7, 8]), [np.array([0, 1]), np.array([2])])
    >>> more = Family(np.array([1, 5]), np.array([3, 4]), [np.array([0]), np.array([1])])
    >>> [pack.rows.tolist() for pack in packs([few, more], dense=False)]
    [[0, 1, 2, 3, 1, 5]]
    >>> packs([few, more], dense=False)[0].positives.toarray().tolist()
    [[1, 0], [1, 0], [0, 1], [0, 0], [1, 0], [0, 1]]
    """
    waiting: dict[int, list[Family]] = {}
    room: dict[int, int] = {}
    found: list[Pack] = []
    for family in families:
        for start in range(0, len(family.columns), PANEL):
            part = slice(start, start + PANEL)
            piece = Family(family.rows, family.columns[part], family.positives[part])
            width = len(piece.columns)
            waiting.setdefault(width, []).append(piece)
            room[width] = room.get(width, _PACK_ROWS) - len(piece.rows)
            if dense or room[width] <= 0:
                found.append(_packed(waiting.pop(width)))
                del room[width]
    return found + [_packed(waiting[width]) for width in sorted(waiting)]


def _packed(families: list[Family]) -> Pack:
    from scipy import sparse

    starts = pointers(np.array([len(family.rows) for family in families]))
    width = len(families[0].columns)
    rows, columns = [], []
    for family, start in zip(families, starts.tolist(), strict=False):
        rows += [start + where for where in family.positives]
        columns += [np.full(len(where), b, np.int32) for b, where in enumerate(family.positives)]
    at = np.concatenate(rows), np.concatenate(columns)
    positives = sparse.csr_array((np.ones(len(at[0]), np.int8), at), shape=(int(starts[-1]), width))
    positives.sort_indices()
    members = np.stack([family.columns for family in families])
    return Pack(np.concatenate([family.rows for family in families]), starts, members, positives)


def solve_pack(training: LocalTraining, task: tuple[Pack, Seed, float]) -> LocalSolution:
    """Solve all columns of a pack; ``task`` is (pack, seed of the row order, work that is left over that of the pack).

    A pack may take some times its part of the time that is left: many are solved in less.
    """
    pack, seed, left = task
    clock = training.clock.part(left / _SHARE, training.n_workers)
    X, bound = training.X[pack.rows], training.bound[pack.rows]
    n_families, width = pack.columns.shape
    if isinstance(X, np.ndarray):
        found = solve_columns(
            _timed(training, X, bound, training.bias, clock),
            (pack.positives, seed),
        )
        features, family = np.arange(X.shape[1]), np.zeros(X.shape[1], np.int64)
        weights, intercept = np.asarray(found.weights), found.intercept[None, :]
    else:
        apart, features, family = _apart(X, pack.starts, training.bias)
        found = solve_columns(
            _timed(training, apart, bound, 0.0, clock),
            (pack.positives, seed),
        )
        solved = np.asarray(found.weights)
        weights = solved[: len(features)]
        intercept = np.zeros((n_families, width), X.dtype)
        if training.bias:
            intercept[:] = solved[len(features) :] * X.dtype.type(training.bias)
    entry, column = np.nonzero(weights)
    return LocalSolution(
        features[entry], pack.columns[family[entry], column], weights[entry, column], pack.columns, intercept,
        float(found.objective.sum()), float(found.gap.sum()), found.n_iter, found.converged,
        not found.converged and found.n_iter < training.max_iter and clock.over,
    )  # fmt: skip


def _timed(training: LocalTraining, X: Matrix, bound: FloatArray, bias: float, clock: Clock) -> BinaryTraining:
    laid_out = prepare_training(X, bound, bias=bias, loss=training.loss, tol=training.tol, max_iter=training.max_iter)
    return replace(laid_out, clock=clock)


def _apart(X: CSR, starts: IntArray, bias: float) -> tuple[CSR, IntArray, IntArray]:
    """X with features of their own for every family: the matrix, and of each of its features the one it was and whose.

    With a constant, its column for family f comes after all features, at position f.
    """
    from scipy import sparse

    n_families, n_features = len(starts) - 1, X.shape[1]
    family_of_row = np.repeat(np.arange(n_families), np.diff(starts))
    if n_families == 1:
        keys = np.flatnonzero(np.bincount(X.indices, minlength=n_features))
        lookup = np.zeros(n_features, np.int32)
        lookup[keys] = np.arange(len(keys), dtype=np.int32)
        local = lookup[X.indices]
    else:
        family_of_entry = np.repeat(family_of_row, np.diff(X.indptr))
        keys, local = np.unique(family_of_entry * n_features + X.indices, return_inverse=True)
    data, indptr, width = X.data, X.indptr, len(keys)
    if bias:
        local = np.insert(local, indptr[1:], width + family_of_row)
        data = np.insert(data, indptr[1:], X.dtype.type(bias))
        indptr, width = indptr + np.arange(len(indptr)), width + n_families
    apart = sparse.csr_array((data, local.astype(np.int32), indptr.astype(np.int32)), shape=(X.shape[0], width))
    return apart, keys % n_features, keys // n_features
