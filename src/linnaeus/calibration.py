"""Probabilities and promises for any model: curves from held-out scores, and how cautious a risk makes answers.

Two ways. With documents that the model has not seen (``cv=None``), one half of them fits the curves and the other half
measures the risk; the promise of `predict(..., risk=)` then holds exactly. With the training documents, copies of the
model that have not seen a fold score it; nothing is held back from training, but the promise is approximate: the copies
learned from fewer documents than the model that answers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus.data.check import check_labels
from linnaeus.decoding import TopDown, TopScores
from linnaeus.decoding.backoff import RiskControl, fit_risk
from linnaeus.decoding.calibrate import Calibrator, fit_calibrator
from linnaeus.errors import DataError
from linnaeus.tuning import FOLDS, held_out_scores
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
    decoders of expected cost (`LeastCost`, `LeastHLoss`) work. They are saved with the model and end with the next fit.

    Parameters
    ----------
    X, y : documents and labels, as for ``fit``: the training documents, or with ``cv=None`` others.
    cv : folds, as for `fit_decoder`; None for documents that the model has not seen.
    method : "isotonic" or "platt", the curves of single nodes.
    coherent : "project", "min" or "product", how no child becomes more probable than its parent; default: "product" for
        models that go down the taxonomy, whose scores compare siblings, else "project".
    loss : "any_wrong" (risk: the probability of any wrong node) or "wrong_share" (risk: expected share of wrong nodes).

    Examples
    --------
    >>> from linnaeus import OneVsRestSVM, Taxonomy
    >>> rng = np.random.default_rng(0)
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BB"]])
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.array(["AA", "AB", "BB"])[(X + 0.5 * rng.normal(size=X.shape)).argmax(axis=1)]
    >>> model = calibrate(OneVsRestSVM(tax, random_state=0).fit(X[:150], y[:150]), X[150:], y[150:], cv=None)
    >>> model.predict_proba([[3.0, 0, 0]]).round(1).tolist()          # AA, AB, BB
    [[0.9, 0.0, 0.0]]
    >>> model.predict([[3.0, 0, 0], [1.0, 1.0, 0]], risk=0.2)
    [['AA'], ['A']]
    """
    inner = getattr(model, "model_", model)
    if not hasattr(inner, "nodes_"):
        raise DataError("calibrate needs a fitted model; fit it first.")
    own = bool(inner.nested_)
    if coherent is None:
        coherent = "product" if isinstance(inner._decoder(None), TopDown) else "project"
    curves: dict[str, Any] = {"method": method, "coherent": coherent, "own": own}
    S, Y, nodes = _unseen(model, inner, X, y) if cv is None else _by_folds(model, X, y, cv, random_state)
    gold = inner.taxonomy_.close(Y, keep_root=False)
    halves = np.array_split(np.random.default_rng(random_state).permutation(len(S)), 2)
    if cv is None:
        _need(len(S), 2)
        inner.calibrator_ = fit_calibrator(S[halves[0]], Y[halves[0]], inner.taxonomy_, nodes, **curves)
        P = inner.calibrator_(S[halves[1]], inner.taxonomy_, nodes)
        inner.risk_control_ = fit_risk(P, gold[halves[1]], inner.calibrator_.nodes, loss)
        return model
    inner.calibrator_ = fit_calibrator(S, Y, inner.taxonomy_, nodes, **curves)
    inner.risk_control_ = _crossed_risk(S, Y, gold, inner, nodes, halves, curves, loss)
    return model


def _need(n_docs: int, least: int) -> None:
    if n_docs < least:
        raise DataError(f"Calibration has {n_docs} documents; expected at least {least}, better hundreds.")


def _unseen(model: Any, inner: Any, X: Any, y: Any) -> tuple[FloatArray, CSR, IntArray]:
    """Scores of documents that the model has not seen."""
    S = np.concatenate([np.asarray(part, dtype=np.float64) for part in model.score_blocks(X)])
    return S, check_labels(y, inner.taxonomy_, len(S))[0], inner.nodes_


def _by_folds(model: Any, X: Any, y: Any, cv: Any, random_state: int | None) -> tuple[FloatArray, CSR, IntArray]:
    held = held_out_scores(model, X, y, cv=cv, random_state=random_state)
    S = held.S.dense() if isinstance(held.S, TopScores) else held.S
    return np.asarray(S, dtype=np.float64), held.Y, held.nodes


def _crossed_risk(
    S: FloatArray, Y: CSR, gold: CSR, inner: Any, nodes: IntArray, halves: list[Any], curves: dict[str, Any], loss: str
) -> RiskControl:
    """Losses of each half under curves fitted on the other one."""
    taxonomy, wanted = inner.taxonomy_, inner.calibrator_.nodes
    P = np.zeros((len(S), len(wanted)))
    low = float(S[np.isfinite(S)].min(initial=0.0))
    scores = np.where(np.isfinite(S), S, low)
    for here, there in (halves, halves[::-1]):
        curve: Calibrator = fit_calibrator(S[there], Y[there], taxonomy, nodes, **curves)
        P[here] = curve(scores[here], taxonomy, nodes)
    return fit_risk(P, gold, wanted, loss, exact=False)
