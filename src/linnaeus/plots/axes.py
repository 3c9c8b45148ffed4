"""Axes to draw on: those that are given, or those of a new figure, which notebooks show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linnaeus.errors import LinnaeusError, ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BLUE", "GREY", "ORANGE", "axes_or_new", "shortened"]

BLUE, ORANGE, GREY = (
    "#1f5a99",
    "#c25b0e",
    "#6b6b6b",
)  # readable on white, and apart for people who confuse red and green


def axes_or_new(ax: Axes | None, width: float, height: float) -> Axes:
    """The given axes, or axes of a new figure of this size in inches."""
    try:
        from matplotlib.axes import Axes
    except ImportError:
        raise LinnaeusError("Drawing needs matplotlib: pip install 'linnaeus[plots]'") from None
    if ax is None:
        from matplotlib import pyplot

        return pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise ParameterError(
            f"ax has the type {type(ax).__name__}; expected matplotlib axes, or None for a new figure."
        )
    return ax


def shortened(text: str, most: int = 32) -> str:
    """A label that fits beside an axis.

    Examples
    --------
    >>> shortened("Manufacture of electric motors", 14)
    'Manufacture o…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"
