"""Scores of nodes as probabilities, node by node:  p = 1 / (1 + exp(-(a s + b))),  a and b by maximum likelihood.

Fitted on scores of documents that the model had not seen. Targets are drawn towards the middle by one document on
either side, as Platt proposed, so that nodes with few positive documents stay near their frequency; a is never below 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linnaeus.typing import BoolArray, FloatArray

__all__ = ["Platt", "fit_platt"]

_STEPS = 30
_LARGEST = 2.0  # of a step, in standardised scores


class Platt(NamedTuple):
    """Slopes and offsets of all nodes."""

    slope: FloatArray
    offset: FloatArray

    def __call__(self, S: FloatArray) -> FloatArray:
        """Probabilities of the scores S (n_docs x n_nodes)."""
        return np.asarray(1.0 / (1.0 + np.exp(-(self.slope * S + self.offset))))


def fit_platt(S: FloatArray, truth: BoolArray) -> Platt:
    """Newton's method for all columns at once, damped."""
    positive = truth.sum(axis=0)
    negative = len(truth) - positive
    target = np.where(truth, (positive + 1) / (positive + 2), 1 / (negative + 2))
    mean, deviation = S.mean(axis=0), S.std(axis=0) + 1e-12
    Z = (S - mean) / deviation
    a, b = np.zeros(S.shape[1]), np.log((positive + 0.5) / (negative + 0.5))
    for _ in range(_STEPS):
        p = 1.0 / (1.0 + np.exp(-(a * Z + b)))
        wrong, weight = p - target, np.maximum(p * (1 - p), 1e-9)
        slope_a, slope_b = (wrong * Z).sum(axis=0) + 1e-3 * a, wrong.sum(axis=0)
        aa, ab, bb = (weight * Z**2).sum(axis=0) + 1e-3, (weight * Z).sum(axis=0), weight.sum(axis=0)
        determinant = np.maximum(aa * bb - ab**2, 1e-12)
        step_a, step_b = (bb * slope_a - ab * slope_b) / determinant, (aa * slope_b - ab * slope_a) / determinant
        short = np.minimum(1.0, _LARGEST / np.maximum(np.maximum(abs(step_a), abs(step_b)), 1e-9))
        a, b = a - short * step_a, b - short * step_b
    a = np.maximum(a, 0.0)
    return Platt(a / deviation, b - a * mean / deviation)
