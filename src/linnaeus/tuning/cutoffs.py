"""A cut-off fitted to any model on scores of documents that the model has not seen."""

from __future__ import annotations

import warnings
from typing import Any

from linnaeus.decoding import CutOff, cut_off
from linnaeus.tuning.held_out import FOLDS, held_out_scores, metric_function

__all__ = ["fit_decoder"]


def fit_decoder(
    model: Any,
    X: Any,
    y: Any,
    decoder: CutOff | str = "scut",
    *,
    cv: Any = FOLDS,
    metric: Any = "micro_f1",
    top: int | None = None,
    sample_weight: Any = None,
    random_state: int | None = 0,
    verbose: int = 0,
    compare: bool = True,
) -> CutOff | None:
    """A cut-off fitted on held-out scores of a model; the model itself stays as it is.

    Returns None, with a warning, where the cut-off is worse on held-out documents than the model's own decoder, which
    is what ``predict(X, decoder=None)`` takes.

    Parameters
    ----------
    model : a model or a `Pipeline`, fitted or not; copies of it learn from the folds.
    X, y : documents and labels, as for its ``fit``.
    decoder : "rcut", "scut", "pcut", "instance_cut", "set_size", or such an object. By name, answers may be empty where
        some documents have no label.
    cv : number of folds; a share of the documents below 1 to hold out once, where training is long; or pairs of
        (training rows, held-out rows).
    metric : what is maximised where there is a choice: a name or function of `linnaeus.metrics`, called with
        (gold, answers, taxonomy).
    top : keep only so many scores of each document; default: all while they fit into 0.2 GB, else 100.
    compare : bool, default=True
        Compare with the model's own decoder; False returns the cut-off however good it is.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import OneVsRestSVM, fit_decoder
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> y = [[name for name, value in zip("abc", row) if value > 0.5] for row in X]
    >>> model = OneVsRestSVM(random_state=0).fit(X, y)
    >>> cut = fit_decoder(model, X, y, "scut")
    >>> model.predict([[2.0, -1, 1, 0, 0]], decoder=cut)
    [['a', 'c']]
    """
    cut_off(decoder)  # a wrong name is told before anything is trained
    metric = metric_function(metric)
    held = held_out_scores(
        model,
        X,
        y,
        cv=cv,
        top=top,
        sample_weight=sample_weight,
        random_state=random_state,
        verbose=verbose,
        with_answers=compare,
    )
    if compare:
        found = held.compare(decoder, metric)
        if not found.better:
            warnings.warn(str(found), stacklevel=2)
            return None
    return held.fit(decoder, metric)
