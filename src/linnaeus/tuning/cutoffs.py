"""A cut-off fitted to any model on scores of documents that the model has not seen."""

from __future__ import annotations

import warnings

import numpy.typing as npt

from linnaeus.decoding import CutOff, cut_off
from linnaeus.decoding.cutoffs.cut_off import Metric
from linnaeus.models.classifier import Classifier
from linnaeus.tuning.held_out import FOLDS, Folds, held_out_scores, metric_function

__all__ = ["fit_decoder"]


def fit_decoder(
    model: Classifier,
    X: object,
    y: object,
    decoder: CutOff | str = "scut",
    *,
    cv: Folds = FOLDS,
    metric: Metric | str = "micro_f1",
    top: int | None = None,
    sample_weight: npt.ArrayLike | None = None,
    random_state: int | None = 0,
    verbose: int = 0,
    compare: bool = True,
) -> CutOff | None:
    """A cut-off fitted on held-out scores of a model; the model itself stays as it is.

    Returns None, with a warning, where the cut-off is worse on held-out documents than the model's own decoder, which
    is what ``predict(X, decoder=None)`` uses.

    Parameters
    ----------
    model : TaxonomyClassifier or Pipeline
        Fitted or not; copies of it learn from the folds.
    X : array-like or documents
        Documents, as for the ``fit`` of the model.
    y : object
        Labels Labels, as for the ``fit`` of the model.
    decoder : CutOff or str, default="scut"
        "rcut", "scut", "pcut", "instance_cut", "set_size", or such an object. By name, answers may be empty where some
        documents have no label.
    cv : int, float or iterable, default=5
        Number of folds; a share of the documents below 1 to hold out once, where training is long; or pairs of
        (training rows, held-out rows).
    metric : str or callable, default="micro_f1"
        What is maximised where there is a choice: a name or function of `linnaeus.metrics`, called with
        (gold, answers, taxonomy).
    top : int, default=None
        Number of scores that are kept of each document; None: all while they fit into 0.2 GB, else 100.
    sample_weight : array-like of shape (n_docs,), default=None
        Weights of documents, as for ``fit``.
    random_state : int, default=0
        Seed of the folds.
    verbose : int, default=0
        Show the progress of the folds.
    compare : bool, default=True
        Compare with the model's own decoder; False returns the cut-off however good it is.

    Returns
    -------
    CutOff or None
        The fitted cut-off, or None where the model's own decoder is better.

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
    cut_off(decoder)  # an unknown name is refused before anything is trained
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
    if not compare:
        return held.fit(decoder, metric)
    fitted, comparison = held.fit_if_better(decoder, metric)
    if fitted is None:
        warnings.warn(str(comparison), stacklevel=2)
    return fitted
