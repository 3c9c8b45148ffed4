"""Sixteen leaves at a time, centres fixed: dual coordinate descent on the documents that matter to them.

For leaf b with centre m (its inner neighbours' mean) and total link weight S the sub-problem, divided by S, is

    min_w  1/2 |w - m|^2 + sum_i (C_i / S) loss(y_i w'x_i),       u = w - m = sum_i a_i y_i x_i

Under good centres nearly all documents are far on the right side of the margin, with a_i = 0. A block keeps the
others, its candidates, as a small problem of its own: their rows, features renumbered, so that weights stay in cache.
`screen` looks at all documents again and renews the candidates; nothing is certified without it. The first candidates
are the positive documents and a random sample, which keeps the common weights from drifting while nobody else looks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linnaeus._kernels import dispatch
from linnaeus.models.recursive.leaves import LeafBlock, Measured
from linnaeus.models.recursive.together import REACH, Pairs
from linnaeus.models.solvers.dual_cd import LOSSES, PANEL
from linnaeus.models.solvers.rows import Rows, aligned_zeros
from linnaeus.typing import FloatArray, IntArray

__all__ = ["ScreenedBlock", "ScreenedLeaves"]

SLACK = 0.1  # margins this far on the right side still make a candidate
MOST = 2000  # candidates that a screening may bring in at once, or as many as there are: the worst
SAMPLE = 2000  # documents in the first random sample


@dataclass
class ScreenedBlock(LeafBlock):
    """``alpha`` (candidates x 16); ``candidates`` None means all documents."""

    candidates: IntArray | None = None
    alpha: FloatArray = field(default_factory=lambda: np.empty((0, PANEL)))
    local: Any = field(default=None, repr=False)  # made from the documents where it is missing

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "local": None}

    def forget(self) -> None:
        self.local = None

    def arrays(self) -> dict[str, Any]:
        found = {"alpha": self.alpha}
        return found if self.candidates is None else {**found, "candidates": self.candidates}

    @property
    def dual_U(self) -> FloatArray:
        return self.U


@dataclass(frozen=True)
class _Local:
    """A block's candidates as a problem of their own; ``features`` ends with the constant's number."""

    rows: Rows
    features: IntArray
    labels: tuple[Any, Any]
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
    def dtype(self) -> Any:
        return self.rows.data.dtype

    @property
    def n_features(self) -> int:
        return self.rows.n_features + 1

    @property
    def screens(self) -> bool:
        """Whether documents can be left out: the logistic loss is never zero, dense documents gain nothing."""
        return self.loss != "logistic" and not self.rows.dense

    @property
    def moves_together(self) -> bool:
        """Whether `together` knows the loss."""
        return self.loss == "squared_hinge" and not self.rows.dense

    # -- blocks --------------------------------------------------------------------------------------------------------

    def begin(self, block: LeafBlock) -> ScreenedBlock:
        """Dual variables at their start, 0 (or near it where they live in an open interval)."""
        found = ScreenedBlock(**block.__dict__)
        n_docs = self.rows.n_docs
        if self.screens:
            rng = np.random.default_rng([self.seed, block.number])
            sample = np.flatnonzero(rng.random(n_docs) < SAMPLE / n_docs)
            found.candidates = np.union1d(block.positives[0], sample).astype(np.int32)
        n = n_docs if found.candidates is None else len(found.candidates)
        found.alpha = aligned_zeros((n, PANEL), self.dtype)
        if self.loss == "logistic":
            found.alpha[:] = np.minimum(1e-3 * self.bound * found.weight(self.dtype).min(), 1e-8)[:, None]
        return self._settle(found)

    def resume(self, block: LeafBlock, arrays: dict[str, Any]) -> ScreenedBlock:
        """A block from what `ScreenedBlock.arrays` gave, for this problem or for another of the same shape.

        With weights ``U`` among them, these are taken instead of those that the dual variables give. Labels and weights
        of documents may have changed since: positive documents are candidates, and dual variables go to the nearest
        that their bounds allow.
        """
        found = ScreenedBlock(**block.__dict__)
        given = np.arange(self.rows.n_docs)
        if "candidates" in arrays:
            given = np.asarray(arrays["candidates"])
            found.candidates = np.union1d(given, block.positives[0]).astype(np.int32)
        rows = np.arange(self.rows.n_docs) if found.candidates is None else found.candidates
        found.alpha = aligned_zeros((len(rows), PANEL), self.dtype)
        found.alpha[np.searchsorted(rows, given)] = arrays["alpha"]
        if self.loss != "squared_hinge":
            upper = self._upper(block, rows)
            least, most = (1e-6 * upper, (1 - 1e-6) * upper) if self.loss == "logistic" else (0, upper)
            inside = (found.alpha > 0) & (found.alpha < upper) if self.loss == "logistic" else found.alpha <= upper
            found.alpha[:] = np.where(inside, found.alpha, np.clip(found.alpha, least, most))
        self._settle(found)
        if "U" in arrays:
            found.U = aligned_zeros(found.U.shape, self.dtype)
            found.U[:] = arrays["U"]
        return found

    def _upper(self, block: LeafBlock, rows: IntArray) -> FloatArray:
        """Bounds of the dual variables, rows x 16."""
        weight = block.weight(self.dtype)
        upper = self.bound[rows][:, None] * weight[1]
        i, b = block.positives
        at = np.searchsorted(rows, i)
        upper[at, b] = self.bound[i] * weight[0, b]
        return upper

    def _settle(self, block: ScreenedBlock) -> ScreenedBlock:
        block.local = None
        block.features = self._local(block).features
        block.U = self._rebuilt(block).astype(self.dtype)
        return block

    def _local(self, block: ScreenedBlock) -> _Local:
        if block.local is None:
            block.local = self._make_local(block)
        return block.local

    def _make_local(self, block: ScreenedBlock) -> _Local:
        rows, candidates = self.rows, block.candidates
        if candidates is None:
            every = np.arange(rows.n_features + 1, dtype=np.int32)
            return _Local(rows, every, _labels(block.positives, np.arange(rows.n_docs)), self.bound)
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
        if not len(take):  # kernels want a first element to point at
            indices, data = np.zeros(1, np.int32), np.zeros(1, data.dtype)
        norms = rows.squared_norm[candidates]
        local = Rows(indptr, indices, data, False, norms, rows.bias, len(features) - 1, None)
        return _Local(local, features, _labels(block.positives, candidates), self.bound[candidates])

    # -- work ----------------------------------------------------------------------------------------------------------

    def visit(self, block: ScreenedBlock, centre: FloatArray, sweep: int) -> ScreenedBlock:
        """Some epochs over the candidates, centres given at the block's features."""
        local, kernel, dtype = self._local(block), dispatch.best("dual_cd"), self.dtype
        alpha = block.alpha if block.alpha.flags.writeable else block.alpha.copy()
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

    def measure(self, block: ScreenedBlock, centre: FloatArray) -> Measured:
        """What the candidates cost, u rebuilt from the dual variables; other documents may cost more."""
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

    def near(self, block: ScreenedBlock, centre: FloatArray, counts: Any) -> Pairs:
        """Pairs of documents and of the columns that count, near the margin or beyond it."""
        local, n, W = self._local(block), len(block.alpha) * PANEL, aligned_zeros(centre.shape, self.dtype)
        np.add(centre, block.U, out=W)
        weight = np.zeros((2, PANEL), self.dtype)
        weight[:, : block.n_columns] = block.weight(self.dtype)[:, : block.n_columns] * block.total * counts
        rows, coefficient, margin = np.empty(n, np.int32), np.empty(n, self.dtype), np.empty(n, self.dtype)
        found = dispatch.best("screen").near(
            *local.rows.matrix, local.bound, weight, self.rows.bias, *local.labels, W, REACH, rows, coefficient, margin
        )
        documents = rows[:found] if block.candidates is None else block.candidates[rows[:found]]
        return documents.copy(), coefficient[:found].copy(), margin[:found].copy()

    def screen(self, block: ScreenedBlock, centre: FloatArray, exact: bool) -> Measured:
        """What all documents cost, centres given at all features; ``exact`` for certificates, else new candidates."""
        if block.candidates is None:
            return self.measure(block, centre)
        own, used = centre[block.features], block.features
        found = self.measure(block, own)
        W = centre if centre.flags.writeable else centre.copy()
        W[used] += block.U  # in place for a while: it is large
        worst, primal = np.empty(self.rows.n_docs, np.float32), np.zeros(PANEL)
        dispatch.best("screen").screen(
            *self.rows.matrix, self.bound, block.weight(self.dtype), LOSSES[self.loss], self.rows.bias,
            *_labels(block.positives, np.arange(self.rows.n_docs)), W, block.n_columns, exact, primal, worst,
        )  # fmt: skip
        W[used] = own
        loss = block.scaled(primal)
        found.missed = loss - found.loss
        found.pairs, found.loss = found.pairs + found.missed, loss
        if not exact:
            self._renew(block, worst)
        return found

    def _renew(self, block: ScreenedBlock, worst: FloatArray) -> None:
        """New candidates: rows in use, positive rows, and of the others those within the slack, the worst if many."""
        old, alpha = block.candidates, block.alpha
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
        block.alpha = aligned_zeros((len(block.candidates), PANEL), self.dtype)
        block.alpha[np.searchsorted(block.candidates, old[used])] = alpha[used]
        self._settle(block)

    def _rebuilt(self, block: ScreenedBlock) -> FloatArray:
        """u = sum a y x in double precision: rounding in the weights cannot fake a certificate."""
        local = self._local(block)
        U = np.zeros((len(local.features), PANEL))
        dispatch.best("dual_cd").rebuild(*local.rows.matrix, local.rows.bias, *local.labels, block.alpha, U)
        U[:, block.n_columns :] = 0
        return U


def _labels(positives: tuple[IntArray, IntArray], candidates: IntArray) -> tuple[Any, Any]:
    """Positive columns of every candidate as the kernels take them."""
    rows, columns = positives
    counts = np.bincount(np.searchsorted(candidates, rows), minlength=len(candidates))
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return indptr, columns if len(columns) else np.zeros(1, np.uint8)
