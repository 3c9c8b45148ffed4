"""Documents through a saved model: what `predict` and `evaluate` share."""

from __future__ import annotations

from typing import Any

from linnaeus.cli import options
from linnaeus.errors import DataError
from linnaeus.progress import waiting

__all__ = ["answers", "documents_for", "label_lists"]


def documents_for(model: Any, paths: list[str], **reading: Any) -> Any:
    """Read documents of the kind that the model was trained on."""
    from linnaeus.data.readers import read_dataset

    fields = options.weighted_fields(reading.pop("text", None))
    features: Any = getattr(model, "features_", None)
    if fields is None and hasattr(features, "weights_"):
        reading["categorical"] = list(features.kinds_) or None
    named = None if fields is None else list(fields)
    with waiting(f"reading {', '.join(paths)}"):
        data = read_dataset(paths, reading.pop("format", None), taxonomy=model.taxonomy_, text=named, **reading)
    wanted = {"TextFeatures": ("text", "sequence"), "DenseFeatures": ("dense",)}.get(type(features).__name__)
    if wanted and data.kind not in wanted:
        raise DataError(f"{data.source} holds {data.kind} documents; the model was trained on {' or '.join(wanted)}.")
    return _same_width(data, getattr(model, "model_", model))


def _same_width(data: Any, model: Any) -> Any:
    """Sparse files name only the features that occur: bring X to the width of the training data."""
    from dataclasses import replace

    from scipy import sparse

    n_features = getattr(model, "n_features_in_", None)
    if data.kind != "sparse" or data.X.shape[1] == n_features:
        return data
    if data.X.nnz and data.X.indices.max() >= n_features:
        raise DataError(
            f"{data.source} has feature {data.X.indices.max()}; the model was trained on {n_features:,} features."
        )
    X = sparse.csr_array((data.X.data, data.X.indices, data.X.indptr), shape=(data.X.shape[0], n_features))
    return replace(data, X=X, feature_names=None)


def label_lists(predicted: Any) -> list[list[str]]:
    """Answers of any kind as lists of names."""
    if hasattr(predicted, "shape") and len(predicted.shape) == 2:
        return [[str(step) for step in row if step] for row in predicted]
    return [
        [str(row)] if isinstance(row, str) or not hasattr(row, "__iter__") else [str(v) for v in row]
        for row in predicted
    ]


def answers(model_path: str, data_path: str, **reading: Any) -> tuple[Any, Any, Any, Any]:
    """(gold labels, answers, ranked labels with scores, taxonomy) of a saved model on labelled documents."""
    from linnaeus import store

    model = store.load(model_path)
    data = documents_for(model, [data_path], **reading)
    if data.labels is None:
        raise DataError(f"{data_path} has no labels to compare with; name their column with --labels.")
    with waiting("predicting"):
        names, scores = model.top(data.documents, k=max(10, max(map(len, data.labels), default=1)))
        predicted = label_lists(model.predict(data.documents))
    ranked = [list(zip(row.tolist(), values.tolist(), strict=True)) for row, values in zip(names, scores, strict=True)]
    return data.labels, predicted, ranked, model.taxonomy_
