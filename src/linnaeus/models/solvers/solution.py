"""What every block solver gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linnaeus.typing import FloatArray

__all__ = ["BlockSolution"]


@dataclass(frozen=True)
class BlockSolution:
    """What a block of columns came to: weights, objective and gap per column, passes over the documents used."""

    weights: Any  # n_features x n_columns, an array; CSR where the solver has pruned it already
    intercept: FloatArray  # n_columns
    objective: FloatArray
    gap: FloatArray
    n_iter: int
    converged: bool
