"""How much memory a joint fit takes."""

from __future__ import annotations

import numpy as np

from linnaeus.engine.limits import Forecast
from linnaeus.models.recursive.leaves import MOST, SAMPLE
from linnaeus.models.recursive.network import Network
from linnaeus.models.recursive.newton import fits_newton
from linnaeus.models.solvers import newton_cg
from linnaeus.models.solvers.binary import binary_footprint
from linnaeus.models.solvers.dual_cd import PANEL
from linnaeus.models.weights_on_disk import MERGE_BYTES
from linnaeus.typing import Matrix, is_sparse

__all__ = ["joint_forecast"]


def joint_forecast(X: Matrix, loss: str, network: Network, n_workers: int, *, in_turns: bool = False) -> Forecast:
    """Documents, the leaves' dual variables and candidates, inner weights (twice) and the weights of all leaves.

    How many candidates the leaves will have is not known before: as many as a screening may add is the estimate. With a
    published schedule (``in_turns``) new inner weights wait in memory, and workers hold copies of their panels.
    """
    (n_docs, n_features), size = X.shape, X.dtype.itemsize
    dense = isinstance(X, np.ndarray)
    n_blocks = -(-network.n_leaves // PANEL)
    whole = n_features * PANEL * size
    if dense or loss == "logistic":
        dual = 0 if dense and loss in newton_cg.LOSSES else n_docs * PANEL * size
        block = dual + 2 * whole
    else:
        candidates = min(n_docs, SAMPLE + MOST)
        entries = candidates * max(1, (X.nnz if is_sparse(X) else X.size) // max(1, n_docs))
        block = candidates * (PANEL * size + 24) + entries * (size + 4) + min(n_features, entries) * (PANEL * size + 4)
        if loss == "squared_hinge" and not in_turns:  # half of the pairs near the margin, for common moves
            block += candidates * PANEL // 2 * (2 * size + 4)
    inner = -(-(n_features + 1) // PANEL) * PANEL * network.n_inner * size
    once = binary_footprint(X, loss)
    weights = 2 * inner + network.n_leaves * n_features * size
    waiting = inner if in_turns else 0
    newton = dense and loss in newton_cg.LOSSES and not in_turns and fits_newton(n_docs, network)
    scores = 8 * n_docs * network.n_leaves * size if newton else 0  # signs, bounds, scores, their slopes and steps
    return Forecast(
        once={"documents": once.rows, "leaves": n_blocks * block, "scores": scores, "turns": waiting},
        each_worker={"panels": 4 * whole + n_docs * 8 + 6 * network.n_inner * PANEL * 8 + waiting // 4},
        n_workers=n_workers,
        weights=weights,
        merging=min(MERGE_BYTES, max(2**20, weights // 4)),
        preparing=once.preparing,
    )
