"""How much memory the block solvers take, from the shape of the documents alone.

    rows       the documents laid out: once; making them takes about as much again for a moment
    panels     what one worker holds while it solves a block
    result     the weights of one finished block (n_features x columns)

The figures follow the arrays that `rows`, `dual_cd` and `newton_cg` make; a test measures whether they still do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linnaeus.engine.limits import rows_that_fit
from linnaeus.models.solvers import newton_cg
from linnaeus.models.solvers.dual_cd import PANEL
from linnaeus.typing import Matrix

__all__ = ["Footprint", "binary_footprint"]


@dataclass(frozen=True)
class Footprint:
    """Bytes of the parts of a training by blocks of ``columns``."""

    columns: int
    rows: int
    preparing: int
    panels: int
    result: int


def binary_footprint(X: Matrix, loss: str) -> Footprint:
    """The footprint of `solvers.binary` on checked X.

    Examples
    --------
    >>> found = binary_footprint(np.zeros((1000, 50), np.float32), "hinge")
    >>> found.columns, found.result
    (16, 3200)
    """
    n_docs, n_features = X.shape
    size = X.dtype.itemsize
    per_document = n_docs * (8 + 3 * size)  # row pointers, norms, bounds
    if isinstance(X, np.ndarray) and loss in newton_cg.LOSSES:
        columns = min(32, rows_that_fit(8 * size * max(X.shape), least=16))
        panels = columns * size * (16 * n_docs + 14 * n_features)
        return Footprint(columns, per_document, per_document, panels, columns * size * n_features)
    if isinstance(X, np.ndarray):
        rows = preparing = per_document
    else:
        rows = X.nnz * (size + 4) + per_document + 4 * n_features
        preparing = 2 * X.nnz * (size + 4) + per_document + 20 * n_features
    # W and the result; V and its squares in double precision while the gap is certified; alpha; the order of the rows.
    panels = PANEL * n_features * (2 * size + 16) + n_docs * (PANEL * size + 12)
    return Footprint(PANEL, rows, preparing, panels, PANEL * size * n_features)
