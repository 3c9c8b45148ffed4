"""Which documents a block of labels looks at, with the squared hinge: those near its margin.

Every other document is a negative of all labels of the block, beyond the margin, with a loss and gradient of 0. Blocks
start with the documents near the margin of the weights that all labels share; all documents are scored from time to
time, and those within the margin join. The losses of the remaining documents, if any, are part of the certificate.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from linnaeus.engine.gpu import GPUEngine
from linnaeus.losses.surrogate import SquaredHinge
from linnaeus.models.gpu.documents import Tensor, product
from linnaeus.models.gpu.streamed import Documents

__all__ = ["beyond", "caught", "grown", "near_margin", "with_rows"]

NEAR = 0.1  # scores from which a document is looked at: above -1 - NEAR


def near_margin(loss: str, start: Tensor, scores: Tensor) -> Tensor | None:
    """Documents that every block looks at, given dual variables and scores of the shared weights; None: all."""
    if loss != "squared_hinge":
        return None
    return torch.nonzero((scores > -1 - NEAR) | (start != 0)).flatten()


def caught(X: Documents, W: Tensor, rows: Tensor, engine: GPUEngine) -> Tensor:
    """Documents within the margin of some column of W that are not among ``rows``."""
    hit = torch.zeros(X.n_rows, dtype=torch.bool, device=W.device)
    for part in _pieces(X, W.shape[1], engine):
        hit[part] = (product(X.slice(part), W) > -1).any(1)
    hit[rows] = False
    return torch.nonzero(hit).flatten()


def beyond(X: Documents, W: Tensor, rows: Tensor, cost: Tensor, engine: GPUEngine) -> Tensor:
    """What documents that are not among ``rows`` cost every column, in float64."""
    others = torch.ones(X.n_rows, dtype=torch.bool, device=W.device)
    others[rows] = False
    more = torch.zeros(W.shape[1], dtype=torch.float64, device=W.device)
    for part in _pieces(X, 2 * W.shape[1], engine):
        losses = SquaredHinge().value(-product(X.slice(part), W, exact=True), torch)
        more += ((cost[part] * others[part])[:, None] * losses).sum(0)
    return more


def with_rows(rows: Tensor, more: Tensor) -> tuple[Tensor, Tensor]:
    """(``rows`` and more of them, sorted; where each was)."""
    return torch.sort(torch.cat([rows, more]))


def grown(A: Tensor, order: Tensor) -> Tensor:
    """Dual variables for more documents, `with_rows`, which begin at 0."""
    none = torch.zeros((len(order) - len(A), A.shape[1]), device=A.device)
    return torch.cat([A, none])[order]


def _pieces(X: Documents, n_columns: int, engine: GPUEngine) -> Iterator[slice]:
    """Documents in pieces whose scores take an eighth of the device's free memory at most."""
    row_bytes = max(1, 8 * n_columns + X.row_bytes)
    rows = max(1, min(X.n_rows, engine.free_memory() // (8 * row_bytes)))
    for first in range(0, X.n_rows, rows):
        yield slice(first, min(first + rows, X.n_rows))
