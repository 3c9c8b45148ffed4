"""Learning curves: how good models are after learning from some of the documents, and whether more would help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from linnaeus.errors import DataError, ParameterError
from linnaeus.plots.axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LearningPoint", "learning_curve", "plot_learning_curve"]

_MARKS = "os^Dv*"


@dataclass(frozen=True)
class LearningPoint:
    """What a model reached after learning from a number of documents: the mean over draws, and its spread.

    Parameters
    ----------
    model : str
        Name of the model.
    n_documents : int
        Number of training documents.
    value : float
        Mean of ``model.score`` (hierarchical F1 of linnaeus' models) on the test documents.
    spread : float
        Standard deviation over the draws.

    Examples
    --------
    >>> LearningPoint("joint", n_documents=100, value=0.7, spread=0.02).value
    0.7
    """

    model: str
    n_documents: int
    value: float
    spread: float


def learning_curve(
    models: Mapping[str, BaseEstimator],
    documents: Any,
    labels: Any,
    test_documents: Any,
    test_labels: Any,
    *,
    sizes: Sequence[int],
    n_draws: int = 3,
    random_state: int = 0,
) -> list[LearningPoint]:
    """Fit models on random parts of the documents and score them on test documents.

    All models learn from the same draws; a larger part of a draw contains the smaller ones. Labels may be lists, which
    `sklearn.model_selection.learning_curve` does not take.

    Parameters
    ----------
    models : dict of str to estimator
        Models or pipelines by name; they are cloned.
    documents, labels : sequences or matrices
        Training documents and their labels.
    test_documents, test_labels : sequences or matrices
        Test documents and their labels.
    sizes : sequence of int
        Numbers of training documents.
    n_draws : int, default=3
        Number of random orders of the training documents.
    random_state : int, default=0
        Seed of the orders.

    Returns
    -------
    list of LearningPoint
        One per model and size.

    Examples
    --------
    >>> from linnaeus import OneVsRestSVM
    >>> X = np.eye(4)[[0, 1] * 8]
    >>> points = learning_curve({"SVM": OneVsRestSVM(random_state=0)}, X, ["A", "B"] * 8, X[:2], ["A", "B"], sizes=[16])
    >>> points[0].value
    1.0
    """
    n = documents.shape[0] if hasattr(documents, "shape") else len(documents)
    if not sizes or min(sizes) < 1 or max(sizes) > n:
        raise ParameterError(f"sizes={list(sizes)}; expected numbers from 1 to {n:,}, the number of documents.")
    if not models:
        raise DataError("models is empty; expected names and estimators.")
    rng = np.random.default_rng(random_state)
    orders = [rng.permutation(n) for _ in range(n_draws)]
    points = []
    for name, model in models.items():
        for size in sorted(sizes):
            values = []
            for order in orders:
                rows = np.sort(order[:size])
                fitted = clone(model).fit(_taken(documents, rows), _taken(labels, rows))
                values.append(float(fitted.score(test_documents, test_labels)))
            points.append(LearningPoint(name, int(size), float(np.mean(values)), float(np.std(values))))
    return points


def plot_learning_curve(
    points: Sequence[LearningPoint], *, measure: str = "hierarchical F1", ax: Axes | None = None
) -> Axes:
    """Draw learning curves, one line for each model.

    Parameters
    ----------
    points : sequence of LearningPoint
        What `learning_curve` returned.
    measure : str, default="hierarchical F1"
        Name of the vertical axis.
    ax : Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    Axes
        Axes with a line and its spread for each model; sizes on a log scale where they span a factor of eight.

    Examples
    --------
    >>> axes = plot_learning_curve([LearningPoint("RRSVM", 10, 0.5, 0.1), LearningPoint("RRSVM", 20, 0.6, 0.05)])
    >>> axes.get_xlabel()
    'training documents'
    """
    ax = axes_or_new(ax, 6.0, 4.0)
    names = list(dict.fromkeys(point.model for point in points))
    for number, name in enumerate(names):
        mine = [point for point in points if point.model == name]
        n, value, spread = (
            np.array([getattr(p, key) for p in mine], dtype=float) for key in ("n_documents", "value", "spread")
        )
        ax.fill_between(n, value - spread, value + spread, color=f"C{number}", alpha=0.15, linewidth=0)
        ax.plot(n, value, f"{_MARKS[number % len(_MARKS)]}-", color=f"C{number}", label=name)
    sizes = sorted({point.n_documents for point in points})
    if sizes and sizes[-1] >= 8 * sizes[0]:
        ax.set_xscale("log")
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.minorticks_off()
    ax.set_xlabel("training documents")
    ax.set_ylabel(measure)
    ax.legend()
    return ax


def _taken(values: Any, rows: Any) -> Any:
    """Some rows of a matrix, an array, a data frame or a list."""
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    return values[rows] if hasattr(values, "shape") else [values[i] for i in rows]
