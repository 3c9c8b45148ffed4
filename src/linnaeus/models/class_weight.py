"""Weights of labels: how much more a label's positive documents count than its others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linnaeus.errors import ParameterError, nearest
from linnaeus.typing import CSR, FloatArray

__all__ = ["check_class_weight", "positive_weights"]


def check_class_weight(class_weight: Any) -> None:
    """Refuse what is neither None, "balanced" nor a mapping of labels to positive numbers."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, Mapping):
        raise ParameterError(f"class_weight={class_weight!r}; expected None, 'balanced' or a dict of label to weight.")
    for label, weight in class_weight.items():
        if not (isinstance(weight, (int, float, np.number)) and np.isfinite(weight) and weight > 0):
            raise ParameterError(f"class_weight of {label!r} is {weight!r}; expected a number above 0.")


def positive_weights(class_weight: Any, Y: CSR, labels: Any) -> FloatArray:
    """Weight of the positive documents of every column of Y (n_docs x n_labels); ``labels`` are their names.

    "balanced" is n_docs / (n_labels * positives), as in scikit-learn.

    Examples
    --------
    >>> from scipy import sparse
    >>> Y = sparse.csc_array([[1, 0], [1, 0], [0, 1]])
    >>> positive_weights({"b": 3.0}, Y, ["a", "b"]).tolist()
    [1.0, 3.0]
    >>> positive_weights("balanced", Y, ["a", "b"]).tolist()
    [0.75, 1.5]
    """
    n_docs, n_labels = Y.shape
    if class_weight is None:
        return np.ones(n_labels)
    if isinstance(class_weight, str):
        counts = np.asarray(Y.sum(axis=0), dtype=np.float64).ravel()
        return n_docs / (n_labels * np.maximum(counts, 1))
    known = {_plain(label): i for i, label in enumerate(labels)}
    weights = np.ones(n_labels)
    for label, weight in class_weight.items():
        if _plain(label) not in known:
            raise ParameterError(f"class_weight names {label!r}, which is no label of y{nearest(str(label), known)}")
        weights[known[_plain(label)]] = weight
    return weights


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
