"""What `rare_leaves.describe` computes, in NumPy and double precision."""

from __future__ import annotations

import numpy as np


def describe(X, signs, c, W, inverse):
    """(losses of every column, sum_i x_i^2 c_i p_i (1 - p_i) / precision); signs are n_docs x columns, X dense."""
    S = X.astype(np.float64) @ W.astype(np.float64)
    losses = c @ np.logaddexp(0, -signs * S)
    P = 1 / (1 + np.exp(-S))
    return losses, (X.astype(np.float64) ** 2).T @ (c[:, None] * P * (1 - P) * inverse)
