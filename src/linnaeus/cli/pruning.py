"""`--prune` of `linnaeus train`: a threshold, or ``auto``, which finds one on the training documents."""

from __future__ import annotations

from typing import Any

from linnaeus.errors import ParameterError

__all__ = ["check_prune", "prune"]

_LOSS = 0.002  # of the precision at 1


def check_prune(given: str | None) -> float | str | None:
    """``auto``, a number of at least 0, or None."""
    if given is None or given == "auto":
        return given
    try:
        threshold = float(given)
        if not threshold >= 0:
            raise ValueError
    except ValueError:
        raise ParameterError(f"--prune {given}: expected a number of at least 0, or auto.") from None
    return threshold


def prune(pipe: Any, threshold: float | str, documents: Any, y: Any) -> dict[str, Any]:
    """Drop small weights; what the threshold was and how many weights stay."""
    from linnaeus.models.pruning import LinearWeights

    model = pipe.model_
    if not hasattr(model, "prune"):
        raise ParameterError(f"--prune: {type(model).__name__} has no weights to prune.")
    before = LinearWeights.of(model).size
    if threshold == "auto":
        model.prune(X=pipe.matrix(documents.documents), y=y, loss=_LOSS, seen=True)
    else:
        model.prune(threshold)
    return {
        "threshold": model.prune_threshold_,
        "weights_before": before,
        "weights_kept": LinearWeights.of(model).size,
    }
