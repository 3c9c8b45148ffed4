"""The value of a measure: a plain float that remembers how it was computed."""

from __future__ import annotations

from typing import Any

__all__ = ["Score"]


class Score(float):
    """A float with ``n`` (documents used), ``n_skipped`` (left out, where the measure is undefined) and ``convention``.

    Examples
    --------
    >>> value = Score(0.5, n=4, convention="micro")
    >>> value, value + 1, value.n, value.convention
    (0.5, 1.5, 4, 'micro')
    """

    n: int
    n_skipped: int
    convention: str

    def __new__(cls, value: float, n: int = 0, n_skipped: int = 0, convention: str = "") -> Score:
        self = super().__new__(cls, value)
        self.n, self.n_skipped, self.convention = int(n), int(n_skipped), convention
        return self

    def __reduce__(self) -> Any:  # float's own would forget the rest
        return Score, (float(self), self.n, self.n_skipped, self.convention)
