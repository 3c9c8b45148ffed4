"""The joint problem on sparse documents of moderate size: coordinate descent on the dual of the whole.

Eliminating the inner vertices leaves a kernel K between leaves (`leaf_kernel`). With S the link weights of the
leaves and u_n = sum_i a_in y_in x_i (`leaves`), leaves and inner vertices are linear in the dual variables:

    w_m = sum_n S_n K_nm u_n,          inner vertices  M = sum_n S_n u_n moved_n'

A sweep visits blocks of 16 leaves one after the other. In a visit (kernel ``coupled``) the 16 x 16 part of S K couples
the columns: a dual variable moves its own leaf, the inner vertices, and with them the other leaves of the block. The
inner vertices are brought up to date after every visit. This is coordinate descent on one problem, so that P - D falls
without momentum, and as fast as that of a flat problem whose documents are longer by the diagonal of K. The gap is a
sum over pairs of leaf and document; every epoch adds it up as it goes and shows when a certificate is worth its cost.

Sweeps run in one thread, measures and certificates in all. Where there are many inner vertices, bringing them up to
date after every visit costs more than it saves (`fits_coupled`).

On dense documents with a smooth loss, all leaves are solved at once by truncated Newton, inner nodes eliminated.

Eliminating the inner vertices leaves a kernel between leaves, K = diag(1/S) + Q L^-1 Q' (Q their shares in the inner
vertices, L the network's Laplacian with its anchors), and one problem in the leaves' weights W (features x leaves):

    P(W) = 1/2 tr(V K V') + sum of C loss,      W = V K

    gradient  G = V + X'R,      Hessian  dV + X'(D o (X dV K)),      gap  P - D = 1/2 <G, G K>

With K = U diag(k) U', W is written A U' along the axes of K, and documents along their principal axes (`solvers.cg`),
with the squares s of their lengths. The Hessian is then nearly diagonal, 1/k + a s, with the mean curvature a of the
losses: this is the preconditioner. Where documents are dense and features correlated, alternating between leaves and
inner nodes takes far longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from linnaeus._kernels import dispatch
from linnaeus.data.matrices import aligned_zeros, is_sparse
from linnaeus.engine import Clock, blocks
from linnaeus.models.recursive.leaves import (
    DenseLeaves,
    LeafBlock,
    LeafMeasure,
    LocalProblem,
    ScreenedLeaves,
    kernel_labels_of,
)
from linnaeus.models.recursive.network import Network
from linnaeus.models.recursive.solver import JointSolver, add_entries
from linnaeus.models.solvers.cg import (
    Direction,
    NewtonBlock,
    PrincipalAxes,
    Which,
    conjugate_gradients,
    principal_axes,
    step_length,
    whole_dot,
)
from linnaeus.models.solvers.dual_cd import LOSSES, PANEL
from linnaeus.typing import Array, FloatArray, IntArray, Matrix

__all__ = ["CoupledLeaves", "CoupledSolver", "fits_coupled", "leaf_kernel", "newton_start"]

_STEPS, _PRODUCTS, _HALVINGS = 50, 200, 34
_RESIDUAL = 0.3  # of a direction
_ALONE = 1e-3  # of the diagonal of K: with less beside it (pull=inf) leaves have hardly anything in common


def leaf_kernel(network: Network) -> tuple[FloatArray, FloatArray]:
    """(K, leaves x leaves; how each leaf's pull moves the inner vertices, inner x leaves)."""
    from scipy import sparse
    from scipy.sparse.linalg import splu

    n, leaves = network.n_inner, network.n_leaves
    first = np.repeat(network.order, np.diff(network.later_ptr))
    weight, second = network.conductance.astype(np.float64), network.later
    links = sparse.coo_array((weight, (first, second)), shape=(n, n))
    links = links + links.T
    degree = np.asarray(links.sum(axis=1)).ravel() + network.anchor
    laplacian = sparse.csc_array(sparse.diags_array(degree) - links)
    shares = sparse.csr_array(
        (network.leaf_share.astype(np.float64), network.leaf_inner, network.leaf_ptr), shape=(leaves, n)
    )
    moved = splu(laplacian).solve(shares.T.toarray())
    K = np.diag(1 / network.leaf_total.astype(np.float64)) + shares @ moved
    return 0.5 * (K + K.T), moved


def newton_start(solver: JointSolver, tol: float, clock: Clock) -> None:
    """Bring leaves (``U`` of the blocks) and inner vertices to a gap of ``tol``, from the leaves' ``U`` as they stand.

    Steps count as sweeps. Where time is over, the variables are kept in ``newton_at``, and a later call continues
    with them to the same solution.
    """
    leaves, blocks, inner = solver.leaves, solver.blocks, solver.inner
    assert isinstance(leaves, DenseLeaves)
    network, dtype = inner.network, leaves.dtype
    K, moved = leaf_kernel(network)
    Y = np.full((len(leaves.X), network.n_leaves), -1, dtype)
    c = np.empty_like(Y)
    for block in blocks:
        rows, columns = block.positives
        Y[rows, block.columns[columns]] = 1
        weight = block.total * block.weight(dtype)[:, : block.n_columns]  # of the joint problem, not divided by S
        signs = Y[:, block.columns]
        c[:, block.columns] = leaves.bound[:, None] * np.where(signs > 0, weight[0], weight[1])
    problem = _problem(leaves, Y, c, K)
    state = solver.state
    A = solver.newton_at
    if A is None:
        start = np.hstack([block.U[:, : block.n_columns] for block in blocks]) * network.leaf_total
        A = problem.along(start.astype(dtype))
    A, state.sweep, state.newton_done = problem.solve(A, state.sweep, tol, clock)
    V = problem.pulls(A)
    state.measure_first, solver.newton_at = True, None if state.newton_done else A
    for block in blocks:
        block.U[:, : block.n_columns] = V[:, block.columns] / block.total
    M = np.zeros((len(inner.M) * PANEL, network.n_inner), dtype)
    M[: len(V)] = V @ moved.T.astype(dtype)
    inner.solved[:] = inner.M[:] = M.reshape(-1, PANEL, network.n_inner).transpose(0, 2, 1)


def _problem(leaves: DenseLeaves, Y: FloatArray, c: FloatArray, K: FloatArray) -> _Problem:
    """The problem of all leaves along the axes of documents and of K."""
    X, dtype = leaves.X, leaves.dtype
    axes = principal_axes(X, leaves.bound, leaves.bias)
    if axes is None:
        X = np.hstack([X, np.full((len(X), 1), leaves.bias, dtype)])
        axes = PrincipalAxes(X, np.eye(X.shape[1], dtype=dtype), np.zeros(X.shape[1]))
    k: FloatArray = np.diagonal(K)
    U: FloatArray | None = None
    if (np.abs(K).sum(axis=1) - k).max() > _ALONE * k.min():
        k, axes_of_leaves = np.linalg.eigh(K)
        U = axes_of_leaves.astype(dtype)
    return _Problem(NewtonBlock(axes.X, Y, c, leaves.loss, dtype.type(0)), axes, U, k, leaves.bound)


@dataclass
class _Problem:
    """All leaves in one: ``losses`` holds documents along their axes, signs, bounds and loss.

    K = U diag(k) U'; U is None where it is the identity.
    """

    losses: NewtonBlock
    axes: PrincipalAxes
    U: FloatArray | None
    k: FloatArray
    bound: FloatArray

    def _turned(self, V: FloatArray) -> FloatArray:
        """V U."""
        return V if self.U is None else V @ self.U

    def _back(self, A: FloatArray) -> FloatArray:
        """A U'."""
        return A if self.U is None else A @ self.U.T

    def along(self, V: FloatArray) -> FloatArray:
        """The variables A of pulls V."""
        return self._turned(self.axes.axes.T @ V) * self.k.astype(V.dtype)

    def pulls(self, A: FloatArray) -> FloatArray:
        """The pulls V of variables A."""
        return self.axes.axes @ self._back(A / self.k.astype(A.dtype))

    def scores(self, A: FloatArray) -> FloatArray:
        return self.axes.X @ self._back(A)

    def transposed(self, R: FloatArray) -> FloatArray:
        return self._turned(self.axes.X.T @ R)

    def solve(self, A: FloatArray, taken: int, tol: float, clock: Clock) -> tuple[FloatArray, int, bool]:
        """(A, steps taken so far, whether the iteration has ended); every step depends on A alone."""
        every, k = np.arange(A.shape[1]), self.k.astype(A.dtype)
        while taken < _STEPS:
            S, pulls = self.scores(A), A / k
            value, R, D = self.losses.losses_at(S, every)
            P = 0.5 * float(whole_dot(pulls, A)) + float(value.sum())
            G = pulls + self.transposed(R)
            if 0.5 * float(whole_dot(G, G * k)) <= 0.5 * tol * P:
                break
            if clock.over:
                return A, taken, False
            found = self._direction(G, D)
            trial = _Trial(self.losses, S, found.image)
            found = replace(found, preimage=found.x / k)
            step = step_length(found, G, pulls, trial, value.sum(), halvings=_HALVINGS)[0]
            if step == 0:  # rounding leaves no descent
                break
            A, taken = A + step.astype(A.dtype) * found.x, taken + 1
        return A, taken, True

    def _direction(self, G: FloatArray, D: FloatArray) -> Direction:
        """dA and the scores of it, with a residual of the Hessian that is a small part of the gradient."""
        k = self.k.astype(G.dtype)

        def product(p: FloatArray, _: FloatArray) -> tuple[FloatArray, FloatArray]:
            Q = self.scores(p)
            return p / k + self.transposed(D * Q), Q

        share = D.sum(axis=0, dtype=np.float64) / self.bound.sum(dtype=np.float64)  # of each leaf, then of each axis
        share = share if self.U is None else share @ np.square(self.U, dtype=np.float64)
        nearly = 1.0 / self.k + np.outer(self.axes.squares, share)
        inverse = (1.0 / nearly).astype(G.dtype)
        return conjugate_gradients(
            product, -G, precondition=lambda residual: inverse * residual, max_products=_PRODUCTS, tolerance=_RESIDUAL
        )


@dataclass(frozen=True)
class _Trial:
    """Sum of all losses along a line of scores."""

    losses: NewtonBlock
    S: FloatArray
    image: FloatArray

    def __call__(self, t: FloatArray, _: Which) -> FloatArray:
        scores = self.S + t.astype(self.S.dtype) * self.image
        return self.losses.losses(scores, np.arange(scores.shape[1])).sum(keepdims=True)


_MOST_PAIRS, _MOST_VERTICES = 5 * 10**7, 2000
_FEWEST_DOCUMENTS = 2000  # with the squared hinge: of fewer, screenings leave only a handful in work
_MOST_INNER = 16  # inner weights per non-zero of the documents
_REACH = 0.3  # part of tol that pairs may cost which are left alone
# Of tol, as a sweep meets the gap: then the first certificate is made. The logistic loss has a quadratic expansion,
# which is too small, of the gap before the sweep; of the squared hinge, the gap after it is expected from the last two.
_AIM = {"squared_hinge": 0.87, "logistic": 0.5}
_ENOUGH = 0.9
_WHOLE = 2  # sweeps over all rows before gradients tell which of them rest
_WHOLE_EVERY = 4  # and every fourth one afterwards: rows that rest may have come back to the margin
_SHRINK = 0.1  # of the largest projected gradient: a row with more slack than that rests
_GAIN = 0.3  # of the mean of the epoch before: rows with more than that are visited again
_MEASURE_FIRST, _MEASURE_LATEST = 25, 10  # sweeps
_CONSTANT_STEPS = 6
_EPOCHS = {"squared_hinge": 3, "logistic": 1}  # of a visit
_TINY = np.finfo(float).tiny


def fits_coupled(X: Matrix, loss: str, network: Network) -> bool:
    """Whether coordinate descent on the whole problem is the faster way: see the decision on the joint solver."""
    if not is_sparse(X) or loss == "hinge" or X.dtype != np.float32:
        return False
    if loss == "squared_hinge" and X.shape[0] < _FEWEST_DOCUMENTS:
        return False
    vertices = max(network.n_leaves, network.n_inner)
    pairs, inner = X.shape[0] * network.n_leaves, X.shape[1] * network.n_inner
    return pairs <= _MOST_PAIRS and vertices <= _MOST_VERTICES and inner <= _MOST_INNER * max(X.nnz, X.shape[1])


@dataclass(frozen=True)
class CoupledLeaves(ScreenedLeaves):
    """Leaves whose dual variables are kept for all documents."""

    @property
    def screens(self) -> bool:
        """No: rows rest between two measures, and every measure looks at all of them."""
        return False

    @property
    def moves_together(self) -> bool:
        """No: the inner vertices follow in every visit."""
        return False

    def resume(self, block: LeafBlock, arrays: Mapping[str, Array]) -> LeafBlock:
        """As `ScreenedLeaves.resume`; documents that were not candidates get dual variables of 0."""
        if "candidates" in arrays:
            alpha = np.zeros((self.rows.n_docs, PANEL), self.dtype)
            alpha[arrays["candidates"]] = arrays["alpha"]
            arrays = {"alpha": alpha}
        resumed = super().resume(block, arrays)
        resumed.active, resumed.limits = arrays.get("active"), arrays.get("limits")
        return resumed

    def screen(self, block: LeafBlock, centre: FloatArray, exact: bool) -> LeafMeasure:
        """A measure: it looks at all documents."""
        return self.measure(block, centre[block.features])

    @cached_property
    def n_used(self) -> int:
        """Features that some document has; they come first, being sorted by frequency."""
        return int(self.rows.indices[: self.rows.indptr[-1]].max(initial=-1)) + 1

    def _make_local(self, block: LeafBlock) -> LocalProblem:
        """All documents, in the features that are used and the constant: all other weights stay 0."""
        rows = replace(self.rows, n_features=self.n_used)
        features = np.append(np.arange(self.n_used, dtype=np.int32), np.int32(self.rows.n_features))
        return LocalProblem(rows, features, kernel_labels_of(block.positives, np.arange(rows.n_docs)), self.bound)

    def measure(self, block: LeafBlock, centre: FloatArray) -> LeafMeasure:
        """As `ScreenedLeaves.measure`; with the squared hinge, at the best constants for the other weights."""
        if self.loss == "logistic" or not self.rows.bias:
            return super().measure(block, centre)
        V, local = self._rebuilt(block), self._local(block)
        block.U, block.measured_dual = V.astype(self.dtype), V.astype(self.dtype)
        block.U[-1] += self._best_constant(block, centre + block.U)
        primal, dual, W = np.zeros(PANEL), np.zeros(PANEL), aligned_zeros(centre.shape, self.dtype)
        np.add(centre, block.U, out=W)
        dispatch.best("dual_cd").certify(
            *local.rows.matrix, local.bound, block.weight(self.dtype), LOSSES[self.loss], self.rows.bias,
            *local.labels, W, block.alpha, primal, dual,
        )  # fmt: skip
        return block.measured(primal, dual, W, V)

    def _best_constant(self, block: LeafBlock, W: FloatArray) -> FloatArray:
        """How far to move the weights of the constant, to their optimum under fixed other weights, by Newton's method.

        Dual variables leave them a little off, in all documents alike: most of what P has too much.
        """
        kernel, local = dispatch.best("coupled"), self._local(block)
        rows, S = local.rows, aligned_zeros((self.rows.n_docs, PANEL), self.dtype)
        kernel.scores(rows.indptr, rows.indices, rows.data, rows.bias, W, S)
        move, sums = np.zeros(PANEL), np.empty((2, PANEL))
        best, least = np.zeros(PANEL), np.full(PANEL, np.inf)
        for _ in range(_CONSTANT_STEPS):
            kernel.slopes(
                S, local.bound, block.weight(self.dtype), rows.bias, *local.labels, move.astype(self.dtype), sums
            )
            slope = sums[0] + block.U[-1] + move
            best, least = np.where(abs(slope) < least, move, best), np.minimum(abs(slope), least)
            move = move - slope / (sums[1] + 1)
        best[block.n_columns :] = 0
        return best.astype(self.dtype)


@dataclass(frozen=True)
class _Coupling:
    """What the pulls S u of a block's leaves add: T to its own columns, ``reach`` to inner vertices.

    ``reach`` is (n_panels, 16, 16): sixteen inner vertices to a panel, the last one padded.
    """

    T: FloatArray
    inverse: FloatArray
    reach: FloatArray
    node: IntArray  # n_links x 16: inner neighbours of the leaves
    share: FloatArray  # and their shares in the centres, 0 where a leaf has fewer

    @staticmethod
    def zeros(network: Network, columns: IntArray, dtype: npt.DTypeLike) -> _Coupling:
        """The links; all others zero, for columns that the block does not have."""
        indptr, inner, share, _ = network.links(columns)
        lengths = np.diff(indptr)
        n_links = max(1, int(lengths.max(initial=0)))
        shapes = (PANEL, PANEL), (PANEL, PANEL), (-(-network.n_inner // PANEL), PANEL, PANEL), (n_links, PANEL)
        T, inverse, reach, shares = (aligned_zeros(shape, dtype) for shape in shapes)
        node = np.zeros((n_links, PANEL), np.int32)
        column = np.repeat(np.arange(len(columns)), lengths)
        link = np.arange(len(inner)) - indptr[column]
        node[link, column], shares[link, column] = inner, share
        return _Coupling(T, inverse, reach, node, shares)


@dataclass
class CoupledSolver(JointSolver):
    """The same problem and certificate as `JointSolver`, other sweeps."""

    tol: float = 1e-3
    couplings: dict[int, _Coupling] = field(default_factory=dict)
    _features: IntArray = field(default_factory=lambda: np.empty(0, np.int32))  # those of all blocks
    _work: list[FloatArray] = field(default_factory=list)  # features x 16, twice
    _inner: FloatArray | None = None  # inner weights as sweeps move them, features x vertices: see `_padded_inner`

    def _begin(self, tol: float, max_iter: int) -> None:
        self.tol, self._inner = tol, None
        self._couple()
        if self.state.sweep == 0:
            self.state.next_measure = _MEASURE_FIRST
            self._place_inner()

    def _end(self) -> None:
        self._settle()
        if self._inner is not None:
            self._keep_inner(self._inner)

    def _settle(self) -> None:
        """Weights of the dual variables again, where a measure has moved the constants."""
        for block in self.blocks:
            if block.measured_dual is not None:
                block.U, block.measured_dual = block.measured_dual, None

    def release(self) -> None:
        self.couplings, self._work, self._inner = {}, [], None
        super().release()

    def _couple(self) -> None:
        network, dtype = self.inner.network, self.inner.M.dtype
        K, moved = leaf_kernel(network)
        for block in self.blocks:
            n, columns = block.n_columns, block.columns
            total = network.leaf_total[columns].astype(np.float64)[:, None]
            coupling = _Coupling.zeros(network, columns, dtype)
            coupling.T[:n, :n] = T = total * K[np.ix_(columns, columns)]
            coupling.inverse[:n, :n] = np.linalg.inv(T)
            for panel, vertices in zip(coupling.reach, blocks(network.n_inner, PANEL), strict=True):
                panel[:n, : vertices.stop - vertices.start] = total * moved[vertices][:, columns].T
            self.couplings[block.number] = coupling
        self._features = self.blocks[0].features
        self._work = [aligned_zeros((len(self._features), PANEL), dtype) for _ in range(2)]

    def _place_inner(self) -> None:
        """Inner vertices where the leaves' u put them."""
        M = self._padded_inner() if self._inner is None else self._inner
        M[:] = 0
        for block in self.blocks:
            for panel, vertices in enumerate(blocks(M.shape[1], PANEL)):
                M[:, vertices] += block.U @ self.couplings[block.number].reach[panel]
        self._inner = M
        self._keep_inner(M)

    def _padded_inner(self) -> FloatArray:
        """Inner weights at the blocks' features (features x n_inner), padded to a multiple of 16 vertices."""
        n_inner, dtype = self.inner.network.n_inner, self.inner.M.dtype
        M = aligned_zeros((len(self._features), -(-n_inner // PANEL) * PANEL), dtype)
        M[:, :n_inner] = self.inner.solved.transpose(0, 2, 1).reshape(-1, n_inner)[self._features]
        return M

    def _keep_inner(self, M: FloatArray) -> None:
        n_inner = self.inner.network.n_inner
        padded = np.zeros((len(self.inner.M) * PANEL, n_inner), M.dtype)
        padded[self._features] = M[:, :n_inner]
        self.inner.solved[:] = padded.reshape(-1, PANEL, n_inner).transpose(0, 2, 1)
        self.inner.M[:] = self.inner.solved

    def _sweep(self) -> None:
        state = self.state
        state.sweep += 1
        self._settle()
        whole = self.leaves.loss == "logistic" or state.sweep < _WHOLE or state.sweep % _WHOLE_EVERY == 0
        if self._inner is None:
            self._inner = self._padded_inner()
        M, orders = self._inner, self._orders()
        gap = objective = 0.0
        for number in range(len(self.blocks)) if self.awake is None else sorted(self.awake):
            if whole:
                self.blocks[number].active = None
            shares = self._visit(self.blocks[number], M, orders)
            gap, objective = gap + shares[0], objective + shares[1]
        met = gap / max(objective, _TINY)
        expected = met if self.leaves.loss == "logistic" else met * min(1.0, met / state.met)
        state.met = max(met, _TINY)
        if not state.measured and expected <= _AIM[self.leaves.loss] * self.tol:
            state.next_measure = state.sweep

    def _orders(self) -> list[IntArray]:
        """A random order of all documents for each epoch of a sweep.

        All blocks share them: to choose rows of an order takes less time than to shuffle them. Neighbours must not stay
        together. Documents are often sorted by label, and those of a label undo one another's steps.
        """
        leaves = self.leaves
        assert isinstance(leaves, CoupledLeaves)
        rng = np.random.default_rng([leaves.seed, self.state.sweep])
        every = np.arange(leaves.rows.n_docs, dtype=np.int32)
        return [rng.permutation(every) for _ in range(_EPOCHS[leaves.loss])]

    def _visit(self, block: LeafBlock, M: FloatArray, orders: Sequence[IntArray]) -> tuple[float, float]:
        """Epochs over a block's active rows; M follows. Returns shares of the gap and of the objective."""
        leaves, coupling, kernel = self.leaves, self.couplings[block.number], dispatch.best("coupled")
        assert isinstance(leaves, CoupledLeaves)
        block.make_writable()
        W, before = self._work
        kernel.join(M, coupling.node, coupling.share, block.U, W)
        if self.inner.prior is not None:
            add_entries(W, self.inner.prior, block.columns, self._features)
        np.copyto(before, W)
        shares = self._epochs(leaves, block, coupling.T, W, orders)
        kernel.part(W, before, coupling.inverse, coupling.reach, block.U, M)
        return shares

    def _epochs(
        self, leaves: CoupledLeaves, block: LeafBlock, T: FloatArray, W: FloatArray, orders: Sequence[IntArray]
    ) -> tuple[float, float]:
        """An epoch over the rows in work, then others over the rows that gained most in the one before.

        A step gains the square of its gradient; a fifth of the rows have four fifths of the sum.
        """
        local, kernel, dtype = leaves.local(block), dispatch.best("coupled"), leaves.dtype
        rows, weight, squared = local.rows, block.weight(dtype), leaves.loss != "logistic"
        limits = block.limits if block.limits is not None else np.outer([np.inf, -np.inf], np.ones(PANEL)).astype(dtype)
        chosen = np.full(rows.n_docs, block.active is None)
        if block.active is not None:
            chosen[block.active] = True
        extremes, shares, first = np.zeros((2, PANEL), dtype), np.zeros((2, PANEL)), (0.0, 0.0)
        reach = np.sqrt((1 if squared else 2) * _REACH * self.tol)
        for epoch, every in enumerate(orders):
            order = every[chosen[every]]
            gain = np.empty(len(order), np.float32)
            kernel.sweep(
                rows.indptr, rows.indices, rows.data, rows.squared_norm, leaves.bound, weight, LOSSES[leaves.loss],
                rows.bias, *local.labels, order, T, block.n_columns, reach, W, block.alpha,
                *limits, *extremes, shares, gain,
            )  # fmt: skip
            if epoch == 0:
                first = block.scaled(shares[0]), block.scaled(shares[1])
            if squared and epoch == 0 and self.state.sweep >= _WHOLE:
                high, low = _SHRINK * extremes
                block.active = order[gain >= 0]
                block.limits = np.array([np.where(high > 0, high, np.inf), np.where(low < 0, low, -np.inf)], dtype)
            chosen[order] = gain > _GAIN * np.maximum(gain, 0).mean() if len(gain) else False
        return first

    def _measure(self, screening: bool) -> tuple[float, float]:
        """P and P - D with u and inner vertices made from the dual variables alone; all rows are active again."""
        leaves = self.leaves
        assert isinstance(leaves, CoupledLeaves)
        for block in self.blocks:
            block.active = block.limits = None
            leaves.settle(block)
        self._place_inner()
        return super()._measure(screening)

    def _until(self, tol: float, gap: float) -> int:
        """Sweeps until the next measure, if the gap continues to fall as it did."""
        state, gap = self.state, max(gap, _TINY)
        rate = np.log(max(state.last_gap / gap, 1.01)) / max(1, state.sweep - state.measured)
        state.measured, state.last_gap = state.sweep, gap
        left = np.log(max(gap / (_ENOUGH * tol), 1.0))
        return int(np.clip(np.ceil(left / rate), 1, _MEASURE_LATEST))
