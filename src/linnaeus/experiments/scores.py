"""Answers of a fitted model in the forms that are evaluated: label sets, scores of label nodes, probabilities.

Calibration curves are fitted on scores of documents that the model has not seen. If the scores of all documents and
nodes take too much memory, only the best nodes of each document are ranked, and there are no probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from linnaeus.decoding import TopDown
from linnaeus.decoding.probability.curves import Calibrator, fit_calibrator
from linnaeus.models.classifier import Classifier
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix

__all__ = ["LabelScores", "ModelAnswers", "all_scores", "curves_of", "label_scores", "probabilities", "too_many"]

LabelScores = FloatArray | tuple[IntArray, FloatArray]

_WHOLE = 10_000_000  # documents x nodes up to which all scores and probabilities are kept
_TOP = 100


@dataclass(frozen=True, eq=False)
class ModelAnswers:
    """The answers of a model to all test documents.

    ``H`` are label sets (n_docs x n_nodes), ``S`` scores of the label nodes (n_docs x n_labels), or their best columns
    and scores (n_docs x k each), or None, ``P`` probabilities of all nodes (n_docs x n_nodes) or None.
    """

    H: CSR
    S: LabelScores | None
    P: FloatArray | None = None


def too_many(X: Matrix, taxonomy: Taxonomy) -> bool:
    """Whether the scores of all nodes take too much memory."""
    return bool(X.shape[0] * taxonomy.n_nodes > _WHOLE)


def all_scores(model: Classifier, X: Matrix) -> FloatArray:
    """Scores of all nodes that the model can answer (n_docs x len(nodes_))."""
    return np.concatenate([np.asarray(block, dtype=np.float64) for block in model.score_blocks(X)])


def curves_of(model: Classifier, S: FloatArray, Y: CSR) -> partial[Calibrator]:
    """A function without arguments that fits calibration curves to scores of documents and their labels."""
    coherent = "product" if isinstance(model.default_decoder(), TopDown) else "project"
    own = bool(model.nested_)
    return partial(fit_calibrator, S, Y, model.taxonomy_, model.nodes_, method="platt", coherent=coherent, own=own)


def label_scores(
    model: Classifier, X: Matrix, labels: IntArray, calibrator: Calibrator | None
) -> tuple[LabelScores | None, FloatArray | None]:
    """Scores of the label nodes, all or the best of each document, and probabilities of all nodes."""
    taxonomy = model.taxonomy_
    if too_many(X, taxonomy):  # scores of closed sets rank ancestors before labels: without curves, no ranking
        return None if model.nested_ and not model.closed_ else _best_labels(model, X, labels), None
    S = all_scores(model, X)
    P = None if calibrator is None else probabilities(calibrator, S, model)
    if P is not None and model.nested_:  # scores of siblings, or of inner nodes, may not be comparable across levels
        return (P if model.closed_ else _most_specific(P, taxonomy))[:, labels], P
    low = float(S[np.isfinite(S)].min(initial=0.0)) - 1.0
    whole = np.full((len(S), taxonomy.n_nodes), low)
    whole[:, model.nodes_] = np.nan_to_num(S, neginf=low)
    return whole[:, labels], P


def probabilities(calibrator: Calibrator, S: FloatArray, model: Classifier) -> FloatArray:
    """Probabilities of all nodes of the taxonomy (n_docs x n_nodes); 0 for nodes that have no curve."""
    P = np.zeros((len(S), model.taxonomy_.n_nodes), dtype=np.float32)
    P[:, calibrator.nodes] = calibrator(S, model.taxonomy_, model.nodes_)
    return P


def _most_specific(P: FloatArray, taxonomy: Taxonomy) -> FloatArray:
    """Probability that a node is a label and none of its descendants: its P minus the largest P of its children.

    Models that learn closed sets score a node at least as high as its descendants; where documents are labelled with
    the most specific nodes, these have to be ranked.
    """
    parents, children = taxonomy.edges
    below = np.zeros_like(P)
    np.maximum.at(below.T, parents, P.T[children])
    return P - below


def _best_labels(model: Classifier, X: Matrix, labels: IntArray) -> tuple[IntArray, FloatArray]:
    """Columns among the label nodes, -1 for others, and scores, of the best nodes of each document."""
    nodes, scores = model.top_nodes(X, _TOP)
    place = np.full(model.taxonomy_.n_nodes, -1)
    place[labels] = np.arange(len(labels))
    return place[nodes], scores
