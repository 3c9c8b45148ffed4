"""Truncated Newton: conjugate gradients for the direction, then a line search; one problem, or columns in lock-step.

A caller has an objective, the sum of a quadratic regulariser and of losses at the scores, and asks for one step:

    H x = -g       conjugate gradients, preconditioned by M, until <r, M r> is ``tolerance``^2 of what it was
    length t       1, 1/2, 1/4, ... until the objective falls by a ten-thousandth of what its slope promises

The caller decides when to stop, and what certifies that. With ``columns`` every column of the arrays is a problem of
its own: sums, lengths and residuals are numbers per column, and finished columns rest; otherwise an array is one
vector. All sums are in double precision, whatever the arrays are.

Where M is the inverse K of the regulariser's matrix, directions are needed both as x and as M^-1 x (weights, and the
pulls that they come from); ``preimages`` carries M^-1 x along instead of solving for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linnaeus.typing import BoolArray, FloatArray, IntArray

__all__ = ["Direction", "Which", "column_dots", "conjugate_gradients", "line_search", "step_length", "whole_dot"]

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
    slack : float or ndarray, default=0.0
        By how much an objective may rise because of rounding.
    halvings : int, default=40
        Maximum number of trials.

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
