"""How much time a fit may take, and how much of it is left."""

from __future__ import annotations

import math
import re
import time
from typing import Any

from linnaeus.errors import ParameterError

__all__ = ["Clock", "format_seconds", "parse_seconds"]

_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "min": 60.0, "s": 1.0, "": 1.0}


def parse_seconds(value: Any, name: str = "max_time") -> float:
    """Seconds from a number or a text such as "90", "10m" or "1h30m".

    Examples
    --------
    >>> parse_seconds("10m"), parse_seconds("1h30m"), parse_seconds(2.5)
    (600.0, 5400.0, 2.5)
    """
    text = str(value).replace(" ", "").lower()
    parts = re.findall(r"(\d+\.?\d*|\.\d+)(d|h|min|m|s|)", text)
    good = not isinstance(value, bool) and parts and "".join(a + b for a, b in parts) == text
    good = good and (len(parts) == 1 or all(unit for _, unit in parts))
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts) if good else 0.0
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        seconds = float(value)
    if not (seconds > 0 and math.isfinite(seconds)):
        raise ParameterError(f"{name}={value!r}; expected seconds above 0, or a text such as '10m' or '1h30m'.")
    return seconds


def format_seconds(seconds: float) -> str:
    """Seconds for people.

    Examples
    --------
    >>> format_seconds(5400), format_seconds(90), format_seconds(2.5)
    ('1h30m', '1m30s', '2.5s')
    """
    if seconds < 60:
        return f"{seconds:.3g}s"
    parts, rest = [], round(seconds)
    for unit in ("d", "h", "m", "s"):
        count, rest = divmod(rest, int(_UNITS[unit]))
        parts.append(f"{count}{unit}" if count else "")
    return "".join(parts)


class Clock:
    """Runs from its making on; without a limit there is always time left.

    Examples
    --------
    >>> Clock(None).remaining, Clock("1h").over
    (inf, False)
    """

    def __init__(self, limit: Any = None) -> None:
        self.limit = math.inf if limit is None else parse_seconds(limit)
        self._start = time.time()  # not the monotonic clock: workers on other machines compare with `deadline`

    @property
    def deadline(self) -> float:
        """Seconds since the epoch at which the time is over."""
        return self._start + self.limit

    @property
    def remaining(self) -> float:
        return max(0.0, self.deadline - time.time())

    @property
    def over(self) -> bool:
        return self.remaining <= 0
