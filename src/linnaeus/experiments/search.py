"""Which C? Held-out quality along a grid, from its middle outwards, as far as it pays to look.

The quality of a regularised model rises and falls once along C, give or take noise, and the far ends of the grid are
the slowest to train. A direction is abandoned when the quality has been ``clear`` below the best so far, or below it
twice. There may be several criteria, such as micro-F1 and macro-F1, which peak at different C: each has its own best
value, and a direction is abandoned when no criterion may improve.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["GRID", "Choice", "NoTime", "choose"]

GRID = (0.1, 0.3, 1.0, 3.0, 10.0)


class NoTime(Exception):
    """Raised by a quality that there is no time to measure; the search ends with what it has."""


@dataclass(frozen=True)
class Choice:
    """What was tried: the values of all criteria by C, in increasing order."""

    quality: dict[float, dict[str, float]]

    def best(self, criterion: str) -> float:
        """Where a criterion is largest; the smallest of several."""
        return max(self.quality, key=lambda C: (self.quality[C][criterion], -C))


def choose(
    quality: Callable[[float], dict[str, float]],
    grid: Sequence[float],
    start: float = 1.0,
    clear: float = 0.005,
) -> Choice:
    """Try ``start``, then larger values, then smaller ones, each direction while it may improve.

    Examples
    --------
    >>> choice = choose(lambda C: {"f1": -abs(C - 3.0)}, GRID)
    >>> choice.best("f1"), list(choice.quality)
    (3.0, [0.3, 1.0, 3.0, 10.0])
    """
    order = sorted(grid)
    at = order.index(start)
    tried = {start: quality(start)}
    for direction in (order[at + 1 :], order[:at][::-1]):
        below = dict.fromkeys(tried[start], 0)
        for C in direction:
            best = {criterion: max(values[criterion] for values in tried.values()) for criterion in below}
            try:
                tried[C] = quality(C)
            except NoTime:
                return Choice(dict(sorted(tried.items())))
            for criterion, value in tried[C].items():
                lost = best[criterion] - value
                below[criterion] = 0 if lost <= 0 else 2 if lost > clear else below[criterion] + 1
            if min(below.values()) >= 2:
                break
    return Choice(dict(sorted(tried.items())))
