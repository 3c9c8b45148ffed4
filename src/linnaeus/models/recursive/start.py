"""A first guess for the joint problem: the weights w0 that all nodes would share if they had to be equal.

    min_w  1/2 |w|^2 + sum_i C_i [ (n - k_i) loss(-w'x_i) + k_i loss(w'x_i) ]     n leaves, k_i labels of document i

Nearly every pair of leaf and document is a negative one, so that w0 says "no" to everything. All nodes begin there, and
the leaves have only their own documents to learn. The hinge starts as its square does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus.models.recursive.together import sparse_rows
from linnaeus.models.solvers.newton_cg import NewtonBlock
from linnaeus.models.solvers.rows import Rows
from linnaeus.typing import FloatArray, Matrix

__all__ = ["shared_start"]

_TOLERANCE, _PRODUCTS = 1e-2, 300


def shared_start(
    documents: Rows | Matrix, bound: FloatArray, n_labels: FloatArray, n_leaves: int, loss: str, bias: float
) -> FloatArray:
    """w0 (n_features + 1, the constant last); ``documents`` as the solver has them, ``n_labels`` of every document."""
    from scipy import sparse

    X: Any = documents
    if isinstance(documents, Rows):
        shape = documents.n_docs, documents.n_features
        X = documents.data.reshape(shape) if documents.dense else sparse_rows(documents)
    labelled = np.flatnonzero(n_labels)
    both = sparse.vstack([X, X[labelled]]).tocsr() if sparse.issparse(X) else np.concatenate([X, X[labelled]])
    negative, positive = bound * (n_leaves - n_labels), bound[labelled] * n_labels[labelled]
    c = np.concatenate([negative, positive]).astype(X.dtype)[:, None]
    Y = np.concatenate([-np.ones(len(negative)), np.ones(len(positive))]).astype(X.dtype)[:, None]
    smooth = "logistic" if loss == "logistic" else "squared_hinge"
    found = NewtonBlock(both, Y, c, smooth, X.dtype.type(bias)).solve(_TOLERANCE, _PRODUCTS)
    last = found.intercept[0] / bias if bias else 0.0
    return np.append(np.asarray(found.weights)[:, 0], last).astype(X.dtype)
