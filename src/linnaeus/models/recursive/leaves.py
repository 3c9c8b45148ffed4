"""Leaves, sixteen at a time, under fixed centres: the protocol of their solvers, and the two that exist.

For leaf b with centre m (the mean of its inner neighbours) and total link weight S the sub-problem, divided by S, is

    min_w  1/2 |w - m|^2 + sum_i (C_i / S) loss(y_i w'x_i),       u = w - m = sum_i a_i y_i x_i

`ScreenedLeaves` (sparse documents, or the hinge): dual coordinate descent on the documents that matter. Under good
centres nearly all documents are far on the right side of the margin, with a_i = 0. A block keeps the others, its
candidates, as a small problem of its own: their rows, features renumbered, so that weights stay in cache. `screen`
looks at all documents again and renews the candidates; nothing is certified without it. The first candidates are the
positive documents and a random sample, which keeps the shared weights from drifting before the first screening.

`DenseLeaves` (dense documents, smooth loss): a few Newton steps per visit, all columns at once. No dual variables are
kept: alpha_i = c_i |loss'(t_i)| is feasible and makes the pair terms of the gap vanish.

The functions at the end are tasks of an engine: plain functions of what is shared and of (block, ...).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt

from linnaeus._kernels import dispatch
from linnaeus.data.check import Problem
from linnaeus.data.matrices import Rows, aligned_zeros, prepare_rows
from linnaeus.models.fitting import document_weights
from linnaeus.models.solvers import cg
from linnaeus.models.solvers.cg import NewtonBlock
from linnaeus.models.solvers.dual_cd import LOSSES, PANEL
from linnaeus.typing import CSR, Array, BoolArray, FloatArray, IntArray, Matrix

__all__ = [
    "DenseLeaves",
    "LeafBlock",
    "LeafMeasure",
    "LeafSolver",
    "LocalProblem",
    "MarginPairs",
    "ScreenedLeaves",
    "candidates_of_block",
    "kernel_labels_of",
    "leaf_blocks",
    "make_leaf_solver",
    "measure_block",
    "pairs_of_block",
    "screen_block",
    "visit_block",
]

SLACK = 0.1  # margins this far on the right side still make a candidate
MOST = 2000  # candidates that a screening may add at once, or as many as there are: the worst
SAMPLE = 2000  # documents in the first random sample
REACH = 0.2  # margins this far on the right side are listed for common moves, which may make them wrong

MarginPairs = tuple[IntArray, FloatArray, FloatArray]  # documents, y c and 1 - y w'x of pairs of document and leaf


# -- blocks ------------------------------------------------------------------------------------------------------------


@dataclass
class LeafBlock:
    """Up to 16 consecutive leaves; ``U`` (features x 16) is how far their weights are from their centres.

    ``alpha`` (candidates x 16) are dual variables, None where the solver keeps none; ``candidates`` None means all
    documents. ``dual_U`` is sum alpha y x / S at the weights that were measured last.
    """

    number: int
    columns: IntArray
    total: FloatArray  # S, the weight of all links of a leaf
    positive_weight: FloatArray
    positives: tuple[IntArray, IntArray]  # documents (sorted) and columns of the positive pairs
    features: IntArray = field(default_factory=lambda: np.empty(0, np.int32))
    U: FloatArray = field(default_factory=lambda: np.empty((0, PANEL)))
    candidates: IntArray | None = None
    alpha: FloatArray | None = None
    measured_dual: FloatArray | None = None
    active: IntArray | None = None  # rows in work until the next measure, None for all, and the gradients from which
    limits: FloatArray | None = None  # others rest (2 x 16): of `coupled.CoupledLeaves`
    local: LocalProblem | None = field(default=None, repr=False)  # recomputed from the documents where it is missing

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "local": None}

    @property
    def n_columns(self) -> int:
        return len(self.columns)

    @property
    def dual_U(self) -> FloatArray:
        return self.U if self.measured_dual is None else self.measured_dual

    def make_writable(self) -> FloatArray:
        """Dual variables that can be changed in place, as U can; those of a stored solution are copied."""
        assert self.alpha is not None
        if not self.alpha.flags.writeable:
            self.alpha, self.U = self.alpha.copy(), self.U.copy()
        return self.alpha

    def release(self) -> None:
        """Release what can be recomputed."""
        self.local = None

    def arrays(self) -> dict[str, Array]:
        """What a later run needs to continue: the dual variables, or the weights where there are none."""
        if self.alpha is None:
            return {"U": self.U}
        parts = {"candidates": self.candidates, "active": self.active, "limits": self.limits}
        return {"alpha": self.alpha} | {name: part for name, part in parts.items() if part is not None}

    def weight(self, dtype: npt.DTypeLike) -> FloatArray:
        """Weights of positive and negative documents in the sub-problems, which are divided by S."""
        weights = np.ones((2, PANEL), dtype)
        weights[:, : self.n_columns] = self.positive_weight / self.total, 1 / self.total
        return weights

    def scaled(self, per_column: FloatArray) -> float:
        """The sum over the columns of a figure of their sub-problems, multiplied by S again."""
        return float(self.total.astype(np.float64) @ per_column[: self.n_columns])

    def measured(self, loss: FloatArray, dual: FloatArray, W: FloatArray, V: FloatArray) -> LeafMeasure:
        """Sums of the columns' losses and dual terms with weights W, U = W - centre and V = sum alpha y x / S."""
        norm, dual_norm = (np.square(A, dtype=np.float64).sum(axis=0) for A in (self.U, V))
        pairs = loss - dual + np.einsum("ij,ij->j", V, W, dtype=np.float64)
        return LeafMeasure(self, *(self.scaled(sums) for sums in (loss, dual, norm, dual_norm, pairs)))


@dataclass
class LeafMeasure:
    """Sums over a block's leaves: losses, local dual objective, S |u|^2, S |v|^2 with v = sum alpha y x / S.

    ``pairs`` is their part of the gap: how far the leaves are from their optimum under their centres.
    """

    block: LeafBlock
    loss: float
    dual: float
    norm: float
    dual_norm: float
    pairs: float
    missed: float = 0.0  # losses of documents that were not candidates


def leaf_blocks(
    Y: CSR, total: FloatArray, positive_weight: FloatArray, group: IntArray | None = None
) -> Iterator[LeafBlock]:
    """Blocks of consecutive leaves; leaves of two groups never share one. ``Y`` is n_docs x n_leaves, CSC."""
    ends = [] if group is None else (np.flatnonzero(np.diff(group)) + 1).tolist()
    runs = pairwise([0, *ends, Y.shape[1]])
    for number, (start, stop) in enumerate((i, min(i + PANEL, b)) for a, b in runs for i in range(a, b, PANEL)):
        columns = np.arange(start, stop)
        part = Y[:, columns].tocsr()
        part.sort_indices()
        rows = np.repeat(np.arange(part.shape[0], dtype=np.int32), np.diff(part.indptr))
        yield LeafBlock(
            number, columns, total[columns], positive_weight[columns], (rows, part.indices.astype(np.uint8))
        )


# -- solvers -----------------------------------------------------------------------------------------------------------


class LeafSolver(Protocol):
    """What all blocks of leaves share (documents, bounds, loss), and what is done with a block."""

    @property
    def loss(self) -> str: ...

    @property
    def bound(self) -> FloatArray:
        """C_i of every document."""
        ...

    @property
    def dtype(self) -> np.dtype[np.floating[npt.NBitBase]]: ...

    @property
    def n_features(self) -> int:
        """Features of the documents and the constant."""
        ...

    @property
    def documents(self) -> Rows | FloatArray:
        """The documents as the solver holds them."""
        ...

    @property
    def seed(self) -> int: ...

    @property
    def rank(self) -> IntArray | None:
        """Positions of the features of X in the weights; None where these have the same order."""
        ...

    @property
    def screens(self) -> bool:
        """Whether documents are left out between screenings."""
        ...

    @property
    def moves_together(self) -> bool:
        """Whether `pairs_near_margin` is available, for moves of all vertices at once."""
        ...

    def begin(self, block: LeafBlock) -> LeafBlock:
        """A block at its start."""
        ...

    def resume(self, block: LeafBlock, arrays: Mapping[str, Array]) -> LeafBlock:
        """A block from its `LeafBlock.arrays`, for this problem or for another of the same shape."""
        ...

    def visit(self, block: LeafBlock, centre: FloatArray, sweep: int) -> LeafBlock:
        """Move the leaves towards their optimum, centres given at the block's features."""
        ...

    def measure(self, block: LeafBlock, centre: FloatArray) -> LeafMeasure:
        """Losses and dual terms of the candidates, centres given at the block's features."""
        ...

    def screen(self, block: LeafBlock, centre: FloatArray, exact: bool) -> LeafMeasure:
        """Losses and dual terms of all documents, centres given at all features; ``exact`` for certificates."""
        ...

    def pairs_near_margin(self, block: LeafBlock, centre: FloatArray, counts: BoolArray) -> MarginPairs:
        """Pairs of documents and of the columns that count, near the margin or on its wrong side."""
        ...


def make_leaf_solver(
    problem: Problem, *, loss: str, C: float, bias: float, seed: int, rank: IntArray | None = None
) -> LeafSolver:
    """The solver that suits the documents and the loss; ``rank`` is an order of the features made before."""
    X: Matrix = problem.X
    bound = (C * document_weights(problem)).astype(X.dtype)
    if isinstance(X, np.ndarray) and loss in cg.LOSSES:
        return DenseLeaves(X, bound, loss, bias)
    return ScreenedLeaves(prepare_rows(X, bias, rank), bound, loss, seed)


@dataclass(frozen=True)
class LocalProblem:
    """A block's candidates as a problem of their own; ``features`` ends with the constant's number."""

    rows: Rows
    features: IntArray
    labels: tuple[IntArray, Array]
    bound: FloatArray


@dataclass(frozen=True)
class ScreenedLeaves:
    """The documents, the weight C_i of each, the loss; and what is done with a block."""

    rows: Rows
    bound: FloatArray
    loss: str
    seed: int
    epochs: int = 2

    @property
    def documents(self) -> Rows:
        return self.rows

    @property
    def rank(self) -> IntArray | None:
        return self.rows.rank

    @property
    def dtype(self) -> np.dtype[np.floating[npt.NBitBase]]:
        return self.rows.data.dtype

    @property
    def n_features(self) -> int:
        return self.rows.n_features + 1

    @property
    def screens(self) -> bool:
        """The logistic loss is never zero, and of dense documents nothing is gained by leaving some out."""
        return self.loss != "logistic" and not self.rows.dense

    @property
    def moves_together(self) -> bool:
        """Only the squared hinge of sparse documents has common moves."""
        return self.loss == "squared_hinge" and not self.rows.dense

    # -- blocks --------------------------------------------------------------------------------------------------------

    def begin(self, block: LeafBlock) -> LeafBlock:
        """Dual variables at their start, 0 (or near it where their interval is open)."""
        begun = replace(block)
        n_docs = self.rows.n_docs
        if self.screens:
            rng = np.random.default_rng([self.seed, block.number])
            sample = np.flatnonzero(rng.random(n_docs) < SAMPLE / n_docs)
            begun.candidates = np.union1d(block.positives[0], sample).astype(np.int32)
        n = n_docs if begun.candidates is None else len(begun.candidates)
        alpha = begun.alpha = aligned_zeros((n, PANEL), self.dtype)
        if self.loss == "logistic":
            alpha[:] = np.minimum(1e-3 * self.bound * begun.weight(self.dtype).min(), 1e-8)[:, None]
        return self._settle(begun)

    def resume(self, block: LeafBlock, arrays: Mapping[str, Array]) -> LeafBlock:
        """A block from its `LeafBlock.arrays`, for this problem or for another of the same shape.

        With weights ``U`` among them, these are taken instead of those that the dual variables give. Labels and weights
        of documents may have changed since: positive documents are candidates, and dual variables go to the nearest
        that their bounds allow.
        """
        resumed = replace(block)
        given = np.arange(self.rows.n_docs)
        if "candidates" in arrays:
            given = np.asarray(arrays["candidates"])
            resumed.candidates = np.union1d(given, block.positives[0]).astype(np.int32)
        rows = np.arange(self.rows.n_docs) if resumed.candidates is None else resumed.candidates
        alpha = resumed.alpha = aligned_zeros((len(rows), PANEL), self.dtype)
        alpha[np.searchsorted(rows, given)] = arrays["alpha"]
        if self.loss != "squared_hinge":
            upper = self._upper(block, rows)
            least, most = (1e-6 * upper, (1 - 1e-6) * upper) if self.loss == "logistic" else (0, upper)
            inside = (alpha > 0) & (alpha < upper) if self.loss == "logistic" else alpha <= upper
            alpha[:] = np.where(inside, alpha, np.clip(alpha, least, most))
        self._settle(resumed)
        if "U" in arrays:
            resumed.U = aligned_zeros(resumed.U.shape, self.dtype)
            resumed.U[:] = arrays["U"]
        return resumed

    def _upper(self, block: LeafBlock, rows: IntArray) -> FloatArray:
        """Bounds of the dual variables, rows x 16."""
        weight = block.weight(self.dtype)
        upper = self.bound[rows][:, None] * weight[1]
        i, b = block.positives
        at = np.searchsorted(rows, i)
        upper[at, b] = self.bound[i] * weight[0, b]
        return upper

    def _settle(self, block: LeafBlock) -> LeafBlock:
        block.local = None
        block.features = self._local(block).features
        block.U = self._rebuilt(block).astype(self.dtype)
        return block

    def _local(self, block: LeafBlock) -> LocalProblem:
        if block.local is None:
            block.local = self._make_local(block)
        return block.local

    def local(self, block: LeafBlock) -> LocalProblem:
        """The block's own problem."""
        return self._local(block)

    def settle(self, block: LeafBlock) -> None:
        """Make u from the dual variables."""
        block.U, block.measured_dual = self._rebuilt(block).astype(self.dtype), None

    def _make_local(self, block: LeafBlock) -> LocalProblem:
        rows, candidates = self.rows, block.candidates
        if candidates is None:
            every = np.arange(rows.n_features + 1, dtype=np.int32)
            return LocalProblem(rows, every, kernel_labels_of(block.positives, np.arange(rows.n_docs)), self.bound)
        lengths = rows.indptr[candidates + 1] - rows.indptr[candidates]
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        take = np.repeat(rows.indptr[candidates] - indptr[:-1], lengths) + np.arange(indptr[-1])
        indices, data = rows.indices[take], rows.data[take]
        used = np.zeros(rows.n_features + 1, bool)
        used[indices] = used[-1] = True
        features = np.flatnonzero(used).astype(np.int32)
        number = np.empty(rows.n_features + 1, np.int32)
        number[features] = np.arange(len(features), dtype=np.int32)
        indices = number[indices]
        if not len(take):  # kernels need the address of a first element
            indices, data = np.zeros(1, np.int32), np.zeros(1, data.dtype)
        norms = rows.squared_norm[candidates]
        local = Rows(indptr, indices, data, False, norms, rows.bias, len(features) - 1, None)
        return LocalProblem(local, features, kernel_labels_of(block.positives, candidates), self.bound[candidates])

    # -- work ----------------------------------------------------------------------------------------------------------

    def visit(self, block: LeafBlock, centre: FloatArray, sweep: int) -> LeafBlock:
        """Some epochs over the candidates."""
        local, kernel, dtype = self._local(block), dispatch.best("dual_cd"), self.dtype
        alpha = _dual_variables(block)
        alpha = alpha if alpha.flags.writeable else alpha.copy()
        W = aligned_zeros(centre.shape, dtype)
        np.add(centre, block.U, out=W)
        rng = np.random.default_rng([self.seed, sweep, block.number])
        order = rng.permutation(len(alpha)).astype(np.int32)
        never, always = np.full(PANEL, np.inf, dtype), np.full(PANEL, -np.inf, dtype)
        done, extremes = np.zeros(PANEL, np.uint8), np.zeros((2, PANEL), dtype)
        for epoch in range(self.epochs):
            if epoch:
                rng.shuffle(order)
            kernel.sweep(
                *local.rows.matrix, local.rows.squared_norm, local.bound, block.weight(dtype), LOSSES[self.loss],
                local.rows.bias, *local.labels, order, len(order), W, alpha, never, always, done, *extremes,
            )  # fmt: skip
        np.subtract(W, centre, out=W)
        W[:, block.n_columns :] = 0
        block.alpha, block.U = alpha, W
        return block

    def measure(self, block: LeafBlock, centre: FloatArray) -> LeafMeasure:
        """Losses of the candidates, u rebuilt from the dual variables; other documents may add to them."""
        U = self._rebuilt(block)
        block.U = U.astype(self.dtype)
        local, W = self._local(block), aligned_zeros(centre.shape, self.dtype)
        np.add(centre, block.U, out=W)
        primal, dual = np.zeros(PANEL), np.zeros(PANEL)
        dispatch.best("dual_cd").certify(
            *local.rows.matrix, local.bound, block.weight(self.dtype), LOSSES[self.loss], self.rows.bias,
            *local.labels, W, block.alpha, primal, dual,
        )  # fmt: skip
        return block.measured(primal, dual, W, U)

    def pairs_near_margin(self, block: LeafBlock, centre: FloatArray, counts: BoolArray) -> MarginPairs:
        """Pairs of documents and of the columns that count, near the margin or on its wrong side."""
        local, n, W = self._local(block), len(_dual_variables(block)) * PANEL, aligned_zeros(centre.shape, self.dtype)
        np.add(centre, block.U, out=W)
        weight = np.zeros((2, PANEL), self.dtype)
        weight[:, : block.n_columns] = block.weight(self.dtype)[:, : block.n_columns] * block.total * counts
        rows, coefficient, margin = np.empty(n, np.int32), np.empty(n, self.dtype), np.empty(n, self.dtype)
        n = dispatch.best("screen").near(
            *local.rows.matrix, local.bound, weight, self.rows.bias, *local.labels, W, REACH, rows, coefficient, margin
        )
        documents = rows[:n] if block.candidates is None else block.candidates[rows[:n]]
        return documents.copy(), coefficient[:n].copy(), margin[:n].copy()

    def screen(self, block: LeafBlock, centre: FloatArray, exact: bool) -> LeafMeasure:
        """Losses of all documents; without ``exact``, new candidates."""
        if block.candidates is None:
            return self.measure(block, centre)
        measured = self.measure(block, centre[block.features])
        primal, worst = self._look_at_all(block, centre, exact)
        loss = block.scaled(primal)
        measured.missed = loss - measured.loss
        measured.pairs, measured.loss = measured.pairs + measured.missed, loss
        if not exact:
            self._renew(block, worst)
        return measured

    def find_candidates(self, block: LeafBlock, centre: FloatArray) -> LeafBlock:
        """New candidates, as of `screen`; nothing is measured."""
        self._renew(block, self._look_at_all(block, centre, exact=False)[1])
        return block

    def _look_at_all(self, block: LeafBlock, centre: FloatArray, exact: bool) -> tuple[FloatArray, FloatArray]:
        """(losses of the columns; the worst margin of every document, -inf where a bound says that it has none)."""
        W, used, rows = centre if centre.flags.writeable else centre.copy(), block.features, self.rows
        own = W[used]
        W[used] += block.U  # in place, and undone below: it is large
        labels, kernel = kernel_labels_of(block.positives, np.arange(rows.n_docs)), dispatch.best("screen")
        worst, primal = np.full(rows.n_docs, -np.inf, np.float32), np.zeros(PANEL)
        some = np.empty(rows.n_docs, np.int32)
        n = kernel.relevant(
            *rows.matrix[:3], rows.bias, labels[0], W, block.n_columns, 0.0 if exact else -SLACK,
            np.empty((len(W), 2), self.dtype), some,
        )  # fmt: skip
        kernel.screen(
            *rows.matrix, self.bound, block.weight(self.dtype), LOSSES[self.loss], rows.bias, *labels, W,
            block.n_columns, exact, primal, worst, some[:n],
        )  # fmt: skip
        W[used] = own
        return primal, worst

    def _renew(self, block: LeafBlock, worst: FloatArray) -> None:
        """New candidates: rows in use, positive rows, and of the others those within the slack, the worst if many."""
        old, alpha = block.candidates, _dual_variables(block)
        assert old is not None
        used = alpha[:, : block.n_columns].any(axis=1)
        stay = np.zeros(len(worst), bool)
        stay[old[used]] = stay[block.positives[0]] = True
        new = np.flatnonzero((worst > -SLACK) & ~stay)
        most = max(MOST, int(stay.sum()))  # twice as many each time, where all rows matter
        if len(new) > most:
            cut = np.partition(worst[new], -most)[-most]
            above, ties = new[worst[new] > cut], new[worst[new] == cut]
            new = np.concatenate([above, ties[: most - len(above)]])
        stay[new] = True
        block.candidates = np.flatnonzero(stay).astype(np.int32)
        renewed = block.alpha = aligned_zeros((len(block.candidates), PANEL), self.dtype)
        renewed[np.searchsorted(block.candidates, old[used])] = alpha[used]
        self._settle(block)

    def _rebuilt(self, block: LeafBlock) -> FloatArray:
        """u = sum a y x in double precision: rounding in the weights cannot fake a certificate."""
        local = self._local(block)
        U = np.zeros((len(local.features), PANEL))
        dispatch.best("dual_cd").rebuild(*local.rows.matrix, local.rows.bias, *local.labels, block.alpha, U)
        U[:, block.n_columns :] = 0
        return U


def _dual_variables(block: LeafBlock) -> FloatArray:
    assert block.alpha is not None  # `begin` and `resume` made them
    return block.alpha


def kernel_labels_of(positives: tuple[IntArray, IntArray], candidates: IntArray) -> tuple[IntArray, Array]:
    """Positive columns of every candidate as the kernels take them."""
    rows, columns = positives
    counts = np.bincount(np.searchsorted(candidates, rows), minlength=len(candidates))
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return indptr, columns if len(columns) else np.zeros(1, np.uint8)


@dataclass(frozen=True)
class DenseLeaves:
    """Documents X (n_docs x n_features), the weight C_i of each, the loss, the constant feature."""

    X: FloatArray
    bound: FloatArray
    loss: str
    bias: float
    steps: int = 2

    rank = None
    seed = 0
    screens = moves_together = False

    @property
    def documents(self) -> FloatArray:
        return self.X

    @property
    def dtype(self) -> np.dtype[np.floating[npt.NBitBase]]:
        return self.X.dtype

    @property
    def n_features(self) -> int:
        return self.X.shape[1] + 1

    def begin(self, block: LeafBlock) -> LeafBlock:
        return self.resume(block, {"U": np.zeros((self.n_features, PANEL), self.dtype)})

    def resume(self, block: LeafBlock, arrays: Mapping[str, Array]) -> LeafBlock:
        every = np.arange(self.n_features, dtype=np.int32)
        return replace(block, features=every, U=np.array(arrays["U"], self.dtype))

    def visit(self, block: LeafBlock, centre: FloatArray, sweep: int) -> LeafBlock:
        n = block.n_columns
        newton = self._newton(block)
        U = np.zeros_like(block.U)
        U[:, :n] = newton.improve(centre[:, :n], centre[:, :n] + block.U[:, :n], self.steps) - centre[:, :n]
        block.U = U
        return block

    def measure(self, block: LeafBlock, centre: FloatArray) -> LeafMeasure:
        n = block.n_columns
        W = centre + block.U
        sums = np.zeros((2, PANEL))
        sums[0, :n], sums[1, :n], V = self._newton(block).dual(W[:, :n])
        dual = block.measured_dual = np.zeros_like(block.U)
        dual[:, :n] = V
        return block.measured(sums[0], sums[1], W, dual)

    def screen(self, block: LeafBlock, centre: FloatArray, exact: bool) -> LeafMeasure:
        return self.measure(block, centre)

    def pairs_near_margin(self, block: LeafBlock, centre: FloatArray, counts: BoolArray) -> MarginPairs:
        """No pairs: dense documents have no common moves."""
        return np.empty(0, np.int32), np.empty(0, self.dtype), np.empty(0, self.dtype)

    def _newton(self, block: LeafBlock) -> NewtonBlock:
        rows, columns = block.positives
        Y = np.full((len(self.X), block.n_columns), -1, self.dtype)
        Y[rows, columns] = 1
        weight = block.weight(self.dtype)[:, : block.n_columns]
        c = self.bound[:, None] * np.where(Y > 0, weight[0], weight[1])
        return NewtonBlock(self.X, Y, c, self.loss, self.dtype.type(self.bias))


# -- tasks of an engine ------------------------------------------------------------------------------------------------


def visit_block(leaves: LeafSolver, task: tuple[LeafBlock, FloatArray, int]) -> LeafBlock:
    """Task: (block, centres at its features, number of the sweep)."""
    return leaves.visit(*task)


def measure_block(leaves: LeafSolver, task: tuple[LeafBlock, FloatArray]) -> LeafMeasure:
    """Task: (block, centres at its features)."""
    return leaves.measure(*task)


def pairs_of_block(leaves: LeafSolver, task: tuple[LeafBlock, FloatArray, BoolArray]) -> MarginPairs:
    """Task: (block, centres at its features, which columns count)."""
    return leaves.pairs_near_margin(*task)


def candidates_of_block(leaves: ScreenedLeaves, task: tuple[LeafBlock, FloatArray]) -> LeafBlock:
    """Task: (block, centres at all features)."""
    return leaves.find_candidates(*task)


def screen_block(leaves: LeafSolver, task: tuple[LeafBlock, FloatArray, bool]) -> LeafMeasure:
    """Task: (block, centres at all features, exact)."""
    return leaves.screen(*task)
