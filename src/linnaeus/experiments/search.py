"""Which C? Held-out quality along a grid, from its middle outwards, as far as it pays to look.

The quality of a regularised model rises and falls once along C, give or take noise, and the far ends of the grid are
the slowest to train. A direction is left when the quality has been ``clear`` below the best so far, or below it twice.
There may be several criteria, such as micro-F1 and macro-F1, which peak at different C: each has its own best value,
and a direction is left when none has hope.
"""

from __future__ import annotations

import sys
import time
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
    name: str | None = None,
) -> Choice:
    """Try ``start``, then larger values, then smaller ones, each while there is hope; ``name`` tells how it goes.

    Examples
    --------
    >>> found = choose(lambda C: {"f1": -abs(C - 3.0)}, GRID)
    >>> found.best("f1"), list(found.quality)
    (3.0, [0.3, 1.0, 3.0, 10.0])
    """
    values = sorted(grid)

    def tell(C: float) -> dict[str, float]:
        began = time.perf_counter()
        found = quality(C)
        if name:
            told = ", ".join(f"{criterion} {100 * value:.2f}" for criterion, value in found.items())
            print(f"{name}, C={C:g}: {told} ({time.perf_counter() - began:.0f} s)", file=sys.stderr, flush=True)
        return found

    at = values.index(start)
    tried = {start: tell(start)}
    for direction in (values[at + 1 :], values[:at][::-1]):
        below = dict.fromkeys(tried[start], 0)
        for C in direction:
            best = {criterion: max(found[criterion] for found in tried.values()) for criterion in below}
            try:
                tried[C] = tell(C)
            except NoTime:
                return Choice(dict(sorted(tried.items())))
            for criterion, value in tried[C].items():
                lost = best[criterion] - value
                below[criterion] = 0 if lost <= 0 else 2 if lost > clear else below[criterion] + 1
            if min(below.values()) >= 2:
                break
    return Choice(dict(sorted(tried.items())))
