"""The value of a measure: a plain float that remembers how it was computed."""

from __future__ import annotations

import numpy as np

from linnaeus.typing import FloatArray

__all__ = ["Score"]


class Score(float):
    """A float with ``n`` (documents used), ``n_skipped`` (left out, where the measure is undefined) and ``convention``.

    Parameters
    ----------
    value : float
        The value.
    n : int, default=0
        Number of documents used.
    n_skipped : int, default=0
        Number of documents left out.
    convention : str, default=""
        How the value was computed.

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

    @classmethod
    def mean(
        cls,
        values: FloatArray,
        convention: str = "mean over documents",
        *,
        n_skipped: int = 0,
        weights: FloatArray | None = None,
    ) -> Score:
        """Mean of one value per document, weighted if asked; NaN where there is nothing to take the mean of.

        Examples
        --------
        >>> Score.mean(np.array([1.0, 0.0])), Score.mean(np.array([1.0, 0.0]), weights=np.array([3.0, 1.0]))
        (0.5, 0.75)
        """
        values = np.asarray(values, dtype=np.float64)
        defined = len(values) > 0 and (weights is None or weights.sum() > 0)
        value = float(np.average(values, weights=weights)) if defined else float("nan")
        return cls(value, len(values), n_skipped, convention)

    def __reduce__(self) -> tuple[type[Score], tuple[float, int, int, str]]:  # float's own would forget the rest
        return Score, (float(self), self.n, self.n_skipped, self.convention)
