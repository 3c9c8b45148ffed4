"""LIBLINEAR one label at a time, through scikit-learn's LinearSVC and LogisticRegression."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np


def one_vs_rest(X: Any, Y: Any, nodes: Any, *, loss: str, C: float, tol: float) -> tuple[float, float]:
    """(seconds of the processor, sum of objectives) over the labels ``nodes``, without constant feature."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    X = X.astype(np.float64)  # LIBLINEAR computes in double precision; convert once, outside the clock
    columns, seconds, objective = Y.tocsc(), 0.0, 0.0
    for node in nodes:
        y = np.asarray(columns[:, [node]].toarray()).ravel()
        if loss == "logistic":
            model: Any = LogisticRegression(solver="liblinear", C=C, tol=tol, fit_intercept=False)
        else:
            model = LinearSVC(loss=loss, C=C, tol=tol, fit_intercept=False, dual=True, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.process_time()
            model.fit(X, y)
            seconds += time.process_time() - start
        objective += binary_objective(X, y, model.coef_.ravel(), loss, C)
    return seconds, objective


def binary_objective(X: Any, y: Any, w: Any, loss: str, C: float) -> float:
    """1/2 |w|^2 + C sum loss, in double precision."""
    t = np.where(y > 0, 1.0, -1.0) * (X @ w)
    slack = np.maximum(0, 1 - t)
    losses = {"hinge": slack, "squared_hinge": slack**2, "logistic": np.logaddexp(0, -t)}[loss]
    return float(0.5 * w @ w + C * losses.sum())
