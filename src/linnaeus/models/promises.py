"""Answers under a promised risk, which documents are left for review and why, and labels ranked by probability."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from linnaeus.data.matrices import is_sparse
from linnaeus.decoding.base import stacked
from linnaeus.decoding.rules import Rules
from linnaeus.errors import ParameterError
from linnaeus.order import best_columns
from linnaeus.taxonomy.closure import row_numbers
from linnaeus.typing import CSR, Array, BoolArray, FloatArray, IntArray, Matrix

if TYPE_CHECKING:
    from linnaeus.decoding.probability.curves import Calibrator
    from linnaeus.decoding.probability.risk import RiskControl
    from linnaeus.models.base import TaxonomyClassifier

__all__ = ["REASONS", "Decisions", "decide", "label_probabilities", "log_odds", "most_probable", "nonzero_features"]

_TINY = 1e-15
REASONS = ("no known word", "two codes nearly equal", "below the threshold")


@dataclass(frozen=True)
class Decisions:
    """What is answered under a promise, and what a person needs who decides the rest.

    Attributes
    ----------
    Y : CSR array of shape (n_docs, n_nodes)
        Closed answers; empty rows are for review.
    threshold : float
        Nodes of larger probability were answered.
    candidates : ndarray of int, shape (n_docs, k)
        The k most probable labels that the rules allow, best first.
    probabilities : ndarray of shape (n_docs, max(k, 2))
        Their probabilities.
    reason : ndarray of int, shape (n_docs,)
        The place in `REASONS` of why a document is for review; -1 where it is answered.
    certainty : ndarray
        The probability of every entry of Y, in the order of ``Y.indices``.
    """

    Y: CSR
    threshold: float
    candidates: IntArray
    probabilities: FloatArray
    reason: IntArray
    certainty: FloatArray

    @property
    def margin(self) -> FloatArray:
        """How much more probable the best candidate is than the second (n_docs)."""
        first = self.probabilities[:, 0]
        return first - self.probabilities[:, 1] if self.probabilities.shape[1] > 1 else first


def decide(
    model: TaxonomyClassifier,
    X: Matrix,
    risk: float,
    *,
    of: str = "all",
    confidence: float | None = None,
    rules: Rules | Mapping[str, object] | None = None,
    k: int = 3,
) -> Decisions:
    """Answer documents (checked X) under a promise; documents without any known feature are always for review."""
    curve, control = calibration_of(model)
    taxonomy = model.taxonomy_
    threshold = control.threshold(risk, taxonomy, of=of, confidence=confidence, rules=rules)
    bound = Rules.of(rules).bind(taxonomy)
    allowed = (bound.allowed & bound.may_stop)[_labels(curve)]
    unknown, first = model.known_terms(X) == 0, 0
    sets, nodes, values, reasons, certainty = [], [], [], [], []
    place = np.zeros(taxonomy.n_nodes, dtype=np.int64)
    place[curve.nodes] = np.arange(len(curve.nodes))
    for S in model._score_blocks(X):
        P, Q = curve(S, taxonomy, model.nodes_), curve.label_probabilities(S, taxonomy, model.nodes_)
        empty = unknown[first : first + len(S)]
        P[empty] = 0.0
        Y = control.answers(P, threshold, taxonomy, curve.nodes, rules)
        best = best_columns(np.where(allowed, Q, 0.0), min(max(k, 2), Q.shape[1]))
        top = np.take_along_axis(Q, best, axis=1)
        sets.append(Y)
        certainty.append(P[row_numbers(Y.indptr), place[Y.indices]])
        nodes.append(_labels(curve)[best[:, :k]])
        values.append(top)
        reasons.append(_reason(empty, top, threshold, np.diff(Y.indptr) > 0))
        first += len(S)
    joined: list[Array] = [np.concatenate(part) for part in (nodes, values, reasons, certainty)]
    return Decisions(stacked(sets, taxonomy), threshold, *joined)


def _reason(empty: BoolArray, top: FloatArray, threshold: float, answered: BoolArray) -> IntArray:
    """Two labels are nearly equal if together they would have been probable enough, and none is twice the other."""
    reason = np.full(len(top), 2)
    if top.shape[1] > 1:
        reason[(top[:, 0] + top[:, 1] > threshold) & (2 * top[:, 1] > top[:, 0])] = 1
    reason[empty] = 0
    reason[answered] = -1
    return reason


def calibration_of(model: TaxonomyClassifier) -> tuple[Calibrator, RiskControl]:
    """The curves and the promises of a calibrated model."""
    if model.calibrator_ is None or model.risk_control_ is None:
        raise ParameterError("risk: the model is not calibrated; call linnaeus.calibrate first.")
    return model.calibrator_, model.risk_control_


def nonzero_features(X: Any) -> IntArray:
    """Number of features of each document that are not zero; of sequences, the characters."""
    if np.ndim(X) != 2 and not is_sparse(X):
        return np.array([len(sequence) for sequence in X], dtype=np.int64)
    if is_sparse(X) and X.format == "csr" and X.has_canonical_format and X.data.all():
        return np.diff(X.indptr).astype(np.int64)
    return np.asarray((X != 0).sum(axis=1), dtype=np.int64).ravel()


def most_probable(
    model: TaxonomyClassifier, X: Matrix, k: int, *, ancestors: bool = False
) -> tuple[IntArray, FloatArray]:
    """Nodes and probabilities (n_docs x k each), best first.

    The k best labels, with the probability that they are labels: nodes that only stand above labels are left out. In
    the order of `top` without probabilities. ``ancestors`` ranks all nodes by the probability that they, or something
    below them, are labels.
    """
    parts = list(_ranked(model, X, k, ancestors))
    return np.concatenate([nodes for nodes, _ in parts]), np.concatenate([values for _, values in parts])


def _ranked(model: TaxonomyClassifier, X: Matrix, k: int, ancestors: bool) -> Iterator[tuple[IntArray, FloatArray]]:
    curve, taxonomy = model.calibrator_, model.taxonomy_
    if curve is None:
        if ancestors and not model.nested_:
            raise ParameterError("ancestors: probabilities of inner nodes need a calibrated model; see calibrate.")
        nodes = model.nodes_ if ancestors else np.intersect1d(model.nodes_, model.label_nodes)
        order = np.argsort(model.nodes_, kind="stable")
        P: FloatArray = model.predict_proba(X)[:, order[np.searchsorted(model.nodes_[order], nodes)]]
        best = best_columns(P, min(k, len(nodes)))
        yield nodes[best], np.take_along_axis(P, best, axis=1)
        return
    for S in model._score_blocks(X):
        if ancestors:
            nodes, values = curve.nodes, curve(S, taxonomy, model.nodes_)
            by = values
        elif model.ranks_by_probability:
            at, values = _probabilities_of_labels(model, curve, S)
            nodes, by = model.nodes_[at], values
        else:
            nodes, values = _labels(curve), curve.label_probabilities(S, taxonomy, model.nodes_)
            by = curve.label_order(S, taxonomy, model.nodes_, values)
        best = best_columns(by, min(k, len(nodes)))
        yield nodes[best], np.take_along_axis(values, best, axis=1)


def log_odds(model: TaxonomyClassifier, X: Matrix) -> Iterator[FloatArray]:
    """Logarithms of the odds of labels in the columns of ``nodes_``, minus infinity for other nodes, block by block."""
    curve, _ = calibration_of(model)
    for S in model._score_blocks(X):
        at, P = _probabilities_of_labels(model, curve, S)
        P = np.clip(P, _TINY, 1.0 - _TINY)
        L = np.full(S.shape, -np.inf)
        L[:, at] = np.log(P) - np.log1p(-P)
        yield L


def label_probabilities(model: TaxonomyClassifier, X: Matrix) -> FloatArray:
    """Probabilities of labels in the columns of ``nodes_``, as `top` gives them; 0 for nodes that are not labels."""
    curve = model.calibrator_
    if curve is None:
        return np.asarray(model.predict_proba(X))
    parts = []
    for S in model._score_blocks(X):
        at, P = _probabilities_of_labels(model, curve, S)
        parts.append(np.zeros(S.shape))
        parts[-1][:, at] = P
    return np.concatenate(parts)


def _probabilities_of_labels(
    model: TaxonomyClassifier, curve: Calibrator, S: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Columns of labels and their probabilities; where documents had ancestors as labels, those of closed sets."""
    if not model.closed_:
        nodes, P = _labels(curve), curve.label_probabilities(S, model.taxonomy_, model.nodes_)
    else:
        nodes, P = curve.nodes, curve(S, model.taxonomy_, model.nodes_)
    order = np.argsort(model.nodes_, kind="stable")
    at = order[np.minimum(np.searchsorted(model.nodes_[order], nodes), len(order) - 1)]
    scored = model.nodes_[at] == nodes
    return at[scored], P[:, scored]


def _labels(curve: Calibrator) -> IntArray:
    if curve.labels is None:
        raise ParameterError("The model was calibrated by an earlier version; calibrate it again.")
    return curve.labels
