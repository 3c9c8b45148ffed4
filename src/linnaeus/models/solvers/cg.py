"""Truncated Newton: conjugate gradients for the direction, then a line search; one problem, or columns in lock-step.

A caller has an objective, the sum of a quadratic regulariser and of losses at the scores, and asks for one step:

    H x = -g       conjugate gradients, preconditioned by M, until <r, M r> is ``tolerance``^2 of what it was
    length t       1, 1/2, 1/4, ... until the objective falls by a ten-thousandth of what its slope promises

The caller decides when to stop, and what certifies that. With ``columns`` every column of the arrays is a problem of
its own: sums, lengths and residuals are numbers per column, and finished columns rest; otherwise an array is one
vector. All sums are in double precision, whatever the arrays are.

Where M is the inverse K of the regulariser's matrix, directions are needed both as x and as M^-1 x (weights, and the
pulls that they come from); ``preimages`` carries M^-1 x along instead of solving for it.

Truncated Newton for blocks of smooth binary problems on dense documents, all columns in lock-step.

For every column b:  min_w P(w) = 1/2 |w - m|^2 + sum_i c_ib loss(y_ib w'x_i)  with the squared hinge or the logistic
loss; the centre m is 0 unless another is given.

    gradient  g = w - m + X'r,      r_i = c_i y_i loss'(t_i)
    Hessian   H v = v + X'(D Xv),   D_i = c_i loss''(t_i)

H v = -g is solved by conjugate gradients (`cg`) to a tenth of |g|; one product with X and one with X' serve all columns
of the block, finished columns drop out. Where coordinate descent crawls (many correlated dense features) this takes
tens of products. The dual point alpha_i = -y_i r_i is feasible, with the gap P - D = 1/2 |g|^2: the certificate is
free. For the squared hinge the best multiple of alpha is taken, which is tighter far from the optimum.

All columns share X, and D is nearly a multiple a of the bounds c, another one for every column. Along the principal
axes of sqrt(c) X (`principal_axes`, made once for all blocks) H is then nearly diagonal, 1 + a s with the squares s of
the lengths of the axes, which preconditions it: a quarter to a half of the products on correlated features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from linnaeus.engine import Clock
from linnaeus.losses.surrogate import SURROGATES
from linnaeus.models.solvers import BlockSolution
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray, Scalar

__all__ = [
    "LOSSES",
    "MOST_SQUARED",
    "Direction",
    "NewtonBlock",
    "PrincipalAxes",
    "Which",
    "column_dots",
    "conjugate_gradients",
    "line_search",
    "principal_axes",
    "solve_dense_block",
    "step_length",
    "whole_dot",
]

ARMIJO = 1e-4  # share of the promised fall that a step must bring
_TINY = 1e-300

Product = Callable[[FloatArray, FloatArray], "tuple[FloatArray, FloatArray | None]"]
Which = IntArray | slice  # columns that a line search asks for; a slice at first, which copies nothing
Stop = Callable[[FloatArray, FloatArray, FloatArray], "BoolArray | bool"]


def column_dots(A: FloatArray, B: FloatArray) -> FloatArray:
    """Inner products of the columns of A and B, in double precision."""
    return np.einsum("ij,ij->j", A, B, dtype=np.float64)


def whole_dot(A: FloatArray, B: FloatArray) -> FloatArray:
    """Inner product of all of A and B, in double precision, as an array of shape ()."""
    return np.asarray(np.einsum("i,i->", A.ravel(), B.ravel(), dtype=np.float64))


@dataclass(frozen=True)
class Direction:
    """What conjugate gradients found.

    x, M^-1 x (x itself without ``preimages``), and the image that the product carried along (0 where there is none).
    """

    x: FloatArray
    preimage: FloatArray
    image: FloatArray
    n_products: int


def conjugate_gradients(
    product: Product,
    right: FloatArray,
    *,
    tolerance: float = 0.1,
    max_products: int = 500,
    precondition: Callable[[FloatArray], FloatArray] | None = None,
    scaled: FloatArray | None = None,
    preimages: bool = False,
    columns: bool = False,
    least: float = 0.0,
    stop: Stop | None = None,
) -> Direction:
    """Solve H x = ``right`` for a positive definite H.

    Parameters
    ----------
    product : Product
        ``product(p, q)`` returns (H p, an image of p that is to be added up along the way, or None), in arrays
        of its own, which are overwritten. q is M^-1 p with ``preimages``, else p itself.
    right : ndarray
        The right-hand side.
    tolerance : float, default=0.1
        Norm of the residual, in the metric of M and relative to that of ``right``, at which a column is finished.
    max_products : int, default=500
        Maximum number of products.
    precondition : callable, default=None
        M; None is the identity.
    scaled : ndarray, default=None
        M ``right``, where it is known already.
    preimages : bool, default=False
        Carry M^-1 x along.
    columns : bool, default=False
        Every column is a problem of its own.
    least : float, default=0.0
        A known lower bound of H relative to M^-1; less than that is rounding, and ends the iteration.
    stop : callable, default=None
        ``stop(x, residual, rho)`` returns which columns are finished, instead of ``tolerance``.

    Returns
    -------
    Direction
        The solution. Where rounding leaves no curvature at the first product it is M ``right``.

    Examples
    --------
    >>> H = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> conjugate_gradients(lambda p, q: (H @ p, None), np.array([1.0, 2.0]), tolerance=1e-9).x.round(6).tolist()
    [0.2, 0.6]
    """
    dots, dtype = column_dots if columns else whole_dot, right.dtype
    residual = right.copy()
    if scaled is None:
        scaled = residual if precondition is None else precondition(residual)
    rho = dots(residual, scaled)
    target = tolerance**2 * rho
    direction = scaled.copy()
    source = residual.copy() if preimages else direction
    x = np.zeros_like(right)
    preimage = np.zeros_like(right) if preimages else x
    image, used = np.zeros((), dtype), 0
    while used < max_products:
        done = rho <= target if stop is None else stop(x, residual, rho)
        if np.all(done):
            break
        H, carried = product(direction, source)
        used += 1
        curvature = dots(direction, H)
        rests = done | ~(curvature > max(least, _TINY) * rho)
        if np.all(rests):
            if used == 1:
                x, preimage, image = direction, source, image if carried is None else carried
            break
        step = np.where(rests, 0.0, rho / np.where(rests, 1.0, curvature)).astype(dtype)
        x += step * direction
        if preimages:
            preimage += step * source
        if carried is not None:
            carried *= step
            image = np.add(image, carried, out=carried)
        H *= step
        residual -= H
        scaled = residual if precondition is None else precondition(residual)
        before, rho = rho, dots(residual, scaled)
        share = (rho / np.maximum(before, _TINY)).astype(dtype)
        direction *= share
        direction += scaled
        if preimages:
            source *= share
            source += residual
    return Direction(x, preimage, image, used)


def line_search(
    rise: Callable[[FloatArray, Which], FloatArray], slope: FloatArray, *, slack: float | FloatArray = 0.0,
    halvings: int = 40,
) -> FloatArray:  # fmt: skip
    """Length of the step of every column, halved until its objective falls enough; 0 where rounding forbids any.

    Parameters
    ----------
    rise : callable
        ``rise(lengths, which)`` returns by how much the objectives of the columns ``which`` rise with these lengths.
    slope : ndarray of shape (n_columns,)
        Derivative of each objective along its direction.
    slack : float or ndarray, default=0.0
        By how much an objective may rise because of rounding.
    halvings : int, default=40
        Maximum number of trials.

    Returns
    -------
    ndarray of shape (n_columns,)
        Length of the step of each column.

    Examples
    --------
    >>> line_search(lambda t, which: 10 * t**2 - t, np.array([-1.0])).tolist()
    [0.0625]
    """
    length = np.ones(len(slope))
    waiting: Which = slice(None)
    slack = np.broadcast_to(np.asarray(slack, np.float64), length.shape)
    for _ in range(halvings):
        t = length[waiting]
        allowed = ARMIJO * t * slope[waiting] + slack[waiting]
        with np.errstate(over="ignore", invalid="ignore"):  # a step that is far too long may overflow: it fails
            fails = ~(rise(t, waiting) <= allowed)
        if not fails.any():
            return length
        waiting = np.flatnonzero(fails) if isinstance(waiting, slice) else waiting[fails]
        length[waiting] *= 0.5
    length[waiting] = 0
    return length


def step_length(
    direction: Direction,
    gradient: FloatArray,
    position: FloatArray,
    losses: Callable[[FloatArray, Which], FloatArray],
    start: FloatArray,
    *,
    weight: float | FloatArray = 1.0,
    columns: bool = False,
    slack: float | FloatArray = 0.0,
    halvings: int = 40,
) -> FloatArray:
    """Length of a step along a direction of conjugate gradients, with a line search.

    Parameters
    ----------
    direction : Direction
        The direction x of the step, with M^-1 x where the regulariser is not a multiple of the squared norm.
    gradient : ndarray
        Gradient of the objective.
    position : ndarray
        Gradient of the regulariser.
    losses : callable
        ``losses(lengths, which)`` returns the losses of the columns ``which`` after steps of these lengths.
    start : ndarray of shape (n_columns,)
        The losses before the step; shape (1,) or () for one problem.
    weight : float or ndarray, default=1.0
        The regulariser along x bends by ``weight`` <M^-1 x, x>.
    columns : bool, default=False
        Every column is a problem of its own.
    slack, halvings : float or ndarray, int
        As for `line_search`.

    Returns
    -------
    ndarray of shape (n_columns,)
        The lengths, of shape (1,) for one problem; 0 where rounding forbids any step.
    """
    dots, x = column_dots if columns else whole_dot, direction.x
    slope, linear, bend = (np.atleast_1d(dots(A, x)) for A in (gradient, position, direction.preimage))
    bend, start = np.broadcast_to(weight * bend, slope.shape), np.atleast_1d(start)

    def rise(t: FloatArray, which: Which) -> FloatArray:
        change: FloatArray = t * linear[which] + 0.5 * t**2 * bend[which] + losses(t, which) - start[which]
        return change

    return line_search(rise, slope, slack=slack, halvings=halvings)


LOSSES = ("squared_hinge", "logistic")
MOST_SQUARED = 2_000  # features up to which their products with each other are worth the time
_PRODUCTS = 500  # for one direction, at most
_RESIDUAL = 0.3  # of a direction along principal axes


@dataclass(frozen=True)
class PrincipalAxes:
    """Documents in other coordinates, the constant feature included.

    Attributes
    ----------
    X : ndarray of shape (n_docs, n_features + 1)
        Documents along the axes.
    axes : ndarray of shape (n_features + 1, n_features + 1)
        Axes, one in each column.
    squares : ndarray of shape (n_features + 1,)
        Sums of squares of the documents along each axis, weighted by their bounds.
    """

    X: FloatArray
    axes: FloatArray
    squares: FloatArray


def principal_axes(X: FloatArray, bound: FloatArray, bias: float) -> PrincipalAxes | None:
    """Documents along the axes in which the bounds' sum of their squares is diagonal.

    Parameters
    ----------
    X : ndarray of shape (n_docs, n_features)
        Documents.
    bound : ndarray of shape (n_docs,)
        Bound c of every document.
    bias : float
        The constant feature.

    Returns
    -------
    PrincipalAxes or None
        None where there are more features than documents, or too many.

    Examples
    --------
    >>> principal_axes(np.array([[3.0, 0.0], [0.0, 2.0]]), np.ones(2), 0.0).squares.tolist()
    [0.0, 4.0, 9.0]
    """
    n_docs, n_features = X.shape
    if n_features > min(MOST_SQUARED, n_docs):
        return None
    Z = np.hstack([X, np.full((n_docs, 1), bias, X.dtype)])
    root = Z * np.sqrt(bound).astype(X.dtype)[:, None]
    squares, axes = np.linalg.eigh(np.asarray(root.T @ root, dtype=np.float64))
    axes = axes.astype(X.dtype)
    return PrincipalAxes(Z @ axes, axes, np.maximum(squares, 0.0))


def solve_dense_block(
    X: FloatArray,
    positives: CSR,
    bound: FloatArray,
    *,
    loss: str,
    bias: float,
    tol: float,
    max_iter: int,
    positive_weight: FloatArray | None = None,
    along: PrincipalAxes | None = None,
    clock: Clock | None = None,
) -> BlockSolution:
    """Solve the columns of ``positives`` (n_docs x n_columns, 0/1); X is n_docs x n_features, ``bias`` a constant.

    ``positive_weight`` (one per column) multiplies the bounds of the column's positive documents; ``along`` are the
    `principal_axes` of X. ``clock`` ends the steps after the first one in which the time is over.
    """
    signs = np.where(positives.toarray() > 0, 1.0, -1.0).astype(X.dtype)
    c = bound.astype(X.dtype)[:, None]
    if positive_weight is not None:
        c = c * np.where(signs > 0, positive_weight.astype(X.dtype), X.dtype.type(1))
    if along is None:
        return NewtonBlock(X, signs, c, loss, X.dtype.type(bias)).solve(tol, max_iter, clock)
    squares = along.squares / max(float(bound.sum(dtype=np.float64)), _TINY)
    found = NewtonBlock(along.X, signs, c, loss, X.dtype.type(0), squares).solve(tol, max_iter, clock)
    W = along.axes @ found.weights
    return replace(found, weights=W[:-1], intercept=W[-1] * X.dtype.type(bias))


@dataclass
class NewtonBlock:
    """X, signs Y (n_docs x n_columns), bounds c (n_docs x n_columns, or n_docs x 1).

    W (n_features + 1 x n_columns) has the constant's weight last. ``squares`` (n_features) are given where X is along
    principal axes: the mean of the squares of the documents along each of them.
    """

    X: FloatArray
    Y: FloatArray
    c: FloatArray
    loss: str
    bias: Scalar
    squares: FloatArray | None = None

    def solve(self, tol: float, max_iter: int, clock: Clock | None = None) -> BlockSolution:
        n_docs, n_columns = self.Y.shape
        W = np.zeros((self.X.shape[1] + 1, n_columns), self.X.dtype)
        S = np.zeros((n_docs, n_columns), self.X.dtype)
        P, gap = np.zeros(n_columns), np.full(n_columns, np.inf)
        active = np.arange(n_columns)
        products = 0
        while True:
            value, R, D = self.losses_at(S[:, active], active)
            P[active] = 0.5 * column_dots(W[:, active], W[:, active]) + value
            G = W[:, active] + self.transposed(R)
            gap[active] = self._gap(P[active], value, R, W[:, active], G)
            open_ = gap[active] > tol * P[active]
            if not open_.any() or products >= max_iter or (products and clock is not None and clock.over):
                break
            active, G, D = active[open_], G[:, open_], D[:, open_]
            found = self._direction(G, D, max_iter - products)
            products += found.n_products
            step = self._step(active, W[:, active], S, value[open_], G, found)
            W[:, active] += step * found.x
            S[:, active] += step * found.image
            active = active[step > 0] if not (step > 0).all() else active
            if not len(active):  # rounding leaves no descent: the gap stands as certified
                break
        return BlockSolution(W[:-1], W[-1] * self.bias, P, gap, products, bool((gap <= tol * P).all()))

    def improve(self, centre: FloatArray, W: FloatArray, steps: int) -> FloatArray:
        """W after some Newton steps for 1/2 |w - centre|^2 + losses, each with an exact-enough line search."""
        W = W.copy()
        S = self.product(W)
        active = np.arange(W.shape[1])
        for _ in range(steps):
            value, R, D = self.losses_at(S[:, active], active)
            away = W[:, active] - centre[:, active]
            G = away + self.transposed(R)
            found = self._direction(G, D, 100)
            if not found.n_products:
                break
            step = self._step(active, away, S, value, G, found)
            W[:, active] += step * found.x
            S[:, active] += step * found.image
            active = active[step > 0]
            if not len(active):
                break
        return W

    def dual(self, W: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(losses, local part of the dual objective, sum alpha y x) of every column at alpha_i = c_i |loss'(t_i)|."""
        surrogate, c = SURROGATES[self.loss], self.c.astype(np.float64)
        value, slope, _ = surrogate.expand((self.product(W) * self.Y).astype(np.float64))
        dual = (c * surrogate.conjugate(-slope)).sum(axis=0)
        return (c * value).sum(axis=0), dual, self.transposed((-c * slope * self.Y).astype(W.dtype))

    def _gap(self, P: FloatArray, value: FloatArray, R: FloatArray, W: FloatArray, G: FloatArray) -> FloatArray:
        """P - D, with D at alpha = |r|, or 0 at alpha = 0, or at the best multiple s of alpha for the squared hinge:
        D(s) = s sum(alpha) - s^2 (sum(alpha^2 / 4c) + 1/2 |v|^2),  where sum(alpha^2 / 4c) is the loss and v = w - g.
        """
        gap = np.minimum(0.5 * column_dots(G, G), P)
        if self.loss == "squared_hinge":
            linear = np.abs(R).sum(axis=0, dtype=np.float64)
            quadratic = value + 0.5 * column_dots(W - G, W - G)
            gap = np.minimum(gap, P - 0.25 * linear**2 / np.maximum(quadratic, np.finfo(float).tiny))
        return np.maximum(gap, 0)

    def product(self, V: FloatArray) -> FloatArray:
        """X V, the constant feature included."""
        return self.X @ V[:-1] + self.bias * V[-1]

    def transposed(self, R: FloatArray) -> FloatArray:
        """X' R, the constant feature included."""
        return np.vstack([self.X.T @ R, self.bias * R.sum(axis=0, keepdims=True)])

    def losses(self, S: FloatArray, columns: IntArray) -> FloatArray:
        """Sum of the losses at scores S of the given columns, in double precision."""
        c = self.c if self.c.shape[1] == 1 else self.c[:, columns]
        value = SURROGATES[self.loss].value(self.Y[:, columns] * S)
        return np.asarray((c * value).sum(axis=0, dtype=np.float64))

    def losses_at(self, S: FloatArray, columns: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sum of the losses (float64), c y loss' and c loss'' at scores S of the given columns."""
        Y, c = self.Y[:, columns], self.c if self.c.shape[1] == 1 else self.c[:, columns]
        value, slope, curvature = SURROGATES[self.loss].expand(Y * S)
        return (c * value).sum(axis=0, dtype=np.float64), c * Y * slope, c * curvature

    def _direction(self, G: FloatArray, D: FloatArray, most: int) -> Direction:
        """V with a small |H V + G| per column, and X V."""

        def product(V: FloatArray, _: FloatArray) -> tuple[FloatArray, FloatArray]:
            Q = self.product(V)
            return V + self.transposed(D * Q), Q

        most = max(1, min(most, _PRODUCTS))
        if self.squares is None:
            return conjugate_gradients(product, -G, max_products=most, columns=True)
        nearly = np.vstack([1.0 + np.outer(self.squares, D.sum(axis=0, dtype=np.float64)), np.ones((1, D.shape[1]))])
        inverse = (1.0 / nearly).astype(G.dtype)
        return conjugate_gradients(
            product,
            -G,
            tolerance=_RESIDUAL,
            max_products=most,
            precondition=lambda residual: inverse * residual,
            columns=True,
        )

    def _step(
        self, active: IntArray, away: FloatArray, S: FloatArray, value: FloatArray, G: FloatArray, found: Direction
    ) -> FloatArray:
        """Length per column; ``away`` = W - m and ``value``, the losses, are those of the columns ``active``."""
        XV = found.image

        def losses(t: FloatArray, which: Which) -> FloatArray:
            columns = active[which]
            return self.losses(S[:, columns] + t.astype(S.dtype) * XV[:, which], columns)

        return step_length(found, G, away, losses, value, columns=True).astype(S.dtype)
