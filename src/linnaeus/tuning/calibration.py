"""Probabilities and promises for any model: curves from held-out scores, and how cautious a risk makes answers.

Two ways. With documents that the model has not seen (``cv=None``), one half of them fits the curves and the other half
measures the risk; the promises of `predict(..., risk=)` then hold exactly. With the training documents, copies of the
model that have not seen a fold score it; nothing is held back from training, but the promise is approximate: the copies
learned from fewer documents than the model that answers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus.data.check import check_labels
from linnaeus.decoding import BestLabel, TopDown, TopScores
from linnaeus.decoding.probability.curves import Calibrator, fit_calibrator
from linnaeus.decoding.probability.risk import fit_risk
from linnaeus.errors import DataError
from linnaeus.models.promises import nonzero_features
from linnaeus.tuning.held_out import FOLDS, held_out_scores
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["calibrate"]


def calibrate(
    model: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = FOLDS,
    method: str = "isotonic",
    coherent: str | None = None,
    loss: str = "any_wrong",
    random_state: int | None = 0,
) -> Any:
    """Give a fitted model or `Pipeline` calibrated, coherent probabilities; returns it.

    Afterwards ``predict_proba`` gives them, ``predict(X, risk=0.1)`` answers as deep as the risk allows, and
    decoders of expected cost (`LeastCost`, `LeastHLoss`) work. They are saved with the model and end with the next
    ``fit``, ``partial_fit``, ``update`` or ``prune``, which make another model of it. The probabilities of the labels
    sum to 1 where every document, of training and here, has one label.

    Parameters
    ----------
    model : TaxonomyClassifier or Pipeline
        A fitted model.
    X, y : documents and labels
        As for ``fit``: the training documents, or with ``cv=None`` others.
    cv : int, float, iterable or None, default=5
        Folds, as for `fit_decoder`; None for documents that the model has not seen.
    method : {"isotonic", "platt"}, default="isotonic"
        The curves of single nodes.
    coherent : {"project", "min", "product", "softmax"}, default=None
        How no child becomes more probable than its parent. None: "softmax" for models that answer the label of largest
        score, which needs no curves of single nodes; "product" for models that go down the taxonomy, whose scores
        compare siblings; else "project".
    loss : {"any_wrong", "wrong_share"}, default="any_wrong"
        What a risk is: the probability of any wrong node, or the expected share of wrong nodes.
    random_state : int, default=0
        Which documents fit the curves and which measure the risk.

    Returns
    -------
    TaxonomyClassifier or Pipeline
        The same model.

    Examples
    --------
    >>> from linnaeus import OneVsRestSVM, Taxonomy
    >>> rng = np.random.default_rng(0)
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BB"]])
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.array(["AA", "AB", "BB"])[(X + 0.5 * rng.normal(size=X.shape)).argmax(axis=1)]
    >>> model = calibrate(OneVsRestSVM(tax, random_state=0).fit(X[:150], y[:150]), X[150:], y[150:], cv=None)
    >>> model.predict_proba([[3.0, 0, 0]]).round(1).tolist()          # AA, AB, BB
    [[1.0, 0.0, 0.0]]
    >>> model.predict([[3.0, 0, 0], [1.0, 1.0, 0]], risk=0.2)
    [['AA'], ['A']]
    """
    inner = getattr(model, "model_", model)
    if not hasattr(inner, "nodes_"):
        raise DataError("calibrate needs a fitted model; fit it first.")
    if cv is None:
        X = inner._check_X(model.matrix(X) if hasattr(model, "matrix") else X, reset=False)
    S, Y, nodes = _unseen(inner, X, y) if cv is None else _by_folds(model, X, y, cv, random_state)
    Y = inner.taxonomy_.frontier(Y) if inner.closed_ or inner.nested_ else Y
    gold = inner.taxonomy_.close(Y, keep_root=False)
    single = inner.single_label and bool((np.diff(inner.taxonomy_.frontier(gold).indptr) == 1).all())
    curves: dict[str, Any] = {"method": method, "coherent": coherent or _way(inner, single), "own": bool(inner.nested_)}
    curves |= {"labels": inner.label_nodes, "single": single}
    _need(len(S), 2)
    inner.drop_calibration()
    halves = np.array_split(np.random.default_rng(random_state).permutation(len(S)), 2)
    ordering = np.zeros(len(S), dtype=bool)
    ordering[halves[0]] = True
    taxonomy, exact = inner.taxonomy_, cv is None
    if exact:
        inner.calibrator_ = fit_calibrator(S[halves[0]], Y[halves[0]], taxonomy, nodes, **curves)
        P = inner.calibrator_(S, taxonomy, nodes)
        P[nonzero_features(X) == 0] = 0.0  # nothing is promised of documents that the model knows nothing of
    else:
        inner.calibrator_ = fit_calibrator(S, Y, taxonomy, nodes, **curves)
        P = _crossed(S, Y, inner, nodes, halves, curves)
    inner.risk_control_ = fit_risk(
        P, gold, inner.calibrator_.nodes, loss, ordering=ordering, exact=exact, single=single
    )
    return model


def _way(inner: Any, single: bool) -> str:
    """How probabilities are made coherent, by how the model decides."""
    decide = inner._decoder(None)
    if single and isinstance(decide, BestLabel) and not decide.path_sum:
        return "softmax"
    return "product" if isinstance(decide, TopDown) else "project"


def _need(n_docs: int, least: int) -> None:
    if n_docs < least:
        raise DataError(f"Calibration has {n_docs} documents; expected at least {least}, better hundreds.")


def _unseen(inner: Any, X: Any, y: Any) -> tuple[FloatArray, CSR, IntArray]:
    """Scores of documents that the model has not seen."""
    S = np.concatenate([np.asarray(part, dtype=np.float64) for part in inner._score_blocks(X)])
    return S, check_labels(y, inner.taxonomy_, len(S))[0], inner.nodes_


def _by_folds(model: Any, X: Any, y: Any, cv: Any, random_state: int | None) -> tuple[FloatArray, CSR, IntArray]:
    held = held_out_scores(model, X, y, cv=cv, random_state=random_state)
    S = held.S.dense() if isinstance(held.S, TopScores) else held.S
    return np.asarray(S, dtype=np.float64), held.Y, held.nodes


def _crossed(
    S: FloatArray, Y: CSR, inner: Any, nodes: IntArray, halves: list[Any], curves: dict[str, Any]
) -> FloatArray:
    """Probabilities of each half under curves fitted on the other one."""
    taxonomy, wanted = inner.taxonomy_, inner.calibrator_.nodes
    P = np.zeros((len(S), len(wanted)))
    low = float(S[np.isfinite(S)].min(initial=0.0))
    scores = np.where(np.isfinite(S), S, low)
    for here, there in (halves, halves[::-1]):
        curve: Calibrator = fit_calibrator(S[there], Y[there], taxonomy, nodes, **curves)
        P[here] = curve(scores[here], taxonomy, nodes)
    return P
