"""What is fitted on scores of documents that a model has not seen: cut-offs and calibrated probabilities."""

from linnaeus.tuning.calibration import calibrate, fit_decoder
from linnaeus.tuning.held_out import (
    FOLDS,
    DecoderComparison,
    HeldOutScores,
    held_out_scores,
    share_time,
)

__all__ = [
    "FOLDS",
    "DecoderComparison",
    "HeldOutScores",
    "calibrate",
    "fit_decoder",
    "held_out_scores",
    "share_time",
]
