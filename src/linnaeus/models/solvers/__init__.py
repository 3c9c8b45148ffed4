"""Interfaces of the solver kernels: prepare arrays, run epochs, certify.

`BlockSolution` is what every solver of a block of columns returns. Documents are laid out by
`linnaeus.data.matrices.prepare_rows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linnaeus.typing import CSR, FloatArray, Matrix

__all__ = ["PANEL", "BlockSolution", "BlockTask", "Seed"]

Seed = int | Sequence[int] | np.random.SeedSequence  # of a random generator
BlockTask = tuple[CSR, Seed] | tuple[CSR, Seed, FloatArray | None]  # positives, seed, weights of positives
PANEL = 16  # columns that kernels take at a time, as in panel.h; a number, so that no kernel is loaded for it


@dataclass(frozen=True)
class BlockSolution:
    """What a block of columns came to: weights, objective and gap per column, passes over the documents used."""

    weights: Matrix  # n_features x n_columns, an array; CSR where the solver has pruned it already
    intercept: FloatArray  # n_columns
    objective: FloatArray
    gap: FloatArray
    n_iter: int
    converged: bool
