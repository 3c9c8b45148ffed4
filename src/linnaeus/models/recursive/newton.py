"""The joint problem on dense documents, smooth loss, all leaves at once: truncated Newton, inner nodes eliminated.

Eliminating the inner vertices leaves a kernel between leaves, K = diag(1/S) + Q L^-1 Q' (Q their shares in the inner
vertices, L the network's Laplacian with its anchors), and one problem in the leaves' weights W (features x leaves):

    P(W) = 1/2 tr(V K V') + sum of C loss,      W = V K

    gradient  G = V + X'R,      Hessian  dV + X'(D o (X dV K)),      gap  P - D = 1/2 <G, G K>

K is also the preconditioner: conjugate gradients then converge as on a flat problem. Where documents are
dense and features correlated, alternating between leaves and inner nodes takes ten times as long.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linnaeus.engine.limits import Clock
from linnaeus.models.recursive.leaves import DenseLeaves
from linnaeus.models.recursive.network import Network
from linnaeus.models.recursive.solver import JointSolver
from linnaeus.models.solvers.cg import Direction, Which, conjugate_gradients, step_length, whole_dot
from linnaeus.models.solvers.dual_cd import PANEL
from linnaeus.models.solvers.newton_cg import NewtonBlock
from linnaeus.typing import FloatArray

__all__ = ["leaf_kernel", "newton_start"]

_STEPS, _PRODUCTS, _HALVINGS = 50, 200, 34


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

    Steps count as sweeps. Where time is over, the variables are kept in ``newton_pulls``, and a later call continues
    with them to the same solution.
    """
    leaves, blocks, inner = solver.leaves, solver.blocks, solver.inner
    assert isinstance(leaves, DenseLeaves)
    network, dtype = inner.network, leaves.dtype
    K, moved = leaf_kernel(network)
    V = solver.newton_pulls
    if V is None:
        V = np.hstack([block.U[:, : block.n_columns] for block in blocks]) * network.leaf_total
    Y = np.full((len(leaves.X), network.n_leaves), -1, dtype)
    c = np.empty_like(Y)
    for block in blocks:
        rows, columns = block.positives
        Y[rows, block.columns[columns]] = 1
        weight = block.total * block.weight(dtype)[:, : block.n_columns]  # of the joint problem, not divided by S
        signs = Y[:, block.columns]
        c[:, block.columns] = leaves.bound[:, None] * np.where(signs > 0, weight[0], weight[1])
    problem = _Problem(NewtonBlock(leaves.X, Y, c, leaves.loss, dtype.type(leaves.bias)), K.astype(dtype))
    state = solver.state
    V, state.sweep, state.newton_done = problem.solve(V.astype(dtype), state.sweep, tol, clock)
    state.measure_first, solver.newton_pulls = True, None if state.newton_done else V
    for block in blocks:
        block.U[:, : block.n_columns] = V[:, block.columns] / block.total
    M = np.zeros((len(inner.M) * PANEL, network.n_inner), dtype)
    M[: len(V)] = V @ moved.T.astype(dtype)
    inner.solved[:] = inner.M[:] = M.reshape(-1, PANEL, network.n_inner).transpose(0, 2, 1)


@dataclass
class _Problem:
    """All leaves in one; ``losses`` holds documents, signs, bounds and loss."""

    losses: NewtonBlock
    K: FloatArray

    def solve(self, V: FloatArray, taken: int, tol: float, clock: Clock) -> tuple[FloatArray, int, bool]:
        """(V, steps taken so far, whether the iteration has ended); every step depends on V alone."""
        every = np.arange(V.shape[1])
        while taken < _STEPS:
            W = V @ self.K
            S = self.losses.product(W)
            value, R, D = self.losses.losses_at(S, every)
            P = 0.5 * float(whole_dot(V, W)) + float(value.sum())
            G = V + self.losses.transposed(R)
            GK = G @ self.K
            if 0.5 * float(whole_dot(G, GK)) <= 0.5 * tol * P:
                break
            if clock.over:
                return V, taken, False
            found = self._direction(G, GK, D)
            trial = _Trial(self.losses, S, found.image)
            step = step_length(found, G, V, trial, value.sum(), halvings=_HALVINGS)[0]
            if step == 0:  # rounding leaves no descent
                break
            V, taken = V + step.astype(V.dtype) * found.preimage, taken + 1
        return V, taken, True

    def _direction(self, G: FloatArray, GK: FloatArray, D: FloatArray) -> Direction:
        """dW = dV K, dV and X dW with the Hessian's residual a tenth of the gradient, in the norm of K."""

        def product(pW: FloatArray, pV: FloatArray) -> tuple[FloatArray, FloatArray]:
            Q = self.losses.product(pW)
            return pV + self.losses.transposed(D * Q), Q

        def precondition(residual: FloatArray) -> FloatArray:
            return residual @ self.K

        return conjugate_gradients(
            product, -G, precondition=precondition, scaled=-GK, preimages=True, max_products=_PRODUCTS
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
