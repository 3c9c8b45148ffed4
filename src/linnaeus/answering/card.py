"""The card of a saved model: what it is, what it was trained on, and what it can answer."""

from __future__ import annotations

from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from linnaeus.answering.documents import reading_features

if TYPE_CHECKING:
    from linnaeus.answering.documents import SavedModel
    from linnaeus.decoding.probability.curves import Calibrator
    from linnaeus.models.base import TaxonomyClassifier

__all__ = ["saved_model"]


def saved_model(folder: str | PathLike[str], loaded: SavedModel) -> dict[str, object]:
    """Properties of the model of a folder, to be read by people."""
    model = loaded.estimator
    features, decoder = getattr(loaded, "features_", None), getattr(loaded, "decoder_", None)
    about = getattr(loaded, "about_", {})
    tax = model.taxonomy_
    size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    saved = datetime.fromtimestamp((Path(folder) / "manifest.json").stat().st_mtime)
    weights = getattr(reading_features(loaded), "weights_", None)
    return {
        "model": type(model).__name__,
        "sources": _sources(model),
        "C": getattr(model, "C", None),
        "documents": about.get("documents", getattr(model, "n_docs_", None)),
        "labels": len(model.nodes_),
        "one label per document": bool(getattr(model, "one_label_", False)),
        "features": getattr(model, "n_features_in_", None),
        "kind of features": None if features is None else type(features).__name__,
        "fields": None if weights is None else ", ".join(f"{name} ({weight:g})" for name, weight in weights.items()),
        "decoder": None if decoder is None else decoder.name,
        "calibration": _calibration(getattr(model, "calibrator_", None)),
        "pruned at": getattr(model, "prune_threshold_", None),
        "taxonomy": str(tax),
        "taxonomy fingerprint": tax.fingerprint,
        "display labels": "none" if tax.display_labels is None else about.get("language") or "yes",
        "kept documents": None if getattr(model, "kept_", None) is None else "yes",
        "saved": saved.isoformat(" ", "seconds"),
        "bytes": size,
    }


def _sources(model: TaxonomyClassifier) -> str | None:
    """The sources of a mixture: their names, models and features; None for other models."""
    mixture = getattr(model, "mixture_", None)
    if mixture is None:
        return None
    said = []
    for name, source in zip(mixture.names, vars(model)["sources_"], strict=True):
        features = getattr(source, "features_", None)
        kind = type(getattr(source, "estimator", source)).__name__ + (
            "" if features is None else f" on {type(features).__name__}"
        )
        said.append(name if name == kind else f"{name}: {kind}")
    return "; ".join(said)


def _calibration(calibrator: Calibrator | None) -> str:
    if calibrator is None:
        return "none"
    steps = sum(first < last for first, last in zip(calibrator.indptr, calibrator.indptr[1:], strict=False))
    return f"isotonic for {steps:,} of {len(calibrator.nodes):,} nodes, platt for the others" if steps else "platt"
