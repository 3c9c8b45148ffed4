"""Probabilities and promises for any model: curves from held-out scores, and how cautious a risk makes answers.

Two ways. With documents that the model has not seen (``cv=None``), one half of them fits the curves and the other half
measures the risk; the promises of `predict(..., risk=)` then hold exactly. With the training documents, copies of the
model that have not seen a fold score it; nothing is held back from training, but the promise is approximate: the copies
learned from fewer documents than the model that answers.

A cut-off fitted to any model on scores of documents that the model has not seen.
"""

from __future__ import annotations

from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from linnaeus.data.check import check_labels
from linnaeus.decoding import BestLabel, CutOff, TopDown, TopScores, cut_off
from linnaeus.decoding.cutoffs.cut_off import Metric
from linnaeus.decoding.probability.curves import Calibrator, fit_calibrator
from linnaeus.decoding.probability.risk import fit_risk
from linnaeus.errors import DataError, warn_user
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.classifier import Classifier
from linnaeus.taxonomy import Taxonomy
from linnaeus.tuning.held_out import FOLDS, Folds, HeldOutScores, held_out_scores, metric_function
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["calibrate", "coherent_way", "fit_decoder", "node_shares"]

C = TypeVar("C", bound=Classifier)

# Maximum number of parts of the documents for which curves are fitted on the others, and of scores in all these fits,
# beyond which the parts are fewer.
_PARTS, _FITTED = 5, 10_000_000
# Values of nodes of held-out documents that curves are fitted on; of more, a random part of the documents is used.
_MOST_VALUES, _FEWEST_DOCUMENTS = 60_000_000, 300


def calibrate(
    model: C,
    X: object,
    y: object,
    *,
    cv: Folds | HeldOutScores | None = FOLDS,
    method: str = "isotonic",
    coherent: str | None = None,
    loss: str = "any_wrong",
    random_state: int | None = 0,
) -> C:
    """Give a fitted model or `Pipeline` calibrated, coherent probabilities; returns it.

    Afterwards ``predict_proba`` gives them, ``predict(X, risk=0.1)`` answers as deep as the risk allows, and
    decoders of expected cost (`LeastCost`, `LeastHLoss`) work. They are saved with the model and end with the next
    ``fit``, ``partial_fit``, ``update`` or ``prune``, which make another model of it. The probabilities of the labels
    sum to 1 where every document, of training and here, has one label.

    Parameters
    ----------
    model : TaxonomyClassifier or Pipeline
        A fitted model.
    X, y : object
        Documents and labels as for ``fit``: the training documents, or with ``cv=None`` others.
    cv : int, float, iterable, HeldOutScores or None, default=5
        Folds, as for `fit_decoder`; scores that are held out already; None for documents that the model has not seen.
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
    estimator = model.estimator
    if not hasattr(estimator, "nodes_"):
        raise DataError("calibrate needs a fitted model; fit it first.")
    if cv is None:
        X = estimator.matrix(model.matrix(X))
    S, Y, nodes = _unseen(estimator, X, y) if cv is None else _by_folds(model, X, y, cv, random_state)
    taxonomy, exact = estimator.taxonomy_, cv is None
    Y = taxonomy.frontier(Y) if estimator.closed_ or estimator.nested_ else Y
    gold = taxonomy.close(Y, keep_root=False)
    single = estimator.single_label and bool((np.diff(taxonomy.frontier(gold).indptr) == 1).all())
    fit_curves = partial(
        fit_calibrator,
        taxonomy=taxonomy,
        columns=nodes,
        method=method,
        coherent=coherent or coherent_way(estimator, single),
        own=bool(estimator.nested_),
        labels=estimator.label_nodes,
        single=single,
        shares=None if exact else node_shares(check_labels(y, taxonomy)[0], taxonomy),
    )
    if len(S) < 2:
        raise DataError(f"Calibration has {len(S)} documents; expected at least 2, better hundreds.")
    estimator.drop_calibration()
    halves = np.array_split(np.random.default_rng(random_state).permutation(len(S)), 2)
    ordering = np.zeros(len(S), dtype=bool)
    ordering[halves[0]] = True
    if exact:
        curve = fit_curves(S[halves[0]], Y[halves[0]])
        P = curve(S, taxonomy, nodes)
        P[estimator.known_terms(X) == 0] = 0.0  # nothing is promised of documents without a known feature
    else:
        curve = fit_curves(S, Y)
        P = _crossed(S, Y, fit_curves, curve, random_state)
    estimator.calibrator_ = curve
    estimator.risk_control_ = fit_risk(P, gold, curve.nodes, loss, ordering=ordering, exact=exact, single=single)
    return model


def node_shares(Y: CSR, taxonomy: Taxonomy) -> FloatArray:
    """The share of documents at or below every node; Y are their labels."""
    n_docs = np.bincount(taxonomy.close(Y, keep_root=False).indices, minlength=taxonomy.n_nodes)
    return np.asarray((n_docs + 0.5) / (Y.shape[0] + 1.0))


def coherent_way(estimator: TaxonomyClassifier, single: bool) -> str:
    """How probabilities are made coherent, by how the model decides."""
    decide = estimator.default_decoder()
    if single and isinstance(decide, BestLabel) and not decide.path_sum:
        return "softmax"
    return "product" if isinstance(decide, TopDown) else "project"


def _unseen(estimator: TaxonomyClassifier, X: object, y: object) -> tuple[FloatArray, CSR, IntArray]:
    """Scores of documents that the model has not seen."""
    S = np.concatenate([np.asarray(part, dtype=np.float64) for part in estimator.score_blocks(X)])
    return S, check_labels(y, estimator.taxonomy_, len(S))[0], estimator.nodes_


def _by_folds(
    model: Classifier, X: object, y: object, cv: Folds | HeldOutScores, random_state: int | None
) -> tuple[FloatArray, CSR, IntArray]:
    """Scores of the training documents by copies of the model that have not seen them."""
    held = cv if isinstance(cv, HeldOutScores) else held_out_scores(model, X, y, cv=cv, random_state=random_state)
    most = max(_FEWEST_DOCUMENTS, _MOST_VALUES // held.taxonomy.n_nodes)
    rows = np.arange(len(held.documents))
    if len(rows) > most:
        rows = np.sort(np.random.default_rng(random_state).choice(len(rows), most, replace=False))
    S = held.S[rows]
    return np.asarray(S.dense() if isinstance(S, TopScores) else S, dtype=np.float64), held.Y[rows], held.nodes


def _crossed(S: FloatArray, Y: CSR, fit_curves: partial[Calibrator], whole: Calibrator, seed: int | None) -> FloatArray:
    """Probabilities of each part of the documents under curves fitted on the other parts.

    They have to be distributed as those of new documents are under the ``whole`` curves, of all documents: thresholds
    on them decide what is answered. Curves of few documents are flatter, so that there are many parts, and of the same
    kind, isotonic or not, for every node.
    """
    P = np.zeros((len(S), len(whole.nodes)))
    low = float(S[np.isfinite(S)].min(initial=0.0))
    scores = np.where(np.isfinite(S), S, low)
    n_parts = min(int(np.clip(_FITTED // max(S.size, 1), 2, _PARTS)), len(S))
    part = np.random.default_rng(seed).permutation(len(S)) % n_parts
    for here in range(n_parts):
        curve = fit_curves(S[part != here], Y[part != here], stepped=whole.stepped)
        known = fit_curves.keywords
        P[part == here] = curve(scores[part == here], known["taxonomy"], known["columns"])
    return P


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
        Labels, as for the ``fit`` of the model.
    decoder : CutOff or str, default="scut"
        "rcut", "scut", "pcut", "instance_cut", "set_size", "expected", or such an object. By name, answers may be empty
        where some documents have no label.
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
        warn_user(str(comparison))
    return fitted
